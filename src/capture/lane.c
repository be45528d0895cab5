/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A lane's thread: receives while frames come, waits for chunks, sleeps while there is nothing. */
#include "lane.h"
#include <errno.h>
#include <rdmadump/clock.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STOP_MS		    100 /* how long a stalled output is waited for between two looks */
#define POLLS_BETWEEN_LOOKS 64	/* batches between two looks at signals and timers under load */
#define EMPTY_POLLS	    256 /* rounds without a frame before going to sleep, by default */

static unsigned int n_sources(const struct lane *l)
{
	return l->config->n_sources;
}

/* --- descriptors ------------------------------------------------------------------------ */

static void sink_look(struct lane *l)
{
	for (unsigned int i = 0; i < l->pipe.out.n_feeds; i++)
		if (rd_feed_ended(l->pipe.out.feeds[i]))
			control_end(l->control,
				rd_feed_failed(l->pipe.out.feeds[i]) ? RD_END_OUTPUT : RD_END_FILES,
				NULL);
}

void lanes_rotate(struct lane *lanes, unsigned int n)
{
	const struct rd_capture_config *config = lanes->config;
	uint64_t newest = 0;

	if (!config->merged) {
		for (unsigned int i = 0; i < n; i++)
			lanes[i].pipe.rotate = true;
		return;
	}
	for (unsigned int i = 0; i < n; i++) {
		uint64_t ns = __atomic_load_n(&lanes[i].pipe.newest_ns, __ATOMIC_RELAXED);

		newest = ns > newest ? ns : newest;
	}
	for (unsigned int i = 0; i == 0 || i < config->n_stripes; i++)
		rd_sink_rotate(config->merged[i], newest + 1);
}

static void woken(struct lane *l, enum fd_kind kind, unsigned int index)
{
	struct rd_source *s = l->config->sources[index];
	uint64_t count;

	switch (kind) {
	case FD_SINK:
		rd_feed_disarm(l->pipe.out.feeds[index]);
		break;
	case FD_BELL:
		if (read(l->bell, &count, sizeof(count)) < 0)
			break;
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

static void look(struct lane *l, int timeout_ms)
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
		if (control_poll(l->epfd, config->sources[i]->frame_fd, FD_FRAMES, i, EPOLL_CTL_ADD,
			    err) < 0 ||
			control_poll(l->epfd, config->sources[i]->event_fd, FD_EVENTS, i,
				EPOLL_CTL_ADD, err) < 0)
			return -1;
	}
	for (unsigned int i = 0; l->bell < 0 && i < config->n_watches; i++)
		if (control_poll(l->epfd, config->watches[i].fd, FD_WATCH, i, EPOLL_CTL_ADD, err) <
			0)
			return -1;
	if (control_poll(l->epfd, l->bell, FD_BELL, 0, EPOLL_CTL_ADD, err) < 0)
		return -1;
	for (unsigned int i = 0; i < l->pipe.out.n_feeds; i++)
		if (control_poll(l->epfd, rd_feed_fd(l->pipe.out.feeds[i]), FD_SINK, i,
			    EPOLL_CTL_ADD, err) < 0)
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
	if (s->frame_fd >= 0)
		epoll_ctl(l->epfd, EPOLL_CTL_DEL, s->frame_fd, NULL);
	if (atomic_fetch_sub(&l->control->live, 1) == 1 && !fault)
		control_end(l->control, RD_END_SOURCE, NULL);
	if (fault)
		control_end(l->control, RD_END_FAULT, &l->err);
}

/* No chunk is free: true if it is worth trying again, false if frames are to be dropped. */
static bool await_chunk(struct lane *l)
{
	if (l->config->when_full == RD_FULL_END)
		control_end(l->control, RD_END_MEMORY, NULL);
	if (l->config->when_full != RD_FULL_WAIT || outlet_ended(&l->pipe.out) ||
		l->control->abandon)
		return false;
	if (outlet_arm(&l->pipe.out))
		look(l, STOP_MS);
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
			process(l, i, frames, (unsigned int)n);
			s->ops->release(s);
			any = true;
		} else if (n < 0) {
			source_ended(l, i, n != RD_SOURCE_END);
		}
	}
	return any;
}

/* --- watermarks for the writer ---------------------------------------------------------- */

