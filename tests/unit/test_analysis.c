/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the analysis makes of each mechanism: synthetic frames in, events out. */
#include "test_packet_make.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rdmadump/analysis.h>
#include <stdlib.h>

#define ASKER	 0x200 /* QP of 10.0.0.2, which sends requests */
#define ANSWERER 0x100 /* QP of 10.0.0.1 */

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
	bool group; /* to a multicast group instead of the one address */
};

static struct scene begin(void)
{
	struct scene s = {.ns = 1000000000};
	const struct rd_analysis_config config = {.skip_icrc = true, .qp = RD_QP_UNKNOWN};

	assert_int_equal(rd_analysis_open(&s.a, &config, NULL), 0);
	assert_int_equal(rd_analysis_file(s.a, "test", "made", NULL, NULL), 0);
	return s;
}

static void end(struct scene *s)
{
	rd_report_free(s->r);
	rd_analysis_close(s->a);
}

static const struct rd_conversation *result(struct scene *s)
{
	assert_int_equal(rd_analysis_report(s->a, &s->r, NULL), 0);
	assert_true(s->r->n_conversations > 0);
	return &s->r->conversations[0];
}

static uint64_t count(const struct rd_conversation *c, enum rd_incident_kind kind)
{
	return rd_side_incident(&c->side[0], kind)->count;
}

/* A frame to a QP, each 10 us behind the last one, with an identification of its own. */
static void put(struct scene *s, bool back, unsigned int op, uint32_t psn, const uint8_t *head,
	uint32_t body)
{
	struct make m = {.n = 0};
	struct rd_frame frame = {.ts_ns = s->ns += 10000};
	uint8_t *ip;

	make_packet(&m, MAKE_V2_IPV4, op, back ? ASKER : ANSWERER, body, 0);
	ip = m.b + 14;
	ip[1] = s->tos;
	rd_put_be16(ip + 4, ++s->ip_id);
	if (back) {
		memcpy(ip + 12, "\x0a\0\0\x01\x0a\0\0\x02", 8);
	}
	if (s->group) {
		memcpy(ip + 16, "\xef\1\1\1", 4);
		memset(m.b + 14 + 20 + 8 + 5, 0xff, 3);
	}
	rd_put_be32(m.b + 14 + 20 + 8 + 8, psn & 0xffffff);
	if (op == SEND_ONLY || op == SEND_LAST || op == WRITE_LAST || op == FETCH_ADD)
		m.b[14 + 20 + 8 + 8] |= 0x80;
	if (head)
		memcpy(m.b + 14 + 20 + 8 + 12, head, op == READ || op == WRITE_FIRST ? 16 : 4);
	frame.data = m.b;
	frame.caplen = frame.len = m.n;
	rd_analysis_frames(s->a, RD_LINK_ETHERNET, &frame, 1);
}

static void ask(struct scene *s, enum op op, uint32_t psn)
{
	put(s, false, op, psn, NULL, op == FETCH_ADD ? 28 : 1024);
}

static void read_request(struct scene *s, uint32_t psn, uint32_t length)
{
	uint8_t reth[16] = {0};

	rd_put_be32(reth + 12, length);
	put(s, false, READ, psn, reth, 16);
}

static void answer(struct scene *s, enum op op, uint32_t psn, enum syndrome syndrome)
{
	const uint8_t aeth[4] = {(uint8_t)syndrome, 0, 0, 1};
	uint32_t body = op == RESP_MIDDLE ? 0 : sizeof(aeth);

	if (op >= RESP_FIRST && op <= RESP_ONLY)
		body += 1024;
	else if (op == ATOMIC_ACK)
		body += 8;
	put(s, true, op, psn, op == RESP_MIDDLE ? NULL : aeth, body);
}

static void sends(struct scene *s, uint32_t from, uint32_t to)
{
	for (uint32_t psn = from; psn != ((to + 1) & 0xffffff); psn = (psn + 1) & 0xffffff)
		ask(s, SEND_ONLY, psn);
}

