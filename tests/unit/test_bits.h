/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checksums in the simplest form, and random bytes; with and without cmocka. */
#pragma once

/* IBTA volume 1, 7.8, bits reversed; the first one is Ethernet's, too. */
#define CRC32_POLYNOMIAL 0xedb88320
#define CRC16_POLYNOMIAL 0xd008

static inline uint32_t bit_by_bit(uint32_t polynomial, uint32_t crc, const uint8_t *p, size_t len)
{
	for (; len; len--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ polynomial : crc >> 1;
	}
	return crc;
}

/* Of all bytes; `crc`: that of what is before them, or 0. */
static inline uint32_t crc32_of(uint32_t crc, const uint8_t *p, size_t len)
{
	return ~bit_by_bit(CRC32_POLYNOMIAL, ~crc, p, len);
}

/* The same numbers in each run, so that a failure is reproducible. */
static inline uint32_t random_next(void)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)(x >> 16);
}

static inline void random_fill(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)random_next();
}
