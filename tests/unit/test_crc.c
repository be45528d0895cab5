/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every implementation of the checksums that this processor supports, compared with a bit-by-bit
 * one.
 */
#include "test.h"
#include "test_bits.h"
#include "wire/crc.h"

#define ROUNDS	3000
#define LEN_MAX 2300

static const uint32_t starts[CRC_KINDS] = {
	[CRC_INVARIANT] = UINT32_MAX,
	[CRC_VARIANT] = UINT16_MAX,
};
static const uint32_t polynomials[CRC_KINDS] = {
	[CRC_INVARIANT] = CRC32_POLYNOMIAL,
	[CRC_VARIANT] = CRC16_POLYNOMIAL,
};

/*
 * Any length and alignment; the buffer ends with the bytes, so that a sanitizer detects an overrun.
 */
static uint8_t *random_bytes(size_t offset, size_t len)
{
	uint8_t *p = malloc(offset + len + !len);

	assert_non_null(p);
	random_fill(p, offset + len);
	return p;
}

static void check_plain(const struct crc_engine *e, enum crc_kind kind, size_t len)
{
	size_t offset = random_next() % 64;
	uint8_t *p = random_bytes(offset, len);
	uint32_t want = bit_by_bit(polynomials[kind], starts[kind], p + offset, len);

	if (e->plain(crc_of(kind), starts[kind], p + offset, len) != want)
		fail_msg("%s, kind %d, %zu bytes at offset %zu", e->name, kind, len, offset);
	free(p);
}

static void check_masked(const struct crc_engine *e, enum crc_kind kind, size_t len)
{
	size_t offset = random_next() % 64;
	uint8_t *p = random_bytes(offset, len), *mask = random_bytes(0, CRC_MASKED);
	uint32_t got, want;

	got = e->masked(crc_of(kind), starts[kind], p + offset, len, mask);
	for (size_t i = 0; i < (len < CRC_MASKED ? CRC_MASKED_MIN : CRC_MASKED); i++)
		p[offset + i] |= mask[i];
	want = bit_by_bit(polynomials[kind], starts[kind], p + offset, len);
	if (got != want)
		fail_msg(
			"%s, masked, kind %d, %zu bytes at offset %zu", e->name, kind, len, offset);
	free(mask);
	free(p);
}

static void check_engine(const struct crc_engine *e, enum crc_kind kind)
{
	for (size_t len = 0; len < 700; len++)
		check_plain(e, kind, len);
	for (size_t len = CRC_MASKED_MIN; len < 700; len++)
		check_masked(e, kind, len);
	for (int i = 0; i < ROUNDS; i++) {
		check_plain(e, kind, random_next() % LEN_MAX);
		check_masked(e, kind, CRC_MASKED + random_next() % (LEN_MAX - CRC_MASKED));
	}
}

TEST(engines)
{
	unsigned int usable = 0;

	for (const struct crc_engine *e = crc_engines; e->name; e++) {
		if (!e->usable()) {
			print_message("# this processor has no %s\n", e->name);
			continue;
		}
		usable++;
		for (int kind = 0; kind < CRC_KINDS; kind++)
			check_engine(e, (enum crc_kind)kind);
	}
	assert_true(usable >= 1);
}

/* In pieces as at once. */
TEST(pieces)
{
	uint8_t *p = random_bytes(0, LEN_MAX);

	for (int kind = 0; kind < CRC_KINDS; kind++)
		for (int i = 0; i < 300; i++) {
			enum crc_kind k = (enum crc_kind)kind;
			size_t at = random_next() % LEN_MAX;
			uint32_t crc = crc_run(k, starts[k], p, at);

			assert_int_equal(crc_run(k, crc, p + at, LEN_MAX - at),
				bit_by_bit(polynomials[k], starts[k], p, LEN_MAX));
		}
	free(p);
}

/* The check value of CRC-32 in published lists. */
TEST(known)
{
	assert_int_equal(
		~crc_run(CRC_INVARIANT, UINT32_MAX, (const uint8_t *)"123456789", 9), 0xcbf43926);
}
