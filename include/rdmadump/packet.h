/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One packet parsed: offsets of its headers and payload, and the fields of the InfiniBand
 * transport. IBTA volume 1: LRH 7.7, GRH 8.3, transport headers chapter 9, MADs chapters 13 to 16,
 * CM 12.6; RoCE annexes A16 and A17, FLUSH and ATOMIC WRITE annex A19. All functions are pure, read
 * only captured bytes, and may be called from any thread.
 */
#pragma once

#include <rdmadump/bytes.h>
#include <rdmadump/frame.h>

/* The upper three bits of a BTH opcode. */
enum rd_transport { RD_RC = 0, RD_UC = 1, RD_RD = 2, RD_UD = 3, RD_CNP = 4, RD_XRC = 5 };

/* Headers that follow the BTH. */
enum rd_header {
	RD_H_NONE = 0,
	RD_H_RDETH,
	RD_H_DETH,
	RD_H_XRCETH,
	RD_H_FETH,
	RD_H_RETH,
	RD_H_ATOMICETH,
	RD_H_AETH,
	RD_H_ATOMICACKETH,
	RD_H_IMMDT,
	RD_H_IETH,
	RD_H_CNP, /* the sixteen reserved bytes of a congestion notification */
};

/* Operation and role of an opcode. */
#define RD_OP_SEND     0x0001
#define RD_OP_WRITE    0x0002
#define RD_OP_READ     0x0004 /* request and responses */
#define RD_OP_ATOMIC   0x0008 /* requests and ATOMIC Acknowledge */
#define RD_OP_ACK      0x0010 /* Acknowledge, which may also be a NAK */
#define RD_OP_FLUSH    0x0020
#define RD_OP_CNP      0x0040
#define RD_OP_RESPONSE 0x0080 /* sent by the responder to the requester */
#define RD_OP_FIRST    0x0100 /* begins a message (with LAST: the only packet) */
#define RD_OP_LAST     0x0200

struct rd_opcode {
	const char *name;   /* "RC_SEND_FIRST"; NULL for reserved opcodes */
	uint16_t bits;	    /* RD_OP_* */
	uint8_t length;	    /* bytes from the end of the BTH to the payload */
	uint8_t headers[4]; /* enum rd_header, in their order on the wire */
};

#define RD_UD_SEND_ONLY 0x64
#define RD_BTH_LEN	12
#define RD_ICRC_LEN	4
#define RD_MAD_HEADER	24

/* One row per opcode; reserved opcodes have no name. */
extern const struct rd_opcode rd_opcodes[256];

const char *rd_transport_name(unsigned int transport); /* "RC"; "?" for reserved ones */
/* "LLDP"; NULL if unknown. Static. */
const char *rd_ethertype_name(uint16_t ethertype);

/* 802.1Q and 802.1ad; 0x9100 was used before 802.1ad defined a number. */
static inline bool rd_is_vlan(uint16_t ethertype)
{
	return ethertype == 0x8100 || ethertype == 0x88a8 || ethertype == 0x9100;
}

/* RFC 3032 and, with upstream-assigned labels, RFC 5332. */
static inline bool rd_is_mpls(uint16_t ethertype)
{
	return ethertype == 0x8847 || ethertype == 0x8848;
}

/* By enum rd_header, in bytes. */
extern const uint8_t rd_header_lengths[];

enum rd_kind {
	RD_KIND_OTHER = 0, /* not an InfiniBand transport */
	RD_KIND_ROCE1,
	RD_KIND_ROCE2,
	RD_KIND_IB,
};

enum rd_net { RD_NET_NONE = 0, RD_NET_IPV4, RD_NET_IPV6, RD_NET_GRH };

#define RD_PACKET_CUT	    0x01 /* the captured bytes end within the headers */
#define RD_PACKET_FRAGMENT  0x02 /* a part of an IP datagram */
#define RD_PACKET_MALFORMED 0x04 /* length fields that contradict each other or the frame */
#define RD_PACKET_LINK	    0x08 /* flow control of an InfiniBand link: no LRH, no addresses */

/* Bits of the BTH, in one byte. */
#define RD_BTH_SOLICITED 0x80
#define RD_BTH_MIGREQ	 0x40
#define RD_BTH_FECN	 0x20
#define RD_BTH_BECN	 0x10
#define RD_BTH_ACKREQ	 0x08

