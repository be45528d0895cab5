/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parsing of packets: every opcode's headers, every layer, every length that they can be cut to,
 * and their line of text.
 */
#include "test.h"
#include "test_packet_make.h"

static struct make m;
static struct rd_packet p;

static int no_frame(void **state)
{
	m.n = 0;
	return 0;
}

/* Begins without a byte in `m`. */
#define TEST_FRAME(name) TEST_WITH(name, no_frame, NULL)

static bool parse(enum rd_link link)
{
	return rd_packet_parse(link, m.b, m.n, m.n, &p);
}

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static const struct {
	const char *verb;
	bool response;
	int length; /* of the headers after the BTH, on RC */
} verbs[32] = {
	[0x00] = {"SEND_FIRST", false, 0},
	[0x01] = {"SEND_MIDDLE", false, 0},
	[0x02] = {"SEND_LAST", false, 0},
	[0x03] = {"SEND_LAST_IMM", false, 4},
	[0x04] = {"SEND_ONLY", false, 0},
	[0x05] = {"SEND_ONLY_IMM", false, 4},
	[0x06] = {"WRITE_FIRST", false, 16},
	[0x07] = {"WRITE_MIDDLE", false, 0},
	[0x08] = {"WRITE_LAST", false, 0},
	[0x09] = {"WRITE_LAST_IMM", false, 4},
	[0x0a] = {"WRITE_ONLY", false, 16},
	[0x0b] = {"WRITE_ONLY_IMM", false, 20},
	[0x0c] = {"READ_REQUEST", false, 16},
	[0x0d] = {"READ_RESP_FIRST", true, 4},
	[0x0e] = {"READ_RESP_MIDDLE", true, 0},
	[0x0f] = {"READ_RESP_LAST", true, 4},
	[0x10] = {"READ_RESP_ONLY", true, 4},
	[0x11] = {"ACK", true, 4},
	[0x12] = {"ATOMIC_ACK", true, 12},
	[0x13] = {"CMP_SWAP", false, 28},
	[0x14] = {"FETCH_ADD", false, 28},
	[0x15] = {"RESYNC", false, 0},
	[0x16] = {"SEND_LAST_INV", false, 4},
	[0x17] = {"SEND_ONLY_INV", false, 4},
	[0x1c] = {"FLUSH", false, 20},
	[0x1d] = {"ATOMIC_WRITE", false, 16},
};

static bool has_verb(unsigned int transport, unsigned int verb)
{
	switch (transport) {
	case RD_RC:
	case RD_XRC:
		return verbs[verb].verb && verb != 0x15;
	case RD_UC:
		return verb < 0x0c;
	case RD_RD:
		return verbs[verb].verb && verb != 0x16 && verb != 0x17;
	case RD_UD:
		return verb == 4 || verb == 5;
	default:
		return false;
	}
}

static unsigned int more_headers(unsigned int transport, bool response)
{
	switch (transport) {
	case RD_UD:
		return 8;
	case RD_RD:
		return response ? 4 : 12;
	case RD_XRC:
		return response ? 0 : 4;
	default:
		return 0;
	}
}

TEST(opcodes)
{
	for (unsigned int code = 0; code < 256; code++) {
		const struct rd_opcode *op = &rd_opcodes[code];
		unsigned int transport = code >> 5, verb = code & 0x1f, sum = 0;
		char name[40];

		if (code == 0x81) {
			expect("CNP 16", op->name, op->length);
			continue;
		}
		if (!has_verb(transport, verb)) {
			assert_null(op->name);
			assert_int_equal(op->length, 0);
			continue;
		}
		snprintf(name, sizeof(name), "%s_%s", rd_transport_name(transport),
			verbs[verb].verb);
		same(op->name, name, op->length,
			verbs[verb].length + (int)more_headers(transport, verbs[verb].response));
		assert_int_equal(!!(op->bits & RD_OP_RESPONSE), verbs[verb].response);
		for (unsigned int i = 0; i < 4; i++)
			sum += rd_header_lengths[op->headers[i]];
		assert_int_equal(sum, op->length);
	}
}

