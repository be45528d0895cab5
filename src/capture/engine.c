/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The engine: moves frames from sources through the chunks of a sink, and accounts for every one.
 */
#include <errno.h>
#include <rdmadump/capture.h>
#include <rdmadump/clock.h>
#include <sys/epoll.h>
#include <unistd.h>

#define POLLS_BETWEEN_LOOKS 64	/* batches between two looks at signals and timers under load */
#define EMPTY_POLLS	    256 /* rounds without a frame before going to sleep */
#define STOP_MS		    100 /* how long a stalled output is waited for between two looks */

enum fd_kind { FD_FRAMES, FD_EVENTS, FD_SINK, FD_WATCH };

struct engine {
	struct rd_capture *c;
	const struct rd_capture_config *config;
	struct rd_error *err;
	struct rd_chunk *chunk;
	uint64_t chunk_since; /* when the chunk's first frame was seen to wait; 0: not seen yet */
	uint64_t lost[RD_IFACES_MAX]; /* dropped since the interface's last frame */
	uint64_t total;		      /* delivered by all sources */
	unsigned int live;	      /* sources that have not ended */
	bool ended[RD_IFACES_MAX];
	int epfd;
	bool stop;
	bool abandon; /* told to end a second time: do not wait for the output any more */
};

static void end(struct engine *e, enum rd_end why)
{
	if (!e->stop)
		e->c->end = why;
	else if (why == RD_END_WATCH)
		e->abandon = true;
	e->stop = true;
}

static void chunk_put(struct engine *e)
{
	for (unsigned int i = 0; i < e->config->n_sources; i++)
		e->chunk->tally[i] = e->c->tally[i];
	rd_sink_put(e->config->sink, e->chunk);
	e->chunk = NULL;
	e->chunk_since = 0;
}

/* Looks at every descriptor once, at most `timeout_ms` long. */
static void look(struct engine *e, int timeout_ms)
{
	struct epoll_event events[16];
	int n = epoll_wait(e->epfd, events, 16, timeout_ms);

	for (int i = 0; i < n; i++) {
		enum fd_kind kind = (enum fd_kind)(events[i].data.u64 >> 32);
		uint32_t index = (uint32_t)events[i].data.u64;
		const struct rd_watch *w = &e->config->watches[index];

		if (kind == FD_SINK)
			rd_sink_woke(e->config->sink);
		else if (kind == FD_WATCH && w->ready(w->ctx, w->fd))
			end(e, RD_END_WATCH);
		else if (kind != FD_WATCH && !e->ended[index] &&
			 e->config->sources[index]->ops->service(
				 e->config->sources[index], e->err) < 0)
			end(e, RD_END_FAULT);
	}
	if (rd_sink_failed(e->config->sink))
		end(e, RD_END_OUTPUT);
}

/* Makes sure of a chunk with room; false when there is none and the policy says to drop. */
static bool chunk_get(struct engine *e)
{
	if (e->chunk)
		return true;
	e->chunk = rd_sink_get(e->config->sink);
	while (!e->chunk && e->config->when_full == RD_FULL_WAIT &&
		!rd_sink_failed(e->config->sink) && !e->abandon) {
		if (rd_sink_await(e->config->sink))
			look(e, STOP_MS);
		e->chunk = rd_sink_get(e->config->sink);
	}
	return e->chunk;
}

/* The first frame after something happened carries the news. */
static bool encode_noted(struct engine *e, unsigned int i, const struct rd_frame *frame)
{
	const struct rd_encoder *enc = e->config->encoder;
	struct rd_source *s = e->config->sources[i];
	struct rd_note note = {.dropped = e->lost[i], .comment = s->note[0] ? s->note : NULL};
	struct rd_chunk *c = e->chunk;
	size_t used = enc->format->noted(enc, frame, &note, c->data + c->used, c->room - c->used);

	if (!used)
		return false;
	c->used += used;
	c->frames++;
	e->c->tally[i].encoded++;
	e->lost[i] = 0;
	s->note[0] = '\0';
	return true;
}

static unsigned int encode_plain(
	struct engine *e, unsigned int i, const struct rd_frame *frames, unsigned int n)
{
	const struct rd_encoder *enc = e->config->encoder;
	struct rd_chunk *c = e->chunk;
	size_t used;
	unsigned int done =
		enc->format->frames(enc, frames, n, c->data + c->used, c->room - c->used, &used);

	c->used += used;
	c->frames += done;
	e->c->tally[i].encoded += done;
	return done;
}

static void encode(struct engine *e, unsigned int i, const struct rd_frame *frames, unsigned int n)
{
	while (n) {
		bool noted = e->lost[i] || e->config->sources[i]->note[0];
		unsigned int want = noted ? 1 : n, done;

		if (!chunk_get(e)) {
			e->c->tally[i].dropped += n;
			e->lost[i] += n;
			return;
		}
		done = noted ? encode_noted(e, i, frames) : encode_plain(e, i, frames, n);
		if (done < want)
			chunk_put(e);
		frames += done;
		n -= done;
	}
}

static void process(struct engine *e, unsigned int i, struct rd_frame *frames, unsigned int n)
{
	struct rd_source *s = e->config->sources[i];

	if (e->config->max_frames && n >= e->config->max_frames - e->total) {
		n = (unsigned int)(e->config->max_frames - e->total);
		end(e, RD_END_COUNT);
	}
	rd_direction_mark(&s->local, frames, n);
	for (unsigned int k = 0; k < n; k++) {
		e->c->bytes += frames[k].len;
		frames[k].iface = (uint16_t)i;
	}
	e->total += n;
	e->c->tally[i].delivered += n;
	encode(e, i, frames, n);
}

