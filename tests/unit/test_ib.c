/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Native InfiniBand in an analysis: management datagrams, LIDs, groups, IP over InfiniBand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_scene.h"

#define BTH	 8 /* behind the LRH */
#define DETH	 (BTH + 12)
#define MAD	 (DETH + 8)
#define MAD_LEN	 256
#define SM	 1 /* LIDs */
#define HOST	 2
#define GROUP	 0xc003
#define CLASS_SA 3
#define GET	 0x01
#define GET_RESP 0x81
#define PATH_REC 0x35

static struct make ib_make(
	unsigned int opcode, uint32_t qp, uint16_t slid, uint16_t dlid, uint32_t body)
{
	struct make m = {.n = 0};

	make_packet(&m, MAKE_IB, opcode, qp, body, 0);
	rd_put_be16(m.b + 2, dlid);
	rd_put_be16(m.b + 6, slid);
	return m;
}

static void ib_put(struct scene *s, const struct make *m)
{
	const struct rd_frame frame = {
		.ts_ns = s->ns += 10000, .data = m->b, .caplen = m->n, .len = m->n};

	rd_analysis_frames(s->a, RD_LINK_INFINIBAND, &frame, 1);
}

struct mad {
	uint16_t slid, dlid;
	uint8_t class, method;
	uint16_t attribute, status;
	uint64_t tid;
	uint8_t rmpp_type, rmpp_flags, segment;
};

static void put_mad(struct scene *s, const struct mad *d)
{
	bool smp = d->class == RD_MAD_SMP || d->class == RD_MAD_SMP_DIRECTED;
	struct make m = ib_make(RD_UD_SEND_ONLY, smp ? 0 : 1, d->slid, d->dlid, 8 + MAD_LEN);
	uint8_t *b = m.b + MAD;

	m.b[0] = smp ? 0xf0 : 0;
	rd_put_be32(m.b + DETH, smp ? 0 : 0x80010000);
	rd_put_be32(m.b + DETH + 4, smp ? 0 : 1);
	memset(b, 0, MAD_LEN);
	b[0] = 1;
	b[1] = d->class;
	b[2] = 2;
	b[3] = d->method;
	rd_put_be16(b + 4, d->status);
	rd_put_be64(b + 8, d->tid);
	rd_put_be16(b + 16, d->attribute);
	b[25] = d->rmpp_type;
	b[26] = d->rmpp_flags;
	b[31] = d->segment;
	ib_put(s, &m);
}

static void sa_ask(struct scene *s, uint64_t tid)
{
	put_mad(s, &(struct mad){HOST, SM, CLASS_SA, GET, PATH_REC, .tid = tid});
}

static void sa_answer(struct scene *s, uint64_t tid, uint16_t status)
{
	put_mad(s, &(struct mad){SM, HOST, CLASS_SA, GET_RESP, PATH_REC, status, .tid = tid});
}

static const struct rd_report *report(struct scene *s)
{
	if (!s->r)
		assert_int_equal(rd_analysis_report(s->a, &s->r, NULL), 0);
	return s->r;
}

static const struct rd_mad_row *row(
	struct scene *s, uint8_t class, uint8_t method, uint16_t attribute, uint16_t status)
{
	const struct rd_report *r = report(s);

	for (size_t i = 0; i < r->n_mads; i++)
		if (r->mads[i].class == class && r->mads[i].method == method &&
			r->mads[i].attribute == attribute && r->mads[i].status == status)
			return &r->mads[i];
	fail_msg("no row of class 0x%x, method 0x%x, status 0x%x", class, method, status);
	return NULL;
}

