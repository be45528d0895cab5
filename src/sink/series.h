/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The names of a series of files, the ring of the newest ones, and the command run on each. */
#pragma once

#include <rdmadump/sink.h>
#include <time.h>

struct series {
	const struct rd_rotation *rotation;
	const struct rd_inputs *inputs; /* files that must not be overwritten; may be NULL */
	const char *base;
	bool many;	     /* whether there can be several files */
	unsigned int number; /* number of the current file, from 1 */
	unsigned int within; /* number of the current file among those with the same stem, from 0 */
	time_t begun;	     /* when the current file was named */
	char *path;	     /* path of the current file */
	char *stem;	     /* its name without the number */
	char **kept;	     /* ring of paths, the oldest one is removed */
	pid_t *commands;     /* those that have not been waited for */
	unsigned int running; /* their number */
};

/* Existing files of the series. */
struct series_found {
	unsigned int files;
	uint64_t bytes;
};

int series_init(struct series *s, const struct rd_sink_config *config, struct rd_error *err);
void series_fini(struct series *s);
/* Before the first file: looks for files with names of this series (RD_NAMES_DUMPCAP), whose
 * numbers are then continued. A directory that cannot be read has none. */
void series_find(struct series *s, struct series_found *found);

/*
 * Sets s->path to the next file's path, which differs from the previous one unless the ring wraps.
 * first_ns: timestamp of its first frame, 0 if unknown. Removes the oldest file of a full ring.
 * Returns 0, or -1 with RD_CLASS_OUTPUT.
 */
int series_next(struct series *s, uint64_t first_ns, struct rd_error *err);
/*
 * Called with the first frame of the first file: if it is older than the file, its time is used for
 * the file's name. Returns 0, or -1 with RD_CLASS_OUTPUT or RD_CLASS_USAGE.
 */
int series_first_frame(struct series *s, uint64_t first_ns, struct rd_error *err);
/* The current file was closed: starts the command. */
void series_closed(struct series *s);
/* Waits for the commands, until the ending's waiting() returns false. */
void series_wait(struct series *s, const struct rd_sink_ending *ending);
