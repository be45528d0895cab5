/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tunnels and mirrors: a frame in each of them is extracted; frames without one are unchanged. */
#include "test.h"
#include "test_packet_make.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

#define ETHERNET RD_LINK_ETHERNET
#define IP	 RD_LINK_IP

/* What is before an inner frame, which may be of another link. */
static const struct tunnel {
	const char *name;
	enum rd_link link, inner;
	unsigned int proto, port; /* of IP, of UDP */
	const char *bytes;	  /* of GRE, or behind UDP, as on the wire */
	uint32_t length;
	unsigned int tunnel; /* 0: none */
	uint32_t network;    /* tells networks apart that use the same addresses */
} tunnels[] = {
	{"ERSPAN I", ETHERNET, ETHERNET, 47, 0, "\x00\x00\x88\xbe", 4, RD_TUNNEL_ERSPAN, 0},
	{"ERSPAN II", ETHERNET, ETHERNET, 47, 0,
		"\x10\x00\x88\xbe\0\0\0\x07\x10\x64\x00\x01\0\0\0\0", 16, RD_TUNNEL_ERSPAN, 0},
	{"ERSPAN II, no version 1", ETHERNET, ETHERNET, 47, 0,
		"\x10\x00\x88\xbe\0\0\0\x07\x30\x64\x00\x01\0\0\0\0", 16, 0, 0},
	{"ERSPAN III", ETHERNET, ETHERNET, 47, 0,
		"\x10\x00\x22\xeb\0\0\0\x07\x20\x64\x00\x01\0\0\0\0\0\0\0\0", 20, RD_TUNNEL_ERSPAN,
		0},
	{"ERSPAN III with subheader", ETHERNET, ETHERNET, 47, 0,
		"\x10\x00\x22\xeb\0\0\0\x07\x20\x64\x00\x01\0\0\0\0\0\0\x00\x01\0\0\0\0\0\0\0\0",
		28, RD_TUNNEL_ERSPAN, 0},
	{"ERSPAN III of IP", ETHERNET, IP, 47, 0,
		"\x10\x00\x22\xeb\0\0\0\x07\x20\x64\x00\x01\0\0\0\0\0\0\x08\x00", 20,
		RD_TUNNEL_ERSPAN, 0},
	{"GRE Ethernet", ETHERNET, ETHERNET, 47, 0, "\x00\x00\x65\x58", 4, RD_TUNNEL_GRE, 0},
	{"GRE Ethernet with checksum, key, sequence", ETHERNET, ETHERNET, 47, 0,
		"\xb0\x00\x65\x58\0\0\0\0\0\0\0\1\0\0\0\2", 16, RD_TUNNEL_GRE, 1},
	{"GRE with routing", ETHERNET, ETHERNET, 47, 0, "\x40\x00\x65\x58", 4, 0, 0},
	{"GRE version 1", ETHERNET, ETHERNET, 47, 0, "\x00\x01\x65\x58", 4, 0, 0},
	{"GRE IPv4", ETHERNET, IP, 47, 0, "\x00\x00\x08\x00", 4, RD_TUNNEL_GRE, 0},
	{"... which has no FlowID", ETHERNET, IP, 47, 0, "\x20\x00\x08\x00\x12\x34\x56\x78", 8,
		RD_TUNNEL_GRE, 0x12345678},
	{"GRE of something else", ETHERNET, IP, 47, 0, "\x00\x00\x88\x0b", 4, 0, 0},
	{"NVGRE", ETHERNET, ETHERNET, 47, 0, "\x20\x00\x65\x58\x12\x34\x56\x78", 8, RD_TUNNEL_GRE,
		0x123456},
	{"... another flow of it", ETHERNET, ETHERNET, 47, 0, "\x20\x00\x65\x58\x12\x34\x56\x79", 8,
		RD_TUNNEL_GRE, 0x123456},
	{"... the least network", ETHERNET, ETHERNET, 47, 0, "\x20\x00\x65\x58\0\x10\0\x01", 8,
		RD_TUNNEL_GRE, 0x1000},
	{"reserved in NVGRE", ETHERNET, ETHERNET, 47, 0, "\x20\x00\x65\x58\0\x0f\xff\x01", 8,
		RD_TUNNEL_GRE, 0xfff01},
	{"with sequence numbers", ETHERNET, ETHERNET, 47, 0,
		"\x30\x00\x65\x58\x12\x34\x56\x78\0\0\0\x01", 12, RD_TUNNEL_GRE, 0x12345678},
	{"VXLAN", ETHERNET, ETHERNET, 17, 4789, "\x08\0\0\0\x12\x34\x56\x78", 8, RD_TUNNEL_VXLAN,
		0x123456},
	{"VXLAN without VNI", ETHERNET, ETHERNET, 17, 4789, "\0\0\0\0\0\0\x2a\0", 8, 0, 0},
	{"UDP to another port", ETHERNET, ETHERNET, 17, 4790, "\x08\0\0\0\0\0\x2a\0", 8, 0, 0},
	{"VXLAN on IP", IP, ETHERNET, 17, 4789, "\x08\0\0\0\0\0\x2a\0", 8, RD_TUNNEL_VXLAN, 42},
	{"VXLAN on Linux's port", ETHERNET, ETHERNET, 17, 8472, "\x08\0\0\0\0\0\x2a\0", 8,
		RD_TUNNEL_VXLAN, 42},
	{"Geneve", ETHERNET, ETHERNET, 17, 6081, "\0\0\x65\x58\x12\x34\x56\x78", 8,
		RD_TUNNEL_GENEVE, 0x123456},
	{"Geneve with options, IP", IP, IP, 17, 6081, "\x01\0\x08\x00\0\0\x2a\0\1\2\3\0", 12,
		RD_TUNNEL_GENEVE, 42},
	{"Geneve version 1", ETHERNET, ETHERNET, 17, 6081, "\x40\0\x65\x58\0\0\x2a\0", 8, 0, 0},
	{"IP in IP", ETHERNET, IP, 4, 0, "", 0, RD_TUNNEL_IP, 0},
	{"IP in IP without Ethernet", IP, IP, 4, 0, "", 0, RD_TUNNEL_IP, 0},
};

