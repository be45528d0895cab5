/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Capture files built by hand, record by record, in either byte order. */
#pragma once

#include "test_format.h"

/* A file under construction in a chosen byte order. */
struct maker {
	struct memory m;
	bool big;
	size_t block;
};

static inline void u8(struct maker *k, uint8_t v)
{
	memory_add(&k->m, &v, 1);
}

static inline void u16(struct maker *k, uint16_t v)
{
	v = k->big ? htobe16(v) : htole16(v);
	memory_add(&k->m, &v, 2);
}

static inline void u32(struct maker *k, uint32_t v)
{
	v = k->big ? htobe32(v) : htole32(v);
	memory_add(&k->m, &v, 4);
}

static inline void u64(struct maker *k, uint64_t v)
{
	v = k->big ? htobe64(v) : htole64(v);
	memory_add(&k->m, &v, 8);
}

static inline void bytes(struct maker *k, const void *p, size_t len)
{
	memory_add(&k->m, p, len);
}

static inline void pad(struct maker *k)
{
	while (k->m.len % 4)
		u8(k, 0);
}

static inline void block(struct maker *k, uint32_t type)
{
	k->block = k->m.len;
	u32(k, type);
	u32(k, 0);
}

static inline void block_end(struct maker *k)
{
	uint32_t total = (uint32_t)(k->m.len - k->block + 4);

	u32(k, total);
	memcpy(k->m.data + k->block + 4, k->m.data + k->m.len - 4, 4);
}

static inline void option(struct maker *k, uint16_t code, const void *p, uint16_t len)
{
	u16(k, code);
	u16(k, len);
	bytes(k, p, len);
	pad(k);
}

static inline void option_u64(struct maker *k, uint16_t code, uint64_t v)
{
	u16(k, code);
	u16(k, 8);
	u64(k, v);
}

static inline void options_end(struct maker *k)
{
	option(k, 0, "", 0);
}

static inline void comment(struct maker *k, const char *text)
{
	option(k, 1, text, (uint16_t)strlen(text));
}

/* NULL: none. */
static inline void commented_end(struct maker *k, const char *text)
{
	if (text) {
		comment(k, text);
		options_end(k);
	}
	block_end(k);
}

static inline void section_begin(struct maker *k, uint64_t len)
{
	block(k, 0x0a0d0d0a);
	u32(k, 0x1a2b3c4d);
	u16(k, 1);
	u16(k, 0);
	u64(k, len);
}

static inline void section(struct maker *k)
{
	section_begin(k, UINT64_MAX);
	block_end(k);
}

static inline void iface(struct maker *k, uint16_t dlt, uint32_t snaplen, int tsresol)
{
	block(k, 1);
	u16(k, dlt);
	u16(k, 0);
	u32(k, snaplen);
	if (tsresol >= 0)
		option(k, 9, &(uint8_t){(uint8_t)tsresol}, 1);
	block_end(k);
}

static inline void epb_begin(
	struct maker *k, uint32_t id, uint64_t ticks, const void *p, uint32_t caplen, uint32_t len)
{
	block(k, 6);
	u32(k, id);
	u32(k, (uint32_t)(ticks >> 32));
	u32(k, (uint32_t)ticks);
	u32(k, caplen);
	u32(k, len);
	bytes(k, p, caplen);
	pad(k);
}

static inline void epb(struct maker *k, uint32_t id, uint64_t ticks, const void *p, uint32_t len)
{
	epb_begin(k, id, ticks, p, len, len);
	block_end(k);
}

static inline void pcap_header(struct maker *k, uint32_t magic, uint32_t snaplen, uint32_t network)
{
	u32(k, magic);
	u16(k, 2);
	u16(k, 4);
	u64(k, 0);
	u32(k, snaplen);
	u32(k, network);
}

static inline void pcap_record(struct maker *k, uint32_t s, uint32_t fraction, const void *p,
	uint32_t caplen, uint32_t len)
{
	u32(k, s);
	u32(k, fraction);
	u32(k, caplen);
	u32(k, len);
	bytes(k, p, caplen);
}

/* type may carry the bit for extension headers, which the caller appends. */
static inline void erf_head(
	struct maker *k, uint8_t type, uint8_t flags, uint16_t rlen, uint16_t lctr, uint16_t wlen)
{
	uint8_t head[16];

	rd_put_le64(head, UINT64_C(1700000000) << 32 | 0x80000000);
	head[8] = type;
	head[9] = flags;
	rd_put_be16(head + 10, rlen);
	rd_put_be16(head + 12, lctr);
	rd_put_be16(head + 14, wlen);
	bytes(k, head, sizeof(head));
}
