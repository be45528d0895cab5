/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares the growth of a device's counters with the packets captured meanwhile. */
#include "../model/facts.h"
#include "../rules/rules.h"
#include "report.h"
#include <rdmadump/memory.h>
#include <stdlib.h>

/* Frames of a port, counted and captured. */
struct scale {
	const struct rd_analysis *a;
	const struct rd_report *r;
	const struct facts_port *p;
	const uint8_t *places;
	uint64_t grown[2], shown[2]; /* SENT and RECEIVED; the same where the device counts none */
	double at_ends;		     /* frames that may be on the wrong side of the readings */
	uint64_t after;		     /* at most so many were captured after a last reading */
	uint64_t strangers;	     /* frames between addresses that are not of the port */
	uint64_t own_multicast;
};

static size_t index_of(const struct quantity *q)
{
	return (size_t)(q - quantities);
}

/* Of the packets between the readings. */
static uint64_t shown(const struct facts_port *p, const struct quantity *q)
{
	uint64_t outside = p->outside[index_of(q)], all = p->shown[index_of(q)];

	return all > outside ? all - outside : 0;
}

static bool is_near(uint64_t a, uint64_t b)
{
	uint64_t most = a > b ? a : b, difference = a > b ? a - b : b - a;

	return difference <= most / 50;
}

/* --- why they may differ ---------------------------------------------------------------------- */

/*
 * Why both numbers may differ. What the packets show is an estimate but in SURE ones: a difference
 * need not mean anything; it is no finding if something that EXPLAINS it holds, too.
 */
struct reason {
	bool holds;
	enum { SURE, VAGUE, EXPLAINS } kind;
	const char *text;
};

/* How often it happened to the requests that the counter is about. */
static uint64_t happened(const struct scale *s, const struct quantity *c, uint64_t kind)
{
	const struct quantity any = {.whose = c->whose, .incidents = kind};

	return quantity_shown(s->a, s->places, 0, &any);
}

/*
 * By how much the device counted more or less than the packets show. Returns why, the first reason
 * that holds; NULL: unknown.
 */
static const char *explain(struct rd_comparison *made, const struct scale *s,
	const struct quantity *c, uint64_t more, uint64_t less)
{
	const bool at_ends = (double)(more + less) <= s->at_ends;
	const bool of_naks = c->incidents & KIND(NAK_PROGRESS);
	const struct reason reasons[] = {
		{capture_lost_frames(s->r), SURE, "the capture lost frames"},
		{s->r->totals.frames_left_out, VAGUE, "not all QPs were followed"},
		{s->r->filter && more, EXPLAINS, "a filter chose which frames were captured"},
		{more && more <= s->strangers, EXPLAINS,
			"there were frames between addresses that are not of the port"},
		/* The last reading is stored after all frames: later ones are not known then. */
		{less && less <= s->after, EXPLAINS, "frames were captured after the last reading"},
		{less && less <= quantity_shown(s->a, s->places, TWICE, c), EXPLAINS,
			"frames between two capturing ports may be in the file twice"},
		{c->whose == RECEIVED && more && more <= s->own_multicast, EXPLAINS,
			"the host may deliver frames that it sends to a group to itself"},
		{c->incidents & KIND(ROUND_TIMEOUT) && happened(s, c, KIND(RETRANSMITTED)), VAGUE,
			"retransmissions that overlap or follow an RNR NAK cannot all be "
			"distinguished"},
		{c->incidents & KIND(AT_RECEIVER_SEQUENCE) && happened(s, c, KIND(RNR)), VAGUE,
			"packets that arrive while an RNR NAK is on its way may or may not be out "
			"of sequence"},
		{of_naks && happened(s, c, KIND(NAK_SEQUENCE)) > happened(s, c, KIND(NAK_PROGRESS)),
			VAGUE,
			"NAKs that cross other responses acknowledge nothing new to the device"},
		/* rxe_comp.c completes the requests before the NAK first, and counts it only if it
		 * acknowledges more. */
		{of_naks && less, VAGUE,
			"the device does not count a NAK for the first packet of a message, or "
			"behind a READ that is not answered"},
		{s->shown[SENT] < s->grown[SENT] && (c->whose == SENT || c->whose == OWN), SURE,
			"frames were dropped between the device's transport and the capture point"},
		{c->whose == SENT && less, VAGUE,
			"frames were duplicated between the device's transport and the capture "
			"point"},
		{s->shown[RECEIVED] > s->grown[RECEIVED] && c->whose != SENT, SURE,
			"captured frames did not arrive at an open QP: dropped by the host, or the "
			"QP was in error or gone"},
		{!c->exact, VAGUE, "the device counts at another time"},
		{at_ends, VAGUE,
			"frames at the beginning or the end may be on the other side of a reading"},
	};
	const struct reason *why = RD_FIND(r, reasons, RD_COUNT(reasons), r->holds);

	made->explained = RD_ANY(r, reasons, RD_COUNT(reasons), r->holds && r->kind == EXPLAINS);
	made->unsure = at_ends || (why && why->kind != SURE);
	return why ? why->text : NULL;
}

