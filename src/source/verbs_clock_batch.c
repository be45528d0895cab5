/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Converts the timestamps of a batch. A device's timestamps need not be in order: received frames
 * and copies of sent ones are timestamped at different places. They stay as they are; what is
 * impossible is marked, so that nothing is ordered by it.
 */
#include "verbs_clock.h"
#include <stdlib.h>

#define SLACK_NS      1000000U /* between a frame's timestamp and its completion */
#define DRIFT_PARTS   5000     /* 200 ppm: what two clocks may drift apart */
#define WIRE_OVERHEAD 24       /* bytes around an Ethernet frame: preamble, FCS, gap */
/* A timestamp this far from any time that the frame can have is implausible. */
#define IMPLAUSIBLE_NS 1000000000U
#define EARLY_NS       8000000U /* ahead of the host's clock by more: look at the clock again */

/* --- what is unusual ---------------------------------------------------------------------- */

static uint64_t real_time(const struct verbs_clock *c, uint64_t raw, uint64_t now)
{
	int format = atomic_load_explicit(&c->format, memory_order_relaxed);

	if (format == FORMAT_UNKNOWN)
		return rd_clock_real_time_ns(raw, now);
	return format == FORMAT_SPLIT ? (raw >> 32) * 1000000000U + (uint32_t)raw : raw;
}

static uint64_t device_ns(
	const struct verbs_clock *c, const struct verbs_stamps *s, uint64_t raw, uint64_t now)
{
	return c->kind->stamp == verbs_stamp_real_time ? real_time(c, raw, now)
						       : clock_map_ns(&s->map, raw);
}

static bool plausible(const struct verbs_stamps *s, uint64_t ns, uint64_t now)
{
	return (int64_t)(ns - now) <= IMPLAUSIBLE_NS && (int64_t)(s->last - ns) <= IMPLAUSIBLE_NS;
}

/* Reads the clock again if the frame suggests that it was set. */
static void look_again(struct verbs_clock *c, struct verbs_stamps *s, uint64_t ns, uint64_t now)
{
	if ((int64_t)(ns - now) > EARLY_NS || (int64_t)(s->last - ns) > EARLY_NS)
		verbs_clock_recheck(c, s, now);
}

/*
 * A timestamp that is 0, ahead of the host's clock or older than the one before it. Returns it in
 * ns; `last` grows only by plausible timestamps.
 */
static __attribute__((noinline)) uint64_t unusual(struct verbs_clock *c, struct verbs_stamps *s,
	struct rd_frame *f, uint64_t now, uint64_t *last)
{
	uint64_t raw = f->ts_ns, ns, former;

	s->disordered = true;
	if (!raw) {
		f->flags |= RD_FRAME_NO_TIME;
		return now;
	}
	s->last = *last;
	look_again(c, s, device_ns(c, s, raw, now) + (uint64_t)s->offset, now);
	ns = device_ns(c, s, raw, now) + (uint64_t)s->offset;
	former = ns + (uint64_t)(s->former - s->offset);
	if (!plausible(s, ns, now) && plausible(s, former, now))
		ns = former; /* from before the step */
	else if (!plausible(s, ns, now))
		f->flags |= RD_FRAME_BAD_TIME;
	if (!(f->flags & RD_FRAME_BAD_TIME) && ns > *last)
		*last = ns;
	return ns;
}

static void batch_begin(struct verbs_clock *c, struct verbs_stamps *s, uint64_t now)
{
	s->disordered = false;
	verbs_clock_keep_fresh(c, s, now);
	if (!s->last)
		s->last = c->start;
}

/* --- ticks ------------------------------------------------------------------------------ */

void verbs_stamp_fit(
	struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames, unsigned int n)
{
	uint64_t now = rd_clock_now(&c->host), most, last;

	batch_begin(c, s, now);
	most = now + EARLY_NS; /* a later timestamp is checked by unusual() */
	last = s->last;
	for (struct rd_frame *f = frames, *end = frames + n; f != end; f++) {
		uint64_t ns = clock_map_ns(&s->map, f->ts_ns);

		if (__builtin_expect(ns < last || ns > most, 0))
			ns = unusual(c, s, f, now, &last);
		else
			last = ns;
		f->ts_ns = ns;
	}
	s->last = last;
}