/* --- sequences ------------------------------------------------------------------------------- */

static void healthy(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		ask(&s, SEND_ONLY, i);
		answer(&s, ACK, i, OK);
	}
	c = result(&s);
	assert_int_equal(s.r->n_conversations, 1);
	assert_int_equal(c->pairing, RD_PAIR_PSN);
	assert_int_equal(c->a.qp, ASKER);
	assert_int_equal(c->b.qp, ANSWERER);
	assert_string_equal(c->a.address, "10.0.0.2");
	assert_int_equal(c->side[0].requests, 100);
	assert_int_equal(c->side[0].acks, 100);
	assert_int_equal(c->side[0].goodput_bytes, 102400);
	assert_int_equal(rd_side_latency(&c->side[0], RD_LATENCY_ACK)->n, 100);
	assert_int_equal(rd_side_latency(&c->side[0], RD_LATENCY_ACK)->max, 10000);
	assert_int_equal(rd_side_verb(&c->side[0], RD_VERB_SEND)->messages, 100);
	for (unsigned int i = 0; i < RD_INC_COUNT; i++)
		assert_int_equal(count(c, (enum rd_incident_kind)i), 0);
	assert_int_equal(s.r->findings.n, 0);
	end(&s);
}

static void wraps(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0xfffff0, 0x00000f);
	answer(&s, ACK, 0x00000f, OK);
	sends(&s, 0x000010, 0x000012);
	answer(&s, ACK, 0x000012, OK);
	c = result(&s);
	assert_int_equal(c->side[0].psn_first, 0xfffff0);
	assert_int_equal(c->side[0].psn_last, 0x12);
	for (unsigned int i = 0; i < RD_INC_COUNT; i++)
		assert_int_equal(count(c, (enum rd_incident_kind)i), 0);
	end(&s);
}

/* Lost in front of this point: a hole, a NAK, everything again from there. */
static void go_back_n(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0xfffffe, 0xffffff);
	answer(&s, ACK, 0xffffff, OK);
	sends(&s, 1, 4); /* 0 is missing */
	answer(&s, ACK, 0, NAK_SEQ);
	sends(&s, 0, 4);
	answer(&s, ACK, 4, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_GAP), 1);
	assert_int_equal(count(c, RD_INC_LOST_UPSTREAM), 1);
	assert_int_equal(count(c, RD_INC_LOST_DOWNSTREAM), 0);
	assert_int_equal(count(c, RD_INC_RETRANSMITTED), 5);
	assert_int_equal(count(c, RD_INC_ROUND_NAK), 1);
	assert_int_equal(count(c, RD_INC_ROUND_TIMEOUT), 0);
	assert_int_equal(count(c, RD_INC_REORDERED), 0);
	assert_int_equal(count(c, RD_INC_UNSEEN), 0);
	assert_int_equal(count(c, RD_INC_AT_RECEIVER_SEQUENCE), 1);
	assert_int_equal(count(c, RD_INC_AT_RECEIVER_DUPLICATE), 0);
	assert_int_equal(c->side[0].goodput_bytes, 7 * 1024);
	assert_string_equal(s.r->findings.finding[0].rule, "lost-upstream");
	end(&s);
}

/* Lost downstream of this point: it was seen, but the receiver asks for it. */
static void lost_behind(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0, 1);
	answer(&s, ACK, 1, OK);
	sends(&s, 2, 6);
	answer(&s, ACK, 3, NAK_SEQ);
	sends(&s, 3, 6);
	answer(&s, ACK, 6, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_LOST_DOWNSTREAM), 1);
	assert_int_equal(count(c, RD_INC_LOST_UPSTREAM), 0);
	assert_int_equal(count(c, RD_INC_ROUND_NAK), 1);
	assert_int_equal(count(c, RD_INC_RETRANSMITTED), 4);
	assert_int_equal(count(c, RD_INC_NAK_PROGRESS), 1);
	assert_int_equal(count(c, RD_INC_AT_RECEIVER_DUPLICATE), 0);
	assert_int_equal(count(c, RD_INC_AT_RECEIVER_SEQUENCE), 1);
	assert_string_equal(s.r->findings.finding[0].rule, "lost-downstream");
	assert_int_equal(s.r->findings.finding[0].certainty, RD_CERTAIN);
	end(&s);
}

