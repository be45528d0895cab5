/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Compares what a device counted while the capture ran with what its packets show. Names and
 * meanings of counters: rdma_rxe's rxe_hw_counters.c; mlx5's main.c and NVIDIA's list of counters.
 */
#include "facts.h"
#include <stdlib.h>

enum whose {
	SENT,	  /* frames of the device */
	RECEIVED, /* frames of its peers */
	OWN,	  /* its requests */
	PEERS	  /* requests that it answers */
};

#define EVENTS_MAX 4
#define NO_EVENT   RD_EV_COUNT

struct comparison {
	const char *counter, *meaning;
	enum whose whose;
	enum rd_event_kind events[EVENTS_MAX]; /* summed; ended by NO_EVENT */
	bool exact;			       /* else a fiftieth more or less is the same */
};

#define HW "hw_counters/"

static const struct comparison comparisons[] = {
	/* rxe */
	{HW "sent_pkts", "frames that it sent", SENT, {NO_EVENT}, true},
	{HW "rcvd_pkts", "frames that it received", RECEIVED, {NO_EVENT}, true},
	{HW "out_of_seq_request", "requests out of sequence", PEERS,
		{RD_EV_AT_RECEIVER_SEQUENCE, NO_EVENT}, true},
	{HW "rcvd_rnr_err", "RNR NAKs that it received", OWN, {RD_EV_RNR, NO_EVENT}, true},
	{HW "send_rnr_err", "RNR NAKs that it sent", PEERS, {RD_EV_RNR, NO_EVENT}, true},
	{HW "rcvd_seq_err", "sequence NAKs that it received", OWN, {RD_EV_NAK_PROGRESS, NO_EVENT},
		true},
	{HW "completer_retry_err", "times that it repeated requests", OWN,
		{RD_EV_ROUND_NAK, RD_EV_ROUND_READ, RD_EV_ROUND_TIMEOUT, NO_EVENT}, true},
	/* both */
	{HW "duplicate_request", "requests that came twice", PEERS,
		{RD_EV_AT_RECEIVER_DUPLICATE, NO_EVENT}, false},
	/* mlx5 */
	{HW "packet_seq_err", "sequence NAKs that it received", OWN, {RD_EV_NAK_SEQUENCE, NO_EVENT},
		false},
	{HW "rnr_nak_retry_err", "RNR NAKs that it received", OWN, {RD_EV_RNR, NO_EVENT}, false},
	{HW "rp_cnp_handled", "congestion notifications that it received", OWN,
		{RD_EV_CNP, NO_EVENT}, false},
	{HW "np_cnp_sent", "congestion notifications that it sent", PEERS, {RD_EV_CNP, NO_EVENT},
		false},
	{HW "np_ecn_marked_roce_packets", "frames that it received marked", PEERS,
		{RD_EV_CE, NO_EVENT}, false},
	{HW "local_ack_timeout_err", "times that it repeated requests without an answer", OWN,
		{RD_EV_ROUND_TIMEOUT, NO_EVENT}, false},
	{HW "rx_icrc_encapsulated", "frames that it received with a wrong invariant CRC", PEERS,
		{RD_EV_ICRC, NO_EVENT}, false},
};

static bool is_local(const struct facts_port *p, const struct rd_endpoint *e)
{
	for (unsigned int i = 0; i < p->n_gids; i++)
		if (!strcmp(p->gids[i], e->address))
			return true;
	return false;
}

static uint64_t side_value(const struct comparison *c, const struct rd_side *s)
{
	uint64_t sum = 0;

	if (c->whose == SENT || c->whose == RECEIVED)
		return s->frames - rd_side_event(s, RD_EV_ICRC)->count;
	for (unsigned int i = 0; c->events[i] != NO_EVENT; i++)
		sum += rd_side_event(s, c->events[i])->count;
	return sum;
}

/* What the packets of all conversations of this port show. */
static uint64_t shown(
	const struct rd_report *r, const struct facts_port *p, const struct comparison *c)
{
	bool own = c->whose == SENT || c->whose == OWN;
	uint64_t sum = 0;

	for (size_t i = 0; i < r->n_conversations; i++) {
		const struct rd_conversation *v = &r->conversations[i];
		bool local[2] = {is_local(p, &v->a), is_local(p, &v->b)};

		for (unsigned int side = 0; side < 2; side++)
			if (own ? local[side] : local[!side])
				sum += side_value(c, &v->side[side]);
	}
	return sum;
}

static bool is_near(uint64_t a, uint64_t b)
{
	uint64_t most = a > b ? a : b, difference = a > b ? a - b : b - a;

	return difference <= most / 50;
}

static const char *reason(const struct rd_report *r, const struct comparison *c)
{
	for (size_t i = 0; i < r->n_files; i++)
		if (r->files[i].dropped)
			return "the capture lost frames";
	if (r->totals.frames_left_out)
		return "not all QPs were followed";
	return c->exact ? NULL : "the device counts at another moment";
}

static int add_check(
	struct rd_report *r, const struct facts_port *p, const struct comparison *c, uint64_t grown)
{
	struct rd_check *checks = reallocarray(r->checks, r->n_checks + 1, sizeof(*checks));
	struct rd_check *check;
	const char *why;

	if (!checks)
		return -1;
	r->checks = checks;
	check = &checks[r->n_checks++];
	*check = (struct rd_check){.packets = shown(r, p, c), .device_count = grown};
	check->agrees = c->exact ? check->packets == grown : is_near(check->packets, grown);
	why = check->agrees ? NULL : reason(r, c);
	check->device = strdup(p->device);
	check->counter = strdup(c->counter + strlen(HW));
	check->meaning = strdup(c->meaning);
	check->why = why ? strdup(why) : NULL;
	return check->device && check->counter && check->meaning ? 0 : -1;
}

static bool growth(const struct facts_port *p, const char *counter, uint64_t *grown)
{
	const json_t *first = json_object_get(p->first, counter),
		     *last = json_object_get(p->last, counter);

	if (!json_is_integer(first) || !json_is_integer(last) ||
		json_integer_value(last) < json_integer_value(first))
		return false;
	*grown = (uint64_t)json_integer_value(last) - (uint64_t)json_integer_value(first);
	return true;
}

int facts_check(const struct rd_analysis *a, struct rd_report *r)
{
	uint64_t grown;

	/* A part of the traffic does not compare with all of it. */
	if (!a->facts || a->config.qp != RD_QP_UNKNOWN || a->config.to_ns)
		return 0;
	for (unsigned int i = 0; i < a->facts->n_ports; i++) {
		const struct facts_port *p = &a->facts->ports[i];

		for (size_t k = 0; p->n_gids && k < sizeof(comparisons) / sizeof(*comparisons); k++)
			if (growth(p, comparisons[k].counter, &grown) &&
				add_check(r, p, &comparisons[k], grown) < 0)
				return -1;
	}
	return 0;
}
