/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes the report from flows: two flows are a conversation, responses belong to the requester. */
#include "report.h"
#include "../model/facts.h"
#include "../model/refused.h"
#include "../model/request.h"
#include "../model/round.h"
#include "../rules/rules.h"
#include "../verdict/verdict.h"
#include <errno.h>
#include <stdlib.h>

#define TIMER_SPREAD                                                                               \
	4 /* IBTA volume 1, 9.9.2.1.1: a timer may run four times as long as it is set */
#define GIVEN_UP_NS                                                                                \
	UINT64_C(20000000) /* idle time at the end, after which the sender has given up */

/* --- one side --------------------------------------------------------------------------------- */

#define REPEATED 3 /* rounds from one PSN, before new requests alone do not show progress */

/*
 * Whether there were responses since the last round, captured or not: new requests show it. A
 * sender that never got one may send some more, too, until its timer expires again.
 */
static bool goes_on(const struct rd_side *s, const struct flow *f)
{
	if (f->round.active)
		return false;
	return f->ack.acked || f->round.attempts < REPEATED ||
	       f->traffic.last_ns - f->trouble->round_ns >
		       rd_side_latency(s, RD_LATENCY_TIMEOUT)->max;
}

static bool fill_requests(struct rd_side *s, const struct flow *f)
{
	const struct waits *waits = f->trouble ? f->trouble->waits : NULL;

	s->requests = f->req.packets;
	s->goodput_bytes = f->req.goodput;
	s->psn_first = f->req.first;
	s->psn_last = psn_add(f->req.next, 0xffffff);
	s->mtu = f->req.mtu;
	s->ack_timeout = f->pair.ack_timeout;
	s->stall = f->ack.stall;
	if (f->trouble) {
		s->reorder_depth = f->trouble->depth;
		s->unclear = f->trouble->unclear;
	}
	s->identified = f->recent.ip_id;
	s->counted_once =
		incident_of(&f->incidents, RD_INC_CNP)
			? *f->recent.cnps && *f->recent.cnps != f->recent.cnps[NEWEST_CNPS - 1]
			: f->recent.ip_id;
	s->vlans_differ = f->priority.vlans_differ || (f->id.shared && f->id.outside);
	s->shared = f->id.shared;
	s->unclear_rounds = f->round.unclear;
	s->open_gaps = f->ack.gap_open ? f->ack.gaps + f->ack.gaps_late : 0;
	s->qkey = f->req.qkey;
	if (!side_requests(s, f))
		return false;
	s->end.attempts = goes_on(s, f) ? 0 : f->round.attempts;
	/* The series at the end, if it is known from its beginning. */
	if (waits)
		s->timer = waits_explain(
			&waits[waits[WAITS_NOW].n == s->end.attempts ? WAITS_NOW : WAITS_MOST]);
	return true;
}

#define RESPONDED 3 /* rounds; a receiver responds again to what it has responded to */

/*
 * Whether the last requests were repeated, and nothing came back: no response at all, or no other
 * one to requests whose responses were lost beyond the capture point, or are not captured, as those
 * of a sender that went on before.
 */
static bool is_unanswered(const struct rd_side *s, const struct flow *f)
{
	if (f->ack.acked ? f->ack.una == f->req.next
			 : rd_side_incident(s, RD_INC_ROUND_TIMEOUT)->count > s->end.attempts)
		return f->round.active && f->round.attempts >= RESPONDED;
	return f->round.active && f->ack.open_since_ns && f->round.attempts;
}

/* How the side's requests ended. */
static void fill_ending(struct rd_side *s, const struct flow *f, uint64_t end)
{
	uint64_t quiet = end - f->traffic.last_ns, wait = GIVEN_UP_NS;
	uint64_t longest = rd_side_latency(s, RD_LATENCY_TIMEOUT)->max;

	wait = RD_MAX(wait, longest * TIMER_SPREAD);
	wait = RD_MAX(wait, s->rnr_timer_us * UINT64_C(4000));
	s->end.frame = f->ack.end_frame;
	s->end.ns = f->traffic.last_ns;
	s->end.lacks = f->trouble && f->trouble->seen.n_holes;
	if (f->ack.ended) {
		s->end.how = RD_ENDING_REMOTE_ERROR;
		s->end.ns = f->ack.end_ns;
	} else if (f->ack.rnr_frame && quiet > wait) {
		s->end.how = RD_ENDING_RNR;
		s->end.frame = f->ack.rnr_frame;
	} else if (is_unanswered(s, f) && quiet > wait) {
		s->end.how = RD_ENDING_RETRY;
	} else if (is_unanswered(s, f) && f->round.attempts > 1 && !f->pair.cm_ended) {
		s->end.how = RD_ENDING_STOPPED;
	} else {
		s->end.how = f->pair.cm_ended ? RD_ENDING_CLOSED : RD_ENDING_OPEN;
		s->end.frame = 0;
		s->end.ns = 0;
	}
}

