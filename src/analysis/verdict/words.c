/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Puts the verdict into words: short sentences, with the numbers that an engineer can check. */
#include "../rules/rules.h"
#include "verdict.h"
#include <stdlib.h>

#define ALSO_MAX 3   /* further causes that the verdict names */
#define SYMPTOMS 9   /* causes from this rank on may follow from others of the same QPs */
#define MOSTLY	 0.5 /* of the time, before one party is called slow */

/* --- what, whom, how much --------------------------------------------------------------------- */

bool was_repeated(const struct rd_report *r)
{
	return RD_ANY(c, r->conversations, r->n_conversations,
		RD_ANY(s, c->side, 2, rd_side_incident(s, RD_INC_RETRANSMITTED)->count));
}

/* What arrived and is not in the capture, at least; *sure unless all of it is only possible. */
static uint64_t missed_by_capture(const struct rd_report *r, bool *sure)
{
	static const char *const rules[] = {"unseen", "responses-unseen"};
	uint64_t sum = 0;

	*sure = false;
	for (size_t i = 0; i < RD_COUNT(rules); i++) {
		const struct rd_group *g = group_by(r, rules[i]);

		if (!g)
			continue;
		sum += g->count;
		*sure |= g->finding[0]->certainty > RD_POSSIBLE;
	}
	return sum;
}

/* No fault is seen, but these packets are not in the capture. */
static void put_gaps(FILE *out, struct rd_report *r, uint64_t missed, bool sure)
{
	r->verdict.places = RD_PLACE_ALL;
	fprintf(out,
		"No fault can be seen, but the capture %s not whole: it %s at least %llu packet%s "
		"that arrived. Whether more packets were lost, refused or repeated there cannot be "
		"known%s.",
		sure ? "is" : "may be", sure ? "lacks" : "seems to lack",
		(unsigned long long)missed, rd_plural(missed),
		was_repeated(r) ? ", nor why packets were retransmitted" : "");
}

static bool has_cut_responses(const struct rd_report *r)
{
	return RD_ANY(c, r->conversations, r->n_conversations,
		(c->side[0].times && are_responses_cut(c, 0)) ||
			(c->side[1].times && are_responses_cut(c, 1)));
}

/* Without a fault: what this capture cannot show. Without such a limit, the label is "OK". */
static void put_nothing(FILE *out, struct rd_report *r)
{
	const struct rd_group *half = group_by(r, "one-sided");
	bool sure;
	const uint64_t missed = missed_by_capture(r, &sure);

	r->verdict.label = "UNCLEAR";
	if (half) {
		r->verdict.places = RD_PLACE_ALL;
		fprintf(out,
			"No fault can be seen, but only one direction %s: it cannot show what was "
			"lost, refused or late.",
			half->finding[0]->certainty < RD_LIKELY ? "is known" : "was captured");
	} else if (has_cut_responses(r)) {
		r->verdict.places = RD_PLACE_ALL;
		fputs("No fault can be seen, but responses are cut before what they say: whether "
		      "requests were refused or lost cannot be known. Capture at least 80 bytes of "
		      "each frame.",
			out);
	} else if (!r->verdict.slow.connections) {
		fputs("No fault can be seen. There is no reliable connection in both directions, "
		      "and only its responses would show what was lost.",
			out);
	} else if (missed) {
		put_gaps(out, r, missed, sure);
	} else if (was_repeated(r)) {
		fputs("No fault was found, but packets were retransmitted: this capture does not "
		      "show why.",
			out);
	} else {
		r->verdict.label = label_of(&r->verdict, NULL);
		fputs("Nothing was lost, refused or repeated, as far as this capture shows.", out);
	}
	if (r->totals.frames_left_out)
		fputs(" This is of the QPs that were followed: there are more.", out);
}

static void put_what(FILE *out, struct rd_report *r, const struct rd_group *g)
{
	struct rd_judgement *v = &r->verdict;

	if (g)
		put_event(out, r, v, g->finding[0], v->mixed,
			v->mixed & RD_MIXED_LATE
				? "this capture point, and late ones are taken for lost"
				: "this capture point");
	else
		put_nothing(out, r);
}

/* How many QP pairs there are; with the one-way flows of datagrams if findings are about such. */
static size_t conversations_like(const struct rd_report *r, const struct rd_group *g)
{
	bool datagrams = false;
	size_t n = 0;

	for (size_t i = 0; i < g->n && !datagrams; i++) {
		const struct rd_conversation *c = conversation_of(r, g->finding[i]->conversation);

		datagrams = c && c->transport == RD_UD;
	}
	for (size_t i = 0; i < r->n_conversations; i++)
		n += datagrams || r->conversations[i].transport != RD_UD;
	/* Findings that were left out may be about datagrams. */
	return n < g->conversations ? r->n_conversations : n;
}

