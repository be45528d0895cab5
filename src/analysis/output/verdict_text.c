/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The verdict of a report as a paragraph, and its hosts as tables. */
#include "output.h"
#include <rdmadump/printable.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS	    80 /* where the terminal does not say it */
#define COLUMNS_MIN 40
#define COLUMNS_MAX 100
#define HOSTS_SHOWN 8
#define PAIRS_SHOWN 8

/* Prints words with a line break where the next one has no room. */
static void put_wrapped(FILE *out, const char *text, unsigned int columns)
{
	size_t at = 0;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (at && at + 1 + word > columns) {
			fputc('\n', out);
			at = 0;
		} else if (at) {
			fputc(' ', out);
			at++;
		}
		rd_printable_put(out, text, word);
		at += word;
		text += word + strspn(text + word, " ");
	}
	if (at)
		fputc('\n', out);
}

char *verdict_sentences(const struct rd_judgement *v)
{
	const char *const parts[] = {v->what, v->whom, v->how_much, v->place, v->surer, v->time};
	char *text = NULL;
	size_t room;
	FILE *out = open_memstream(&text, &room);

	if (!out)
		return NULL;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i] && *parts[i])
			fprintf(out, "%s%s", ftell(out) > 0 ? " " : "", parts[i]);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

void verdict_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out)
{
	unsigned int columns = style->columns ? style->columns : COLUMNS;
	char *text = verdict_sentences(&r->verdict);

	if (columns > COLUMNS_MAX)
		columns = COLUMNS_MAX;
	if (columns < COLUMNS_MIN)
		columns = COLUMNS_MIN;
	if (text)
		put_wrapped(out, text, columns);
	fputc('\n', out);
	free(text);
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

static void put_hosts(const struct rd_hosts *h, FILE *out, size_t most)
{
	char sent[RD_UNITS_LEN], received[RD_UNITS_LEN], peak[RD_UNITS_LEN];

	fprintf(out, "\n%-24s %9s %9s %9s %12s %7s\n", "HOST", "SENT", "RECEIVED", "FROM HOSTS",
		"100 us PEAK", "FROM");
	for (size_t i = 0; i < most; i++)
		fprintf(out, "%-24s %9s %9s %10u %12s %7u\n", h->host[i].address,
			rd_fmt_bytes(sent, h->host[i].sent_bytes),
			rd_fmt_bytes(received, h->host[i].received_bytes), h->host[i].senders,
			rd_fmt_bitrate(
				peak, (double)h->host[i].peak_bytes * 8e9 / (double)RD_BURST_NS),
			h->host[i].peak_senders);
	if (most < h->n)
		fprintf(out, "%zu more hosts: -v or --json shows them\n", h->n - most);
}

static void put_pairs(const struct rd_hosts *h, FILE *out, size_t most)
{
	char bytes[RD_UNITS_LEN], frames[RD_UNITS_LEN];

	fprintf(out, "\n%-52s %9s %9s\n", "FROM HOST -> TO HOST", "FRAMES", "BYTES");
	for (size_t i = 0; i < most; i++) {
		const struct rd_host_pair *p = &h->pair[i];
		int width =
			fprintf(out, "%s -> %s", h->host[p->from].address, h->host[p->to].address);

		fprintf(out, "%*s %9s %9s\n", width < 52 ? 52 - width : 0, "",
			rd_fmt_count(frames, p->frames), rd_fmt_bytes(bytes, p->bytes));
	}
	if (most < h->n_pairs)
		fprintf(out, "%zu more pairs of hosts: -v or --json shows them\n",
			h->n_pairs - most);
}

void hosts_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out)
{
	const struct rd_hosts *h = &r->hosts;
	char frames[RD_UNITS_LEN], bytes[RD_UNITS_LEN];

	/* Two hosts are one row of the table of QP pairs. */
	if (h->n < 3 && !style->verbose)
		return;
	if (h->n)
		put_hosts(h, out, style->verbose || h->n < HOSTS_SHOWN ? h->n : HOSTS_SHOWN);
	if (h->n_pairs && style->verbose)
		put_pairs(h, out, h->n_pairs);
	if (h->frames_left_out)
		fprintf(out, "%s frames (%s) of further hosts are not in these tables\n",
			rd_fmt_count(frames, h->frames_left_out),
			rd_fmt_bytes(bytes, h->bytes_left_out));
}
