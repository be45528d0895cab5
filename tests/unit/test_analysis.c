/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the analysis derives from synthetic frames: incidents and findings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_scene.h"

/* --- sequences -------------------------------------------------------------------------------- */

static void healthy(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		request(&s, SEND_ONLY, i);
		respond(&s, ACK, i, OK);
	}
	c = result(&s);
	assert_int_equal(s.r->n_conversations, 1);
	assert_int_equal(c->pairing, RD_PAIR_PSN);
	assert_int_equal(c->a.qp, REQUESTER);
	assert_int_equal(c->b.qp, RESPONDER);
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
	respond(&s, ACK, 0x00000f, OK);
	sends(&s, 0x000010, 0x000012);
	respond(&s, ACK, 0x000012, OK);
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
	respond(&s, ACK, 0xffffff, OK);
	sends(&s, 1, 4); /* 0 is missing */
	respond(&s, ACK, 0, NAK_SEQ);
	sends(&s, 0, 4);
	respond(&s, ACK, 4, OK);
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

/*
 * Bytes of messages whose packets come behind later ones: each counts once, in no other message,
 * and a message that was not captured in order has no part in the smallest and largest size.
 */
static void sizes_of_messages(void **state)
{
	struct scene s = begin();
	const struct rd_verb_use *use;

	(void)state;
	request(&s, SEND_FIRST, 0);
	request(&s, SEND_MIDDLE, 1);
	request(&s, SEND_LAST, 2);
	respond(&s, ACK, 2, OK);
	request(&s, SEND_FIRST, 3); /* 4, 5 and 6: the end of this one, the beginning of the next */
	request(&s, SEND_MIDDLE, 7);
	respond(&s, ACK, 4, NAK_SEQ);
	request(&s, SEND_MIDDLE, 4);
	request(&s, SEND_LAST, 5);
	request(&s, SEND_FIRST, 6);
	request(&s, SEND_MIDDLE, 7);
	request(&s, SEND_LAST, 8);
	respond(&s, ACK, 8, OK);
	use = rd_side_verb(&result(&s)->side[0], RD_VERB_SEND);
	assert_int_equal(use->messages, 3);
	assert_int_equal(use->packets, 9);
	assert_int_equal(use->bytes, 9 * 1024);
	assert_int_equal(use->smallest, 3 * 1024);
	assert_int_equal(use->largest, 3 * 1024);
	end(&s);
}

/* A READ that several MTUs explain shows none of them: the next READ has fewer responses. */
static void mtu_is_ambiguous(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	read_request(&s, 0, 1687); /* one response: 2048 or 4096 */
	read_request(&s, 1, 7005); /* two: 4096 */
	read_request(&s, 3, 911);
	read_request(&s, 4, 628);
	respond(&s, RESP_ONLY, 0, OK);
	c = result(&s);
	assert_int_equal(rd_side_verb(&c->side[0], RD_VERB_READ)->messages, 4);
	assert_int_equal(c->side[0].mtu, 4096);
	for (unsigned int i = 0; i < RD_INC_COUNT; i++)
		assert_int_equal(count(c, (enum rd_incident_kind)i), 0);
	end(&s);
}

/* A capture that begins within a message does not know its size. */
static void size_unknown(void **state)
{
	struct scene s = begin();
	const struct rd_verb_use *use;

	(void)state;
	request(&s, SEND_MIDDLE, 1);
	request(&s, SEND_LAST, 2);
	respond(&s, ACK, 2, OK);
	use = rd_side_verb(&result(&s)->side[0], RD_VERB_SEND);
	assert_int_equal(use->messages, 1);
	assert_int_equal(use->bytes, 2 * 1024);
	assert_true(use->smallest > use->largest);
	end(&s);
}

