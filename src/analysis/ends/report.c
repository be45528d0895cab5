/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The report of two captures of the same traffic: which one is at the sender, losses, findings. */
#include "../rules/rules.h"
#include "ends.h"
#include <errno.h>
#include <inttypes.h>
#include <rdmadump/notation.h>
#include <stdlib.h>

#define LATE_NS 1000000U /* a delay variation worth a finding */

struct making {
	struct rd_ends *e;
	struct rd_ends_report *r;
	const struct rd_report *const *reports;
};

/* --- which capture is at the sender ----------------------------------------------------------- */

static double mean(const struct distances *d)
{
	return d->sum / (double)d->n;
}

/* A packet at one end only is more often lost than missed by the sender's capture. */
static enum rd_tap guess_sender(const struct rd_ends *e, const struct path *p)
{
	uint64_t only[RD_TAPS] = {0};

	for (size_t i = 0; i < PATH_QP_SLOTS; i++)
		if (e->qps[i] && e->qps[i]->path == p)
			for (int end = 0; end < RD_TAPS; end++)
				only[end] += e->qps[i]->only[end].count;
	return only[RD_TAP_B] > only[RD_TAP_A] ? RD_TAP_B : RD_TAP_A;
}

/* By the directions in the captures, else because a packet is at its sender first. */
static enum rd_tap sender_of(const struct rd_ends *e, const struct path *p, bool *known)
{
	const uint64_t *out = p->frames_out;

	*known = true;
	if (!out[RD_TAP_A] != !out[RD_TAP_B])
		return out[RD_TAP_A] ? RD_TAP_A : RD_TAP_B;
	if (p->reverse && p->d.n && p->reverse->d.n)
		return mean(&p->d) > mean(&p->reverse->d) ? RD_TAP_A : RD_TAP_B;
	*known = false;
	return guess_sender(e, p);
}

/* --- paths and their QPs ---------------------------------------------------------------------- */

static void fill_qp(struct rd_path_qp *out, const struct path_qp *w, const struct rd_path *path)
{
	const enum rd_tap sender = path->sender, receiver = !sender;
	const struct rd_incident *only = &w->only[sender], *copies = &w->copies[sender];
	const uint64_t resent = copies->count - w->edge_copies[sender];

	*out = (struct rd_path_qp){.qp = w->qp,
		.arrived = w->matched,
		.reordered = w->reordered,
		.lost = *only,
		.duplicated = w->copies[receiver],
		.missed = w->only[receiver]};
	memcpy(out->from, path->from, sizeof(out->from));
	memcpy(out->to, path->to, sizeof(out->to));
	/* A packet that was sent twice with the same bytes, and arrived once. */
	if (resent) {
		uint64_t first = out->lost.first_frame, ns = out->lost.first_ns;

		incident_add(&out->lost, resent, copies->last_frame, copies->last_ns);
		if (!first || copies->first_frame < first) {
			first = copies->first_frame;
			ns = copies->first_ns;
		}
		out->lost.first_frame = first;
		out->lost.first_ns = ns;
		if (only->last_frame > out->lost.last_frame) {
			out->lost.last_frame = only->last_frame;
			out->lost.last_ns = only->last_ns;
		}
	}
	out->sent = out->arrived + out->lost.count;
}

static int busier_qp(const void *x, const void *y)
{
	const struct rd_path_qp *a = x, *b = y;
	uint64_t p = a->sent + a->missed.count, q = b->sent + b->missed.count;

	if (p != q)
		return p < q ? 1 : -1;
	return a->qp < b->qp ? -1 : a->qp > b->qp;
}

static uint64_t packets(const struct rd_path *p)
{
	uint64_t n = 0;

	for (size_t i = 0; i < p->n_qps; i++)
		n += p->qps[i].sent + p->qps[i].missed.count;
	return n;
}

static int busier_path(const void *x, const void *y)
{
	uint64_t p = packets(x), q = packets(y);

	if (p != q)
		return p < q ? 1 : -1;
	return strcmp(((const struct rd_path *)x)->from, ((const struct rd_path *)y)->from);
}

