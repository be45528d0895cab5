/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where frames go: chunks of already encoded records, filled by the engine, written by a thread of
 * their own. Chunks are the only memory between the two; when none is free the engine decides.
 */
#ifndef RDMADUMP_SINK_H
#define RDMADUMP_SINK_H

#include <rdmadump/format.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RD_IFACES_MAX 16

/* Frames of one interface since the start of the capture. */
struct rd_tally {
	uint64_t delivered; /* handed to us by the source = encoded + filtered + dropped */
	uint64_t encoded;   /* put into a chunk */
	uint64_t filtered;
	uint64_t dropped; /* no chunk was free */
};

struct rd_chunk {
	uint8_t *data;
	size_t used, room;
	unsigned int frames;
	struct rd_tally tally[RD_IFACES_MAX]; /* as of the end of this chunk */
};

struct rd_sink_config {
	const char *path; /* "-" is stdout */
	const struct rd_encoder *encoder;
	size_t buffer;	    /* bytes of all chunks together */
	uint32_t max_frame; /* longest frame that must fit */
};

/* What has reached the file. */
struct rd_sink_stats {
	uint64_t written;    /* frames */
	uint64_t unwritten;  /* frames that were encoded and could not be written */
	uint64_t file_bytes; /* headers included */
};

struct rd_sink;

/*
 * Creates the file (mode 0600), writes its header and starts the writer. Fails with
 * RD_CLASS_OUTPUT. The configuration's strings and encoder must outlive the sink.
 */
int rd_sink_open(struct rd_sink **sink, const struct rd_sink_config *config, struct rd_error *err);
/* A free chunk, empty; NULL when the writer has them all. */
struct rd_chunk *rd_sink_get(struct rd_sink *sink);
/* Hands a chunk to the writer; an empty one goes back unwritten. */
void rd_sink_put(struct rd_sink *sink, struct rd_chunk *chunk);
/* Readable when a chunk became free, or writing failed, after rd_sink_await() returned true. */
int rd_sink_fd(const struct rd_sink *sink);
/* About to sleep on rd_sink_fd(): false if a chunk is free already. */
bool rd_sink_await(struct rd_sink *sink);
/* rd_sink_fd() was readable. */
void rd_sink_woke(struct rd_sink *sink);
/* True once writing has failed: nothing more will be written. */
bool rd_sink_failed(const struct rd_sink *sink);
/* At any time, from the engine's thread. */
void rd_sink_stats(const struct rd_sink *sink, struct rd_sink_stats *stats);

/* Asked by the writer when all frames are written, before the file is closed. */
struct rd_sink_ending {
	/* Fills stats[] for the trailer and changes encoder->section's comment for the header. */
	void (*fill)(void *ctx, const struct rd_sink_stats *written, struct rd_iface_stats *stats);
	void *ctx;
};

/*
 * Writes what is queued, the trailer, and the header's final comment, and closes the file. Returns
 * -1 with the first error of the writer (stats are filled in any case). *quiet is set when that
 * error is only a reader that closed its end of a pipe. The sink is gone after it.
 */
int rd_sink_close(struct rd_sink *sink, const struct rd_sink_ending *ending,
	struct rd_sink_stats *stats, bool *quiet, struct rd_error *err);

#endif