static void mads_are_counted(void **state)
{
	struct scene s = begin();
	const struct rd_mad_row *ask;

	(void)state;
	for (uint64_t tid = 1; tid <= 5; tid++)
		sa_ask(&s, tid);
	sa_answer(&s, 1, 0);
	sa_answer(&s, 2, 0x0300);
	sa_answer(&s, 3, 0x0300);
	sa_ask(&s, 4);		/* again: no response yet */
	sa_answer(&s, 0x77, 0); /* to a request from before the capture */
	ask = row(&s, CLASS_SA, GET, PATH_REC, 0);
	assert_int_equal(ask->frames.count, 6);
	assert_int_equal(ask->repeated, 1);
	assert_int_equal(ask->answered, 3);
	assert_int_equal(ask->unanswered.count, 1); /* 4; the capture ends too soon for 5 */
	assert_int_equal(ask->unanswered.first_frame, 4);
	assert_int_equal(ask->unjudged, 1);
	assert_int_equal(row(&s, CLASS_SA, GET_RESP, PATH_REC, 0)->frames.count, 2);
	assert_int_equal(row(&s, CLASS_SA, GET_RESP, PATH_REC, 0)->answers, 1);
	assert_int_equal(row(&s, CLASS_SA, GET_RESP, PATH_REC, 0x0300)->frames.count, 2);
	assert_int_equal(s.r->n_mads, 3);
	assert_int_equal(s.r->mads[0].method, GET); /* before its responses */
	assert_int_equal(s.r->totals.mad_frames, 10);
	assert_string_equal(finding(&s, "mad-error")->title,
		"SA GetResp PathRecord reports status 0x0300 (no records)");
	assert_certainty(&s, "mad-error", RD_CERTAIN);
	assert_string_equal(
		finding(&s, "mad-no-response")->title, "SA Get PathRecord gets no response");
	assert_certainty(&s, "mad-no-response", RD_LIKELY);
	end(&s);
}

/* A request is unanswered only if it was repeated, or if there was time for a response. */
static void late_requests_are_not_judged(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		struct scene s = begin();

		sa_ask(&s, 1);
		s.ns += late ? 1000000 : 2000000000;
		sa_ask(&s, 2);
		assert_int_equal(row(&s, CLASS_SA, GET, PATH_REC, 0)->unanswered.count, !late);
		assert_int_equal(row(&s, CLASS_SA, GET, PATH_REC, 0)->unjudged, late + 1);
		if (late)
			assert_null(finding(&s, "mad-no-response"));
		else /* responses may take another path: not one was captured */
			assert_certainty(&s, "mad-no-response", RD_POSSIBLE);
		end(&s);
	}
}

/* The same transaction ID of another host, or in another class, is another request. */
static void answers_belong_to_their_request(void **state)
{
	struct scene s = begin();

	(void)state;
	sa_ask(&s, 1);
	put_mad(&s, &(struct mad){SM, 3, CLASS_SA, GET_RESP, PATH_REC, .tid = 1});
	put_mad(&s, &(struct mad){SM, HOST, 4, GET_RESP, 0x12, .tid = 1});
	assert_int_equal(row(&s, CLASS_SA, GET, PATH_REC, 0)->answered, 0);
	assert_int_equal(row(&s, 4, GET_RESP, 0x12, 0)->answers, 0);
	end(&s);
}

/* Acknowledgments of RMPP have the method of a request, and further segments are no responses. */
static void rmpp_is_one_response(void **state)
{
	struct scene s = begin();

	(void)state;
	put_mad(&s, &(struct mad){HOST, SM, CLASS_SA, 0x12, PATH_REC, .tid = 9});
	for (uint8_t segment = 1; segment <= 3; segment++)
		put_mad(&s, &(struct mad){SM, HOST, CLASS_SA, 0x92, PATH_REC, 0, 9, 1,
				    segment == 3 ? 5 : 1, segment});
	put_mad(&s, &(struct mad){HOST, SM, CLASS_SA, 0x12, PATH_REC, 0, 9, 2, 1, 1});
	assert_int_equal(row(&s, CLASS_SA, 0x12, PATH_REC, 0)->frames.count, 2);
	assert_int_equal(row(&s, CLASS_SA, 0x12, PATH_REC, 0)->segments, 1);
	assert_int_equal(row(&s, CLASS_SA, 0x12, PATH_REC, 0)->answered, 1);
	assert_int_equal(row(&s, CLASS_SA, 0x12, PATH_REC, 0)->repeated, 0);
	assert_int_equal(row(&s, CLASS_SA, 0x12, PATH_REC, 0)->unjudged, 0);
	assert_int_equal(row(&s, CLASS_SA, 0x92, PATH_REC, 0)->answers, 1);
	end(&s);
}

