/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The two checksums of InfiniBand packets, computed by the fastest implementation that the
 * processor supports.
 */
#ifndef RDMADUMP_WIRE_CRC_H
#define RDMADUMP_WIRE_CRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRC_SLICES 8
#define CRC_MASKED 64 /* bytes at the start that a mask has */
/* Minimum length of a masked run; in one shorter than CRC_MASKED, only this many bytes are masked.
 */
#define CRC_MASKED_MIN 48

/*
 * A checksum of up to 32 bits, least significant bit first. Has the polynomial, for each byte its
 * effect on the checksum after k more bytes, and powers of x modulo the polynomial for carry-less
 * multiplication.
 */
struct crc {
	uint32_t polynomial;
	uint32_t table[CRC_SLICES][256];
	/* Two powers for each distance of a fold: 128, 256, 384, 512 and 2048 bits. */
	uint64_t fold128[2], fold256[2], fold384[2], fold512[2], fold2048[2];
	uint64_t fold64;	    /* from 96 bits to 64 */
	uint64_t divisor, quotient; /* polynomial with its 33rd bit; x^64 divided by it */
};

/*
 * One implementation. plain(): over any number of bytes. masked(): over at least CRC_MASKED_MIN
 * bytes; bits that are set in the CRC_MASKED bytes of mask count as ones in the first bytes of p.
 */
struct crc_engine {
	const char *name;
	bool (*usable)(void);
	uint32_t (*plain)(const struct crc *c, uint32_t crc, const uint8_t *p, size_t len);
	uint32_t (*masked)(const struct crc *c, uint32_t crc, const uint8_t *p, size_t len,
		const uint8_t *mask);
};

enum crc_kind { CRC_INVARIANT, CRC_VARIANT, CRC_KINDS };

/* Slowest first, ended by a row without a name; the last usable one is chosen. */
extern const struct crc_engine crc_engines[];

/* Both are set before main(), and do not change after that. */
extern const struct crc_engine *crc_engine;
extern struct crc crc_kinds[CRC_KINDS];

static inline const struct crc *crc_of(enum crc_kind kind)
{
	return &crc_kinds[kind];
}

/*
 * Start with all ones (16 or 32) and complement the result, which is sent least significant byte
 * first.
 */
static inline uint32_t crc_run(enum crc_kind kind, uint32_t crc, const uint8_t *p, size_t len)
{
	return crc_engine->plain(crc_of(kind), crc, p, len);
}

/* How many of `len` bytes a masked run masks. */
static inline size_t crc_masked_of(size_t len)
{
	return len < CRC_MASKED ? CRC_MASKED_MIN : CRC_MASKED;
}

static inline uint32_t crc_run_masked(
	enum crc_kind kind, uint32_t crc, const uint8_t *p, size_t len, const uint8_t *mask)
{
	return crc_engine->masked(crc_of(kind), crc, p, len, mask);
}

/* Whether an Ethernet frame ends with its FCS, which has the polynomial of the ICRC (IEEE 802.3).
 */
bool crc_is_fcs(const uint8_t *frame, size_t len);

/* The rows of the table that only one processor architecture has (crc_x86.c, crc_arm.c). */
#if defined(__x86_64__)
bool crc_clmul_usable(void);
uint32_t crc_clmul_plain(const struct crc *c, uint32_t crc, const uint8_t *p, size_t len);
uint32_t crc_clmul_masked(
	const struct crc *c, uint32_t crc, const uint8_t *p, size_t len, const uint8_t *mask);
bool crc_vclmul_usable(void);
uint32_t crc_vclmul_plain(const struct crc *c, uint32_t crc, const uint8_t *p, size_t len);
uint32_t crc_vclmul_masked(
	const struct crc *c, uint32_t crc, const uint8_t *p, size_t len, const uint8_t *mask);
#elif defined(__aarch64__)
bool crc_arm_usable(void);
uint32_t crc_arm_plain(const struct crc *c, uint32_t crc, const uint8_t *p, size_t len);
uint32_t crc_arm_masked(
	const struct crc *c, uint32_t crc, const uint8_t *p, size_t len, const uint8_t *mask);
#endif

uint32_t crc_table_plain(const struct crc *c, uint32_t crc, const uint8_t *p, size_t len);
uint32_t crc_table_masked(
	const struct crc *c, uint32_t crc, const uint8_t *p, size_t len, const uint8_t *mask);

#endif
