/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A report as text: findings first, one screen; with -v everything. */
#include "../verdict/verdict.h"
#include "layout.h"
#include "output.h"
#include <ctype.h>
#include <inttypes.h>
#include <rdmadump/printable.h>
#include <rdmadump/sheet.h>
#include <rdmadump/sum.h>
#include <stdlib.h>

#define FINDINGS_SHOWN 4 /* on one screen */
#define ROWS_SHOWN     8

struct page {
	const struct rd_report *r;
	const struct rd_report_style *style;
	FILE *out;  /* breaks lines */
	FILE *raw;  /* where it writes them */
	bool alone; /* no conversations beside the findings: of two ends */
};

/* Text from files may have control characters. */
static void put_clean(FILE *out, const char *text)
{
	rd_printable_put(out, text, SIZE_MAX);
}

static void put_frame(const struct page *p, uint64_t frame)
{
	frame_text(p->r, frame, p->out);
}

/* --- the head --------------------------------------------------------------------------------- */

/* As the capture itself says it; of several files, and of files of others, the sum. */
const char *losses_text(const struct rd_report *r, char text[RD_DROPS_TEXT])
{
	struct rd_drops d = {.of = RD_DROPS_FILE,
		.device_known = r->n_files > 0,
		.delivered = r->totals.frames,
		.counters = "as the file says",
		.why = "the file does not say it"};

	for (size_t i = 0; i < r->n_files; i++) {
		rd_sum_add(&d.device, r->files[i].dropped);
		d.device_known &= r->files[i].dropped_known;
	}
	rd_drops_text(&d, text);
	return r->n_files == 1 && r->files[0].losses ? r->files[0].losses : text;
}

static void put_head(const struct page *p)
{
	const struct rd_totals *t = &p->r->totals;
	char frames[RD_UNITS_LEN], duration[RD_UNITS_LEN], losses[RD_DROPS_TEXT];
	size_t problems = rd_findings_left_out(&p->r->findings, NULL, RD_SEV_WARNING), pairs = 0;

	for (size_t i = 0; i < p->r->findings.n; i++)
		problems += p->r->findings.finding[i].severity != RD_SEV_NOTE;
	for (size_t i = 0; i < p->r->n_conversations; i++)
		pairs += p->r->conversations[i].transport != RD_UD;
	if (problems)
		fprintf(p->out, "%zu finding%s", problems, rd_plural(problems));
	else
		fputs("no findings", p->out);
	fprintf(p->out, "; %s frame%s, %s, %zu QP pair%s; ", rd_fmt_count(frames, t->frames),
		rd_plural(t->frames), rd_fmt_duration(duration, t->last_ns - t->first_ns), pairs,
		rd_plural(pairs));
	put_clean(p->out, losses_text(p->r, losses));
	if (p->r->filter) {
		fputs("; only what the filter chose: ", p->out);
		put_clean(p->out, p->r->filter);
	}
	fputc('\n', p->out);
	if (t->frames_left_out)
		fprintf(p->out,
			"%s of these frames are of QPs beyond the first %" PRIu64
			", and only counted; the number of these QPs is not known\n",
			rd_fmt_count(frames, t->frames_left_out), t->qps);
}

/* --- findings --------------------------------------------------------------------------------- */

static void put_evidence(const struct page *p, const struct rd_evidence *e)
{
	if (e->n_frames) {
		fputs("   first at frame ", p->out);
		put_frame(p, e->frames[0]);
		if (e->n_frames > 1) {
			fputs(", last at frame ", p->out);
			put_frame(p, e->frames[e->n_frames - 1]);
		}
		fputc('\n', p->out);
	}
	if (e->filter) {
		fputs("   in Wireshark: ", p->out);
		put_clean(p->out, e->filter);
		fputc('\n', p->out);
	}
}