static const enum make_outer outers[] = {MAKE_V2_IPV4, MAKE_V2_IPV6, MAKE_V1, MAKE_IB, MAKE_IB_GRH};

/* Offsets, payload and ICRC of every opcode in every type of packet, and with one byte less. */
TEST_FRAME(every_opcode)
{
	static const uint32_t bth[] = {42, 62, 54, 8, 48};

	for (size_t o = 0; o < COUNT(outers); o++) {
		for (unsigned int code = 0; code < 256; code++) {
			uint32_t headers = rd_opcodes[code].length;

			m.n = 0;
			make_packet(&m, outers[o], code, 0x11, headers + 7, 1);
			assert_true(parse(make_link(outers[o])));
			same(p.flags, 0, p.bth, bth[o], p.opcode, code);
			expect("0x11 0x123456 1", p.dest_qp, p.psn, p.pad);
			same(p.payload, bth[o] + 12 + headers, p.payload_len, 7);
			assert_memory_equal(m.b + p.icrc, "ICRC", 4);

			m.n = 0;
			if (!headers)
				continue;
			make_packet(&m, outers[o], code, 0x11, headers - (headers >= 4 ? 4 : 1), 0);
			assert_true(parse(make_link(outers[o])));
			same(p.flags & RD_PACKET_MALFORMED, RD_PACKET_MALFORMED, p.payload_len, 0);
		}
	}
}

/*
 * Untagged IPv4 has a fast path: a VLAN tag, which forces the other path, must change only offsets.
 */
TEST_FRAME(two_ways)
{
	for (unsigned int code = 0; code < 256; code++) {
		struct make tagged = {.n = 0};
		struct rd_packet a, b;

		m.n = 0;
		make_packet(
			&m, MAKE_V2_IPV4, code, 0xabcdef, rd_opcodes[code].length + 33U, code & 3);
		m.b[42 + 1] |= (uint8_t)(code << 6 | 3);
		m.b[42 + 4] = (uint8_t)~code;
		m.b[42 + 8] = (uint8_t)code;
		make_bytes(&tagged, m.b, 12);
		make_be32(&tagged, 0x81000001);
		make_bytes(&tagged, m.b + 12, m.n - 12);
		for (uint32_t less = 0; less < m.n; less++) {
			rd_packet_parse(RD_LINK_ETHERNET, m.b, m.n - less, m.n, &a);
			rd_packet_parse(RD_LINK_ETHERNET, tagged.b, tagged.n - less, tagged.n, &b);
			if (!b.l3)
				continue;
			same(a.l3 + 4, b.l3, a.l4 + (b.l4 ? 4 : 0), b.l4, a.bth + (b.bth ? 4 : 0),
				b.bth, a.payload + 4, b.payload);
			same(a.payload_len, b.payload_len, a.icrc + (b.icrc ? 4 : 0), b.icrc,
				a.end + 4, b.end, a.dest_qp, b.dest_qp);
			assert_int_equal(a.psn, b.psn);
			assert_ptr_equal(a.op, b.op);
			assert_memory_equal(&a.ethertype, &b.ethertype,
				offsetof(struct rd_packet, common) -
					offsetof(struct rd_packet, ethertype));
			same(a.common, a.op && !a.flags, b.common, false);
		}
	}
}

/* All functions that read, over exact copies of every length. */
static void read_all(enum rd_link link, const uint8_t *data, uint32_t caplen, uint32_t len)
{
	struct rd_frame frame = {.data = data, .caplen = caplen, .len = len};
	char line[512];
	size_t n;

	rd_packet_parse(link, data, caplen, len, &p);
	for (unsigned int h = 0; h <= RD_H_CNP + 1; h++) {
		const uint8_t *at = rd_packet_header(&p, (enum rd_header)h);

		if (at)
			assert_true(at >= data && at + rd_header_lengths[h] <= data + caplen);
	}
	n = rd_packet_line(
		line, sizeof(line), &frame, link, RD_LINE_LINK | RD_LINE_UTC | RD_LINE_DATE);
	assert_int_equal(n, strlen(line));
	for (size_t i = 0; i < n; i++)
		assert_true(line[i] >= ' ' && line[i] <= '~');
}

