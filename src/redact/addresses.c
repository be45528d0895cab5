/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replaces binary addresses. Relations between addresses are kept: addresses of one network, a MAC
 * address and what is derived from it (RFC 4291: EUI-64, solicited-node multicast; RFC 2464),
 * ::ffff:a.b.c.d and a.b.c.d, a GUID and the GIDs that end with it.
 */
#include "redact.h"

#define LINK_PREFIX (UINT64_C(0xfe80) << 48) /* of GIDs: the default, no GUID */
#define EUI64	    0xfffe /* bytes 3 and 4 of an identifier that has a MAC address */
#define LINK_LOCAL  0xa9fe /* 169.254/16 */
#define LOCAL	    0x02   /* in the first byte of a MAC address; inverted in an identifier */

static uint32_t low24(struct rd_redact *r, uint32_t value)
{
	return value ? (uint32_t)part_replace(r, SPACE_LOW24, value) : 0;
}

static uint32_t oui(struct rd_redact *r, uint32_t value)
{
	return (uint32_t)part_replace(r, SPACE_OUI, value);
}

/* --- MAC addresses, GUIDs and interface identifiers ------------------------------------------- */

static void put24(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)v;
}

void rd_redact_mac(struct rd_redact *r, uint8_t mac[6])
{
	static const uint8_t zero[6];
	uint8_t old[6];

	memcpy(old, mac, sizeof(old));
	/* 33:33:ff:XX:XX:XX: the group of a solicited node */
	if (mac[0] == 0x33 && mac[1] == 0x33 && mac[2] == 0xff) {
		put24(mac + 3, low24(r, rd_be24(mac + 3)));
	} else if (!(mac[0] & 1) && memcmp(mac, zero, sizeof(zero)) != 0) {
		put24(mac, oui(r, rd_be24(mac)));
		put24(mac + 3, low24(r, rd_be24(mac + 3)));
	}
	record_address(r, RD_REDACT_MAC, old, mac);
}

bool mac_was_seen(const struct rd_redact *r, const uint8_t mac[6])
{
	return part_was_seen(r, SPACE_OUI, rd_be24(mac)) &&
	       part_was_seen(r, SPACE_LOW24, rd_be24(mac + 3));
}

/* Whether it contains a MAC address. */
static bool is_eui64(const uint8_t id[8])
{
	return rd_be16(id + 3) == EUI64 && !((id[0] ^ LOCAL) & 1);
}

bool guid_was_seen(const struct rd_redact *r, const uint8_t guid[8])
{
	return part_was_seen(r, SPACE_LOW24, rd_be24(guid + 5)) &&
	       (is_eui64(guid) ? part_was_seen(r, SPACE_OUI, rd_be24(guid) ^ (uint32_t)LOCAL << 16)
			       : part_was_seen(r, SPACE_HIGH40, rd_be64(guid) >> 24));
}

static void identifier(struct rd_redact *r, uint8_t id[8])
{
	uint64_t high = rd_be64(id) >> 24;

	if (rd_be64(id) == 0 || rd_be64(id) == UINT64_MAX || rd_be64(id) == LINK_PREFIX)
		return;
	if (is_eui64(id)) {
		uint32_t vendor = oui(r, rd_be24(id) ^ (uint32_t)LOCAL << 16);

		put24(id, vendor ^ (uint32_t)LOCAL << 16);
	} else if (high) {
		high = part_replace(r, SPACE_HIGH40, high);
		/* The replacement must not look like an identifier with a MAC address. */
		if (r->replacing && (high & 0xffff) == EUI64)
			high ^= 0x100;
		put24(id, (uint32_t)(high >> 16));
		rd_put_be16(id + 3, (uint16_t)high);
	}
	put24(id + 5, low24(r, rd_be24(id + 5)));
}

void rd_redact_guid(struct rd_redact *r, uint8_t guid[8])
{
	uint8_t old[8];

	memcpy(old, guid, sizeof(old));
	identifier(r, guid);
	record_address(r, RD_REDACT_GUID, old, guid);
}

