/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules, their rows, and their input. docs/how-to-add.md says how to add one. */
#pragma once

#include "../model/state.h"
#include "cause.h"
#include <rdmadump/ends.h>
#include <rdmadump/units.h>

/* The input of a rule over a capture, over one side of a conversation, or over two ends. */
struct look {
	const struct rd_analysis *a;
	const struct rd_report *r;
	const struct rd_conversation *c; /* NULL for rules over the whole capture */
	const struct rd_side *s;	 /* whose requests and frames */
	const struct rd_side *other;
	const struct rd_endpoint *from, *to; /* of that side and of the other */
	unsigned int side;
	unsigned int nth;  /* rules over the capture: the number of findings of this rule so far */
	uint64_t missed;   /* frames of all QPs that the capture missed */
	const char *where; /* NULL: the conversation, or the capture */
	const struct sight *ends;   /* of rules over two ends (ends/ends.h) */
	const struct rd_path_qp *w; /* the same: the packets to a QP; NULL: over a path */
	const struct rd_finding *f; /* the finding so far: its evidence */
};

/*
 * What a finding could be instead: it is then of no more than this certainty, and the report says
 * why. A finding that is RD_CERTAIN must be true whatever was not captured: the other direction,
 * frames that the capture lost or truncated, packets before and after it.
 */
struct doubt {
	bool (*holds)(const struct look *look);
	const char *text;
	enum rd_certainty most;
};

/* A function that tests a look `l`. */
#define WHETHER(name, test)                                                                        \
	static bool name(const struct look *l)                                                     \
	{                                                                                          \
		return test;                                                                       \
	}
