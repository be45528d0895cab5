/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The chunks of a sink that retains frames: a ring of full chunks. The oldest one is returned when
 * the lane needs it or when its frames are too old for any trigger.
 */
#ifndef RDMADUMP_SINK_RETAINED_H
#define RDMADUMP_SINK_RETAINED_H

#include "series.h"
#include "windows.h"
#include <rdmadump/error.h>

struct rd_sink;

struct retained {
	struct windows windows;
	struct rd_chunk **chunk; /* ring of `room` entries */
	size_t room, first, n;
	size_t most; /* chunks retained at most: the others are for the lane */
	/* Of the oldest chunk: what is written or has expired already. */
	size_t at;
	unsigned int taken;
	uint64_t at_ns;		   /* order of the record before `at` */
	uint64_t missing_ns;	   /* newest frame that left memory for lack of room */
	struct window window;	   /* of the file that is being written */
	struct rd_dump dump;	   /* the same for callers */
	uint64_t bytes_before;	   /* of the files before */
	uint64_t requested_ns;	   /* monotonic time of the last request to the lane */
	struct series_found found; /* before this sink */
	unsigned int files;	   /* that it left there */
	bool dumping;		   /* a file is open */
	bool failed;		   /* ... and cannot be written */
	bool any_failed;	   /* the newest error is `error` */
	struct rd_error error;
	bool locked;
};

/* After the feeds were made. -1 with RD_CLASS_OUTPUT; call retained_fini() in both cases. */
int retained_init(struct rd_sink *s, struct rd_error *err);
void retained_fini(struct rd_sink *s);
/* Once the series is known: its files that are there already count for the limits. */
void retained_find(struct rd_sink *s);
/* The writer's thread of such a sink, until s->closing. */
void *retained_run(void *sink);

#endif