/* SMPs are no conversation; the direction bit of directed ones is no error. */
static void smps_are_no_conversation(void **state)
{
	struct scene s = begin();
	uint64_t frames = 0;

	(void)state;
	put_mad(&s, &(struct mad){0xffff, 0xffff, RD_MAD_SMP_DIRECTED, GET, 0x11, .tid = 5});
	put_mad(&s, &(struct mad){
			    0xffff, 0xffff, RD_MAD_SMP_DIRECTED, GET_RESP, 0x11, 0x8000, .tid = 5});
	put_mad(&s, &(struct mad){SM, HOST, RD_MAD_SMP, 0x02, 0x15, .tid = 6});
	put_mad(&s, &(struct mad){HOST, SM, RD_MAD_SMP, GET_RESP, 0x15, 0x001c, .tid = 6});
	assert_int_equal(report(&s)->n_conversations, 0);
	assert_int_equal(s.r->totals.rdma_frames, 4);
	assert_int_equal(s.r->totals.mad_frames, 4);
	for (unsigned int i = 0; i < s.r->series.n; i++)
		frames += s.r->series.points[i].frames;
	assert_int_equal(frames, 4);
	assert_int_equal(row(&s, RD_MAD_SMP_DIRECTED, GET, 0x11, 0)->answered, 1);
	assert_int_equal(row(&s, RD_MAD_SMP_DIRECTED, GET_RESP, 0x11, 0)->answers, 1);
	assert_int_equal(row(&s, RD_MAD_SMP, 0x02, 0x15, 0)->answered, 1);
	assert_int_equal(row(&s, RD_MAD_SMP, GET_RESP, 0x15, 0x1c)->frames.count, 1);
	assert_null(finding(&s, "no-rdma"));
	end(&s);
}

/* More kinds of MADs than the table has rows: counted, and the rest stays right. */
static void table_is_bounded(void **state)
{
	struct scene s = begin();

	(void)state;
	for (uint32_t i = 0; i < RD_MAD_ROWS + 3; i++)
		put_mad(&s, &(struct mad){HOST, SM, CLASS_SA, GET, (uint16_t)i, .tid = i});
	assert_int_equal(report(&s)->n_mads, RD_MAD_ROWS);
	assert_int_equal(s.r->mads_left_out, 3);
	end(&s);
}

/* More open requests than there is room for: the oldest ones are not judged, none is invented. */
static void open_requests_are_bounded(void **state)
{
	struct scene s = begin();
	const struct rd_mad_row *ask;

	(void)state;
	for (uint64_t tid = 1; tid <= 20000; tid++)
		sa_ask(&s, tid);
	for (uint64_t tid = 1; tid <= 20000; tid++)
		sa_answer(&s, tid, 0);
	ask = row(&s, CLASS_SA, GET, PATH_REC, 0);
	assert_int_equal(ask->answered + ask->unjudged, 20000);
	assert_true(ask->answered > 3000);
	assert_int_equal(ask->repeated, 0);
	assert_int_equal(ask->unanswered.count, 0);
	end(&s);
}

/* Flow control has no LRH; in a file of InfiniBand its length identifies it. */
static void flow_control_is_left_out(void **state)
{
	struct scene s = begin();
	struct make m = {.n = 0};

	(void)state;
	make_bytes(&m, "\x00\x12\x00\x34\xab\xcd", 6);
	ib_put(&s, &m);
	sa_ask(&s, 1);
	assert_int_equal(report(&s)->n_conversations, 1);
	assert_int_equal(s.r->totals.other_frames, 1);
	assert_int_equal(s.r->totals.unread, 0);
	assert_int_equal(s.r->totals.cut, 0);
	end(&s);
}

