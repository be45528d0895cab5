/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What only native InfiniBand has: the local route header (IBTA volume 1, 7.7), multicast LIDs
 * (4.1.3), and IP over InfiniBand (RFC 4391, RFC 4755).
 */
#include <rdmadump/packet.h>

#define LRH_LEN	       8
#define QP_MULTICAST   0xffffff
#define IPOIB_LEN      4
#define IPV4_LEN       20
#define IPV6_LEN       40
#define ARP_LEN	       8
#define ARP_INFINIBAND 32 /* hardware type */

bool rd_packet_lrh(const struct rd_packet *p, struct rd_lrh *out)
{
	if (p->kind != RD_KIND_IB || p->caplen < LRH_LEN)
		return false;
	*out = (struct rd_lrh){.slid = rd_be16(p->data + 6),
		.dlid = rd_be16(p->data + 2),
		.vl = p->data[0] >> 4,
		.sl = p->data[1] >> 4};
	return true;
}

bool rd_packet_is_multicast(const struct rd_packet *p)
{
	const uint8_t *src, *dst;
	struct rd_lrh lrh;

	if (p->op && p->dest_qp == QP_MULTICAST)
		return true;
	if (rd_packet_lrh(p, &lrh) && lrh.dlid >= RD_LID_MULTICAST && lrh.dlid != RD_LID_PERMISSIVE)
		return true;
	if (!rd_packet_addresses(p, &src, &dst))
		return false;
	return p->net == RD_NET_IPV4 ? dst[0] >> 4 == 0xe : dst[0] == 0xff;
}

/* Whether a datagram of this length is in the packet, or begins there. */
static bool length_fits(const struct rd_packet *p, uint32_t length)
{
	uint32_t capacity = p->payload_len - IPOIB_LEN;

	return p->op->bits & RD_OP_LAST ? length == capacity : length > capacity;
}

static bool is_datagram(const struct rd_packet *p, const struct rd_ipoib *ip, uint32_t left)
{
	switch (ip->ethertype) {
	case 0x0800:
		return left >= IPV4_LEN && ip->data[0] >> 4 == 4 &&
		       length_fits(p, rd_be16(ip->data + 2));
	case 0x86dd:
		return left >= IPV6_LEN && ip->data[0] >> 4 == 6 &&
		       length_fits(p, IPV6_LEN + (uint32_t)rd_be16(ip->data + 4));
	case 0x0806:
		return left >= ARP_LEN && rd_be16(ip->data) == ARP_INFINIBAND;
	default:
		return false;
	}
}

bool rd_packet_ipoib(const struct rd_packet *p, struct rd_ipoib *out)
{
	uint32_t limit = p->icrc && p->icrc < p->caplen ? p->icrc : p->caplen;
	uint16_t bits = p->op ? p->op->bits : 0;

	if (p->kind != RD_KIND_IB || !(bits & RD_OP_SEND) || !(bits & RD_OP_FIRST) ||
		p->dest_qp < 2 || p->payload_len < IPOIB_LEN || p->payload + IPOIB_LEN > limit ||
		rd_be16(p->data + p->payload + 2))
		return false;
	out->ethertype = rd_be16(p->data + p->payload);
	out->data = p->data + p->payload + IPOIB_LEN;
	return is_datagram(p, out, limit - p->payload - IPOIB_LEN);
}
