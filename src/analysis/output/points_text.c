/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Captures at several points as text: what is printed before the reports of each. */
#include "layout.h"
#include <rdmadump/array.h>
#include <rdmadump/points.h>
#include <rdmadump/printable.h>
#include <rdmadump/units.h>
#include <stdlib.h>

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

static void put_owners(const struct rd_judgement *v, const struct rd_report_style *style, FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *line = open_memstream(&text, &size), *rows;

	if (!line)
		return;
	rd_owners_put(line, v->owner);
	fclose(line);
	rows = text && *text ? layout_open(out, layout_columns(style)) : NULL;
	if (rows) {
		fprintf(rows, "%*s ", RD_LABEL_MAX, "");
		rd_printable_put(rows, text + strlen("; "), SIZE_MAX);
		fputc('\n', rows);
		fclose(rows);
	}
	free(text);
}

const char *rd_points_place(const struct rd_points *p)
{
	const struct rd_points_common *c = &p->common;

	return p->addresses[c->address ? c->place : p->hosts[c->place].address];
}

static void put_whose(const struct rd_owner *owner, FILE *out)
{
	char text[RD_OWNER_TEXT_MAX];

	if (owner) {
		fputs("; its QPs are of ", out);
		rd_printable_put(out, rd_owner_text(text, owner), SIZE_MAX);
	}
	fputc('\n', out);
}

static void put_common(const struct rd_points *p, FILE *out)
{
	static const char *const ends[] = {"end at", "begin at", "end or begin at"};
	const struct rd_points_common *c = &p->common;

	if (!c->faulty)
		return;
	fprintf(out, "%zu of %zu %s paths %s %s, %zu of the %zu others do", c->faulty, c->of_faulty,
		c->slow ? "slow" : "faulty", ends[c->end], rd_points_place(p), c->others,
		c->of_others);
	put_whose(c->owner, out);
}

static void put_straggler(const struct rd_points *p, FILE *out)
{
	const struct rd_points_straggler *s = &p->straggler;
	char late[RD_UNITS_LEN], next[RD_UNITS_LEN];

	if (!s->of)
		return;
	fprintf(out,
		"Possibly the others wait for %s: it began its messages %s in all after what it "
		"waited for had arrived, none of the other %zu more than %s",
		p->addresses[s->address], rd_fmt_duration(late, s->late.ns), s->of - 1,
		rd_fmt_duration(next, s->next_ns));
	put_whose(s->owner, out);
}

/* The hosts that were not captured, or are not known to be. */
static void put_missing(const struct rd_points *p, const struct rd_report_style *style,
	enum rd_points_captured how, FILE *out)
{
	const size_t most = style->verbose ? SIZE_MAX : ROWS_SHOWN;
	size_t n = 0;

	for (size_t i = 0; i < p->n_hosts; i++) {
		if (p->hosts[i].captured != how || n++ >= most)
			continue;
		fputs(n > 1		      ? ", "
			: how == RD_POINTS_NO ? "No capture was made at "
					      : "No capture is known to be made at ",
			out);
		fputs(p->addresses[p->hosts[i].address], out);
	}
	if (n > most)
		fprintf(out, " and %zu more: -v or --json shows them", n - most);
	if (n)
		fputc('\n', out);
}

/* Which two are the furthest apart. */
static void put_clocks(const struct rd_points *p, FILE *out)
{
	const struct rd_points_clock *least = p->clocks, *most = p->clocks;
	char apart[RD_UNITS_LEN], error[RD_UNITS_LEN];
	uint64_t worst = 0;

	if (p->n_clocks < 2)
		return;
	for (size_t i = 0; i < p->n_clocks; i++) {
		const struct rd_points_clock *c = &p->clocks[i];

		least = c->offset_ns < least->offset_ns ? c : least;
		most = c->offset_ns > most->offset_ns ? c : most;
		worst = c->error_ns > worst ? c->error_ns : worst;
	}
	fprintf(out, "The clocks of %zu captures are up to %s apart, known within %s", p->n_clocks,
		rd_fmt_duration(apart, (uint64_t)most->offset_ns - (uint64_t)least->offset_ns),
		rd_fmt_duration(error, worst));
	if (least != most) {
		fputs(": ", out);
		rd_printable_put(out, p->captures[most->capture].name, SIZE_MAX);
		fputs(" is ahead of ", out);
		rd_printable_put(out, p->captures[least->capture].name, SIZE_MAX);
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
	grid_put(g, "%s", path->latency.p50 ? rd_fmt_duration(number, path->latency.p50) : "");
	grid_put(g, "%s", path->latency.p99 ? rd_fmt_duration(number, path->latency.p99) : "");
	grid_put(g, "%s",
		n[RD_POINTS_PAUSES] ? rd_fmt_duration(number, n[RD_POINTS_PAUSED_NS]) : "0");
}

static size_t paths_shown(const struct rd_points *p, const struct rd_report_style *style)
{
	return style->verbose || p->n_paths < ROWS_SHOWN ? p->n_paths : ROWS_SHOWN;
}

/* Below a table. */
static void put_more(size_t shown, size_t all, FILE *out)
{
	if (shown < all)
		fprintf(out, "%zu more: -v or --json shows them\n", all - shown);
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
	struct grid g = {.column = columns, .n_columns = RD_COUNT(columns)};
	const size_t shown = paths_shown(p, style);

	for (size_t i = 0; i < shown; i++)
		put_path(&g, p, &p->paths[i]);
	if (!shown)
		return;
	fputc('\n', out);
	grid_print(&g, layout_columns(style), out, NULL, NULL);
	put_more(shown, p->n_paths, out);
}

#define RANGES_SHOWN 6

/* "0-7, 16"; "": unknown. Owned by the caller; NULL: out of memory. */
static char *ranks_text(const struct rd_points_program *program, bool all)
{
	const struct rd_points_owner *own = program->owner;
	unsigned int ranges = 0;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0, k; i < program->n_owners && own[i].who->rank != UINT32_MAX; i = k) {
		const uint32_t first = own[i].who->rank;
		uint32_t last = first;

		for (k = i + 1; k < program->n_owners && own[k].who->rank - last <= 1; k++)
			last = own[k].who->rank;
		if (ranges == RANGES_SHOWN && !all) {
			fputs(", ...", out);
			break;
		}
		fprintf(out, last != first ? "%s%u-%u" : "%s%u", ranges++ ? ", " : "", first, last);
	}
	fclose(out);
	return text;
}

