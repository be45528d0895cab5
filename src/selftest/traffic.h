/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One kind of traffic: sends numbered blocks with it, and counts how often the sniffer saw each. */
#ifndef RDMADUMP_SELFTEST_TRAFFIC_H
#define RDMADUMP_SELFTEST_TRAFFIC_H

#include "numbered.h"

#define TRAFFIC_FRAMES 32
#define TRAFFIC_TRIES  5 /* where the ring was full, or the queue failed meanwhile */

/* Drains the sniffer while something is sent. */
struct watch {
	struct sniffer *sniffer;
	struct numbered *m;
	bool full; /* the ring was full at least once */
};

void watch_drain(struct watch *w);

struct traffic {
	const char *name; /* prefix of its values and findings: "raw", "raw_twice" */
	const char *what; /* in a sentence: "frames of a raw-packet QP" */
	/*
	 * Creates the sender, and destroys it again, also after an error of `open`. Commands of the
	 * device may take so long that the ring is full meanwhile. Both may be NULL. 0 or an errno.
	 */
	int (*open)(void *ctx, uint32_t run);
	void (*close)(void *ctx);
	/* Sends the blocks of *w->m once, and drains while it waits. 0 or an errno. */
	int (*send)(const struct rd_selftest *st, void *ctx, struct watch *w);
	void *ctx;
	bool reliable; /* the device retransmits by itself, so that some may be seen again */
};

struct traffic_seen {
	int error;	 /* errno: it was not sent */
	bool full;	 /* the ring was full in all tries, so that nothing is known */
	bool failed;	 /* so did the sniffer's queue: frames are missing for that reason */
	bool compressed; /* its completions are, and cannot be read */
	struct numbered_counts counts;
};

/*
 * A sniffer with its flow, on an active port. Returns 0, or -1 with the result set to skipped or
 * failed; sniffer_close() in any case.
 */
int traffic_sniffer(const struct rd_selftest *st, struct rd_probe_result *r, struct sniffer *s);
/* Sends and collects; m->count numbers, reset at first. */
struct traffic_seen traffic_run(const struct rd_selftest *st, struct sniffer *s,
	const struct traffic *t, struct numbered *m);
/* Whether the result can be judged. */
bool traffic_known(const struct traffic_seen *seen);
/* Whether completions are compressed; if so, adds this as a finding. */
bool traffic_is_unreadable(struct rd_probe_result *r, const struct sniffer *s);
/* Writes values and findings. */
void traffic_report(struct rd_probe_result *r, const struct traffic *t, const struct numbered *m,
	const struct traffic_seen *seen);

#endif
