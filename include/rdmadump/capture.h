/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engine: moves frames from sources through the chunks of a sink, and accounts for every one.
 */
#ifndef RDMADUMP_CAPTURE_H
#define RDMADUMP_CAPTURE_H

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
	RD_FULL_WAIT, /* stop receiving: the source waits or the device drops */
	RD_FULL_END,  /* end the capture */
};

enum rd_decap_mode {
	RD_DECAP_NONE,
	RD_DECAP_INNER, /* the frame inside mirrored traffic is filtered and written */
	RD_DECAP_OUTER, /* it is filtered, the frame around it is written */
};

struct rd_capture_config {
	struct rd_source *const *sources;
	struct rd_filter *const *filters; /* one per source; NULL or a NULL entry: all frames */
	unsigned int n_sources;
	/* First interface of each source in the encoder; NULL: one source's follow another's. */
	const unsigned int *bases;
	const struct rd_encoder *encoder;
	/*
	 * 0: the caller's thread serves all sources. Else so many threads, sources dealt out
	 * round robin: only for sources that have a watermark(). cpus: where each thread is to run,
	 * -1 anywhere.
	 */
	unsigned int n_threads;
	const int *cpus;
	/*
	 * One per thread (at least one) and stripe, those of the first thread first; NULL: frames
	 * go nowhere but to `seen`. A thread's chunks go to its stripes round robin, skipping those
	 * that have none free.
	 */
	struct rd_feed *const *feeds;
	unsigned int n_stripes; /* 0: one */
	/* The sink of each stripe, into which all threads' feeds lead; NULL: each has its own. */
	struct rd_sink *const *merged;
	const struct rd_cut *cut; /* NULL: whole frames */
	enum rd_decap_mode decap;
	/* A new file for each slice of this length of the frames' own time; 0: none. */
	uint64_t slice_ns;
	bool slice_aligned; /* slices begin at multiples of slice_ns since the Unix epoch */
	const struct rd_watch *watches;
	unsigned int n_watches;
	uint64_t max_frames; /* stop after so many; 0: no limit */
	enum rd_when_full when_full;
	uint64_t flush_ns; /* a frame waits at most so long for its chunk to be written */
	/* Called once all sources have started; -1 with the error ends it at once. */
	int (*started)(void *ctx, struct rd_error *err);
	void *started_ctx;
	/* Called with every batch that is kept, after the cut; may be NULL. Without threads only.
	 */
	void (*seen)(void *ctx, const struct rd_source *s, const struct rd_frame *frames,
		unsigned int n);
	void *seen_ctx;
};

/* What is known of the frames that were delivered, filtered ones included. */
struct rd_frame_account {
	uint64_t direction[RD_DIRECTIONS];
	/* With a timestamp that is older than one before it, from the same queue. */
	uint64_t disordered[RD_DIRECTIONS];
	uint64_t wild;	  /* RD_FRAME_WILD */
	uint64_t no_time; /* RD_FRAME_NO_TIME */
};

enum rd_end {
	RD_END_WATCH,  /* a watch ended it: signal, timer, stop request */
	RD_END_COUNT,  /* max_frames */
	RD_END_SOURCE, /* the sources have nothing more */
	RD_END_FAULT,  /* a source failed: see the error */
	RD_END_OUTPUT, /* the sink failed */
	RD_END_FILES,  /* the last file is full */
	RD_END_MEMORY, /* no memory left (RD_FULL_END) */
};

struct lane;

struct rd_capture {
	/* Final after the run; meanwhile use rd_capture_tally() and rd_capture_bytes(). */
	struct rd_tally tally[RD_IFACES_MAX]; /* per interface of the encoder */
	uint64_t bytes;			      /* of the frames delivered, on the wire */
	struct rd_frame_account account;
	uint64_t start_ns, end_ns; /* Unix epoch */
	enum rd_end end;
	bool rotate; /* set by a watch: the next frame begins a new file */
	/* Of each thread by itself, at the end. */
	struct rd_tally lane_tally[RD_IFACES_MAX][RD_IFACES_MAX];
	/* Of each stripe: what was filtered and dropped belongs to none, and counts in the first.
	 */
	struct rd_tally stripe_tally[RD_STRIPES_MAX][RD_IFACES_MAX];
	const struct lane *lanes; /* the engine's own */
	unsigned int n_lanes;
};

/*
 * Runs until one of the ends; sources are started and stopped (not closed), what is encoded is
 * handed to the sink. `c` is zeroed by the caller and can be read by its watches at any time.
 * Returns 0, or -1 with the fault that ended it (RD_CLASS_PARTIAL once frames have been captured).
 */
int rd_capture_run(
	struct rd_capture *c, const struct rd_capture_config *config, struct rd_error *err);

/* At any time, from any thread that does not outlive the run. */
struct rd_tally rd_capture_tally(const struct rd_capture *c, unsigned int iface);
uint64_t rd_capture_bytes(const struct rd_capture *c);
/* Sum over the interfaces. */
struct rd_tally rd_capture_total(const struct rd_capture *c);

#endif
