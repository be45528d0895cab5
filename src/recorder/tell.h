/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The connection to the recorder of another host. */
#ifndef RDMADUMP_RECORDER_TELL_H
#define RDMADUMP_RECORDER_TELL_H

#include <rdmadump/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TELL_NS UINT64_C(100000000) /* between two lines that prolong a file */

struct rd_recorder;
struct trigger;

/* Protected by the recorder's lock, but for what tell_init() sets. */
struct tell {
	char *host, *script; /* host NULL: none */
	char here[64];	     /* the name of this host */
	int in, out;	     /* of the process; -1: it does not run */
	pid_t child;
	unsigned int waiting; /* lines that were written and not confirmed */
	bool warned;
	uint64_t sent_ns; /* time of the last trigger that was sent */
	uint64_t due_ns;  /* monotonic clock: the next attempt to connect; UINT64_MAX: none */
};

/* `to` is HOST:/PATH, or NULL. -1 with RD_CLASS_USAGE. */
int tell_init(struct tell *t, const char *to, struct rd_error *err);
/* Connects if that is due. From the watching thread. */
void tell_keep(struct rd_recorder *r);
/* Takes confirmations, or the end of the connection. From the watching thread. */
void tell_take(struct rd_recorder *r);
/* Whether it fired here: not by a line that the recorder of another host sent. */
bool tell_is_own(const struct trigger *trigger, const char *what);
/* Called with the lock held: a trigger began or prolonged a file at this time. Never waits. */
void tell_line(struct rd_recorder *r, bool begins, uint64_t ns, const char *text);
/* Waits a second at most for confirmations, and ends the process. */
void tell_close(struct rd_recorder *r);

#endif
