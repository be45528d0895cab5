/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the other programs of this installation, or of this build. */
#pragma once

#include <limits.h>
#include <rdmadump/error.h>
#include <stdbool.h>

/*
 * The path of "rdmadump" or "rdmadump-COMMAND": beside this program, in the places of a tree that
 * was moved as a whole, or where they were installed. The environment is not used: this program may
 * have privileges. -1 with RD_CLASS_DEVICE if it is in none of them.
 */
int rd_program_find(char path[PATH_MAX], const char *name, struct rd_error *err);
/*
 * The path of a program in the directories of `list`, which is like PATH; of those that are not
 * absolute only if `relative`. False: it is in none, with errno of the last one.
 */
bool rd_program_search(char path[PATH_MAX], const char *list, const char *name, bool relative);
/* Whether a file is a program that this process may execute; false with errno. */
bool rd_program_may_run(const char *path);
