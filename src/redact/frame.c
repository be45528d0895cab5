/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Redacts frames: from the outermost header inwards, addresses are replaced and payload is replaced
 * by zeros; then, from the innermost header outwards, checksums are adjusted. Unknown content is
 * replaced by zeros.
 */
#include "../wire/crc.h"
#include "redact.h"
#include <netinet/in.h>
#include <stdlib.h>

#define DEPTH_MAX 6 /* of tunnels and of packets that ICMP quotes */
#define FCS_LEN	  4

#define MACS_LEN    12
#define MAC_HEADER  14
#define SLL_LEN	    16
#define SLL2_LEN    20
#define IPOIB_LEN   4
#define GENEVE_LEN  8
#define PORT_GENEVE 6081
#define IP_MIN	    20
#define IP6_LEN	    40
#define TCP_MIN	    20
#define ADDRESS_MAX 8 /* bytes of a hardware address in a cooked header */

static void layer_redact(struct rd_redact *r, const struct layer *l);

static void zero(const struct layer *l, uint32_t from, uint32_t to)
{
	to = RD_MIN(to, l->caplen);
	if (from < to)
		memset(l->data + from, 0, to - from);
}

/* --- link layer ------------------------------------------------------------------------------- */

static void cooked(struct rd_redact *r, const struct layer *l, uint32_t length, uint32_t address)
{
	uint8_t *at = l->data + address;
	unsigned int n = length < l->caplen ? l->data[length] : 0;

	if (l->caplen < address + ADDRESS_MAX) {
		zero(l, address, l->caplen);
		return;
	}
	n = n == 6 || n == ADDRESS_MAX ? n : 0;
	rd_redact_address(r, at, n);
	memset(at + n, 0, ADDRESS_MAX - n);
}

static void link_header(struct rd_redact *r, const struct layer *l)
{
	switch (l->link) {
	case RD_LINK_ETHERNET:
		if (l->caplen < MACS_LEN) {
			zero(l, 0, l->caplen);
			return;
		}
		rd_redact_mac(r, l->data);
		rd_redact_mac(r, l->data + 6);
		return;
	case RD_LINK_SLL: /* length at 4 (16 bits), address at 6 */
		cooked(r, l, 5, 6);
		return;
	case RD_LINK_SLL2:
		cooked(r, l, 11, 12);
		return;
	default: /* LIDs have no meaning outside their fabric */
		return;
	}
}

/* --- network layer ---------------------------------------------------------------------------- */

/* IPv6 extension headers (RFC 8200): only type and length are kept. */
static void extensions(const struct layer *l, const struct rd_packet *p)
{
	uint32_t at = p->l3 + IP6_LEN, end = p->l4 ? p->l4 : p->payload;
	uint8_t proto = l->data[p->l3 + 6];

	while (at + 8 <= end && at + 8 <= l->caplen && at < end) {
		uint32_t length = proto == IPPROTO_FRAGMENT ? 8
				  : proto == IPPROTO_AH	    ? (l->data[at + 1] + 2U) * 4
							    : (l->data[at + 1] + 1U) * 8;

		if (proto != IPPROTO_FRAGMENT)
			zero(l,
				at + (proto == IPPROTO_AH		? 12
					     : proto == IPPROTO_ROUTING ? 4
									: 2),
				at + length);
		proto = l->data[at];
		at += length;
	}
}

/* IPv4 options may contain addresses; they are replaced by 1 (no operation). */
static void network_header(struct rd_redact *r, const struct layer *l, const struct rd_packet *p)
{
	uint8_t *h = l->data + p->l3;
	uint32_t options = p->l3 + IP_MIN, end;

	switch (p->net) {
	case RD_NET_IPV4:
		rd_redact_ipv4(r, h + 12);
		rd_redact_ipv4(r, h + 16);
		end = p->l3 + (uint32_t)(h[0] & 0xf) * 4;
		end = RD_MIN(end, l->caplen);
		if (options < end)
			memset(l->data + options, 1, end - options);
		return;
	case RD_NET_IPV6:
		extensions(l, p);
		__attribute__((fallthrough));
	case RD_NET_GRH:
		rd_redact_ipv6(r, h + 8);
		rd_redact_ipv6(r, h + 24);
		return;
	default:
		return;
	}
}