/* Both directions between two LIDs are one conversation, with SL and P_Key of each side. */
static void lids_are_listed_once(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	for (uint64_t tid = 1; tid < 4; tid++) {
		sa_ask(&s, tid);
		sa_answer(&s, tid, 0);
	}
	for (unsigned int i = 0; i < 3; i++) {
		struct make m = ib_make(SEND_ONLY, 0x100, HOST, 3, 64),
			    back = ib_make(ACK, 0x200, 3, HOST, 4);

		m.b[1] |= 5 << 4;
		rd_put_be16(m.b + BTH + 2, 0x8001);
		rd_put_be32(m.b + BTH + 8, 0x80000010 + i);
		rd_put_be32(back.b + BTH + 8, 0x10 + i);
		rd_put_be32(back.b + BTH + 12, 0x1f000001 + i);
		ib_put(&s, &m);
		ib_put(&s, &back);
	}
	assert_int_equal(report(&s)->n_conversations, 2);
	c = &s.r->conversations[s.r->conversations[0].transport == RD_UD];
	assert_string_equal(c->a.address, "LID 2");
	assert_string_equal(c->b.address, "LID 3");
	assert_true(c->side[0].has_lrh && c->side[1].has_lrh);
	assert_int_equal(c->side[0].lid, HOST);
	assert_int_equal(c->side[1].lid, 3);
	assert_int_equal(c->side[0].sl, 5);
	assert_int_equal(c->side[1].sl, 0);
	assert_int_equal(c->side[0].pkey, 0x8001);
	assert_int_equal(c->side[0].acks, 3);
	end(&s);
}

/* UD datagrams with gaps: from one QP to another one, or to a group; with IP inside. */
static struct scene datagrams(uint16_t dlid, bool ip)
{
	struct scene s = begin();

	for (uint32_t psn = 0; psn < 60; psn += 3) {
		struct make m = ib_make(RD_UD_SEND_ONLY, 0x100, HOST, dlid, 8 + 64);
		uint8_t *payload = m.b + MAD;

		rd_put_be32(m.b + BTH + 8, psn);
		rd_put_be32(m.b + DETH + 4, 0x300);
		if (ip) {
			rd_put_be32(payload, 0x08000000);
			rd_put_be32(payload + 4, 0x45000000 | 60);
			memcpy(payload + 16, "\x0a\1\0\1\x0a\1\0\2", 8);
		}
		ib_put(&s, &m);
	}
	return s;
}

static void groups_are_not_judged(void **state)
{
	struct scene s;

	(void)state;
	s = datagrams(3, false);
	assert_false(result(&s)->multicast || s.r->conversations[0].ipoib);
	assert_non_null(finding(&s, "datagram-gaps"));
	end(&s);
	s = datagrams(GROUP, false);
	assert_true(result(&s)->multicast);
	assert_null(finding(&s, "datagram-gaps"));
	end(&s);
	s = datagrams(3, true);
	assert_true(result(&s)->ipoib && !s.r->conversations[0].multicast);
	assert_null(finding(&s, "datagram-gaps"));
	end(&s);
}

/* --- one packet ------------------------------------------------------------------------------- */

static const char *ib_line(const struct make *m)
{
	static char line[800];
	const struct rd_frame frame = make_frame(m);

	rd_packet_line(line, sizeof(line), &frame, RD_LINK_INFINIBAND, RD_LINE_NO_TIME);
	return line;
}

static bool is_ipoib(const struct make *m, uint32_t caplen)
{
	uint8_t *exact = make_exact(m->b, caplen);
	struct rd_packet p;
	struct rd_ipoib ip;
	bool is;

	rd_packet_parse(RD_LINK_INFINIBAND, exact, caplen, m->n, &p);
	is = rd_packet_ipoib(&p, &ip);
	free(exact);
	return is;
}

