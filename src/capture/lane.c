/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The thread of a lane: receives frames, waits for free chunks, sleeps while no frames arrive. */
#include "lane.h"
#include <errno.h>
#include <poll.h>
#include <rdmadump/clock.h>
#include <rdmadump/fd.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#define STOP_MS		     100 /* interval in which a wait for a stalled output checks for requests */
#define POLLS_BETWEEN_CHECKS 64	  /* batches between two checks of signals and timers under load */
#define EMPTY_POLLS	     256  /* default of consecutive empty polls before the lane sleeps */
#define NAP_FRAMES_MANY	     1024 /* frames received after one nap: naps are too long */
#define NAP_LONGER_MAX	     8
#define CALM_POLLS	     2 /* consecutive polls without a full batch, if sources gather frames */

static unsigned int n_sources(const struct lane *l)
{
	return l->config->n_sources;
}

/* --- descriptors ------------------------------------------------------------------------ */

static void sink_check(struct lane *l)
{
	if (l->pipe.feed && rd_feed_ended(l->pipe.feed))
		control_end(l->control, rd_feed_failed(l->pipe.feed) ? RD_END_OUTPUT : RD_END_FILES,
			NULL);
}

void lanes_rotate(struct lane *lanes, unsigned int n)
{
	const struct rd_capture_config *config = lanes->config;
	uint64_t newest = 0;

	if (!config->sink) {
		lanes->pipe.rotate = true;
		return;
	}
	for (unsigned int i = 0; i < n; i++) {
		uint64_t ns = __atomic_load_n(&lanes[i].pipe.newest_ns, __ATOMIC_RELAXED);

		newest = ns > newest ? ns : newest;
	}
	rd_sink_rotate(config->sink, newest + 1);
}

static void woken(struct lane *l, enum fd_kind kind, unsigned int index)
{
	struct rd_source *s = l->config->sources[index];
	uint64_t count;

	switch (kind) {
	case FD_SINK:
		rd_feed_disarm(l->pipe.feed);
		break;
	case FD_WAKE:
		eventfd_read(l->wake_fd, &count);
		break;
	case FD_WATCH:
		if (control_watched(l->control, index))
			lanes_rotate(l, 1);
		break;
	case FD_FRAMES:
	case FD_EVENTS:
		if (!l->ended[index] && s->ops->service(s, &l->err) < 0)
			control_end(l->control, RD_END_FAULT, &l->err);
		break;
	}
}

static void check_events(struct lane *l, int timeout_ms)
{
	struct epoll_event events[16];
	int n = epoll_wait(l->epfd, events, 16, timeout_ms);

	for (int i = 0; i < n; i++)
		woken(l, (enum fd_kind)(events[i].data.u64 >> 32), (uint32_t)events[i].data.u64);
	sink_check(l);
}

int lane_open(struct lane *l, struct rd_error *err)
{
	const struct rd_capture_config *config = l->config;

	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epfd < 0)
		return rd_fail(err, RD_CLASS_DEVICE, errno,
			"raise the limit of open files (ulimit -n)", "epoll_create1");
	for (unsigned int i = l->index; i < n_sources(l); i += l->stride) {
		if (control_poll(l->epfd, config->sources[i]->frame_fd, FD_FRAMES, i, EPOLL_CTL_ADD,
			    err) < 0 ||
			control_poll(l->epfd, config->sources[i]->event_fd, FD_EVENTS, i,
				EPOLL_CTL_ADD, err) < 0)
			return -1;
	}
	for (unsigned int i = 0; l->wake_fd < 0 && i < config->n_watches; i++)
		if (control_poll(l->epfd, config->watches[i].fd, FD_WATCH, i, EPOLL_CTL_ADD, err) <
			0)
			return -1;
	if (control_poll(l->epfd, l->wake_fd, FD_WAKE, 0, EPOLL_CTL_ADD, err) < 0)
		return -1;
	return l->pipe.feed ? control_poll(l->epfd, rd_feed_fd(l->pipe.feed), FD_SINK, 0,
				      EPOLL_CTL_ADD, err)
			    : 0;
}

void lane_close(struct lane *l)
{
	rd_fd_close(&l->epfd);
	rd_fd_close(&l->wake_fd);
}

/* --- receiving -------------------------------------------------------------------------- */

static void source_ended(struct lane *l, unsigned int i, bool fault)
{
	struct rd_source *s = l->config->sources[i];

	l->ended[i] = true;
	if (s->frame_fd >= 0)
		epoll_ctl(l->epfd, EPOLL_CTL_DEL, s->frame_fd, NULL);
	if (atomic_fetch_sub(&l->control->live, 1) == 1 && !fault)
		control_end(l->control, RD_END_SOURCE, NULL);
	if (fault)
		control_end(l->control, RD_END_FAULT, &l->err);
}