static void timeout(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0, 1);
	answer(&s, ACK, 1, OK);
	sends(&s, 2, 3);
	s.ns += 50000000;
	sends(&s, 2, 3);
	answer(&s, ACK, 3, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_ROUND_TIMEOUT), 1);
	assert_int_equal(count(c, RD_INC_RETRANSMITTED), 2);
	assert_in_range(c->side[0].timeout_ns, 50000000, 50100000);
	assert_string_equal(s.r->findings.finding[0].rule, "timeout");
	end(&s);
}

static void reordered(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0, 3);
	ask(&s, SEND_ONLY, 6);
	sends(&s, 4, 5);
	sends(&s, 7, 9);
	answer(&s, ACK, 9, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_REORDERED), 2);
	assert_int_equal(count(c, RD_INC_RETRANSMITTED), 0);
	assert_int_equal(count(c, RD_INC_LOST_UPSTREAM), 0);
	assert_int_equal(count(c, RD_INC_UNSEEN), 0);
	end(&s);
}

/* A frame that the network doubles has the same IP identification; one retransmitted has not. */
/* Two gaps that are filled before the receiver's NAKs for them come by: nothing was lost there. */
static void late_naks(void **state)
{
	static const uint32_t order[] = {0, 2, 1, 4, 3};
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		ask(&s, SEND_ONLY, order[i]);
	answer(&s, ACK, 1, NAK_SEQ);
	answer(&s, ACK, 2, NAK_SEQ);
	sends(&s, 2, 4);
	answer(&s, ACK, 4, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_AT_RECEIVER_SEQUENCE), 2);
	assert_int_equal(count(c, RD_INC_LOST_DOWNSTREAM), 0);
	end(&s);
}

static void doubled(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0, 3);
	s.ip_id--;
	ask(&s, SEND_ONLY, 3);
	sends(&s, 4, 5);
	answer(&s, ACK, 5, OK);
	s.ip_id--;
	answer(&s, ACK, 5, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_DUPLICATED), 1);
	assert_int_equal(count(c, RD_INC_RESPONSE_DUPLICATED), 1);
	assert_int_equal(count(c, RD_INC_RETRANSMITTED), 0);
	assert_int_equal(count(c, RD_INC_AT_RECEIVER_DUPLICATE), 1);
	end(&s);
}

/* The capture missed what the receiver had: no loss of the network. */
static void capture_loss(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0, 1);
	answer(&s, ACK, 1, OK);
	sends(&s, 5, 6);
	answer(&s, ACK, 6, OK);
	sends(&s, 7, 8);
	answer(&s, ACK, 11, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_UNSEEN), 3 + 3);
	assert_int_equal(count(c, RD_INC_LOST_UPSTREAM), 0);
	assert_int_equal(count(c, RD_INC_RETRANSMITTED), 0);
	assert_string_equal(s.r->findings.finding[0].rule, "unseen");
	end(&s);
}

static void reused_qp(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 100, 102);
	answer(&s, ACK, 102, OK);
	sends(&s, 0x700000, 0x700002);
	answer(&s, ACK, 0x700002, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_RESTART), 1);
	assert_int_equal(count(c, RD_INC_GAP), 0);
	assert_int_equal(count(c, RD_INC_UNSEEN), 0);
	end(&s);
}

/* --- refusals ----------------------------------------------------------------------------------
 */

