/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A report as JSON: its rows, and the lists whose items are made one by one. */
#include "output.h"
#include <rdmadump/document.h>
#include <rdmadump/json.h>

/* --- capture ---------------------------------------------------------------------------------- */

#define RD_THIS struct rd_report_file
static const struct rd_shape file_shape = RD_SHAPE("file", NULL, RD_SAME(TEXT, name),
	RD_SAME(CHARS, format),
	{"first_frame", "the number of its first frame in this document", RD_UINT(first_frame)},
	RD_SAME(UINT, frames), RD_SAME(TIME, first_ns), RD_SAME(TIME, last_ns),
	{"dropped", "frames that the capture lost; null: the file does not say", RD_UINT(dropped),
		RD_IF(dropped_known)},
	{"damage", "why reading ended before the file's end", RD_TEXT_OR(damage)});
#undef RD_THIS

#define RD_THIS struct rd_report_port
static json_t *addresses(const struct rd_at *at)
{
	const RD_THIS *p = at->object;

	return RD_JSON_LIST(a, p->addresses, p->n_addresses, rd_json_string(*a));
}

static const struct rd_shape port_shape = RD_SHAPE(NULL, NULL, RD_SAME(TEXT, device),
	RD_SAME(UINT, port), {"netdev", "its first one", RD_TEXT_OR(netdev)},
	{"node_guid", "of the device", RD_CHARS_OR(guid)},
	{"boot_id", "of its machine, since that started; ports of one host have the same",
		RD_CHARS_OR(boot)},
	{"addresses", "as in conversations", RD_MADE(addresses, RD_TYPE_LIST(RD_TYPE_TEXT))});
#undef RD_THIS

#define RD_THIS struct rd_report
static json_t *losses(const struct rd_at *at)
{
	char text[RD_DROPS_TEXT];

	return rd_json_string(losses_text(at->object, text));
}

static const struct rd_shape capture_shape = RD_SHAPE(NULL, "The files and where they come from.",
	{"losses", "what the captures lost, in the words of all commands",
		RD_MADE(losses, RD_TYPE_TEXT)},
	RD_SAME(TEXT_OR, application), RD_SAME(TEXT_OR, hardware), RD_SAME(TEXT_OR, os),
	{"filter", "with which frames were captured or copied", RD_TEXT_OR(filter)},
	{"files", NULL, RD_LIST(files, n_files, file_shape)},
	{"ports", "whose facts the files have", RD_LIST(ports, n_ports, port_shape)});
#undef RD_THIS

/* --- totals ----------------------------------------------------------------------------------- */

#define RD_THIS struct rd_totals
static json_t *goodput(const struct rd_at *at)
{
	const struct rd_report *r = at->up->object;

	return rd_json_u64(
		rd_goodput(r->totals.goodput_bytes, r->conversations, r->n_conversations));
}

static json_t *left_out(const struct rd_at *at)
{
	return ((const RD_THIS *)at->object)->frames_left_out ? json_null() : json_integer(0);
}

static json_t *left_out_unknown(const struct rd_at *at)
{
	return ((const RD_THIS *)at->object)->frames_left_out ? json_string("not_remembered")
							      : json_null();
}

static const struct rd_shape totals_shape = RD_SHAPE(NULL, "Sums over everything.",
	RD_SAME(UINT, frames), RD_SAME(UINT, wire_bytes), RD_SAME(UINT, rdma_frames),
	RD_SAME(UINT, cnp_frames), RD_SAME(UINT, mad_frames), RD_SAME(UINT, other_frames),
	RD_SAME(UINT, payload_bytes), RD_SAME(UINT, goodput_bytes),
	{"goodput_bps",
		"goodput_bytes by the time from the first to the last frame of all conversations, "
		"bit/s",
		RD_MADE(goodput, RD_TYPE_UINT)},
	RD_SAME(UINT, icrc_good), RD_SAME(UINT, icrc_bad), RD_SAME(UINT, icrc_unchecked),
	RD_SAME(UINT, cut), RD_SAME(UINT, malformed), RD_SAME(UINT, fragments),
	{"unread",
		"Frames that may be RDMA traffic but are not understood: unknown link types and "
		"Ethertypes, headers that were not captured.",
		RD_UINT(unread)},
	{"tunnelled", "RDMA frames that were taken out of tunnels.", RD_UINT(tunnelled)},
	{"tunnels_left",
		"RDMA frames in tunnels that were not looked into, or whose QPs are followed "
		"outside of them, or the other way round; they are in other_frames.",
		RD_UINT(tunnels_left)},
	{"copies_left",
		"RDMA frames whose QPs are followed at another interface; they are in "
		"other_frames.",
		RD_UINT(copies_left)},
	{"moved",
		"Times that the frames of a QP came from another interface or tunnel from then on.",
		RD_UINT(moved)},
	{"foreign", "Frames to UDP port 4791 that are no RoCE; they are in other_frames.",
		RD_UINT(foreign)},
	RD_SAME(UINT, truncated), RD_SAME(UINT, backwards), RD_SAME(UINT, qps),
	{"frames_left_out", "Frames of QPs over the limit of --max-qps, which are only counted.",
		RD_UINT(frames_left_out)},
	RD_SAME(UINT, silences), RD_SAME(UINT, longest_silence_ns), RD_SAME(UINT, silence_frame),
	{"qps_left_out",
		"QPs over the limit of --max-qps. 0: all were followed. null: there are such, see "
		"qps_left_out_unknown.",
		RD_MADE(left_out, RD_TYPE_UINT_OR)},
	{"qps_left_out_unknown",
		"Why qps_left_out is null. not_remembered: of QPs over the limit only frames are "
		"counted; nothing else of them is kept, so they cannot be counted.",
		RD_MADE(left_out_unknown, "'enum': ['not_remembered', null]")},
	{"icrc_trusted", "false: so many CRCs are wrong that the file does not contain valid ones",
		RD_BOOL(icrc_trusted)});