/* Compares both numbers; returns why they differ, NULL: no difference, or unknown. */
static const char *compare(struct rd_comparison *made, const struct scale *scale,
	const struct quantity *c, const struct rd_growth *grown)
{
	const uint64_t packets = made->packets, device = grown->amount;

	made->known = true;
	made->device_count = device;
	made->agrees = c->exact ? packets == device : is_near(packets, device);
	if (made->agrees)
		return NULL;
	return explain(made, scale, c, device > packets ? device - packets : 0,
		packets > device ? packets - device : 0);
}

static int add_comparison(struct rd_report *r, const struct scale *scale, const struct quantity *c,
	const struct rd_growth *grown)
{
	struct rd_comparison *made = rd_append(&r->comparisons, r->n_comparisons, sizeof(*made));
	const char *why;

	if (!made)
		return -1;
	r->n_comparisons++;
	made->packets = shown(scale->p, c);
	if (grown->verdict != RD_GROWTH_EXACT) {
		if (asprintf(&made->why, "the counter %s", rd_growth_reason(grown)) < 0)
			made->why = NULL;
	} else {
		why = compare(made, scale, c, grown);
		made->why = why ? strdup(why) : NULL;
	}
	made->device = strdup(scale->p->device);
	made->counter = strdup(c->counter + strlen(HW));
	made->meaning = strdup(c->meaning);
	return made->device && made->counter && made->meaning ? 0 : -1;
}

/* --- the ends of the capture ------------------------------------------------------------------ */

/* The kernel answers from a cache that is up to this old (rdma_hw_stats.lifespan). */
#define LIFESPAN_MS 10

static double lifespan_ns(const json_t *reading)
{
	json_int_t ms = json_integer_value(json_object_get(reading, "lifespan_ms"));

	return (double)(ms > 0 ? ms : LIFESPAN_MS) * 1e6;
}

/* How many frames were captured between two times, by the steps of the time series. */
static double frames_between(const struct rd_series *s, double from, double to)
{
	double sum = 0;

	for (unsigned int i = 0; i < s->n; i++) {
		double begin = (double)s->start_ns + (double)i * (double)s->width_ns;
		double last = begin + (double)s->width_ns;
		double part = (last < to ? last : to) - (begin > from ? begin : from);

		if (part > 0)
			sum += part / (double)s->width_ns * (double)s->points[i].frames;
	}
	return sum;
}

/* A capture begins at the latest so long after the first reading, and ends before the last one. */
#define BETWEEN_NS 1e9

/* The time without a capture beside a reading. */
static double not_captured(double gap)
{
	return gap <= 0 ? 0 : gap < BETWEEN_NS ? gap : BETWEEN_NS;
}

