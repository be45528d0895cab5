/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Applies the rules to a report and sorts their findings, worst first. */
#include "rules.h"

#define FINDINGS_MAX  4096
#define FRAMES_BEFORE 20 /* the first one, that a filter shows too */

#define ENDPOINT_LEN (RD_ADDRESS_LEN + 16)

static const char *endpoint_text(char buf[ENDPOINT_LEN], const struct rd_endpoint *e)
{
	snprintf(
		buf, ENDPOINT_LEN, e->qp == RD_QP_UNKNOWN ? "%s" : "%s QP 0x%x", e->address, e->qp);
	return buf;
}

static void fill_where(struct rd_finding *f, const struct look *look)
{
	char from[ENDPOINT_LEN], to[ENDPOINT_LEN];

	if (look->where)
		rd_finding_where(f, "%s", look->where);
	else if (look->c && (look->s->shared || look->other->shared))
		rd_finding_where(f, "%s -> %s (network %u)", endpoint_text(from, look->from),
			endpoint_text(to, look->to), look->c->network);
	else if (look->c)
		rd_finding_where(f, "%s -> %s", endpoint_text(from, look->from),
			endpoint_text(to, look->to));
	else
		rd_finding_where(f, "the capture");
}

static void fill_filter(struct rd_finding *f, const struct rule *rule, const struct look *look)
{
	static const char to[] = "infiniband.bth.destqp == 0x%06x%s%s";
	const bool requests = rule->filtered == OF_REQUESTS;
	const char *and = rule->filter ? " && " : "", *filter = rule->filter ? rule->filter : "";
	const uint32_t qp = !rule->filtered ? RD_QP_UNKNOWN
			    : requests	    ? look->to->qp
					    : look->from->qp;
	const uint64_t first = f->evidence.n_frames ? f->evidence.frames[0] : 0;
	const uint64_t margin = look->ends ? 0 : FRAMES_BEFORE;

	if (f->evidence.filter)
		return;
	if (qp != RD_QP_UNKNOWN)
		rd_finding_filter(f,
			requests && !rule->filter && first > margin ? first - margin : 0, to, qp,
			and, filter);
	else if (rule->filter && !requests)
		rd_finding_filter(f, 0, "%s", filter);
}

static void add_doubts(
	struct rd_finding *f, const struct doubt *const *doubts, const struct look *look)
{
	static const char unproven[] = "no frame of this QP pair has a valid ICRC";

	if (look->c && look->r->totals.icrc_bad && !look->c->proven)
		finding_doubt(f, RD_LIKELY, unproven);
	for (const struct doubt *d; (d = *doubts); doubts++)
		if (d->holds(look))
			finding_doubt(f, d->most, d->text);
}

/* The incident that a rule is about; NULL: it is about none. */
static const struct rd_incident *subject_of(const struct rule *rule, const struct look *look)
{
	if (rule->of_path)
		return (const void *)((const char *)look->w + rule->of_path);
	return rule->of ? rd_side_incident(look->s, rule->of - 1) : NULL;
}

struct rd_finding *rule_try(
	struct rd_findings *list, const struct rule *rule, const struct look *before)
{
	const struct rd_incident *subject = subject_of(rule, before);
	const bool happened = (!subject || subject->count) &&
			      (!rule->ending || before->s->end.how == rule->ending);
	struct rd_finding *f = happened ? rd_findings_add(list) : NULL;
	struct look look = *before;

	if (!f)
		return NULL;
	look.f = f;
	f->rule = rule->key;
	f->severity = rule->severity;
	f->certainty = rule->certainty;
	f->meaning = rule->meaning;
	f->next = rule->next;
	f->conversation = look.c ? look.c->id : 0;
	f->side = look.side;
	if (subject)
		finding_evidence(f, subject);
	if ((rule->when && !rule->when(&look)) || (rule->applies && !rule->applies(&look, f))) {
		rd_findings_drop_last(list);
		return NULL;
	}
	if (!f->title)
		f->title = say(&look, rule->title);
	if (!f->detail && rule->detail)
		f->detail = say(&look, rule->detail);
	fill_filter(f, rule, &look);
	if (!f->where)
		fill_where(f, &look);
	add_doubts(f, rule->doubts, &look);
	if (look.c)
		facts_add(&look, rule->traits, f);
	return f;
}

