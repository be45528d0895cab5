/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The report of two captures of the same traffic: which one is at the sender, what is missing. */
#include "ends.h"
#include <errno.h>
#include <stdlib.h>

#define ONE_POINT 8 /* packets, whose times are not the same by chance */

/* --- paths and their QPs ---------------------------------------------------------------------- */

/* Packets that only the sender's capture has. */
static void fill_lost(struct rd_path_qp *out, const struct path_qp *w, const struct judging *m)
{
	const enum rd_tap sender = w->path->sender;
	struct rd_incident all = w->only[sender];

	incident_join(&all, &w->copies[sender]);
	out->asked_for = w->fate[FATE_LOST].count;
	out->missed_at_receiver = w->fate[FATE_DELIVERED];
	if (trusted(&m->trust[!sender]) || !w->path->sender_known) {
		out->lost = all;
		return;
	}
	out->lost = w->fate[FATE_LOST];
	out->unclear = w->fate[FATE_UNKNOWN];
	out->unclear.count += all.count - w->recorded;
}

/*
 * If one capture lacks packets, another choice of their copies may explain the order. If both have
 * all of them, none can.
 */
static uint64_t order_unclear(const struct path_qp *w)
{
	for (int end = 0; end < RD_TAPS; end++)
		if (w->only[end].count || w->copies[end].count || w->twins[end].count)
			return 0;
	return w->order_unclear[!w->path->sender];
}

static void fill_qp(struct rd_path_qp *out, const struct path_qp *w, const struct judging *m)
{
	const enum rd_tap receiver = !w->path->sender;

	*out = (struct rd_path_qp){.qp = w->qp,
		.network = path_network(w->path),
		.arrived = w->matched,
		.arrived_longest = w->longest,
		.lost_shortest = w->shortest[!receiver],
		.arrived_last = w->last_matched[!receiver],
		.reordered = w->reordered[receiver],
		.reordered_proven = w->reordered_proven[receiver],
		.order_unclear = order_unclear(w),
		.order_unknown = w->order_unknown[receiver],
		.lost_runs = w->lone_runs[!receiver],
		.duplicated_runs = w->runs[receiver],
		.duplicated = w->copies[receiver],
		.missed = w->only[receiver]};
	incident_join(&out->duplicated, &w->twins[receiver]);
	fill_lost(out, w, m);
	out->lost_kind = (w->only_ops[w->path->sender] & ~w->arrived_ops) != 0;
	out->sent =
		out->arrived + out->lost.count + out->unclear.count + out->missed_at_receiver.count;
}

static int busier_qp(const void *x, const void *y)
{
	const struct rd_path_qp *a = x, *b = y;
	uint64_t p = a->sent + a->missed.count, q = b->sent + b->missed.count;

	return RD_ORDER(q, p) ?: RD_ORDER(a->qp, b->qp);
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
	const struct rd_path *a = x, *b = y;
	uint64_t p = packets(a), q = packets(b);

	return RD_ORDER(q, p) ?: strcmp(a->from, b->from) ?: strcmp(a->to, b->to)
		?: RD_ORDER(a->network, b->network);
}

static int fill_path(const struct judging *m, struct rd_path *out, const struct path *p)
{
	const struct delays *d = &p->d.delays[p->sender];
	const struct rd_ends *e = m->e;

	memcpy(out->from, p->from, sizeof(out->from));
	memcpy(out->to, p->to, sizeof(out->to));
	out->network = p->network;
	out->shared = p->plain->shared;
	out->doubtful = p->plain->shared && p->plain->outside;
	out->sender = p->sender;
	out->sender_known = p->sender_known;
	out->ids_tell = ids_tell(p);
	for (int end = 0; end < RD_TAPS; end++)
		out->sent_by_host[end] = p->frames_out[end] > 0;
	out->variation = hist_result(d->hist);
	out->rises = d->rises;
	m->r->proven |= out->variation.n > 0;
	out->slowest_frame = d->frame;
	out->qps = calloc(p->n_qps + 1, sizeof(*out->qps));
	if (!out->qps)
		return -1;
	for (size_t i = 0; i < e->n_slots; i++) {
		if (!e->qps[i] || e->qps[i]->path != p)
			continue;
		fill_qp(&out->qps[out->n_qps++], e->qps[i], m);
		m->r->outside += e->qps[i]->outside[RD_TAP_A] + e->qps[i]->outside[RD_TAP_B];
	}
	qsort(out->qps, out->n_qps, sizeof(*out->qps), busier_qp);
	return 0;
}

