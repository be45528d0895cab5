/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The engine: moves frames from sources through the chunks of a sink, and accounts for every one.
 */
#include <errno.h>
#include <rdmadump/capture.h>
#include <rdmadump/clock.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define POLLS_BETWEEN_LOOKS 64	/* batches between two looks at signals and timers under load */
#define EMPTY_POLLS	    256 /* rounds without a frame before going to sleep, by default */
#define STOP_MS		    100 /* how long a stalled output is waited for between two looks */

enum fd_kind { FD_FRAMES, FD_EVENTS, FD_SINK, FD_WATCH };

struct engine {
	struct rd_capture *c;
	const struct rd_capture_config *config;
	struct rd_error *err, ignored;
	struct rd_chunk *chunk;
	bool turn;	      /* the next chunk begins a file */
	uint64_t chunk_since; /* when the chunk's first frame was seen to wait; 0: not seen yet */
	uint64_t lost[RD_IFACES_MAX];	  /* dropped since the interface's last frame */
	unsigned int base[RD_IFACES_MAX]; /* first interface of each source */
	struct rd_frame outer[RD_BATCH];  /* the batch before the decapsulation */
	uint64_t slice_end;		  /* of the frames' time; 0: not begun */
	uint64_t total;			  /* frames kept, of all sources */
	unsigned int live;		  /* sources that have not ended */
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

/* --- the sink --------------------------------------------------------------------------- */

static void chunk_put(struct engine *e)
{
	for (unsigned int i = 0; i < e->config->encoder->n_ifaces; i++)
		e->chunk->tally[i] = e->c->tally[i];
	rd_sink_put(e->config->sink, e->chunk);
	e->chunk = NULL;
	e->chunk_since = 0;
}

static bool sink_ended(struct engine *e)
{
	const struct rd_sink *sink = e->config->sink;

	if (!sink || !rd_sink_ended(sink))
		return false;
	end(e, rd_sink_failed(sink) ? RD_END_OUTPUT : RD_END_FILES);
	return true;
}

/*
 * Frame descriptors report once and are armed before each sleep: those of pipes and packet sockets
 * stay readable while nobody receives.
 */
static int watch_fd(struct engine *e, int fd, enum fd_kind kind, unsigned int index, int operation)
{
	struct epoll_event event = {.events = EPOLLIN | (kind == FD_FRAMES ? EPOLLONESHOT : 0U),
		.data.u64 = (uint64_t)kind << 32 | index};

	if (fd < 0)
		return 0;
	if (epoll_ctl(e->epfd, operation, fd, &event) < 0)
		return rd_fail(e->err, RD_CLASS_DEVICE, errno, NULL, "epoll_ctl");
	return 0;
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
	sink_ended(e);
}

static struct rd_chunk *chunk_wait(struct engine *e)
{
	struct rd_sink *sink = e->config->sink;
	struct rd_chunk *c;

