/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The writer of a sink that retains frames: which of the frames that it holds go into files, and
 * when. A frame is written at most once, so that it is in one file at most.
 */
#include "retained.h"
#include "writer.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <rdmadump/clock.h>
#include <rdmadump/log.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Interval at which the lane hands over its frames while a file is written. */
#define REQUEST_NS 100000000U
/* The same when the window has ended. */
#define REQUEST_LAST_NS 2000000U
/* A source without watermarks delivers its frames within this time. */
#define GRACE_NS 1000000000U

/* --- files ------------------------------------------------------------------------------- */

static void take_error(struct rd_sink *s)
{
	struct retained *r = &s->retained;

	r->error = s->error;
	r->any_failed = true;
	r->failed = false;
	r->dump.failed = r->dump.cut = true;
	r->dump.error = r->error.text;
}

/* A file stays if it has frames, also if it has failed. */
static void keep_or_remove(struct rd_sink *s)
{
	struct retained *r = &s->retained;

	if (r->dump.frames) {
		r->files++;
		return;
	}
	windows_forget(&r->windows);
	/* Another program has removed or truncated it. */
	if (s->gone)
		return;
	if (unlink(r->dump.path) < 0 && errno != ENOENT)
		rd_log(RD_LOG_WARNING, "cannot remove '%s': %s", r->dump.path, strerror(errno));
	s->bytes_before = r->bytes_before;
	r->dump.bytes = 0;
}

static void report(struct rd_sink *s)
{
	const struct rd_retention *c = s->config.retention;

	if (c->ended)
		c->ended(c->ctx, &s->retained.dump);
}

static struct rd_dump dump_of(const struct retained *r)
{
	return (struct rd_dump){.from_ns = r->window.from,
		.until_ns = r->window.until,
		.trigger_ns = r->window.trigger,
		.missing_until_ns = r->held.missing_ns >= r->window.from ? r->held.missing_ns : 0};
}

static bool begin(struct rd_sink *s)
{
	struct retained *r = &s->retained;
	struct rd_error err;

	r->dump = dump_of(r);
	r->dump.path = s->series.path;
	if (writer_next_file(s, r->window.trigger, &err) < 0) {
		writer_fail(s, &err);
		return false;
	}
	r->dumping = true;
	if (s->config.retention->begun)
		s->config.retention->begun(s->config.retention->ctx, &r->dump);
	return true;
}

static void end(struct rd_sink *s, bool cut)
{
	struct retained *r = &s->retained;
	struct rd_error err;

	r->dump.until_ns = r->window.until;
	r->dump.cut = cut;
	if (writer_end_file(s, false, &err) < 0)
		writer_fail(s, &err);
	r->dumping = false;
	r->dump.frames = s->file.frames.all;
	r->dump.bytes = s->bytes_before - r->bytes_before;
	if (r->failed)
		take_error(s);
	keep_or_remove(s);
	r->bytes_before = s->bytes_before;
	report(s);
}

/* Nothing new was received: it would be a file without frames. */
static void end_without_file(struct rd_sink *s)
{
	struct retained *r = &s->retained;

	r->dump = dump_of(r);
	windows_forget(&r->windows);
	report(s);
}

/* What was written stays; the window ends. A file that could not begin has no header. */
static void end_failed(struct rd_sink *s)
{
	struct retained *r = &s->retained;

	if (r->dumping) {
		end(s, true);
	} else {
		take_error(s);
		windows_forget(&r->windows);
		report(s);
	}
	windows_drop(&r->windows);
}

/* The limit of bytes is reached: what was written stays, and nothing more is written. */
static void end_full(struct rd_sink *s)
{
	end(s, true);
	windows_close(&s->retained.windows);
	writer_finish(s);
}

/* --- frames ------------------------------------------------------------------------------ */

/* Bytes that frames may still take. */
static uint64_t room(const struct rd_sink *s)
{
	uint64_t most = s->config.retention->bytes, used = s->retained.found.bytes +
							   s->bytes_before + s->file.out.offset +
							   s->file.text_room;

	if (!most)
		return UINT64_MAX;
	return most > used ? most - used : 0;
}

enum progress {
	PROGRESS_MORE,	 /* all available frames were written; more may arrive */
	PROGRESS_BEYOND, /* a frame newer than the window was found */
	PROGRESS_FULL,	 /* the limit of bytes */
	PROGRESS_FAILED,
};

/* Writes the part of the oldest chunk that belongs to the window. */
static enum progress write_oldest(struct rd_sink *s, uint64_t until)
{
	struct held *h = &s->retained.held;
	const struct rd_chunk *c = held_oldest(h);
	const uint8_t *data = c->data + h->at;
	const struct run run = held_run(s, until, room(s));
	struct records records;

