/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The writer thread: takes full chunks in order, writes them, gives them back. */
#include "output.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rdmadump/log.h>
#include <rdmadump/ring.h>
#include <rdmadump/sink.h>
#include <rdmadump/units.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK_BYTES ((size_t)1 << 20)
#define CHUNKS_MIN  3 /* one being filled, one being written, one between */

/* A failed write is undone back to a chunk's start at most this far, to make room for the trailer.
 */
#define UNDO_BYTES 65536
#define UNDO_MARKS 16

struct mark {
	uint64_t offset, written; /* where a chunk starts, frames before it */
};

struct rd_sink {
	const struct rd_encoder *encoder;
	struct output out;
	struct rd_ring full, free; /* engine -> writer -> engine */
	struct rd_chunk *chunks, **idle;
	size_t n_chunks, n_idle;
	uint8_t *memory;
	size_t memory_len;
	uint8_t *text; /* header and trailer are encoded here */
	size_t text_room, header_len;
	pthread_t thread;
	atomic_bool closing, failed;
	bool quiet;
	struct rd_error error; /* the writer's; read by others after it was joined */
	atomic_uint_fast64_t written, unwritten, file_bytes;
	struct mark marks[UNDO_MARKS];
	unsigned int n_marks;
};

static void count(atomic_uint_fast64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static void set_file_bytes(struct rd_sink *s)
{
	atomic_store_explicit(&s->file_bytes, s->out.offset, memory_order_relaxed);
}

static void fail(struct rd_sink *s, int errnum)
{
	char n[RD_UNITS_LEN];

	s->quiet = errnum == EPIPE;
	rd_fail(&s->error, RD_CLASS_OUTPUT, errnum,
		errnum == EPIPE
			? "the reader has closed its end"
			: "what was captured before is whole; free space or write elsewhere",
		"writing '%s' failed after %s frames", s->out.path,
		rd_fmt_count(n, atomic_load_explicit(&s->written, memory_order_relaxed)));
	atomic_store_explicit(&s->failed, true, memory_order_release);
	rd_ring_wake(&s->free);
}

/* The longest run of whole records within the first `have` bytes of a chunk. */
static size_t whole_records(
	const struct rd_sink *s, const struct rd_chunk *c, size_t have, uint64_t *frames)
{
	size_t at = 0;

	*frames = 0;
	for (;;) {
		size_t len = s->encoder->format->record_len(s->encoder, c->data + at, have - at);

		if (!len)
			return at;
		at += len;
		(*frames)++;
	}
}

/* The last chunk's start that lies `reserve` bytes before the end; NULL if that undoes too much. */
static const struct mark *start_before(const struct rd_sink *s, size_t reserve)
{
	unsigned int oldest = s->n_marks > UNDO_MARKS ? s->n_marks - UNDO_MARKS : 0;

	for (unsigned int i = s->n_marks; i > oldest; i--) {
		const struct mark *m = &s->marks[(i - 1) % UNDO_MARKS];
		uint64_t undone = s->out.offset - m->offset;

		if (undone > UNDO_BYTES)
			return NULL;
		if (undone >= reserve)
			return m;
	}
	return NULL;
}

/*
 * A chunk was written in part. A file is cut back to whole records, and far enough for the
 * trailer to fit where the last frames stood: a full disk must not cost us the statistics.
 */
static void undo_part(struct rd_sink *s, const struct rd_chunk *c, size_t have)
{
	size_t reserve = s->out.regular ? rd_encoder_header_bound(s->encoder) : 0;
	const struct mark *m = have < reserve ? start_before(s, reserve) : NULL;
	uint64_t frames = 0, written = atomic_load(&s->written);

	if (m) {
		count(&s->unwritten, written - m->written);
		atomic_store(&s->written, m->written);
		output_cut(&s->out, m->offset);
	} else {
		size_t room = have < reserve ? have : have - reserve;
		size_t keep = whole_records(s, c, room, &frames);

		output_cut(&s->out, s->out.offset - have + keep);
	}
	count(&s->written, frames);
	count(&s->unwritten, c->frames - frames);
}

static void write_chunk(struct rd_sink *s, const struct rd_chunk *c)
{
	int errnum = 0;
	size_t n;

	if (atomic_load_explicit(&s->failed, memory_order_relaxed)) {
		count(&s->unwritten, c->frames);
		return;
	}
	n = output_write(&s->out, c->data, c->used, &errnum);
	if (n < c->used) {
		undo_part(s, c, n);
		fail(s, errnum);
	} else {
		s->marks[s->n_marks++ % UNDO_MARKS] = (struct mark){.offset = s->out.offset - n,
			.written = atomic_load_explicit(&s->written, memory_order_relaxed)};
		count(&s->written, c->frames);
	}
	set_file_bytes(s);
}

static void *writer(void *arg)
{
	struct rd_sink *s = arg;
	struct pollfd pfd = {.fd = s->full.fd, .events = POLLIN};

	for (;;) {
		/* Looked at before the ring: what was put before closing is then seen below. */
		bool closing = atomic_load_explicit(&s->closing, memory_order_acquire);
		struct rd_chunk *c = rd_ring_take(&s->full);

		if (c) {
			write_chunk(s, c);
			rd_ring_put(&s->free, c);
			continue;
		}
		if (closing)
			return NULL;
		if (!rd_ring_about_to_sleep(&s->full))
			continue;
		poll(&pfd, 1, -1);
		rd_ring_awake(&s->full);
	}
}

static int make_chunks(struct rd_sink *s, const struct rd_sink_config *config, struct rd_error *err)
{
	size_t room = CHUNK_BYTES, bound = rd_encoder_bound(config->encoder, config->max_frame);

	while (room > 65536 && config->buffer / room < 8)
		room /= 2;
	if (room < bound)
		room = (bound + 4095) & ~(size_t)4095;
	s->n_chunks = config->buffer / room > CHUNKS_MIN ? config->buffer / room : CHUNKS_MIN;
	s->memory_len = s->n_chunks * room;
	s->memory = mmap(NULL, s->memory_len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->memory == MAP_FAILED) {
		s->memory = NULL;
		return rd_fail(err, RD_CLASS_OUTPUT, errno, "use a smaller --buffer-size",
			"%zu bytes of memory for the writer", s->memory_len);
	}
	madvise(s->memory, s->memory_len, MADV_HUGEPAGE);
	s->chunks = calloc(s->n_chunks, sizeof(*s->chunks));
	s->idle = calloc(s->n_chunks, sizeof(struct rd_chunk *));
	s->text_room = rd_encoder_header_bound(config->encoder);
	s->text = malloc(s->text_room);
	if (!s->chunks || !s->idle || !s->text)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "memory for the writer");
	for (size_t i = 0; i < s->n_chunks; i++) {
		s->chunks[i] = (struct rd_chunk){.data = s->memory + i * room, .room = room};
		s->idle[s->n_idle++] = &s->chunks[s->n_chunks - 1 - i];
	}
	return 0;
}