TEST_FRAME(truncated)
{
	for (size_t o = 0; o < COUNT(outers); o++) {
		for (unsigned int code = 0; code < 256; code += code == 0x64 ? 1 : 3) {
			m.n = 0;
			/* To QP 1, so that MADs are read too. */
			make_packet(&m, outers[o], code, 1, rd_opcodes[code].length + 60U, 0);
			m.b[m.n - 66 + 1] = RD_MAD_CM;
			for (uint32_t n = 0; n <= m.n; n++) {
				uint8_t *copy = make_exact(m.b, n);

				read_all(make_link(outers[o]), copy, n, m.n);
				read_all(make_link(outers[o]), copy, n, n);
				free(copy);
			}
		}
	}
}

/* Bytes after the IP packet are neither payload nor ICRC. */
TEST_FRAME(trailer)
{
	make_packet(&m, MAKE_V2_IPV4, 0x04, 0x11, 0, 0);
	make_fill(&m, 0xaa, 6);
	assert_true(parse(RD_LINK_ETHERNET));
	assert_int_equal(p.end, m.n - 6);
	assert_memory_equal(m.b + p.icrc, "ICRC", 4);
	assert_int_equal(p.payload_len, 0);
}

/* --- other packets ---------------------------------------------------------------------------- */

TEST_FRAME(ipv4_options_and_fragments)
{
	make_ethernet(&m, 0x0800);
	make_be16(&m, 0x4700);
	make_be16(&m, 28 + 8 + 16);
	make_be32(&m, 0);
	make_be16(&m, 64 << 8 | 17);
	make_be16(&m, 0);
	make_fill(&m, 1, 8 + 8);
	make_udp(&m, 4791, 16);
	make_bth(&m, 0x04, 5, 6, 0);
	make_bytes(&m, "ICRC", 4);
	assert_true(parse(RD_LINK_ETHERNET));
	same(p.l4, 14 + 28, p.dest_qp, 5);

	m.b[20] = 0x20; /* more fragments: no ICRC here */
	expect("1 0 4", parse(RD_LINK_ETHERNET), p.icrc, p.payload_len);

	m.b[21] = 1; /* a later fragment: no transport */
	same(parse(RD_LINK_ETHERNET), 0, p.l4, 0, p.payload, 14 + 28, p.flags, RD_PACKET_FRAGMENT);
}

TEST_FRAME(ipv6_extensions)
{
	static const uint8_t options[] = {60, 0, 1, 4, 0, 0, 0, 0}, destination[] = {17, 1, 1, 12};

	make_ethernet(&m, 0x86dd);
	make_ipv6(&m, 0, 8 + 16 + 8 + 16);
	make_bytes(&m, options, 8);
	make_bytes(&m, destination, 4);
	make_fill(&m, 0, 12);
	make_udp(&m, 4791, 16);
	make_bth(&m, 0x04, 5, 6, 0);
	make_bytes(&m, "ICRC", 4);
	assert_true(parse(RD_LINK_ETHERNET));
	same(p.l4, 54 + 24, p.proto, 17);

	m.b[20] = 44; /* the first one becomes a fragment header: nothing follows, more follow */
	for (unsigned int more = 0; more < 2; more++) {
		rd_put_be16(m.b + 54 + 2, (uint16_t)more);
		assert_true(parse(RD_LINK_ETHERNET));
		assert_int_equal(p.flags & RD_PACKET_FRAGMENT, more ? RD_PACKET_FRAGMENT : 0);
	}
	m.b[54 + 3] = 8; /* a later fragment */
	assert_false(parse(RD_LINK_ETHERNET));
	same(p.payload, 54 + 8, p.flags, RD_PACKET_FRAGMENT);
}

