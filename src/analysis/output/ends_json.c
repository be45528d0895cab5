/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The comparison of two captures as JSON: "ends" of docs/schema/analyze.json. */
#include "output.h"
#include <rdmadump/ends.h>
#include <rdmadump/json.h>
#include <stdlib.h>

static const struct rd_shape page_left_out_shape;

#define RD_THIS struct rd_path_qp
static const struct rd_shape qp_shape = RD_SHAPE("path_qp", "The packets to one QP.",
	RD_SAME(UINT, qp),
	{"sent", "captured at the sender while both captures ran", RD_UINT(sent)},
	{"arrived", "captured at both ends", RD_UINT(arrived)},
	{"reordered", "of those that arrived: after a later one", RD_UINT(reordered)},
	{"order_unclear",
		"of those that arrived, without reordered: retransmissions, or packets beside "
		"them, that arrived after a later one, if the copies of each packet arrived in the "
		"order in which they were sent; 0 if a capture lacks any of the packets",
		RD_UINT(order_unclear)},
	{"order_unknown",
		"of those that arrived: others with the same bytes are so near that it is unknown "
		"which is which; they do not count as reordered, so that reordered is the least "
		"number",
		RD_UINT(order_unknown)},
	{"lost", "not captured at the receiver; frames of the sender's capture",
		RD_OBJECT(lost, incident_shape)},
	{"asked_for", "of those lost: a NAK of the receiver asked for them", RD_UINT(asked_for)},
	{"unclear",
		"lost, or missed by the receiver's capture, which missed others; frames of the "
		"sender's capture",
		RD_OBJECT(unclear, incident_shape)},
	{"duplicated",
		"captured more often at the receiver than at the sender; frames of the receiver's "
		"capture",
		RD_OBJECT(duplicated, incident_shape)},
	{"missed", "missing in the sender's capture; frames of the receiver's capture",
		RD_OBJECT(missed, incident_shape)},
	{"missed_at_receiver",
		"missing in the receiver's capture, but acknowledged; frames of the sender's "
		"capture",
		RD_OBJECT(missed_at_receiver, incident_shape)});
#undef RD_THIS

#define RD_THIS struct rd_path
static const struct rd_shape path_shape = RD_SHAPE("path", "One direction between two addresses.",
	RD_SAME(CHARS, from), RD_SAME(CHARS, to),
	{"network",
		"of a tunnel, as in a conversation: several networks may have the same addresses; "
		"null: none",
		RD_POSITIVE(network)},
	{"sender", "whose capture is at the sender", RD_NAME(sender, side_name)},
	{"sender_known",
		"false: neither TTLs nor times nor directions show it, the sender is an assumption",
		RD_BOOL(sender_known)},
	{"delay_variation", "one-way delay above the shortest one of its time",
		RD_OBJECT(variation, latency_shape)},
	{"slowest_frame", "where it arrived; of the receiver's capture", RD_UINT(slowest_frame)},
	{"qps", "most packets first", RD_MADE_LIST(json_nothing_yet, qp_shape)});
#undef RD_THIS

#define RD_THIS struct rd_ends_report
static const struct rd_shape clock_shape = {NULL,
	"null: no packets in both directions, or clocks that were set meanwhile",
	RD_ROWS({"offset_ns", "B's clock minus A's at A's start", RD_SIGNED(offset_ns)},
		{"error_ns", "the largest error of the offset, whatever the delays were; never 0",
			RD_UINT(offset_error_ns)},
		{"drift_ppm",
			"by how much B's clock runs faster; null: the error is more than 1 ppm and "
			"a tenth of the drift",
			RD_REAL(drift_ppm), RD_IF(drift_known)},
		{"drift_error_ppm", "the largest error of the drift", RD_REAL(drift_error_ppm)}),
	RD_IF(offset_known)};

static json_t *clock_unknown(const struct rd_at *at)
{
	const struct rd_ends_report *r = at->object;

	if (r->offset_known)
		return json_null();
	if (r->both_ways)
		return json_string("no_agreement");
	return json_string(rd_ends_has_both_ways(r) ? "senders_unknown" : "one_direction");
}

