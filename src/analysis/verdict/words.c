/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Puts the verdict into words: short sentences, with the numbers that an engineer can check. */
#include "words.h"
#include "causes.h"
#include <rdmadump/units.h>
#include <stdlib.h>
#include <string.h>

#define MOSTLY 0.5 /* of the time, before one party is called slow */

static const char *host(const char *address)
{
	return *address ? address : "the host";
}

/* --- places ----------------------------------------------------------------------------------- */

static const struct {
	const char *in; /* "{h}" is the host */
	bool receiver;
} places[RD_PLACES] = {
	{"the application on {h}", false},
	{"the NIC of {h}", false},
	{"the fabric", false},
	{"the NIC of {h}", true},
	{"the application on {h}", true},
};

/* Writes a template with addresses in place of {s}, {r}, {h}. */
static void put_filled(FILE *out, const char *text, const char *s, const char *r)
{
	for (; *text; text++) {
		if (text[0] == '{' && text[1] && text[2] == '}') {
			fputs(text[1] == 'r' ? r : s, out);
			text += 2;
		} else {
			fputc(*text, out);
		}
	}
}

static void put_places(FILE *out, unsigned int set, const char *sender, const char *receiver)
{
	unsigned int left = (unsigned int)__builtin_popcount(set);

	for (unsigned int i = 0; i < RD_PLACES; i++) {
		const char *of = host(places[i].receiver ? receiver : sender);

		if (!(set >> i & 1))
			continue;
		put_filled(out, places[i].in, of, of);
		left--;
		if (left)
			fputs(left > 1 ? ", " : " or ", out);
	}
}

/* Closes the stream and stores its text; false if out of memory. */
static bool keep(FILE *out, char **text, char **to)
{
	if (fclose(out)) {
		free(*text);
		return false;
	}
	*to = *text;
	return true;
}

#define SENTENCE(out, text, room)                                                                  \
	char *text = NULL;                                                                         \
	size_t room;                                                                               \
	FILE *out = open_memstream(&text, &room);                                                  \
                                                                                                   \
	if (!out)                                                                                  \
	return false

/* --- what, whom, how much --------------------------------------------------------------------- */

/* Loss and reordering, and the side of the capture point on which they are. */
static void put_mixed(FILE *out, const struct rd_judgement *v)
{
	static const char *const how[] = {"?", "lost", "late", "lost or late"};
	static const char *const where[] = {
		"?", "upstream", "downstream", "upstream or downstream"};
	bool back = v->mixed & RD_MIXED_RESPONSES;

	fprintf(out, "%s from %s to %s are %s %s of this capture point%s.",
		back ? "Responses" : "Packets",
		v->incast ? "several hosts"
		: back	  ? v->receiver
			  : v->sender,
		back ? v->sender : v->receiver, how[v->mixed & 3], where[v->mixed >> 2 & 3],
		v->mixed & RD_MIXED_LATE ? ", and late ones are taken for lost" : "");
}

static const struct rd_group *group_by(const struct rd_report *r, const char *rule)
{
	for (size_t i = 0; i < r->groups.n; i++)
		if (!strcmp(r->groups.group[i].rule, rule))
			return &r->groups.group[i];
	return NULL;
}

/* Whether packets were repeated for reasons that no finding has. */
static bool was_repeated(const struct rd_report *r)
{
	for (size_t i = 0; i < r->n_conversations; i++)
		for (unsigned int k = 0; k < 2; k++)
			if (rd_side_incident(&r->conversations[i].side[k], RD_INC_RETRANSMITTED)
					->count)
				return true;
	return false;
}

/* Without a fault: what this capture cannot show. */
static void put_nothing(FILE *out, struct rd_report *r)
{
	const struct rd_group *half = group_by(r, "one-sided");

	if (half) {
		r->verdict.places = RD_PLACE_ALL;
		fprintf(out,
			"No fault can be seen, but only one direction %s: it cannot show what was "
			"lost, refused or late. Capture both directions%s.",
			r->findings.finding[half->finding[0]].certainty < RD_LIKELY
				? "is known"
				: "was captured",
			r->findings.finding[half->finding[0]].certainty < RD_LIKELY
				? ", from the start of connections"
				: "");
	} else if (!r->verdict.slow.all_ns) {
		fputs("No fault can be seen. There is no reliable connection in both directions, "
		      "and only its responses would show what was lost.",
			out);
	} else if (was_repeated(r)) {
		fputs("No fault was found, but packets were retransmitted: this capture does not "
		      "show why.",
			out);
	} else {
		fputs("No fault was found: nothing was lost, refused or repeated as far as this "
		      "capture shows.",
			out);
	}
}

