/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which bytes each mode of cutting keeps, by type of frame; of real captures, all headers. */
#include "test.h"
#include "test_packet_make.h"
#include <glob.h>
#include <pcap/pcap.h>
#include <rdmadump/filter.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static const struct rd_cut headers_only = {.headers_only = true};
static const struct rd_cut zero_payload = {.zero_payload = true, .writable = true};
static const struct rd_cut zero_borrowed = {.zero_payload = true};

static struct rd_frame cut(struct make *m, const struct rd_cut *how, enum rd_link link)
{
	struct rd_frame frame = make_frame(m);

	rd_cut_run(how, link, &frame, 1, NULL);
	return frame;
}

/* Frames with bytes that are not zero behind the headers. `type`: of what comes last. */
static void ethernet(struct make *m, uint32_t type)
{
	make_ethernet(m, type);
	make_fill(m, 0x77, 46);
}

static void ipv4(struct make *m, uint32_t type)
{
	make_ethernet(m, 0x0800);
	make_ipv4(m, type, 40);
	make_fill(m, 0x77, 40);
}

static void fragment(struct make *m, uint32_t type)
{
	ipv4(m, type);
	rd_put_be16(m->b + 20, 0x0010);
}

static void udp(struct make *m, uint32_t type)
{
	make_udp_frame(m, type, 30);
	make_fill(m, 0x77, 30);
}

static void tcp(struct make *m, uint32_t type)
{
	make_ethernet(m, 0x86dd);
	make_ipv6(m, type, 24 + 30);
	make_fill(m, 0x11, 12);
	make_be16(m, 0x6010);
	make_fill(m, 0x11, 10);
	make_fill(m, 0x77, 30);
}

static void icmp(struct make *m, uint32_t type, uint32_t n)
{
	make_ethernet(m, 0x0800);
	make_ipv4(m, 1, 8 + n);
	make_be32(m, type);
	make_be32(m, 0x11111111);
}

static void icmp_echo(struct make *m, uint32_t type)
{
	icmp(m, type, 56);
	make_fill(m, 0x77, 56);
}

static void udp_of_error(struct make *m)
{
	make_udp(m, 53, 30);
	make_fill(m, 0x77, 30);
}

static void icmp_error(struct make *m, uint32_t type)
{
	icmp(m, type, 20 + 8 + 30);
	make_ipv4(m, 17, 8 + 30);
	udp_of_error(m);
}

/* An error about a packet whose header has four bytes of options. */
static void icmp_options(struct make *m, uint32_t type)
{
	icmp(m, type, 24 + 8 + 30);
	make_ipv4(m, 17, 4 + 8 + 30);
	m->b[42] = 0x46;
	make_be32(m, 0x94040000);
	udp_of_error(m);
}

static void icmp6(struct make *m, uint32_t type, uint32_t n)
{
	make_ethernet(m, 0x86dd);
	make_ipv6(m, 58, 8 + n);
	make_be32(m, type);
	make_be32(m, 0x11111111);
}

static void icmp6_echo(struct make *m, uint32_t type)
{
	icmp6(m, type, 56);
	make_fill(m, 0x77, 56);
}

static void icmp6_error(struct make *m, uint32_t type)
{
	icmp6(m, type, 40 + 8 + 30);
	make_ipv6(m, 17, 8 + 30);
	udp_of_error(m);
}

/* headers: bytes that headers_only keeps; zeroed: the first that zero_payload clears. 0: none. */
static const struct {
	const char *name;
	void (*make)(struct make *m, uint32_t type);
	uint32_t type, headers, zeroed;
} others[] = {
	{"ARP", ethernet, 0x0806, 0, 0},
	{"LLDP", ethernet, 0x88cc, 0, 0},
	{"unknown Ethertype", ethernet, 0x9999, 0, 14},
	{"UDP", udp, 53, 42, 42},
	{"TCP", tcp, 6, 78, 78},
	{"GRE", ipv4, 47, 0, 34},
	{"fragment", fragment, 17, 34, 34},
	{"ICMP echo", icmp_echo, 0x08000000, 0, 42},
	{"ICMP echo reply", icmp_echo, 0, 0, 42},
	{"ICMP unreachable", icmp_error, 0x03030000, 0, 70},
	{"ICMP time exceeded, options", icmp_options, 0x0b000000, 0, 74},
	{"ICMPv6 echo", icmp6_echo, 0x80000000, 0, 62},
	{"ICMPv6 echo reply", icmp6_echo, 0x81000000, 0, 62},
	{"ICMPv6 packet too big", icmp6_error, 0x02000000, 0, 110},
	{"neighbour discovery", icmp6_echo, 0x87000000, 0, 0},
	{"IGMP", ipv4, 2, 0, 0},
};

static void expect_zero_from(
	const char *name, const struct make *before, const struct make *after, uint32_t from)
{
	for (uint32_t i = 0; i < before->n; i++)
		if (after->b[i] != (i < from ? before->b[i] : 0))
			fail_msg("%s: byte %u is 0x%02x", name, i, after->b[i]);
}

