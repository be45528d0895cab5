/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The writer of a sink that retains frames: files with the frames around triggers. */
#ifndef RDMADUMP_SINK_RETAINED_H
#define RDMADUMP_SINK_RETAINED_H

#include "held.h"
#include "series.h"
#include "windows.h"
#include <rdmadump/error.h>

struct rd_sink;

struct retained {
	struct windows windows;
	struct held held;
	struct window window;	   /* window of the current file */
	struct rd_dump dump;	   /* the same for callers */
	uint64_t bytes_before;	   /* bytes of the previous files */
	uint64_t requested_ns;	   /* monotonic time of the last request to the lane */
	struct series_found found; /* files that existed before this sink */
	unsigned int files;	   /* files that this sink wrote */
	bool dumping;		   /* a file is open */
	bool failed;		   /* ... and cannot be written */
	bool any_failed;	   /* the newest error is `error` */
	struct rd_error error;
	bool locked;
};

/* After the feeds were made. -1 with RD_CLASS_OUTPUT; call retained_fini() in both cases. */
int retained_init(struct rd_sink *s, struct rd_error *err);
void retained_fini(struct rd_sink *s);
/* Called once the series is known: existing files of it count towards the limits. */
void retained_find(struct rd_sink *s);
/* The writer thread of such a sink; runs until s->closing. */
void *retained_run(void *sink);

#endif