/* Each NAK for a single packet has its round, also where no new one is sent between them. */
static void selective_neighbours(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0, 9);
	respond(&s, ACK, 2, NAK_SEQ);
	sends(&s, 2, 2);
	respond(&s, ACK, 9, OK);
	sends(&s, 10, 19);
	respond(&s, ACK, 12, NAK_SEQ);
	sends(&s, 12, 12);
	respond(&s, ACK, 13, NAK_SEQ);
	sends(&s, 13, 13);
	respond(&s, ACK, 17, NAK_SEQ);
	sends(&s, 17, 17);
	respond(&s, ACK, 19, OK);
	sends(&s, 20, 20);
	respond(&s, ACK, 20, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_ROUND_NAK), 4);
	assert_int_equal(count(c, RD_INC_ROUND_TIMEOUT), 0);
	assert_int_equal(count(c, RD_INC_SELECTIVE), 4);
	assert_int_equal(count(c, RD_INC_RETRANSMITTED), 4);
	assert_int_equal(count(c, RD_INC_LOST_DOWNSTREAM), 4);
	end(&s);
}

/* Lost downstream of this point: it was seen, but the receiver asks for it. */
static void lost_downstream(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0, 1);
	respond(&s, ACK, 1, OK);
	sends(&s, 2, 6);
	respond(&s, ACK, 3, NAK_SEQ);
	sends(&s, 3, 6);
	respond(&s, ACK, 6, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_LOST_DOWNSTREAM), 1);
	assert_int_equal(count(c, RD_INC_LOST_UPSTREAM), 0);
	assert_int_equal(count(c, RD_INC_ROUND_NAK), 1);
	assert_int_equal(count(c, RD_INC_RETRANSMITTED), 4);
	assert_int_equal(count(c, RD_INC_NAK_PROGRESS), 1);
	assert_int_equal(count(c, RD_INC_AT_RECEIVER_DUPLICATE), 0);
	assert_int_equal(count(c, RD_INC_AT_RECEIVER_SEQUENCE), 1);
	assert_string_equal(s.r->findings.finding[0].rule, "lost-downstream");
	/* Reordering downstream makes receivers send the same NAK. */
	assert_int_equal(s.r->findings.finding[0].certainty, RD_LIKELY);
	end(&s);
}

static void timeout(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0, 1);
	respond(&s, ACK, 1, OK);
	sends(&s, 2, 3);
	s.ns += 50000000;
	sends(&s, 2, 3);
	respond(&s, ACK, 3, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_ROUND_TIMEOUT), 1);
	assert_int_equal(count(c, RD_INC_RETRANSMITTED), 2);
	assert_in_range(rd_side_latency(&c->side[0], RD_LATENCY_TIMEOUT)->p50, 50000000, 50100000);
	assert_string_equal(s.r->findings.finding[0].rule, "timeout");
	end(&s);
}

static void reordered(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0, 3);
	request(&s, SEND_ONLY, 6);
	sends(&s, 4, 5);
	sends(&s, 7, 9);
	respond(&s, ACK, 9, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_REORDERED), 2);
	assert_int_equal(count(c, RD_INC_RETRANSMITTED), 0);
	assert_int_equal(count(c, RD_INC_LOST_UPSTREAM), 0);
	assert_int_equal(count(c, RD_INC_UNSEEN), 0);
	end(&s);
}

/* Behind a packet that is late at the receiver, others are discarded: they are not late. */
static void discarded_behind_a_late_packet(void **state)
{
	const struct rd_conversation *c;

	(void)state;
	for (unsigned int ack = 0; ack < 2; ack++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 5; psn++) {
			request(&s, SEND_ONLY, psn);
			respond(&s, ACK, psn, OK);
		}
		sends(&s, 5, 7);
		respond(&s, ACK, 5, NAK_SEQ);
		if (ack)
			respond(&s, ACK, 5, OK);
		respond(&s, ACK, 6, NAK_SEQ);
		sends(&s, 6, 7);
		respond(&s, ACK, 7, OK);
		c = result(&s);
		assert_int_equal(count(c, RD_INC_REORDERED_DOWNSTREAM), 1);
		assert_int_equal(count(c, RD_INC_LOST_DOWNSTREAM), 0);
		end(&s);
	}
}

