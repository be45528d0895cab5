/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The verdict, the hosts and the groups of a report as JSON. */
#include "output.h"
#include <rdmadump/json.h>
#include <stdlib.h>

#define GROUP_MAX 64 /* findings of a group that are named */

#define PLACE_NAMES "'sender_host', 'sender_nic', 'fabric', 'receiver_nic', 'receiver_host'"
#define PLACES                                                                                     \
	"all places that it can be in; sender: the host that sends the requests; with soft-RoCE "  \
	"the NIC is the kernel"

static const char *place_name(unsigned int bit)
{
	return rd_place_key(1U << bit);
}

/* --- times ------------------------------------------------------------------------------------ */

#define RD_THIS struct rd_times
const struct rd_shape times_shape = {"times",
	"What requesters spent their time on: each interval between two of their frames, by the "
	"frame that ended it.",
	RD_ROWS({"idle_ns", "no request was open; ended by a request", RD_UINT(ns[RD_TIME_IDLE])},
		{"reply_ns", "no request was open; ended by a message of the peer",
			RD_UINT(ns[RD_TIME_REPLY])},
		{"sending_ns", "ended by a further request", RD_UINT(ns[RD_TIME_SENDING])},
		{"waiting_ns", "ended by the first packet of a response",
			RD_UINT(ns[RD_TIME_WAITING])},
		{"receiving_ns", "ended by a further READ response",
			RD_UINT(ns[RD_TIME_RECEIVING])},
		{"not_ready_ns", "after an RNR NAK, ended by the request again",
			RD_UINT(ns[RD_TIME_NOT_READY])},
		{"recovery_ns", "ended by a retransmission, or by a frame while one is under way",
			RD_UINT(ns[RD_TIME_RECOVERY])},
		{"pauses", "requests after times when none was open", RD_UINT(pauses)}),
	.nullable = true};
#undef RD_THIS

/* --- the verdict ------------------------------------------------------------------------------ */

#define RD_THIS struct rd_slow
static const char *time_name(unsigned int time)
{
	return time < RD_TIME_COUNT ? rd_time_keys[time] : NULL;
}

static json_t *slow_share(const struct rd_at *at)
{
	return json_real((double)(int)(((const RD_THIS *)at->object)->share * 1000 + 0.5) / 1000);
}

static const struct rd_shape slow_shape = {NULL,
	"What most of the time of all requests was spent on, of each reliable connection with both "
	"directions; null: there is none.",
	RD_ROWS({"spent", NULL, RD_NAME(what, time_name)},
		{"share", NULL,
			RD_MADE(slow_share, "'type': 'number', 'minimum': 0, 'maximum': 1")},
		{"where", "the place; unknown: this capture cannot tell several apart; null: none",
			RD_NAME(places, rd_place_key),
			.schema = "'enum': [" PLACE_NAMES ", 'unknown', null]"},
		{"places", PLACES, RD_BITS(places, place_name),
			.schema = RD_TYPE_LIST("'enum': [" PLACE_NAMES "]")},
		{"certainty", "that it is up to one of these places",
			RD_NAME(certainty, rd_certainty_name)},
		{"conversation", "that with most of this time; the places are of its hosts",
			RD_UINT(conversation)},
		{"side", NULL, RD_NAME(side, side_name)},
		{"times", NULL, RD_OBJECT(sum, times_shape)}),
	RD_IF(all_ns)};
#undef RD_THIS

#define RD_THIS struct rd_stragglers
static json_t *slowest(const struct rd_at *at)
{
	const struct rd_stragglers *s = at->object;
	json_t *list = json_array();

	for (unsigned int i = 0; i < s->n && i < RD_STRAGGLERS; i++)
		json_array_append_new(list,
			json_pack("{s:o, s:o}", "conversation", rd_json_u64(s->conversation[i]),
				"p50_ns", rd_json_u64(s->p50_ns[i])));
	return list;
}

