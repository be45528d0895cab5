/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One receive path of captures: the numbered frames that it delivers, and to which queues. */
#ifndef RDMADUMP_SELFTEST_PATHS_H
#define RDMADUMP_SELFTEST_PATHS_H

#include "numbered.h"
#include <rdmadump/source.h>

#define PATH_FRAMES    128 /* frames sent in one round */
#define PATH_FLOWS_IP  16  /* flows per IP version; all in one of two queues by chance: 2^-15 */
#define PATH_FLOWS     (2 * PATH_FLOWS_IP)
#define PATH_QUEUES    4
#define PATH_PROTOCOLS 2 /* IPv4, IPv6 */

struct path_round {
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
	uint64_t by_queue[PATH_PROTOCOLS][PATH_QUEUES]; /* numbered frames */
	uint64_t strayed; /* numbered frames in another queue than the first one of their flow */
};

/* Sends UDP over IPv4 and IPv6 in several flows. `sender` NULL: nothing. */
void path_round_run(struct path_round *p, enum rd_rx_mode mode, unsigned int queues,
	struct rd_selftest *st, struct numbered_sender *sender);

#endif