/* A retransmission that was captured before the NAK may arrive just after it. */
static void denied_copy_on_its_way(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	for (uint32_t psn = 0; psn < 5; psn++) {
		request(&s, SEND_ONLY, psn);
		respond(&s, ACK, psn, OK);
	}
	sends(&s, 5, 8);
	respond(&s, ACK, 5, NAK_SEQ);
	sends(&s, 5, 8);
	respond(&s, ACK, 6, NAK_SEQ);
	request(&s, SEND_ONLY, 6);
	s.ns -= 6000; /* sooner than any response to it */
	respond(&s, ACK, 6, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_REORDERED_DOWNSTREAM), 0);
	end(&s);
}

/* Two gaps that are filled before the receiver's NAKs for them come by: nothing was lost there. */
static void late_naks(void **state)
{
	static const uint32_t order[] = {0, 2, 1, 4, 3};
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		request(&s, SEND_ONLY, order[i]);
	respond(&s, ACK, 1, NAK_SEQ);
	respond(&s, ACK, 2, NAK_SEQ);
	sends(&s, 2, 4);
	respond(&s, ACK, 4, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_AT_RECEIVER_SEQUENCE), 2);
	assert_int_equal(count(c, RD_INC_LOST_DOWNSTREAM), 0);
	end(&s);
}

/* A frame that the network doubles has the same IP identification; one retransmitted has not. */
static void duplicated(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0, 3);
	s.ip_id--;
	request(&s, SEND_ONLY, 3);
	sends(&s, 4, 5);
	respond(&s, ACK, 5, OK);
	s.ip_id--;
	respond(&s, ACK, 5, OK);
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
	respond(&s, ACK, 1, OK);
	sends(&s, 5, 6);
	respond(&s, ACK, 6, OK);
	sends(&s, 7, 8);
	respond(&s, ACK, 11, OK);
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
	respond(&s, ACK, 102, OK);
	sends(&s, 0x700000, 0x700002);
	respond(&s, ACK, 0x700002, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_RESTART), 1);
	assert_int_equal(count(c, RD_INC_GAP), 0);
	assert_int_equal(count(c, RD_INC_UNSEEN), 0);
	end(&s);
}

/* --- refusals --------------------------------------------------------------------------------- */

static void rnr(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0, 3);
	respond(&s, ACK, 0, RNR);
	respond(&s, ACK, 0, NAK_SEQ);
	s.ns += 2000000;
	sends(&s, 0, 3);
	respond(&s, ACK, 3, OK);
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
	respond(&s, ACK, 0, OK);
	respond(&s, ACK, 1, NAK_ACCESS);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_NAK_ACCESS), 1);
	assert_int_equal(c->side[0].ending, RD_ENDING_REMOTE_ERROR);
	assert_string_equal(s.r->findings.finding[0].rule, "remote-access");
	end(&s);
}

static void no_response(void **state)
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

/* --- READ and atomic -------------------------------------------------------------------------- */

/* A READ takes as many PSNs as it has responses, also before the MTU is known. */
static void reads(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	read_request(&s, 0xfffffd, 5000);
	read_request(&s, 2, 1024);
	for (uint32_t i = 0; i < 5; i++)
		respond(&s,
			i == 0	 ? RESP_FIRST
			: i == 4 ? RESP_LAST
				 : RESP_MIDDLE,
			0xfffffd + i, OK);
	respond(&s, RESP_ONLY, 2, OK);
	request(&s, SEND_ONLY, 3);
	respond(&s, ACK, 3, OK);
	c = result(&s);
	for (unsigned int i = 0; i < RD_INC_COUNT; i++)
		assert_int_equal(count(c, (enum rd_incident_kind)i), 0);
	assert_int_equal(rd_side_latency(&c->side[0], RD_LATENCY_READ)->n, 2);
	assert_int_equal(c->side[0].mtu, 1024);
	assert_int_equal(c->side[0].goodput_bytes, 7 * 1024);
	assert_int_equal(rd_side_verb(&c->side[0], RD_VERB_READ)->bytes, 6024);
	end(&s);
}

/* A READ whose responses this point has, requested again from the second one on after `ns`. */
static struct scene read_again(uint64_t ns)
{
	struct scene s = begin();

