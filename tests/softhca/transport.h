/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What queue pairs of the model send: packets (roce.c), how the wire and the sniffer treat them
 * (wire.c), the reliable connection (rc.c, responder.c), datagrams (ud.c) and the send queue
 * (send.c).
 */
#pragma once

#include "softhca.h"

enum {
	SEND_FIRST = 0x00,
	SEND_MIDDLE = 0x01,
	SEND_LAST = 0x02,
	SEND_LAST_IMM = 0x03,
	SEND_ONLY = 0x04,
	SEND_ONLY_IMM = 0x05,
	WRITE_FIRST = 0x06,
	WRITE_MIDDLE = 0x07,
	WRITE_LAST = 0x08,
	WRITE_LAST_IMM = 0x09,
	WRITE_ONLY = 0x0a,
	WRITE_ONLY_IMM = 0x0b,
	READ_REQUEST = 0x0c,
	READ_FIRST = 0x0d,
	READ_MIDDLE = 0x0e,
	READ_LAST = 0x0f,
	READ_ONLY = 0x10,
	ACKNOWLEDGE = 0x11,
	UD_SEND_ONLY = 0x64,
	UD_SEND_ONLY_IMM = 0x65,

	AETH_ACK = 0x1f, /* without a limit of credits */
	AETH_RNR = 0x20, /* with the timer below */
	AETH_PSN_ERROR = 0x60,
	AETH_INVALID_REQUEST = 0x61,
	AETH_ACCESS_ERROR = 0x62,
	AETH_OPERATION_ERROR = 0x63,

	PAYLOAD_MAX = 4096,
	PACKET_MAX = PAYLOAD_MAX + 160,
	GRH_LEN = 40,
	PSN_MASK = 0xffffff,
};

/* A packet's transport headers and payload. Which of the headers it has, the opcode says. */
struct packet {
	uint8_t opcode, syndrome;
	bool ack_req, solicited;
	uint32_t dest_qpn, psn, msn, rkey, dma_len, imm, qkey, src_qpn;
	uint64_t va;
	const uint8_t *payload;
	uint32_t len;
	bool hidden; /* flows do not see it */
};

/* How a packet gets from port to port. */
struct path {
	uint8_t smac[6], dmac[6], sgid[16], dgid[16];
	uint8_t tclass, hop_limit;
	uint16_t sport; /* UDP */
	bool v1;	/* RoCE v1: a GRH instead of IP and UDP */
	bool ib;	/* InfiniBand: an LRH with these LIDs, no GRH, and a VCRC behind the ICRC */
	uint16_t slid, dlid;
	struct port *from, *to; /* to NULL: no port of this device has the destination GID */
};

/* ---- packets (roce.c) ---- */

/* False if the source GID does not exist, or on an InfiniBand port. */
bool path_find(struct hca *h, uint32_t port, uint32_t sgid_index, const uint8_t dgid[16],
	struct path *path);
/* The path from an InfiniBand port; false on others. */
bool path_find_lid(struct hca *h, uint32_t port, uint16_t dlid, struct path *path);
bool gid_is_multicast(const uint8_t gid[16]);
/* The MAC address that RoCE sends to for a GID. */
void gid_to_mac(const struct hca *h, const uint8_t gid[16], uint8_t mac[6]);
/* A frame with a valid ICRC (and VCRC) at out, which holds PACKET_MAX bytes; returns its length. */
uint32_t roce_build(const struct path *path, const struct packet *pk, uint8_t *out);
/* What a datagram's receiver finds before the payload. */
void roce_grh(const uint8_t *frame, const struct path *path, uint8_t grh[GRH_LEN]);

/* ---- the wire (wire.c) ---- */

enum traffic { TRAFFIC_RC, TRAFFIC_UD, TRAFFIC_MULTICAST, TRAFFIC_RAW, TRAFFIC_KINDS };

/* Whether the Nth request packet of a queue pair, from 1, is lost downstream of the sniffer. */
bool wire_loses(uint64_t nth);
bool wire_hides_retransmissions(void);
bool wire_shows_whole_messages(void);
/*
 * Shows the flows a frame that a queue pair sent. to: the port that it arrives at, if it is not
 * lost; NULL: none of this device.
 */
void wire_send(struct port *from, struct port *to, enum traffic kind, bool lost,
	const uint8_t *data, uint32_t len);

/* ---- the send queue (send.c) ---- */

/* An entry of a send queue. */
struct send_wqe {
	uint16_t index, next; /* in units of 64 bytes */
	uint32_t opcode, nsegs, imm;
	bool signaled, solicited;
};

/* False: none is posted. */
bool sq_next(const struct qp *qp, struct send_wqe *w);
const uint8_t *sq_seg(const struct qp *qp, uint16_t wqe, uint32_t seg);
/* The bytes that the data segments from seg on name. */
uint32_t sq_length(const struct qp *qp, const struct send_wqe *w, uint32_t seg);
/* Copies len bytes at an offset of them to out, or from in; false: a key or range is bad. */
bool sq_gather(struct hca *h, const struct qp *qp, const struct send_wqe *w, uint32_t seg,
	uint32_t offset, uint8_t *out, uint32_t len);
bool sq_scatter(struct hca *h, const struct qp *qp, const struct send_wqe *w, uint32_t seg,
	uint32_t offset, const uint8_t *in, uint32_t len);
/* Completes the entry, with byte_cnt for a READ, and takes it off the queue. */
void sq_done(struct hca *h, struct qp *qp, const struct send_wqe *w, uint32_t byte_cnt);
/* The same with an error, which puts the queue pair in error. */
void sq_fail(struct hca *h, struct qp *qp, const struct send_wqe *w, uint8_t syndrome);

/* ---- services ---- */

enum { TURN_PACKETS = 256 };

/* A turn of the device for this queue pair's sends; true: there is more to do at once. */
bool rc_turn(struct hca *h, struct qp *qp);
bool ud_turn(struct hca *h, struct qp *qp);
/* Of a connected queue pair: to its peer, if that is on this device and it is not lost. */
void rc_transmit(struct hca *h, struct qp *qp, const struct packet *pk, bool lost);
void rc_request(struct hca *h, struct qp *qp, const struct packet *pk);	 /* responder.c */
void rc_response(struct hca *h, struct qp *qp, const struct packet *pk); /* rc.c */
/* 0 or the syndrome that the receive earns; offset counts from the message's first byte. */
uint8_t rq_scatter(
	struct hca *h, struct qp *qp, uint32_t offset, const uint8_t *data, uint32_t len);

/* Completes the receive at the queue's head, with success. */
struct receipt {
	uint8_t opcode; /* MLX5_CQE_RESP_* */
	uint32_t len, imm, src_qpn;
	bool grh;
};
void rq_done(struct hca *h, struct qp *qp, const struct receipt *r);
void cqe_write_receipt(struct cq *cq, const struct qp *qp, const struct receipt *r);
