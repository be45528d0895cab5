/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The meaning of each rule for the verdict. */
#ifndef RDMADUMP_ANALYSIS_CAUSES_H
#define RDMADUMP_ANALYSIS_CAUSES_H

#include "verdict.h"

struct cause {
	const char *rule;
	unsigned int rank; /* a lower one explains those above it */
	/*
	 * "{s}" is the sender of the requests, "{r}" their receiver. NULL: derived from `mixed`, or
	 * from the finding's title.
	 */
	const char *what;
	unsigned int places[TAP_COUNT]; /* where it can be, for each place of the capture */
	enum rd_certainty where;	/* the highest certainty that it is in these places */
	const char *counted;		/* of how_much: "Packets lost" */
	unsigned int mixed;		/* enum rd_mixed */
};

/* The row of a rule; if it has none, a row that names no place. */
const struct cause *cause_of(const char *rule);

/* What else would show that it happened, where no other capture does: "{r}" is a host. NULL. */
const char *surer_of(const char *rule);

/* Where a finding of this cause can be, for a capture made there. `c` is its conversation. */
unsigned int places_of(const struct cause *cause, const struct rd_conversation *c,
	const struct rd_finding *f, enum tap at);

#endif
