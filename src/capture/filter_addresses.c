/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Terms that people think in and BPF cannot say: QPs, opcodes, addresses at either end, GIDs. ARP:
 * RFC 826. */
#include "filter_terms.h"
#include <arpa/inet.h>
#include <errno.h>
#include <rdmadump/units.h>
#include <stdlib.h>

#define QP_MAX	      0xffffff
#define ETHERTYPE_ARP 0x0806
#define ARP_LEN	      28
#define MAPPED	      UINT64_C(0xffff00000000) /* ::ffff:0.0.0.0, lower half */

static unsigned int list_length(const char *list)
{
	unsigned int n = 1;

	for (; *list; list++)
		n += *list == ',';
	return n;
}

static bool given(const char *text)
{
	return text && *text;
}

static int no_memory(struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "compiling the filter");
}

static int compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int compile_numbers(
	struct rd_numbers *set, const char *option, const char *list, struct rd_error *err)
{
	const char *entry;
	size_t length;

	if (!given(list))
		return 0;
	set->values = calloc(list_length(list), sizeof(*set->values));
	if (!set->values)
		return no_memory(err);
	while ((entry = rd_list_next(&list, &length))) {
		char text[24] = "";
		uint64_t v;

		if (length < sizeof(text))
			memcpy(text, entry, length);
		if (rd_parse_u64(text, 0, QP_MAX, &v))
			return rd_fail(err, RD_CLASS_USAGE, 0, "give numbers like 17 or 0x11,0x12",
				"%s: '%.*s' is not a QP number from 0 to 0xffffff", option,
				(int)(length > 60 ? 60 : length), entry);
		set->values[set->n++] = (uint32_t)v;
	}
	qsort(set->values, set->n, sizeof(*set->values), compare_numbers);
	return 0;
}

static bool has_number(const struct rd_numbers *set, uint32_t v)
{
	unsigned int low = 0, high = set->n;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (set->values[middle] < v)
			low = middle + 1;
		else
			high = middle;
	}
	return low < set->n && set->values[low] == v;
}

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

static int compile_addresses(
	struct rd_addresses *set, bool gid, const char *list, struct rd_error *err)
{
	const char *entry;
	size_t length;

	if (!given(list))
		return 0;
	set->prefixes = calloc(list_length(list), sizeof(*set->prefixes));
	set->macs = calloc(list_length(list), sizeof(*set->macs));
	if (!set->prefixes || !set->macs)
		return no_memory(err);
	while ((entry = rd_list_next(&list, &length))) {
		char text[64] = "";

		if (length < sizeof(text))
			memcpy(text, entry, length);
		if (!gid && parse_mac(text, set->macs[set->n_macs])) {
			set->n_macs++;
			continue;
		}
		if (parse_prefix(text, gid, &set->prefixes[set->n_prefixes])) {
			set->n_prefixes++;
			continue;
		}
		return rd_fail(err, RD_CLASS_USAGE, 0,
			gid ? "give IPv6 text like fe80::5054:ff:fe77:1, or ::ffff:10.0.0.1 for an "
			      "IPv4 address"
			    : "give addresses like 10.0.0.1, 10.0.0.0/24, fe80::1 or "
			      "52:54:00:77:00:01 (names are not looked up)",
			"%s: '%.*s' is no %s", gid ? "--gid" : "--host",
			(int)(length > 60 ? 60 : length), entry, gid ? "GID" : "address");
	}
	return 0;
}

int rd_terms_compile(struct rd_terms *t, const struct rd_filter_spec *spec, struct rd_error *err)
{
	t->roce = spec->roce;
	if (compile_numbers(&t->qp, "--qp", spec->qp, err) ||
		compile_numbers(&t->src_qp, "--src-qp", spec->src_qp, err) ||
		compile_addresses(&t->host, false, spec->host, err) ||
		compile_addresses(&t->gid, true, spec->gid, err))
		return -1;
	if (t->src_qp.n) {
		t->pairs = rd_pairs_new();
		if (!t->pairs)
			return no_memory(err);
	}
	if (!given(spec->opcode))
		return 0;
	t->opcodes = calloc(1, sizeof(*t->opcodes));
	if (!t->opcodes)
		return no_memory(err);
	return rd_opcode_set_compile(t->opcodes, spec->opcode, err);
}