static bool word_what(struct rd_report *r, const struct rd_group *g)
{
	struct rd_judgement *v = &r->verdict;
	SENTENCE(out, text, room);

	if (!g) {
		put_nothing(out, r);
		return keep(out, &text, &v->what);
	}
	if (v->certainty == RD_POSSIBLE)
		fputs("Possibly: ", out);
	if (v->mixed)
		put_mixed(out, v);
	else if (cause_of(v->rule)->what)
		put_filled(out, cause_of(v->rule)->what, host(v->sender), host(v->receiver));
	else
		fprintf(out, "The worst finding: %s.", r->findings.finding[g->finding[0]].title);
	if (v->incast)
		fprintf(out, " Up to %u hosts send to %s within %g us (incast).", v->incast,
			v->receiver, (double)RD_BURST_NS / 1e3);
	return keep(out, &text, &v->what);
}

/* How many QP pairs there are; with the one-way flows of datagrams if findings are about such. */
static size_t conversations_like(const struct rd_report *r, const struct rd_group *g)
{
	bool datagrams = false;
	size_t n = 0;

	for (size_t i = 0; i < g->n && !datagrams; i++) {
		const struct rd_conversation *c =
			conversation_of(r, r->findings.finding[g->finding[i]].conversation);

		datagrams = c && c->transport == RD_UD;
	}
	for (size_t i = 0; i < r->n_conversations; i++)
		n += datagrams || r->conversations[i].transport != RD_UD;
	/* Findings that were left out may be about datagrams. */
	return n < g->conversations ? r->n_conversations : n;
}

static bool word_whom(struct rd_report *r, const struct rd_group *g)
{
	struct rd_judgement *v = &r->verdict;
	size_t n = g->conversations, of = conversations_like(r, g);
	SENTENCE(out, text, room);

	if (n)
		fprintf(out, "This concerns %zu of %zu QP pair%s: %s", n, of, of == 1 ? "" : "s",
			r->findings.finding[g->finding[0]].where);
	else if (*v->sender)
		fprintf(out, "This concerns %s -> %s", v->sender, v->receiver);
	if (n > 1)
		fprintf(out, " and %zu more", n - 1);
	if (n || *v->sender)
		fputc('.', out);
	return keep(out, &text, &v->whom);
}

