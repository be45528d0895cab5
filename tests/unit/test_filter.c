/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The terms of the filter, a line per case: term, frame, kept or not; errors of wrong terms. */
#include "test.h"
#include "test_packet_make.h"
#include <rdmadump/filter.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static struct rd_filter *f;
static struct make m;

static int end_filter(void **state)
{
	rd_filter_free(f);
	f = NULL;
	m.n = 0;
	return 0;
}

/* The last filter ends with the test. */
#define TEST_FILTER(name) TEST_WITH(name, NULL, end_filter)

/* Ends the filter before it. */
static void begin(const struct rd_filter_spec *spec, enum rd_link link)
{
	end_filter(NULL);
	if (rd_filter_compile(&f, spec, link, &failure))
		fail_msg("%s", failure.text);
}

/* The body counts from 1: an AETH's syndrome is 1, MSN 0x020304, a DETH's source QP 0x060708. */
static const struct {
	enum make_outer outer;
	unsigned int opcode;
	uint32_t qp, body;
	struct rd_filter_spec spec;
	bool kept;
} cases[] = {
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.qp = "17"}, true},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.qp = "0x12,0x11,1"}, true},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.qp = "0x12,0x10,1"}, false},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.qp = "9,8,7,6,5,4,3,2,1,0x11,0x12"}, true},
	{MAKE_IB, 0x04, 0xffffff, 8, {.qp = "0xffffff"}, true},
	{MAKE_V2_IPV4, 0x64, 0x11, 8, {.src_qp = "0x060708"}, true},
	{MAKE_V2_IPV4, 0x64, 0x11, 8, {.src_qp = "0x11"}, false},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.src_qp = "0x11"}, false},
	{MAKE_V2_IPV4, 0x11, 0x11, 4, {.msn = "1,0x020304"}, true},
	{MAKE_V2_IPV4, 0x11, 0x11, 4, {.msn = "0x020305"}, false},
	{MAKE_V2_IPV4, 0x10, 0x11, 20, {.msn = "131844"}, true}, /* a read response */
	{MAKE_V2_IPV4, 0x0e, 0x11, 20, {.msn = "0x020304"},
		false}, /* its middle packet has no AETH */
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.msn = "0x020304"}, false},
	{MAKE_V2_IPV4, 0x11, 0x11, 0, {.msn = "0"}, false}, /* cut before the AETH */
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.opcode = "RC_SEND_ONLY"}, true},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.opcode = "send_only"}, true},
	{MAKE_V2_IPV4, 0x64, 0x11, 8, {.opcode = "Send_Only"}, true},
	{MAKE_V2_IPV4, 0x64, 0x11, 8, {.opcode = "rc_send_only"}, false},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.opcode = "0x04"}, true},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.opcode = "5,4"}, true},
	{MAKE_V2_IPV4, 0x0b, 0x11, 20, {.opcode = "RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE"}, true},
	{MAKE_V2_IPV4, 0x10, 0x11, 20, {.opcode = "rdma-read-response-only"}, true},
	{MAKE_V2_IPV4, 0x13, 0x11, 28, {.opcode = "compare_swap"}, true},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.opcode = "write,send"}, true},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.opcode = "write,read"}, false},
	{MAKE_V2_IPV4, 0x0c, 0x11, 16, {.opcode = "read"}, true},
	{MAKE_V2_IPV4, 0x12, 0x11, 16, {.opcode = "atomic"}, true},
	{MAKE_V2_IPV4, 0x11, 0x11, 4, {.opcode = "ack"}, true},
	{MAKE_V2_IPV4, 0x11, 0x11, 4, {.opcode = "nak,rnr"}, false},
	{MAKE_V2_IPV4, 0x10, 0x11, 4, {.opcode = "ack"}, false},
	{MAKE_V2_IPV4, 0x81, 0x11, 16, {.opcode = "CNP"}, true},
	{MAKE_V2_IPV4, 0x1c, 0x11, 20, {.opcode = "flush"}, true},
	{MAKE_V2_IPV4, 0xa4, 0x11, 4, {.opcode = "xrc"}, true},
	{MAKE_V2_IPV4, 0x24, 0x11, 4, {.opcode = "uc"}, true},
	{MAKE_V2_IPV4, 0x24, 0x11, 4, {.opcode = "rc,ud,xrc,rd"}, false},
	{MAKE_V2_IPV4, 0x64, 1, 264, {.opcode = "mad"}, true},
	{MAKE_V2_IPV4, 0x64, 2, 264, {.opcode = "mad"}, false},
	{MAKE_V2_IPV4, 0x64, 1, 264, {.opcode = "cm"}, false},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.host = "10.0.0.1"}, true},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.host = "10.0.0.2"}, true},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.host = "10.0.0.3,10.0.0.4"}, false},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.host = "10.0.0.128/24"}, true},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.host = "10.0.0.128/25"}, false},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.host = "0.0.0.0/0"}, true},
	{MAKE_V2_IPV6, 0x04, 0x11, 8, {.host = "0.0.0.0/0"}, false},
	{MAKE_V2_IPV6, 0x04, 0x11, 8, {.host = "::/0"}, true},
	{MAKE_V2_IPV6, 0x04, 0x11, 8, {.host = "fd00::/64"}, true},
	{MAKE_V2_IPV6, 0x04, 0x11, 8, {.host = "fd00::3/127"}, true},
	{MAKE_V2_IPV6, 0x04, 0x11, 8, {.host = "fd00::3"}, false},
	{MAKE_V2_IPV6, 0x04, 0x11, 8, {.host = "52:54:00:00:00:02"}, true},
	{MAKE_V2_IPV6, 0x04, 0x11, 8, {.host = "52-54-0-0-0-1"}, true},
	{MAKE_V2_IPV6, 0x04, 0x11, 8, {.host = "52:54:00:00:00:03"}, false},
	{MAKE_V2_IPV6, 0x04, 0x11, 8, {.host = "52:54:00:00:00:03,52:54:00:00:00:02"}, true},
	{MAKE_IB, 0x04, 0x11, 8, {.host = "52:54:00:00:00:03"}, false},
	{MAKE_V1, 0x04, 0x11, 8, {.gid = "fd00::1"}, true},
	{MAKE_IB_GRH, 0x04, 0x11, 8, {.gid = "fe80::1,fd00::2"}, true},
	{MAKE_IB, 0x04, 0x11, 8, {.gid = "fd00::1"}, false},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.gid = "::ffff:10.0.0.2"}, true},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.gid = "::ffff:10.0.0.3"}, false},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.roce = true}, true},
	{MAKE_IB, 0x04, 0x11, 8, {.roce = true}, true},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.expression = "udp port 4791", .qp = "17"}, true},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.expression = "tcp", .qp = "17"}, false},
	{MAKE_V2_IPV4, 0x04, 0x11, 8, {.qp = "17", .opcode = "send", .host = "10.0.0.9"}, false},
};

