/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The verdict on a report whose findings are made: pure functions of the report. */
#ifndef RDMADUMP_ANALYSIS_VERDICT_H
#define RDMADUMP_ANALYSIS_VERDICT_H

#include <rdmadump/analysis.h>

/* No path holds packets longer than this, not even one between virtual machines. */
#define PATH_NS UINT64_C(20000000)

/* Where the capture was made, as the facts in the file say, seen from the requests of a side. */
enum tap { TAP_UNKNOWN, TAP_SENDER, TAP_RECEIVER, TAP_COUNT };

static inline enum tap tap_of(const struct rd_conversation *c, unsigned int side)
{
	if (c->local[side] == c->local[!side])
		return TAP_UNKNOWN;
	return c->local[side] ? TAP_SENDER : TAP_RECEIVER;
}

static inline const struct rd_endpoint *endpoint_of(
	const struct rd_conversation *c, unsigned int side)
{
	return side ? &c->b : &c->a;
}

/* Makes report->place_of, by which conversation_of() finds one. -1 if out of memory. */
int lookup_make(struct rd_report *r);
/* The conversation with this id; NULL. */
const struct rd_conversation *conversation_of(const struct rd_report *r, unsigned int id);
/* The host with this address; NULL. */
const struct rd_host *host_of(const struct rd_report *r, const char *address);
/* Whether a group has QPs of several hosts that send to this one, which several hosts do at once.
 */
bool is_incast(const struct rd_report *r, const struct rd_group *g, const char *receiver);

/* The port whose pause frames a finding is about; NULL: it is about none. */
const struct rd_pause_sender *pauser_of(const struct rd_report *r, const struct rd_finding *f);

/* Groups the findings by rule (group.c). -1 if out of memory. */
int groups_make(struct rd_report *r);
/* The group of this rule; NULL: there is none. */
const struct rd_group *group_by(const struct rd_report *r, const char *rule);
/* Moves the group of this rule to the front, if there is one. */
void groups_lead(struct rd_groups *groups, const char *rule);
void groups_free(struct rd_groups *groups);
/* What requesters spent their time on, and slow conversations among equals (times.c). */
void slow_judge(const struct rd_report *r, struct rd_slow *slow);
/* The share of the time of a group's requests that went into repeating them; 0: none is known. */
double repeating_share(const struct rd_report *r, const struct rd_group *g);
/* -1 if out of memory. */
int stragglers_find(const struct rd_report *r, struct rd_stragglers *s);
/*
 * Fills report->verdict and report->groups, for which findings, conversations and hosts must be
 * there. -1 if out of memory.
 */
int verdict_make(struct rd_report *r);
void verdict_free(struct rd_judgement *v);

#endif
