/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The differences of two analyses as text: findings, then traffic. */
#include "compare.h"
#include <inttypes.h>
#include <math.h>
#include <rdmadump/notation.h>
#include <rdmadump/printable.h>
#include <rdmadump/units.h>
#include <string.h>

#define TIMES 3 /* as large, before a percentage is hard to read */

static void put_clean(FILE *out, const char *text)
{
	rd_printable_put(out, text, SIZE_MAX);
}

static void put_key(FILE *out, const struct item *x, enum key key)
{
	put_clean(out, item_text(x, key));
}

static void put_plural(FILE *out, uint64_t n, const char *what)
{
	fprintf(out, "%" PRIu64 " %s%s", n, what, rd_plural(n));
}

static bool has_both(const struct change *c)
{
	return c->before.n[N_ITEMS] && c->after.n[N_ITEMS];
}

/* --- the head --------------------------------------------------------------------------------- */

static void put_capture(FILE *out, const char *word, const struct rd_snapshot *s)
{
	char frames[RD_UNITS_LEN], duration[RD_UNITS_LEN], start[RD_UTC_LEN];

	fprintf(out, "%s  ", word);
	if (!s->frames) {
		fputs("no frames\n", out);
		return;
	}
	fprintf(out, "%s, %s, %s frame%s", rd_utc_text(start, s->start_ns),
		rd_fmt_duration(duration, s->duration_ns), rd_fmt_count(frames, s->frames),
		s->frames == 1 ? "" : "s");
	fputc('\n', out);
	if (s->left_out)
		fprintf(out, "        the report lacks %" PRIu64 " of its conversations (--top)\n",
			s->left_out);
	if (s->findings_left_out)
		fprintf(out,
			"        %" PRIu64
			" of its findings are only counted, or of conversations it lacks\n",
			s->findings_left_out);
}

/* Traffic that the former report may have left out. */
static void put_unknown(uint64_t n, FILE *out)
{
	if (!n)
		return;
	put_plural(out, n, "direction");
	fputs(" of traffic: not in the former report, which has only a part\n", out);
}

static void put_summary(const struct rd_changes *c, FILE *out)
{
	uint64_t fresh = 0, gone = 0, other = 0, streams = 0, unknown = 0;

	for (size_t i = 0; i < c->found.n; i++) {
		const struct change *f = &c->found.change[i];

		fresh += !f->before.n[N_ITEMS];
		gone += !f->after.n[N_ITEMS];
		other += has_both(f) && f->changed;
	}
	for (size_t i = 0; i < c->streams.n; i++) {
		streams += c->streams.change[i].changed;
		unknown += c->streams.change[i].unknown;
	}
	if (!fresh && !gone && !other && !streams) {
		fputs("nothing changed: ", out);
		put_plural(out, c->found.n, "finding");
		fputs(" and ", out);
		put_plural(out, c->streams.n - unknown, "direction");
		fputs(" of traffic are as before\n", out);
		put_unknown(unknown, out);
		return;
	}
	fprintf(out,
		"findings: %" PRIu64 " new, %" PRIu64 " gone, %" PRIu64 " changed, %zu as before\n",
		fresh, gone, other, c->found.n - (size_t)(fresh + gone + other));
	fprintf(out, "traffic: %" PRIu64 " of %zu directions changed\n", streams,
		c->streams.n - unknown);
	put_unknown(unknown, out);
}

/* --- findings --------------------------------------------------------------------------------- */

static void put_place(FILE *out, const struct item *f)
{
	if (f->partial) {
		fputs("all together: a report has only a part of these findings", out);
	} else if (!*item_text(f, KEY_FROM) && !*item_text(f, KEY_TO)) {
		put_key(out, f, KEY_WHERE);
	} else {
		put_key(out, f, KEY_FROM);
		fputs(" -> ", out);
		put_key(out, f, KEY_TO);
	}
}

static void put_counts(FILE *out, const struct item *f)
{
	const uint64_t times = f->n[N_COUNT], n = f->n[N_ITEMS];

	fprintf(out, "[%s]", rd_certainty_name(f->certainty));
	if (times)
		fprintf(out, ", %" PRIu64 " time%s", times, rd_plural(times));
	if (f->partial)
		fprintf(out, ", %" PRIu64 " finding%s", n, rd_plural(n));
	else if (*item_text(f, KEY_FROM))
		fprintf(out, " at %" PRIu64 " QP%s", n, rd_plural(n));
}

static void put_finding(const struct change *f, FILE *out)
{
	const struct item *x = &f->shown;

	fprintf(out, "%-8s%s ", f->status, rd_severity_mark(x->severity));
	put_place(out, x);
	fputs("\n           ", out);
	put_key(out, x, KEY_TITLE);
	fputs("\n           ", out);
	if (has_both(f) && f->changed) {
		fputs("before ", out);
		put_counts(out, &f->before);
		fputs("; now ", out);
	}
	put_counts(out, x);
	fputc('\n', out);
}