uint64_t verbs_watermark_fit(struct verbs_clock *c, struct verbs_stamps *s)
{
	uint64_t now = rd_clock_now(&c->host);

	(void)s;
	return now > SLACK_NS ? now - SLACK_NS : 0;
}

/* --- a time of day in the completion ---------------------------------------------------- */

/*
 * Seconds and nanoseconds in a word, or plain ns: it depends on the library. One timestamp near
 * the time decides it; until then each is taken for what it more likely is.
 */
static void recognize_format(
	struct verbs_clock *c, const struct rd_frame *frames, unsigned int n, uint64_t now)
{
	for (unsigned int i = 0; i < n; i++) {
		uint64_t raw = frames[i].ts_ns, ns = rd_clock_real_time_ns(raw, now);

		if (llabs((int64_t)(now - ns)) < 120 * INT64_C(1000000000)) {
			c->format = ns == raw ? FORMAT_NS : FORMAT_SPLIT;
			return;
		}
	}
}

static inline uint64_t split_ns(uint64_t raw)
{
	return (raw >> 32) * 1000000000U + (uint32_t)raw;
}

void verbs_stamp_real_time(
	struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames, unsigned int n)
{
	uint64_t now = rd_clock_now(&c->host), most, last;
	bool split;

	batch_begin(c, s, now);
	if (c->format == FORMAT_UNKNOWN)
		recognize_format(c, frames, n, now);
	most = now + EARLY_NS; /* a later timestamp is checked by unusual() */
	last = s->last;
	split = c->format == FORMAT_SPLIT ||
		(c->format == FORMAT_UNKNOWN &&
			rd_clock_real_time_ns(frames[0].ts_ns, now) != frames[0].ts_ns);
	for (struct rd_frame *f = frames, *end = frames + n; f != end; f++) {
		uint64_t ns = (split ? split_ns(f->ts_ns) : f->ts_ns) + (uint64_t)s->offset;

		if (__builtin_expect(ns < last || ns > most, 0))
			ns = unusual(c, s, f, now, &last);
		else
			last = ns;
		f->ts_ns = ns;
	}
	s->last = last;
}

/* 0 until the clock was read. */
uint64_t verbs_watermark_real_time(struct verbs_clock *c, struct verbs_stamps *s)
{
	uint64_t at = atomic_load_explicit(&c->skew_at, memory_order_acquire);
	uint64_t now = rd_clock_now(&c->host);
	int64_t skew = atomic_load_explicit(&c->skew, memory_order_relaxed);

	(void)s;
	return at ? now - (uint64_t)(skew + (int64_t)((now - at) / DRIFT_PARTS)) - SLACK_NS : 0;
}

/* --- no clock but the host's ------------------------------------------------------------ */

/*
 * Frames of a batch came one after the other, the last one not after the batch was polled: they
 * cannot be nearer to each other than the port's speed allows.
 */
void verbs_stamp_host(
	struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames, unsigned int n)
{
	const uint64_t now = rd_clock_now(&c->host), last = s->last;
	const uint64_t per_byte = (uint64_t)c->back_per_byte;
	uint64_t bytes_after = 0;

#pragma GCC unroll 8
	for (struct rd_frame *f = frames + n; f-- != frames;) {
		f->ts_ns = now + (uint64_t)((int64_t)(bytes_after * per_byte) >> 32);
		bytes_after += (uint64_t)f->len + WIRE_OVERHEAD;
	}
	for (struct rd_frame *f = frames; f != frames + n && f->ts_ns < last; f++)
		f->ts_ns = last;
	s->last = frames[n - 1].ts_ns;
}

uint64_t verbs_watermark_host(struct verbs_clock *c, struct verbs_stamps *s)
{
	uint64_t now = rd_clock_now(&c->host);

	s->last = now > s->last ? now : s->last;
	return s->last;
}
