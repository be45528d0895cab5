/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Templates of titles and details: numbers and texts of a look, by their names. */
#include "look.h"
#include <stdlib.h>

/* --- texts ------------------------------------------------------------------------------------ */

static void put_share(FILE *out, uint64_t part, uint64_t whole)
{
	char share[RD_UNITS_LEN];

	fputs(share_text(share, part, whole), out);
}

/* Of the frames of the side. */
static void text_share(FILE *out, const struct look *l)
{
	put_share(out, l->f->evidence.count, l->s->traffic.frames);
}

static void text_share_distinct(FILE *out, const struct look *l)
{
	put_share(out, l->f->evidence.count, distinct(l->s));
}

static void text_share_unseen(FILE *out, const struct look *l)
{
	put_share(out, count(l, RD_INC_UNSEEN), l->s->requests + count(l, RD_INC_UNSEEN));
}

/* Of the packets that a sender of two ends sent. */
static void text_share_sent(FILE *out, const struct look *l)
{
	put_share(out, l->f->evidence.count, l->w->sent);
}

/* Those that the receiver of two ends asked for. */
static void text_asked_for(FILE *out, const struct look *l)
{
	const uint64_t lost = l->f->evidence.count;

	if (!l->w->asked_for)
		fputs("none of them", out);
	else if (l->w->asked_for >= lost)
		fputs(lost == 1 ? "it" : "all of them", out);
	else
		fprintf(out, "%llu of them", n(l->w->asked_for));
}

/* "; its rate here: ... before, ... at the lowest after"; nothing if it is unknown. */
static void text_rates(FILE *out, const struct look *l)
{
	const struct rd_congestion *c = l->s->congestion;
	char before[RD_UNITS_LEN], after[RD_UNITS_LEN], time[RD_UNITS_LEN];

	if (!c || !c->episodes)
		return;
	fprintf(out, "; its rate here: %s before, %s at the lowest after (mean%s of %llu)",
		rd_fmt_bitrate(before, (double)c->rate_before),
		rd_fmt_bitrate(after, (double)c->rate_after), rd_plural(c->episodes),
		n(c->episodes));
	if (c->recovery.n)
		fprintf(out, ", back at 90 %% of it after %s (median of %llu)",
			rd_fmt_duration(time, c->recovery.p50), n(c->recovery.n));
}

static void text_waited(FILE *out, const struct look *l)
{
	char waited[WAITED_LEN];

	fputs(waited_text(waited, l, RD_LATENCY_TIMEOUT, UINT64_MAX), out);
}

/* "; 8 resends ..., then 6 timeouts of 537 ms"; nothing if no timer is known. */
static void text_timer(FILE *out, const struct look *l)
{
	char timer[TIMER_LEN];

	if (*timer_text(timer, l))
		fprintf(out, "; %s", timer);
}

/* When the requester gave up, or will: at most so long after its last packet. */
static void text_gives_up(FILE *out, const struct look *l)
{
	const struct rd_timer *t = &l->s->timer;
	const struct rd_connection *c;
	unsigned int all, seen;
	char time[RD_UNITS_LEN];

	if (!t->timeouts)
		return;
	c = l->c->connection;
	/* A ConnectX has used up one retry by its adaptive retransmission. */
	all = (c ? c->retry_count : 7U) + !t->adaptive;
	seen = t->adaptive ? t->timeouts : l->s->end.attempts;
	if (l->s->end.how == RD_ENDING_RETRY)
		fprintf(out, "; it had its completion within %s after the last packet",
			rd_fmt_duration(time, UINT64_C(1000) * t->timeout_us));
	else if (all > seen)
		fprintf(out, "; with %s%u retries it gives up within %s after its last packet",
			c ? "its " : "", c ? c->retry_count : 7U,
			rd_fmt_duration(time, (all - seen) * UINT64_C(1000) * t->timeout_us));
}

static void text_rnr_timer(FILE *out, const struct look *l)
{
	char delay[RD_UNITS_LEN];

	fputs(rd_fmt_duration(delay, UINT64_C(1000) * l->s->rnr_timer_us), out);
}

static void text_rnr_pages(FILE *out, const struct look *l)
{
	if (count(l, RD_INC_RNR_PAGES))
		fprintf(out, "; %llu of them for requests that need no receive",
			n(count(l, RD_INC_RNR_PAGES)));
}

