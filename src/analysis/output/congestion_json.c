/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Priorities, congestion control and pauses of a report as JSON. */
#include "output.h"
#include <rdmadump/json.h>
#include <rdmadump/names.h>

#define PRIORITY "'maximum': 7"

/* Fields of the ECN bits that packets had: RFC 3168. */
RD_NAMES(ecn_name, NULL, "not-ECT", "ECT(1)", "ECT(0)", "CE")

#define RD_THIS struct rd_priority
static json_t *pfc(const struct rd_at *at)
{
	const struct rd_priority *p = at->object;

	return p->class < 0 ? json_null() : json_boolean(p->pfc >> p->class & 1);
}

const struct rd_shape priority_shape = {NULL,
	"Priorities of the frames that it sent, CNPs excluded. null: one DSCP, no CNP, no VLAN "
	"tag, no DCB settings in the file.",
	RD_ROWS({"other_dscp",
			"of frames that have another DSCP than `dscp`: the last one; null: all "
			"have the same",
			RD_INT(other_dscp)},
		{"others", "frames with another DSCP", RD_UINT(others)},
		{"cnp_dscp", "of the CNPs that it sent", RD_INT(cnp_dscp)},
		{"pcp", "priority code point of the outermost VLAN tag; null: no frame has a tag",
			RD_INT(pcp)},
		{"pcp_varies", "some tags have another one", RD_BOOL(pcp_varies)},
		{"untagged", "some frames have no tag", RD_BOOL(untagged)},
		{"class",
			"the priority that its frames have by the DCB settings of a port of either "
			"end, as the file has them; null: unknown",
			RD_INT(class), .schema = PRIORITY},
		{"pfc", "whether that priority has priority flow control there",
			RD_MADE(pfc, "'type': ['boolean', 'null']")}),
	.nullable = true};
#undef RD_THIS

/* Null if all packets have the same DSCP and no tag, which is the usual case. */
json_t *priority_json(const struct rd_at *at)
{
	const struct rd_priority *p = &((const struct rd_side *)at->object)->priority;

	if (!p->others && p->cnp_dscp < 0 && p->pcp < 0 && p->class < 0)
		return json_null();
	return rd_shape_part(&priority_shape, p, at);
}

#define RD_THIS struct rd_congestion
const struct rd_shape congestion_shape = {NULL,
	"What congestion control did to this side. null: no frame of it has a congestion mark, and "
	"no CNP is for it.",
	RD_ROWS({"mark_to_cnp",
			"from a frame of this side with a congestion mark to the CNP; only of the "
			"first mark after a millisecond without marks and CNPs, since receivers "
			"leave a minimum time between CNPs",
			RD_OBJECT(reaction, latency_shape)},
		{"cnp_interval", "between two CNPs for this side",
			RD_OBJECT(interval, latency_shape)},
		{"episodes",
			"times that the rate is known before and after CNPs; an episode begins "
			"with a CNP, and ends when 90 % of the former rate are reached again",
			RD_UINT(episodes)},
		{"rate_before",
			"bit/s on the wire in the 0.1 to 0.2 ms before the first CNP of an "
			"episode: mean",
			RD_UINT(rate_before), RD_IF(episodes)},
		{"rate_after", "lowest rate in 0.1 ms of an episode: mean", RD_UINT(rate_after),
			RD_IF(episodes)},
		{"recovery", "from the last CNP of an episode to 90 % of the rate before it",
			RD_OBJECT(recovery, latency_shape)}),
	.nullable = true};
#undef RD_THIS

#define RD_THIS struct rd_held
/* Numbers of the priorities in a mask; null: all traffic. */
static json_t *classes(const struct rd_at *at)
{
	const unsigned int mask = ((const RD_THIS *)at->object)->classes;
	json_t *list = json_array();

	for (unsigned int i = 0; i < RD_PAUSE_CLASSES; i++)
		if (mask >> i & 1)
			json_array_append_new(
				list, i == RD_PRIORITIES ? json_null() : json_integer((int)i));
	return list;
}

