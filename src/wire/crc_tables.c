/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CRC-32 of Ethernet and the 16-bit CRC of IBTA volume 1, 7.8, by tables, eight bytes at a time.
 * The 16-bit one is computed as a 32-bit one whose polynomial is that of 7.8.2 times x^16: the
 * lower half is the result.
 */
#include "crc.h"
#include <rdmadump/bytes.h>

/* Written once, before main(). Bits are reversed: the least significant bit is sent first. */
struct crc crc_kinds[CRC_KINDS] = {
	[CRC_INVARIANT] = {.polynomial = 0xedb88320}, /* 0x04c11db7 */
	[CRC_VARIANT] = {.polynomial = 0xd008},	      /* 0x100b: x^16 + x^12 + x^3 + x + 1 */
};

/* --- tables ----------------------------------------------------------------------------- */

/* v times x^bits, modulo the polynomial. */
static uint32_t multiply_x(uint32_t v, uint32_t polynomial, unsigned int bits)
{
	for (; bits; bits--)
		v = v & 1 ? v >> 1 ^ polynomial : v >> 1;
	return v;
}

/* Reversed operands give a product that is one bit short; the shift corrects it. */
static uint64_t power(uint32_t polynomial, unsigned int bits)
{
	const uint32_t one = UINT32_C(1) << 31;

	return (uint64_t)multiply_x(one, polynomial, bits) << 1;
}

/* Factors that carry 128 bits over a distance: the lower half of a register comes first. */
static void fill_fold(uint64_t fold[2], uint32_t polynomial, unsigned int distance)
{
	fold[0] = power(polynomial, distance + 32);
	fold[1] = power(polynomial, distance - 32);
}

/* x^64 divided by x^32 + polynomial, bits reversed. */
static uint64_t divide_x64(uint32_t polynomial)
{
	uint64_t quotient = 0;
	uint32_t rest =
		1; /* x^31: the first 32 steps of the division of x^64 yield no quotient bit */

	for (int bit = 0; bit <= 32; bit++) {
		bool carry = rest & 1;

		rest >>= 1;
		if (carry) {
			rest ^= polynomial;
			quotient |= UINT64_C(1) << bit;
		}
	}
	return quotient;
}

static void fill_table(struct crc *c)
{
	for (uint32_t b = 0; b < 256; b++)
		c->table[0][b] = multiply_x(b, c->polynomial, 8);
	for (int k = 1; k < CRC_SLICES; k++)
		for (int b = 0; b < 256; b++) {
			uint32_t v = c->table[k - 1][b];

			c->table[k][b] = v >> 8 ^ c->table[0][v & 0xff];
		}
}

static void fill(struct crc *c)
{
	fill_table(c);
	fill_fold(c->fold128, c->polynomial, 128);
	fill_fold(c->fold256, c->polynomial, 256);
	fill_fold(c->fold384, c->polynomial, 384);
	fill_fold(c->fold512, c->polynomial, 512);
	fill_fold(c->fold2048, c->polynomial, 2048);
	c->fold64 = power(c->polynomial, 64);
	c->divisor = (uint64_t)c->polynomial << 1 | 1;
	c->quotient = divide_x64(c->polynomial);
}

/* Before the constructors without a priority: one of them chooses the engine. */
__attribute__((constructor(101))) static void fill_all(void)
{
	for (int i = 0; i < CRC_KINDS; i++)
		fill(&crc_kinds[i]);
}

/* --- by tables -------------------------------------------------------------------------- */

uint32_t crc_table_plain(const struct crc *c, uint32_t crc, const uint8_t *p, size_t len)
{
	for (; len >= CRC_SLICES; len -= CRC_SLICES, p += CRC_SLICES) {
		uint64_t v = rd_le64(p) ^ crc;

		crc = c->table[7][v & 0xff] ^ c->table[6][v >> 8 & 0xff] ^
		      c->table[5][v >> 16 & 0xff] ^ c->table[4][v >> 24 & 0xff] ^
		      c->table[3][v >> 32 & 0xff] ^ c->table[2][v >> 40 & 0xff] ^
		      c->table[1][v >> 48 & 0xff] ^ c->table[0][v >> 56];
	}
	if (len >= 4) {
		uint32_t v = rd_le32(p) ^ crc;

		crc = c->table[3][v & 0xff] ^ c->table[2][v >> 8 & 0xff] ^
		      c->table[1][v >> 16 & 0xff] ^ c->table[0][v >> 24];
		p += 4;
		len -= 4;
	}
	for (; len; len--)
		crc = crc >> 8 ^ c->table[0][(crc ^ *p++) & 0xff];
	return crc;
}

uint32_t crc_table_masked(
	const struct crc *c, uint32_t crc, const uint8_t *p, size_t len, const uint8_t *mask)
{
	uint8_t first[CRC_MASKED];
	size_t n = crc_masked_of(len);

	for (size_t i = 0; i < n; i++)
		first[i] = p[i] | mask[i];
	crc = crc_table_plain(c, crc, first, n);
	return crc_table_plain(c, crc, p + n, len - n);
}
