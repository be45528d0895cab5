/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Distinguishes sent from received frames by their addresses: IEEE 802.3 clause 3.2, IBTA volume 1,
 * 7.7. If both addresses are the port's (loopback) or neither is (a bridge, macvlan, another
 * function), the direction is unknown. But a frame from another address to a group is received: so
 * are the broadcasts and multicasts of all stations.
 */
#include <rdmadump/array.h>
#include <rdmadump/bytes.h>
#include <rdmadump/wire.h>

#define ETH_SOURCE     6
#define ETH_SOURCE_END 12
#define ETH_HEADER     14
#define VLAN_TAG       4
#define VLANS_MAX      4
#define LRH_SLID       6
#define LRH_DLID       2
#define LRH_LEN	       8
#define LID_PERMISSIVE 0xffff
#define ADDRESS_BITS   0xffffffffffff
#define MACS	       RD_LOCAL_MACS
#define IPS	       RD_LOCAL_IPS

enum { TYPE_IPV4 = 0x0800, TYPE_IPV6 = 0x86dd, TYPE_VLAN = 0x8100, TYPE_QINQ = 0x88a8 };

/* to_group: multicast or broadcast. Most frames are from this port or to it. */
static inline uint8_t direction_of(bool from_us, bool to_us, bool to_group)
{
	if (__builtin_expect(from_us != to_us, 1))
		return from_us ? RD_DIR_OUT : RD_DIR_IN;
	return to_group && !from_us ? RD_DIR_IN : RD_DIR_UNKNOWN;
}

static uint64_t mac_number(const uint8_t *mac)
{
	return rd_le32(mac) | (uint64_t)rd_le16(mac + 4) << 32;
}

/* The same number in one load, with two bytes of the other address. */
static inline uint64_t source_number(const uint8_t *frame)
{
	return rd_le64(frame + ETH_SOURCE - 2) >> 16;
}

static inline uint64_t destination_number(const uint8_t *frame)
{
	return rd_le64(frame) & ADDRESS_BITS;
}

/* The I/G bit of the destination. */
static inline bool is_to_group(const uint8_t *frame)
{
	return frame[0] & 1;
}

/* direction_of() for one address, without a branch for what differs from frame to frame. */
static inline uint8_t direction_by_mac(uint64_t mac, const uint8_t *frame)
{
	unsigned int from_us = source_number(frame) == mac;
	/* The source's two bytes are shifted out on both sides. */
	unsigned int to_us = rd_le64(frame) << 16 == mac << 16;

	_Static_assert(RD_DIR_OUT == RD_DIR_IN + 1, "the direction of unicast is a sum");
	if (__builtin_expect(from_us == to_us, 0))
		return direction_of(from_us, to_us, is_to_group(frame));
	return (uint8_t)(RD_DIR_IN + from_us);
}

static void mark_one_mac(uint64_t mac, struct rd_frame *frames, unsigned int n)
{
#pragma GCC unroll 4
	for (struct rd_frame *f = frames, *end = frames + n; f != end; f++)
		f->direction = __builtin_expect(f->caplen < ETH_SOURCE_END, 0)
				       ? RD_DIR_UNKNOWN
				       : direction_by_mac(mac, f->data);
}

static bool is_among(const uint64_t *macs, unsigned int n, uint64_t mac)
{
	return RD_ANY(m, macs, n, *m == mac);
}

static void mark_macs(const struct rd_local *local, struct rd_frame *frames, unsigned int n)
{
	uint64_t macs[MACS];
	unsigned int n_macs = local->n_mac < MACS ? local->n_mac : MACS;

	for (unsigned int i = 0; i < n_macs; i++)
		macs[i] = mac_number(local->mac[i]);
	for (unsigned int i = 0; i < n; i++) {
		struct rd_frame *f = &frames[i];

		f->direction = RD_DIR_UNKNOWN;
		if (f->caplen >= ETH_SOURCE_END)
			f->direction = direction_of(is_among(macs, n_macs, source_number(f->data)),
				is_among(macs, n_macs, destination_number(f->data)),
				is_to_group(f->data));
	}
}

static bool is_local_ip(const struct rd_local *local, const uint8_t *ip)
{
	return RD_ANY(own, local->ip, local->n_ip, memcmp(*own, ip, 16) == 0);
}

/* IPv4 as a GID writes it: ::ffff:a.b.c.d. */
static bool is_local_ipv4(const struct rd_local *local, const uint8_t *ip)
{
	uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff};

	memcpy(mapped + 12, ip, 4);
	return is_local_ip(local, mapped);
}

