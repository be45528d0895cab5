/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands that the user names, run for a file. */
#ifndef RDMADUMP_SPAWN_H
#define RDMADUMP_SPAWN_H

#include <sys/types.h>

/*
 * Starts argv[0], found by PATH. It inherits standard error and, if out is -1, standard output;
 * else its standard output is the descriptor `out`. No other descriptor and no blocked signal is
 * inherited. Returns 0 or an errno. The caller waits for the process.
 */
int rd_spawn(pid_t *pid, char *const argv[], int out);

#endif
