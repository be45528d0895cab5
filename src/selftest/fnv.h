/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* FNV-1a, 64 bits: the same in every run, unlike rd_hash. For comparisons, not for security. */
#ifndef RDMADUMP_SELFTEST_FNV_H
#define RDMADUMP_SELFTEST_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV_START 0xcbf29ce484222325ULL

static inline uint64_t fnv(uint64_t hash, const uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ data[i]) * 0x100000001b3ULL;
	return hash;
}

#endif
