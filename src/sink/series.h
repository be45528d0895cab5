/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The names of a series of files, the ring that keeps the newest, the command run on each. */
#ifndef RDMADUMP_SINK_SERIES_H
#define RDMADUMP_SINK_SERIES_H

#include <rdmadump/sink.h>

struct series {
	const struct rd_rotation *rotation;
	const char *base;
	bool many;	      /* there can be more than one file */
	unsigned int number;  /* of the current file, from 1 */
	unsigned int within;  /* of the current file within its time slice, from 0 */
	char *path;	      /* of the current file */
	char **kept;	      /* ring of paths, the oldest one is removed */
	unsigned int running; /* commands that have not been waited for */
};

int series_init(struct series *s, const char *path, const struct rd_rotation *rotation,
	struct rd_error *err);
void series_fini(struct series *s);

/* The next file's path, in s->path. timed: a time slice has ended. Removes what the ring drops. */
int series_next(struct series *s, bool timed, struct rd_error *err);
/* The current file is closed: prints its name (printname) and starts the command on it. */
void series_closed(struct series *s);
/* Waits for the commands. */
void series_wait(struct series *s);

#endif
