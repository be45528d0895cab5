/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Removes the encapsulation of mirrored frames: GRE (RFC 2784, RFC 2890), ERSPAN
 * (draft-foschiano-erspan-03), VXLAN (RFC 7348), and the raw InfiniBand packets in which Mellanox
 * switches mirror (LRH with LNH 0, RWH with Ethertype 0x1123, four bytes).
 */
#include <rdmadump/packet.h>

#define LEVELS_MAX 4

#define PROTO_UDP 17
#define PROTO_GRE 47

#define UDP_PORT_VXLAN 4789
#define VXLAN_LEN      8
#define VXLAN_HAS_VNI  0x08

#define GRE_CHECKSUM 0x8000
#define GRE_ROUTING  0x4000
#define GRE_KEY	     0x2000
#define GRE_SEQUENCE 0x1000
#define GRE_VERSION  0x0007

#define GRE_ERSPAN   0x88be /* types I and II */
#define GRE_ERSPAN3  0x22eb
#define GRE_ETHERNET 0x6558

#define MAC_HEADER 14

#define LRH_LEN		8
#define RSPAN_FRONT	16 /* LRH, RWH, four bytes of mirror header */
#define RSPAN_BACK	2  /* VCRC */
#define RSPAN_ETHERTYPE 0x1123

/* Length of an ERSPAN header of type II or III; 0 if no Ethernet frame follows. */
static uint32_t erspan_length(const struct rd_packet *p, uint32_t off, uint16_t proto)
{
	unsigned int version, frame_type;
	uint16_t last;

	if (p->caplen < off || p->caplen - off < 8)
		return 0;
	version = p->data[off] >> 4;
	if (proto == GRE_ERSPAN)
		return version == 1 ? 8 : 0;
	if (version != 2 || p->caplen - off < 12)
		return 0;
	last = rd_be16(p->data + off + 10);
	frame_type = last >> 10 & 0x1f;
	if (frame_type)
		return 0;
	return last & 1 ? 20 : 12;
}

/* Offset of the inner frame, 0 if there is none. */
static uint32_t gre_inner(const struct rd_packet *p)
{
	uint32_t off = p->l4 + 4, length;
	uint16_t flags, proto;

	if (p->caplen < p->l4 || p->caplen - p->l4 < 4)
		return 0;
	flags = rd_be16(p->data + p->l4);
	proto = rd_be16(p->data + p->l4 + 2);
	if (flags & (GRE_ROUTING | GRE_VERSION))
		return 0;
	off += flags & GRE_CHECKSUM ? 4 : 0;
	off += flags & GRE_KEY ? 4 : 0;
	off += flags & GRE_SEQUENCE ? 4 : 0;
	if (proto == GRE_ETHERNET)
		return off;
	/* Type I has no sequence number and no ERSPAN header. */
	if (proto == GRE_ERSPAN && !(flags & GRE_SEQUENCE))
		return off;
	if (proto != GRE_ERSPAN && proto != GRE_ERSPAN3)
		return 0;
	length = erspan_length(p, off, proto);
	return length ? off + length : 0;
}

static uint32_t vxlan_inner(const struct rd_packet *p)
{
	const uint8_t *udp = p->data + p->l4;

	if (p->caplen < p->l4 || p->caplen - p->l4 < 8 + VXLAN_LEN)
		return 0;
	if (rd_be16(udp + 2) != UDP_PORT_VXLAN || !(udp[8] & VXLAN_HAS_VNI))
		return 0;
	return p->l4 + 8 + VXLAN_LEN;
}

static bool take_ethernet(const uint8_t **data, uint32_t *caplen, uint32_t *len)
{
	struct rd_packet p;
	uint32_t off = 0;

	rd_packet_parse(RD_LINK_ETHERNET, *data, *caplen, *len, &p);
	/* A fragment has only a part of the inner frame. */
	if (!p.l4 || p.flags & RD_PACKET_FRAGMENT)
		return false;
	if (p.proto == PROTO_GRE)
		off = gre_inner(&p);
	else if (p.proto == PROTO_UDP)
		off = vxlan_inner(&p);
	if (!off || off > p.end || p.end - off < MAC_HEADER || off > *caplen ||
		*caplen - off < MAC_HEADER)
		return false;
	*data += off;
	*len = p.end - off;
	*caplen -= off;
	if (*caplen > *len)
		*caplen = *len;
	return true;
}

static bool take_infiniband(const uint8_t **data, uint32_t *caplen, uint32_t *len)
{
	const uint8_t *lrh = *data;

	/* Both lengths must cover the prefix and the inner LRH. */
	if (*caplen < RSPAN_FRONT + LRH_LEN || *len < RSPAN_FRONT + LRH_LEN + RSPAN_BACK)
		return false;
	if ((lrh[1] & 3) != 0 || rd_be16(lrh + LRH_LEN + 2) != RSPAN_ETHERTYPE)
		return false;
	*data += RSPAN_FRONT;
	*len -= RSPAN_FRONT + RSPAN_BACK;
	*caplen -= RSPAN_FRONT;
	if (*caplen > *len)
		*caplen = *len;
	return true;
}

unsigned int rd_decap(enum rd_link link, const uint8_t **data, uint32_t *caplen, uint32_t *len)
{
	unsigned int levels = 0;

	if (link == RD_LINK_ETHERNET)
		while (levels < LEVELS_MAX && take_ethernet(data, caplen, len))
			levels++;
	else if (link == RD_LINK_INFINIBAND)
		while (levels < LEVELS_MAX && take_infiniband(data, caplen, len))
			levels++;
	return levels;
}

void rd_decap_run(enum rd_link link, struct rd_frame *frames, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		rd_decap(link, &frames[i].data, &frames[i].caplen, &frames[i].len);
}