static void rnr(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0, 3);
	answer(&s, ACK, 0, RNR);
	answer(&s, ACK, 0, NAK_SEQ);
	s.ns += 2000000;
	sends(&s, 0, 3);
	answer(&s, ACK, 3, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_RNR), 1);
	assert_int_equal(count(c, RD_INC_ROUND_RNR), 1);
	assert_int_equal(count(c, RD_INC_ROUND_NAK), 0);
	assert_int_equal(count(c, RD_INC_LOST_DOWNSTREAM), 0);
	assert_int_equal(count(c, RD_INC_AT_RECEIVER_DUPLICATE), 0);
	assert_int_equal(count(c, RD_INC_AT_RECEIVER_SEQUENCE), 1);
	assert_int_equal(c->side[0].rnr_timer_us, 1280);
	assert_string_equal(s.r->findings.finding[0].rule, "rnr");
	end(&s);
}

static void remote_access(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0, 1);
	answer(&s, ACK, 0, OK);
	answer(&s, ACK, 1, NAK_ACCESS);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_NAK_ACCESS), 1);
	assert_int_equal(c->side[0].ending, RD_ENDING_REMOTE_ERROR);
	assert_string_equal(s.r->findings.finding[0].rule, "remote-access");
	end(&s);
}

static void no_answer(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		sends(&s, 0, 2);
		s.ns += 20000000;
	}
	s.ns += 1000000000;
	put(&s, false, 0x64, 1, NULL, 8 + 64); /* the capture went on */
	c = result(&s);
	assert_int_equal(count(c, RD_INC_ROUND_TIMEOUT), 3);
	assert_int_equal(c->side[0].ending, RD_ENDING_RETRY);
	assert_string_equal(s.r->findings.finding[0].rule, "no-response");
	end(&s);
}

/* --- READ and atomic
 * ------------------------------------------------------------------------------ */

/* A READ takes as many PSNs as it has responses, also before the MTU is known. */
static void reads(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	read_request(&s, 0xfffffd, 5000);
	read_request(&s, 2, 1024);
	for (uint32_t i = 0; i < 5; i++)
		answer(&s,
			i == 0	 ? RESP_FIRST
			: i == 4 ? RESP_LAST
				 : RESP_MIDDLE,
			0xfffffd + i, OK);
	answer(&s, RESP_ONLY, 2, OK);
	ask(&s, SEND_ONLY, 3);
	answer(&s, ACK, 3, OK);
	c = result(&s);
	for (unsigned int i = 0; i < RD_INC_COUNT; i++)
		assert_int_equal(count(c, (enum rd_incident_kind)i), 0);
	assert_int_equal(rd_side_latency(&c->side[0], RD_LATENCY_READ)->n, 2);
	assert_int_equal(c->side[0].mtu, 1024);
	assert_int_equal(c->side[0].goodput_bytes, 7 * 1024);
	assert_int_equal(rd_side_verb(&c->side[0], RD_VERB_READ)->bytes, 6024);
	end(&s);
}

static void read_gap(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	read_request(&s, 0, 4096);
	answer(&s, RESP_FIRST, 0, OK);
	answer(&s, RESP_MIDDLE, 2, OK); /* 1 is missing */
	answer(&s, RESP_LAST, 3, OK);
	s.ns += 1000000;
	read_request(&s, 1, 3072);
	answer(&s, RESP_FIRST, 1, OK);
	answer(&s, RESP_MIDDLE, 2, OK);
	answer(&s, RESP_LAST, 3, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_RESPONSE_GAP), 1);
	assert_int_equal(count(c, RD_INC_ROUND_READ), 1);
	assert_int_equal(count(c, RD_INC_ROUND_TIMEOUT), 0);
	assert_int_equal(count(c, RD_INC_RESPONSE_REPEATED), 2);
	assert_int_equal(count(c, RD_INC_RESPONSE_REORDERED), 0);
	assert_int_equal(count(c, RD_INC_AT_RECEIVER_DUPLICATE), 1);
	assert_int_equal(c->side[0].goodput_bytes, 4096);
	assert_string_equal(s.r->findings.finding[0].rule, "responses-lost-upstream");
	end(&s);
}

