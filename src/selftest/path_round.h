/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One receive path of captures: the numbered frames that it delivers, and to which queues. */
#ifndef RDMADUMP_SELFTEST_PATH_ROUND_H
#define RDMADUMP_SELFTEST_PATH_ROUND_H

#include "numbered.h"
#include "spread.h"
#include <rdmadump/source.h>

#define PATH_FRAMES 132 /* frames sent in one round */

struct path_round {
	/* Set by the caller. */
	enum rd_rx_mode mode;
	unsigned int wanted; /* queues */

	bool opened;
	char error[RESULT_TEXT]; /* why it was not opened, or what failed later; "": nothing */
	char details[120];	 /* the source's details: how many queues, and why not more */
	const char *path;	 /* "libibverbs": static */
	unsigned int queues;
	uint64_t frames;	     /* all that arrived */
	struct numbered_counts seen; /* counts of the numbered frames */
	uint64_t hash;	  /* hash of the set of numbered frames, independent of their order */
	uint64_t changed; /* numbered frames that differ from what was sent */
	bool lossless;	  /* the device's counters say that it lost no frame */
	struct spread spread;
};

/* What is sent: UDP over IPv4 and IPv6 in several flows, and ARP. `sender` NULL: nothing. */
void path_round_run(struct path_round *p, struct rd_selftest *st, struct numbered_sender *sender);

#endif
