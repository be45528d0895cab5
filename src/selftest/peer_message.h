/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The messages between the two ends of `selftest --peer`, and their wire format. Everything is of
 * fixed length: a head (magic, version, type, length of the body) and the body of that type, all in
 * network byte order. What the other end sends is untrusted, and is checked here.
 */
#ifndef RDMADUMP_SELFTEST_PEER_MESSAGE_H
#define RDMADUMP_SELFTEST_PEER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEER_VERSION 1
#define PEER_FRAMES  64 /* frames of each kind and direction */
#define PEER_HEAD    16 /* bytes */
#define PEER_BODY    256
#define PEER_NAME    32 /* bytes of a text, with its end */

enum peer_type { PEER_HELLO, PEER_READY, PEER_GO, PEER_SENT, PEER_SEEN, PEER_BYE, PEER_TYPES };

/* Once, from both ends. */
struct peer_hello {
	char program[PEER_NAME], device[PEER_NAME];
	char watches[PEER_NAME]; /* by "sniffer", "netdev", or "" */
	uint8_t infiniband;	 /* the link: 0 is Ethernet */
	uint8_t has_mac, has_gid;
	uint8_t gid_type; /* enum rd_gid_type */
	uint8_t mac[6];
	uint8_t gid[16];
	uint32_t lid;
};

/* Before each round, from both ends. */
struct peer_ready {
	uint32_t kind, from_listener; /* which round it is */
	char error[PEER_NAME];	      /* name of an errno: this end cannot do it; "": it can */
	uint32_t run;		      /* run of the numbered frames, set by the sender */
	uint32_t qpn, rkey, mtu;
	uint64_t address; /* virtual address of the memory to write to */
};

/* GO, from the receiver: it is ready; SENT, from the sender: it has sent. */
struct peer_step {
	char error[PEER_NAME];
	uint32_t frames; /* SENT: number of frames sent */
};

/* After each round, from both ends. */
struct peer_seen {
	uint8_t full;		      /* the ring was full, so that frames may be lost there */
	uint8_t arrival_known;	      /* `arrived` counts */
	uint8_t times[PEER_FRAMES];   /* how often this end's capture saw each number */
	uint8_t arrived[PEER_FRAMES]; /* whether it arrived at its program */
};

struct peer_message {
	enum peer_type type;
	union {
		struct peer_hello hello;
		struct peer_ready ready;
		struct peer_step step;
		struct peer_seen seen;
	};
};

enum peer_fault {
	PEER_GOOD,
	PEER_NO_PEER,	    /* the magic does not match: another program */
	PEER_OTHER_VERSION, /* other version of the protocol */
	PEER_MALFORMED,
};

/* Writes head and body; returns their bytes, at most PEER_HEAD + PEER_BODY. */
size_t peer_message_put(uint8_t *to, const struct peer_message *m);
/* Reads a head of PEER_HEAD bytes: the type, and the bytes of its body, at most PEER_BODY. */
enum peer_fault peer_head_get(
	const uint8_t *from, enum peer_type *type, size_t *body, uint32_t *version);
/* Reads the body of that type, of the length that peer_head_get() returned. */
enum peer_fault peer_body_get(struct peer_message *m, enum peer_type type, const uint8_t *from);

#endif
