/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Another process that captures on the same port: this program, run again. */
#ifndef RDMADUMP_SELFTEST_HOLDER_H
#define RDMADUMP_SELFTEST_HOLDER_H

#include "sniffer.h"
#include <sys/types.h>

struct holder {
	pid_t pid;
	int to, from; /* pipes; -1: closed */
	int errnum;   /* errno of the step that failed; 0: none */
};

/*
 * Starts the process and waits until it has created what it can. Returns 0, or -1 with the result
 * set to skipped or failed; holder_kill() in any case.
 */
int holder_start(struct holder *h, const struct rd_selftest *st, struct rd_probe_result *r);
/* Kills it (SIGKILL) if it is still running, and reaps it. */
void holder_kill(struct holder *h);

#endif