/* --- IPv4 ------------------------------------------------------------------------------------- */

/* This host, loopback, multicast and reserved addresses, network masks. */
static bool is_known_ipv4(const uint8_t ip[4])
{
	return ip[0] == 0 || ip[0] == 127 || ip[0] >= 224;
}

void rd_redact_ipv4(struct rd_redact *r, uint8_t ip[4])
{
	uint32_t value = rd_be32(ip);
	uint8_t old[4];

	if (is_known_ipv4(ip))
		return;
	memcpy(old, ip, sizeof(old));
	if (value >> 16 != LINK_LOCAL) {
		ip[0] = (uint8_t)part_replace(r, SPACE_IPV4_8, value >> 24);
		ip[1] = (uint8_t)part_replace(r, SPACE_IPV4_16, value >> 16);
	}
	ip[2] = (uint8_t)part_replace(r, SPACE_IPV4_24, value >> 8);
	/* The last byte of a network's own address and of its broadcast address is kept. */
	if (ip[3] != 0 && ip[3] != 255)
		ip[3] = (uint8_t)part_replace(r, SPACE_IPV4_32, value);
	record_address(r, RD_REDACT_IPV4, old, ip);
}

bool ipv4_was_seen(const struct rd_redact *r, const uint8_t ip[4])
{
	return ip[3] == 0 || ip[3] == 255 ? part_was_seen(r, SPACE_IPV4_24, rd_be32(ip) >> 8)
					  : part_was_seen(r, SPACE_IPV4_32, rd_be32(ip));
}

/* --- IPv6 and GIDs ---------------------------------------------------------------------------- */

/* Groups of zeros and link-local prefixes are kept. */
void rd_redact_prefix(struct rd_redact *r, uint8_t prefix[8])
{
	uint64_t value = rd_be64(prefix);

	for (unsigned int i = 0; i < 4; i++) {
		uint8_t *group = prefix + 2 * i;

		if (!rd_be16(group) || (!i && rd_be16(group) >= 0xfe00))
			continue;
		rd_put_be16(group, (uint16_t)part_replace(r, (enum space)(SPACE_IPV6_16 + i),
					   value >> (48 - 16 * i)));
	}
}

/* Multicast groups are kept; a solicited-node group is derived from the replaced address. */
static void multicast(struct rd_redact *r, uint8_t ip[16])
{
	static const uint8_t solicited[13] = {0xff, 0x02, [11] = 0x01, [12] = 0xff};

	if (memcmp(ip, solicited, sizeof(solicited)) == 0)
		put24(ip + 13, low24(r, rd_be24(ip + 13)));
	else if ((ip[1] & 0x30) == 0x30) /* RFC 3306: contains a network's prefix */
		rd_redact_prefix(r, ip + 4);
}

void rd_redact_ipv6(struct rd_redact *r, uint8_t ip[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	uint8_t old[16];

	memcpy(old, ip, sizeof(old));
	if (memcmp(ip, mapped, sizeof(mapped)) == 0) {
		rd_redact_ipv4(r, ip + 12);
		return; /* the map contains it as IPv4 */
	}
	if (rd_be64(ip) == 0 && rd_be64(ip + 8) <= 1)
		return;
	if (ip[0] == 0xff) {
		multicast(r, ip);
	} else {
		rd_redact_prefix(r, ip);
		identifier(r, ip + 8);
	}
	record_address(r, RD_REDACT_IPV6, old, ip);
}

bool rd_redact_address(struct rd_redact *r, uint8_t *bytes, size_t n)
{
	switch (n) {
	case 4:
		rd_redact_ipv4(r, bytes);
		return true;
	case 6:
		rd_redact_mac(r, bytes);
		return true;
	case 8:
		rd_redact_guid(r, bytes);
		return true;
	case 16:
		rd_redact_ipv6(r, bytes);
		return true;
	case 20: /* flags and QPN before it */
		rd_redact_ipv6(r, bytes + 4);
		return true;
	default:
		return false;
	}
}
