/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Applications and the latencies of their requests, as text and as JSON. */
#include "layout.h"
#include "output.h"
#include <inttypes.h>

#define ROWS_SHOWN 6 /* of an application, on one screen */

/* --- text ------------------------------------------------------------------------------------- */

static const struct sign {
	unsigned int bit;
	const char *key, *text;
} signs[] = {
	{RD_APP_BY_PORT, "port", "service port"},
	{RD_APP_BY_PRIVATE, "private_data", "private data of the REQ"},
	{RD_APP_BY_BYTES, "messages", "messages"},
};

static void put_signs(const struct rd_application *app, FILE *out)
{
	const char *comma = " by ";

	fprintf(out, "[%s]", rd_certainty_name(app->certainty));
	for (unsigned int i = 0; i < RD_COUNT(signs); i++)
		if (app->signs & signs[i].bit) {
			fprintf(out, "%s%s", comma, signs[i].text);
			comma = ", ";
		}
}

static void put_queue(const struct rd_application *app, FILE *out)
{
	if (!app->queue.known)
		return;
	if (app->queue.id)
		fprintf(out, ", I/O queue %u", app->queue.id);
	else
		fputs(", admin queue", out);
	if (app->queue.send_size)
		fprintf(out, " of %u entries", app->queue.send_size);
}

void application_text(const struct rd_application *app, FILE *out)
{
	fprintf(out, "      application: %s", app->name);
	put_queue(app, out);
	if (app->port)
		fprintf(out, ", port %u", app->port);
	fputc(' ', out);
	put_signs(app, out);
	fputc('\n', out);
}

/* Of both sorts; with -v also how much of it is in the requests. */
static void put_data(struct grid *g, const struct rd_app_operation *op, unsigned int verbose)
{
	char all[RD_UNITS_LEN], part[RD_UNITS_LEN];

	rd_fmt_bytes(all, op->keyed.bytes + op->inlined.bytes);
	if (!op->keyed.n && !op->inlined.n)
		grid_put(g, "-");
	else if (verbose && op->inlined.n)
		grid_put(g, "%s, %s inline", all, rd_fmt_bytes(part, op->inlined.bytes));
	else
		grid_put(g, "%s", all);
}

static void put_operation(struct grid *g, const struct rd_app_operation *op, unsigned int verbose)
{
	const struct rd_latency *l = &op->latency;
	const uint64_t values[] = {l->min, l->p50, l->p99, l->max};
	char number[RD_UNITS_LEN];

	grid_put(g, "%s%s%s", op->group ? op->group : "", op->group ? " " : "", op->name);
	grid_put(g, "%s", rd_fmt_count(number, op->requests));
	for (unsigned int i = 0; i < 4; i++)
		grid_put(g, "%s", l->n ? rd_fmt_duration(number, values[i]) : "-");
	grid_put(g, "%" PRIu64, op->errors);
	grid_put(g, "%" PRIu64, op->open + op->unanswered);
	put_data(g, op, verbose);
}

static void put_operations(
	const struct rd_application *app, const struct rd_report_style *style, FILE *out)
{
	const struct grid_column columns[] = {
		{app->requests, true, 0},
		{"COUNT", false, 0},
		{"MIN", false, 1},
		{"MEDIAN", false, 0},
		{"p99", false, 3},
		{"MAX", false, 2},
		{"ERR", false, 0},
		{"OPEN", false, 0},
		{"DATA", true, 4},
	};
	struct grid g = {.column = columns, .n_columns = RD_COUNT(columns), .indent = 2};
	size_t most = app->n_operations;

	if (!style->verbose && most > ROWS_SHOWN)
		most = ROWS_SHOWN;
	if (!most)
		return;
	for (size_t i = 0; i < most; i++)
		put_operation(&g, &app->operations[i], style->verbose);
	grid_print(&g, layout_columns(style), out, NULL, NULL);
	if (most < app->n_operations)
		fprintf(out, "  %zu more row%s\n", app->n_operations - most,
			app->n_operations - most == 1 ? ": -v shows it" : "s: -v shows them");
}