TEST_FRAME(not_roce)
{
	/* Too short for BTH and ICRC. */
	make_udp_frame(&m, 4791, 15);
	make_fill(&m, 0, 15);
	assert_false(parse(RD_LINK_ETHERNET));
	same(p.kind, RD_KIND_OTHER, p.payload_len, 15);
	m.b[14 + 20 + 3] = 53;
	expect("0 0", parse(RD_LINK_ETHERNET), p.flags);
	/* A datagram is as long as its header at least. */
	m.b[14 + 20 + 5] = 7;
	assert_false(parse(RD_LINK_ETHERNET));
	assert_int_equal(p.flags, RD_PACKET_MALFORMED);
	/* An IP header of another version: nothing in it is known, all is payload. */
	m.b[14] = 0x55;
	assert_false(parse(RD_LINK_ETHERNET));
	same(p.flags, RD_PACKET_MALFORMED, p.payload_len, m.n - 14);

	/* TCP with options. */
	m.n = 0;
	make_ethernet(&m, 0x0800);
	make_ipv4(&m, 6, 32 + 5);
	make_fill(&m, 0, 12);
	make_be16(&m, 0x8010);
	make_fill(&m, 0, 18 + 5);
	assert_false(parse(RD_LINK_ETHERNET));
	same(p.kind, RD_KIND_OTHER, p.payload, 14 + 20 + 32, p.payload_len, 5);
}

TEST_FRAME(infiniband_raw)
{
	make_lrh(&m, 0, 12);
	make_be32(&m, 0x0800);
	make_fill(&m, 0x55, 8 + 2);
	expect("0 0x0800 12", parse(RD_LINK_INFINIBAND), p.ethertype, p.payload);

	m.n = 0;
	make_lrh(&m, 1, 40 + 8);
	make_ipv6(&m, 58, 8);
	make_fill(&m, 0, 8 + 2);
	assert_false(parse(RD_LINK_INFINIBAND));
	same(p.net, RD_NET_IPV6, p.l4, 48);
	/* Bytes beyond the LRH's packet length are not part of it. */
	m.b[4] |= 0xf8;
	assert_false(parse(RD_LINK_INFINIBAND));
	same(p.flags & RD_PACKET_MALFORMED, 0, p.end, m.n - 2);
}

TEST_FRAME(headers)
{
	struct rd_atomic atomic;
	struct rd_deth deth;
	struct rd_reth reth;

	/* XRC: XRCETH, RETH, ImmDt. The body counts from 1. */
	make_packet(&m, MAKE_IB, 0xab, 0x11, 24, 0);
	parse(RD_LINK_INFINIBAND);
	expect("0x01020304 1 1 0x0d0e0f10", rd_be32(rd_packet_header(&p, RD_H_XRCETH)),
		rd_packet_reth(&p, &reth), reth.va == UINT64_C(0x05060708090a0b0c), reth.rkey);
	expect("0x11121314 0x15161718", reth.length, rd_be32(rd_packet_header(&p, RD_H_IMMDT)));
	assert_null(rd_packet_header(&p, RD_H_AETH));

	/* RD: RDETH, DETH, AtomicETH. */
	m.n = 0;
	make_packet(&m, MAKE_IB, 0x53, 0x11, 40, 0);
	parse(RD_LINK_INFINIBAND);
	expect("1 0x05060708 0x0a0b0c 1 1", rd_packet_deth(&p, &deth), deth.qkey, deth.src_qp,
		rd_packet_atomic(&p, &atomic), atomic.va == UINT64_C(0x0d0e0f1011121314));
	expect("0x15161718 1 1 0", atomic.rkey, atomic.swap_or_add == UINT64_C(0x191a1b1c1d1e1f20),
		atomic.compare == UINT64_C(0x2122232425262728), rd_packet_reth(&p, &reth));
}

