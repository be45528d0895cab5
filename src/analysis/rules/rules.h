/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A rule, and what it looks at. */
#ifndef RDMADUMP_ANALYSIS_RULES_H
#define RDMADUMP_ANALYSIS_RULES_H

#include "../model/state.h"
#include <rdmadump/notation.h>

struct look {
	const struct rd_analysis *a;
	const struct rd_report *r;
	const struct rd_conversation *c; /* NULL for rules over the whole capture */
	const struct rd_side *s;	 /* whose requests and frames */
	const struct rd_side *other;
	const struct rd_endpoint *from, *to; /* of that side and of the other */
	unsigned int side;
	unsigned int nth; /* for rules that find several things: counts up while they find */
};

struct rule {
	const char *key;
	enum rd_severity severity; /* unless the rule says another */
	/* True if it is so; fills certainty, evidence, title, detail. */
	bool (*applies)(const struct look *look, struct rd_finding *f);
	const char *meaning, *next;
};

/*
 * Ended by a row without a key. The first are asked for each side of each conversation, the others
 * with nth = 0, 1, 2 ... while they apply.
 */
extern const struct rule rules_of_sides[], rules_of_capture[];

/* For rd_findings_sort(): what happened more often first, then the older conversation. */
int finding_order(const struct rd_finding *a, const struct rd_finding *b);
/* Numbers, times and frames of the finding become those of the incident. */
void finding_evidence(
	struct rd_finding *f, const struct rd_incident *incident, enum rd_certainty certainty);
/* Runs all rules over the conversations and comparisons of a report. -1 if out of memory. */
int rules_run(const struct rd_analysis *a, struct rd_report *r);

#endif
