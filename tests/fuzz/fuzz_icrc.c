/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes the checksums: any bytes as a packet of any link type, and through every way of computing
 * that the processor has, which must agree.
 */
#include "fuzz.h"
#include "wire/crc.h"
#include <rdmadump/wire.h>

static void compare(const uint8_t *data, size_t size)
{
	const uint8_t *mask = data + size - CRC_MASKED;
	uint32_t want = crc_table_masked(data, size, mask);

	for (const struct crc_engine *e = crc_engines + 1; e->name; e++)
		if (e->usable() && e->masked(data, size, mask) != want)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t computed16, stored16;
	uint32_t computed, stored;

	rd_icrc(RD_LINK_ETHERNET, data, size, &computed, &stored);
	rd_icrc(RD_LINK_INFINIBAND, data, size, &computed, &stored);
	rd_vcrc(data, size, &computed16, &stored16);
	if (size >= CRC_MASKED)
		compare(data, size);
	return 0;
}
