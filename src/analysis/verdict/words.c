/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Puts the verdict into words: short sentences, with the numbers that an engineer can check. */
#include "../rules/rules.h"
#include "verdict.h"
#include <rdmadump/units.h>
#include <stdlib.h>
#include <string.h>

#define ALSO_MAX 3   /* further causes that the paragraph names */
#define SYMPTOMS 9   /* causes from this rank on may follow from others of the same QPs */
#define MOSTLY	 0.5 /* of the time, before one party is called slow */

/* --- what, whom, how much --------------------------------------------------------------------- */

bool was_repeated(const struct rd_report *r)
{
	for (size_t i = 0; i < r->n_conversations; i++)
		for (unsigned int k = 0; k < 2; k++)
			if (rd_side_incident(&r->conversations[i].side[k], RD_INC_RETRANSMITTED)
					->count)
				return true;
	return false;
}

/* What arrived and is not in the capture, at least; *sure unless all of it is only possible. */
static uint64_t missed_by_capture(const struct rd_report *r, bool *sure)
{
	static const char *const rules[] = {"unseen", "responses-unseen"};
	uint64_t sum = 0;

	*sure = false;
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
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
		"known%s. Look at the losses of the capture, and capture again.",
		sure ? "is" : "may be", sure ? "lacks" : "seems to lack",
		(unsigned long long)missed, missed == 1 ? "" : "s",
		was_repeated(r) ? ", nor why packets were retransmitted" : "");
}

/* Without a fault: what this capture cannot show. */
static void put_nothing(FILE *out, struct rd_report *r)
{
	const struct rd_group *half = group_by(r, "one-sided");
	bool sure;
	const uint64_t missed = missed_by_capture(r, &sure);

	if (half) {
		r->verdict.places = RD_PLACE_ALL;
		fprintf(out,
			"No fault can be seen, but only one direction %s: it cannot show what was "
			"lost, refused or late. Capture both directions%s.",
			half->finding[0]->certainty < RD_LIKELY ? "is known" : "was captured",
			half->finding[0]->certainty < RD_LIKELY ? ", from the start of connections"
								: "");
	} else if (!r->verdict.slow.all_ns) {
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
		fputs("No fault was found: nothing was lost, refused or repeated as far as this "
		      "capture shows.",
			out);
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

	if (!strcmp(g->rule, "pause-frames") && paused)
		g = paused;
	n = g->conversations;
	of = conversations_like(r, g);
	if (n) {
		if (n < of || r->totals.frames_left_out)
			fprintf(out, "This concerns %zu of %zu QP pair%s", n, of,
				of == 1 ? "" : "s");
		else if (n == 1)
			fputs("This concerns the only QP pair", out);
		else if (n == 2)
			fputs("This concerns both QP pairs", out);
		else
			fprintf(out, "This concerns all %zu QP pairs", n);
		fprintf(out, ": %s", g->finding[0]->where);
	}
	if (!n && *v->sender)
		fprintf(out, "This concerns %s -> %s", v->sender, v->receiver);
	if (n > 1)
		fprintf(out, " and %zu more", n - 1);
	if (n || *v->sender)
		fputc('.', out);
	else if (!strcmp(g->rule, "pause-frames") && r->n_conversations)
		fputs("This capture does not show whether RDMA packets waited for them.", out);
}

/* Different request packets of the group's sides. */
static uint64_t packets_of(const struct rd_report *r, const struct rd_group *g)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < g->n; i++) {
		const struct rd_finding *f = g->finding[i];
		const struct rd_conversation *c = conversation_of(r, f->conversation);
		const struct rd_side *s = c ? &c->side[f->side] : NULL;
		uint64_t again;

		if (!s)
			continue;
		again = rd_side_incident(s, RD_INC_RETRANSMITTED)->count +
			rd_side_incident(s, RD_INC_DUPLICATED)->count;
		sum += s->requests - (again < s->requests ? again : 0) +
		       rd_side_incident(s, RD_INC_LOST_UPSTREAM)->count;
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
		if (rd_pause_share(r, &s->classes[i]) > share)
			share = rd_pause_share(r, &s->classes[i]);
	if (share > 0)
		fprintf(out, "; they ask to stop for %s of the time",
			rd_fmt_percent(percent, 100 * share));
}

static void put_how_much(FILE *out, struct rd_report *r, const struct rd_group *g)
{
	struct rd_judgement *v = &r->verdict;
	const struct cause *cause = cause_of(v->rule);
	uint64_t all_ns, lost_ns = repeating_ns(r, g, &all_ns);
	uint64_t packets = packets_of(r, g);

	if (!cause->counted)
		return;
	fprintf(out, "%s: %llu", (v->mixed & 3) == 3 ? "Packets lost or late" : cause->counted,
		(unsigned long long)v->count);
	if (v->mixed && !(v->mixed & RD_MIXED_RESPONSES) && packets >= v->count && !g->left_out)
		put_of(out, v->count, packets, "");
	put_since(out, v, r->totals.first_ns);
	put_pauses(out, r, g->finding[0]);
	put_longest(out, r, g);
	put_delayed(out, v);
	if (all_ns && (double)lost_ns / (double)all_ns > 0.01)
		fprintf(out, "; repeating requests took %.0f %% of their time",
			100 * ((double)lost_ns / (double)all_ns));
	fputc('.', out);
}

