/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Filters and truncation: which frames are kept, and how much of each. A batch at a time, between
 * source and encoder.
 */
#pragma once

#include <rdmadump/error.h>
#include <rdmadump/packet.h>

struct rd_filter;

/*
 * The filter as given on the command line. All given terms must match; of a comma-separated list,
 * one entry. Numbers are decimal or 0x. NULL or empty: not given.
 */
struct rd_filter_spec {
	const char *expression;	     /* libpcap's language; Ethernet only */
	const char *expression_file; /* where it is from: errors name the file, not its text */
	const char *qp;		     /* destination QPs */
	const char *src_qp;	     /* source QPs, which only UD packets contain */
	const char *msn;	     /* message sequence numbers of responses */
	const char *opcode;	     /* names, numbers, classes like nak */
	const char *host;	     /* IPv4, IPv6, CIDR or MAC addresses of either end */
	const char *gid;	     /* GIDs of either end; an IPv4 address is ::ffff:a.b.c.d */
	const char *sample;	     /* one of so many pairs of addresses */
	const char *direction;	     /* in (rx), out (tx), inout (both); unknown is neither */
	bool roce; /* only the InfiniBand transport: RoCE v1 and v2, native InfiniBand */
};

/*
 * Compiles a filter into *out, to be freed by rd_filter_free(); *out is NULL if no term is given.
 * The spec's texts are copied. Returns 0, or -1 with RD_CLASS_USAGE (RD_CLASS_DEVICE if out of
 * memory).
 */
int rd_filter_compile(struct rd_filter **out, const struct rd_filter_spec *spec, enum rd_link link,
	struct rd_error *err);
void rd_filter_free(struct rd_filter *f);

/*
 * The given terms as options of the command line: "udp --qp 17"; "" if there are none. Cut to
 * `size` bytes including the NUL.
 */
void rd_filter_spec_text(const struct rd_filter_spec *spec, char *text, size_t size);

/* Whether rd_filter_run() parses packets, so that the cut need not parse them again. */
bool rd_filter_parses(const struct rd_filter *f);

/*
 * Moves the frames that are kept to the front, in their order, and returns their number; the
 * others are behind them. If rd_filter_parses() and `packets` is not NULL (it has room for n),
 * packets[i] afterwards belongs to frames[i]. Hot path: no allocation, no system call. f may be
 * NULL: all frames are kept. A filter is used by one thread at a time.
 */
unsigned int rd_filter_run(
	struct rd_filter *f, struct rd_frame *frames, unsigned int n, struct rd_packet *packets);

/* How much of a frame is kept. frame->len is not changed. */
struct rd_cut {
	uint32_t snaplen;  /* longest frame in bytes; 0: whole frames */
	bool headers_only; /* nothing after the last known header */
	bool zero_payload; /* all bytes kept, payload set to zero */
	bool writable; /* the frames' bytes may be changed; if not, payload is cut off instead of
			  zeroed */
};

/*
 * Payload begins after the last transport header (BTH and the headers of its opcode), or after the
 * header of TCP or UDP. MADs are kept whole. headers_only keeps all other frames whole: ARP, ICMP,
 * unknown protocols. zero_payload must hide user data, so it keeps only ARP, RARP, LLDP, MAC
 * control, LACP, EAPOL, PTP, CFM, LLC, IGMP and neighbor discovery whole, the headers of ICMP (and
 * those that an error message quotes), and zeroes all bytes of unknown protocols. Pad bytes of the
 * payload are zeroed too. ICRC, VCRC and FCS are kept, so they no longer match; longer trailers are
 * zeroed.
 *
 * `packets` are those of the frames; NULL: they are parsed here if needed. Hot path.
 */
void rd_cut_run(const struct rd_cut *cut, enum rd_link link, struct rd_frame *frames,
	unsigned int n, const struct rd_packet *packets);
