/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What each rule of a finding means for the verdict. */
#ifndef RDMADUMP_ANALYSIS_CAUSES_H
#define RDMADUMP_ANALYSIS_CAUSES_H

#include "verdict.h"

struct cause {
	const char *rule;
	unsigned int rank; /* a lower one explains those above it */
	/* "{s}" is the sender of the requests, "{r}" their receiver. NULL: made of `mixed`, or of
	 * the finding's title. */
	const char *what;
	unsigned int places[TAP_COUNT]; /* where it can be, for each place of the capture */
	enum rd_certainty where;	/* the highest one, that it is in these places */
	const char *counted;		/* of how_much: "Packets lost" */
	unsigned int mixed;		/* enum rd_mixed */
};

/* That of a rule; one that names no place if the table has no row for it. */
const struct cause *cause_of(const char *rule);

#endif
