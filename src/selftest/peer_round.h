/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A round of `selftest --peer`: one end sends PEER_FRAMES numbered frames of one kind to the other,
 * and both count what their captures see. The rounds and their order are fixed, so that neither end
 * controls what the other one does.
 */
#ifndef RDMADUMP_SELFTEST_PEER_ROUND_H
#define RDMADUMP_SELFTEST_PEER_ROUND_H

#include "peer_link.h"
#include "queue_pair.h"
#include "tap.h"
#include <linux/if_packet.h>
#include <rdmadump/clock.h>

/* The tag that is sent: priority 3 in VLAN 0, which most switches forward. */
#define PEER_TPID 0x8100
#define PEER_TCI  0x6000

/* What this end captures with: the device's sniffer, or else the port's netdev. */
struct peer_eye {
	struct ibv_context *ctx; /* the sniffer's, or opened only for the QPs */
	struct sniffer sniffer;
	struct tap tap;
	const char *name; /* "sniffer", "netdev" or "": none */
};

/* The contents of frames, over all rounds. */
struct peer_contents {
	struct rd_clock clock;
	struct {
		uint64_t right, wrong, absent;
	} icrc[2];	   /* received, sent */
	uint64_t fcs, cut; /* frames */
	struct {
		uint64_t stripped, other;
	} tag[2]; /* received, sent: without their VLAN tag, with other headers */
};

struct peer_round {
	const struct rd_selftest *st;
	struct rd_probe_result *result;
	const struct peer_kind *kind;
	uint32_t number; /* the kind's number */
	bool sends;	 /* this end */
	struct peer_eye *eye;
	const struct peer_hello *here, *there;
	struct peer_ready mine, theirs;
	struct numbered seen, arrived; /* seen by the capture; arrived at the program */
	bool arrival_known;
	struct watch watch;
	struct peer_contents *contents;
	unsigned int kept; /* frames, for the capture file */
	/* Owned by the kind; closed by its close(). */
	int fd, arrival_fd;
	uint16_t tci; /* VLAN tag that is sent; 0: none */
	struct sockaddr_ll link;
	struct sockaddr_storage to;
	struct queue_pair pair;
	struct numbered_sender sender;
};

/* Functions return 0 or an errno. */
struct peer_kind {
	const char *name; /* "udp": the prefix of values and findings */
	const char *what; /* in a sentence */
	uint32_t before;  /* bytes of a frame before its block; 0: headers of IP or InfiniBand */
	/* Creates what this end needs, and fills in what the other end must know. */
	int (*open)(struct peer_round *p);
	/* Called when the other end is open as well. */
	int (*connect)(struct peer_round *p);
	int (*send)(struct peer_round *p, uint32_t number);
	/* Takes what has arrived at the program; NULL: nothing arrives there. */
	void (*receive)(struct peer_round *p);
	bool acknowledged; /* frames sent without error have arrived */
};

extern const struct peer_kind peer_kinds[];
extern const unsigned int peer_n_kinds;

/* Closes everything that open() and connect() created. */
void peer_kind_close(struct peer_round *p);

/* peer_socket.c: kinds that the kernel's network stack sends. */
int peer_udp_open(struct peer_round *p);
int peer_udp_send(struct peer_round *p, uint32_t number);
void peer_udp_receive(struct peer_round *p);
int peer_packet_open(struct peer_round *p);
int peer_tagged_open(struct peer_round *p);
int peer_packet_send(struct peer_round *p, uint32_t number);
/* Frames of numbered_sender and of packet sockets arrive at a packet socket. */
int peer_arrival_open(struct peer_round *p);
void peer_arrival_receive(struct peer_round *p);
/* Joins the multicast group that queue pairs use. 0 or an errno. */
int peer_group_join(struct peer_round *p);

/*
 * Runs one round. Returns 0 with everything reported, or -1 if the connection to the other end is
 * unusable. *known: whether the round has a result.
 */
int peer_round_run(struct peer_round *p, struct peer_link *l, bool *known);

/*
 * peer_report.c: the values of a round, and conclusions from both ends' counts. Returns whether it
 * shows anything about this end's capture.
 */
bool peer_report(struct peer_round *p, const struct peer_step *sent, const struct peer_seen *mine,
	const struct peer_seen *theirs);
/* A round that one of the ends cannot run. */
void peer_report_error(struct peer_round *p, const char *here, const char *there);
/* After all rounds. */
void peer_report_contents(struct rd_probe_result *r, const struct peer_contents *c);

#endif
