/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lets a small ring overflow, and compares the number of missing frames with the growth of the
 * device's loss counters. A second sniffer, which is polled, shows what arrived; without traffic,
 * this program sends numbered frames.
 */
#include "numbered.h"
#include <rdmadump/clock.h>
#include <rdmadump/counters.h>
#include <rdmadump/json.h>
#include <stdlib.h>
#include <string.h>

#define VICTIM_BUFFERS	  64
#define OWN_FRAMES	  2000
#define OWN_BYTES	  128
#define BURST		  16 /* frames between two polls of the witness */
#define LAST		  64 /* frames that are lost between two readings of the counters */
#define FOREIGN_FRAMES	  1000
#define FOREIGN_MS	  1000
#define FOREIGN_MIN	  64 /* more missing frames than the edges of the measurement explain */
#define EDGE		  16 /* frames that may arrive while one flow exists and the other does not */
#define CACHED_MS	  50 /* a cache older than this is reported */
#define LIFESPAN_SLACK_MS 20

struct overload {
	struct sniffer victim, witness;
	bool has_witness, witness_full;
	struct numbered_sender sender;
	struct numbered sent;			  /* as the victim sees it */
	struct rd_counters all_before, all_after; /* all counters of the port */
	struct rd_growth *growth_of;		  /* of all_after.counter[i]; NULL: unknown */
	struct rd_loss loss;
	int sender_error, witness_error;
	uint32_t sent_frames,
		copies;		/* copies: how often the sniffer sees each frame that was sent */
	uint64_t before_victim; /* frames at the witness before the victim began; then, until */
	uint64_t arrived_least, arrived; /* ... the victim's flow was to be destroyed, and was */
	uint64_t least, most;		 /* missing frames */
	uint64_t growth_at_once, growth;
	uint64_t last_at_once, last_after; /* growth caused by the last frames */
};

/* --- frames ------------------------------------------------------------------------------- */

static void watch(struct overload *o)
{
	if (o->has_witness)
		o->witness_full |= sniffer_drain(&o->witness, NULL, NULL) >= RING_BUFFERS;
}

static void watch_ms(
	const struct rd_selftest *st, struct overload *o, unsigned int ms, uint64_t enough)
{
	uint64_t end = rd_monotonic_ns() + ms * 1000000ULL;

	while (!probe_over(st) && rd_monotonic_ns() < end && o->witness.frames < enough) {
		watch(o);
		probe_sleep_ms(st, 1);
	}
}

static bool send_frames(const struct rd_selftest *st, struct overload *o, uint32_t n)
{
	while (n && !probe_over(st)) {
		uint32_t burst = n < BURST ? n : BURST;

		if (numbered_send(st, &o->sender, o->sent_frames, burst) != burst)
			return false;
		o->sent_frames += burst;
		n -= burst;
		probe_sleep_ms(st, burst * 1000 / SEND_PER_S);
		watch(o);
	}
	return !n;
}

/* How often the victim sees an own frame; 0: the sniffer does not, or they cannot be sent. */
static void try_sender(const struct rd_selftest *st, struct overload *o)
{
	o->sender_error =
		numbered_sender_open(&o->sender, o->victim.ctx, st->port, o->sent.run, OWN_BYTES);
	if (o->sender_error)
		return;
	/* The first numbers only: the matcher waits for all that it knows. */
	o->sent.count = BURST;
	if (numbered_exchange(st, &o->sender, &o->victim, &o->sent) &&
		numbered_counts(&o->sent).never == 0)
		o->copies = (uint32_t)(o->sent.frames / BURST);
	o->sent.count = OWN_FRAMES + LAST + VICTIM_BUFFERS + BURST;
	o->sent_frames = BURST;
}

/* --- counters ----------------------------------------------------------------------------- */

static uint64_t read_loss(const struct rd_selftest *st, struct overload *o)
{
	struct rd_loss_counters now;
	uint64_t sum = 0;

	rd_loss_read("", st->device, st->port->num, &now);
	if (!o->loss.last.time_ns)
		o->loss.last = now;
	else
		rd_loss_update(&o->loss, &now, st->port->speed);
	for (unsigned int i = 0; i < o->loss.last.n; i++)
		sum += o->loss.least[i];
	return sum;
}

/* How much one of all counters grew; 0 also where that is not known. */
static uint64_t grown(const struct overload *o, size_t i)
{
	const struct rd_counter_kind *kind = o->all_after.counter[i].kind;

	return kind && kind->flags & RD_COUNTER_GAUGE ? 0 : o->growth_of[i].amount;
}