	if (!run.len)
		return held_ns(h) > until ? PROGRESS_BEYOND : PROGRESS_FULL;
	records = records_walk(s->encoder, data, run.len, UINT64_MAX, UINT64_MAX);
	memcpy(s->seen, c->tally, sizeof(s->seen));
	if (!s->first_ns)
		s->first_ns = held_ns(h);
	s->last_ns = run.last;
	held_advance(h, &run);
	if (!writer_write(s, data, &records))
		return PROGRESS_FAILED;
	if (h->at == c->used)
		held_release(s);
	return PROGRESS_MORE;
}

/* Begins the file with the first frame of the window, so that there is none without frames. */
static enum progress begin_window(struct rd_sink *s)
{
	struct retained *r = &s->retained;

	if (!r->held.n)
		return PROGRESS_MORE;
	if (held_ns(&r->held) > r->window.until + SLACK_NS)
		return PROGRESS_BEYOND;
	return begin(s) ? PROGRESS_MORE : PROGRESS_FAILED;
}

/* Also takes chunks that the lane fills meanwhile, so that its ring cannot overflow. */
static enum progress write_window(struct rd_sink *s)
{
	struct retained *r = &s->retained;
	enum progress progress = PROGRESS_MORE;

	if (!r->dumping) {
		held_skip_older(s);
		memcpy(s->begun, s->seen, sizeof(s->begun));
		progress = begin_window(s);
	}
	while (r->held.n && progress == PROGRESS_MORE) {
		progress = write_oldest(s, r->window.until + SLACK_NS);
		held_take(s);
	}
	return progress;
}

/* --- the lane ------------------------------------------------------------------------------ */

/* Whether the lane has received all frames until then; due_ns: CLOCK_MONOTONIC at that time. */
static bool has_received(struct rd_sink *s, uint64_t until, uint64_t due_ns)
{
	struct rd_feed *f = &s->feeds[0];

	return atomic_load_explicit(&f->watermark, memory_order_seq_cst) >= until ||
	       rd_monotonic_ns() >= due_ns + GRACE_NS;
}

/* Until then an earlier frame may fire, whose window has frames that would be skipped now. */
static bool may_begin(struct rd_sink *s, uint64_t due_ns)
{
	struct retained *r = &s->retained;

	return (r->held.n && held_newest(&r->held)->last_ns >= r->window.trigger) ||
	       has_received(s, r->window.trigger, due_ns);
}

/* Whether all frames of the window have arrived, if no newer frame has. */
static bool is_over(struct rd_sink *s)
{
	const struct window *w = &s->retained.window;

	/* A chunk that was put before the watermark. */
	return has_received(s, w->until + SLACK_NS, w->due_ns) && !rd_ring_used(&s->feeds[0].full);
}

/* Requests the lane's current chunk, or its watermark. Returns ns until the next request. */
static uint64_t request(struct rd_sink *s, uint64_t until, uint64_t due)
{
	struct retained *r = &s->retained;
	uint64_t now = rd_monotonic_ns();
	bool last = now >= due;
	uint64_t period = last ? REQUEST_LAST_NS : REQUEST_NS;

	/* Again if the window has grown, or the lane has answered and the window is not over. */
	if (rd_feed_requested(&s->feeds[0]) != until &&
		(!r->requested_ns || now - r->requested_ns >= period)) {
		feed_request(&s->feeds[0], until);
		r->requested_ns = now;
	}
	return !last && due - now < period ? due - now : period;
}

static void await(struct rd_sink *s, uint64_t ns)
{
	struct rd_feed *f = &s->feeds[0];
	struct pollfd pfd = {.fd = f->full.fd, .events = POLLIN};
	const struct timespec t = {.tv_nsec = (long)ns};

	/* closing and triggers also wake the ring */
	if (!rd_ring_about_to_sleep(&f->full))
		return;
	if (!atomic_load_explicit(&s->closing, memory_order_acquire) &&
		ppoll(&pfd, 1, ns ? &t : NULL, NULL) == 0 && s->retained.dumping)
		writer_flush(s, false);
	rd_ring_awake(&f->full);
}

/* --- the thread ---------------------------------------------------------------------------- */

/* Unless the window has grown since. */
static void end_complete(struct rd_sink *s, bool cut)
{
	struct retained *r = &s->retained;

	if (!windows_complete(&r->windows, r->window.until))
		return;
	if (r->dumping)
		end(s, cut);
	else
		end_without_file(s);
}

