/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Internals of the comparison of two analyses. */
#ifndef RDMADUMP_ANALYSIS_COMPARE_H
#define RDMADUMP_ANALYSIS_COMPARE_H

#include <rdmadump/compare.h>
#include <rdmadump/notation.h>
#include <rdmadump/shape.h>

#define LATENCIES 4 /* RD_LATENCY_ACK to RD_LATENCY_MESSAGE */
#define WORD_LEN  16
#define RULE_LEN  64
#define TITLE_LEN 160

struct numbers {
	uint64_t qps; /* with requests in this direction */
	uint64_t frames, requests, goodput_bytes;
	uint64_t different;	    /* request packets without copies, including lost ones */
	uint64_t first_ns, last_ns; /* of the conversations, since the start of the capture */
	uint64_t retransmitted, lost, naks, rnr, cnp, ce;
	bool part; /* more QPs may belong to them: rates are unknown */
	struct {
		uint64_t n, p50, p99;
	} latency[LATENCIES];
};

/* The requests of one queue pair to another. */
struct stream {
	char from[RD_ADDRESS_LEN], to[RD_ADDRESS_LEN];
	uint32_t from_qp, to_qp;
	char transport[WORD_LEN], verb[WORD_LEN]; /* the verb with the most bytes; "": none */
	char service[24];			  /* id of the CM; "": unknown */
	struct numbers n;
	bool taken; /* while streams are matched */
};

/* All findings of one rule between two addresses, or at one place and of one counter. */
struct found {
	char rule[RULE_LEN], title[TITLE_LEN];
	char from[RD_ADDRESS_LEN], to[RD_ADDRESS_LEN]; /* "": no conversation's */
	char where[TITLE_LEN];			       /* "": a conversation's */
	char counter[RULE_LEN];			       /* "": of none */
	enum rd_severity severity;
	enum rd_certainty certainty;
	uint64_t n, count;
	bool no_place; /* of a conversation that the report does not list */
	bool by_rule;  /* of all places, since a report has only a part of them */
};

/* All findings of one rule. */
struct rule_sum {
	char rule[RULE_LEN];
	uint64_t n, count;
	bool partial; /* some are only counted, or have no place */
};

struct rd_snapshot {
	uint64_t start_ns, duration_ns, frames;
	uint64_t conversations, left_out; /* listed, and in the report but not listed */
	struct stream *streams;
	size_t n_streams;
	struct found *found; /* ordered by found_order(), each key once */
	size_t n_found;
	struct rule_sum *rules; /* by name */
	size_t n_rules;
	uint64_t findings_left_out; /* only counted, or without a place */
};

/* Room for two streams of each conversation, and for findings; NULL if out of memory. */
struct rd_snapshot *snapshot_new(size_t conversations, size_t findings);
/* By rule, place and counter. */
int found_order(const void *a, const void *b);
/* Sorts, joins those of the same key, and adds up each rule. */
void found_join(struct rd_snapshot *s);
/* NULL: it has no finding of this rule. */
struct rule_sum *rule_sum(const struct rd_snapshot *s, const char *rule);
/* A group of the report has this many findings, after found_join(). */
void rule_total(struct rd_snapshot *s, const char *rule, uint64_t n, uint64_t count);
void numbers_add(struct numbers *to, const struct numbers *x);

/* --- changes ---------------------------------------------------------------------------------- */

enum presence { BEFORE_ONLY = 1, AFTER_ONLY = 2, BOTH = 3 };

enum unit { UNIT_RATE, UNIT_SHARE, UNIT_TIME };

/* One value of both captures. */
struct value {
	double before, after; /* bit/s, per cent, nanoseconds; NaN: unknown */
	int change;	      /* 0: no significant change, 1: better, -1: worse */
	bool few;	      /* differs, but has too few samples to count */
};

struct metric {
	const char *label;
	enum unit unit;
};

/* Name, key, label, value; shares: of what; times: how many samples they need. */
#define METRIC_ROWS(RATE, SHARE, TIME)                                                             \
	RATE(GOODPUT, "goodput_bps", "goodput", goodput_bytes)                                     \
	SHARE(RETRANSMITTED, "retransmitted_percent", "retransmitted", retransmitted, requests)    \
	SHARE(LOST, "lost_percent", "lost packets", lost, different)                               \
	SHARE(NAK, "nak_percent", "NAKs", naks, requests)                                          \
	SHARE(RNR, "rnr_percent", "RNR NAKs", rnr, requests)                                       \
	SHARE(CNP, "cnp_percent", "CNPs", cnp, requests)                                           \
	SHARE(CE, "ecn_ce_percent", "CE marks", ce, frames)                                        \
	TIME(ACK_P50, "ack_p50_ns", "ACK p50", RD_LATENCY_ACK, p50, 10)                            \
	TIME(ACK_P99, "ack_p99_ns", "ACK p99", RD_LATENCY_ACK, p99, 100)                           \
	TIME(READ_P50, "read_p50_ns", "READ p50", RD_LATENCY_READ, p50, 10)                        \
	TIME(READ_P99, "read_p99_ns", "READ p99", RD_LATENCY_READ, p99, 100)                       \
	TIME(ATOMIC_P50, "atomic_p50_ns", "atomic p50", RD_LATENCY_ATOMIC, p50, 10)                \
	TIME(ATOMIC_P99, "atomic_p99_ns", "atomic p99", RD_LATENCY_ATOMIC, p99, 100)               \
	TIME(MESSAGE_P50, "message_p50_ns", "message p50", RD_LATENCY_MESSAGE, p50, 10)            \
	TIME(MESSAGE_P99, "message_p99_ns", "message p99", RD_LATENCY_MESSAGE, p99, 100)

#define METRIC_NUMBER(name, ...) METRIC_##name,
enum { METRIC_ROWS(METRIC_NUMBER, METRIC_NUMBER, METRIC_NUMBER) METRICS };
const struct metric *metric_of(unsigned int i);
struct value metric_value(
	unsigned int metric, const struct numbers *before, const struct numbers *after);

/* Streams that are compared: one queue pair with itself, or all of a service. */
struct change {
	enum presence presence;
	struct stream like; /* addresses, verb and service of the first one */
	bool same_qps;	    /* the queue pair has the same numbers */
	struct numbers before, after;
	bool changed; /* a metric has changed */
	/* It is present now, and may be something that the earlier report left out. */
	bool unknown;
	const char *status; /* "new", "gone", "changed", "same", "unknown" */
};

struct found_change {
	const struct found *before, *after; /* NULL: absent */
	struct found shown;		    /* the one after, if there is one */
	bool changed;
	const char *status; /* "new", "gone", "changed", "same" */
};

struct rd_changes {
	const struct rd_snapshot *before, *after;
	struct change *streams;
	size_t n_streams;
	struct found_change *found;
	size_t n_found;
	struct found *by_rule; /* what some of `found` refer to */
	size_t n_by_rule;
};

extern const struct rd_shape changes_shape;

#endif
