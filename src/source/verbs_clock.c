/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chooses the clock of a device's frames. What a device has differs: timestamps that are a time of
 * day (mlx5's real-time format), ticks of a counter (ibv_query_rt_values_ex(3)), or nothing. A
 * clock that cannot be read is not used.
 */
#include "verbs_clock.h"
#include <rdmadump/array.h>

/* --- the kinds ------------------------------------------------------------------------- */

#define REFRESH_NS    1000000000U
#define FIRST_REFRESH 10000000U /* and twice as long each time, up to the above */

/* A real-time clock that is not set drifts as the counter does, and its time is wrong. */
static const char *usable_real_time(struct verbs_clock *c)
{
	int64_t difference;
	bool set;

	if (!rd_clock_has_real_time(c->ctx))
		return "it has no real-time format of timestamps";
	if (!verbs_clock_difference(c, &difference))
		return "its real-time clock cannot be read";
	c->interval = REFRESH_NS;
	rd_clock_epoch_offset(difference, &set);
	c->unset = set ? 0 : -difference;
	return set ? NULL : "its real-time clock is not set";
}

static const char *has_ticks(struct verbs_clock *c)
{
	struct ibv_device_attr_ex attr = {0};

	if (ibv_query_device_ex(c->ctx, NULL, &attr) || !attr.completion_timestamp_mask)
		return "its completions have no timestamps";
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
	if (!c->khz || !rd_clock_read_counter(c->ctx, &ticks))
		return "its clock cannot be read";
	c->interval = FIRST_REFRESH;
	clock_fit_init(&c->fit, c->mask, c->khz);
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
		"timestamps: the device's real-time clock when the frame crossed the port, moved "
		"to UTC",
		IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, usable_real_time, read_wallclock,
		verbs_refresh_real_time, verbs_stamp_real_time, verbs_watermark_real_time},
	{RD_STAMPS_ADAPTER, "hardware clock",
		"timestamps: the device's clock when the frame crossed the port, following the "
		"system clock",
		IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, usable_fit, read_ticks, verbs_refresh_fit,
		verbs_stamp_fit, verbs_watermark_fit},
	{RD_STAMPS_HOST, "software clock",
		"timestamps: system clock when the batch of frames was polled, frames of a batch "
		"as far apart as the port's speed has them",
		0, usable_host, NULL, NULL, verbs_stamp_host, verbs_watermark_host},
};

static const char *take(struct verbs_clock *c, size_t from)
{
	const char *reason = NULL;

	for (size_t i = from; i < RD_COUNT(kinds); i++) {
		const char *why;

		if (c->type != RD_STAMPS_AUTO && kinds[i].type != c->type)
			continue;
		why = kinds[i].usable(c);
		if (!why) {
			c->kind = &kinds[i];
			return NULL;
		}
		/* The simplest kind is the last one; the user can act on its reason. */
		reason = why;
	}
	return reason ? reason : "it has none";
}

int verbs_clock_open(struct verbs_clock *c, struct ibv_context *ctx, const char *name,
	enum rd_stamp_type type, uint64_t speed, struct rd_error *err)
{
	const char *why;

	*c = (struct verbs_clock){.type = type, .ctx = ctx, .lock = PTHREAD_MUTEX_INITIALIZER};
	rd_clock_set(&c->host);
	if (speed)
		c->back_per_byte = -(int64_t)(8e9 * 4294967296.0 / (double)speed);
	why = take(c, 0);
	if (why)
		return rd_fail(err, RD_CLASS_DEVICE, 0, "'-j host' always works",
			"%s has no timestamps of type 'adapter': %s", name, why);
	if (c->unset)
		rd_log(RD_LOG_WARNING,
			"%s: the device's real-time clock is off by %.3f s (is ptp4l running?): "
			"timestamps use the %s instead",
			name, (double)c->unset / 1e9, c->kind->title);
	verbs_clock_start(c);
	return 0;
}

bool verbs_clock_lower(struct verbs_clock *c)
{
	size_t next = (size_t)(c->kind - kinds) + 1;

	if (take(c, next))
		return false;
	verbs_clock_start(c);
	return true;
}

void verbs_clock_start(struct verbs_clock *c)
{
	rd_clock_set(&c->host);
	c->start = rd_clock_now(&c->host);
	c->generation = 0;
	c->skew_at = 0;
	c->format = FORMAT_UNKNOWN;
	c->measured = c->drifting = false;
	c->offset = c->former = 0;
	c->map = (struct clock_map){0};
	if (c->kind->refresh == verbs_refresh_fit) {
		clock_fit_init(&c->fit, c->mask, c->khz);
		c->interval = FIRST_REFRESH;
	}
	verbs_clock_first_refresh(c);
}
