/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Findings of one rule have one cause: they become a group, in the order of the worst of each. The
 * group that the verdict rests on is the first of its severity.
 */
#include "verdict.h"
#include <rdmadump/array.h>
#include <rdmadump/memory.h>
#include <stdlib.h>

static struct rd_group *group_of(struct rd_groups *groups, const char *rule)
{
	struct rd_group *g = RD_FIND(known, groups->group, groups->n, !strcmp(known->rule, rule));

	if (g)
		return g;
	g = rd_append(&groups->group, groups->n, sizeof(*g));
	if (!g)
		return NULL;
	g->rule = rule;
	groups->n++;
	return g;
}

/* What the list has of a group, and the tally of its rule. */
static void sum_up(struct rd_group *g, const struct rd_findings *list)
{
	const struct rd_rule_tally *tally = rd_findings_tally(list, g->rule);

	for (size_t i = 0; i < g->n; i++) {
		const struct rd_evidence *e = &g->finding[i]->evidence;

		g->count += e->count;
		if (e->first_ns && (!g->first_ns || e->first_ns < g->first_ns))
			g->first_ns = e->first_ns;
		g->last_ns = RD_MAX(g->last_ns, e->last_ns);
	}
	if (!tally || !tally->n)
		return;
	g->count = tally->count;
	g->first_ns = tally->first_ns;
	g->last_ns = tally->last_ns;
	g->conversations = tally->conversations;
	g->left_out = rd_findings_left_out(list, g->rule, RD_SEV_NONE);
}

int groups_make(struct rd_groups *groups, const struct rd_findings *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct rd_group *g = group_of(groups, list->finding[i].rule);

		if (!g)
			return -1;
		g->n++;
	}
	for (size_t i = 0; i < groups->n; i++) {
		struct rd_group *g = &groups->group[i];

		g->finding = calloc(g->n, sizeof(*g->finding));
		if (!g->finding)
			return -1;
		g->n = 0;
		g->all = list->finding;
	}
	for (size_t i = 0; i < list->n; i++) {
		struct rd_group *g = group_of(groups, list->finding[i].rule);

		g->finding[g->n++] = &list->finding[i];
	}
	for (size_t i = 0; i < groups->n; i++)
		sum_up(&groups->group[i], list);
	return 0;
}

const struct rd_group *group_by(const struct rd_report *r, const char *rule)
{
	return RD_FIND(g, r->groups.group, r->groups.n, !strcmp(g->rule, rule));
}

const struct rd_group *groups_lead(struct rd_groups *groups, const char *rule)
{
	struct rd_group *list = groups->group, one;
	size_t i = 0, first = 0;

	while (i < groups->n && strcmp(list[i].rule, rule) != 0)
		i++;
	if (i == groups->n)
		return NULL;
	one = list[i];
	while (list[first].finding[0]->severity > one.finding[0]->severity)
		first++;
	memmove(&list[first + 1], &list[first], (i - first) * sizeof(*list));
	list[first] = one;
	return &list[first];
}

void groups_free(struct rd_groups *groups)
{
	for (size_t i = 0; i < groups->n; i++)
		free(groups->group[i].finding);
	free(groups->group);
	*groups = (struct rd_groups){0};
}
