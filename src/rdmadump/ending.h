/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Signals of a capture and of a recording, which end it, and end what it waits for after that. */
#pragma once

#include "cli/cli.h"
#include <rdmadump/session.h>

/* The run of a command begins with it, and is the context of the functions below. */
struct ending {
	/* What is different for each command. `ended`: there are no more frames. */
	void (*requested)(void *run, int number, bool ended); /* SIGUSR1, SIGUSR2 */
	const char *waits[2]; /* for the output, for commands: said before it ends without them */
	/* Data that the output has not accepted counts as not written: prints that. */
	void (*abandon)(void *run);

	struct rd_watch watches[2]; /* of the session: signals; a timer */
	sigset_t signals;	    /* that are blocked and waited for */
	atomic_int signal;	    /* the one that ended it; 0: none */
	bool announced[2];	    /* of `waits` */
	bool settling;		    /* waiting for the loss counters */
	bool asked;		    /* by a signal after the end */
	struct gateway_wait gateway;
};

/* Blocks the signals until the process ends, so that the report is always printed. */
void ending_block(struct ending *e);
/* Sets the callbacks and the watches of a session. */
void ending_configure(struct ending *e, struct rd_session_config *c);
/*
 * Opens what is watched. `tick` is called each second with the run, if standard error is a
 * terminal; NULL: never.
 */
void ending_open(struct ending *e, bool (*tick)(void *run, int fd));
void ending_close(struct ending *e);
/* Callbacks of rd_session_config. The first one does not return when an output is abandoned. */
bool ending_while_waiting(void *run, bool commands);
void ending_while_fifo_waits(void *run);
