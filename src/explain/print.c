/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Answers as text: a line's codes with meaning, side, causes, next steps; who reported, who not. */
#include "explain.h"
#include <inttypes.h>
#include <rdmadump/printable.h>
#include <rdmadump/units.h>
#include <string.h>

#define LINE_TEXT 160 /* bytes of a line of the log that are shown */
#define PARTIES	  8

/* "completion status 12, IBV_WC_RETRY_EXC_ERR". Returns buf. */
static char *title_of(const struct found *f, char *buf, size_t size)
{
	const struct space_row *space = &code_spaces[f->space];
	const char *name = f->code ? f->code->name : NULL, *call = NULL;
	char number[16] = "";

	if (f->number != ANY_NUMBER)
		snprintf(number, sizeof(number), space->hex ? " 0x%02x" : " %u", f->number);
	if (f->number != ANY_NUMBER && space->hex)
		snprintf(number + strlen(number), sizeof(number) - strlen(number), " (%u)",
			f->number);
	if (f->code && f->space == SPACE_ERRNO && f->code->with)
		call = code_calls[f->code->with];
	snprintf(buf, size, "%s%s%s%s%s%s",
		f->code || f->space != SPACE_VENDOR ? space->title : "vendor error", number,
		name ? *number ? ", " : " " : "", name ? name : "", call ? " of " : "",
		call ? call : "");
	return buf;
}

static const char *where_text(unsigned int where)
{
	static const char *const texts[] = {
		[WHERE_HERE] = "the side that printed it",
		[WHERE_PEER] = "the peer",
		[WHERE_PATH] = "the path between the two",
		[WHERE_HERE | WHERE_PEER] =
			"one of the two ends: the side that printed it, or the peer",
		[WHERE_PEER | WHERE_PATH] =
			"the peer, or the path to it; not the side that printed it",
		[WHERE_HERE | WHERE_PATH] = "the side that printed it, or the path",
		[WHERE_HERE | WHERE_PEER | WHERE_PATH] = "either end, or the path",
	};

	return texts[where];
}

/* What the code before it says is not repeated: the screen is small. */
static void put_code(
	FILE *out, const struct found *f, const struct found *before, unsigned int columns)
{
	const struct code *c = f->code;
	char title[160];

	fprintf(out, "%s\n", title_of(f, title, sizeof(title)));
	if (!c) {
		explain_put(out, "means",
			"unknown: nobody has published what it means, and it is not guessed here",
			columns);
		return;
	}
	explain_put(out, "means", c->meaning, columns);
	if (!before || !before->code || before->code->where != c->where)
		explain_put(out, "where", where_text(c->where), columns);
	explain_put(out, "causes", c->causes, columns);
	explain_put(out, "next", c->next, columns);
	explain_put(out, "not known", c->unknown, columns);
}

/* "NCCL on host7, mlx5_0 port 1, QP 0x8c, peer 10.0.0.2 QP 0x11" */
static void put_place(FILE *out, const struct reading *r, unsigned int columns)
{
	char text[400];
	FILE *s = fmemopen(text, sizeof(text), "w");

	if (!s)
		return;
	if (*r->time)
		fprintf(s, ", at %s", r->time);
	if (r->program)
		fprintf(s, ", %s", r->program);
	if (*r->host)
		fprintf(s, ", host %s", r->host);
	if (*r->device)
		fprintf(s, ", %s", r->device);
	if (r->port)
		fprintf(s, " port %u", r->port);
	if (*r->local)
		fprintf(s, ", %s", r->local);
	if (r->qpn != QPN_UNKNOWN)
		fprintf(s, ", QP 0x%x", r->qpn);
	if (*r->peer || r->peer_qpn != QPN_UNKNOWN)
		fprintf(s, ", peer%s%s", *r->peer ? " " : "", r->peer);
	if (r->peer_qpn != QPN_UNKNOWN)
		fprintf(s, " QP 0x%x", r->peer_qpn);
	fputc('\0', s);
	if (!fclose(s) && strlen(text) > 2)
		explain_put(out, "in it", text + 2, columns);
}

