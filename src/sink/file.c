/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One capture file from header to trailer. It consists of complete records at any time, also when
 * the disk is full.
 */
#include "file.h"
#include <errno.h>
#include <stdlib.h>

/* limit of bytes removed after a failed write to make room for the trailer */
#define UNDO_BYTES 65536

static void frame_counts_add(struct frame_counts *to, const struct frame_counts *c)
{
	for (unsigned int i = 0; i < RD_IFACES_MAX; i++)
		to->of[i] += c->of[i];
	to->all += c->all;
}

struct records records_walk(
	const struct rd_encoder *e, const uint8_t *p, size_t len, uint64_t bytes, uint64_t frames)
{
	struct records r = {0};

	while (r.frames.all < frames && r.len < bytes) {
		const uint8_t *record = p + r.len;
		size_t record_len = e->format->record_len(record, len - r.len);

		if (!record_len)
			break;
		r.frames.of[e->format->record_iface
				    ? e->format->record_iface(record) % RD_IFACES_MAX
				    : 0]++;
		r.frames.all++;
		r.last = r.len;
		r.len += record_len;
	}
	return r;
}

int file_init(
	struct file *f, const struct rd_sink_config *config, size_t block, struct rd_error *err)
{
	*f = (struct file){.encoder = config->encoder};
	f->text_room = config->encoder->format->header_bound(config->encoder);
	f->text = malloc(f->text_room);
	f->facts_room = block > f->text_room ? block : f->text_room;
	f->facts = malloc(f->facts_room);
	if (!f->text || !f->facts)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "memory for the writer");
	return output_init(&f->out, config, f->facts_room, err);
}

void file_fini(struct file *f)
{
	output_fini(&f->out);
	free(f->text);
	free(f->facts);
}

/* Returns 0 or an errno. */
static int write_header(struct file *f)
{
	f->header_len = f->encoder->format->header(f->encoder, f->text, f->text_room);
	f->bytes = f->header_len;
	/* ERF files have none. */
	if (!f->header_len && !f->out.compression)
		return 0;
	return output_write(&f->out, f->text, f->header_len, BLOCK_FIRST);
}

/* Writes all facts, or none. False if they do not fit; a regular file then ends where it did. */
static bool write_facts(struct file *f, const struct rd_facts *facts)
{
	uint64_t before = f->out.offset, bytes = f->bytes;
	bool whole = true;

	for (size_t i = 0; facts && i < facts->n && whole; i++) {
		size_t len = rd_encoder_facts(f->encoder, facts->fact[i].json, facts->fact[i].len,
			f->facts, f->facts_room);

		whole = !len || !output_write(&f->out, f->facts, len, BLOCK_OTHER);
		f->bytes += len;
	}
	if (!whole) {
		output_cut(&f->out, before);
		f->bytes = bytes;
	}
	return whole;
}

int file_check(struct file *f)
{
	int errnum = output_check(&f->out);

	if (errnum)
		f->frames = (struct frame_counts){0};
	return errnum;
}

int file_begin(struct file *f, const struct rd_facts *facts, struct rd_error *err)
{
	int errnum;

	if (output_begin(&f->out, err) < 0) {
		output_abandon(&f->out);
		return -1;
	}
	errnum = write_header(f);
	/* The compressor's state includes the bytes that were cut away: restart it. */
	if (!errnum && !write_facts(f, facts) && f->out.regular) {
		output_cut(&f->out, 0);
		errnum = write_header(f);
	}
	if (errnum) {
		/* A file without a header is unreadable. */
		output_abandon(&f->out);
		return rd_fail(err, RD_CLASS_OUTPUT, errnum,
			"free some space or choose another file system",
			"cannot write the header of '%s'", f->out.path);
	}
	f->frames = (struct frame_counts){0};
	f->n_marks = 0;
	return 0;
}

/*
 * The start of the last block that begins at least `reserve` bytes before the end; NULL if it is
 * more than UNDO_BYTES before it.
 */
static const struct file_mark *start_before(const struct file *f, size_t reserve)
{
	unsigned int oldest = f->n_marks > FILE_MARKS ? f->n_marks - FILE_MARKS : 0;

	for (unsigned int i = f->n_marks; i > oldest; i--) {
		const struct file_mark *m = &f->marks[(i - 1) % FILE_MARKS];
		uint64_t undone = f->out.offset - m->offset;

		if (undone > UNDO_BYTES)
			return NULL;
		if (undone >= reserve)
			return m;
	}
	return NULL;
}

/* Truncates the file behind the records that are kept after `m`. */
static void cut_behind(struct file *f, struct file_mark m, const struct records *kept)
{
	f->bytes = m.bytes + kept->len;
	f->frames = m.frames;
	frame_counts_add(&f->frames, &kept->frames);
	output_cut(&f->out, m.offset + kept->len);
}

