/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs the rules over a report and puts what they find in order, worst first. */
#include "rules.h"

#define FINDINGS_MAX 4096 /* with one QP in trouble per finding: more than anyone reads */

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

	if (look->c)
		rd_finding_where(f, "%s -> %s", endpoint_text(from, look->from),
			endpoint_text(to, look->to));
	else
		rd_finding_where(f, "the capture");
}

/* Whether the rule applies; if not, or if there is no room, the list is as it was. */
static bool try_rule(struct rd_findings *list, const struct rule *rule, const struct look *look)
{
	struct rd_finding *f = list->n < FINDINGS_MAX ? rd_findings_add(list) : NULL;

	if (!f)
		return false;
	f->rule = rule->key;
	f->severity = rule->severity;
	f->meaning = rule->meaning;
	f->next = rule->next;
	f->conversation = look->c ? look->c->id : 0;
	f->side = look->side;
	if (!rule->applies(look, f)) {
		rd_findings_drop_last(list);
		return false;
	}
	if (!f->where)
		fill_where(f, look);
	return true;
}

static void try_side(const struct rd_analysis *a, struct rd_report *r,
	const struct rd_conversation *c, unsigned int side)
{
	const struct look look = {.a = a,
		.r = r,
		.c = c,
		.s = &c->side[side],
		.other = &c->side[!side],
		.from = side ? &c->b : &c->a,
		.to = side ? &c->a : &c->b,
		.side = side};

	for (const struct rule *rule = rules_of_sides; rule->key; rule++)
		try_rule(&r->findings, rule, &look);
}

int rules_run(const struct rd_analysis *a, struct rd_report *r)
{
	for (const struct rule *rule = rules_of_capture; rule->key; rule++) {
		struct look look = {.a = a, .r = r};

		while (try_rule(&r->findings, rule, &look))
			look.nth++;
	}
	for (size_t i = 0; i < r->n_conversations; i++) {
		try_side(a, r, &r->conversations[i], 0);
		try_side(a, r, &r->conversations[i], 1);
	}
	rd_findings_sort(&r->findings, finding_order);
	return rd_findings_are_complete(&r->findings) ? 0 : -1;
}