TEST_FILTER(cases)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rd_frame frame;

		begin(&cases[i].spec, make_link(cases[i].outer));
		make_packet(&m, cases[i].outer, cases[i].opcode, cases[i].qp, cases[i].body, 0);
		frame = make_frame(&m);
		if (rd_filter_run(f, &frame, 1, NULL) != cases[i].kept)
			fail_msg("case %zu", i);
	}
}

static const struct {
	struct rd_filter_spec spec;
	enum rd_link link;
	const char *words; /* part of the expected error */
} refusals[] = {
	{{.qp = "x"}, RD_LINK_ETHERNET, "--qp: 'x' is not a QP number"},
	{{.qp = "1,"}, RD_LINK_ETHERNET, "--qp: '' is not a QP number"},
	{{.qp = "0x1000000"}, RD_LINK_ETHERNET, "from 0 to 0xffffff"},
	{{.msn = "0x1000000"}, RD_LINK_ETHERNET, "is not a message sequence number from 0 to"},
	{{.src_qp = "1,0x"}, RD_LINK_ETHERNET, "--src-qp: '0x'"},
	{{.opcode = "sned"}, RD_LINK_ETHERNET,
		"'sned' is not an opcode; give a class (send, write,"},
	{{.opcode = "sned"}, RD_LINK_ETHERNET, "like 0x04; similar: send"},
	{{.opcode = "RC_SEND_ONYL"}, RD_LINK_ETHERNET, "RC_SEND_ONLY"},
	{{.opcode = "send,256"}, RD_LINK_ETHERNET, "'256' is not an opcode"},
	{{.host = "server1"}, RD_LINK_ETHERNET,
		"--host: 'server1' is no address; give addresses like"},
	{{.host = "10.0.0.0/33"}, RD_LINK_ETHERNET, "'10.0.0.0/33'"},
	{{.host = "10.0.0.0/"}, RD_LINK_ETHERNET, "'10.0.0.0/'"},
	{{.host = "52:54:00:00:00"}, RD_LINK_ETHERNET, "is no address"},
	{{.host = "052:54:00:00:00:01"}, RD_LINK_ETHERNET, "is no address"},
	{{.host = "52:54:00:00:00:001"}, RD_LINK_ETHERNET, "is no address"},
	{{.gid = "10.0.0.1"}, RD_LINK_ETHERNET, "--gid: '10.0.0.1' is no GID; give IPv6 text"},
	{{.direction = "up"}, RD_LINK_ETHERNET, "direction 'up' is not known; give in (rx)"},
	{{.expression = "udp prot 4791"}, RD_LINK_ETHERNET, "the expression 'udp prot 4791': "},
	{{.expression = "inbound"}, RD_LINK_ETHERNET, "use -Q in"},
	{{.expression = "udp"}, RD_LINK_INFINIBAND,
		"no filters for InfiniBand; use --qp, --src-qp, --opcode"},
	{{.expression = "udp"}, RD_LINK_RAW, "no filters for this link type"},
};

/* A MAC address of zeros is not one of a list that has other addresses. */
TEST_FILTER(no_such_mac)
{
	static const struct rd_filter_spec spec = {.host = "52:54:00:00:00:03,10.9.9.9"};
	struct rd_frame frame;

	make_packet(&m, MAKE_V2_IPV4, 0x04, 0x11, 8, 0);
	memset(m.b, 0, 6);
	frame = make_frame(&m);
	begin(&spec, RD_LINK_ETHERNET);
	assert_int_equal(rd_filter_run(f, &frame, 1, NULL), 0);
}