TEST_FRAME(aeth)
{
	static const struct {
		uint8_t syndrome;
		enum rd_aeth_kind kind;
	} cases[] = {{0x1f, RD_AETH_ACK}, {0x2e, RD_AETH_RNR}, {0x41, RD_AETH_RESERVED},
		{0x60, RD_AETH_NAK}};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rd_aeth aeth;

		m.n = 0;
		make_packet(&m, MAKE_V2_IPV4, 0x11, 0x11, 4, 0);
		m.b[54] = cases[i].syndrome;
		parse(RD_LINK_ETHERNET);
		assert_true(rd_packet_aeth(&p, &aeth));
		same(aeth.kind, cases[i].kind, aeth.value, cases[i].syndrome & 0x1f, aeth.msn,
			0x020304);
	}
	expect("32 32768 -1", rd_aeth_credits(0x0a), rd_aeth_credits(0x1e), rd_aeth_credits(0x1f));
	/* Each is twice the one before the last. */
	for (unsigned int i = 4; i < 0x1f; i++) {
		assert_int_equal(rd_aeth_credits(i), 2 * rd_aeth_credits(i - 2));
		assert_int_equal(rd_aeth_rnr_us(i), 2 * rd_aeth_rnr_us(i - 2));
	}
	expect("655360 10 1280 491520 remote access error", rd_aeth_rnr_us(0), rd_aeth_rnr_us(1),
		rd_aeth_rnr_us(14), rd_aeth_rnr_us(31), rd_aeth_nak_name(2));
	assert_string_equal(rd_aeth_nak_name(31), "reserved NAK code");
}

TEST_FRAME(bth_bits)
{
	make_packet(&m, MAKE_V2_IPV4, 0x04, 0x11, 0, 0);
	m.b[15] = 0x6b;
	m.b[42 + 1] = 0xc0 | 0x05;
	m.b[42 + 4] = 0xc0;
	m.b[42 + 8] = 0x80;
	parse(RD_LINK_ETHERNET);
	assert_int_equal(p.bth_bits,
		RD_BTH_SOLICITED | RD_BTH_MIGREQ | RD_BTH_FECN | RD_BTH_BECN | RD_BTH_ACKREQ);
	expect("5 0x6b", p.tver, rd_packet_tclass(&p));
	m.n = 0;
	make_packet(&m, MAKE_V1, 0x04, 0x11, 0, 0);
	rd_put_be32(m.b + 14, 0x66b00000);
	parse(RD_LINK_ETHERNET);
	assert_int_equal(rd_packet_tclass(&p), 0x6b);
}

static const struct {
	enum make_outer outer;
	unsigned int opcode;
	uint32_t body;
	const char *text;
} lines[] = {
	{MAKE_V2_IPV4, 0x06, 24,
		"?   10.0.0.2 > 10.0.0.1       RoCEv2 RC_WRITE_FIRST       QP 0x000011 PSN "
		"1193046  va 0x102030405060708 rkey 0x090a0b0c dmalen 219025168 payload 8 len 82"},
	{MAKE_V1, 0x11, 4,
		"?   fd00::2 > fd00::1         RoCEv1 RC_ACK               QP 0x000011 PSN 1193046 "
		" credits 1 MSN 131844 len 74"},
	{MAKE_IB, 0x64, 12,
		"?   LID 2 > LID 1             IB     UD_SEND_ONLY         QP 0x000011 PSN "
		"1193046  from QP 0x060708 qkey 0x01020304 payload 4 len 38"},
	{MAKE_V2_IPV6, 0x81, 16,
		"?   fd00::2 > fd00::1         RoCEv2 CNP                  QP 0x000011 PSN 1193046 "
		" len 94"},
	{MAKE_V2_IPV4, 0xff, 4,
		"?   10.0.0.2 > 10.0.0.1       RoCEv2 opcode 0xff          QP 0x000011 PSN 1193046 "
		" payload 4 len 62"},
};

TEST_FRAME(lines)
{
	for (size_t i = 0; i < COUNT(lines); i++) {
		char line[512], small[24];
		struct rd_frame frame;

		m.n = 0;
		make_packet(&m, lines[i].outer, lines[i].opcode, 0x11, lines[i].body, 0);
		frame = make_frame(&m);
		rd_packet_line(
			line, sizeof(line), &frame, make_link(lines[i].outer), RD_LINE_NO_TIME);
		assert_string_equal(line, lines[i].text);
		/* No room: cut, and still a string. */
		assert_int_equal(rd_packet_line(small, sizeof(small), &frame,
					 make_link(lines[i].outer), RD_LINE_NO_TIME),
			sizeof(small) - 1);
		assert_memory_equal(small, lines[i].text, sizeof(small) - 1);
	}
}