/* As that of one capture, with the captures that missed packets. */
static json_t *verdict(const struct rd_at *at)
{
	const struct rd_ends_report *r = at->object;
	json_t *o = rd_shape_part(&verdict_shape, &r->verdict, at);

	if (r->missed_by) {
		json_object_set_new(
			o, "where", json_string(r->verdict.places ? "unknown" : "capture"));
		json_object_set_new(
			o, "where_certainty", json_string(rd_certainty_name(r->verdict.where)));
	}
	json_object_set_new(o, "missed_by", rd_bits_json(r->missed_by, side_name));
	json_object_set_new(o, "shown_by",
		r->shown_by ? json_string(side_name(r->shown_by >> 1)) : json_null());
	return o;
}

static json_t *findings_left_out(const struct rd_at *at)
{
	const struct rd_ends_report *r = at->object;

	return rd_json_u64(rd_findings_left_out(&r->findings, NULL, RD_SEV_NONE));
}

const struct rd_shape ends_shape = RD_SHAPE(NULL, NULL,
	{"verdict",
		"What both captures together show. As the verdict of one capture, with times of "
		"A's clock; slow is of no conversation (0), and its places mean sender and "
		"receiver. missed_by: captures that missed packets, or may have: where is "
		"\"capture\" if nothing else is a place. shown_by: the capture whose finding the "
		"verdict rests on; null: it rests on a finding of the comparison, or on none.",
		RD_MADE(verdict,
			"'allOf': [{'$ref': 'analyze.json#/properties/verdict'}], 'properties': "
			"{'missed_by': {" RD_TYPE_LIST(
				"'enum': ['a', 'b']") "}, 'shown_by': {'enum': ['a', 'b', null]}}, "
						      "'required': ['missed_by', 'shown_by']")},
	{"first_ns", "start of the time that both captures cover", RD_TIME(first_ns)},
	RD_SAME(TIME, last_ns), {"packets", "captured at both ends", RD_UINT(packets)},
	{"outside", "captured at one end while the other capture may not have run",
		RD_UINT(outside)},
	{"elsewhere", "captured at one end, of addresses whose packets do not pass both ends",
		RD_UINT(elsewhere)},
	{"evicted",
		"removed before they were matched, because the table was full; they may count as "
		"lost",
		RD_UINT(evicted)},
	{"left_out", "packets of QPs over the limit, not compared", RD_UINT(left_out)},
	{"clock", NULL, RD_VIEW(clock_shape)},
	{"clock_unknown",
		"why clock is null. no_agreement: no offset fits the packets of both directions, "
		"because the rates of the clocks differ too much, or one was set meanwhile; "
		"one_direction: no packets in both directions; senders_unknown: there are, but "
		"nothing proves which of the captures is at which host",
		RD_MADE(clock_unknown,
			"'enum': ['no_agreement', 'one_direction', 'senders_unknown', null]")},
	{"paths", NULL, RD_MADE_LIST(json_nothing_yet, path_shape)},
	{"findings", NULL, RD_MADE(json_nothing_yet, RD_TYPE_LIST("'$ref': 'finding.json'"))},
	{"findings_left_out",
		"further ones, where there are more than 1024: the worst 64 of each rule are "
		"always in findings",
		RD_MADE(findings_left_out, RD_TYPE_UINT)},
	{"groups", "findings by cause, in the order of the worst of each",
		RD_LIST(groups.group, groups.n, group_shape)},
	{"page_left_out", "Only in a page of --html, and only if something is not in it.",
		RD_MAYBE(json_in_a_page, page_left_out_shape)});
#undef RD_THIS

static json_t *path_json(const struct rd_path *p)
{
	return rd_shape_json(&path_shape, &(struct rd_at){.object = p});
}

static json_t *qp_json(const struct rd_path_qp *w, uint64_t start)
{
	return rd_shape_json(&qp_shape, &(struct rd_at){.object = w, .start_ns = start});
}

/* All but findings and paths, which are empty. */
static json_t *frame_json(const struct rd_ends_report *r)
{
	return rd_shape_json(&ends_shape, &(struct rd_at){.object = r, .start_ns = r->start_ns});
}

