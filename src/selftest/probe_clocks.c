/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which clocks the device has, and what the timestamps of its completions are worth. The clocks are
 * read together with the host's while frames are received, with each kind of timestamp that a
 * completion queue can have.
 */
#include "clocks.h"
#include <rdmadump/device_clock.h>
#include <rdmadump/units.h>
#include <rdmadump/verbs.h>
#include <stdio.h>
#include <string.h>

#define TAKE_MS	    500 /* per kind of timestamp */
#define MIXED_SHARE 8	/* one of this many changes of direction */
#define NARROW_NS   2e9 /* captures read the counter twice in this time */

/* A kind of timestamp in completions, and its clock. */
struct kind {
	enum device_clock clock;
	const char *name, *refused_key;
};
static const struct kind kinds[] = {{CLOCK_COUNTER, "counter", "timestamps_refused"},
	{CLOCK_REAL_TIME, "real_time", "real_time_refused"}};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct clocks {
	struct ibv_context *ctx;
	struct rd_clock host;
	uint64_t mask, khz;
	bool offered[KINDS]; /* timestamps of that kind */
	struct clock_watch watch[DEVICE_CLOCKS];
	struct timestamp_counts counts[KINDS];
};

static void set_value(struct rd_probe_result *r, const char *clock, const char *name,
	const char *unit, uint64_t n)
{
	char full[64];

	snprintf(full, sizeof(full), "%s_%s", clock, name);
	result_number(r, full, unit, n);
}

/* --- what the device has ------------------------------------------------------------------ */

static int look_up(struct clocks *c, const struct rd_selftest *st, struct rd_error *err)
{
	struct ibv_device_attr_ex attr = {0};

	if (rd_verbs_device_open(&c->ctx, st->device->name, NULL, NULL, err) < 0)
		return -1;
	rd_clock_set(&c->host);
	if (ibv_query_device_ex(c->ctx, NULL, &attr) == 0) {
		c->mask = attr.completion_timestamp_mask;
		c->khz = attr.hca_core_clock;
	}
	c->offered[0] = c->mask != 0;
	c->offered[1] = rd_clock_has_real_time(c->ctx);
	for (int i = 0; i < DEVICE_CLOCKS; i++) {
		bool has = i == CLOCK_REAL_TIME ? c->offered[1] : c->mask && c->khz;

		c->watch[i] = (struct clock_watch){.mask = c->mask,
			.khz = c->khz,
			.clock = (enum device_clock)i,
			.ctx = c->ctx,
			.host = &c->host};
		c->watch[i].readable = has && clock_watch_read(&c->watch[i]);
	}
	return 0;
}

static void report_device(const struct clocks *c, struct rd_probe_result *r)
{
	result_number(r, "counter_bits", "bits", (uint64_t)__builtin_popcountll(c->mask));
	result_number(r, "counter_khz", "kHz", c->khz);
	result_bool(r, "counter_readable", c->watch[CLOCK_COUNTER].readable);
	result_bool(r, "real_time", c->offered[1]);
	result_bool(r, "real_time_readable", c->watch[CLOCK_REAL_TIME].readable);
	if (c->khz)
		result_number(r, "counter_wraps_s", "s",
			(uint64_t)(clock_ticks_ns(c->khz, (int64_t)(c->mask >> 1)) * 2 / 1e9));
}