	while (!(c = rd_sink_get(sink))) {
		if (e->config->when_full == RD_FULL_END)
			end(e, RD_END_MEMORY);
		if (e->config->when_full != RD_FULL_WAIT || sink_ended(e) || e->abandon)
			return NULL;
		if (rd_sink_await(sink))
			look(e, STOP_MS);
	}
	return c;
}

/* Makes sure of a chunk with room; false when there is none and the policy says to drop. */
static bool chunk_get(struct engine *e)
{
	if (e->chunk)
		return true;
	e->chunk = chunk_wait(e);
	if (!e->chunk)
		return false;
	e->chunk->turn = e->turn;
	e->turn = false;
	return true;
}

/* --- accounting ------------------------------------------------------------------------- */

enum tally_field { DELIVERED, ENCODED, FILTERED, DROPPED };

static void tally_add(struct rd_tally *t, enum tally_field field, uint64_t n)
{
	switch (field) {
	case DELIVERED:
		t->delivered += n;
		break;
	case ENCODED:
		t->encoded += n;
		break;
	case FILTERED:
		t->filtered += n;
		break;
	case DROPPED:
		t->dropped += n;
		break;
	}
}

/* Adds `each` (1, or -1 to take back) per frame to its interface's tally. */
static void tally(struct engine *e, enum tally_field field, unsigned int source,
	const struct rd_frame *frames, unsigned int n, int each)
{
	const struct rd_source *s = e->config->sources[source];

	if (s->n_ifaces <= 1) {
		tally_add(&e->c->tally[e->base[source]], field, (uint64_t)((int64_t)n * each));
		return;
	}
	for (unsigned int i = 0; i < n; i++)
		tally_add(&e->c->tally[frames[i].iface], field, (uint64_t)(int64_t)each);
}

/* --- encoding --------------------------------------------------------------------------- */

static void encoded(struct engine *e, unsigned int source, const struct rd_frame *frames,
	unsigned int n, size_t bytes)
{
	struct rd_chunk *c = e->chunk;

	if (!n)
		return;
	if (!c->frames)
		c->first_ns = frames[0].ts_ns;
	c->last_ns = frames[n - 1].ts_ns;
	c->used += bytes;
	c->frames += n;
	tally(e, ENCODED, source, frames, n, 1);
}

/* The first frame after something happened carries the news, beside a note of its own. */
static unsigned int encode_noted(struct engine *e, unsigned int source,
	const struct rd_frame *frame, const struct rd_note *own)
{
	const struct rd_encoder *enc = e->config->encoder;
	struct rd_source *s = e->config->sources[source];
	struct rd_note note = {.dropped = e->lost[frame->iface] + (own ? own->dropped : 0),
		.comment = s->note[0] ? s->note : NULL};
	struct rd_chunk *c = e->chunk;
	char both[RD_NOTE_MAX];
	size_t used;

	if (own && own->comment && note.comment) {
		snprintf(both, sizeof(both), "%s; %s", own->comment, note.comment);
		note.comment = both;
	} else if (own && own->comment) {
		note.comment = own->comment;
	}
	used = enc->format->noted(enc, frame, &note, c->data + c->used, c->room - c->used);
	if (!used)
		return 0;
	encoded(e, source, frame, 1, used);
	e->lost[frame->iface] = 0;
	s->note[0] = '\0';
	return 1;
}

static unsigned int encode_plain(
	struct engine *e, unsigned int source, const struct rd_frame *frames, unsigned int n)
{
	const struct rd_encoder *enc = e->config->encoder;
	struct rd_chunk *c = e->chunk;
	size_t used;
	unsigned int done =
		enc->format->frames(enc, frames, n, c->data + c->used, c->room - c->used, &used);

	encoded(e, source, frames, done, used);
	return done;
}

static void drop(struct engine *e, unsigned int source, const struct rd_frame *frames,
	unsigned int n, const struct rd_note *own)
{
	tally(e, DROPPED, source, frames, n, 1);
	for (unsigned int i = 0; i < n; i++)
		e->lost[frames[i].iface]++;
	if (own)
		e->lost[frames[0].iface] += own->dropped;
}

/* own: the note of the only frame, NULL if it has none. */
static void encode(struct engine *e, unsigned int source, const struct rd_frame *frames,
	unsigned int n, const struct rd_note *own)
{
	while (n) {
		bool noted = own || e->lost[frames->iface] || e->config->sources[source]->note[0];
		unsigned int want = noted ? 1 : n, done;

		if (!chunk_get(e)) {
			drop(e, source, frames, n, own);
			return;
		}
		done = noted ? encode_noted(e, source, frames, own)
			     : encode_plain(e, source, frames, n);
		if (done < want)
			chunk_put(e);
		frames += done;
		n -= done;
	}
}

/* The next frame begins a new file. */
static void turn(struct engine *e)
{
	if (e->chunk)
		chunk_put(e);
	e->turn = true;
	e->c->turn = false;
}

/* Cuts the batch where a slice of the frames' time ends. */
static void encode_slices(struct engine *e, unsigned int source, const struct rd_frame *frames,
	unsigned int n, const struct rd_note *own)
{
	uint64_t slice = e->config->slice_ns;
	unsigned int from = 0;

	if (!n)
		return;
	if (e->c->turn)
		turn(e);
	for (unsigned int i = 0; slice && i < n; i++) {
		if (!e->slice_end)
			e->slice_end = e->config->slice_aligned
					       ? (frames[i].ts_ns / slice + 1) * slice
					       : frames[i].ts_ns + slice;
		if (frames[i].ts_ns < e->slice_end)
			continue;
		encode(e, source, frames + from, i - from, own);
		turn(e);
		from = i;
		e->slice_end += (frames[i].ts_ns - e->slice_end) / slice * slice + slice;
	}
	encode(e, source, frames + from, n - from, own);
}

/* --- mirrored traffic ------------------------------------------------------------------- */

static void decap(
	struct engine *e, const struct rd_source *s, struct rd_frame *frames, unsigned int n)
{
	if (e->config->decap == RD_DECAP_OUTER)
		memcpy(e->outer, frames, n * sizeof(*frames));
	rd_decap_run(s->iface.link, frames, n);
}

/* Puts the frames around those that were kept back in place: each begins within its outer one. */
static void recap(struct engine *e, struct rd_frame *frames, unsigned int n)
{
	const struct rd_frame *o = e->outer;

	for (unsigned int i = 0; i < n; i++, o++) {
		while (frames[i].data < o->data || frames[i].data > o->data + o->caplen)
			o++;
		frames[i].data = o->data;
		frames[i].caplen = o->caplen;
		frames[i].len = o->len;
	}
}

/* --- the way of a batch ----------------------------------------------------------------- */

/* -c counts what is kept. Frames of the batch beyond it are as if they had not come. */
static unsigned int limit(
	struct engine *e, unsigned int source, const struct rd_frame *frames, unsigned int n)
{
	uint64_t most = e->config->max_frames, left = most - e->total;

