/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pause frames, congestion notifications and priorities: decoding, and findings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_scene.h"

#define PAUSE_MAC "\x01\x80\xc2\0\0\x01"
#define OWN_MAC	  "\x52\x54\0\0\0\x02" /* source of what test_packet_make.h makes */
#define OTHER_MAC "\x02\0\0\0\0\x77"

/* --- pause frames ----------------------------------------------------------------------------- */

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

static void decoded(void **state)
{
	struct make m = make_pause(OWN_MAC, true, 0x88, 1000);
	struct rd_pause pause;

	(void)state;
	assert_true(parse_pause(&m, m.n, &pause));
	assert_true(pause.pfc);
	assert_int_equal(pause.enabled, 0x88);
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
	assert_true(parse_pause(&m, 18, &pause));
	assert_false(pause.pfc);
	assert_int_equal(pause.enabled, 0xff);
	assert_int_equal(pause.quanta[0], 7);
	assert_int_equal(pause.quanta[7], 7);
	assert_false(parse_pause(&m, 17, &pause));
	m.b[15] = 2; /* another opcode */
	assert_false(parse_pause(&m, m.n, &pause));
	m = make_pause(OWN_MAC, true, 0x08, 1);
	m.b[13] = 0x09; /* another Ethertype */
	assert_false(parse_pause(&m, m.n, &pause));
}

static void in_nanoseconds(void **state)
{
	(void)state;
	assert_int_equal(rd_pause_ns(65535, 100000000000), 335539);
	assert_int_equal(rd_pause_ns(65535, 10000000), 3355392000);
	assert_int_equal(rd_pause_ns(1, 1), 512000000000);
	assert_int_equal(rd_pause_ns(65535, UINT64_C(800000000000)), 41942);
	assert_int_equal(rd_pause_ns(1, 0), 0);
}

static void as_lines(void **state)
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

	(void)state;
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

/* --- pauses in the analysis ------------------------------------------------------------------- */

#define SPEED UINT64_C(100000000000) /* a quantum is 5.12 ns */
#define US    UINT64_C(1000)

static void put_frame(struct scene *s, const struct make *m)
{
	const struct rd_frame frame = {.ts_ns = s->ns, .data = m->b, .caplen = m->n, .len = m->n};

	rd_analysis_frames(s->a, RD_LINK_ETHERNET, &frame, 1);
}

/* Of priority 3. */
static void pause_at(struct scene *s, const char *mac, uint64_t ns, uint16_t quanta)
{
	const struct make m = make_pause(mac, true, 0x08, quanta);

	s->ns = ns;
	put_frame(s, &m);
}

static const struct rd_pause_class *only_pauses(struct scene *s, unsigned int class)
{
	if (!s->r)
		assert_int_equal(rd_analysis_report(s->a, &s->r, NULL), 0);
	assert_int_equal(s->r->n_pause_senders, 1);
	return &s->r->pause_senders[0].classes[class];
}

static struct scene some_pauses(uint64_t speed)
{
	struct scene s = begin();

	rd_analysis_speed(s.a, speed);
	pause_at(&s, OTHER_MAC, 1000 * US, 65535); /* 335 us */
	pause_at(&s, OTHER_MAC, 1100 * US, 65535); /* repeated */
	pause_at(&s, OTHER_MAC, 1150 * US, 0);
	pause_at(&s, OTHER_MAC, 1155 * US, 0);
	pause_at(&s, OTHER_MAC, 1200 * US, 10000); /* ends by itself after 51.2 us */
	pause_at(&s, OTHER_MAC, 1300 * US, 65535); /* open at the end, 100 us later */
	s.ns = 1390 * US;
	request(&s, SEND_ONLY, 0);
	return s;
}