/* In lines that fit, all of which get the colour. */
static void put_marked(const struct page *p, enum rd_severity severity, const char *text)
{
	int at = 0;

	fflush(p->out);
	while (*text) {
		size_t next, n = rd_break(text, (size_t)at, layout_columns(p->style), &next);
		char *line;

		if (asprintf(&line, "%*s%.*s", at, "", (int)n, text) < 0)
			return;
		if (p->style->headline)
			p->style->headline(p->raw, severity, line);
		else
			fprintf(p->out, "%s\n", line);
		free(line);
		text += next;
		at = 3;
	}
}

static void put_headline(const struct page *p, const struct rd_finding *f)
{
	char *text = NULL;
	size_t capacity;
	FILE *line = open_memstream(&text, &capacity);

	if (!line)
		return;
	fprintf(line, "%s ", rd_severity_mark(f->severity));
	put_clean(line, f->where);
	fputs(": ", line);
	put_clean(line, f->title);
	fprintf(line, "  [%s]", rd_certainty_name(f->certainty));
	if (!fclose(line) && text)
		put_marked(p, f->severity, text);
	free(text);
}

static void put_times(const struct page *p, const struct rd_evidence *e)
{
	char text[RD_TIMES_LEN];

	if (e->first_ns)
		fprintf(p->out, "; %s %s", e->last_ns > e->first_ns ? "from" : "at",
			rd_fmt_times(text, p->r->totals.first_ns, e->first_ns, e->last_ns));
}

/* "possible: the file may have each packet twice" */
static void put_doubts(const struct page *p, const struct rd_finding *f)
{
	for (unsigned int i = 0; i < RD_DOUBTS && f->doubts[i]; i++)
		fprintf(p->out, i ? "; %s" : "   %s: %s",
			i ? f->doubts[i] : rd_certainty_name(f->certainty), f->doubts[i]);
	fputs(*f->doubts ? "\n" : "", p->out);
}

static void put_finding(const struct page *p, const struct rd_finding *f)
{
	const struct rd_evidence *e = &f->evidence;

	fputc('\n', p->out);
	put_headline(p, f);
	fputs("   ", p->out);
	put_clean(p->out, f->detail);
	put_times(p, e);
	fputc('\n', p->out);
	put_doubts(p, f);
	put_evidence(p, e);
	if (f->meaning)
		fprintf(p->out, "   usually: %s\n", f->meaning);
	if (f->next)
		fprintf(p->out, "   next: %s\n", f->next);
}

#define OTHERS_SHOWN 3

/* The other QPs of a group, in one line. */
static void put_others(const struct page *p, const struct rd_group *g)
{
	size_t shown = g->n - 1 < OTHERS_SHOWN ? g->n - 1 : OTHERS_SHOWN;
	size_t others = g->n - 1 + g->left_out;

	if (!shown || !(p->alone || g->finding[0]->conversation))
		return;
	if (p->alone)
		fprintf(p->out, "   %zu more of these: ", others);
	else
		fprintf(p->out, "   the same for %zu other QP%s: ", others, rd_plural(others));
	for (size_t i = 1; i <= shown; i++) {
		fputs(i > 1 ? ", " : "", p->out);
		put_clean(p->out, g->finding[i]->where);
	}
	if (shown < others)
		fprintf(p->out, " and %zu more", others - shown);
	fputc('\n', p->out);
}

/* What only -v shows: all of their groups. */
static void put_hidden(const struct page *p, size_t findings, size_t notes)
{
	if (!findings && !notes)
		return;
	fputs("\n   ", p->out);
	if (findings)
		fprintf(p->out, "%zu more finding%s%s", findings, rd_plural(findings),
			notes ? ", " : "");
	if (notes)
		fprintf(p->out, "%zu more note%s", notes, rd_plural(notes));
	fprintf(p->out, ": -v shows %s\n", findings + notes == 1 ? "it" : "them");
}

/* Of a group, those of a severity; the others of the same group are left, too. */
struct screen {
	const struct page *page;
	size_t shown, room; /* findings; those that may be shown */
	size_t left[2];	    /* findings, notes */
};

