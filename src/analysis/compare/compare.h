/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Internals of the comparison of two analyses. Traffic and findings are items with keys and
 * numbers: those with the same keys are added up, and compared with those of the other report.
 */
#pragma once

#include <rdmadump/compare.h>
#include <rdmadump/shape.h>

/* In the order in which items are sorted. */
enum key {
	KEY_RULE,
	KEY_FROM, /* an address; of a finding only if it is a conversation's */
	KEY_TO,
	KEY_WHERE, /* of a finding that is no conversation's */
	KEY_COUNTER,
	KEY_TRANSPORT,
	KEY_VERB,    /* the one with the most bytes */
	KEY_SERVICE, /* id of the CM */
	KEY_FROM_QP,
	KEY_TO_QP,
	KEY_TITLE,
	KEYS
};

/* Which keys are the same: of the requests of one queue pair to another; of findings. */
#define BIT(name)  (1U << KEY_##name)
#define BY_VERB	   (BIT(FROM) | BIT(TO) | BIT(TRANSPORT) | BIT(VERB))
#define BY_SERVICE (BY_VERB | BIT(SERVICE))
#define BY_QPS	   (BY_VERB | BIT(FROM_QP) | BIT(TO_QP))
#define BY_PLACE   (BIT(RULE) | BIT(FROM) | BIT(TO) | BIT(WHERE) | BIT(COUNTER))

enum number {
	N_ITEMS, /* QPs with requests in this direction, or findings; 0: absent */
	N_COUNT, /* how often it was found */
	N_FRAMES,
	N_REQUESTS,
	N_GOODPUT,   /* bytes */
	N_DIFFERENT, /* request packets without copies, including lost ones */
	N_COPIES,
	N_RETRANSMITTED,
	N_LOST,
	N_UPSTREAM, /* of those lost */
	N_NAKS,
	N_RNR,
	N_CNP,
	N_CE,
	N_ACK, /* samples; followed by their median and their 99th percentile */
	N_READ = N_ACK + 3,
	N_ATOMIC = N_READ + 3,
	N_MESSAGE = N_ATOMIC + 3,
	NUMBERS = N_MESSAGE + 3
};

struct item {
	json_t *key[KEYS]; /* strings, of QPs integers; anything else is unknown */
	uint64_t n[NUMBERS];
	uint64_t first_ns, last_ns; /* of the conversations, since the start of the capture */
	enum rd_severity severity;
	enum rd_certainty certainty;
	/* A finding of a conversation that the report does not list, or several that it only
	 * counts; then, all of its rule. */
	bool partial;
	bool taken; /* while items are matched */
};

/* "" if it is unknown. */
const char *item_text(const struct item *x, enum key key);
uint32_t item_qp(const struct item *x, enum key key);
/* By the keys of a mask. */
int item_order(unsigned int mask, const struct item *x, const struct item *y);
/* The sum has the keys of the worst one, else of the first one, borrowed. */
void item_add(struct item *sum, const struct item *x);

struct items {
	struct item *item;
	size_t n;
};

struct rd_snapshot {
	uint64_t start_ns, duration_ns, frames;
	uint64_t conversations, left_out; /* listed, and in the report but not listed */
	uint64_t findings_left_out;	  /* only counted, or without a place */
	struct items streams;		  /* each direction of a conversation that has requests */
	struct items found;		  /* by rule */
};

/* --- changes ---------------------------------------------------------------------------------- */

/* Items that are compared. */
struct change {
	unsigned int level;	   /* the keys that they have in common */
	struct item before, after; /* sums */
	bool part;		   /* `before` is perhaps not all: its rates are unknown */
	bool changed;
	/* It is present now, and may be something that the earlier report left out. */
	bool unknown;
	const char *status; /* "new", "gone", "changed", "same", "unknown" */
	struct item shown;  /* the one after, if there is one */
};

struct list {
	struct change *change;
	size_t n;
};

struct rd_changes {
	const struct rd_snapshot *before, *after;
	struct list streams, found;
};

/* --- metrics ---------------------------------------------------------------------------------- */

enum unit { UNIT_RATE, UNIT_SHARE, UNIT_TIME };

/* One value of both captures. */
struct value {
	double before, after; /* bit/s, per cent, nanoseconds; NaN: unknown */
	int change;	      /* 0: no significant change, 1: better, -1: worse */
	bool few;	      /* differs, but has too few samples to count */
};

/* Name, key, label, unit, number; what it is a share of, or how often it was measured; samples that
 * it needs. */
#define METRIC_ROWS(ROW)                                                                           \
	ROW(GOODPUT, "goodput_bps", "goodput", RATE, N_GOODPUT, 0, 0)                              \
	ROW(RETRANSMITTED, "retransmitted_percent", "retransmitted", SHARE, N_RETRANSMITTED,       \
		N_REQUESTS, 0)                                                                     \
	ROW(LOST, "lost_percent", "lost packets", SHARE, N_LOST, N_DIFFERENT, 0)                   \
	ROW(NAK, "nak_percent", "NAKs", SHARE, N_NAKS, N_REQUESTS, 0)                              \
	ROW(RNR, "rnr_percent", "RNR NAKs", SHARE, N_RNR, N_REQUESTS, 0)                           \
	ROW(CNP, "cnp_percent", "CNPs", SHARE, N_CNP, N_REQUESTS, 0)                               \
	ROW(CE, "ecn_ce_percent", "CE marks", SHARE, N_CE, N_FRAMES, 0)                            \
	ROW(ACK_P50, "ack_p50_ns", "ACK p50", TIME, N_ACK + 1, N_ACK, 10)                          \
	ROW(ACK_P99, "ack_p99_ns", "ACK p99", TIME, N_ACK + 2, N_ACK, 100)                         \
	ROW(READ_P50, "read_p50_ns", "READ p50", TIME, N_READ + 1, N_READ, 10)                     \
	ROW(READ_P99, "read_p99_ns", "READ p99", TIME, N_READ + 2, N_READ, 100)                    \
	ROW(ATOMIC_P50, "atomic_p50_ns", "atomic p50", TIME, N_ATOMIC + 1, N_ATOMIC, 10)           \
	ROW(ATOMIC_P99, "atomic_p99_ns", "atomic p99", TIME, N_ATOMIC + 2, N_ATOMIC, 100)          \
	ROW(MESSAGE_P50, "message_p50_ns", "message p50", TIME, N_MESSAGE + 1, N_MESSAGE, 10)      \
	ROW(MESSAGE_P99, "message_p99_ns", "message p99", TIME, N_MESSAGE + 2, N_MESSAGE, 100)

#define METRIC_NUMBER(name, ...) METRIC_##name,
enum { METRIC_ROWS(METRIC_NUMBER) METRICS };

extern const struct metric {
	const char *label;
	enum unit unit;
	uint8_t value, of; /* enum number */
	uint64_t samples;
} metrics[METRICS];

struct value metric_value(unsigned int metric, const struct change *c);

extern const struct rd_shape changes_shape;
