/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Captures at several points as text: what is printed before the reports of each. */
#include "layout.h"
#include <rdmadump/points.h>
#include <rdmadump/printable.h>
#include <rdmadump/units.h>

#define ROWS_SHOWN 8

static void put_names(const struct rd_points *p, const struct rd_points_verdict *v, FILE *out)
{
	const struct rd_points_pair *pair = v->pair < p->n_pairs ? &p->pairs[v->pair] : NULL;
	const unsigned int first = pair ? pair->capture[RD_TAP_A] : v->capture;

	rd_printable_put(out, p->captures[first].name, SIZE_MAX);
	if (pair) {
		fputs(" and ", out);
		rd_printable_put(out, p->captures[pair->capture[RD_TAP_B]].name, SIZE_MAX);
	}
	fputc('\n', out);
}

static void put_head(const struct rd_points *p, const struct rd_report_style *style, FILE *out)
{
	FILE *lines = layout_open(out, layout_columns(style));

	fprintf(lines ? lines : out,
		"These look like captures at several points: %zu pair%s of the files %s the same "
		"packets. Each pair is judged as two ends%s, the worst first; --ends never reads "
		"all files one after the other.\n\n",
		p->n_pairs, rd_plural(p->n_pairs), p->n_pairs == 1 ? "has" : "have",
		p->n_verdicts > p->n_pairs ? ", each other file alone" : "");
	if (lines)
		fclose(lines);
}

void rd_points_text(const struct rd_points *p, const struct rd_report_style *style, FILE *out)
{
	const size_t sound = p->n_verdicts - p->n_faults,
		     shown = style->verbose || p->n_faults < ROWS_SHOWN ? p->n_faults : ROWS_SHOWN;

	put_head(p, style, out);
	for (size_t i = 0; i < shown; i++) {
		rd_verdict_line(p->verdicts[i].of, style, out);
		fprintf(out, "%*s ", RD_LABEL_MAX, "");
		put_names(p, &p->verdicts[i], out);
	}
	if (shown < p->n_faults)
		fprintf(out, "%*s %zu more with a fault: -v or --json shows them\n", RD_LABEL_MAX,
			"", p->n_faults - shown);
	if (sound)
		fprintf(out, "%-*s %zu of %zu: no fault was found there\n", RD_LABEL_MAX, "OK",
			sound, p->n_verdicts);
}
