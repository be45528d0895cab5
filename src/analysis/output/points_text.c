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

static void put_end(char *buf, size_t size, const struct rd_points *p, uint32_t host)
{
	const struct rd_points_host *h = &p->hosts[host];

	snprintf(buf, size, h->n_addresses > 1 ? "%s (+%u)" : "%s", p->addresses[h->address],
		h->n_addresses - 1);
}

static void put_path(struct grid *g, const struct rd_points *p, const struct rd_points_path *path)
{
	const uint64_t *n = path->count;
	char from[RD_ADDRESS_LEN + 16], to[RD_ADDRESS_LEN + 16], number[RD_UNITS_LEN];

	put_end(from, sizeof(from), p, path->from);
	put_end(to, sizeof(to), p, path->to);
	grid_put(g, "%s -> %s", from, to);
	grid_put(g, "%s", rd_fmt_count(number, n[RD_POINTS_PACKETS]));
	grid_put(g, "%s", path->lost_known ? rd_fmt_count(number, n[RD_POINTS_LOST]) : "?");
	grid_put(g, "%s", rd_fmt_count(number, n[RD_POINTS_RETRANSMITTED]));
	grid_put(g, "%s", path->latency.n ? rd_fmt_duration(number, path->latency.p50) : "");
	grid_put(g, "%s", path->latency.n ? rd_fmt_duration(number, path->latency.p99) : "");
	grid_put(g, "%s",
		n[RD_POINTS_PAUSES] ? rd_fmt_duration(number, n[RD_POINTS_PAUSED_NS]) : "0");
}

static void put_paths(const struct rd_points *p, const struct rd_report_style *style, FILE *out)
{
	static const struct grid_column columns[] = {
		{"FROM HOST -> TO HOST", true, 0},
		{"PACKETS", false, 0},
		{"LOST", false, 0},
		{"RETRANSMITTED", false, 0},
		{"RESPONSE p50", false, 1},
		{"p99", false, 3},
		{"PAUSED", false, 2},
	};
	struct grid g = {.column = columns, .n_columns = sizeof(columns) / sizeof(*columns)};
	const size_t shown = style->verbose || p->n_paths < ROWS_SHOWN ? p->n_paths : ROWS_SHOWN;

	for (size_t i = 0; i < shown; i++)
		put_path(&g, p, &p->paths[i]);
	if (!shown)
		return;
	fputc('\n', out);
	grid_print(&g, layout_columns(style), out, NULL, NULL);
	if (shown < p->n_paths)
		fprintf(out, "%zu more: -v or --json shows them\n", p->n_paths - shown);
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
	put_paths(p, style, out);
}