json_t *ends_verdict_json(const struct rd_ends_report *r)
{
	return verdict(&(struct rd_at){.object = r, .start_ns = r->start_ns});
}

json_t *rd_ends_json(const struct rd_ends_report *r)
{
	json_t *o = frame_json(r), *paths = json_object_get(o, "paths");

	for (size_t i = 0; i < r->n_paths; i++) {
		json_t *path = path_json(&r->paths[i]), *qps = json_object_get(path, "qps");

		for (size_t k = 0; k < r->paths[i].n_qps; k++)
			json_array_append_new(qps, qp_json(&r->paths[i].qps[k], r->start_ns));
		json_array_append_new(paths, path);
	}
	json_object_set_new(o, "findings", rd_findings_json(&r->findings, r->start_ns));
	return o;
}

/* --- of a page -------------------------------------------------------------------------------- */

struct page {
	const struct rd_ends_report *r;
	struct room room;
	json_t **paths;		      /* NULL: no QP of it was chosen */
	size_t findings, qps, faulty; /* that did not fit */
};

#define RD_THIS struct page
static const struct rd_shape page_left_out_shape = RD_SHAPE(NULL, NULL, RD_SAME(UINT, findings),
	{"qps", "of paths; a path without any of its QPs is left out", RD_UINT(qps)},
	{"faulty_qps", "of these QPs: with packets lost, unclear, duplicated, reordered or missed",
		RD_UINT(faulty)});
#undef RD_THIS

static json_t *page_findings(struct page *p)
{
	const struct rd_findings *list = &p->r->findings;
	json_t *findings = json_array();
	size_t i = 0;

	while (i < list->n &&
		room_add(&p->room, findings, rd_finding_json(&list->finding[i], p->r->start_ns)))
		i++;
	p->findings = list->n - i;
	return findings;
}

/* A path is added with the first of its QPs. */
static bool add_qp(struct page *p, size_t path, const struct rd_path_qp *w)
{
	json_t *o = p->paths[path];

	if (!o) {
		o = path_json(&p->r->paths[path]);
		if (!room_spend(&p->room, o)) {
			json_decref(o);
			return false;
		}
		p->paths[path] = o;
	}
	return room_add(&p->room, json_object_get(o, "qps"), qp_json(w, p->r->start_ns));
}

/* The QPs of all paths that have a fault, or those that have none. */
static void page_qps(struct page *p, bool faulty)
{
	bool fits = !p->qps;

	for (size_t i = 0; i < p->r->n_paths; i++)
		for (size_t k = 0; k < p->r->paths[i].n_qps; k++) {
			const struct rd_path_qp *w = &p->r->paths[i].qps[k];

			if (path_qp_is_faulty(w) != faulty || (fits = fits && add_qp(p, i, w)))
				continue;
			p->qps++;
			p->faulty += faulty;
		}
}

static json_t *page_paths(struct page *p)
{
	json_t *paths = json_array();

	page_qps(p, true);
	page_qps(p, false);
	for (size_t i = 0; i < p->r->n_paths; i++)
		if (p->paths[i])
			p->room.no_memory |= json_array_append_new(paths, p->paths[i]) < 0;
	return paths;
}

json_t *rd_ends_json_within(const struct rd_ends_report *r, size_t bytes, size_t flags)
{
	struct page p = {.r = r,
		.room = {.flags = flags, .bytes = bytes / 4},
		.paths = calloc(r->n_paths + 1, sizeof(json_t *))};
	json_t *o = p.paths ? frame_json(r) : NULL;

	if (!o) {
		free(p.paths);
		return NULL;
	}
	json_object_set_new(o, "findings", page_findings(&p));
	p.room.bytes += bytes - bytes / 4;
	json_object_set_new(o, "paths", page_paths(&p));
	free(p.paths);
	if (p.findings || p.qps)
		json_object_set_new(o, "page_left_out",
			rd_shape_json(&page_left_out_shape, &(struct rd_at){.object = &p}));
	if (!p.room.no_memory)
		return o;
	json_decref(o);
	return NULL;
}