static void paused_time(void **state)
{
	struct scene s = some_pauses(SPEED);
	const struct rd_pause_class *c = only_pauses(&s, 3);

	(void)state;
	assert_int_equal(c->pauses.count, 4);
	assert_int_equal(c->resumes.count, 2);
	assert_int_equal(c->pauses.first_frame, 1);
	assert_int_equal(c->pauses.last_frame, 6);
	assert_int_equal(c->quanta, 3 * 65535 + 10000);
	assert_int_equal(c->paused_ns, 150 * US + 51200 + 100 * US);
	assert_int_equal(c->longest_ns, 150 * US);
	for (unsigned int i = 0; i < RD_PAUSE_CLASSES; i++)
		assert_true(i == 3 || !s.r->pause_senders[0].classes[i].pauses.count);
	assert_certainty(&s, "pause-frames", RD_CERTAIN);
	assert_string_equal(finding(&s, "pause-frames")->title,
		"pause frames ask the other end of a link to stop: priority 3");
	assert_string_equal(finding(&s, "pause-frames")->where, "02:00:00:00:00:77");
	assert_int_equal(finding(&s, "pause-frames")->evidence.count, 6);
	assert_non_null(strstr(finding(&s, "pause-frames")->detail, "301 us, 75.3 %"));
	end(&s);
	s = some_pauses(0);
	c = only_pauses(&s, 3);
	assert_int_equal(c->pauses.count, 4);
	assert_int_equal(c->paused_ns, 0);
	assert_non_null(
		strstr(finding(&s, "pause-frames")->detail, "speed of the link is unknown"));
	end(&s);
}

/*
 * Pauses of an address that sends no RDMA packets: of a switch, if packets of both ends are there;
 * without, the address may be that of the host at this link.
 */
static void place_of_pauses(void **state)
{
	(void)state;
	for (int answered = 0; answered < 2; answered++) {
		struct scene s = some_pauses(SPEED);

		if (answered)
			respond(&s, ACK, 0, OK);
		assert_certainty(&s, "pause-frames", RD_CERTAIN);
		assert_string_equal(s.r->verdict.rule, "pause-frames");
		assert_int_equal(s.r->verdict.places,
			answered ? RD_PLACE_FABRIC : RD_PLACE_FABRIC | RD_PLACE_RECEIVER_NIC);
		assert_string_equal(s.r->verdict.whom,
			"This capture does not show whether RDMA packets waited for them.");
		assert_null(strstr(s.r->verdict.how_much, "e+"));
		end(&s);
	}
}

/* Time may stand still, or go backwards. */
static void wild_pauses(void **state)
{
	struct scene s = begin();
	const struct rd_pause_class *c;

	(void)state;
	rd_analysis_speed(s.a, SPEED);
	pause_at(&s, OTHER_MAC, 1000 * US, 65535);
	pause_at(&s, OTHER_MAC, 1000 * US, 0);
	pause_at(&s, OTHER_MAC, 900 * US, 65535);
	pause_at(&s, OTHER_MAC, 800 * US, 65535);
	pause_at(&s, OTHER_MAC, 0, 65535);
	pause_at(&s, OTHER_MAC, UINT64_MAX, 65535);
	c = only_pauses(&s, 3);
	assert_int_equal(c->pauses.count, 5);
	assert_true(c->longest_ns <= 335540);
	end(&s);
	s = begin();
	rd_analysis_speed(s.a, 1); /* bit/s: more than a year */
	pause_at(&s, OTHER_MAC, 1000 * US, 65535);
	s.ns += 1000;
	request(&s, SEND_ONLY, 0);
	assert_int_equal(only_pauses(&s, 3)->paused_ns, 11000);
	end(&s);
}

static void many_senders(void **state)
{
	char mac[6] = "\2\0\0\0\0";
	struct scene s = begin();

	(void)state;
	for (unsigned int i = 0; i < 60; i++) {
		mac[5] = (char)(i % 20);
		pause_at(&s, mac, (1000 + i) * US, 5);
	}
	assert_int_equal(rd_analysis_report(s.a, &s.r, NULL), 0);
	assert_int_equal(s.r->n_pause_senders, 16);
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(s.r->pause_senders[i].frames, 3);
	assert_int_equal(s.r->pauses_left_out, 12);
	end(&s);
}

