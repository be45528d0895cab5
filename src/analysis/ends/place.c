/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which of two captures a packet passes first. Proofs are a TTL that decreases, the direction that
 * a capture stores, and times: of two packets in opposite directions at almost the same time, the
 * distance of the one from A is larger, whatever the offset of the clocks is.
 */
#include "ends.h"
#include <stdlib.h>

#define NEAR_NS	    ((int64_t)1000000000) /* beyond it clocks may have been set */
#define DRIFT_PARTS 2000		  /* more than two clocks differ: 500 ppm */
#define MAJORITY    8			  /* times may jitter by more than the delay */
#define MANY	    32			  /* of these, even if times jitter alike at one place */
#define SOME	    8			  /* if they also differ by more than times jitter */

/* One that jitters decides all votes that compare with it: more than one would not be chance. */
static void note_time(struct order_votes *v, enum rd_tap first, int64_t difference)
{
	v->time[first]++;
	if (!v->least[first] || difference < v->least[first])
		v->least[first] = difference;
}

void place_note(
	const struct rd_ends *e, struct path *p, const struct entry *const at[RD_TAPS], bool proven)
{
	const int64_t t = at[RD_TAP_A]->t, distance = at[RD_TAP_B]->t - t;
	struct path *r = p->reverse;

	if (at[RD_TAP_A]->ttl != at[RD_TAP_B]->ttl)
		p->votes.ttl[at[RD_TAP_A]->ttl > at[RD_TAP_B]->ttl ? RD_TAP_A : RD_TAP_B]++;
	if (!proven)
		return;
	if (r && r != p && r->has_last && !r->compared && llabs(t - r->last_t) < NEAR_NS) {
		/* A timestamp is too low by less than a step of its clock. */
		int64_t noise = llabs(t - r->last_t) / DRIFT_PARTS +
				clock_step(&e->pending[RD_TAP_A]) +
				clock_step(&e->pending[RD_TAP_B]);

		if (llabs(distance - r->last) > noise)
			note_time(&p->votes, distance > r->last ? RD_TAP_A : RD_TAP_B,
				llabs(distance - r->last));
		r->compared = true;
	}
	p->has_last = true;
	p->compared = false;
	p->last_t = t;
	p->last = distance;
}

/* Whether one side has nearly all votes; which one, in *tap. */
static bool decided(uint64_t for_a, uint64_t for_b, uint64_t majority, enum rd_tap *tap)
{
	*tap = for_b > for_a ? RD_TAP_B : RD_TAP_A;
	return for_a != for_b &&
	       (for_a > for_b ? for_a : for_b) > majority * (for_a > for_b ? for_b : for_a);
}

/*
 * A capture that marks frames as sent by its host is at the sender; so may the other one be, unless
 * it marks them as received.
 */
static bool by_marks(const struct path *p, enum rd_tap *tap)
{
	return decided(p->frames_out[RD_TAP_A], p->frames_out[RD_TAP_B], MAJORITY, tap) &&
	       !p->frames_out[!*tap] && p->frames_in[!*tap];
}

/* By how much the distances of packets differ, as far as times show it; INT64_MAX: unknown. */
static int64_t spread(const struct path *p)
{
	const struct rd_latency above = hist_result(p->d.above);

	return above.n < 2 ? INT64_MAX : (int64_t)above.max;
}

/* Whether the least difference that shows an order is more than times may jitter. */
static bool exceeds_jitter(const struct path *p, const struct path *reverse, enum rd_tap tap)
{
	const int64_t x = p->votes.least[tap], y = reverse->votes.least[!tap];
	const int64_t here = spread(p), there = spread(reverse);

	return (x && (x < y || !y) ? x : y) > (here < there ? here : there);
}

/*
 * At one place the times of both directions jitter alike, by no more than those of either differ.
 * Then all of a few votes may be the same by chance.
 */
static bool by_times(const struct path *p, const struct path *reverse, enum rd_tap *tap)
{
	const struct order_votes *v = &p->votes, *r = &reverse->votes;
	const uint64_t first[RD_TAPS] = {
		v->time[RD_TAP_A] + r->time[RD_TAP_B], v->time[RD_TAP_B] + r->time[RD_TAP_A]};

	if (!decided(first[RD_TAP_A], first[RD_TAP_B], MAJORITY, tap))
		return false;
	return first[*tap] >= MANY || (first[*tap] >= SOME && exceeds_jitter(p, reverse, *tap));
}

static bool by_packets(const struct path *p, enum rd_tap *tap)
{
	const struct path *r = p->reverse;

	if (r == p)
		return false;
	if (decided(p->votes.ttl[RD_TAP_A], p->votes.ttl[RD_TAP_B], MAJORITY, tap))
		return true;
	if (r && decided(r->votes.ttl[RD_TAP_B], r->votes.ttl[RD_TAP_A], MAJORITY, tap))
		return true;
	return by_marks(p, tap) || (r && by_times(p, r, tap));
}

/* Delays have a sharp minimum and a long tail; lost packets are more frequent than missed ones. */
static enum rd_tap guess(const struct rd_ends *e, const struct path *p)
{
	uint64_t only[RD_TAPS] = {0};

	for (size_t i = 0; i < PATH_QP_SLOTS; i++)
		if (e->qps[i] && e->qps[i]->path == p)
			for (int end = 0; end < RD_TAPS; end++)
				only[end] += e->qps[i]->only[end].count;
	if (only[RD_TAP_A] != only[RD_TAP_B])
		return only[RD_TAP_B] > only[RD_TAP_A] ? RD_TAP_B : RD_TAP_A;
	return hist_result(p->d.above).p50 > hist_result(p->d.below).p50 ? RD_TAP_B : RD_TAP_A;
}

/* The end at which an address is, by the paths whose sender is known; RD_TAPS: unknown. */
static enum rd_tap end_of(const struct rd_ends *e, unsigned int net, const uint8_t *address)
{
	for (size_t i = 0; i < e->n_paths; i++) {
		const struct path *p = e->paths[i];

		if (!p->sender_known || p->net != net)
			continue;
		if (!memcmp(p->src, address, sizeof(p->src)))
			return p->sender;
		if (!memcmp(p->dst, address, sizeof(p->dst)))
			return !p->sender;
	}
	return RD_TAPS;
}

void place_senders(struct rd_ends *e)
{
	for (size_t i = 0; i < e->n_paths; i++) {
		struct path *p = e->paths[i];

		p->sender_known = p->d.n && by_packets(p, &p->sender);
	}
	for (size_t i = 0; i < e->n_paths; i++) {
		struct path *p = e->paths[i];
		enum rd_tap src, dst;

		p->between = p->d.n > 0;
		if (p->sender_known)
			continue;
		src = end_of(e, p->net, p->src);
		dst = end_of(e, p->net, p->dst);
		if (src != RD_TAPS && dst != RD_TAPS && src != dst) {
			p->sender = src;
			p->between = true;
		} else if (p->d.n) {
			p->sender = src != RD_TAPS   ? src
				    : dst != RD_TAPS ? (enum rd_tap) !dst
						     : guess(e, p);
			continue;
		}
		p->sender_known = p->between;
	}
}