TEST_FILTER(refusals)
{
	for (size_t i = 0; i < COUNT(refusals); i++) {
		struct rd_filter *none = (struct rd_filter *)&i;
		struct rd_error err;

		if (rd_filter_compile(&none, &refusals[i].spec, refusals[i].link, &err) != -1)
			fail_msg("not refused: %s", refusals[i].words);
		assert_null(none);
		same(err.class, RD_CLASS_USAGE, err.errnum, 0);
		if (!strstr(err.text, refusals[i].words))
			fail_msg("'%s' is not in '%s'", refusals[i].words, err.text);
	}
}

TEST_FILTER(nothing_asked)
{
	static const struct rd_filter_spec spec = {
		.expression = "", .qp = "", .direction = "inout"};
	struct rd_frame frames[2] = {{.len = 1}, {.len = 2}};
	char options[16];

	rd_filter_spec_text(&spec, options, sizeof(options));
	expect("-Q inout 0", options, rd_filter_compile(&f, &spec, RD_LINK_INFINIBAND, NULL));
	assert_null(f);
	expect("2 0", rd_filter_run(f, frames, 2, NULL), rd_filter_parses(f));
}

/* Kept frames move to the front in order, and their packets with them. */
TEST_FILTER(batch)
{
	static const struct rd_filter_spec spec = {.qp = "1,3", .direction = "tx"};
	struct rd_frame frames[8];
	struct rd_packet packets[8];
	struct make eight[8] = {{.n = 0}};

	for (uint32_t i = 0; i < 8; i++) {
		make_packet(&eight[i], MAKE_V2_IPV4, 0x04, i % 4, i, 0);
		frames[i] = make_frame(&eight[i]);
		frames[i].direction = i == 1 ? RD_DIR_IN : i == 3 ? RD_DIR_UNKNOWN : RD_DIR_OUT;
	}
	expect("0 1 2", rd_filter_compile(&f, &spec, RD_LINK_ETHERNET, NULL), rd_filter_parses(f),
		rd_filter_run(f, frames, 8, packets));
	assert_ptr_equal(frames[0].data, eight[5].b);
	assert_ptr_equal(frames[1].data, eight[7].b);
	assert_ptr_equal(packets[0].data, eight[5].b);
	assert_int_equal(packets[1].payload_len, 7);
}

TEST_FILTER(spec_text)
{
	static const struct rd_filter_spec spec = {.expression = "udp", .qp = "17", .roce = true};
	char text[32], small[8];

	rd_filter_spec_text(&spec, text, sizeof(text));
	assert_string_equal(text, "udp --roce --qp 17");
	rd_filter_spec_text(&spec, small, sizeof(small));
	assert_string_equal(small, "udp --r");
}

/* A message of the CM: with RD_CM_REP the peer's id is that of the REQ. */
static void make_cm(unsigned int attribute, uint32_t local, uint32_t remote, uint32_t qpn)
{
	uint8_t *mad;

	m.n = 0;
	make_packet(&m, MAKE_V2_IPV4, RD_UD_SEND_ONLY, 1, 8 + 256, 0);
	mad = m.b + m.n - 4 - 256;
	memset(mad, 0, 256);
	mad[1] = RD_MAD_CM;
	rd_put_be16(mad + 16, (uint16_t)attribute);
	rd_put_be32(mad + 24, local);
	rd_put_be32(mad + 28, remote);
	rd_put_be32(mad + 24 + (attribute == RD_CM_REQ ? 32 : 12), qpn << 8);
}

static bool kept(void)
{
	struct rd_frame frame = make_frame(&m);

	return rd_filter_run(f, &frame, 1, NULL);
}

/* What is no RDMA has no QP. */
TEST_FILTER(no_qp)
{
	static const struct rd_filter_spec specs[] = {
		{.qp = "0"}, {.qp = "17"}, {.src_qp = "0"}, {.opcode = "0"}};

	make_udp_frame(&m, 53, 20);
	make_fill(&m, 0, 20);
	for (size_t i = 0; i < COUNT(specs); i++) {
		begin(&specs[i], RD_LINK_ETHERNET);
		assert_false(kept());
	}
}

/* Frames of every length, in exact copies, through all terms at once. */
TEST_FILTER(truncated)
{
	static const struct rd_filter_spec spec = {.expression = "udp or ip6",
		.src_qp = "1",
		.opcode = "nak,cm,ack",
		.host = "10.0.0.1,52:54:00:00:00:01",
		.gid = "::ffff:10.0.0.1"};

	begin(&spec, RD_LINK_ETHERNET);
	make_cm(RD_CM_REQ, 1, 0, 1);
	for (uint32_t n = 0; n <= m.n; n++) {
		uint8_t *copy = make_exact(m.b, n);
		struct rd_frame frame = {.data = copy, .caplen = n, .len = m.n};

		rd_filter_run(f, &frame, 1, NULL);
		free(copy);
	}
}