	if (!most || n < left)
		return n;
	end(e, RD_END_COUNT);
	tally(e, DELIVERED, source, frames + left, n - (unsigned int)left, -1);
	return (unsigned int)left;
}

static void process(struct engine *e, unsigned int source, struct rd_frame *frames, unsigned int n,
	const struct rd_note *own)
{
	const struct rd_capture_config *config = e->config;
	struct rd_source *s = config->sources[source];
	struct rd_filter *filter = config->filters ? config->filters[source] : NULL;
	struct rd_packet packets[RD_BATCH];
	unsigned int base = e->base[source], all = n;

	for (unsigned int i = 0; i < n; i++) {
		e->c->bytes += frames[i].len;
		frames[i].iface = (uint16_t)(s->n_ifaces > 1 ? frames[i].iface + base : base);
	}
	if (s->local.link != RD_LINK_UNKNOWN)
		rd_direction_mark(&s->local, frames, n);
	if (config->decap != RD_DECAP_NONE)
		decap(e, s, frames, n);
	tally(e, DELIVERED, source, frames, n, 1);
	if (filter) {
		tally(e, FILTERED, source, frames, all, 1);
		n = rd_filter_run(filter, frames, n, packets);
		tally(e, FILTERED, source, frames, n, -1);
		if (!n && own)
			e->lost[frames[0].iface] += own->dropped;
	}
	if (config->decap == RD_DECAP_OUTER)
		recap(e, frames, n);
	n = limit(e, source, frames, n);
	e->total += n;
	if (config->cut)
		rd_cut_run(config->cut, s->iface.link, frames, n,
			filter && rd_filter_parses(filter) ? packets : NULL);
	if (config->seen)
		config->seen(config->seen_ctx, s, frames, n);
	if (config->sink)
		encode_slices(e, source, frames, n, own);
	else
		tally(e, ENCODED, source, frames, n, 1);
}

/* A batch in which frames have notes of their own goes frame by frame. */
static void process_noted(
	struct engine *e, unsigned int source, struct rd_frame *frames, unsigned int n)
{
	struct rd_source *s = e->config->sources[source];

	for (unsigned int i = 0; i < n && e->c->end != RD_END_COUNT; i++) {
		struct rd_note note;
		bool has = s->ops->note(s, i, &note);

		process(e, source, &frames[i], 1, has ? &note : NULL);
	}
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
			if (s->batch_has_notes)
				process_noted(e, i, frames, (unsigned int)n);
			else
				process(e, i, frames, (unsigned int)n, NULL);
			s->ops->release(s);
			any = true;
		} else if (n < 0) {
			e->ended[i] = true;
			e->live--;
			if (s->frame_fd >= 0)
				epoll_ctl(e->epfd, EPOLL_CTL_DEL, s->frame_fd, NULL);
			if (n != RD_SOURCE_END)
				end(e, RD_END_FAULT);
			else if (!e->live)
				end(e, RD_END_SOURCE);
		}
	}
	return any;
}