/* No chunk is free. True: try again; false: the frames are to be dropped. */
static bool await_chunk(struct lane *l)
{
	if (l->config->when_full == RD_FULL_END)
		control_end(l->control, RD_END_MEMORY, NULL);
	if (l->config->when_full != RD_FULL_WAIT || rd_feed_ended(l->pipe.feed) ||
		l->control->abandon)
		return false;
	if (rd_feed_arm_for_chunk(l->pipe.feed))
		check_events(l, STOP_MS);
	return true;
}

static void process(struct lane *l, unsigned int source, struct rd_frame *frames, unsigned int n)
{
	enum pipe_status status;
	struct pipe_batch batch;

	pipe_batch(&l->pipe, &batch, source, frames, n);
	do {
		status = pipe_run(&l->pipe, &batch);
		if (l->pipe.limit_reached)
			control_end(l->control, RD_END_COUNT, NULL);
		if (status == PIPE_NEED_CHUNK && !await_chunk(l))
			pipe_drop(&l->pipe, &batch);
	} while (status == PIPE_NEED_CHUNK);
}

/* Result of one round of receiving; FULL: a full batch, so that more frames are waiting. */
enum round { ROUND_EMPTY, ROUND_SOME, ROUND_FULL };

/* One batch from each source. */
static enum round receive_all(struct lane *l)
{
	struct rd_frame frames[RD_BATCH];
	enum round round = ROUND_EMPTY;

	for (unsigned int i = l->index; i < n_sources(l); i += l->stride) {
		struct rd_source *s = l->config->sources[i];
		int n;

		if (l->ended[i])
			continue;
		n = s->ops->receive(s, frames, RD_BATCH, &l->err);
		if (n > 0) {
			process(l, i, frames, (unsigned int)n);
			s->ops->release(s);
			l->nap.frames += (unsigned int)n;
			if (n == RD_BATCH)
				round = ROUND_FULL;
			else if (round == ROUND_EMPTY)
				round = ROUND_SOME;
		} else if (n < 0) {
			source_ended(l, i, n != RD_SOURCE_END);
		}
	}
	return round;
}

/* --- watermarks for the writer ---------------------------------------------------------- */

/* A timestamp: all frames received later are newer; 0: unknown. Read before receiving. */
static uint64_t watermark(struct lane *l)
{
	uint64_t least = UINT64_MAX;

	for (unsigned int i = l->index; i < n_sources(l); i += l->stride) {
		struct rd_source *s = l->config->sources[i];
		uint64_t ns = l->ended[i]	  ? UINT64_MAX
			      : s->ops->watermark ? s->ops->watermark(s)
						  : 0;

		least = ns < least ? ns : least;
	}
	return least;
}

/* The watermark that the writer requests from this lane; 0: none. */
static uint64_t requested(const struct lane *l)
{
	return l->pipe.feed ? rd_feed_requested(l->pipe.feed) : 0;
}

/* receive_all(), and the watermark that the writer requests, or the chunk. */
static enum round receive_and_report(struct lane *l)
{
	struct pipe *p = &l->pipe;
	uint64_t ns = watermark(l);
	enum round round = receive_all(l);

	if (round != ROUND_EMPTY || ns < p->newest_ns)
		ns = p->newest_ns;
	if (!requested(l))
		return round;
	if (p->chunk && p->chunk->frames)
		pipe_put(p);
	else if (ns)
		rd_feed_watermark(p->feed, ns);
	return round;
}

static enum round receive(struct lane *l)
{
	return requested(l) ? receive_and_report(l) : receive_all(l);
}

/* --- sleeping --------------------------------------------------------------------------- */

/* Remaining time in ns that the oldest frame in the chunk may wait; UINT64_MAX: no frame. */
static uint64_t flush_due(struct lane *l)
{
	uint64_t now, waited;

	if (!l->pipe.chunk || !l->pipe.chunk->frames)
		return UINT64_MAX;
	now = rd_monotonic_ns();
	if (!l->pipe.chunk_since)
		l->pipe.chunk_since = now;
	waited = now - l->pipe.chunk_since;
	return waited < l->config->flush_ns ? l->config->flush_ns - waited : 0;
}

/*
 * Hands over a partial chunk after the flush interval, but only to an idle writer: while the writer
 * is busy, the chunk is filled further, so that slow traffic does not use one chunk per frame.
 */
static void flush(struct lane *l)
{
	if (flush_due(l) == 0 && rd_feed_idle(l->pipe.feed))
		pipe_put(&l->pipe);
}

/* The timeout of a sleep in ms, -1: none; 0: do not sleep. */
static int flush_timeout(struct lane *l)
{
	uint64_t due;

	flush(l);
	due = flush_due(l);
	if (l->pipe.feed && !rd_feed_arm(l->pipe.feed))
		return 0;
	if (due == UINT64_MAX)
		return -1;
	return due == 0 ? -1 : (int)(due / 1000000) + 1;
}

/* A requested watermark that is not certain yet shortens the sleep until it is. */
static int watermark_timeout(struct lane *l, int timeout)
{
	uint64_t request = requested(l), ns;

	if (!request)
		return timeout;
	ns = watermark(l);
	if (!ns)
		return timeout;
	ns = request > ns ? (request - ns) / 1000000 + 1 : 0;
	return timeout < 0 || ns < (uint64_t)timeout ? (int)(ns < 1000 ? ns : 1000) : timeout;
}