static void of_all_traffic(void **state)
{
	const struct make m = make_pause(OWN_MAC, false, 0, 1000),
			  resume = make_pause(OWN_MAC, true, 0x0c, 0);
	struct scene s = begin();

	(void)state;
	rd_analysis_speed(s.a, SPEED);
	put_frame(&s, &m);
	request(&s, SEND_ONLY, 0); /* from the same MAC address */
	assert_int_equal(only_pauses(&s, RD_PRIORITIES)->paused_ns, 5120);
	assert_non_null(strstr(finding(&s, "pause-frames")->title, ": all traffic"));
	assert_string_equal(finding(&s, "pause-frames")->where, "10.0.0.2 (52:54:00:00:00:02)");
	end(&s);
	s = begin();
	put_frame(&s, &resume);
	assert_int_equal(only_pauses(&s, 2)->resumes.count, 1);
	assert_int_equal(finding(&s, "pause-frames")->severity, RD_SEV_NOTE);
	end(&s);
}

/* `n` times: packets, a pause of 200 us, packets 10 us after it; the last `during` times also
 * within it. */
static struct scene waits(unsigned int n, const char *mac, unsigned int during, uint8_t priority)
{
	struct scene s = begin();
	uint32_t psn = 0;

	rd_analysis_speed(s.a, SPEED);
	for (unsigned int i = 0; i < n; i++) {
		const struct make off = make_pause(mac, true, (uint8_t)(1 << priority), 65535),
				  on = make_pause(mac, true, (uint8_t)(1 << priority), 0);

		sends(&s, psn, psn + 9);
		psn += 10;
		respond(&s, ACK, psn - 1, OK);
		put_frame(&s, &off);
		request(&s, SEND_ONLY, psn++); /* was on its way */
		for (unsigned int k = 0; i + during >= n && k < 9; k++) {
			s.ns += 10 * US;
			request(&s, SEND_ONLY, psn++);
		}
		s.ns += i + during >= n ? 10 * US : 190 * US;
		put_frame(&s, &on);
	}
	sends(&s, psn, psn + 9);
	return s;
}

static void gaps_that_fit(void **state)
{
	struct scene s = waits(3, OTHER_MAC, 0, 3);
	const struct rd_side *side;

	(void)state;
	side = &result(&s)->side[0];
	assert_non_null(side->held);
	assert_int_equal(side->held->gaps.count, 3);
	assert_int_equal(side->held->ns, 3 * 200 * US);
	assert_int_equal(side->held->longest_ns, 200 * US);
	assert_int_equal(side->held->classes, 0x08);
	assert_int_equal(side->held->through, 0);
	assert_certainty(&s, "paused", RD_LIKELY);
	assert_string_equal(finding(&s, "paused")->title,
		"the packets of this sender wait during pauses of priority 3");
	end(&s);
	s = waits(2, OTHER_MAC, 0, 5);
	assert_certainty(&s, "paused", RD_POSSIBLE);
	end(&s);
	s = waits(3, OTHER_MAC, 0, 3);
	rd_analysis_file_end(s.a, 1, true, NULL);
	assert_certainty(&s, "paused", RD_POSSIBLE);
	end(&s);
}

static void gaps_that_do_not(void **state)
{
	struct scene s = waits(4, OTHER_MAC, 4, 3); /* packets within the pauses */
	uint32_t psn = 0;

	(void)state;
	assert_null(result(&s)->side[0].held);
	assert_null(finding(&s, "paused"));
	end(&s);
	s = waits(6, OTHER_MAC, 3, 3); /* some gaps fit, but other pauses do not stop it */
	assert_null(result(&s)->side[0].held);
	end(&s);
	s = waits(4, OWN_MAC, 0, 3); /* the pauses stop the other direction */
	assert_null(result(&s)->side[0].held);
	end(&s);
	s = begin(); /* gaps of 400 us that begin before the pauses, or end after them */
	rd_analysis_speed(s.a, SPEED);
	for (unsigned int i = 0; i < 8; i++) {
		sends(&s, psn, psn + 9);
		psn += 10;
		s.ns += i & 1 ? 0 : 200 * US;
		pause_at(&s, OTHER_MAC, s.ns, 65535);
		pause_at(&s, OTHER_MAC, s.ns + 200 * US, 0);
		s.ns += i & 1 ? 200 * US : 0;
	}
	sends(&s, psn, psn + 9);
	assert_null(result(&s)->side[0].held);
	end(&s);
}