static void put_whom(FILE *out, struct rd_report *r, const struct rd_group *g)
{
	struct rd_judgement *v = &r->verdict;
	const struct rd_group *paused = group_by(r, "paused");
	size_t n, of;

	if (!g)
		return;
	if (!strcmp(g->rule, "pause-frames") && paused)
		g = paused;
	n = g->conversations;
	of = conversations_like(r, g);
	if (n) {
		if (n < of || r->totals.frames_left_out)
			fprintf(out, "%zu of %zu QP pair%s", n, of, rd_plural(of));
		else if (n == 1)
			fputs("the only QP pair", out);
		else if (n == 2)
			fputs("both QP pairs", out);
		else
			fprintf(out, "all %zu QP pairs", n);
		fprintf(out, ": %s", g->finding[0]->where);
	}
	if (!n && *v->sender)
		fprintf(out, "%s -> %s", v->sender, v->receiver);
	if (n > 1)
		fprintf(out, " and %zu more", n - 1);
	if (!n && !*v->sender && !strcmp(g->rule, "pause-frames") && r->n_conversations)
		fputs("this capture does not show whether RDMA packets waited for them", out);
}

/* Different request packets of the group's sides. */
static uint64_t packets_of(const struct rd_report *r, const struct rd_group *g)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < g->n; i++) {
		const struct rd_finding *f = g->finding[i];
		const struct rd_conversation *c = conversation_of(r, f->conversation);

		sum += c ? distinct(&c->side[f->side]) : 0;
	}
	return sum;
}

/* How long it took, of a group whose rule is about waits. */
static void put_longest(FILE *out, const struct rd_report *r, const struct rd_group *g)
{
	char text[RD_UNITS_LEN];
	uint64_t longest = strcmp(g->rule, "silence") ? 0
			   : g->last_ns		      ? g->last_ns - g->first_ns
						      : r->totals.longest_silence_ns;

	for (size_t i = 0; i < g->n && !strcmp(g->rule, "stall"); i++) {
		const struct rd_finding *f = g->finding[i];
		const struct rd_conversation *c = conversation_of(r, f->conversation);

		if (c && c->side[f->side].stall.ns > longest)
			longest = c->side[f->side].stall.ns;
	}
	if (longest)
		fprintf(out, "; the longest took %s", rd_fmt_duration(text, longest));
}

/* The pauses that a port asks for, where the speed of its link is known. */
static void put_pauses(FILE *out, const struct rd_report *r, const struct rd_finding *f)
{
	const struct rd_pause_sender *s = pauser_of(r, f);
	char percent[RD_UNITS_LEN];
	double share = 0;

	for (unsigned int i = 0; s && s->speed && i < RD_PAUSE_CLASSES; i++)
		share = RD_MAX(share, rd_pause_share(r, &s->classes[i]));
	if (share > 0)
		fprintf(out, "; they ask to stop for %s of the time",
			rd_fmt_percent(percent, 100 * share));
}

static void put_how_much(FILE *out, struct rd_report *r, const struct rd_group *g)
{
	struct rd_judgement *v = &r->verdict;
	const char *counted = g ? cause_of(v->rule)->counted : NULL;
	uint64_t all_ns, lost_ns, packets;

	if (!counted)
		return;
	lost_ns = repeating_ns(r, g, &all_ns);
	packets = packets_of(r, g);
	fprintf(out, "%s: %llu", (v->mixed & 3) == 3 ? "Packets lost or late" : counted,
		(unsigned long long)v->count);
	if (v->mixed && !(v->mixed & RD_MIXED_RESPONSES) && packets >= v->count && !g->left_out)
		put_of(out, v->count, packets, "");
	put_pauses(out, r, g->finding[0]);
	put_longest(out, r, g);
	put_delayed(out, v);
	if (all_ns && (double)lost_ns / (double)all_ns > 0.01)
		fprintf(out, "; repeating requests took %.0f %% of their time",
			100 * ((double)lost_ns / (double)all_ns));
}

static void put_when(FILE *out, struct rd_report *r, const struct rd_group *g)
{
	(void)g;
	put_since(out, &r->verdict, r->totals.first_ns);
}

/* --- where and how sure ----------------------------------------------------------------------- */

/* Whether it may be in several places. */
static bool is_open(const struct rd_judgement *v)
{
	return v->places & (v->places - 1);
}

