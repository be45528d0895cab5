/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The clock of a device's frames. What a device has differs: timestamps that are a time of day
 * (mlx5's real-time format), ticks of a counter that can be read (ibv_query_rt_values_ex(3)) or
 * that the driver converts (mlx5dv_get_clock_info(3)), or nothing.
 */
#include "verbs_clock.h"
#include <rdmadump/log.h>
#include <rdmadump/verbs.h>

#define REFRESH_NS    1000000000U
#define FIRST_REFRESH 10000000U /* and twice as long each time, up to the above */
#define READS	      8		/* of the counter for one sample: the fastest one counts */
#define FAST_READ_NS  2000U
#define SLOW_READ_NS  100000U  /* another thread ran meanwhile: no sample */
#define SLACK_NS      1000000U /* between a frame's stamp and its completion */
#define STEP_NS	      1000000U /* a clock that goes back by more has been set */
#define DRIFT_PARTS   5000     /* 200 ppm: what two clocks may drift apart */
#define WIRE_OVERHEAD 24       /* bytes around an Ethernet frame: preamble, FCS, gap */

/* --- reading the counter ---------------------------------------------------------------- */

static bool read_counter(struct ibv_context *ctx, uint64_t *ticks)
{
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};

	if (ibv_query_rt_values_ex(ctx, &values) || !(values.comp_mask & IBV_VALUES_MASK_RAW_CLOCK))
		return false;
	*ticks = (uint64_t)values.raw_clock.tv_nsec +
		 (uint64_t)values.raw_clock.tv_sec * 1000000000U;
	return true;
}

/* Reads the counter and the host's clock at nearly the same moment; returns the uncertainty in ns.
 */
static uint64_t sample(struct verbs_clock *c, uint64_t *ticks, uint64_t *ns)
{
	uint64_t best = UINT64_MAX, before, after, read;

	for (unsigned int i = 0; i < READS && best > FAST_READ_NS; i++) {
		before = rd_clock_now(&c->host);
		if (!read_counter(c->ctx, &read))
			return UINT64_MAX;
		after = rd_clock_now(&c->host);
		if (after - before >= best)
			continue;
		best = after - before;
		*ticks = read;
		*ns = before + best / 2;
	}
	return best;
}

static bool refresh_fit(struct verbs_clock *c, uint64_t now)
{
	unsigned int steps = c->fit.steps;
	uint64_t interval = atomic_load_explicit(&c->interval, memory_order_relaxed);
	uint64_t ticks = 0, ns = 0, quality = sample(c, &ticks, &ns);

	(void)now;
	if (quality == UINT64_MAX || (quality > SLOW_READ_NS && c->fit.n_samples))
		return false;
	clock_fit_sample(&c->fit, ticks, ns, interval);
	if (c->fit.steps != steps)
		rd_log(RD_LOG_WARNING, "the device's clock has jumped; time stamps go on from the "
				       "host's clock");
	c->map = c->fit.map;
	if (interval < REFRESH_NS)
		atomic_store_explicit(&c->interval, interval * 2, memory_order_relaxed);
	return true;
}

/* A driver's clock that is set back must not take the stamps with it: their offset grows. */
static bool refresh_info(struct verbs_clock *c, uint64_t now)
{
	struct clock_line line;
	int64_t back;

	(void)now;
	if (!verbs_mlx5_clock_line(c->ctx, &line, &c->map.unused))
		return false;
	if (c->map.n) {
		if (line.ticks == c->map.line[c->map.newest].ticks)
			return false;
		back = (int64_t)(clock_map_ns(&c->map, line.ticks) - line.ns);
		if (back > (int64_t)STEP_NS) {
			rd_log(RD_LOG_WARNING,
				"the device's clock was set back by %.3f s; time "
				"stamps go on as they were",
				(double)back / 1e9);
			c->offset += back;
		}
	}
	clock_map_add(&c->map, &line);
	return true;
}

static void refresh(struct verbs_clock *c, uint64_t now)
{
	if (atomic_flag_test_and_set_explicit(&c->refreshing, memory_order_acquire))
		return;
	pthread_mutex_lock(&c->lock);
	if (c->kind->refresh(c, now))
		atomic_fetch_add_explicit(&c->generation, 1, memory_order_release);
	pthread_mutex_unlock(&c->lock);
	atomic_store_explicit(&c->refreshed, now, memory_order_relaxed);
	atomic_flag_clear_explicit(&c->refreshing, memory_order_release);
}

/* Map and offset as they belong together. */
static void copy_map(struct verbs_clock *c, struct verbs_stamps *s)
{
	if (s->generation == atomic_load_explicit(&c->generation, memory_order_acquire))
		return;
	pthread_mutex_lock(&c->lock);
	s->map = c->map;
	s->offset = atomic_load_explicit(&c->offset, memory_order_relaxed);
	s->generation = atomic_load_explicit(&c->generation, memory_order_relaxed);
	pthread_mutex_unlock(&c->lock);
}

