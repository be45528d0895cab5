/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Follows a device's clock: reads it at intervals, and compares it with the host's. */
#include "verbs_clock.h"

#define REFRESH_NS   1000000000U
#define READS	     8 /* of the clock for one sample: the fastest one is used */
#define FAST_READ_NS 2000U
#define SLOW_READ_NS 100000U   /* another thread ran meanwhile: no sample */
#define RECHECK_NS   10000000U /* minimum time between two extra refreshes */
#define STEP_NS	     1000000   /* a clock that jumps by more has been set */
#define DRIFT_PARTS  5000      /* 200 ppm: what two clocks may drift apart */
#define SLEW_PARTS   2000      /* 500 ppm: how fast the offset follows a clock that drifts away */

/* --- reading ---------------------------------------------------------------------------- */

bool rd_clock_read_counter(struct ibv_context *ctx, uint64_t *ticks)
{
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};

	if (ibv_query_rt_values_ex(ctx, &values) || !(values.comp_mask & IBV_VALUES_MASK_RAW_CLOCK))
		return false;
	*ticks = (uint64_t)values.raw_clock.tv_nsec +
		 (uint64_t)values.raw_clock.tv_sec * 1000000000U;
	return true;
}

typedef bool clock_reader(struct ibv_context *ctx, uint64_t *value);

/* Reads a device's clock and the host's at nearly the same moment; the uncertainty in ns. */
static uint64_t sample(struct verbs_clock *c, clock_reader *read, uint64_t *value, uint64_t *ns)
{
	uint64_t best = UINT64_MAX, before, after, got;

	for (unsigned int i = 0; i < READS && best > FAST_READ_NS; i++) {
		before = rd_clock_now(&c->host);
		if (!read(c->ctx, &got))
			return UINT64_MAX;
		after = rd_clock_now(&c->host);
		if (after - before >= best)
			continue;
		best = after - before;
		*value = got;
		*ns = before + best / 2;
	}
	return best;
}

bool verbs_clock_difference(struct verbs_clock *c, int64_t *ns)
{
	uint64_t device = 0, host = 0;
	uint64_t quality = sample(c, rd_clock_read_real_time, &device, &host);

	*ns = (int64_t)(host - device);
	return quality != UINT64_MAX && (quality <= SLOW_READ_NS || !c->skew_at);
}

/* --- steps ------------------------------------------------------------------------------ */

static void skew_set(struct verbs_clock *c, int64_t skew)
{
	atomic_store_explicit(&c->skew, skew, memory_order_relaxed);
	atomic_store_explicit(&c->skew_at, rd_clock_now(&c->host), memory_order_release);
}

/* The clock was set, and is `by` ns further behind the host's than before. */
static void step(struct verbs_clock *c, int64_t by)
{
	rd_log(RD_LOG_WARNING,
		"the device's clock was set %s by %.3f s: timestamps are corrected by that",
		by > 0 ? "back" : "forward", (double)(by > 0 ? by : -by) / 1e9);
	c->former = c->offset;
	c->offset += by;
}

/* --- the kinds -------------------------------------------------------------------------- */

bool verbs_refresh_fit(struct verbs_clock *c)
{
	unsigned int steps = c->fit.steps;
	uint64_t interval = atomic_load_explicit(&c->interval, memory_order_relaxed);
	uint64_t ticks = 0, ns = 0, quality = sample(c, rd_clock_read_counter, &ticks, &ns);

	if (quality == UINT64_MAX || (quality > SLOW_READ_NS && c->fit.n_samples))
		return false;
	clock_fit_sample(&c->fit, ticks, ns, interval);
	if (c->fit.steps != steps)
		rd_log(RD_LOG_WARNING, "the device's counter has jumped: timestamps go on from the "
				       "system clock");
	c->map = c->fit.map;
	if (interval < REFRESH_NS)
		atomic_store_explicit(&c->interval, interval * 2, memory_order_relaxed);
	return true;
}

/* What the first reading shows. A clock that is as it should be, or whole seconds off, stays. */
static void real_time_found(struct verbs_clock *c, int64_t difference)
{
	bool set = true;

	c->measured = true;
	c->offset = rd_clock_epoch_offset(difference, &set);
	c->former = c->offset;
	if (c->offset && set)
		rd_log(RD_LOG_INFO,
			"the device's clock is %lld s ahead of UTC (TAI?): timestamps are "
			"corrected by that",
			(long long)-c->offset / 1000000000);
	skew_set(c, difference - c->offset);
}