static void put_where(FILE *out, struct rd_report *r, const struct rd_group *g)
{
	struct rd_judgement *v = &r->verdict;

	if (!g || !v->places)
		return;
	if (v->places == RD_PLACE_ALL) {
		fputs("cannot be seen from here", out);
		return;
	}
	put_places(out, v->places, v->sender, v->receiver);
	if (!is_open(v))
		fprintf(out, " (%s)", rd_certainty_name(v->where));
	else
		fprintf(out, "%s: cannot be distinguished from here",
			strcmp(v->rule, "duplicated") ? "" : ", or at the mirror port");
}

static void put_sure(FILE *out, struct rd_report *r, const struct rd_group *g)
{
	struct rd_judgement *v = &r->verdict;
	const char *surer = g ? rule_of(v->rule)->surer : NULL;
	const bool known = r->n_files && !RD_ANY(f, r->files, r->n_files, !f->dropped_known);

	if (!g)
		return;
	fputs(rd_certainty_name(v->certainty), out);
	if (v->certainty == RD_CERTAIN || !v->places)
		return;
	if (v->both_ends) {
		fputs(", from this capture alone", out);
		return;
	}
	fputs("; surer with ", out);
	if (surer)
		put_filled(out, surer, v->sender, v->receiver);
	else if (*v->capture_next && is_open(v))
		fputs("the next step", out);
	else
		fprintf(out, "a capture at %s at the same time",
			*v->capture_next ? v->capture_next : "the other end");
	fputs(known || surer ? "" : ", and files that say what their capture lost", out);
}

static void put_next(FILE *out, struct rd_report *r, const struct rd_group *g)
{
	const struct rd_judgement *v = &r->verdict;
	const struct rd_group *half = group_by(r, "one-sided");
	bool sure;

	if (g && v->both_ends && is_open(v))
		fputs("see also the report of both ends", out);
	else if (g && *v->capture_next && is_open(v))
		fprintf(out, "capture at %s at the same time: rdmadump -d DEV -w FILE",
			v->capture_next);
	else if (g && g->finding[0]->next && v->both_ends)
		put_other_advice(out, g->finding[0]->next);
	else if (g)
		fputs(g->finding[0]->next ? g->finding[0]->next : "", out);
	else if (half)
		fprintf(out, "capture both directions%s",
			half->finding[0]->certainty < RD_LIKELY ? ", from the start of connections"
								: "");
	else if (missed_by_capture(r, &sure))
		fputs("look at the losses of the capture, and capture again", out);
}

/* --- other causes ----------------------------------------------------------------------------- */

/* Whether all listed findings of h are about conversations for which g also has findings. */
static bool is_of_same(const struct rd_group *g, const struct rd_group *h)
{
	return !RD_ANY(f, h->finding, h->n,
		!(*f)->conversation ||
			!RD_ANY(of, g->finding, g->n, (*of)->conversation == (*f)->conversation));
}

/* Whether the verdict has nothing of this group yet. */
static bool is_another(
	const struct rd_report *r, const struct rd_group *g, const struct rd_group *h)
{
	const struct cause *main = cause_of(g->rule), *cause = cause_of(h->rule);
	const struct rd_finding *f = h->finding[0];
	const unsigned int mixed = r->verdict.mixed;

	if (h == g || !is_cause(cause) || f->severity < RD_SEV_WARNING ||
		f->certainty == RD_POSSIBLE)
		return false;
	if (mixed && cause->mixed && (cause->mixed | mixed) == mixed)
		return false;
	if (!strcmp(g->rule, "pause-frames") && !strcmp(h->rule, "paused"))
		return false; /* whom says it */
	return cause->rank < SYMPTOMS || cause->rank <= main->rank || !is_of_same(g, h);
}

/*
 * The hosts that all listed findings of h are about, as requester and responder; false: there are
 * several pairs, some are not listed, or it is the pair of the verdict.
 */
static bool other_hosts(const struct rd_report *r, const struct rd_group *h, const char *pair[2])
{
	const struct rd_judgement *v = &r->verdict;

	for (size_t i = 0; i < h->n; i++) {
		const struct rd_finding *f = h->finding[i];
		const struct rd_conversation *c = conversation_of(r, f->conversation);

		for (unsigned int end = 0; c && end < 2; end++) {
			const char *address = c->end[end ? !f->side : f->side].address;

			if (i && strcmp(pair[end], address) != 0)
				return false;
			pair[end] = address;
		}
		if (!c)
			return false;
	}
	return !h->left_out &&
	       (strcmp(pair[0], v->sender) != 0 || strcmp(pair[1], v->receiver) != 0);
}

static void put_whose(FILE *out, const struct rd_report *r, const struct rd_group *h)
{
	const char *pair[2] = {"", ""};

	if (!h->conversations)
		return;
	fprintf(out, " (%zu QP pair%s", h->conversations, rd_plural(h->conversations));
	if (other_hosts(r, h, pair))
		fprintf(out, ", %s -> %s", pair[0], pair[1]);
	fputc(')', out);
}