/* How long the oldest frame in the chunk may still wait, in ns; UINT64_MAX: there is none. */
static uint64_t flush_due(struct engine *e)
{
	uint64_t now, waited;

	if (!e->chunk || !e->chunk->frames)
		return UINT64_MAX;
	now = rd_monotonic_ns();
	if (!e->chunk_since)
		e->chunk_since = now;
	waited = now - e->chunk_since;
	return waited < e->config->flush_ns ? e->config->flush_ns - waited : 0;
}

/*
 * Hands over a chunk that is not full, but only to a writer with nothing to do: while it is busy
 * the chunk goes on filling, so that slow traffic does not use up chunks with a frame in each.
 */
static void flush(struct engine *e)
{
	if (flush_due(e) == 0 && rd_sink_idle(e->config->sink))
		chunk_put(e);
}

/* The timeout in ms of a sleep; 0 if the writer has become idle meanwhile. */
static int flush_timeout(struct engine *e)
{
	uint64_t due;

	flush(e);
	due = flush_due(e);
	if (due == UINT64_MAX)
		return -1;
	if (due == 0)
		return rd_sink_await_writer(e->config->sink) ? -1 : 0;
	return (int)(due / 1000000) + 1;
}

static void sleep_until_something(struct engine *e)
{
	int timeout = flush_timeout(e);

	for (unsigned int i = 0; i < e->config->n_sources; i++) {
		struct rd_source *s = e->config->sources[i];
		int armed = e->ended[i] ? 0 : s->ops->arm(s, e->err);

		if (armed < 0)
			end(e, RD_END_FAULT);
		if (armed)
			return;
		if (!e->ended[i])
			watch_fd(e, s->frame_fd, FD_FRAMES, i, EPOLL_CTL_MOD);
	}
	look(e, timeout);
}

/* A source whose empty receive() costs a system call is not asked as often. */
static unsigned int empty_polls(const struct engine *e)
{
	unsigned int most = 0;

	for (unsigned int i = 0; i < e->config->n_sources; i++) {
		unsigned int n = e->config->sources[i]->idle_polls;

		if (!n)
			return EMPTY_POLLS;
		most = n > most ? n : most;
	}
	return most;
}

static void run(struct engine *e)
{
	unsigned int empty = 0, batches = 0, patience = empty_polls(e);

	while (!e->stop) {
		if (receive_all(e)) {
			empty = 0;
			if (++batches % POLLS_BETWEEN_LOOKS)
				continue;
			look(e, 0);
			flush(e);
		} else if (!e->stop && ++empty >= patience) {
			sleep_until_something(e);
			empty = 0;
		}
	}
}

/* What has arrived before the sources were stopped belongs to the capture. */
static void drain(struct engine *e)
{
	if (e->c->end != RD_END_WATCH && e->c->end != RD_END_FAULT)
		return;
	/* A fault was reported when it ended the capture. */
	e->err = &e->ignored;
	while (!e->abandon && receive_all(e))
		;
}

static int watch_all(struct engine *e)
{
	const struct rd_capture_config *config = e->config;

	e->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (e->epfd < 0)
		return rd_fail(e->err, RD_CLASS_DEVICE, errno,
			"raise the limit of open files (ulimit -n)", "epoll_create1");
	for (unsigned int i = 0, base = 0; i < config->n_sources; i++) {
		e->base[i] = base;
		base += config->sources[i]->n_ifaces ? config->sources[i]->n_ifaces : 1;
	}
	for (unsigned int i = 0; i < config->n_sources; i++)
		if (watch_fd(e, config->sources[i]->frame_fd, FD_FRAMES, i, EPOLL_CTL_ADD) < 0 ||
			watch_fd(e, config->sources[i]->event_fd, FD_EVENTS, i, EPOLL_CTL_ADD) < 0)
			return -1;
	for (unsigned int i = 0; i < config->n_watches; i++)
		if (watch_fd(e, config->watches[i].fd, FD_WATCH, i, EPOLL_CTL_ADD) < 0)
			return -1;
	return config->sink ? watch_fd(e, rd_sink_fd(config->sink), FD_SINK, 0, EPOLL_CTL_ADD) : 0;
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
	if (started == config->n_sources &&
		(!config->started || config->started(config->started_ctx, err) == 0)) {
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