/* By the addresses of IPv4, IPv6 or the GRH of RoCE v1, which are at the same offsets as IPv6's. */
static uint8_t direction_by_ip(const struct rd_local *local, const struct rd_frame *f)
{
	const uint8_t *p = f->data + ETH_SOURCE_END;
	size_t left = f->caplen;
	uint16_t type;

	for (unsigned int i = 0;; i++, p += VLAN_TAG, left -= VLAN_TAG) {
		if (left < ETH_HEADER || i > VLANS_MAX)
			return RD_DIR_UNKNOWN;
		type = rd_be16(p);
		if (type != TYPE_VLAN && type != TYPE_QINQ)
			break;
		if (left < ETH_HEADER + VLAN_TAG)
			return RD_DIR_UNKNOWN;
	}
	p += 2;
	left -= ETH_HEADER;
	if (type == TYPE_IPV4 && left >= 20)
		return direction_of(is_local_ipv4(local, p + 12), is_local_ipv4(local, p + 16),
			is_to_group(f->data));
	if ((type == TYPE_IPV6 || type == RD_ETHERTYPE_ROCE) && left >= 40)
		return direction_of(is_local_ip(local, p + 8), is_local_ip(local, p + 24),
			is_to_group(f->data));
	return RD_DIR_UNKNOWN;
}

static void mark_ips(const struct rd_local *local, struct rd_frame *frames, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		frames[i].direction = direction_by_ip(local, &frames[i]);
}

/*
 * A port sends only from its own LIDs: frames from another LID are received, also multicast. The
 * permissive LID, of SMPs with a directed route, is everybody's.
 */
static void mark_lid(uint16_t lid, uint16_t mask, struct rd_frame *frames, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct rd_frame *f = &frames[i];
		bool from_us, to_us;

		f->direction = RD_DIR_UNKNOWN;
		if (f->caplen < LRH_LEN || rd_be16(f->data + LRH_SLID) == LID_PERMISSIVE)
			continue;
		from_us = (rd_be16(f->data + LRH_SLID) & mask) == (lid & mask);
		to_us = (rd_be16(f->data + LRH_DLID) & mask) == (lid & mask);
		f->direction = !from_us ? RD_DIR_IN : to_us ? RD_DIR_UNKNOWN : RD_DIR_OUT;
	}
}

void rd_direction_mark(const struct rd_local *local, struct rd_frame *frames, unsigned int n)
{
	if (local->link == RD_LINK_ETHERNET && local->n_mac == 1)
		mark_one_mac(mac_number(local->mac[0]), frames, n);
	else if (local->link == RD_LINK_ETHERNET && local->n_mac)
		mark_macs(local, frames, n);
	else if (local->link == RD_LINK_ETHERNET && local->n_ip)
		mark_ips(local, frames, n);
	else if (local->link == RD_LINK_INFINIBAND && local->lid)
		mark_lid(local->lid, local->lid_mask, frames, n);
	else
		for (unsigned int i = 0; i < n; i++)
			frames[i].direction = RD_DIR_UNKNOWN;
}

void rd_direction_cooked(enum rd_link link, struct rd_frame *frames, unsigned int n)
{
	/* PACKET_HOST, PACKET_BROADCAST, PACKET_MULTICAST, PACKET_OTHERHOST, PACKET_OUTGOING */
	static const uint8_t of_type[] = {
		RD_DIR_IN, RD_DIR_IN, RD_DIR_IN, RD_DIR_UNKNOWN, RD_DIR_OUT};
	const uint32_t at = link == RD_LINK_SLL ? 1 : 10;

	for (unsigned int i = 0; i < n; i++) {
		struct rd_frame *f = &frames[i];
		const bool known = f->caplen > at && f->data[at] < sizeof(of_type);

		f->direction = known ? of_type[f->data[at]] : RD_DIR_UNKNOWN;
	}
}

/* --- the addresses ------------------------------------------------------------------------ */

static bool is_local_mac(const struct rd_local *local, const uint8_t *mac)
{
	return RD_ANY(own, local->mac, local->n_mac, memcmp(*own, mac, 6) == 0);
}

void rd_local_add_mac(struct rd_local *local, const uint8_t mac[6])
{
	static const uint8_t none[6];

	if (memcmp(mac, none, 6) && local->n_mac < MACS && !is_local_mac(local, mac))
		memcpy(local->mac[local->n_mac++], mac, 6);
}

void rd_local_add_ip(struct rd_local *local, const uint8_t ip[16])
{
	static const uint8_t none[16];

	if (memcmp(ip, none, 16) && local->n_ip < IPS && !is_local_ip(local, ip))
		memcpy(local->ip[local->n_ip++], ip, 16);
}

static bool has_all(const struct rd_local *local, const struct rd_local *now)
{
	return !RD_ANY(mac, now->mac, now->n_mac, !is_local_mac(local, *mac)) &&
	       !RD_ANY(ip, now->ip, now->n_ip, !is_local_ip(local, *ip));
}

bool rd_local_now(struct rd_local *local, const struct rd_local *now)
{
	struct rd_local next = *now;
	bool changed = !has_all(local, now);

	next.link = local->link;
	if (!now->lid) {
		next.lid = local->lid;
		next.lid_mask = local->lid_mask;
	} else {
		changed |= now->lid != local->lid;
	}
	if (!changed)
		return false;
	for (unsigned int i = 0; i < local->n_mac; i++)
		rd_local_add_mac(&next, local->mac[i]);
	for (unsigned int i = 0; i < local->n_ip; i++)
		rd_local_add_ip(&next, local->ip[i]);
	*local = next;
	return true;
}
