/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What rules over one side rest on beside the packets that are there, and when it is doubtful. */
#include "look.h"

enum basis {
	ON_ABSENCE = 1,	 /* that frames were not on the wire here, as they are not in the file */
	ON_ORDER = 2,	 /* that the file has the frames in the order of sending */
	ON_TIME = 4,	 /* that a sender waited before it sent a packet again */
	ON_PATH = 8,	 /* that packets arrive at the other host in the order of sending */
	ON_ONCE = 16,	 /* that a packet is in the file as often as it was sent */
	ON_SENDING = 32, /* that a packet after later ones was sent after them */
};

/* Of rules that are likely at most; those without a row rest on packets alone. */
static const struct {
	const char *rule;
	unsigned int basis;
} rests[] = {
	{"lost-upstream", ON_ABSENCE | ON_SENDING},
	{"lost-downstream", ON_ABSENCE | ON_PATH},
	{"responses-lost-upstream", ON_ABSENCE | ON_ORDER | ON_PATH},
	{"responses-lost-downstream", ON_ONCE | ON_ORDER},
	{"responses-unseen", ON_ORDER},
	{"unreliable-lost", ON_ABSENCE | ON_ORDER},
	{"timeout", ON_ABSENCE | ON_TIME},
	{"timeout-short", ON_ABSENCE | ON_TIME},
	{"timeout-long", ON_ABSENCE},
	{"stall", ON_ABSENCE},
	{"no-response", ON_ABSENCE},
};

#define RARE	  16  /* one in so many */
#define PATHS_MAX 256 /* conversations among which others of the path are searched */

/*
 * Packets of RC that were acknowledged, and responses that were used, without being captured: those
 * of UC and UD may be lost.
 */
uint64_t trust_missed(const struct rd_report *r)
{
	uint64_t missed = 0;

	for (size_t i = 0; i < r->n_conversations; i++) {
		const struct rd_conversation *c = &r->conversations[i];

		for (int k = 0; k < 2 && (c->transport == RD_RC || c->transport == RD_XRC); k++)
			missed += rd_side_incident(&c->side[k], RD_INC_UNSEEN)->count +
				  rd_side_incident(&c->side[k], RD_INC_RESPONSE_UNSEEN)->count;
	}
	return missed;
}

/* Whether the pair's part of the frames that the capture missed may explain the finding. */
static bool may_lack_frames(const struct look *l, const struct rd_finding *f)
{
	double part = (double)(l->s->frames + l->other->frames) / (double)l->r->totals.rdma_frames;

	return (double)l->missed * part * RARE > (double)f->evidence.count;
}

/* Whether packets of this pair overtake others, on the way or as they are captured. */
static bool has_no_order(const struct look *l)
{
	return is_disordered(l) || count(l, RD_INC_REORDERED) ||
	       count(l, RD_INC_RESPONSE_REORDERED) ||
	       rd_side_incident(l->other, RD_INC_REORDERED)->count ||
	       rd_side_incident(l->other, RD_INC_RESPONSE_REORDERED)->count;
}

static bool is_between(const struct rd_conversation *c, const char *a, const char *b)
{
	return !strcmp(c->a.address, a) && !strcmp(c->b.address, b);
}

/* Whether what this side sends, or what it gets back, is reordered beyond the capture point. */
static bool is_reordered(const struct rd_side *s)
{
	return s->naks_late || rd_side_incident(s, RD_INC_REORDERED_DOWNSTREAM)->count > 1;
}

/* Whether a side has this, of a QP pair of these two hosts. */
static bool any_between_hosts(const struct look *l, bool (*has)(const struct rd_side *s))
{
	const char *from = l->from->address, *to = l->to->address;

	for (size_t i = 0; i < l->r->n_conversations && i < PATHS_MAX; i++) {
		const struct rd_conversation *c = &l->r->conversations[i];

		if ((is_between(c, from, to) || is_between(c, to, from)) &&
			(has(&c->side[0]) || has(&c->side[1])))
			return true;
	}
	return false;
}

/*
 * Whether packets between these hosts overtake each other: a network that sends packets of one QP
 * by several paths does so with all, and their receivers take late ones for lost.
 */
static bool has_several_paths(const struct look *l)
{
	return is_reordered(l->s) || is_reordered(l->other) || any_between_hosts(l, is_reordered);
}

#define LATE_MANY 8 /* late packets that are hardly all retransmissions */

static bool has_late_packets(const struct rd_side *s)
{
	return rd_side_incident(s, RD_INC_REORDERED)->count >= LATE_MANY;
}

/*
 * Whether packets between these hosts overtake each other before the capture point, while no IP
 * identifications count what this sender sent: a late packet looks retransmitted.
 */
static bool may_be_late(const struct look *l)
{
	return l->s->late_doubtful && any_between_hosts(l, has_late_packets);
}

static bool has_copies(const struct rd_side *s)
{
	return rd_side_incident(s, RD_INC_DUPLICATED)->count ||
	       rd_side_incident(s, RD_INC_RESPONSE_DUPLICATED)->count;
}

/*
 * Whether frames between these hosts are in the file twice, while no IP identification tells the
 * copies of this QP from retransmissions: what makes copies makes them of any QP.
 */
static bool may_be_copies(const struct look *l)
{
	return !l->s->identified && any_between_hosts(l, has_copies);
}

#define TIMER_NS UINT64_C(8192) /* the shortest of IBTA volume 1, 9.9.1: 4.096 us * 2^1 */
#define COPY_NS	 UINT64_C(1000000)

/*
 * Whether a mirror's copies may be what looks like retransmissions: sooner than any timer, or soon
 * and of one or two packets each, while no IP identification tells them apart.
 */
static bool may_be_no_timer(const struct look *l)
{
	uint64_t waited = latency(l, RD_LATENCY_TIMEOUT)->p50;

	return waited < TIMER_NS || (!l->s->identified && waited < COPY_NS &&
					    count(l, RD_INC_RETRANSMITTED) <= 2 * rounds(l));
}

void trust_lower(const struct look *l, struct rd_finding *f)
{
	unsigned int basis = 0;

	for (size_t i = 0; i < sizeof(rests) / sizeof(*rests); i++)
		if (!strcmp(rests[i].rule, f->rule))
			basis = rests[i].basis;
	if ((basis & ON_ABSENCE && may_lack_frames(l, f)) ||
		(basis & ON_ORDER && has_no_order(l)) || (basis & ON_TIME && may_be_no_timer(l)) ||
		(basis & ON_PATH && has_several_paths(l)) ||
		(basis & ON_ONCE && may_be_copies(l)) || (basis & ON_SENDING && may_be_late(l)))
		finding_lower(f, RD_POSSIBLE);
}