/* --- what follows the headers ----------------------------------------------------------------- */

/* An inner frame that begins at `data`: both copies are advanced. */
static void inner_redact(
	struct rd_redact *r, const struct layer *l, uint32_t from, uint32_t len, enum rd_link link)
{
	struct layer in = {.data = l->data + from,
		.old = l->old + from,
		.caplen = l->caplen - from,
		.len = len,
		.link = link,
		.depth = l->depth + 1};

	in.caplen = RD_MIN(in.caplen, in.len);
	if (in.depth > DEPTH_MAX)
		memset(in.data, 0, in.caplen);
	else
		layer_redact(r, &in);
}

/* A tunnel's header is kept, Geneve options are zeroed. Returns whether there is a tunnel. */
static bool tunnel(struct rd_redact *r, const struct layer *l, const struct rd_packet *p)
{
	struct rd_inner in = {l->old, l->caplen, l->len, l->link, 0, 0};
	uint32_t at;

	if (!rd_decap_level(&in))
		return false;
	at = (uint32_t)(in.data - l->old);
	if (p->l4 && p->proto == IPPROTO_UDP && rd_be16(l->old + p->l4 + 2) == PORT_GENEVE)
		zero(l, p->l4 + 8 + GENEVE_LEN, at);
	inner_redact(r, l, at, in.len, in.link);
	return true;
}

/* IP over InfiniBand keeps its headers, by which it is recognized. */
static bool ipoib(
	struct rd_redact *r, const struct layer *l, const struct rd_packet *p, uint32_t end)
{
	struct rd_packet old = *p;
	struct rd_ipoib ip;
	uint32_t at = p->payload + IPOIB_LEN;

	old.data = l->old;
	if (!rd_packet_ipoib(&old, &ip) || at >= end)
		return false;
	if (ip.ethertype == 0x0806)
		arp_redact(r, l->data + at, end - at);
	else
		inner_redact(r, l, at, end - at, RD_LINK_IP);
	return true;
}

static void transport_payload(
	struct rd_redact *r, const struct layer *l, const struct rd_packet *p, uint32_t end)
{
	const uint8_t *reserved = rd_packet_header(p, RD_H_CNP);

	if (reserved)
		zero(l, (uint32_t)(reserved - p->data), p->payload);
	if (p->payload >= end)
		return;
	if (rd_packet_is_mad(p))
		mad_redact(r, l->data + p->payload, end - p->payload);
	else if (!ipoib(r, l, p, end))
		zero(l, p->payload, end);
}

/* Pause frames of either sort (IEEE 802.3 annex 31): opcode, classes and times. */
static uint32_t pause_end(const struct layer *l, const struct rd_packet *p)
{
	struct rd_pause pause;
	struct rd_packet old = *p;

	old.data = l->old;
	if (!rd_packet_pause(&old, &pause))
		return p->payload;
	return p->payload + (pause.pfc ? 2 + 2 + 2 * RD_PRIORITIES : 2 + 2);
}

/* Options of TCP may contain addresses (RFC 8684); they are replaced by 1 (no operation). */
static void tcp_options(const struct layer *l, const struct rd_packet *p)
{
	uint32_t end = p->payload < l->caplen ? p->payload : l->caplen;

	if (p->l4 && p->proto == IPPROTO_TCP && p->l4 + TCP_MIN < end)
		memset(l->data + p->l4 + TCP_MIN, 1, end - p->l4 - TCP_MIN);
}

static void other_payload(
	struct rd_redact *r, const struct layer *l, const struct rd_packet *p, uint32_t end)
{
	if (p->net == RD_NET_NONE && (p->ethertype == 0x0806 || p->ethertype == 0x8035))
		arp_redact(r, l->data + p->payload, end > p->payload ? end - p->payload : 0);
	else if (p->net != RD_NET_NONE && p->l4 && p->l4 < end &&
		 !(p->flags & RD_PACKET_FRAGMENT) &&
		 (p->proto == IPPROTO_ICMP || p->proto == IPPROTO_ICMPV6)) {
		uint32_t quoted = icmp_redact(r, l, p, end);

		if (quoted && quoted < end)
			inner_redact(r, l, quoted, end - quoted, RD_LINK_IP);
	} else
		zero(l, pause_end(l, p), end);
}