/* Of the hosts whose paths are shown. */
static void put_programs(const struct rd_points *p, const struct rd_report_style *style, FILE *out)
{
	static const struct grid_column columns[] = {
		{"HOST", true, 0},
		{"PROGRAM", true, 0},
		{"PROCESSES", false, 1},
		{"RANKS", true, 0},
		{"SLURM JOB", true, 2},
	};
	struct grid g = {.column = columns, .n_columns = RD_COUNT(columns)};
	size_t shown = 0;

	for (size_t i = 0; i < p->n_programs; i++) {
		const struct rd_points_program *program = &p->programs[i];
		const struct rd_owner *who = program->owner->who;
		char host[RD_ADDRESS_LEN + 16], *ranks;

		if (!RD_ANY(path, p->paths, paths_shown(p, style),
			    path->from == program->host || path->to == program->host))
			continue;
		put_end(host, sizeof(host), p, program->host);
		ranks = ranks_text(program, style->verbose);
		grid_put(&g, "%s", host);
		grid_put(&g, "%s", *who->comm ? who->comm : "?");
		grid_put(&g, "%u", program->n_processes);
		grid_put(&g, "%s", ranks ?: "");
		grid_put(&g, "%s", rd_owner_job(who) ?: "");
		free(ranks);
		shown++;
	}
	if (!shown)
		return;
	fputc('\n', out);
	grid_print(&g, layout_columns(style), out, NULL, NULL);
	put_more(shown, p->n_programs, out);
}

void points_found_text(const struct rd_points *p, const struct rd_report_style *style, FILE *out)
{
	FILE *lines = layout_open(out, layout_columns(style)), *to = lines ? lines : out;

	put_common(p, to);
	put_straggler(p, to);
	put_missing(p, style, RD_POINTS_NO, to);
	put_missing(p, style, RD_POINTS_UNKNOWN, to);
	put_clocks(p, to);
	if (lines)
		fclose(lines);
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
	const size_t shown = style->verbose || p->n_faults < ROWS_SHOWN ? p->n_faults : ROWS_SHOWN;
	size_t sound = 0, unclear;

	put_head(p, style, out);
	for (size_t i = 0; i < shown; i++) {
		const struct rd_judgement *v = p->verdicts[i].of;

		layout_row(out, v->label, RD_LABEL_MAX + 1, v->row[0], layout_columns(style));
		fprintf(out, "%*s ", RD_LABEL_MAX, "");
		put_names(p, &p->verdicts[i], out);
		put_owners(v, style, out);
	}
	if (shown < p->n_faults)
		fprintf(out, "%*s %zu more with a fault: -v or --json shows them\n", RD_LABEL_MAX,
			"", p->n_faults - shown);
	if (p->n_same)
		fprintf(out, "%*s %zu more pair%s such faults at one end of the path only\n",
			RD_LABEL_MAX, "", p->n_same, p->n_same == 1 ? " shows" : "s show");
	for (size_t i = p->n_faults + p->n_same; i < p->n_verdicts; i++)
		sound += strcmp(p->verdicts[i].of->label, "OK") == 0;
	unclear = p->n_verdicts - p->n_faults - p->n_same - sound;
	if (unclear)
		fprintf(out,
			"%-*s %zu of %zu: no fault can be seen there, nor that there is none\n",
			RD_LABEL_MAX, "UNCLEAR", unclear, p->n_verdicts);
	if (sound)
		fprintf(out, "%-*s %zu of %zu: no fault was found there\n", RD_LABEL_MAX, "OK",
			sound, p->n_verdicts);
	points_found_text(p, style, out);
	put_paths(p, style, out);
	put_programs(p, style, out);
}