/* --- where and how sure ----------------------------------------------------------------------- */

static void put_place(FILE *out, struct rd_report *r, const struct rd_group *g)
{
	struct rd_judgement *v = &r->verdict;

	(void)g;
	if (!v->rule)
		return;
	if (v->places & (v->places - 1)) {
		if (v->places == RD_PLACE_ALL) {
			fputs("Where it happened cannot be seen from here", out);
		} else {
			fputs("Where: in ", out);
			put_places(out, v->places, v->sender, v->receiver);
			if (!strcmp(v->rule, "duplicated"))
				fputs(", or at the mirror port", out);
			fputs("; which of them cannot be seen from here", out);
		}
		if (v->both_ends)
			fputs(": see also the report of both ends", out);
		else if (*v->capture_next)
			fprintf(out, ": capture at %s", v->capture_next);
		fputc('.', out);
	} else if (v->places) {
		fputs("Where: in ", out);
		put_places(out, v->places, v->sender, v->receiver);
		fprintf(out, " (%s).", rd_certainty_name(v->where));
	}
}

static void put_surer(FILE *out, struct rd_report *r, const struct rd_group *g)
{
	struct rd_judgement *v = &r->verdict;
	const char *surer = v->rule ? rule_of(v->rule)->surer : NULL;
	bool known = r->n_files > 0;

	for (size_t i = 0; i < r->n_files; i++)
		known &= r->files[i].dropped_known;
	if (v->rule && !v->places) {
		fprintf(out, "Next: %s.", g->finding[0]->next);
	} else if (v->certainty < RD_CERTAIN && v->rule && v->both_ends) {
		fprintf(out, "That it happened is %s, from this capture alone.",
			rd_certainty_name(v->certainty));
	} else if (v->rule) {
		put_how_sure(out, v);
		if (v->certainty == RD_CERTAIN)
			return;
		if (surer)
			put_filled(out, surer, v->sender, v->receiver);
		else if (*v->capture_next && v->places & (v->places - 1))
			fputs("a capture there at the same time", out);
		else
			fprintf(out, "a capture at %s at the same time",
				*v->capture_next ? v->capture_next : "the other end");
		fputs(known || surer ? "." : ", and files that say what their capture lost.", out);
	}
}

static bool word(struct rd_report *r, const struct rd_group *g, char **to,
	void (*put)(FILE *out, struct rd_report *r, const struct rd_group *g))
{
	size_t capacity;
	FILE *out = open_memstream(to, &capacity);

	if (out)
		put(out, r, g);
	return out && text_close(out, to);
}

int rd_verdict_refer(struct rd_report *r)
{
	struct rd_judgement *v = &r->verdict;
	const struct rd_group *g = NULL;

	v->both_ends = true;
	v->capture_next[0] = '\0';
	if (v->rule)
		g = group_by(r, v->rule);
	if (!g)
		return 0;
	free(v->place);
	free(v->surer);
	v->place = v->surer = NULL;
	return word(r, g, &v->place, put_place) && word(r, g, &v->surer, put_surer) ? 0 : -1;
}

/* --- other causes ----------------------------------------------------------------------------- */

/* Whether all listed findings of h are about conversations for which g also has findings. */
static bool is_of_same(const struct rd_group *g, const struct rd_group *h)
{
	for (size_t i = 0; i < h->n; i++) {
		unsigned int id = h->finding[i]->conversation;
		size_t k = 0;

		while (k < g->n && g->finding[k]->conversation != id)
			k++;
		if (k == g->n || !id)
			return false;
	}
	return true;
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
	fprintf(out, " (%zu QP pair%s", h->conversations, h->conversations == 1 ? "" : "s");
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
		fputs(n > 1 ? "; " : "There is more: ", out);
		put_other_title(out, h->finding[0], h->conversations);
		put_whose(out, r, h);
	}
	if (n > ALSO_MAX)
		fprintf(out, "; and %zu further causes", n - ALSO_MAX);
	if (n)
		fputc('.', out);
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
		" %u of %u QP pairs respond far slower than the others: %s to %s (%s, "
		"others %s)",
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

int words_make(struct rd_report *r, const struct rd_group *g)
{
	struct rd_judgement *v = &r->verdict;
	bool ok = word(r, g, &v->what, put_what) && what_is_possible(v) &&
		  word(r, g, &v->place, put_place) && word(r, g, &v->surer, put_surer) &&
		  word(r, g, &v->also, put_also) && word(r, g, &v->time, put_time);

	if (ok && g)
		ok = word(r, g, &v->whom, put_whom) && word(r, g, &v->how_much, put_how_much);
	return ok ? 0 : -1;
}