static size_t count_qps(const struct rd_ends *e, const struct path *p)
{
	size_t n = 0;

	for (size_t i = 0; i < PATH_QP_SLOTS; i++)
		n += e->qps[i] && e->qps[i]->path == p;
	return n;
}

static int fill_path(const struct rd_ends *e, struct rd_ends_report *r, struct rd_path *out,
	const struct path *p)
{
	const struct distances *d = &p->d;

	rd_address_text(out->from, p->net, p->src);
	rd_address_text(out->to, p->net, p->dst);
	out->sender = sender_of(e, p, &out->sender_known);
	out->variation = hist_result(out->sender == RD_TAP_A ? d->above : d->below);
	out->slowest_frame = out->sender == RD_TAP_A ? d->above_frame : d->below_frame;
	out->qps = calloc(count_qps(e, p) + 1, sizeof(*out->qps));
	if (!out->qps)
		return -1;
	for (size_t i = 0; i < PATH_QP_SLOTS; i++) {
		if (!e->qps[i] || e->qps[i]->path != p)
			continue;
		fill_qp(&out->qps[out->n_qps++], e->qps[i], out);
		r->outside += e->qps[i]->edge_copies[out->sender];
	}
	qsort(out->qps, out->n_qps, sizeof(*out->qps), busier_qp);
	return 0;
}

static int fill_paths(const struct making *m)
{
	m->r->paths = calloc(m->e->n_paths + 1, sizeof(*m->r->paths));
	if (!m->r->paths)
		return -1;
	for (size_t i = 0; i < m->e->n_paths; i++) {
		if (fill_path(m->e, m->r, &m->r->paths[i], m->e->paths[i]) < 0)
			return -1;
		m->r->n_paths++;
	}
	return 0;
}

/* By the pair of addresses with most packets in both directions. */
static void fill_clock(const struct making *m)
{
	const struct path *best = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < m->e->n_paths; i++) {
		const struct path *p = m->e->paths[i];
		uint64_t n = p->reverse ? p->d.n : 0;

		if (n && p->reverse->d.n < n)
			n = p->reverse->d.n;
		if (n > most && m->r->paths[i].sender == RD_TAP_A) {
			most = n;
			best = p;
		}
	}
	if (best)
		distances_clock(&best->d, &best->reverse->d, m->r);
	m->r->offset_ns += m->e->offset;
}

/* --- findings --------------------------------------------------------------------------------- */

struct sight {
	const struct rd_report *const *reports;
	const struct rd_path *p;
	const struct rd_path_qp *w; /* NULL for rules over a path */
	uint64_t evicted;	    /* packets of all paths, see rd_ends_report */
};

struct ends_rule {
	struct rule_head head;
	bool of_qp;
	bool (*applies)(const struct sight *s, struct rd_finding *f);
};

/*
 * What a capture lacks, it may have missed: a mirror port drops frames without a count. Then the
 * sender may also be the wrong one.
 */
static void lower_if_missed(const struct sight *s, struct rd_finding *f, enum rd_tap tap)
{
	if (!s->p->sender_known || capture_lost_frames(s->reports[tap]))
		finding_lower(f, RD_POSSIBLE);
}

static void filter_qp(const struct sight *s, struct rd_finding *f, uint64_t first)
{
	rd_finding_filter(f, first, "infiniband.bth.destqp == 0x%06x", s->w->qp);
}

/* This direction in the receiver's own report; NULL: it is absent. */
static const struct rd_side *side_at_receiver(const struct sight *s)
{
	const struct rd_report *r = s->reports[!s->p->sender];

	for (size_t i = 0; i < r->n_conversations; i++)
		for (unsigned int side = 0; side < 2; side++) {
			const struct rd_conversation *c = &r->conversations[i];
			const struct rd_endpoint *from = side ? &c->b : &c->a;
			const struct rd_endpoint *to = side ? &c->a : &c->b;

			if (to->qp == s->w->qp && !strcmp(from->address, s->p->from) &&
				!strcmp(to->address, s->p->to))
				return &c->side[side];
		}
	return NULL;
}

