/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads a support bundle back: one archive with what a support engineer needs (src/bundle/). */
#ifndef RDMADUMP_BUNDLE_H
#define RDMADUMP_BUNDLE_H

#include <jansson.h>
#include <limits.h>
#include <rdmadump/error.h>
#include <sys/types.h>

#define RD_MANIFEST	    "manifest.json" /* the member that lists the others */
#define RD_MANIFEST_VERSION 2

enum rd_bundle_want {
	RD_BUNDLE_TREE,
	RD_BUNDLE_CAPTURES,
};

struct rd_bundle {
	char directory[PATH_MAX]; /* private and temporary; removed when this process ends */
	char sysroot[PATH_MAX];	  /* for rd_devices_load() */
	char **captures;	  /* paths of captures, in the manifest's order */
	unsigned int n_captures;
	json_t *manifest;
	int guard; /* when it is closed, the guard process removes the directory */
	pid_t guard_pid;
};

/*
 * Unpacks a bundle's sysfs tree or its captures into a temporary directory below $TMPDIR. The
 * archive is not trusted: only members that its manifest names, with their size and SHA-256,
 * bounded in number and size, nothing outside of the directory. -1 with RD_CLASS_DEVICE; nothing is
 * left then. rd_bundle_close() after success. Starts a process: call it before any thread is
 * started.
 */
int rd_bundle_open(
	struct rd_bundle *b, const char *path, enum rd_bundle_want want, struct rd_error *err);
/* Removes the directory. */
void rd_bundle_close(struct rd_bundle *b);

#endif