/* What else crosses a port: an Ethernet frame of this type, with these bytes. */
static const struct {
	uint16_t type;
	uint16_t n;
	const char *bytes, *text;
} others[] = {
	{0x0806, 28, "\0\1\10\0\6\4\0\1\2\0\0\0\0\1\12\0\0\1\0\0\0\0\0\0\12\0\0\2",
		"ARP who-has 10.0.0.2 tell 10.0.0.1 "},
	{0x0806, 28, "\0\1\10\0\6\4\0\2\2\0\0\0\0\1\12\0\0\1\2\0\0\0\0\2\12\0\0\2",
		"ARP reply 10.0.0.1 is-at 02:00:00:00:00:01 "},
	{0x0800, 28, "\x45\0\0\34\0\0\0\0\100\1\0\0\12\0\0\1\12\0\0\2\10\0\0\0\0\3\0\4",
		"ICMP echo request id 3 seq 4 "},
	{0x0800, 28, "\x45\0\0\34\0\0\0\0\100\1\0\0\12\0\0\1\12\0\0\2\3\1\0\0\0\0\0\0",
		"ICMP unreachable code 1 "},
	{0x0800, 40,
		"\x45\0\0\50\0\0\0\0\100\6\0\0\12\0\0\1\12\0\0\2\0\1\0\2\0\0\0\5\0\0\0\6\x50\x12\0"
		"\7\0\0\0\0",
		"TCP [S.] seq 5 ack 6 win 7 payload 0 "},
};

TEST_FRAME(arp_icmp_tcp_lines)
{
	for (size_t i = 0; i < COUNT(others); i++) {
		char line[512];
		struct rd_frame frame;

		m.n = 0;
		make_ethernet(&m, others[i].type);
		make_bytes(&m, others[i].bytes, others[i].n);
		frame = make_frame(&m);
		rd_packet_line(line, sizeof(line), &frame, RD_LINK_ETHERNET, RD_LINE_NO_TIME);
		if (!strstr(line, others[i].text))
			fail_msg("%s: %s", others[i].text, line);
	}
}

/* Shorter than any packet: what links exchange for their credits. */
TEST(line_flow_control)
{
	static const uint8_t data[6];
	const struct rd_frame frame = {.data = data, .caplen = 6, .len = 6};
	char line[200];

	rd_packet_line(line, sizeof(line), &frame, RD_LINK_INFINIBAND, RD_LINE_NO_TIME);
	assert_non_null(strstr(line, "InfiniBand flow control"));
}

TEST_FRAME(line_times)
{
	struct rd_frame frame;
	char line[512];

	make_packet(&m, MAKE_V2_IPV4, 0x04, 0x11, 0, 0);
	frame = make_frame(&m);
	frame.ts_ns = UINT64_C(1700000000123456789);
	frame.direction = RD_DIR_OUT;
	rd_packet_line(line, sizeof(line), &frame, RD_LINK_ETHERNET, RD_LINE_UTC);
	assert_memory_equal(line, "22:13:20.123456789 OUT 10.0.0.2 > ", 34);
	rd_packet_line(line, sizeof(line), &frame, RD_LINK_ETHERNET, RD_LINE_UTC | RD_LINE_DATE);
	assert_memory_equal(line, "2023-11-14 22:13:20.123456789 OUT ", 34);
	rd_packet_line(line, sizeof(line), &frame, RD_LINK_ETHERNET, RD_LINE_EPOCH);
	assert_memory_equal(line, "1700000000.123456789 OUT ", 25);
	frame.ts_ns = 3723000000001;
	rd_packet_line(line, sizeof(line), &frame, RD_LINK_ETHERNET, RD_LINE_SINCE_LAST);
	assert_memory_equal(line, "01:02:03.000000001 OUT ", 23);
	frame.ts_ns = -(uint64_t)1000;
	rd_packet_line(line, sizeof(line), &frame, RD_LINK_ETHERNET, RD_LINE_SINCE_FIRST);
	assert_memory_equal(line, "-00:00:00.000001000 OUT ", 24);
	rd_packet_line(
		line, sizeof(line), &frame, RD_LINK_ETHERNET, RD_LINE_NO_TIME | RD_LINE_LINK);
	assert_memory_equal(line, "OUT 52:54:00:00:00:02 > 52:54:00:00:00:01 10.0.0.2 > ", 53);
}