static const struct rd_shape stragglers_shape = RD_SHAPE(NULL,
	"Connections whose responses take more than four times the median of their equals: the "
	"same verb, messages of similar size, there for most of the time.",
	{"count", NULL, RD_UINT(n)}, {"of", "equals", RD_UINT(of)}, RD_SAME(UINT, median_ns),
	{"host", "part of all of them and of no other", RD_CHARS_OR(host)},
	{"slowest", NULL,
		RD_MADE(slowest,
			"'type': 'array', 'maxItems': 8, 'items': {'type': 'object', 'properties': "
			"{'conversation': {" RD_TYPE_UINT "}, 'p50_ns': {" RD_TYPE_UINT
			"}}, 'required': ['conversation', 'p50_ns']}")});
#undef RD_THIS

#define RD_THIS struct rd_judgement
#define MOMENT                                                                                     \
	"time, since the first frame; of two captures that is A's, and B may have begun before"

static json_t *rows(const struct rd_at *at)
{
	const RD_THIS *v = at->object;

	return RD_JSON_LIST(row, v->row, RD_ROWS,
		*row && **row ? json_pack("{s:s, s:o}", "label",
					rd_row_label(v, (enum rd_row)(row - v->row)), "text",
					rd_json_string(*row))
			      : NULL);
}

/* "LOSS: ...; where: ..." */
static json_t *text(const struct rd_at *at)
{
	json_t *list = rows(at), *one, *value;
	char *line = NULL;
	size_t capacity, i;
	FILE *out = open_memstream(&line, &capacity);

	json_array_foreach (out ? list : NULL, i, one) {
		fprintf(out, "%s%s: %s", i ? "\n" : "", rd_json_text_of(one, "label"),
			rd_json_text_of(one, "text"));
	}
	if (out)
		fclose(out);
	value = rd_json_string(line);
	free(line);
	json_decref(list);
	return value;
}

const struct rd_shape verdict_shape = RD_SHAPE(NULL,
	"What happened, to whom, how much, since when, where, and how certain.",
	{"text", "all rows, each with its label as a line", RD_MADE(text, RD_TYPE_TEXT)},
	{"rows", "first what happened; only those that say something",
		RD_MADE(rows,
			RD_TYPE_LIST(
				"'type': 'object', 'properties': {'label': {" RD_TYPE_TEXT
				"}, 'text': {" RD_TYPE_TEXT "}}, 'required': ['label', 'text']"))},
	{"rule", "of the main findings; null: no fault was found", RD_TEXT_OR(rule)},
	{"what", "a row's text", RD_TEXT_OR(row[RD_ROW_WHAT])},
	{"whom", "a row's text", RD_TEXT_OR(row[RD_ROW_WHO])},
	{"how_much", "a row's text", RD_TEXT_OR(row[RD_ROW_MUCH])},
	{"place", "a row's text: where", RD_TEXT_OR(row[RD_ROW_WHERE])},
	{"also", "a row's text: other causes", RD_TEXT_OR(row[RD_ROW_ALSO])},
	{"time", "a row's text", RD_TEXT_OR(row[RD_ROW_TIME])},
	{"since_ns", "first " MOMENT, RD_TIME(since_ns), RD_IF(since_ns)},
	{"until_ns", "last " MOMENT, RD_TIME(until_ns), RD_IF(until_ns)},
	{"messages", "of the senders that it concerns; 0: none, or unknown", RD_UINT(messages)},
	{"messages_delayed",
		"of them: messages, at least, that were retransmitted in part or in whole",
		RD_UINT(delayed)},
	{"certainty", "that it happened", RD_NAME(certainty, rd_certainty_name), RD_IF(rule)},
	{"where",
		"the place; capture: a capture itself, only of two ends; unknown: this capture "
		"cannot tell several apart; null: none",
		RD_NAME(places, rd_place_key),
		.schema = "'enum': [" PLACE_NAMES ", 'capture', 'unknown', null]"},
	{"places", PLACES, RD_BITS(places, place_name),
		.schema = RD_TYPE_LIST("'enum': [" PLACE_NAMES "]")},
	{"where_certainty", "that it is in one of these places", RD_NAME(where, rd_certainty_name),
		RD_IF(places)},
	{"sender", "address of the host that the places call sender", RD_CHARS_OR(sender)},
	{"receiver", "... receiver", RD_CHARS_OR(receiver)},
	{"incast_hosts", "hosts that send to the receiver within 100 us, where that is the cause",
		RD_POSITIVE(incast)},
	{"surer", "a row's text: how sure, and what would make it surer",
		RD_TEXT_OR(row[RD_ROW_SURE])},
	{"capture_next", "the host whose port shows more", RD_CHARS_OR(capture_next)},
	{"slow", NULL, RD_OBJECT(slow, slow_shape)},
	{"stragglers", NULL, RD_OBJECT(stragglers, stragglers_shape)});
