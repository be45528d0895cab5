/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock for a device's frames: chosen from those that the device has, shared by its queues. */
#ifndef RDMADUMP_SOURCE_VERBS_CLOCK_H
#define RDMADUMP_SOURCE_VERBS_CLOCK_H

#include "clock_map.h"
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdmadump/clock.h>
#include <rdmadump/source.h>
#include <stdatomic.h>

struct verbs_clock;

/* State of one queue, for the thread that polls it. */
struct verbs_stamps {
	struct clock_map map; /* the clock's, as of `generation`, and its offsets then */
	int64_t offset, former;
	unsigned int generation;
	uint64_t last;	 /* newest timestamp so far, except implausible ones; 0: none */
	bool disordered; /* the last batch has timestamps that are implausible, zero or out of order
			  */
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
	atomic_flag refreshing;
	pthread_mutex_t lock;
	struct clock_map map;
	atomic_uint generation;
	struct clock_fit fit; /* of whoever holds `refreshing` */
};

/*
 * Selects the first kind of `type` that the device has. speed: of the port in bit/s, 0 if unknown.
 * Fails with RD_CLASS_DEVICE; the error says why each was refused.
 */
int verbs_clock_open(struct verbs_clock *c, struct ibv_context *ctx, const char *name,
	enum rd_stamp_type type, uint64_t speed, struct rd_error *err);
/* The device refused the queue: selects the next kind; false: there is none. */
bool verbs_clock_lower(struct verbs_clock *c, enum rd_stamp_type type);
/* The capture starts: reads both clocks. Frames that are older are not used to compare them. */
void verbs_clock_start(struct verbs_clock *c);
void verbs_clock_close(struct verbs_clock *c);

/*
 * Gives a batch its timestamps, in ns. They are the device's even if they are out of order;
 * RD_FRAME_BAD_TIME and RD_FRAME_NO_TIME mark those that must not be used for sorting.
 */
static inline void verbs_stamp(
	struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames, unsigned int n)
{
	c->kind->stamp(c, s, frames, n);
}

#endif