static void put_statuses(const struct rd_report *r, const struct rd_application *app, FILE *out)
{
	for (size_t i = 0; i < app->n_statuses; i++) {
		const struct rd_app_status *s = &app->statuses[i];
		char number[RD_UNITS_LEN];

		fprintf(out, "  %s %s: %s, first at frame ", rd_fmt_count(number, s->replies.count),
			s->operation, s->name);
		frame_text(r, s->replies.first_frame, out);
		fputc('\n', out);
	}
}

/* What the numbers above do not include. */
static void put_number(FILE *out, const char *what, uint64_t n)
{
	char number[RD_UNITS_LEN];

	if (n)
		fprintf(out, "  %s: %s\n", what, rd_fmt_count(number, n));
}

static void put_limits(const struct rd_application *app, FILE *out)
{
	uint64_t untimed = 0;
	char number[RD_UNITS_LEN];

	for (size_t i = 0; i < app->n_operations; i++)
		untimed += app->operations[i].untimed;
	if (app->unreadable)
		fprintf(out,
			"  messages that cannot be read, cut off or replaced by zeros: %s of "
			"%" PRIu64 "\n",
			rd_fmt_count(number, app->unreadable), app->messages);
	put_number(out, "messages not in its format", app->misfits);
	put_number(out, "replies without their request in the capture", app->unmatched);
	put_number(out, "replies not timed, since messages between may be missing", untimed);
	put_number(
		out, "requests not followed, since too many were open at once", app->not_followed);
}

static void put_slowest(const struct rd_report *r, const struct rd_application *app, FILE *out)
{
	for (unsigned int i = 0; i < app->n_slowest; i++) {
		const struct rd_app_slow *s = &app->slowest[i];
		char number[RD_UNITS_LEN];

		fprintf(out, "  %s, %s: frame ", rd_fmt_duration(number, s->ns), s->operation);
		frame_text(r, s->frame, out);
		fputs(" to ", out);
		frame_text(r, s->reply_frame, out);
		fputc('\n', out);
	}
}

static void put_application(const struct rd_report *r, const struct rd_application *app,
	const struct rd_report_style *style, FILE *out)
{
	fprintf(out, "\n%s", app->name);
	if (app->port)
		fprintf(out, ", port %u", app->port);
	fprintf(out, ", %zu conversation%s  [%s]\n", app->conversations,
		rd_plural(app->conversations), rd_certainty_name(app->certainty));
	put_operations(app, style, out);
	put_statuses(r, app, out);
	if (style->verbose && app->n_slowest) {
		fputs("  the slowest ones:\n", out);
		put_slowest(r, app, out);
	}
	put_limits(app, out);
}

void applications_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out)
{
	if (r->n_applications)
		fputs("\nAPPLICATIONS", out);
	for (size_t i = 0; i < r->n_applications; i++)
		put_application(r, &r->applications[i], style, out);
}

/* --- JSON ------------------------------------------------------------------------------------- */

#define RD_THIS struct rd_app_data
static const struct rd_shape data_shape = {"app_data", "null: no request has such data",
	RD_ROWS({"requests", NULL, RD_UINT(n)}, RD_SAME(UINT, bytes), RD_SAME(UINT, smallest),
		RD_SAME(UINT, largest)),
	RD_IF(n)};
#undef RD_THIS

#define RD_THIS struct rd_app_operation
static const struct rd_shape operation_shape = RD_SHAPE("app_operation", NULL, RD_SAME(CHARS, name),
	{"group", "the sort of queue: admin, I/O; null: unknown, or there are none",
		RD_TEXT_OR(group)},
	{"waits", "the reply comes when something happens: its latency is none of the server",
		RD_BOOL(waits)},
	{"requests", "captured; retransmissions count once", RD_UINT(requests)},
	{"replies", "to requests that were captured", RD_UINT(replies)},
	{"open", "requests without a reply when the capture or the connection ended",
		RD_UINT(open)},
	{"unanswered", "requests whose identifier was used again without a reply in the capture",
		RD_UINT(unanswered)},
	{"errors", "replies with an error", RD_UINT(errors)},
	{"untimed",
		"replies without a latency: other messages between may be missing, or times go "
		"backwards",
		RD_UINT(untimed)},
	{"inline", "data in the request itself", RD_OBJECT(inlined, data_shape)},
	{"keyed", "data that are moved by RDMA READ or WRITE", RD_OBJECT(keyed, data_shape)},
	{"latency", "from the first packet of a request to its reply, as captured",
		RD_OBJECT(latency, latency_shape)},
	{"latency_sum_ns", NULL, RD_UINT(latency_sum)},
	{"exact", "the percentiles are those of all samples, not of histogram steps",
		RD_BOOL(exact)},
	{"slowest_frame", "the slowest request", RD_POSITIVE(slowest_frame)},
	{"slowest_reply_frame", "its reply", RD_POSITIVE(slowest_reply_frame)});
