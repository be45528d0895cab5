/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock for a device's frames: chosen from those that the device has, shared by its queues. */
#pragma once

#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdmadump/clock.h>
#include <rdmadump/device_clock.h>
#include <rdmadump/source.h>
#include <stdatomic.h>

/* Converts ticks of a free-running counter to ns of the host's clock, which drift apart. */

/* A straight line, accurate near its beginning. */
struct clock_line {
	uint64_t ticks, ns; /* where it begins */
	uint64_t rate;	    /* ns per tick, with 32 fractional bits */
};

#define CLOCK_LINES 8 /* a frame may have waited for as long as the older ones were good */

/*
 * Consecutive lines. Each tick lies on one of them, so that all queues convert it to the same time,
 * whenever they do.
 */
struct clock_map {
	struct clock_line line[CLOCK_LINES];
	unsigned int newest, n; /* index of the newest line; how many there are */
	unsigned int unused;	/* bits above the counter's */
};

#define CLOCK_SAMPLES  16
#define CLOCK_AHEAD_NS 2000000 /* from a sample to where the line bends */

/* The line, and how it follows what is measured. */
struct clock_fit {
	struct clock_map map;
	uint64_t nominal; /* the device's nominal rate */
	struct {
		uint64_t ticks, ns; /* the counter without its wrap */
	} sample[CLOCK_SAMPLES];
	unsigned int n_samples; /* ever taken */
	unsigned int steps;	/* how often the counter was not where it should have been */
};

/* d * rate >> 32 without loss, d signed. */
static inline int64_t clock_scale(int64_t d, uint64_t rate)
{
#ifdef __SIZEOF_INT128__
	return (int64_t)((__int128)d * (int64_t)rate >> 32);
#else
	uint64_t u = d < 0 ? -(uint64_t)d : (uint64_t)d, ns;

	ns = (u >> 32) * rate + ((u & 0xffffffff) * (rate >> 32)) +
	     ((u & 0xffffffff) * (rate & 0xffffffff) >> 32);
	return d < 0 ? -(int64_t)ns : (int64_t)ns;
#endif
}

static inline int64_t clock_ticks_since(
	const struct clock_map *m, const struct clock_line *line, uint64_t ticks)
{
	return (int64_t)((ticks - line->ticks) << m->unused) >> m->unused;
}

/* The line that holds where the newest one does not. */
const struct clock_line *clock_older_line(const struct clock_map *m, uint64_t ticks);

/* Ticks at most half the counter's range away from the newest line's beginning. */
static inline uint64_t clock_map_ns(const struct clock_map *m, uint64_t ticks)
{
	const struct clock_line *line = &m->line[m->newest];
	int64_t d = clock_ticks_since(m, line, ticks);

	if (__builtin_expect(d < 0, 0)) {
		line = clock_older_line(m, ticks);
		d = clock_ticks_since(m, line, ticks);
	}
	return line->ns + (uint64_t)clock_scale(d, line->rate);
}

/* A counter with this mask (2^n - 1) and a nominal rate of khz. */
void clock_fit_init(struct clock_fit *f, uint64_t mask, uint64_t khz);
/*
 * A sample: the counter was `ticks` when the host's clock was ns; ns only grows. The line continues
 * where it was and is bent to meet the host's clock one `interval` later. It is bent a moment from
 * now, so that every queue has the new line before frames of that moment come. It jumps when it was
 * not measured for several intervals, or when the counter is not where any drift could have led it.
 */
void clock_fit_sample(struct clock_fit *f, uint64_t ticks, uint64_t ns, uint64_t interval);

#define CLOCK_AGREE_NS 5000000 /* two synchronized clocks differ by less */

struct verbs_clock;

/* State of one queue, for the thread that polls it. */
struct verbs_stamps {
	struct clock_map map; /* the clock's, as of `generation`, and its offsets then */
	int64_t offset, former;
	unsigned int generation;
	uint64_t last;	 /* newest timestamp so far, except implausible ones; 0: none */
	bool disordered; /* timestamps of the last batch are implausible, zero or out of order */
};