static void put_group(struct screen *s, const struct rd_group *g, enum rd_severity severity)
{
	const struct page *p = s->page;
	const struct rd_finding *f = g->finding[0];
	const bool one = f->conversation || p->alone;

	if (one && f->severity != severity)
		return;
	for (size_t k = 0; k < (one ? 1 : g->n); k++) {
		f = g->finding[k];
		if (f->severity != severity)
			continue;
		if (s->shown < s->room && (severity != RD_SEV_NOTE || !s->shown)) {
			put_finding(p, f);
			put_others(p, g);
			s->shown++;
			continue;
		}
		for (size_t m = k; m < (one ? g->n : k + 1); m++)
			s->left[g->finding[m]->severity == RD_SEV_NOTE]++;
	}
}

/*
 * One screen: the worst finding of each group, of the capture all; problems first, and at equal
 * severity what the verdict rests on. There is always room for that.
 */
static void put_groups(const struct page *p)
{
	const struct rd_groups *groups = &p->r->groups;
	const enum rd_severity lead = groups->group->finding[0]->severity;
	struct screen s = {.page = p};

	for (int severity = RD_SEV_PROBLEM; severity >= RD_SEV_NOTE; severity--) {
		const bool comes = severity > (int)lead;

		s.room = FINDINGS_SHOWN - comes;
		for (size_t i = 0; i < groups->n; i++)
			put_group(&s, &groups->group[i], (enum rd_severity)severity);
	}
	put_hidden(p, s.left[0], s.left[1]);
}

static void put_findings(const struct page *p)
{
	size_t left = rd_findings_left_out(&p->r->findings, NULL, RD_SEV_NONE);

	if (!p->style->verbose && p->r->groups.n)
		put_groups(p);
	else
		for (size_t i = 0; i < p->r->findings.n; i++)
			put_finding(p, &p->r->findings.finding[i]);
	if (left)
		fprintf(p->out,
			"\n   %zu more finding%s only counted: a report has the worst %zu\n", left,
			left == 1 ? " is" : "s are", p->r->findings.n);
}

/* --- the table -------------------------------------------------------------------------------- */

static void put_owner(const struct page *p, const struct rd_conversation *c, unsigned int side)
{
	static const char *const unknown[] = {[RD_OWNER_KNOWN] = NULL, /* out of memory */
		[RD_OWNER_NO_FACTS] = NULL,
		[RD_OWNER_NOT_LISTED] = "RDMA netlink did not list it (created by DEVX, in another "
					"namespace, or for a short time)",
		[RD_OWNER_SEVERAL] = "several processes had a QP of this number",
		[RD_OWNER_OTHER_TIME] = "processes had a QP of this number at other times only"};
	enum rd_owner_state state = c->owner_state[side];
	const struct rd_endpoint *e = &c->end[side];
	char text[RD_OWNER_TEXT_MAX];

	if (c->owner[side]) {
		fprintf(p->out, "      QP 0x%x is of ", e->qp);
		put_clean(p->out, rd_owner_text(text, c->owner[side]));
		fputc('\n', p->out);
	} else if (unknown[state]) {
		fprintf(p->out, "      the owner of QP 0x%x is unknown: %s\n", e->qp,
			unknown[state]);
	}
}

static void put_connection(const struct page *p, const struct rd_connection *c)
{
	fprintf(p->out,
		"      connected by the CM: service id 0x%016" PRIx64
		", retry count %u, RNR retry %u (REQ) and %u (REP), ACK timeout %u; REQ is frame ",
		c->service_id, c->retry_count, c->rnr_retry, c->reply_rnr_retry, c->ack_timeout);
	put_frame(p, c->frame);
	fputc('\n', p->out);
}

/* "1 RNR NAK": the noun of a description is its first word that ends with an s. */
static void put_described(FILE *out, const char *help, bool one)
{
	const char *end = help;

	while (*end && !(*end == 's' && !isalpha((unsigned char)end[1])))
		end++;
	if (one && *end && strncmp(help, "of the ", 7) != 0)
		fprintf(out, "%.*s%s", (int)(end - help), help, end + 1);
	else
		fputs(help, out);
}

