/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cells of a QP pair in the table of the text report. */
#include "layout.h"
#include <inttypes.h>
#include <rdmadump/array.h>
#include <rdmadump/units.h>

void pair_endpoint_text(char *buf, size_t capacity, const struct rd_endpoint *e)
{
	if (e->qp == RD_QP_UNKNOWN)
		snprintf(buf, capacity, "%s:?", e->address);
	else
		snprintf(buf, capacity, "%s:0x%x", e->address, e->qp);
}

/* The verb with most bytes, with a + if there are others. */
static void verb_text(char buf[16], const struct rd_conversation *c, const struct rd_side *s)
{
	unsigned int best = RD_VERB_COUNT, used = 0;

	for (unsigned int v = 0; v < RD_VERB_COUNT; v++) {
		if (!rd_side_verb(s, v)->packets)
			continue;
		used++;
		if (best == RD_VERB_COUNT ||
			rd_side_verb(s, v)->bytes > rd_side_verb(s, best)->bytes)
			best = v;
	}
	if (best == RD_VERB_COUNT)
		snprintf(buf, 16, "-");
	else if (c->transport == RD_UD || c->transport == RD_UC)
		snprintf(buf, 16, "%s", rd_transport_name(c->transport));
	else
		snprintf(buf, 16, "%s%s", rd_verb_name(best), used > 1 ? "+" : "");
}

static bool has_verb(const struct rd_side *s)
{
	for (unsigned int v = 0; v < RD_VERB_COUNT; v++)
		if (rd_side_verb(s, v)->packets)
			return true;
	return false;
}

static uint64_t naks(const struct rd_side *s)
{
	uint64_t sum = 0;

	for (unsigned int i = RD_INC_NAK_SEQUENCE; i <= RD_INC_NAK_OTHER; i++)
		sum += rd_side_incident(s, i)->count;
	return sum;
}

const struct grid_column pair_columns[PAIR_COLUMNS] = {
	{"QP PAIR", true, 0},
	{"VERB", true, 0},
	{"FRAMES", false, 2},
	{"GOODPUT", false, 4},
	{"RETX", false, 0},
	{"NAK", false, 0},
	{"RNR", false, 0},
	{"CNP", false, 0},
	{"RESP p50", false, 3},
	{"p99", false, 1},
};

void pair_row_put(struct grid *g, const struct rd_conversation *c, unsigned int side, int width)
{
	static const unsigned int events[] = {RD_INC_RNR, RD_INC_CNP};
	const struct rd_side *s = &c->side[side];
	const struct rd_latency *l = rd_side_responses(s);
	char from[RD_ADDRESS_LEN + 16], to[RD_ADDRESS_LEN + 16], verb[16], number[RD_UNITS_LEN];

	pair_endpoint_text(from, sizeof(from), &c->end[side]);
	pair_endpoint_text(to, sizeof(to), &c->end[!side]);
	verb_text(verb, c, s);
	if (c->side[0].shared || c->side[1].shared)
		grid_put(g, "%-*s -> %s (network %" PRIu32 ")", width, from, to, c->network);
	else
		grid_put(g, "%-*s -> %s", width, from, to);
	grid_put(g, "%s", verb);
	grid_put(g, "%s", rd_fmt_count(number, s->traffic.frames));
	grid_put(g, "%s", rd_fmt_bitrate(number, (double)rd_goodput(s->goodput_bytes, c, 1)));
	grid_put(g, "%" PRIu64, rd_side_incident(s, RD_INC_RETRANSMITTED)->count);
	grid_put(g, "%" PRIu64, naks(s));
	for (size_t i = 0; i < RD_COUNT(events); i++)
		grid_put(g, "%" PRIu64, rd_side_incident(s, events[i])->count);
	/* Within a step of the clock it is not measured. */
	grid_put(g, "%s", l->p50 ? rd_fmt_duration(number, l->p50) : "-");
	grid_put(g, "%s", l->p99 ? rd_fmt_duration(number, l->p99) : "-");
}

void pair_row_note(struct grid *g, const struct rd_conversation *c, unsigned int side)
{
	const struct rd_side *s = &c->side[side];
	const bool timed = rd_side_responses(s)->p99;
	const bool has[] = {true, has_verb(s), s->traffic.frames, true,
		rd_side_incident(s, RD_INC_RETRANSMITTED)->count, naks(s),
		rd_side_incident(s, RD_INC_RNR)->count, rd_side_incident(s, RD_INC_CNP)->count,
		timed, timed};

	_Static_assert(RD_COUNT(has) == PAIR_COLUMNS, "one for each column");
	for (size_t i = 0; i < RD_COUNT(has); i++)
		g->filled[i] |= has[i];
}
