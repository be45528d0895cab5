/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * PSNs over time, for plots: which were sent, retransmitted, acknowledged, refused with a NAK. A
 * plot has a fixed number of steps, which become twice as long when they are used up. There are
 * few plots: the first requesters have them, until others are in trouble.
 */
#include "state.h"
#include <stdlib.h>

#define PLOTS	   64
#define FIRST_STEP 1000 /* ns */

struct drawn {
	struct flow *flow;
	struct rd_psn_plot plot;
	bool troubled;
	uint64_t packets;
	uint64_t nak_stride; /* one NAK of so many is kept */
	uint32_t last;	     /* PSN of the last request */
	int64_t at, top;     /* its place in the plot; the highest one */
};

struct psn_plots {
	struct drawn *drawn[PLOTS];
	unsigned int n, troubled;
	/* The last frame that was a retransmission, a copy, the first one of a reused QP. */
	uint64_t again, copy, restart;
};

struct psn_plots *psn_plots_open(void)
{
	return calloc(1, sizeof(struct psn_plots));
}

void psn_plots_free(struct psn_plots *plots)
{
	for (unsigned int i = 0; plots && i < plots->n; i++)
		free(plots->drawn[i]);
	free(plots);
}

/* --- steps of time ---------------------------------------------------------------------------- */

static const struct rd_psn_step empty = {{0, RD_PSN_NONE}, {0, RD_PSN_NONE}, RD_PSN_NONE};

static void range_add(struct rd_psn_range *r, int64_t low, int64_t high)
{
	if (high == RD_PSN_NONE)
		return;
	if (r->high == RD_PSN_NONE || low < r->low)
		r->low = low;
	r->high = RD_MAX(r->high, high);
}

/* Makes one step of each two. */
static void fold(struct rd_psn_plot *p)
{
	for (unsigned int i = 0; i < p->n; i++) {
		struct rd_psn_step step = p->steps[i], *to = &p->steps[i / 2];

		if (i % 2 == 0) {
			*to = step;
			continue;
		}
		range_add(&to->sent, step.sent.low, step.sent.high);
		range_add(&to->again, step.again.low, step.again.high);
		to->acked = RD_MAX(to->acked, step.acked);
	}
	p->n = (p->n + 1) / 2;
	p->width_ns *= 2;
}

/* Times before the start, of a clock that was set back, are in the first step. */
static struct rd_psn_step *step_at(struct rd_psn_plot *p, uint64_t ns)
{
	uint64_t since = ns > p->start_ns ? ns - p->start_ns : 0;

	while (since / p->width_ns >= RD_PSN_STEPS)
		fold(p);
	while (p->n <= since / p->width_ns)
		p->steps[p->n++] = empty;
	return &p->steps[since / p->width_ns];
}

/* --- which requesters ------------------------------------------------------------------------- */

static void begin(struct drawn *d, struct flow *f, uint32_t psn, uint64_t ns)
{
	*d = (struct drawn){.flow = f,
		.nak_stride = 1,
		.last = psn,
		.plot = {.start_ns = ns, .width_ns = FIRST_STEP, .psn = psn}};
	d->plot.late = f->req.packets > 1;
}

/* The plot without trouble that has the fewest packets; NULL: all are in trouble. */
static struct drawn *least(const struct psn_plots *plots)
{
	struct drawn *found = NULL;

	for (unsigned int i = 0; i < plots->n && plots->troubled < plots->n; i++) {
		struct drawn *d = plots->drawn[i];

		if (!d->troubled && (!found || d->packets < found->packets))
			found = d;
	}
	return found;
}

/* NULL: it has none, and gets none. */
static struct drawn *drawn_of(
	struct rd_analysis *a, struct flow *f, uint32_t psn, uint64_t ns, bool trouble)
{
	struct psn_plots *plots = a->psn_plots;
	struct drawn *d = f->psn_plot ? plots->drawn[f->psn_plot - 1] : NULL;

