/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes the checksums: any bytes as a packet of any link type, and through every way of computing
 * that the processor has, which must agree.
 */
#include "fuzz.h"
#include "wire/crc.h"
#include <rdmadump/wire.h>

static void compare(enum crc_kind kind, const uint8_t *data, size_t size)
{
	const struct crc *c = crc_of(kind);
	uint32_t want = crc_engines[0].plain(c, UINT16_MAX, data, size), masked = 0;

	if (size >= CRC_MASKED)
		masked = crc_engines[0].masked(c, UINT16_MAX, data, size, data + size - CRC_MASKED);
	for (const struct crc_engine *e = crc_engines + 1; e->name; e++) {
		if (!e->usable())
			continue;
		if (e->plain(c, UINT16_MAX, data, size) != want)
			abort();
		if (size >= CRC_MASKED &&
			e->masked(c, UINT16_MAX, data, size, data + size - CRC_MASKED) != masked)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t computed16, stored16;
	uint32_t computed, stored;

	rd_icrc(RD_LINK_ETHERNET, data, size, &computed, &stored);
	rd_icrc(RD_LINK_INFINIBAND, data, size, &computed, &stored);
	rd_vcrc(data, size, &computed16, &stored16);
	compare(CRC_INVARIANT, data, size);
	compare(CRC_VARIANT, data, size);
	return 0;
}