static void put_details(const struct page *p, const struct rd_conversation *c, unsigned int side)
{
	const struct rd_side *s = &c->side[side];
	char number[RD_UNITS_LEN];

	for (unsigned int v = 0; v < RD_VERB_COUNT; v++) {
		const struct rd_verb_use *use = rd_side_verb(s, v);

		if (!use->messages)
			continue;
		fprintf(p->out, "      %s: %s message%s", rd_verb_name(v),
			rd_fmt_count(number, use->messages), rd_plural(use->messages));
		if (use->smallest < use->largest)
			fprintf(p->out, " of %u to %u bytes", use->smallest, use->largest);
		else if (use->smallest == use->largest)
			fprintf(p->out, " of %u byte%s", use->largest, rd_plural(use->largest));
		fputc('\n', p->out);
	}
	for (unsigned int i = 0; i < RD_INC_COUNT; i++) {
		const struct rd_incident *it = rd_side_incident(s, i);

		if (!it->count)
			continue;
		fprintf(p->out, "      %s ", rd_fmt_count(number, it->count));
		put_described(p->out, rd_incident_names[i].help, it->count == 1);
		fputs(", first at frame ", p->out);
		put_frame(p, it->first_frame);
		fputc('\n', p->out);
	}
	put_owner(p, c, side);
	if (!side && c->connection)
		put_connection(p, c->connection);
	if (!side && c->application)
		application_text(c->application, p->out);
	side_congestion_text(s, p->out);
	if (!s->requests)
		return;
	snprintf(number, sizeof(number), s->mtu ? "%u" : "unknown", s->mtu);
	fprintf(p->out, "      PSN %u to %u, path MTU %s, P_Key 0x%04x, %s\n", s->psn_first,
		s->psn_last, number, s->first.pkey, ending_name(s->end.how));
	times_text(s->times, p->out);
	if (s->first.has_lrh)
		fprintf(p->out, "      from LID %u, SL %u%s\n", s->first.lid, s->first.sl,
			c->ipoib ? ", IP over InfiniBand" : "");
}

static bool is_shown(const struct page *p, const struct rd_conversation *c, unsigned int side)
{
	const struct rd_side *s = &c->side[side];

	if (!side)
		return true;
	return p->style->verbose ? s->seen : s->requests > 0;
}

/* The same QPs may be in two rows: docs/certainty.md says why. */
static void put_headers(const struct page *p, size_t rows)
{
	bool lids = false, gids = false;

	for (size_t i = 0; i < rows; i++) {
		const struct rd_conversation *c = &p->r->conversations[i];
		bool lid = !strncmp(c->end[0].address, "LID ", 4);

		lids |= lid;
		gids |= !lid && (c->side[0].first.has_lrh || c->side[1].first.has_lrh);
	}
	if (lids && gids)
		fputs("packets with GRH (GIDs) and without (LIDs) have separate rows, even of the "
		      "same QPs\n",
			p->out);
}

/* The rows of the table: conversations and sides, two for each at most. */
struct rows {
	const struct page *page;
	struct row {
		const struct rd_conversation *c;
		unsigned int side;
	} * row;
	size_t n;
	size_t conversations; /* that they are of; the table leaves out further ones */
};

static void put_row_details(const void *ctx, size_t row, FILE *out)
{
	const struct rows *rows = ctx;

	(void)out; /* that of the page */
	put_details(rows->page, rows->row[row].c, rows->row[row].side);
}

/* Of the addresses and QPs on the left, so that the arrows are in one column. */
static int left_width(const struct rows *rows)
{
	int width = 0;

	for (size_t i = 0; i < rows->n; i++) {
		const struct row *row = &rows->row[i];
		char text[RD_ADDRESS_LEN + 16];

		pair_endpoint_text(text, sizeof(text), &row->c->end[row->side]);
		width = RD_MAX(width, (int)strlen(text));
	}
	return width;
}

