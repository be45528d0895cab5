/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Constants of pcapng, from draft-ietf-opsawg-pcapng. */
#pragma once

#include <stddef.h>

#define BYTE_ORDER_MAGIC 0x1a2b3c4du

#define BLOCK_SHB 0x0a0d0d0au
#define BLOCK_IDB 1u
#define BLOCK_PB  2u /* obsolete */
#define BLOCK_SPB 3u
#define BLOCK_ISB 5u
#define BLOCK_EPB 6u

/* Facts, a type for local use (top bit set). Version, length of the text, text, padding. */
#define BLOCK_FACTS   0x80524446u
#define FACTS_VERSION 1u
#define FACTS_FIXED   8 /* version and length */

enum {
	OPT_END = 0,
	OPT_COMMENT = 1,

	OPT_SHB_HARDWARE = 2,
	OPT_SHB_OS = 3,
	OPT_SHB_USERAPPL = 4,

	OPT_IF_NAME = 2,
	OPT_IF_DESCRIPTION = 3,
	OPT_IF_MACADDR = 6,
	OPT_IF_SPEED = 8,
	OPT_IF_TSRESOL = 9,
	OPT_IF_FILTER = 11,
	OPT_IF_OS = 12,
	OPT_IF_FCSLEN = 13,
	OPT_IF_TSOFFSET = 14,
	OPT_IF_HARDWARE = 15,

	OPT_EPB_FLAGS = 2,
	OPT_EPB_DROPCOUNT = 4,

	OPT_ISB_STARTTIME = 2,
	OPT_ISB_ENDTIME = 3,
	OPT_ISB_IFRECV = 4,
	OPT_ISB_IFDROP = 5,
	OPT_ISB_FILTERACCEPT = 6,
	OPT_ISB_OSDROP = 7,
	OPT_ISB_USRDELIV = 8,
};

#define EPB_FLAG_DIRECTION 0x3u /* 1 in, 2 out */
#define EPB_FLAG_FCS_SHIFT 5
#define EPB_FLAG_FCS_MASK  0xfu
#define EPB_FLAG_CRC_ERROR (1u << 24)

/* The next multiple of four. */
static inline size_t pad4(size_t n)
{
	return (n + 3) & ~(size_t)3;
}
