/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Applications and the latencies of their requests, as text and as JSON. */
#include "layout.h"
#include "output.h"
#include <inttypes.h>
#include <rdmadump/json.h>
#include <string.h>

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

#define SIGNS (sizeof(signs) / sizeof(*signs))

static void put_signs(const struct rd_application *app, FILE *out)
{
	const char *comma = " by ";

	fprintf(out, "[%s]", rd_certainty_name((enum rd_certainty)app->certainty));
	for (unsigned int i = 0; i < SIGNS; i++)
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
	struct grid g = {
		.column = columns, .n_columns = sizeof(columns) / sizeof(*columns), .indent = 2};
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
static void put_limits(const struct rd_application *app, FILE *out)
{
	uint64_t untimed = 0;
	char number[RD_UNITS_LEN];

	for (size_t i = 0; i < app->n_operations; i++)
		untimed += app->operations[i].untimed;
	if (app->unreadable)
		fprintf(out,
			"  %s of %" PRIu64
			" messages cannot be read: cut off, or replaced by zeros\n",
			rd_fmt_count(number, app->unreadable), app->messages);
	if (app->misfits)
		fprintf(out, "  %s messages are not in its format\n",
			rd_fmt_count(number, app->misfits));
	if (app->unmatched)
		fprintf(out, "  %s replies without their request in the capture\n",
			rd_fmt_count(number, app->unmatched));
	if (untimed)
		fprintf(out, "  %s replies not timed: messages between may be missing\n",
			rd_fmt_count(number, untimed));
	if (app->not_followed)
		fprintf(out, "  %s requests not followed: too many were open at once\n",
			rd_fmt_count(number, app->not_followed));
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
		app->conversations == 1 ? "" : "s",
		rd_certainty_name((enum rd_certainty)app->certainty));
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

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *data_json(const struct rd_app_data *d)
{
	if (!d->n)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o}", "requests", rd_json_u64(d->n), "bytes",
		rd_json_u64(d->bytes), "smallest", rd_json_u64(d->smallest), "largest",
		rd_json_u64(d->largest));
}

static json_t *operation_json(const struct rd_app_operation *op)
{
	json_t *o = json_object();

	set(o, "name", rd_json_string(op->name));
	set(o, "group", rd_json_string(op->group));
	set(o, "waits", json_boolean(op->waits));
	set(o, "requests", rd_json_u64(op->requests));
	set(o, "replies", rd_json_u64(op->replies));
	set(o, "open", rd_json_u64(op->open));
	set(o, "unanswered", rd_json_u64(op->unanswered));
	set(o, "errors", rd_json_u64(op->errors));
	set(o, "untimed", rd_json_u64(op->untimed));
	set(o, "inline", data_json(&op->inlined));
	set(o, "keyed", data_json(&op->keyed));
	set(o, "latency", latency_json(&op->latency));
	set(o, "latency_sum_ns", rd_json_u64(op->latency_sum));
	set(o, "exact", json_boolean(op->exact));
	set(o, "slowest_frame", rd_json_u64_or_null(op->slowest_frame));
	set(o, "slowest_reply_frame", rd_json_u64_or_null(op->slowest_reply_frame));
	return o;
}

static json_t *status_json(const struct rd_app_status *s)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "operation",
		rd_json_string(s->operation), "code", rd_json_u64(s->code), "name",
		rd_json_string(s->name), "count", rd_json_u64(s->replies.count), "first_frame",
		rd_json_u64(s->replies.first_frame), "last_frame",
		rd_json_u64(s->replies.last_frame));
}

static json_t *slow_json(const struct rd_app_slow *s)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "operation", rd_json_string(s->operation), "ns",
		rd_json_u64(s->ns), "frame", rd_json_u64(s->frame), "reply_frame",
		rd_json_u64(s->reply_frame));
}

static json_t *signs_json(const struct rd_application *app)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < SIGNS; i++)
		if (app->signs & signs[i].bit)
			json_array_append_new(list, rd_json_string(signs[i].key));
	return list;
}

/* What a conversation and the whole capture have in common. */
static json_t *common_json(const struct rd_application *app)
{
	json_t *o = json_object(), *operations = json_array(), *statuses = json_array(),
	       *slowest = json_array();

	for (size_t i = 0; i < app->n_operations; i++)
		json_array_append_new(operations, operation_json(&app->operations[i]));
	for (size_t i = 0; i < app->n_statuses; i++)
		json_array_append_new(statuses, status_json(&app->statuses[i]));
	for (unsigned int i = 0; i < app->n_slowest; i++)
		json_array_append_new(slowest, slow_json(&app->slowest[i]));
	set(o, "key", rd_json_string(app->key));
	set(o, "name", rd_json_string(app->name));
	set(o, "certainty", rd_json_string(rd_certainty_name((enum rd_certainty)app->certainty)));
	set(o, "signs", signs_json(app));
	set(o, "port", rd_json_u64_or_null(app->port));
	set(o, "messages", rd_json_u64(app->messages));
	set(o, "unreadable", rd_json_u64(app->unreadable));
	set(o, "misfits", rd_json_u64(app->misfits));
	set(o, "unmatched", rd_json_u64(app->unmatched));
	set(o, "not_followed", rd_json_u64(app->not_followed));
	set(o, "operations", operations);
	set(o, "statuses", statuses);
	set(o, "slowest", slowest);
	return o;
}

static json_t *queue_json(const struct rd_app_queue *q)
{
	if (!q->known)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o}", "id", rd_json_u64(q->id), "send_size",
		rd_json_u64_or_null(q->send_size), "recv_size", rd_json_u64_or_null(q->recv_size),
		"controller", q->controller == 0xffff ? json_null() : rd_json_u64(q->controller));
}

json_t *application_json(const struct rd_application *app)
{
	static const char *const sides[] = {"a", "b", NULL};
	json_t *o;

	if (!app)
		return json_null();
	o = common_json(app);
	set(o, "client", rd_json_string(sides[app->client]));
	set(o, "queue", queue_json(&app->queue));
	return o;
}

json_t *applications_json(const struct rd_report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_applications; i++) {
		json_t *o = common_json(&r->applications[i]);

		set(o, "conversations", rd_json_u64(r->applications[i].conversations));
		json_array_append_new(list, o);
	}
	return list;
}
