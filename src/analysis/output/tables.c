/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables that are printed on request: traffic by interval, packets by opcode. */
#include "layout.h"
#include "output.h"
#include <inttypes.h>
#include <rdmadump/json.h>

/* --- intervals -------------------------------------------------------------------------------- */

/* The values of an interval in the order of JSON; text has all but rdma_frames. */
static const struct column {
	const char *key;
	size_t offset;
} columns[] = {
	{"frames", offsetof(struct rd_interval, frames)},
	{"rdma_frames", offsetof(struct rd_interval, rdma_frames)},
	{"wire_bytes", offsetof(struct rd_interval, wire_bytes)},
	{"retransmitted", offsetof(struct rd_interval, retransmitted)},
	{"nak", offsetof(struct rd_interval, nak)},
	{"rnr", offsetof(struct rd_interval, rnr)},
	{"cnp", offsetof(struct rd_interval, cnp)},
	{"ecn_ce", offsetof(struct rd_interval, ce)},
};

static json_t *column_json(const struct rd_intervals *v, const struct column *column)
{
	json_t *array = json_array();

	for (size_t i = 0; i < v->n; i++) {
		uint64_t value;

		memcpy(&value, (const char *)&v->rows[i] + column->offset, sizeof(value));
		json_array_append_new(array, rd_json_u64(value));
	}
	return array;
}

static json_t *intervals_json(const struct rd_report *r)
{
	const struct rd_intervals *v = &r->intervals;
	json_t *o = json_object();

	json_object_set_new(o, "asked_ns", rd_json_u64(v->wanted_ns));
	json_object_set_new(o, "width_ns", rd_json_u64(v->width_ns));
	json_object_set_new(o, "start_ns",
		json_integer((json_int_t)(v->n ? v->start_ns - r->totals.first_ns : 0)));
	json_object_set_new(o, "points", rd_json_u64(v->n));
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		json_object_set_new(o, columns[i].key, column_json(v, &columns[i]));
	return o;
}

/* As many digits as the width of the intervals has, 9 at most. */
static int digits_of(uint64_t width_ns)
{
	int digits = 9;

	while (digits && width_ns % 10 == 0) {
		width_ns /= 10;
		digits--;
	}
	return digits;
}

#define SECONDS_LEN 32

/* "1.25", with so many digits of its fraction; returns text. */
static const char *seconds_text(char text[SECONDS_LEN], uint64_t ns, int digits)
{
	uint64_t fraction = ns % 1000000000;

	for (int i = digits; i < 9; i++)
		fraction /= 10;
	if (digits)
		snprintf(text, SECONDS_LEN, "%llu.%0*llu", (unsigned long long)(ns / 1000000000),
			digits, (unsigned long long)fraction);
	else
		snprintf(text, SECONDS_LEN, "%llu", (unsigned long long)(ns / 1000000000));
	return text;
}

#define RATE_FRAMES 10 /* of the last interval: fewer do not show a rate */

/* The time for the rate of an interval: the last one ends with its last frame. 0: too short. */
static uint64_t lasted_ns(const struct rd_report *r, const struct rd_interval *x)
{
	const struct rd_intervals *v = &r->intervals;
	const uint64_t i = (uint64_t)(x - v->rows), from = v->start_ns + i * v->width_ns;
	const uint64_t end = r->totals.last_ns;

	if (i + 1 < v->n)
		return v->width_ns;
	if (x->frames < RATE_FRAMES || end <= from)
		return 0;
	return end - from < v->width_ns ? end - from : v->width_ns;
}

static void put_interval(
	struct grid *g, const struct rd_report *r, const struct rd_interval *x, int digits)
{
	const struct rd_intervals *v = &r->intervals;
	const uint64_t ns = lasted_ns(r, x);
	const uint64_t events[] = {x->retransmitted, x->nak, x->rnr, x->cnp, x->ce};
	char text[SECONDS_LEN], rate[RD_UNITS_LEN];

