/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is sent from end to end: by the kernel, and by queue pairs of the device. */
#include "peer_round.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define FRAME_BYTES   256
#define PAYLOAD_BYTES 128
#define TAG	      4
#define ACK_TIMEOUT   15 /* 134 ms: the other machine may be busy */
#define RETRIES	      6	 /* not 7, which rxe never counts down */

/* --- raw-packet queue pair ---------------------------------------------------------------- */

static int raw_open(struct peer_round *p)
{
	int rc;

	if (!p->sends)
		return peer_arrival_open(p);
	if (!p->eye->ctx)
		return ENODEV;
	rc = numbered_sender_open(&p->sender, p->eye->ctx, p->st->port, p->seen.run, FRAME_BYTES);
	memcpy(p->sender.head, p->there->mac, sizeof(p->there->mac));
	return rc;
}

static int raw_send(struct peer_round *p, uint32_t number)
{
	return numbered_send(p->st, &p->sender, number, 1) == 1 ? 0 : EIO;
}

/* On devices without such queue pairs the kernel sends it. */
static int tagged_open(struct peer_round *p)
{
	int rc = raw_open(p);

	if (!p->sends || rc) {
		numbered_sender_close(&p->sender);
		return peer_tagged_open(p);
	}
	numbered_sender_tag(&p->sender, PEER_TPID, PEER_TCI);
	return 0;
}

static int tagged_send(struct peer_round *p, uint32_t number)
{
	return p->sender.qp ? raw_send(p, number) : peer_packet_send(p, number);
}

/* --- RC and UD ---------------------------------------------------------------------------- */

static int pair_open(struct peer_round *p, enum ibv_qp_type type)
{
	struct queue_pair_end end;
	int rc;

	if (!p->eye->ctx)
		return ENODEV;
	if (!p->here->infiniband && p->here->gid_type != p->there->gid_type)
		return EPROTONOSUPPORT;
	rc = queue_pair_open(&p->pair, p->eye->ctx, p->st->port, type);
	if (rc)
		return rc;
	p->pair.retries = RETRIES;
	p->pair.ack_timeout = ACK_TIMEOUT;
	end = queue_pair_end(&p->pair);
	p->mine.qpn = end.qpn;
	p->mine.rkey = end.rkey;
	p->mine.mtu = end.mtu;
	p->mine.address = end.address;
	return 0;
}

static int rc_open(struct peer_round *p)
{
	return pair_open(p, IBV_QPT_RC);
}

static struct queue_pair_end other_end(const struct peer_round *p)
{
	struct queue_pair_end end = {.qpn = p->theirs.qpn,
		.rkey = p->theirs.rkey,
		.mtu = p->theirs.mtu,
		.lid = p->there->lid,
		.address = p->theirs.address};

	memcpy(end.gid, p->there->gid, sizeof(end.gid));
	return end;
}

static int rc_connect(struct peer_round *p)
{
	const struct queue_pair_end end = other_end(p);

	return end.qpn ? queue_pair_connect_end(&p->pair, &end) : EINVAL;
}

static int pair_send(struct peer_round *p, uint32_t number)
{
	const struct queue_pair_end end = other_end(p);
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	int rc;

	numbered_block(p->pair.memory, PAYLOAD_BYTES, p->seen.run, number);
	rc = queue_pair_send_end(p->st, &p->pair, &end, PAYLOAD_BYTES, &p->watch, &status);
	if (!rc && status != IBV_WC_SUCCESS)
		rc = status == IBV_WC_RETRY_EXC_ERR ? EHOSTUNREACH : EIO;
	return rc;
}

static int multicast_open(struct peer_round *p)
{
	return pair_open(p, IBV_QPT_UD);
}

static int multicast_connect(struct peer_round *p)
{
	int rc = p->sends ? queue_pair_address(&p->pair, NULL) : queue_pair_join(&p->pair);

	/* The device may pass on the group without it; switches and rxe do not. */
	if (!rc && !p->sends)
		peer_group_join(p);
	p->arrival_known = !p->sends && !rc;
	return rc;
}

static void multicast_receive(struct peer_round *p)
{
	queue_pair_receive(&p->pair, numbered_look, &p->arrived);
}

/* --- all ---------------------------------------------------------------------------------- */

const struct peer_kind peer_kinds[] = {
	{"udp", "UDP datagrams of the kernel", 0, peer_udp_open, NULL, peer_udp_send,
		peer_udp_receive, false},
	{"socket", "frames of a packet socket", NUMBERED_HEAD, peer_packet_open, NULL,
		peer_packet_send, peer_arrival_receive, false},
	{"vlan", "frames with a VLAN tag", NUMBERED_HEAD + TAG, tagged_open, NULL, tagged_send,
		peer_arrival_receive, false},
	{"raw", "frames of a raw-packet QP", NUMBERED_HEAD, raw_open, NULL, raw_send,
		peer_arrival_receive, false},
	{"rc", "WRITEs of a reliable connection", 0, rc_open, rc_connect, pair_send, NULL, true},
	{"multicast", "multicast datagrams", 0, multicast_open, multicast_connect, pair_send,
		multicast_receive, false},
};
const unsigned int peer_n_kinds = sizeof(peer_kinds) / sizeof(*peer_kinds);

void peer_kind_close(struct peer_round *p)
{
	queue_pair_close(&p->pair);
	numbered_sender_close(&p->sender);
	if (p->fd >= 0)
		close(p->fd);
	if (p->arrival_fd >= 0)
		close(p->arrival_fd);
	p->fd = p->arrival_fd = -1;
}
