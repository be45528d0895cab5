/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies a capture as pcapng with comments on frames. A reader says which records are frames, so
 * that they have the numbers that the analysis gave them.
 */
#include "pcapng.h"
#include "reader.h"
#include <errno.h>
#include <rdmadump/annotate.h>
#include <rdmadump/printable.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>

#define EPB_HEAD    28 /* bytes before the frame, also of a PB */
#define SPB_HEAD    12
#define SECTION_LEN 16		/* where the section header has the length of the section */
#define BLOCK_MAX   (16u << 20) /* Wireshark and our reader refuse larger ones */
#define TEXT_MAX    65532	/* an option's length has 16 bits */

struct job {
	struct rd_annotation *a;
	bool begun;   /* the section header is written, for input other than pcapng */
	bool swapped; /* byte order of the current section */
	int errnum;   /* errno of put(); 0: no error */
	bool no_memory;
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

static size_t pad4(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

static void put(struct job *j, const void *data, size_t len)
{
	if (j->errnum || !len)
		return;
	errno = 0;
	if (j->a->put(j->a->put_ctx, data, len) < 0)
		j->errnum = errno ? errno : EIO;
}

static void put_padding(struct job *j, size_t len)
{
	static const uint8_t zeros[4];

	put(j, zeros, pad4(len) - len);
}

/* Into memory, in the byte order of the section. */
static void set_u32(const struct job *j, uint8_t *p, uint32_t v)
{
	if (j->swapped)
		v = __builtin_bswap32(v);
	memcpy(p, &v, sizeof(v));
}

static void put_u32(struct job *j, uint32_t v)
{
	uint8_t word[4];

	set_u32(j, word, v);
	put(j, word, sizeof(word));
}

static void put_option(struct job *j, uint16_t code, const char *text, size_t len)
{
	const uint16_t v[2] = {code, (uint16_t)len};
	const uint16_t other[2] = {__builtin_bswap16(v[0]), __builtin_bswap16(v[1])};

	put(j, j->swapped ? other : v, sizeof(v));
	put(j, text, len);
	put_padding(j, len);
}

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

static void texts_free(struct texts *t)
{
	for (unsigned int i = 0; i < t->n; i++)
		free(t->text[i]);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void block_put(struct job *j, struct block *b, const struct texts *t)
{
	const size_t end = b->options_len || !t->n ? 0 : 4;
	const size_t total = EPB_HEAD + pad4(b->caplen) + t->bytes + b->options_len + end + 4;

	set_u32(j, b->head + 4, (uint32_t)total);
	put(j, b->head, EPB_HEAD);
	put(j, b->data, b->caplen);
	put_padding(j, b->caplen);
	for (unsigned int i = 0; i < t->n; i++)
		put_option(j, OPT_COMMENT, t->text[i], t->len[i]);
	put(j, b->options, b->options_len);
	if (end)
		put_option(j, OPT_END, NULL, 0);
	put_u32(j, (uint32_t)total);
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

	j->no_memory |= !ok;
	ok = ok && t.n && fits(j, b, &t);
	if (ok) {
		block_put(j, b, &t);
		j->a->noted++;
	}
	texts_free(&t);
	return ok;
}

static bool has_comment(const struct rd_annotation *a)
{
	return a->at < a->n_comments && a->comments[a->at].frame <= a->frames;
}

/* --- pcapng ----------------------------------------------------------------------------------- */

/* An SPB has no options: it is converted to an EPB of the first interface with time 0, as readers
 * show it. */
static void spb_read(const struct job *j, const struct rd_reader *r, const uint8_t *p, size_t len,
	struct block *b)
{
	uint32_t wire = reader_u32(r, p + 8), snaplen = r->ifaces.of_file[0].snaplen;
	size_t size = len - SPB_HEAD - 4;

	b->caplen = wire < size ? wire : (uint32_t)size;
	if (snaplen && b->caplen > snaplen)
		b->caplen = snaplen;
	b->data = p + SPB_HEAD;
	set_u32(j, b->head, BLOCK_EPB);
	set_u32(j, b->head + 20, b->caplen);
	set_u32(j, b->head + 24, wire);
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

/* New options change the length of the section, which the header may leave open. */
static void section_put(struct job *j, const uint8_t *p, size_t len)
{
	const uint64_t unknown = UINT64_MAX;

	put(j, p, SECTION_LEN);
	put(j, &unknown, sizeof(unknown));
	put(j, p + SECTION_LEN + sizeof(unknown), len - SECTION_LEN - sizeof(unknown));
}

static void pcapng_put(
	struct job *j, const struct rd_reader *r, const uint8_t *p, size_t len, bool is_frame)
{
	struct block b = {0};

	j->swapped = r->swapped;
	if (is_frame && has_comment(j->a)) {
		if (reader_u32(r, p) == BLOCK_SPB)
			spb_read(j, r, p, len, &b);
		else
			epb_read(r, p, len, &b);
		if (block_annotate(j, &b))
			return;
	}
	/* The reader passes known blocks, as section headers are, as a whole. */
	if (!is_frame && !r->skip && len >= SECTION_LEN + 12 && reader_u32(r, p) == BLOCK_SHB &&
		reader_u32(r, p + 4) == len)
		section_put(j, p, len);
	else
		put(j, p, len);
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
	size_t size = rd_encoder_header_bound(&e);
	uint8_t *header = malloc(size);

	j->begun = true;
	j->swapped = false;
	if (header)
		put(j, header, e.format->header(&e, header, size));
	j->no_memory |= !header;
	free(header);
}

/* A record as a block of the only interface; `len` is its length on the wire. */
static void record_put(struct job *j, uint64_t ns, const uint8_t *data, uint32_t caplen,
	uint32_t len, bool is_frame)
{
	static const struct texts none;
	struct block b = {.data = data, .caplen = caplen};

	set_u32(j, b.head, BLOCK_EPB);
	set_u32(j, b.head + 12, (uint32_t)(ns >> 32));
	set_u32(j, b.head + 16, (uint32_t)ns);
	set_u32(j, b.head + 20, caplen);
	set_u32(j, b.head + 24, len);
	if (!is_frame || !has_comment(j->a) || !block_annotate(j, &b))
		block_put(j, &b, &none);
}

static void pcap_put(
	struct job *j, const struct rd_reader *r, const uint8_t *p, size_t len, bool is_frame)
{
	if (!j->begun) { /* the first bytes are the file's header */
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

	if (!j->begun)
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

static int failure(const struct job *j, const char *name, struct rd_error *err)
{
	if (j->no_memory)
		return rd_fail(err, RD_CLASS_PARTIAL, ENOMEM, NULL, "cannot copy '%s'", name);
	if (j->errnum)
		return rd_fail(err, RD_CLASS_OUTPUT, j->errnum,
			"free some space or name another file", "cannot write the copy of '%s'",
			name);
	return 0;
}

int rd_annotate(struct rd_annotation *a, rd_read_fn *read, void *read_ctx, const char *name,
	struct rd_error *err)
{
	struct job j = {.a = a};
	const struct reader_input in = {
		.read = read, .ctx = read_ctx, .name = name, .raw = take_record, .raw_ctx = &j};
	struct rd_frame frames[64];
	struct rd_reader *r;
	int n;

	if (reader_open(&r, &in, err) < 0)
		return -1;
	do
		n = rd_reader_next(r, frames, sizeof(frames) / sizeof(frames[0]), err);
	while (n > 0 && !j.errnum && !j.no_memory);
	rd_reader_close(r);
	if (failure(&j, name, err) < 0)
		return -1;
	return n < 0 ? 1 : 0;
}
