/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packet headers as they are on the wire: pure functions over bytes that are not to be trusted. */
#ifndef RDMADUMP_WIRE_H
#define RDMADUMP_WIRE_H

#include <rdmadump/frame.h>
#include <stddef.h>
#include <stdint.h>

#define RD_UDP_PORT_ROCE  4791	 /* IBTA annex A17 */
#define RD_ETHERTYPE_ROCE 0x8915 /* IBTA annex A16 */

/* The addresses of one port, against which a frame's source address is compared. */
struct rd_local {
	enum rd_link link;
	uint8_t mac[8][6]; /* Ethernet: every MAC address that the port sends from */
	unsigned int n_mac;
	uint16_t lid, lid_mask; /* InfiniBand: base LID and mask of the LMC bits; 0xffff: one LID */
};

/*
 * Sets frames[i].direction: out if the source address (MAC, SLID) is the port's own, in if it
 * is another's, unknown if the frame is too short or the port's addresses are unknown.
 * A batch at a time; hot path.
 */
void rd_direction_mark(const struct rd_local *local, struct rd_frame *frames, unsigned int n);

/*
 * The invariant CRC (IBTA volume 1, 9.6.1; for RoCEv2 annex A17.3.3) of a whole packet. `data`
 * begins with the Ethernet header (RD_LINK_ETHERNET: RoCE v1 or v2, any VLAN stack, IPv4 with
 * options or IPv6) or LRH (RD_LINK_INFINIBAND); `len` ends with the ICRC (Ethernet, no FCS) or with
 * ICRC and VCRC (InfiniBand). Returns 0 with the computed value and the stored value (both as
 * little-endian numbers of the four bytes on the wire), -1 if the packet is no whole
 * RoCE/InfiniBand packet.
 */
int rd_icrc(
	enum rd_link link, const uint8_t *data, size_t len, uint32_t *computed, uint32_t *stored);
/* The variant CRC (IBTA volume 1, 7.8.2) over LRH to ICRC of a packet of len bytes that ends with
 * it; as above. */
int rd_vcrc(const uint8_t *data, size_t len, uint16_t *computed, uint16_t *stored);

#endif
