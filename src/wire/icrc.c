/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The checksums of a whole packet: IBTA volume 1, 7.8.1 and 7.8.2, annexes A16 and A17. Fields that
 * switches and routers may change count as ones.
 */
#include "crc.h"
#include <rdmadump/bytes.h>
#include <rdmadump/wire.h>

#define ETH_LEN	      14
#define ETHERTYPE_IP  0x0800
#define ETHERTYPE_IP6 0x86dd
#define VLAN_TAG      4
#define IP_MIN	      20
#define IP6_LEN	      40
#define PROTO_UDP     17
#define UDP_LEN	      8
#define LRH_LEN	      8
#define GRH_LEN	      40
#define BTH_LEN	      12
#define BTH_RESV8A    4 /* FECN and BECN in RoCE */
#define ICRC_LEN      4
#define VCRC_LEN      2
#define NEXT_BTH      0x1b /* GRH: an IBA transport header follows */

/* A copy of the headers with the fields set that may change on the way. */
struct masked {
	uint8_t bytes[LRH_LEN + 60 + UDP_LEN +
		      BTH_LEN]; /* the longest: IPv4 with all its options */
	size_t used;
};

static uint8_t *masked_add(struct masked *m, const uint8_t *p, size_t len)
{
	uint8_t *copy = m->bytes + m->used;

	memcpy(copy, p, len);
	m->used += len;
	return copy;
}

/* RoCE has no LRH; its place counts as ones. */
static void masked_add_no_lrh(struct masked *m)
{
	memset(m->bytes + m->used, 0xff, LRH_LEN);
	m->used += LRH_LEN;
}

static void masked_add_bth(struct masked *m, const uint8_t *p)
{
	masked_add(m, p, BTH_LEN)[BTH_RESV8A] = 0xff;
}

/* GRH and IPv6 header alike: traffic class, flow label, hop limit. */
static void masked_add_ip6(struct masked *m, const uint8_t *p)
{
	uint8_t *copy = masked_add(m, p, IP6_LEN);

	copy[0] |= 0x0f;
	memset(copy + 1, 0xff, 3);
	copy[7] = 0xff;
}

static void masked_add_udp(struct masked *m, const uint8_t *p)
{
	uint8_t *copy = masked_add(m, p, UDP_LEN);

	memset(copy + 6, 0xff, 2);
}

/* Type of service, time to live, checksum. */
static void masked_add_ip4(struct masked *m, const uint8_t *p, size_t len)
{
	uint8_t *copy = masked_add(m, p, len);

	copy[1] = 0xff;
	copy[8] = 0xff;
	memset(copy + 10, 0xff, 2);
}

/* v: what is covered behind the masked headers, then the ICRC. */
static int finish(
	const struct masked *m, const struct rd_view *v, uint32_t *computed, uint32_t *stored)
{
	size_t len = rd_view_left(v);
	uint32_t crc;

	if (len < ICRC_LEN)
		return -1;
	crc = crc_invariant(UINT32_MAX, m->bytes, m->used);
	*computed = ~crc_invariant(crc, v->p, len - ICRC_LEN);
	*stored = rd_le32(v->p + len - ICRC_LEN);
	return 0;
}

/* BTH to ICRC in a UDP datagram. The IP header is in *m already. */
static int udp_icrc(struct masked *m, struct rd_view *v, uint32_t *computed, uint32_t *stored)
{
	const uint8_t *udp = rd_view_take(v, UDP_LEN), *bth;
	size_t len;

	if (!udp || rd_be16(udp + 2) != RD_UDP_PORT_ROCE)
		return -1;
	len = rd_be16(udp + 4);
	if (len < UDP_LEN || len - UDP_LEN > rd_view_left(v))
		return -1;
	v->end = v->p + len - UDP_LEN; /* behind it: padding of short Ethernet frames */
	bth = rd_view_take(v, BTH_LEN);
	if (!bth)
		return -1;
	masked_add_udp(m, udp);
	masked_add_bth(m, bth);
	return finish(m, v, computed, stored);
}

static int ip4_icrc(struct rd_view *v, uint32_t *computed, uint32_t *stored)
{
	struct masked m = {.used = 0};
	const uint8_t *ip = v->p;
	size_t header, total;

	if (rd_view_left(v) < IP_MIN || ip[0] >> 4 != 4 || ip[9] != PROTO_UDP)
		return -1;
	header = (size_t)(ip[0] & 0x0f) * 4;
	total = rd_be16(ip + 2);
	if (header < IP_MIN || total < header || total > rd_view_left(v))
		return -1;
	if (rd_be16(ip + 6) & 0x3fff) /* a fragment */
		return -1;
	v->end = v->p + total;
	v->p += header;
	masked_add_no_lrh(&m);
	masked_add_ip4(&m, ip, header);
	return udp_icrc(&m, v, computed, stored);
}