/* Truncated headers: no address was read from them. */
static void cut_headers(const struct layer *l, const struct rd_packet *p)
{
	if (p->op)
		return;
	if (p->net == RD_NET_NONE)
		zero(l,
			p->l3						       ? p->l3
			: l->link == RD_LINK_ETHERNET && l->caplen >= MACS_LEN ? MACS_LEN
			: l->link == RD_LINK_INFINIBAND			       ? 8
			: l->link == RD_LINK_SLL			       ? SLL_LEN
			: l->link == RD_LINK_SLL2			       ? SLL2_LEN
			: l->link == RD_LINK_NULL			       ? 4
									       : 0,
			l->caplen);
	else if (!p->l4)
		zero(l, p->l3 + (p->net == RD_NET_IPV4 ? IP_MIN : IP6_LEN), l->caplen);
}

static uint32_t payload_end(const struct layer *l, const struct rd_packet *p)
{
	uint32_t end = p->icrc ? p->icrc : p->end;

	return end < l->caplen ? end : l->caplen;
}

/* The data after the headers of a layer, if these were captured. */
static void content(
	struct rd_redact *r, const struct layer *l, const struct rd_packet *p, uint32_t end)
{
	if (tunnel(r, l, p))
		return;
	if (p->op)
		transport_payload(r, l, p, end);
	else
		other_payload(r, l, p, end);
}

/* The bytes after the length in the packet's headers: padding with any content, or an FCS. */
static void trailer(const struct layer *l, const struct rd_packet *p)
{
	uint32_t all = l->caplen + l->extra, from = p->end < all ? p->end : all, fcs = 0;

	if (l->link == RD_LINK_INFINIBAND)
		from = p->end + 2 < l->caplen ? p->end + 2 : l->caplen;
	if (l->link == RD_LINK_ETHERNET && l->extra >= FCS_LEN &&
		crc_is_fcs(l->old, l->caplen + FCS_LEN))
		fcs = l->caplen + FCS_LEN;
	else if (l->link == RD_LINK_ETHERNET && !l->extra && l->caplen == l->len &&
		 l->caplen >= from + FCS_LEN && crc_is_fcs(l->old, l->caplen))
		fcs = l->caplen;
	if (!fcs || fcs < from + FCS_LEN) {
		memset(l->data + from, 0, all - from);
		return;
	}
	memset(l->data + from, 0, fcs - FCS_LEN - from);
	memset(l->data + fcs, 0, all - fcs);
	fcs_redact(l, fcs - FCS_LEN);
}

static void layer_redact(struct rd_redact *r, const struct layer *l)
{
	struct rd_packet p;

	rd_packet_parse(l->link, l->data, l->caplen, l->len, &p);
	if (p.flags & RD_PACKET_LINK)
		return;
	link_header(r, l);
	if (p.flags & RD_PACKET_CUT)
		cut_headers(l, &p);
	else
		content(r, l, &p, payload_end(l, &p));
	if (p.net != RD_NET_NONE)
		network_header(r, l, &p);
	tcp_options(l, &p);
	/* The ICRC does not cover the other checksums, which cover it. */
	icrc_redact(l, &p);
	sums_redact(l, &p);
	vcrc_redact(l, &p);
	trailer(l, &p);
}

bool rd_redact_frame(struct rd_redact *r, enum rd_link link, uint8_t *data, uint32_t caplen,
	uint32_t len, uint32_t extra)
{
	struct layer l = {.data = data, .caplen = caplen, .extra = extra, .len = len, .link = link};
	uint8_t *old;

	if (link == RD_LINK_UNKNOWN || link == RD_LINK_RAW)
		return false;
	old = malloc((size_t)caplen + extra + 1);
	if (!old) {
		r->no_memory = true;
		return true;
	}
	memcpy(old, data, (size_t)caplen + extra);
	l.old = old;
	layer_redact(r, &l);
	free(old);
	return true;
}