#define OF_SIDES 7 /* the others are over the capture */
static const struct rule *const tables[] = {rules_of_loss, rules_of_order, rules_of_missed,
	rules_of_sides, rules_of_timeouts, rules_of_congestion, rules_of_facts, rules_of_capture,
	rules_of_links, rules_of_pauses, rules_of_mads};

const struct rule *rule_in(const struct rule *table, const char *key)
{
	while (table->key && strcmp(table->key, key) != 0)
		table++;
	return table->key ? table : NULL;
}

const struct rule *rule_of(const char *key)
{
	static const struct rule none = {0};
	const struct rule *rule = NULL;

	for (size_t i = 0; i < RD_COUNT(tables) && !rule; i++)
		rule = rule_in(tables[i], key);
	return rule ? rule : &none;
}

size_t rule_texts(const struct rule *rule, struct rd_rule_text *texts, size_t most, size_t n)
{
	for (; rule->key; rule++, n++)
		if (n < most)
			texts[n] = (struct rd_rule_text){
				rule->key, rule->title, rule->meaning, rule->next};
	return n;
}

size_t rd_rule_texts(struct rd_rule_text *texts, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < RD_COUNT(tables); i++)
		n = rule_texts(tables[i], texts, most, n);
	return n;
}

static void try_side(const struct rd_analysis *a, struct rd_report *r,
	const struct rd_conversation *c, unsigned int side, uint64_t missed)
{
	const struct look look = {.a = a,
		.r = r,
		.c = c,
		.s = &c->side[side],
		.other = &c->side[!side],
		.from = &c->end[side],
		.to = &c->end[!side],
		.side = side,
		.missed = missed};

	for (size_t i = 0; i < OF_SIDES; i++)
		for (const struct rule *rule = tables[i]; rule->key; rule++)
			if (rule_try(&r->findings, rule, &look))
				findings_bound(&r->findings, FINDINGS_MAX);
}

static void try_capture(
	const struct rd_analysis *a, struct rd_report *r, const struct rule *rules, uint64_t missed)
{
	for (const struct rule *rule = rules; rule->key; rule++) {
		struct look look = {.a = a, .r = r, .missed = missed};

		for (; rule_try(&r->findings, rule, &look); look.nth++)
			findings_bound(&r->findings, FINDINGS_MAX);
	}
}

/*
 * Packets of RC that were acknowledged, and responses that were used, without being captured: those
 * of UC and UD may be lost.
 */
static uint64_t missed_by_capture(const struct rd_report *r)
{
	uint64_t missed = 0;

	for (size_t i = 0; i < r->n_conversations; i++) {
		const struct rd_conversation *c = &r->conversations[i];

		for (int k = 0; k < 2 && (c->transport == RD_RC || c->transport == RD_XRC); k++)
			missed += rd_side_incident(&c->side[k], RD_INC_UNSEEN)->count +
				  rd_side_incident(&c->side[k], RD_INC_RESPONSE_UNSEEN)->count;
	}
	return missed;
}

int rules_run(const struct rd_analysis *a, struct rd_report *r)
{
	const uint64_t missed = missed_by_capture(r);

	for (size_t i = OF_SIDES; i < RD_COUNT(tables); i++)
		try_capture(a, r, tables[i], missed);
	for (size_t i = 0; i < r->n_conversations; i++) {
		try_side(a, r, &r->conversations[i], 0, missed);
		try_side(a, r, &r->conversations[i], 1, missed);
	}
	return findings_finish(&r->findings, FINDINGS_MAX) ? 0 : -1;
}