static void put_rows(const struct rows *rows)
{
	const struct page *p = rows->page;
	struct grid g = {.column = pair_columns, .n_columns = PAIR_COLUMNS};
	const int width = left_width(rows);

	for (size_t i = 0; i < rows->n; i++)
		pair_row_put(&g, rows->row[i].c, rows->row[i].side, width);
	for (size_t i = 2 * rows->conversations; i < 2 * p->r->n_shown; i++) {
		const struct rd_conversation *c = &p->r->conversations[i / 2];

		if (!is_shown(p, c, i % 2))
			continue;
		pair_row_note(&g, c, i % 2);
	}
	fputc('\n', p->out);
	grid_print(&g, layout_columns(p->style), p->out, p->style->verbose ? put_row_details : NULL,
		rows);
	fputs("goodput: new data by the time from first to last frame\n", p->out);
}

static void put_table(const struct page *p)
{
	size_t most = p->style->verbose || p->style->top ? p->r->n_shown : ROWS_SHOWN;
	struct rows rows = {.page = p};

	most = RD_MIN(most, p->r->n_shown);
	rows.conversations = most;
	if (!most)
		return;
	rows.row = calloc(most, 2 * sizeof(*rows.row));
	for (size_t i = 0; i < most && rows.row; i++)
		for (unsigned int side = 0; side < 2; side++)
			if (is_shown(p, &p->r->conversations[i], side))
				rows.row[rows.n++] = (struct row){&p->r->conversations[i], side};
	if (rows.row)
		put_rows(&rows);
	else
		fputs("out of memory: a table is left out\n", p->out);
	free(rows.row);
	put_headers(p, most);
	if (most < p->r->n_conversations)
		fprintf(p->out, "%zu more QP pair%s\n", p->r->n_conversations - most,
			p->r->n_conversations - most == 1 ? ": -v or --top shows it"
							  : "s: -v or --top shows them");
}

static void put_comparisons(const struct page *p)
{
	size_t same = 0;

	if (!p->r->n_comparisons)
		return;
	for (size_t i = 0; i < p->r->n_comparisons; i++)
		same += p->r->comparisons[i].agrees;
	fprintf(p->out, "\n%zu of %zu counter%s of the device agree with the packets\n", same,
		p->r->n_comparisons, rd_plural(p->r->n_comparisons));
	for (size_t i = 0; i < p->r->n_comparisons; i++) {
		const struct rd_comparison *c = &p->r->comparisons[i];

		if (!p->style->verbose && c->agrees)
			continue;
		fputs("   ", p->out);
		put_clean(p->out, c->device);
		fputc(' ', p->out);
		put_clean(p->out, c->counter);
		if (c->known)
			fprintf(p->out, ": device %llu", (unsigned long long)c->device_count);
		else
			fputs(": device unknown", p->out);
		fprintf(p->out, ", packets %llu%s", (unsigned long long)c->packets,
			c->why ? "; " : "");
		put_clean(p->out, c->why);
		fputc('\n', p->out);
	}
}

void findings_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out)
{
	struct rd_report grouped = *r;
	FILE *lines = layout_open(out, layout_columns(style));
	const struct page p = {&grouped, style, lines ? lines : out, out, true};

	grouped.groups = (struct rd_groups){0};
	if (style->verbose || groups_make(&grouped.groups, &grouped.findings) < 0)
		groups_free(&grouped.groups); /* none, or those for which there was memory */
	if (r->verdict.rule)
		groups_lead(&grouped.groups, r->verdict.rule);
	put_findings(&p);
	groups_free(&grouped.groups);
	if (lines)
		fclose(lines);
}

void rd_report_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out)
{
	FILE *lines = layout_open(out, layout_columns(style));
	const struct page p = {r, style, lines ? lines : out, out, false};

	verdict_text(r, style, p.out);
	put_head(&p);
	put_findings(&p);
	put_table(&p);
	applications_text(r, style, p.out);
	pauses_text(r, style, p.out);
	hosts_text(r, style, p.out);
	mads_text(r, style, p.out);
	put_comparisons(&p);
	if (lines)
		fclose(lines);
}