/*
 * The map that this batch is read by: never older than the interval. Another thread may have
 * refreshed it after we looked at the clock.
 */
static void keep_fresh(struct verbs_clock *c, struct verbs_stamps *s, uint64_t now)
{
	uint64_t refreshed = atomic_load_explicit(&c->refreshed, memory_order_relaxed);
	uint64_t interval = atomic_load_explicit(&c->interval, memory_order_relaxed);

	if ((int64_t)(now - refreshed) >= (int64_t)interval)
		refresh(c, now);
	copy_map(c, s);
}

/* --- the epoch -------------------------------------------------------------------------- */

/*
 * A clock of its own is compared with the host's by the frames: a frame cannot be polled before it
 * came. The difference includes the delay of the frame, so it is an upper bound.
 */
static void compare(struct verbs_clock *c, uint64_t newest, uint64_t now)
{
	int64_t skew = (int64_t)(now - newest);
	uint64_t at = atomic_load_explicit(&c->skew_at, memory_order_acquire);
	int64_t least = atomic_load_explicit(&c->skew, memory_order_relaxed);

	if (at && skew > least + (int64_t)(now - at) / DRIFT_PARTS)
		return;
	atomic_store_explicit(&c->skew, skew, memory_order_relaxed);
	atomic_store_explicit(&c->skew_at, now, memory_order_release);
}

static void find_offset(struct verbs_clock *c, uint64_t newest, uint64_t now)
{
	bool set = true;
	int64_t offset = 0;

	pthread_mutex_lock(&c->lock);
	if (!c->offset_set) {
		if (c->kind->type == RD_STAMPS_ADAPTER)
			offset = clock_epoch_offset(newest, now, &set);
		if (!set)
			rd_log(RD_LOG_WARNING,
				"the device's clock is off by %.3f s: is ptp4l running? Stamps are "
				"moved by that",
				(double)-offset / 1e9);
		else if (offset)
			rd_log(RD_LOG_INFO,
				"the device's clock runs %lld s ahead of UTC (TAI?): "
				"stamps are moved by that",
				(long long)-offset / 1000000000);
		c->offset += offset;
		c->offset_set = true;
		atomic_fetch_add_explicit(&c->generation, 1, memory_order_release);
	}
	pthread_mutex_unlock(&c->lock);
}

/* --- ticks ------------------------------------------------------------------------------ */

static inline uint64_t stamp_all(struct verbs_stamps *s, const struct clock_map *map,
	int64_t offset, struct rd_frame *frames, unsigned int n)
{
	uint64_t last = s->last;

	for (struct rd_frame *f = frames, *end = frames + n; f != end; f++) {
		uint64_t ns = clock_map_ns(map, f->ts_ns) + (uint64_t)offset;

		if (__builtin_expect(ns < last, 0))
			ns = last;
		f->ts_ns = last = ns;
	}
	return s->last = last;
}

static void stamp_fit(
	struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames, unsigned int n)
{
	keep_fresh(c, s, rd_clock_now(&c->host));
	stamp_all(s, &s->map, 0, frames, n);
}

static uint64_t watermark_fit(struct verbs_clock *c, struct verbs_stamps *s)
{
	uint64_t now = rd_clock_now(&c->host);

	(void)s;
	return now > SLACK_NS ? now - SLACK_NS : 0;
}

static void stamp_info(
	struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames, unsigned int n)
{
	uint64_t now = rd_clock_now(&c->host);

	keep_fresh(c, s, now);
	if (!c->offset_set) {
		find_offset(c, clock_map_ns(&s->map, frames[n - 1].ts_ns), now);
		copy_map(c, s);
	}
	compare(c, stamp_all(s, &s->map, s->offset, frames, n), now);
}

/* `skew`: the minimum clock offset; 0 until a frame was compared. */
static uint64_t watermark_compared(struct verbs_clock *c, struct verbs_stamps *s)
{
	uint64_t at = atomic_load_explicit(&c->skew_at, memory_order_acquire);
	uint64_t now = rd_clock_now(&c->host);
	int64_t skew = atomic_load_explicit(&c->skew, memory_order_relaxed);

	(void)s;
	return at ? now - (uint64_t)(skew + (int64_t)((now - at) / DRIFT_PARTS)) - SLACK_NS : 0;
}

/* --- a time of day in the completion ---------------------------------------------------- */