/* One row per kind of timestamp, the best first; chosen when the queue is made. */
struct verbs_clock_kind {
	enum rd_stamp_type type;
	const char *title;	 /* "hardware clock": in the startup line */
	const char *description; /* of the timestamps, in the file */
	uint64_t wc_flags;	 /* what the CQ must give */
	/* NULL: it can be used; else why not. Prepares *c. */
	const char *(*usable)(struct verbs_clock *c);
	/* Reads what wc_flags ask for; NULL: nothing. */
	uint64_t (*read)(struct ibv_cq_ex *cq);
	/*
	 * Compares the clock with the host's and renews map and offset; false: both are
	 * unchanged. NULL: the clock needs no following.
	 */
	bool (*refresh)(struct verbs_clock *c);
	/* Replaces ts_ns, which holds the timestamp of the CQE, by ns. */
	void (*stamp)(struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames,
		unsigned int n);
	/* No later frame of this queue gets a timestamp before this; 0: not known yet. */
	uint64_t (*watermark)(struct verbs_clock *c, struct verbs_stamps *s);
};

enum verbs_clock_format { FORMAT_UNKNOWN, FORMAT_NS, FORMAT_SPLIT };

struct verbs_clock {
	enum rd_stamp_type type; /* that the user asked for */
	const struct verbs_clock_kind *kind;
	struct ibv_context *ctx;
	struct rd_clock host;
	uint64_t start;	       /* of the capture, by the host's clock */
	uint64_t mask, khz;    /* of the device's counter */
	int64_t back_per_byte; /* -ns on the wire, with 32 bits of fraction */
	int64_t unset; /* the real-time clock was not used because it is off by so many ns */

	/*
	 * From here on the queues' threads share it. `map`, `offset` and `former` change together,
	 * under `lock`, and each change is a new `generation`: a queue copies them.
	 */
	_Atomic uint64_t interval; /* ns between two refreshes */
	_Atomic int format;	   /* of real-time timestamps, enum verbs_clock_format */
	bool measured;		   /* the real-time clock was read: the offset is known */
	bool drifting;		   /* that has been reported */
	int64_t offset;		   /* what is added to the device's time */
	int64_t former;		   /* the same before the last step: of frames that are older */
	_Atomic int64_t skew;	   /* the host's clock minus the corrected one */
	_Atomic uint64_t skew_at;  /* when; 0: not known */
	_Atomic uint64_t refreshed;
	_Atomic uint64_t
		refreshing; /* since when a thread that holds `lock` refreshes it; 0: none */
	pthread_mutex_t lock;
	struct clock_map map;
	atomic_uint generation;
	struct clock_fit fit;
};

/*
 * Selects the first kind of `type` that the device has. speed: of the port in bit/s, 0 if unknown.
 * Fails with RD_CLASS_DEVICE; the error says why each was refused.
 */
int verbs_clock_open(struct verbs_clock *c, struct ibv_context *ctx, const char *name,
	enum rd_stamp_type type, uint64_t speed, struct rd_error *err);
/* The device refused the queue: selects the next kind; false: there is none. */
bool verbs_clock_lower(struct verbs_clock *c);
/* The capture starts: reads both clocks. Frames that are older are not used to compare them. */
void verbs_clock_start(struct verbs_clock *c);

/*
 * Gives a batch its timestamps, in ns. They are the device's even if they are out of order;
 * RD_FRAME_BAD_TIME and RD_FRAME_NO_TIME mark those that must not be used for sorting.
 */
static inline void verbs_stamp(
	struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames, unsigned int n)
{
	c->kind->stamp(c, s, frames, n);
}

/* Follows a device's clock: compares it with the host's, and converts batches of timestamps. */

/* verbs_clock_follow.c */

/* *ns: the host's clock minus the real-time clock. False: it cannot be read. */
bool verbs_clock_difference(struct verbs_clock *c, int64_t *ns);

bool verbs_refresh_fit(struct verbs_clock *c);
bool verbs_refresh_real_time(struct verbs_clock *c);
/* At the start of the capture. */
void verbs_clock_first_refresh(struct verbs_clock *c);
/* Refreshes a clock that was not for its interval, and brings the queue's copy up to date. */
void verbs_clock_keep_fresh(struct verbs_clock *c, struct verbs_stamps *s, uint64_t now);
/* An extra refresh: a timestamp suggests that the clock was set. */
void verbs_clock_recheck(struct verbs_clock *c, struct verbs_stamps *s, uint64_t now);

/* verbs_clock_batch.c: the rows of struct verbs_clock_kind */

void verbs_stamp_fit(
	struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames, unsigned int n);
void verbs_stamp_real_time(
	struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames, unsigned int n);
void verbs_stamp_host(
	struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames, unsigned int n);
uint64_t verbs_watermark_fit(struct verbs_clock *c, struct verbs_stamps *s);
uint64_t verbs_watermark_real_time(struct verbs_clock *c, struct verbs_stamps *s);
uint64_t verbs_watermark_host(struct verbs_clock *c, struct verbs_stamps *s);
