/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The verdict of a report as lines with labels, and its hosts as tables. */
#include "layout.h"
#include "output.h"
#include <stdlib.h>

#define HOSTS_SHOWN 8

void verdict_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out)
{
	const struct rd_judgement *v = &r->verdict;

	for (enum rd_row i = 0; i < RD_ROWS; i++)
		if (v->row[i] && *v->row[i])
			layout_row(out, rd_row_label(v, i), RD_LABEL_MAX + 1, v->row[i],
				layout_columns(style));
	fputc('\n', out);
}

void times_text(const struct rd_times *t, FILE *out)
{
	static const char *const spent[RD_TIME_COUNT] = {
		[RD_TIME_IDLE] = "nothing requested",
		[RD_TIME_REPLY] = "waiting for the other side's message",
		[RD_TIME_SENDING] = "sending",
		[RD_TIME_WAITING] = "waiting for a response",
		[RD_TIME_RECEIVING] = "receiving READ responses",
		[RD_TIME_NOT_READY] = "receiver not ready",
		[RD_TIME_RECOVERY] = "repeating",
	};
	const char *comma = "      time: ";
	uint64_t sum = 0;

	for (unsigned int i = 0; t && i < RD_TIME_COUNT; i++)
		sum += t->ns[i];
	for (unsigned int i = 0; sum && i < RD_TIME_COUNT; i++) {
		double share = 100.0 * (double)t->ns[i] / (double)sum;

		if (share < 0.5)
			continue;
		fprintf(out, "%s%s %.0f %%", comma, spent[i], share);
		comma = ", ";
	}
	if (sum)
		fputc('\n', out);
}

/* --- hosts ------------------------------------------------------------------------------------ */

static void put_hosts(
	const struct rd_hosts *h, const struct rd_report_style *style, FILE *out, size_t most)
{
	static const struct grid_column columns[] = {
		{"HOST", true, 0},
		{"SENT", false, 0},
		{"RECEIVED", false, 0},
		{"FROM HOSTS", false, 0},
		{"100 us PEAK", false, 2},
		{"FROM", false, 1},
	};
	struct grid g = {.column = columns, .n_columns = RD_COUNT(columns)};
	char number[RD_UNITS_LEN];

	for (size_t i = 0; i < most; i++) {
		const struct rd_host *x = &h->host[i];
		const double peak = (double)x->peak_bytes * 8e9 / (double)RD_BURST_NS;

		grid_put(&g, "%s", x->address);
		grid_put(&g, "%s", rd_fmt_bytes(number, x->sent_bytes));
		grid_put(&g, "%s", rd_fmt_bytes(number, x->received_bytes));
		grid_put(&g, "%u", x->senders);
		grid_put(&g, "%s", rd_fmt_bitrate(number, peak));
		grid_put(&g, "%u", x->peak_senders);
	}
	fputc('\n', out);
	grid_print(&g, layout_columns(style), out, NULL, NULL);
	if (most < h->n)
		fprintf(out, "%zu more host%s\n", h->n - most,
			h->n - most == 1 ? ": -v or --json shows it"
					 : "s: -v or --json shows them");
}

static void put_pairs(const struct rd_hosts *h, const struct rd_report_style *style, FILE *out)
{
	static const struct grid_column columns[] = {
		{"FROM HOST -> TO HOST", true, 0}, {"FRAMES", false, 0}, {"BYTES", false, 0}};
	struct grid g = {.column = columns, .n_columns = RD_COUNT(columns)};
	char number[RD_UNITS_LEN];

	for (size_t i = 0; i < h->n_pairs; i++) {
		const struct rd_host_pair *p = &h->pair[i];

		grid_put(&g, "%s -> %s", h->host[p->from].address, h->host[p->to].address);
		grid_put(&g, "%s", rd_fmt_count(number, p->frames));
		grid_put(&g, "%s", rd_fmt_bytes(number, p->bytes));
	}
	fputc('\n', out);
	grid_print(&g, layout_columns(style), out, NULL, NULL);
}

void hosts_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out)
{
	const struct rd_hosts *h = &r->hosts;
	char frames[RD_UNITS_LEN], bytes[RD_UNITS_LEN];

	/* Two hosts are one row of the table of QP pairs. */
	if (h->n < 3 && !style->verbose)
		return;
	if (h->n)
		put_hosts(h, style, out, style->verbose || h->n < HOSTS_SHOWN ? h->n : HOSTS_SHOWN);
	if (h->n_pairs && style->verbose)
		put_pairs(h, style, out);
	if (h->frames_left_out)
		fprintf(out, "%s frames (%s) of further hosts are not in these tables\n",
			rd_fmt_count(frames, h->frames_left_out),
			rd_fmt_bytes(bytes, h->bytes_left_out));
}
