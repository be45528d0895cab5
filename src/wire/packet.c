/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the headers of a frame, from Ethernet or LRH to the InfiniBand transport headers: IEEE
 * 802.1Q, RFC 791, RFC 8200, RFC 768, RFC 9293; IBTA volume 1, 7.7 (LRH), 8.3 (GRH), 9.2 (BTH),
 * annexes A16 and A17 (RoCE).
 */
#include <rdmadump/array.h>
#include <rdmadump/packet.h>
#include <rdmadump/wire.h>

#define ETHERTYPE_IPV4	0x0800
#define ETHERTYPE_IPV6	0x86dd
#define ETHERTYPE_PPPOE 0x8864

#define PROTO_HOPOPTS  0
#define PROTO_TCP      6
#define PROTO_UDP      17
#define PROTO_IBA      27 /* GRH: a BTH follows */
#define PROTO_ROUTING  43
#define PROTO_FRAGMENT 44
#define PROTO_AH       51
#define PROTO_DSTOPTS  60
#define PROTO_MOBILITY 135
#define PROTO_HIP      139
#define PROTO_SHIM6    140

#define LNH_IPV6 1
#define LNH_BTH	 2
#define LNH_GRH	 3

#define MPLS_BOTTOM 0x01 /* in the third byte of a label */
#define PPPOE_LEN   8	 /* with the PPP protocol number */
#define PPP_IPV4    0x0021
#define PPP_IPV6    0x0057

#define SLL_LEN	    16
#define SLL2_LEN    20
#define ARP_NETLINK 824 /* hardware type of a netlink monitor: the protocol is no Ethertype */

#define LRH_LEN		 8
#define FLOW_CONTROL_LEN 6 /* with its CRC; 7.9.4 */
#define RWH_LEN		 4 /* raw header: two reserved bytes and an Ethertype */
#define GRH_LEN		 40
#define VCRC_LEN	 2

static inline bool captured(const struct rd_packet *p, uint32_t off, uint32_t n)
{
	return off <= p->caplen && p->caplen - off >= n;
}

static inline bool on_wire(const struct rd_packet *p, uint32_t off, uint32_t n)
{
	return off <= p->end && p->end - off >= n;
}

/* The known headers end at `off`: all bytes from there are payload. */
static inline bool payload_at(struct rd_packet *p, uint32_t off)
{
	p->payload = off;
	p->payload_len = off < p->end ? p->end - off : 0;
	return false;
}

/* The capture ends within a header, so none of its bytes are payload. */
static bool cut(struct rd_packet *p)
{
	p->flags |= RD_PACKET_CUT;
	p->payload = p->caplen;
	return false;
}

/* From a length field: the packet ends at off + length, or with the frame or an outer header. */
static inline void end_at(struct rd_packet *p, uint32_t off, uint32_t length)
{
	if (on_wire(p, off, length))
		p->end = off + length;
	else
		p->flags |= RD_PACKET_MALFORMED;
}

/*
 * Reads the BTH, which is in the captured bytes. Loads alternate with stores on purpose: if all
 * loads come first, compilers assemble the small fields in a register, byte by byte.
 */
static inline void read_bth(struct rd_packet *p, const uint8_t *b, uint32_t off)
{
	const struct rd_opcode *op = &rd_opcodes[b[0]];

	p->op = op;
	p->bth = off;
	p->payload = off + RD_BTH_LEN + op->length;
	p->opcode = b[0];
	p->pad = b[1] >> 4 & 3;
	p->tver = b[1] & 0xf;
	p->bth_bits = (uint8_t)((b[1] & 0xc0) | (b[4] >> 2 & 0x30) | (b[8] >> 4 & 0x08));
	p->pkey = rd_be16(b + 2);
	p->dest_qp = rd_be32(b + 4) & 0xffffff;
	p->psn = rd_be32(b + 8) & 0xffffff;
}

