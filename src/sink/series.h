/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The names of a series of files, the ring that keeps the newest, the command run on each. */
#ifndef RDMADUMP_SINK_SERIES_H
#define RDMADUMP_SINK_SERIES_H

#include <rdmadump/sink.h>
#include <time.h>

struct series {
	const struct rd_rotation *rotation;
	const struct rd_inputs *inputs; /* no file of the series may be one; may be NULL */
	const char *base;
	bool many;	      /* there can be more than one file */
	unsigned int number;  /* of the current file, from 1 */
	unsigned int within;  /* of the current file among those of the same stem, from 0 */
	time_t begun;	      /* when the current file was named */
	char *path;	      /* of the current file */
	char *stem;	      /* its name without the number */
	char **kept;	      /* ring of paths, the oldest one is removed */
	unsigned int running; /* commands that have not been waited for */
};

int series_init(struct series *s, const struct rd_sink_config *config, struct rd_error *err);
void series_fini(struct series *s);

/*
 * The next file's path, in s->path; never that of the file before it, unless the ring says so.
 * first_ns: timestamp of its first frame, 0 if not known yet. Removes what the ring drops.
 */
int series_next(struct series *s, uint64_t first_ns, struct rd_error *err);
/* The first frame of the first file: if it is older than the file, its time names the file. */
int series_first_frame(struct series *s, uint64_t first_ns, struct rd_error *err);
/* The current file is closed: prints its name (printname) and starts the command on it. */
void series_closed(struct series *s);
/* Waits for the commands, as long as the ending's waiting() says so. */
void series_wait(struct series *s, const struct rd_sink_ending *ending);

#endif
