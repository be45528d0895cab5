/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One capture from beginning to end: opened step by step, each undone on every way out. */
#include "capture.h"
#include "cli.h"
#include <errno.h>
#include <pthread.h>
#include <rdmadump/clock.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define FLUSH_NS	    100000000U	/* what `kill -9` can cost of slow traffic */
#define FLUSH_COMPRESSED_NS 1000000000U /* small blocks compress badly */
#define PROGRESS_SECONDS    1

/* --- signals and timers ----------------------------------------------------------------- */

static void block_signals(sigset_t *set)
{
	static const int ours[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

	sigemptyset(set);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		sigaddset(set, ours[i]);
	pthread_sigmask(SIG_BLOCK, set, NULL);
	/* Both are reported by write(): a pipe without reader, a file at its size limit. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

static bool written_to_pipe(const struct session *s)
{
	return s->opt->path && strcmp(s->opt->path, "-") == 0;
}

static bool on_signal(void *ctx, int fd)
{
	struct session *s = ctx;
	struct signalfd_siginfo info;
	char line[160];

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return false;
	switch (info.ssi_signo) {
	case SIGUSR1:
		report_progress(s, line, sizeof(line));
		rd_log(RD_LOG_WARNING, "%s", line + strspn(line, " "));
		return false;
	case SIGUSR2:
		/* A pipe has one beginning. */
		s->capture.turn = !written_to_pipe(s);
		return false;
	default:
		s->signal = (int)info.ssi_signo;
		return true;
	}
}

static bool ticked(int fd)
{
	uint64_t ticks;

	return read(fd, &ticks, sizeof(ticks)) == sizeof(ticks);
}

static bool on_progress(void *ctx, int fd)
{
	char line[160];

	if (ticked(fd)) {
		report_progress(ctx, line, sizeof(line));
		rd_cli_status(line);
	}
	return false;
}

static bool on_slice(void *ctx, int fd)
{
	struct session *s = ctx;

	if (ticked(fd))
		s->capture.turn = true;
	return false;
}

static bool on_duration(void *ctx, int fd)
{
	(void)ctx;
	return ticked(fd);
}

/* Fires every `period` seconds; aligned: at the clock's multiples of it. -1 if period is 0. */
static int timer(uint64_t period, bool once, bool aligned)
{
	struct itimerspec t = {.it_value.tv_sec = (time_t)period};
	struct timespec now;
	int fd;

	if (!period)
		return -1;
	fd = timerfd_create(aligned ? CLOCK_REALTIME : CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd < 0)
		return -1;
	if (!once)
		t.it_interval.tv_sec = (time_t)period;
	if (aligned) {
		clock_gettime(CLOCK_REALTIME, &now);
		t.it_value.tv_sec = (now.tv_sec / (time_t)period + 1) * (time_t)period;
	}
	timerfd_settime(fd, aligned ? TFD_TIMER_ABSTIME : 0, &t, NULL);
	return fd;
}

/* --- the output ------------------------------------------------------------------------- */

static const char *compression_of(const struct session *s)
{
	if (!s->opt->compress)
		return rd_compression_of(s->opt->path);
	return strcmp(s->opt->compress, "none") ? s->opt->compress : NULL;
}

/*
 * The output takes its time. Signals that came together with the one that ended the capture (a
 * terminal and a parent may both send it) are one; a later one means that nobody wants to wait.
 */
static void waiting_for_output(void *ctx)
{
	static const struct timespec now;
	struct session *s = ctx;
	int signal = sigtimedwait(&s->signals, NULL, &now);

	if (!s->told_to_wait) {
		while (signal > 0)
			signal = sigtimedwait(&s->signals, NULL, &now);
		s->told_to_wait = true;
		if (isatty(STDERR_FILENO))
			rd_log(RD_LOG_WARNING,
				"waiting for the output to take what was captured; Ctrl-C "
				"again abandons it");
	} else if (signal > 0 && signal != SIGUSR1 && signal != SIGUSR2) {
		rd_log(RD_LOG_WARNING, "abandoned: the end of the capture is not in the file");
		_exit(RD_CLASS_OUTPUT);
	}
}

static void begin_file(void *ctx)
{
	session_comment(ctx, NULL);
}

static void release_signals(struct session *s)
{
	static const struct timespec now;

	while (sigtimedwait(&s->signals, NULL, &now) > 0)
		;
	pthread_sigmask(SIG_UNBLOCK, &s->signals, NULL);
}