#define GRE_ETHERNET 6
#define VXLAN	     18

static void wrap(struct make *out, const struct tunnel *t, const uint8_t *inner, uint32_t length)
{
	uint32_t n = t->length + length + (t->port ? 8 : 0);

	if (t->link == ETHERNET)
		make_ethernet(out, 0x0800);
	make_ipv4(out, t->proto, n);
	if (t->port)
		make_udp(out, t->port, n - 8);
	make_bytes(out, t->bytes, t->length);
	make_bytes(out, inner, length);
}

/* Every length of the frame, in exact copies: nothing beyond it is read. */
static void cut_everywhere(enum rd_link link, const struct make *m)
{
	for (uint32_t n = 0; n <= m->n; n++)
		for (int whole = 0; whole < 2; whole++) {
			uint8_t *copy = make_exact(m->b, n);
			struct rd_frame cut = {.data = copy, .caplen = n, .len = whole ? n : m->n};
			struct rd_inner all;
			struct rd_packet p;

			if (!rd_packet_parse(link, copy, n, cut.len, &p))
				rd_packet_inner(link, &cut, &p, &all);
			assert_true(p.data >= copy && p.data + p.caplen <= copy + n);
			rd_decap_run(link, &cut, 1);
			assert_true(cut.data >= copy && cut.data + cut.caplen <= copy + n);
			assert_true(cut.caplen <= cut.len && cut.len <= m->n);
			free(copy);
		}
}

TEST(tunnels)
{
	struct make inner = {.n = 0};

	make_packet(&inner, MAKE_V2_IPV4, 0x0a, 0x11, 16 + 64, 0);
	for (const struct tunnel *t = tunnels; t < tunnels + COUNT(tunnels); t++) {
		const uint32_t from = t->inner == IP ? 14 : 0;
		struct rd_inner in = {.link = t->link}, all;
		struct make m = {.n = 0};
		struct rd_frame frame;
		struct rd_packet p;

		wrap(&m, t, inner.b + from, inner.n - from);
		make_fill(&m, 0, 4); /* padding of the outer frame is not the inner's */
		in.data = m.b;
		in.caplen = in.len = m.n;
		if (rd_decap_any(&in) != (t->tunnel != 0) || in.tunnels != t->tunnel ||
			in.network != t->network)
			fail_msg("%s: tunnels 0x%x, network 0x%x", t->name, in.tunnels, in.network);
		frame = make_frame(&m);
		assert_false(rd_packet_parse(t->link, m.b, m.n, m.n, &p));
		assert_int_equal(rd_packet_inner(t->link, &frame, &p, &all), t->tunnel != 0);
		if (t->tunnel) {
			same(in.link, t->inner, in.len, inner.n - from, p.dest_qp, 0x11);
			assert_memory_equal(in.data, inner.b + from, in.len);
		}
		/* A file has one link type: other inner frames stay where they are. */
		rd_decap_run(t->link, &frame, 1);
		if (t->tunnel && t->link == t->inner)
			same(frame.data - m.b, in.data - m.b, frame.len, in.len, frame.caplen,
				in.len);
		else
			same(frame.data - m.b, 0, frame.len, m.n, frame.caplen, m.n);
		cut_everywhere(t->link, &m);
	}
	assert_string_equal(rd_tunnel_name(RD_TUNNEL_RSPAN), "RSPAN");
	assert_string_equal(rd_tunnel_name(RD_TUNNEL_IP | RD_TUNNEL_MPLS), "IP in IP");
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

		wrap(&m, tunnels, inner.b, inner.n);
		rd_put_be16(m.b + 14 + 6, fields[i]);
		frame = make_frame(&m);
		rd_decap_run(RD_LINK_ETHERNET, &frame, 1);
		assert_ptr_equal(frame.data, m.b);
		assert_int_equal(frame.len, m.n);
	}
}

/* An inner frame needs a whole Ethernet header, in the capture as well as on the wire. */
TEST(least_inner)
{
	struct make inner = {.n = 0};

	make_packet(&inner, MAKE_V2_IPV4, 0x0a, 0x11, 16 + 64, 0);
	for (uint32_t n = 13; n <= 14; n++) {
		struct make m = {.n = 0};
		struct rd_frame frame, frames[2];

		wrap(&m, tunnels, inner.b, inner.n);
		frame = make_frame(&m);
		frame.caplen -= inner.n - n;
		rd_decap_run(RD_LINK_ETHERNET, &frame, 1);
		assert_int_equal(frame.len, n == 14 ? inner.n : m.n);
		assert_int_equal(frame.caplen, n == 14 ? n : m.n - inner.n + n);

		frames[0] = frames[1] = make_frame(&m);
		rd_decap_run(RD_LINK_ETHERNET, frames, 1);
		same(frames[0].len, inner.n, frames[1].len, m.n);

		m.n = 0;
		wrap(&m, tunnels, inner.b, n);
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

		wrap(&outer, &tunnels[level % 2 ? GRE_ETHERNET : VXLAN], m.b, m.n);
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
	cut_everywhere(RD_LINK_INFINIBAND, &m);
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

/* Ethernet over MPLS: a control word begins with four zero bits, an address may with others. */
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