TEST(others)
{
	for (size_t i = 0; i < COUNT(others); i++) {
		struct make m = {.n = 0}, before;
		uint32_t headers, zeroed;
		struct rd_frame frame;

		others[i].make(&m, others[i].type);
		before = m;
		headers = others[i].headers ? others[i].headers : m.n;
		zeroed = others[i].zeroed ? others[i].zeroed : m.n;

		frame = cut(&m, &headers_only, RD_LINK_ETHERNET);
		if (frame.caplen != headers)
			fail_msg("%s: %u bytes kept", others[i].name, frame.caplen);
		assert_int_equal(frame.len, m.n);

		frame = cut(&m, &zero_borrowed, RD_LINK_ETHERNET);
		if (frame.caplen != zeroed)
			fail_msg("%s: %u bytes kept of borrowed", others[i].name, frame.caplen);
		assert_memory_equal(m.b, before.b, m.n);

		frame = cut(&m, &zero_payload, RD_LINK_ETHERNET);
		assert_int_equal(frame.caplen, m.n);
		expect_zero_from(others[i].name, &before, &m, zeroed);
	}
}

static const enum make_outer outers[] = {MAKE_V2_IPV4, MAKE_V2_IPV6, MAKE_V1, MAKE_IB, MAKE_IB_GRH};

/*
 * For each opcode: the last byte of the last header is kept, the first byte of the payload is not.
 */
TEST(every_opcode)
{
	static const uint32_t bth[] = {42, 62, 54, 8, 48};

	for (size_t o = 0; o < COUNT(outers); o++) {
		for (unsigned int code = 0; code < 256; code++) {
			uint32_t payload = bth[o] + 12 + rd_opcodes[code].length;
			struct make m = {.n = 0}, before;
			struct rd_frame frame;

			make_packet(&m, outers[o], code, 0x11, rd_opcodes[code].length + 10U, 2);
			before = m;
			frame = cut(&m, &headers_only, make_link(outers[o]));
			same(frame.caplen, payload, frame.len, m.n);

			frame = cut(&m, &zero_payload, make_link(outers[o]));
			assert_int_equal(frame.caplen, m.n);
			memset(before.b + payload, 0, 12);
			assert_memory_equal(m.b, before.b, m.n);
		}
	}
}

/* Of a packet in a tunnel, what is left must show as much as it does of one outside. */
TEST(tunnels)
{
	static const struct {
		uint32_t proto, port, words[2], n; /* words: what stands before the frame */
	} in[] = {{17, 4789, {0x08000000, 7 << 8}, 2}, {17, 6081, {0x00006558, 7 << 8}, 2},
		{47, 0, {0x00006558}, 1}};

	for (size_t i = 0; i < COUNT(in); i++) {
		struct make m = {.n = 0}, inner = {.n = 0}, before;
		const uint32_t front = in[i].n * 4;
		struct rd_frame frame;
		uint32_t headers;

		make_packet(&inner, MAKE_V2_IPV4, 0x04, 0x11, 100, 0);
		make_ethernet(&m, 0x0800);
		make_ipv4(&m, in[i].proto, (in[i].port ? 8 : 0) + front + inner.n);
		if (in[i].port)
			make_udp(&m, in[i].port, front + inner.n);
		for (uint32_t k = 0; k < in[i].n; k++)
			make_be32(&m, in[i].words[k]);
		headers = m.n + 54;
		make_bytes(&m, inner.b, inner.n);
		before = m;
		for (int borrowed = 0; borrowed < 2; borrowed++) {
			frame = cut(
				&m, borrowed ? &zero_borrowed : &headers_only, RD_LINK_ETHERNET);
			same(frame.caplen, headers, frame.len, m.n);
		}
		frame = cut(&m, &zero_payload, RD_LINK_ETHERNET);
		memset(before.b + headers, 0, m.n - headers - 4);
		assert_memory_equal(m.b, before.b, m.n);
		make_fill(&m, 0x77, 20); /* behind what the outer length says */
		cut(&m, &zero_payload, RD_LINK_ETHERNET);
		assert_int_equal(m.b[m.n - 1], 0);
	}
}

TEST(mad_whole)
{
	struct make m = {.n = 0}, before;
	struct rd_frame frame;

	make_packet(&m, MAKE_V2_IPV4, RD_UD_SEND_ONLY, 1, 8 + 256, 0);
	before = m;
	frame = cut(&m, &headers_only, RD_LINK_ETHERNET);
	rd_cut_run(&zero_payload, RD_LINK_ETHERNET, &frame, 1, NULL);
	assert_int_equal(frame.caplen, m.n);
	assert_memory_equal(m.b, before.b, m.n);
}

