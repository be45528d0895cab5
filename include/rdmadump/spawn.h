/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs commands given by the user for a file. */
#ifndef RDMADUMP_SPAWN_H
#define RDMADUMP_SPAWN_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Starts argv[0], found by PATH. It inherits standard error and, if out is -1, standard output;
 * else its standard output is the descriptor `out`. No other descriptor and no blocked signal is
 * inherited. Returns 0 or an errno. The caller waits for the process.
 */
int rd_spawn(pid_t *pid, char *const argv[], int out);

#define RD_SPAWN_FILE                                                                              \
	"/proc/self/fd/3" /* path of `file` in the process that rd_spawn_with_file() starts */
/* The same; the descriptor `file` is also inherited, as 3. */
int rd_spawn_with_file(pid_t *pid, char *const argv[], int out, int file);

/*
 * In a process that was forked for a part of the work: standard input and output become /dev/null,
 * and all others but standard error and keep[] are closed; -1 in keep[] is ignored. Sorts keep[].
 */
void rd_descriptors_keep(int *keep, size_t n);

#endif
