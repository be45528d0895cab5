/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The support bundle: one archive with what a support engineer needs, and reading it back. One
 * table lists what it can contain (src/bundle/members.c). Nothing is printed.
 */
#ifndef RDMADUMP_BUNDLE_H
#define RDMADUMP_BUNDLE_H

#include <jansson.h>
#include <limits.h>
#include <rdmadump/device.h>
#include <rdmadump/error.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define RD_BUNDLE_FILES		 32 /* captures that can be given */
#define RD_BUNDLE_LIMIT_S	 4  /* default time limit of one command, s */
#define RD_BUNDLE_ADAPTER_S	 60 /* time limit of a tool that opens an adapter, s */
#define RD_BUNDLE_CAPTURE_MOST_S 3600

struct rd_bundle_config {
	const char
		*output; /* a path, "-": standard output, NULL: rdmadump-bundle-HOST-DATE.tar.zst */
	const struct rd_devices *devices; /* this machine's */
	const char *capture_port;	  /* "mlx5_0:1"; NULL: no capture */
	unsigned int capture_s;
	const char *const *files; /* captures to be included */
	unsigned int n_files;
	unsigned int limit_s;	/* seconds that a tool may take; all together may take about eight
				   times as long */
	unsigned int adapter_s; /* seconds that a tool that opens an adapter may take */
	bool redact;		/* replace what identifies machines and people */
	const char *map; /* where to write the map of replacements; NULL: output and ".map" */
	const volatile sig_atomic_t *stop; /* not 0: end without a bundle */
	/* Called at intervals in the caller's thread; may be NULL. `doing` is a member's name. */
	void (*progress)(void *ctx, unsigned int done, unsigned int all, const char *doing);
	void *ctx;
};

/*
 * Collects and writes the bundle; `path` is its name. The manifest is returned in *manifest, which
 * the caller frees. On failure (-1 with the error) no file is left, and *manifest is NULL.
 * No child process is left but tools that could not be ended. Starts programs; call it before any
 * thread is started.
 */
int rd_bundle_create(const struct rd_bundle_config *config, char path[PATH_MAX], json_t **manifest,
	struct rd_error *err);
/* The planned content of a bundle, as a manifest without sizes. NULL: out of memory. */
json_t *rd_bundle_plan(const struct rd_bundle_config *config);

/*
 * Writes one part of a bundle to `fd`: what this program reads by itself, in a process of its own,
 * so that a read that hangs can be ended. Notes go to the log. -1 with RD_CLASS_USAGE for an
 * unknown name.
 */
int rd_bundle_part(const char *name, int fd, struct rd_error *err);

#define RD_MANIFEST	    "manifest.json" /* the member that lists the others */
#define RD_MANIFEST_VERSION 2

/* --- reading it back ---------------------------------------------------------------------- */

enum rd_bundle_want {
	RD_BUNDLE_TREE,
	RD_BUNDLE_CAPTURES,
	RD_BUNDLE_REPORTS /* output of programs about the machine: text and JSON */
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
 * Unpacks a bundle's sysfs tree, its captures, or its reports, into a temporary directory below
 * $TMPDIR. The archive is not trusted: only members that its manifest names, with their size and
 * SHA-256, bounded in number and size, nothing outside of the directory. -1 with RD_CLASS_DEVICE;
 * nothing is left then. rd_bundle_close() after success. Starts a process: call it before any
 * thread is started.
 */
int rd_bundle_open(
	struct rd_bundle *b, const char *path, enum rd_bundle_want want, struct rd_error *err);
/* Removes the directory. */
void rd_bundle_close(struct rd_bundle *b);

/*
 * The differences between two bundles, usually of one machine before and after a change: versions,
 * firmware, module parameters, settings, links, counters, findings. Neither is trusted. *changes is
 * freed by the caller; docs/schema/bundle-compare.json describes it. -1 with RD_CLASS_DEVICE if one
 * cannot be read. Starts processes: call it before any thread is started.
 */
int rd_bundle_compare(
	const char *old_path, const char *new_path, json_t **changes, struct rd_error *err);

#endif
