/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies a capture as pcapng with comments on frames. A reader says which records are frames, so
 * that they have the numbers that the analysis gave them.
 */
#include "copy.h"
#include "pcapng.h"
#include <rdmadump/annotate.h>
#include <rdmadump/printable.h>
#include <rdmadump/units.h>
#include <stdlib.h>

#define SECTION_LEN 16		/* where the section header has the length of the section */
#define BLOCK_MAX   (16u << 20) /* Wireshark and our reader refuse larger ones */

struct job {
	struct copying copy;
	struct rd_annotation *a;
};

/* A frame's block as it will be written. */
struct block {
	uint8_t head[EPB_HEAD];
	const uint8_t *data;
	uint32_t caplen;
	const uint8_t *options; /* existing options, unchanged */
	size_t options_len;
};

/* The comments of one frame. */
struct texts {
	char *text[RD_FRAME_COMMENTS + 1];
	size_t len[RD_FRAME_COMMENTS + 1];
	unsigned int n;
	size_t bytes; /* as options */
};

/* --- comments --------------------------------------------------------------------------------- */

static bool texts_add(struct texts *t, char *text)
{
	size_t len;

	if (!text)
		return false;
	len = strnlen(text, TEXT_MAX);
	len -= rd_utf8_unfinished(text, len);
	t->text[t->n] = text;
	t->len[t->n++] = len;
	t->bytes += 4 + pad4(len);
	return true;
}

