/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Applies the rules to a report and sorts their findings, worst first. */
#include "rules.h"

#define FINDINGS_MAX 4096

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

	if (look->c && (look->s->shared || look->other->shared))
		rd_finding_where(f, "%s -> %s (network %u)", endpoint_text(from, look->from),
			endpoint_text(to, look->to), look->c->network);
	else if (look->c)
		rd_finding_where(f, "%s -> %s", endpoint_text(from, look->from),
			endpoint_text(to, look->to));
	else
		rd_finding_where(f, "the capture");
}

/* Adds a finding if the rule applies; false: it does not, or memory is out. */
static bool try_rule(struct rd_findings *list, const struct rule *rule, const struct look *look)
{
	struct rd_finding *f = finding_begin(list, &rule->head);

	if (!f)
		return false;
	f->conversation = look->c ? look->c->id : 0;
	f->side = look->side;
	if (!rule->applies(look, f)) {
		rd_findings_drop_last(list);
		return false;
	}
	/* Without a single valid CRC it may be other traffic on RoCE's UDP port. */
	if (look->c && look->r->totals.icrc_bad && !look->c->proven)
		finding_lower(f, RD_LIKELY);
	if (!f->where)
		fill_where(f, look);
	if (look->c) {
		trust_lower(look, f);
		facts_add(look, f);
	}
	findings_bound(list, FINDINGS_MAX);
	return true;
}

static void try_side(const struct rd_analysis *a, struct rd_report *r,
	const struct rd_conversation *c, unsigned int side, uint64_t missed)
{
	static const struct rule *const tables[] = {rules_of_loss, rules_of_order, rules_of_missed,
		rules_of_sides, rules_of_timeouts, rules_of_congestion, rules_of_facts};
	const struct look look = {.a = a,
		.r = r,
		.c = c,
		.s = &c->side[side],
		.other = &c->side[!side],
		.from = side ? &c->b : &c->a,
		.to = side ? &c->a : &c->b,
		.side = side,
		.missed = missed};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct rule *rule = tables[i]; rule->head.key; rule++)
			try_rule(&r->findings, rule, &look);
}

static void try_capture(const struct rd_analysis *a, struct rd_report *r, const struct rule *rules)
{
	for (const struct rule *rule = rules; rule->head.key; rule++) {
		struct look look = {.a = a, .r = r};

		while (try_rule(&r->findings, rule, &look))
			look.nth++;
	}
}

int rules_run(const struct rd_analysis *a, struct rd_report *r)
{
	const uint64_t missed = trust_missed(r);

	try_capture(a, r, rules_of_capture);
	try_capture(a, r, rules_of_links);
	try_capture(a, r, rules_of_pauses);
	try_capture(a, r, rules_of_mads);
	for (size_t i = 0; i < r->n_conversations; i++) {
		try_side(a, r, &r->conversations[i], 0, missed);
		try_side(a, r, &r->conversations[i], 1, missed);
	}
	return findings_finish(&r->findings, FINDINGS_MAX) ? 0 : -1;
}