/*
 * Offsets are in bytes from the frame's first byte (Ethernet header, LRH ...); 0: the frame has no
 * such part (l3 may be 0 where the link is IP: see `net`). They are positions on the wire and may
 * exceed caplen.
 */
struct rd_packet {
	const uint8_t *data;
	const struct rd_opcode *op; /* NULL: no BTH, or not captured */
	uint32_t caplen, len;
	uint32_t l3; /* after MAC addresses, VLAN tags, MPLS labels, PPPoE; InfiniBand: GRH */
	uint32_t l4; /* TCP, UDP, ICMP ...; 0 in later fragments */
	uint32_t bth;
	uint32_t payload;     /* after the last known header */
	uint32_t payload_len; /* without pad bytes and ICRC */
	uint32_t icrc;
	uint32_t end; /* end of the packet by its length fields; padding, FCS, VCRC follow */
	uint32_t dest_qp, psn;
	uint16_t ethertype; /* of the header at l3 */
	uint16_t pkey;
	uint8_t kind;  /* enum rd_kind */
	uint8_t net;   /* enum rd_net */
	uint8_t proto; /* IP protocol after all extension headers */
	uint8_t opcode, pad, tver;
	uint8_t bth_bits; /* RD_BTH_* */
	uint8_t flags;	  /* RD_PACKET_* */
	/*
	 * RoCE v2 in untagged Ethernet and IPv4 without options; lengths that agree, no fragment,
	 * all headers captured: l3 is RD_COMMON_L3, and flags are 0.
	 */
	bool common;
};

#define RD_COMMON_L3 14

/*
 * Parses a frame; never reads outside [data, data + caplen), never allocates. Returns true if there
 * is a captured BTH (p->op is set); *p is valid in both cases and borrows `data`. Hot path.
 */
bool rd_packet_parse(
	enum rd_link link, const uint8_t *data, uint32_t caplen, uint32_t len, struct rd_packet *p);

/*
 * False if the ICRC of a parsed packet was not captured, the packet is a fragment, or its length
 * fields disagree on the position of the ICRC.
 */
bool rd_packet_has_icrc(const struct rd_packet *p);

/* The ICRC of a parsed packet, as rd_icrc() defines it; false without rd_packet_has_icrc(). Hot. */
bool rd_packet_icrc(const struct rd_packet *p, uint32_t *computed, uint32_t *stored);

/* Of a packet without a valid ICRC: whether a switch that trims packets cut its payload off. */
bool rd_packet_trimmed(const struct rd_packet *p);

#define RD_PART_MAX 4608
/*
 * Of a packet without a valid ICRC: whether the host merged several into one datagram (GRO); the
 * bytes from one BTH to the next. 0: it did not.
 */
uint32_t rd_packet_merged(const struct rd_packet *p);
/*
 * The nth of them, from 0, as the frame that it was: its lengths, and its IP identification, if the
 * sender counts them. Returns its length; 0: there are no more.
 */
uint32_t rd_packet_part(
	const struct rd_packet *p, uint32_t step, uint32_t nth, uint8_t part[RD_PART_MAX]);

/*
 * The first byte of a header after the BTH; NULL if the opcode has no such header or it was not
 * captured whole.
 */
const uint8_t *rd_packet_header(const struct rd_packet *p, enum rd_header h);

/* Addresses of the network header: their length (4 or 16), 0 if there is none. */
static inline unsigned int rd_packet_addresses(
	const struct rd_packet *p, const uint8_t **src, const uint8_t **dst)
{
	if (p->net == RD_NET_NONE)
		return 0;
	*src = p->data + p->l3 + (p->net == RD_NET_IPV4 ? 12 : 8);
	*dst = *src + (p->net == RD_NET_IPV4 ? 4 : 16);
	return p->net == RD_NET_IPV4 ? 4 : 16;
}

/* Traffic class (DSCP and ECN) of the network header, 0 if there is none. */
static inline uint8_t rd_packet_tclass(const struct rd_packet *p)
{
	if (p->net == RD_NET_NONE)
		return 0;
	return p->net == RD_NET_IPV4 ? p->data[p->l3 + 1]
				     : (uint8_t)(rd_be16(p->data + p->l3) >> 4);
}

static inline enum rd_transport rd_packet_transport(const struct rd_packet *p)
{
	return (enum rd_transport)(p->opcode >> 5);
}

struct rd_reth {
	uint64_t va;
	uint32_t rkey, length;
};

