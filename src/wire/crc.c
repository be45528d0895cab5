/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses the fastest implementation of the masked checksum that this processor supports. */
#include "crc.h"

const struct crc_engine *crc_engine;

static bool always(void)
{
	return true;
}

const struct crc_engine crc_engines[] = {
	{"table", always, crc_table_masked},
#if defined(__x86_64__)
	{"PCLMULQDQ", crc_clmul_usable, crc_clmul_masked},
	{"VPCLMULQDQ", crc_vclmul_usable, crc_vclmul_masked},
#elif defined(__aarch64__)
	{"CRC32", crc_arm_usable, crc_arm_masked},
#endif
	{NULL, NULL, NULL},
};

__attribute__((constructor)) static void choose(void)
{
	for (const struct crc_engine *e = crc_engines; e->name; e++)
		if (e->usable())
			crc_engine = e;
}
