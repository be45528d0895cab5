/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All implementations of the checksums that this processor has, beside a bit-by-bit one. */
#include "test.h"
#include "test_bits.h"
#include "wire/crc.h"

#define ROUNDS	3000
#define LEN_MAX 2300

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

static uint32_t crc16_bit_by_bit(const uint8_t *p, size_t len)
{
	return ~bit_by_bit(CRC16_POLYNOMIAL, UINT16_MAX, p, len) & UINT16_MAX;
}

static void check_plain(size_t len)
{
	size_t offset = random_next() % 64;
	uint8_t *p = random_bytes(offset, len);

	if (crc32_run(0, p + offset, len) != crc32_of(0, p + offset, len))
		fail_msg("CRC-32, %zu bytes at offset %zu", len, offset);
	if (crc16_run(p + offset, len) != crc16_bit_by_bit(p + offset, len))
		fail_msg("16-bit CRC, %zu bytes at offset %zu", len, offset);
	free(p);
}

static void check_masked(const struct crc_engine *e, size_t len)
{
	size_t offset = random_next() % 64;
	uint8_t *p = random_bytes(offset, len), *mask = random_bytes(0, CRC_MASKED);
	uint32_t got;

	if (len < CRC_MASKED)
		memset(mask + CRC_MASKED_MIN, 0, CRC_MASKED - CRC_MASKED_MIN);
	got = e->masked(p + offset, len, mask);
	for (size_t i = 0; i < len && i < CRC_MASKED; i++)
		p[offset + i] |= mask[i];
	if (got != crc32_of(0, p + offset, len))
		fail_msg("%s, %zu bytes at offset %zu", e->name, len, offset);
	free(mask);
	free(p);
}

TEST(plain)
{
	for (size_t len = 0; len < 700; len++)
		check_plain(len);
	for (int i = 0; i < ROUNDS; i++)
		check_plain(random_next() % LEN_MAX);
}

/* Of tables any length; of others at least what the shortest packet has. */
TEST(engines)
{
	unsigned int usable = 0;

	for (size_t len = 0; len < CRC_MASKED_MIN; len++)
		check_masked(&crc_engines[0], len);
	for (const struct crc_engine *e = crc_engines; e->name; e++) {
		if (!e->usable()) {
			print_message("# this processor has no %s\n", e->name);
			continue;
		}
		usable++;
		for (size_t len = CRC_MASKED_MIN; len < 700; len++)
			check_masked(e, len);
		for (int i = 0; i < ROUNDS; i++)
			check_masked(e, CRC_MASKED + random_next() % (LEN_MAX - CRC_MASKED));
	}
	assert_true(usable >= 1);
}

/* In pieces as at once. */
TEST(pieces)
{
	uint8_t *p = random_bytes(0, LEN_MAX);
	uint32_t all = crc32_of(0, p, LEN_MAX);

	for (int i = 0; i < 300; i++) {
		size_t at = random_next() % LEN_MAX;

		assert_int_equal(crc32_run(crc32_run(0, p, at), p + at, LEN_MAX - at), all);
	}
	free(p);
}

/* The check value of CRC-32 in published lists. */
TEST(known)
{
	assert_int_equal(crc32_run(0, (const uint8_t *)"123456789", 9), 0xcbf43926);
}
