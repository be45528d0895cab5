/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The writer thread: takes full chunks in order, writes them into files, and returns them empty. */
#include "writer.h"
#include <errno.h>
#include <rdmadump/log.h>
#include <rdmadump/units.h>
#include <string.h>

#define FACTS_SHARE 8 /* facts take at most 1/8 of a file with a size limit */
#define NS_PER_S    1000000000U
#define FLUSH_NS    20000000U /* after this idle time buffered bytes are written */

static void count(atomic_uint_fast64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static void show_bytes(struct rd_sink *s)
{
	atomic_store_explicit(
		&s->file_bytes, s->bytes_before + s->file.out.offset, memory_order_relaxed);
}

static void stop_writing(struct rd_sink *s, atomic_bool *why)
{
	atomic_store_explicit(why, true, memory_order_release);
	for (unsigned int i = 0; i < s->n_feeds; i++)
		rd_ring_wake(&s->feeds[i].free);
}

/* If the sink retains frames, only this file has failed: the next trigger tries another one. */
static void failed(struct rd_sink *s)
{
	if (s->config.retention)
		s->retained.failed = true;
	else
		stop_writing(s, &s->state.failed);
}

static bool has_failed(const struct rd_sink *s)
{
	return s->retained.failed || sink_state_failed(&s->state);
}

static void fail(struct rd_sink *s, int errnum)
{
	const uint64_t written = s->config.retention
					 ? s->file.frames.all
					 : atomic_load_explicit(&s->written, memory_order_relaxed);
	char n[RD_UNITS_LEN];

	s->quiet = errnum == EPIPE;
	rd_fail(&s->error, RD_CLASS_OUTPUT, errnum,
		errnum == EPIPE
			? "the reader has closed its end"
			: "the frames before are complete; free some space or write elsewhere",
		"writing '%s' failed after %s frame%s", s->series.path, rd_fmt_count(n, written),
		rd_plural(written));
	failed(s);
}

void writer_fail(struct rd_sink *s, const struct rd_error *err)
{
	if (has_failed(s))
		return;
	s->error = *err;
	/* Not a usage error any more: frames were captured. */
	s->error.class = RD_CLASS_OUTPUT;
	failed(s);
}

void writer_finish(struct rd_sink *s)
{
	stop_writing(s, &s->state.complete);
}

/* Another program removed or truncated the file. */
static void fail_changed(struct rd_sink *s, int errnum, uint64_t frames)
{
	char n[RD_UNITS_LEN];

	s->gone = true;
	rd_fail(&s->error, RD_CLASS_OUTPUT, 0,
		"find the cleanup job or program that uses this name, or write elsewhere",
		"'%s' was %s by another program while it was written: %s frame%s lost",
		s->series.path, errnum == ENOENT ? "removed" : "cut short", rd_fmt_count(n, frames),
		rd_plural(frames));
	failed(s);
}

/* --- files ------------------------------------------------------------------------------ */

static struct rd_tally tally_since(const struct rd_tally *now, const struct rd_tally *then)
{
	return (struct rd_tally){.encoded = now->encoded - then->encoded,
		.filtered = now->filtered - then->filtered,
		.dropped = now->dropped - then->dropped};
}

/* In a series of small files only the first one has facts, so that they do not fill the others. */
static const struct rd_facts *facts_of(struct rd_sink *s, bool end)
{
	const struct rd_facts *facts = NULL;

	if (s->ending->facts)
		facts = s->ending->facts(s->ending->ctx, s->series.number, end);
	if (facts && !end && s->series.number > 1 && s->config.rotation.bytes &&
		facts->bytes > s->config.rotation.bytes / FACTS_SHARE)
		return NULL;
	return facts;
}

/* Counts the frames that the current file lost: it had `had`, got `more`, and now has fewer. */
static void count_lost(struct rd_sink *s, int errnum, const struct frame_counts *had,
	const struct frame_counts *more)
{
	for (unsigned int i = 0; i < RD_IFACES_MAX; i++)
		s->lost[i] += had->of[i] + more->of[i] - s->file.frames.of[i];
	count(&s->unwritten, had->all + more->all - s->file.frames.all);
	fail(s, errnum);
}

/* False if another program changed the current file, whose frames then count as unwritten. */
static bool check_file(struct rd_sink *s)
{
	const struct frame_counts had = s->file.frames;
	int errnum = has_failed(s) ? 0 : file_check(&s->file);

	if (!errnum)
		return true;
	for (unsigned int i = 0; i < RD_IFACES_MAX; i++)
		s->lost[i] += had.of[i];
	atomic_fetch_sub_explicit(&s->written, had.all, memory_order_relaxed);
	count(&s->unwritten, had.all);
	fail_changed(s, errnum, had.all);
	return false;
}

void writer_flush(struct rd_sink *s, bool last)
{
	const struct frame_counts had = s->file.frames, none = {0};
	int errnum = file_flush(&s->file, last);

	count(&s->written, s->file.frames.all - had.all);
	show_bytes(s);
	if (errnum)
		count_lost(s, errnum, &had, &none);
}

int writer_end_file(struct rd_sink *s, bool last, struct rd_error *err)
{
	struct rd_iface_stats stats[RD_IFACES_MAX] = {0};
	struct rd_file_account account = {.number = s->series.number,
		.last = last,
		.dump = s->config.retention ? &s->retained.dump : NULL,
		.first_ns = s->first_ns,
		.last_ns = s->last_ns};
	int errnum;

	writer_flush(s, true);
	check_file(s);
	for (unsigned int i = 0; i < RD_IFACES_MAX; i++) {
		account.written[i] = s->file.frames.of[i];
		account.unwritten[i] = s->lost[i];
		account.tally[i] = tally_since(&s->seen[i], &s->begun[i]);
		s->begun[i] = s->seen[i];
	}
	s->ending->fill(s->ending->ctx, &account, stats);
	/* If another program truncated the file, nothing more is written to it. */
	errnum =
		s->gone ? 0
			: file_end(&s->file, last || s->config.retention ? facts_of(s, true) : NULL,
				  stats, has_failed(s));
	if (errnum && !has_failed(s))
		fail(s, errnum);
	show_bytes(s);
	s->bytes_before += s->file.out.offset;
	if (output_close(&s->file.out, err) < 0)
		return -1;
	if (!s->gone)
		series_closed(&s->series);
	return 0;
}

int writer_open_file(struct rd_sink *s, uint64_t first_ns, struct rd_error *err)
{
	int rc;

	/* Another recorder of this name may have made the file: then the next number. */
	do {
		if (series_next(&s->series, first_ns, err) < 0)
			return -1;
		s->file.out.open = s->config.retention			    ? rd_outfile_open_new
				   : strcmp(s->series.path, s->config.path) ? rd_outfile_open_own
									    : rd_outfile_open;
		rc = output_open(&s->file.out, s->series.path, s->config.inputs, err);
	} while (rc > 0);
	return rc;
}

int writer_begin_file(struct rd_sink *s, struct rd_error *err)
{
	memset(s->lost, 0, sizeof(s->lost));
	s->gone = false;
	s->first_ns = s->last_ns = 0;
	s->ending->begin(s->ending->ctx);
	if (file_begin(&s->file, facts_of(s, false), err) < 0)
		return -1;
	atomic_fetch_add_explicit(&s->files, 1, memory_order_relaxed);
	show_bytes(s);
	return 0;
}

int writer_next_file(struct rd_sink *s, uint64_t first_ns, struct rd_error *err)
{
	if (writer_open_file(s, first_ns, err) < 0)
		return -1;
	output_make_private(&s->file.out);
	return writer_begin_file(s, err);
}

/* False if nothing more is to be written. */
static bool next_file(struct rd_sink *s, uint64_t first_ns)
{
	struct rd_error err;

	if (s->config.rotation.files && s->series.number >= s->config.rotation.files) {
		writer_finish(s);
		return false;
	}
	if (writer_end_file(s, false, &err) == 0 && !sink_state_failed(&s->state) &&
		writer_next_file(s, first_ns, &err) == 0)
		return true;
	writer_fail(s, &err);
	return false;
}

/* --- chunks ----------------------------------------------------------------------------- */

static bool file_is_full(const struct rd_sink *s)
{
	const struct rd_rotation *r = &s->config.rotation;

	return s->file.frames.all && ((r->bytes && s->file.bytes >= r->bytes) ||
					     (r->frames && s->file.frames.all >= r->frames));
}

/* The records from `at` that belong into the current file. */
static struct records piece_of(const struct rd_sink *s, const struct rd_chunk *c, size_t at,
	const struct frame_counts *all)
{
	const struct rd_rotation *r = &s->config.rotation;
	bool fits_bytes = !r->bytes || s->file.bytes + c->used - at < r->bytes;
	bool fits_frames = !r->frames || s->file.frames.all + c->frames < r->frames;

	if (at == 0 && fits_bytes && fits_frames)
		return (struct records){.len = c->used, .frames = *all};
	/* At least one frame, also if the header alone reaches the limit of the file. */
	return records_walk(s->encoder, c->data + at, c->used - at,
		!r->bytes		   ? UINT64_MAX
		: r->bytes > s->file.bytes ? r->bytes - s->file.bytes
					   : 1,
		r->frames ? r->frames - s->file.frames.all : UINT64_MAX);
}

/* Frames removed from earlier pieces count as lost too. */
bool writer_write(struct rd_sink *s, const uint8_t *data, const struct records *records)
{
	const struct frame_counts had = s->file.frames;
	int errnum = file_write(&s->file, data, records);

	count(&s->written, s->file.frames.all - had.all);
	show_bytes(s);
	if (!errnum)
		return true;
	count_lost(s, errnum, &had, &records->frames);
	return false;
}

/* The rest of a chunk cannot be written: no file is open. */
static void count_left(struct rd_sink *s, const struct frame_counts *left)
{
	bool failed = sink_state_failed(&s->state);

	/* They count as unwritten in the file that failed. */
	for (unsigned int i = 0; failed && i < RD_IFACES_MAX; i++)
		s->lost[i] += left->of[i];
	count(failed ? &s->unwritten : &s->beyond, left->all);
}

/* Timestamp of the record at `at`. */
static uint64_t time_at(const struct rd_sink *s, const struct rd_chunk *c, size_t at)
{
	uint64_t ns;

	if (!at)
		return c->first_ns;
	ns = s->encoder->format->record_ns(c->data + at);
	return c->marked ? chunk_order_ns(c, ns, c->first_ns) : ns;
}

/*
 * Formats with 32 bits for seconds end in 2106. Times before 1970, which pcapng's if_tsoffset
 * allows in a file that is read, are those from 2262 on here. The frames are written, with a wrong
 * time.
 */
static void check_time(struct rd_sink *s, const struct rd_chunk *c)
{
	if (s->has_wrapped || !c->used)
		return;
	if (c->first_ns > INT64_MAX) {
		s->has_wrapped = true;
		rd_log(RD_LOG_WARNING,
			"'%s': times before 1970 cannot be written: such frames get a wrong time",
			s->series.path);
		return;
	}
	if (c->first_ns / NS_PER_S <= UINT32_MAX ||
		s->encoder->format->record_ns(c->data) / NS_PER_S > UINT32_MAX)
		return;
	s->has_wrapped = true;
	rd_log(RD_LOG_WARNING,
		"'%s': %s cannot store times after 2106-02-07: such frames get a time that is a "
		"multiple of 136 years too early; write pcapng",
		s->series.path, s->encoder->format->name);
}

static void write_chunk(struct rd_sink *s, const struct rd_chunk *c)
{
	struct frame_counts all = {.all = c->frames}, left;
	size_t at = 0;

	for (unsigned int i = 0; i < RD_IFACES_MAX; i++)
		all.of[i] = c->tally[i].encoded - s->seen[i].encoded;
	left = all;
	check_time(s, c);
	if (!sink_state_ended(&s->state))
		check_file(s);
	while (at < c->used && !sink_state_ended(&s->state)) {
		uint64_t first_ns = time_at(s, c, at);
		struct records piece;

		if ((at == 0 && c->rotate && s->file.frames.all) || file_is_full(s))
			if (!next_file(s, first_ns))
				break;
		if (at == 0)
			memcpy(s->seen, c->tally, sizeof(s->seen));
		if (!s->first_ns)
			s->first_ns = first_ns;
		if (s->file.frames.all == 0 &&
			series_first_frame(&s->series, first_ns, &s->error) < 0) {
			stop_writing(s, &s->state.failed);
			break;
		}
		piece = piece_of(s, c, at, &all);
		s->last_ns =
			at + piece.len == c->used ? c->last_ns : time_at(s, c, at + piece.last);
		for (unsigned int i = 0; i < RD_IFACES_MAX; i++)
			left.of[i] -= piece.frames.of[i];
		left.all -= piece.frames.all;
		if (!writer_write(s, c->data + at, &piece))
			break;
		at += piece.len;
	}
	memcpy(s->seen, c->tally, sizeof(s->seen));
	count_left(s, &left);
}

/* --- the thread ------------------------------------------------------------------------- */

/* Limit of the writer's sleep in ns; 0: none. It is limited only while bytes are buffered. */
static uint64_t sleep_ns(const struct rd_sink *s)
{
	return s->file.out.fd >= 0 && !output_is_flushed(&s->file.out) ? FLUSH_NS : 0;
}

/* ppoll() with a timeout in ns, 0: none. True on timeout. */
static bool sleep_on(struct pollfd *fds, nfds_t n, uint64_t ns)
{
	const struct timespec t = {.tv_nsec = (long)ns};

	return ppoll(fds, n, ns ? &t : NULL, NULL) == 0;
}

static void write_single(struct rd_sink *s)
{
	struct rd_feed *f = &s->feeds[0];
	struct pollfd pfd = {.fd = f->full.fd, .events = POLLIN};

	for (;;) {
		/* Read before the ring: chunks that were put before closing are then seen below. */
		bool closing = atomic_load_explicit(&s->closing, memory_order_acquire);
		struct rd_chunk *c = s->config.hold && !closing ? NULL : rd_ring_take(&f->full);

		if (c) {
			output_set_behind(&s->file.out, rd_ring_used(&f->full) > f->n_chunks / 2);
			write_chunk(s, c);
			rd_ring_put(&f->free, c);
			continue;
		}
		if (closing)
			return;
		if (!rd_ring_about_to_sleep(&f->full) && !s->config.hold)
			continue;
		if (sleep_on(&pfd, 1, sleep_ns(s)))
			writer_flush(s, false);
		rd_ring_awake(&f->full);
	}
}

/* Sleeps until a feed may have changed the state. timeout in ns, 0: none. True on timeout. */
static bool await_feeds(struct rd_sink *s, enum merge_state was, uint64_t timeout)
{
	bool sleep = true, late = false;

	for (unsigned int i = 0; i < s->n_feeds && sleep; i++)
		sleep = s->merge.head[i].chunk || rd_ring_about_to_sleep(&s->feeds[i].full);
	if (sleep && merge_state(&s->merge) == was &&
		!atomic_load_explicit(&s->closing, memory_order_acquire))
		late = sleep_on(s->pfds, s->n_feeds, timeout);
	for (unsigned int i = 0; i < s->n_feeds; i++)
		rd_ring_awake(&s->feeds[i].full);
	return late;
}

static void write_merged(struct rd_sink *s)
{
	bool waited = false;

	for (;;) {
		bool closing = atomic_load_explicit(&s->closing, memory_order_acquire);
		const struct rd_chunk *c =
			s->config.hold && !closing ? NULL : merge_next(&s->merge, closing);
		enum merge_state state;

		if (c) {
			output_set_behind(&s->file.out, merge_under_pressure(&s->merge));
			write_chunk(s, c);
			waited = false;
			continue;
		}
		if (closing)
			return;
		if (s->config.hold) {
			poll(s->pfds, 1, -1);
			continue;
		}
		state = merge_state(&s->merge);
		if (state == MERGE_READY)
			continue;
		if (state == MERGE_WAITING && (waited || merge_under_pressure(&s->merge))) {
			merge_request(&s->merge);
			waited = true;
		}
		if (state == MERGE_WAITING && !waited)
			await_feeds(s, state, s->patience);
		else if (await_feeds(s, state, sleep_ns(s)))
			writer_flush(s, false);
		waited = state == MERGE_WAITING;
	}
}

/* In this thread, so that rd_sink_close() can stop waiting for a reader that does not read. */
static void end_last_file(struct rd_sink *s)
{
	struct rd_error err;

	/* A file without header cannot be ended. */
	if (s->file.out.fd < 0)
		return;
	memcpy(s->seen, s->final, sizeof(s->seen));
	if (writer_end_file(s, true, &err) < 0)
		writer_fail(s, &err);
}

void *writer_run(void *arg)
{
	struct rd_sink *s = arg;

	if (s->n_feeds > 1)
		write_merged(s);
	else
		write_single(s);
	end_last_file(s);
	sem_post(&s->ended);
	return NULL;
}
