/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses and checksums of packets: pure functions over untrusted bytes, from any thread. */
#pragma once

#include <rdmadump/frame.h>
#include <stddef.h>

#define RD_UDP_PORT_ROCE  4791	 /* IBTA annex A17 */
#define RD_ETHERTYPE_ROCE 0x8915 /* IBTA annex A16 */

#define RD_LOCAL_MACS 16
#define RD_LOCAL_IPS  64

/* The addresses of one port, to be compared with those of frames. */
struct rd_local {
	enum rd_link link;
	uint8_t mac[RD_LOCAL_MACS][6]; /* Ethernet: all MAC addresses that the port sends from */
	unsigned int n_mac;
	/* Its GIDs and IP addresses, IPv4 as ::ffff:a.b.c.d: used if no MAC address is known. */
	uint8_t ip[RD_LOCAL_IPS][16];
	unsigned int n_ip;
	uint16_t lid, lid_mask; /* InfiniBand: base LID and mask of the LMC bits; 0xffff: one LID */
};

/*
 * Sets frames[i].direction. Ethernet: out if the source address is the port's own, in if the
 * destination is; unknown if neither or both are. InfiniBand: in if the SLID is not the port's, out
 * if it is, unknown if the DLID is the port's too, or the SLID is the permissive one. Unknown also
 * if the frame is too short or the port's addresses are unknown. Called once per batch; hot path.
 */
void rd_direction_mark(const struct rd_local *local, struct rd_frame *frames, unsigned int n);
/*
 * Sets frames[i].direction by the packet type of Linux's cooked headers: out if the host sent it,
 * in if it was sent to the host or to a group; unknown if the frame is of others.
 */
void rd_direction_cooked(enum rd_link link, struct rd_frame *frames, unsigned int n);

/* Adds an address; ignored if it is zero, known already, or if there is no room. */
void rd_local_add_mac(struct rd_local *local, const uint8_t mac[6]);
void rd_local_add_ip(struct rd_local *local, const uint8_t ip[16]);
/*
 * Updates `local` to the current addresses. Former ones are kept as far as there is room, for
 * frames that are already in the receive queue; a lid of 0 keeps LID and mask. Returns whether an
 * address is new. From the thread that marks frames with `local`.
 */
bool rd_local_now(struct rd_local *local, const struct rd_local *now);

/*
 * The invariant CRC (IBTA volume 1, 7.8.1; for RoCE v2 annex A17.3.3) of a whole packet. `data`
 * begins with the Ethernet header (RD_LINK_ETHERNET: RoCE v1 or v2, any VLAN tags, IPv4 with
 * options or IPv6) or LRH (RD_LINK_INFINIBAND); `len` ends with the ICRC (Ethernet, no FCS) or with
 * ICRC and VCRC (InfiniBand). Returns 0 with the computed value and the stored value (both as
 * little-endian numbers of the four bytes on the wire), -1 if the bytes are not a whole RoCE or
 * InfiniBand packet.
 */
int rd_icrc(
	enum rd_link link, const uint8_t *data, size_t len, uint32_t *computed, uint32_t *stored);
/*
 * The variant CRC (IBTA volume 1, 7.8.2) over LRH to ICRC of a packet of len bytes that ends with
 * the VCRC. Returns the same as rd_icrc().
 */
int rd_vcrc(const uint8_t *data, size_t len, uint16_t *computed, uint16_t *stored);
