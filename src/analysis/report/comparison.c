/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compares counters of a device over the time of the capture with its packets. Names and
 * meanings of counters: rdma_rxe's rxe_hw_counters.c; mlx5's main.c and NVIDIA's list of counters.
 */
#include "../model/facts.h"
#include "report.h"
#include <rdmadump/growth.h>
#include <rdmadump/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum whose {
	SENT,	  /* frames of the device */
	RECEIVED, /* frames of its peers */
	OWN,	  /* its requests */
	PEERS	  /* requests that it responds to */
};

#define INCIDENTS_MAX 4
#define NO_INCIDENT   RD_INC_COUNT

struct quantity {
	const char *counter, *meaning;
	enum whose whose;
	enum rd_incident_kind incidents[INCIDENTS_MAX]; /* summed; ended by NO_INCIDENT */
	bool exact; /* else a fiftieth more or less is the same */
};

#define HW "hw_counters/"

static const struct quantity quantities[] = {
	/* rxe */
	{HW "sent_pkts", "frames that it sent", SENT, {NO_INCIDENT}, true},
	{HW "rcvd_pkts", "frames that it received", RECEIVED, {NO_INCIDENT}, true},
	{HW "out_of_seq_request", "requests out of sequence", PEERS,
		{RD_INC_AT_RECEIVER_SEQUENCE, NO_INCIDENT}, true},
	{HW "rcvd_rnr_err", "RNR NAKs that it received", OWN, {RD_INC_RNR, NO_INCIDENT}, true},
	{HW "send_rnr_err", "RNR NAKs that it sent", PEERS, {RD_INC_RNR, NO_INCIDENT}, true},
	{HW "rcvd_seq_err", "sequence NAKs that it received", OWN,
		{RD_INC_NAK_PROGRESS, NO_INCIDENT}, true},
	{HW "completer_retry_err", "times that it retransmitted requests", OWN,
		{RD_INC_ROUND_NAK, RD_INC_ROUND_READ, RD_INC_ROUND_TIMEOUT, NO_INCIDENT}, true},
	/* both */
	{HW "duplicate_request", "duplicate requests", PEERS,
		{RD_INC_AT_RECEIVER_DUPLICATE, NO_INCIDENT}, false},
	/* mlx5 */
	{HW "packet_seq_err", "sequence NAKs that it received", OWN,
		{RD_INC_NAK_SEQUENCE, NO_INCIDENT}, false},
	{HW "rnr_nak_retry_err", "RNR NAKs that it received", OWN, {RD_INC_RNR, NO_INCIDENT},
		false},
	{HW "rp_cnp_handled", "congestion notifications that it received", OWN,
		{RD_INC_CNP, NO_INCIDENT}, false},
	{HW "np_cnp_sent", "congestion notifications that it sent", PEERS,
		{RD_INC_CNP, NO_INCIDENT}, false},
	{HW "np_ecn_marked_roce_packets", "frames that it received marked", PEERS,
		{RD_INC_CE, NO_INCIDENT}, false},
	{HW "local_ack_timeout_err", "times that it retransmitted requests without a response", OWN,
		{RD_INC_ROUND_TIMEOUT, NO_INCIDENT}, false},
	{HW "rx_icrc_encapsulated", "frames that it received with a wrong invariant CRC", PEERS,
		{RD_INC_ICRC, NO_INCIDENT}, false},
};

static bool is_local(const struct facts_port *p, const struct rd_endpoint *e)
{
	for (unsigned int i = 0; i < p->n_gids; i++)
		if (!strcmp(p->gids[i], e->address))
			return true;
	return false;
}

static uint64_t side_value(const struct quantity *c, const struct rd_side *s)
{
	uint64_t sum = 0;

	/* A frame that was damaged on the path counts as sent, but not as received. */
	if (c->whose == SENT)
		return s->frames;
	if (c->whose == RECEIVED)
		return s->frames - rd_side_incident(s, RD_INC_ICRC)->count;
	for (unsigned int i = 0; c->incidents[i] != NO_INCIDENT; i++)
		sum += rd_side_incident(s, c->incidents[i])->count;
	return sum;
}

