/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tunnels and mirrors: a frame in each of them is extracted; frames without one are unchanged. */
#include "test.h"
#include "test_packet_make.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* Headers of GRE and what follows, as on the wire. */
static const struct {
	const char *name;
	unsigned int proto, port; /* of IP, of UDP */
	const char *bytes;
	uint32_t length;
	bool taken;
} tunnels[] = {
	{"ERSPAN I", 47, 0, "\x00\x00\x88\xbe", 4, true},
	{"ERSPAN II", 47, 0, "\x10\x00\x88\xbe\0\0\0\x07\x10\x64\x00\x01\0\0\0\0", 16, true},
	{"ERSPAN II, no version 1", 47, 0, "\x10\x00\x88\xbe\0\0\0\x07\x30\x64\x00\x01\0\0\0\0", 16,
		false},
	{"ERSPAN III", 47, 0, "\x10\x00\x22\xeb\0\0\0\x07\x20\x64\x00\x01\0\0\0\0\0\0\0\0", 20,
		true},
	{"ERSPAN III with subheader", 47, 0,
		"\x10\x00\x22\xeb\0\0\0\x07\x20\x64\x00\x01\0\0\0\0\0\0\x00\x01\0\0\0\0\0\0\0\0",
		28, true},
	{"ERSPAN III of IP", 47, 0,
		"\x10\x00\x22\xeb\0\0\0\x07\x20\x64\x00\x01\0\0\0\0\0\0\x08\x00", 20, false},
	{"GRE Ethernet", 47, 0, "\x00\x00\x65\x58", 4, true},
	{"GRE Ethernet with checksum, key, sequence", 47, 0,
		"\xb0\x00\x65\x58\0\0\0\0\0\0\0\1\0\0\0\2", 16, true},
	{"GRE with routing", 47, 0, "\x40\x00\x65\x58", 4, false},
	{"GRE version 1", 47, 0, "\x00\x01\x65\x58", 4, false},
	{"GRE IPv4", 47, 0, "\x00\x00\x08\x00", 4, false},
	{"VXLAN", 17, 4789, "\x08\0\0\0\0\0\x2a\0", 8, true},
	{"VXLAN without VNI", 17, 4789, "\0\0\0\0\0\0\x2a\0", 8, false},
	{"UDP to another port", 17, 4790, "\x08\0\0\0\0\0\x2a\0", 8, false},
};

static void wrap(struct make *out, size_t which, const uint8_t *inner, uint32_t length)
{
	uint32_t n = tunnels[which].length + length + (tunnels[which].port ? 8 : 0);

	make_ethernet(out, 0x0800);
	make_ipv4(out, tunnels[which].proto, n);
	if (tunnels[which].port)
		make_udp(out, tunnels[which].port, n - 8);
	make_bytes(out, tunnels[which].bytes, tunnels[which].length);
	make_bytes(out, inner, length);
}

TEST(tunnels)
{
	struct make inner = {.n = 0};

	make_packet(&inner, MAKE_V2_IPV4, 0x0a, 0x11, 16 + 64, 0);
	for (size_t i = 0; i < COUNT(tunnels); i++) {
		struct make m = {.n = 0};
		struct rd_frame frame;

		wrap(&m, i, inner.b, inner.n);
		make_fill(&m, 0, 4); /* padding of the outer frame is not the inner's */
		frame = make_frame(&m);
		rd_decap_run(RD_LINK_ETHERNET, &frame, 1);
		if (frame.len != (tunnels[i].taken ? inner.n : m.n) || frame.caplen != frame.len)
			fail_msg("%s: %u of %u bytes", tunnels[i].name, frame.caplen, frame.len);
		if (tunnels[i].taken)
			assert_memory_equal(frame.data, inner.b, inner.n);
		else
			assert_ptr_equal(frame.data, m.b);
	}
}

/* A fragment has only a part of the inner frame, the first fragment with all headers: unchanged. */
TEST(fragments)
{
	static const uint16_t fields[] = {0x2000, 0x2010, 0x0010};
	struct make inner = {.n = 0};

	make_packet(&inner, MAKE_V2_IPV4, 0x0a, 0x11, 16 + 64, 0);
	for (size_t i = 0; i < COUNT(fields); i++) {
		struct make m = {.n = 0};
		struct rd_frame frame;

		wrap(&m, 0, inner.b, inner.n);
		rd_put_be16(m.b + 14 + 6, fields[i]);
		frame = make_frame(&m);
		rd_decap_run(RD_LINK_ETHERNET, &frame, 1);
		assert_ptr_equal(frame.data, m.b);
		assert_int_equal(frame.len, m.n);
	}
}

