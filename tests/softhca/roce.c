/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RoCE and InfiniBand packets as bytes: the InfiniBand Architecture Specification 1.4, chapters 7
 * (LRH, ICRC, VCRC), 8 (GRH) and 9 (transport headers), and its annexes A16 (RoCE) and A17 (RoCE
 * v2).
 */
#include <rdma/ib_user_ioctl_verbs.h>

#include "transport.h"

enum {
	ETH = 14,
	LRH = 8,
	IPV4 = 20,
	IPV6 = 40,
	UDP = 8,
	BTH = 12,
	ICRC = 4,
	VCRC = 2,
	GIDS = 4, /* that a port of the model has */
	ROCE_PORT = 4791,

	RETH = 1,
	AETH = 2,
	IMM = 4,
	DETH = 8,
};

/* The extended headers of each opcode, in the order of their bits. */
static const uint8_t extended[256] = {
	[SEND_LAST_IMM] = IMM,
	[SEND_ONLY_IMM] = IMM,
	[WRITE_FIRST] = RETH,
	[WRITE_LAST_IMM] = IMM,
	[WRITE_ONLY] = RETH,
	[WRITE_ONLY_IMM] = RETH | IMM,
	[READ_REQUEST] = RETH,
	[READ_FIRST] = AETH,
	[READ_LAST] = AETH,
	[READ_ONLY] = AETH,
	[ACKNOWLEDGE] = AETH,
	[UD_SEND_ONLY] = DETH,
	[UD_SEND_ONLY_IMM] = DETH | IMM,
};

static uint8_t *put(uint8_t *p, uint64_t v, int bytes)
{
	for (int i = bytes - 1; i >= 0; i--, v >>= 8)
		p[i] = (uint8_t)v;
	return p + bytes;
}

static bool is_v4(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff};

	return !memcmp(gid, mapped, sizeof(mapped));
}

bool gid_is_multicast(const uint8_t gid[16])
{
	return gid[0] == 0xff || (is_v4(gid) && gid[12] >= 224 && gid[12] < 240);
}

static struct port *port_of_gid(const struct hca *h, const uint8_t gid[16])
{
	struct ib_uverbs_gid_entry e;

	for (uint32_t port = 1; port <= h->conf->nports; port++)
		for (uint32_t i = 0; i < GIDS && !h->conf->port[port - 1].ib; i++)
			if (gid_entry_get(h, port, i, &e) && !memcmp(e.gid, gid, 16))
				return (struct port *)&h->port[port - 1];
	return NULL;
}

/* A group's address follows from the GID; another machine's would come from ARP, and is made up. */
void gid_to_mac(const struct hca *h, const uint8_t gid[16], uint8_t mac[6])
{
	static const uint8_t peer[6] = {0x0c, 0x42, 0xa1, 0, 0, 0xfe};
	const struct port *p = port_of_gid(h, gid);
	const uint8_t group4[6] = {0x01, 0x00, 0x5e, gid[13] & 0x7f, gid[14], gid[15]};
	const uint8_t group6[6] = {0x33, 0x33, gid[12], gid[13], gid[14], gid[15]};
	const uint8_t *from = p ? p->conf->mac : peer;

	if (gid_is_multicast(gid))
		from = is_v4(gid) ? group4 : group6;
	memcpy(mac, from, 6);
}

bool path_find(struct hca *h, uint32_t port, uint32_t sgid_index, const uint8_t dgid[16],
	struct path *path)
{
	struct ib_uverbs_gid_entry e;

	if (port < 1 || port > h->conf->nports || h->conf->port[port - 1].ib ||
		sgid_index >= GIDS || !gid_entry_get(h, port, sgid_index, &e))
		return false;
	*path = (struct path){.from = &h->port[port - 1], .to = port_of_gid(h, dgid)};
	path->v1 = e.gid_type == IB_UVERBS_GID_TYPE_ROCE_V1;
	memcpy(path->smac, path->from->conf->mac, 6);
	memcpy(path->sgid, e.gid, 16);
	memcpy(path->dgid, dgid, 16);
	gid_to_mac(h, dgid, path->dmac);
	return true;
}

