/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Checksums of a frame whose bytes were changed. Each checksum is updated by the difference of the
 * bytes, so that a wrong one stays wrong by the same amount (RFC 1624; CRCs are linear).
 */
#include "../wire/crc.h"
#include "redact.h"
#include <netinet/in.h>
#include <rdmadump/wire.h>

/* The sum of 16-bit words, the last one padded. */
static uint64_t sum16(const uint8_t *p, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i + 1 < n; i += 2)
		sum += rd_be16(p + i);
	return n % 2 ? sum + ((uint64_t)p[n - 1] << 8) : sum;
}

static uint16_t fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* Updates the field at `field` after the bytes [from, to) changed. */
static void sum_update(const struct layer *l, uint32_t field, uint32_t from, uint32_t to)
{
	uint16_t removed, added;

	to = RD_MIN(to, l->caplen);
	if (field + 2 > l->caplen || from >= to)
		return;
	removed = fold(sum16(l->old + from, to - from));
	added = fold(sum16(l->data + from, to - from));
	if (removed != added)
		rd_put_be16(l->data + field,
			(uint16_t)~fold((uint64_t)(uint16_t)~rd_be16(l->data + field) +
					(uint16_t)~removed + added));
}

static bool has_sum(const struct rd_packet *p)
{
	return p->proto == IPPROTO_UDP || p->proto == IPPROTO_TCP || p->proto == IPPROTO_ICMP ||
	       p->proto == IPPROTO_ICMPV6;
}

static void transport_sum(const struct layer *l, const struct rd_packet *p)
{
	uint32_t at = p->l4 + (p->proto == IPPROTO_UDP ? 6 : p->proto == IPPROTO_TCP ? 16 : 2);
	uint32_t addresses = p->l3 + (p->net == RD_NET_IPV4 ? 12 : 8);
	uint8_t *where = l->data + at;

	/* 0 in UDP: no checksum. */
	if (at + 2 > l->caplen || (p->proto == IPPROTO_UDP && !rd_be16(where)))
		return;
	sum_update(l, at, p->l4, p->end);
	if (p->proto != IPPROTO_ICMP) /* it has no pseudo header */
		sum_update(l, at, addresses, addresses + (p->net == RD_NET_IPV4 ? 8 : 32));
	if (p->proto == IPPROTO_UDP && !rd_be16(where))
		rd_put_be16(where, 0xffff);
}

void sums_redact(const struct layer *l, const struct rd_packet *p)
{
	if (p->net != RD_NET_IPV4 && p->net != RD_NET_IPV6)
		return;
	if (p->net == RD_NET_IPV4)
		sum_update(l, p->l3 + 10, p->l3, p->l3 + (uint32_t)(l->old[p->l3] & 0xf) * 4);
	if (p->l4 && p->l4 < l->caplen && has_sum(p))
		transport_sum(l, p);
}

/* --- CRCs ------------------------------------------------------------------------------------- */

void icrc_redact(const struct layer *l, const struct rd_packet *p)
{
	struct rd_packet then = *p, now = *p;
	uint32_t computed, stored, wanted, ignored, end = p->icrc + RD_ICRC_LEN;

	if (!p->icrc || p->icrc >= l->caplen)
		return;
	then.data = l->old;
	now.data = l->data;
	if (rd_packet_icrc(&then, &computed, &stored) && rd_packet_icrc(&now, &wanted, &ignored))
		rd_put_le32(l->data + p->icrc, wanted ^ computed ^ stored);
	else /* the checksum cannot be verified */
		memset(l->data + p->icrc, 0, (end < l->caplen ? end : l->caplen) - p->icrc);
}

void vcrc_redact(const struct layer *l, const struct rd_packet *p)
{
	uint16_t computed, stored, wanted, ignored;

	if (l->link == RD_LINK_INFINIBAND && rd_vcrc(l->old, l->caplen, &computed, &stored) == 0 &&
		rd_vcrc(l->data, l->caplen, &wanted, &ignored) == 0)
		rd_put_le16(l->data + p->end, (uint16_t)(wanted ^ computed ^ stored));
}

void fcs_redact(const struct layer *l, uint32_t at)
{
	uint32_t then = crc32_run(0, l->old, at), now = crc32_run(0, l->data, at);

	rd_put_le32(l->data + at, now ^ then ^ rd_le32(l->old + at));
}
