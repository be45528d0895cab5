/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Puts the verdict of two captures into words, as verdict/words.c does it for one. */
#include "ends.h"

#define ALSO_MAX 3

static const char letters[RD_TAPS] = {'A', 'B'};

/* --- what ------------------------------------------------------------------------------------- */

static bool is_one_way(const struct judging *j)
{
	return group_by(j->reports[RD_TAP_A], "one-sided") &&
	       group_by(j->reports[RD_TAP_B], "one-sided");
}

static void put_nothing(FILE *out, struct judging *j)
{
	struct rd_ends_report *r = j->r;
	const struct rd_report *a = j->reports[RD_TAP_A], *b = j->reports[RD_TAP_B];
	const bool repeated = was_repeated(a) || was_repeated(b);

	r->verdict.label = "UNCLEAR";
	if (!r->packets) {
		fputs("Nothing can be concluded: no packet was captured at both ends.", out);
		return;
	}
	if (r->one_point) {
		fputs("Both captures have the same packets at the same times: they are copies of "
		      "one, or made at one point, and do not show what is between two.",
			out);
		return;
	}
	fputs("Nothing was lost, duplicated or reordered between the two capture points", out);
	if (is_one_way(j))
		fprintf(out,
			". But both captures have only one direction: they cannot show what was "
			"lost beyond them, refused or late%s.",
			repeated ? ", nor why packets were retransmitted" : "");
	else if (repeated)
		fputs(", but packets were retransmitted: neither capture shows why.", out);
	else
		fputs(", and nothing refused or repeated, as far as both captures show.", out);
	if (!is_one_way(j) && !repeated)
		r->verdict.label = label_of(&r->verdict, NULL);
}

static void put_of_capture(FILE *out, const struct judging *j, const struct culprit *x)
{
	const struct rd_judgement *v = &j->r->verdict;
	char point[] = "the capture point of A";

	point[sizeof(point) - 2] = letters[x->tap];
	if (v->places == RD_PLACE_FABRIC && !x->cause->mixed &&
		x->cause->places[TAP_UNKNOWN] & RD_PLACE_RECEIVER_HOST)
		put_filled(out,
			"{s} got no response of {r} in time, since packets are lost between the "
			"two capture points.",
			v->sender, v->receiver);
	else
		put_event(out, j->reports[x->tap], v, x->worst, x->cause->mixed, point);
}

static void put_what(FILE *out, struct judging *j, const struct culprit *x)
{
	struct rd_judgement *v = &j->r->verdict;

	if (!v->rule)
		put_nothing(out, j);
	else if (x->compared)
		put_filled(out, x->cause->what, v->sender, v->receiver);
	else
		put_of_capture(out, j, x);
}

/* --- whom, how much --------------------------------------------------------------------------- */

static void put_owners(FILE *out, struct judging *j, const struct culprit *x)
{
	struct rd_judgement *v = &j->r->verdict;

	for (int receiver = 0; receiver < 2 && x->qp; receiver++) {
		bool not_listed;
		uint32_t qp;

		v->owner[receiver] = sides_owner(j->reports, v->sender, v->receiver, x->qp,
			x->network, receiver, &qp, &not_listed);
	}
	rd_owners_put(out, v->owner);
}

static void put_whom(FILE *out, struct judging *j, const struct culprit *x)
{
	struct rd_judgement *v = &j->r->verdict;
	const size_t n = x->group ? x->group->n + x->group->left_out : 0;
	size_t of = 0;

	if (!n)
		return;
	for (size_t i = 0; i < j->r->n_paths; i++)
		of += j->r->paths[i].n_qps;
	if (x->compared)
		fprintf(out, "packets to %zu of %zu QP%s: %s", n, of, rd_plural(of),
			x->worst->where);
	else if (*v->sender)
		fputs(x->worst->where, out);
	if (n > 1 && ftell(out) > 0)
		fprintf(out, " and %zu more", n - 1);
	if (!x->compared && ftell(out) > 0)
		fprintf(out, ", as capture %c shows", letters[x->tap]);
	put_owners(out, j, x);
}

