/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --sample: one of so many pairs of addresses, the same ones on each host. */
#include "filter_terms.h"
#include <errno.h>
#include <rdmadump/units.h>
#include <stdlib.h>

/* A finalizer that all hosts share (Steele, Lea, Flood: splittable generators, 2014). */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* IPv4 as ::ffff:a.b.c.d, so that a host is the same one in RoCE v1 and v2. */
static uint64_t hash_address(const uint8_t *a, unsigned int n)
{
	return n == 4 ? mix(RD_MAPPED | rd_be32(a)) : mix(rd_be64(a) ^ mix(rd_be64(a + 8)));
}

int rd_sample_compile(void **state, const struct rd_term_use *use, struct rd_error *err)
{
	uint64_t *one_of = *state = malloc(sizeof(*one_of));

	if (!one_of)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "compiling the filter");
	if (rd_parse_u64(use->text, 1, UINT32_MAX, one_of))
		return rd_fail(err, RD_CLASS_USAGE, 0, "give a number like 8",
			"%s: of '%.60s' pairs of addresses none can be chosen", use->term->option,
			use->text);
	return 0;
}

/* A frame that belongs to no pair, like a pause frame, is kept. */
bool rd_sample_match(const void *state, const struct rd_frame *frame, const struct rd_packet *p)
{
	const uint64_t *one_of = state;
	const uint8_t *src, *dst;
	const unsigned int n = rd_packet_addresses(p, &src, &dst);
	struct rd_lrh lrh;

	(void)frame;
	if (n)
		return mix(hash_address(src, n) + hash_address(dst, n)) % *one_of == 0;
	return !rd_packet_lrh(p, &lrh) || mix(mix(lrh.slid) + mix(lrh.dlid)) % *one_of == 0;
}