static void atomics(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		ask(&s, FETCH_ADD, i);
		answer(&s, ATOMIC_ACK, i, OK);
	}
	s.ns += 50000000; /* the last response is lost downstream of this point */
	ask(&s, FETCH_ADD, 2);
	answer(&s, ATOMIC_ACK, 2, OK);
	c = result(&s);
	assert_int_equal(rd_side_latency(&c->side[0], RD_LATENCY_ATOMIC)->n, 3);
	assert_int_equal(count(c, RD_INC_RESPONSE_LOST), 1);
	assert_int_equal(count(c, RD_INC_RESPONSE_REPEATED), 1);
	assert_int_equal(count(c, RD_INC_AT_RECEIVER_DUPLICATE), 1);
	assert_int_equal(c->side[0].goodput_bytes, 24);
	end(&s);
}

/* --- others
 * ----------------------------------------------------------------------------------------- */

static void unreliable(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	ask(&s, UC_ONLY, 0);
	ask(&s, UC_ONLY, 3);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_UNSEEN), 2);
	assert_string_equal(s.r->findings.finding[0].rule, "unreliable-lost");
	end(&s);
}

static void congestion(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		s.tos = 3;
		ask(&s, SEND_ONLY, i);
		s.tos = 0;
		answer(&s, ACK, i, OK);
	}
	put(&s, true, CNP, 0, NULL, 16);
	c = result(&s);
	assert_int_equal(s.r->n_conversations, 1);
	assert_int_equal(count(c, RD_INC_CE), 20);
	assert_int_equal(count(c, RD_INC_CNP), 1);
	assert_string_equal(s.r->findings.finding[0].rule, "cnp");
	end(&s);
}

static void one_direction(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0, 20);
	c = result(&s);
	assert_int_equal(c->pairing, RD_PAIR_NONE);
	assert_int_equal(c->a.qp, RD_QP_UNKNOWN);
	assert_string_equal(s.r->findings.finding[0].rule, "one-sided");
	end(&s);
}

static void nothing(void **state)
{
	struct scene s = begin();

	(void)state;
	assert_int_equal(rd_analysis_report(s.a, &s.r, NULL), 0);
	assert_int_equal(s.r->n_conversations, 0);
	assert_string_equal(s.r->findings.finding[0].rule, "no-rdma");
	end(&s);
}

/* --- facts
 * ------------------------------------------------------------------------------------------ */

static void facts(struct scene *s, const char *json)
{
	rd_analysis_facts(s->a, json, strlen(json));
}

static const struct rd_comparison *check_of(const struct scene *s, const char *counter)
{
	for (size_t i = 0; i < s->r->n_comparisons; i++)
		if (!strcmp(s->r->comparisons[i].counter, counter))
			return &s->r->comparisons[i];
	return NULL;
}

/* Two QPs with the same PSNs at the same time: only the device's list tells them apart. */
static void resources(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	facts(&s, "{\"kind\":\"qps\",\"qps\":[{\"lqpn\":256,\"rqpn\":512,\"type\":\"RC\"}]}");
	sends(&s, 0, 1);
	answer(&s, ACK, 5, OK); /* no PSN that was seen */
	c = result(&s);
	assert_int_equal(c->pairing, RD_PAIR_RESOURCE);
	assert_int_equal(s.r->n_conversations, 1);
	end(&s);
}

static void counters(void **state)
{
	struct scene s = begin();

	(void)state;
	facts(&s, "{\"kind\":\"device\",\"device\":\"rxe0\",\"port\":1,\"gids\":["
		  "{\"index\":1,\"gid\":\"::ffff:10.0.0.2\"}]}");
	facts(&s, "{\"kind\":\"counters\",\"when\":\"start\",\"device\":\"rxe0\",\"port\":1,"
		  "\"counters\":{\"hw_counters/sent_pkts\":10,\"hw_counters/rcvd_pkts\":5}}");
	facts(&s, "{\"kind\":\"counters\",\"when\":\"end\",\"device\":\"rxe0\",\"port\":1,"
		  "\"counters\":{\"hw_counters/sent_pkts\":14,\"hw_counters/rcvd_pkts\":8}}");
	sends(&s, 0, 3);
	answer(&s, ACK, 3, OK);
	result(&s);
	assert_int_equal(s.r->n_comparisons, 2);
	assert_true(check_of(&s, "sent_pkts")->agrees);
	assert_false(check_of(&s, "rcvd_pkts")->agrees);
	assert_int_equal(check_of(&s, "rcvd_pkts")->device_count, 3);
	assert_int_equal(check_of(&s, "rcvd_pkts")->packets, 1);
	assert_string_equal(s.r->findings.finding[0].rule, "counters-differ");
	end(&s);
}