const struct rd_shape held_shape = {NULL,
	"Gaps in what this side sends that fit pauses. null: none, no pause frame was captured, or "
	"the speed of the link is unknown.",
	RD_ROWS({"gaps", "times without frames that begin and end with pauses",
			RD_UINT(gaps.count)},
		{"gaps_ns", "their sum", RD_UINT(ns)}, RD_SAME(UINT, longest_ns),
		{"longest_frame", "the frame after the longest one", RD_UINT(longest_frame)},
		{"priorities", "of the pauses; null: pauses of all traffic",
			RD_MADE(classes, RD_TYPE_LIST(RD_TYPE_UINT_OR ", " PRIORITY))},
		{"frames_in_pauses", "frames that were captured in the middle of such a pause",
			RD_UINT(through)}),
	.nullable = true};
#undef RD_THIS

/* --- pause frames ----------------------------------------------------------------------------- */

#define RD_THIS struct rd_pause_class
static json_t *number_of_class(const struct rd_at *at)
{
	const struct rd_pause_sender *s = at->up->object;
	const ptrdiff_t class = (const RD_THIS *)at->object - s->classes;

	return class == RD_PRIORITIES ? json_null() : json_integer(class);
}

static json_t *paused(const struct rd_at *at)
{
	const struct rd_pause_class *c = at->object;
	const struct rd_pause_sender *s = at->up->object;

	return s->speed ? rd_json_u64(at->which ? c->longest_ns : c->paused_ns) : json_null();
}

static json_t *share(const struct rd_at *at)
{
	const struct rd_pause_sender *s = at->up->object;

	return s->speed ? json_real(rd_pause_share(at->up->up->object, at->object)) : json_null();
}

static const struct rd_shape class_shape = RD_SHAPE(NULL, "The pauses of one priority.",
	{"priority", "null: pauses of all traffic (802.3x)",
		RD_MADE(number_of_class, RD_TYPE_UINT_OR ", " PRIORITY)},
	{"pauses", "frames with a time", RD_UINT(pauses.count)},
	{"resumes", "frames with the time 0", RD_UINT(resumes.count)},
	{"first_pause_frame", NULL, RD_POSITIVE(pauses.first_frame)},
	{"last_pause_frame", NULL, RD_POSITIVE(pauses.last_frame)},
	{"quanta", "sum of all times, in units of 512 bits", RD_UINT(quanta)},
	{"paused_ns",
		"time that the frames ask for, at the speed of the link; null: the speed is "
		"unknown",
		RD_MADE(paused, RD_TYPE_UINT_OR)},
	{"longest_ns", NULL, RD_MADE(paused, RD_TYPE_UINT_OR), .which = 1},
	{"share", "paused_ns as a part of the capture's time",
		RD_MADE(share, "'type': ['number', 'null'], 'minimum': 0")});
#undef RD_THIS

#define RD_THIS struct rd_pause_sender
static json_t *mac(const struct rd_at *at)
{
	char text[RD_MAC_LEN];

	return json_string(rd_mac_text(text, ((const RD_THIS *)at->object)->mac));
}

static json_t *classes_of(const struct rd_at *at)
{
	const struct rd_pause_sender *s = at->object;

	return RD_JSON_LIST(c, s->classes, RD_PAUSE_CLASSES,
		c->pauses.count || c->resumes.count ? rd_shape_part(&class_shape, c, at) : NULL);
}

const struct rd_shape pause_sender_shape = RD_SHAPE("pause_sender",
	"Pause frames of one sender, which stop the port at the other end of its link.",
	{"mac", "source of the frames; null: the link type has none", RD_MADE(mac, RD_TYPE_TEXT_OR),
		RD_IF(has_mac)},
	{"address", "of RDMA packets from this MAC address", RD_CHARS_OR(address)},
	RD_SAME(UINT, frames),
	{"received", "by the port that captured, as the file says", RD_UINT(in)},
	{"sent", "by that port", RD_UINT(out)},
	{"speed", "bit/s of the link, from the interface or the device in the file",
		RD_POSITIVE(speed)},
	{"classes", NULL, RD_MADE_LIST(classes_of, class_shape)});
