/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engine: moves frames from sources into the chunks of a sink, and accounts for every frame. */
#pragma once

#include <rdmadump/filter.h>
#include <rdmadump/sink.h>
#include <rdmadump/source.h>

/* A file descriptor that the engine watches for its caller: signals, timers. */
struct rd_watch {
	int fd; /* -1: none */
	/* Called when fd is readable; returns true to end the capture. */
	bool (*ready)(void *ctx, int fd);
	void *ctx;
};

enum rd_when_full {
	RD_FULL_DROP, /* drop the newest frames and count them */
	RD_FULL_WAIT, /* stop receiving: the source waits, or the device drops frames */
	RD_FULL_END,  /* end the capture */
};

struct rd_capture_config {
	struct rd_source *const *sources;
	struct rd_filter *const *filters; /* one per source; NULL or a NULL entry: all frames */
	unsigned int n_sources;
	/* First interface of each source in the encoder; NULL: in the order of the sources. */
	const unsigned int *bases;
	const struct rd_encoder *encoder;
	/*
	 * 0: the caller's thread serves all sources. Else the number of threads, to which sources
	 * are assigned round robin; only for sources that have a watermark(). cpus: the CPU of each
	 * thread, -1: any.
	 */
	unsigned int n_threads;
	const int *cpus;
	/* One per thread, at least one; NULL: frames are not written, only passed to `seen`. */
	struct rd_feed *const *feeds;
	struct rd_sink *sink;	  /* that merges the feeds of several threads; else NULL */
	const struct rd_cut *cut; /* NULL: whole frames */
	bool decap;		  /* the frame inside mirrored traffic is filtered and written */
	/* A new file for each interval of this length, by the frames' timestamps; 0: none. */
	uint64_t slice_ns;
	bool slice_aligned; /* intervals begin at multiples of slice_ns since the Unix epoch */
	const struct rd_watch *watches;
	unsigned int n_watches;
	uint64_t max_frames; /* number of frames kept after which the capture ends; 0: no limit */
	enum rd_when_full when_full;
	uint64_t flush_ns; /* longest time that a frame waits until its chunk is handed over, ns */
	/* Called in the caller's thread when all sources have started; -1 with an error ends it. */
	int (*started)(void *ctx, struct rd_error *err);
	void *started_ctx;
	/* Called with every batch of kept frames, truncated; may be NULL. Only without threads. */
	void (*seen)(void *ctx, const struct rd_source *s, const struct rd_frame *frames,
		unsigned int n);
	/*
	 * After `seen`, for the same frames: bit i is set if frame i gets a comment, which
	 * comment() then returns, valid until the next call. NULL: no frame gets one.
	 */
	uint64_t (*commented)(void *ctx, const struct rd_source *s, const struct rd_frame *frames,
		unsigned int n);
	const char *(*comment)(void *ctx, unsigned int i);
	void *seen_ctx;
};

/* Counts of the delivered frames, including filtered ones. */
struct rd_frame_account {
	uint64_t direction[RD_DIRECTIONS];
	/* Frames with a timestamp older than an earlier one of the same queue. */
	uint64_t disordered[RD_DIRECTIONS];
	uint64_t bad_time; /* RD_FRAME_BAD_TIME */
	uint64_t no_time;  /* RD_FRAME_NO_TIME */
};

enum rd_end {
	RD_END_WATCH,  /* a watch ended it: signal, timer, stop request */
	RD_END_COUNT,  /* max_frames */
	RD_END_SOURCE, /* the sources have ended */
	RD_END_FAULT,  /* a source failed: see the error */
	RD_END_OUTPUT, /* the sink failed */
	RD_END_FILES,  /* the last file is full */
	RD_END_MEMORY, /* no chunk was free (RD_FULL_END) */
};

struct lane;

struct rd_capture {
	/* Final after the run; during it use rd_capture_total() and rd_capture_bytes(). */
	struct rd_tally tally[RD_IFACES_MAX]; /* per interface of the encoder */
	uint64_t bytes;			      /* bytes on the wire of the delivered frames */
	struct rd_frame_account account;
	uint64_t start_ns, end_ns; /* Unix epoch */
	enum rd_end end;
	bool rotate;		  /* set by a watch: the next frame starts a new file */
	const struct lane *lanes; /* private to the engine */
	unsigned int n_lanes;
};

/*
 * Runs until one of the ends; starts and stops the sources (but does not close them), and hands all
 * chunks to the sink. `c` is zeroed by the caller and may be read by its watches at any time.
 * Returns 0, or -1 with the fault that ended it (RD_CLASS_PARTIAL if frames were captured).
 */
int rd_capture_run(
	struct rd_capture *c, const struct rd_capture_config *config, struct rd_error *err);

/* Tally and bytes on the wire of all interfaces, so far. From any thread, as long as *c exists. */
struct rd_tally rd_capture_total(const struct rd_capture *c);
uint64_t rd_capture_bytes(const struct rd_capture *c);