static void read_all_again(const struct rd_selftest *st, struct overload *o)
{
	struct rd_error err;

	if (rd_counters_load(&o->all_after, "", st->device, st->port, &err) == 0)
		o->growth_of = rd_counters_compare(&o->all_before, &o->all_after);
}

/* The lifetime of the kernel's counter cache plus a margin. */
static unsigned int lifespan_wait_ms(const struct overload *o)
{
	unsigned int ms = o->loss.last.lifespan_ms;

	return (ms < LIFESPAN_MOST_MS ? ms : LIFESPAN_MOST_MS) + LIFESPAN_SLACK_MS;
}

static bool was_reset(const struct rd_loss *loss)
{
	return RD_ANY(g, loss->growth, loss->last.n, g->verdict == RD_GROWTH_RESET);
}

/* --- the measurement ---------------------------------------------------------------------- */

/* The last frames are lost between two readings; the second one may be a cached value. */
static void lose_last(const struct rd_selftest *st, struct overload *o)
{
	uint64_t before;

	/* If the cache has expired, the first reading refreshes it and the second one does not. */
	watch_ms(st, o, lifespan_wait_ms(o), UINT64_MAX);
	before = read_loss(st, o);
	if (o->copies)
		send_frames(st, o, LAST);
	o->growth_at_once = read_loss(st, o);
	o->last_at_once = o->growth_at_once - before;
	watch(o);
	o->arrived_least = o->witness.frames - o->before_victim;
	sniffer_flow_destroy(&o->victim);
	watch(o);
	o->arrived = o->witness.frames - o->before_victim;
	sniffer_flow_destroy(&o->witness);
	/* The previous reading may have refreshed the cache. */
	probe_sleep_ms(st, lifespan_wait_ms(o));
	o->growth = read_loss(st, o);
	o->last_after = o->growth - before;
	read_all_again(st, o);
}

static void count_missing(struct overload *o)
{
	uint64_t received = o->victim.frames;

	while (sniffer_drain(&o->victim, numbered_look, &o->sent))
		;
	received = o->victim.frames - received;
	if (o->has_witness && !o->witness_full)
		o->most = o->arrived > received ? o->arrived - received : 0;
	else
		o->most = UINT64_MAX;
	if (o->copies)
		o->least = (uint64_t)o->copies * (o->sent_frames - BURST) - o->sent.frames;
	else if (o->most != UINT64_MAX && o->arrived_least > received + EDGE)
		o->least = o->arrived_least - received - EDGE;
}

static void measure(const struct rd_selftest *st, struct overload *o)
{
	struct rd_error err;

	try_sender(st, o);
	sniffer_drain(&o->victim, NULL, NULL);
	numbered_reset(&o->sent);
	watch(o);
	o->witness_full = false;
	o->before_victim = o->witness.frames;
	if (rd_counters_load(&o->all_before, "", st->device, st->port, &err) < 0)
		return;
	read_loss(st, o);
	if (o->copies)
		send_frames(st, o, VICTIM_BUFFERS + OWN_FRAMES);
	else if (o->has_witness)
		watch_ms(st, o, FOREIGN_MS, o->witness.frames + VICTIM_BUFFERS + FOREIGN_FRAMES);
	lose_last(st, o);
	count_missing(o);
}

/* --- the result --------------------------------------------------------------------------- */

static void report(struct rd_probe_result *r, const struct overload *o)
{
	const struct rd_loss *loss = &o->loss;
	json_t *moved = json_object();

	result_json(r, "loss_counters",
		RD_JSON_LIST(c, loss->last.counter, loss->last.n, json_string(c->name)));
	result_errno(r, "sender_error", o->sender_error);
	result_errno(r, "witness_error", o->witness_error);
	result_number(r, "own_frames", "frames", o->copies ? o->sent_frames : 0);
	result_number(r, "copies_of_own", "", o->copies);
	result_number(r, "missing_least", "frames", o->least);
	if (o->most != UINT64_MAX)
		result_number(r, "missing_most", "frames", o->most);
	result_number(r, "growth_at_once", "frames", o->growth_at_once);
	result_number(r, "growth", "frames", o->growth);
	result_number(r, "last_growth_at_once", "frames", o->last_at_once);
	result_number(r, "last_growth", "frames", o->last_after);
	result_number(r, "lifespan_ms", "ms", loss->last.lifespan_ms);
	for (size_t i = 0; o->growth_of && i < o->all_after.n; i++)
		if (grown(o, i))
			json_object_set_new(
				moved, o->all_after.counter[i].name, rd_json_u64(grown(o, i)));
	result_json(r, "moved", moved);
}