static bool lost_between(const struct sight *s, struct rd_finding *f)
{
	const struct rd_incident *e = &s->w->lost;

	if (!e->count)
		return false;
	finding_evidence(f, e);
	lower_if_missed(s, f, !s->p->sender);
	if (s->evicted) /* their match may have come later */
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "packets are lost between the two capture points");
	rd_finding_detail(f,
		"%llu packet%s of %llu that were sent (%.2g %%) did not arrive; frames of the "
		"sender's capture",
		n(e->count), plural(e->count), n(s->w->sent), percent(e->count, s->w->sent));
	filter_qp(s, f, e->first_frame);
	return true;
}

static bool duplicated_between(const struct sight *s, struct rd_finding *f)
{
	const struct rd_incident *e = &s->w->duplicated;

	if (!e->count)
		return false;
	finding_evidence(f, e);
	lower_if_missed(s, f, s->p->sender);
	rd_finding_title(f, "packets are duplicated on the path");
	rd_finding_detail(f,
		"%llu packet%s arrived once more than they were sent; frames of the receiver's "
		"capture",
		n(e->count), plural(e->count));
	filter_qp(s, f, e->first_frame);
	return true;
}

static bool reordered_between(const struct sight *s, struct rd_finding *f)
{
	if (!s->w->reordered)
		return false;
	f->evidence.count = s->w->reordered;
	rd_finding_title(f, "packets are reordered on the path");
	rd_finding_detail(f, "%llu of %llu packets (%.2g %%) arrived after later ones",
		n(s->w->reordered), n(s->w->arrived), percent(s->w->reordered, s->w->arrived));
	filter_qp(s, f, 0);
	return true;
}

/* Packets that the receiver requests again though its own capture has them. */
static bool lost_downstream(const struct sight *s, struct rd_finding *f)
{
	const struct rd_side *side = side_at_receiver(s);
	const struct rd_incident *e = side ? rd_side_incident(side, RD_INC_LOST_DOWNSTREAM) : NULL;

	if (!e || !e->count)
		return false;
	finding_evidence(f, e);
	rd_finding_title(f, "packets are lost downstream of the receiver's port");
	rd_finding_detail(f,
		"%llu time%s the receiver requested packets again that its own capture has; frames "
		"of the receiver's capture",
		n(e->count), plural(e->count));
	filter_qp(s, f, e->first_frame);
	return true;
}

static bool missed_by_capture(const struct sight *s, struct rd_finding *f)
{
	const struct rd_incident *e = &s->w->missed;

	if (!e->count)
		return false;
	finding_evidence(f, e);
	if (!s->p->sender_known)
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "the sender's capture missed packets");
	rd_finding_detail(f,
		"%llu packet%s arrived that the capture at the sender lacks; frames of the "
		"receiver's capture",
		n(e->count), plural(e->count));
	filter_qp(s, f, e->first_frame);
	return true;
}

static bool late(const struct sight *s, struct rd_finding *f)
{
	const struct rd_latency *v = &s->p->variation;

	if (v->p99 < LATE_NS)
		return false;
	f->evidence.count = v->n;
	rd_finding_frame(f, s->p->slowest_frame);
	rd_finding_title(f, "the delay on the path varies");
	rd_finding_detail(f,
		"one-way delay above the shortest: median %.3g ms, 99th percentile %.3g ms, "
		"maximum %.3g ms; a frame of the receiver's capture",
		(double)v->p50 / 1e6, (double)v->p99 / 1e6, (double)v->max / 1e6);
	return true;
}