static void count_elsewhere(const struct judging *m)
{
	m->r->elsewhere = m->e->elsewhere;
	for (size_t i = 0; i < m->e->n_slots; i++) {
		const struct path_qp *w = m->e->qps[i];

		for (int end = 0; w && !w->path->between && end < RD_TAPS; end++)
			m->r->elsewhere += w->only[end].count + w->copies[end].count +
					   w->twins[end].count + w->outside[end];
	}
}

static int fill_paths(const struct judging *m)
{
	m->r->paths = calloc(m->e->n_paths + 1, sizeof(*m->r->paths));
	if (!m->r->paths)
		return -1;
	for (size_t i = 0; i < m->e->n_paths; i++)
		if (m->e->paths[i]->between &&
			fill_path(m, &m->r->paths[m->r->n_paths++], m->e->paths[i]) < 0)
			return -1;
	count_elsewhere(m);
	return 0;
}

/* --- how complete each capture is ------------------------------------------------------------- */

static void weigh(struct judging *m)
{
	for (int end = 0; end < RD_TAPS; end++)
		m->trust[end].drops = capture_lost_frames(m->reports[end]);
	for (size_t i = 0; i < m->e->n_slots; i++) {
		const struct path_qp *w = m->e->qps[i];
		struct trust *here, *there;

		if (!w || !w->path->between || !w->path->sender_known)
			continue;
		here = &m->trust[w->path->sender];
		there = &m->trust[!w->path->sender];
		here->missed += w->only[!w->path->sender].count;
		here->copied += w->twins[w->path->sender].count;
		/* One of several copies that a capture missed would be taken for another fault. */
		here->tested += ids_tell(w->path) ? w->matched : w->single;
		there->missed += w->fate[FATE_DELIVERED].count;
		if (w->path->reverse && w->path->reverse->d.n)
			there->tested += w->requests;
	}
}

static void fill_clock(const struct judging *m)
{
	struct clock_bounds bounds = {0};

	m->r->clock_steps_ns = (uint64_t)(clock_step(&m->e->pending[RD_TAP_A].clock) +
					  clock_step(&m->e->pending[RD_TAP_B].clock));

	for (size_t i = 0; i < m->e->n_paths; i++)
		if (m->e->paths[i]->sender_known)
			clock_add(&bounds, &m->e->paths[i]->d, m->e->paths[i]->sender);
	clock_result(&bounds, m->r->clock_steps_ns, m->r);
	if (m->r->offset_known)
		m->r->edge_ns = m->r->offset_error_ns + (uint64_t)llabs(m->r->offset_ns);
	m->r->offset_ns += m->e->offset;
}

/* --- the whole -------------------------------------------------------------------------------- */

static void name_paths(struct rd_ends *e)
{
	for (size_t i = 0; i < e->n_paths; i++) {
		struct path *p = e->paths[i];

		rd_address_text(p->from, p->net, p->src);
		rd_address_text(p->to, p->net, p->dst);
	}
}

int rd_ends_report(struct rd_ends *e, const struct rd_report *const reports[RD_TAPS],
	struct rd_ends_report **report, struct rd_error *err)
{
	const struct pending *a = &e->pending[RD_TAP_A], *b = &e->pending[RD_TAP_B];
	struct judging m = {.e = e, .r = calloc(1, sizeof(*m.r)), .reports = reports};
	int64_t last = RD_MIN(a->last, b->last), first = RD_MAX(a->first, b->first);

	*report = m.r;
	if (!m.r || e->out_of_memory)
		goto memory;
	name_paths(e);
	place_senders(e);
	evidence_judge(e, reports);
	weigh(&m);
	if (fill_paths(&m) < 0)
		goto memory;
	m.r->start_ns = e->start;
	m.r->first_ns = e->start + (uint64_t)first;
	m.r->last_ns = e->start + (uint64_t)RD_MAX(last, first);
	m.r->packets = e->matched;
	m.r->one_point = e->matched >= ONE_POINT && e->at_once == e->matched;
	m.r->evicted = e->evicted;
	m.r->left_out = e->left_out;
	fill_clock(&m);
	if (!ends_findings(&m))
		goto memory;
	qsort(m.r->paths, m.r->n_paths, sizeof(*m.r->paths), busier_path);
	if (!ends_judge(&m))
		goto memory;
	return 0;
memory:
	rd_ends_report_free(m.r);
	*report = NULL;
	return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "two ends");
}

bool rd_ends_has_both_ways(const struct rd_ends_report *r)
{
	return RD_ANY(p, r->paths, r->n_paths,
		RD_ANY(q, r->paths, r->n_paths,
			!strcmp(p->from, q->to) && !strcmp(p->to, q->from)));
}

void rd_ends_report_free(struct rd_ends_report *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_paths; i++)
		free(r->paths[i].qps);
	rd_findings_free(&r->findings);
	groups_free(&r->groups);
	verdict_free(&r->verdict);
	free(r->paths);
	free(r);
}
