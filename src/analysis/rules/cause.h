/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a rule means for the verdict. Places follow from the side of the capture point on which
 * something is missing, and from the host of the capture point where the file says which one it is.
 */
#pragma once

#include <rdmadump/verdict.h>

/*
 * Where the capture was made, relative to the requests of a side, according to the facts in the
 * file and to the directions of its frames.
 */
enum tap { TAP_UNKNOWN, TAP_SENDER, TAP_RECEIVER, TAP_COUNT };

struct cause {
	/*
	 * A lower one explains those above it; 0: the rule is no cause. SAYS_NOTHING: a note that
	 * the capture shows nothing is the verdict.
	 */
	unsigned int rank;
	const char *label; /* what it is in a word, which the verdict begins with */
	/*
	 * "{s}" is the sender of the requests, "{r}" their receiver. NULL: derived from `mixed`, or
	 * from the finding's title.
	 */
	const char *what;
	enum rd_certainty where;	/* the highest certainty that it is in these places */
	const char *counted;		/* of how_much: "Packets lost" */
	unsigned int mixed;		/* enum rd_mixed */
	unsigned int places[TAP_COUNT]; /* where it can be, for each place of the capture */
};

#define SAYS_NOTHING 1
#define CAUSE(rank, label, what, where, counted, mixed, ...)                                       \
	{                                                                                          \
		rank, label, what, where, counted, mixed,                                          \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

#define SH RD_PLACE_SENDER_HOST
#define SN RD_PLACE_SENDER_NIC
#define FA RD_PLACE_FABRIC
#define RN RD_PLACE_RECEIVER_NIC
#define RH RD_PLACE_RECEIVER_HOST

#define LOST	  RD_MIXED_LOST
#define LATE	  RD_MIXED_LATE
#define UP	  RD_MIXED_UPSTREAM
#define DOWN	  RD_MIXED_DOWNSTREAM
#define RESPONSES RD_MIXED_RESPONSES

/* Of a capture point at an unknown host, at the sender, at the receiver. */
#define ANYWHERE(p)	p, p, p
#define UPSTREAM	SN | FA, SN, SN | FA
#define DOWNSTREAM	FA | RN, FA | RN, RN
#define BACK_UPSTREAM	RN | FA, RN | FA, RN
#define BACK_DOWNSTREAM FA | SN, SN, FA | SN
#define UNANSWERED	FA | RN | RH, FA | RN | RH, RN | RH
