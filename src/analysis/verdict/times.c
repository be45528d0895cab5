/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who is slow: what the time between the frames of requests and responses was spent on, and which
 * conversations take far longer than their equals.
 */
#include "../model/round.h"
#include "../rules/rules.h"
#include "verdict.h"
#include <stdlib.h>

#define EQUALS	    4  /* conversations, before one of them can stand out */
#define SAMPLES	    8  /* responses of each */
#define SLOWER	    4  /* times the median of all */
#define TIME_PART   8  /* the least part of the common time of equals */
#define RATE_SLOWER 10 /* a sender at less than this part of the link's rate is slow */

const char *const rd_time_keys[RD_TIME_COUNT] = {
	"idle", "reply", "sending", "waiting", "receiving", "not_ready", "recovery"};

bool are_responses_cut(const struct rd_conversation *c, unsigned int side)
{
	const struct rd_side *s = &c->side[side];

	return s->requests && !s->acks && !s->read_responses &&
	       rd_side_incident(&c->side[!side], RD_INC_CUT)->count;
}

/* The side of a conversation that most requests belong to; NULL: their time is unknown. */
static const struct rd_side *busier_side(const struct rd_conversation *c, unsigned int *side)
{
	const struct rd_side *s;

	*side = c->side[1].requests > c->side[0].requests;
	s = &c->side[*side];
	return s->times && c->side[!*side].seen && !are_responses_cut(c, *side) ? s : NULL;
}

static uint64_t time_sum(const struct rd_times *t)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < RD_TIME_COUNT; i++)
		sum += t->ns[i];
	return sum;
}

/* The places that may have caused the largest part of a side's time. */
static unsigned int places_of_time(enum rd_time what, enum tap tap, bool long_pauses)
{
	switch (what) {
	case RD_TIME_IDLE:
		/* A request that was lost before it was captured looks idle, too. */
		return long_pauses || tap == TAP_SENDER
			       ? RD_PLACE_SENDER_HOST
			       : RD_PLACE_SENDER_HOST | RD_PLACE_SENDER_NIC | RD_PLACE_FABRIC;
	case RD_TIME_REPLY:
		return long_pauses || tap == TAP_RECEIVER
			       ? RD_PLACE_RECEIVER_HOST
			       : RD_PLACE_RECEIVER_HOST | RD_PLACE_FABRIC;
	case RD_TIME_SENDING:
		return RD_PLACE_SENDER_NIC | RD_PLACE_FABRIC;
	case RD_TIME_WAITING:
		return RD_PLACE_RECEIVER_NIC | RD_PLACE_RECEIVER_HOST |
		       (tap == TAP_RECEIVER ? 0 : RD_PLACE_FABRIC);
	case RD_TIME_RECEIVING:
		return RD_PLACE_RECEIVER_NIC | RD_PLACE_FABRIC;
	case RD_TIME_NOT_READY:
		return RD_PLACE_RECEIVER_HOST;
	default:
		return RD_PLACE_SENDER_NIC | RD_PLACE_FABRIC | RD_PLACE_RECEIVER_NIC |
		       RD_PLACE_RECEIVER_HOST;
	}
}

/* Whether data moved far below the rate of the link, as far as that is known. */
static bool is_below_rate(const struct rd_report *r, const struct rd_side *s, enum rd_time what)
{
	uint64_t bytes = rd_side_verb(s, RD_VERB_READ)->bytes, ns = s->times->ns[what];
	double rate, best = (double)r->port_speed;

	if (what == RD_TIME_SENDING)
		bytes = rd_side_verb(s, RD_VERB_SEND)->bytes +
			rd_side_verb(s, RD_VERB_WRITE)->bytes;
	if (!ns)
		return false;
	if (s->times->gap_ns && s->mtu && best < s->mtu * 8e9 / (double)s->times->gap_ns)
		best = s->mtu * 8e9 / (double)s->times->gap_ns;
	rate = (double)bytes * 8e9 / (double)ns;
	return rate * RATE_SLOWER < best;
}

static enum rd_certainty certainty_of(
	const struct rd_report *r, const struct rd_side *s, enum rd_time what)
{
	if (r->totals.backwards || capture_lost_frames(r) ||
		rd_side_incident(s, RD_INC_UNSEEN)->count)
		return RD_POSSIBLE;
	if ((what == RD_TIME_SENDING || what == RD_TIME_RECEIVING) && !is_below_rate(r, s, what))
		return RD_POSSIBLE;
	return what == RD_TIME_RECOVERY ? RD_POSSIBLE : RD_LIKELY;
}

uint64_t repeating_ns(const struct rd_report *r, const struct rd_group *g, uint64_t *all_ns)
{
	uint64_t lost_ns = 0;

	*all_ns = 0;
	for (size_t i = 0; i < g->n; i++) {
		const struct rd_finding *f = g->finding[i];
		const struct rd_conversation *c = conversation_of(r, f->conversation);
		const struct rd_times *t = c ? c->side[f->side].times : NULL;

		if (!t)
			continue;
		lost_ns += t->ns[RD_TIME_RECOVERY] + t->ns[RD_TIME_NOT_READY];
		*all_ns += time_sum(t);
	}
	return lost_ns;
}

