/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One capture from beginning to end: opened step by step, each undone on every way out. */
#include "capture.h"
#include "cli.h"
#include <errno.h>
#include <pthread.h>
#include <rdmadump/clock.h>
#include <rdmadump/units.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define FLUSH_NS	 100000000U /* what `kill -9` can cost of slow traffic */
#define PROGRESS_SECONDS 1

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};

static void block_signals(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < sizeof(ending_signals) / sizeof(ending_signals[0]); i++)
		sigaddset(set, ending_signals[i]);
	sigaddset(set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, set, NULL);
	/* Both are reported by write(): a pipe without reader, a file at its size limit. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

/* From now on a second Ctrl-C ends the program at once: the device is released, the file readable.
 */
static void unblock_signals(const sigset_t *set)
{
	pthread_sigmask(SIG_UNBLOCK, set, NULL);
}

static void show_progress(struct session *s)
{
	char line[160];

	report_progress(s, line, sizeof(line));
	rd_cli_status(line);
}

static bool on_signal(void *ctx, int fd)
{
	struct session *s = ctx;
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return false;
	if (info.ssi_signo == SIGUSR1) {
		char line[160];

		report_progress(s, line, sizeof(line));
		rd_log(RD_LOG_WARNING, "%s", line);
		return false;
	}
	s->signal = (int)info.ssi_signo;
	return true;
}

static bool on_timer(void *ctx, int fd)
{
	uint64_t ticks;

	if (read(fd, &ticks, sizeof(ticks)) == sizeof(ticks))
		show_progress(ctx);
	return false;
}

static int progress_timer(const struct session *s)
{
	const struct itimerspec period = {
		.it_value.tv_sec = PROGRESS_SECONDS, .it_interval.tv_sec = PROGRESS_SECONDS};
	int fd;

	if (s->opt->quiet || !isatty(STDERR_FILENO))
		return -1;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd >= 0)
		timerfd_settime(fd, 0, &period, NULL);
	return fd;
}

static int find_nth(struct session *s)
{
	unsigned int n = s->opt->nth;

	for (size_t i = 0; i < s->devices.n; i++) {
		const struct rd_device *d = &s->devices.dev[i];

		if (n <= d->n_ports) {
			s->device = d;
			s->port = &d->ports[n - 1];
			return 0;
		}
		n -= d->n_ports;
	}
	return rd_fail(&s->error, RD_CLASS_USAGE, 0, "see 'rdmadump list'",
		"there is no port number %u in the list", s->opt->nth);
}

static int find_device(struct session *s)
{
	const struct capture_options *o = s->opt;
	const char *why, *todo;
	enum rd_verdict verdict;

	if (rd_devices_load(&s->devices, "", &s->error) < 0)
		return -1;
	if (o->nth	    ? find_nth(s)
		: o->device ? rd_devices_find(&s->devices, o->device, o->port, &s->device, &s->port,
				      &s->error)
			    : rd_devices_default(&s->devices, &s->device, &s->port, &s->error))
		return -1;
	verdict = rd_port_verdict(s->device, s->port, &why, &todo);
	if (verdict == RD_CAPTURE_NETDEV)
		return rd_fail(&s->error, RD_CLASS_DEVICE, 0, *todo ? todo : NULL,
			"%s port %u cannot be captured by verbs: %s", s->device->name, s->port->num,
			why);
	/* The table's word is not the last one: the device may refuse, or take, what it says. */
	if (*todo)
		rd_log(RD_LOG_DEBUG, "%s port %u: %s; %s", s->device->name, s->port->num, why,
			todo);
	return 0;
}

static int open_source(struct session *s)
{
	const struct rd_verbs_config config = {.device = s->device,
		.port = s->port,
		.log2_buffers = s->opt->log2_buffers,
		.max_frame = s->opt->max_frame,
		.sysroot = ""};

	return rd_verbs_open(&s->source, &config, &s->error);
}

static int open_sink(struct session *s)
{
	const struct rd_sink_config config = {.path = s->opt->path,
		.encoder = &s->encoder,
		.buffer = s->opt->buffer,
		.max_frame = s->source->iface.max_frame};

	session_describe(s);
	session_comment(s, false);
	if (rd_encoder_init(&s->encoder, s->opt->format, s->opt->path, &s->section,
		    &s->source->iface, 1, &s->error) < 0)
		return -1;
	return rd_sink_open(&s->sink, &config, &s->error);
}

static int run(struct session *s, const sigset_t *signals)
{
	bool piped = strcmp(s->opt->path, "-") == 0;
	int sigfd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
	int timer = progress_timer(s);
	const struct rd_watch watches[] = {{sigfd, on_signal, s}, {timer, on_timer, s}};
	const struct rd_capture_config config = {
		.sources = &s->source,
		.n_sources = 1,
		.encoder = &s->encoder,
		.sink = s->sink,
		.watches = watches,
		.n_watches = 2,
		.max_frames = s->opt->count,
		.when_full = s->opt->when_full,
		.flush_ns = s->opt->unbuffered || piped ? 0 : FLUSH_NS,
	};
	int rc;

	if (!s->opt->quiet)
		report_start(s);
	rc = rd_capture_run(&s->capture, &config, &s->error);
	rd_cli_status(NULL);
	if (timer >= 0)
		close(timer);
	if (sigfd >= 0)
		close(sigfd);
	return rc;
}

/* All frames are in the file: its statistics and its comment can be made. */
static void fill_ending(
	void *ctx, const struct rd_sink_stats *written, struct rd_iface_stats *stats)
{
	struct session *s = ctx;
	const struct rd_tally *t = &s->capture.tally[0];

	s->written = *written;
	session_comment(s, true);
	stats[0] = (struct rd_iface_stats){
		.start_ns = s->capture.start_ns,
		.end_ns = s->capture.end_ns,
		.received = t->delivered + s->source_stats.lost,
		.dropped = t->dropped + written->unwritten + s->source_stats.lost,
		.accepted = t->delivered - t->filtered,
		.dropped_by_us = t->dropped + written->unwritten,
		.delivered = written->written,
	};
}

static void close_sink(struct session *s)
{
	const struct rd_sink_ending ending = {fill_ending, s};
	struct rd_error err;

	if (rd_sink_close(s->sink, &ending, &s->written, &s->broken_pipe, &err) == 0 ||
		s->error.class != RD_CLASS_NONE)
		return;
	/* Somebody who ran `| head` has what he wanted. */
	if (!s->broken_pipe)
		s->error = err;
}

int session_run(struct session *s)
{
	sigset_t signals;

	/* Before any thread exists, so that every thread leaves them to the engine. */
	block_signals(&signals);
	if (find_device(s) < 0 || open_source(s) < 0 || open_sink(s) < 0)
		goto out;
	run(s, &signals);
	s->source->ops->stats(s->source, &s->source_stats);
	unblock_signals(&signals);
	close_sink(s);
	if (s->opt->json)
		report_json(s);
	else if (!s->opt->quiet)
		report_text(s);
out:
	if (s->source)
		s->source->ops->close(s->source);
	rd_devices_free(&s->devices);
	return s->error.class == RD_CLASS_NONE ? 0 : rd_cli_fail(&s->error);
}
