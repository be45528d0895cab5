/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes a capture of packets that tests/data/roce lacks: `frames_tool
 * ethernet|infiniband|iwarp|pause|subnet FILE`. Every opcode in every frame there is, VLAN stacks,
 * IPv6 extension headers, MADs of all classes, with random bytes in all fields that may have any;
 * InfiniBand in ERF records. `subnet`: what a port of an InfiniBand subnet sees as it comes up.
 */
#include "test_bits.h"
#include "test_packet_make.h"

#define DLT_ERF	    197
#define ERF_HEADER  16
#define ERF_IB	    21
#define MAD_LEN	    256
#define PAYLOAD_LEN 24

#define PROTO_HOPOPTS  0
#define PROTO_UDP      17
#define PROTO_ROUTING  43
#define PROTO_FRAGMENT 44
#define PROTO_AH       51
#define PROTO_DSTOPTS  60

struct output {
	pcap_dumper_t *to;
	bool erf;
	uint32_t n; /* frames in ERF, 1/128 s apart: exact in both nanoseconds and 2^-32 s */
};

static void write_frame(struct output *out, const struct make *m)
{
	struct pcap_pkthdr h = {.ts = {1700000000, 0}};
	uint8_t record[ERF_HEADER + sizeof(m->b)] = {0};
	uint32_t front = out->erf ? ERF_HEADER : 0;

	memcpy(record + front, m->b, m->n);
	if (out->erf) {
		uint64_t ts = (UINT64_C(1700000000) << 32) + ((uint64_t)out->n++ << 25);

		for (unsigned int i = 0; i < 8; i++)
			record[i] = (uint8_t)(ts >> 8 * i);
		record[8] = ERF_IB;
		record[9] = 4;
		rd_put_be16(record + 10, (uint16_t)(front + m->n));
		rd_put_be16(record + 14, (uint16_t)m->n);
	}
	h.caplen = h.len = front + m->n;
	pcap_dump((u_char *)out->to, &h, record);
}

/* Where the BTH is in what make_packet() made. */
static uint32_t bth_of(enum make_outer outer)
{
	static const uint8_t at[] = {[MAKE_V2_IPV4] = 42,
		[MAKE_V2_IPV6] = 62,
		[MAKE_V1] = 54,
		[MAKE_IB] = 8,
		[MAKE_IB_GRH] = 48};

	return at[outer];
}

/* Random bits for those of the BTH that may be any, and for all behind it. */
static void randomise(struct make *m, enum make_outer outer, uint32_t body)
{
	uint8_t *bth = m->b + bth_of(outer);

	bth[1] = (uint8_t)((bth[1] & 0x3f) | (random_next() & 0xc0));
	random_fill(bth + 2, 2);
	bth[4] = (uint8_t)(random_next() & 0xc0);
	bth[8] = (uint8_t)(random_next() & 0x80);
	random_fill(bth + 9, 3);
	random_fill(bth + RD_BTH_LEN, body);
}

static bool has_payload(unsigned int opcode)
{
	uint16_t bits = rd_opcodes[opcode].bits;

	return bits & (RD_OP_SEND | RD_OP_WRITE) || (bits & RD_OP_READ && bits & RD_OP_RESPONSE);
}

static void write_opcodes(struct output *out, enum make_outer outer)
{
	for (unsigned int opcode = 0; opcode < 256; opcode++)
		for (unsigned int pad = 0; pad < 4; pad++) {
			uint32_t body = rd_opcodes[opcode].length +
					(has_payload(opcode) ? PAYLOAD_LEN + pad : 0);
			struct make m = {.n = 0};

			if (!rd_opcodes[opcode].name)
				continue;
			make_packet(&m, outer, opcode, (random_next() & 0xffffff) | 0x100, body,
				(4 - body % 4) % 4);
			randomise(&m, outer, body);
			write_frame(out, &m);
		}
}

/* A MAD to QP 0 (SMPs) or 1. */
static void write_mad(struct output *out, enum make_outer outer, uint8_t class, uint8_t method,
	uint16_t attribute, uint8_t rmpp_flags)
{
	uint32_t body = 8 + MAD_LEN;
	struct make m = {.n = 0};
	uint8_t *mad;

	make_packet(&m, outer, RD_UD_SEND_ONLY, class == 0x01 || class == 0x81 ? 0 : 1, body, 0);
	randomise(&m, outer, body);
	mad = m.b + bth_of(outer) + RD_BTH_LEN + 8;
	mad[0] = 1;
	mad[1] = class;
	mad[2] = 2;
	mad[3] = method;
	rd_put_be16(mad + 16, attribute);
	if (class == 0x81) { /* a route must not be longer than there is room */
		mad[6] &= 7;
		mad[7] &= 7;
	}
	if (class == 0x03) {
		mad[24] = 1; /* RMPP version, type, flags */
		mad[25] = 1;
		mad[26] = rmpp_flags;
	}
	write_frame(out, &m);
}

