/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares a device's clock with the host's: offset, drift, steps, and the cost of a reading. */
#ifndef RDMADUMP_SELFTEST_CLOCK_READINGS_H
#define RDMADUMP_SELFTEST_CLOCK_READINGS_H

#include <infiniband/verbs.h>
#include <rdmadump/clock.h>
#include <stdbool.h>

enum device_clock {
	CLOCK_COUNTER,	 /* ibv_query_rt_values_ex(3); ticks */
	CLOCK_DRIVER,	 /* the counter as the driver converts it: mlx5dv_get_clock_info(3) */
	CLOCK_REAL_TIME, /* the device's real-time clock */
	DEVICE_CLOCKS,
};

/* The device's clock had this value at a time between `before` and `after` by the host's clock. */
struct clock_reading {
	uint64_t before, after, value; /* ns */
};

struct clock_watch {
	const char *name; /* "counter" ...: static */
	bool readable;
	struct clock_reading first, last;
	unsigned int readings, steps;
	int64_t step_ns;  /* size of the largest step; positive: forward */
	uint64_t cost_ns; /* duration of the fastest reading */
	/* Only for CLOCK_COUNTER, whose values are ns since the first reading. */
	uint64_t mask, khz, ticks, passed;
	/* Set by the caller. */
	enum device_clock clock;
	struct ibv_context *ctx;
	const struct rd_clock *host;
};

/* Takes the first reading. `mask` and `khz` are those of the device's counter. */
void clock_watch_start(struct clock_watch *w, enum device_clock clock, struct ibv_context *ctx,
	const struct rd_clock *host, uint64_t mask, uint64_t khz);
/* Takes another reading. Call it at least twice within the time in which the counter wraps. */
void clock_watch_read(struct clock_watch *w);
/* The device's clock minus the host's at the last reading, in ns; not for the counter. */
int64_t clock_watch_ahead(const struct clock_watch *w);
/*
 * How much faster the device's clock runs than the host's, in ppm, not counting its steps.
 * *uncertainty: the error that the duration of the readings can cause, in ppm. False: too few
 * readings.
 */
bool clock_watch_drift(const struct clock_watch *w, double *ppm, double *uncertainty);

/*
 * Ticks from `from` to `to`; negative if `to` is earlier, by up to half the range of the counter.
 */
int64_t clock_ticks_between(uint64_t mask, uint64_t from, uint64_t to);
double clock_ticks_ns(uint64_t khz, int64_t ticks);

#endif