static int write_header(struct rd_sink *s, struct rd_error *err)
{
	int errnum = 0;

	s->header_len = s->encoder->format->header(s->encoder, s->text, s->text_room);
	if (output_write(&s->out, s->text, s->header_len, &errnum) < s->header_len)
		return rd_fail(err, RD_CLASS_OUTPUT, errnum,
			"free some space or choose another file system",
			"cannot write the header of '%s'", s->out.path);
	set_file_bytes(s);
	return 0;
}

static void sink_free(struct rd_sink *s)
{
	rd_ring_fini(&s->full);
	rd_ring_fini(&s->free);
	if (s->memory)
		munmap(s->memory, s->memory_len);
	free(s->chunks);
	free(s->idle);
	free(s->text);
	free(s);
}

int rd_sink_open(struct rd_sink **sink, const struct rd_sink_config *config, struct rd_error *err)
{
	struct rd_sink *s = aligned_alloc(_Alignof(struct rd_sink), sizeof(*s));
	int rc;

	if (!s)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "memory for the writer");
	memset(s, 0, sizeof(*s));
	s->encoder = config->encoder;
	s->out.fd = -1;
	if (make_chunks(s, config, err) < 0 || rd_ring_init(&s->full, s->n_chunks, err) < 0 ||
		rd_ring_init(&s->free, s->n_chunks, err) < 0 ||
		output_open(&s->out, config->path, err) < 0 || write_header(s, err) < 0)
		goto fail;
	rc = pthread_create(&s->thread, NULL, writer, s);
	if (rc) {
		rd_fail(err, RD_CLASS_OUTPUT, rc, NULL, "cannot start the writer thread");
		goto fail;
	}
	pthread_setname_np(s->thread, "writer");
	*sink = s;
	return 0;
