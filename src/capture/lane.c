/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A lane's life: receives while there is something, sleeps while there is nothing. */
#include "lane.h"
#include <errno.h>
#include <rdmadump/clock.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define POLLS_BETWEEN_LOOKS 64	/* batches between two looks at signals and timers under load */
#define EMPTY_POLLS	    256 /* rounds without a frame before going to sleep, by default */

static unsigned int n_sources(const struct lane *l)
{
	return l->config->n_sources;
}

/* --- descriptors ------------------------------------------------------------------------ */

static void sink_look(struct lane *l)
{
	for (unsigned int i = 0; i < l->n_feeds; i++)
		if (rd_feed_ended(l->feeds[i]))
			engine_end(l->e, rd_feed_failed(l->feeds[i]) ? RD_END_OUTPUT : RD_END_FILES,
				NULL);
}

static void woken(struct lane *l, enum fd_kind kind, unsigned int index)
{
	struct rd_source *s = l->config->sources[index];
	uint64_t count;

	switch (kind) {
	case FD_SINK:
		rd_feed_disarm(l->feeds[index]);
		break;
	case FD_BELL:
		if (read(l->bell, &count, sizeof(count)) < 0)
			break;
		break;
	case FD_WATCH:
		engine_watched(l->e, index);
		break;
	case FD_FRAMES:
	case FD_EVENTS:
		if (!l->ended[index] && s->ops->service(s, &l->err) < 0)
			engine_end(l->e, RD_END_FAULT, &l->err);
		break;
	}
}

void lane_look(struct lane *l, int timeout_ms)
{
	struct epoll_event events[16];
	int n = epoll_wait(l->epfd, events, 16, timeout_ms);

	for (int i = 0; i < n; i++)
		woken(l, (enum fd_kind)(events[i].data.u64 >> 32), (uint32_t)events[i].data.u64);
	sink_look(l);
}

int lane_open(struct lane *l, struct rd_error *err)
{
	const struct rd_capture_config *config = l->config;

	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epfd < 0)
		return rd_fail(err, RD_CLASS_DEVICE, errno,
			"raise the limit of open files (ulimit -n)", "epoll_create1");
	for (unsigned int i = l->index; i < n_sources(l); i += l->stride) {
		l->live++;
		if (engine_watch(l->epfd, config->sources[i]->frame_fd, FD_FRAMES, i, EPOLL_CTL_ADD,
			    err) < 0 ||
			engine_watch(l->epfd, config->sources[i]->event_fd, FD_EVENTS, i,
				EPOLL_CTL_ADD, err) < 0)
			return -1;
	}
	for (unsigned int i = 0; l->bell < 0 && i < config->n_watches; i++)
		if (engine_watch(l->epfd, config->watches[i].fd, FD_WATCH, i, EPOLL_CTL_ADD, err) <
			0)
			return -1;
	if (engine_watch(l->epfd, l->bell, FD_BELL, 0, EPOLL_CTL_ADD, err) < 0)
		return -1;
	for (unsigned int i = 0; i < l->n_feeds; i++)
		if (engine_watch(l->epfd, rd_feed_fd(l->feeds[i]), FD_SINK, i, EPOLL_CTL_ADD, err) <
			0)
			return -1;
	return 0;
}

void lane_close(struct lane *l)
{
	if (l->epfd >= 0)
		close(l->epfd);
	if (l->bell >= 0)
		close(l->bell);
}

/* --- receiving -------------------------------------------------------------------------- */

static void source_ended(struct lane *l, unsigned int i, bool fault)
{
	struct rd_source *s = l->config->sources[i];

	l->ended[i] = true;
	l->live--;
	if (s->frame_fd >= 0)
		epoll_ctl(l->epfd, EPOLL_CTL_DEL, s->frame_fd, NULL);
	if (atomic_fetch_sub(&l->e->live, 1) == 1 && !fault)
		engine_end(l->e, RD_END_SOURCE, NULL);
	if (fault)
		engine_end(l->e, RD_END_FAULT, &l->err);
}

/* One batch from each source; true if there was anything. */
static bool receive_all(struct lane *l)
{
	struct rd_frame frames[RD_BATCH];
	bool any = false;

	for (unsigned int i = l->index; i < n_sources(l); i += l->stride) {
		struct rd_source *s = l->config->sources[i];
		int n;

		if (l->ended[i])
			continue;
		n = s->ops->receive(s, frames, RD_BATCH, &l->err);
		if (n > 0) {
			lane_process(l, i, frames, (unsigned int)n);
			s->ops->release(s);
			any = true;
		} else if (n < 0) {
			source_ended(l, i, n != RD_SOURCE_END);
		}
	}
	return any;
}

/* --- what the writer waits for ---------------------------------------------------------- */

