/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests that write files: in a directory of their own, which must be empty in the end. */
#pragma once

#include "test.h"
#include <sys/resource.h>

static char directory_path[] = "/tmp/rdmadump-test-XXXXXX";

static inline int directory_enter(void **state)
{
	return mkdtemp(directory_path) ? chdir(directory_path) : -1;
}

static inline int directory_leave(void **state)
{
	return chdir("..") || rmdir(directory_path);
}

/* As on a full disk: no file gets longer, until this is called with RLIM_INFINITY. */
static inline void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}
