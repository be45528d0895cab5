/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CRC-32 by the ARMv8 instruction with the same polynomial. */
#include "crc.h"

#if defined(__aarch64__)
#include <rdmadump/bytes.h>
#include <sys/auxv.h>

#define HAS_CRC32 (1UL << 7) /* HWCAP_CRC32 of asm/hwcap.h */

bool crc_arm_usable(void)
{
	return getauxval(AT_HWCAP) & HAS_CRC32;
}

/* In assembler: the compiler's builtins would require the whole file to be built for this CPU. */
static inline uint32_t step64(uint32_t crc, uint64_t v)
{
	__asm__(".arch_extension crc\n\tcrc32x %w0, %w0, %x1" : "+r"(crc) : "r"(v));
	return crc;
}

static inline uint32_t step8(uint32_t crc, uint8_t v)
{
	__asm__(".arch_extension crc\n\tcrc32b %w0, %w0, %w1" : "+r"(crc) : "r"(v));
	return crc;
}

uint32_t crc_arm_masked(const uint8_t *p, size_t len, const uint8_t *mask)
{
	size_t n = len < CRC_MASKED ? CRC_MASKED_MIN : CRC_MASKED;
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < n; i += 8)
		crc = step64(crc, rd_le64(p + i) | rd_le64(mask + i));
	for (p += n, len -= n; len >= 8; len -= 8, p += 8)
		crc = step64(crc, rd_le64(p));
	for (; len; len--)
		crc = step8(crc, *p++);
	return ~crc;
}
#endif
