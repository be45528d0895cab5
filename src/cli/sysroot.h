/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --sysroot of the commands that read devices. */
#ifndef RDMADUMP_CLI_SYSROOT_H
#define RDMADUMP_CLI_SYSROOT_H

#include <rdmadump/error.h>

/* The row of the option, of settings with a `sysroot`: "" is this machine. */
#define SYSROOT_OPTION(help)                                                                       \
	{                                                                                          \
		"sysroot", 0, "DIR", "Read the copied sysfs tree DIR/sys" help, STRING(sysroot)    \
	}

/*
 * Runs it with the rights of the user who called sudo: links in a tree that is not root's may lead
 * to any file. Returns its result, or -1.
 */
int run_as_caller(int (*run)(void *ctx, struct rd_error *err), void *ctx, struct rd_error *err);

/* Runs a command, as the caller of sudo if it reads a copied tree. Returns the exit status. */
int run_on_tree(
	const char *sysroot, int (*run)(void *settings, struct rd_error *err), void *settings);

#endif
