/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies a capture, record by record. Of pcapng, only the blocks and options listed in the tables
 * below are copied: others may contain anything.
 */
#include "pcap.h"
#include "pcapng.h"
#include "reader.h"
#include <errno.h>
#include <rdmadump/rewrite.h>
#include <stdlib.h>

#define EPB_HEAD      28 /* bytes before the frame, also of a PB */
#define SPB_HEAD      12
#define TEXT_MAX      65532 /* an option's length has 16 bits */
#define ERF_TYPE_LINK 25    /* flow control of InfiniBand: without addresses */

struct rewriting {
	struct rd_rewrite *w;
	uint8_t *buf; /* the record as it will be written */
	size_t n, capacity;
	uint64_t skip; /* bytes to skip of a block that is left out */
	bool begun;    /* the header of a pcap file is copied */
	bool swapped;
	int errnum; /* errno of put() */
	bool no_memory;
	bool refused; /* a frame cannot be changed */
	uint16_t dlt; /* link type of that frame */
};

/* --- the output record -------------------------------------------------------------------------
 */

static uint8_t *add(struct rewriting *j, const void *bytes, size_t n)
{
	uint8_t *at;

	if (j->n + n > j->capacity) {
		size_t size = 2 * (j->n + n) + 256;
		uint8_t *grown = realloc(j->buf, size);

		if (!grown) {
			j->no_memory = true;
			return NULL;
		}
		j->buf = grown;
		j->capacity = size;
	}
	at = j->buf + j->n;
	if (bytes)
		memcpy(at, bytes, n);
	else
		memset(at, 0, n);
	j->n += n;
	return at;
}

static void pad(struct rewriting *j)
{
	add(j, NULL, (4 - j->n % 4) % 4);
}

static void set_u16(const struct rewriting *j, uint8_t *p, uint16_t v)
{
	if (j->swapped)
		v = __builtin_bswap16(v);
	memcpy(p, &v, sizeof(v));
}

static void set_u32(const struct rewriting *j, uint8_t *p, uint32_t v)
{
	if (j->swapped)
		v = __builtin_bswap32(v);
	memcpy(p, &v, sizeof(v));
}

/* Nothing is written after a failure. */
static bool failed(const struct rewriting *j)
{
	return j->errnum || j->no_memory || j->refused;
}

static void flush(struct rewriting *j)
{
	errno = 0;
	if (!failed(j) && j->n && j->w->put && j->w->put(j->w->put_ctx, j->buf, j->n) < 0)
		j->errnum = errno ? errno : EIO;
	j->n = 0;
}

/* --- frames ------------------------------------------------------------------------------------
 */

/*
 * The frame of the record, which begins at `from` of the copy; `captured` bytes of the record
 * belong to it and to headers before it.
 */
static void frame_rewrite(struct rewriting *j, const struct rd_reader *r, const uint8_t *record,
	size_t from, size_t captured)
{
	const struct rd_frame *f = r->raw_frame;
	const struct rd_iface *iface = &r->ifaces.list[f->iface];
	size_t before = (size_t)(f->data - record) - from;

	if (j->no_memory)
		return;
	j->w->frames++;
	if (iface->link == RD_LINK_RAW && iface->dlt == DLT_ERF && captured > 8 &&
		(record[from + 8] & ~ERF_MORE) == ERF_TYPE_LINK)
		return;
	if (!j->w->frame(j->w->ctx, iface->link, j->buf + from + before, f->caplen, f->len,
		    (uint32_t)(captured - before - f->caplen))) {
		j->refused = true;
		j->dlt = (uint16_t)iface->dlt;
	}
}

/* --- options -----------------------------------------------------------------------------------
 */

enum option_kind { OPTION_UNKNOWN, OPTION_TEXT, OPTION_NUMBER, OPTION_ADDRESS, OPTION_FILTER };

struct option_row {
	uint32_t block;
	uint16_t code;
	uint8_t kind, address; /* address: its bytes; what follows it is a number */
};

