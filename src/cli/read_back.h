/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --bundle of the commands that read devices: a bundle's sysfs tree in place of --sysroot. */
#ifndef RDMADUMP_CLI_BUNDLE_READ_BACK_H
#define RDMADUMP_CLI_BUNDLE_READ_BACK_H

#include "cli/command.h"
#include <rdmadump/bundle.h>
#include <stdbool.h>

/* Where `list`, `info` and `counters` find their tree. */
struct tree_settings {
	const char *sysroot; /* "": this machine */
	const char *bundle;  /* NULL: none */
};

/* The rows of both options, of settings with a `tree`. */
#define TREE_OPTIONS(help)                                                                         \
	{"sysroot", 0, "DIR", "Read the copied sysfs tree DIR/sys" help, STRING(tree.sysroot)},    \
	{                                                                                          \
		"bundle", 0, "FILE", "Read sysfs from a bundle (rdmadump-bundle(1))",              \
			STRING(tree.bundle)                                                        \
	}

/*
 * Runs it with the rights of the user who called sudo: links in a tree that is not root's may lead
 * to any file. Returns its result, or -1.
 */
int run_as_caller(int (*run)(void *ctx, struct rd_error *err), void *ctx, struct rd_error *err);

/*
 * Unpacks the bundle, if there is one, runs the command with its tree as sysroot, and removes it.
 * Returns the exit status.
 */
int bundle_read_back(struct tree_settings *tree, int (*run)(void *settings, struct rd_error *err),
	void *settings);

#endif
