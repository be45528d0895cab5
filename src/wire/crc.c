/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* CRC-32 of Ethernet and the 16-bit CRC of IBTA volume 1, 7.8, both eight bytes at a time. */
#include "crc.h"
#include <rdmadump/bytes.h>

#define SLICES	     8
#define POLYNOMIAL   0xedb88320u /* 0x04c11db7, bits reversed: the wire sends the least bit first */
#define POLYNOMIAL16 0xd008u	 /* 0x100b: x^16 + x^12 + x^3 + x + 1, reversed */

/* [k][b]: what byte b does to the checksum after k more bytes. Written once, before main(). */
static uint32_t invariant[SLICES][256];
static uint16_t variant[SLICES][256];

static uint32_t divide(uint32_t v, uint32_t polynomial)
{
	for (int bit = 0; bit < 8; bit++)
		v = v & 1 ? v >> 1 ^ polynomial : v >> 1;
	return v;
}

__attribute__((constructor)) static void fill_tables(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		invariant[0][b] = divide(b, POLYNOMIAL);
		variant[0][b] = (uint16_t)divide(b, POLYNOMIAL16);
	}
	for (int k = 1; k < SLICES; k++)
		for (int b = 0; b < 256; b++) {
			uint32_t v = invariant[k - 1][b];
			uint16_t w = variant[k - 1][b];

			invariant[k][b] = v >> 8 ^ invariant[0][v & 0xff];
			variant[k][b] = (uint16_t)(w >> 8 ^ variant[0][w & 0xff]);
		}
}

uint32_t crc_invariant(uint32_t crc, const uint8_t *p, size_t len)
{
	for (; len >= SLICES; len -= SLICES, p += SLICES) {
		uint64_t v = rd_le64(p) ^ crc;

		crc = invariant[7][v & 0xff] ^ invariant[6][v >> 8 & 0xff] ^
		      invariant[5][v >> 16 & 0xff] ^ invariant[4][v >> 24 & 0xff] ^
		      invariant[3][v >> 32 & 0xff] ^ invariant[2][v >> 40 & 0xff] ^
		      invariant[1][v >> 48 & 0xff] ^ invariant[0][v >> 56];
	}
	for (; len; len--)
		crc = crc >> 8 ^ invariant[0][(crc ^ *p++) & 0xff];
	return crc;
}

uint16_t crc_variant(uint16_t crc, const uint8_t *p, size_t len)
{
	for (; len >= SLICES; len -= SLICES, p += SLICES) {
		uint64_t v = rd_le64(p) ^ crc;

		crc = (uint16_t)(variant[7][v & 0xff] ^ variant[6][v >> 8 & 0xff] ^
				 variant[5][v >> 16 & 0xff] ^ variant[4][v >> 24 & 0xff] ^
				 variant[3][v >> 32 & 0xff] ^ variant[2][v >> 40 & 0xff] ^
				 variant[1][v >> 48 & 0xff] ^ variant[0][v >> 56]);
	}
	for (; len; len--)
		crc = (uint16_t)(crc >> 8 ^ variant[0][(crc ^ *p++) & 0xff]);
	return crc;
}
