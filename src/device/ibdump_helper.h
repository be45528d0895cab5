/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The process between the capture and ibdump: starts it, logs its messages, ends it. */
#ifndef RDMADUMP_DEVICE_IBDUMP_HELPER_H
#define RDMADUMP_DEVICE_IBDUMP_HELPER_H

#include <stdbool.h>
#include <sys/types.h>

/* A format with the process. */
#define IBDUMP_LEFT "ibdump did not end when interrupted (SIGINT), and was left running: process %d"
#define IBDUMP_LEFT_TODO                                                                           \
	"do not kill it, which can block the adapter: wait for its end, or reset the adapter"

/* How ibdump ended; sent once, as one message. */
struct ibdump_end {
	int status;	 /* from waitpid(2) */
	bool asked;	 /* it was asked to exit */
	pid_t left;	 /* it did not exit: its process; else 0 */
	int start_errno; /* errno if it could not be started; else 0 */
	char said[160];	 /* its last line; "": none */
};

struct ibdump_helper {
	char *const *argv; /* argv[0] is a path */
	int socket;	   /* any message, or end of file, requests the program to exit */
	const char *directory, *fifo; /* removed at the end */
};

/* In a forked process with all signals blocked. Returns when ibdump has ended. */
void ibdump_helper_run(const struct ibdump_helper *h);

#endif