TEST_FRAME(line_dscp)
{
	struct rd_frame frame;
	char line[512];

	make_packet(&m, MAKE_V2_IPV4, 0x04, 0x11, 0, 0);
	m.b[15] = 26 << 2 | 2;
	frame = make_frame(&m);
	rd_packet_line(line, sizeof(line), &frame, RD_LINK_ETHERNET, RD_LINE_NO_TIME);
	assert_non_null(strstr(line, " DSCP 26 len"));
}

/* A line names the kind of an AETH once: in the opcode's column, a response after it. */
TEST_FRAME(line_naks)
{
	static const struct {
		unsigned int opcode;
		uint8_t syndrome;
		const char *name, *detail;
	} cases[] = {
		{0x11, 0x2a, "RoCEv2 RC_RNR_NAK           QP", "1193046  wait 0.32 ms MSN"},
		{0x11, 0x60, "RoCEv2 RC_NAK               QP",
			"1193046  code 0 (PSN sequence error) MSN"},
		{0x11, 0x1f, "RoCEv2 RC_ACK               QP", "1193046  MSN"},
		{0x11, 0x40, "RoCEv2 RC_ACK               QP",
			"1193046  reserved syndrome 0x40 MSN"},
		{0x10, 0x01, "RoCEv2 RC_READ_RESP_ONLY    QP", "1193046  credits 1 MSN"},
		{0x10, 0x2a, "RoCEv2 RC_READ_RESP_ONLY    QP", "1193046  RNR NAK wait 0.32 ms MSN"},
		{0x10, 0x60, "RoCEv2 RC_READ_RESP_ONLY    QP",
			"1193046  NAK code 0 (PSN sequence error) MSN"},
		{0x10, 0x40, "RoCEv2 RC_READ_RESP_ONLY    QP",
			"1193046  reserved syndrome 0x40 MSN"},
	};
	char line[512];

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rd_frame frame;

		m.n = 0;
		make_packet(&m, MAKE_V2_IPV4, cases[i].opcode, 0x11, 4, 0);
		frame = make_frame(&m);
		m.b[m.n - 8] = cases[i].syndrome;
		rd_packet_line(line, sizeof(line), &frame, RD_LINK_ETHERNET, RD_LINE_NO_TIME);
		assert_non_null(strstr(line, cases[i].name));
		assert_non_null(strstr(line, cases[i].detail));
	}
}