/*
 * Between a reading and the nearest frame the capture may not have run, or the reading was answered
 * from the kernel's cache: as many frames as were captured beside it in the same time.
 */
static double frames_at_ends(const struct rd_report *r, const struct facts_port *p)
{
	double begin = (double)r->totals.first_ns, end = (double)r->totals.last_ns, sum = 0;

	for (unsigned int i = 0; i < p->n_spans && p->spans[i].last; i++) {
		const struct facts_span *s = &p->spans[i];
		double first = (double)reading_ns(s->first), last = (double)reading_ns(s->last);
		double before = not_captured(begin - first), behind = not_captured(last - end);
		double from = first + before, to = last - behind;

		if (first <= 0 || last <= 0)
			continue;
		sum += frames_between(&r->series, from, from + before + lifespan_ns(s->first));
		sum += frames_between(&r->series, to - behind - lifespan_ns(s->last), to);
	}
	return sum;
}

/* At most: whole steps of the time series. */
static uint64_t frames_after(const struct rd_report *r, const struct facts_port *p)
{
	const struct rd_series *s = &r->series;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < p->n_spans && p->spans[i].last; i++) {
		uint64_t last = reading_ns(p->spans[i].last), next = UINT64_MAX;

		if (i + 1 < p->n_spans && reading_ns(p->spans[i + 1].first))
			next = reading_ns(p->spans[i + 1].first);
		for (unsigned int k = 0; last && last < r->totals.last_ns && k < s->n; k++) {
			uint64_t begin = s->start_ns + k * s->width_ns;

			if (begin + s->width_ns > last && begin < next)
				sum += s->points[k].frames;
		}
	}
	return sum;
}

/* --- all of them ------------------------------------------------------------------------------ */

static void count_places(struct scale *scale)
{
	const struct rd_analysis *a = scale->a;

	for (size_t i = 0; scale->places && i < a->flows.n; i++) {
		uint64_t frames = a->flows.all[i]->traffic.frames;
		uint8_t place = scale->places[i];

		if (!place)
			scale->strangers += frames;
		if (place & FROM_PORT && place & TO_GROUP)
			scale->own_multicast += frames;
	}
}

static struct scale scale_of(const struct rd_analysis *a, const struct rd_report *r,
	const struct facts_port *p, const uint8_t *places)
{
	struct scale scale = {.a = a, .r = r, .p = p, .places = places};
	struct rd_growth grown;

	for (size_t i = 0; i < QUANTITIES && quantities[i].counter; i++) {
		const struct quantity *c = &quantities[i];

		if ((c->whose == SENT || c->whose == RECEIVED) &&
			facts_growth(p, c->counter, true, &grown) && rd_growth_known(&grown)) {
			scale.grown[c->whose] = grown.amount;
			scale.shown[c->whose] = shown(p, c);
		}
	}
	count_places(&scale);
	scale.at_ends = frames_at_ends(r, p);
	scale.after = frames_after(r, p);
	return scale;
}

static int compare_port(
	const struct rd_analysis *a, struct rd_report *r, const struct facts_port *p)
{
	uint8_t *places = quantity_places(a, p);
	const struct scale scale = scale_of(a, r, p, places);
	struct rd_growth grown;
	int rc = 0;

	for (size_t k = 0; p->n_gids && k < QUANTITIES && quantities[k].counter && !rc; k++)
		if (facts_growth(p, quantities[k].counter, true, &grown))
			rc = add_comparison(r, &scale, &quantities[k], &grown);
	free(places);
	return rc;
}

int comparisons_make(const struct rd_analysis *a, struct rd_report *r)
{
	/* Counters are of all traffic, not of a part. */
	if (!a->facts || a->config.qp != RD_QP_UNKNOWN || a->config.to_ns)
		return 0;
	for (unsigned int i = 0; i < a->facts->n_ports; i++)
		if (compare_port(a, r, &a->facts->ports[i]) < 0)
			return -1;
	return 0;
}
