/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The verdict on a report that has its findings: pure functions of the report. */
#pragma once

#include "../rules/cause.h"
#include <rdmadump/analysis.h>

static inline enum tap tap_of(const struct rd_conversation *c, unsigned int side)
{
	if (c->local[side] == c->local[!side])
		return TAP_UNKNOWN;
	return c->local[side] ? TAP_SENDER : TAP_RECEIVER;
}

/* Makes report->place_of, the index that conversation_of() uses. -1 if out of memory. */
int lookup_make(struct rd_report *r);
/* The conversation with this id; NULL. */
const struct rd_conversation *conversation_of(const struct rd_report *r, unsigned int id);
/* Whether the responses to a side's requests are cut before they say whether they are NAKs. */
bool are_responses_cut(const struct rd_conversation *c, unsigned int side);
/* Makes the index that conversation_to() uses (flows.c). -1 if out of memory. */
int flows_make(struct rd_report *r);
/*
 * The conversation with packets from one address to this QP of the other, and whose they are; NULL:
 * none. `network`: 0 if no other one has these addresses.
 */
const struct rd_conversation *conversation_to(const struct rd_report *r, const char *from,
	const char *to, uint32_t qp, uint32_t network, unsigned int *side);
/* The host with this address; NULL. */
const struct rd_host *host_of(const struct rd_report *r, const char *address);
/* Whether a group has QPs of several hosts that send to this one, several of them at a time. */
bool is_incast(const struct rd_report *r, const struct rd_group *g, const char *receiver);
/* Whether what a host received within 100 us is half of what its link can carry, or more. */
bool fills_link(const struct rd_report *r, const char *receiver);

/* Whether the file says that this is the address of a port that captured. */
bool is_local(const struct rd_report *r, const char *address);
/* The port whose pause frames a finding is about; NULL: it is about none. */
const struct rd_pause_sender *pauser_of(const struct rd_report *r, const struct rd_finding *f);

/* The cause of a rule; one that names no place if it has none. */
const struct cause *cause_of(const char *rule);
/* Whether a rule has a cause of its own. */
bool is_cause(const struct cause *cause);
/* Where a finding of this cause can be, for a capture made there. `c` is its conversation. */
unsigned int places_of(const struct cause *cause, const struct rd_conversation *c,
	const struct rd_finding *f, enum tap at);

/* Groups the findings by rule (group.c). -1 if out of memory. */
int groups_make(struct rd_groups *groups, const struct rd_findings *list);
/* The group of this rule; NULL: there is none. */
const struct rd_group *group_by(const struct rd_report *r, const char *rule);
/* Moves the group of this rule before the others of its severity, and returns it; NULL: none. */
const struct rd_group *groups_lead(struct rd_groups *groups, const char *rule);
void groups_free(struct rd_groups *groups);
/* How requesters spent their time; conversations that are slower than similar ones (times.c). */
void slow_judge(const struct rd_report *r, struct rd_slow *slow);
/* The time of a group's requests that was spent on retransmissions, of all their time. */
uint64_t repeating_ns(const struct rd_report *r, const struct rd_group *g, uint64_t *all_ns);
/* -1 if out of memory. */
int stragglers_find(const struct rd_report *r, struct rd_stragglers *s);
/*
 * Fills in report->verdict and report->groups. The report must have findings, conversations and
 * hosts. -1 if out of memory.
 */
int verdict_make(struct rd_report *r);
void verdict_free(struct rd_judgement *v);

/* Counts all frames of QPs by hosts (hosts.c), shown in the report or not. -1: out of memory. */
int hosts_make(const struct rd_analysis *a, struct rd_hosts *hosts);
void hosts_free(struct rd_hosts *hosts);

/* --- rows (words.c) ---------------------------------------------------------------------- */

/* Sets the rows of report->verdict; g: its main group, or NULL. -1 if out of memory. */
int words_make(struct rd_report *r, const struct rd_group *g);

/* Whether requests were retransmitted; without a finding, nothing says why. */
bool was_repeated(const struct rd_report *r);

/* --- parts of sentences (phrases.c) ----------------------------------------------------------- */

/*
 * What happened: of loss and reordering (`mixed`) the side of the capture point `point`; else the
 * sentence of the cause, or the title of the finding.
 */
void put_event(FILE *out, const struct rd_report *r, const struct rd_judgement *v,
	const struct rd_finding *f, unsigned int mixed, const char *point);
/*
 * What a finding advises to do, without to capture at an end: both were captured. False if it
 * advises nothing else.
 */
bool put_other_advice(FILE *out, const char *next);
/* The label of the first row: the cause's (NULL: there is none), else by severity. */
const char *label_of(const struct rd_judgement *v, const struct cause *cause);
/* The functions that write the rows but the times: of one capture and of two ends, by one name. */
#define ROW_WRITERS                                                                                \
	[RD_ROW_WHAT] = put_what, [RD_ROW_WHERE] = put_where, [RD_ROW_WHO] = put_whom,             \
	[RD_ROW_MUCH] = put_how_much, [RD_ROW_WHEN] = put_when, [RD_ROW_SURE] = put_sure,          \
	[RD_ROW_NEXT] = put_next, [RD_ROW_ALSO] = put_also
/* Closes a stream of open_memstream(), and removes a final period. False if out of memory. */
bool row_close(FILE *out, char **row);
/* Makes the first letter lowercase, except in abbreviations. */
void lower_first(char *text);
/* Puts "Possibly: " before the first row if it is only possible. False if out of memory. */
bool what_is_possible(struct rd_judgement *v);
/* "; messages retransmitted: at least 4 of 80 (5 %)" */
void put_delayed(FILE *out, const struct rd_judgement *v);

/* Writes a template with addresses in place of {s}, {r}, {h}. */
void put_filled(FILE *out, const char *text, const char *s, const char *r);
/* "the NIC of 10.0.0.1 or the fabric"; "the NIC or the application on 10.0.0.2" */
void put_places(FILE *out, unsigned int set, const char *sender, const char *receiver);
/* The title of a finding that so many QPs have: "this sender" is not the verdict's. */
void put_other_title(FILE *out, const struct rd_finding *f, size_t n);
/* " of 480 (2.1 %)"; `what` comes after the larger number. */
void put_of(FILE *out, uint64_t some, uint64_t all, const char *what);
/* "0.2 s to 1.7 s", since the first frame. */
void put_since(FILE *out, const struct rd_judgement *v, uint64_t first_ns);
/* ": the bottleneck is ...": all hosts that are about as slow (times.c). */
void put_bottleneck(FILE *out, const struct rd_report *r);
