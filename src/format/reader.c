/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decodes a byte stream into batches of frames, which lie in its buffer. */
#include "reader.h"
#include <errno.h>
#include <rdmadump/wire.h>
#include <stdlib.h>

/* Small enough to stay in the second-level cache from read(2) until the frames are processed. */
#define BUFFER_START (256u << 10)
#define BUFFER_MAX                                                                                 \
	(16u << 20) /* limit for records, so that a damaged length cannot allocate all memory */
#define TAR_MAGIC_AT 257 /* in the header of the first member */
#define PROBE_LEN    32 /* enough for pcap and pcapng; waiting for more could block on a slow pipe */

static const struct reader_format *const formats[] = {&reader_pcapng, &reader_pcap, &reader_erf};

/* Files that users take for captures: the error message names the actual format. */
static const struct {
	uint8_t len;
	uint8_t magic[8];
	const char *name, *todo;
} other_files[] = {
	{2, {0x1f, 0x8b}, "gzip", "uncompress it first"},
	{4, {0x28, 0xb5, 0x2f, 0xfd}, "zstd", "uncompress it first"},
	{4, {0x04, 0x22, 0x4d, 0x18}, "lz4", "uncompress it first"},
	{6, {0xfd, '7', 'z', 'X', 'Z', 0}, "xz", "uncompress it first"},
	{8, {'s', 'n', 'o', 'o', 'p', 0, 0, 0}, "snoop", "convert it with editcap"},
};

/* Moves unread bytes to the front, so that `need` bytes fit from buf[0] on. */
static enum step make_room(struct rd_reader *r, size_t need)
{
	size_t size = r->capacity;
	uint8_t *p;

	if (r->start) {
		memmove(r->buf, r->buf + r->start, reader_left(r));
		r->base += r->start;
		r->end -= r->start;
		r->start = 0;
	}
	if (need <= r->capacity)
		return STEP_OTHER;
	if (need > BUFFER_MAX)
		return reader_damaged(
			r, "its record claims %zu bytes, the limit is %u", need, BUFFER_MAX);
	while (size < need)
		size *= 2;
	p = realloc(r->buf, size);
	if (!p)
		return reader_nomem(r);
	r->buf = p;
	r->capacity = size;
	return STEP_OTHER;
}

static void raw_pass(struct rd_reader *r, size_t from, bool is_frame)
{
	if (r->raw && r->start > from)
		r->raw(r->raw_ctx, r, r->buf + from, r->start - from, is_frame);
}

static void drop_skipped(struct rd_reader *r)
{
	size_t n = r->skip < reader_left(r) ? (size_t)r->skip : reader_left(r);

	r->start += n;
	raw_pass(r, r->start - n, false);
	r->skip -= n;
}

/*
 * Reads until r->need bytes are there. STEP_OTHER: they are; STEP_MORE: the file ended before that;
 * STEP_LATER: they are not there yet. Invalidates the batch.
 */
static enum step refill(struct rd_reader *r)
{
	while ((reader_left(r) < r->need || r->skip) && !r->at_end) {
		ssize_t n;

		if (make_room(r, r->need) == STEP_FAIL)
			return STEP_FAIL;
		n = r->read(r->ctx, r->buf + r->end, r->capacity - r->end, &r->error);
		if (n < 0)
			return n == RD_READ_LATER ? STEP_LATER : STEP_FAIL;
		r->at_end = n == 0;
		r->end += (size_t)n;
		drop_skipped(r);
	}
	return reader_left(r) < r->need || r->skip ? STEP_MORE : STEP_OTHER;
}

/* Like the format's next(), but reads missing bytes; STEP_MORE: the file has ended. */
static enum step step(struct rd_reader *r, struct rd_frame *frame)
{
	enum step s;

	for (;;) {
		r->record = r->start;
		r->raw_frame = frame;
		s = r->skip ? reader_more(r, 0) : r->format->next(r, frame);
		if (s == STEP_OTHER || (s == STEP_FRAME && !r->facts.ahead))
			raw_pass(r, r->record, s == STEP_FRAME);
		if (s != STEP_MORE)
			return s;
		if (r->notes.batch)
			return STEP_MORE;
		s = refill(r);
		if (s == STEP_FAIL || s == STEP_LATER)
			return s;
		if (s == STEP_MORE)
			return reader_left(r) || r->skip ? reader_cut_short(r) : STEP_MORE;
	}
}

/* A direction that the file itself has counts more. */
static void cooked_directions(const struct rd_reader *r, struct rd_frame *frames)
{
	for (unsigned int i = 0; i < r->notes.batch; i++) {
		const enum rd_link link = r->ifaces.list[frames[i].iface].link;

		if (frames[i].direction == RD_DIR_UNKNOWN && rd_link_is_cooked(link))
			rd_direction_cooked(link, &frames[i], 1);
	}
}

