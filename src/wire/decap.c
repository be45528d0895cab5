/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Removes the encapsulation of tunnelled and mirrored frames: GRE (RFC 2784, RFC 2890; with
 * Ethernet and a key it is NVGRE, RFC 7637), ERSPAN (draft-foschiano-erspan-03), VXLAN (RFC 7348),
 * Geneve (RFC 8926), IP in IP (RFC 2003, RFC 2473, RFC 4213), Ethernet over MPLS (RFC 4448), and
 * the raw InfiniBand packets in which Mellanox switches mirror (LRH with LNH 0, RWH with Ethertype
 * 0x1123, four bytes).
 */
#include <rdmadump/array.h>
#include <rdmadump/packet.h>

#define LEVELS_MAX 4

#define ETHERTYPE_IPV4	   0x0800
#define ETHERTYPE_IPV6	   0x86dd
#define ETHERTYPE_ETHERNET 0x6558 /* of GRE and Geneve: an Ethernet frame follows */

#define PROTO_IPV4 4
#define PROTO_UDP  17
#define PROTO_IPV6 41
#define PROTO_GRE  47

#define UDP_PORT_VXLAN	     4789
#define UDP_PORT_VXLAN_LINUX 8472 /* Linux's default, older than the assigned port */
#define VXLAN_LEN	     8
#define VXLAN_HAS_VNI	     0x08

#define UDP_PORT_GENEVE 6081
#define GENEVE_LEN	8
#define GENEVE_VERSION	0xc0
#define GENEVE_OPTIONS	0x3f /* their length in units of four bytes */

#define GRE_CHECKSUM 0x8000
#define GRE_ROUTING  0x4000
#define GRE_KEY	     0x2000
#define GRE_SEQUENCE 0x1000
#define GRE_VERSION  0x0007

/* NVGRE: the key has the network in its upper bits; smaller ones are reserved (RFC 7637, 3.2). */
#define NVGRE_FLOW_BITS 8
#define NVGRE_VSID_MIN	0x1000

#define GRE_ERSPAN  0x88be /* types I and II */
#define GRE_ERSPAN3 0x22eb
#define ERSPAN3_IP  2 /* frame type: an IP packet instead of an Ethernet frame */

#define MAC_HEADER   14
#define IP_MIN	     20
#define CONTROL_WORD 4 /* of a pseudowire: begins with four zero bits */

#define LRH_LEN		8
#define RSPAN_FRONT	16 /* LRH, RWH, four bytes of mirror header */
#define RSPAN_BACK	2  /* VCRC */
#define RSPAN_ETHERTYPE 0x1123

/* Where an inner frame begins; offset 0: there is none. */
struct begin {
	uint32_t at;
	enum rd_link link;
	enum rd_tunnel tunnel;
	uint32_t network;
};

static const struct begin none;

/* What follows an Ethertype of GRE or Geneve. */
static struct begin begin_of(uint32_t at, uint16_t type, enum rd_tunnel tunnel)
{
	if (type == ETHERTYPE_ETHERNET)
		return (struct begin){at, RD_LINK_ETHERNET, tunnel, 0};
	if (type == ETHERTYPE_IPV4 || type == ETHERTYPE_IPV6)
		return (struct begin){at, RD_LINK_IP, tunnel, 0};
	return none;
}

/* After the header of ERSPAN type II or III. */
static struct begin erspan(const struct rd_packet *p, uint32_t off, uint16_t proto)
{
	unsigned int version, type;
	uint16_t last;

	if (p->caplen < off || p->caplen - off < 8)
		return none;
	version = p->data[off] >> 4;
	if (proto == GRE_ERSPAN)
		return version == 1 ? (struct begin){off + 8, RD_LINK_ETHERNET, RD_TUNNEL_ERSPAN, 0}
				    : none;
	if (version != 2 || p->caplen - off < 12)
		return none;
	last = rd_be16(p->data + off + 10);
	type = last >> 10 & 0x1f;
	off += last & 1 ? 20 : 12;
	if (type && type != ERSPAN3_IP)
		return none;
	return (struct begin){off, type ? RD_LINK_IP : RD_LINK_ETHERNET, RD_TUNNEL_ERSPAN, 0};
}