/* --- congestion notifications ----------------------------------------------------------------- */

static void marked(struct scene *s, uint32_t psn)
{
	s->tos = 0x6b; /* DSCP 26, congestion experienced */
	request(s, SEND_ONLY, psn);
	s->tos = 0x6a;
}

static void notify(struct scene *s, uint64_t after_ns)
{
	s->ns += after_ns - 10 * US; /* put() adds 10 us */
	s->tos = 48 << 2;
	put(s, true, CNP, 0, NULL, 16);
	s->tos = 0x6a;
}

static void from_mark_to_cnp(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *both;
	const struct rd_congestion *c;

	(void)state;
	s.tos = 0x6a;
	sends(&s, 0, 9);
	respond(&s, ACK, 9, OK);
	marked(&s, 10); /* 7 us to its CNP */
	notify(&s, 7 * US);
	marked(&s, 11); /* sooner than a receiver may send the next CNP: not measured */
	notify(&s, 50 * US);
	s.ns += 2000 * US;
	respond(&s, ACK, 11, OK);
	marked(&s, 12);
	marked(&s, 13); /* the first one counts: 13 us */
	notify(&s, 3 * US);
	notify(&s, 60 * US);
	both = result(&s);
	c = both->side[0].congestion;
	assert_non_null(c);
	assert_null(both->side[1].congestion);
	assert_int_equal(c->reaction.n, 2);
	assert_int_equal(c->reaction.min, 7 * US);
	assert_int_equal(c->reaction.max, 13 * US);
	assert_int_equal(c->interval.n, 3);
	assert_int_equal(c->interval.min, 60 * US);
	assert_null(finding(&s, "cnp-late"));
	end(&s);
}

static struct scene late_cnps(unsigned int n)
{
	struct scene s = begin();

	s.tos = 0x6a;
	sends(&s, 0, 9);
	respond(&s, ACK, 9, OK);
	for (uint32_t i = 0; i < n; i++) {
		marked(&s, 10 + i);
		notify(&s, 300 * US);
		respond(&s, ACK, 10 + i, OK);
		s.ns += 2000 * US;
	}
	return s;
}

static void late(void **state)
{
	struct scene s = late_cnps(3);

	(void)state;
	rd_analysis_file_end(s.a, 0, true, NULL);
	assert_certainty(&s, "cnp-late", RD_LIKELY);
	end(&s);
	s = late_cnps(1);
	rd_analysis_file_end(s.a, 0, true, NULL);
	assert_certainty(&s, "cnp-late", RD_POSSIBLE);
	end(&s);
	s = late_cnps(3); /* whether the capture missed CNPs is not known */
	assert_certainty(&s, "cnp-late", RD_POSSIBLE);
	end(&s);
}

/* One packet of 1082 bytes in each `gap`: n of them. */
static void stream(struct scene *s, uint32_t *psn, unsigned int n, uint64_t gap)
{
	for (unsigned int i = 0; i < n; i++) {
		s->ns += gap - 10 * US;
		request(s, SEND_ONLY, (*psn)++);
	}
}

/* 866 Mb/s before, `slow` us between packets after the CNP, then as before. */
static struct scene slows_down(unsigned int times, uint64_t slow)
{
	struct scene s = begin();
	uint32_t psn = 1;