static bool parse_bth(struct rd_packet *p, uint32_t off, enum rd_kind kind)
{
	bool whole = !(p->flags & RD_PACKET_FRAGMENT);
	uint32_t tail = whole ? RD_ICRC_LEN : 0;
	uint32_t after;

	if (!on_wire(p, off, RD_BTH_LEN + tail)) {
		p->flags |= RD_PACKET_MALFORMED;
		return payload_at(p, off);
	}
	p->kind = (uint8_t)kind;
	if (!captured(p, off, RD_BTH_LEN))
		return cut(p);
	read_bth(p, p->data + off, off);
	p->icrc = whole ? p->end - RD_ICRC_LEN : 0;
	after = p->pad + tail;
	if (on_wire(p, p->payload, after))
		p->payload_len = p->end - p->payload - after;
	else
		p->flags |= RD_PACKET_MALFORMED;
	if (p->caplen < p->payload)
		p->flags |= RD_PACKET_CUT;
	return true;
}

static inline bool parse_udp(struct rd_packet *p, uint32_t off)
{
	const uint8_t *u = p->data + off;
	uint16_t length;

	if (!captured(p, off, 8))
		return cut(p);
	length = rd_be16(u + 4);
	/* In a fragment, the length of the whole datagram exceeds the bytes present. */
	if (length >= 8 && !(p->flags & RD_PACKET_FRAGMENT))
		end_at(p, off, length);
	else if (length < 8)
		p->flags |= RD_PACKET_MALFORMED;
	if (rd_be16(u + 2) == RD_UDP_PORT_ROCE)
		return parse_bth(p, off + 8, RD_KIND_ROCE2);
	return payload_at(p, off + 8);
}

static bool parse_tcp(struct rd_packet *p, uint32_t off)
{
	uint32_t length;

	if (!captured(p, off, 20))
		return cut(p);
	length = (uint32_t)(p->data[off + 12] >> 4) * 4;
	if (length < 20) {
		p->flags |= RD_PACKET_MALFORMED;
		length = 20;
	}
	if (!captured(p, off, length))
		p->flags |= RD_PACKET_CUT;
	return payload_at(p, off + length);
}

static inline bool parse_l4(struct rd_packet *p, uint32_t off, uint8_t proto)
{
	p->proto = proto;
	p->l4 = off;
	if (proto == PROTO_UDP)
		return parse_udp(p, off);
	if (proto == PROTO_TCP)
		return parse_tcp(p, off);
	return payload_at(p, off);
}

/* A later fragment: its bytes cannot be interpreted. */
static bool fragment(struct rd_packet *p, uint32_t off, uint8_t proto)
{
	p->proto = proto;
	p->flags |= RD_PACKET_FRAGMENT;
	return payload_at(p, off);
}

static inline bool parse_ipv4(struct rd_packet *p, uint32_t off)
{
	const uint8_t *ip = p->data + off;
	uint32_t header, total;
	uint16_t frag;

	if (!captured(p, off, 20))
		return cut(p);
	header = (uint32_t)(ip[0] & 0xf) * 4;
	total = rd_be16(ip + 2);
	frag = rd_be16(ip + 6);
	/* 0: a large segment that the NIC will split (TSO). */
	if (ip[0] >> 4 != 4 || header < 20 || (total && total < header)) {
		p->flags |= RD_PACKET_MALFORMED;
		return payload_at(p, off);
	}
	p->net = RD_NET_IPV4;
	if (total)
		end_at(p, off, total);
	if (!captured(p, off, header))
		return cut(p);
	if (frag & 0x1fff)
		return fragment(p, off + header, ip[9]);
	if (frag & 0x2000)
		p->flags |= RD_PACKET_FRAGMENT;
	return parse_l4(p, off + header, ip[9]);
}

/* Bytes of an IPv6 extension header, 0 if `proto` is none. */
static uint32_t extension_length(uint8_t proto, uint8_t length)
{
	switch (proto) {
	case PROTO_HOPOPTS:
	case PROTO_ROUTING:
	case PROTO_DSTOPTS:
	case PROTO_MOBILITY:
	case PROTO_HIP:
	case PROTO_SHIM6:
		return (length + 1U) * 8;
	case PROTO_AH:
		return (length + 2U) * 4;
	case PROTO_FRAGMENT:
		return 8;
	default:
		return 0;
	}
}