/* A source that must be polled again at a certain time shortens the sleep. */
static int recheck_timeout(const struct lane *l, int timeout)
{
	uint64_t now = 0;

	for (unsigned int i = l->index; i < n_sources(l); i += l->stride) {
		uint64_t at = l->config->sources[i]->recheck_ns, ms;

		if (!at || l->ended[i])
			continue;
		now = now ? now : rd_monotonic_ns();
		ms = at > now ? (at - now) / 1000000 + 1 : 0;
		timeout = timeout < 0 || ms < (uint64_t)timeout ? (int)ms : timeout;
	}
	return timeout;
}

/*
 * How long the thread may sleep without arming its sources, in ns; 0: it must arm them. A nap
 * without frames is followed by an armed sleep, so that an idle lane does not wake up. In slow
 * traffic naps become longer; after one with many frames they become short at once.
 */
static uint64_t nap_ns(struct lane *l)
{
	uint64_t ns = UINT64_MAX;

	if (l->nap.taken && !l->nap.frames)
		return 0;
	if (l->nap.frames > NAP_FRAMES_MANY)
		l->nap.longer = 0;
	else if (l->nap.longer < NAP_LONGER_MAX)
		l->nap.longer++;
	for (unsigned int i = l->index; i < n_sources(l); i += l->stride) {
		const struct rd_source *s = l->config->sources[i];
		uint64_t longer = s->nap_ns.least << l->nap.longer;

		if (!l->ended[i] && longer > s->nap_ns.most)
			longer = s->nap_ns.most;
		if (!l->ended[i] && s->nap_ns.least && longer < ns)
			ns = longer;
	}
	return ns == UINT64_MAX ? 0 : ns;
}

static void nap(struct lane *l, uint64_t ns, int timeout_ms)
{
	struct pollfd fd = {.fd = l->epfd, .events = POLLIN};
	struct timespec time = {0};

	if (timeout_ms >= 0 && ns > (uint64_t)timeout_ms * 1000000)
		ns = (uint64_t)timeout_ms * 1000000;
	time.tv_nsec = (long)(ns < 999999999 ? ns : 999999999);
	l->nap.taken = true;
	l->nap.frames = 0;
	if (ppoll(&fd, 1, &time, NULL) > 0)
		check_events(l, 0);
}

/* 0: all sources are armed; 1: a source has frames now, or a fault. */
static int arm_all(struct lane *l)
{
	for (unsigned int i = l->index; i < n_sources(l); i += l->stride) {
		struct rd_source *s = l->config->sources[i];
		int armed = l->ended[i] ? 0 : s->ops->arm(s, &l->err);

		if (armed < 0)
			control_end(l->control, RD_END_FAULT, &l->err);
		if (armed)
			return 1;
		if (!l->ended[i])
			control_poll(l->epfd, s->frame_fd, FD_FRAMES, i, EPOLL_CTL_MOD, &l->err);
	}
	return 0;
}

static void sleep_until_event(struct lane *l)
{
	int timeout = watermark_timeout(l, flush_timeout(l));
	uint64_t ns = nap_ns(l);

	if (ns) {
		nap(l, ns, timeout);
	} else if (!arm_all(l)) {
		l->nap.taken = false;
		check_events(l, recheck_timeout(l, timeout));
	}
}

/* A source whose empty receive() is a system call is polled less often. */
static unsigned int empty_polls(const struct lane *l)
{
	unsigned int most = 0;

	for (unsigned int i = l->index; i < n_sources(l); i += l->stride) {
		unsigned int n = l->config->sources[i]->idle_polls;

		if (!n)
			return EMPTY_POLLS;
		most = n > most ? n : most;
	}
	return most;
}

/* Whether all sources allow frames to wait while the lane sleeps. */
static bool all_gather(const struct lane *l)
{
	for (unsigned int i = l->index; i < n_sources(l); i += l->stride)
		if (!l->ended[i] && !l->config->sources[i]->gathers)
			return false;
	return true;
}

/* Number of polls without a full batch, or without a frame, after which the lane sleeps. */
static unsigned int patience(const struct lane *l, bool gathers)
{
	return gathers ? CALM_POLLS : empty_polls(l);
}

void lane_run(struct lane *l)
{
	unsigned int calm = 0, batches = 0;

	while (!atomic_load_explicit(&l->control->stop, memory_order_relaxed)) {
		bool gathers = all_gather(l);
		enum round round = receive(l);

		if (round == ROUND_FULL || (round == ROUND_SOME && !gathers)) {
			calm = 0;
			if (++batches % POLLS_BETWEEN_CHECKS)
				continue;
			check_events(l, 0);
			flush(l);
		} else if (!l->control->stop && ++calm >= patience(l, gathers)) {
			sleep_until_event(l);
			calm = 0;
		}
	}
}

void lane_drain(struct lane *l)
{
	while (!l->control->abandon && receive(l) != ROUND_EMPTY)
		;
}
