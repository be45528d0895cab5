/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets whose invariant CRC is wrong though no bit of them is: a switch that trims packets cut
 * their payload off, or the host that captured them merged several (GRO).
 */
#include <rdmadump/packet.h>

#define MTU_MIN	 256
#define MTU_MAX	 4096
#define UDP_LEN	 8
#define IP6_LEN	 40
#define PART_MIN (RD_BTH_LEN + RD_ICRC_LEN)

static bool is_mtu(uint32_t n)
{
	return n >= MTU_MIN && n <= MTU_MAX && !(n & (n - 1));
}

bool rd_packet_trimmed(const struct rd_packet *p)
{
	const unsigned int moves = RD_OP_SEND | RD_OP_WRITE | RD_OP_READ;

	if (p->kind != RD_KIND_ROCE2 || !p->op || p->flags & (RD_PACKET_CUT | RD_PACKET_FRAGMENT))
		return false;
	if (p->flags & RD_PACKET_MALFORMED)
		return p->net == RD_NET_IPV4 &&
		       p->end == p->l3 + (uint32_t)rd_be16(p->data + p->l3 + 2) &&
		       rd_be16(p->data + p->l4 + 4) > p->end - p->l4;
	/* Only the last packet of a message is shorter than the path MTU. */
	return p->op->bits & moves && !(p->op->bits & RD_OP_LAST) && p->payload_len &&
	       p->payload_len < MTU_MAX && !is_mtu(p->payload_len);
}

/* Whether the BTH at `at` is the one of the nth packet after this one. */
static bool continues(const struct rd_packet *p, uint32_t at, uint32_t nth)
{
	const uint8_t *b = p->data + at;

	return rd_opcodes[b[0]].name && !(b[1] & 0xf) && rd_be16(b + 2) == p->pkey &&
	       (rd_be32(b + 4) & 0xffffff) == p->dest_qp &&
	       (rd_be32(b + 8) & 0xffffff) == ((p->psn + nth) & 0xffffff);
}

uint32_t rd_packet_merged(const struct rd_packet *p)
{
	if (p->kind != RD_KIND_ROCE2 || !p->op || p->end > p->caplen ||
		p->flags & (RD_PACKET_CUT | RD_PACKET_FRAGMENT | RD_PACKET_MALFORMED))
		return 0;
	for (uint32_t step = PART_MIN; p->bth + step + PART_MIN <= p->end; step += 4)
		if (continues(p, p->bth + step, 1))
			return p->bth + step <= RD_PART_MAX ? step : 0;
	return 0;
}

uint32_t rd_packet_part(
	const struct rd_packet *p, uint32_t step, uint32_t nth, uint8_t part[RD_PART_MAX])
{
	uint32_t at = p->bth + step * nth, n;

	if (at + PART_MIN > p->end || !continues(p, at, nth))
		return 0;
	n = p->end - at < step ? p->end - at : step;
	memcpy(part, p->data, p->bth);
	memcpy(part + p->bth, p->data + at, n);
	rd_put_be16(part + p->l4 + 4, (uint16_t)(UDP_LEN + n));
	if (p->net == RD_NET_IPV4) {
		rd_put_be16(part + p->l3 + 2, (uint16_t)(p->bth - p->l3 + n));
		rd_put_be16(part + p->l3 + 4, (uint16_t)(rd_be16(part + p->l3 + 4) + nth));
	} else {
		rd_put_be16(part + p->l3 + 4, (uint16_t)(p->bth - p->l3 - IP6_LEN + n));
	}
	return p->bth + n;
}