/* A file's frames are all in it: its statistics and its comment can be made. */
static void fill_ending(
	void *ctx, const struct rd_file_account *account, struct rd_iface_stats *stats)
{
	struct session *s = ctx;
	unsigned int i = 0;

	session_comment(s, account);
	/* What is left to write is short: from here on Ctrl-C just ends the program. */
	if (account->last)
		release_signals(s);
	for (unsigned int source = 0; source < s->n_sources; source++) {
		unsigned int n;
		const struct rd_source_ops *ops = s->sources[source]->ops;

		rd_source_ifaces(s->sources[source], &n);
		for (unsigned int k = 0; k < n; k++, i++) {
			const struct rd_tally *t = &account->tally[i];
			uint64_t ours = t->dropped + account->unwritten[i];
			uint64_t lost = account->last && n == 1 ? s->source_stats[source].lost : 0;
			struct rd_iface_stats theirs;

			stats[i] = (struct rd_iface_stats){.start_ns = account->first_ns,
				.end_ns = account->last_ns,
				.dropped_by_us = ours,
				.delivered = account->written[i]};
			if (!stats[i].start_ns || !session_is_offline(s)) {
				stats[i].start_ns = account->number == 1 || !account->first_ns
							    ? s->capture.start_ns
							    : account->first_ns;
				stats[i].end_ns = account->last || !account->last_ns
							  ? s->capture.end_ns
							  : account->last_ns;
			}
			/* What was lost when a file was captured stays known in the next one. */
			if (account->last && ops->iface_stats &&
				ops->iface_stats(s->sources[source], k, &theirs))
				lost = theirs.dropped;
			stats[i].accepted = account->written[i] + ours;
			stats[i].received = stats[i].accepted + t->filtered + lost;
			stats[i].dropped = ours + lost;
		}
	}
}

static int open_sink(struct session *s)
{
	static struct rd_sink_ending ending;
	struct rd_sink_config config = {.path = s->opt->path,
		.encoder = &s->encoder,
		.buffer = s->opt->buffer,
		.hold = s->opt->hold,
		.compression_level = (int)s->opt->compress_level,
		.write_mode = s->opt->write_mode,
		.sync = s->opt->sync,
		.patient = session_is_offline(s),
		.owner = s->identity.change ? s->identity.uid : (uid_t)-1,
		.group = s->identity.change ? s->identity.gid : (gid_t)-1,
		.rotation = s->opt->rotation};

	session_describe(s);
	if (!s->opt->path) {
		s->encoder = (struct rd_encoder){.ifaces = s->ifaces, .n_ifaces = s->n_ifaces};
		return 0;
	}
	if (rd_encoder_init(&s->encoder, s->opt->format, s->opt->path, &s->section, s->ifaces,
		    s->n_ifaces, &s->error) < 0 ||
		(s->opt->ibdump && ibdump_set_format(s) < 0))
		return -1;
	ending = (struct rd_sink_ending){waiting_for_output, begin_file, fill_ending, s};
	config.compression = compression_of(s);
	s->rewritable = rd_header_rewritable(s->opt->path, config.compression);
	for (unsigned int i = 0; i < s->n_ifaces; i++)
		if (s->ifaces[i].max_frame > config.max_frame)
			config.max_frame = s->ifaces[i].max_frame;
	return rd_sink_open(&s->sink, &config, &ending, &s->error);
}

/* --- filter ----------------------------------------------------------------------------- */

static void filter_words(struct session *s)
{
	const struct rd_filter_spec *f = &s->opt->filter;
	const struct {
		const char *name, *value;
	} terms[] = {{"", f->expression}, {"--qp ", f->qp}, {"--src-qp ", f->src_qp},
		{"--opcode ", f->opcode}, {"--host ", f->host}, {"--gid ", f->gid},
		{"-Q ", f->direction}, {"--roce", f->roce ? "" : NULL}};
	size_t used = 0;

	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		if (terms[i].value && used < sizeof(s->filter_text))
			used += (size_t)snprintf(s->filter_text + used,
				sizeof(s->filter_text) - used, "%s%s%s", used ? " " : "",
				terms[i].name, terms[i].value);
}

static int compile_filters(struct session *s)
{
	filter_words(s);
	for (unsigned int i = 0; i < s->n_sources; i++)
		if (rd_filter_compile(&s->filters[i], &s->opt->filter, s->sources[i]->iface.link,
			    &s->error) < 0)
			return -1;
	for (unsigned int i = 0; i < s->n_ifaces; i++) {
		if (s->filter_text[0])
			s->ifaces[i].filter = s->filter_text;
		if (s->opt->cut.snaplen)
			s->ifaces[i].snaplen = s->opt->cut.snaplen;
	}
	return 0;
}

static int explain_filter(const struct session *s)
{
	char *text = s->filters[0] ? rd_filter_explain(s->filters[0]) : NULL;

	printf("%s", text ? text : "every frame\n");
	free(text);
	return 0;
}

/* --- the run ---------------------------------------------------------------------------- */

static void print_frames(
	void *ctx, const struct rd_source *source, const struct rd_frame *frames, unsigned int n)
{
	struct session *s = ctx;
	FILE *out = written_to_pipe(s) ? stderr : stdout;
	char line[1024];

	rd_cli_status(NULL);
	for (unsigned int i = 0; i < n; i++) {
		rd_packet_line(
			line, sizeof(line), &frames[i], source->iface.link, s->opt->line_style);
		fprintf(out, "%s\n", line);
	}
	if (fflush(out) && out == stdout) {
		s->broken_pipe = errno == EPIPE;
		raise(SIGTERM);
	}
}