void rd_terms_free(struct rd_terms *t)
{
	free(t->qp.values);
	free(t->src_qp.values);
	free(t->host.prefixes);
	free(t->host.macs);
	free(t->gid.prefixes);
	free(t->gid.macs);
	free(t->opcodes);
	free(t->pairs);
}

static bool has_addresses(const struct rd_addresses *set)
{
	return set->n_prefixes || set->n_macs;
}

bool rd_terms_any(const struct rd_terms *t)
{
	return t->qp.n || t->src_qp.n || t->opcodes || t->roce || has_addresses(&t->host) ||
	       has_addresses(&t->gid);
}

static bool has_prefix(const struct rd_addresses *set, uint64_t high, uint64_t low)
{
	for (unsigned int i = 0; i < set->n_prefixes; i++) {
		const struct rd_prefix *x = &set->prefixes[i];

		if ((high & x->mask[0]) == x->address[0] && (low & x->mask[1]) == x->address[1])
			return true;
	}
	return false;
}

static bool match_network(const struct rd_addresses *set, const struct rd_packet *p)
{
	const uint8_t *src, *dst;

	switch (rd_packet_addresses(p, &src, &dst)) {
	case 4:
		return has_prefix(set, 0, MAPPED | rd_be32(src)) ||
		       has_prefix(set, 0, MAPPED | rd_be32(dst));
	case 16:
		return has_prefix(set, rd_be64(src), rd_be64(src + 8)) ||
		       has_prefix(set, rd_be64(dst), rd_be64(dst + 8));
	default:
		return false;
	}
}

/* As tcpdump's "host" does: who asks and who is asked for. */
static bool match_arp(const struct rd_addresses *set, const struct rd_packet *p)
{
	const uint8_t *arp = p->data + p->l3;

	if (p->ethertype != ETHERTYPE_ARP || p->caplen - p->l3 < ARP_LEN ||
		rd_be16(arp + 2) != 0x0800 || arp[4] != 6 || arp[5] != 4)
		return false;
	return has_prefix(set, 0, MAPPED | rd_be32(arp + 14)) ||
	       has_prefix(set, 0, MAPPED | rd_be32(arp + 24));
}

static bool match_mac(const struct rd_addresses *set, const struct rd_packet *p)
{
	/* l3 is set once both addresses and the Ethertype were there. */
	if (!p->ethertype || p->kind == RD_KIND_IB)
		return false;
	for (unsigned int i = 0; i < set->n_macs; i++)
		if (!memcmp(set->macs[i], p->data, 6) || !memcmp(set->macs[i], p->data + 6, 6))
			return true;
	return false;
}

static bool match_host(const struct rd_addresses *set, const struct rd_packet *p)
{
	if (set->n_macs && match_mac(set, p))
		return true;
	return set->n_prefixes && (match_network(set, p) || match_arp(set, p));
}

static bool match_source(const struct rd_terms *t, const struct rd_packet *p)
{
	struct rd_deth deth;
	uint32_t qp;

	if (!p->op)
		return false;
	if (rd_packet_deth(p, &deth))
		return has_number(&t->src_qp, deth.src_qp);
	return rd_pairs_source(t->pairs, p, &qp) && has_number(&t->src_qp, qp);
}

bool rd_terms_match(const struct rd_terms *t, const struct rd_packet *p)
{
	if (t->roce && p->kind == RD_KIND_OTHER)
		return false;
	if (t->qp.n && (!p->op || !has_number(&t->qp, p->dest_qp)))
		return false;
	if (t->opcodes && !rd_opcode_set_match(t->opcodes, p))
		return false;
	if (t->src_qp.n && !match_source(t, p))
		return false;
	if (has_addresses(&t->host) && !match_host(&t->host, p))
		return false;
	/* A GID belongs to InfiniBand's transport, though RoCE v2 writes it as an IP address. */
	return !has_addresses(&t->gid) || (p->kind != RD_KIND_OTHER && match_network(&t->gid, p));
}
