/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Congestion control as the capture point sees it (IBTA annex A17.9.3; DCQCN): how long after a
 * marked packet the receiver's CNP follows, and what the sender's rate is before and after it.
 */
#include "congestion.h"
#include "state.h"
#include <stdlib.h>

#define IDLE_NS (10 * RATE_SLOT_NS) /* a sender without packets for longer has no rate */
/*
 * Without marks and CNPs for so long, the next mark is the cause of the next CNP: receivers wait
 * between CNPs, and send those of earlier marks late. At the start of a flow less is enough.
 */
#define QUIET_NS     UINT64_C(1000000)
#define START_NS     UINT64_C(20000)
#define RECOVERED(r) ((r) / 10 * 9)
#define BEFORE_MIN   (RATE_SLOT_NS / 4) /* a rate needs a time that is not too short */
#define RATE_MAX     1e15

static struct congestion *congestion_of(struct rd_analysis *a, struct flow *f)
{
	if (!f->congestion)
		f->congestion = must(a, calloc(1, sizeof(*f->congestion)));
	return f->congestion;
}

static void sample(struct rd_analysis *a, struct hist **h, uint64_t since, uint64_t ns)
{
	if (ns >= since && !hist_add(h, ns - since))
		a->out_of_memory = true;
}

/* --- rates ------------------------------------------------------------------------------------ */

static uint64_t bit_rate(uint64_t bytes, uint64_t ns)
{
	double rate = (double)bytes * 8e9 / (double)ns;

	return (uint64_t)(rate < RATE_MAX ? rate : RATE_MAX);
}

/* The rate up to now, of the current slot and the one before it; 0: unknown. */
static uint64_t rate_now(const struct flow *f, uint64_t ns)
{
	const struct flow_rate *r = &f->rate;
	uint64_t length = ns - r->since_ns + r->last_ns;

	if (!r->since_ns || ns < r->since_ns || length < BEFORE_MIN || length > IDLE_NS)
		return 0;
	return bit_rate(f->traffic.wire_bytes - r->since_bytes + r->last_bytes, length);
}

/* The rates of an episode, as far as they are known, and its end. */
static void episode_end(struct congestion *c)
{
	if (c->begin_ns && c->lowest != UINT64_MAX) {
		c->episodes++;
		c->before_sum += (double)c->before;
		c->lowest_sum += (double)c->lowest;
	}
	c->begin_ns = 0;
}

/* The rate of a whole slot within an episode. */
static void episode_rate(struct rd_analysis *a, struct congestion *c, uint64_t rate, uint64_t ns)
{
	bool fell = c->lowest != UINT64_MAX && c->lowest < RECOVERED(c->before);

	c->lowest = RD_MIN(c->lowest, rate);
	if (rate < RECOVERED(c->before))
		return;
	if (fell)
		sample(a, &c->recovery, c->cnp_ns, ns);
	episode_end(c);
}

void rate_slot(struct rd_analysis *a, struct flow *f, uint64_t ns)
{
	const struct flow_rate was = f->rate;
	uint64_t length = ns - was.since_ns, bytes = f->traffic.wire_bytes - was.since_bytes;
	struct congestion *c = f->congestion;
	/* Earlier than the slot: `length` is huge. */
	bool idle = !was.since_ns || length > IDLE_NS || bytes > UINT32_MAX;

	f->rate = (struct flow_rate){.since_ns = ns, .since_bytes = f->traffic.wire_bytes};
	if (!idle) {
		f->rate.last_ns = (uint32_t)length;
		f->rate.last_bytes = (uint32_t)bytes;
	}
	if (!c || !c->begin_ns || !was.since_ns)
		return;
	if (idle)
		episode_end(c);
	else
		episode_rate(a, c, bit_rate(bytes, length), ns);
}

/* --- marks and notifications ------------------------------------------------------------------ */

static bool is_quiet(const struct congestion *c, const struct flow *f, uint64_t ns)
{
	uint64_t last = c->mark_ns > c->cnp_ns ? c->mark_ns : c->cnp_ns;

	return last ? ns >= last + QUIET_NS : ns >= f->traffic.first_ns + START_NS;
}

void congestion_marked(struct rd_analysis *a, struct flow *f)
{
	struct congestion *c = congestion_of(a, f);

	if (!c)
		return;
	if (!c->marked_ns && is_quiet(c, f, a->ns))
		c->marked_ns = a->ns;
	c->mark_ns = a->ns;
}

void congestion_notified(struct rd_analysis *a, struct flow *f)
{
	struct congestion *c = congestion_of(a, f);
	uint64_t before = rate_now(f, a->ns);

	if (!c)
		return;
	if (c->marked_ns)
		sample(a, &c->reaction, c->marked_ns, a->ns);
	if (c->cnp_ns)
		sample(a, &c->interval, c->cnp_ns, a->ns);
	c->marked_ns = 0;
	c->cnp_ns = a->ns;
	if (c->begin_ns || !before)
		return;
	c->begin_ns = a->ns;
	c->before = before;
	c->lowest = UINT64_MAX;
	f->rate.since_ns = 0; /* the next packet begins a slot */
}

/* --- the result ------------------------------------------------------------------------------- */

bool congestion_result(struct rd_congestion **out, const struct flow *f)
{
	struct congestion *c = f->congestion;
	struct rd_congestion *r;

	if (!c)
		return true;
	r = calloc(1, sizeof(*r));
	if (!r)
		return false;
	episode_end(c);
	r->reaction = hist_result(c->reaction);
	r->interval = hist_result(c->interval);
	r->recovery = hist_result(c->recovery);
	r->episodes = c->episodes;
	if (c->episodes) {
		r->rate_before = (uint64_t)(c->before_sum / (double)c->episodes);
		r->rate_after = (uint64_t)(c->lowest_sum / (double)c->episodes);
	}
	*out = r;
	return true;
}

void congestion_free(struct congestion *c)
{
	if (!c)
		return;
	free(c->reaction);
	free(c->interval);
	free(c->recovery);
	free(c);
}