static const struct option_row option_rows[] = {
	{BLOCK_SHB, OPT_SHB_HARDWARE, OPTION_TEXT, 0},
	{BLOCK_SHB, OPT_SHB_OS, OPTION_TEXT, 0},
	{BLOCK_SHB, OPT_SHB_USERAPPL, OPTION_TEXT, 0},
	{BLOCK_IDB, OPT_IF_NAME, OPTION_TEXT, 0},
	{BLOCK_IDB, OPT_IF_DESCRIPTION, OPTION_TEXT, 0},
	{BLOCK_IDB, 4, OPTION_ADDRESS, 4}, /* IPv4 address and mask */
	{BLOCK_IDB, 5, OPTION_ADDRESS, 16},
	{BLOCK_IDB, OPT_IF_MACADDR, OPTION_ADDRESS, 6},
	{BLOCK_IDB, 7, OPTION_ADDRESS, 8}, /* EUI-64 */
	{BLOCK_IDB, OPT_IF_SPEED, OPTION_NUMBER, 0},
	{BLOCK_IDB, OPT_IF_TSRESOL, OPTION_NUMBER, 0},
	{BLOCK_IDB, 10, OPTION_NUMBER, 0}, /* time zone */
	{BLOCK_IDB, OPT_IF_FILTER, OPTION_FILTER, 0},
	{BLOCK_IDB, OPT_IF_OS, OPTION_TEXT, 0},
	{BLOCK_IDB, OPT_IF_FCSLEN, OPTION_NUMBER, 0},
	{BLOCK_IDB, OPT_IF_TSOFFSET, OPTION_NUMBER, 0},
	{BLOCK_IDB, OPT_IF_HARDWARE, OPTION_TEXT, 0},
	{BLOCK_IDB, 16, OPTION_NUMBER, 0}, /* speeds of sending and receiving */
	{BLOCK_IDB, 17, OPTION_NUMBER, 0},
	{BLOCK_EPB, OPT_EPB_FLAGS, OPTION_NUMBER, 0},
	{BLOCK_EPB, OPT_EPB_DROPCOUNT, OPTION_NUMBER, 0},
	{BLOCK_EPB, 5, OPTION_NUMBER, 0}, /* packet id, queue */
	{BLOCK_EPB, 6, OPTION_NUMBER, 0},
	{BLOCK_PB, OPT_EPB_FLAGS, OPTION_NUMBER, 0},
	{BLOCK_ISB, OPT_ISB_STARTTIME, OPTION_NUMBER, 0},
	{BLOCK_ISB, OPT_ISB_ENDTIME, OPTION_NUMBER, 0},
	{BLOCK_ISB, OPT_ISB_IFRECV, OPTION_NUMBER, 0},
	{BLOCK_ISB, OPT_ISB_IFDROP, OPTION_NUMBER, 0},
	{BLOCK_ISB, OPT_ISB_FILTERACCEPT, OPTION_NUMBER, 0},
	{BLOCK_ISB, OPT_ISB_OSDROP, OPTION_NUMBER, 0},
	{BLOCK_ISB, OPT_ISB_USRDELIV, OPTION_NUMBER, 0},
};

/* A comment is in every block. */
static struct option_row option_find(uint32_t block, uint16_t code)
{
	if (code == OPT_COMMENT)
		return (struct option_row){block, code, OPTION_TEXT, 0};
	for (size_t i = 0; i < sizeof(option_rows) / sizeof(*option_rows); i++)
		if (option_rows[i].block == block && option_rows[i].code == code)
			return option_rows[i];
	return (struct option_row){.kind = OPTION_UNKNOWN};
}

static void option_put(struct rewriting *j, uint16_t code, const void *bytes, size_t n)
{
	uint8_t head[4];

	set_u16(j, head, code);
	set_u16(j, head + 2, (uint16_t)n);
	add(j, head, sizeof(head));
	add(j, bytes, n);
	pad(j);
}

/* The first `keep` bytes stay before the text. */
static void text_put(
	struct rewriting *j, uint16_t code, const uint8_t *bytes, size_t len, size_t keep)
{
	char *text, *whole;
	size_t n;