/* Packets of one conversation may have several FlowIDs, which are no part of the network. */
static uint32_t gre_network(uint16_t flags, uint16_t proto, uint32_t key)
{
	const bool nvgre = proto == ETHERTYPE_ETHERNET && flags == GRE_KEY &&
			   key >> NVGRE_FLOW_BITS >= NVGRE_VSID_MIN;

	return nvgre ? key >> NVGRE_FLOW_BITS : key;
}

static struct begin gre(const struct rd_packet *p)
{
	uint32_t off = p->l4 + 4, key = 0;
	uint16_t flags, proto;
	struct begin begin;

	if (p->caplen < p->l4 || p->caplen - p->l4 < 4)
		return none;
	flags = rd_be16(p->data + p->l4);
	proto = rd_be16(p->data + p->l4 + 2);
	if (flags & (GRE_ROUTING | GRE_VERSION))
		return none;
	off += flags & GRE_CHECKSUM ? 4 : 0;
	if (flags & GRE_KEY) {
		if (p->caplen < off || p->caplen - off < 4)
			return none;
		key = rd_be32(p->data + off);
		off += 4;
	}
	off += flags & GRE_SEQUENCE ? 4 : 0;
	/* Type I has no sequence number and no ERSPAN header. */
	if (proto == GRE_ERSPAN && !(flags & GRE_SEQUENCE))
		return (struct begin){off, RD_LINK_ETHERNET, RD_TUNNEL_ERSPAN, 0};
	if (proto == GRE_ERSPAN || proto == GRE_ERSPAN3)
		return erspan(p, off, proto);
	begin = begin_of(off, proto, RD_TUNNEL_GRE);
	begin.network = gre_network(flags, proto, key);
	return begin;
}

static struct begin udp(const struct rd_packet *p)
{
	const uint8_t *udp = p->data + p->l4, *header = udp + 8;
	uint32_t at = p->l4 + 8;
	uint16_t port;

	if (p->caplen < p->l4 || p->caplen - p->l4 < 8 + VXLAN_LEN)
		return none;
	port = rd_be16(udp + 2);
	if (port == UDP_PORT_GENEVE && !(header[0] & GENEVE_VERSION)) {
		struct begin begin = begin_of(at + GENEVE_LEN + (header[0] & GENEVE_OPTIONS) * 4U,
			rd_be16(header + 2), RD_TUNNEL_GENEVE);

		begin.network = rd_be32(header + 4) >> 8;
		return begin;
	}
	if ((port == UDP_PORT_VXLAN && header[0] & VXLAN_HAS_VNI) ||
		(port == UDP_PORT_VXLAN_LINUX && header[0] == VXLAN_HAS_VNI && !header[7]))
		return (struct begin){at + VXLAN_LEN, RD_LINK_ETHERNET, RD_TUNNEL_VXLAN,
			rd_be32(header + 4) >> 8};
	return none;
}

/* Labels do not say that Ethernet follows: the frame must have an Ethertype that is known. */
static struct begin pseudowire(const struct rd_packet *p)
{
	uint32_t at = p->l3;
	uint16_t type;

	if (p->caplen < at || p->caplen - at < CONTROL_WORD + MAC_HEADER)
		return none;
	if (!(p->data[at] >> 4))
		at += CONTROL_WORD;
	type = rd_be16(p->data + at + 12);
	if (!rd_ethertype_name(type) && !rd_is_vlan(type))
		return none;
	return (struct begin){at, RD_LINK_ETHERNET, RD_TUNNEL_MPLS, 0};
}