static struct port *port_of_lid(struct hca *h, uint16_t lid)
{
	for (uint32_t i = 0; i < h->conf->nports; i++)
		if (h->conf->port[i].ib && h->conf->port[i].lid == lid)
			return &h->port[i];
	return NULL;
}

bool path_find_lid(struct hca *h, uint32_t port, uint16_t dlid, struct path *path)
{
	if (port < 1 || port > h->conf->nports || !h->conf->port[port - 1].ib)
		return false;
	*path = (struct path){.from = &h->port[port - 1],
		.to = port_of_lid(h, dlid),
		.ib = true,
		.slid = (uint16_t)h->conf->port[port - 1].lid,
		.dlid = dlid};
	return true;
}

static uint8_t *put_ipv4(uint8_t *p, const struct path *path, uint32_t payload)
{
	uint8_t *head = p;

	p = put(p, 0x45, 1);
	p = put(p, path->tclass, 1);
	p = put(p, IPV4 + payload, 2);
	p = put(p, 0x4000, 4); /* may not be fragmented */
	p = put(p, path->hop_limit, 1);
	p = put(p, 17, 1);
	p = put(p, 0, 2);
	memcpy(p, path->sgid + 12, 4);
	memcpy(p + 4, path->dgid + 12, 4);
	put(head + 10, frame_ip_checksum(head), 2);
	return p + 8;
}

/* IPv6's header and the GRH are one format. */
static uint8_t *put_ipv6(uint8_t *p, const struct path *path, uint32_t payload, uint8_t next)
{
	p = put(p, 6u << 28 | (uint32_t)path->tclass << 20, 4);
	p = put(p, payload, 2);
	p = put(p, next, 1);
	p = put(p, path->hop_limit, 1);
	memcpy(p, path->sgid, 16);
	memcpy(p + 16, path->dgid, 16);
	return p + 32;
}

static uint8_t *put_lrh(uint8_t *p, const struct path *path, uint32_t transport)
{
	p = put(p, 0x0002, 2);
	p = put(p, path->dlid, 2);
	p = put(p, (LRH + transport) / 4, 2);
	return put(p, path->slid, 2);
}

/* Everything up to the BTH; transport counts the bytes from there to the ICRC, inclusive. */
static uint8_t *put_network(uint8_t *p, const struct path *path, uint32_t transport)
{
	bool v4 = !path->v1 && is_v4(path->sgid);

	if (path->ib)
		return put_lrh(p, path, transport);
	memcpy(p, path->dmac, 6);
	memcpy(p + 6, path->smac, 6);
	p = put(p + 12, path->v1 ? 0x8915 : v4 ? 0x0800 : 0x86dd, 2);
	if (path->v1)
		return put_ipv6(p, path, transport, 0x1b);
	p = v4 ? put_ipv4(p, path, UDP + transport) : put_ipv6(p, path, UDP + transport, 17);
	p = put(p, path->sport, 2);
	p = put(p, ROCE_PORT, 2);
	p = put(p, UDP + transport, 2);
	return put(p, 0, 2);
}

static uint8_t *put_extended(uint8_t *p, const struct packet *pk)
{
	uint8_t ext = extended[pk->opcode];

	if (ext & RETH) {
		p = put(p, pk->va, 8);
		p = put(p, pk->rkey, 4);
		p = put(p, pk->dma_len, 4);
	}
	if (ext & AETH) {
		p = put(p, pk->syndrome, 1);
		p = put(p, pk->msn, 3);
	}
	if (ext & DETH) {
		p = put(p, pk->qkey, 4);
		p = put(p, pk->src_qpn, 4);
	}
	if (ext & IMM)
		p = put(p, pk->imm, 4);
	return p;
}

