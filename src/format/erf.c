/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Encodes files of bare ERF records, the format of Endace's capture cards and tools. */
#include "records.h"

/* ERF files have no header: they begin with the first record. */
static size_t header(const struct rd_encoder *e, uint8_t *dst, size_t size)
{
	(void)e;
	(void)dst;
	(void)size;
	return 0;
}

static unsigned int encode_frames(const struct rd_encoder *e, const struct rd_frame *frames,
	unsigned int n, uint8_t *dst, size_t size, size_t *used)
{
	return records_encode(e, frames, n, dst, size, used, 0);
}

static size_t noted(const struct rd_encoder *e, const struct rd_frame *frame,
	const struct rd_note *note, uint8_t *dst, size_t size)
{
	size_t used;

	if (encode_frames(e, frame, 1, dst, size, &used))
		rd_put_be16(dst + ERF_LCTR, erf_lctr(note->dropped));
	return used;
}

static size_t record_len(const uint8_t *p, size_t left)
{
	size_t len;

	if (left < ERF_HEADER)
		return 0;
	len = rd_be16(p + ERF_RLEN);
	return len >= ERF_HEADER && len <= left ? len : 0;
}

static uint64_t record_ns(const uint8_t *p)
{
	return erf_timestamp_ns(rd_le64(p));
}

static size_t bound(uint32_t caplen)
{
	return ERF_HEADER + ERF_FILLER + (size_t)caplen; /* Ethernet: its padding is shorter */
}

static size_t header_bound(const struct rd_encoder *e)
{
	(void)e;
	return ERF_HEADER; /* not 0: callers allocate this size, and malloc(0) may return NULL */
}

const struct rd_format format_erf = {
	.name = "erf",
	.suffixes = ".erf",
	.header = header,
	.frames = encode_frames,
	.noted = noted,
	.record_len = record_len,
	.record_ns = record_ns,
	.bound = bound,
	.header_bound = header_bound,
};