	request(&s, SEND_ONLY, 0);
	respond(&s, ACK, 0, OK); /* the pair is known */
	for (unsigned int i = 0; i < times; i++) {
		stream(&s, &psn, 60, 10 * US);
		put(&s, true, CNP, 0, NULL, 16);
		stream(&s, &psn, 20, slow * US);
		stream(&s, &psn, 40, 10 * US);
		respond(&s, ACK, psn - 1, OK);
	}
	return s;
}

static void rates(void **state)
{
	struct scene s = slows_down(4, 40);
	const struct rd_congestion *c = result(&s)->side[0].congestion;

	(void)state;
	assert_non_null(c);
	assert_int_equal(c->episodes, 4);
	assert_in_range(c->rate_before, 790000000, 900000000);
	assert_in_range(c->rate_after, 200000000, 230000000);
	assert_int_equal(c->recovery.n, 4);
	/* 20 packets in 800 us, then up to two slots until one is fast as a whole */
	assert_in_range(c->recovery.min, 850 * US, 1050 * US);
	assert_in_range(c->recovery.max, 850 * US, 1050 * US);
	assert_null(finding(&s, "cnp-no-effect"));
	assert_non_null(strstr(finding(&s, "cnp")->detail, "; its rate here: 8"));
	assert_non_null(
		strstr(finding(&s, "cnp")->detail, "(means of 4), back at 90 % of it after "));
	end(&s);
	s = slows_down(4, 10);
	assert_certainty(&s, "cnp-no-effect", RD_POSSIBLE);
	end(&s);
	s = slows_down(2, 10); /* too few */
	assert_null(finding(&s, "cnp-no-effect"));
	end(&s);
	s = slows_down(4, 3000); /* idle: there is no rate */
	c = result(&s)->side[0].congestion;
	assert_int_equal(c->episodes, 0);
	end(&s);
}

/* --- priorities ------------------------------------------------------------------------------- */

/* Twenty requests and their responses. */
static struct scene exchange(uint8_t there, uint8_t back, unsigned int others)
{
	struct scene s = begin();

	for (uint32_t psn = 0; psn < 20; psn++) {
		s.tos = psn < others ? (uint8_t)(there ^ 0x80) : there;
		request(&s, SEND_ONLY, psn);
		s.tos = back;
		respond(&s, ACK, psn, OK);
	}
	s.tos = 48 << 2;
	put(&s, true, CNP, 0, NULL, 16);
	return s;
}

static void priorities(void **state)
{
	struct scene s = exchange(0x6a, 0x6a, 0);
	const struct rd_conversation *c = result(&s);

	(void)state;
	assert_int_equal(c->side[0].priority.dscp, 26);
	assert_int_equal(c->side[0].priority.others, 0);
	assert_int_equal(c->side[0].priority.other_dscp, -1);
	assert_int_equal(c->side[0].priority.cnp_dscp, -1);
	assert_int_equal(c->side[0].priority.ecn, 1 << 2);
	assert_int_equal(c->side[0].priority.pcp, -1);
	assert_int_equal(c->side[1].priority.dscp, 26);
	assert_int_equal(c->side[1].priority.cnp_dscp, 48);
	assert_null(finding(&s, "priorities-differ"));
	end(&s);
	s = exchange(0x6a, 0x02, 0);
	assert_certainty(&s, "priorities-differ", RD_LIKELY); /* the pair is not proven */
	assert_string_equal(finding(&s, "priorities-differ")->title,
		"the two directions have different priorities: DSCP 26 and 0");
	end(&s);
	s = exchange(0x6a, 0x69, 0); /* another ECN field only */
	c = result(&s);
	assert_int_equal(c->side[1].priority.ecn, 1 << 1);
	assert_null(finding(&s, "priorities-differ"));
	end(&s);
	s = exchange(0x6a, 0x02, 5); /* no single priority */
	c = result(&s);
	assert_int_equal(c->side[0].priority.dscp, 26);
	assert_int_equal(c->side[0].priority.other_dscp, 26 ^ 0x20);
	assert_int_equal(c->side[0].priority.others, 5);
	assert_null(finding(&s, "priorities-differ"));
	end(&s);
	s = exchange(0x6a, 0x6a, 1); /* the first packet is the exception */
	c = result(&s);
	assert_int_equal(c->side[0].priority.dscp, 26);
	assert_int_equal(c->side[0].priority.others, 1);
	end(&s);
}