/* Nothing older will be received; 0: nobody knows. Asked before a receive that finds nothing. */
static uint64_t horizon(struct lane *l)
{
	uint64_t least = UINT64_MAX;

	for (unsigned int i = l->index; i < n_sources(l); i += l->stride) {
		struct rd_source *s = l->config->sources[i];
		uint64_t ns = l->ended[i] ? UINT64_MAX : s->ops->horizon ? s->ops->horizon(s) : 0;

		least = ns < least ? ns : least;
	}
	return least;
}

/* The oldest stamp up to which a writer wants to hear of this lane; 0: none does. */
static uint64_t wanted(const struct lane *l)
{
	uint64_t least = 0;

	for (unsigned int i = 0; i < l->n_feeds; i++) {
		uint64_t ns = rd_feed_requested(l->feeds[i]);

		if (ns && (!least || ns < least))
			least = ns;
	}
	return least;
}

/*
 * The same as receive_all(), for writers that merge: they hear how far this lane is. Frames that
 * come are not older than those that have gone into whichever stripe.
 */
static bool receive_and_tell(struct lane *l)
{
	uint64_t ns = horizon(l);
	bool any = receive_all(l);

	if (any || ns < l->newest_ns)
		ns = l->newest_ns;
	for (unsigned int i = 0; i < l->n_feeds; i++) {
		if (!rd_feed_requested(l->feeds[i]))
			continue;
		if (i == l->at && l->chunk && l->chunk->frames)
			lane_chunk_put(l);
		else if (ns)
			rd_feed_watermark(l->feeds[i], ns);
	}
	return any;
}

static bool receive(struct lane *l)
{
	return wanted(l) ? receive_and_tell(l) : receive_all(l);
}

/* --- sleeping --------------------------------------------------------------------------- */

/* How long the oldest frame in the chunk may still wait, in ns; UINT64_MAX: there is none. */
static uint64_t flush_due(struct lane *l)
{
	uint64_t now, waited;

	if (!l->chunk || !l->chunk->frames)
		return UINT64_MAX;
	now = rd_monotonic_ns();
	if (!l->chunk_since)
		l->chunk_since = now;
	waited = now - l->chunk_since;
	return waited < l->config->flush_ns ? l->config->flush_ns - waited : 0;
}

/*
 * Hands over a chunk that is not full, but only to a writer with nothing to do: while it is busy
 * the chunk goes on filling, so that slow traffic does not use up chunks with a frame in each.
 */
static void flush(struct lane *l)
{
	if (flush_due(l) == 0 && rd_feed_idle(l->feeds[l->at]))
		lane_chunk_put(l);
}

/* The timeout in ms of a sleep; 0 if there is something to do meanwhile. */
static int flush_timeout(struct lane *l)
{
	uint64_t due;

	flush(l);
	due = flush_due(l);
	for (unsigned int i = 0; i < l->n_feeds; i++)
		if (!rd_feed_arm(l->feeds[i]))
			return 0;
	if (due == UINT64_MAX)
		return -1;
	return due == 0 ? -1 : (int)(due / 1000000) + 1;
}

/* A writer that waits for more than could be told is told again as soon as that is true. */
static int told_timeout(struct lane *l, int timeout)
{
	uint64_t stamp = wanted(l), ns;

	if (!stamp)
		return timeout;
	ns = horizon(l);
	if (!ns)
		return timeout;
	ns = stamp > ns ? (stamp - ns) / 1000000 + 1 : 0;
	return timeout < 0 || ns < (uint64_t)timeout ? (int)(ns < 1000 ? ns : 1000) : timeout;
}

static void sleep_until_something(struct lane *l)
{
	int timeout = told_timeout(l, flush_timeout(l));

	for (unsigned int i = l->index; i < n_sources(l); i += l->stride) {
		struct rd_source *s = l->config->sources[i];
		int armed = l->ended[i] ? 0 : s->ops->arm(s, &l->err);

		if (armed < 0)
			engine_end(l->e, RD_END_FAULT, &l->err);
		if (armed)
			return;
		if (!l->ended[i])
			engine_watch(l->epfd, s->frame_fd, FD_FRAMES, i, EPOLL_CTL_MOD, &l->err);
	}
	lane_look(l, timeout);
}

/* A source whose empty receive() costs a system call is not asked as often. */
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

void lane_run(struct lane *l)
{
	unsigned int empty = 0, batches = 0, patience = empty_polls(l);

	while (!atomic_load_explicit(&l->e->stop, memory_order_relaxed)) {
		if (receive(l)) {
			empty = 0;
			if (++batches % POLLS_BETWEEN_LOOKS)
				continue;
			lane_look(l, 0);
			flush(l);
		} else if (!l->e->stop && ++empty >= patience) {
			sleep_until_something(l);
			empty = 0;
		}
	}
}

void lane_drain(struct lane *l)
{
	while (!l->e->abandon && receive(l))
		;
}