static void judge_device(const struct clocks *c, struct rd_probe_result *r)
{
	if (!c->offered[0] && !c->offered[1])
		result_found(r, "no_hardware_clock",
			"completions have no timestamps: frames get the time at which the program "
			"polls them");
	if (c->mask && !c->watch[CLOCK_COUNTER].readable)
		result_found(r, "clock_unreadable",
			"the counter behind the timestamps cannot be read: %s",
			c->watch[CLOCK_REAL_TIME].readable
				? "captures use the real-time clock"
				: "captures use the time at which frames are polled");
	if (c->offered[1] && !c->watch[CLOCK_REAL_TIME].readable)
		result_found(r, "real_time_unreadable",
			"the real-time clock cannot be read: captures do not use it");
	if (c->mask && c->khz && clock_ticks_ns(c->khz, (int64_t)(c->mask >> 1)) < NARROW_NS)
		result_found(r, "narrow_counter",
			"the counter wraps every %.1f s: a capture that is delayed for half of "
			"that gives frames a wrong time",
			clock_ticks_ns(c->khz, (int64_t)(c->mask >> 1)) * 2 / 1e9);
}

/* --- the clocks themselves ---------------------------------------------------------------- */

/* How captures handle a clock that is not UTC: docs/architecture.md, Timestamps. */
static void judge_offset(const struct clock_watch *w, struct rd_probe_result *r)
{
	bool set;
	int64_t offset = rd_clock_epoch_offset(-w->ahead, &set);

	if (!set)
		result_found(r, "clock_not_set",
			"the device's real-time clock differs from the system clock by %.3f s: "
			"captures "
			"do not use its time unchanged (ptp4l or phc2sys would set it)",
			(double)w->ahead / 1e9);
	else if (offset)
		result_found(r, "clock_not_utc",
			"the device's real-time clock is %lld s ahead of the system clock (TAI?), "
			"which "
			"captures correct",
			(long long)(-offset / 1000000000));
}

static void judge_real_time(struct clocks *c, struct rd_probe_result *r)
{
	struct clock_watch *w = &c->watch[CLOCK_REAL_TIME];

	if (!w->readable || !clock_watch_read(w))
		return;
	result_real(r, "real_time_ahead_ms", "ms", (double)w->ahead / 1e6);
	judge_offset(w, r);
}

/* --- timestamps --------------------------------------------------------------------------- */

static void report_counts(
	const char *name, const struct timestamp_counts *n, struct rd_probe_result *r)
{
	char step[64];

	snprintf(step, sizeof(step), "%s_error", name);
	result_errno(r, step, n->errnum);
	if (n->errnum)
		return;
	set_value(r, name, "frames", "frames", n->frames);
	set_value(r, name, "frames_sent", "frames", n->sent);
	set_value(r, name, "zero", "frames", n->zero);
	if (n->implausible_known)
		set_value(r, name, "implausible", "frames", n->implausible);
	set_value(r, name, "backwards_received", "frames", n->backwards_received);
	set_value(r, name, "backwards_sent", "frames", n->backwards_sent);
	set_value(r, name, "backwards_mixed", "frames", n->backwards_mixed);
	set_value(r, name, "most_backwards_ns", "ns", n->most_back_ns);
	set_value(r, name, "most_backwards_mixed_ns", "ns", n->most_mixed_ns);
}

/* The sums of all kinds. */
static struct timestamp_counts sum(const struct clocks *c)
{
	struct timestamp_counts all = {0};

	for (unsigned int i = 0; i < KINDS; i++) {
		const struct timestamp_counts *n = &c->counts[i];

		all.frames += n->frames;
		all.sent += n->sent;
		all.zero += n->zero;
		all.implausible += n->implausible;
		all.backwards_received += n->backwards_received;
		all.backwards_sent += n->backwards_sent;
		all.backwards_mixed += n->backwards_mixed;
		all.changes += n->changes;
		if (n->most_back_ns > all.most_back_ns)
			all.most_back_ns = n->most_back_ns;
		if (n->most_mixed_ns > all.most_mixed_ns)
			all.most_mixed_ns = n->most_mixed_ns;
	}
	return all;
}

/*
 * One wrong timestamp may look like a difference of the directions, if the next frame of its own
 * direction comes much later. Where a direction is disordered by itself, that takes more of them.
 */
