/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames between 10.0.0.2 and 10.0.0.1 for an analysis, and what it finds. After cmocka.h. */
#ifndef TEST_SCENE_H
#define TEST_SCENE_H

#include "test_packet_make.h"
#include <rdmadump/analysis.h>

#define REQUESTER 0x200 /* QP of 10.0.0.2, which sends requests */
#define RESPONDER 0x100 /* QP of 10.0.0.1 */

enum op {
	SEND_FIRST = 0x00,
	SEND_MIDDLE = 0x01,
	SEND_LAST = 0x02,
	SEND_ONLY = 0x04,
	WRITE_FIRST = 0x06,
	WRITE_MIDDLE = 0x07,
	WRITE_LAST = 0x08,
	READ = 0x0c,
	RESP_FIRST = 0x0d,
	RESP_MIDDLE = 0x0e,
	RESP_LAST = 0x0f,
	RESP_ONLY = 0x10,
	ACK = 0x11,
	ATOMIC_ACK = 0x12,
	FETCH_ADD = 0x14,
	UC_FIRST = 0x20,
	UC_LAST = 0x22,
	UC_ONLY = 0x24,
	UD_ONLY = 0x64,
	CNP = 0x81,
};

enum syndrome { OK = 0x1f, RNR = 0x2e, NAK_SEQ = 0x60, NAK_ACCESS = 0x62 };

struct scene {
	struct rd_analysis *a;
	struct rd_report *r;
	uint64_t ns;
	uint16_t ip_id;
	uint8_t tos;
	bool group;	   /* to a multicast group instead of the one address */
	uint32_t qp;	   /* destination instead of REQUESTER or RESPONDER, 0: none */
	bool valid_icrc;   /* else "ICRC" */
	uint32_t cut;	   /* bytes captured of a frame, 0: all */
	uint16_t vlan;	   /* of a tag, 0: no tag */
	uint16_t iface;	   /* where frames are captured */
	bool tunnelled;	   /* IP in IP */
	uint32_t vni;	   /* of a VXLAN tunnel, 0: none */
	uint32_t vni_back; /* the same of frames back, 0: as the others */
	uint8_t reserved;  /* in the BTH: no RoCE */
	uint8_t msn;	   /* of responses, 0: 1 */
	bool zero_icrc;
	bool other_back; /* frames back come from an address that none is sent to */
	bool third;	 /* 10.0.0.9 is the requester */
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
	assert_int_equal(rd_analysis_report(s->a, &s->r, NULL), 0);
	assert_true(s->r->n_conversations > 0);
	return &s->r->conversations[0];
}

/* The finding of a rule; NULL: there is none. */
static inline const struct rd_finding *finding(struct scene *s, const char *rule)
{
	if (!s->r)
		assert_int_equal(rd_analysis_report(s->a, &s->r, NULL), 0);
	for (size_t i = 0; i < s->r->findings.n; i++)
		if (!strcmp(s->r->findings.finding[i].rule, rule))
			return &s->r->findings.finding[i];
	return NULL;
}

static inline void assert_certainty(struct scene *s, const char *rule, enum rd_certainty certainty)
{
	const struct rd_finding *f = finding(s, rule);

	assert_non_null(f);
	assert_int_equal(f->certainty, certainty);
}

static inline uint64_t count(const struct rd_conversation *c, enum rd_incident_kind kind)
{
	return rd_side_incident(&c->side[0], kind)->count;
}

static inline void make_icrc(struct make *m)
{
	struct rd_packet p;
	uint32_t computed, stored;

	assert_true(rd_packet_parse(RD_LINK_ETHERNET, m->b, m->n, m->n, &p));
	assert_true(rd_packet_icrc(&p, &computed, &stored));
	for (unsigned int i = 0; i < RD_ICRC_LEN; i++)
		m->b[p.icrc + i] = (uint8_t)(computed >> 8 * i);
}

/* Puts an IP header before that of a frame. */
static inline void tunnel(struct make *m)
{
	uint8_t *ip = m->b + 14;

	memmove(ip + 20, ip, m->n - 14);
	memcpy(ip, "\x45\0\0\0\0\0\0\0\x40\x04\0\0\xc0\0\2\x02\xc0\0\2\x01", 20);
	m->n += 20;
	rd_put_be16(ip + 2, (uint16_t)(m->n - 14));
}

