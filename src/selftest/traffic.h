/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One kind of traffic: sends numbered blocks with it, and counts how often the sniffer saw each. */
#pragma once

#include "numbered.h"

#define TRAFFIC_FRAMES 32
#define TRAFFIC_TRIES  5   /* where the ring was full, or the queue failed meanwhile */
#define TRAFFIC_BYTES  128 /* of a message: one packet */

/* Drains the sniffer while something is sent. */
struct watch {
	struct sniffer *sniffer;
	struct numbered *m;
	bool full; /* the ring was full at least once */
};

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
	bool reliable;		/* the device retransmits by itself: some may be seen again */
	sniffer_frame_fn *also; /* gets each frame, with `ctx`; NULL: nothing */
};

struct traffic_seen {
	int error;	 /* errno: it was not sent */
	bool full;	 /* the ring was full in all tries, so that nothing is known */
	bool failed;	 /* so did the sniffer's queue: frames are missing for that reason */
	bool compressed; /* its completions are, and cannot be read */
	struct numbered_counts counts;
};

/* Sends and collects; m->count numbers, reset at first. */
struct traffic_seen traffic_run(const struct rd_selftest *st, struct sniffer *s,
	const struct traffic *t, struct numbered *m);
/* Whether the result can be judged. */
bool traffic_known(const struct traffic_seen *seen);
/* Runs it with `count` numbers, and writes values and findings. Returns whether it was judged. */
bool traffic_try(const struct rd_selftest *st, struct rd_probe_result *r, struct sniffer *s,
	const struct traffic *t, uint32_t count);
/* What a probe of `tried` kinds of traffic found, of which `known` were judged. */
void traffic_summarize(const struct rd_selftest *st, struct rd_probe_result *r,
	const struct sniffer *s, unsigned int known, unsigned int tried, const char *means);

/*
 * Sends `n` bytes from the beginning of q->memory, and drains the sniffer until that has ended.
 * Returns 0 or an errno; *status is IBV_WC_RETRY_EXC_ERR if there is no response.
 */
int traffic_message(const struct rd_selftest *st, struct queue_pair *q, const struct queue_pair *to,
	uint32_t n, struct watch *w, enum ibv_wc_status *status);
/* Sends the numbers of w->m, a block of `n` bytes in each message. 0 or an errno. */
int traffic_messages(const struct rd_selftest *st, struct queue_pair *q,
	const struct queue_pair *to, struct watch *w, uint32_t n);

/* Two queue pairs of the port: `ctx` of both functions. */
struct pair {
	struct ibv_context *ctx;
	const struct rd_port *port;
	enum ibv_qp_type type; /* IBV_QPT_RC: WRITEs; IBV_QPT_UD: datagrams */
	struct queue_pair q[2];
	unsigned int acks; /* ACKs that the sender received */
};

int pair_open(void *ctx, uint32_t run);
void pair_close(void *ctx);
/* WRITEs, then datagrams, within the tested port. Returns how many of these two kinds are known. */
unsigned int traffic_within_port(const struct rd_selftest *st, struct rd_probe_result *r,
	struct sniffer *s, unsigned int *acks);
