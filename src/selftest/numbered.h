/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbered frames: a probe sends numbers 0 to N-1 and finds out which of them the sniffer saw, how
 * often, and with what changes. Each number is a block of bytes with a magic, the run, the number,
 * its own length and a fill that follows from the number. Raw frames carry one block behind the
 * Ethernet header; other queue pairs and sockets send blocks as payload.
 */
#pragma once

#include "queue_pair.h"
#include "sniffer.h"

#define NUMBERED_TYPE  0x88b5 /* IEEE 802: local experimental */
#define NUMBERED_MIN   32     /* bytes of a block */
#define NUMBERED_HEADS 64     /* maximum number of bytes before the block */
#define NUMBERED_HEAD  14     /* bytes before the block of an untagged raw frame */

/* --- counting ----------------------------------------------------------------------------- */

struct numbered {
	uint32_t run; /* frames of other runs do not count */
	uint32_t count;
	uint8_t *times;	      /* how often each number was seen, up to 255 */
	uint64_t frames;      /* with a block of this run */
	uint64_t changed;     /* whose blocks differ from what was sent */
	uint64_t cut;	      /* frames that end before their block does */
	uint32_t most_blocks; /* in one frame */
	/* Bytes of a frame before its first and after its last block. */
	uint32_t least_before, most_before, least_after, most_after;
	uint32_t last; /* number in the previous frame */
	/* Called with each frame that numbered_look() takes, whether it has a block or not. */
	sniffer_frame_fn *also;
	void *also_ctx;
};

struct numbered_counts {
	uint32_t never, once,
		more; /* how many numbers were never seen, seen once, seen more than once */
};

/* For the numbers 0 to count - 1, up to NUMBERED_MAX. -1: out of memory. */
int numbered_init(struct numbered *m, uint32_t count);
void numbered_free(struct numbered *m);
/* Forgets what was seen; frames in flight still count. */
void numbered_reset(struct numbered *m);
/* Writes the block of a number. `n`: at least NUMBERED_MIN. */
void numbered_block(uint8_t *to, uint32_t n, uint32_t run, uint32_t number);
/* The first block of this run in a frame; NULL: it has none. */
const uint8_t *numbered_find(const struct numbered *m, const uint8_t *data, uint32_t len);
/* Counts a frame; false if it has no block of this run. */
bool numbered_take(struct numbered *m, const uint8_t *data, uint32_t len);
/* The same as a sniffer_frame_fn; `ctx` is the struct numbered. */
void numbered_look(void *ctx, const uint8_t *data, uint32_t len);
struct numbered_counts numbered_counts(const struct numbered *m);

/* --- what is sent ------------------------------------------------------------------------- */

/* A RAW_PACKET queue pair that sends to the port's own MAC address. */
struct numbered_sender {
	struct queue_pair q;
	uint8_t head[NUMBERED_HEADS]; /* the Ethernet header, with tags, or whatever a probe puts */
	uint32_t head_len, run, len;  /* len: of the whole frame, without tags and FCS */
	uint32_t outstanding, slot;
	uint64_t errors; /* completions with an error */
};

/*
 * `len`: of the frames, NUMBERED_HEAD + NUMBERED_MIN to RING_BUFFER - 8; a port may refuse what
 * is longer than its MTU. Returns 0 or an errno: EOPNOTSUPP on InfiniBand ports, ENODEV without a
 * netdev, MAY_SEND_NOT (may_send.c). queue_pair_close() of its `q` in any case.
 */
int numbered_sender_open(struct numbered_sender *s, struct ibv_context *ctx,
	const struct rd_port *port, uint32_t run, uint32_t len);
/* Adds a VLAN tag before the existing ones (at most two). */
void numbered_sender_tag(struct numbered_sender *s, uint16_t tpid, uint16_t tci);
/*
 * Sends the numbers first to first + n - 1 as fast as the device accepts them, and waits until they
 * are sent. Returns how many were sent.
 */
uint32_t numbered_send(
	const struct rd_selftest *st, struct numbered_sender *s, uint32_t first, uint32_t n);

/* --- both --------------------------------------------------------------------------------- */

/*
 * Drains the sniffer until every number was seen and nothing follows, or for WAIT_NUMBERED_MS.
 * True if the ring was full at least once.
 */
bool numbered_collect(const struct rd_selftest *st, struct sniffer *s, struct numbered *m);
/*
 * Sends all numbers at a rate of at most SEND_PER_S while draining the sniffer, then collects.
 * True: what was not seen did not reach the sniffer. Else the ring was full, the device did not
 * send all, or the time limit expired.
 */
bool numbered_exchange(const struct rd_selftest *st, struct numbered_sender *sender,
	struct sniffer *s, struct numbered *m);