/* Collects the comments of the current frame. False: out of memory. */
static bool texts_take(struct texts *t, struct rd_annotation *a)
{
	size_t more = 0;
	char *text;
	bool ok = true;

	for (; a->at < a->n_comments && a->comments[a->at].frame <= a->frames; a->at++) {
		if (t->n == RD_FRAME_COMMENTS)
			more++;
		else
			ok &= texts_add(t, a->text(a->text_ctx, a->comments[a->at].item));
	}
	if (more)
		ok &= texts_add(
			t, asprintf(&text, "and %zu more finding%s", more, rd_plural(more)) < 0
				   ? NULL
				   : text);
	return ok;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void block_put(struct job *j, const struct block *b, const struct texts *t)
{
	struct copying *c = &j->copy;

	copy_add(c, b->head, EPB_HEAD);
	copy_add(c, b->data, b->caplen);
	copy_pad(c);
	for (unsigned int i = 0; i < t->n; i++)
		copy_option(c, OPT_COMMENT, t->text[i], t->len[i]);
	if (b->options_len)
		copy_add(c, b->options, b->options_len);
	else if (t->n)
		copy_option(c, OPT_END, NULL, 0);
	copy_block_end(c);
}

static bool fits(struct job *j, const struct block *b, const struct texts *t)
{
	if (EPB_HEAD + pad4(b->caplen) + t->bytes + b->options_len + 8 <= BLOCK_MAX)
		return true;
	j->a->too_big++;
	return false;
}

/* Builds the block of the current frame with its comments. False: the block is not changed. */
static bool block_annotate(struct job *j, struct block *b)
{
	struct texts t = {0};
	bool ok = texts_take(&t, j->a);

	j->copy.no_memory |= !ok;
	ok = ok && t.n && fits(j, b, &t);
	if (ok) {
		block_put(j, b, &t);
		j->a->noted++;
	}
	for (unsigned int i = 0; i < t.n; i++)
		free(t.text[i]);
	return ok;
}

static bool has_comment(const struct rd_annotation *a)
{
	return a->at < a->n_comments && a->comments[a->at].frame <= a->frames;
}

/* --- pcapng ----------------------------------------------------------------------------------- */

/* An SPB has no options: it becomes an EPB of the first interface with time 0, as in readers. */
static void spb_read(const struct job *j, const struct rd_reader *r, const uint8_t *p, size_t len,
	struct block *b)
{
	uint32_t wire = reader_u32(r, p + 8), snaplen = r->ifaces.of_file[0].snaplen;
	size_t size = len - SPB_HEAD - 4;

	b->caplen = wire < size ? wire : (uint32_t)size;
	if (snaplen && b->caplen > snaplen)
		b->caplen = snaplen;
	b->data = p + SPB_HEAD;
	copy_set_u32(&j->copy, b->head, BLOCK_EPB);
	copy_set_u32(&j->copy, b->head + 20, b->caplen);
	copy_set_u32(&j->copy, b->head + 24, wire);
}

static void epb_read(const struct rd_reader *r, const uint8_t *p, size_t len, struct block *b)
{
	size_t used;

	memcpy(b->head, p, EPB_HEAD);
	b->data = p + EPB_HEAD;
	b->caplen = reader_u32(r, p + 20);
	used = EPB_HEAD + pad4(b->caplen);
	b->options = p + used;
	b->options_len = len - used - 4;
}

static void pcapng_put(
	struct job *j, const struct rd_reader *r, const uint8_t *p, size_t len, bool is_frame)
{
	struct block b = {0};

	j->copy.swapped = r->swapped;
	if (is_frame && has_comment(j->a)) {
		if (reader_u32(r, p) == BLOCK_SPB)
			spb_read(j, r, p, len, &b);
		else
			epb_read(r, p, len, &b);
		if (block_annotate(j, &b))
			return;
	}
	copy_add(&j->copy, p, len);
	/*
	 * New options change the length of the section, which the header may leave open. The reader
	 * passes known blocks, as section headers are, as a whole.
	 */
	if (!is_frame && !r->skip && len >= SECTION_LEN + 12 && reader_u32(r, p) == BLOCK_SHB &&
		reader_u32(r, p + 4) == len && !j->copy.no_memory)
		memset(j->copy.buf + SECTION_LEN, 0xff, 8);
	copy_flush(&j->copy);
}

/* --- pcap and ERF ----------------------------------------------------------------------------- */

static void section_begin(struct job *j, const struct rd_reader *r)
{
	const struct rd_section section = {.application = j->a->application};
	const struct rd_encoder e = {.format = &format_pcapng,
		.section = &section,
		.ifaces = r->ifaces.list,
		.n_ifaces = 1,
		.dlt = r->ifaces.of_file[0].dlt};
	size_t size = e.format->header_bound(&e);
	uint8_t *header = copy_add(&j->copy, NULL, size);

	j->copy.begun = true;
	j->copy.swapped = false;
	if (header)
		j->copy.n = e.format->header(&e, header, size);
	copy_flush(&j->copy);
}

/* A record as a block of the only interface; `len` is its length on the wire. */
static void record_put(struct job *j, uint64_t ns, const uint8_t *data, uint32_t caplen,
	uint32_t len, bool is_frame)
{
	static const struct texts none;
	struct block b = {.data = data, .caplen = caplen};

	copy_set_u32(&j->copy, b.head, BLOCK_EPB);
	copy_set_u32(&j->copy, b.head + 12, (uint32_t)(ns >> 32));
	copy_set_u32(&j->copy, b.head + 16, (uint32_t)ns);
	copy_set_u32(&j->copy, b.head + 20, caplen);
	copy_set_u32(&j->copy, b.head + 24, len);
	if (!is_frame || !has_comment(j->a) || !block_annotate(j, &b))
		block_put(j, &b, &none);
}

static void pcap_put(
	struct job *j, const struct rd_reader *r, const uint8_t *p, size_t len, bool is_frame)
{
	if (!j->copy.begun) { /* the first bytes are the file's header */
		section_begin(j, r);
		return;
	}
	record_put(j,
		reader_u32(r, p) * (uint64_t)NS_PER_S +
			reader_u32(r, p + 4) * (uint64_t)r->pcap.fraction_ns,
		p + r->pcap.record_header, (uint32_t)(len - r->pcap.record_header),
		reader_u32(r, p + 12), is_frame);
}

static void erf_put_record(
	struct job *j, const struct rd_reader *r, const uint8_t *p, size_t len, bool is_frame)
{
	uint32_t wire = erf_record_len(p, len);

	if (!j->copy.begun)
		section_begin(j, r);
	if (wire) /* readers do not take padding for a packet */
		record_put(j, erf_timestamp_ns(rd_le64(p)), p, (uint32_t)len,
			wire > len ? wire : (uint32_t)len, is_frame);
}

/* --- files ------------------------------------------------------------------------------------ */

static void take_record(
	void *ctx, const struct rd_reader *r, const uint8_t *data, size_t len, bool is_frame)
{
	struct job *j = ctx;

	j->a->frames += is_frame;
	if (r->format == &reader_pcapng)
		pcapng_put(j, r, data, len, is_frame);
	else if (r->format == &reader_pcap)
		pcap_put(j, r, data, len, is_frame);
	else
		erf_put_record(j, r, data, len, is_frame);
}

int rd_annotate(struct rd_annotation *a, rd_read_fn *read, void *read_ctx, const char *name,
	struct rd_error *err)
{
	struct job j = {.copy = {.put = a->put, .put_ctx = a->put_ctx}, .a = a};
	const struct reader_input in = {
		.read = read, .ctx = read_ctx, .name = name, .raw = take_record, .raw_ctx = &j};

	return copy_all(&j.copy, &in, err);
}