static void put_how_much(FILE *out, struct judging *j, const struct culprit *x)
{
	struct rd_judgement *v = &j->r->verdict;
	const char *counted = x->group ? x->cause->counted : NULL;

	if (!counted)
		return;
	fprintf(out, "%s: %llu", counted, (unsigned long long)v->count);
	for (const struct concern *c = j->concerns; x->compared && c < j->concerns + ENDS_RULES;
		c++)
		if (c->rule && !strcmp(c->rule, v->rule) && c->packets >= v->count &&
			*x->cause->places != RD_PLACE_RECEIVER_NIC) /* it counts requests */
			put_of(out, v->count, c->packets, " transmissions");
	put_delayed(out, v);
}

static void put_when(FILE *out, struct judging *j, const struct culprit *x)
{
	if (x->group)
		put_since(out, &j->r->verdict, j->r->start_ns);
}

/* --- where ------------------------------------------------------------------------------------ */

static void put_captures(FILE *out, unsigned int missed_by)
{
	if (missed_by == 3)
		fputs("one of the captures", out);
	else
		fprintf(out, "capture %c itself", letters[missed_by >> 1]);
}

static void put_where(FILE *out, struct judging *j, const struct culprit *x)
{
	struct rd_judgement *v = &j->r->verdict;
	const unsigned int missed = j->r->missed_by;
	const bool several = v->places & (v->places - 1) || (v->places && missed);

	if (!x->group || (!v->places && !missed))
		return;
	if (v->places == RD_PLACE_ALL) {
		fputs("cannot be seen from these two captures", out);
		return;
	}
	if (v->places == RD_PLACE_FABRIC)
		fputs("the fabric between the two capture points", out);
	else
		put_places(out, v->places, v->sender, v->receiver);
	if (missed) {
		fputs(v->places ? ", or " : "", out);
		put_captures(out, missed);
	}
	if (x->assumed)
		fprintf(out, ", if %c was captured at the port of that host", letters[x->at]);
	if (several)
		fputs(": cannot be distinguished from these two captures", out);
	else
		fprintf(out, " (%s)", rd_certainty_name(v->where));
}

/* --- how sure --------------------------------------------------------------------------------- */

/* A capture whose file does not say that it lost nothing; RD_TAPS: both say it. */
static enum rd_tap unsure_capture(const struct judging *j, const struct culprit *x)
{
	/* What it lacks is what may have been lost: that of the receiver comes first. */
	const bool of_receiver = x->compared && !(x->compared->traits & OF_SENDER);
	const enum rd_tap first = x->path ? x->path->sender ^ of_receiver : x->tap;

	for (int i = 0; i < RD_TAPS; i++) {
		const enum rd_tap tap = i ? !first : first;

		if (!capture_is_whole(j->reports[tap]))
			return tap;
	}
	return RD_TAPS;
}

static void put_reason(FILE *out, const struct judging *j, const struct culprit *x)
{
	const struct rd_judgement *v = &j->r->verdict;
	const enum rd_tap unsure = unsure_capture(j, x);
	const char *surer = x->compared ? x->compared->surer : rule_of(v->rule)->surer;

	if (x->compared && j->r->both_ways && !j->r->offset_known)
		fputs("clocks that are not set while both captures run", out);
	else if (x->path && !x->path->sender_known)
		fputs("packets of both directions in both captures, which show which one is at "
		      "the sender",
			out);
	else if (unsure != RD_TAPS && capture_lost_frames(j->reports[unsure]))
		fprintf(out, "a capture %c that loses no frames", letters[unsure]);
	else if (unsure != RD_TAPS)
		fprintf(out, "a file %c that says its capture lost nothing", letters[unsure]);
	else if (surer)
		put_filled(out, surer, v->sender, v->receiver);
	else
		fputs("captures that begin before the traffic and end after it", out);
}

static void put_sure(FILE *out, struct judging *j, const struct culprit *x)
{
	struct rd_judgement *v = &j->r->verdict;

	if (!x->group)
		return;
	fputs(rd_certainty_name(v->certainty), out);
	if (v->certainty < RD_CERTAIN) {
		fputs("; surer with ", out);
		put_reason(out, j, x);
	}
}

