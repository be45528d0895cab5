/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The evidence of a finding, from what happened. */
#include "rules.h"

void finding_evidence(
	struct rd_finding *f, const struct rd_incident *incident, enum rd_certainty certainty)
{
	f->certainty = certainty;
	f->evidence.count = incident->count;
	f->evidence.first_ns = incident->first_ns;
	f->evidence.last_ns = incident->last_ns;
	rd_finding_frame(f, incident->first_frame);
	rd_finding_frame(f, incident->last_frame);
}

int finding_order(const struct rd_finding *a, const struct rd_finding *b)
{
	int order;

	if (a->evidence.count != b->evidence.count)
		return a->evidence.count < b->evidence.count ? 1 : -1;
	if (a->conversation != b->conversation)
		return a->conversation > b->conversation ? 1 : -1;
	order = strcmp(a->rule, b->rule);
	return order ? order : strcmp(a->where ? a->where : "", b->where ? b->where : "");
}
