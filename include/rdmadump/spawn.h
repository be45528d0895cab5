/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs commands given by the user for a file. */
#pragma once

#include <rdmadump/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Descriptors that a command gets; 0: none. */
struct rd_spawn {
	int in;		/* its standard input; else /dev/null */
	int out;	/* its standard output; else that of this process */
	int file;	/* its descriptor 3: RD_SPAWN_FILE */
	bool own_group; /* Ctrl-C on the terminal does not reach it */
};

#define RD_SPAWN_FILE "/proc/self/fd/3" /* path of `file` in the process */

/*
 * Starts argv[0], found by PATH. It inherits standard error and what `how` names; no other
 * descriptor and no blocked signal. Returns 0 or an errno. The caller waits for the process.
 */
int rd_spawn(pid_t *pid, char *const argv[], const struct rd_spawn *how);

/* Whether rd_spawn() would find it; `option` named it. */
int rd_spawn_check(const char *option, const char *command, struct rd_error *err);

/*
 * In a process that was forked for a part of the work: standard input and output become /dev/null,
 * and all others but standard error and keep[] are closed; -1 in keep[] is ignored.
 */
void rd_descriptors_keep(const int *keep, size_t n);