/* A CNP comes first, or packets with marks: they do not say what the priority is. */
static void first_packets(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	s.tos = 48 << 2;
	put(&s, false, CNP, 0, NULL, 16);
	s.tos = 0x6b;
	request(&s, SEND_ONLY, 0);
	s.tos = 0x6a;
	request(&s, SEND_ONLY, 1);
	request(&s, SEND_ONLY, 2);
	s.tos = 0x6b;
	request(&s, SEND_ONLY, 3);
	c = result(&s);
	assert_int_equal(c->side[0].priority.dscp, 26);
	assert_int_equal(c->side[0].priority.others, 0);
	assert_int_equal(c->side[0].priority.cnp_dscp, 48);
	assert_int_equal(c->side[0].priority.ecn, 1 << 2 | 1 << 3);
	assert_int_equal(count(c, RD_INC_CE), 2);
	end(&s);
}

/* The same frame with a tag of this priority; NO_TAG: without one. */
#define NO_TAG 8

static void put_tagged(struct scene *s, bool back, uint32_t psn, unsigned int pcp)
{
	struct make plain = {.n = 0}, m = {.n = 0};

	make_packet(&plain, MAKE_V2_IPV4, back ? ACK : SEND_ONLY, back ? REQUESTER : RESPONDER,
		back ? 4 : 1024, 0);
	if (back)
		memcpy(plain.b + 26, "\x0a\0\0\x01\x0a\0\0\x02", 8);
	plain.b[15] = s->tos;
	rd_put_be32(plain.b + 14 + 20 + 8 + 8, psn | (back ? 0 : 0x80000000));
	if (back)
		plain.b[14 + 20 + 8 + 12] = OK;
	make_bytes(&m, plain.b, 12);
	if (pcp != NO_TAG)
		make_be32(&m, 0x81000005 | pcp << 13);
	make_bytes(&m, plain.b + 12, plain.n - 12);
	s->ns += 10 * US;
	put_frame(s, &m);
}