void slow_judge(const struct rd_report *r, struct rd_slow *slow)
{
	const struct rd_conversation *most = NULL;
	const struct rd_side *s;
	uint64_t largest = 0;
	unsigned int side;

	for (size_t i = 0; i < r->n_conversations; i++) {
		s = busier_side(&r->conversations[i], &side);
		for (unsigned int k = 0; s && k < RD_TIME_COUNT; k++)
			slow->sum.ns[k] += s->times->ns[k];
		if (!s)
			continue;
		slow->sum.pauses += s->times->pauses;
		slow->connections++;
	}
	for (unsigned int k = 0; k < RD_TIME_COUNT; k++)
		if (slow->sum.ns[k] > slow->sum.ns[slow->what])
			slow->what = (enum rd_time)k;
	slow->all_ns = time_sum(&slow->sum);
	if (is_clock_coarse(r) && r->totals.step_ns * r->totals.rdma_frames > slow->all_ns)
		slow->all_ns = 0; /* most frames have the time of the one before */
	if (!slow->all_ns)
		return;
	slow->share = (double)slow->sum.ns[slow->what] / (double)slow->all_ns;
	for (size_t i = 0; i < r->n_conversations; i++) {
		const struct rd_conversation *c = &r->conversations[i];

		s = busier_side(c, &side);
		if (!s || s->times->ns[slow->what] <= largest)
			continue;
		largest = s->times->ns[slow->what];
		most = c;
		slow->conversation = c->id;
		slow->side = side;
	}
	s = &most->side[slow->side];
	slow->places = places_of_time(slow->what, tap_of(most, slow->side),
		s->times->pauses && largest / s->times->pauses > LONGEST_PATH_NS);
	/* Its NIC was asked to be slow. */
	if (slow->what == RD_TIME_SENDING && rd_side_incident(s, RD_INC_CNP)->count)
		slow->places = RD_PLACE_FABRIC;
	slow->certainty = certainty_of(r, s, slow->what);
}

#define HOSTS_NAMED    8
#define SLOW_HOSTS_LEN ((HOSTS_NAMED + 1) * (RD_ADDRESS_LEN + 5)) /* with " and " */

/* The hosts of one role among the conversations that took at least half as long as the slowest. */
static const char *slow_hosts(char text[SLOW_HOSTS_LEN], const struct rd_report *r, bool responder)
{
	const struct rd_slow *slow = &r->verdict.slow;
	const struct rd_conversation *most = conversation_of(r, slow->conversation);
	const uint64_t largest = most->side[slow->side].times->ns[slow->what];
	const char *hosts[HOSTS_NAMED + 1];
	unsigned int n = 0, k;
	int length = 0;

	for (size_t i = 0; i < r->n_conversations && n <= HOSTS_NAMED; i++) {
		const struct rd_conversation *c = &r->conversations[i];
		unsigned int side;
		const struct rd_side *s = busier_side(c, &side);

		if (!s || s->times->ns[slow->what] * 2 < largest)
			continue;
		hosts[n] = c->end[side ^ responder].address;
		for (k = 0; strcmp(hosts[k], hosts[n]) != 0; k++)
			;
		n += k == n;
	}
	for (k = 0; k < n; k++)
		length += snprintf(text + length, (size_t)(SLOW_HOSTS_LEN - length), "%s%s",
			!k	    ? ""
			: k + 1 < n ? ", "
				    : " and ",
			k < HOSTS_NAMED ? hosts[k] : "others");
	return text;
}

void put_bottleneck(FILE *out, const struct rd_report *r)
{
	const struct rd_slow *slow = &r->verdict.slow;
	char sender[SLOW_HOSTS_LEN], receiver[SLOW_HOSTS_LEN];

	fputs(": the bottleneck is ", out);
	put_places(out, slow->places, slow_hosts(sender, r, false), slow_hosts(receiver, r, true));
	fprintf(out, " (%s)", rd_certainty_name(slow->certainty));
}

/* --- stragglers ------------------------------------------------------------------------------- */

/*
 * Conversations are equals if they send messages of the same verb and size, and have one host in
 * the same role: only these are measured at the same kind of end, or equally far from it.
 */
struct speed {
	unsigned int equals;
	const char *host;
	uint64_t p50;
	const struct rd_conversation *c;
	const struct rd_side *s; /* the busier one */
};

static int compare_equals(const struct speed *a, const struct speed *b)
{
	return RD_ORDER(a->equals, b->equals) ?: strcmp(a->host, b->host);
}

