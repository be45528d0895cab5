/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The frame: bytes that crossed a port, borrowed from a source; what is known of its interface. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum rd_direction { RD_DIR_UNKNOWN = 0, RD_DIR_IN = 1, RD_DIR_OUT = 2 };
#define RD_DIRECTIONS 3

/* The link layer of a frame. The values are not DLTs; formats map them. */
enum rd_link {
	RD_LINK_UNKNOWN = 0,
	RD_LINK_ETHERNET,   /* destination MAC address first, no FCS unless the interface says so */
	RD_LINK_INFINIBAND, /* LRH first, ICRC and VCRC last */
	/* For these and all below, rd_iface.dlt has the link type, which output files keep. */
	RD_LINK_RAW,  /* passed through undecoded */
	RD_LINK_SLL,  /* Linux "cooked": 16 bytes, Ethertype last */
	RD_LINK_SLL2, /* the same, version 2: 20 bytes, Ethertype first */
	RD_LINK_IP,   /* IPv4 or IPv6 header first */
	RD_LINK_NULL, /* address family in four bytes of either order, then IP */
};

/* Whether rd_iface.dlt has the link type of the input, which an output file must have too. */
static inline bool rd_link_keeps_dlt(enum rd_link link)
{
	return link >= RD_LINK_RAW;
}

/* Linux's "cooked" headers have a packet type: see rd_direction_cooked(). */
static inline bool rd_link_is_cooked(enum rd_link link)
{
	return link == RD_LINK_SLL || link == RD_LINK_SLL2;
}

/* The link for a LINKTYPE_ value of a capture file; RD_LINK_RAW for those not decoded. */
enum rd_link rd_link_of(int linktype);
/* "LINUX_SLL"; NULL if unknown. Static. */
const char *rd_linktype_name(int linktype);

/*
 * pcapng's if_tsoffset may be negative: times before 1970 are those from 2262 on. To order times of
 * which the first is `ns`, add this to all of them.
 */
static inline uint64_t rd_time_move(uint64_t ns)
{
	return ns >> 63 << 62;
}

struct rd_frame {
	const uint8_t *data; /* first byte that the source delivers */
	uint32_t caplen;     /* bytes held at data */
	uint32_t len;	     /* bytes on the wire, >= caplen */
	uint64_t ts_ns;	   /* since the Unix epoch, by the clock that the interface's text names */
	uint8_t direction; /* enum rd_direction */
	uint8_t flags;	   /* RD_FRAME_* */
	uint16_t iface;	   /* index into the section's interfaces */
};

#define RD_FRAME_CRC_ERROR 0x01 /* the source reports a wrong checksum */
/* The timestamp is implausible: it is not used to order frames. */
#define RD_FRAME_BAD_TIME 0x02
#define RD_FRAME_NO_TIME  0x04 /* the source had no timestamp: ts_ns is from the host's clock */
/* Older than an earlier frame of its queue; set by the capture. */
#define RD_FRAME_DISORDERED 0x08
/* Read from an ERF record, which has the number of the card's port. */
#define RD_FRAME_HAS_PORT   0x10
#define RD_FRAME_PORT_SHIFT 5 /* that number, 0 to 3 */

/* Stored with the first frame after an event. */
struct rd_note {
	uint64_t dropped;    /* frames lost since the interface's previous frame, 0 for none */
	const char *comment; /* one line of UTF-8, NULL for none */
};

/* An interface that frames come from, as described in files. Strings may be NULL. */
struct rd_iface {
	enum rd_link link;
	int dlt; /* the LINKTYPE_ value of the input, if rd_link_keeps_dlt(); else 0 */
	const char *name;
	const char *description; /* including the clock of the timestamps */
	const char *hardware;	 /* NIC, firmware, driver */
	const char *filter;	 /* the filter expression in use */
	const char *os;
	uint32_t snaplen; /* 0: frames are whole */
	uint64_t speed;	  /* bit/s, 0: unknown */
	uint8_t mac[6];
	bool has_mac;
	uint8_t fcslen;	      /* bytes of FCS at the end of each frame */
	uint32_t max_frame;   /* length of the longest possible frame in bytes, 0: unknown */
	unsigned int section; /* section of the pcapng file that it was read from; from 0 */
};

/* Description of a whole file. Strings may be NULL. */
struct rd_section {
	const char *hardware, *os, *application, *comment;
};

/* Counts of one interface in one file, in frames; for the ISB of pcapng. */
struct rd_iface_stats {
	uint64_t start_ns, end_ns; /* start and end of capture, Unix epoch */
	uint64_t received;	   /* delivered by the source, plus lost before the source */
	uint64_t dropped;	   /* lost by the device or by this program */
	uint64_t accepted;	   /* passed the filter */
	uint64_t dropped_by_us;	   /* lost because no buffer was free, part of `dropped` */
	uint64_t delivered;	   /* written to the file */
	const char *comment;
	bool drops_unknown; /* `dropped` may be incomplete */
};
