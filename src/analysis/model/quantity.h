/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Derives a device's counters from the packets. */
#ifndef RDMADUMP_ANALYSIS_QUANTITY_H
#define RDMADUMP_ANALYSIS_QUANTITY_H

#include "state.h"

enum whose {
	SENT,	  /* frames of the device */
	RECEIVED, /* frames of its peers */
	OWN,	  /* its requests */
	PEERS	  /* requests that it responds to */
};

#define INCIDENTS_MAX 4
#define NO_INCIDENT   RD_INC_COUNT

struct quantity {
	const char *counter, *meaning;
	enum whose whose;
	enum rd_incident_kind incidents[INCIDENTS_MAX]; /* summed; ended by NO_INCIDENT */
	bool exact; /* otherwise a difference of up to a fiftieth is ignored */
};

#define HW "hw_counters/"

#define QUANTITIES 16
extern const struct quantity quantities[QUANTITIES]; /* rows without a counter end it */

struct facts_port;

/*
 * Where the ends of a flow are, seen from a port. TWICE: the other end is a port that was captured,
 * too, so the file may have each frame twice.
 */
enum { FROM_PORT = 1, TO_PORT = 2, TO_GROUP = 4, TWICE = 8 };

/*
 * For each flow, a sum of these. NULL if out of memory or there are no flows. Free it with free();
 * make it again after flows were added.
 */
uint8_t *quantity_places(const struct rd_analysis *a, const struct facts_port *p);
/* The count from all packets so far, of flows with all these bits; not after flow_finish(). */
uint64_t quantity_shown(
	const struct rd_analysis *a, const uint8_t *places, uint8_t bits, const struct quantity *q);

#endif
