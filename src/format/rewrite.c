/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies a capture, record by record. Of pcapng, only the blocks and options listed in the tables
 * below are copied: others may contain anything.
 */
#include "copy.h"
#include "pcapng.h"
#include <rdmadump/rewrite.h>
#include <stdlib.h>

#define ERF_TYPE_LINK 25 /* flow control of InfiniBand: without addresses */

struct rewriting {
	struct copying copy;
	struct rd_rewrite *w;
	uint64_t skip; /* bytes to skip of a block that is left out */
	uint16_t dlt;  /* copy.refused: link type of the frame that cannot be changed */
};

/* --- frames ------------------------------------------------------------------------------ */

/* Extension headers of ERF keep their type: some name the host that captured, or its card. */
static void extensions_clear(uint8_t *erf, size_t n)
{
	bool more = n > ERF_HEADER && erf[8] & ERF_MORE;

	for (size_t at = ERF_HEADER; more && at + 8 <= n; at += 8) {
		more = erf[at] & ERF_MORE;
		memset(erf + at + 1, 0, 7);
	}
}

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
	const bool is_link = iface->link == RD_LINK_RAW && iface->dlt == DLT_ERF && captured > 8 &&
			     (record[from + 8] & ~ERF_MORE) == ERF_TYPE_LINK;

	if (j->copy.no_memory)
		return;
	j->w->frames++;
	extensions_clear(j->copy.buf + from, is_link ? captured : before);
	if (is_link)
		return;
	if (!j->w->frame(j->w->ctx, iface->link, j->copy.buf + from + before, f->caplen, f->len,
		    (uint32_t)(captured - before - f->caplen))) {
		j->copy.refused = true;
		j->dlt = (uint16_t)iface->dlt;
	}
}

/* --- options ----------------------------------------------------------------------------- */

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
	for (size_t i = 0; i < RD_COUNT(option_rows); i++)
		if (option_rows[i].block == block && option_rows[i].code == code)
			return option_rows[i];
	return (struct option_row){.kind = OPTION_UNKNOWN};
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
	j->copy.no_memory |= !whole;
	if (whole) {
		memcpy(whole, bytes, keep);
		memcpy(whole + keep, text, n);
		copy_option(&j->copy, code, whole, n + keep);
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
		copy_option(&j->copy, code, bytes, n);
	} else if (row.kind == OPTION_ADDRESS && n >= row.address && n <= sizeof(copy)) {
		memcpy(copy, bytes, n);
		j->w->address(j->w->ctx, copy, row.address);
		copy_option(&j->copy, code, copy, n);
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
		size_t used = 4 + pad4(n);

		if (code == OPT_END || n > left - 4)
			break;
		option_rewrite(j, block, code, p + 4, n);
		if (used > left)
			break;
		p += used;
		left -= used;
	}
	if (any)
		copy_option(&j->copy, OPT_END, NULL, 0);
}

/* --- blocks of pcapng -------------------------------------------------------------------- */

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
	used = head + pad4(captured);
	copy_add(&j->copy, p, head + captured);
	frame_rewrite(j, r, p, head, captured);
	copy_pad(&j->copy);
	if (block != BLOCK_SPB && used + 4 <= len)
		options_rewrite(j, r, block, p + used, len - used - 4);
	copy_block_end(&j->copy);
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
	j->copy.no_memory |= !text;
	if (text && out <= RD_FACTS_MAX) {
		copy_add(&j->copy, p, 8 + FACTS_FIXED);
		if (!j->copy.no_memory)
			copy_set_u32(&j->copy, j->copy.buf + 12, (uint32_t)out);
		copy_add(&j->copy, text, out);
		copy_pad(&j->copy);
		copy_block_end(&j->copy);
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
		uint8_t *copy = copy_add(&j->copy, p, fixed);

		if (copy && block == BLOCK_SHB) /* the length of the section changes */
			memset(copy + 16, 0xff, 8);
		options_rewrite(j, r, block, p + fixed, len - fixed - 4);
		copy_block_end(&j->copy);
	} else {
		j->w->left_out++;
	}
}

static void pcapng_rewrite(
	struct rewriting *j, const struct rd_reader *r, const uint8_t *p, size_t len, bool is_frame)
{
	j->copy.swapped = r->swapped;
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

/* --- pcap and ERF ------------------------------------------------------------------------ */

/* Records without a frame are ERF padding, and ERF metadata, which contains names. */
static void record_rewrite(
	struct rewriting *j, const struct rd_reader *r, const uint8_t *p, size_t len, bool is_frame)
{
	bool pcap = r->format == &reader_pcap;

	if (pcap && !j->copy.begun) {
		j->copy.begun = true;
		copy_add(&j->copy, p, len);
		copy_flush(&j->copy);
	} else if (is_frame) {
		size_t head = pcap ? r->pcap.record_header : 0;

		copy_add(&j->copy, p, len);
		frame_rewrite(j, r, p, head, len - head);
		copy_flush(&j->copy);
	} else {
		j->w->left_out++;
	}
}

static void take_record(
	void *ctx, const struct rd_reader *r, const uint8_t *data, size_t len, bool is_frame)
{
	struct rewriting *j = ctx;

	if (copy_failed(&j->copy))
		return;
	if (r->format == &reader_pcapng)
		pcapng_rewrite(j, r, data, len, is_frame);
	else
		record_rewrite(j, r, data, len, is_frame);
}

static int refusal(const struct rewriting *j, struct rd_error *err)
{
	const char *link = rd_linktype_name(j->dlt);

	return rd_fail(err, RD_CLASS_DEVICE, 0, NULL, "its link type %u (%s) is not understood",
		j->dlt, link ? link : "unknown");
}

int rd_rewrite(struct rd_rewrite *w, rd_read_fn *read, void *read_ctx, const char *name,
	struct rd_error *err)
{
	struct rewriting j = {.copy = {.put = w->put, .put_ctx = w->put_ctx}, .w = w};
	const struct reader_input in = {
		.read = read, .ctx = read_ctx, .name = name, .raw = take_record, .raw_ctx = &j};
	int rc = copy_all(&j.copy, &in, err);

	return rc >= 0 && j.copy.refused ? refusal(&j, err) : rc;
}