/*
 * Cuts the file back to complete records within its first `size` bytes, and the counts with it,
 * from the oldest known block on. If records cannot be read back, the file ends with the block
 * before them; unless `careful`: then nothing is cut. Returns false if nothing was cut.
 */
static bool undo_to(struct file *f, uint64_t size, bool careful)
{
	unsigned int oldest = f->n_marks > FILE_MARKS ? f->n_marks - FILE_MARKS : 0;
	struct file_mark m = f->marks[oldest % FILE_MARKS];
	struct records kept = {0};
	size_t got = 0, want;
	uint8_t *p = NULL;

	for (unsigned int i = oldest; i < f->n_marks; i++)
		if (f->marks[i % FILE_MARKS].offset <= size)
			m = f->marks[i % FILE_MARKS];
	want = size > m.offset ? size - m.offset : 0;
	if (want && !f->out.compression)
		p = malloc(want);
	if (p)
		got = output_read_back(&f->out, p, want, m.offset);
	if (careful && got < want) {
		free(p);
		return false;
	}
	if (p)
		kept = records_walk(f->encoder, p, got, UINT64_MAX, UINT64_MAX);
	free(p);
	cut_behind(f, m, &kept);
	return true;
}

/*
 * After a write of which only `have` bytes succeeded: cuts the file back to complete records, with
 * room for the trailer in place of the last frames, so that a full disk does not cost the
 * statistics. Compressed files can be cut only between blocks.
 */
static void undo_part(struct file *f, const uint8_t *data, size_t have)
{
	struct file_mark start = {f->out.offset - have, f->bytes, f->frames};
	size_t reserve = f->out.regular ? f->text_room : 0;
	const struct file_mark *m = have < reserve ? start_before(f, reserve) : NULL;
	struct records kept = {0};

	if (m) {
		cut_behind(f, *m, &kept);
		return;
	}
	if (have < reserve && f->n_marks && f->out.offset > reserve &&
		undo_to(f, f->out.offset - reserve, true))
		return;
	if (!f->out.compression)
		kept = records_walk(f->encoder, data, have < reserve ? have : have - reserve,
			UINT64_MAX, UINT64_MAX);
	cut_behind(f, start, &kept);
}

/* The back end reported late that blocks it had accepted are not in the file. */
static void undo_taken(struct file *f)
{
	undo_to(f, f->out.offset > f->text_room ? f->out.offset - f->text_room : 0, false);
}

int file_flush(struct file *f, bool last)
{
	int errnum = last ? output_stream_end(&f->out) : f->out.ops->flush(&f->out);

	if (errnum)
		undo_taken(f);
	return errnum;
}

int file_write(struct file *f, const uint8_t *data, const struct records *records)
{
	struct file_mark mark = {f->out.offset, f->bytes, f->frames};
	int errnum;

	if (!f->n_marks)
		output_stream_begin(&f->out);
	errnum = output_write(&f->out, data, records->len, BLOCK_OTHER);
	if (errnum && f->out.offset >= mark.offset) {
		undo_part(f, data, f->out.offset - mark.offset);
		return errnum;
	}
	f->marks[f->n_marks++ % FILE_MARKS] = mark;
	if (errnum) {
		undo_taken(f);
		return errnum;
	}
	f->bytes += records->len;
	frame_counts_add(&f->frames, &records->frames);
	/* Blocks that may be undone must still have a mark: flush before it is overwritten. */
	return f->n_marks % (FILE_MARKS / 2) ? 0 : file_flush(f, false);
}

int file_end(struct file *f, const struct rd_facts *facts, const struct rd_iface_stats *stats,
	bool failed)
{
	const struct rd_format *format = f->encoder->format;
	uint64_t before = f->out.offset, behind;
	bool broken = failed;
	int errnum;
	size_t len;

	/* A partial record cannot be removed from a pipe. */
	if (failed && !f->out.regular)
		return 0;
	len = format->trailer ? format->trailer(f->encoder, stats, f->text, f->text_room) : 0;
	if (!failed)
		broken = !write_facts(f, facts);
	behind = f->out.offset;
	errnum = output_write(&f->out, f->text, len, broken ? BLOCK_LAST_BROKEN : BLOCK_LAST);
	/* The facts may have used the space of the trailer. */
	if (errnum && behind > before && f->out.regular) {
		output_cut(&f->out, before);
		errnum = output_write(&f->out, f->text, len, BLOCK_LAST_BROKEN);
	}
	if (errnum)
		output_cut(&f->out, before);
	len = format->header(f->encoder, f->text, f->text_room);
	if (len == f->header_len)
		output_rewrite_first(&f->out, f->text, len);
	return errnum;
}