struct rd_deth {
	uint32_t qkey, src_qp;
};

struct rd_atomic {
	uint64_t va, swap_or_add, compare;
	uint32_t rkey;
};

/* Each returns false if the packet has no such header or it was not captured. */
bool rd_packet_reth(const struct rd_packet *p, struct rd_reth *out);
bool rd_packet_deth(const struct rd_packet *p, struct rd_deth *out);
bool rd_packet_atomic(const struct rd_packet *p, struct rd_atomic *out);

/* AETH, 9.5.2: bits 6 and 5 of the syndrome are the kind, bits 4 to 0 its value. */
enum rd_aeth_kind { RD_AETH_ACK = 0, RD_AETH_RNR = 1, RD_AETH_RESERVED = 2, RD_AETH_NAK = 3 };

struct rd_aeth {
	uint8_t syndrome, kind, value;
	uint32_t msn;
};

bool rd_packet_aeth(const struct rd_packet *p, struct rd_aeth *out);
/* Credits that the value of an ACK encodes; -1: no end-to-end flow control. */
int rd_aeth_credits(unsigned int value);
/* Microseconds that the timer value of an RNR NAK encodes. */
uint32_t rd_aeth_rnr_us(unsigned int value);
/* "PSN sequence error"; never NULL. */
const char *rd_aeth_nak_name(unsigned int value);

/* The local route header of native InfiniBand. LIDs from RD_LID_MULTICAST on are groups. */
struct rd_lrh {
	uint16_t slid, dlid;
	uint8_t vl, sl;
};

#define RD_LID_MULTICAST  0xc000
#define RD_LID_PERMISSIVE 0xffff /* no group: SMPs with a directed route */

bool rd_packet_lrh(const struct rd_packet *p, struct rd_lrh *out);

/* Whether the packet goes to a group: by the QP, the DLID, and the address. */
bool rd_packet_is_multicast(const struct rd_packet *p);

/*
 * IP over InfiniBand (RFC 4391; connected mode RFC 4755): an Ethertype and two reserved bytes, then
 * an IP datagram or ARP for InfiniBand. Recognized by these, and by the length of the datagram, in
 * the first packets of SENDs.
 */
struct rd_ipoib {
	const uint8_t *data; /* after the four bytes: at least the fixed header is captured */
	uint16_t ethertype;
};

/* False if it is another packet, or too little of it was captured to tell. */
bool rd_packet_ipoib(const struct rd_packet *p, struct rd_ipoib *out);

#define RD_MAD_SMP	    0x01
#define RD_MAD_SA	    0x03
#define RD_MAD_CM	    0x07
#define RD_MAD_SMP_DIRECTED 0x81
#define RD_MAD_RESPONSE	    0x80 /* bit of a method */

struct rd_mad {
	const uint8_t *data; /* the MAD's first byte */
	uint32_t left;	     /* bytes captured from there */
	uint64_t tid;
	uint16_t status, attribute;
	uint8_t class, method;
};

/*
 * Whether a packet is a MAD: UD SEND only to QP 0 or 1. The Q_Key is not checked: a MAD that the
 * receiver refused for its Q_Key is still a MAD.
 */
static inline bool rd_packet_is_mad(const struct rd_packet *p)
{
	return p->op && p->opcode == RD_UD_SEND_ONLY && p->dest_qp < 2;
}

/* False if the packet is not a MAD, or its header was not captured. *out borrows the packet. */
bool rd_packet_mad(const struct rd_packet *p, struct rd_mad *out);
/* "CM", "SMP", ...; NULL if unknown. */
const char *rd_mad_class_name(unsigned int class);
/* "Get", "GetResp"; NULL if unknown. */
const char *rd_mad_method_name(unsigned int method);
/* "ConnectRequest" of the CM, attributes of SMPs, SA and PMA; NULL if unknown. */
const char *rd_mad_attribute_name(unsigned int class, unsigned int attribute);

/* An SMP's own header, 14.2.1. */
struct rd_smp {
	bool directed;	/* if not, the following fields are 0 */
	bool returning; /* the D bit */
	uint8_t hop_pointer, hop_count;
};

/* RMPP and SA header, 13.6.2 and 15.2.1. */
struct rd_sa {
	uint8_t rmpp_type;  /* 0 none, 1 data, 2 ack, 3 stop, 4 abort */
	uint8_t rmpp_flags; /* 1 active, 2 first, 4 last */
	uint32_t segment;
};