fail:
	output_close(&s->out, NULL);
	sink_free(s);
	return -1;
}

/* The chunk that came back last is taken first: its memory is still in the cache. */
struct rd_chunk *rd_sink_get(struct rd_sink *s)
{
	struct rd_chunk *c;

	while ((c = rd_ring_take(&s->free)))
		s->idle[s->n_idle++] = c;
	if (!s->n_idle)
		return NULL;
	c = s->idle[--s->n_idle];
	c->used = 0;
	c->frames = 0;
	return c;
}

void rd_sink_put(struct rd_sink *s, struct rd_chunk *c)
{
	if (c->frames)
		rd_ring_put(&s->full, c);
	else
		s->idle[s->n_idle++] = c;
}

int rd_sink_fd(const struct rd_sink *s)
{
	return s->free.fd;
}

bool rd_sink_await(struct rd_sink *s)
{
	if (s->n_idle)
		return false;
	return rd_ring_about_to_sleep(&s->free);
}

void rd_sink_woke(struct rd_sink *s)
{
	rd_ring_awake(&s->free);
}

bool rd_sink_failed(const struct rd_sink *s)
{
	return atomic_load_explicit(&s->failed, memory_order_acquire);
}

void rd_sink_stats(const struct rd_sink *s, struct rd_sink_stats *stats)
{
	stats->written = atomic_load_explicit(&s->written, memory_order_relaxed);
	stats->unwritten = atomic_load_explicit(&s->unwritten, memory_order_relaxed);
	stats->file_bytes = atomic_load_explicit(&s->file_bytes, memory_order_relaxed);
}

/* After the last frame; also on a full disk, for which undo_part() has made room. */
static void write_end(struct rd_sink *s, const struct rd_sink_ending *ending)
{
	struct rd_iface_stats ifstats[RD_IFACES_MAX] = {0};
	const struct rd_format *format = s->encoder->format;
	struct rd_sink_stats written;
	uint64_t before = s->out.offset;
	int errnum = 0;
	size_t len;

	rd_sink_stats(s, &written);
	ending->fill(ending->ctx, &written, ifstats);
	if (!format->trailer || (!s->out.regular && rd_sink_failed(s)))
		return;
	len = format->trailer(s->encoder, ifstats, s->text, s->text_room);
	if (output_write(&s->out, s->text, len, &errnum) < len) {
		output_cut(&s->out, before);
		if (!rd_sink_failed(s))
			fail(s, errnum);
	}
	set_file_bytes(s);
	len = format->header(s->encoder, s->text, s->text_room);
	if (len == s->header_len)
		output_rewrite_start(&s->out, s->text, len);
}

int rd_sink_close(struct rd_sink *s, const struct rd_sink_ending *ending,
	struct rd_sink_stats *stats, bool *quiet, struct rd_error *err)
{
	int rc = 0;

	atomic_store_explicit(&s->closing, true, memory_order_release);
	rd_ring_wake(&s->full);
	pthread_join(s->thread, NULL);
	write_end(s, ending);
	rd_sink_stats(s, stats);
	if (rd_sink_failed(s)) {
		*err = s->error;
		*quiet = s->quiet;
		rc = -1;
		output_close(&s->out, NULL);
	} else {
		rc = output_close(&s->out, err);
	}
	sink_free(s);
	return rc;
}
