/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses in ARP (RFC 826; InfiniBand: RFC 4391), ICMP (RFC 792), ICMPv6 (RFC 4443, 4861). */
#include "redact.h"
#include <netinet/in.h>

#define ARP_HEADER  8
#define IPOIB_LEN   20 /* flags and QPN, GID */
#define ICMP_HEADER 8

#define ND_FIRST      133
#define ND_REDIRECT   137
#define ICMP_REDIRECT 5

/* Those of one of two lengths; others are zeroed. */
static void address(
	struct rd_redact *r, uint8_t *p, unsigned int n, unsigned int one, unsigned int two)
{
	if ((n != one && n != two) || !rd_redact_address(r, p, n))
		memset(p, 0, n);
}

void arp_redact(struct rd_redact *r, uint8_t *p, uint32_t left)
{
	uint32_t at = ARP_HEADER;

	if (left < ARP_HEADER)
		return;
	for (unsigned int i = 0; i < 4; i++) {
		unsigned int n = p[4 + i % 2];

		if (left - at < n)
			break;
		if (i % 2)
			address(r, p + at, n, 4, 16);
		else
			address(r, p + at, n, 6, IPOIB_LEN);
		at += n;
	}
	memset(p + at, 0, left - at); /* truncated data, and padding */
}

/* --- ICMP ------------------------------------------------------------------------------------- */

/* Options of neighbor discovery: hardware addresses; others are zeroed after their length field. */
static void nd_options(struct rd_redact *r, uint8_t *p, uint32_t left)
{
	while (left >= 8 && p[1]) {
		uint32_t n = p[1] * 8U;

		if (n > left)
			break;
		if ((p[0] == 1 || p[0] == 2) && n == 8)
			rd_redact_mac(r, p + 2);
		else
			memset(p + 2, 0, n - 2);
		p += n;
		left -= n;
	}
	memset(p, 0, left);
}

static void neighbor_discovery(struct rd_redact *r, uint8_t *p, uint32_t left, uint8_t type)
{
	/* bytes before the options: router solicitation, its answer, neighbor's, redirect */
	static const uint8_t lengths[] = {0, 8, 16, 16, 32};
	const uint32_t fixed = lengths[type - ND_FIRST];

	if (left < fixed) {
		memset(p, 0, left);
		return;
	}
	for (uint32_t at = 0; at + 16 <= fixed; at += 16)
		rd_redact_ipv6(r, p + at);
	nd_options(r, p + fixed, left - fixed);
}

/* Errors quote the packet that caused them. */
static bool quotes(const struct rd_packet *p, uint8_t type)
{
	static const uint8_t types[] = {3, 4, 5, 11, 12};

	return p->proto == IPPROTO_ICMPV6 ? type >= 1 && type <= 4
					  : memchr(types, type, sizeof(types)) != NULL;
}

uint32_t icmp_redact(
	struct rd_redact *r, const struct layer *l, const struct rd_packet *p, uint32_t end)
{
	uint32_t from = p->l4 + ICMP_HEADER;
	uint8_t *icmp = l->data + p->l4;

	if (end < from) {
		memset(icmp, 0, end - p->l4);
		return 0;
	}
	if (p->proto != IPPROTO_ICMPV6 && icmp[0] == ICMP_REDIRECT)
		rd_redact_ipv4(r, icmp + 4);
	if (quotes(p, icmp[0]))
		return from;
	if (p->proto == IPPROTO_ICMPV6 && icmp[0] >= ND_FIRST && icmp[0] <= ND_REDIRECT)
		neighbor_discovery(r, l->data + from, end - from, icmp[0]);
	else
		memset(l->data + from, 0, end - from);
	return 0;
}