/* Set back: the stamps' offset grows by as much, once for all queues. */
static int64_t real_time_set_back(struct verbs_clock *c, uint64_t ns, uint64_t last)
{
	int64_t offset;

	pthread_mutex_lock(&c->lock);
	if ((int64_t)(last - ns - (uint64_t)c->offset) > (int64_t)STEP_NS) {
		rd_log(RD_LOG_WARNING,
			"the device's clock was set back by %.3f s; time stamps go on as they were",
			(double)(last - ns - (uint64_t)c->offset) / 1e9);
		c->offset = (int64_t)(last - ns);
	}
	offset = c->offset;
	pthread_mutex_unlock(&c->lock);
	return offset;
}

static void recognise(struct verbs_clock *c, uint64_t stamp, uint64_t now)
{
	uint64_t ns = clock_real_time_ns(stamp, now);

	/* Every queue finds the same. */
	c->split = ns != stamp;
	find_offset(c, ns, now);
}

static void stamp_real_time(
	struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames, unsigned int n)
{
	uint64_t now = rd_clock_now(&c->host), last = s->last;
	int64_t offset;
	bool split;

	if (!c->offset_set)
		recognise(c, frames[n - 1].ts_ns, now);
	offset = atomic_load_explicit(&c->offset, memory_order_relaxed);
	split = c->split;
	for (struct rd_frame *f = frames, *end = frames + n; f != end; f++) {
		uint64_t raw = f->ts_ns;
		uint64_t ns = split ? (raw >> 32) * 1000000000U + (uint32_t)raw : raw;

		ns += (uint64_t)offset;
		if (__builtin_expect(ns < last, 0)) {
			if (last - ns > STEP_NS)
				offset = real_time_set_back(c, ns - (uint64_t)offset, last);
			ns = last;
		}
		f->ts_ns = last = ns;
	}
	s->last = last;
	compare(c, last, now);
}

/* --- no clock but the host's ------------------------------------------------------------ */

/*
 * Frames of a batch came one after the other, the last one not after the batch was polled: they
 * cannot be nearer to each other than the port's speed allows.
 */
static void stamp_host(
	struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames, unsigned int n)
{
	const uint64_t now = rd_clock_now(&c->host), last = s->last;
	const uint64_t per_byte = (uint64_t)c->back_per_byte;
	uint64_t bytes_behind = 0;

#pragma GCC unroll 8
	for (struct rd_frame *f = frames + n; f-- != frames;) {
		f->ts_ns = now + (uint64_t)((int64_t)(bytes_behind * per_byte) >> 32);
		bytes_behind += (uint64_t)f->len + WIRE_OVERHEAD;
	}
	for (struct rd_frame *f = frames; f != frames + n && f->ts_ns < last; f++)
		f->ts_ns = last;
	s->last = frames[n - 1].ts_ns;
}

static uint64_t watermark_host(struct verbs_clock *c, struct verbs_stamps *s)
{
	uint64_t now = rd_clock_now(&c->host);

	s->last = now > s->last ? now : s->last;
	return s->last;
}

/* --- the kinds ------------------------------------------------------------------------- */

static const char *usable_real_time(struct verbs_clock *c)
{
	return verbs_mlx5_real_time(c->ctx) ? NULL : "it has no real-time format of stamps";
}

static const char *has_ticks(struct verbs_clock *c)
{
	struct ibv_device_attr_ex attr = {0};

	if (ibv_query_device_ex(c->ctx, NULL, &attr) || !attr.completion_timestamp_mask)
		return "its completions have no time stamps";
	c->mask = attr.completion_timestamp_mask;
	c->khz = attr.hca_core_clock;
	return NULL;
}

static const char *usable_fit(struct verbs_clock *c)
{
	const char *why = has_ticks(c);
	uint64_t ticks;

	if (why)
		return why;
	if (!c->khz || !read_counter(c->ctx, &ticks))
		return "its clock cannot be read";
	c->interval = FIRST_REFRESH;
	clock_fit_init(&c->fit, c->mask, c->khz);
	return NULL;
}

static const char *usable_info(struct verbs_clock *c)
{
	const char *why = has_ticks(c);
	struct clock_line line;
	unsigned int unused;
	uint64_t period;

	if (why)
		return why;
	if (!verbs_mlx5_clock_line(c->ctx, &line, &unused))
		return "its driver does not say how to read them";
	period = verbs_mlx5_clock_period(c->ctx);
	c->interval = period && period / 2 < REFRESH_NS / 10 ? period / 2 : REFRESH_NS / 10;
	return NULL;
}

static const char *usable_host(struct verbs_clock *c)
{
	(void)c;
	return NULL;
}

static uint64_t read_ticks(struct ibv_cq_ex *cq)
{
	return ibv_wc_read_completion_ts(cq);
}

static uint64_t read_wallclock(struct ibv_cq_ex *cq)
{
	return ibv_wc_read_completion_wallclock_ns(cq);
}