static inline bool parse_ipv6(struct rd_packet *p, uint32_t off)
{
	const uint8_t *ip = p->data + off;
	uint32_t at = off + 40;
	uint8_t proto;

	if (!captured(p, off, 40))
		return cut(p);
	if (ip[0] >> 4 != 6) {
		p->flags |= RD_PACKET_MALFORMED;
		return payload_at(p, off);
	}
	p->net = RD_NET_IPV6;
	/* 0: a jumbogram, or a large segment that the NIC will split (TSO). */
	if (rd_be16(ip + 4))
		end_at(p, off, 40U + rd_be16(ip + 4));
	proto = ip[6];
	while (extension_length(proto, 0)) {
		uint32_t length;

		if (!captured(p, at, 8))
			return cut(p);
		length = extension_length(proto, p->data[at + 1]);
		if (proto == PROTO_FRAGMENT && rd_be16(p->data + at + 2) & 0xfff8)
			return fragment(p, at + length, p->data[at]);
		if (proto == PROTO_FRAGMENT && rd_be16(p->data + at + 2) & 1)
			p->flags |= RD_PACKET_FRAGMENT;
		proto = p->data[at];
		at += length;
	}
	return parse_l4(p, at, proto);
}

static bool parse_grh(struct rd_packet *p, uint32_t off, enum rd_kind kind)
{
	const uint8_t *grh = p->data + off;

	if (!captured(p, off, GRH_LEN))
		return cut(p);
	if (grh[0] >> 4 != 6 || grh[6] != PROTO_IBA) {
		p->flags |= RD_PACKET_MALFORMED;
		return payload_at(p, off);
	}
	p->net = RD_NET_GRH;
	p->proto = grh[6];
	end_at(p, off, GRH_LEN + (uint32_t)rd_be16(grh + 4));
	return parse_bth(p, off + GRH_LEN, kind);
}

/* The header at `off` is of this Ethertype, without any tag or label before it. */
static inline bool parse_l3(struct rd_packet *p, uint16_t type, uint32_t off)
{
	p->ethertype = type;
	p->l3 = off;
	if (type == ETHERTYPE_IPV4)
		return parse_ipv4(p, off);
	if (type == ETHERTYPE_IPV6)
		return parse_ipv6(p, off);
	if (type == RD_ETHERTYPE_ROCE)
		return parse_grh(p, off, RD_KIND_ROCE1);
	return payload_at(p, off);
}

/* An IP header, of the version that its first four bits say; `type` stays for what is no IP. */
static bool parse_ip(struct rd_packet *p, uint16_t type, uint32_t off)
{
	unsigned int version;

	if (!captured(p, off, 1))
		return cut(p);
	version = p->data[off] >> 4;
	if (version == 4 || version == 6)
		type = version == 4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6;
	return parse_l3(p, type, off);
}

/* Labels say nothing of what follows: IP is recognized by its version. RFC 3032, RFC 4928. */
static bool parse_mpls(struct rd_packet *p, uint16_t type, uint32_t off)
{
	bool bottom = false;

	for (; !bottom; off += 4) {
		if (!captured(p, off, 4))
			return cut(p);
		bottom = p->data[off + 2] & MPLS_BOTTOM;
	}
	return parse_ip(p, type, off);
}

static bool parse_pppoe(struct rd_packet *p, uint16_t type, uint32_t off)
{
	uint16_t ppp;

	if (!captured(p, off, PPPOE_LEN))
		return cut(p);
	ppp = rd_be16(p->data + off + 6);
	off += PPPOE_LEN;
	return parse_l3(p,
		ppp == PPP_IPV4	  ? ETHERTYPE_IPV4
		: ppp == PPP_IPV6 ? ETHERTYPE_IPV6
				  : type,
		off);
}

/* After a field with an Ethertype, which may be that of a tag. */
static inline bool parse_type(struct rd_packet *p, uint16_t type, uint32_t off)
{
	while (rd_is_vlan(type)) {
		if (!captured(p, off, 4))
			return cut(p);
		type = rd_be16(p->data + off + 2);
		off += 4;
	}
	if (rd_is_mpls(type))
		return parse_mpls(p, type, off);
	if (type == ETHERTYPE_PPPOE)
		return parse_pppoe(p, type, off);
	return parse_l3(p, type, off);
}

