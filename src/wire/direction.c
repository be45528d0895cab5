/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tells sent from received frames by their source address: IEEE 802.3 clause 3.2, IBTA volume
 * 1, 7.7. */
#include <rdmadump/bytes.h>
#include <rdmadump/wire.h>

#define ETH_SOURCE     6
#define ETH_SOURCE_END 12
#define LRH_SLID       6
#define LRH_LEN	       8
#define MACS	       8

static uint64_t mac_number(const uint8_t *mac)
{
	return rd_le32(mac) | (uint64_t)rd_le16(mac + 4) << 32;
}

/* The same number in one load, with the last two bytes of the destination in front. */
static inline uint64_t source_number(const uint8_t *frame)
{
	return rd_le64(frame + ETH_SOURCE - 2) >> 16;
}

static void mark_one_mac(uint64_t mac, struct rd_frame *frames, unsigned int n)
{
#pragma GCC unroll 4
	for (struct rd_frame *f = frames, *end = frames + n; f != end; f++) {
		if (__builtin_expect(f->caplen < ETH_SOURCE_END, 0))
			f->direction = RD_DIR_UNKNOWN;
		else
			f->direction = source_number(f->data) == mac ? RD_DIR_OUT : RD_DIR_IN;
	}
}

static void mark_macs(const struct rd_local *local, struct rd_frame *frames, unsigned int n)
{
	uint64_t macs[MACS];
	unsigned int n_macs = local->n_mac < MACS ? local->n_mac : MACS;

	for (unsigned int i = 0; i < n_macs; i++)
		macs[i] = mac_number(local->mac[i]);
	for (unsigned int i = 0; i < n; i++) {
		struct rd_frame *f = &frames[i];
		uint64_t source;

		f->direction = RD_DIR_UNKNOWN;
		if (f->caplen < ETH_SOURCE_END)
			continue;
		source = source_number(f->data);
		f->direction = RD_DIR_IN;
		for (unsigned int k = 0; k < n_macs; k++)
			if (source == macs[k])
				f->direction = RD_DIR_OUT;
	}
}

static void mark_lid(uint16_t lid, uint16_t mask, struct rd_frame *frames, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct rd_frame *f = &frames[i];

		if (f->caplen < LRH_LEN)
			f->direction = RD_DIR_UNKNOWN;
		else
			f->direction = (rd_be16(f->data + LRH_SLID) & mask) == (lid & mask)
					       ? RD_DIR_OUT
					       : RD_DIR_IN;
	}
}

void rd_direction_mark(const struct rd_local *local, struct rd_frame *frames, unsigned int n)
{
	if (local->link == RD_LINK_ETHERNET && local->n_mac == 1)
		mark_one_mac(mac_number(local->mac[0]), frames, n);
	else if (local->link == RD_LINK_ETHERNET && local->n_mac)
		mark_macs(local, frames, n);
	else if (local->link == RD_LINK_INFINIBAND && local->lid)
		mark_lid(local->lid, local->lid_mask, frames, n);
	else
		for (unsigned int i = 0; i < n; i++)
			frames[i].direction = RD_DIR_UNKNOWN;
}
