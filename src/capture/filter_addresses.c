/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --host and --gid: addresses of either end. BPF has such terms only for Ethernet. ARP: RFC 826. */
#include "filter_terms.h"
#include <arpa/inet.h>
#include <errno.h>
#include <rdmadump/units.h>
#include <stdlib.h>

#define ETHERTYPE_ARP 0x0806
#define ARP_LEN	      28
#define ENTRY_SHOWN   60

/* IPv4 as ::ffff:a.b.c.d; two halves in host byte order. */
struct rd_prefix {
	uint64_t address[2], mask[2];
};

struct rd_addresses {
	struct rd_prefix *prefixes;
	uint8_t (*macs)[6];
	unsigned int n_prefixes, n_macs;
};

static bool parse_mac(const char *text, uint8_t mac[6])
{
	for (int i = 0; i < 6; i++) {
		char *end;
		unsigned long v = strtoul(text, &end, 16);

		if (end == text || end - text > 2 || v > 0xff || *text == '-' || *text == '+' ||
			(i < 5 ? *end != ':' && *end != '-' : *end))
			return false;
		mac[i] = (uint8_t)v;
		text = end + 1;
	}
	return true;
}

static uint64_t mask_of(uint64_t bits)
{
	return bits ? ~UINT64_C(0) << (64 - bits) : 0;
}

/* "10.0.0.1", "10.0.0.0/8", "fe80::1", "fe80::/64"; a GID is written as IPv6 only. */
static bool parse_prefix(char *text, bool gid, struct rd_prefix *out)
{
	char *slash = strchr(text, '/');
	uint8_t b[16] = {[10] = 0xff, [11] = 0xff};
	unsigned int width = 128;
	uint64_t bits;

	if (slash)
		*slash++ = '\0';
	if (!gid && inet_pton(AF_INET, text, b + 12) == 1)
		width = 32;
	else if (inet_pton(AF_INET6, text, b) != 1)
		return false;
	bits = width;
	if (slash && rd_parse_u64(slash, 0, width, &bits))
		return false;
	bits += 128 - width;
	out->mask[0] = mask_of(bits < 64 ? bits : 64);
	out->mask[1] = mask_of(bits < 64 ? 0 : bits - 64);
	out->address[0] = rd_be64(b) & out->mask[0];
	out->address[1] = rd_be64(b + 8) & out->mask[1];
	return true;
}

/* The format of an entry, for error messages. */
struct address_kind {
	bool gid;
	const char *name, *todo;
};

static int compile_addresses(void **state, const struct rd_term_use *use,
	const struct address_kind *kind, struct rd_error *err)
{
	const char *list = use->text, *entry;
	struct rd_addresses *set = *state = calloc(1, sizeof(*set));
	size_t length;

	if (set) {
		set->prefixes = calloc(rd_list_length(list), sizeof(*set->prefixes));
		set->macs = calloc(rd_list_length(list), sizeof(*set->macs));
	}
	if (!set || !set->prefixes || !set->macs)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "compiling the filter");
	while ((entry = rd_list_next(&list, &length))) {
		char text[64] = "";

		if (length < sizeof(text))
			memcpy(text, entry, length);
		if (!kind->gid && parse_mac(text, set->macs[set->n_macs])) {
			set->n_macs++;
			continue;
		}
		if (!parse_prefix(text, kind->gid, &set->prefixes[set->n_prefixes]))
			return rd_fail(err, RD_CLASS_USAGE, 0, kind->todo, "%s: '%.*s' is no %s",
				use->term->option,
				(int)(length > ENTRY_SHOWN ? ENTRY_SHOWN : length), entry,
				kind->name);
		set->n_prefixes++;
	}
	return 0;
}

int rd_host_compile(void **state, const struct rd_term_use *use, struct rd_error *err)
{
	static const struct address_kind kind = {.name = "address",
		.todo = "give addresses like 10.0.0.1, 10.0.0.0/24, fe80::1 or 52:54:00:77:00:01 "
			"(names are not looked up)"};

	if (compile_addresses(state, use, &kind, err) < 0)
		return -1;
	if (((struct rd_addresses *)*state)->n_macs && rd_link_keeps_dlt(use->link))
		return rd_fail(err, RD_CLASS_USAGE, 0, "give IP addresses",
			"%s: frames of this link type have no two MAC addresses",
			use->term->option);
	return 0;
}

int rd_gid_compile(void **state, const struct rd_term_use *use, struct rd_error *err)
{
	static const struct address_kind kind = {.gid = true,
		.name = "GID",
		.todo = "give IPv6 text like fe80::5054:ff:fe77:1, or ::ffff:10.0.0.1 for an IPv4 "
			"address"};

	return compile_addresses(state, use, &kind, err);
}

void rd_addresses_free(void *state)
{
	struct rd_addresses *set = state;

	if (set) {
		free(set->prefixes);
		free(set->macs);
	}
	free(set);
}

static bool has_prefix(const struct rd_addresses *set, uint64_t high, uint64_t low)
{
	return RD_ANY(x, set->prefixes, set->n_prefixes,
		(high & x->mask[0]) == x->address[0] && (low & x->mask[1]) == x->address[1]);
}

static bool match_network(const struct rd_addresses *set, const struct rd_packet *p)
{
	const uint8_t *src, *dst;

	switch (rd_packet_addresses(p, &src, &dst)) {
	case 4:
		return has_prefix(set, 0, RD_MAPPED | rd_be32(src)) ||
		       has_prefix(set, 0, RD_MAPPED | rd_be32(dst));
	case 16:
		return has_prefix(set, rd_be64(src), rd_be64(src + 8)) ||
		       has_prefix(set, rd_be64(dst), rd_be64(dst + 8));
	default:
		return false;
	}
}

/* Sender and target address of ARP, like tcpdump's "host". */
static bool match_arp(const struct rd_addresses *set, const struct rd_packet *p)
{
	const uint8_t *arp = p->data + p->l3;

	if (p->ethertype != ETHERTYPE_ARP || p->caplen - p->l3 < ARP_LEN ||
		rd_be16(arp + 2) != 0x0800 || arp[4] != 6 || arp[5] != 4)
		return false;
	return has_prefix(set, 0, RD_MAPPED | rd_be32(arp + 14)) ||
	       has_prefix(set, 0, RD_MAPPED | rd_be32(arp + 24));
}

static bool match_mac(const struct rd_addresses *set, const struct rd_packet *p)
{
	/* ethertype is set once both addresses and the Ethertype were captured */
	if (!p->ethertype || p->kind == RD_KIND_IB)
		return false;
	return RD_ANY(
		m, set->macs, set->n_macs, !memcmp(*m, p->data, 6) || !memcmp(*m, p->data + 6, 6));
}

bool rd_host_match(const void *state, const struct rd_frame *frame, const struct rd_packet *p)
{
	const struct rd_addresses *set = state;

	(void)frame;
	if (set->n_macs && match_mac(set, p))
		return true;
	return set->n_prefixes && (match_network(set, p) || match_arp(set, p));
}

/* A GID belongs to the InfiniBand transport, even where RoCE v2 writes it as an IP address. */
bool rd_gid_match(const void *state, const struct rd_frame *frame, const struct rd_packet *p)
{
	(void)frame;
	return p->kind != RD_KIND_OTHER && match_network(state, p);
}