	for (uint32_t psn = 0; psn < 32; psn += 4) {
		read_request(&s, psn, 4096);
		respond(&s, RESP_FIRST, psn, OK);
		respond(&s, RESP_MIDDLE, psn + 1, OK);
		respond(&s, RESP_MIDDLE, psn + 2, OK);
		respond(&s, RESP_LAST, psn + 3, OK);
		s.ns += ns;
		read_request(&s, psn + 1, 3072);
		respond(&s, RESP_FIRST, psn + 1, OK);
		respond(&s, RESP_MIDDLE, psn + 2, OK);
		respond(&s, RESP_LAST, psn + 3, OK);
	}
	return s;
}

/* The later responses show the requester at once that one is missing: no timer fired. */
static void response_missing_downstream(void **state)
{
	struct scene s = read_again(100000);
	const struct rd_conversation *c = result(&s);

	(void)state;
	assert_int_equal(count(c, RD_INC_ROUND_READ), 8);
	assert_int_equal(count(c, RD_INC_ROUND_TIMEOUT), 0);
	assert_int_equal(count(c, RD_INC_CROSSED), 0);
	assert_int_equal(count(c, RD_INC_RESPONSE_LOST), 8);
	assert_null(finding(&s, "timeout-short"));
	end(&s);
	s = read_again(100000000); /* all of them were lost */
	c = result(&s);
	assert_int_equal(count(c, RD_INC_ROUND_READ), 0);
	assert_int_equal(count(c, RD_INC_ROUND_TIMEOUT), 8);
	end(&s);
}

static void read_gap(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	read_request(&s, 0, 4096);
	respond(&s, RESP_FIRST, 0, OK);
	respond(&s, RESP_MIDDLE, 2, OK); /* 1 is missing */
	respond(&s, RESP_LAST, 3, OK);
	s.ns += 1000000;
	read_request(&s, 1, 3072);
	respond(&s, RESP_FIRST, 1, OK);
	respond(&s, RESP_MIDDLE, 2, OK);
	respond(&s, RESP_LAST, 3, OK);
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
		request(&s, FETCH_ADD, i);
		respond(&s, ATOMIC_ACK, i, OK);
	}
	s.ns += 50000000; /* the last response is lost downstream of this point */
	request(&s, FETCH_ADD, 2);
	respond(&s, ATOMIC_ACK, 2, OK);
	c = result(&s);
	assert_int_equal(rd_side_latency(&c->side[0], RD_LATENCY_ATOMIC)->n, 3);
	assert_int_equal(count(c, RD_INC_RESPONSE_LOST), 1);
	assert_int_equal(count(c, RD_INC_RESPONSE_REPEATED), 1);
	assert_int_equal(count(c, RD_INC_AT_RECEIVER_DUPLICATE), 1);
	assert_int_equal(c->side[0].goodput_bytes, 24);
	end(&s);
}

/* --- others ----------------------------------------------------------------------------------- */

static void unreliable(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	request(&s, UC_ONLY, 0);
	request(&s, UC_ONLY, 3);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_UNSEEN), 2);
	assert_string_equal(s.r->findings.finding[0].rule, "unreliable-lost");
	end(&s);
}

/* Goodput of the conversation, and of its time series. */
static void assert_goodput(struct scene *s, uint64_t bytes)
{
	const struct rd_conversation *c = result(s);
	uint64_t sum = 0;

	for (unsigned int i = 0; i < c->series.n; i++)
		sum += c->series.points[i].goodput_bytes;
	assert_int_equal(c->side[0].goodput_bytes, bytes);
	assert_int_equal(sum, bytes);
	end(s);
}

static void goodput_of_series(void **state)
{
	struct scene s = begin();

	(void)state;
	request(&s, UC_ONLY, 0);
	request(&s, UC_FIRST, 1); /* a message that does not end */
	assert_goodput(&s, 1024);

	s = begin();
	for (uint32_t psn = 0; psn < 3; psn++)
		put(&s, false, UD_ONLY, psn, NULL, 8 + 256);
	assert_goodput(&s, 3ULL * 256);

	s = begin();
	request(&s, SEND_ONLY, 0);
	respond(&s, ACK, 0, OK);
	read_request(&s, 1, 2048);
	respond(&s, RESP_FIRST, 1, OK);
	respond(&s, RESP_LAST, 2, OK);
	assert_goodput(&s, 3ULL * 1024);
}

