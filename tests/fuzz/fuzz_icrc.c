/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Fuzzes the checksums: any bytes as a packet of any link type. */
#include <rdmadump/wire.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t computed16, stored16;
	uint32_t computed, stored;

	rd_icrc(RD_LINK_ETHERNET, data, size, &computed, &stored);
	rd_icrc(RD_LINK_INFINIBAND, data, size, &computed, &stored);
	rd_vcrc(data, size, &computed16, &stored16);
	return 0;
}
