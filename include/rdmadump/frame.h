/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The frame, the currency of the whole program: bytes that crossed a port, borrowed from a source.
 */
#ifndef RDMADUMP_FRAME_H
#define RDMADUMP_FRAME_H

#include <stdbool.h>
#include <stdint.h>

enum rd_direction { RD_DIR_UNKNOWN = 0, RD_DIR_IN = 1, RD_DIR_OUT = 2 };
#define RD_DIRECTIONS 3

/* What a frame's first byte is. The values are our own; formats map them to DLTs. */
enum rd_link {
	RD_LINK_UNKNOWN = 0,
	RD_LINK_ETHERNET,   /* destination MAC address first, no FCS unless the interface says so */
	RD_LINK_INFINIBAND, /* LRH first, ICRC and VCRC last */
	RD_LINK_RAW,	    /* another DLT, passed through unread: rd_iface.dlt has it */
};

struct rd_frame {
	const uint8_t *data; /* first byte on the wire that the source delivers */
	uint32_t caplen;     /* bytes held at data */
	uint32_t len;	     /* bytes on the wire, >= caplen */
	uint64_t ts_ns;	   /* since the Unix epoch, in the clock the interface description names */
	uint8_t direction; /* enum rd_direction */
	uint8_t flags;	   /* RD_FRAME_* */
	uint16_t iface;	   /* index into the section's interfaces */
};

#define RD_FRAME_CRC_ERROR 0x01 /* the source says that a checksum was wrong */
/* The timestamp is not one that the frame can have: nothing is ordered by it. */
#define RD_FRAME_WILD	 0x02
#define RD_FRAME_NO_TIME 0x04 /* the source had no timestamp: it is the host's clock */

/* What is written beside a frame, on the first one after something happened. */
struct rd_note {
	uint64_t dropped;    /* frames lost since the interface's last frame, 0 for none */
	const char *comment; /* one line of UTF-8, NULL for none */
};

/* One place that frames come from, as a file's reader should know it. Strings may be NULL. */
struct rd_iface {
	enum rd_link link;
	int dlt; /* for RD_LINK_RAW: the LINKTYPE_ value of the file it came from */
	const char *name;
	const char *description; /* with the clock that the time stamps are from */
	const char *hardware;	 /* NIC, firmware, driver */
	const char *filter;	 /* the expression in force */
	const char *os;
	uint32_t snaplen; /* 0: frames are whole */
	uint64_t speed;	  /* bit/s, 0: unknown */
	uint8_t mac[6];
	bool has_mac;
	uint8_t fcslen;	    /* bytes of FCS at the end of each frame */
	uint32_t max_frame; /* longest frame that this interface can deliver, 0: unknown */
};

/* What is known of a whole file. Strings may be NULL. */
struct rd_section {
	const char *hardware, *os, *application, *comment;
};

/* Counts of one interface over one file; frames. Read by the reader of pcapng's ISB. */
struct rd_iface_stats {
	uint64_t start_ns, end_ns; /* first and last moment of capture, Unix epoch */
	uint64_t received;	   /* handed to us by the source, plus what it lost before us */
	uint64_t dropped;	   /* lost anywhere: by the device and by us */
	uint64_t accepted;	   /* passed the filter */
	uint64_t dropped_by_us;	   /* lost because there was no room, part of `dropped` */
	uint64_t delivered;	   /* written to the file */
	const char *comment;
	bool drops_unknown; /* `dropped` is what is known, perhaps not all */
};

#endif