/* Different request packets of the group's sides. */
static uint64_t packets_of(const struct rd_report *r, const struct rd_group *g)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < g->n; i++) {
		const struct rd_finding *f = &r->findings.finding[g->finding[i]];
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

static bool word_how_much(struct rd_report *r, const struct rd_group *g)
{
	struct rd_judgement *v = &r->verdict;
	const struct cause *cause = cause_of(v->rule);
	const struct rd_times *t = &v->slow.sum;
	uint64_t lost_ns = t->ns[RD_TIME_RECOVERY] + t->ns[RD_TIME_NOT_READY];
	uint64_t packets = packets_of(r, g);
	SENTENCE(out, text, room);

	if (!cause->counted)
		return keep(out, &text, &v->how_much);
	fprintf(out, "%s: %llu", (v->mixed & 3) == 3 ? "Packets lost or late" : cause->counted,
		(unsigned long long)v->count);
	if (v->mixed && !(v->mixed & RD_MIXED_RESPONSES) && packets >= v->count && !g->left_out)
		fprintf(out, " of %llu (%.2g %%)", (unsigned long long)packets,
			100.0 * (double)v->count / (double)packets);
	if (v->since_ns > r->totals.first_ns)
		fprintf(out, ", since %.3f s", (double)(v->since_ns - r->totals.first_ns) / 1e9);
	else if (v->since_ns)
		fputs(", since the first frame", out);
	if (lost_ns * 100 > v->slow.all_ns)
		fprintf(out, "; repeating requests took %.0f %% of their time",
			100.0 * (double)lost_ns / (double)v->slow.all_ns);
	fputc('.', out);
	return keep(out, &text, &v->how_much);
}

/* --- where and how sure ----------------------------------------------------------------------- */

static bool word_place(struct rd_report *r)
{
	struct rd_judgement *v = &r->verdict;
	SENTENCE(out, text, room);

	if (!v->rule)
		return keep(out, &text, &v->place);
	if (v->places & (v->places - 1)) {
		fputs("Where cannot be known from here: in ", out);
		put_places(out, v->places, v->sender, v->receiver);
		if (*v->capture_next)
			fprintf(out, "; capture at %s", v->capture_next);
		fputc('.', out);
	} else if (v->places) {
		fputs("Where: in ", out);
		put_places(out, v->places, v->sender, v->receiver);
		fprintf(out, " (%s).", rd_certainty_name(v->where));
	}
	return keep(out, &text, &v->place);
}

static bool word_surer(struct rd_report *r, const struct rd_group *g)
{
	struct rd_judgement *v = &r->verdict;
	bool known = r->n_files > 0;
	SENTENCE(out, text, room);

	for (size_t i = 0; i < r->n_files; i++)
		known &= r->files[i].dropped_known;
	if (v->rule && !v->places) {
		fprintf(out, "Next: %s.", r->findings.finding[g->finding[0]].next);
	} else if (v->certainty < RD_CERTAIN && v->rule) {
		fprintf(out, "That it happened is %s; surer with ",
			rd_certainty_name(v->certainty));
		if (*v->capture_next)
			fprintf(out, "a capture at %s at the same time", v->capture_next);
		else
			fputs("a capture at the other end at the same time", out);
		fputs(known ? "." : ", and files that say what their capture lost.", out);
	} else if (v->rule) {
		fputs("That it happened is certain.", out);
	}
	return keep(out, &text, &v->surer);
}

/* --- time ------------------------------------------------------------------------------------- */

static const char *const spent[RD_TIME_COUNT] = {
	[RD_TIME_IDLE] = "nothing was requested",
	[RD_TIME_REPLY] = "a message of the other side was awaited",
	[RD_TIME_SENDING] = "requests were being sent",
	[RD_TIME_WAITING] = "a response was awaited",
	[RD_TIME_RECEIVING] = "READ responses were arriving",
	[RD_TIME_NOT_READY] = "the receiver was not ready",
	[RD_TIME_RECOVERY] = "requests were being repeated",
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

	if (!s->n)
		return;
	c = conversation_of(r, s->conversation[0]);
	fprintf(out,
		" %u of %u QP pairs respond far slower than the others: %s to %s (%.3g us, "
		"others %.3g us)",
		s->n, s->of, c->a.address, c->b.address, (double)s->p50_ns[0] / 1e3,
		(double)s->median_ns / 1e3);
	if (s->n > 1)
		fprintf(out, " and %u more", s->n - 1);
	if (*s->host)
		fprintf(out, "; all of them, and no others, are of %s", s->host);
	fputc('.', out);
}

static bool word_time(struct rd_report *r)
{
	struct rd_judgement *v = &r->verdict;
	const struct rd_slow *slow = &v->slow;
	const struct rd_conversation *c = conversation_of(r, slow->conversation);
	SENTENCE(out, text, room);

	if (c && slow->all_ns && !(v->rule && is_repeating(slow->what))) {
		fprintf(out, "%.0f %% of the time of requests, %s", 100 * slow->share,
			spent[slow->what]);
		if (!is_repeating(slow->what) && slow->share >= MOSTLY) {
			fputs(": this is up to ", out);
			put_places(out, slow->places, endpoint_of(c, slow->side)->address,
				endpoint_of(c, !slow->side)->address);
			fprintf(out, " (%s)", rd_certainty_name(slow->certainty));
		}
		fputc('.', out);
	}
	put_stragglers(out, r);
	return keep(out, &text, &v->time);
}

int words_make(struct rd_report *r, const struct rd_group *g)
{
	bool ok = word_what(r, g) && word_place(r) && word_surer(r, g) && word_time(r);

	if (ok && g)
		ok = word_whom(r, g) && word_how_much(r, g);
	return ok ? 0 : -1;
}
