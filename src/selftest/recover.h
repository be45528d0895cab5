/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Puts a sniffer's queue pair in error and makes it receive again. */
#ifndef RDMADUMP_SELFTEST_RECOVER_H
#define RDMADUMP_SELFTEST_RECOVER_H

#include "sniffer.h"

struct recovery {
	char step[16]; /* the one that failed; "flow": none did */
	int errnum;    /* 0: it receives again */
	uint64_t flushed;
	uint64_t us;
};

void recover(struct sniffer *s, struct recovery *done);

#endif
