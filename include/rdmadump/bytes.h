/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unaligned loads and stores in a stated byte order, for bytes from the wire or from files. */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RD_LOAD(name, type, swap)                                                                  \
	static inline type rd_##name(const uint8_t *p)                                             \
	{                                                                                          \
		type v;                                                                            \
		memcpy(&v, p, sizeof(v));                                                          \
		return swap(v);                                                                    \
	}
RD_LOAD(be16, uint16_t, be16toh)
RD_LOAD(be32, uint32_t, be32toh)
RD_LOAD(be64, uint64_t, be64toh)
RD_LOAD(le16, uint16_t, le16toh)
RD_LOAD(le32, uint32_t, le32toh)
RD_LOAD(le64, uint64_t, le64toh)
#undef RD_LOAD

static inline uint32_t rd_be24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

#define RD_STORE(name, type, swap)                                                                 \
	static inline void rd_put_##name(uint8_t *p, type v)                                       \
	{                                                                                          \
		v = swap(v);                                                                       \
		memcpy(p, &v, sizeof(v));                                                          \
	}
RD_STORE(be16, uint16_t, htobe16)
RD_STORE(be32, uint32_t, htobe32)
RD_STORE(be64, uint64_t, htobe64)
RD_STORE(le16, uint16_t, htole16)
RD_STORE(le32, uint32_t, htole32)
RD_STORE(le64, uint64_t, htole64)
#undef RD_STORE

/*
 * A view of untrusted bytes. Every getter returns whether the bytes are there; nothing outside [p,
 * end) is ever read.
 */
struct rd_view {
	const uint8_t *p, *end;
};

static inline size_t rd_view_left(const struct rd_view *v)
{
	return (size_t)(v->end - v->p);
}

/* Returns a pointer to the next n bytes and skips them; NULL if there are fewer. */
static inline const uint8_t *rd_view_take(struct rd_view *v, size_t n)
{
	const uint8_t *p = v->p;

	if (rd_view_left(v) < n)
		return NULL;
	v->p += n;
	return p;
}

/* An unsigned number of 1, 2, 4 or 8 bytes in this machine's order. */
static inline uint64_t rd_number_at(const void *p, size_t size)
{
	uint64_t wide;
	uint32_t word;
	uint16_t half;

	switch (size) {
	case sizeof(wide):
		memcpy(&wide, p, sizeof(wide));
		return wide;
	case sizeof(word):
		memcpy(&word, p, sizeof(word));
		return word;
	case sizeof(half):
		memcpy(&half, p, sizeof(half));
		return half;
	default:
		return *(const uint8_t *)p;
	}
}
