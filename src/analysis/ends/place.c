/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which of two captures a packet passes first, as a TTL that decreases shows it, the direction that
 * a capture stores, and times: of two packets in opposite directions at almost the same time, the
 * distance of the one from A is larger, whatever the offset of the clocks is.
 */
#include "ends.h"
#include <stdlib.h>

#define NEAR_NS	    ((int64_t)1000000000) /* beyond it clocks may have been set */
#define DRIFT_PARTS 2000		  /* more than two clocks differ: 500 ppm */
#define HOPS_MAX    32			  /* a TTL that differs by more was set on the way */
#define MAJORITY    8			  /* times may jitter by more than the delay */
#define MANY	    32			  /* of these, even if times jitter alike at one place */
#define SOME	    8			  /* if they also differ by more than times jitter */
#define AT_ONCE_NS  ((int64_t)256)	  /* no receiver responds so soon */
#define SQUEEZED    4			  /* one in this many votes */

/*
 * Whether two packets in opposite directions, next to each other in both captures, are further
 * apart in one of them, and have nearly the same time in the other one: a driver that takes frames
 * in bursts stamps them so.
 */
static bool is_squeezed(const struct path *r, const struct entry *const at[RD_TAPS])
{
	int64_t least = INT64_MAX;

	for (int end = 0; end < RD_TAPS; end++) {
		const int64_t since =
			at[end]->t - (end == RD_TAP_A ? r->last_t : r->last_t + r->last);

		if (at[end]->frame != r->last_frame[end] + 1 || since < 0)
			return false;
		least = since < least ? since : least;
	}
	return least < AT_ONCE_NS;
}

/*
 * Compares a packet with the one of the reverse path before. One that jitters decides all votes
 * that compare with it: more than one would not be chance.
 */
static void note_time(const struct rd_ends *e, struct path *p, const struct path *r,
	const struct entry *const at[RD_TAPS])
{
	const int64_t since = llabs(at[RD_TAP_A]->t - r->last_t);
	const int64_t distance = at[RD_TAP_B]->t - at[RD_TAP_A]->t;
	const int64_t difference = llabs(distance - r->last);
	/* A timestamp is too low by less than a step of its clock. */
	const int64_t noise = since / DRIFT_PARTS + clock_step(&e->pending[RD_TAP_A].clock) +
			      clock_step(&e->pending[RD_TAP_B].clock);
	const enum rd_tap first = distance > r->last ? RD_TAP_A : RD_TAP_B;
	struct order_votes *v = &p->votes;

	if (since >= NEAR_NS || difference <= noise)
		return;
	v->most[first] = RD_MAX(v->most[first], difference);
	if (r->compared)
		return;
	v->time[first]++;
	v->squeezed += is_squeezed(r, at);
	if (!v->least[first] || difference < v->least[first])
		v->least[first] = difference;
}

void place_note(
	const struct rd_ends *e, struct path *p, const struct entry *const at[RD_TAPS], bool proven)
{
	const int64_t t = at[RD_TAP_A]->t;
	struct path *r = p->reverse;

	if (at[RD_TAP_A]->ttl != at[RD_TAP_B]->ttl &&
		abs(at[RD_TAP_A]->ttl - at[RD_TAP_B]->ttl) <= HOPS_MAX)
		p->votes.ttl[at[RD_TAP_A]->ttl > at[RD_TAP_B]->ttl ? RD_TAP_A : RD_TAP_B]++;
	if (!proven)
		return;
	if (r && r != p && r->has_last) {
		note_time(e, p, r, at);
		r->compared |= llabs(t - r->last_t) < NEAR_NS;
	}
	p->has_last = true;
	p->compared = false;
	p->last_t = t;
	p->last = at[RD_TAP_B]->t - t;
	for (int end = 0; end < RD_TAPS; end++)
		p->last_frame[end] = at[end]->frame;
}

/* The capture that has nearly all votes; RD_TAPS: none has. */
static enum rd_tap decided(uint64_t for_a, uint64_t for_b)
{
	const uint64_t most = for_a > for_b ? for_a : for_b;

	if (most <= MAJORITY * (for_a > for_b ? for_b : for_a))
		return RD_TAPS;
	return for_b > for_a ? RD_TAP_B : RD_TAP_A;
}

/*
 * A capture that marks frames as sent by its host is at the sender; so may the other one be, unless
 * it marks them as received.
 */
static enum rd_tap by_marks(const struct path *p)
{
	const enum rd_tap tap = decided(p->frames_out[RD_TAP_A], p->frames_out[RD_TAP_B]);

	return tap != RD_TAPS && !p->frames_out[!tap] && p->frames_in[!tap] ? tap : RD_TAPS;
}

/*
 * Both directions must show the same one: a device may set the TTL of what it forwards. Routers
 * decrease it both ways, so that one direction is enough only if the other one has no packets.
 */