int rd_reader_next(
	struct rd_reader *r, struct rd_frame *frames, unsigned int max, struct rd_error *err)
{
	reader_reset_notes(r);
	while (!r->failed && r->notes.batch < max) {
		enum step s;

		if (r->format->run && !r->skip && !r->raw)
			r->notes.batch +=
				r->format->run(r, frames + r->notes.batch, max - r->notes.batch);
		if (r->notes.batch == max)
			break;
		s = step(r, &frames[r->notes.batch]);
		if (s == STEP_FRAME)
			r->notes.batch++;
		else if (s == STEP_LATER)
			return RD_READ_LATER; /* only happens while the batch is empty */
		else if (s == STEP_MORE)
			break;
		else if (s == STEP_FAIL)
			r->failed = true;
	}
	r->n_frames += r->notes.batch;
	if (r->cooked)
		cooked_directions(r, frames);
	if (r->notes.batch || !r->failed)
		return (int)r->notes.batch;
	if (err)
		*err = r->error;
	return -1;
}

void rd_reader_on_facts(struct rd_reader *r, rd_facts_fn *fn, void *ctx)
{
	r->facts.take = fn;
	r->facts.ctx = ctx;
}

/*
 * Reads up to the first frame or the first facts without consuming them, so that the interfaces are
 * known from the start.
 */
static void look_ahead(struct rd_reader *r)
{
	struct rd_frame frame;
	enum step s;

	r->facts.ahead = true;
	do
		s = step(r, &frame);
	while (s == STEP_OTHER);
	r->facts.ahead = false;
	if (s == STEP_FRAME)
		r->start = r->record;
	r->failed = s == STEP_FAIL;
	reader_reset_notes(r);
}

static int fail_unknown_file(struct rd_reader *r, struct rd_error *err)
{
	const char *todo = "it must be pcapng, pcap or ERF";

	if (!reader_left(r))
		return rd_fail(err, RD_CLASS_DEVICE, 0, todo, "'%s' is empty, not a capture file",
			r->name);
	for (size_t i = 0; i < RD_COUNT(other_files); i++)
		if (reader_left(r) >= other_files[i].len &&
			!memcmp(reader_at(r), other_files[i].magic, other_files[i].len))
			return rd_fail(err, RD_CLASS_DEVICE, 0, other_files[i].todo,
				"'%s' is a %s file", r->name, other_files[i].name);
	if (reader_left(r) > TAR_MAGIC_AT + 5 && !memcmp(reader_at(r) + TAR_MAGIC_AT, "ustar", 5))
		return rd_fail(err, RD_CLASS_DEVICE, 0,
			"unpack it (tar -xf): a bundle has its captures in captures/",
			"'%s' is an archive", r->name);
	return rd_fail(err, RD_CLASS_DEVICE, 0, todo, "'%s' is not a capture file", r->name);
}

static int begin(struct rd_reader *r, struct rd_error *err)
{
	size_t from;

	r->need = PROBE_LEN;
	if (refill(r) == STEP_FAIL)
		goto fail;
	for (size_t i = 0; i < RD_COUNT(formats) && !r->format; i++)
		if (formats[i]->probe(reader_at(r), reader_left(r)))
			r->format = formats[i];
	if (!r->format)
		return fail_unknown_file(r, err);
	from = r->start;
	if (r->format->begin(r) == STEP_FAIL)
		goto fail;
	raw_pass(r, from, false);
	look_ahead(r);
	return 0;
fail:
	if (err)
		*err = r->error;
	return -1;
}

int reader_open(struct rd_reader **out, const struct reader_input *in, struct rd_error *err)
{
	struct rd_reader *r = calloc(1, sizeof(*r));
	const char *name = in->name;
	int rc = -1;

	*out = NULL;
	if (r) {
		r->read = in->read;
		r->ctx = in->ctx;
		r->raw = in->raw;
		r->raw_ctx = in->raw_ctx;
		r->capacity = BUFFER_START;
		r->name = strdup(name);
		r->buf = malloc(r->capacity);
	}
	if (!r || !r->name || !r->buf)
		rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot open '%s'", name);
	else
		rc = begin(r, err);
	if (rc < 0)
		rd_reader_close(r);
	else
		*out = r;
	return rc;
}

int rd_reader_open(
	struct rd_reader **out, rd_read_fn *read, void *ctx, const char *name, struct rd_error *err)
{
	const struct reader_input in = {.read = read, .ctx = ctx, .name = name};

	return reader_open(out, &in, err);
}

const struct rd_section *rd_reader_section(const struct rd_reader *r)
{
	return &r->section;
}

const char *rd_reader_format(const struct rd_reader *r)
{
	return r->format->name;
}

void rd_reader_close(struct rd_reader *r)
{
	if (!r)
		return;
	reader_free_ifaces(r);
	reader_free_text(r->section.hardware);
	reader_free_text(r->section.os);
	reader_free_text(r->section.application);
	reader_free_text(r->section.comment);
	free(r->notes.list);
	free(r->notes.texts);
	free(r->buf);
	free(r->name);
	free(r);
}