/* If no program keeps this clock at the system's time, the offset follows the difference. */
static void real_time_drifts(struct verbs_clock *c, int64_t difference, uint64_t past)
{
	int64_t off = difference - c->offset, most = (int64_t)(past / SLEW_PARTS);
	int64_t excess = off > CLOCK_AGREE_NS	 ? off - CLOCK_AGREE_NS
			 : off < -CLOCK_AGREE_NS ? off + CLOCK_AGREE_NS
						 : 0;

	if (!excess)
		return;
	if (!c->drifting)
		rd_log(RD_LOG_WARNING,
			"the device's real-time clock drifts away from the system clock: "
			"timestamps are kept within %d ms of it; is ptp4l running?",
			CLOCK_AGREE_NS / 1000000);
	c->drifting = true;
	c->offset += excess > most ? most : excess < -most ? -most : excess;
}

bool verbs_refresh_real_time(struct verbs_clock *c)
{
	uint64_t now = rd_clock_now(&c->host), past = now - c->skew_at;
	int64_t difference, by;

	if (!verbs_clock_difference(c, &difference))
		return false;
	if (!c->measured) {
		real_time_found(c, difference);
		return true;
	}
	by = difference - c->offset - c->skew;
	if (by > STEP_NS + (int64_t)(past / DRIFT_PARTS) ||
		by < -STEP_NS - (int64_t)(past / DRIFT_PARTS))
		step(c, by);
	else
		real_time_drifts(c, difference, past);
	skew_set(c, difference - c->offset);
	return true;
}

/* --- the queues' copies ------------------------------------------------------------------ */

/* The caller holds the lock. */
static void refresh(struct verbs_clock *c, uint64_t now)
{
	atomic_store_explicit(&c->refreshing, now, memory_order_seq_cst);
	if (c->kind->refresh(c))
		atomic_fetch_add_explicit(&c->generation, 1, memory_order_release);
	atomic_store_explicit(&c->refreshed, now, memory_order_relaxed);
	atomic_store_explicit(&c->refreshing, 0, memory_order_release);
}

void verbs_clock_first_refresh(struct verbs_clock *c)
{
	if (c->kind->refresh)
		refresh(c, rd_clock_now(&c->host));
}

/*
 * Map and offsets as they belong together. Frames that came before `now` may lie beyond where a new
 * line begins if somebody has been measuring it for long: then waits for it.
 */
static void copy(struct verbs_clock *c, struct verbs_stamps *s, uint64_t now)
{
	uint64_t begun = atomic_load_explicit(&c->refreshing, memory_order_seq_cst);

	if (s->generation == atomic_load_explicit(&c->generation, memory_order_acquire) &&
		(!begun || (int64_t)(now - begun) < CLOCK_AHEAD_NS / 2))
		return;
	pthread_mutex_lock(&c->lock);
	s->map = c->map;
	s->offset = c->offset;
	s->former = c->former;
	s->generation = atomic_load_explicit(&c->generation, memory_order_relaxed);
	pthread_mutex_unlock(&c->lock);
}

static bool is_due(const struct verbs_clock *c, uint64_t now, uint64_t interval)
{
	uint64_t refreshed = atomic_load_explicit(&c->refreshed, memory_order_relaxed);

	return (int64_t)(now - refreshed) >= (int64_t)interval;
}

/* Another thread may have refreshed it after we looked at the clock. */
void verbs_clock_keep_fresh(struct verbs_clock *c, struct verbs_stamps *s, uint64_t now)
{
	uint64_t interval = atomic_load_explicit(&c->interval, memory_order_relaxed);

	if (is_due(c, now, interval) && !pthread_mutex_trylock(&c->lock)) {
		if (is_due(c, now, interval))
			refresh(c, now);
		pthread_mutex_unlock(&c->lock);
	}
	copy(c, s, now);
}

void verbs_clock_recheck(struct verbs_clock *c, struct verbs_stamps *s, uint64_t now)
{
	if (is_due(c, now, RECHECK_NS)) {
		pthread_mutex_lock(&c->lock);
		if (is_due(c, now, RECHECK_NS))
			refresh(c, now);
		pthread_mutex_unlock(&c->lock);
	}
	copy(c, s, now);
}