static bool fill_side(const struct rd_analysis *a, struct rd_side *s, const struct flow *own,
	const struct flow *other)
{
	s->credits = -1;
	s->priority = (struct rd_priority){
		.dscp = -1, .other_dscp = -1, .cnp_dscp = -1, .pcp = -1, .class = -1};
	if (!side_incidents(s, own, other))
		return false;
	if (other) {
		s->responded = other->resp.any;
		s->acks = other->resp.acks;
		s->read_responses = other->resp.reads;
		s->rnr_timer_us = other->resp.rnr_timer_us;
		s->credits = other->resp.credits;
	}
	if (own) {
		s->seen = true;
		s->traffic = own->traffic;
		s->first = own->id.first;
		s->priority = priority_result(&own->priority, own->traffic.frames);
		if (!congestion_result(&s->congestion, own) || !held_result(&s->held, own) ||
			!psn_plot_copy(&s->psn_plot, a->psn_plots, own))
			return false;
		if (!fill_requests(s, own) || !refused_copy(a, s, own))
			return false;
		if (own->id.transport == RD_RC || own->id.transport == RD_XRC)
			fill_ending(s, own, a->totals.last_ns);
	}
	if (other)
		s->goodput_bytes += other->resp.goodput;
	return true;
}

/* --- conversations ---------------------------------------------------------------------------- */

static bool fill_series(
	struct rd_series *s, const struct grid *g, const struct flow *f, const struct flow *other)
{
	const struct rd_point *rows[2] = {f && f->all.row ? g->rows[f->all.row] : NULL,
		other && other->all.row ? g->rows[other->all.row] : NULL};

	if (!rows[0] && !rows[1])
		return true;
	if (!points_init(s, g))
		return false;
	for (unsigned int r = 0; r < 2; r++)
		if (rows[r])
			points_add(s, rows[r]);
	return true;
}

static struct rd_connection *connection_of(
	const struct rd_analysis *a, const struct flow *f, const struct flow *g)
{
	const struct link_pair *l = pair_link_of(a, f);
	struct rd_connection *copy;

	if (!l && g)
		l = pair_link_of(a, g);
	copy = l && l->how == RD_PAIR_CM ? malloc(sizeof(*copy)) : NULL;
	if (copy)
		*copy = l->made;
	return copy;
}

/*
 * The QP that the facts connect to this one; RD_QP_UNKNOWN: none, or several. No packet has the QP
 * of a requester that gets no response.
 */
static uint32_t only_peer(const struct rd_analysis *a, uint32_t qp)
{
	return a->facts && facts_peer(a, qp, 1) == RD_QP_UNKNOWN ? facts_peer(a, qp, 0)
								 : RD_QP_UNKNOWN;
}

/* Frames to a QP count as well: where they began before its owner had it, another one had it. */
static void fill_owners(const struct rd_analysis *a, struct rd_conversation *c,
	const struct flow *f, const struct flow *g)
{
	uint64_t first = f->traffic.first_ns, last = f->traffic.last_ns;

	if (g && g->traffic.first_ns < first)
		first = g->traffic.first_ns;
	if (g && g->traffic.last_ns > last)
		last = g->traffic.last_ns;
	for (unsigned int side = 0; side < 2; side++) {
		const bool is_unknown = c->end[side].qp == RD_QP_UNKNOWN;

		if (is_unknown)
			c->end[side].qp = only_peer(a, c->end[!side].qp);
		c->owner[side] = owner_of(a, c, side, first, last, &c->owner_state[side]);
		if (is_unknown && !c->owner[side])
			c->end[side].qp = RD_QP_UNKNOWN;
	}
}