static void write_mads(struct output *out, enum make_outer outer)
{
	static const uint16_t smps[] = {0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x19, 0x20};

	for (unsigned int i = 0; i < sizeof(smps) / sizeof(*smps); i++) {
		write_mad(out, outer, 0x01, 0x01, smps[i], 0);
		write_mad(out, outer, 0x81, 0x81, smps[i], 0);
	}
	for (unsigned int flags = 1; flags < 8; flags += 2)
		write_mad(out, outer, 0x03, 0x92, 0x35, (uint8_t)flags);
	write_mad(out, outer, 0x04, 0x81, 0x12, 0);
	write_mad(out, outer, 0x04, 0x81, 0x1d, 0);
	for (unsigned int round = 0; round < 4; round++)
		for (uint16_t attribute = RD_CM_REQ; attribute <= RD_CM_SPR; attribute++)
			write_mad(out, outer, RD_MAD_CM, 0x03, attribute, 0);
}

/* A RoCE v2 packet over IPv4 behind a stack of VLAN tags. */
static void write_vlans(struct output *out)
{
	static const uint16_t stacks[][3] = {{0x8100}, {0x88a8, 0x8100}, {0x9100, 0x8100},
		{0x88a8, 0x88a8, 0x8100}, {0x8100, 0x8100, 0x8100}};

	for (unsigned int i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
		struct make plain = {.n = 0}, m = {.n = 0};

		make_packet(&plain, MAKE_V2_IPV4, 0x0a, 0x200 + i, 16 + PAYLOAD_LEN, 0);
		randomise(&plain, MAKE_V2_IPV4, 16 + PAYLOAD_LEN);
		make_bytes(&m, plain.b, 12);
		for (unsigned int k = 0; k < 3 && stacks[i][k]; k++) {
			make_be16(&m, stacks[i][k]);
			make_be16(&m, random_next() & 0xffff);
		}
		make_bytes(&m, plain.b + 12, plain.n - 12);
		write_frame(out, &m);
	}
}

/* RoCE v2 over IPv6 behind extension headers of 8 bytes (AH: 24). */
static void write_extensions(struct output *out)
{
	static const uint8_t chains[][4] = {{PROTO_HOPOPTS}, {PROTO_DSTOPTS}, {PROTO_FRAGMENT},
		{PROTO_AH}, {PROTO_HOPOPTS, PROTO_DSTOPTS, PROTO_FRAGMENT, PROTO_AH},
		{PROTO_HOPOPTS, PROTO_ROUTING, PROTO_DSTOPTS}};

	for (unsigned int i = 0; i < sizeof(chains) / sizeof(*chains); i++) {
		struct make plain = {.n = 0}, m = {.n = 0};
		uint32_t at = 20;

		make_packet(&plain, MAKE_V2_IPV6, 0x06, 0x300 + i, 16 + PAYLOAD_LEN, 0);
		randomise(&plain, MAKE_V2_IPV6, 16 + PAYLOAD_LEN);
		make_bytes(&m, plain.b, 54);
		for (unsigned int k = 0; k < 4 && (chains[i][k] || !k); k++) {
			uint8_t header[24] = {[0] = PROTO_UDP};
			uint32_t n = chains[i][k] == PROTO_AH ? 24 : 8;

			m.b[at] = chains[i][k];
			if (chains[i][k] == PROTO_AH)
				header[1] = 4;
			else if (chains[i][k] != PROTO_FRAGMENT)
				header[2] = 1, header[3] = 4; /* PadN */
			if (chains[i][k] == PROTO_ROUTING)
				header[3] = 0; /* no segments left */
			at = m.n;
			make_bytes(&m, header, n);
		}
		make_bytes(&m, plain.b + 54, plain.n - 54);
		rd_put_be16(m.b + 18, (uint16_t)(m.n - 54));
		write_frame(out, &m);
	}
}

/* --- iWARP ------------------------------------------------------------------------------ */

struct tcp {
	uint32_t seq[2]; /* of each direction */
};