/*
 * Names other counters that grew by about as much: those of loss, and unknown ones, since counters
 * of all traffic grow by as much as frames are sent.
 */
static void others(const struct overload *o, char *text, size_t size)
{
	uint64_t least = o->least - o->least / 4;
	uint64_t most = o->most < UINT64_MAX / 2 ? o->most + o->most / 4 : o->least + o->least / 4;
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; o->growth_of && i < o->all_after.n && used < size; i++) {
		const struct rd_counter *c = &o->all_after.counter[i];
		uint64_t n = grown(o, i);

		if (n && n >= least && n <= most &&
			(!c->kind || c->kind->severity >= RD_SEV_WARNING))
			used += (size_t)snprintf(text + used, size - used, "%s%s %llu",
				used ? ", " : "; by about as much grew ", c->name,
				(unsigned long long)n);
	}
}

static void judge_growth(struct rd_probe_result *r, const struct overload *o)
{
	unsigned long long least = o->least, growth = o->growth;
	char also[260];

	others(o, also, sizeof(also));
	if (!o->loss.last.n)
		result_found(r, "no_loss_counter",
			"no counter of this device is known to count lost frames, so captures "
			"cannot say how many they miss%s",
			also);
	else if (was_reset(&o->loss))
		result_found(r, "counter_reset",
			"the counter of lost frames was reset meanwhile: after that captures know "
			"their loss only as 'at least'");
	else if (!o->growth)
		result_found(r, "loss_not_counted",
			"frames missing: %llu, and %s did not grow: captures say that nothing is "
			"lost where frames are%s",
			least, o->loss.last.counter[0].name, also);
	else if (o->growth < o->least)
		result_found(r, "loss_counted_in_part",
			"frames missing: %llu, and the counter grew by %llu: captures miss more "
			"than they say%s",
			least, growth, also);
	else if (o->most != UINT64_MAX && o->growth > o->most + o->most / 4 + EDGE)
		result_found(r, "more_counted",
			"frames missing: %llu, and the counter grew by %llu: it counts what "
			"others lose, too",
			(unsigned long long)o->most, growth);
}

static void judge(struct rd_probe_result *r, const struct overload *o)
{
	unsigned int lifespan = o->loss.last.lifespan_ms;

	if (o->victim.errors || o->witness.errors) {
		result_skipped(r,
			"a queue failed meanwhile (%s), so that frames are missing for that reason",
			ibv_wc_status_str(
				(enum ibv_wc_status)(o->victim.errors ? o->victim.last_status
								      : o->witness.last_status)));
		return;
	}
	if (o->least < FOREIGN_MIN) {
		result_skipped(r, "too few frames arrived to fill a ring: %s",
			o->sender_error ? strerror(o->sender_error)
					: "the sniffer does not show what is sent, and there is "
					  "too little traffic");
		return;
	}
	result_value(r, "%s%llu lost, %llu counted", o->most - o->least > EDGE ? ">= " : "",
		(unsigned long long)o->least, (unsigned long long)o->growth);
	if (was_reset(&o->loss))
		result_value(r, "counter reset");
	judge_growth(r, o);
	if (o->copies && o->last_at_once < LAST && o->last_after >= LAST && lifespan > CACHED_MS)
		result_found(r, "counters_cached",
			"the last lost frames are counted up to %u ms later: read the counters "
			"again after that time",
			lifespan);
	result_means(r, "captures can rely on the counter of lost frames");
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	const struct sniffer_shape small = {.buffers = VICTIM_BUFFERS};
	struct overload o = {.most = UINT64_MAX};

	if (sniffer_begin(&o.victim, st, r, &small) == 0 &&
		numbered_init(&o.sent, OWN_FRAMES + LAST + VICTIM_BUFFERS + BURST) == 0) {
		o.witness_error = sniffer_start(&o.witness, st, o.victim.ctx, NULL);
		o.has_witness = !o.witness_error;
		measure(st, &o);
		report(r, &o);
		judge(r, &o);
	}
	queue_pair_close(&o.sender.q);
	sniffer_close(&o.witness);
	sniffer_close(&o.victim);
	numbered_free(&o.sent);
	rd_counters_free(&o.all_before);
	rd_counters_free(&o.all_after);
	free(o.growth_of);
}

const struct rd_probe rd_probe_overload = {.name = "overload",
	.question = "whether the counters say how many frames a full ring lost",
	.objects = "two of each: PD, MR, CQ, QP; two flows; a QP that sends",
	.frames = BURST + VICTIM_BUFFERS + OWN_FRAMES + LAST,
	.needs = RD_PROBE_SNIFFER | RD_PROBE_SENDER,
	.run = run};
