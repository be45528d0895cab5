/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules, and their input. */
#ifndef RDMADUMP_ANALYSIS_RULES_H
#define RDMADUMP_ANALYSIS_RULES_H

#include "../model/state.h"
#include <rdmadump/notation.h>
#include <rdmadump/units.h>

/* What all findings of a rule have in common. */
struct rule_head {
	const char *key;
	enum rd_severity severity; /* unless the rule sets another one */
	/*
	 * The highest certainty of this rule; finding_lower() reduces it. RD_CERTAIN only if the
	 * title is true whatever was not captured: the other direction, frames that the capture
	 * lost or truncated, packets before and after it.
	 */
	enum rd_certainty certainty;
	const char *meaning, *next;
};

/* The input of a rule over a capture or over one side of a conversation. */
struct look {
	const struct rd_analysis *a;
	const struct rd_report *r;
	const struct rd_conversation *c; /* NULL for rules over the whole capture */
	const struct rd_side *s;	 /* whose requests and frames */
	const struct rd_side *other;
	const struct rd_endpoint *from, *to; /* of that side and of the other */
	unsigned int side;
	unsigned int nth; /* rules over the capture: the number of findings of this rule so far */
	uint64_t missed;  /* frames of all QPs that the capture missed (trust_missed) */
};

struct rule {
	struct rule_head head;
	/* True if the rule applies; sets title, detail, evidence, and lowers the certainty. */
	bool (*applies)(const struct look *look, struct rd_finding *f);
};

/*
 * Ended by a row without a key. Rules of loss, sides, congestion and facts are tried once for each
 * side of each conversation; rules of the capture and of pauses with nth = 0, 1, 2 ... until they
 * do not apply.
 */
extern const struct rule rules_of_loss[], rules_of_order[], rules_of_missed[];
extern const struct rule rules_of_sides[], rules_of_timeouts[], rules_of_congestion[];
extern const struct rule rules_of_capture[], rules_of_pauses[];
/* By facts of the file: over sides, over the capture (facts.c). */
extern const struct rule rules_of_facts[], rules_of_links[];
/* Of management datagrams, over the capture (mad.c). */
extern const struct rule rules_of_mads[];
/* Adds information from the file's facts to the finding of a side. */
void facts_add(const struct look *look, struct rd_finding *f);

/* Frames of all QPs that the capture is known to have missed (trust.c). */
uint64_t trust_missed(const struct rd_report *r);
/*
 * Lowers the certainty of a side's finding if its rule depends on absence, order or times that are
 * unreliable.
 */
void trust_lower(const struct look *look, struct rd_finding *f);

/* Appends a finding of a rule. NULL if out of memory. */
struct rd_finding *finding_begin(struct rd_findings *list, const struct rule_head *head);
/* Called after each finding: counts it, and limits memory. */
void findings_bound(struct rd_findings *list, size_t most);
/* Sorts the list, worst first, and keeps `most`. False if out of memory. */
bool findings_finish(struct rd_findings *list, size_t most);
/* Sets count, times and frames of the evidence to those of the incident. */
void finding_evidence(struct rd_finding *f, const struct rd_incident *incident);
/* Appends to the detail, after a semicolon. */
void finding_append(struct rd_finding *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Lowers the certainty to `most` if it is higher. */
void finding_lower(struct rd_finding *f, enum rd_certainty most);
/* Whether one of the files reports frames that its capture lost. */
bool capture_lost_frames(const struct rd_report *r);
/* Whether all files report that their captures lost nothing; pcap files never report it. */
bool capture_is_whole(const struct rd_report *r);
/* Applies all rules to the conversations and comparisons of a report. -1 if out of memory. */
int rules_run(const struct rd_analysis *a, struct rd_report *r);

/* For %llu. */
static inline unsigned long long n(uint64_t value)
{
	return value;
}

static inline double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* "2.1 %" */
static inline char *share_text(char buf[RD_UNITS_LEN], uint64_t part, uint64_t whole)
{
	return rd_fmt_percent(buf, percent(part, whole));
}

#define RANGE_LEN (2 * RD_UNITS_LEN + 8)
/* "900 us to 260 ms"; "" if one number says it. Returns buf. */
const char *range_text(char buf[RANGE_LEN], const struct rd_latency *t);

#endif