	grid_put(g, "%s", seconds_text(text, (uint64_t)(x - v->rows) * v->width_ns, digits));
	grid_put(g, "%" PRIu64, x->frames);
	grid_put(g, "%" PRIu64, x->wire_bytes);
	grid_put(
		g, "%s", ns ? rd_fmt_bitrate(rate, (double)x->wire_bytes * 8e9 / (double)ns) : "-");
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		grid_put(g, "%" PRIu64, events[i]);
}

static void intervals_text(
	const struct rd_report *r, const struct rd_report_style *style, FILE *out)
{
	static const struct grid_column names[] = {
		{"FROM s", false, 0},
		{"FRAMES", false, 0},
		{"BYTES", false, 1},
		{"RATE", false, 0},
		{"RETX", false, 0},
		{"NAK", false, 0},
		{"RNR", false, 0},
		{"CNP", false, 0},
		{"CE", false, 0},
	};
	struct grid g = {.column = names, .n_columns = sizeof(names) / sizeof(*names)};
	const struct rd_intervals *v = &r->intervals;
	const int digits = digits_of(v->width_ns);
	char text[SECONDS_LEN];

	fprintf(out, "\nintervals of %s s, from the first frame",
		seconds_text(text, v->width_ns, digits));
	if (v->width_ns != v->wanted_ns)
		fprintf(out, "; intervals of %s s would be more than %d",
			seconds_text(text, v->wanted_ns, digits_of(v->wanted_ns)),
			RD_INTERVALS_MAX);
	fputc('\n', out);
	for (size_t i = 0; i < v->n; i++)
		put_interval(&g, r, &v->rows[i], digits);
	grid_print(&g, layout_columns(style), out, NULL, NULL);
}

/* --- opcodes ---------------------------------------------------------------------------------- */

static json_t *opcodes_json(const struct rd_report *r)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < 256; i++) {
		const struct rd_opcode_use *u = &r->opcodes[i];
		json_t *o;

		if (!u->frames)
			continue;
		o = json_object();
		json_object_set_new(o, "opcode", json_integer(i));
		json_object_set_new(o, "name", rd_json_string(rd_opcodes[i].name));
		json_object_set_new(o, "frames", rd_json_u64(u->frames));
		json_object_set_new(o, "wire_bytes", rd_json_u64(u->wire_bytes));
		json_object_set_new(o, "payload_bytes", rd_json_u64(u->payload_bytes));
		json_object_set_new(o, "first_frame", rd_json_u64(u->first_frame));
		json_object_set_new(o, "last_frame", rd_json_u64(u->last_frame));
		json_array_append_new(array, o);
	}
	return array;
}

static void opcodes_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out)
{
	static const struct grid_column names[] = {
		{"OPCODE", true, 0},
		{"FRAMES", false, 0},
		{"SHARE", false, 2},
		{"BYTES", false, 1},
		{"PAYLOAD BYTES", false, 3},
	};
	struct grid g = {.column = names, .n_columns = sizeof(names) / sizeof(*names)};
	uint64_t all = 0;

	for (unsigned int i = 0; i < 256; i++)
		all += r->opcodes[i].frames;
	for (unsigned int i = 0; i < 256; i++) {
		const struct rd_opcode_use *u = &r->opcodes[i];

		if (!u->frames)
			continue;
		grid_put(&g, "%3u %s", i, rd_opcodes[i].name ? rd_opcodes[i].name : "reserved");
		grid_put(&g, "%" PRIu64, u->frames);
		grid_put(&g, "%.1f %%", 100 * (double)u->frames / (double)all);
		grid_put(&g, "%" PRIu64, u->wire_bytes);
		grid_put(&g, "%" PRIu64, u->payload_bytes);
	}
	fputc('\n', out);
	grid_print(&g, layout_columns(style), out, NULL, NULL);
}

/* --- both ------------------------------------------------------------------------------------- */

void tables_json(const struct rd_report *r, json_t *report)
{
	if (r->intervals.width_ns)
		json_object_set_new(report, "intervals", intervals_json(r));
	if (r->opcodes)
		json_object_set_new(report, "opcodes", opcodes_json(r));
}

void tables_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out)
{
	if (r->intervals.width_ns)
		intervals_text(r, style, out);
	if (r->opcodes)
		opcodes_text(r, style, out);
}
