/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Findings of one rule have one cause: they become a group, in the order of the worst of each. */
#include "verdict.h"
#include <stdlib.h>
#include <string.h>

static struct rd_group *group_of(struct rd_groups *groups, const char *rule)
{
	struct rd_group *list;

	for (size_t i = 0; i < groups->n; i++)
		if (!strcmp(groups->group[i].rule, rule))
			return &groups->group[i];
	list = reallocarray(groups->group, groups->n + 1, sizeof(*list));
	if (!list)
		return NULL;
	groups->group = list;
	list[groups->n] = (struct rd_group){.rule = rule};
	return &list[groups->n++];
}

int groups_make(struct rd_report *r)
{
	struct rd_groups *groups = &r->groups;

	for (size_t i = 0; i < r->findings.n; i++) {
		struct rd_group *g = group_of(groups, r->findings.finding[i].rule);

		if (!g)
			return -1;
		g->n++;
		g->count += r->findings.finding[i].evidence.count;
	}
	for (size_t i = 0; i < groups->n; i++) {
		struct rd_group *g = &groups->group[i];

		g->finding = malloc(g->n * sizeof(*g->finding));
		if (!g->finding)
			return -1;
		g->n = 0;
	}
	for (size_t i = 0; i < r->findings.n; i++) {
		struct rd_group *g = group_of(groups, r->findings.finding[i].rule);

		g->finding[g->n++] = i;
	}
	return 0;
}

void groups_free(struct rd_groups *groups)
{
	for (size_t i = 0; i < groups->n; i++)
		free(groups->group[i].finding);
	free(groups->group);
}
