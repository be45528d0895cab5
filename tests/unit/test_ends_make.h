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
	bool directions;  /* as `captures.directions` */
	uint64_t alone;	  /* bits of what each capture alone has of the requests, once */
	uint32_t changed; /* of requests: their payload, and so their ICRC */
} two;

static const uint32_t to_qp[] = {0x100, 0x200};

static inline void begin(void)
{
	const uint64_t first[RD_TAPS] = {START, START};

	memset(&two, 0, sizeof(two));
	assert_int_equal(rd_ends_open(&two.e, first, 0, NULL), 0);
}

/* A packet in the file of one end, at `ns` after the start by a clock without drift. */
static inline void see(enum rd_tap end, bool back, uint32_t psn, uint8_t syndrome, uint64_t ns)
{
	struct rd_frame frame;

	m.n = 0;
	make_packet(&m, MAKE_V2_IPV4, back ? ANSWER : REQUEST, to_qp[back], back ? 4 : 64, 0);
	if (back) {
		memcpy(m.b + 26, "\x0a\0\0\x01\x0a\0\0\x02", 8);
		m.b[BTH + 12] = syndrome;
	}
	rd_put_be16(m.b + 14 + 4, (uint16_t)two.ip_id);
	rd_put_be32(m.b + BTH + 8, psn);
	rd_put_be32(m.b + m.n - 4, psn * 2654435761U + syndrome + (back ? 0 : two.changed));
	frame = make_frame(&m);
	frame.ts_ns = START + ns;
	if (two.directions)
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

#endif