/* A clock that begins at zero. */
static void times_near_zero(void **state)
{
	struct scene s = begin();

	(void)state;
	s.ns = 0;
	sends(&s, 0, 2);
	result(&s);
	assert_int_equal(s.r->totals.first_ns, 10000);
	assert_int_equal(s.r->totals.last_ns, 30000);
	assert_int_equal(s.r->totals.backwards, 0);
	end(&s);
}

static void congestion(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		s.tos = 3;
		request(&s, SEND_ONLY, i);
		s.tos = 0;
		respond(&s, ACK, i, OK);
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

/* --- facts ------------------------------------------------------------------------------------ */

static void facts(struct scene *s, const char *json)
{
	rd_analysis_facts(s->a, json, strlen(json));
}

/* rxe0 at 10.0.0.2. */
static void device(struct scene *s)
{
	facts(s, "{\"kind\":\"device\",\"device\":\"rxe0\",\"port\":1,\"gids\":["
		 "{\"index\":1,\"gid\":\"::ffff:10.0.0.2\"}]}");
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
	respond(&s, ACK, 5, OK); /* no PSN that was seen */
	c = result(&s);
	assert_int_equal(c->pairing, RD_PAIR_RESOURCE);
	assert_int_equal(s.r->n_conversations, 1);
	end(&s);
}

static void counters(void **state)
{
	struct scene s = begin();

	(void)state;
	device(&s);
	facts(&s, "{\"kind\":\"counters\",\"when\":\"start\",\"device\":\"rxe0\",\"port\":1,"
		  "\"counters\":{\"hw_counters/sent_pkts\":10,\"hw_counters/rcvd_pkts\":5}}");
	facts(&s, "{\"kind\":\"counters\",\"when\":\"end\",\"device\":\"rxe0\",\"port\":1,"
		  "\"counters\":{\"hw_counters/sent_pkts\":14,\"hw_counters/rcvd_pkts\":8}}");
	sends(&s, 0, 3);
	respond(&s, ACK, 3, OK);
	result(&s);
	assert_int_equal(s.r->n_comparisons, 2);
	assert_true(check_of(&s, "sent_pkts")->agrees);
	assert_false(check_of(&s, "rcvd_pkts")->agrees);
	assert_int_equal(check_of(&s, "rcvd_pkts")->device_count, 3);
	assert_int_equal(check_of(&s, "rcvd_pkts")->packets, 1);
	assert_string_equal(s.r->findings.finding[0].rule, "counters-differ");
	end(&s);
}

/* The growth of a counter that fell, or that is absent later, is unknown. */
static void counters_reset(void **state)
{
	struct scene s = begin();

	(void)state;
	device(&s);
	facts(&s, "{\"kind\":\"counters\",\"when\":\"start\",\"device\":\"rxe0\",\"port\":1,"
		  "\"counters\":{\"hw_counters/sent_pkts\":10,\"hw_counters/rcvd_pkts\":5,"
		  "\"hw_counters/send_rnr_err\":1}}");
	facts(&s, "{\"kind\":\"counters\",\"when\":\"end\",\"device\":\"rxe0\",\"port\":1,"
		  "\"counters\":{\"hw_counters/sent_pkts\":3,\"hw_counters/rcvd_pkts\":6}}");
	sends(&s, 0, 3);
	respond(&s, ACK, 3, OK);
	result(&s);
	assert_int_equal(s.r->n_comparisons, 3);
	/* It may have passed its former value again since then. */
	assert_false(check_of(&s, "rcvd_pkts")->known || check_of(&s, "rcvd_pkts")->agrees);
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

	device(s);
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
		{4, 0, 0, "rcvd_pkts", "did not arrive at an open QP"},
		{4, 2, 0, "rcvd_pkts", NULL},
		{4, 1, 2, "completer_retry_err", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene s = begin();
		const struct rd_comparison *c;

		counted(&s, cases[i].sent, cases[i].received, cases[i].repeats);
		sends(&s, 0, 3);
		respond(&s, ACK, 3, OK);
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

/* A NAK at the start of a message may or may not be one for the device's own counter. */
static void counters_nak_at_start(void **state)
{
	struct scene s = begin();

	(void)state;
	device(&s);
	facts(&s, "{\"kind\":\"counters\",\"when\":\"start\",\"device\":\"rxe0\",\"port\":1,"
		  "\"counters\":{\"hw_counters/rcvd_seq_err\":0}}");
	facts(&s, "{\"kind\":\"counters\",\"when\":\"end\",\"device\":\"rxe0\",\"port\":1,"
		  "\"counters\":{\"hw_counters/rcvd_seq_err\":0}}");
	sends(&s, 0, 4);
	respond(&s, ACK, 1, OK);
	respond(&s, ACK, 3, NAK_SEQ);
	result(&s);
	assert_int_equal(check_of(&s, "rcvd_seq_err")->packets, 1);
	assert_false(check_of(&s, "rcvd_seq_err")->agrees);
	assert_non_null(check_of(&s, "rcvd_seq_err")->why);
	assert_non_null(strstr(check_of(&s, "rcvd_seq_err")->why, "the first packet of a message"));
	end(&s);
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
	const json_t *totals;
	json_t *json;

	(void)state;
	rd_analysis_close(s.a);
	assert_int_equal(rd_analysis_open(&s.a, &config, NULL), 0);
	sends(&s, 0, 3);
	respond(&s, ACK, 3, OK);
	result(&s);
	assert_int_equal(s.r->totals.frames_left_out, 1);
	assert_int_equal(s.r->totals.frames, 5);
	json = rd_report_json(s.r);
	totals = json_object_get(json, "totals");
	assert_int_equal(json_integer_value(json_object_get(totals, "qps")), 1);
	assert_true(json_is_null(json_object_get(totals, "qps_left_out")));
	assert_string_equal(json_string_value(json_object_get(totals, "qps_left_out_unknown")),
		"not_remembered");
	json_decref(json);
	end(&s);
}

/* Under the limit no QP is left out, and that is known. */
static void not_too_many(void **state)
{
	struct scene s = begin();
	const json_t *totals;
	json_t *json;

	(void)state;
	sends(&s, 0, 3);
	result(&s);
	json = rd_report_json(s.r);
	totals = json_object_get(json, "totals");
	assert_true(json_is_integer(json_object_get(totals, "qps_left_out")));
	assert_int_equal(json_integer_value(json_object_get(totals, "qps_left_out")), 0);
	assert_true(json_is_null(json_object_get(totals, "qps_left_out_unknown")));
	json_decref(json);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(healthy),
		cmocka_unit_test(wraps),
		cmocka_unit_test(go_back_n),
		cmocka_unit_test(sizes_of_messages),
		cmocka_unit_test(size_unknown),
		cmocka_unit_test(selective_neighbours),
		cmocka_unit_test(mtu_is_ambiguous),
		cmocka_unit_test(lost_downstream),
		cmocka_unit_test(timeout),
		cmocka_unit_test(reordered),
		cmocka_unit_test(late_naks),
		cmocka_unit_test(discarded_behind_a_late_packet),
		cmocka_unit_test(denied_copy_on_its_way),
		cmocka_unit_test(duplicated),
		cmocka_unit_test(capture_loss),
		cmocka_unit_test(reused_qp),
		cmocka_unit_test(rnr),
		cmocka_unit_test(remote_access),
		cmocka_unit_test(no_response),
		cmocka_unit_test(reads),
		cmocka_unit_test(response_missing_downstream),
		cmocka_unit_test(read_gap),
		cmocka_unit_test(atomics),
		cmocka_unit_test(unreliable),
		cmocka_unit_test(goodput_of_series),
		cmocka_unit_test(times_near_zero),
		cmocka_unit_test(congestion),
		cmocka_unit_test(one_direction),
		cmocka_unit_test(nothing),
		cmocka_unit_test(resources),
		cmocka_unit_test(counters),
		cmocka_unit_test(counters_reset),
		cmocka_unit_test(counters_why),
		cmocka_unit_test(counters_nak_at_start),
		cmocka_unit_test(counters_of_group),
		cmocka_unit_test(hostile_facts),
		cmocka_unit_test(too_many),
		cmocka_unit_test(not_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
