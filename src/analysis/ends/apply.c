/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Applies the rules over two captures to each path, and to each QP on it. */
#include "../rules/look.h"
#include "ends.h"

/* The process of the QP that sends, or of the one that receives. */
static void add_owner(const struct sight *s, struct rd_finding *f, bool receiver)
{
	const char *does = receiver ? "received" : "sent";
	char text[RD_OWNER_TEXT_MAX];
	bool not_listed;
	uint32_t qp;
	const struct rd_owner *owner = sides_owner(s->reports, s->p->from, s->p->to, s->w->qp,
		s->w->network, receiver, &qp, &not_listed);

	if (owner)
		finding_append(f, "%s by %s, QP 0x%x", does, rd_owner_text(text, owner), qp);
	else if (not_listed)
		finding_append(f, "%s by QP 0x%x, whose owner is unknown", does, qp);
}

#define FINDINGS_MAX 1024

/* What the QPs of a rule's findings sent, for the share of it. */
static void add_concern(struct concern *c, const char *rule, const struct sight *s)
{
	const struct rd_side *side = s->w ? side_at(s, s->p->sender) : NULL;

	c->rule = rule;
	c->qps++;
	c->packets += s->w ? s->w->sent : 0;
	for (unsigned int k = 0; side && k < RD_VERB_COUNT; k++)
		c->messages += rd_side_verb(side, k)->messages;
	c->delayed += side ? rd_side_incident(side, RD_INC_DELAYED)->count : 0;
}

#define WHERE_LEN (2 * RD_ADDRESS_LEN + 64)

/* Which packets a finding is about: those to a QP of this path, or all of it (w NULL). */
static void put_where(char out[WHERE_LEN], const struct rd_path *p, const struct rd_path_qp *w)
{
	int n = snprintf(out, WHERE_LEN, "%s -> %s", p->from, p->to);

	if (w)
		n += snprintf(out + n, WHERE_LEN - (size_t)n, " QP 0x%x", w->qp);
	if (p->shared)
		snprintf(out + n, WHERE_LEN - (size_t)n, " (network %u)", p->network);
}

/* Whether nothing was retransmitted in either direction. */
static bool has_no_effect(const struct sight *s)
{
	bool seen = false;

	for (int end = 0; end < RD_TAPS; end++) {
		unsigned int side;
		const struct rd_conversation *c = conversation_to(
			s->reports[end], s->p->from, s->p->to, s->w->qp, s->w->network, &side);

		seen |= c != NULL;
		for (side = 0; c && side < 2; side++)
			if (c->transport != RD_RC ||
				rd_side_incident(&c->side[side], RD_INC_RETRANSMITTED)->count)
				return false;
	}
	return seen;
}

/* Whether the rule applies, and is more than possible. */
static bool try_rule(struct rd_findings *list, const struct rule *rule, const struct sight *s,
	struct concern *concern)
{
	const struct rd_endpoint to = {.qp = s->w ? s->w->qp : RD_QP_UNKNOWN};
	char where[WHERE_LEN];
	const struct look look = {.ends = s, .w = s->w, .to = &to, .where = where};
	struct rd_finding *f;
	bool likely;

	put_where(where, s->p, s->w);
	f = rule_try(list, rule, &look);
	if (!f)
		return false;
	if (s->w) {
		add_owner(s, f, false);
		add_owner(s, f, true);
	}
	likely = f->certainty > RD_POSSIBLE;
	if (rule->traits & IS_REPEATED && !likely && has_no_effect(s))
		f->severity = RD_SEV_NOTE;
	add_concern(concern, rule->key, s);
	findings_bound(list, FINDINGS_MAX);
	return likely;
}

bool ends_findings(struct judging *j)
{
	struct rd_ends_report *r = j->r;

	for (size_t i = 0; i < r->n_paths; i++) {
		struct concern *concern = j->concerns;
		struct sight s = {
			.reports = j->reports, .trust = j->trust, .r = r, .p = &r->paths[i]};

		try_rule(&r->findings, rules_of_end_paths, &s, concern++);
		for (const struct rule *rule = rules_of_ends; rule->key; rule++, concern++)
			for (size_t k = 0; k < r->paths[i].n_qps; k++) {
				struct rd_path_qp *w = &r->paths[i].qps[k];

				s.w = w;
				w->lost_likely |= try_rule(&r->findings, rule, &s, concern) &&
						  rule->traits & IS_REPEATED;
			}
	}
	return findings_finish(&r->findings, FINDINGS_MAX);
}

bool ends_answer(const char *rule)
{
	return rule_of(rule)->traits & ENDS_ANSWER;
}