TEST(cut_outer)
{
	struct make inner = {.n = 0}, m = {.n = 0};
	struct rd_frame frame;

	make_packet(&inner, MAKE_V2_IPV4, 0x0a, 0x11, 16 + 64, 0);
	wrap(&m, 0, inner.b, inner.n);
	frame = make_frame(&m);
	frame.caplen -= 50;
	rd_decap_run(RD_LINK_ETHERNET, &frame, 1);
	same(frame.len, inner.n, frame.caplen, inner.n - 50);
}

/* An inner frame needs a whole Ethernet header, in the capture as well as on the wire. */
TEST(least_inner)
{
	struct make inner = {.n = 0};

	make_packet(&inner, MAKE_V2_IPV4, 0x0a, 0x11, 16 + 64, 0);
	for (uint32_t n = 13; n <= 14; n++) {
		struct make m = {.n = 0};
		struct rd_frame frame;

		wrap(&m, 0, inner.b, inner.n);
		frame = make_frame(&m);
		frame.caplen -= inner.n - n;
		rd_decap_run(RD_LINK_ETHERNET, &frame, 1);
		assert_int_equal(frame.len, n == 14 ? inner.n : m.n);
		assert_int_equal(frame.caplen, n == 14 ? n : m.n - inner.n + n);

		m.n = 0;
		wrap(&m, 0, inner.b, n);
		frame = make_frame(&m);
		rd_decap_run(RD_LINK_ETHERNET, &frame, 1);
		same(frame.len, n == 14 ? n : m.n, frame.caplen, frame.len);
	}
}

TEST(levels)
{
	struct make m = {.n = 0};
	uint32_t inner;

	make_packet(&m, MAKE_V2_IPV4, 0x04, 0x11, 8, 0);
	inner = m.n;
	for (unsigned int level = 1; level <= 6; level++) {
		struct make outer = {.n = 0};
		struct rd_inner in;

		wrap(&outer, level % 2 ? 6 : 11, m.b, m.n);
		m = outer;
		in = (struct rd_inner){m.b, m.n, m.n, RD_LINK_ETHERNET, 0, 0};
		assert_int_equal(rd_decap_any(&in), level < 4 ? level : 4);
		if (level <= 4)
			assert_int_equal(in.len, inner);
	}
}

static void make_rspan(struct make *m, const struct make *inner)
{
	make_lrh(m, 0, 8 + inner->n);
	make_be32(m, 0x1123);
	make_be32(m, 0);
	make_bytes(m, inner->b, inner->n);
	make_bytes(m, "vc", 2);
}

TEST(rspan)
{
	struct make inner = {.n = 0}, m = {.n = 0};
	struct rd_frame frame;

	make_packet(&inner, MAKE_IB, 0x04, 0x11, 8, 0);
	make_rspan(&m, &inner);
	frame = make_frame(&m);
	rd_decap_run(RD_LINK_INFINIBAND, &frame, 1);
	same(frame.len, inner.n, frame.caplen, inner.n);
	assert_memory_equal(frame.data, inner.b, inner.n);
	for (uint32_t cut = 23; cut <= 24; cut++) { /* within, and behind the inner LRH */
		frame = make_frame(&m);
		frame.caplen = cut;
		rd_decap_run(RD_LINK_INFINIBAND, &frame, 1);
		assert_int_equal(frame.caplen, cut == 24 ? 8 : 23);
	}

	/* LNH is in byte 1, not in byte 2 (the upper half of the DLID). */
	m.b[2] = 0x03;
	frame = make_frame(&m);
	rd_decap_run(RD_LINK_INFINIBAND, &frame, 1);
	assert_int_equal(frame.len, inner.n);
	m.b[1] |= 2;
	m.b[2] = 0;
	frame = make_frame(&m);
	rd_decap_run(RD_LINK_INFINIBAND, &frame, 1);
	assert_int_equal(frame.len, m.n);
}

/* Every length of every tunnel, in exact copies. */
TEST(truncated)
{
	struct make inner = {.n = 0}, m = {.n = 0};

	make_packet(&inner, MAKE_V2_IPV6, 0x04, 0x11, 8, 0);
	for (size_t i = 0; i <= COUNT(tunnels); i++) {
		bool rspan = i == COUNT(tunnels);

		m.n = 0;
		if (rspan)
			make_rspan(&m, &inner);
		else
			wrap(&m, i, inner.b, inner.n);
		for (uint32_t n = 0; n <= m.n; n++) {
			uint8_t *copy = make_exact(m.b, n);
			struct rd_frame frame = {.data = copy, .caplen = n, .len = i % 2 ? n : m.n};

			rd_decap_run(rspan ? RD_LINK_INFINIBAND : RD_LINK_ETHERNET, &frame, 1);
			assert_true(frame.data >= copy && frame.data + frame.caplen <= copy + n);
			assert_true(frame.caplen <= frame.len && frame.len <= m.n);
			free(copy);
		}
	}
}