/* Writes a file or part of it. Returns ns to sleep; 0: until an event; UINT64_MAX: do not. */
static uint64_t serve(struct rd_sink *s, bool closing)
{
	struct retained *r = &s->retained;
	enum progress progress;
	uint64_t fired_ns;

	if (sink_state_ended(&s->state) || !windows_next(&r->windows, &r->window)) {
		held_expire(s);
		return 0;
	}
	fired_ns = r->window.due_ns - s->config.retention->post_ns;
	if (!r->dumping && !closing && !may_begin(s, fired_ns)) {
		held_expire(s);
		return request(s, r->window.trigger, fired_ns);
	}
	/* A frame that arrived meanwhile may have extended it. */
	windows_next(&r->windows, &r->window);
	/* Writing what was buffered may have failed since. */
	progress = r->failed ? PROGRESS_FAILED : write_window(s);
	if (progress == PROGRESS_FULL)
		end_full(s);
	else if (progress == PROGRESS_FAILED)
		end_failed(s);
	else if (progress == PROGRESS_BEYOND || closing || is_over(s))
		end_complete(s, progress != PROGRESS_BEYOND && closing);
	else
		return request(s, r->window.until + SLACK_NS, r->window.due_ns + SLACK_NS);
	r->requested_ns = 0;
	return UINT64_MAX;
}

/* The last file that is allowed is complete. */
static bool is_last(const struct rd_sink *s)
{
	const struct rd_retention *c = s->config.retention;
	const struct retained *r = &s->retained;

	if (r->dumping)
		return false;
	return (c->files && r->found.files + r->files >= c->files) ||
	       (c->bytes && r->found.bytes + s->bytes_before + s->file.text_room >= c->bytes);
}

static bool step(struct rd_sink *s)
{
	struct retained *r = &s->retained;
	/* Read before the ring: chunks that were put before closing are then seen below. */
	bool closing = atomic_load_explicit(&s->closing, memory_order_acquire);
	struct window window;
	uint64_t ns;

	held_take(s);
	ns = serve(s, closing);
	if (is_last(s) && !sink_state_ended(&s->state)) {
		windows_close(&r->windows);
		writer_finish(s);
	}
	if (!closing && ns != UINT64_MAX)
		await(s, ns);
	return !closing || (!sink_state_ended(&s->state) && windows_next(&r->windows, &window));
}

void *retained_run(void *arg)
{
	struct rd_sink *s = arg;

	while (step(s))
		;
	/* After an error: what was written gets its statistics. */
	if (s->retained.dumping)
		end(s, true);
	while (s->retained.held.n)
		held_release(s);
	windows_close(&s->retained.windows);
	sem_post(&s->ended);
	return NULL;
}

/* --- interface -------------------------------------------------------------------------------- */

enum rd_triggered rd_sink_trigger(struct rd_sink *s, uint64_t ns)
{
	enum rd_triggered result = windows_add(&s->retained.windows, ns, rd_monotonic_ns());

	if (result == RD_TRIGGER_BEGINS)
		rd_ring_wake(&s->feeds[0].full);
	return result;
}

size_t rd_sink_memory(const struct rd_sink *s, bool *locked)
{
	size_t sum = 0;

	for (unsigned int i = 0; i < s->n_feeds; i++)
		sum += s->feeds[i].memory_len;
	*locked = s->retained.locked;
	return sum;
}

/* Later the user can no longer choose another directory. */
static int check_directory(const struct rd_sink *s, struct rd_error *err)
{
	char *copy = strdup(s->config.path), *dir = copy ? dirname(copy) : NULL, *first;
	int rc = 0;

	if (asprintf(&first, "%s_00001_20261121031500", s->config.path) < 0)
		first = NULL;
	if (dir && faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0)
		rc = rd_fail(err, RD_CLASS_OUTPUT, errno, "choose another directory",
			"files cannot be created in '%s'", dir);
	else if (first && access(first, F_OK) < 0 && errno == ENAMETOOLONG)
		rc = rd_fail(err, RD_CLASS_OUTPUT, errno, "choose a shorter name",
			"files cannot be named after '%s'", s->config.path);
	free(first);
	free(copy);
	return rc;
}

void retained_find(struct rd_sink *s)
{
	const struct rd_retention *c = s->config.retention;
	struct retained *r = &s->retained;

	series_find(&s->series, &r->found);
	r->windows.begun = r->found.files;
	if (c->found)
		c->found(c->ctx, r->found.files, r->found.bytes);
}

/* Allocates all memory at the start, so that none is needed when a fault makes it scarce. */
static void lock(struct rd_sink *s)
{
	struct rd_feed *f = &s->feeds[0];

	s->retained.locked = mlock(f->memory, f->memory_len) == 0;
	if (s->retained.locked)
		return;
	rd_log(RD_LOG_WARNING,
		"%zu MiB for frames are not locked in memory, and may be swapped out: %s; raise "
		"the limit (ulimit -l, LimitMEMLOCK= of a systemd unit)",
		f->memory_len >> 20, strerror(errno));
	for (size_t i = 0; i < f->memory_len; i += 4096)
		f->memory[i] = 0;
}

int retained_init(struct rd_sink *s, struct rd_error *err)
{
	struct retained *r = &s->retained;

	r->windows =
		(struct windows){.config = s->config.retention, .lock = PTHREAD_MUTEX_INITIALIZER};
	if (held_init(&r->held, s->feeds[0].n_chunks, err) < 0 || check_directory(s, err) < 0)
		return -1;
	lock(s);
	return 0;
}