	if (!d && plots->n < PLOTS) {
		d = must(a, malloc(sizeof(*d)));
		if (!d)
			return NULL;
		begin(d, f, psn, ns);
		plots->drawn[plots->n++] = d;
		f->psn_plot = (uint8_t)plots->n;
	} else if (!d && trouble) {
		d = least(plots);
		if (!d)
			return NULL;
		f->psn_plot = d->flow->psn_plot;
		d->flow->psn_plot = 0;
		begin(d, f, psn, ns);
	}
	if (d && trouble && !d->troubled) {
		d->troubled = true;
		plots->troubled++;
	}
	return d;
}

/* --- packets ---------------------------------------------------------------------------------- */

void psn_plots_incident(struct rd_analysis *a, enum rd_incident_kind kind)
{
	struct psn_plots *plots = a->psn_plots;

	if (kind == RD_INC_RETRANSMITTED)
		plots->again = a->frame;
	else if (kind == RD_INC_DUPLICATED || kind == RD_INC_RESPONSE_DUPLICATED)
		plots->copy = a->frame;
	else if (kind == RD_INC_RESTART)
		plots->restart = a->frame;
}

static int64_t place_of(const struct drawn *d, uint32_t psn)
{
	return d->at + psn_diff(psn, d->last);
}

void psn_plots_request(struct rd_analysis *a, struct flow *f, const struct item *it, uint32_t span)
{
	const struct psn_plots *plots = a->psn_plots;
	bool again = plots->again == a->frame;
	uint32_t psn = it->p->psn;
	struct rd_psn_step *step;
	struct drawn *d;

	if (plots->copy == a->frame)
		return;
	d = drawn_of(a, f, psn, it->ns, again);
	if (!d)
		return;
	/* The PSNs of a new connection are drawn above those of the former one. */
	d->at = plots->restart == a->frame ? d->top + 1 : place_of(d, psn);
	d->last = psn;
	d->plot.restarts += plots->restart == a->frame;
	d->packets++;
	d->top = RD_MAX(d->top, d->at + span - 1);
	step = step_at(&d->plot, it->ns);
	range_add(again ? &step->again : &step->sent, d->at, d->at + span - 1);
}

static void nak_add(struct drawn *d, const struct item *it, bool rnr)
{
	struct rd_psn_plot *p = &d->plot;

	if (p->naks_in_all++ % d->nak_stride)
		return;
	if (p->n_naks == RD_PSN_NAKS) {
		for (unsigned int i = 0; i < RD_PSN_NAKS / 2; i++)
			p->naks[i] = p->naks[2 * i];
		p->n_naks = RD_PSN_NAKS / 2;
		d->nak_stride *= 2;
	}
	p->naks[p->n_naks++] = (struct rd_psn_nak){
		.ns = it->ns, .frame = it->frame, .psn = place_of(d, it->p->psn), .rnr = rnr};
}

void psn_plots_response(struct rd_analysis *a, struct flow *r, const struct item *it)
{
	struct rd_aeth aeth = {0};
	bool nak = !(it->p->op->bits & (RD_OP_READ | RD_OP_ATOMIC)) &&
		   rd_packet_aeth(it->p, &aeth) &&
		   (aeth.kind == RD_AETH_NAK || aeth.kind == RD_AETH_RNR);
	struct rd_psn_step *step;
	struct drawn *d;

	if (a->psn_plots->copy == a->frame || !r->req.started)
		return;
	d = drawn_of(a, r, it->p->psn, it->ns, nak);
	if (!d)
		return;
	if (nak)
		nak_add(d, it, aeth.kind == RD_AETH_RNR);
	if (!r->ack.acked)
		return;
	step = step_at(&d->plot, it->ns);
	step->acked = RD_MAX(step->acked, place_of(d, r->ack.una));
}

bool psn_plot_copy(struct rd_psn_plot **to, const struct psn_plots *plots, const struct flow *f)
{
	if (!plots || !f->psn_plot)
		return true;
	*to = malloc(sizeof(**to));
	if (*to)
		**to = plots->drawn[f->psn_plot - 1]->plot;
	return *to != NULL;
}