/* Tunnels whose inner frame may be of another link. */
static const struct {
	const char *name;
	enum rd_link link, inner;
	unsigned int proto, port; /* of IP, of UDP */
	const char *bytes;
	uint32_t length;
	unsigned int tunnel; /* 0: none */
} others[] = {
	{"GRE IPv4", RD_LINK_ETHERNET, RD_LINK_IP, 47, 0, "\x00\x00\x08\x00", 4, RD_TUNNEL_GRE},
	{"GRE of something else", RD_LINK_ETHERNET, RD_LINK_IP, 47, 0, "\x00\x00\x88\x0b", 4, 0},
	{"IP in IP", RD_LINK_ETHERNET, RD_LINK_IP, 4, 0, "", 0, RD_TUNNEL_IP},
	{"IP in IP without Ethernet", RD_LINK_IP, RD_LINK_IP, 4, 0, "", 0, RD_TUNNEL_IP},
	{"ERSPAN III of IP", RD_LINK_ETHERNET, RD_LINK_IP, 47, 0,
		"\x10\x00\x22\xeb\0\0\0\x07\x20\x64\x00\x01\0\0\0\0\0\0\x08\x00", 20,
		RD_TUNNEL_ERSPAN},
	{"Geneve", RD_LINK_ETHERNET, RD_LINK_ETHERNET, 17, 6081, "\0\0\x65\x58\0\0\x2a\0", 8,
		RD_TUNNEL_GENEVE},
	{"Geneve with options, IP", RD_LINK_IP, RD_LINK_IP, 17, 6081,
		"\x01\0\x08\x00\0\0\x2a\0\1\2\3\0", 12, RD_TUNNEL_GENEVE},
	{"Geneve version 1", RD_LINK_ETHERNET, RD_LINK_ETHERNET, 17, 6081,
		"\x40\0\x65\x58\0\0\x2a\0", 8, 0},
	{"VXLAN on IP", RD_LINK_IP, RD_LINK_ETHERNET, 17, 4789, "\x08\0\0\0\0\0\x2a\0", 8,
		RD_TUNNEL_VXLAN},
	{"VXLAN on Linux's port", RD_LINK_ETHERNET, RD_LINK_ETHERNET, 17, 8472,
		"\x08\0\0\0\0\0\x2a\0", 8, RD_TUNNEL_VXLAN},
};

static void make_other(struct make *m, size_t which, const struct make *inner)
{
	uint32_t from = others[which].inner == RD_LINK_IP ? 14 : 0;
	uint32_t n = others[which].length + inner->n - from + (others[which].port ? 8 : 0);

	m->n = 0;
	if (others[which].link == RD_LINK_ETHERNET)
		make_ethernet(m, 0x0800);
	make_ipv4(m, others[which].proto, n);
	if (others[which].port)
		make_udp(m, others[which].port, n - 8);
	make_bytes(m, others[which].bytes, others[which].length);
	make_bytes(m, inner->b + from, inner->n - from);
}

TEST(other_links)
{
	struct make inner = {.n = 0}, m;

	make_packet(&inner, MAKE_V2_IPV4, 0x0a, 0x11, 16 + 64, 0);
	for (size_t i = 0; i < COUNT(others); i++) {
		uint32_t from = others[i].inner == RD_LINK_IP ? 14 : 0;
		struct rd_inner in = {.link = others[i].link};
		struct rd_frame frame;
		struct rd_packet p;
		struct rd_inner all;

		make_other(&m, i, &inner);
		in.data = m.b;
		in.caplen = in.len = m.n;
		if (rd_decap_any(&in) != (others[i].tunnel != 0) || in.tunnels != others[i].tunnel)
			fail_msg("%s: tunnels 0x%x", others[i].name, in.tunnels);
		frame = make_frame(&m);
		assert_false(rd_packet_parse(others[i].link, m.b, m.n, m.n, &p));
		assert_int_equal(
			rd_packet_inner(others[i].link, &frame, &p, &all), others[i].tunnel != 0);
		if (others[i].tunnel) {
			same(in.link, others[i].inner, in.len, inner.n - from);
			assert_memory_equal(in.data, inner.b + from, in.len);
			assert_int_equal(p.dest_qp, 0x11);
		}
		/* A file has one link type: other inner frames stay where they are. */
		rd_decap_run(others[i].link, &frame, 1);
		assert_int_equal(frame.len,
			others[i].tunnel && others[i].link == others[i].inner ? in.len : m.n);
		for (uint32_t n = 0; n < m.n; n++) {
			uint8_t *copy = make_exact(m.b, n);
			struct rd_frame cut = {.data = copy, .caplen = n, .len = m.n};

			if (!rd_packet_parse(others[i].link, copy, n, m.n, &p))
				rd_packet_inner(others[i].link, &cut, &p, &all);
			assert_true(p.data >= copy && p.data + p.caplen <= copy + n);
			free(copy);
		}
	}
	assert_string_equal(rd_tunnel_name(RD_TUNNEL_RSPAN), "RSPAN");
	assert_string_equal(rd_tunnel_name(RD_TUNNEL_IP | RD_TUNNEL_MPLS), "IP in IP");
}