static void put_next(FILE *out, struct judging *j, const struct culprit *x)
{
	const char *next = x->group && !ends_answer(x->worst->rule) ? x->worst->next : NULL;

	if (!x->group)
		fputs(j->r->one_point			 ? "name the captures of both ends"
			: j->r->packets && is_one_way(j) ? "capture both directions"
							 : "",
			out);
	else if (!next || !put_other_advice(out, next))
		fputs(j->r->both_ways && !j->r->offset_known
				? "capture at both ends again, while nothing sets a clock"
				: "compare the counters of both ports from before and after it: "
				  "rdmadump counters DEV",
			out);
}

/* --- other causes ----------------------------------------------------------------------------- */

struct others {
	FILE *out;
	size_t n;
	const char *rules[ALSO_MAX];
};

static void put_other(struct others *o, const struct rd_finding *f, size_t n, char capture)
{
	for (size_t i = 0; i < o->n && i < ALSO_MAX; i++)
		if (!strcmp(o->rules[i], f->rule))
			return;
	if (o->n < ALSO_MAX) {
		o->rules[o->n] = f->rule;
		fputs(o->n ? "; " : "", o->out);
		put_other_title(o->out, f, n);
		fputs(" (", o->out);
		if (capture)
			fprintf(o->out, "capture %c, ", capture);
		fprintf(o->out, "%zu QP%s)", n, rd_plural(n));
	}
	o->n++;
}

/* CNPs that no marked packet preceded at the receiver are plain CNPs at the sender. */
static bool is_main(const char *main, const char *rule)
{
	return main &&
	       (!strcmp(rule, main) || (!strcmp(main, "cnp-unmarked") && !strcmp(rule, "cnp")));
}

static void put_also(FILE *out, struct judging *j, const struct culprit *x)
{
	struct rd_judgement *v = &j->r->verdict;
	struct others o = {.out = out};

	for (size_t i = 0; i < j->r->groups.n; i++) {
		const struct rd_group *g = &j->r->groups.group[i];
		const struct rd_finding *f = g->finding[0];

		if (g != x->group && f->certainty > RD_POSSIBLE &&
			strcmp(f->rule, "delay-varies") != 0)
			put_other(&o, f, g->n + g->left_out, '\0');
	}
	for (int tap = 0; tap < RD_TAPS; tap++) {
		const struct rd_report *r = j->reports[tap];

		for (size_t i = 0; i < r->groups.n; i++) {
			const struct rd_group *g = &r->groups.group[i];
			const struct rd_finding *f = g->finding[0];

			if (f->severity >= RD_SEV_WARNING && f->certainty > RD_POSSIBLE &&
				is_cause(cause_of(f->rule)) && !ends_answer(f->rule) &&
				f->conversation && !is_main(v->rule, f->rule))
				put_other(&o, f, g->conversations, letters[tap]);
		}
	}
	if (o.n > ALSO_MAX)
		fprintf(out, "; and %zu further causes", o.n - ALSO_MAX);
}

static bool put_row(struct judging *j, const struct culprit *x, enum rd_row row)
{
	static void (*const put[RD_ROWS])(
		FILE * out, struct judging * j, const struct culprit *x) = {ROW_WRITERS};
	size_t capacity;
	FILE *out;

	if (row == RD_ROW_TIME)
		return ends_times(j);
	out = open_memstream(&j->r->verdict.row[row], &capacity);
	if (out)
		put[row](out, j, x);
	return out && row_close(out, &j->r->verdict.row[row]);
}

bool ends_sentences(struct judging *j, const struct culprit *x)
{
	struct rd_judgement *v = &j->r->verdict;

	v->label = label_of(v, x->group ? x->cause : NULL);
	for (enum rd_row i = 0; i < RD_ROWS; i++)
		if (!put_row(j, x, i) || (i == RD_ROW_WHAT && !what_is_possible(v)))
			return false;
	return true;
}
