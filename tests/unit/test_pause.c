/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pause frames: decoding, time, and as a line. What an analysis makes of them: tests/cases. */
#include "test.h"
#include "test_packet_make.h"

#define PAUSE_MAC "\x01\x80\xc2\0\0\x01"
#define OWN_MAC	  "\x52\x54\0\0\0\x02"

/* `quanta` of each priority in `enabled`; without PFC of all. */
static struct make make_pause(const char *mac, bool pfc, uint8_t enabled, uint16_t quanta)
{
	struct make m = {.n = 0};

	make_bytes(&m, PAUSE_MAC, 6);
	make_bytes(&m, mac, 6);
	make_be16(&m, 0x8808);
	make_be16(&m, pfc ? 0x0101 : 0x0001);
	if (pfc)
		make_be16(&m, enabled);
	for (unsigned int i = 0; i < (pfc ? 8 : 1); i++)
		make_be16(&m, !pfc || enabled >> i & 1 ? quanta : 0);
	make_fill(&m, 0, 60 - m.n);
	return m;
}

static bool parse_pause(const struct make *m, uint32_t caplen, struct rd_pause *out)
{
	struct rd_packet p;

	rd_packet_parse(RD_LINK_ETHERNET, m->b, caplen, m->n, &p);
	return rd_packet_pause(&p, out);
}

TEST(decoded)
{
	struct make m = make_pause(OWN_MAC, true, 0x88, 1000);
	struct rd_pause pause;

	expect("1 1 0x88", parse_pause(&m, m.n, &pause), pause.pfc, pause.enabled);
	for (unsigned int i = 0; i < RD_PRIORITIES; i++)
		assert_int_equal(pause.quanta[i], i == 3 || i == 7 ? 1000 : 0);
	for (uint32_t n = 0; n < m.n; n++) { /* opcode, vector and all times are needed */
		uint8_t *copy = malloc(n + !n);
		struct rd_packet p;

		memcpy(copy, m.b, n);
		rd_packet_parse(RD_LINK_ETHERNET, copy, n, m.n, &p);
		assert_int_equal(rd_packet_pause(&p, &pause), n >= 14 + 20);
		free(copy);
	}
	m = make_pause(OWN_MAC, false, 0, 7);
	expect("1 0 0xff 7 7 0", parse_pause(&m, 18, &pause), pause.pfc, pause.enabled,
		pause.quanta[0], pause.quanta[7], parse_pause(&m, 17, &pause));
	m.b[15] = 2; /* another opcode */
	assert_false(parse_pause(&m, m.n, &pause));
	m = make_pause(OWN_MAC, true, 0x08, 1);
	m.b[13] = 0x09; /* another Ethertype */
	assert_false(parse_pause(&m, m.n, &pause));
}

TEST(in_nanoseconds)
{
	expect("335539 3355392000 512000000000", rd_pause_ns(65535, 100000000000),
		rd_pause_ns(65535, 10000000), rd_pause_ns(1, 1));
	expect("41942 0", rd_pause_ns(65535, UINT64_C(800000000000)), rd_pause_ns(1, 0));
}

TEST(as_lines)
{
	static const struct {
		bool pfc;
		uint8_t enabled;
		uint16_t quanta;
		const char *text;
	} cases[] = {
		{true, 0x08, 65535, "PFC priority 3 pause 65535 quanta len 60"},
		{true, 0x09, 0, "PFC priority 0 resume, priority 3 resume len 60"},
		{true, 0, 5, "PFC no priority len 60"},
		{false, 0, 5, "MAC pause 5 quanta len 60"},
		{false, 0, 0, "MAC resume len 60"},
	};
	char line[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct make m =
			make_pause(OWN_MAC, cases[i].pfc, cases[i].enabled, cases[i].quanta);
		const struct rd_frame frame = {.data = m.b, .caplen = m.n, .len = m.n};

		rd_packet_line(line, sizeof(line), &frame, RD_LINK_ETHERNET, RD_LINE_NO_TIME);
		assert_non_null(strstr(line, cases[i].text));
	}
	for (uint32_t n = 14; n < 60; n++) {
		struct make m = make_pause(OWN_MAC, true, 0xff, 1);
		const struct rd_frame frame = {.data = m.b, .caplen = n, .len = m.n};

		rd_packet_line(line, sizeof(line), &frame, RD_LINK_ETHERNET, RD_LINE_NO_TIME);
		assert_non_null(strstr(line, n >= 34   ? "PFC priority 0 pause 1"
					     : n >= 16 ? "MAC control opcode 0x0101"
						       : "MAC control len 60"));
	}
}