static bool parse_ethernet(struct rd_packet *p)
{
	return captured(p, 12, 2) ? parse_type(p, rd_be16(p->data + 12), 14) : cut(p);
}

static bool parse_sll(struct rd_packet *p)
{
	if (!captured(p, 0, SLL_LEN))
		return cut(p);
	if (rd_be16(p->data + 2) == ARP_NETLINK)
		return payload_at(p, SLL_LEN);
	return parse_type(p, rd_be16(p->data + 14), SLL_LEN);
}

static bool parse_sll2(struct rd_packet *p)
{
	if (!captured(p, 0, SLL2_LEN))
		return cut(p);
	if (rd_be16(p->data + 8) == ARP_NETLINK)
		return payload_at(p, SLL2_LEN);
	return parse_type(p, rd_be16(p->data), SLL2_LEN);
}

/* Families of IPv6 differ: Linux 10, NetBSD and OpenBSD 24, FreeBSD 28, macOS 30. */
static bool parse_null(struct rd_packet *p)
{
	uint32_t family;

	if (!captured(p, 0, 4))
		return cut(p);
	family = rd_be32(p->data);
	if (family > 0xffff) /* written by a machine of the other byte order */
		family = __builtin_bswap32(family);
	switch (family) {
	case 2:
		return parse_l3(p, ETHERTYPE_IPV4, 4);
	case 10:
	case 24:
	case 28:
	case 30:
		return parse_l3(p, ETHERTYPE_IPV6, 4);
	default:
		return payload_at(p, 4);
	}
}

static bool parse_bare_ip(struct rd_packet *p)
{
	return parse_ip(p, 0, 0);
}

static bool parse_lrh(struct rd_packet *p)
{
	unsigned int lnh;
	uint32_t length;

	if (p->len <= FLOW_CONTROL_LEN) {
		p->flags |= RD_PACKET_LINK;
		return payload_at(p, 0);
	}
	if (!captured(p, 0, LRH_LEN))
		return cut(p);
	lnh = p->data[1] & 3;
	length = (rd_be16(p->data + 4) & 0x7ffU) * 4;
	/* With an impossible length field, all bytes but a VCRC count as the packet. */
	if (length < LRH_LEN || length > p->len) {
		p->flags |= RD_PACKET_MALFORMED;
		length = p->len - VCRC_LEN;
	}
	p->end = length;
	switch (lnh) {
	case LNH_BTH:
		return parse_bth(p, LRH_LEN, RD_KIND_IB);
	case LNH_GRH:
		p->l3 = LRH_LEN;
		return parse_grh(p, LRH_LEN, RD_KIND_IB);
	case LNH_IPV6:
		p->l3 = LRH_LEN;
		return parse_ipv6(p, LRH_LEN);
	default:
		if (!captured(p, LRH_LEN, RWH_LEN))
			return cut(p);
		p->ethertype = rd_be16(p->data + LRH_LEN + 2);
		return payload_at(p, LRH_LEN + RWH_LEN);
	}
}

/*
 * The fast path for the most common frames: RoCE v2, untagged, IPv4 without options, consistent
 * lengths, headers captured. It takes half the instructions of the functions above, with the same
 * result; returns false, with *p undefined, for all other frames.
 */
static inline bool parse_common(
	const uint8_t *data, uint32_t caplen, uint32_t len, struct rd_packet *p)
{
	enum { IP = RD_COMMON_L3, UDP = IP + 20, BTH = UDP + 8 };
	uint32_t end, payload_end, ip, fragment, ports;

	if (caplen < BTH + RD_BTH_LEN)
		return false;
	ip = rd_be32(data + IP - 2);	   /* Ethertype, version and length, type of service */
	fragment = rd_be32(data + IP + 6); /* flags and offset, time to live, protocol */
	ports = rd_be32(data + UDP + 2);   /* destination port and length */
	end = IP + (uint32_t)rd_be16(data + IP + 2);
	if ((ip & 0xffffff00) != (ETHERTYPE_IPV4 << 16 | 0x4500) ||
		(fragment & 0x3fff00ff) != PROTO_UDP || ports >> 16 != RD_UDP_PORT_ROCE ||
		end > len || end != UDP + (ports & 0xffff))
		return false;
	/* One by one, since an initializer would first write zeros to the whole struct. */
	p->data = data;
	p->caplen = caplen;
	p->len = len;
	p->l3 = IP;
	p->l4 = UDP;
	p->icrc = end - RD_ICRC_LEN;
	p->end = end;
	p->ethertype = ETHERTYPE_IPV4;
	p->kind = RD_KIND_ROCE2;
	p->net = RD_NET_IPV4;
	p->proto = PROTO_UDP;
	p->flags = 0;
	p->common = true;
	read_bth(p, data + BTH, BTH);
	payload_end = end - p->pad - RD_ICRC_LEN;
	p->payload_len = payload_end - p->payload;
	return payload_end >= p->payload && caplen >= p->payload;
}

