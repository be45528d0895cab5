/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of src/format: link types, the ERF record header and the pieces of a reader.
 * ERF's layout is from Endace's "ERF types" and from how Wireshark 4.0 reads it.
 */
#pragma once

#include <rdmadump/array.h>
#include <rdmadump/bytes.h>
#include <rdmadump/format.h>

/* https://www.tcpdump.org/linktypes.html */
#define DLT_EN10MB     1
#define DLT_ERF	       197
#define DLT_INFINIBAND 247

/*
 * libpcap's MAXIMUM_SNAPLEN: it refuses or truncates longer frames. In a file header it means
 * "whole frames".
 */
#define SNAPLEN_WHOLE 262144u

#define NS_PER_S 1000000000u

/* Classic pcap: draft-ietf-opsawg-pcap. */
#define PCAP_MAGIC_US 0xa1b2c3d4u
#define PCAP_MAGIC_NS 0xa1b23c4du
#define PCAP_MAGIC_MODIFIED                                                                        \
	0xa1b2cd34u /* variant of A. Kuznetsov: 8 more bytes in each record header */

#define PCAP_HEADER	     24
#define PCAP_RECORD	     16
#define PCAP_RECORD_MODIFIED 24

/* Bits of the link type: the four upper bits have the FCS length in 16-bit units. */
#define PCAP_FCS_PRESENT   0x04000000u
#define PCAP_FCS_SHIFT	   28
#define PCAP_LINKTYPE_MASK 0xffffu

#define ERF_HEADER	 16
#define ERF_ETH_PAD	 2 /* before an Ethernet frame: offset and padding */
#define ERF_ETH_FCS	 4 /* wire lengths of Ethernet include the FCS, captured or not */
#define ERF_TYPE_ETH	 2
#define ERF_TYPE_IB	 21
#define ERF_MORE	 0x80 /* bit of the type: extension headers follow */
#define ERF_FLAG_PORT	 0x03
#define ERF_FLAG_VARYING 0x04
#define ERF_FLAG_RXERROR 0x10

/* Avoids a division: consecutive timestamps are nearly always in the same second. */
struct second {
	uint64_t start_ns;
	uint64_t number;
};

/* Returns the nanoseconds of ts_ns within its second, and sets s->number to the second. */
static inline uint32_t second_split(struct second *s, uint64_t ts_ns)
{
	uint64_t rest = ts_ns - s->start_ns;

	if (__builtin_expect(rest >= NS_PER_S, 0)) {
		s->number = ts_ns / NS_PER_S;
		s->start_ns = s->number * NS_PER_S;
		rest = ts_ns - s->start_ns;
	}
	return (uint32_t)rest;
}

/*
 * 32.32 fixed-point seconds. The fraction is rounded up, so that readers which truncate (old tools)
 * and readers which round (Wireshark) both get the same nanosecond.
 */
static inline uint64_t erf_timestamp(struct second *s, uint64_t ts_ns)
{
	uint64_t ns = second_split(s, ts_ns);

	return s->number << 32 | ((ns << 32) + NS_PER_S - 1) / NS_PER_S;
}

static inline uint64_t erf_timestamp_ns(uint64_t timestamp)
{
	return (timestamp >> 32) * NS_PER_S +
	       (((timestamp & 0xffffffff) * NS_PER_S + 0x80000000u) >> 32);
}

/*
 * Writes the record header. A shortened frame is marked only by wire_len > stored length: flag 0x08
 * (truncated) means that a card ran out of memory, and Wireshark shows it as an error.
 */
static inline void erf_put(uint8_t *p, uint64_t timestamp, const struct rd_frame *f, uint64_t type,
	uint64_t record_len, uint64_t wire_len)
{
	unsigned int port =
		f->flags & RD_FRAME_HAS_PORT ? f->flags >> RD_FRAME_PORT_SHIFT : f->iface;
	uint64_t flags = ERF_FLAG_VARYING | (port & ERF_FLAG_PORT) |
			 (f->flags & RD_FRAME_CRC_ERROR ? ERF_FLAG_RXERROR : 0);

	rd_put_le64(p, timestamp);
	rd_put_be64(p + 8, type << 56 | flags << 48 | record_len << 32 | wire_len);
}

/* Offsets of the record's length, the loss counter and the length on the wire. */
#define ERF_RLEN   10
#define ERF_LCTR   12
#define ERF_WLEN   14
#define ERF_FILLER 8 /* bytes in place of data if there is none */

/* Lengths in ERF headers have 16 bits. InfiniBand packets are shorter; others may be longer. */
#define ERF_MAX_LEN 65535u
static inline uint32_t erf_clamp(uint32_t n, uint32_t most)
{
	return n < most ? n : most;
}

static inline uint16_t erf_lctr(uint64_t dropped)
{
	return dropped < 65535 ? (uint16_t)dropped : 65535;
}

/* The bytes of a record before the frame's own bytes; all 0: none. */
struct envelope {
	uint32_t type;	 /* ERF record type */
	uint32_t prefix; /* bytes: ERF header and padding */
	uint32_t fcs;	 /* bytes that the wire length includes and the frame does not */
};
#define ENVELOPE_NONE ((struct envelope){0, 0, 0})
#define ENVELOPE_IB   ((struct envelope){ERF_TYPE_IB, ERF_HEADER, 0})

static inline struct envelope encoder_envelope(const struct rd_encoder *e)
{
	if (e->dlt != DLT_ERF || !e->n_ifaces || rd_link_keeps_dlt(e->ifaces[0].link))
		return ENVELOPE_NONE;
	if (e->ifaces[0].link == RD_LINK_INFINIBAND)
		return ENVELOPE_IB;
	return (struct envelope){
		ERF_TYPE_ETH, ERF_HEADER + ERF_ETH_PAD, e->ifaces[0].fcslen ? 0 : ERF_ETH_FCS};
}

/*
 * Bytes of the frame that fit into its envelope; the next function returns the length on the wire
 * as ERF counts it.
 */
static inline uint32_t envelope_caplen(struct envelope v, const struct rd_frame *f)
{
	return v.prefix ? erf_clamp(f->caplen, ERF_MAX_LEN - v.prefix) : f->caplen;
}

static inline uint32_t envelope_len(struct envelope v, const struct rd_frame *f)
{
	return v.prefix ? erf_clamp(f->len, ERF_MAX_LEN - v.fcs) + v.fcs : f->len;
}

/* Writes the envelope of a frame; caplen and len are the results of the two functions above. */
static inline void envelope_put(struct envelope v, uint8_t *p, struct second *second,
	const struct rd_frame *f, uint32_t caplen, uint32_t len)
{
	if (!v.prefix)
		return;
	erf_put(p, erf_timestamp(second, f->ts_ns), f, v.type, v.prefix + caplen, len);
	if (v.prefix > ERF_HEADER)
		memset(p + ERF_HEADER, 0, v.prefix - ERF_HEADER);
}

/* The snap length for a file's header: plus the envelope, or libpcap would truncate the frame. */
static inline uint32_t encoder_snaplen(const struct rd_encoder *e, uint32_t snaplen)
{
	if (!snaplen || snaplen >= SNAPLEN_WHOLE)
		return SNAPLEN_WHOLE;
	return snaplen + encoder_envelope(e).prefix;
}

/* The formats that can be written; the first one is the default. */
#define FORMATS(ROW)	      ROW(pcapng) ROW(pcap) ROW(pcap_us) ROW(erf)
#define FORMAT_DECLARED(name) extern const struct rd_format format_##name;
FORMATS(FORMAT_DECLARED)