static bool directions_differ(const struct timestamp_counts *n)
{
	bool disordered = n->backwards_received || n->backwards_sent;

	return n->backwards_mixed > (disordered ? n->changes / MIXED_SHARE : 0);
}

static void judge_timestamps(const struct timestamp_counts *n, struct rd_probe_result *r)
{
	const uint64_t back = n->backwards_received + n->backwards_sent;

	if (n->zero)
		result_found(r, "zero_timestamps",
			"%llu of %llu frames have no timestamp: captures give them the time of "
			"their poll",
			(unsigned long long)n->zero, (unsigned long long)n->frames);
	if (n->implausible)
		result_found(r, "implausible_timestamps",
			"%llu of %llu timestamps are times that the frame cannot have: captures "
			"report them, and order nothing by them",
			(unsigned long long)n->implausible, (unsigned long long)n->frames);
	if (back)
		result_found(r, "disordered_timestamps",
			"%llu frame%s older than one of the same direction before, by up to %.1f "
			"us: "
			"order by time is not the order of arrival",
			(unsigned long long)back, rd_plural(back), (double)n->most_back_ns / 1e3);
	if (directions_differ(n))
		result_found(r, "sent_and_received_disordered",
			"%llu frame%s older than one of the other direction before, by up to %.1f "
			"us: "
			"shorter response times than that mean nothing",
			(unsigned long long)n->backwards_mixed, rd_plural(n->backwards_mixed),
			(double)n->most_mixed_ns / 1e3);
}

/* False: no sniffer can be created. */
static bool take_all(struct rd_selftest *st, struct clocks *c, struct rd_probe_result *r)
{
	for (unsigned int i = 0; i < KINDS; i++) {
		struct timestamp_counts *n = &c->counts[i];

		if (!c->offered[i])
			continue;
		timestamps_take(st, &c->watch[kinds[i].clock], TAKE_MS, n);
		report_counts(kinds[i].name, n, r);
		if (!n->errnum)
			continue;
		if (n->step < STEP_CQ || n->step == STEP_FLOW) {
			result_failed(r, "%s: %s", sniffer_step_name(n->step), strerror(n->errnum));
			return false;
		}
		result_found(r, kinds[i].refused_key,
			"the device reports timestamps of its %s, but refuses a queue with them "
			"(%s: %s): captures use the next best clock",
			i ? "real-time clock" : "counter", sniffer_step_name(n->step),
			strerror(n->errnum));
	}
	return true;
}

static void judge(struct clocks *c, struct rd_probe_result *r)
{
	struct timestamp_counts all = sum(c);

	judge_device(c, r);
	judge_real_time(c, r);
	judge_timestamps(&all, r);
	result_value(r, "%s%s%s", c->offered[1] ? "real time" : "",
		c->offered[0] && c->offered[1] ? ", " : "",
		c->offered[0]	? "counter"
		: c->offered[1] ? ""
				: "none");
	if (!all.frames && r->outcome == RD_PROBE_PASSED)
		result_skipped(r,
			"no frame arrived, and none could be sent: the clocks are readable, but "
			"their timestamps were not seen");
	if (!all.sent || all.sent == all.frames)
		result_means(r, "timestamps are plausible and in order; %s frames were not seen",
			all.sent ? "received" : "sent");
	else
		result_means(r, "timestamps are plausible and in order");
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct clocks c = {0};
	struct rd_error err;

	if (look_up(&c, st, &err) < 0) {
		result_failed(r, "%s", err.text);
		return;
	}
	report_device(&c, r);
	if (take_all(st, &c, r))
		judge(&c, r);
	ibv_close_device(c.ctx);
}

const struct rd_probe rd_probe_clocks = {.name = "clocks",
	.question = "which clocks there are, and whether timestamps are right and in order",
	.objects = "two of each: PD, MR (2.5 MiB), CQ, QP; flow",
	.frames = 128,
	.needs = RD_PROBE_SNIFFER | RD_PROBE_SENDER,
	.run = run};
