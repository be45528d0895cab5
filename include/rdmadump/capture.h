/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The engine: moves frames from sources through the chunks of a sink, and accounts for every one.
 */
#ifndef RDMADUMP_CAPTURE_H
#define RDMADUMP_CAPTURE_H

#include <rdmadump/sink.h>
#include <rdmadump/source.h>

/* A file descriptor that the engine watches for its caller: signals, timers. */
struct rd_watch {
	int fd;
	/* Called when fd is readable; returns true to end the capture. */
	bool (*ready)(void *ctx, int fd);
	void *ctx;
};

enum rd_when_full {
	RD_FULL_DROP, /* drop the newest frames and count them */
	RD_FULL_WAIT, /* stop receiving: the source waits or the device drops */
};

struct rd_capture_config {
	struct rd_source *const *sources;
	unsigned int n_sources;
	const struct rd_encoder *encoder;
	struct rd_sink *sink;
	const struct rd_watch *watches;
	unsigned int n_watches;
	uint64_t max_frames; /* stop after so many; 0: no limit */
	enum rd_when_full when_full;
	uint64_t flush_ns; /* a frame waits at most so long for its chunk to be written */
};

enum rd_end {
	RD_END_WATCH,  /* a watch said so: signal, timer */
	RD_END_COUNT,  /* max_frames */
	RD_END_SOURCE, /* the sources have nothing more */
	RD_END_FAULT,  /* a source failed: see the error */
	RD_END_OUTPUT, /* the sink failed */
};

struct rd_capture {
	struct rd_tally tally[RD_IFACES_MAX]; /* per source */
	uint64_t bytes;			      /* of the frames delivered, on the wire */
	uint64_t start_ns, end_ns;	      /* Unix epoch */
	enum rd_end end;
};

/*
 * Runs until one of the ends; sources are started and stopped (not closed), what is encoded is
 * handed to the sink. `c` is zeroed by the caller and can be read by its watches at any time.
 * Returns 0, or -1 with the fault that ended it (RD_CLASS_PARTIAL once frames have been captured).
 */
int rd_capture_run(
	struct rd_capture *c, const struct rd_capture_config *config, struct rd_error *err);

/* Sum over the sources. */
struct rd_tally rd_capture_total(const struct rd_capture *c);

#endif
