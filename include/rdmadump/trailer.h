/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How InfiniBand packets end in a capture: ICRC and VCRC, the ICRC alone, or the payload. No
 * document says which of them an adapter delivers, so it is derived from the packets: the LRH has
 * the length up to the ICRC, and the checksums are computed (IBTA volume 1, 7.7.8, 7.8).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RD_TRAILER_MAX	  6 /* bytes of ICRC and VCRC */
#define RD_TRAILER_ENOUGH 8 /* packets; fewer are not significant */

/*
 * Bytes to append for a packet to end with ICRC and VCRC: 0, 2 or 6. 0 also if its end cannot be
 * found: without a whole LRH, or with a length that fits none of the three.
 */
unsigned int rd_trailer_missing(const uint8_t *data, uint32_t len);

/* Packets of one direction. Those without BTH or of another length are only counted. */
struct rd_trailers {
	uint32_t packets;	   /* with BTH, and of one of the three lengths */
	uint32_t other;		   /* whose end cannot be found */
	uint32_t icrc, icrc_valid; /* of `packets`: long enough for an ICRC; with a valid one */
	uint32_t vcrc, vcrc_valid;
};

/* Counts a packet that was received whole, as delivered. */
void rd_trailers_count(struct rd_trailers *t, const uint8_t *data, uint32_t len);

enum rd_trailer {
	RD_TRAILER_UNKNOWN, /* too few packets */
	RD_TRAILER_VALID,
	RD_TRAILER_INVALID, /* all packets have other bytes in its place */
	RD_TRAILER_ABSENT,
	RD_TRAILER_MIXED, /* the packets differ */
};

/* "valid"; static. */
const char *rd_trailer_name(unsigned int state);
enum rd_trailer rd_trailers_icrc(const struct rd_trailers *t);
enum rd_trailer rd_trailers_vcrc(const struct rd_trailers *t);

#define RD_TRAILER_TEXT 240
/*
 * What it means for the capture, as a clause that follows "received packets ": "end with ICRC and
 * VCRC, valid in 64 of 64". Returns whether damage on the wire would go undetected.
 */
bool rd_trailers_text(const struct rd_trailers *t, char text[RD_TRAILER_TEXT]);