/* What the packets of all conversations of this port show. */
static uint64_t shown(
	const struct rd_report *r, const struct facts_port *p, const struct quantity *c)
{
	bool own = c->whose == SENT || c->whose == OWN;
	uint64_t sum = 0;

	for (size_t i = 0; i < r->n_conversations; i++) {
		const struct rd_conversation *v = &r->conversations[i];
		bool local[2] = {is_local(p, &v->a), is_local(p, &v->b)};

		/* A multicast frame on this port's link is for this port. */
		for (unsigned int side = 0; side < 2; side++)
			if (own ? local[side] : local[!side] || (v->multicast && !local[side]))
				sum += side_value(c, &v->side[side]);
	}
	return sum;
}

static bool is_near(uint64_t a, uint64_t b)
{
	uint64_t most = a > b ? a : b, difference = a > b ? a - b : b - a;

	return difference <= most / 50;
}

/* --- why they may differ ---------------------------------------------------------------------- */

/* Frames of a port, counted and captured. */
struct scale {
	const struct rd_report *r;
	const struct facts_port *p;
	uint64_t grown[2], shown[2]; /* SENT and RECEIVED; the same where the device counts none */
};

struct difference {
	const struct scale *scale;
	const struct quantity *c;
	uint64_t packets, device_count;
};

static bool capture_lost(const struct difference *d)
{
	for (size_t i = 0; i < d->scale->r->n_files; i++)
		if (d->scale->r->files[i].dropped)
			return true;
	return false;
}

static bool qps_left_out(const struct difference *d)
{
	return d->scale->r->totals.frames_left_out;
}

/* Addresses change with VLANs; the file has those at its start. */
static bool has_strangers(const struct difference *d)
{
	for (size_t i = 0; i < d->scale->r->n_conversations; i++) {
		const struct rd_conversation *v = &d->scale->r->conversations[i];

		if (!is_local(d->scale->p, &v->a) && !is_local(d->scale->p, &v->b))
			return true;
	}
	return false;
}

static bool sent_less(const struct difference *d)
{
	return d->scale->shown[SENT] < d->scale->grown[SENT] &&
	       (d->c->whose == SENT || d->c->whose == OWN);
}

static bool sent_more(const struct difference *d)
{
	return d->c->whose == SENT && d->packets > d->device_count;
}

static bool received_less(const struct difference *d)
{
	return d->scale->shown[RECEIVED] > d->scale->grown[RECEIVED] && d->c->whose != SENT;
}

static bool counts_incident(const struct difference *d, enum rd_incident_kind kind)
{
	for (unsigned int i = 0; d->c->incidents[i] != NO_INCIDENT; i++)
		if (d->c->incidents[i] == kind)
			return true;
	return false;
}

/* How often it happened to the requests that the counter is about. */
static uint64_t happened(const struct difference *d, enum rd_incident_kind kind)
{
	const struct quantity any = {.whose = d->c->whose, .incidents = {kind, NO_INCIDENT}};

	return shown(d->scale->r, d->scale->p, &any);
}

static bool rounds_differ(const struct difference *d)
{
	return counts_incident(d, RD_INC_ROUND_TIMEOUT) && happened(d, RD_INC_RETRANSMITTED);
}

static bool naks_cross(const struct difference *d)
{
	return counts_incident(d, RD_INC_NAK_PROGRESS) &&
	       happened(d, RD_INC_NAK_SEQUENCE) > happened(d, RD_INC_NAK_PROGRESS);
}

/* rxe_comp.c completes the requests before the NAK first, and counts it only if it acknowledges
 * more than that: not at the first packet of a message, nor behind a READ that it waits for. */
static bool naks_at_start(const struct difference *d)
{
	return counts_incident(d, RD_INC_NAK_PROGRESS) && d->packets > d->device_count;
}

static bool refused_behind_rnr(const struct difference *d)
{
	return counts_incident(d, RD_INC_AT_RECEIVER_SEQUENCE) && happened(d, RD_INC_RNR);
}

static bool counts_later(const struct difference *d)
{
	return !d->c->exact;
}