static void vlan_priorities(void **state)
{
	static const struct {
		unsigned int there, back, last; /* of the last request */
		bool differ;
	} cases[] = {{3, 3, 3, false}, {3, 0, 3, true}, {3, 0, 5, false}, {3, 0, NO_TAG, false},
		{3, NO_TAG, 3, false}, {NO_TAG, NO_TAG, 3, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene s = begin();
		const struct rd_priority *p;

		for (uint32_t psn = 0; psn < 5; psn++) {
			put_tagged(&s, false, psn, psn == 4 ? cases[i].last : cases[i].there);
			put_tagged(&s, true, psn, cases[i].back);
		}
		p = &result(&s)->side[0].priority;
		assert_int_equal(p->pcp, 3);
		assert_int_equal(p->pcp_varies, cases[i].last == 5);
		assert_int_equal(p->untagged, cases[i].there == NO_TAG || cases[i].last == NO_TAG);
		assert_int_equal(finding(&s, "priorities-differ") != NULL, cases[i].differ);
		end(&s);
	}
}

static void give(struct scene *s, const char *json)
{
	rd_analysis_facts(s->a, json, strlen(json));
}

/* A port of 10.0.0.1 or another host; PFC on priority 3, where DSCP 24 to 31 lead to. */
static void give_port(struct scene *s, const char *gid, const char *trust, const char *pfc)
{
	char json[1024], map[512] = "";
	size_t used = 0;

	for (unsigned int i = 0; i < 64; i++)
		used += (size_t)snprintf(map + used, sizeof(map) - used, "%s%s", i ? "," : "",
			i == 40	     ? "null"
			: i / 8 == 3 ? "3"
				     : "0");
	snprintf(json, sizeof(json),
		"{\"kind\":\"device\",\"device\":\"mlx5_0\",\"port\":1,\"gids\":[{\"gid\":\"%s\"}]"
		"}",
		gid);
	give(s, json);
	snprintf(json, sizeof(json),
		"{\"kind\":\"dcb\",\"device\":\"mlx5_0\",\"port\":1,\"netdev\":\"eth0\","
		"\"pfc\":%s,\"trust\":[%s],\"dscp_priorities\":[%s]}",
		pfc, trust, map);
	give(s, json);
}

static void no_drop_priorities(void **state)
{
	static const struct {
		const char *gid, *trust, *pfc;
		uint8_t dscp;
		unsigned int pcp;
		int class; /* -1: unknown */
		bool lossy;
	} cases[] = {
		{"::ffff:10.0.0.1", "\"dscp\"", "[3]", 26, NO_TAG, 3, false},
		{"::ffff:10.0.0.2", "\"dscp\"", "[3]", 10, NO_TAG, 0, true},
		{"::ffff:10.0.0.2", "\"dscp\"", "[]", 10, NO_TAG, 0, false},	/* PFC for none */
		{"::ffff:10.0.0.2", "\"dscp\"", "null", 10, NO_TAG, -1, false}, /* unknown */
		{"::ffff:10.0.0.9", "\"dscp\"", "[3]", 10, NO_TAG, -1, false},	/* another host's */
		{"::ffff:10.0.0.1", "\"dscp\"", "[3]", 40, NO_TAG, -1, false},	/* not configured */
		{"::ffff:10.0.0.1", "\"pcp\"", "[3]", 26, 5, 5, true},
		{"::ffff:10.0.0.1", "\"pcp\"", "[3]", 26, NO_TAG, -1, false},
		{"::ffff:10.0.0.1", "\"pcp\",\"dscp\"", "[3]", 26, 5, 5, true},
		{"::ffff:10.0.0.1", "\"dscp\",\"pcp\"", "[3]", 26, 5, 3, false},
		{"::ffff:10.0.0.1", "\"pcp\",\"dscp\"", "[3]", 26, NO_TAG, 3, false},
		{"::ffff:10.0.0.1", "", "[3]", 10, 5, -1, false},
		{"::ffff:10.0.0.1", "\"dscp\"", "[3,-1,8,\"x\",99999999999]", 26, 5, 3, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene s = begin();
		const struct rd_side *side;

		give_port(&s, cases[i].gid, cases[i].trust, cases[i].pfc);
		s.tos = (uint8_t)(cases[i].dscp << 2);
		for (uint32_t psn = 0; psn < 10; psn++)
			put_tagged(&s, false, psn, cases[i].pcp);
		side = &result(&s)->side[0];
		if (side->priority.class != cases[i].class)
			fail_msg("case %zu: class %d", i, side->priority.class);
		assert_int_equal(finding(&s, "lossy-priority") != NULL, cases[i].lossy);
		if (cases[i].lossy)
			assert_certainty(&s, "lossy-priority", RD_LIKELY);
		end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decoded),
		cmocka_unit_test(in_nanoseconds),
		cmocka_unit_test(as_lines),
		cmocka_unit_test(paused_time),
		cmocka_unit_test(place_of_pauses),
		cmocka_unit_test(wild_pauses),
		cmocka_unit_test(many_senders),
		cmocka_unit_test(of_all_traffic),
		cmocka_unit_test(gaps_that_fit),
		cmocka_unit_test(gaps_that_do_not),
		cmocka_unit_test(from_mark_to_cnp),
		cmocka_unit_test(late),
		cmocka_unit_test(rates),
		cmocka_unit_test(priorities),
		cmocka_unit_test(first_packets),
		cmocka_unit_test(vlan_priorities),
		cmocka_unit_test(no_drop_priorities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