#undef RD_THIS

/* --- counters --------------------------------------------------------------------------------- */

#define RD_THIS struct rd_comparison
static const struct rd_shape comparison_shape = RD_SHAPE("comparison",
	"What the packets show, and what the device counted in the same time.",
	RD_SAME(TEXT, device), RD_SAME(TEXT, counter),
	{"meaning", "what was counted in the packets", RD_TEXT(meaning)}, RD_SAME(UINT, packets),
	{"device_count", "null: unknown, for the reason in why", RD_UINT(device_count),
		RD_IF(known)},
	RD_SAME(BOOL, agrees), RD_SAME(TEXT_OR, why));
#undef RD_THIS

#define RD_THIS struct left_out
const struct rd_shape left_out_shape = RD_SHAPE(NULL,
	"Only in a page of --html, and only if something is not in it.", RD_SAME(UINT, findings),
	RD_SAME(UINT, conversations),
	{"conversations_with_findings", "of these conversations", RD_UINT(with_findings)},
	{"series", "conversations without their series", RD_UINT(series)},
	{"rows", "of applications, counters, mads, hosts.list and hosts.pairs", RD_UINT(rows)});
#undef RD_THIS

/* --- the report ------------------------------------------------------------------------------- */

#define RD_THIS struct rd_report
static json_t *duration(const struct rd_at *at)
{
	const struct rd_totals *t = &((const RD_THIS *)at->object)->totals;

	return rd_json_seconds((int64_t)(t->last_ns - t->first_ns));
}

static json_t *findings_left_out(const struct rd_at *at)
{
	return rd_json_u64(
		rd_findings_left_out(&((const RD_THIS *)at->object)->findings, NULL, RD_SEV_NONE));
}

const struct rd_shape report_shape = RD_SHAPE(NULL,
	"Version 3. Keys are only added within a version. Keys that end in _ns are nanoseconds: "
	"times since start_ns, or durations. Frames count from 1 over all files, as capture.files "
	"says.",
	{"duration_s", "from the first frame to the last", RD_MADE(duration, "'type': 'number'")},
	{"verdict", NULL, RD_OBJECT(verdict, verdict_shape)},
	{"capture", NULL, RD_VIEW(capture_shape)},
	{"totals", NULL, RD_OBJECT(totals, totals_shape)},
	{"findings", "worst first",
		RD_MADE(json_nothing_yet, RD_TYPE_LIST("'$ref': 'finding.json'"))},
	{"findings_left_out",
		"further ones, where there are more than 4096: the worst 64 of each rule are "
		"always in findings",
		RD_MADE(findings_left_out, RD_TYPE_UINT)},
	{"groups",
		"findings by cause: first that of the verdict, then in the order of the worst of "
		"each",
		RD_LIST(groups.group, groups.n, group_shape)},
	{"hosts", NULL, RD_OBJECT(hosts, hosts_shape)},
	{"conversations", "busiest first; limited by --qp and --top",
		RD_MADE_LIST(json_nothing_yet, conversation_shape)},
	{"conversations_in_all", NULL, RD_UINT(n_conversations)},
	{"counters", NULL, RD_LIST(comparisons, n_comparisons, comparison_shape)},
	{"applications", "all applications that were recognized",
		RD_LIST(applications, n_applications, application_sum_shape)},
	{"mads", "by class, attribute, method and status", RD_LIST(mads, n_mads, mad_shape)},
	{"mads_left_out", "MADs that are in no row: the table is full", RD_UINT(mads_left_out)},
	{"series", NULL, RD_OBJECT(series, series_shape)},
	{"pauses",
		"Pause frames: 802.3x and priority-based flow control. They are captured only at a "
		"passive tap, or on adapters that do not consume them.",
		RD_LIST(pause_senders, n_pause_senders, pause_sender_shape)},
	{"pauses_left_out", "pause frames of further senders", RD_UINT(pauses_left_out)},
	{"left_out", NULL, RD_MAYBE(json_in_a_page, left_out_shape)});

json_t *report_frame_json(const struct rd_report *r)
{
	const struct rd_at at = {.object = r, .start_ns = r->totals.first_ns};

	return rd_document(RD_REPORT_VERSION, at.start_ns - r->totals.moved_ns,
		rd_shape_json(&report_shape, &at));
}

json_t *report_finding_json(const struct rd_report *r, size_t i)
{
	return rd_finding_json(&r->findings.finding[i], r->totals.first_ns);
}

json_t *report_conversation_json(const struct rd_report *r, size_t i)
{
	return rd_shape_json(&conversation_shape,
		&(struct rd_at){.object = &r->conversations[i], .start_ns = r->totals.first_ns});
}

void conversation_json_drop_plots(json_t *conversation)
{
	const char *key;
	json_t *side;

	json_object_foreach (json_object_get(conversation, "sides"), key, side) {
		json_object_del(side, "psn_plot");
	}
}
