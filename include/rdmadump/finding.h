/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A finding: one fault or one notable fact, with its evidence. Everything that the program
 * concludes (from packets, counters, a device) is a finding, so that text and JSON agree.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rd_severity {
	RD_SEV_NONE,	/* normal; a finding is a note at least */
	RD_SEV_NOTE,	/* useful when something else is wrong */
	RD_SEV_WARNING, /* costs performance */
	RD_SEV_PROBLEM, /* data or connections are lost */
};

enum rd_certainty { RD_POSSIBLE, RD_LIKELY, RD_CERTAIN };

/* Names in JSON: "note", "certain"; "?" for other values. Static. */
const char *rd_severity_name(unsigned int severity);
const char *rd_certainty_name(unsigned int certainty);
/* Of untrusted text: a note if it is no name. */
enum rd_severity rd_severity_of(const char *name);
/* The first characters of its line of text: "!!", " !", "  ". Static. */
const char *rd_severity_mark(unsigned int severity);

#define RD_EVIDENCE_FRAMES 8

struct rd_evidence {
	uint64_t count;			     /* how often; a counter's growth or value */
	uint64_t first_ns, last_ns;	     /* Unix epoch, 0: unknown */
	uint64_t frames[RD_EVIDENCE_FRAMES]; /* frame numbers, from 1 */
	unsigned int n_frames;
	char *filter; /* display filter of Wireshark, NULL: none fits */
};

#define RD_DOUBTS 6

struct rd_finding {
	const char *rule; /* key of the rule that found it: "lost-downstream"; static */
	enum rd_severity severity;
	enum rd_certainty certainty;
	const char *doubts[RD_DOUBTS]; /* why it is no more certain; static; the rest is NULL */
	char *where;		       /* "10.0.0.1 QP 0x11 -> 10.0.0.2 QP 0x12", "mlx5_0 port 1" */
	const char *counter;	       /* its full name, borrowed from the counters; NULL: none */
	unsigned int conversation;     /* its id in the report, 0: none */
	unsigned int side;	       /* side of the conversation: 0: a, 1: b */
	char *title;		       /* what happened, in a few words */
	char *detail;		       /* numbers, or what that means; NULL: nothing more */
	const char *meaning;	       /* the usual cause; static; NULL: unknown */
	const char *next;	       /* what to do next; static; NULL: nothing */
	struct rd_evidence evidence;
	size_t number; /* how many were added before it */
};

/* The findings of one rule, with those that the list does not keep. */
struct rd_rule_tally {
	const char *rule;
	size_t left_out[RD_SEV_PROBLEM + 1]; /* not kept, by severity */
	size_t n;			     /* number counted */
	size_t conversations;		     /* different ones */
	unsigned int last;		     /* the conversation of the last one */
	uint64_t count;			     /* sum of their evidence */
	uint64_t first_ns;		     /* time of the earliest; 0: unknown */
	uint64_t last_ns;		     /* time of the latest; 0: unknown */
};

/* All zero is an empty list. */
struct rd_findings {
	struct rd_finding *finding;
	size_t n, added;
	struct rd_rule_tally *tally; /* of the rules whose findings were counted */
	size_t n_tally;
	bool incomplete; /* memory ran out */
};

/*
 * Appends an empty finding, which the list owns; it is valid until the next call. Its certainty is
 * "possible"; the caller may raise it. NULL if out of memory.
 */
struct rd_finding *rd_findings_add(struct rd_findings *list);
/* Removes the finding that was added last. */
void rd_findings_drop_last(struct rd_findings *list);
/*
 * Sorts, worst first: by severity, then certainty, then `tie` (like qsort()'s; may be NULL), then
 * the order in which they were added.
 */
void rd_findings_sort(struct rd_findings *list,
	int (*tie)(const struct rd_finding *a, const struct rd_finding *b));
/* Counts the finding added last; those of a conversation follow each other. False: no memory. */
bool rd_findings_count(struct rd_findings *list);
/* NULL: none of this rule was counted. */
const struct rd_rule_tally *rd_findings_tally(const struct rd_findings *list, const char *rule);
/*
 * Of a sorted list, keeps `most` findings and counts the others as left out. It keeps the first
 * `each` of each rule, even if these are more than `most`, and the first of the rest. False if out
 * of memory.
 */
bool rd_findings_cut(struct rd_findings *list, size_t most, size_t each);
/* How many are left out, of all rules or (not NULL) of one, of this severity or a worse one. */
size_t rd_findings_left_out(
	const struct rd_findings *list, const char *rule, enum rd_severity least);
/* Frees what the findings own; the list is empty afterwards. */
void rd_findings_free(struct rd_findings *list);
/* False if memory ran out for a finding, its title or its place. */
bool rd_findings_are_complete(const struct rd_findings *list);

/* Each sets one text, once. Out of memory leaves it NULL: see rd_findings_are_complete(). */
void rd_finding_where(struct rd_finding *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void rd_finding_title(struct rd_finding *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void rd_finding_detail(struct rd_finding *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* A display filter, limited to the frames from `first_frame` on if that is not 0. */
void rd_finding_filter(struct rd_finding *f, uint64_t first_frame, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Adds a frame to the evidence, once, while there is room; 0 is none. */
void rd_finding_frame(struct rd_finding *f, uint64_t frame);

/*
 * As in every schema of docs/schema. Times become nanoseconds since origin_ns. NULL if out of
 * memory; owned by the caller.
 */
json_t *rd_finding_json(const struct rd_finding *f, uint64_t origin_ns);
json_t *rd_findings_json(const struct rd_findings *list, uint64_t origin_ns);