static uint32_t extended_len(uint8_t opcode)
{
	uint8_t ext = extended[opcode];

	return (ext & RETH ? 16u : 0u) + (ext & AETH ? 4u : 0u) + (ext & DETH ? 8u : 0u) +
	       (ext & IMM ? 4u : 0u);
}

/* Fields that may change on the way count as ones, and so does the LRH that is not there. */
static uint32_t icrc(const uint8_t *frame, const uint8_t *bth, const uint8_t *end)
{
	static const uint8_t ones[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	size_t net = (size_t)(bth - frame) - ETH;
	uint8_t head[IPV6 + UDP + BTH];
	uint8_t *ip = head;

	memcpy(head, frame + ETH, net + BTH);
	if (ip[0] >> 4 == 4) {
		ip[1] = ip[8] = ip[10] = ip[11] = 0xff;
	} else {
		ip[0] |= 0x0f;
		ip[1] = ip[2] = ip[3] = ip[7] = 0xff;
	}
	if (net == IPV4 + UDP || net == IPV6 + UDP)
		head[net - 2] = head[net - 1] = 0xff;
	head[net + 4] = 0xff;
	return ~crc32_ib(crc32_ib(crc32_ib(0xffffffff, ones, sizeof(ones)), head, net + BTH),
		bth + BTH, (size_t)(end - bth) - BTH);
}

/* Of a packet without GRH: all of it but the virtual lane. */
static uint32_t icrc_lrh(const uint8_t *frame, const uint8_t *end)
{
	uint8_t head[LRH + BTH];

	memcpy(head, frame, sizeof(head));
	head[0] |= 0xf0;
	head[LRH + 4] = 0xff;
	return ~crc32_ib(crc32_ib(0xffffffff, head, sizeof(head)), frame + sizeof(head),
		(size_t)(end - frame) - sizeof(head));
}

static uint8_t *put_crcs(
	uint8_t *p, const struct path *path, const uint8_t *frame, const uint8_t *bth)
{
	uint32_t crc = htole32(path->ib ? icrc_lrh(frame, p) : icrc(frame, bth, p));
	uint16_t vcrc;

	memcpy(p, &crc, ICRC);
	p += ICRC;
	if (!path->ib)
		return p;
	vcrc = htole16((uint16_t)~crc16_ib(0xffff, frame, (size_t)(p - frame)));
	memcpy(p, &vcrc, VCRC);
	return p + VCRC;
}

uint32_t roce_build(const struct path *path, const struct packet *pk, uint8_t *out)
{
	uint32_t pad = (0u - pk->len) & 3;
	uint8_t *bth =
		put_network(out, path, BTH + extended_len(pk->opcode) + pk->len + pad + ICRC);
	uint8_t *p = bth;

	p = put(p, pk->opcode, 1);
	p = put(p, 0x40u | (pk->solicited ? 0x80u : 0) | pad << 4, 1);
	p = put(p, 0xffff, 2);
	p = put(p, pk->dest_qpn, 4);
	p = put(p, (pk->ack_req ? 0x80000000u : 0) | (pk->psn & PSN_MASK), 4);
	p = put_extended(p, pk);
	if (pk->len)
		memcpy(p, pk->payload, pk->len);
	memset(p + pk->len, 0, pad);
	p += pk->len + pad;
	return (uint32_t)(put_crcs(p, path, out, bth) - out);
}

/* An IPv4 header is in the second half; the first half is undefined, and zero here. */
void roce_grh(const uint8_t *frame, const struct path *path, uint8_t grh[GRH_LEN])
{
	bool v4 = !path->v1 && is_v4(path->sgid);

	memset(grh, 0, GRH_LEN);
	if (path->ib)
		return;
	memcpy(grh + (v4 ? GRH_LEN - IPV4 : 0), frame + ETH, v4 ? IPV4 : IPV6);
}
