/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of management datagrams, and which requests got a response: IBTA volume 1, 13.4. A
 * response has the class, the transaction ID, and the requester's address of its request; the
 * responder's address may be another one of the same port (LMC).
 */
#include "state.h"
#include <rdmadump/hash.h>
#include <stdlib.h>

#define OPEN_MAX 4096 /* requests that wait for a response */
/* What a requester waits at least before it repeats or gives up; 18 is the SA's usual response
 * time: 4.096 us * 2^18. */
#define ANSWER_NS UINT64_C(1073741824)

#define RMPP_ACTIVE 1
#define RMPP_DATA   1

/* A request that waits for its response. */
struct mad_open {
	uint64_t ns, frame; /* frame 0: none */
	uint16_t row;
	bool repeated;
};

struct mads {
	struct rd_mad_row rows[RD_MAD_ROWS];
	unsigned int n;
	uint64_t left_out;
	struct bounded open;
};

static struct mads *table_of(struct rd_analysis *a)
{
	if (a->mads)
		return a->mads;
	a->mads = must(a, calloc(1, sizeof(*a->mads)));
	if (a->mads)
		bounded_init(&a->mads->open, OPEN_MAX, sizeof(struct mad_open));
	return a->mads;
}

void mad_free(struct mads *mads)
{
	if (mads)
		bounded_free(&mads->open);
	free(mads);
}

/* NULL: the table is full. */
static struct rd_mad_row *row_of(struct mads *t, const struct rd_mad *mad, uint16_t status)
{
	struct rd_mad_row *row = RD_FIND(known, t->rows, t->n,
		known->class == mad->class && known->method == mad->method &&
			known->attribute == mad->attribute && known->status == status);

	if (row || t->n == RD_MAD_ROWS)
		return row;
	row = &t->rows[t->n++];
	*row = (struct rd_mad_row){.class = mad->class,
		.method = mad->method,
		.asks = rd_mad_expects_response(mad->method),
		.attribute = mad->attribute,
		.status = status};
	return row;
}

static uint64_t key_of(const struct rd_packet *p, const struct rd_mad *mad, bool response)
{
	uint8_t requester[16] = {0};
	struct rd_hash h = rd_hash_begin();
	const uint8_t *src, *dst;
	unsigned int len = rd_packet_addresses(p, &src, &dst);
	struct rd_lrh lrh;

	if (len)
		memcpy(requester, response ? dst : src, len);
	else if (rd_packet_lrh(p, &lrh))
		rd_put_be16(requester, response ? lrh.dlid : lrh.slid);
	rd_hash_add(&h, rd_le64(requester));
	rd_hash_add(&h, rd_le64(requester + 8));
	rd_hash_add(&h, mad->tid);
	rd_hash_add(&h, (uint64_t)mad->class << 32 | len);
	return rd_hash_end(&h, 4);
}

static void request_opens(
	struct rd_analysis *a, struct mads *t, struct rd_mad_row *row, uint64_t key)
{
	bool made;
	struct mad_open *o = must(a, bounded_take(&t->open, key, 0, &made));

	if (!o)
		return;
	if (!made) {
		row->repeated++;
		o->repeated = true;
		return;
	}
	if (o->frame)
		t->rows[o->row].unjudged++;
	*o = (struct mad_open){a->ns, a->frame, (uint16_t)(row - t->rows), false};
}

static void response_closes(struct mads *t, struct rd_mad_row *row, uint64_t key)
{
	struct mad_open *o = bounded_find(&t->open, key, 0);

	if (!o)
		return;
	row->answers++;
	t->rows[o->row].answered++;
	bounded_remove(&t->open, o);
}

/* Acknowledgments of RMPP have the other side's method, and further segments their request's. */
static bool is_one_of_several(const struct rd_mad *mad)
{
	struct rd_sa sa;

	return rd_mad_sa(mad, &sa) && sa.rmpp_flags & RMPP_ACTIVE &&
	       (sa.rmpp_type != RMPP_DATA || sa.segment > 1);
}

void mad_take(struct rd_analysis *a, const struct item *it)
{
	struct rd_mad_row *row;
	struct rd_mad mad;
	struct mads *t;
	bool response;

	a->totals.mad_frames++;
	if (!rd_packet_mad(it->p, &mad))
		return;
	t = table_of(a);
	if (!t)
		return;
	response = mad.method & RD_MAD_RESPONSE;
	/* Requests and messages of the CM have no status: the field is reserved. */
	row = row_of(t, &mad, response && mad.class != RD_MAD_CM ? rd_mad_status(&mad) : 0);
	if (!row) {
		t->left_out++;
		return;
	}
	incident_add(&row->frames, 1, a->frame, a->ns);
	if (is_one_of_several(&mad))
		row->segments++;
	else if (response)
		response_closes(t, row, key_of(it->p, &mad, true));
	else if (rd_mad_expects_response(mad.method))
		request_opens(a, t, row, key_of(it->p, &mad, false));
}

/* By class and attribute, requests before responses: these have the highest bit of the method. */
static int row_order(const void *x, const void *y)
{
	const struct rd_mad_row *a = x, *b = y;

	return RD_ORDER(a->class, b->class) ?: RD_ORDER(a->attribute, b->attribute)
		?: RD_ORDER(a->method, b->method) ?: RD_ORDER(a->status, b->status);
}

bool mad_rows(const struct rd_analysis *a, struct rd_report *r)
{
	const struct mads *t = a->mads;

	if (!t || !t->n)
		return true;
	r->mads = malloc(t->n * sizeof(*r->mads));
	if (!r->mads)
		return false;
	memcpy(r->mads, t->rows, t->n * sizeof(*r->mads));
	r->n_mads = t->n;
	r->mads_left_out = t->left_out;
	for (const struct mad_open *o = bounded_oldest(&t->open); o;
		o = bounded_newer(&t->open, o)) {
		if (o->repeated || a->totals.last_ns > o->ns + ANSWER_NS)
			incident_add(&r->mads[o->row].unanswered, 1, o->frame, o->ns);
		else
			r->mads[o->row].unjudged++;
	}
	qsort(r->mads, r->n_mads, sizeof(*r->mads), row_order);
	return true;
}

void mad_take_smp(struct rd_analysis *a, const struct item *it)
{
	struct rd_point *point = grid_point(&a->grid, 0, it->ns);

	mad_take(a, it);
	a->totals.cut += (it->p->flags & RD_PACKET_CUT) != 0;
	a->totals.malformed += (it->p->flags & RD_PACKET_MALFORMED) != 0;
	point->frames++;
	point->wire_bytes += it->p->len;
}
