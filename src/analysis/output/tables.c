/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables that are printed on request: traffic by interval, packets by opcode. */
#include "output.h"
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

static void put_seconds(FILE *out, uint64_t ns, int digits, int wide)
{
	uint64_t fraction = ns % 1000000000;

	for (int i = digits; i < 9; i++)
		fraction /= 10;
	fprintf(out, "%*llu", wide, (unsigned long long)(ns / 1000000000));
	if (digits)
		fprintf(out, ".%0*llu", digits, (unsigned long long)fraction);
}

static void intervals_text(const struct rd_report *r, FILE *out)
{
	const struct rd_intervals *v = &r->intervals;
	const int digits = digits_of(v->width_ns), wide = 6 + (digits ? digits + 1 : 0);

	fputs("\nintervals of ", out);
	put_seconds(out, v->width_ns, digits, 0);
	fputs(" s, from the first frame", out);
	if (v->width_ns != v->wanted_ns) {
		fputs("; intervals of ", out);
		put_seconds(out, v->wanted_ns, digits_of(v->wanted_ns), 0);
		fprintf(out, " s would be more than %d", RD_INTERVALS_MAX);
	}
	fprintf(out, "\n%*s %9s %12s %11s %6s %5s %5s %6s %6s\n", wide, "FROM s", "FRAMES", "BYTES",
		"RATE", "RETX", "NAK", "RNR", "CNP", "CE");
	for (size_t i = 0; i < v->n; i++) {
		const struct rd_interval *x = &v->rows[i];
		char rate[RD_UNITS_LEN];

		put_seconds(out, i * v->width_ns, digits, 6);
		fprintf(out, " %9llu %12llu %11s %6llu %5llu %5llu %6llu %6llu\n",
			(unsigned long long)x->frames, (unsigned long long)x->wire_bytes,
			rd_fmt_bitrate(rate, (double)x->wire_bytes * 8e9 / (double)v->width_ns),
			(unsigned long long)x->retransmitted, (unsigned long long)x->nak,
			(unsigned long long)x->rnr, (unsigned long long)x->cnp,
			(unsigned long long)x->ce);
	}
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

static void opcodes_text(const struct rd_report *r, FILE *out)
{
	uint64_t all = 0;

	for (unsigned int i = 0; i < 256; i++)
		all += r->opcodes[i].frames;
	fprintf(out, "\n%-28s %10s %7s %14s %14s\n", "OPCODE", "FRAMES", "SHARE", "BYTES",
		"PAYLOAD BYTES");
	for (unsigned int i = 0; i < 256; i++) {
		const struct rd_opcode_use *u = &r->opcodes[i];

		if (u->frames)
			fprintf(out, "%3u %-24s %10llu %5.1f %% %14llu %14llu\n", i,
				rd_opcodes[i].name ? rd_opcodes[i].name : "reserved",
				(unsigned long long)u->frames,
				100 * (double)u->frames / (double)all,
				(unsigned long long)u->wire_bytes,
				(unsigned long long)u->payload_bytes);
	}
}

/* --- both ------------------------------------------------------------------------------------- */

void tables_json(const struct rd_report *r, json_t *report)
{
	if (r->intervals.width_ns)
		json_object_set_new(report, "intervals", intervals_json(r));
	if (r->opcodes)
		json_object_set_new(report, "opcodes", opcodes_json(r));
}

void tables_text(const struct rd_report *r, FILE *out)
{
	if (r->intervals.width_ns)
		intervals_text(r, out);
	if (r->opcodes)
		opcodes_text(r, out);
}