static void put_group(FILE *out, const struct group *g, bool is_log, unsigned int columns)
{
	const struct code *code;
	char count[RD_UNITS_LEN];

	if (is_log) {
		fprintf(out, "line %" PRIu64 ": ", g->line);
		rd_printable_put(out, g->text, g->length < LINE_TEXT ? g->length : LINE_TEXT);
		fputs(g->length < LINE_TEXT ? "\n" : "...\n", out);
		if (g->count > 1)
			fprintf(out, "  and %s more with the same codes\n",
				rd_fmt_count(count, g->count - 1));
	}
	put_place(out, &g->first, columns);
	for (unsigned int i = 0; i < g->first.n; i++)
		put_code(out, &g->first.found[i], i ? &g->first.found[i - 1] : NULL, columns);
	code = g->first.found[0].code;
	if (code && (g->first.n == 1 || code->source))
		explain_put(out, "source",
			code->source ? code->source : code_spaces[code->space].source, columns);
}

/* Who reported first, and who is named as a peer and reports nothing. */
static void put_parties(FILE *out, const struct parties *parties)
{
	bool by_time, flushed;
	const struct party *first = parties_first(parties, &by_time, &flushed);
	unsigned int reporters = 0, silent = 0;

	for (size_t i = 0; i < parties->n; i++)
		reporters += parties->party[i].reports > 0;
	if (reporters > 1) {
		fprintf(out, "\n%u machines report; the first %s is ", reporters,
			by_time ? "by the times that they write" : "in the order of the lines");
		rd_printable_put(out, *first->host ? first->host : first->address, SIZE_MAX);
		fprintf(out, " (line %" PRIu64 "%s%s%s)\n", first->line, *first->time ? ", " : "",
			first->time, flushed ? "; flushed requests do not count" : "");
	}
	for (size_t i = 0; i < parties->n; i++) {
		const struct party *p = &parties->party[i];

		if (p->reports || !p->named || !reporters)
			continue;
		if (silent++ == 0)
			fputs("\nnamed as peer, and no line is known to come from there:\n", out);
		if (silent <= PARTIES)
			fprintf(out, "  %s, by %" PRIu64 " line%s\n", p->address, p->named,
				rd_plural(p->named));
	}
	if (silent > PARTIES)
		fprintf(out, "  and %u more: see --json\n", silent - PARTIES);
}

void explain_print(FILE *out, const struct log *log, unsigned int columns)
{
	for (size_t i = 0; i < log->n_groups; i++) {
		if (i)
			fputc('\n', out);
		put_group(out, &log->group[i], log->lines > 1, columns);
	}
	if (log->joined)
		explain_print_joined(out, log->joined, columns);
	if (log->lines > 1)
		put_parties(out, &log->parties);
	if (log->parties.unnamed)
		fprintf(out, "\nonly the first %d machines are listed\n", PARTIES_MAX);
	if (log->left_out)
		fprintf(out,
			"\n%" PRIu64 " further line%s with other codes: too many different ones\n",
			log->left_out, rd_plural(log->left_out));
	if (log->cut)
		fprintf(out,
			"\n%" PRIu64
			" line%s longer than %d bytes: the rest of them was not read\n",
			log->cut, log->cut == 1 ? " was" : "s were", LINE_MAX_BYTES);
}

void explain_list(FILE *out, const struct catalogue *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct code *code = &c->code[i];
		char number[16] = "-";

		if (code->number != ANY_NUMBER)
			snprintf(number, sizeof(number),
				code_spaces[code->space].hex ? "0x%02x" : "%u", code->number);
		fprintf(out, "%s\t%s\t%s\t%s\n", code_spaces[code->space].key, number,
			code->name ? code->name : "-", code->meaning);
	}
}
