/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The TCP connection between the two ends of `selftest --peer`. Every wait is bounded: by its own
 * timeout, by the probe's, and by an interruption.
 */
#ifndef RDMADUMP_SELFTEST_PEER_LINK_H
#define RDMADUMP_SELFTEST_PEER_LINK_H

#include "peer_message.h"
#include "selftest.h"

struct peer_link {
	const struct rd_selftest *st;
	int fd; /* -1: none */
	bool lost;
	unsigned int patience_ms; /* for one message */
	char why[RESULT_TEXT];	  /* what went wrong; "" after an interruption */
	/* Called at least every millisecond while waiting for a message. May be NULL. */
	void (*idle)(void *ctx);
	void *ctx;
};

/*
 * Both ends exchange `here` and *there: one connects to config->peer, the other waits for it, for
 * PEER_LISTEN_S. Connections that are not from a peer are closed, and the wait continues. Returns
 * 0, or -1 with why; peer_link_close() in any case.
 */
int peer_link_connect(struct peer_link *l, const struct rd_selftest *st,
	const struct peer_hello *here, struct peer_hello *there);
int peer_link_accept(struct peer_link *l, const struct rd_selftest *st,
	const struct peer_hello *here, struct peer_hello *there); /* peer_listen.c */
/* Returns 0, or -1 with why: the connection is then unusable. */
int peer_link_send(struct peer_link *l, const struct peer_message *m);
/* The next message, which must be of that type. */
int peer_link_receive(struct peer_link *l, enum peer_type type, struct peer_message *m);
/* The peer is at another step: returns -1 with why. */
int peer_link_out_of_step(struct peer_link *l);
void peer_link_close(struct peer_link *l);

/* --- for peer_listen.c -------------------------------------------------------------------- */

void peer_link_begin(struct peer_link *l, const struct rd_selftest *st);
/* Sets why, unless the user interrupted the run. Returns -1, as the next one. */
int peer_link_fail(struct peer_link *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What is wrong with a message; `version` is that of its head. */
int peer_link_refuse(struct peer_link *l, enum peer_fault fault, uint32_t version);
int peer_link_hello(struct peer_link *l, const struct peer_hello *here);

#endif
