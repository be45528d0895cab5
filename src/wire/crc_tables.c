/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CRC-32 of Ethernet and the 16-bit CRC of IBTA volume 1, 7.8, by tables, eight bytes at a time.
 * The 16-bit one is computed as a 32-bit one whose polynomial is that of 7.8.2 times x^16: the
 * lower half is the result.
 */
#include "crc.h"
#include <rdmadump/bytes.h>

#define SLICES 8

/* For each byte, its effect on the checksum after k more bytes; written once, before main(). */
typedef uint32_t table[SLICES][256];

static table crc32, crc16;

static void fill(table t, uint32_t polynomial)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t v = b;

		for (int bit = 0; bit < 8; bit++)
			v = v & 1 ? v >> 1 ^ polynomial : v >> 1;
		t[0][b] = v;
	}
	for (int k = 1; k < SLICES; k++)
		for (int b = 0; b < 256; b++) {
			uint32_t v = t[k - 1][b];

			t[k][b] = v >> 8 ^ t[0][v & 0xff];
		}
}

/* Polynomials with their bits reversed: the least significant bit is sent first. */
__attribute__((constructor)) static void fill_all(void)
{
	fill(crc32, 0xedb88320); /* 0x04c11db7 */
	fill(crc16, 0xd008);	 /* 0x100b: x^16 + x^12 + x^3 + x + 1 */
}

static inline uint32_t by_table(const table t, uint32_t crc, const uint8_t *p, size_t len)
{
	for (; len >= SLICES; len -= SLICES, p += SLICES) {
		uint64_t v = rd_le64(p) ^ crc;

		crc = t[7][v & 0xff] ^ t[6][v >> 8 & 0xff] ^ t[5][v >> 16 & 0xff] ^
		      t[4][v >> 24 & 0xff] ^ t[3][v >> 32 & 0xff] ^ t[2][v >> 40 & 0xff] ^
		      t[1][v >> 48 & 0xff] ^ t[0][v >> 56];
	}
	for (; len; len--)
		crc = crc >> 8 ^ t[0][(crc ^ *p++) & 0xff];
	return crc;
}

uint32_t crc32_run(uint32_t crc, const uint8_t *p, size_t len)
{
	return ~by_table(crc32, ~crc, p, len);
}

uint16_t crc16_run(const uint8_t *p, size_t len)
{
	return (uint16_t)~by_table(crc16, UINT16_MAX, p, len);
}

uint32_t crc_table_masked(const uint8_t *p, size_t len, const uint8_t *mask)
{
	uint8_t first[CRC_MASKED];
	size_t n = len < CRC_MASKED ? len : CRC_MASKED;

	for (size_t i = 0; i < n; i++)
		first[i] = p[i] | mask[i];
	return crc32_run(crc32_run(0, first, n), p + n, len - n);
}

bool crc_is_fcs(const uint8_t *frame, size_t len)
{
	return len > 4 && crc32_run(0, frame, len - 4) == rd_le32(frame + len - 4);
}
