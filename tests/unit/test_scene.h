/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames between 10.0.0.2 and 10.0.0.1 for tests that a case of tests/cases cannot be, and what an
 * analysis finds. After test.h.
 */
#ifndef TEST_SCENE_H
#define TEST_SCENE_H

#include "test_packet_make.h"
#include <rdmadump/analysis.h>

enum { SEND_ONLY = 0x04, ACK = 0x11 };
enum syndrome { OK = 0x1f, RNR = 0x2e, NAK_SEQ = 0x60 };

struct scene {
	struct rd_analysis *a;
	struct rd_report *r;
	uint64_t ns;
	uint16_t ip_id;
	uint32_t qp; /* destination instead of 0x100 or 0x200, 0: none */
};

static inline struct scene begin_with(const struct rd_analysis_config *config)
{
	struct scene s = {.ns = 1000000000};

	assert_int_equal(rd_analysis_open(&s.a, config, NULL), 0);
	assert_int_equal(rd_analysis_file(s.a, "test", "made", NULL, NULL), 0);
	return s;
}

static inline struct scene begin(void)
{
	const struct rd_analysis_config config = {.skip_icrc = true, .qp = RD_QP_UNKNOWN};

	return begin_with(&config);
}

static inline void end(struct scene *s)
{
	rd_report_free(s->r);
	rd_analysis_close(s->a);
}

static inline const struct rd_conversation *result(struct scene *s)
{
	expect("0 1", rd_analysis_report(s->a, &s->r, NULL), s->r->n_conversations > 0);
	return &s->r->conversations[0];
}

static inline uint64_t count(const struct rd_conversation *c, enum rd_incident_kind kind)
{
	return rd_side_incident(&c->side[0], kind)->count;
}

/* Each frame 10 us behind the last one, with an IP identification of its own. */
static inline void put(struct scene *s, bool back, uint32_t psn, uint8_t syndrome)
{
	struct make m = {.n = 0};
	struct rd_frame frame;
	uint8_t *ip, *bth;

	make_packet(&m, MAKE_V2_IPV4, back ? ACK : SEND_ONLY,
		s->qp  ? s->qp
		: back ? 0x200
		       : 0x100,
		back ? 4 : 1024, 0);
	ip = m.b + 14;
	bth = ip + 20 + 8;
	rd_put_be16(ip + 4, ++s->ip_id);
	rd_put_be32(bth + 8, (psn & 0xffffff) | (back ? 0 : 0x80000000));
	if (back) {
		memcpy(ip + 12, "\x0a\0\0\x01\x0a\0\0\x02", 8);
		rd_put_be32(bth + 12, (uint32_t)syndrome << 24 | 1);
	}
	frame = make_frame(&m);
	frame.ts_ns = s->ns += 10000;
	rd_analysis_frames(s->a, &(struct rd_iface){.link = RD_LINK_ETHERNET}, &frame, 1);
}

static inline void respond(struct scene *s, uint32_t psn, enum syndrome syndrome)
{
	put(s, true, psn, (uint8_t)syndrome);
}

static inline void sends(struct scene *s, uint32_t from, uint32_t to)
{
	for (uint32_t psn = from; psn != ((to + 1) & 0xffffff); psn = (psn + 1) & 0xffffff)
		put(s, false, psn, 0);
}

#endif
