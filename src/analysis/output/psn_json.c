/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* PSNs over time as JSON, as short as plots need it. */
#include "output.h"

#define NUMBERS(n)                                                                                 \
	"'type': 'array', 'items': {" RD_TYPE_INT "}, 'minItems': " #n ", 'maxItems': " #n
#define RANGES RD_TYPE_LIST(NUMBERS(3))

#define RD_THIS struct rd_psn_nak
static const struct rd_shape nak_shape = RD_SHAPE(NULL, NULL, RD_SAME(TIME, ns),
	RD_SAME(UINT, frame), {"psn", NULL, RD_SIGNED(psn)}, RD_SAME(BOOL, rnr));
#undef RD_THIS

#define RD_THIS struct rd_psn_plot
static json_t *ranges(const struct rd_at *at)
{
	const struct rd_psn_plot *p = at->object;
	json_t *list = json_array();

	for (unsigned int i = 0; i < p->n; i++) {
		const struct rd_psn_range *r = at->which ? &p->steps[i].again : &p->steps[i].sent;

		if (r->high != RD_PSN_NONE)
			json_array_append_new(
				list, json_pack("[i, I, I]", (int)i, (json_int_t)r->low,
					      (json_int_t)r->high));
	}
	return list;
}

static json_t *acked(const struct rd_at *at)
{
	const struct rd_psn_plot *p = at->object;
	int64_t expected = RD_PSN_NONE;
	json_t *list = json_array();

	for (unsigned int i = 0; i < p->n; i++) {
		if (p->steps[i].acked <= expected)
			continue;
		expected = p->steps[i].acked;
		json_array_append_new(list, json_pack("[i, I]", (int)i, (json_int_t)expected));
	}
	return list;
}

const struct rd_shape psn_plot_shape = RD_SHAPE("psn_plot",
	"Only with --html, and only for some requesters: PSNs of its requests over time. They are "
	"counted from psn on, without wrapping at 2^24; those after a restart of the sequence "
	"follow the ones before.",
	RD_SAME(TIME, start_ns), {"width_ns", "of a step of time", RD_UINT(width_ns)},
	{"steps", NULL, RD_UINT(n)}, {"psn", "the first PSN", RD_UINT(psn)},
	{"late",
		"the plot begins after the first packet of the requester, with its first "
		"retransmission or NAK",
		RD_BOOL(late)},
	RD_SAME(UINT, restarts),
	{"sent",
		"first transmissions: [step, lowest PSN, highest PSN]; steps without any are left "
		"out",
		RD_MADE(ranges, RANGES)},
	{"retransmitted", "the same of retransmissions", RD_MADE(ranges, RANGES), .which = 1},
	{"acked", "[step, next PSN that the responder expects], where it grows",
		RD_MADE(acked, RD_TYPE_LIST(NUMBERS(2)))},
	{"naks", "at most 64, regularly selected", RD_ARRAY(naks, n_naks, nak_shape)},
	RD_SAME(UINT, naks_in_all));
