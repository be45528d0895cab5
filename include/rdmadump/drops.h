/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a capture lost, in the words that every command and every file uses. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whose loss the text is about. */
enum rd_drops_of {
	RD_DROPS_CAPTURE, /* of a capture on devices */
	RD_DROPS_AGAIN,	  /* of a file that is read, and of the capture that made it */
	RD_DROPS_FILE,	  /* of the capture that made a file, from the file's numbers alone */
};

/* What the device's counters count beside the frames that this capture lacks. */
enum rd_drops_scope {
	RD_DROPS_PLAIN,	 /* nothing to say */
	RD_DROPS_SHARED, /* for every queue pair of the function */
	RD_DROPS_EARLY,	 /* frames before the filter, too */
};

#define RD_DROPS_TEXT	 320
#define RD_DROPS_IN_LAST "the last file of the series says it" /* `why` of the others */

struct rd_drops {
	enum rd_drops_of of;
	/* Exact counts of this program: no buffer was free; not written to the output. */
	uint64_t no_buffer, unwritten;
	uint64_t too_long; /* exact: frames longer than the receive buffer */
	uint64_t device;   /* by the device's counters, at least */
	bool device_known; /* `device` is exact; else `why` says what is missing */
	bool counted;	   /* there are counters, so that a lower bound means something */
	bool moved;	   /* a counter of the device that tells of loss changed */
	bool unsettled;	   /* the counters were read before their caches had expired */
	enum rd_drops_scope scope;
	uint64_t delivered;	 /* by the device */
	char counters[96];	 /* "out_of_buffer"; "": none */
	char why[RD_DROPS_TEXT]; /* "out_of_buffer was reset during the capture" */
};

/* The percentage of lost frames among all frames, delivered or lost. */
double rd_loss_percent(uint64_t lost, uint64_t delivered);
/* "dropped by rdmadump 0, dropped by the device 12 (0.40 %; out_of_buffer)". */
void rd_drops_text(const struct rd_drops *drops, char out[RD_DROPS_TEXT]);
/*
 * What the device's counters do and do not count, if one moved or is unknown; else that none moved.
 * "" where there is nothing to say.
 */
void rd_drops_scope(const struct rd_drops *drops, char out[RD_DROPS_TEXT]);
/* Both, with a semicolon; also stored in a file, in the statistics of its first interface. */
void rd_drops_sentence(const struct rd_drops *drops, char out[2 * RD_DROPS_TEXT]);
/* Whether a comment in a file's interface statistics is such a sentence. */
bool rd_drops_is_sentence(const char *comment);