/* A counter that fell counted something, but nobody knows what; one that is gone, too. */
static void counters_reset(void **state)
{
	struct scene s = begin();

	(void)state;
	facts(&s, "{\"kind\":\"device\",\"device\":\"rxe0\",\"port\":1,\"gids\":["
		  "{\"index\":1,\"gid\":\"::ffff:10.0.0.2\"}]}");
	facts(&s, "{\"kind\":\"counters\",\"when\":\"start\",\"device\":\"rxe0\",\"port\":1,"
		  "\"counters\":{\"hw_counters/sent_pkts\":10,\"hw_counters/rcvd_pkts\":5,"
		  "\"hw_counters/send_rnr_err\":1}}");
	facts(&s, "{\"kind\":\"counters\",\"when\":\"end\",\"device\":\"rxe0\",\"port\":1,"
		  "\"counters\":{\"hw_counters/sent_pkts\":3,\"hw_counters/rcvd_pkts\":6}}");
	sends(&s, 0, 3);
	answer(&s, ACK, 3, OK);
	result(&s);
	assert_int_equal(s.r->n_comparisons, 3);
	assert_true(check_of(&s, "rcvd_pkts")->known && check_of(&s, "rcvd_pkts")->agrees);
	assert_false(check_of(&s, "sent_pkts")->known || check_of(&s, "sent_pkts")->agrees);
	assert_string_equal(check_of(&s, "sent_pkts")->why, "the counter was reset");
	assert_false(check_of(&s, "send_rnr_err")->known);
	assert_string_equal(
		check_of(&s, "send_rnr_err")->why, "the counter is missing in one of the readings");
	for (size_t i = 0; i < s.r->findings.n; i++)
		assert_string_not_equal(s.r->findings.finding[i].rule, "counters-differ");
	end(&s);
}

/* The device at 10.0.0.2 counted `sent` and `received` frames, and `repeats` of its requests. */
static void counted(struct scene *s, unsigned int sent, unsigned int received, unsigned int repeats)
{
	char text[400];

	facts(s, "{\"kind\":\"device\",\"device\":\"rxe0\",\"port\":1,\"gids\":["
		 "{\"index\":1,\"gid\":\"::ffff:10.0.0.2\"}]}");
	facts(s, "{\"kind\":\"counters\",\"when\":\"start\",\"device\":\"rxe0\",\"port\":1,"
		 "\"counters\":{\"hw_counters/sent_pkts\":0,\"hw_counters/rcvd_pkts\":0,"
		 "\"hw_counters/completer_retry_err\":0}}");
	snprintf(text, sizeof(text),
		"{\"kind\":\"counters\",\"when\":\"end\",\"device\":\"rxe0\",\"port\":1,"
		"\"counters\":{\"hw_counters/sent_pkts\":%u,\"hw_counters/rcvd_pkts\":%u,"
		"\"hw_counters/completer_retry_err\":%u}}",
		sent, received, repeats);
	facts(s, text);
}