#undef RD_THIS

#define RD_THIS struct rd_app_status
static const struct rd_shape status_shape = RD_SHAPE("app_status", NULL, RD_SAME(CHARS, operation),
	{"code", "as in the reply; NVMe-oF: 256 * status code type + status code", RD_UINT(code)},
	RD_SAME(CHARS, name), {"count", NULL, RD_UINT(replies.count)},
	{"first_frame", NULL, RD_UINT(replies.first_frame)},
	{"last_frame", NULL, RD_UINT(replies.last_frame)});
#undef RD_THIS

#define RD_THIS struct rd_app_slow
static const struct rd_shape slow_shape = RD_SHAPE("app_slow", NULL, RD_SAME(CHARS, operation),
	RD_SAME(UINT, ns), {"frame", "the request's first packet", RD_UINT(frame)},
	RD_SAME(UINT, reply_frame));
#undef RD_THIS

#define RD_THIS struct rd_app_queue
static const struct rd_shape queue_shape = {NULL,
	"NVMe-oF: private data of the REQ or Connect command; null: unknown",
	RD_ROWS({"id", "0: the admin queue", RD_UINT(id)},
		{"send_size", "entries of the submission queue", RD_POSITIVE(send_size)},
		{"recv_size", "entries of the host's receive queue", RD_POSITIVE(recv_size)},
		{"controller", "that the host asks for; null: any, or unknown",
			RD_KNOWN(controller)}),
	RD_IF(known)};
#undef RD_THIS

#define RD_THIS struct rd_application
static const char *sign_name(unsigned int bit)
{
	return signs[bit].key;
}

/* What a conversation and the whole capture have in common. */
#define COMMON                                                                                     \
	{"key", "short name, as 'nvme' or 'nfs'", RD_TEXT(key)}, RD_SAME(TEXT, name),              \
		{"certainty", "of all conversations: the lowest",                                  \
			RD_NAME(certainty, rd_certainty_name)},                                    \
		{"signs",                                                                          \
			"what it was recognized by: the service id and the private data of the "   \
			"CM's REQ, the format of messages",                                        \
			RD_BITS(signs, sign_name),                                                 \
			.schema = RD_TYPE_LIST("'enum': ['port', 'private_data', 'messages']")},   \
		{"port",                                                                           \
			"that was connected to; null: no REQ was captured. Of several "            \
			"conversations: of the first one",                                         \
			RD_POSITIVE(port)},                                                        \
		{"messages", "SENDs; retransmissions count once", RD_UINT(messages)},              \
		{"unreadable", "messages that were cut off or replaced by zeros",                  \
			RD_UINT(unreadable)},                                                      \
		{"misfits", "messages that are not in its format", RD_UINT(misfits)},              \
		{"unmatched", "replies whose request was not captured, or could not be read",      \
			RD_UINT(unmatched)},                                                       \
		{"not_followed",                                                                   \
			"requests for which there was no room: too many were open at once",        \
			RD_UINT(not_followed)},                                                    \
		{"operations", NULL, RD_LIST(operations, n_operations, operation_shape)},          \
		{"statuses", "replies with an error",                                              \
			RD_LIST(statuses, n_statuses, status_shape)},                              \
	{                                                                                          \
		"slowest", "the slowest requests, longest first",                                  \
			RD_ARRAY(slowest, n_slowest, slow_shape), .schema = "'maxItems': 8"        \
	}

const struct rd_shape application_shape = {"application",
	"The application of a conversation; null: none that is known.",
	RD_ROWS(COMMON,
		{"client", "the end that asked for the connection; null: unknown",
			RD_NAME(client, side_name), .schema = "'enum': ['a', 'b', null]"},
		{"queue", NULL, RD_OBJECT(queue, queue_shape)}),
	.nullable = true};

const struct rd_shape application_sum_shape = RD_SHAPE("application_sum", NULL, COMMON,
	{"conversations", "that have this application", RD_UINT(conversations)});