/* --- traffic ---------------------------------------------------------------------------------- */

static void value_text(char buf[RD_UNITS_LEN], enum unit unit, double value)
{
	if (isnan(value))
		snprintf(buf, RD_UNITS_LEN, "-");
	else if (unit == UNIT_RATE)
		rd_fmt_bitrate(buf, value);
	else if (unit == UNIT_SHARE)
		snprintf(buf, RD_UNITS_LEN, value > 0 && value < 0.01 ? "< 0.01 %%" : "%.3g %%",
			value);
	else
		rd_fmt_duration(buf, value < 0 ? 0 : (uint64_t)value);
}

/* "(+40 %)"; what is several times as large: "(22 times)". Nothing from 0. */
static void put_ratio(FILE *out, double before, double after)
{
	if (!(before > 0))
		return;
	if (after >= TIMES * before)
		fprintf(out, after >= 10 * before ? " (%.0f times)" : " (%.1f times)",
			after / before);
	else
		fprintf(out, " (%+.0f %%)", 100 * (after - before) / before);
}

static void put_value(const struct metric *m, const struct value *v, FILE *out)
{
	char before[RD_UNITS_LEN], after[RD_UNITS_LEN];

	value_text(before, m->unit, v->before);
	value_text(after, m->unit, v->after);
	fprintf(out, "        %-14s %11s -> %s", m->label, before, after);
	if (v->change || v->few)
		fprintf(out, "%*s  %s", 11 - (int)strlen(after), "",
			v->few		? "too few samples"
			: v->change > 0 ? "better"
					: "worse");
	if (v->change && m->unit != UNIT_SHARE)
		put_ratio(out, v->before, v->after);
	fputc('\n', out);
}

static void put_end(FILE *out, const struct change *c, enum key address, enum key qp)
{
	const uint32_t number = item_qp(&c->shown, qp);

	put_key(out, &c->shown, address);
	if (c->level != BY_QPS)
		return;
	if (number != RD_QP_UNKNOWN)
		fprintf(out, ":0x%x", number);
	else
		fputs(":?", out);
}

static void put_stream(const struct change *c, FILE *out)
{
	const struct item *x = &c->shown;

	fprintf(out, "%-8s", c->status);
	put_end(out, c, KEY_FROM, KEY_FROM_QP);
	fputs(" -> ", out);
	put_end(out, c, KEY_TO, KEY_TO_QP);
	fputc(' ', out);
	put_key(out, x, KEY_TRANSPORT);
	fputc(' ', out);
	put_key(out, x, KEY_VERB);
	if (c->level != BY_QPS) {
		fputs(", ", out);
		if (has_both(c) && c->before.n[N_ITEMS] != c->after.n[N_ITEMS])
			fprintf(out, "%" PRIu64 " -> ", c->before.n[N_ITEMS]);
		put_plural(out, x->n[N_ITEMS], "QP");
	}
	if (*item_text(x, KEY_SERVICE)) {
		fputs(", service ", out);
		put_key(out, x, KEY_SERVICE);
	}
	fputc('\n', out);
}

static void put_values(const struct change *c, unsigned int verbose, FILE *out)
{
	for (unsigned int i = 0; i < METRICS; i++) {
		const struct value v = metric_value(i, c);

		if (v.change || (i == 0 && !has_both(c)) ||
			(verbose && (v.before > 0 || v.after > 0)))
			put_value(&metrics[i], &v, out);
	}
}

#define ROWS_SHOWN 12 /* conversations and findings each, without -v */

/* Without -v: the first rows of those that changed. */
static void put_list(const struct list *list, bool traffic, unsigned int verbose, FILE *out)
{
	size_t shown = 0, left = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct change *c = &list->change[i];

		if (!c->changed && !verbose)
			continue;
		if (shown == ROWS_SHOWN && !verbose) {
			left++;
			continue;
		}
		if (!shown++)
			fputc('\n', out);
		if (traffic) {
			put_stream(c, out);
			put_values(c, verbose, out);
		} else {
			put_finding(c, out);
		}
	}
	if (left)
		fprintf(out, "        %zu more: -v shows them\n", left);
}

void rd_changes_text(const struct rd_changes *c, const char *name, unsigned int verbose, FILE *out)
{
	fputs("compared with ", out);
	put_clean(out, name);
	fputc('\n', out);
	put_capture(out, "before", c->before);
	put_capture(out, "now   ", c->after);
	put_summary(c, out);
	put_list(&c->found, false, verbose, out);
	put_list(&c->streams, true, verbose, out);
}