/* Puts Ethernet, IP, UDP and VXLAN headers before a frame. */
static inline void vxlan(struct make *m, uint32_t vni)
{
	static const uint8_t outer[50] = {[12] = 0x08,
		0,
		0x45,
		[22] = 64,
		17,
		[26] = 192,
		0,
		2,
		1,
		192,
		0,
		2,
		2,
		0x30,
		0x39,
		0x12,
		0xb5,
		[42] = 0x08};
	const uint32_t n = sizeof(outer);

	memmove(m->b + n, m->b, m->n);
	memcpy(m->b, outer, n);
	rd_put_be16(m->b + 16, (uint16_t)(n - 14 + m->n));
	rd_put_be16(m->b + 38, (uint16_t)(n - 34 + m->n));
	rd_put_be32(m->b + 46, vni << 8);
	m->n += n;
}

/* Puts a tag behind the MAC addresses of a frame. */
static inline void tag(struct make *m, uint16_t vlan)
{
	memmove(m->b + 16, m->b + 12, m->n - 12);
	rd_put_be16(m->b + 12, 0x8100);
	rd_put_be16(m->b + 14, vlan);
	m->n += 4;
}

/* A frame to a QP, each 10 us behind the last one, with an identification of its own. */
static inline void put(struct scene *s, bool back, unsigned int op, uint32_t psn,
	const uint8_t *head, uint32_t body)
{
	struct make m = {.n = 0};
	struct rd_frame frame = {.ts_ns = s->ns += 10000, .iface = s->iface};
	uint8_t *ip;

	make_packet(&m, MAKE_V2_IPV4, op, s->qp ? s->qp : back ? REQUESTER : RESPONDER, body, 0);
	ip = m.b + 14;
	ip[1] = s->tos;
	rd_put_be16(ip + 4, ++s->ip_id);
	if (back) {
		memcpy(ip + 12, "\x0a\0\0\x01\x0a\0\0\x02", 8);
		ip[15] = s->other_back ? 3 : 1;
	}
	if (s->third)
		ip[back ? 19 : 15] = 9;
	if (s->group) {
		memcpy(ip + 16, "\xef\1\1\1", 4);
		memset(m.b + 14 + 20 + 8 + 5, 0xff, 3);
	}
	rd_put_be32(m.b + 14 + 20 + 8 + 8, psn & 0xffffff);
	if (op == SEND_ONLY || op == SEND_LAST || op == WRITE_LAST || op == FETCH_ADD)
		m.b[14 + 20 + 8 + 8] |= 0x80;
	if (head)
		memcpy(m.b + 14 + 20 + 8 + 12, head,
			op == READ || op == WRITE_FIRST ? 16
			: op == FETCH_ADD		? 28
			: op == UD_ONLY			? 8
							: 4);
	m.b[14 + 20 + 8 + 4] |= s->reserved;
	if (s->valid_icrc)
		make_icrc(&m);
	if (s->zero_icrc)
		memset(m.b + m.n - RD_ICRC_LEN, 0, RD_ICRC_LEN);
	if (s->tunnelled)
		tunnel(&m);
	if (s->vlan)
		tag(&m, s->vlan);
	if (s->vni)
		vxlan(&m, back && s->vni_back ? s->vni_back : s->vni);
	frame.data = m.b;
	frame.caplen = frame.len = m.n;
	if (s->cut)
		frame.caplen = s->cut;
	rd_analysis_frames(s->a, RD_LINK_ETHERNET, &frame, 1);
}

static inline void request(struct scene *s, enum op op, uint32_t psn)
{
	put(s, false, op, psn, NULL, op == FETCH_ADD ? 28 : 1024);
}

static inline void read_request(struct scene *s, uint32_t psn, uint32_t length)
{
	uint8_t reth[16] = {0};

	rd_put_be32(reth + 12, length);
	put(s, false, READ, psn, reth, 16);
}

static inline void respond(struct scene *s, enum op op, uint32_t psn, enum syndrome syndrome)
{
	const uint8_t aeth[4] = {(uint8_t)syndrome, 0, 0, s->msn ? s->msn : 1};
	uint32_t body = op == RESP_MIDDLE ? 0 : sizeof(aeth);

	if (op >= RESP_FIRST && op <= RESP_ONLY)
		body += 1024;
	else if (op == ATOMIC_ACK)
		body += 8;
	put(s, true, op, psn, op == RESP_MIDDLE ? NULL : aeth, body);
}

static inline void sends(struct scene *s, uint32_t from, uint32_t to)
{
	for (uint32_t psn = from; psn != ((to + 1) & 0xffffff); psn = (psn + 1) & 0xffffff)
		request(s, SEND_ONLY, psn);
}

#endif
