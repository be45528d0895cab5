/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A capture from beginning to end: opened step by step, each step undone on every exit path. */
#include "session.h"
#include <errno.h>
#include <rdmadump/fd.h>
#include <rdmadump/sum.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#define FLUSH_NS	    100000000U	/* slow traffic: `kill -9` loses at most this much */
#define FLUSH_COMPRESSED_NS 1000000000U /* small blocks compress badly */
#define PINNED_BYTES	    131072 /* per buffer at most: two of 64 KiB while one replaces the other */

/* --- the numbers of a whole capture ------------------------------------------------------- */

/* Frames that were delivered after the last file was full do not count. */
static struct rd_tally total(const struct rd_session *s)
{
	struct rd_tally t = rd_capture_total(&s->capture);

	t.encoded -= s->result.written.beyond;
	return t;
}

static uint64_t account_loss(const struct rd_session *s, bool *known)
{
	uint64_t lost = 0;

	*known = true;
	for (unsigned int i = 0; i < s->in.n; i++) {
		rd_sum_add(&lost, s->in.stats[i].lost);
		*known &= s->in.stats[i].loss_known || s->in.follows[i];
	}
	return lost;
}

/* Fills in the result, except `ran`, `broken_pipe` and `written`. */
static void account_result(struct rd_session *s)
{
	struct rd_session_result *r = &s->result;

	r->end = s->capture.end;
	r->error = s->error;
	r->start_ns = s->capture.start_ns;
	r->end_ns = s->capture.end_ns;
	r->bytes = rd_capture_bytes(&s->capture);
	r->account = s->capture.account;
	r->total = total(s);
	r->dropped = r->total.dropped + r->written.unwritten;
	r->lost = account_loss(s, &r->lost_known);
	r->gaps = r->left_out = 0;
	for (unsigned int i = 0; i < s->in.n; i++) {
		r->gaps += s->in.stats[i].gaps;
		r->left_out += s->in.stats[i].left_out;
	}
}

/* --- ends and time slices --------------------------------------------------------------- */

static bool on_slice(void *ctx, int fd)
{
	struct rd_session *s = ctx;

	if (rd_fd_fired(fd))
		s->capture.rotate = true;
	return false;
}

/* duration_s is over, or rd_session_stop() was called. */
static bool on_end(void *ctx, int fd)
{
	(void)ctx;
	return rd_fd_fired(fd);
}

void rd_session_stop(struct rd_session *s)
{
	/* EAGAIN: it was requested before. */
	eventfd_write(s->stop_fd, 1);
}

void rd_session_rotate(struct rd_session *s)
{
	/* A pipe cannot begin a new file. */
	s->capture.rotate = !out_to_pipe(s);
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
	if (!once)
		t.it_interval.tv_sec = (time_t)period;
	if (aligned) {
		clock_gettime(CLOCK_REALTIME, &now);
		t.it_value.tv_sec = (now.tv_sec / (time_t)period + 1) * (time_t)period;
	}
	timerfd_settime(fd, aligned ? TFD_TIMER_ABSTIME : 0, &t, NULL);
	return fd;
}

/* --- threads ---------------------------------------------------------------------------- */

/* The one lane runs in the main thread. Called after the other threads have started, which would
 * inherit the affinity. */