/* One batch from each source; true if there was anything. */
static bool receive_all(struct engine *e)
{
	struct rd_frame frames[RD_BATCH];
	bool any = false;

	for (unsigned int i = 0; i < e->config->n_sources; i++) {
		struct rd_source *s = e->config->sources[i];
		int n;

		if (e->ended[i])
			continue;
		n = s->ops->receive(s, frames, RD_BATCH, e->err);
		if (n > 0) {
			process(e, i, frames, (unsigned int)n);
			s->ops->release(s);
			any = true;
		} else if (n < 0) {
			e->ended[i] = true;
			e->live--;
			if (n != RD_SOURCE_END)
				end(e, RD_END_FAULT);
			else if (!e->live)
				end(e, RD_END_SOURCE);
		}
	}
	return any;
}

/* How long to sleep, in ms: until the oldest frame in the chunk must be written, or for ever. */
static int flush_or_timeout(struct engine *e)
{
	uint64_t now, waited;

	if (!e->chunk || !e->chunk->frames)
		return -1;
	now = rd_monotonic_ns();
	if (!e->chunk_since)
		e->chunk_since = now;
	waited = now - e->chunk_since;
	if (waited >= e->config->flush_ns) {
		chunk_put(e);
		return -1;
	}
	return (int)((e->config->flush_ns - waited) / 1000000) + 1;
}

static void sleep_until_something(struct engine *e)
{
	int timeout = flush_or_timeout(e);

	for (unsigned int i = 0; i < e->config->n_sources; i++) {
		struct rd_source *s = e->config->sources[i];
		int armed = e->ended[i] ? 0 : s->ops->arm(s, e->err);

		if (armed < 0)
			end(e, RD_END_FAULT);
		if (armed)
			return;
	}
	look(e, timeout);
}

static void run(struct engine *e)
{
	unsigned int empty = 0, batches = 0;

	while (!e->stop) {
		if (receive_all(e)) {
			empty = 0;
			if (++batches % POLLS_BETWEEN_LOOKS)
				continue;
			look(e, 0);
			flush_or_timeout(e);
		} else if (++empty >= EMPTY_POLLS) {
			sleep_until_something(e);
			empty = 0;
		}
	}
}

/* What has arrived before the sources were stopped belongs to the capture. */
static void drain(struct engine *e)
{
	struct rd_error ignored; /* a fault was reported when it ended the capture */

	if (e->c->end == RD_END_COUNT || e->c->end == RD_END_OUTPUT)
		return;
	e->err = &ignored;
	while (receive_all(e) && e->c->end != RD_END_COUNT)
		;
}

static int watch_fd(struct engine *e, int fd, enum fd_kind kind, unsigned int index)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)kind << 32 | index};

	if (fd < 0)
		return 0;
	if (epoll_ctl(e->epfd, EPOLL_CTL_ADD, fd, &event) < 0)
		return rd_fail(e->err, RD_CLASS_DEVICE, errno, NULL, "epoll_ctl");
	return 0;
}

static int watch_all(struct engine *e)
{
	const struct rd_capture_config *config = e->config;

	e->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (e->epfd < 0)
		return rd_fail(e->err, RD_CLASS_DEVICE, errno,
			"raise the limit of open files (ulimit -n)", "epoll_create1");
	for (unsigned int i = 0; i < config->n_sources; i++)
		if (watch_fd(e, config->sources[i]->frame_fd, FD_FRAMES, i) < 0 ||
			watch_fd(e, config->sources[i]->event_fd, FD_EVENTS, i) < 0)
			return -1;
	for (unsigned int i = 0; i < config->n_watches; i++)
		if (watch_fd(e, config->watches[i].fd, FD_WATCH, i) < 0)
			return -1;
	return watch_fd(e, rd_sink_fd(config->sink), FD_SINK, 0);
}

int rd_capture_run(
	struct rd_capture *c, const struct rd_capture_config *config, struct rd_error *err)
{
	struct engine e = {.c = c, .config = config, .err = err, .live = config->n_sources};
	unsigned int started = 0;
	struct rd_clock clock;
	int rc = -1;

	rd_clock_set(&clock);
	c->start_ns = c->end_ns = rd_clock_now(&clock);
	if (watch_all(&e) < 0)
		goto out;
	for (; started < config->n_sources; started++)
		if (config->sources[started]->ops->start(config->sources[started], err) < 0)
			break;
	if (started == config->n_sources) {
		run(&e);
		rc = 0;
	}
	while (started--)
		config->sources[started]->ops->stop(config->sources[started]);
	if (rc == 0)
		drain(&e);
	if (e.chunk)
		chunk_put(&e);
	c->end_ns = rd_clock_now(&clock);
	if (rc == 0 && c->end == RD_END_FAULT) {
		err->class = RD_CLASS_PARTIAL;
		rc = -1;
	}
out:
	if (e.epfd >= 0)
		close(e.epfd);
	return rc;
}

struct rd_tally rd_capture_total(const struct rd_capture *c)
{
	struct rd_tally total = {0};

	for (unsigned int i = 0; i < RD_IFACES_MAX; i++) {
		total.delivered += c->tally[i].delivered;
		total.encoded += c->tally[i].encoded;
		total.filtered += c->tally[i].filtered;
		total.dropped += c->tally[i].dropped;
	}
	return total;
}