/* The request that was refused. Its header may not have been captured. */
static void text_refused(FILE *out, const struct look *l)
{
	const struct rd_refusal *q = l->s->refusal;

	if (!q)
		fputs("the refused request was not seen", out);
	else if (q->has_address)
		fprintf(out,
			"refused: %s of %u bytes at address 0x%016llx with rkey 0x%08x, frame "
			"%llu, PSN %u",
			rd_verb_name(q->verb), q->length, n(q->address), q->rkey, n(q->frame),
			q->psn);
	else
		fprintf(out, "refused: %s, frame %llu, PSN %u%s", rd_verb_name(q->verb),
			n(q->frame), q->psn,
			q->verb == RD_VERB_SEND
				? ""
				: "; its rkey, address and length were not captured");
}

static const struct named_text {
	const char *name;
	void (*put)(FILE *out, const struct look *l);
} texts[] = {
	{"share", text_share},
	{"share_distinct", text_share_distinct},
	{"share_unseen", text_share_unseen},
	{"share_sent", text_share_sent},
	{"asked_for", text_asked_for},
	{"rates", text_rates},
	{"waited", text_waited},
	{"timer", text_timer},
	{"gives_up", text_gives_up},
	{"rnr_timer", text_rnr_timer},
	{"rnr_pages", text_rnr_pages},
	{"refused", text_refused},
};

/* --- templates -------------------------------------------------------------------------------- */

static bool is_name(const char *name, const char *text, size_t length)
{
	return !strncmp(name, text, length) && !name[length];
}

static bool find_number(const struct look *l, const char *text, size_t length, uint64_t *number)
{
	static const struct rd_side none;
	static const struct rd_totals nothing;
	static const struct rd_path_qp no_path;
	const struct rd_side *s = l->s ? l->s : &none, *other = l->other ? l->other : &none;
	const struct rd_totals *t = l->r ? &l->r->totals : &nothing;
	const struct rd_path_qp *w = l->w ? l->w : &no_path;
	const struct {
		const char *name;
		uint64_t number;
	} numbers[] = {
		{"count", l->f->evidence.count}, /* of the evidence */
		{"frames", s->traffic.frames},
		{"other_frames", other->traffic.frames},
		{"requests", s->requests},
		{"rounds", l->s ? rounds(l) : 0},
		{"distinct", l->s ? distinct(l->s) : 0},
		{"attempts", s->end.attempts},
		{"end_frame", s->end.frame},
		{"all_frames", l->a ? l->a->frame : 0}, /* those outside of --time included */
		{"qps", t->qps},
		{"icrcs", t->icrc_good + t->icrc_bad + t->icrc_unchecked},
		{"icrcs_checked", t->icrc_good + t->icrc_bad},
		{"merged_packets", l->a ? l->a->merged_packets : 0},
		{"sent", w->sent},
		{"lost_shortest", w->lost_shortest},
		{"arrived_longest", w->arrived_longest},
	};

	for (size_t i = 0; i < RD_COUNT(numbers); i++)
		if (is_name(numbers[i].name, text, length)) {
			*number = numbers[i].number;
			return true;
		}
	for (unsigned int i = 0; i < RD_INC_COUNT; i++)
		if (is_name(rd_incident_names[i].key, text, length)) {
			*number = count(l, i);
			return true;
		}
	return false;
}

/* What is between braces. A name that is in no table stays as it is: a test searches for braces. */
static void put_value(FILE *out, const struct look *l, const char *text, size_t length)
{
	const char *noun = memchr(text, ' ', length);
	const size_t name = noun ? (size_t)(noun - text) : length;
	const struct named_text *special =
		RD_FIND(t, texts, RD_COUNT(texts), is_name(t->name, text, length));
	uint64_t number;

	if (special)
		special->put(out, l);
	else if (!find_number(l, text, name, &number))
		fprintf(out, "{%.*s}", (int)length, text);
	else
		fprintf(out, "%llu%.*s%s", n(number), (int)(length - name), text + name,
			noun ? rd_plural(number) : "");
}

bool text_close(FILE *out, char **text)
{
	if (!fclose(out) && *text) /* the GNU C library's fclose() succeeds without memory */
		return true;
	free(*text);
	*text = NULL;
	return false;
}

char *say(const struct look *look, const char *template)
{
	char *text = NULL;
	size_t capacity;
	FILE *out = open_memstream(&text, &capacity);

	if (!out)
		return NULL;
	for (const char *at = template; *at; at++) {
		const size_t length = *at == '{' ? strcspn(at, "}") : 0;

		if (!length) {
			fputc(*at, out);
			continue;
		}
		put_value(out, look, at + 1, length - 1);
		at += length;
	}
	text_close(out, &text);
	return text;
}