	text = j->w->text(j->w->ctx, (const char *)bytes + keep, len - keep, &n);
	if (text && n > TEXT_MAX - keep)
		n = TEXT_MAX - keep;
	whole = text ? malloc(n + keep + 1) : NULL;
	j->no_memory |= !whole;
	if (whole) {
		memcpy(whole, bytes, keep);
		memcpy(whole + keep, text, n);
		option_put(j, code, whole, n + keep);
	}
	free(whole);
	free(text);
}

static void option_rewrite(
	struct rewriting *j, uint32_t block, uint16_t code, const uint8_t *bytes, size_t n)
{
	const struct option_row row = option_find(block, code);
	uint8_t copy[32];

	if (row.kind == OPTION_TEXT) {
		text_put(j, code, bytes, n, 0);
	} else if (row.kind == OPTION_FILTER && n > 1 && !bytes[0]) {
		text_put(j, code, bytes, n, 1);
	} else if (row.kind == OPTION_NUMBER && n <= 8) {
		option_put(j, code, bytes, n);
	} else if (row.kind == OPTION_ADDRESS && n >= row.address && n <= sizeof(copy)) {
		memcpy(copy, bytes, n);
		j->w->address(j->w->ctx, copy, row.address);
		option_put(j, code, copy, n);
	} else {
		j->w->left_out++;
	}
}

static void options_rewrite(struct rewriting *j, const struct rd_reader *r, uint32_t block,
	const uint8_t *p, size_t left)
{
	bool any = left >= 4;

	while (left >= 4) {
		uint16_t code = reader_u16(r, p), n = reader_u16(r, p + 2);
		size_t used = 4 + ((n + 3u) & ~3u);

		if (code == OPT_END || n > left - 4)
			break;
		option_rewrite(j, block, code, p + 4, n);
		if (used > left)
			break;
		p += used;
		left -= used;
	}
	if (any)
		option_put(j, OPT_END, NULL, 0);
}

/* --- blocks of pcapng --------------------------------------------------------------------------
 */

static void block_end(struct rewriting *j)
{
	uint8_t *last = add(j, NULL, 4);

	if (!last)
		return;
	set_u32(j, j->buf + 4, (uint32_t)j->n);
	set_u32(j, last, (uint32_t)j->n);
	flush(j);
}

/* Bytes of a block before its options; 0: such blocks are left out. */
static size_t fixed_of(uint32_t block)
{
	switch (block) {
	case BLOCK_SHB:
		return 24;
	case BLOCK_IDB:
		return 16;
	case BLOCK_ISB:
		return 20;
	default:
		return 0;
	}
}

static void frame_block(
	struct rewriting *j, const struct rd_reader *r, const uint8_t *p, size_t len)
{
	uint32_t block = reader_u32(r, p);
	size_t head = block == BLOCK_SPB ? SPB_HEAD : EPB_HEAD, captured, used;

	captured = block == BLOCK_SPB ? len - SPB_HEAD - 4 : reader_u32(r, p + 20);
	used = head + ((captured + 3) & ~(size_t)3);
	add(j, p, head + captured);
	frame_rewrite(j, r, p, head, captured);
	pad(j);
	if (block != BLOCK_SPB && used + 4 <= len)
		options_rewrite(j, r, block, p + used, len - used - 4);
	block_end(j);
}

static void facts_block(
	struct rewriting *j, const struct rd_reader *r, const uint8_t *p, size_t len)
{
	uint32_t n = reader_u32(r, p + 12);
	char *text;
	size_t out;

	if (len < 12 + FACTS_FIXED || reader_u32(r, p + 8) != FACTS_VERSION ||
		n > len - 12 - FACTS_FIXED) {
		j->w->left_out++;
		return;
	}
	text = j->w->text(j->w->ctx, (const char *)p + 8 + FACTS_FIXED, n, &out);
	j->no_memory |= !text;
	if (text && out <= RD_FACTS_MAX) {
		add(j, p, 8 + FACTS_FIXED);
		if (!j->no_memory)
			set_u32(j, j->buf + 12, (uint32_t)out);
		add(j, text, out);
		pad(j);
		block_end(j);
	}
	free(text);
}