/*
 * Whether the host of a flow's sender captured it. A router also sends what it received, and at a
 * mirror port all frames are received.
 */
static bool is_sent_here(const struct flow *f, const struct flow *back)
{
	return f && f->all.directions == 1U << RD_DIR_OUT &&
	       !(back && back->all.directions & 1U << RD_DIR_OUT);
}

/*
 * Side a is the one with more requests. A flow without a peer has requests of its sender, or
 * responses to its receiver.
 */
static bool fill_conversation(struct rd_analysis *a, struct rd_conversation *c, struct flow *f,
	struct flow *g, struct app_sum sums[APPS])
{
	const bool back = g ? g->req.packets > f->req.packets : !f->req.any && f->resp.any;
	struct flow *requester = back ? g : f, *responder = back ? f : g;

	rd_address_text(c->end[back].address, f->id.net, f->id.src);
	rd_address_text(c->end[!back].address, f->id.net, f->id.dst);
	c->end[back].qp = g ? g->id.dest_qp : f->id.src_qp;
	c->end[!back].qp = f->id.dest_qp;
	c->id = f->id.number;
	c->transport = (enum rd_transport)(
		g && f->id.transport == RD_CNP ? g->id.transport : f->id.transport);
	c->kind = (enum rd_kind)f->id.kind;
	c->pairing = g ? (enum rd_pairing)f->pair.how : RD_PAIR_NONE;
	c->multicast = f->id.multicast;
	c->network = f->id.network ? f->id.network : g ? g->id.network : 0;
	c->ipoib = f->id.ipoib || (g && g->id.ipoib);
	c->proven = flow_is_proven(f) || (g && flow_is_proven(g));
	c->cm = f->pair.cm_made || f->pair.cm_ended || (g && (g->pair.cm_made || g->pair.cm_ended));
	fill_owners(a, c, f, g);
	c->connection = connection_of(a, f, g);
	if (a->in.n_files == 1) {
		c->local[0] = is_sent_here(requester, responder);
		c->local[1] = is_sent_here(responder, requester);
	}
	return fill_side(a, &c->side[0], requester, responder) &&
	       fill_side(a, &c->side[1], responder, requester) &&
	       fill_series(&c->series, &a->grid, f, g) &&
	       application_fill(c, sums, requester, responder);
}

static struct flow *datagram_peer(struct rd_analysis *a, const struct flow *f)
{
	struct flow_key key;
	struct flow *g;

	if (f->id.src_qp == RD_QP_UNKNOWN || f->id.multicast)
		return NULL;
	key = flow_key(f->id.net, f->id.dst, f->id.src, f->id.src_qp, f->id.dest_qp);
	g = flow_in(&a->flows, &key, f->id.network);
	return g == f ? NULL : g; /* QP 1 of a port that manages its own subnet */
}

static int busier(const void *x, const void *y)
{
	const struct rd_conversation *a = x, *b = y;
	uint64_t m = a->side[0].traffic.wire_bytes + a->side[1].traffic.wire_bytes,
		 n = b->side[0].traffic.wire_bytes + b->side[1].traffic.wire_bytes;

	return RD_ORDER(n, m) ?: RD_ORDER(a->id, b->id);
}

static bool is_wanted(const struct rd_analysis *a, const struct flow *f)
{
	const struct flow *g = f->pair.peer;

	return a->config.qp == RD_QP_UNKNOWN || f->id.dest_qp == a->config.qp ||
	       f->id.src_qp == a->config.qp || (g && g->id.dest_qp == a->config.qp);
}

/* Neither direction is RoCE. */
static bool are_foreign(const struct flow *f, const struct flow *g)
{
	return flow_is_foreign(f) && (!g || flow_is_foreign(g));
}

/* --- priorities ------------------------------------------------------------------------------- */

/* Of the port of either end; NULL: unknown. */
static const struct facts_dcb *dcb_of(const struct rd_analysis *a, const struct rd_conversation *c)
{
	for (unsigned int i = 0; i < 2; i++) {
		const struct facts_port *p = facts_port_at(a, c->end[i].address);

		if (p && p->dcb.known)
			return &p->dcb;
	}
	return NULL;
}