/* A segment of 10.0.0.2:49152 > 10.0.0.1:20100, or back. */
static void write_segment(struct output *out, struct tcp *tcp, int way, uint8_t flags,
	const uint8_t *data, uint32_t n)
{
	struct make m = {.n = 0};

	make_ethernet(&m, 0x0800);
	make_ipv4(&m, 6, 20 + n);
	if (way) {
		memcpy(m.b + 26, "\x0a\0\0\x01\x0a\0\0\x02", 8);
		make_be16(&m, 20100);
		make_be16(&m, 49152);
	} else {
		make_be16(&m, 49152);
		make_be16(&m, 20100);
	}
	make_be32(&m, tcp->seq[way]);
	make_be32(&m, tcp->seq[!way]);
	make_be16(&m, 0x5000 | flags);
	make_be16(&m, 65535);
	make_be32(&m, 0);
	make_bytes(&m, data, n);
	tcp->seq[way] += n + (flags & 2 ? 1 : 0);
	write_frame(out, &m);
}

static uint32_t add_negotiation(uint8_t *p, const char *key, uint16_t private_len)
{
	memcpy(p, key, 16);
	p[16] = 0x40; /* CRC */
	p[17] = 1;
	rd_put_be16(p + 18, private_len);
	random_fill(p + 20, private_len);
	return 20 + private_len;
}

static uint32_t add_fpdu(uint8_t *p, uint8_t opcode, bool tagged, uint32_t payload)
{
	uint32_t ulpdu = (tagged ? 14 : 18) + payload, n = (2 + ulpdu + 3) & ~3U;

	random_fill(p, n + 4);
	rd_put_be16(p, (uint16_t)ulpdu);
	p[2] = (uint8_t)((tagged ? 0x80 : 0) | (random_next() & 0x40) | 1);
	p[3] = 0x40 | opcode;
	if (!tagged)
		rd_put_be32(p + 8, opcode == 1 ? 1 : opcode == 7 ? 2 : 0);
	memset(p + 2 + ulpdu, 0, n - 2 - ulpdu);
	return n + 4;
}

static void write_iwarp(struct output *out)
{
	static const struct {
		uint8_t opcode;
		bool tagged;
		uint8_t payload;
	} fpdus[] = {{3, false, 40}, {0, true, 100}, {1, false, 28}, {2, true, 77}, {4, false, 9},
		{5, false, 1}, {6, false, 64}};
	struct tcp tcp = {{1000, 5000}};
	uint8_t b[1024] = {0};
	uint32_t n = 0;

	write_segment(out, &tcp, 0, 0x02, b, 0);
	write_segment(out, &tcp, 1, 0x12, b, 0);
	write_segment(out, &tcp, 0, 0x10, b, 0);
	write_segment(out, &tcp, 0, 0x18, b, add_negotiation(b, "MPA ID Req Frame", 24));
	write_segment(out, &tcp, 1, 0x18, b, add_negotiation(b, "MPA ID Rep Frame", 0));
	for (unsigned int i = 0; i < sizeof(fpdus) / sizeof(*fpdus); i++)
		write_segment(out, &tcp, 0, 0x18, b,
			add_fpdu(b, fpdus[i].opcode, fpdus[i].tagged, fpdus[i].payload));
	n = add_fpdu(b, 0, true, 33);
	n += add_fpdu(b + n, 2, true, 16);
	write_segment(out, &tcp, 0, 0x18, b, n);
	memset(b, 'x', 300); /* no iWARP at all */
	write_segment(out, &tcp, 1, 0x18, b, 300);
}

/* Pause frames of both sorts, tagged and not, with any priorities and times. */
static void write_pauses(struct output *out)
{
	for (unsigned int i = 0; i < 600; i++) {
		struct make m = {.n = 0};

		make_bytes(&m, "\x01\x80\xc2\x00\x00\x01\x52\x54\x00\x00\x00\x02", 12);
		if (i % 7 == 0)
			make_be32(&m, 0x8100e001);
		make_be16(&m, 0x8808);
		make_be16(&m, i % 3 ? 0x0101 : 0x0001);
		make_be16(&m, i % 3 ? i & 0xff : random_next() & 0xffff);
		for (unsigned int k = 0; k < 8; k++)
			make_be16(&m, i % 3 && random_next() & 1 ? random_next() & 0xffff : 0);
		make_fill(&m, 0, 60 - m.n % 60);
		write_frame(out, &m);
	}
}

/* --- an InfiniBand subnet --------------------------------------------------------------- */

enum { SM_LID = 1, HOST_LID = 2, PEER_LID = 3, GROUP_LID = 0xc000 };