/* Nothing older will be received; 0: not known. Asked before a receive that finds nothing. */
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

/* The oldest watermark that a writer requests of this lane; 0: none does. */
static uint64_t requested(const struct lane *l)
{
	uint64_t least = 0;

	for (unsigned int i = 0; i < l->pipe.out.n_feeds; i++) {
		uint64_t ns = rd_feed_requested(l->pipe.out.feeds[i]);

		if (ns && (!least || ns < least))
			least = ns;
	}
	return least;
}

/*
 * The same as receive_all(), for writers that merge: they get a watermark. Frames that come later
 * are not older than those that have gone into any stripe.
 */
static bool receive_and_report(struct lane *l)
{
	uint64_t ns = watermark(l);
	bool any = receive_all(l);

	if (any || ns < l->pipe.newest_ns)
		ns = l->pipe.newest_ns;
	for (unsigned int i = 0; i < l->pipe.out.n_feeds; i++) {
		if (!rd_feed_requested(l->pipe.out.feeds[i]))
			continue;
		if (i == l->pipe.out.at && l->pipe.out.chunk && l->pipe.out.chunk->frames)
			outlet_put(&l->pipe.out, l->pipe.tally);
		else if (ns)
			rd_feed_watermark(l->pipe.out.feeds[i], ns);
	}
	return any;
}

static bool receive(struct lane *l)
{
	return requested(l) ? receive_and_report(l) : receive_all(l);
}

/* --- sleeping --------------------------------------------------------------------------- */

/* How long the oldest frame in the chunk may still wait, in ns; UINT64_MAX: there is none. */
static uint64_t flush_due(struct lane *l)
{
	uint64_t now, waited;

	if (!l->pipe.out.chunk || !l->pipe.out.chunk->frames)
		return UINT64_MAX;
	now = rd_monotonic_ns();
	if (!l->pipe.out.chunk_since)
		l->pipe.out.chunk_since = now;
	waited = now - l->pipe.out.chunk_since;
	return waited < l->config->flush_ns ? l->config->flush_ns - waited : 0;
}

/*
 * Hands over a chunk that is not full, but only to a writer with nothing to do: while it is busy
 * the chunk goes on filling, so that slow traffic does not use up chunks with a frame in each.
 */
static void flush(struct lane *l)
{
	if (flush_due(l) == 0 && rd_feed_idle(l->pipe.out.feeds[l->pipe.out.at]))
		outlet_put(&l->pipe.out, l->pipe.tally);
}

/* The timeout in ms of a sleep; 0 if there is something to do meanwhile. */
static int flush_timeout(struct lane *l)
{
	uint64_t due;

	flush(l);
	due = flush_due(l);
	for (unsigned int i = 0; i < l->pipe.out.n_feeds; i++)
		if (!rd_feed_arm(l->pipe.out.feeds[i]))
			return 0;
	if (due == UINT64_MAX)
		return -1;
	return due == 0 ? -1 : (int)(due / 1000000) + 1;
}

/* A writer that requests more than is known yet gets its watermark as soon as it is true. */
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

static void sleep_until_something(struct lane *l)
{
	int timeout = watermark_timeout(l, flush_timeout(l));

	for (unsigned int i = l->index; i < n_sources(l); i += l->stride) {
		struct rd_source *s = l->config->sources[i];
		int armed = l->ended[i] ? 0 : s->ops->arm(s, &l->err);

		if (armed < 0)
			control_end(l->control, RD_END_FAULT, &l->err);
		if (armed)
			return;
		if (!l->ended[i])
			control_poll(l->epfd, s->frame_fd, FD_FRAMES, i, EPOLL_CTL_MOD, &l->err);
	}
	look(l, timeout);
}

/* A source whose empty receive() costs a system call is polled less often. */
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

	while (!atomic_load_explicit(&l->control->stop, memory_order_relaxed)) {
		if (receive(l)) {
			empty = 0;
			if (++batches % POLLS_BETWEEN_LOOKS)
				continue;
			look(l, 0);
			flush(l);
		} else if (!l->control->stop && ++empty >= patience) {
			sleep_until_something(l);
			empty = 0;
		}
	}
}

void lane_drain(struct lane *l)
{
	while (!l->control->abandon && receive(l))
		;
}