/* A difference says why where the packets show it. */
static void counters_why(void **state)
{
	static const struct {
		unsigned int sent, received, repeats;
		const char *counter, *why; /* NULL: nothing explains it */
	} cases[] = {
		{5, 1, 0, "sent_pkts", "dropped between the device's transport"},
		{5, 1, 2, "completer_retry_err", "dropped between the device's transport"},
		{3, 1, 0, "sent_pkts", "duplicated between"},
		{4, 0, 0, "rcvd_pkts", "did not come to an open QP"},
		{4, 2, 0, "rcvd_pkts", NULL},
		{4, 1, 2, "completer_retry_err", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene s = begin();
		const struct rd_comparison *c;

		counted(&s, cases[i].sent, cases[i].received, cases[i].repeats);
		sends(&s, 0, 3);
		answer(&s, ACK, 3, OK);
		result(&s);
		c = check_of(&s, cases[i].counter);
		assert_false(c->agrees);
		if (cases[i].why)
			assert_non_null(strstr(c->why ? c->why : "", cases[i].why));
		else
			assert_null(c->why);
		end(&s);
	}
}

/* What another end sent to a group the device counts as received. */
static void counters_of_group(void **state)
{
	struct scene s = begin();

	(void)state;
	s.group = true;
	counted(&s, 0, 3, 0);
	for (uint32_t psn = 0; psn < 3; psn++)
		put(&s, true, UD_ONLY, psn, NULL, 8 + 256);
	result(&s);
	assert_int_equal(check_of(&s, "rcvd_pkts")->packets, 3);
	assert_int_equal(check_of(&s, "sent_pkts")->packets, 0);
	end(&s);
}

static void hostile_facts(void **state)
{
	static const char *const texts[] = {"", "{", "[]", "{\"kind\":7}", "{\"kind\":\"qps\"}",
		"{\"kind\":\"qps\",\"qps\":[7,{},{\"lqpn\":-1,\"rqpn\":1e300}]}",
		"{\"kind\":\"device\",\"gids\":[{}]}",
		"{\"kind\":\"device\",\"device\":\"\\u001b\",\"gids\":[{\"gid\":\"x\"},7]}",
		"{\"kind\":\"counters\",\"device\":\"d\",\"when\":\"end\",\"counters\":[]}",
		"{\"kind\":\"counters\",\"device\":\"d\",\"counters\":{\"a\":\"b\"}}"};
	struct scene s = begin();

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		facts(&s, texts[i]);
	sends(&s, 0, 3);
	result(&s);
	assert_int_equal(s.r->n_comparisons, 0);
	end(&s);
}

/* Over the limit frames are counted, and the report says so. */
static void too_many(void **state)
{
	struct scene s = begin();
	const struct rd_analysis_config config = {
		.skip_icrc = true, .qp = RD_QP_UNKNOWN, .max_qps = 1};

	(void)state;
	rd_analysis_close(s.a);
	assert_int_equal(rd_analysis_open(&s.a, &config, NULL), 0);
	sends(&s, 0, 3);
	answer(&s, ACK, 3, OK);
	result(&s);
	assert_int_equal(s.r->totals.frames_left_out, 1);
	assert_int_equal(s.r->totals.frames, 5);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(healthy),
		cmocka_unit_test(wraps),
		cmocka_unit_test(go_back_n),
		cmocka_unit_test(lost_behind),
		cmocka_unit_test(timeout),
		cmocka_unit_test(reordered),
		cmocka_unit_test(late_naks),
		cmocka_unit_test(doubled),
		cmocka_unit_test(capture_loss),
		cmocka_unit_test(reused_qp),
		cmocka_unit_test(rnr),
		cmocka_unit_test(remote_access),
		cmocka_unit_test(no_answer),
		cmocka_unit_test(reads),
		cmocka_unit_test(read_gap),
		cmocka_unit_test(atomics),
		cmocka_unit_test(unreliable),
		cmocka_unit_test(congestion),
		cmocka_unit_test(one_direction),
		cmocka_unit_test(nothing),
		cmocka_unit_test(resources),
		cmocka_unit_test(counters),
		cmocka_unit_test(counters_reset),
		cmocka_unit_test(counters_why),
		cmocka_unit_test(counters_of_group),
		cmocka_unit_test(hostile_facts),
		cmocka_unit_test(too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
