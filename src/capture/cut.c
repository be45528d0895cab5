/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shortens frames: to a number of bytes, to headers, or zeroes payload. ICMP: RFC 792, 4443. */
#include <rdmadump/array.h>
#include <rdmadump/filter.h>

#define PROTO_ICMP   1
#define PROTO_IGMP   2
#define PROTO_TCP    6
#define PROTO_UDP    17
#define PROTO_ICMPV6 58

#define LLC_LENGTH_MAX 1500 /* in place of an Ethertype: the length of an 802.3 frame */
#define FCS_LEN	       4
#define ICMP_LEN       8
#define QUOTED_LEN     8 /* bytes of the quoted transport header: ports and TCP sequence number */

/* Protocols for control of the network, without user data. */
static bool is_control(uint16_t ethertype)
{
	static const uint16_t types[] = {
		0x0806, /* ARP */
		0x8035, /* RARP */
		0x8808, /* MAC control: pause, PFC */
		0x8809, /* slow protocols: LACP */
		0x888e, /* EAPOL */
		0x88cc, /* LLDP */
		0x88f7, /* PTP */
		0x8902, /* CFM */
	};

	return ethertype <= LLC_LENGTH_MAX ||
	       RD_ANY(type, types, RD_COUNT(types), *type == ethertype);
}

/* Start of user data in an ICMP message; caplen if it has none. */
static uint32_t icmp_payload(const struct rd_packet *p)
{
	static const uint8_t quotes4[] = {3, 4, 5, 11, 12};
	const uint8_t *icmp = p->data + p->l4;
	uint32_t left = p->caplen - p->l4, quoted = 40;
	bool v6 = p->proto == PROTO_ICMPV6;

	if (left <= ICMP_LEN)
		return p->caplen;
	if (v6 ? icmp[0] == 128 || icmp[0] == 129 : icmp[0] == 0 || icmp[0] == 8)
		return p->l4 + ICMP_LEN;
	if (v6 ? icmp[0] >= 128 : !memchr(quotes4, icmp[0], sizeof(quotes4)))
		return p->caplen;
	if (!v6)
		quoted = (uint32_t)(icmp[ICMP_LEN] & 0xf) * 4;
	return p->l4 + ICMP_LEN + quoted + QUOTED_LEN;
}

/* Start of the bytes that must be hidden, in frames without a known transport header. */
static uint32_t other_payload(const struct rd_packet *p)
{
	if (p->net == RD_NET_NONE)
		return p->ethertype && is_control(p->ethertype) ? p->caplen : p->payload;
	if (p->l4 && p->l4 <= p->caplen &&
		((p->net == RD_NET_IPV4 && p->proto == PROTO_ICMP) ||
			(p->net == RD_NET_IPV6 && p->proto == PROTO_ICMPV6)))
		return icmp_payload(p);
	return p->proto == PROTO_IGMP ? p->caplen : p->payload;
}

/* Whether all bytes after p->payload are known to be payload. */
static bool known(const struct rd_packet *p)
{
	if (p->op)
		return true;
	if (p->net != RD_NET_NONE && !p->l4 && p->flags & RD_PACKET_FRAGMENT)
		return true;
	return p->l4 && (p->proto == PROTO_TCP || p->proto == PROTO_UDP);
}

static uint32_t headers(const struct rd_packet *p)
{
	if (rd_packet_is_mad(p) || !known(p))
		return p->caplen;
	return p->payload;
}

/* The only place that writes into a frame: sources lend their own buffers as const. */
static void zero(const struct rd_packet *p, uint32_t from, uint32_t to)
{
	to = RD_MIN(to, p->caplen);
	if (from < to)
		memset((uint8_t *)(uintptr_t)(p->data + from), 0, to - from);
}

/* If a length field is wrong, payload would be mistaken for a trailer. */
static void zero_tail(const struct rd_packet *p)
{
	if (p->len - p->end > FCS_LEN)
		zero(p, p->end, p->caplen);
}

static void zero_payload(const struct rd_packet *p)
{
	if (!p->op) {
		zero(p, known(p) ? p->payload : other_payload(p), p->caplen);
		return;
	}
	if (!rd_packet_is_mad(p))
		zero(p, p->payload, p->icrc ? p->icrc : p->end);
	zero_tail(p);
}

/* The length to keep if the payload cannot be zeroed. */
static uint32_t without_payload(const struct rd_packet *p)
{
	if (p->op)
		return rd_packet_is_mad(p) ? p->end : p->payload;
	return known(p) ? p->payload : other_payload(p);
}

static void shorten(struct rd_frame *frame, uint32_t caplen)
{
	frame->caplen = RD_MIN(frame->caplen, caplen);
}

static void cut_packet(
	const struct rd_cut *cut, struct rd_frame *frame, const struct rd_packet *p, uint32_t at)
{
	if (cut->headers_only)
		shorten(frame, at + headers(p));
	if (cut->zero_payload && cut->writable)
		zero_payload(p);
	else if (cut->zero_payload)
		shorten(frame, at + without_payload(p));
}

/* The payload of a tunnel is RDMA, if it has any, whose headers are kept, too. */
static void cut_frame(const struct rd_cut *cut, enum rd_link link, struct rd_frame *frame,
	const struct rd_packet *p)
{
	struct rd_packet inner;
	struct rd_inner in;

	if (!p->op) {
		inner = *p;
		if (rd_packet_inner(link, frame, &inner, &in)) {
			cut_packet(cut, frame, &inner, (uint32_t)(in.data - frame->data));
			if (cut->zero_payload && cut->writable)
				zero_tail(p);
			return;
		}
	}
	cut_packet(cut, frame, p, 0);
}

void rd_cut_run(const struct rd_cut *cut, enum rd_link link, struct rd_frame *frames,
	unsigned int n, const struct rd_packet *packets)
{
	if (cut->headers_only || cut->zero_payload) {
		for (unsigned int i = 0; i < n; i++) {
			struct rd_packet parsed;

			if (!packets)
				rd_packet_parse(link, frames[i].data, frames[i].caplen,
					frames[i].len, &parsed);
			cut_frame(cut, link, &frames[i], packets ? &packets[i] : &parsed);
		}
	}
	if (cut->snaplen)
		for (unsigned int i = 0; i < n; i++)
			shorten(&frames[i], cut->snaplen);
}