/* The priority that the settings lead to, where nearly all packets of the side have one value. */
static int class_of(const struct facts_dcb *d, const struct rd_side *s)
{
	const struct rd_priority *p = &s->priority;

	if (d->pcp && p->pcp >= 0 && (d->pcp_first || !d->dscp || p->dscp < 0))
		return p->pcp_varies || p->untagged ? -1 : p->pcp;
	if (!d->dscp || p->dscp < 0 || p->others >= s->traffic.frames / 16 + 1)
		return -1;
	return d->of[p->dscp];
}

static void fill_class(const struct facts_dcb *d, struct rd_side *s)
{
	if (d && s->seen) {
		s->priority.class = (int16_t)class_of(d, s);
		s->priority.pfc = d->pfc;
	}
}

static void fill_classes(const struct rd_analysis *a, struct rd_report *r)
{
	for (size_t i = 0; a->facts && i < r->n_conversations; i++) {
		const struct facts_dcb *d = dcb_of(a, &r->conversations[i]);

		fill_class(d, &r->conversations[i].side[0]);
		fill_class(d, &r->conversations[i].side[1]);
	}
}

/* The report has all that is needed of a flow. UD flows stay: others find them by their keys. */
static void flow_leave(struct rd_analysis *a, struct flow *f)
{
	app_leave(f);
	if (f->id.src_qp == RD_QP_UNKNOWN)
		flow_drop(&a->flows, f);
	else
		flow_finish(f);
}

/* No frames follow: pending decisions are made and state is freed. */
static int make_conversations(struct rd_analysis *a, struct rd_report *r, struct app_sum sums[APPS])
{
	r->conversations = calloc(a->flows.n + 1, sizeof(*r->conversations));
	if (!r->conversations)
		return -1;
	for (size_t i = 0; i < a->flows.n; i++) {
		struct flow *f = a->flows.all[i];
		struct flow *g;

		if (!f) /* it was its peer's */
			continue;
		g = f->pair.peer ? f->pair.peer : datagram_peer(a, f);
		request_settle(a, f);
		if ((g && g->id.number < f->id.number) || !is_wanted(a, f) || are_foreign(f, g))
			continue;
		if (g)
			request_settle(a, g);
		if (!fill_conversation(a, &r->conversations[r->n_conversations++], f, g, sums))
			return -1;
		flow_leave(a, f);
		if (g)
			flow_leave(a, g);
	}
	qsort(r->conversations, r->n_conversations, sizeof(*r->conversations), busier);
	r->n_shown = r->n_conversations;
	return 0;
}

static int make_applications(struct rd_report *r, struct app_sum sums[APPS])
{
	r->applications = calloc(APPS, sizeof(*r->applications));
	if (!r->applications)
		return -1;
	for (unsigned int i = 0; i < APPS; i++)
		if (sums[i].app.conversations &&
			!app_sum_end(&sums[i], &r->applications[r->n_applications++]))
			return -1;
	return 0;
}

static int fill_conversations(struct rd_analysis *a, struct rd_report *r)
{
	struct app_sum sums[APPS] = {0};
	int ret = make_conversations(a, r, sums) < 0 ? -1 : make_applications(r, sums);

	for (unsigned int i = 0; i < APPS; i++)
		app_sum_free(&sums[i]);
	return ret;
}

/* What the analysis has already in the form of the report. */
static void take_over(struct rd_analysis *a, struct rd_report *r)
{
	r->files = a->in.files;
	r->n_files = a->in.n_files;
	r->application = a->in.application;
	r->hardware = a->in.hardware;
	r->os = a->in.os;
	r->filter = a->in.filter;
	r->marks = a->marks.rows;
	r->n_marks = a->marks.n;
	a->in.files = NULL;
	a->marks = (struct marks){0};
	a->in.application = a->in.hardware = a->in.os = a->in.filter = NULL;
}

