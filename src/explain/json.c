/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Answers as JSON, by rows: docs/schema/explain.json is made from them. */
#include "explain.h"
#include <rdmadump/document.h>
#include <rdmadump/json.h>
#include <rdmadump/names.h>
#include <rdmadump/shape.h>
#include <stdlib.h>
#include <string.h>

static RD_NAMES(where_name, NULL, "here", "peer", "path")

static const char *space_name(unsigned int space)
{
	return space < SPACES ? code_spaces[space].key : NULL;
}

/* Parts separated by '\n', in order. */
static json_t *parts(const char *text)
{
	json_t *list = json_array();

	while (text && *text) {
		const size_t n = strcspn(text, "\n");

		json_array_append_new(list, json_stringn(text, n));
		text += n + (text[n] == '\n');
	}
	return list;
}

#define TEXTS RD_TYPE_LIST(RD_TYPE_TEXT)

#define RD_THIS struct code
static json_t *lines(const struct rd_at *at)
{
	const struct code *c = at->object;

	return parts(at->which ? c->next : c->causes);
}

static json_t *source(const struct rd_at *at)
{
	const struct code *c = at->object;

	return rd_json_string(c->source ? c->source : code_spaces[c->space].source);
}

static const struct rd_shape code_shape =
	RD_SHAPE("code", "meaning null: unknown, and never guessed",
		{"kind", "what it is a code of", RD_NAME(space, space_name)},
		{"number", "null: it has none", RD_KNOWN(number)}, RD_SAME(TEXT_OR, name),
		RD_SAME(TEXT_OR, meaning),
		{"where", "where the cause can be, seen from what printed it; none: unknown",
			RD_BITS(where, where_name),
			.schema = RD_TYPE_LIST("'enum': ['here', 'peer', 'path']")},
		{"causes", "the usual ones, the most frequent first", RD_MADE(lines, TEXTS)},
		{"next", "what to look at, in order", RD_MADE(lines, TEXTS), .which = 1},
		{"unknown", "what does not follow from it", RD_TEXT_OR(unknown)},
		{"source", NULL, RD_MADE(source, RD_TYPE_TEXT)});
#undef RD_THIS

#define RD_THIS struct found
static json_t *code_of_found(const struct rd_at *at)
{
	const struct found *f = at->object;
	struct code code = f->code ? *f->code : (struct code){.space = f->space};

	code.number = f->number;
	return rd_shape_part(&code_shape, &code, at);
}
#undef RD_THIS

#define RD_THIS struct group
static json_t *codes_of_group(const struct rd_at *at)
{
	const struct reading *r = &((const RD_THIS *)at->object)->first;

	return RD_JSON_LIST(
		found, r->found, r->n, code_of_found(&(struct rd_at){.object = found, .up = at}));
}

static json_t *text(const struct rd_at *at)
{
	const struct group *g = at->object;
	char *copy = g->text ? strndup(g->text, g->length) : NULL;
	json_t *value = rd_json_string(copy);

	free(copy);
	return value;
}

static const struct rd_shape group_shape = RD_SHAPE("answer", "Lines with the same codes.",
	{"line", "number of the first one, from 1", RD_UINT(line)},
	{"count", "lines with the same codes", RD_UINT(count)},
	{"text", "the first one; null: a number or name that was asked for",
		RD_MADE(text, RD_TYPE_TEXT_OR)},
	{"program", "what prints such lines", RD_TEXT_OR(first.program)},
	{"time", "as it is written", RD_CHARS_OR(first.time)},
	{"host", NULL, RD_CHARS_OR(first.host)}, {"device", NULL, RD_CHARS_OR(first.device)},
	{"port", NULL, RD_POSITIVE(first.port)},
	{"address", "of the side that printed it", RD_CHARS_OR(first.local)},
	{"qpn", NULL, RD_KNOWN(first.qpn)}, {"peer", NULL, RD_CHARS_OR(first.peer)},
	{"peer_qpn", NULL, RD_KNOWN(first.peer_qpn)},
	{"codes", NULL, .kind = RD_FIELD_MADE_LIST, .make = codes_of_group, .shape = &code_shape});
#undef RD_THIS

#define RD_THIS struct party
static const struct rd_shape party_shape = RD_SHAPE("machine", NULL, RD_SAME(CHARS_OR, host),
	RD_SAME(CHARS_OR, address),
	{"reports", "lines that it printed; 0: no line is known to come from it", RD_UINT(reports)},
	{"named", "lines of others that have it as their peer", RD_UINT(named)},
	{"first_line", "null: it printed none", RD_POSITIVE(line)},
	{"first_time", NULL, RD_CHARS_OR(time)});
#undef RD_THIS

#define RD_THIS struct log
static json_t *joined(const struct rd_at *at)
{
	const struct log *log = at->object;

	return log->joined ? json_incref(log->joined) : json_null();
}

const struct rd_shape explain_shape = RD_SHAPE(NULL,
	"Version 1. Keys are only added within a version.", {"lines", "read", RD_UINT(lines)},
	{"with_codes", "lines that have a code", RD_UINT(explained)},
	{"cut", "lines that were too long: their rest was not read", RD_UINT(cut)},
	{"left_out", "lines with further codes, for which there was no room", RD_UINT(left_out)},
	{"answers", NULL, RD_LIST(group, n_groups, group_shape)},
	{"unnamed", "lines of machines that are not listed, since there are too many",
		RD_UINT(parties.unnamed)},
	{"captures",
		"the queue pairs that fit the line best, from the report of analyze.json: here and "
		"peer are its endpoints, happened its findings, counters those that grew while the "
		"files were captured, time those of the line and of the packets (ns since 1970; "
		"null: the line has none), doubt what the times do not fit; null: no captures were "
		"given",
		RD_MADE(joined, "'type': ['array', 'null']")},
	{"machines", "who reports, and who is named",
		RD_LIST(parties.party, parties.n, party_shape)});
#undef RD_THIS

json_t *explain_json(const struct log *log)
{
	return rd_document(
		EXPLAIN_VERSION, 0, rd_shape_json(&explain_shape, &(struct rd_at){.object = log}));
}

json_t *explain_list_json(const struct catalogue *c)
{
	json_t *list = RD_JSON_LIST(
		code, c->code, c->n, rd_shape_json(&code_shape, &(struct rd_at){.object = code}));

	return rd_document(EXPLAIN_VERSION, 0, json_pack("{s:o}", "codes", list));
}
