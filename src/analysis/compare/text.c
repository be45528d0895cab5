/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The differences of two analyses as text: findings, then traffic. */
#include "compare.h"
#include <inttypes.h>
#include <math.h>
#include <rdmadump/notation.h>
#include <rdmadump/printable.h>
#include <rdmadump/units.h>
#include <string.h>

#define ROWS_SHOWN 12 /* conversations and findings each, without -v */
#define TIMES	   3  /* as large, before a percentage is hard to read */

static void put_clean(FILE *out, const char *text)
{
	rd_printable_put(out, text, SIZE_MAX);
}

static void put_plural(FILE *out, uint64_t n, const char *what)
{
	fprintf(out, "%" PRIu64 " %s%s", n, what, n == 1 ? "" : "s");
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

	for (size_t i = 0; i < c->n_found; i++) {
		const struct found_change *f = &c->found[i];

		fresh += !f->before;
		gone += !f->after;
		other += f->before && f->after && f->changed;
	}
	for (size_t i = 0; i < c->n_streams; i++) {
		streams += c->streams[i].changed;
		unknown += c->streams[i].unknown;
	}
	if (!fresh && !gone && !other && !streams) {
		fputs("nothing changed: ", out);
		put_plural(out, c->n_found, "finding");
		fputs(" and ", out);
		put_plural(out, c->n_streams - unknown, "direction");
		fputs(" of traffic are as before\n", out);
		put_unknown(unknown, out);
		return;
	}
	fprintf(out,
		"findings: %" PRIu64 " new, %" PRIu64 " gone, %" PRIu64 " changed, %zu as before\n",
		fresh, gone, other, c->n_found - (size_t)(fresh + gone + other));
	fprintf(out, "traffic: %" PRIu64 " of %zu directions changed\n", streams,
		c->n_streams - unknown);
	put_unknown(unknown, out);
}

/* --- findings --------------------------------------------------------------------------------- */

static void put_place(FILE *out, const struct found *f)
{
	if (f->by_rule) {
		fputs("all together: a report has only a part of these findings", out);
		return;
	}
	if (!*f->from && !*f->to) {
		put_clean(out, f->where);
		return;
	}
	put_clean(out, f->from);
	fputs(" -> ", out);
	put_clean(out, f->to);
}

static void put_counts(FILE *out, const struct found *f)
{
	fprintf(out, "[%s]", rd_certainty_name(f->certainty));
	if (f->count)
		fprintf(out, ", %" PRIu64 " time%s", f->count, f->count == 1 ? "" : "s");
	if (f->by_rule)
		fprintf(out, ", %" PRIu64 " finding%s", f->n, f->n == 1 ? "" : "s");
	else if (*f->from)
		fprintf(out, " at %" PRIu64 " QP%s", f->n, f->n == 1 ? "" : "s");
}

static void put_finding(const struct found_change *f, FILE *out)
{
	const struct found *x = &f->shown;

	fprintf(out, "%-8s%s ", f->status, rd_severity_mark(x->severity));
	put_place(out, x);
	fputs("\n           ", out);
	put_clean(out, x->title);
	if (f->before && f->after && f->changed) {
		fputs("\n           before ", out);
		put_counts(out, f->before);
		fputs("; now ", out);
	} else {
		fputs("\n           ", out);
	}
	put_counts(out, x);
	fputc('\n', out);
}

/* What is shown without -v: the first rows of those that changed. */
struct screen {
	FILE *out;
	unsigned int verbose;
	size_t shown, left;
};

static bool is_shown(struct screen *s, bool changed)
{
	if (!changed && !s->verbose)
		return false;
	if (s->shown == ROWS_SHOWN && !s->verbose) {
		s->left++;
		return false;
	}
	if (!s->shown++)
		fputc('\n', s->out);
	return true;
}

static void put_left(const struct screen *s)
{
	if (s->left)
		fprintf(s->out, "        %zu more: -v shows them\n", s->left);
}

static void put_findings(const struct rd_changes *c, struct screen s)
{
	for (size_t i = 0; i < c->n_found; i++)
		if (is_shown(&s, c->found[i].changed))
			put_finding(&c->found[i], s.out);
	put_left(&s);
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

static void put_end(FILE *out, const char *address, uint32_t qp, bool with_qp)
{
	put_clean(out, address);
	if (with_qp && qp != RD_QP_UNKNOWN)
		fprintf(out, ":0x%x", qp);
	else if (with_qp)
		fputs(":?", out);
}

static void put_stream(const struct change *c, FILE *out)
{
	const struct stream *x = &c->like;

	fprintf(out, "%-8s", c->status);
	put_end(out, x->from, x->from_qp, c->same_qps);
	fputs(" -> ", out);
	put_end(out, x->to, x->to_qp, c->same_qps);
	fputc(' ', out);
	put_clean(out, x->transport);
	fputc(' ', out);
	put_clean(out, x->verb);
	if (!c->same_qps) {
		fputs(", ", out);
		if (c->presence == BOTH && c->before.qps != c->after.qps)
			fprintf(out, "%" PRIu64 " -> ", c->before.qps);
		put_plural(out, c->presence == BEFORE_ONLY ? c->before.qps : c->after.qps, "QP");
	}
	if (*x->service) {
		fputs(", service ", out);
		put_clean(out, x->service);
	}
	fputc('\n', out);
}

static void put_change(const struct change *c, unsigned int verbose, FILE *out)
{
	put_stream(c, out);
	for (unsigned int i = 0; i < METRICS; i++) {
		const struct value v = metric_value(i, &c->before, &c->after);

		if (v.change || (i == 0 && c->presence != BOTH) ||
			(verbose && (v.before > 0 || v.after > 0)))
			put_value(metric_of(i), &v, out);
	}
}

static void put_traffic(const struct rd_changes *c, struct screen s)
{
	for (size_t i = 0; i < c->n_streams; i++)
		if (is_shown(&s, c->streams[i].changed))
			put_change(&c->streams[i], s.verbose, s.out);
	put_left(&s);
}

void rd_changes_text(const struct rd_changes *c, const char *name, unsigned int verbose, FILE *out)
{
	const struct screen screen = {.out = out, .verbose = verbose};

	fputs("compared with ", out);
	put_clean(out, name);
	fputc('\n', out);
	put_capture(out, "before", c->before);
	put_capture(out, "now   ", c->after);
	put_summary(c, out);
	put_findings(c, screen);
	put_traffic(c, screen);
}