static const struct ends_rule ends_rules[] = {
	{{"lost-between", RD_SEV_PROBLEM, RD_LIKELY,
		 "a switch or router on the path drops: congestion without PFC on this priority, a "
		 "bad cable, a wrong MTU or VLAN; or the receiver's capture missed them",
		 "look at discards, CRC errors and PFC counters of every port between the two "
		 "hosts, and at what the receiver's capture lost"},
		true, lost_between},
	{{"lost-downstream-of-receiver", RD_SEV_PROBLEM, RD_LIKELY,
		 "the receiving NIC or host drops: no room in its buffers, a bad ICRC, a filter",
		 "look at out_of_buffer, rx_discards_phy and rx_icrc_encapsulated of the receiver"},
		true, lost_downstream},
	{{"duplicated-between", RD_SEV_WARNING, RD_LIKELY,
		 "a mirror session that copies a frame at two ports, or a loop",
		 "look for mirror sessions and loops on the switches between"},
		true, duplicated_between},
	{{"reordered-between", RD_SEV_WARNING, RD_LIKELY,
		 "packets of one QP take several paths: adaptive routing, spraying, a LAG that "
		 "hashes per packet; or a capture that merges several queues out of order",
		 "hash by UDP source port, or use NICs that accept packets out of order"},
		true, reordered_between},
	{{"missed-at-sender", RD_SEV_NOTE, RD_LIKELY,
		 "the capture at the sender lost frames, or does not get all that its NIC sends",
		 "look at the losses of that capture"},
		true, missed_by_capture},
	{{"delay-varies", RD_SEV_NOTE, RD_LIKELY,
		 "queues on the path: congestion, or pauses (PFC); or software timestamps",
		 "compare with ECN marks and pause counters of that time"},
		false, late},
	{{0}, false, NULL},
};

#define FINDINGS_MAX 1024

static void try_rule(struct rd_findings *list, const struct ends_rule *rule, const struct sight *s)
{
	struct rd_finding *f = finding_begin(list, &rule->head, FINDINGS_MAX);

	if (!f)
		return;
	if (!rule->applies(s, f))
		rd_findings_drop_last(list);
	else if (s->w)
		rd_finding_where(f, "%s -> %s QP 0x%x", s->p->from, s->p->to, s->w->qp);
	else
		rd_finding_where(f, "%s -> %s", s->p->from, s->p->to);
}

static int make_findings(const struct making *m)
{
	struct rd_ends_report *r = m->r;

	for (size_t i = 0; i < r->n_paths; i++)
		for (const struct ends_rule *rule = ends_rules; rule->head.key; rule++) {
			struct sight s = {m->reports, &r->paths[i], NULL, r->evicted};

			if (!rule->of_qp)
				try_rule(&r->findings, rule, &s);
			for (size_t k = 0; rule->of_qp && k < r->paths[i].n_qps; k++) {
				s.w = &r->paths[i].qps[k];
				try_rule(&r->findings, rule, &s);
			}
		}
	rd_findings_sort(&r->findings, finding_order);
	return rd_findings_are_complete(&r->findings) ? 0 : -1;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int rd_ends_report(struct rd_ends *e, const struct rd_report *const reports[RD_TAPS],
	struct rd_ends_report **report, struct rd_error *err)
{
	const struct pending *a = &e->pending[RD_TAP_A], *b = &e->pending[RD_TAP_B];
	struct making m = {.e = e, .r = calloc(1, sizeof(*m.r)), .reports = reports};
	int64_t last = a->last < b->last ? a->last : b->last, first = later(a->first, b->first);

	*report = m.r;
	if (!m.r || e->out_of_memory || fill_paths(&m) < 0)
		goto memory;
	m.r->start_ns = e->origin;
	m.r->first_ns = e->origin + (uint64_t)first;
	m.r->last_ns = e->origin + (uint64_t)later(last, first);
	m.r->packets = e->matched;
	m.r->outside += e->outside;
	m.r->evicted = e->evicted;
	m.r->left_out = e->left_out;
	fill_clock(&m);
	if (make_findings(&m) < 0)
		goto memory;
	qsort(m.r->paths, m.r->n_paths, sizeof(*m.r->paths), busier_path);
	return 0;
memory:
	rd_ends_report_free(m.r);
	*report = NULL;
	return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "two ends");
}

void rd_ends_report_free(struct rd_ends_report *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_paths; i++)
		free(r->paths[i].qps);
	rd_findings_free(&r->findings);
	free(r->paths);
	free(r);
}