static struct begin find(const struct rd_packet *p)
{
	if (rd_is_mpls(p->ethertype))
		return pseudowire(p);
	/* A fragment has only a part of the inner frame. */
	if (!p->l4 || p->flags & RD_PACKET_FRAGMENT)
		return none;
	switch (p->proto) {
	case PROTO_UDP:
		return udp(p);
	case PROTO_GRE:
		return gre(p);
	case PROTO_IPV4:
	case PROTO_IPV6:
		return (struct begin){p->l4, RD_LINK_IP, RD_TUNNEL_IP, 0};
	default:
		return none;
	}
}

/* `p`: the parsed outer packet. */
static bool take(struct rd_inner *in, const struct rd_packet *p)
{
	struct begin begin = find(p);
	uint32_t least = begin.link == RD_LINK_IP ? IP_MIN : MAC_HEADER;

	if (!begin.at || begin.at > p->end || p->end - begin.at < least || begin.at > in->caplen ||
		in->caplen - begin.at < least)
		return false;
	in->data += begin.at;
	in->len = p->end - begin.at;
	in->caplen -= begin.at;
	in->caplen = RD_MIN(in->caplen, in->len);
	in->link = begin.link;
	in->tunnels |= begin.tunnel;
	in->network = begin.network ? begin.network : in->network;
	return true;
}

static bool take_infiniband(struct rd_inner *in)
{
	const uint8_t *lrh = in->data;

	/* Both lengths must cover the prefix and the inner LRH. */
	if (in->caplen < RSPAN_FRONT + LRH_LEN || in->len < RSPAN_FRONT + LRH_LEN + RSPAN_BACK)
		return false;
	if ((lrh[1] & 3) != 0 || rd_be16(lrh + LRH_LEN + 2) != RSPAN_ETHERTYPE)
		return false;
	in->data += RSPAN_FRONT;
	in->len -= RSPAN_FRONT + RSPAN_BACK;
	in->caplen -= RSPAN_FRONT;
	in->caplen = RD_MIN(in->caplen, in->len);
	in->tunnels |= RD_TUNNEL_RSPAN;
	return true;
}

bool rd_decap_level(struct rd_inner *in)
{
	struct rd_packet p;

	if (in->link == RD_LINK_INFINIBAND)
		return take_infiniband(in);
	rd_packet_parse(in->link, in->data, in->caplen, in->len, &p);
	return take(in, &p);
}

unsigned int rd_decap_any(struct rd_inner *in)
{
	unsigned int levels = 0;

	while (levels < LEVELS_MAX && rd_decap_level(in))
		levels++;
	return levels;
}

const char *rd_tunnel_name(unsigned int tunnels)
{
	static const char *const names[] = {
		"VXLAN", "Geneve", "GRE", "ERSPAN", "IP in IP", "Ethernet over MPLS", "RSPAN"};
	unsigned int bit = 0;

	while (bit < RD_COUNT(names) - 1 && !(tunnels >> bit & 1))
		bit++;
	return names[bit];
}

bool rd_packet_inner(
	enum rd_link link, const struct rd_frame *frame, struct rd_packet *p, struct rd_inner *in)
{
	*in = (struct rd_inner){frame->data, frame->caplen, frame->len, link, 0, 0};
	if (!(link == RD_LINK_INFINIBAND ? take_infiniband(in) : take(in, p)))
		return false;
	rd_decap_any(in);
	return rd_packet_parse(in->link, in->data, in->caplen, in->len, p);
}

void rd_decap_run(enum rd_link link, struct rd_frame *frames, unsigned int n)
{
	for (struct rd_frame *f = frames; f < frames + n; f++) {
		struct rd_inner in = {f->data, f->caplen, f->len, link, 0, 0};

		for (unsigned int levels = 0; levels < LEVELS_MAX && rd_decap_level(&in); levels++)
			if (in.link == link) {
				f->data = in.data;
				f->caplen = in.caplen;
				f->len = in.len;
			}
	}
}