static int ip6_icrc(struct rd_view *v, uint32_t *computed, uint32_t *stored)
{
	struct masked m = {.used = 0};
	const uint8_t *ip = rd_view_take(v, IP6_LEN);

	if (!ip || ip[0] >> 4 != 6 || ip[6] != PROTO_UDP || rd_be16(ip + 4) > rd_view_left(v))
		return -1;
	v->end = v->p + rd_be16(ip + 4);
	masked_add_no_lrh(&m);
	masked_add_ip6(&m, ip);
	return udp_icrc(&m, v, computed, stored);
}

/* GRH to ICRC; what stands for the LRH is in *m already. */
static int grh_icrc(struct masked *m, struct rd_view *v, uint32_t *computed, uint32_t *stored)
{
	const uint8_t *grh = rd_view_take(v, GRH_LEN), *bth;

	if (!grh || grh[6] != NEXT_BTH || rd_be16(grh + 4) > rd_view_left(v))
		return -1;
	v->end = v->p + rd_be16(grh + 4);
	bth = rd_view_take(v, BTH_LEN);
	if (!bth)
		return -1;
	masked_add_ip6(m, grh);
	masked_add_bth(m, bth);
	return finish(m, v, computed, stored);
}

static int ethernet_icrc(struct rd_view *v, uint32_t *computed, uint32_t *stored)
{
	const uint8_t *p = rd_view_take(v, ETH_LEN);
	struct masked m = {.used = 0};
	uint16_t type;

	if (!p)
		return -1;
	type = rd_be16(p + 12);
	while (type == 0x8100 || type == 0x88a8 || type == 0x9100) {
		p = rd_view_take(v, VLAN_TAG);
		if (!p)
			return -1;
		type = rd_be16(p + 2);
	}
	if (type == ETHERTYPE_IP)
		return ip4_icrc(v, computed, stored);
	if (type == ETHERTYPE_IP6)
		return ip6_icrc(v, computed, stored);
	if (type != RD_ETHERTYPE_ROCE)
		return -1;
	masked_add_no_lrh(&m);
	return grh_icrc(&m, v, computed, stored);
}

/* Cuts the view to the length that the LRH states, LRH to ICRC; NULL if there is less. */
static const uint8_t *lrh_take(struct rd_view *v)
{
	const uint8_t *lrh = v->p;
	size_t len;

	if (rd_view_left(v) < LRH_LEN)
		return NULL;
	len = (size_t)(rd_be16(lrh + 4) & 0x7ff) * 4;
	if (len < LRH_LEN || len > rd_view_left(v))
		return NULL;
	v->end = v->p + len;
	v->p += LRH_LEN;
	return lrh;
}

static int infiniband_icrc(struct rd_view *v, uint32_t *computed, uint32_t *stored)
{
	const uint8_t *lrh = lrh_take(v), *bth;
	struct masked m = {.used = 0};

	if (!lrh || !(lrh[1] & 2)) /* LNH: 2 BTH, 3 GRH and BTH; the others are raw, without ICRC */
		return -1;
	masked_add(&m, lrh, LRH_LEN)[0] |= 0xf0; /* the virtual lane */
	if (lrh[1] & 1)
		return grh_icrc(&m, v, computed, stored);
	bth = rd_view_take(v, BTH_LEN);
	if (!bth)
		return -1;
	masked_add_bth(&m, bth);
	return finish(&m, v, computed, stored);
}

int rd_icrc(
	enum rd_link link, const uint8_t *data, size_t len, uint32_t *computed, uint32_t *stored)
{
	struct rd_view v = {data, data + len};

	if (link == RD_LINK_ETHERNET)
		return ethernet_icrc(&v, computed, stored);
	if (link == RD_LINK_INFINIBAND)
		return infiniband_icrc(&v, computed, stored);
	return -1;
}

int rd_vcrc(const uint8_t *data, size_t len, uint16_t *computed, uint16_t *stored)
{
	struct rd_view v = {data, data + len};
	const uint8_t *end;

	if (!lrh_take(&v) || (size_t)(data + len - v.end) < VCRC_LEN)
		return -1;
	end = v.end;
	*computed = (uint16_t)~crc_variant(UINT16_MAX, data, (size_t)(end - data));
	*stored = rd_le16(end);
	return 0;
}
