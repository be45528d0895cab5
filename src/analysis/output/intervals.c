/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table that is printed on request: traffic by interval. */
#include "layout.h"
#include "output.h"
#include <inttypes.h>
#include <rdmadump/json.h>

#define RD_THIS struct rd_interval
static const struct rd_field interval_fields[] = {
	{"frames", NULL, RD_UINT(frames)},
	{"rdma_frames", NULL, RD_UINT(rdma_frames)},
	{"wire_bytes", NULL, RD_UINT(wire_bytes)},
	{"retransmitted", NULL, RD_UINT(retransmitted)},
	{"nak", "Without RNR NAKs.", RD_UINT(nak)},
	{"rnr", NULL, RD_UINT(rnr)},
	{"cnp", NULL, RD_UINT(cnp)},
	{"ecn_ce", NULL, RD_UINT(ce)},
};
static const struct rd_shape interval_shape = {NULL, NULL, RD_FIELDS(interval_fields)};
#undef RD_THIS

#define RD_THIS struct rd_intervals
static const struct rd_field intervals_fields[] = {
	{"asked_ns", "The length that --interval has.", RD_UINT(wanted_ns)},
	{"width_ns", "The length used: asked_ns, doubled until 65536 intervals suffice.",
		RD_UINT(width_ns)},
	{"start_ns", "Start of the first interval: the first frame.", RD_TIME(start_ns)},
	{"points", NULL, RD_UINT(n)},
};
const struct rd_shape intervals_shape = {"intervals",
	"Only with --interval: all traffic; value i covers start_ns + i * width_ns. Frames before "
	"the first one in time are in the first interval.",
	RD_FIELDS(intervals_fields), RD_COLUMNS(rows, n, interval_shape)};
#undef RD_THIS

json_t *intervals_json(const struct rd_at *at)
{
	const struct rd_intervals *v = &((const struct rd_report *)at->object)->intervals;

	return v->width_ns ? rd_shape_part(&intervals_shape, v, at) : NULL;
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

void intervals_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out)
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

	if (!v->width_ns)
		return;
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