/* A row of a file: the doubt of this name, which holds for a look `l` if `test` does. */
#define DOUBT(name, why, test)	      DOUBT_OF(static, name, RD_POSSIBLE, why, test)
#define DOUBT_LIKELY(name, why, test) DOUBT_OF(static, name, RD_LIKELY, why, test)
#define DOUBT_OF(storage, name, most, why, test)                                                   \
	WHETHER(name##_holds, test)                                                                \
	storage const struct doubt name[1] = {{name##_holds, why, most}};
/* The same where a function tests it. */
#define IF(test, why) (&(const struct doubt){test, why, RD_POSSIBLE})

#define DOUBTS_MAX 24

/* The frames that a display filter selects, together with that of the row. */
enum filtered { UNFILTERED, OF_REQUESTS, OF_RESPONSES };

/* How other parts treat a rule. */
enum trait {
	SILENT = 1,	  /* a link that was down may be the reason: facts_add() says if it was */
	GAVE_UP = 2,	  /* a counter of the sender's device may have counted it */
	HOLDS_BACK = 4,	  /* a sender: its times do not show where the bottleneck is */
	BY_TIMER = 8,	  /* its rounds may cost far more than congestion */
	ENDS_ANSWER = 16, /* two captures show where the cause is, which one alone cannot */
	/* Of two ends: the sender's capture decides it; a capture may have missed the packets. */
	OF_SENDER = 32,
	MISSED_BY_SENDER = 64,
	MISSED_BY_RECEIVER = 128,
	IS_REPEATED = 256, /* lost: RC retransmits it, else nothing lacked it */
};

/*
 * A rule applies where `of` happened, `when` holds and `applies` returns true; some of them may be
 * absent. Texts that `applies` does not set are the row's: templates, see say().
 */
struct rule {
	const char *key;
	enum rd_severity severity;
	enum rd_certainty certainty; /* the highest one: doubts lower it */
	unsigned int of;	     /* HAPPENED(an incident of the side): its evidence */
	bool (*applies)(const struct look *look, struct rd_finding *f);
	const char *title, *detail;
	enum filtered filtered;
	const char *filter;
	const char *meaning, *next; /* the usual cause, what to do */
	unsigned int traits;
	enum rd_ending ending; /* of the side's requests; OPEN: whatever it is */
	bool (*when)(const struct look *look);
	const struct doubt *doubts[DOUBTS_MAX];
	struct cause cause;
	const char *several; /* its sentence of several senders at once */
	const char *surer;   /* what else would show that it happened */
	const char *unknown; /* what is then unknown, since the capture is not whole */
	size_t of_path;	     /* as `of`: AT_BOTH_ENDS(an incident of a QP of two ends) */
};

#define HAPPENED(kind)	       (RD_INC_##kind + 1)
#define AT_BOTH_ENDS(incident) .of_path = offsetof(struct rd_path_qp, incident)

/*
 * Ended by a row without a key. Rules of loss, order, missed packets, sides, timeouts, congestion
 * and facts are tried once for each side of each conversation; rules of the capture, of links,
 * pauses and MADs with nth = 0, 1, 2 ... until they do not apply.
 */
extern const struct rule rules_of_loss[], rules_of_order[], rules_of_missed[];
extern const struct rule rules_of_sides[], rules_of_timeouts[], rules_of_congestion[];
extern const struct rule rules_of_capture[], rules_of_pauses[];
extern const struct rule rules_of_facts[], rules_of_links[], rules_of_mads[];
/* Over the paths of two ends, and over their QPs (ends/findings.c). */
extern const struct rule rules_of_ends[], rules_of_end_paths[];
/* Adds the texts of a table behind n others, as rd_rule_texts(). */
size_t rule_texts(const struct rule *rule, struct rd_rule_text *texts, size_t most, size_t n);

/* Adds information from the file's facts to the finding of a side (facts.c). */
void facts_add(const struct look *look, unsigned int traits, struct rd_finding *f);

/* Adds a rule's finding with texts, evidence, doubts. NULL: it does not apply, or no memory. */
struct rd_finding *rule_try(
	struct rd_findings *list, const struct rule *rule, const struct look *look);
/* Lowers the certainty to `most` if it is higher, and says why. Rows of doubts do it with less. */
void finding_doubt(struct rd_finding *f, enum rd_certainty most, const char *text);
/* Called after each finding: counts it, and limits memory. */
void findings_bound(struct rd_findings *list, size_t most);
/* Sorts the list, worst first, and keeps `most`. False if out of memory. */
bool findings_finish(struct rd_findings *list, size_t most);
/* Sets count, times and frames of the evidence to those of the incident. */
void finding_evidence(struct rd_finding *f, const struct rd_incident *incident);
/* Appends to the detail, after a semicolon. */
void finding_append(struct rd_finding *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Writes a template. {name} is a number or a text of the look: an incident of the side by its key,
 * or a row of the table in say.c; {name noun} is the number and its noun: "1 packet", "2 packets".
 * The caller frees the result; NULL if out of memory.
 */
char *say(const struct look *look, const char *template);
/* Closes a stream of open_memstream(); false, and no text, if out of memory. */
bool text_close(FILE *out, char **text);
/* Whether one of the files reports frames that its capture lost. */
bool capture_lost_frames(const struct rd_report *r);
/* Whether all files report that their captures lost nothing; pcap files never report it. */
bool capture_is_whole(const struct rd_report *r);
bool is_clock_coarse(const struct rd_report *r);
/* The row of a rule in a table; NULL: it is not there. */
const struct rule *rule_in(const struct rule *table, const char *key);
/* The row of a rule over a capture; a row without a key if there is none: of a device. */
const struct rule *rule_of(const char *key);
/* Applies all rules to the conversations and comparisons of a report. -1 if out of memory. */
int rules_run(const struct rd_analysis *a, struct rd_report *r);

/* Different request packets, with those that were lost before they were captured. */
static inline uint64_t distinct(const struct rd_side *s)
{
	const uint64_t again = rd_side_incident(s, RD_INC_RETRANSMITTED)->count +
			       rd_side_incident(s, RD_INC_DUPLICATED)->count;

	return s->requests - (again < s->requests ? again : 0) +
	       rd_side_incident(s, RD_INC_LOST_UPSTREAM)->count;
}

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