/* Each returns false if the MAD is of another class, or its headers were not captured. */
bool rd_mad_smp(const struct rd_mad *mad, struct rd_smp *out);
bool rd_mad_sa(const struct rd_mad *mad, struct rd_sa *out);
/* "SA Get PathRecord": numbers where a name is unknown. Cut to `size` bytes including the NUL. */
void rd_mad_text(
	char *buf, size_t size, unsigned int class, unsigned int method, unsigned int attribute);
/* The status without the direction bit of directed SMPs. */
uint16_t rd_mad_status(const struct rd_mad *mad);
/* "no records": the cause in a status, 13.4.7 and 15.2.5; NULL if unknown. `status` is that of
 * rd_mad_status(). */
const char *rd_mad_status_name(unsigned int class, unsigned int status);
/* Whether a response to the method has to follow. */
bool rd_mad_expects_response(unsigned int method);

enum rd_cm_attribute {
	RD_CM_REQ = 0x10,
	RD_CM_MRA,
	RD_CM_REJ,
	RD_CM_REP,
	RD_CM_RTU,
	RD_CM_DREQ,
	RD_CM_DREP,
	RD_CM_SIDR_REQ,
	RD_CM_SIDR_REP,
	RD_CM_LAP,
	RD_CM_APR,
	RD_CM_SAP,
	RD_CM_SPR,
};

/*
 * The fields of a CM message; those that it does not have are 0. Timeouts are values for
 * rd_cm_timeout_ns(). Pointers point into the packet, NULL if absent or not captured.
 */
struct rd_cm {
	uint64_t service_id;	      /* REQ, SIDR_REQ, SIDR_REP */
	uint32_t local_id, remote_id; /* communication ids, of the sender and of its peer */
	uint32_t qpn;		      /* the sender's: REQ, REP, SIDR_REP */
	uint32_t psn;		      /* first PSN that the peer must use: REQ, REP */
	uint32_t remote_qpn;	      /* DREQ, LAP */
	uint32_t reason;	      /* REJ */
	uint32_t transport;	      /* REQ: 0 RC, 1 UC, 2 RD, 3 XRC (extended) */
	uint32_t qkey;		      /* SIDR_REP */
	uint32_t responder_resources; /* READs and atomics that the sender accepts: REQ, REP */
	uint32_t initiator_depth;     /* ... and that it wants outstanding: REQ, REP */
	uint32_t mtu;		      /* REQ: a value of rd_cm_mtu() */
	uint32_t retry_count;	      /* REQ */
	uint32_t rnr_retry;	      /* 7: unlimited; REQ, REP */
	uint32_t local_timeout;	      /* MRA: until the sender will respond */
	uint32_t remote_timeout;      /* until the peer must respond: REQ */
	uint32_t ack_timeout;	      /* of the path: REQ (primary), LAP (alternate) */
	uint32_t status;	      /* SIDR_REP, APR */
	uint32_t message;	      /* REJ, MRA: refers to 0 REQ, 1 REP, 2 none, MRA's LAP */
	uint32_t srq;		      /* REQ, REP */
	bool xrc;		      /* REQ */
	/* Of 16 bytes, local is the sender's: primary path of REQ, alternate one of LAP. */
	const uint8_t *local_gid, *remote_gid;
	const uint8_t *private_data;
	uint32_t private_len;
};

/* False if it is not a CM message, or the fixed fields were not captured. */
bool rd_mad_cm(const struct rd_mad *mad, struct rd_cm *out);
/* Reasons of a REJ. */
#define RD_CM_REJ_TIMEOUT  4
#define RD_CM_REJ_SERVICE  8
#define RD_CM_REJ_CONSUMER 28
/* "invalid service id"; NULL if unknown. */
const char *rd_cm_reason_name(unsigned int reason);
/* "service id not supported" of SIDR_REP, "is the current path" of APR; NULL if unknown. */
const char *rd_cm_sidr_status_name(unsigned int status);
const char *rd_cm_apr_status_name(unsigned int status);
/* Nanoseconds that a timeout (also an ACK timeout or delay) encodes. */
uint64_t rd_cm_timeout_ns(unsigned int value);
/* Bytes that a path MTU encodes; 0: a reserved value. */
unsigned int rd_cm_mtu(unsigned int value);