static void ipoib_is_recognized(void **state)
{
	struct make m = ib_make(RD_UD_SEND_ONLY, 0x100, HOST, 3, 8 + 64);
	uint8_t *payload = m.b + MAD;

	(void)state;
	rd_put_be32(payload, 0x08000000);
	rd_put_be32(payload + 4, 0x45000000 | 60);
	payload[13] = 17;
	memcpy(payload + 16, "\x0a\1\0\1\x0a\1\0\2", 8);
	for (uint32_t n = 0; n <= m.n; n++)
		assert_int_equal(is_ipoib(&m, n), n >= MAD + 4 + 20);
	assert_non_null(strstr(ib_line(&m), " IPoIB IPv4 10.1.0.1 > 10.1.0.2 protocol 17 "));
	rd_put_be16(payload + 6, 59); /* another length than the packet has */
	assert_false(is_ipoib(&m, m.n));
	rd_put_be16(payload + 6, 60);
	payload[3] = 1; /* reserved */
	assert_false(is_ipoib(&m, m.n));
	rd_put_be32(payload, 0x08060000);
	assert_false(is_ipoib(&m, m.n));
	rd_put_be16(payload + 4, 32);
	assert_true(is_ipoib(&m, m.n));
	assert_non_null(strstr(ib_line(&m), " IPoIB ARP"));
	rd_put_be32(payload, 0x86dd0000);
	rd_put_be32(payload + 4, 0x60000000);
	rd_put_be16(payload + 8, 20);
	assert_true(is_ipoib(&m, m.n));
	/* Connected mode: the first packet of a longer datagram. */
	m = ib_make(SEND_FIRST, 0x100, HOST, 3, 256);
	rd_put_be32(m.b + DETH, 0x08000000);
	rd_put_be32(m.b + DETH + 4, 0x45000000 | 2044);
	assert_true(is_ipoib(&m, m.n));
	rd_put_be32(m.b + DETH + 4, 0x45000000 | 252);
	assert_false(is_ipoib(&m, m.n));
	m = ib_make(SEND_MIDDLE, 0x100, HOST, 3, 256);
	rd_put_be32(m.b + DETH, 0x08000000);
	rd_put_be32(m.b + DETH + 4, 0x45000000 | 2044);
	assert_false(is_ipoib(&m, m.n));
}

static void groups_by_lid(void **state)
{
	static const struct {
		uint16_t dlid;
		bool group;
	} rows[] = {{1, false}, {0xbfff, false}, {0xc000, true}, {0xfffe, true}, {0xffff, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct make m = ib_make(RD_UD_SEND_ONLY, 0x100, HOST, rows[i].dlid, 8);
		struct rd_packet p;
		struct rd_lrh lrh;

		m.b[0] = 3 << 4;
		m.b[1] |= 9 << 4;
		rd_packet_parse(RD_LINK_INFINIBAND, m.b, m.n, m.n, &p);
		assert_int_equal(rd_packet_is_multicast(&p), rows[i].group);
		assert_true(rd_packet_lrh(&p, &lrh));
		assert_int_equal(lrh.dlid, rows[i].dlid);
		assert_int_equal(lrh.slid, HOST);
		assert_int_equal(lrh.vl, 3);
		assert_int_equal(lrh.sl, 9);
	}
}

static void statuses_have_names(void **state)
{
	static const struct {
		unsigned int class, status;
		const char *name;
	} rows[] = {
		{CLASS_SA, 0x0100, "no resources"},
		{CLASS_SA, 0x0700, "denied"},
		{CLASS_SA, 0x0c, "method not supported for the attribute"},
		{RD_MAD_SMP, 0x1c, "invalid attribute or modifier"},
		{RD_MAD_SMP, 0x04, "version not supported"},
		{4, 0x08, "method not supported"},
		{4, 0x01, "busy"},
		{4, 0x02, "redirect"},
		{4, 0x0300, NULL},
		{4, 0x0101, NULL},
		{CLASS_SA, 0xff00, NULL},
		{CLASS_SA, 0, NULL},
		{RD_MAD_SMP, 0x10, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *name = rd_mad_status_name(rows[i].class, rows[i].status);

		if (rows[i].name)
			assert_string_equal(name, rows[i].name);
		else
			assert_null(name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mads_are_counted),
		cmocka_unit_test(late_requests_are_not_judged),
		cmocka_unit_test(answers_belong_to_their_request),
		cmocka_unit_test(rmpp_is_one_response),
		cmocka_unit_test(smps_are_no_conversation),
		cmocka_unit_test(table_is_bounded),
		cmocka_unit_test(open_requests_are_bounded),
		cmocka_unit_test(flow_control_is_left_out),
		cmocka_unit_test(lids_are_listed_once),
		cmocka_unit_test(groups_are_not_judged),
		cmocka_unit_test(ipoib_is_recognized),
		cmocka_unit_test(groups_by_lid),
		cmocka_unit_test(statuses_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