/* What tells networks apart that use the same addresses. */
TEST(networks)
{
	static const struct {
		const char *name;
		unsigned int proto, port;
		const char *bytes;
		uint32_t length, network;
	} kinds[] = {
		{"VXLAN", 17, 4789, "\x08\0\0\0\x12\x34\x56\x78", 8, 0x123456},
		{"Geneve", 17, 6081, "\0\0\x65\x58\x12\x34\x56\x78", 8, 0x123456},
		{"NVGRE", 47, 0, "\x20\x00\x65\x58\x12\x34\x56\x78", 8, 0x123456},
		{"... another flow of it", 47, 0, "\x20\x00\x65\x58\x12\x34\x56\x79", 8, 0x123456},
		{"... the least network", 47, 0, "\x20\x00\x65\x58\0\x10\0\x01", 8, 0x1000},
		{"reserved in NVGRE", 47, 0, "\x20\x00\x65\x58\0\x0f\xff\x01", 8, 0xfff01},
		{"with sequence numbers", 47, 0, "\x30\x00\x65\x58\x12\x34\x56\x78\0\0\0\x01", 12,
			0x12345678},
		{"without a key", 47, 0, "\x00\x00\x65\x58", 4, 0},
	};
	struct make inner = {.n = 0};

	make_packet(&inner, MAKE_V2_IPV4, 0x0a, 0x11, 16 + 64, 0);
	for (size_t i = 0; i < COUNT(kinds); i++) {
		uint32_t n = kinds[i].length + inner.n + (kinds[i].port ? 8 : 0);
		struct rd_inner in = {.link = RD_LINK_ETHERNET};
		struct make m = {.n = 0};

		make_ethernet(&m, 0x0800);
		make_ipv4(&m, kinds[i].proto, n);
		if (kinds[i].port)
			make_udp(&m, kinds[i].port, n - 8);
		make_bytes(&m, kinds[i].bytes, kinds[i].length);
		make_bytes(&m, inner.b, inner.n);
		in.data = m.b;
		in.caplen = in.len = m.n;
		assert_int_equal(rd_decap_any(&in), 1);
		if (in.network != kinds[i].network)
			fail_msg("%s: network 0x%x", kinds[i].name, in.network);
	}
}

/* GRE with IP has no FlowID: all of its key is the network. */
TEST(network_of_ip)
{
	struct make inner = {.n = 0}, m = {.n = 0};
	struct rd_inner in = {.link = RD_LINK_ETHERNET};

	make_packet(&inner, MAKE_V2_IPV4, 0x0a, 0x11, 16 + 64, 0);
	make_ethernet(&m, 0x0800);
	make_ipv4(&m, 47, 8 + inner.n - 14);
	make_bytes(&m, "\x20\x00\x08\x00\x12\x34\x56\x78", 8);
	make_bytes(&m, inner.b + 14, inner.n - 14);
	in.data = m.b;
	in.caplen = in.len = m.n;
	expect("1 0x12345678", rd_decap_any(&in), in.network);
}

/* Ethernet over MPLS: a control word begins with four zero bits, an address may begin with others.
 */
TEST(pseudowire)
{
	static const struct {
		uint8_t first; /* of the inner frame */
		bool word;
	} frames[] = {{0x52, false}, {0x10, false}, {0x52, true}, {0x10, true}};

	for (size_t i = 0; i < COUNT(frames); i++) {
		struct make inner = {.n = 0}, m = {.n = 0};
		struct rd_inner in = {.link = RD_LINK_ETHERNET};

		make_packet(&inner, MAKE_V2_IPV4, 0x0a, 0x11, 16 + 64, 0);
		inner.b[0] = frames[i].first;
		make_ethernet(&m, 0x8847);
		make_bytes(&m, "\0\1\1\x40", 4);
		make_fill(&m, 0, frames[i].word ? 4 : 0);
		make_bytes(&m, inner.b, inner.n);
		in.data = m.b;
		in.caplen = in.len = m.n;
		assert_true(rd_decap_any(&in));
		same(in.tunnels, RD_TUNNEL_MPLS, in.len, inner.n);
		assert_memory_equal(in.data, inner.b, inner.n);
	}
}