static enum rd_tap by_ttl(const struct path *p)
{
	const struct path *r = p->reverse;
	const enum rd_tap here = decided(p->votes.ttl[RD_TAP_A], p->votes.ttl[RD_TAP_B]);
	const enum rd_tap there =
		r ? decided(r->votes.ttl[RD_TAP_B], r->votes.ttl[RD_TAP_A]) : RD_TAPS;

	if (!r || !r->d.n)
		return here;
	return here == there ? here : RD_TAPS;
}

/* By how much the distances of packets differ, as far as times show it; INT64_MAX: unknown. */
static int64_t spread(const struct path *p)
{
	const struct rd_latency above = hist_result(p->d.delays[RD_TAP_A].hist);

	return above.n < 2 ? INT64_MAX : (int64_t)above.max;
}

/* The least difference of both directions that shows this order; 0: none does. */
static int64_t least_of(const struct path *p, enum rd_tap tap)
{
	const int64_t x = p->votes.least[tap], y = p->reverse->votes.least[!tap];

	return x && (x < y || !y) ? x : y;
}

/* Whether that is more than times may jitter. */
static bool exceeds_jitter(const struct path *p, const struct path *reverse, enum rd_tap tap)
{
	const int64_t here = spread(p), there = spread(reverse);

	return least_of(p, tap) > (here < there ? here : there);
}

/*
 * Whether the times of a capture that stamps frames in bursts may show an order at one place: it
 * has packets of opposite directions at once, or some times show the other order.
 */
static bool may_be_bursts(const struct rd_ends *e, const struct path *p, enum rd_tap tap)
{
	const struct order_votes *v = &p->votes, *w = &p->reverse->votes;
	const int64_t least = least_of(p, tap);

	if ((v->squeezed + w->squeezed) * SQUEEZED >= v->time[tap] + w->time[!tap])
		return true;
	return (has_bursts(&e->pending[RD_TAP_A].clock) ||
		       has_bursts(&e->pending[RD_TAP_B].clock)) &&
	       (v->most[!tap] >= least || w->most[tap] >= least);
}

/*
 * What the times of both directions show, and whether they prove it: at one place they jitter
 * alike, by no more than those of either differ, and all of a few may agree by chance.
 */
static enum rd_tap by_times(const struct rd_ends *e, const struct path *p, bool *proven)
{
	const struct path *r = p->reverse;
	const struct order_votes *v = &p->votes;
	uint64_t first[RD_TAPS];
	enum rd_tap tap;

	*proven = false;
	if (!r)
		return RD_TAPS;
	first[RD_TAP_A] = v->time[RD_TAP_A] + r->votes.time[RD_TAP_B];
	first[RD_TAP_B] = v->time[RD_TAP_B] + r->votes.time[RD_TAP_A];
	tap = decided(first[RD_TAP_A], first[RD_TAP_B]);
	*proven = tap != RD_TAPS && !may_be_bursts(e, p, tap) &&
		  (first[tap] >= MANY || (first[tap] >= SOME && exceeds_jitter(p, r, tap)));
	return tap;
}

/* The capture that these packets pass first, if nothing shows another one; RD_TAPS: unknown. */
static enum rd_tap by_packets(const struct rd_ends *e, const struct path *p)
{
	const enum rd_tap marks = by_marks(p), ttl = by_ttl(p);
	enum rd_tap times;
	bool proven;

	if (p->reverse == p || marks != RD_TAPS)
		return p->reverse == p ? RD_TAPS : marks;
	times = by_times(e, p, &proven);
	if (ttl == RD_TAPS)
		return proven ? times : RD_TAPS;
	return times == RD_TAPS || times == ttl ? ttl : RD_TAPS;
}

/* Delays have a sharp minimum and a long tail; lost packets are more frequent than missed ones. */
static enum rd_tap guess(const struct rd_ends *e, const struct path *p)
{
	uint64_t only[RD_TAPS] = {0};

	for (size_t i = 0; i < e->n_slots; i++)
		if (e->qps[i] && e->qps[i]->path == p)
			for (int end = 0; end < RD_TAPS; end++)
				only[end] += e->qps[i]->only[end].count;
	if (only[RD_TAP_A] != only[RD_TAP_B])
		return only[RD_TAP_B] > only[RD_TAP_A] ? RD_TAP_B : RD_TAP_A;
	return hist_result(p->d.delays[RD_TAP_A].hist).p50 >
			       hist_result(p->d.delays[RD_TAP_B].hist).p50
		       ? RD_TAP_B
		       : RD_TAP_A;
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

		const enum rd_tap first = p->d.n ? by_packets(e, p) : RD_TAPS;

		p->sender_known = first != RD_TAPS;
		p->sender = p->sender_known ? first : p->sender;
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