/* The IP addresses and ports of a connection that librdmacm requests: annex A11. */
struct rd_cm_ip {
	uint8_t protocol; /* 6 TCP, 17 UDP */
	uint16_t port;
	/* From the private data of REQ and SIDR_REQ; length 0 if they have none. */
	uint8_t length; /* length of an address: 4 or 16 */
	uint16_t src_port;
	const uint8_t *src, *dst;
};

/* False if the service id is not for IP addresses. *out borrows cm's private data. */
bool rd_cm_ip(const struct rd_cm *cm, struct rd_cm_ip *out);

#define RD_PRIORITIES 8

/* A pause frame: what it requests from the other end of the link. */
struct rd_pause {
	bool pfc;	 /* for the priorities in `enabled`; else for all traffic */
	uint8_t enabled; /* bit n: quanta[n] is valid */
	/* Times of 512 bits at the speed of the link, 0: resume. All equal without `pfc`. */
	uint16_t quanta[RD_PRIORITIES];
};

/* False if the frame is not a pause frame of either kind, or is truncated before its times. */
bool rd_packet_pause(const struct rd_packet *p, struct rd_pause *out);
/* The time in nanoseconds at a speed in bit/s; 0 if the speed is 0: unknown. */
uint64_t rd_pause_ns(uint16_t quanta, uint64_t speed);

/* Kinds of tunnels and mirrors, as bits. */
enum rd_tunnel {
	RD_TUNNEL_VXLAN = 0x01,
	RD_TUNNEL_GENEVE = 0x02,
	RD_TUNNEL_GRE = 0x04, /* also NVGRE */
	RD_TUNNEL_ERSPAN = 0x08,
	RD_TUNNEL_IP = 0x10,   /* IP in IP */
	RD_TUNNEL_MPLS = 0x20, /* Ethernet over MPLS */
	RD_TUNNEL_RSPAN = 0x40,
};

/* "VXLAN"; of the lowest bit that is set. Static. */
const char *rd_tunnel_name(unsigned int tunnels);

struct rd_inner {
	const uint8_t *data;
	uint32_t caplen, len;
	enum rd_link link;
	unsigned int tunnels; /* enum rd_tunnel, of all levels that were removed */
	/* VNI of VXLAN or Geneve, VSID of NVGRE, or GRE key, removed last; 0: none. */
	uint32_t network;
};

/*
 * Removes all encapsulation, up to four levels: VXLAN, Geneve, GRE, ERSPAN type I, II and III, IP
 * in IP, Ethernet over MPLS; InfiniBand RSPAN. The inner frame may be of another link: Ethernet or
 * IP. Returns the number of levels removed.
 */
unsigned int rd_decap_any(struct rd_inner *in);
/* The same for one level; false if there is none. */
bool rd_decap_level(struct rd_inner *in);
/*
 * For a frame that rd_packet_parse() found to be no InfiniBand transport, with its result in *p: if
 * it has tunnels, parses the innermost packet instead. *in: out, all that is known of the tunnels.
 * Returns true if the innermost packet has a captured BTH.
 */
bool rd_packet_inner(
	enum rd_link link, const struct rd_frame *frame, struct rd_packet *p, struct rd_inner *in);
/*
 * Of a batch, removes the encapsulation as far as the inner frame is of the same link: a file has
 * one link type. Hot path.
 */
void rd_decap_run(enum rd_link link, struct rd_frame *frames, unsigned int n);

#define RD_LINE_NO_TIME 0x01 /* tcpdump -t */
#define RD_LINE_EPOCH	0x02 /* tcpdump -tt */
#define RD_LINE_DATE	0x04 /* tcpdump -tttt */
#define RD_LINE_UTC	0x08 /* instead of local time */
#define RD_LINE_LINK	0x10 /* tcpdump -e: MAC addresses and VLAN tags, or VL and SL */
/* For these two the caller sets frame->ts_ns to a signed difference in nanoseconds. */
#define RD_LINE_SINCE_LAST  0x20 /* tcpdump -ttt: ts_ns is the time since the previous line */
#define RD_LINE_SINCE_FIRST 0x40 /* tcpdump -ttttt: since the first line */

/*
 * Writes one line of printable ASCII without newline for a frame, cut to `size` bytes including the
 * NUL. `style` is RD_LINE_*. Returns its length in bytes.
 */
size_t rd_packet_line(char *buf, size_t size, const struct rd_frame *frame, enum rd_link link,
	unsigned int style);
