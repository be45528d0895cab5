/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lists the files that the readers of devices read, for a copy that `--sysroot` can use. Names,
 * links and directories are as the kernel has them.
 */
#pragma once

#include <rdmadump/device.h>

#define RD_TREE_ITEMS 100000 /* more are left out */

enum rd_tree_kind {
	RD_TREE_FILE,
	RD_TREE_DIRECTORY,
	RD_TREE_LINK,
	RD_TREE_UNREADABLE, /* a file that this user may not read */
	RD_TREE_CUT,	    /* the last item: there are more than RD_TREE_ITEMS */
};

struct rd_tree_item {
	enum rd_tree_kind kind;
	const char *path; /* below the root: "sys/class/net/eth0/mtu" */
	const char *bytes;
	size_t n; /* the content of a file, the target of a link, terminated by NUL */
};

/* A result other than 0 ends the walk. */
typedef int rd_tree_fn(void *ctx, const struct rd_tree_item *item);

/*
 * Calls `fn` once for each file, link and named directory that readers of these devices use, below
 * the root where `devices` were read. Files that are absent or that the kernel refuses to read
 * (EIO, EINVAL) are left out. Returns 0, what `fn` returned, or -1 out of memory.
 */
int rd_tree_walk(const struct rd_devices *devices, rd_tree_fn *fn, void *ctx);
