/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes packets of one QP pair in two captures, for the tests of two ends. */
#ifndef TEST_ENDS_MAKE_H
#define TEST_ENDS_MAKE_H

#include "../../src/analysis/ends/ends.h"
#include "test_packet_make.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rdmadump/ends.h>

#define BTH   (14 + 20 + 8)
#define START 1000000000000ULL
#define MS    1000000ULL

static struct make m;

#define US	1000ULL
#define REQUEST 0x04 /* RC SEND only, to QP 0x100 of 10.0.0.1 */
#define ANSWER	0x11 /* RC ACK, to QP 0x200 of 10.0.0.2 */
#define DELAY	(2 * US)

static struct two {
	struct rd_ends *e;
	double drift_ppm; /* of B */
	int64_t ahead;	  /* B's clock, which the first estimate of the offset does not know */
	unsigned int ip_id;
	bool directions;	   /* as `captures.directions` */
	bool only_a;		   /* B's capture does not mark them */
	uint8_t opcode;		   /* of requests; 0: REQUEST */
	uint64_t alone;		   /* bits of what each capture alone has of the requests, once */
	uint32_t changed;	   /* of requests: their payload, and so their ICRC */
	bool cut;		   /* the ICRC of what B's capture has */
	uint32_t network[RD_TAPS]; /* VNI of the tunnel that an end sees; 0: it sees none */
	uint8_t ttl[2][RD_TAPS];   /* of both directions, as an end sees them; 0: the same */
} two;

static const uint32_t to_qp[] = {0x100, 0x200};

static inline void begin(void)
{
	const uint64_t first[RD_TAPS] = {START, START};

	memset(&two, 0, sizeof(two));
	assert_int_equal(rd_ends_open(&two.e, first, 0, NULL), 0);
}

static inline struct rd_frame in_tunnel(const struct rd_frame *inner, uint32_t network)
{
	static struct make outer;
	struct rd_frame frame;

	outer.n = 0;
	make_ethernet(&outer, 0x0800);
	make_ipv4(&outer, 17, 16 + inner->len);
	make_udp(&outer, 4789, 8 + inner->len);
	make_be32(&outer, 0x08000000);
	make_be32(&outer, network << 8);
	make_bytes(&outer, inner->data, inner->len);
	frame = make_frame(&outer);
	return frame;
}

/* A packet in the file of one end, at `ns` after the start by a clock without drift. */
static inline void see(enum rd_tap end, bool back, uint32_t psn, uint8_t syndrome, uint64_t ns)
{
	struct rd_frame frame;

	m.n = 0;
	make_packet(&m, MAKE_V2_IPV4,
		back	     ? ANSWER
		: two.opcode ? two.opcode
			     : REQUEST,
		to_qp[back], back ? 4 : 64, 0);
	if (back) {
		memcpy(m.b + 26, "\x0a\0\0\x01\x0a\0\0\x02", 8);
		m.b[BTH + 12] = syndrome;
	}
	rd_put_be16(m.b + 14 + 4, (uint16_t)two.ip_id);
	m.b[14 + 8] = two.ttl[back][end];
	rd_put_be32(m.b + BTH + 8, psn);
	rd_put_be32(m.b + m.n - 4, psn * 2654435761U + syndrome + (back ? 0 : two.changed));
	frame = make_frame(&m);
	if (two.network[end])
		frame = in_tunnel(&frame, two.network[end]);
	frame.ts_ns = START + ns;
	frame.caplen -= two.cut && end == RD_TAP_B ? 4 : 0;
	if (two.directions && !(two.only_a && end == RD_TAP_B))
		frame.direction = (end == RD_TAP_B) == back ? RD_DIR_OUT : RD_DIR_IN;
	if (end == RD_TAP_B)
		frame.ts_ns += (uint64_t)((int64_t)((double)ns * two.drift_ppm / 1e6) + two.ahead);
	rd_ends_frames(two.e, end, RD_LINK_ETHERNET, &frame, 1);
}

static inline void request(uint32_t psn, uint64_t ns)
{
	see(RD_TAP_A, false, psn, 0, ns);
	see(RD_TAP_B, false, psn, 0, ns + DELAY);
}

static inline void answer(uint32_t psn, uint8_t syndrome, uint64_t ns)
{
	see(RD_TAP_B, true, psn, syndrome, ns);
	see(RD_TAP_A, true, psn, syndrome, ns + DELAY);
}

/* The reports of each capture alone, which know that both QPs are a pair. */
static inline struct rd_ends_report *finish_any(void)
{
	struct rd_conversation c = {.a = {"10.0.0.2", 0x200}, .b = {"10.0.0.1", 0x100}};
	const struct rd_report alone = {.conversations = &c, .n_conversations = 1};
	const struct rd_report *const reports[RD_TAPS] = {&alone, &alone};
	struct rd_incident once[] = {{.count = 1}, {.count = 1}};
	struct rd_ends_report *r;

	c.side[0].has_incidents = two.alone;
	c.side[0].incidents = once;
	rd_ends_file_end(two.e, RD_TAP_A);
	rd_ends_file_end(two.e, RD_TAP_B);
	assert_int_equal(rd_ends_report(two.e, reports, &r, NULL), 0);
	rd_ends_close(two.e);
	return r;
}

static inline struct rd_ends_report *finish(void)
{
	struct rd_ends_report *r = finish_any();

	for (size_t i = 0; i < r->n_paths; i++)
		assert_true(r->paths[i].sender_known);
	return r;
}

static inline const struct rd_path_qp *qp_of(const struct rd_ends_report *r, uint32_t qp)
{
	for (size_t i = 0; i < r->n_paths; i++) {
		uint32_t to = r->paths[i].qps[0].qp;

		assert_int_equal(r->paths[i].sender, to == to_qp[0] ? RD_TAP_A : RD_TAP_B);
		if (to == qp)
			return &r->paths[i].qps[0];
	}
	fail_msg("QP 0x%x is not reported", qp);
	return NULL;
}

static inline bool is_found(const struct rd_ends_report *r, const char *rule)
{
	for (size_t i = 0; i < r->findings.n; i++)
		if (!strcmp(r->findings.finding[i].rule, rule))
			return true;
	return false;
}

static inline enum rd_certainty certainty_of(const struct rd_ends_report *r, const char *rule)
{
	for (size_t i = 0; i < r->findings.n; i++)
		if (!strcmp(r->findings.finding[i].rule, rule))
			return r->findings.finding[i].certainty;
	fail_msg("%s is not found", rule);
	return RD_POSSIBLE;
}

#endif
