/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock of a device's frames: chosen from what the device has, shared by its queues. */
#ifndef RDMADUMP_SOURCE_VERBS_CLOCK_H
#define RDMADUMP_SOURCE_VERBS_CLOCK_H

#include "clock_map.h"
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdmadump/clock.h>
#include <rdmadump/source.h>
#include <stdatomic.h>

struct verbs_clock;

/* Of one queue, and of the thread that polls it. */
struct verbs_stamps {
	struct clock_map map; /* the clock's, as of `generation`, and its offset then */
	int64_t offset;
	unsigned int generation;
	uint64_t last; /* newest stamp given */
};

/* One row per kind of timestamp, the best first; chosen when the queue is made. */
struct verbs_clock_kind {
	enum rd_stamp_type type;
	const char *title;	 /* "hardware clock": in the startup line */
	const char *description; /* of the stamps, in the file */
	uint64_t wc_flags;	 /* what the CQ must give */
	/* NULL: it can be used; else why not. Prepares *c. */
	const char *(*usable)(struct verbs_clock *c);
	/* Reads what wc_flags ask for; NULL: nothing. */
	uint64_t (*read)(struct ibv_cq_ex *cq);
	/* Renews the map that converts ticks; false: it stays as it is. NULL: no map. */
	bool (*refresh)(struct verbs_clock *c, uint64_t now);
	/* Replaces ts_ns, which holds the timestamp of the CQE, by ns. */
	void (*stamp)(struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames,
		unsigned int n);
	/* No later frame of this queue gets a stamp before this; 0: not known yet. */
	uint64_t (*watermark)(struct verbs_clock *c, struct verbs_stamps *s);
};

struct verbs_clock {
	const struct verbs_clock_kind *kind;
	struct ibv_context *ctx;
	struct rd_clock host;
	uint64_t mask, khz;    /* of the device's counter */
	int64_t back_per_byte; /* -ns on the wire, 32 bits behind the binary point */

	/*
	 * From here on the queues' threads share it. `map` and `offset` change together, under
	 * `lock`, and each change is a new `generation`: a queue copies both. Kinds without a map
	 * read `offset` alone.
	 */
	_Atomic uint64_t interval; /* ns between two refreshes */
	_Atomic bool split;	   /* real-time stamps: seconds and ns in a word */
	_Atomic bool offset_set;   /* between the device's clock and the Unix epoch */
	_Atomic int64_t offset, skew;
	_Atomic uint64_t skew_at, refreshed; /* skew_at: 0 while there is no skew */
	atomic_flag refreshing;
	pthread_mutex_t lock;
	struct clock_map map;
	atomic_uint generation;
	struct clock_fit fit; /* of whoever holds `refreshing` */
};

/*
 * Takes the first kind of `type` that the device has. speed: of the port in bit/s, 0 if unknown.
 * Fails with RD_CLASS_DEVICE, naming why each was refused.
 */
int verbs_clock_open(struct verbs_clock *c, struct ibv_context *ctx, const char *name,
	enum rd_stamp_type type, uint64_t speed, struct rd_error *err);
/* The device refused the queue: takes the next kind; false: there is none. */
bool verbs_clock_lower(struct verbs_clock *c, enum rd_stamp_type type);
/* Sources start here: the wall clock is taken. */
void verbs_clock_start(struct verbs_clock *c);
void verbs_clock_close(struct verbs_clock *c);

static inline void verbs_stamp(
	struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames, unsigned int n)
{
	c->kind->stamp(c, s, frames, n);
}

/* verbs_clock_mlx5.c. */
bool verbs_mlx5_real_time(struct ibv_context *ctx);
/* The driver's own conversion of the counter; false: it has none, or is just changing it. */
bool verbs_mlx5_clock_line(struct ibv_context *ctx, struct clock_line *line, unsigned int *unused);
/* How often that must be read at least, in ns; 0: unknown. */
uint64_t verbs_mlx5_clock_period(struct ibv_context *ctx);

#endif