static void other_block(
	struct rewriting *j, const struct rd_reader *r, const uint8_t *p, size_t len)
{
	uint32_t block = reader_u32(r, p), total = reader_u32(r, p + 4);
	size_t fixed = fixed_of(block);

	if (total > len) { /* the rest follows in pieces */
		j->skip = total - len;
		j->w->left_out++;
	} else if (block == BLOCK_FACTS) {
		facts_block(j, r, p, len);
	} else if (fixed && fixed + 4 <= len) {
		uint8_t *copy = add(j, p, fixed);

		if (copy && block == BLOCK_SHB) /* the length of the section changes */
			memset(copy + 16, 0xff, 8);
		options_rewrite(j, r, block, p + fixed, len - fixed - 4);
		block_end(j);
	} else {
		j->w->left_out++;
	}
}

static void pcapng_rewrite(
	struct rewriting *j, const struct rd_reader *r, const uint8_t *p, size_t len, bool is_frame)
{
	j->swapped = r->swapped;
	if (!is_frame && j->skip) {
		j->skip -= len < j->skip ? len : j->skip;
		return;
	}
	if (len < 12)
		return;
	if (is_frame)
		frame_block(j, r, p, len);
	else
		other_block(j, r, p, len);
}

/* --- pcap and ERF ------------------------------------------------------------------------------
 */

/* Records without a frame are ERF padding, and ERF metadata, which contains names. */
static void record_rewrite(
	struct rewriting *j, const struct rd_reader *r, const uint8_t *p, size_t len, bool is_frame)
{
	bool pcap = r->format == &reader_pcap;

	if (pcap && !j->begun) {
		j->begun = true;
		add(j, p, len);
		flush(j);
	} else if (is_frame) {
		size_t head = pcap ? r->pcap.record_header : 0;

		add(j, p, len);
		frame_rewrite(j, r, p, head, len - head);
		flush(j);
	} else {
		j->w->left_out++;
	}
}

static void take_record(
	void *ctx, const struct rd_reader *r, const uint8_t *data, size_t len, bool is_frame)
{
	struct rewriting *j = ctx;

	if (failed(j))
		return;
	if (r->format == &reader_pcapng)
		pcapng_rewrite(j, r, data, len, is_frame);
	else
		record_rewrite(j, r, data, len, is_frame);
}

/* The reader passes facts as a whole only if there is a callback for them. */
static void ignore_facts(void *ctx, const char *json, size_t len)
{
	(void)ctx, (void)json, (void)len;
}

static int failure(const struct rewriting *j, const char *name, struct rd_error *err)
{
	const char *link;

	if (j->no_memory)
		return rd_fail(err, RD_CLASS_PARTIAL, ENOMEM, NULL, "cannot copy '%s'", name);
	if (j->errnum)
		return rd_fail(err, RD_CLASS_OUTPUT, j->errnum,
			"free some space or name another file", "cannot write the copy of '%s'",
			name);
	if (!j->refused)
		return 0;
	link = rd_linktype_name(j->dlt);
	return rd_fail(err, RD_CLASS_DEVICE, 0, NULL, "its link type %u (%s) is not understood",
		j->dlt, link ? link : "unknown");
}

int rd_rewrite(struct rd_rewrite *w, rd_read_fn *read, void *read_ctx, const char *name,
	struct rd_error *err)
{
	struct rewriting j = {.w = w};
	const struct reader_input in = {
		.read = read, .ctx = read_ctx, .name = name, .raw = take_record, .raw_ctx = &j};
	struct rd_frame frames[64];
	struct rd_reader *r;
	int n;

	if (reader_open(&r, &in, err) < 0) {
		free(j.buf);
		return -1;
	}
	rd_reader_on_facts(r, ignore_facts, NULL);
	do
		n = rd_reader_next(r, frames, sizeof(frames) / sizeof(frames[0]), err);
	while (n > 0 && !failed(&j));
	rd_reader_close(r);
	free(j.buf);
	if (failure(&j, name, err) < 0)
		return -1;
	return n < 0 ? 1 : 0;
}