#undef RD_THIS

/* --- hosts ------------------------------------------------------------------------------------ */

#define RD_THIS struct rd_host
static const struct rd_shape host_shape = RD_SHAPE(NULL, NULL, RD_SAME(CHARS, address),
	RD_SAME(UINT, sent_frames), RD_SAME(UINT, sent_bytes), RD_SAME(UINT, received_frames),
	RD_SAME(UINT, received_bytes), {"senders", "hosts that send to it", RD_UINT(senders)},
	{"receivers", "hosts that it sends to", RD_UINT(receivers)},
	{"peak_bytes", "most that it received within 100 us", RD_UINT(peak_bytes)},
	{"peak_start_ns", NULL, RD_TIME(peak_ns), RD_IF(peak_bytes)}, RD_SAME(POSITIVE, peak_frame),
	{"peak_senders", "hosts that sent it", RD_UINT(peak_senders)},
	{"most_senders", "hosts that send to it within any 100 us", RD_UINT(most_senders)});
#undef RD_THIS

#define RD_THIS struct rd_host_pair
static json_t *address_of(const struct rd_at *at)
{
	const struct rd_host_pair *p = at->object;
	const struct rd_hosts *h = at->up->object;

	return rd_json_string(h->host[at->which ? p->to : p->from].address);
}

static const struct rd_shape pair_shape =
	RD_SHAPE(NULL, NULL, {"from", NULL, RD_MADE(address_of, RD_TYPE_TEXT)},
		{"to", NULL, RD_MADE(address_of, RD_TYPE_TEXT), .which = 1}, RD_SAME(UINT, frames),
		RD_SAME(UINT, bytes));
#undef RD_THIS

#define RD_THIS struct rd_hosts
const struct rd_shape hosts_shape = RD_SHAPE(NULL,
	"Frames of QPs by hosts: 1024 hosts and 4096 pairs at most. Windows of 100 us begin with "
	"the first frame after the one before.",
	{"list", NULL, RD_LIST(host, n, host_shape)},
	{"pairs", "those with most bytes first", RD_LIST(pair, n_pairs, pair_shape)},
	{"frames_left_out", "of hosts beyond these limits", RD_UINT(frames_left_out)},
	RD_SAME(UINT, bytes_left_out));
#undef RD_THIS

/* --- groups ----------------------------------------------------------------------------------- */

#define RD_THIS struct rd_group
static json_t *in_all(const struct rd_at *at)
{
	const struct rd_group *g = at->object;

	return rd_json_u64(g->n + g->left_out);
}

static json_t *named(const struct rd_at *at)
{
	const struct rd_group *g = at->object;

	return RD_JSON_LIST(
		f, g->finding, RD_MIN(g->n, GROUP_MAX), rd_json_u64((uint64_t)(*f - g->all)));
}

const struct rd_shape group_shape = RD_SHAPE(NULL, NULL, RD_SAME(TEXT, rule),
	{"count", "of their evidence", RD_UINT(count)},
	{"findings_in_all", "with those of findings_left_out", RD_MADE(in_all, RD_TYPE_UINT)},
	{"findings", "indexes in findings, the first 64",
		RD_MADE(named, RD_TYPE_LIST(RD_TYPE_UINT) ", 'maxItems': 64")});