/* What precedes the IP header of a packet on each link. */
static const struct {
	const char *name;
	enum rd_link link;
	const char *before;
	uint32_t length;
	bool ip;	   /* false: another content */
	const char *shown; /* of the link, on its line; NULL: not looked at */
} on_links[] = {
	{"SLL", RD_LINK_SLL, "\0\0\0\1\0\6\2\0\0\0\0\1\0\0\x08\x00", 16, true,
		"in from 02:00:00:00:00:01 "},
	{"SLL, VLAN", RD_LINK_SLL, "\0\0\0\1\0\6\2\0\0\0\0\1\0\0\x81\x00\0\5\x08\x00", 20, true,
		"in from 02:00:00:00:00:01 vlan 5 prio 0 "},
	{"SLL, netlink", RD_LINK_SLL, "\0\4\3\x38\0\0\0\0\0\0\0\0\0\0\x08\x00", 16, false, NULL},
	{"SLL2", RD_LINK_SLL2, "\x08\0\0\0\0\0\0\3\0\1\0\6\2\0\0\0\0\1\0\0", 20, true,
		"ifindex 3 in from 02:00:00:00:00:01 "},
	{"SLL2, netlink", RD_LINK_SLL2, "\x08\0\0\0\0\0\0\3\3\x38\0\6\2\0\0\0\0\1\0\0", 20, false,
		NULL},
	{"IP", RD_LINK_IP, "", 0, true, NULL},
	{"no IP", RD_LINK_IP, "\x55", 1, false, NULL},
	{"NULL", RD_LINK_NULL, "\2\0\0\0", 4, true, NULL},
	{"LOOP", RD_LINK_NULL, "\0\0\0\2", 4, true, NULL},
	{"NULL of another family", RD_LINK_NULL, "\7\0\0\0", 4, false, NULL},
	{"MPLS", RD_LINK_ETHERNET, "ddddddssssss\x88\x47\0\1\0\x40\0\2\1\x40", 22, true,
		"mpls 16 mpls 32"},
	{"MPLS, upstream labels", RD_LINK_ETHERNET, "ddddddssssss\x88\x48\0\1\1\x40", 18, true,
		"mpls 16"},
	{"PPPoE", RD_LINK_ETHERNET, "ddddddssssss\x88\x64\x11\0\0\1\0\x20\0\x21", 22, true, NULL},
	{"PPPoE, LCP", RD_LINK_ETHERNET, "ddddddssssss\x88\x64\x11\0\0\1\0\x20\xc0\x21", 22, false,
		NULL},
	{"not decoded", RD_LINK_RAW, "", 0, false, NULL},
};

TEST_FRAME(links)
{
	struct make inner = {.n = 0};

	make_packet(&inner, MAKE_V2_IPV4, 0x0a, 0x11, 16 + 64, 0);
	for (size_t i = 0; i < sizeof(on_links) / sizeof(*on_links); i++) {
		const uint32_t length = on_links[i].length;
		char text[512];

		m.n = 0;
		make_bytes(&m, on_links[i].before, length);
		make_bytes(&m, inner.b + 14, inner.n - 14);
		if (on_links[i].shown) {
			const struct rd_frame whole = {.data = m.b, .caplen = m.n, .len = m.n};

			rd_packet_line(text, sizeof(text), &whole, on_links[i].link,
				RD_LINE_LINK | RD_LINE_NO_TIME);
			if (!strstr(text, on_links[i].shown))
				fail_msg("%s: '%s'", on_links[i].name, text);
		}
		if (parse(on_links[i].link) != on_links[i].ip)
			fail_msg("%s", on_links[i].name);
		assert_int_equal(p.flags, 0);
		if (on_links[i].ip) {
			same(p.net, RD_NET_IPV4, p.l3, length, p.bth, length + 28);
			expect("0x0800 0x11 64", p.ethertype, p.dest_qp, p.payload_len);
		}
		for (uint32_t n = 0; n < m.n; n++) {
			uint8_t *copy = make_exact(m.b, n);
			struct rd_frame frame = {.data = copy, .caplen = n, .len = m.n};
			char line[512];

			rd_packet_parse(on_links[i].link, copy, n, m.n, &p);
			if (on_links[i].ip)
				assert_true(n >= p.payload || p.flags & RD_PACKET_CUT);
			rd_packet_line(line, sizeof(line), &frame, on_links[i].link, RD_LINE_LINK);
			free(copy);
		}
	}
}

/* The printed line of IP packets that are not RDMA. */
TEST_FRAME(other_lines)
{
	static const struct {
		uint8_t proto;
		const char *text;
	} rows[] = {{17, "UDP payload 12"}, {132, "SCTP"}, {50, "ESP"}, {200, "IP protocol 200"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rd_frame frame;
		char text[512];

		m.n = 0;
		make_ethernet(&m, 0x0800);
		make_ipv4(&m, rows[i].proto, 8 + 12);
		make_udp(&m, 53, 12);
		make_bytes(&m, "123456789012", 12);
		frame = (struct rd_frame){.data = m.b, .caplen = m.n, .len = m.n};
		rd_packet_line(text, sizeof(text), &frame, RD_LINK_ETHERNET, RD_LINE_NO_TIME);
		if (!strstr(text, rows[i].text))
			fail_msg("%u: '%s'", rows[i].proto, text);
	}
}
