/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The checksums of a whole packet: IBTA volume 1, 7.8.1 and 7.8.2, annexes A16 and A17. Fields that
 * switches and routers may change are computed as ones.
 */
#include "crc.h"
#include <rdmadump/packet.h>
#include <rdmadump/wire.h>

#define LRH_LEN	 8
#define IP_MIN	 20
#define IP6_LEN	 40 /* the same for a GRH */
#define UDP_LEN	 8
#define VCRC_LEN 2

#define IP_MAX	    60 /* IPv4 with all its options */
#define HEADERS_MAX (LRH_LEN + IP_MAX + UDP_LEN + RD_BTH_LEN)

/*
 * Fields computed as ones, by network header, from the LRH on. RoCE has no LRH: eight bytes of ones
 * replace it, and that of an InfiniBand packet with a GRH. IPv4: type of service, time to live,
 * checksum; IPv6 and GRH: traffic class, flow label, hop limit; UDP: checksum; BTH: the byte that
 * has FECN and BECN in RoCE.
 */
#define NO_LRH	[0 ... LRH_LEN - 1] = 0xff
#define LANE	[0] = 0xf0 /* the virtual lane */
#define IP4(at) [(at) + 1] = 0xff, [(at) + 8] = 0xff, [(at) + 10 ...(at) + 11] = 0xff
#define IP6(at) [(at)] = 0x0f, [(at) + 1 ...(at) + 3] = 0xff, [(at) + 7] = 0xff
#define UDP(at) [(at) + 6 ...(at) + 7] = 0xff
#define BTH(at) [(at) + 4] = 0xff
static const uint8_t masks[][CRC_MASKED] = {
	[RD_NET_IPV4] = {NO_LRH, IP4(8), UDP(28), BTH(36)},
	[RD_NET_IPV6] = {NO_LRH, IP6(8), UDP(48), BTH(56)},
	[RD_NET_GRH] = {NO_LRH, IP6(8), BTH(48)},
};
static const uint8_t masks_ib[][CRC_MASKED] = {
	[RD_NET_NONE] = {LANE, BTH(8)},
	/* Adapters mask the whole LRH of a packet that has a GRH: routers replace it. */
	[RD_NET_GRH] = {NO_LRH, IP6(8), BTH(48)},
};

static uint32_t lrh_length(const uint8_t *lrh)
{
	return (rd_be16(lrh + 4) & 0x7ffU) * 4;
}

/*
 * Whether the length fields agree on the end of the packet: otherwise the position of the ICRC is
 * unknown. Also false for IPv6 with extension headers, for which no rule exists.
 */
static inline bool lengths_agree(const struct rd_packet *p)
{
	const uint8_t *l3 = p->data + p->l3;

	switch (p->net) {
	case RD_NET_IPV4:
		return p->l3 + (uint32_t)rd_be16(l3 + 2) >= p->end &&
		       p->l4 + (uint32_t)rd_be16(p->data + p->l4 + 4) == p->end;
	case RD_NET_IPV6:
		return p->l4 == p->l3 + IP6_LEN && p->l4 + (uint32_t)rd_be16(l3 + 4) >= p->end &&
		       p->l4 + (uint32_t)rd_be16(p->data + p->l4 + 4) == p->end;
	case RD_NET_GRH:
		return p->l3 + IP6_LEN + (uint32_t)rd_be16(l3 + 4) == p->end;
	default:
		return lrh_length(p->data) == p->end;
	}
}

/* IPv4 with options: the options lie between masked bytes, which the table does not cover. */
static uint32_t options_crc(const struct rd_packet *p)
{
	const uint8_t *from = p->data + p->l3;
	uint32_t options = p->l4 - p->l3 - IP_MIN, ip = LRH_LEN + IP_MIN;
	uint32_t headers = ip + options + UDP_LEN + RD_BTH_LEN;
	const uint8_t *mask = masks[RD_NET_IPV4];
	uint8_t h[HEADERS_MAX];

	memcpy(h + LRH_LEN, from, headers - LRH_LEN);
	memset(h, 0xff, LRH_LEN);
	for (uint32_t i = LRH_LEN; i < ip; i++)
		h[i] |= mask[i];
	for (uint32_t i = ip; i < ip + UDP_LEN + RD_BTH_LEN; i++)
		h[i + options] |= mask[i];
	from += headers - LRH_LEN;
	return crc32_run(crc32_run(0, h, headers), from, (uint32_t)(p->data + p->icrc - from));
}

/* Fewer than eight bytes precede the IP header: a copy of the masked bytes has them. */
static uint32_t bare_crc(const struct rd_packet *p)
{
	uint32_t len = p->icrc - p->l3, most = CRC_MASKED - LRH_LEN;
	uint32_t n = len < most ? len : most, crc;
	const uint8_t *from = p->data + p->l3;
	uint8_t block[CRC_MASKED];

	memcpy(block + LRH_LEN, from, n);
	memset(block, 0xff, LRH_LEN);
	crc = crc_table_masked(block, LRH_LEN + n, masks[p->net]);
	return crc32_run(crc, from + n, len - n);
}

/* Not inlined, so that the common case does not save its registers. */
static __attribute__((noinline)) uint32_t crc_of_any(const struct rd_packet *p)
{
	const uint8_t *from = p->data, *mask = masks_ib[p->net];
	uint32_t len;

	if (p->net == RD_NET_IPV4 && p->l4 != p->l3 + IP_MIN)
		return options_crc(p);
	if (p->kind != RD_KIND_IB && p->l3 < LRH_LEN)
		return bare_crc(p);
	/* The eight bytes before the network header are masked in place of the LRH. */
	if (p->kind != RD_KIND_IB) {
		from += p->l3 - LRH_LEN;
		mask = masks[p->net];
	}
	len = (uint32_t)(p->data + p->icrc - from);
	if (len < CRC_MASKED)
		return crc_table_masked(from, len, mask);
	return crc_masked(from, len, mask);
}

bool rd_packet_has_icrc(const struct rd_packet *p)
{
	return p->icrc && p->icrc + RD_ICRC_LEN <= p->caplen && (p->common || lengths_agree(p));
}

bool rd_packet_icrc(const struct rd_packet *p, uint32_t *computed, uint32_t *stored)
{
	enum { FROM = RD_COMMON_L3 - LRH_LEN };

	if (!rd_packet_has_icrc(p))
		return false;
	if (p->common) /* it has CRC_MASKED_MIN bytes, and the mask is not longer */
		*computed = crc_masked(p->data + FROM, p->icrc - FROM, masks[RD_NET_IPV4]);
	else
		*computed = crc_of_any(p);
	*stored = rd_le32(p->data + p->icrc);
	return true;
}

int rd_icrc(
	enum rd_link link, const uint8_t *data, size_t len, uint32_t *computed, uint32_t *stored)
{
	uint32_t n = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
	struct rd_packet p;

	rd_packet_parse(link, data, n, n, &p);
	return rd_packet_icrc(&p, computed, stored) ? 0 : -1;
}

int rd_vcrc(const uint8_t *data, size_t len, uint16_t *computed, uint16_t *stored)
{
	uint32_t end;

	if (len < LRH_LEN)
		return -1;
	end = lrh_length(data);
	if (end < LRH_LEN || end > len || len - end < VCRC_LEN)
		return -1;
	*computed = crc16_run(data, end);
	*stored = rd_le16(data + end);
	return 0;
}