/* A wrong UDP length must not let payload through. FCS and padding after a correct one are kept. */
TEST(trailers)
{
	struct make m = {.n = 0}, before;

	make_packet(&m, MAKE_V2_IPV4, 0x04, 0x11, 100, 0);
	rd_put_be16(m.b + 38, 8 + 16);
	cut(&m, &zero_payload, RD_LINK_ETHERNET);
	for (uint32_t i = 42 + 16; i < m.n; i++)
		assert_int_equal(m.b[i], 0);

	m.n = 0;
	make_packet(&m, MAKE_V2_IPV4, 0x04, 0x11, 100, 0);
	make_bytes(&m, "FCS!", 4);
	before = m;
	cut(&m, &zero_payload, RD_LINK_ETHERNET);
	assert_memory_equal(m.b + m.n - 8, "ICRCFCS!", 8);
	assert_memory_equal(m.b, before.b, 54);
}

TEST(snaplen)
{
	static const struct rd_cut both = {.snaplen = 60, .zero_payload = true, .writable = true};
	static const struct rd_cut snap = {.snaplen = 60},
				   headers = {.snaplen = 60, .headers_only = true};
	struct make m = {.n = 0};
	struct rd_frame frame;

	make_packet(&m, MAKE_V2_IPV4, 0x04, 0x11, 100, 0);
	frame = cut(&m, &snap, RD_LINK_ETHERNET);
	same(frame.caplen, 60, frame.len, m.n);
	frame = cut(&m, &headers, RD_LINK_ETHERNET);
	assert_int_equal(frame.caplen, 54);
	frame = cut(&m, &both, RD_LINK_ETHERNET);
	expect("60 0", frame.caplen, m.b[59]);
}

/* Frames of every length: no byte outside is changed, and cutting twice changes nothing more. */
TEST(truncated)
{
	for (size_t o = 0; o < COUNT(outers); o++) {
		for (unsigned int code = 0; code < 256; code += 5) {
			struct make m = {.n = 0};

			make_packet(&m, outers[o], code, 0x11, rd_opcodes[code].length + 9U, 3);
			for (uint32_t n = 0; n <= m.n; n++) {
				uint8_t *copy = make_exact(m.b, n);
				struct rd_frame frame = {.data = copy, .caplen = n, .len = m.n};
				uint32_t kept;

				rd_cut_run(&zero_payload, make_link(outers[o]), &frame, 1, NULL);
				assert_int_equal(frame.caplen, n);
				rd_cut_run(&headers_only, make_link(outers[o]), &frame, 1, NULL);
				kept = frame.caplen;
				assert_true(kept <= n);
				rd_cut_run(&headers_only, make_link(outers[o]), &frame, 1, NULL);
				assert_int_equal(frame.caplen, kept);
				free(copy);
			}
		}
	}
}

/* The fields of a packet whose headers only are left are those of the whole one. */
static void expect_same(const struct rd_packet *a, const struct rd_packet *b)
{
	assert_ptr_equal(a->op, b->op);
	same(a->payload, b->payload, a->payload_len, b->payload_len, a->icrc, b->icrc, a->dest_qp,
		b->dest_qp);
	same(a->psn, b->psn, a->flags, b->flags);
	for (unsigned int h = 1; a->op && h <= RD_H_CNP; h++)
		assert_ptr_equal(rd_packet_header(a, (enum rd_header)h),
			rd_packet_header(b, (enum rd_header)h));
}

static unsigned long cut_capture(const char *path, unsigned long *mads)
{
	pcap_t *in = capture_open(path);
	struct pcap_pkthdr *h;
	unsigned long roce = 0;
	const u_char *data;

	assert_non_null(in);
	while (pcap_next_ex(in, &h, &data) == 1) {
		struct rd_frame frame = {.data = data, .caplen = h->caplen, .len = h->len};
		struct rd_packet whole, cut;

		if (!rd_packet_parse(RD_LINK_ETHERNET, data, h->caplen, h->len, &whole))
			continue;
		rd_cut_run(&headers_only, RD_LINK_ETHERNET, &frame, 1, &whole);
		rd_packet_parse(RD_LINK_ETHERNET, data, frame.caplen, frame.len, &cut);
		expect_same(&whole, &cut);
		assert_int_equal(frame.caplen, rd_packet_is_mad(&whole) || whole.payload > h->caplen
						       ? h->caplen
						       : whole.payload);
		*mads += rd_packet_is_mad(&whole);
		roce++;
	}
	pcap_close(in);
	return roce;
}

TEST(captures)
{
	const char *dir = getenv("TEST_DATA");
	unsigned long roce = 0, mads = 0;
	char pattern[4096];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/roce/*/*.pcap.zst", dir ? dir : "");
	if (!dir || glob(pattern, 0, NULL, &found))
		fail_msg("TEST_DATA must name tests/data");
	for (size_t i = 0; i < found.gl_pathc; i++)
		roce += cut_capture(found.gl_pathv[i], &mads);
	globfree(&found);
	assert_true(roce > 0 && mads > 0);
}
