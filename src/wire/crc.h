/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The two checksums of InfiniBand packets. That of headers and payload, which is computed for each
 * frame, uses the fastest implementation that the processor supports.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRC_MASKED     64 /* bytes at the start that a mask has */
#define CRC_MASKED_MIN 48 /* those that count for the engines if the packet has fewer than 64 */

/* CRC-32 of Ethernet; `crc`: that of the bytes before, or 0. Sent least significant byte first. */
uint32_t crc32_run(uint32_t crc, const uint8_t *p, size_t len);

/* The 16-bit CRC of a whole packet: IBTA volume 1, 7.8.2. */
uint16_t crc16_run(const uint8_t *p, size_t len);

/*
 * One implementation. masked(): the CRC-32 of at least CRC_MASKED_MIN bytes, if the bits that are
 * set in the CRC_MASKED bytes of mask are ones in the first bytes of p.
 */
struct crc_engine {
	const char *name;
	bool (*usable)(void);
	uint32_t (*masked)(const uint8_t *p, size_t len, const uint8_t *mask);
};

/* Slowest first, ended by a row without a name; the last usable one is chosen. */
extern const struct crc_engine crc_engines[];

/* Set before main(), and does not change after that. */
extern const struct crc_engine *crc_engine;

static inline uint32_t crc_masked(const uint8_t *p, size_t len, const uint8_t *mask)
{
	return crc_engine->masked(p, len, mask);
}

/* The same of any length, by tables. */
uint32_t crc_table_masked(const uint8_t *p, size_t len, const uint8_t *mask);

/* Whether an Ethernet frame ends with its FCS, which has the ICRC's polynomial (IEEE 802.3). */
bool crc_is_fcs(const uint8_t *frame, size_t len);

/* The rows of the table that only one processor architecture has (crc_x86.c, crc_arm.c). */
#if defined(__x86_64__)
bool crc_clmul_usable(void);
uint32_t crc_clmul_masked(const uint8_t *p, size_t len, const uint8_t *mask);
bool crc_vclmul_usable(void);
uint32_t crc_vclmul_masked(const uint8_t *p, size_t len, const uint8_t *mask);
#elif defined(__aarch64__)
bool crc_arm_usable(void);
uint32_t crc_arm_masked(const uint8_t *p, size_t len, const uint8_t *mask);
#endif
