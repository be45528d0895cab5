/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One capture from beginning to end: opened step by step, each undone on every way out. */
#include "capture.h"
#include "cli.h"
#include <errno.h>
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
#define PINNED_BYTES	    131072 /* of a buffer at most: two of 64 KiB while it is exchanged */

/* --- timers ----------------------------------------------------------------------------- */

bool session_to_pipe(const struct session *s)
{
	return s->opt->path && strcmp(s->opt->path, "-") == 0;
}

static bool ticked(int fd)
{
	uint64_t ticks;

	return read(fd, &ticks, sizeof(ticks)) == sizeof(ticks);
}

static bool on_progress(void *ctx, int fd)
{
	char line[160];

	struct session *s = ctx;

	if (ticked(fd)) {
		report_progress(s, line, sizeof(line));
		if (!s->live || !live_show(s->live, line))
			rd_cli_status(line);
	}
	return false;
}

static bool on_slice(void *ctx, int fd)
{
	struct session *s = ctx;

	if (ticked(fd))
		s->capture.rotate = true;
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

static void print_frames(struct session *s, const struct rd_source *source,
	const struct rd_frame *frames, unsigned int n)
{
	FILE *out = session_to_pipe(s) ? stderr : stdout;

	rd_cli_status(NULL);
	for (unsigned int i = 0; i < n; i++)
		frame_line_put(out, &s->lines, &frames[i], source->iface.link, s->opt->line_style);
	if (fflush(out) && out == stdout) {
		s->broken_pipe = errno == EPIPE;
		raise(SIGTERM);
	}
}

static void see_frames(
	void *ctx, const struct rd_source *source, const struct rd_frame *frames, unsigned int n)
{
	struct session *s = ctx;

	if (s->live)
		live_see(s->live, source, frames, n);
	if (s->opt->print)
		print_frames(s, source, frames, n);
}

/* The devices run: privileges go before any thread is started, which would keep them. */
static int all_started(void *ctx, struct rd_error *err)
{
	struct session *s = ctx;

	rd_identity_allow_pinned((uint64_t)s->n_sources * PINNED_BYTES << s->opt->log2_buffers);
	return rd_identity_become(&s->identity, err) < 0 || outputs_start(s) < 0 ? -1 : 0;
}

/* Each receive queue gets a thread where frames can be brought into order again. */
static void choose_threads(struct session *s)
{
	bool can = s->opt->queues && s->n_sources > 1 && s->opt->path && !s->opt->print &&
		   !s->opt->analyze;

	for (unsigned int i = 0; i < s->n_sources; i++)
		can &= s->sources[i]->ops->horizon != NULL;
	s->n_threads = can ? s->n_sources : 0;
	if (s->opt->queues && s->n_sources > 1 && !can)
		rd_log(RD_LOG_WARNING,
			"one thread serves all queues: lines are printed (-v), "
			"frames are analysed (--analyze), or nothing is written (-w)");
}

/* Threads near the device, each on a CPU of its own where there are enough. */
static void choose_cpus(struct session *s)
{
	int near[RD_CPUS_MAX];

	for (unsigned int i = 0; i < s->n_threads; i++) {
		unsigned int n =
			s->device[i] ? rd_device_cpus("", s->device[i], near, RD_CPUS_MAX) : 0;

		s->cpus[i] = n > s->n_threads ? near[i % n] : -1;
	}
}

static uint64_t flush_ns(const struct session *s)
{
	if (s->opt->unbuffered || session_to_pipe(s))
		return 0;
	return s->opt->path && session_compression(s) ? FLUSH_COMPRESSED_NS : FLUSH_NS;
}

static void run(struct session *s)
{
	bool progress = (s->opt->path || s->live) && !s->opt->quiet && isatty(STDERR_FILENO);
	bool live = !session_is_offline(s);
	const struct rd_watch watches[] = {
		{signalfd(-1, &s->signals, SFD_CLOEXEC | SFD_NONBLOCK), signals_ready, s},
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
		.bases = s->bases,
		.n_threads = s->n_threads,
		.cpus = s->cpus,
		.feeds = s->n_outputs ? s->feeds : NULL,
		.n_stripes = s->opt->n_stripes,
		.merged = s->n_threads && s->n_outputs && !s->opt->per_queue ? s->merged : NULL,
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
		.seen = s->opt->print || s->live ? see_frames : NULL,
		.seen_ctx = s,
	};

	s->started_ns = rd_monotonic_ns();
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

void session_report(const struct session *s)
{
	if (s->opt->json)
		report_json(s);
	else if (s->opt->ibdump)
		report_ibdump(s);
	else if (!s->opt->quiet)
		report_text(s);
	if (s->live && !s->opt->json)
		live_report(s->live);
}

int session_run(struct session *s)
{
	/* Before any thread exists, so that every thread leaves them to the engine. Opening a file
	 * may wait for the other end of a pipe: Ctrl-C must end that. Requests are held already. */
	if (!session_is_offline(s))
		signals_block(s);
	if (s->opt->list_stamps) {
		session_list_stamps(s);
		goto out;
	}
	if (s->opt->read)
		rd_inputs_add(&s->inputs, s->opt->read);
	if (rd_identity_choose(&s->identity, s->opt->user, &s->error) < 0 ||
		session_open_sources(s) < 0 || compile_filters(s) < 0)
		goto out;
	if (session_is_offline(s))
		signals_block(s);
	if (s->opt->filter_explain) {
		explain_filter(s);
		goto out;
	}
	choose_threads(s);
	choose_cpus(s);
	if (s->opt->analyze && live_open(s) < 0)
		goto out;
	if (outputs_open(s) < 0) {
		/* A reader that left before the header wants nothing. */
		if (s->error.errnum == EPIPE)
			s->error = (struct rd_error){0};
		goto out;
	}
	run(s);
	if (s->live)
		live_stop(s->live);
	facts_at_end(s);
	outputs_close(s);
	session_report(s);
out:
	for (unsigned int i = 0; i < s->n_sources; i++) {
		rd_filter_free(s->filters[i]);
		if (!s->follows[i])
			s->sources[i]->ops->close(s->sources[i]);
	}
	live_close(s->live);
	session_facts_free(s);
	rd_devices_free(&s->devices);
	if (s->error.class == RD_CLASS_NONE)
		return 0;
	return s->opt->ibdump ? ibdump_fail(&s->error) : rd_cli_fail(&s->error);
}