static void fill_totals(const struct rd_analysis *a, struct rd_report *r)
{
	struct rd_totals *t = &r->totals;

	*t = a->totals;
	t->qps = a->flows.n;
	for (size_t i = 0; i < a->flows.n; i++) {
		const struct flow *f = a->flows.all[i], *g = f->pair.peer;

		if (!are_foreign(f, g))
			continue;
		t->qps--;
		t->foreign += f->traffic.frames;
		t->rdma_frames -= f->traffic.frames;
		t->other_frames += f->traffic.frames;
	}
	for (unsigned int i = 0; i < RD_DIRECTIONS; i++) {
		if (a->icrc[i].good > a->icrc[i].bad)
			t->icrc_trusted = true;
		else
			t->icrc_doubted += a->icrc[i].bad;
	}
	for (size_t i = 0; i < a->flows.n; i++) {
		t->payload_bytes += a->flows.all[i]->traffic.payload_bytes;
		t->goodput_bytes += a->flows.all[i]->req.goodput + a->flows.all[i]->resp.goodput;
	}
}

static void fill_unread(const struct rd_analysis *a, struct rd_report *r)
{
	uint64_t types = 0;

	memcpy(r->unread, a->unread, sizeof(r->unread));
	r->n_unread = a->n_unread;
	for (unsigned int i = 0; i < r->n_unread; i++) {
		const struct rd_unread *u = &r->unread[i];

		types += u->why == RD_UNREAD_TYPE ? u->frames.count : 0;
		r->incomplete |= u->why == RD_UNREAD_LINK ||
				 (u->why == RD_UNREAD_CUT && !r->totals.rdma_frames);
	}
	r->incomplete |= a->out_of_memory || (types && types == r->totals.frames);
}

static int fill_sum(const struct rd_analysis *a, struct rd_report *r)
{
	if (!a->totals.frames)
		return 0;
	if (!points_init(&r->series, &a->grid))
		return -1;
	for (unsigned int i = 0; i < a->grid.n_rows; i++)
		points_add(&r->series, a->grid.rows[i]);
	return 0;
}

int rd_analysis_report(struct rd_analysis *a, struct rd_report **out, struct rd_error *err)
{
	struct rd_report *r = calloc(1, sizeof(*r));

	facts_settle(a);
	if (!r || fill_sum(a, r) < 0 || pauses_result(a, r) < 0)
		goto fail;
	take_over(a, r);
	fill_totals(a, r);
	fill_unread(a, r);
	if (!mad_rows(a, r))
		goto fail;
	/* Conversations take over what flows have. */
	if (comparisons_make(a, r) < 0 || hosts_make(a, &r->hosts) < 0 ||
		fill_conversations(a, r) < 0)
		goto fail;
	fill_classes(a, r);
	readings_correct(a, r);
	if (report_ports_make(a, r) < 0 || readings_judge(a, r) < 0 || rules_run(a, r) < 0 ||
		verdict_make(r) < 0)
		goto fail;
	*out = r;
	return 0;
fail:
	rd_report_free(r);
	return rd_fail(err, RD_CLASS_PARTIAL, ENOMEM, NULL, "cannot make the report");
}

void rd_report_free(struct rd_report *r)
{
	if (!r)
		return;
	report_files_free(r->files, r->n_files);
	for (size_t i = 0; i < r->n_conversations; i++) {
		side_free(&r->conversations[i].side[0]);
		side_free(&r->conversations[i].side[1]);
		owner_free(r->conversations[i].owner[0]);
		owner_free(r->conversations[i].owner[1]);
		free(r->conversations[i].connection);
		if (r->conversations[i].application)
			application_clear(r->conversations[i].application);
		free(r->conversations[i].application);
		free(r->conversations[i].series.points);
	}
	report_ports_free(r);
	for (size_t i = 0; i < r->n_comparisons; i++) {
		free(r->comparisons[i].device);
		free(r->comparisons[i].counter);
		free(r->comparisons[i].meaning);
		free(r->comparisons[i].why);
	}
	for (size_t i = 0; i < r->n_readings; i++)
		rd_counters_free(&r->readings[i]);
	for (size_t i = 0; i < r->n_applications; i++)
		application_clear(&r->applications[i]);
	free(r->applications);
	groups_free(&r->groups);
	free(r->place_of);
	free(r->flow_slots);
	hosts_free(&r->hosts);
	verdict_free(&r->verdict);
	free(r->readings);
	free(r->mads);
	free(r->conversations);
	rd_findings_free(&r->findings);
	free(r->comparisons);
	free(r->series.points);
	free(r->pause_senders);
	free(r->marks);
	free(r->application);
	free(r->hardware);
	free(r->filter);
	free(r->os);
	free(r);
}