struct subnet_mad {
	uint16_t slid, dlid;
	uint8_t sl, class, method;
	uint16_t attribute, status;
	uint32_t tid;
	uint8_t rmpp_type, rmpp_flags, segment;
};

/* SLID, DLID and SL, then the right ICRC, since these are not part of it. */
static void write_routed(
	struct output *out, struct make *m, uint16_t slid, uint16_t dlid, uint8_t sl)
{
	uint32_t computed, stored;
	struct rd_packet p;

	m->b[1] |= (uint8_t)(sl << 4);
	rd_put_be16(m->b + 2, dlid);
	rd_put_be16(m->b + 6, slid);
	rd_packet_parse(RD_LINK_INFINIBAND, m->b, m->n, m->n, &p);
	if (!rd_packet_icrc(&p, &computed, &stored))
		abort();
	for (unsigned int i = 0; i < RD_ICRC_LEN; i++)
		m->b[p.icrc + i] = (uint8_t)(computed >> 8 * i);
	write_frame(out, m);
}

static void write_subnet_mad(struct output *out, const struct subnet_mad *d)
{
	bool smp = d->class == 0x01 || d->class == 0x81;
	struct make m = {.n = 0};
	uint8_t *deth = m.b + bth_of(MAKE_IB) + RD_BTH_LEN, *mad = deth + 8;

	make_packet(&m, MAKE_IB, RD_UD_SEND_ONLY, smp ? 0 : 1, 8 + MAD_LEN, 0);
	m.b[0] = smp ? 0xf0 : 0; /* VL15 */
	memset(deth, 0, 8 + MAD_LEN);
	if (!smp)
		rd_put_be32(deth, 0x80010000);
	deth[7] = !smp;
	mad[0] = 1;
	mad[1] = d->class;
	mad[2] = d->class == 0x03 ? 2 : 1;
	mad[3] = d->method;
	rd_put_be16(mad + 4, d->status);
	rd_put_be32(mad + 12, d->tid);
	rd_put_be16(mad + 16, d->attribute);
	if (d->class == 0x81)
		mad[6] = mad[7] = 1;
	if (d->class == 0x03) {
		mad[24] = d->rmpp_flags != 0;
		mad[25] = d->rmpp_type;
		mad[26] = d->rmpp_flags;
		mad[31] = d->segment;
	}
	write_routed(out, &m, d->slid, d->dlid, d->sl);
}

/* IP over InfiniBand: ARP to the group, or IPv4 to the peer. */
static void write_ipoib(struct output *out, bool group, uint32_t psn)
{
	uint32_t body = 8 + 4 + (group ? 56 : 60);
	struct make m = {.n = 0};
	uint8_t *deth = m.b + bth_of(MAKE_IB) + RD_BTH_LEN, *ip = deth + 12;

	make_packet(&m, MAKE_IB, RD_UD_SEND_ONLY, group ? 0xffffff : 0x48, body, 0);
	rd_put_be32(deth - 4, psn);
	memset(deth, 0, body);
	rd_put_be32(deth, 0x0b1b);
	rd_put_be32(deth + 4, 0x49);
	rd_put_be16(deth + 8, group ? 0x0806 : 0x0800);
	if (group) {
		memcpy(ip, "\x00\x20\x08\x00\x14\x04\x00\x01", 8);
	} else {
		memcpy(ip, "\x45\0\0\x3c\0\0\0\0\x40\x11\0\0\x0a\1\0\1\x0a\1\0\2", 20);
		memcpy(ip + 20, "\x13\x88\x13\x88\0\x28\0\0", 8);
	}
	write_routed(out, &m, HOST_LID, group ? GROUP_LID : PEER_LID, 1);
}

static void write_rc(struct output *out, uint32_t psn)
{
	struct make m = {.n = 0}, ack = {.n = 0};
	uint32_t bth = bth_of(MAKE_IB);

	make_packet(&m, MAKE_IB, 0x04, 0x100, 64, 0);
	rd_put_be32(m.b + bth + 8, 0x80000000 | psn);
	write_routed(out, &m, HOST_LID, PEER_LID, 2);
	make_packet(&ack, MAKE_IB, 0x11, 0x200, 4, 0);
	rd_put_be32(ack.b + bth + 8, psn);
	rd_put_be32(ack.b + bth + RD_BTH_LEN, 0x1f000000 | (psn + 1));
	write_routed(out, &ack, PEER_LID, HOST_LID, 2);
}