static void put_also(FILE *out, struct rd_report *r, const struct rd_group *g)
{
	size_t n = 0;

	for (size_t i = 0; g && i < r->groups.n; i++) {
		const struct rd_group *h = &r->groups.group[i];

		if (!is_another(r, g, h) || n++ >= ALSO_MAX)
			continue;
		fputs(n > 1 ? "; " : "", out);
		put_other_title(out, h->finding[0], h->conversations);
		put_whose(out, r, h);
	}
	if (n > ALSO_MAX)
		fprintf(out, "; and %zu further causes", n - ALSO_MAX);
}

/* --- time ------------------------------------------------------------------------------------- */

static const char *const spent[RD_TIME_COUNT] = {
	[RD_TIME_IDLE] = "idle, with no request open",
	[RD_TIME_REPLY] = "waiting for a message of the other side",
	[RD_TIME_SENDING] = "sending requests",
	[RD_TIME_WAITING] = "waiting for a response",
	[RD_TIME_RECEIVING] = "receiving READ responses",
	[RD_TIME_NOT_READY] = "waiting for a receiver that was not ready",
	[RD_TIME_RECOVERY] = "repeating requests",
};

/* Its share of the time is a part of how_much. */
static bool is_repeating(enum rd_time what)
{
	return what == RD_TIME_RECOVERY || what == RD_TIME_NOT_READY;
}

static void put_stragglers(FILE *out, const struct rd_report *r)
{
	const struct rd_stragglers *s = &r->verdict.stragglers;
	const struct rd_conversation *c;
	char slow[RD_UNITS_LEN], usual[RD_UNITS_LEN];

	if (!s->n)
		return;
	c = conversation_of(r, s->conversation[0]);
	fprintf(out,
		" %u of %u QP pairs respond far slower than the others: %s to %s (%s, others %s)",
		s->n, s->of, c->end[0].address, c->end[1].address,
		rd_fmt_duration(slow, s->p50_ns[0]), rd_fmt_duration(usual, s->median_ns));
	if (s->n > 1)
		fprintf(out, " and %u more", s->n - 1);
	if (*s->host)
		fprintf(out, "; all of them, and no others, are of %s", s->host);
	fputc('.', out);
}

/*
 * The times are of all requesters. A requester that has nothing to send is no bottleneck. Beside a
 * fault no bottleneck is named: it would read as another place of the fault.
 */
static void put_time(FILE *out, struct rd_report *r, const struct rd_group *g)
{
	const bool part = g && g->conversations && g->conversations < conversations_like(r, g);
	struct rd_judgement *v = &r->verdict;
	const struct rd_slow *slow = &v->slow;

	if (slow->all_ns && !(v->rule && is_repeating(slow->what))) {
		fprintf(out, "%s spent %.0f %% of their time %s",
			part ? "All requesters together" : "Requesters", 100 * slow->share,
			spent[slow->what]);
		if (slow->what != RD_TIME_IDLE && !is_repeating(slow->what) &&
			slow->share >= MOSTLY && !(v->rule && v->severity >= RD_SEV_WARNING))
			put_bottleneck(out, r);
		fputc('.', out);
	}
	put_stragglers(out, r);
}

static bool put_row(struct rd_report *r, const struct rd_group *g, enum rd_row row)
{
	static void (*const put[RD_ROWS])(FILE * out, struct rd_report * r,
		const struct rd_group *g) = {ROW_WRITERS, [RD_ROW_TIME] = put_time};
	char **text = &r->verdict.row[row];
	size_t capacity;
	FILE *out;

	free(*text);
	*text = NULL;
	out = open_memstream(text, &capacity);
	if (out)
		put[row](out, r, g);
	return out && row_close(out, text);
}

int words_make(struct rd_report *r, const struct rd_group *g)
{
	r->verdict.label = label_of(&r->verdict, g ? cause_of(g->rule) : NULL);
	for (enum rd_row i = 0; i < RD_ROWS; i++)
		if (!put_row(r, g, i) || (i == RD_ROW_WHAT && !what_is_possible(&r->verdict)))
			return -1;
	return 0;
}

int rd_verdict_refer(struct rd_report *r)
{
	static const enum rd_row rows[] = {RD_ROW_SURE, RD_ROW_NEXT};
	struct rd_judgement *v = &r->verdict;
	const struct rd_group *g = v->rule ? group_by(r, v->rule) : NULL;

	v->both_ends = true;
	v->capture_next[0] = '\0';
	for (size_t i = 0; g && i < RD_COUNT(rows); i++)
		if (!put_row(r, g, rows[i]))
			return -1;
	return 0;
}