static const struct verbs_clock_kind kinds[] = {
	{RD_STAMPS_ADAPTER, "hardware clock (real time)",
		"time stamps: the device's real-time clock when the frame crossed the port, moved "
		"to UTC",
		IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, usable_real_time, read_wallclock,
		NULL, stamp_real_time, watermark_compared},
	{RD_STAMPS_ADAPTER, "hardware clock",
		"time stamps: the device's clock when the frame crossed the port, following the "
		"system clock",
		IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, usable_fit, read_ticks, refresh_fit, stamp_fit,
		watermark_fit},
	{RD_STAMPS_ADAPTER, "hardware clock (PTP)",
		"time stamps: the device's PTP clock when the frame crossed the port, moved to UTC",
		IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, usable_info, read_ticks, refresh_info,
		stamp_info, watermark_compared},
	{RD_STAMPS_ADAPTER_UNSYNCED, "hardware clock (real time, as it is)",
		"time stamps: the device's real-time clock when the frame crossed the port, as it "
		"is",
		IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, usable_real_time, read_wallclock,
		NULL, stamp_real_time, watermark_compared},
	{RD_STAMPS_ADAPTER_UNSYNCED, "hardware clock (PTP, as it is)",
		"time stamps: the device's PTP clock when the frame crossed the port, as it is",
		IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, usable_info, read_ticks, refresh_info,
		stamp_info, watermark_compared},
	{RD_STAMPS_HOST, "software clock",
		"time stamps: system clock when the batch of frames was polled, frames of a batch "
		"as far apart as the port's speed has them",
		0, usable_host, NULL, NULL, stamp_host, watermark_host},
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* A clock that may show any time is used only on request. */
static bool wanted(const struct verbs_clock_kind *k, enum rd_stamp_type type)
{
	return type == RD_STAMPS_AUTO ? k->type != RD_STAMPS_ADAPTER_UNSYNCED : k->type == type;
}

static const char *take(struct verbs_clock *c, enum rd_stamp_type type, size_t from)
{
	const char *first = NULL;

	for (size_t i = from; i < N_KINDS; i++) {
		const char *why;

		if (!wanted(&kinds[i], type))
			continue;
		why = kinds[i].usable(c);
		if (!why) {
			c->kind = &kinds[i];
			return NULL;
		}
		/* The plainest kind's reason is the one that people can do something about. */
		first = why;
	}
	return first ? first : "it has none";
}

int verbs_clock_open(struct verbs_clock *c, struct ibv_context *ctx, const char *name,
	enum rd_stamp_type type, uint64_t speed, struct rd_error *err)
{
	const char *why;

	*c = (struct verbs_clock){.ctx = ctx, .refreshing = ATOMIC_FLAG_INIT};
	pthread_mutex_init(&c->lock, NULL);
	if (speed)
		c->back_per_byte = -(int64_t)(8e9 * 4294967296.0 / (double)speed);
	why = take(c, type, 0);
	if (why)
		return rd_fail(err, RD_CLASS_DEVICE, 0,
			"see --list-time-stamp-types; 'host' always works",
			"%s has no time stamps of type '%s': %s", name, rd_stamp_types[type].name,
			why);
	verbs_clock_start(c);
	return 0;
}

bool verbs_clock_lower(struct verbs_clock *c, enum rd_stamp_type type)
{
	size_t next = (size_t)(c->kind - kinds) + 1;

	c->generation = 0;
	return take(c, type, next) == NULL;
}

void verbs_clock_start(struct verbs_clock *c)
{
	rd_clock_set(&c->host);
	c->generation = 0;
	c->skew_at = 0;
	c->map = (struct clock_map){0};
	if (c->kind->refresh == refresh_fit) {
		clock_fit_init(&c->fit, c->mask, c->khz);
		c->interval = FIRST_REFRESH;
	}
	if (c->kind->refresh)
		refresh(c, rd_clock_now(&c->host));
}

static struct rd_stamp_choice choice_of(struct verbs_clock *c, enum rd_stamp_type type)
{
	const char *why = take(c, type, 0);

	return (struct rd_stamp_choice){.clock = why ? NULL : c->kind->title, .why = why};
}

int rd_verbs_clocks(const struct rd_device *device, struct rd_stamp_choice choices[RD_STAMP_TYPES],
	struct rd_error *err)
{
	struct verbs_clock c = {0};
	struct ibv_context *ctx;

	if (rd_verbs_device_open(&ctx, device->name, NULL, NULL, err) < 0)
		return -1;
	c.ctx = ctx;
	for (unsigned int i = 0; i < RD_STAMP_TYPES; i++)
		choices[i] = choice_of(&c, (enum rd_stamp_type)i);
	ibv_close_device(ctx);
	return 0;
}

void verbs_clock_close(struct verbs_clock *c)
{
	if (c->kind)
		pthread_mutex_destroy(&c->lock);
}