static void stay_near(const struct rd_session *s)
{
	int near[RD_CPUS_MAX];
	unsigned int n = 0;
	cpu_set_t set;

	if (!s->n_threads && inputs_numa_node(s) >= 0)
		n = rd_device_cpus("", s->in.device[0], near, RD_CPUS_MAX);
	/* The writer also needs one. */
	if (n < 2)
		return;
	CPU_ZERO(&set);
	for (unsigned int i = 0; i < n; i++)
		CPU_SET((size_t)near[i], &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void restrict_calls(const struct rd_session *s)
{
	bool runs = s->config->out.rotation.command || s->config->calls.runs_programs;
	int rc = s->config->no_seccomp ? ECANCELED : seccomp_restrict(runs);

	if (rc)
		rd_log(RD_LOG_DEBUG, "no system call is refused (seccomp): %s", strerror(rc));
	else
		rd_log(RD_LOG_DEBUG,
			"system calls that a capture does not need are refused (seccomp)");
}

/* Called when devices are started: drops privileges before a thread exists that would keep them. */
static int all_started(void *ctx, struct rd_error *err)
{
	struct rd_session *s = ctx;

	rd_identity_allow_pinned(
		(uint64_t)s->in.n * PINNED_BYTES << s->config->device.log2_buffers);
	if (rd_identity_become(&s->identity, err) < 0)
		return -1;
	restrict_calls(s);
	if (out_start(s) < 0 || loss_watch(s) < 0)
		return -1;
	if (s->config->calls.started)
		s->config->calls.started(s->config->calls.ctx);
	stay_near(s);
	return 0;
}

/* Each receive queue gets a thread if its frames can be merged into order. */
static void choose_threads(struct rd_session *s)
{
	bool can = s->config->queues && s->in.n > 1 && s->config->out.path &&
		   !s->config->calls.frames && !s->config->recording;

	for (unsigned int i = 0; i < s->in.n; i++)
		can &= s->in.sources[i]->ops->watermark != NULL;
	s->n_threads = can ? s->in.n : 0;
	if (s->config->queues && s->in.n > 1 && !can)
		rd_log(RD_LOG_WARNING,
			"one thread serves all queues, because frames are printed (-v) or analysed "
			"(--analyze), or no file is written (-w)");
}

/* Pins each thread to a CPU near the device, if there are enough of them. */
static void choose_cpus(struct rd_session *s)
{
	int near[RD_CPUS_MAX];

	for (unsigned int i = 0; i < s->n_threads; i++) {
		unsigned int n = s->in.device[i]
					 ? rd_device_cpus("", s->in.device[i], near, RD_CPUS_MAX)
					 : 0;

		s->cpus[i] = n > s->n_threads ? near[i % n] : -1;
	}
}

/* --- the run ---------------------------------------------------------------------------- */

static uint64_t flush_ns(const struct rd_session *s)
{
	if (s->config->unbuffered || out_to_pipe(s))
		return 0;
	return s->config->out.path && out_compression(s) ? FLUSH_COMPRESSED_NS : FLUSH_NS;
}

static bool cuts(const struct rd_cut *cut)
{
	return cut->snaplen || cut->headers_only || cut->zero_payload;
}

static void capture(struct rd_session *s, const struct rd_watch *watches, unsigned int n_watches)
{
	const struct rd_session_config *c = s->config;
	bool live = !is_offline(s);
	const struct rd_capture_config config = {
		.sources = s->in.sources,
		.filters = s->in.filters,
		.n_sources = s->in.n,
		.encoder = &s->out.encoder,
		.bases = s->in.bases,
		.n_threads = s->n_threads,
		.cpus = s->cpus,
		.feeds = s->out.sink ? s->out.feeds : NULL,
		.sink = s->n_threads ? s->out.sink : NULL,
		.cut = cuts(&c->cut) ? &c->cut : NULL,
		.decap = c->decap,
		.slice_aligned = c->slice_aligned,
		.slice_ns = live ? 0 : c->slice_s * 1000000000U,
		.watches = watches,
		.n_watches = n_watches,
		.max_frames = c->count,
		.when_full = live || c->out.hold ? c->when_full : RD_FULL_WAIT,
		.flush_ns = flush_ns(s),
		.started = all_started,
		.started_ctx = s,
		.seen = c->calls.frames,
		.commented = c->calls.commented,
		.comment = c->calls.comment,
		.seen_ctx = c->calls.ctx,
	};

	s->started_ns = rd_monotonic_ns();
	rd_capture_run(&s->capture, &config, &s->error);
	/* A reader that closed the pipe before the header is not an error. */
	if (s->error.errnum == EPIPE && s->out.sink && !s->out.started) {
		s->error = (struct rd_error){0};
		s->result.broken_pipe = true;
	}
}

static void run(struct rd_session *s)
{
	const struct rd_session_config *c = s->config;
	const struct rd_watch own[] = {
		{timer(is_offline(s) ? 0 : c->slice_s, false, c->slice_aligned), on_slice, s},
		{timer(c->duration_s, true, false), on_end, s},
		{s->stop_fd, on_end, s},
	};
	const unsigned int n_own = RD_COUNT(own);
	struct rd_watch watches[RD_SESSION_WATCHES + RD_COUNT(own)];
	unsigned int n = c->n_watches < RD_SESSION_WATCHES ? c->n_watches : RD_SESSION_WATCHES;

	if (n)
		memcpy(watches, c->watches, n * sizeof(*watches));
	memcpy(watches + n, own, sizeof(own));
	capture(s, watches, n + n_own);
	for (unsigned int i = 0; i < n_own; i++)
		if (own[i].fd >= 0 && own[i].fd != s->stop_fd)
			close(own[i].fd);
	loss_after(s);
	inputs_stats(s);
	for (unsigned int i = 0; i < s->in.n && s->error.class == RD_CLASS_NONE; i++)
		if (s->in.stats[i].stop_error)
			s->error = *s->in.stats[i].stop_error;
}

int rd_session_run(struct rd_session *s)
{
	const struct rd_session_config *c = s->config;

	choose_threads(s);
	choose_cpus(s);
	if (out_open(s) < 0) {
		s->result.error = s->error;
		return -1;
	}
	s->result.ran = true;
	if (c->calls.ready)
		c->calls.ready(c->calls.ctx);
	facts_at_start(s);
	owners_begin(s);
	recording_read(s);
	loss_before(s);
	run(s);
	account_result(s);
	if (c->calls.ended)
		c->calls.ended(c->calls.ctx);
	facts_at_end(s);
	out_close(s);
	account_result(s);
	return s->error.class == RD_CLASS_NONE ? 0 : -1;
}

void rd_session_abandon(struct rd_session *s)
{
	struct rd_sink_stats *w = &s->result.written;

	rd_fail(&s->error, RD_CLASS_OUTPUT, 0, NULL,
		"abandoned: the end of the capture is not in '%s'", s->config->out.path);
	out_stats(s, w);
	w->unwritten = rd_capture_total(&s->capture).encoded - w->written - w->beyond;
	account_result(s);
}

static int choose_identity(struct rd_session *s)
{
	if (rd_identity_choose(&s->identity, s->config->user, &s->error) < 0)
		return -1;
	s->identity.root_option = s->config->root_option;
	return 0;
}

int rd_session_open(
	struct rd_session **session, const struct rd_session_config *config, struct rd_error *err)
{
	struct rd_session *s = calloc(1, sizeof(*s));

	if (!s)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the capture");
	s->config = config;
	rd_clock_set(&s->sampling.clock);
	loss_init(s);
	owners_init(s);
	s->recording.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->stop_fd < 0) {
		rd_fail(&s->error, RD_CLASS_DEVICE, errno,
			"raise the limit of open files (ulimit -n)", "eventfd");
	} else if (choose_identity(s) == 0 && inputs_open(s) == 0 &&
		   inputs_compile_filters(s) == 0) {
		scope_warn(s);
		*session = s;
		return 0;
	}
	*err = s->error;
	rd_session_close(s);
	return -1;
}

void rd_session_close(struct rd_session *s)
{
	if (!s)
		return;
	inputs_close(s);
	owners_free(s);
	loss_free(s);
	facts_free(s);
	recording_free(s);
	rd_fd_close(&s->stop_fd);
	free(s);
}

enum rd_triggered rd_session_trigger(struct rd_session *s, uint64_t ns)
{
	return rd_sink_trigger(s->out.sink, ns);
}

uint64_t rd_session_now(const struct rd_session *s)
{
	return rd_source_now(s->in.sources[0]);
}

size_t rd_session_memory(const struct rd_session *s, bool *locked)
{
	return rd_sink_memory(s->out.sink, locked);
}

/* --- queries --------------------------------------------------------------------------- */

const struct rd_session_result *rd_session_result(struct rd_session *s)
{
	return &s->result;
}

bool rd_session_offline(const struct rd_session *s)
{
	return is_offline(s);
}

const struct rd_session_source *rd_session_sources(const struct rd_session *s, unsigned int *n)
{
	*n = s->n_listed;
	return s->listed;
}

const struct rd_iface *rd_session_ifaces(const struct rd_session *s, unsigned int *n)
{
	*n = s->in.n_ifaces;
	return s->in.ifaces;
}

const char *rd_session_filter_text(const struct rd_session *s)
{
	return s->in.filter_text;
}

const struct rd_encoder *rd_session_encoder(const struct rd_session *s)
{
	return &s->out.encoder;
}

void rd_session_progress(const struct rd_session *s, struct rd_session_progress *p)
{
	struct rd_source *first = s->in.sources[0];
	struct rd_tally t = rd_capture_total(&s->capture);
	struct rd_sink_stats written;

	out_stats(s, &written);
	*p = (struct rd_session_progress){.elapsed_ns = rd_monotonic_ns() - s->started_ns,
		.frames = rd_tally_delivered(&t),
		.bytes = rd_capture_bytes(&s->capture),
		.file_bytes = written.file_bytes,
		.lost = t.dropped + written.unwritten,
		.lost_known = true};
	for (unsigned int i = 0; i < s->in.n; i++) {
		struct rd_source_stats source;

		s->in.sources[i]->ops->stats(s->in.sources[i], &source);
		rd_sum_add(&p->lost, source.lost);
		p->lost_known &= source.loss_known || s->in.follows[i] || is_offline(s);
	}
	if (first->ops->progress)
		first->ops->progress(first, &p->input_done, &p->input_size);
}
