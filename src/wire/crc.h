/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The two checksums of InfiniBand packets, over bytes as they come, by the fastest means that the
 * processor has.
 */
#ifndef RDMADUMP_WIRE_CRC_H
#define RDMADUMP_WIRE_CRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRC_SLICES 8
#define CRC_MASKED 64 /* bytes that a masked run begins with */

/*
 * A checksum of up to 32 bits, least bit first: the polynomial, what a byte does to the checksum
 * after k more bytes, and powers of x modulo the polynomial for carry-less multiplication.
 */
struct crc {
	uint32_t polynomial;
	uint32_t table[CRC_SLICES][256];
	/* Two for each distance that a fold goes: over 128, 256, 384, 512 and 2048 bits. */
	uint64_t fold128[2], fold256[2], fold384[2], fold512[2], fold2048[2];
	uint64_t fold64;	    /* from 96 bits to 64 */
	uint64_t divisor, quotient; /* polynomial with its 33rd bit; x^64 divided by it */
};

/*
 * One implementation. plain(): over any number of bytes. masked(): over CRC_MASKED bytes and
 * more, of which the bits that are set in the first CRC_MASKED bytes of mask count as ones.
 */
struct crc_engine {
	const char *name;
	bool (*usable)(void);
	uint32_t (*plain)(const struct crc *c, uint32_t crc, const uint8_t *p, size_t len);
	uint32_t (*masked)(const struct crc *c, uint32_t crc, const uint8_t *p, size_t len,
		const uint8_t *mask);
};

enum crc_kind { CRC_INVARIANT, CRC_VARIANT, CRC_KINDS };

const struct crc *crc_of(enum crc_kind kind);
/* Slowest first, ended by a row without a name; the last usable one is taken. */
extern const struct crc_engine crc_engines[];

/*
 * Start with all ones (16 or 32), complement at the end; the result goes on the wire least byte
 * first.
 */
uint32_t crc_run(enum crc_kind kind, uint32_t crc, const uint8_t *p, size_t len);
uint32_t crc_run_masked(
	enum crc_kind kind, uint32_t crc, const uint8_t *p, size_t len, const uint8_t *mask);

/* The rows of the table that belong to one kind of processor (crc_x86.c, crc_arm.c). */
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