static int slower(const void *x, const void *y)
{
	const struct speed *a = x, *b = y;

	return compare_equals(a, b) ?: RD_ORDER(b->p50, a->p50) ?: RD_ORDER(a->c->id, b->c->id);
}

/* Verb with most bytes, and the logarithm of its mean size. */
static unsigned int equals_of(const struct rd_side *s)
{
	unsigned int best = 0, log2 = 0;
	const struct rd_verb_use *use;

	for (unsigned int v = 1; v < RD_VERB_COUNT; v++)
		if (rd_side_verb(s, v)->bytes > rd_side_verb(s, best)->bytes)
			best = v;
	use = rd_side_verb(s, best);
	for (uint64_t size = use->messages ? use->bytes / use->messages : 0; size; size >>= 1)
		log2++;
	return best * 256 + log2;
}

/* The median of the responses to the requests of the busier side; 0: too few. */
static uint64_t typical(const struct rd_side *s)
{
	const struct rd_latency *l = rd_side_responses(s);

	return l->n >= SAMPLES ? l->p50 : 0;
}

static bool has_host(const struct rd_conversation *c, const char *address)
{
	return !strcmp(c->end[0].address, address) || !strcmp(c->end[1].address, address);
}

/* The host that is part of all of the first n, and of none of the others. */
static const char *common_host(const struct speed *list, size_t n, size_t all)
{
	const char *const ends[2] = {list[0].c->end[0].address, list[0].c->end[1].address};

	for (unsigned int e = 0; e < 2; e++) {
		size_t i = 0;

		while (i < all && has_host(list[i].c, ends[e]) == (i < n))
			i++;
		if (i == all)
			return ends[e];
	}
	return "";
}

/* A row of equals, the slowest first: those that stand out, unless others of other equals do. */
static void stragglers_of(struct rd_stragglers *s, const struct speed *list, size_t n)
{
	size_t slow = 0;

	while (n >= EQUALS && list[slow].p50 > SLOWER * list[n / 2].p50)
		slow++;
	if (slow <= s->n)
		return;
	s->n = (unsigned int)slow;
	s->of = (unsigned int)n;
	s->median_ns = list[n / 2].p50;
	for (size_t i = 0; i < slow && i < RD_STRAGGLERS; i++) {
		s->conversation[i] = list[i].c->id;
		s->p50_ns[i] = list[i].p50;
	}
	snprintf(s->host, sizeof(s->host), "%s", common_host(list, slow, n));
}

static uint64_t median(uint64_t *times, size_t n)
{
	qsort(times, n, sizeof(*times), rd_order_u64);
	return times[n / 2];
}

/*
 * Only those are compared that were there with the others: for most of their own time, and for a
 * part of that of the others, since the first responses are slow everywhere.
 */
static bool is_there(const struct rd_side *s, uint64_t first, uint64_t last)
{
	const uint64_t from = s->traffic.first_ns > first ? s->traffic.first_ns : first;
	const uint64_t to = s->traffic.last_ns < last ? s->traffic.last_ns : last;

	return to > from && (to - from) * 2 >= s->traffic.last_ns - s->traffic.first_ns &&
	       (to - from) * TIME_PART >= last - first;
}

/* Keeps those of a row of equals that can be compared, in their order; returns how many. */
static size_t keep_comparable(struct speed *list, size_t n, uint64_t *times)
{
	uint64_t first, last;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		times[i] = list[i].s->traffic.first_ns;
	first = median(times, n);
	for (size_t i = 0; i < n; i++)
		times[i] = list[i].s->traffic.last_ns;
	last = median(times, n);
	for (size_t i = 0; i < n; i++)
		if (is_there(list[i].s, first, last))
			list[kept++] = list[i];
	return kept;
}

/* Those that have the same requester, or (`responder`) the same responder, are compared. */
static void compare_at(const struct rd_report *r, struct rd_stragglers *s, bool responder,
	struct speed *list, uint64_t *times)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_conversations; i++) {
		const struct rd_conversation *c = &r->conversations[i];
		unsigned int side;
		const struct rd_side *busy = busier_side(c, &side);
		uint64_t p50 = busy ? typical(busy) : 0;

		if (p50)
			list[n++] = (struct speed){
				equals_of(busy), c->end[side ^ responder].address, p50, c, busy};
	}
	qsort(list, n, sizeof(*list), slower);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && !compare_equals(&list[end], &list[i]); end++)
			;
		stragglers_of(s, list + i, keep_comparable(list + i, end - i, times));
	}
}

int stragglers_find(const struct rd_report *r, struct rd_stragglers *s)
{
	struct speed *list = malloc((r->n_conversations + 1) * sizeof(*list));
	uint64_t *times = calloc(r->n_conversations + 1, sizeof(*times));
	const bool ok = list && times;

	for (unsigned int responder = 0; ok && responder < 2; responder++)
		compare_at(r, s, responder, list, times);
	free(list);
	free(times);
	return ok ? 0 : -1;
}