static bool (*const parsers[])(struct rd_packet *p) = {
	[RD_LINK_ETHERNET] = parse_ethernet,
	[RD_LINK_INFINIBAND] = parse_lrh,
	[RD_LINK_SLL] = parse_sll,
	[RD_LINK_SLL2] = parse_sll2,
	[RD_LINK_IP] = parse_bare_ip,
	[RD_LINK_NULL] = parse_null,
};

/* All other frames. Not inlined, so that the fast path does not save its registers. */
static __attribute__((noinline)) bool parse_any(
	enum rd_link link, const uint8_t *data, uint32_t caplen, uint32_t len, struct rd_packet *p)
{
	*p = (struct rd_packet){.data = data, .caplen = caplen, .len = len, .end = len};
	return (unsigned int)link < RD_COUNT(parsers) && parsers[link] ? parsers[link](p)
								       : payload_at(p, 0);
}

bool rd_packet_parse(
	enum rd_link link, const uint8_t *data, uint32_t caplen, uint32_t len, struct rd_packet *p)
{
	len = RD_MAX(len, caplen);
	if (link == RD_LINK_ETHERNET && parse_common(data, caplen, len, p))
		return true;
	return parse_any(link, data, caplen, len, p);
}

const uint8_t *rd_packet_header(const struct rd_packet *p, enum rd_header h)
{
	uint32_t limit = RD_MIN(p->icrc ? p->icrc : p->end, p->caplen);
	uint32_t off = p->bth + RD_BTH_LEN;
	unsigned int i = 0;

	if (!p->op)
		return NULL;
	for (; i < sizeof(p->op->headers) && p->op->headers[i] != h; i++)
		off += rd_header_lengths[p->op->headers[i]];
	return i < sizeof(p->op->headers) && off + rd_header_lengths[h] <= limit ? p->data + off
										 : NULL;
}

bool rd_packet_reth(const struct rd_packet *p, struct rd_reth *out)
{
	const uint8_t *h = rd_packet_header(p, RD_H_RETH);

	if (!h)
		return false;
	*out = (struct rd_reth){
		.va = rd_be64(h), .rkey = rd_be32(h + 8), .length = rd_be32(h + 12)};
	return true;
}

bool rd_packet_deth(const struct rd_packet *p, struct rd_deth *out)
{
	const uint8_t *h = rd_packet_header(p, RD_H_DETH);

	if (!h)
		return false;
	*out = (struct rd_deth){.qkey = rd_be32(h), .src_qp = rd_be24(h + 5)};
	return true;
}

bool rd_packet_atomic(const struct rd_packet *p, struct rd_atomic *out)
{
	const uint8_t *h = rd_packet_header(p, RD_H_ATOMICETH);

	if (!h)
		return false;
	*out = (struct rd_atomic){.va = rd_be64(h),
		.rkey = rd_be32(h + 8),
		.swap_or_add = rd_be64(h + 12),
		.compare = rd_be64(h + 20)};
	return true;
}

bool rd_packet_aeth(const struct rd_packet *p, struct rd_aeth *out)
{
	const uint8_t *h = rd_packet_header(p, RD_H_AETH);

	if (!h)
		return false;
	*out = (struct rd_aeth){.syndrome = h[0],
		.kind = h[0] >> 5 & 3,
		.value = h[0] & 0x1f,
		.msn = rd_be24(h + 1)};
	return true;
}
