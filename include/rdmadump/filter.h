/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which frames are kept, and how much of each: filter and cut, a batch at a time, between source
 * and encoder. */
#ifndef RDMADUMP_FILTER_H
#define RDMADUMP_FILTER_H

#include <rdmadump/error.h>
#include <rdmadump/packet.h>

struct rd_filter;

/*
 * What is wanted, as the command line has it. All that is given must hold; within a comma list one
 * entry is enough. Numbers are decimal or 0x. NULL or empty: not asked for.
 */
struct rd_filter_spec {
	const char *expression; /* libpcap's language; Ethernet only */
	const char *qp;		/* destination QPs */
	const char *src_qp;	/* source QPs, see below */
	const char *msn;	/* message sequence numbers of responses */
	const char *opcode;	/* names, numbers, classes like nak */
	const char *host;	/* IPv4, IPv6, CIDR or MAC addresses of either end */
	const char *gid;	/* GIDs of either end; an IPv4 address is ::ffff:a.b.c.d */
	const char *direction;	/* in (rx), out (tx), inout (both) */
	bool roce;		/* only InfiniBand transport: RoCE v1 and v2, native InfiniBand */
};

/*
 * The source QP is on the wire in UD packets only. Of connected QPs it is learnt from the CM's REQ
 * and REP when both have passed this filter before; connections that were made earlier, or without
 * the CM (as perftest does by default), are not found. About the last RD_FILTER_PAIRS connections
 * are remembered.
 *
 * A frame whose direction the source does not know is neither in nor out.
 */
#define RD_FILTER_PAIRS 4096

/* *out is freed with rd_filter_free(); NULL if the spec asks for nothing. Returns 0 or -1. */
int rd_filter_compile(struct rd_filter **out, const struct rd_filter_spec *spec, enum rd_link link,
	struct rd_error *err);
void rd_filter_free(struct rd_filter *f);

/* What is asked for as options of the command line: "udp --qp 17"; empty if nothing is. Cut to
 * `room`. */
void rd_filter_spec_text(const struct rd_filter_spec *spec, char *text, size_t room);

/* Whether rd_filter_run() takes packets apart, so that the cut need not do it again. */
bool rd_filter_parses(const struct rd_filter *f);

/*
 * Moves the frames that are kept to the front, in their order, and returns their number. If
 * rd_filter_parses() and `packets` is not NULL (it has room for n), packets[i] belongs to frames[i]
 * afterwards. Hot path: no allocation, no system call. f may be NULL: all are kept.
 */
unsigned int rd_filter_run(
	struct rd_filter *f, struct rd_frame *frames, unsigned int n, struct rd_packet *packets);

/* Lines of text that describe what is kept; NULL without memory. The caller frees it. */
char *rd_filter_explain(const struct rd_filter *f);

/* How much of a frame is kept. frame->len stays as it was. */
struct rd_cut {
	uint32_t snaplen;  /* bytes kept at most; 0: all */
	bool headers_only; /* nothing after the last known header */
	bool zero_payload; /* all bytes kept, payload set to zero */
	bool writable;	   /* the frames' bytes may be changed; if not, payload that should be
			      zero is cut off instead */
};

/*
 * Payload begins after the last transport header (BTH and what its opcode adds), or after the
 * header of TCP or UDP. MADs are kept whole. headers_only keeps every other frame whole: ARP, ICMP,
 * unknown protocols. zero_payload must not let data through, so it keeps only ARP, RARP, LLDP, MAC
 * control, LACP, EAPOL, PTP, CFM, LLC, IGMP and neighbour discovery whole, of ICMP the headers
 * (also those that an error message quotes), and zeroes all of unknown protocols. Pad bytes of the
 * payload are zeroed with it; ICRC, VCRC and FCS keep their bytes (so they no longer fit), trailers
 * longer than these are zeroed.
 *
 * `packets` are those of the frames, or NULL to have them parsed here if need be.
 */
void rd_cut_run(const struct rd_cut *cut, enum rd_link link, struct rd_frame *frames,
	unsigned int n, const struct rd_packet *packets);

#endif