static void write_subnet(struct output *out)
{
	static const struct subnet_mad mads[] = {
		{0xffff, 0xffff, 0, 0x81, 0x01, 0x11, 0, 1, 0, 0, 0}, /* NodeInfo */
		{0xffff, 0xffff, 0, 0x81, 0x81, 0x11, 0x8000, 1, 0, 0, 0},
		{SM_LID, HOST_LID, 0, 0x01, 0x02, 0x15, 0, 2, 0, 0, 0}, /* PortInfo */
		{HOST_LID, SM_LID, 0, 0x01, 0x81, 0x15, 0x001c, 2, 0, 0, 0},
		{HOST_LID, SM_LID, 0, 0x03, 0x02, 0x38, 0, 3, 0, 0, 0}, /* MCMemberRecord */
		{SM_LID, HOST_LID, 0, 0x03, 0x81, 0x38, 0, 3, 0, 0, 0},
		{HOST_LID, SM_LID, 0, 0x03, 0x01, 0x35, 0, 4, 0, 0, 0}, /* PathRecord */
		{SM_LID, HOST_LID, 0, 0x03, 0x81, 0x35, 0x0300, 4, 0, 0, 0},
		{HOST_LID, SM_LID, 0, 0x03, 0x01, 0x35, 0, 5, 0, 0, 0}, /* no response */
		{HOST_LID, SM_LID, 0, 0x03, 0x12, 0x35, 0, 6, 0, 0, 0}, /* GetTable */
		{SM_LID, HOST_LID, 0, 0x03, 0x92, 0x35, 0, 6, 1, 3, 1},
		{HOST_LID, SM_LID, 0, 0x03, 0x12, 0x35, 0, 6, 2, 1, 1},
		{SM_LID, HOST_LID, 0, 0x03, 0x92, 0x35, 0, 6, 1, 5, 2},
		{HOST_LID, SM_LID, 0, 0x03, 0x12, 0x35, 0, 6, 2, 1, 2},
		{SM_LID, HOST_LID, 3, 0x04, 0x01, 0x12, 0, 7, 0, 0, 0}, /* PortCounters */
		{HOST_LID, SM_LID, 3, 0x04, 0x81, 0x12, 0, 7, 0, 0, 0},
		{HOST_LID, SM_LID, 0, 0x03, 0x01, 0x35, 0, 5, 0, 0, 0}, /* again */
	};

	for (unsigned int i = 0; i < sizeof(mads) / sizeof(*mads); i++)
		write_subnet_mad(out, &mads[i]);
	for (uint32_t i = 0; i < 10; i++) {
		write_ipoib(out, true, 2 * i);
		write_ipoib(out, false, 2 * i + 1);
		write_rc(out, i);
	}
}

int main(int argc, char **argv)
{
	bool subnet = argc == 3 && !strcmp(argv[1], "subnet");
	bool infiniband = subnet || (argc == 3 && !strcmp(argv[1], "infiniband"));
	bool pauses = argc == 3 && !strcmp(argv[1], "pause");
	bool iwarp = argc == 3 && !strcmp(argv[1], "iwarp");
	struct output out = {.erf = infiniband};
	pcap_t *dead;

	if (!infiniband && !iwarp && !pauses && (argc != 3 || strcmp(argv[1], "ethernet"))) {
		fprintf(stderr, "usage: frames_tool ethernet|infiniband|iwarp|pause|subnet FILE\n");
		return 1;
	}
	dead = pcap_open_dead(infiniband ? DLT_ERF : DLT_EN10MB, 65535);
	out.to = dead ? pcap_dump_open(dead, argv[2]) : NULL;
	if (!out.to)
		return 2;
	if (subnet) {
		write_subnet(&out);
	} else if (infiniband) {
		write_opcodes(&out, MAKE_IB);
		write_opcodes(&out, MAKE_IB_GRH);
		write_mads(&out, MAKE_IB);
		write_mads(&out, MAKE_IB_GRH);
	} else if (iwarp) {
		write_iwarp(&out);
	} else if (pauses) {
		write_pauses(&out);
	} else {
		write_opcodes(&out, MAKE_V1);
		write_opcodes(&out, MAKE_V2_IPV4);
		write_opcodes(&out, MAKE_V2_IPV6);
		write_mads(&out, MAKE_V1);
		write_mads(&out, MAKE_V2_IPV6);
		write_vlans(&out);
		write_extensions(&out);
	}
	pcap_dump_close(out.to);
	pcap_close(dead);
	return 0;
}