/* All is open: from here on the program needs no privilege. */
static int all_started(void *ctx, struct rd_error *err)
{
	struct session *s = ctx;

	if (identity_become(&s->identity, err) < 0)
		return -1;
	/* One file that ends the capture when it is full needs no place for another. */
	if (s->sink && s->opt->rotation.files != 1 &&
		(s->opt->slice_s || s->opt->rotation.bytes || s->opt->rotation.frames) &&
		!written_to_pipe(s))
		return directory_check(s->opt->path, err);
	return 0;
}

static uint64_t flush_ns(const struct session *s)
{
	if (s->opt->unbuffered || written_to_pipe(s))
		return 0;
	return s->opt->path && compression_of(s) ? FLUSH_COMPRESSED_NS : FLUSH_NS;
}

static void run(struct session *s)
{
	bool progress = s->opt->path && !s->opt->quiet && isatty(STDERR_FILENO);
	bool live = !session_is_offline(s);
	const struct rd_watch watches[] = {
		{signalfd(-1, &s->signals, SFD_CLOEXEC | SFD_NONBLOCK), on_signal, s},
		{timer(progress ? PROGRESS_SECONDS : 0, false, false), on_progress, s},
		{timer(live ? s->opt->slice_s : 0, false, s->opt->slice_aligned), on_slice, s},
		{timer(s->opt->duration_s, true, false), on_duration, s},
	};
	const unsigned int n_watches = sizeof(watches) / sizeof(watches[0]);
	const struct rd_capture_config config = {
		.sources = s->sources,
		.filters = s->filters,
		.n_sources = s->n_sources,
		.encoder = &s->encoder,
		.sink = s->sink,
		.cut = s->opt->cut.snaplen || s->opt->cut.headers_only || s->opt->cut.zero_payload
			       ? &s->opt->cut
			       : NULL,
		.decap = (enum rd_decap_mode)s->opt->decap,
		.slice_aligned = s->opt->slice_aligned,
		.slice_ns = live ? 0 : s->opt->slice_s * 1000000000U,
		.watches = watches,
		.n_watches = n_watches,
		.max_frames = s->opt->count,
		.when_full = live || s->opt->hold ? s->opt->when_full : RD_FULL_WAIT,
		.flush_ns = flush_ns(s),
		.started = all_started,
		.started_ctx = s,
		.seen = s->opt->print ? print_frames : NULL,
		.seen_ctx = s,
	};

	if (!s->opt->quiet)
		report_start(s);
	rd_capture_run(&s->capture, &config, &s->error);
	rd_cli_status(NULL);
	for (unsigned int i = 0; i < n_watches; i++)
		if (watches[i].fd >= 0)
			close(watches[i].fd);
	for (unsigned int i = 0; i < s->n_sources; i++)
		s->sources[i]->ops->stats(s->sources[i], &s->source_stats[i]);
}

static void close_sink(struct session *s)
{
	struct rd_error err;

	if (!s->sink) {
		s->written.written = rd_capture_total(&s->capture).encoded;
		return;
	}
	if (rd_sink_close(s->sink, s->capture.tally, &s->written, &s->broken_pipe, &err) == 0 ||
		s->error.class != RD_CLASS_NONE)
		return;
	/* Somebody who ran `| head` has what he wanted. */
	if (!s->broken_pipe)
		s->error = err;
}

static void report(const struct session *s)
{
	if (s->opt->json)
		report_json(s);
	else if (s->opt->ibdump)
		report_ibdump(s);
	else if (!s->opt->quiet)
		report_text(s);
}

int session_run(struct session *s)
{
	/* Before any thread exists, so that every thread leaves them to the engine. Opening a file
	 * may wait for the other end of a pipe: Ctrl-C must end that. */
	if (!session_is_offline(s))
		block_signals(&s->signals);
	if (identity_choose(&s->identity, s->opt->user, &s->error) < 0 ||
		session_open_sources(s) < 0 || compile_filters(s) < 0)
		goto out;
	if (session_is_offline(s))
		block_signals(&s->signals);
	if (s->opt->filter_explain) {
		explain_filter(s);
		goto out;
	}
	if (open_sink(s) < 0) {
		/* A reader that left before the header wants nothing. */
		if (s->error.errnum == EPIPE)
			s->error = (struct rd_error){0};
		goto out;
	}
	run(s);
	close_sink(s);
	report(s);
out:
	for (unsigned int i = 0; i < s->n_sources; i++) {
		rd_filter_free(s->filters[i]);
		s->sources[i]->ops->close(s->sources[i]);
	}
	rd_devices_free(&s->devices);
	if (s->error.class == RD_CLASS_NONE)
		return 0;
	return s->opt->ibdump ? ibdump_fail(&s->error) : rd_cli_fail(&s->error);
}