static const struct {
	bool (*applies)(const struct difference *d);
	const char *text;
} reasons[] = {
	{capture_lost, "the capture lost frames"},
	{qps_left_out, "not all QPs were followed"},
	{has_strangers, "there were frames between addresses that are not of the port"},
	{rounds_differ,
		"retransmissions that overlap or follow an RNR NAK cannot all be distinguished"},
	{refused_behind_rnr, "packets that arrive while an RNR NAK is on its way may or may not be "
			     "out of sequence"},
	{naks_cross, "NAKs that cross other responses acknowledge nothing new to the device"},
	{naks_at_start, "the device does not count a NAK for the first packet of a message, or "
			"behind a READ that is not answered"},
	{sent_less, "frames were dropped between the device's transport and the capture point"},
	{sent_more, "frames were duplicated between the device's transport and the capture point"},
	{received_less, "captured frames did not arrive at an open QP: dropped by the host, "
			"or the QP was in error or gone"},
	{counts_later, "the device counts at another time"},
};

static const char *reason(const struct difference *d)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i].applies(d))
			return reasons[i].text;
	return NULL;
}

/* Compares both numbers; returns why they differ, NULL: no difference, or unknown. */
static const char *compare(struct rd_comparison *made, const struct scale *scale,
	const struct quantity *c, const struct rd_growth *grown)
{
	struct difference d = {scale, c, made->packets, grown->amount};

	made->known = true;
	made->device_count = grown->amount;
	made->agrees =
		c->exact ? made->packets == grown->amount : is_near(made->packets, grown->amount);
	return made->agrees ? NULL : reason(&d);
}

static int add_comparison(struct rd_report *r, const struct scale *scale, const struct quantity *c,
	const struct rd_growth *grown)
{
	struct rd_comparison *list =
		reallocarray(r->comparisons, r->n_comparisons + 1, sizeof(*list));
	struct rd_comparison *made;
	const char *why;

	if (!list)
		return -1;
	r->comparisons = list;
	made = &r->comparisons[r->n_comparisons++];
	*made = (struct rd_comparison){.packets = shown(r, scale->p, c)};
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

/* Of the facts of one moment; false: it is absent. */
static bool value_of(const json_t *facts, const char *counter, uint64_t *value)
{
	const json_t *v = json_object_get(json_object_get(facts, "counters"), counter);

	if (!json_is_number(v) || json_number_value(v) < 0)
		return false;
	*value = rd_json_u64_value(v);
	return true;
}

/* False where the device has no such counter. */
static bool growth(const struct facts_port *p, const char *counter, struct rd_growth *grown)
{
	int64_t from = json_integer_value(json_object_get(p->first, "time_ns"));
	int64_t to = json_integer_value(json_object_get(p->last, "time_ns"));
	const struct rd_span span = {
		from > 0 && to > from ? (double)(to - from) / 1e9 : 0, p->speed};
	uint64_t first, last;
	bool before = value_of(p->first, counter, &first),
	     after = value_of(p->last, counter, &last);

	if (!p->first || !p->last || (!before && !after))
		return false;
	*grown = rd_counter_growth(rd_counter_kind(p->driver, counter), before ? &first : NULL,
		after ? &last : NULL, &span);
	return true;
}

static struct scale scale_of(const struct rd_report *r, const struct facts_port *p)
{
	struct scale scale = {.r = r, .p = p};
	struct rd_growth grown;

	for (size_t i = 0; i < sizeof(quantities) / sizeof(*quantities); i++) {
		const struct quantity *c = &quantities[i];

		if ((c->whose == SENT || c->whose == RECEIVED) && growth(p, c->counter, &grown) &&
			rd_growth_known(&grown)) {
			scale.grown[c->whose] = grown.amount;
			scale.shown[c->whose] = shown(r, p, c);
		}
	}
	return scale;
}

int comparisons_make(const struct rd_analysis *a, struct rd_report *r)
{
	struct rd_growth grown;

	/* Counters are of all traffic, not of a part. */
	if (!a->facts || a->config.qp != RD_QP_UNKNOWN || a->config.to_ns)
		return 0;
	for (unsigned int i = 0; i < a->facts->n_ports; i++) {
		const struct facts_port *p = &a->facts->ports[i];
		const struct scale scale = scale_of(r, p);

		for (size_t k = 0; p->n_gids && k < sizeof(quantities) / sizeof(*quantities); k++)
			if (growth(p, quantities[k].counter, &grown) &&
				add_comparison(r, &scale, &quantities[k], &grown) < 0)
				return -1;
	}
	return 0;
}
