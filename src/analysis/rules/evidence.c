/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What all rules use to make a finding: evidence, doubts, order. */
#include "rules.h"
#include <stdarg.h>
#include <stdlib.h>

void finding_evidence(struct rd_finding *f, const struct rd_incident *incident)
{
	f->evidence.count = incident->count;
	f->evidence.first_ns = incident->first_ns;
	f->evidence.last_ns = incident->last_ns;
	rd_finding_frame(f, incident->first_frame);
	rd_finding_frame(f, incident->last_frame);
}

void finding_append(struct rd_finding *f, const char *fmt, ...)
{
	char *more, *both;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&more, fmt, args) < 0)
		more = NULL;
	va_end(args);
	if (more && asprintf(&both, "%s%s%s", f->detail ? f->detail : "", f->detail ? "; " : "",
			    more) != -1) {
		free(f->detail);
		f->detail = both;
	}
	free(more);
}

void finding_doubt(struct rd_finding *f, enum rd_certainty most, const char *text)
{
	unsigned int n = 0;

	if (most < f->certainty) {
		memset(f->doubts, 0, sizeof(f->doubts));
		f->certainty = most;
	} else if (most > f->certainty || !*f->doubts) {
		return; /* it is no more than that anyway */
	}
	while (n < RD_DOUBTS && f->doubts[n] && strcmp(f->doubts[n], text) != 0)
		n++;
	if (n < RD_DOUBTS)
		f->doubts[n] = text;
}

bool capture_lost_frames(const struct rd_report *r)
{
	return RD_ANY(f, r->files, r->n_files, f->dropped);
}

bool capture_is_whole(const struct rd_report *r)
{
	return !RD_ANY(f, r->files, r->n_files, f->dropped || !f->dropped_known);
}

/* Larger counts first, then the older conversation. */
static int finding_order(const struct rd_finding *a, const struct rd_finding *b)
{
	return RD_ORDER(b->evidence.count, a->evidence.count)
		?: RD_ORDER(a->conversation, b->conversation) ?: strcmp(a->rule, b->rule)
		?: strcmp(a->where ?: "", b->where ?: "");
}

#define OF_A_RULE 64 /* a report has the worst of each rule */

void findings_bound(struct rd_findings *list, size_t most)
{
	list->incomplete |= !rd_findings_count(list);
	if (list->n < most + most / 4)
		return;
	rd_findings_sort(list, finding_order);
	list->incomplete |= !rd_findings_cut(list, most, OF_A_RULE);
}

bool findings_finish(struct rd_findings *list, size_t most)
{
	rd_findings_sort(list, finding_order);
	return rd_findings_cut(list, most, OF_A_RULE) && rd_findings_are_complete(list);
}

const char *range_text(char buf[RANGE_LEN], const struct rd_latency *t)
{
	char least[RD_UNITS_LEN], most[RD_UNITS_LEN];

	rd_fmt_duration(least, t->min);
	rd_fmt_duration(most, t->max);
	buf[0] = '\0';
	if (t->n > 1 && strcmp(least, most) != 0)
		snprintf(buf, RANGE_LEN, "%s to %s", least, most);
	return buf;
}
