/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Findings that are false, or not sure, where a QP is used again or the capture changes frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_scene.h"

/* --- a QP that is used again ------------------------------------------------------------------ */

/* ACKs have the MSN `messages`, which counts the messages of a connection. */
static void acknowledge(struct scene *s, uint32_t psn, uint8_t messages)
{
	s->msn = messages;
	respond(s, ACK, psn, OK);
}

/* The PSNs of the next connection are ahead of those of the last one: nothing is missing. */
static void reused_ahead(void **state)
{
	(void)state;
	for (int again = 0; again < 2; again++) {
		struct scene s = begin();
		const struct rd_conversation *c;

		sends(&s, 0, 19);
		acknowledge(&s, 19, 20);
		sends(&s, 70, 72);
		acknowledge(&s, 72, again ? 3 : 73);
		sends(&s, 73, 75);
		acknowledge(&s, 75, again ? 6 : 76);
		c = result(&s);
		assert_int_equal(count(c, RD_INC_RESTART), again);
		assert_int_equal(count(c, RD_INC_UNSEEN), again ? 0 : 50);
		if (again)
			assert_null(finding(&s, "unseen"));
		else
			assert_certainty(&s, "unseen", RD_LIKELY);
		end(&s);
	}
}

/* The same, where the capture has no request before the first response. */
static void reused_unseen(void **state)
{
	(void)state;
	for (uint32_t psn = 20; psn <= 70; psn += 50) {
		struct scene s = begin();
		const struct rd_conversation *c;

		sends(&s, 0, 19);
		acknowledge(&s, 19, 20);
		acknowledge(&s, psn, 1);
		sends(&s, psn + 1, psn + 3);
		acknowledge(&s, psn + 3, 4);
		c = result(&s);
		assert_int_equal(count(c, RD_INC_RESTART), 1);
		assert_int_equal(count(c, RD_INC_UNSEEN), 0);
		end(&s);
	}
}

/* The same, where the first response is one to a READ or an atomic. */
static void reused_for_read(void **state)
{
	(void)state;
	for (int atomic = 0; atomic < 2; atomic++) {
		struct scene s = begin();

		sends(&s, 0, 19);
		acknowledge(&s, 19, 20);
		s.msn = 1;
		if (atomic)
			request(&s, FETCH_ADD, 70);
		else
			read_request(&s, 70, 1024);
		respond(&s, atomic ? ATOMIC_ACK : RESP_ONLY, 70, OK);
		assert_int_equal(count(result(&s), RD_INC_RESTART), 1);
		assert_null(finding(&s, "unseen"));
		end(&s);
	}
}

/* Older ACKs, and an MSN that is unknown as the capture begins, are no new connection. */
static void msn_of_one_connection(void **state)
{
	struct scene s = begin();

	(void)state;
	sends(&s, 0, 19);
	acknowledge(&s, 9, 200);
	acknowledge(&s, 19, 210);
	acknowledge(&s, 14, 205); /* came late */
	sends(&s, 30, 39);
	acknowledge(&s, 39, 230);
	assert_int_equal(count(result(&s), RD_INC_RESTART), 0);
	assert_int_equal(count(s.r->conversations, RD_INC_UNSEEN), 10);
	end(&s);
}

/* A response that is repeated has the count of its first copy, behind that of a later READ. */
static void msn_of_repeated(void **state)
{
	struct scene s = begin();

	(void)state;
	sends(&s, 0, 0);
	acknowledge(&s, 0, 8);
	read_request(&s, 1, 1024);
	read_request(&s, 2, 1024);
	s.msn = 10;
	respond(&s, RESP_ONLY, 2, OK);
	read_request(&s, 1, 1024);
	s.msn = 9;
	respond(&s, RESP_ONLY, 1, OK);
	read_request(&s, 2, 1024);
	s.msn = 10;
	respond(&s, RESP_ONLY, 2, OK);
	assert_int_equal(count(result(&s), RD_INC_RESTART), 0);
	end(&s);
}

/*
 * A responder's count that stays the same, or rises by no more than was captured, excludes that
 * packets of its connection are missing. A count that is not known to rise excludes nothing.
 */
static void reused_soon(void **state)
{
	static const struct {
		uint8_t first, before, after;
		bool restart, likely;
	} rows[] = {{1, 2, 2, true, false}, {1, 2, 3, true, false}, {1, 2, 5, false, true},
		{2, 2, 2, false, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct scene s = begin();

		sends(&s, 0, 0);
		acknowledge(&s, 0, rows[i].first);
		sends(&s, 1, 1);
		acknowledge(&s, 1, rows[i].before);
		sends(&s, 7, 8);
		acknowledge(&s, 8, rows[i].after);
		assert_int_equal(count(result(&s), RD_INC_RESTART), rows[i].restart);
		if (rows[i].restart)
			assert_null(finding(&s, "unseen"));
		else
			assert_certainty(&s, "unseen", rows[i].likely ? RD_LIKELY : RD_POSSIBLE);
		end(&s);
	}
}

/* A packet of the gap comes again: then only its first copy is missing, and no connection began. */
static void gap_is_loss(void **state)
{
	struct scene s = begin();

	(void)state;
	sends(&s, 0, 0);
	acknowledge(&s, 0, 1);
	sends(&s, 1, 1);
	acknowledge(&s, 1, 2);
	sends(&s, 3, 3);
	respond(&s, ACK, 2, NAK_SEQ);
	sends(&s, 2, 3);
	acknowledge(&s, 3, 4);
	assert_int_equal(count(result(&s), RD_INC_RESTART), 0);
	assert_int_equal(count(s.r->conversations, RD_INC_LOST_UPSTREAM), 1);
	assert_certainty(&s, "lost-upstream", RD_LIKELY);
	end(&s);
}

/* No responses are missing between those of two connections. */
static void responses_of_two(void **state)
{
	struct scene s = begin();

	(void)state;
	for (uint32_t psn = 0; psn < 4; psn++) {
		read_request(&s, psn, 1024);
		s.msn = (uint8_t)(psn + 1);
		respond(&s, RESP_ONLY, psn, OK);
	}
	for (uint32_t psn = 9; psn < 200; psn++) {
		read_request(&s, psn, 1024);
		s.msn = (uint8_t)(psn - 8);
		respond(&s, RESP_ONLY, psn, OK);
	}
	assert_int_equal(count(result(&s), RD_INC_RESTART), 1);
	assert_int_equal(count(s.r->conversations, RD_INC_RESPONSE_GAP), 0);
	assert_null(finding(&s, "responses-unseen"));
	end(&s);
}

/* PSNs that were used before, and a count that begins again: new requests, not repeated ones. */
static void reused_behind(void **state)
{
	(void)state;
	for (int again = 0; again < 2; again++) {
		struct scene s = begin();

		sends(&s, 0, 19);
		acknowledge(&s, 15, 16);
		s.ns += 50000000;
		sends(&s, 16, 19);
		acknowledge(&s, 19, again ? 4 : 20);
		assert_certainty(&s, "timeout", again ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* A sender that retransmits single packets: the capture begins with such a one. */
static void begins_with_selective(void **state)
{
	(void)state;
	for (int selective = 0; selective < 2; selective++) {
		struct scene s = begin();

		sends(&s, 0, 0);
		sends(&s, 20, 29); /* 1 to 19 were sent before the capture began */
		acknowledge(&s, 29, 40);
		sends(&s, 30, 39);
		respond(&s, ACK, 32, NAK_SEQ);
		if (selective)
			sends(&s, 32, 32);
		else
			sends(&s, 32, 39);
		sends(&s, 40, 49);
		respond(&s, ACK, 49, OK);
		assert_certainty(&s, "unseen", selective ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* Packets without IP identifications. */
static void sends_without_ids(struct scene *s, uint32_t from, uint32_t to)
{
	for (uint32_t psn = from; psn <= to; psn++) {
		s->ip_id = UINT16_MAX; /* the next one is 0 */
		request(s, SEND_ONLY, psn);
	}
}

/* --- packets that are lost again -------------------------------------------------------------- */

static void send_without_id(struct scene *s, uint32_t psn)
{
	s->ip_id = UINT16_MAX; /* the next one is 0 */
	request(s, SEND_ONLY, psn);
}

/*
 * A NAK, the packet that it requests, and this packet again: the retransmission was lost, and a
 * timer repeats it; or the first copy was late.
 */
static void lost_again(void **state)
{
	(void)state;
	for (int soon = 0; soon < 2; soon++) {
		struct scene s = begin();

		sends_without_ids(&s, 0, 4);
		sends_without_ids(&s, 6, 6);
		respond(&s, ACK, 5, NAK_SEQ);
		send_without_id(&s, 5);
		s.ns += soon ? 100000 : 17000000;
		send_without_id(&s, 5);
		send_without_id(&s, 6);
		respond(&s, ACK, 6, OK);
		if (soon) {
			assert_certainty(&s, "reordered", RD_POSSIBLE);
		} else {
			assert_null(finding(&s, "reordered"));
			assert_certainty(&s, "lost-upstream", RD_LIKELY);
		}
		end(&s);
	}
}

/* A timer repeats what is open from its beginning on; the second packet is lost again. */
static void round_with_loss(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends_without_ids(&s, 0, 4);
	respond(&s, ACK, 4, OK);
	sends_without_ids(&s, 6, 12);
	s.ns += 900000;
	send_without_id(&s, 5);
	sends_without_ids(&s, 7, 12);
	respond(&s, ACK, 12, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_LOST_UPSTREAM), 1);
	assert_int_equal(count(c, RD_INC_ROUND_TIMEOUT), 1);
	assert_null(finding(&s, "reordered"));
	end(&s);
}

/* Gaps between messages of an unreliable connection are loss, or numbers that were never used. */
static void unused_numbers(void **state)
{
	(void)state;
	for (int within = 0; within < 2; within++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 40; psn += 5) {
			request(&s, UC_FIRST, psn);
			if (!within)
				request(&s, UC_LAST, psn + 1);
		}
		rd_analysis_file_end(s.a, 0, true, NULL);
		assert_certainty(&s, "unreliable-lost", within ? RD_LIKELY : RD_POSSIBLE);
		end(&s);
	}
}

/* --- responses that were not captured --------------------------------------------------------- */

/* Requests of a connection of its own, and their ACKs. */
static void connection(struct scene *s)
{
	for (uint32_t psn = 500; psn < 540; psn++) {
		s->qp = 0x778;
		request(s, SEND_ONLY, psn);
		s->qp = 0x779;
		respond(s, ACK, psn, OK);
	}
}

/*
 * Frames of one direction only: responses may exist, though the sender stops. Frames between the
 * same hosts show both directions, those of another host or to another one do not.
 */
static void one_direction(void **state)
{
	static const uint8_t deth[8] = {[7] = 9};
	enum { NONE, BACK, FORTH, OF_ANOTHER, TO_ANOTHER, BOTH, ACKED, ACKED_TO_THIRD, CASES };

	(void)state;
	for (int other = NONE; other < CASES; other++) {
		bool known = other == BACK || other == BOTH || other == ACKED;
		struct scene s = begin();

		s.qp = 0x777;
		s.other_back = other == OF_ANOTHER;
		s.group = other == TO_ANOTHER;
		s.third = other == ACKED_TO_THIRD;
		if (other == ACKED || other == ACKED_TO_THIRD)
			connection(&s);
		for (uint32_t psn = 0; other && other <= BOTH && psn < 4; psn++) {
			if (other == FORTH || other == BOTH)
				put(&s, false, UD_ONLY, psn, deth, 64);
			if (other != FORTH)
				put(&s, true, UD_ONLY, psn, deth, 64);
		}
		s.qp = 0;
		s.group = s.third = false;
		for (unsigned int round = 0; round < 3; round++) {
			sends(&s, 0, 3);
			s.ns += 1000000;
		}
		s.qp = 0x777;
		s.ns += 3000000000;
		request(&s, SEND_ONLY, 0);
		assert_certainty(&s, "no-response", known ? RD_LIKELY : RD_POSSIBLE);
		end(&s);
	}
}

/* The response to a READ that the receiver refused is not missing. */
static void refused_read(void **state)
{
	struct scene s = begin();

	(void)state;
	read_request(&s, 0, 1024);
	respond(&s, RESP_ONLY, 0, OK);
	read_request(&s, 1, 1024);
	respond(&s, ACK, 1, NAK_ACCESS);
	for (uint32_t psn = 2; psn < 200; psn++) {
		read_request(&s, psn, 1024);
		respond(&s, RESP_ONLY, psn, OK);
	}
	if (finding(&s, "responses-unseen"))
		assert_certainty(&s, "responses-unseen", RD_POSSIBLE);
	assert_certainty(&s, "remote-access", RD_CERTAIN);
	end(&s);
}

/* --- responses that are far away -------------------------------------------------------------- */

/* `rounds` requests that are repeated `late_ns` after their ACKs, among `messages`. */
static void repeat(struct scene *s, uint32_t messages, uint32_t rounds, uint64_t late_ns)
{
	static uint32_t psn;

	psn = psn ? psn : 1;
	for (uint32_t i = 0; i < messages; i++, psn++) {
		request(s, SEND_ONLY, psn);
		s->ns += 200000;
		respond(s, ACK, psn, OK);
		if (i >= rounds)
			continue;
		s->ns += late_ns;
		request(s, SEND_ONLY, psn);
		s->ns += 200000;
		respond(s, ACK, psn, OK);
	}
}

/* A timer that fires while responses are on their way, or for most requests, is too short. */
static void responses_far_away(void **state)
{
	struct scene s = begin();

	(void)state;
	repeat(&s, 40, 3, 3000000);
	assert_certainty(&s, "responses-lost-downstream", RD_LIKELY);
	end(&s);
	s = begin();
	repeat(&s, 40, 3, 3000000);
	repeat(&s, 10, 1, 500000);
	assert_certainty(&s, "responses-lost-downstream", RD_POSSIBLE);
	end(&s);
	s = begin();
	repeat(&s, 11, 3, 3000000);
	assert_certainty(&s, "responses-lost-downstream", RD_POSSIBLE);
	end(&s);
	s = begin(); /* what the file does not have of a response may be a NAK */
	repeat(&s, 40, 3, 3000000);
	s.cut = 54;
	respond(&s, ACK, 40, OK);
	assert_true(rd_side_incident(&result(&s)->side[1], RD_INC_CUT)->count > 0 ||
		    count(s.r->conversations, RD_INC_CUT) > 0);
	assert_certainty(&s, "responses-lost-downstream", RD_POSSIBLE);
	end(&s);
}

/* --- frames in another order, or of other addresses ------------------------------------------- */

/* Requests that are in the file a moment after their ACKs were captured, too. */
static void behind_ack(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0, 9);
	respond(&s, ACK, 9, OK);
	for (uint32_t psn = 10; psn < 20; psn += 2) {
		request(&s, SEND_ONLY, psn);
		respond(&s, ACK, psn + 1, OK);
		s.ip_id = (uint16_t)(s.ip_id - 2); /* sent before its ACK */
		request(&s, SEND_ONLY, psn + 1);
		s.ip_id++;
	}
	c = result(&s);
	assert_int_equal(count(c, RD_INC_UNSEEN), 0);
	assert_int_equal(count(c, RD_INC_RETRANSMITTED), 0);
	assert_int_equal(c->side[0].requests, 20);
	assert_true(c->side[0].behind_ack);
	assert_null(finding(&s, "unseen"));
	end(&s);

	s = begin(); /* one that others overtook before that */
	sends(&s, 0, 9);
	sends(&s, 11, 12);
	respond(&s, ACK, 12, OK);
	s.ip_id = UINT16_MAX;
	request(&s, SEND_ONLY, 10);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_UNSEEN), 0);
	assert_int_equal(count(c, RD_INC_RETRANSMITTED), 0);
	assert_true(c->side[0].behind_ack);
	end(&s);

	s = begin(); /* one that is retransmitted after those is no such one */
	sends(&s, 0, 9);
	respond(&s, ACK, 11, OK);
	sends(&s, 10, 12);
	sends(&s, 12, 12);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_UNSEEN), 0);
	assert_int_equal(count(c, RD_INC_RETRANSMITTED), 1);
	end(&s);
}

/* A READ behind its response is there with all its PSNs: what repeats a part of it is not. */
static void read_behind_response(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	read_request(&s, 0, 2048);
	respond(&s, RESP_FIRST, 0, OK);
	respond(&s, RESP_LAST, 1, OK);
	sends(&s, 2, 4);
	respond(&s, ACK, 4, OK);
	respond(&s, ACK, 7, OK); /* after the last response of 5, 6, 7 */
	s.ns += 10000;
	read_request(&s, 5, 3072);
	s.ns += 10000;
	read_request(&s, 6, 2048);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_UNSEEN), 0);
	assert_int_equal(count(c, RD_INC_RETRANSMITTED), 1);
	end(&s);
}

/* Lost responses, where a mirror copies responses: a gap may be counted twice. */
static void copied_responses(void **state)
{
	(void)state;
	for (int copied = 0; copied < 2; copied++) {
		struct scene s = begin();

		read_request(&s, 0, 3072);
		respond(&s, RESP_FIRST, 0, OK);
		s.ip_id = (uint16_t)(s.ip_id - copied);
		if (copied)
			respond(&s, RESP_FIRST, 0, OK);
		respond(&s, RESP_LAST, 2, OK);
		s.ns += 1000000;
		read_request(&s, 1, 2048);
		respond(&s, RESP_FIRST, 1, OK);
		respond(&s, RESP_LAST, 2, OK);
		assert_certainty(&s, "responses-lost-upstream", copied ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/*
 * A mirror that copies each window of packets as a whole: some of its copies come behind more
 * packets than are remembered. Nothing shows that such a one is late.
 */
static void copies_behind_others(void **state)
{
	(void)state;
	for (uint32_t window = 20; window <= 40; window += 20) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 3 * window; psn += window)
			for (int copy = 0; copy < 2; copy++) {
				s.ip_id = (uint16_t)(psn + 1);
				sends(&s, psn, psn + window - 1);
				respond(&s, ACK, psn + window - 1, OK);
			}
		assert_true(count(result(&s), RD_INC_DUPLICATED) > 0);
		if (window > 32)
			assert_certainty(&s, "reordered", RD_POSSIBLE);
		else
			assert_null(finding(&s, "reordered"));
		end(&s);
	}
}

/*
 * Every packet again within microseconds: a mirror's copies, or a timer that is too short. An IP
 * identification excludes copies, and so does a wait of milliseconds.
 */
static void all_again_soon(void **state)
{
	(void)state;
	for (unsigned int row = 0; row < 3; row++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 10; psn++)
			for (int copy = 0; copy < 2; copy++) {
				if (row != 1)
					s.ip_id = UINT16_MAX;
				request(&s, SEND_ONLY, psn);
				s.ns += row == 2 ? 2000000 : 20000;
				respond(&s, ACK, psn, OK);
			}
		assert_int_equal(count(result(&s), RD_INC_CROSSED), 10);
		assert_certainty(&s, "timeout-short", row ? RD_LIKELY : RD_POSSIBLE);
		end(&s);
	}
}

/* A round without a NAK, where the capture misses packets: it may have missed the NAK. */
static void early_or_nak_missed(void **state)
{
	(void)state;
	for (uint32_t missed = 0; missed < 2; missed++) {
		struct scene s = begin();
		uint32_t psn = 0;

		for (; psn < 10; psn++)
			for (int copy = 0; copy < 2; copy++) {
				request(&s, SEND_ONLY, psn);
				s.ns += 20000;
				respond(&s, ACK, psn, OK);
			}
		respond(&s, ACK, psn - 1 + missed, OK);
		assert_int_equal(count(result(&s), RD_INC_UNSEEN), missed);
		assert_certainty(&s, "timeout-short", missed ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* A late packet shows only where its response comes first: few of them make all loss doubtful. */
static void lost_or_late_there(void **state)
{
	(void)state;
	for (uint32_t late = 0; late < 2; late++) {
		struct scene s = begin();
		const struct rd_conversation *c;
		uint32_t psn = 0;

		for (; psn < 60; psn += 6) {
			sends(&s, psn, psn + 5);
			respond(&s, ACK, psn + 2, NAK_SEQ);
			if (late && !psn)
				respond(&s, ACK, psn + 2, OK);
			sends(&s, psn + 2 + (late && !psn), psn + 5);
			respond(&s, ACK, psn + 5, OK);
		}
		c = result(&s);
		assert_int_equal(count(c, RD_INC_LOST_DOWNSTREAM), 10 - late);
		assert_int_equal(count(c, RD_INC_REORDERED_DOWNSTREAM), late);
		assert_certainty(&s, "lost-downstream", late ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* A missing response that comes late: where others are repeated, this one may be, too. */
static void late_or_repeated_response(void **state)
{
	static const enum op ops[] = {RESP_FIRST, RESP_MIDDLE, RESP_MIDDLE, RESP_LAST};

	(void)state;
	for (unsigned int repeated = 0; repeated < 2; repeated++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 8; psn += 4) {
			read_request(&s, psn, 4096);
			for (uint32_t i = 0; i < 4; i++)
				if (psn == 0 || i != 2)
					respond(&s, ops[i], psn + i, OK);
		}
		if (repeated)
			respond(&s, RESP_MIDDLE, 5, OK);
		respond(&s, RESP_MIDDLE, 6, OK);
		assert_int_equal(count(result(&s), RD_INC_RESPONSE_REORDERED), 1);
		assert_certainty(&s, "reordered", RD_POSSIBLE);
		end(&s);
	}
}

/* All requests again, long after their ACK: a requester that is far away, not loss. */
static void all_again_late(void **state)
{
	(void)state;
	for (unsigned int all = 0; all < 2; all++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 40; psn += 20) {
			sends(&s, psn, psn + 19);
			respond(&s, ACK, psn + 19, OK);
			s.ns += 5000000;
			sends(&s, psn + (all ? 0 : 15), psn + 19);
			respond(&s, ACK, psn + 19, OK);
		}
		assert_int_equal(count(result(&s), RD_INC_RESPONSE_LOST), 2);
		assert_certainty(&s, "responses-lost-downstream", all ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* A single retransmission through the other port of a bond is no second capture. */
static void few_copies(void **state)
{
	struct scene s = begin();

	(void)state;
	sends(&s, 0, 29);
	s.iface = 1;
	s.ip_id = UINT16_MAX;
	request(&s, SEND_ONLY, 29);
	s.iface = 0;
	respond(&s, ACK, 29, OK);
	(void)result(&s);
	assert_int_equal(s.r->totals.copies_left, 1);
	assert_certainty(&s, "several-interfaces", RD_POSSIBLE);
	end(&s);
}

/* The same addresses and QPs in two VLANs may be those of other hosts. A priority is no VLAN. */
static void two_vlans(void **state)
{
	static const struct {
		uint16_t first, second;
		bool differ;
	} rows[] = {{0, 0, false}, {7, 7, false}, {0, 0x6000, false}, {7, 0x6007, false},
		{0, 7, true}, {7, 0, true}, {7, 8, true}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct scene s = begin();

		s.vlan = rows[i].first;
		sends(&s, 0, 3);
		respond(&s, ACK, 3, OK);
		s.vlan = rows[i].second;
		request(&s, SEND_ONLY, 5);
		request(&s, SEND_ONLY, 4);
		sends(&s, 6, 9);
		respond(&s, ACK, 9, OK);
		assert_int_equal(result(&s)->side[0].vlans_differ, rows[i].differ);
		end(&s);
	}
}

/* A host captures packets before the tunnel, and in it; several networks use its addresses: which
 * one the packets outside of tunnels are of is unknown. */
static void outside_of_two_networks(void **state)
{
	(void)state;
	for (uint32_t second = 7; second < 9; second++) {
		struct scene s = begin();

		sends(&s, 0, 3);
		respond(&s, ACK, 3, OK);
		request(&s, SEND_ONLY, 5);
		request(&s, SEND_ONLY, 4);
		s.vni = 7;
		s.ip_id = (uint16_t)(s.ip_id - 1);
		request(&s, SEND_ONLY, 4);
		s.vni = second;
		s.ip_id = (uint16_t)(s.ip_id - 2);
		request(&s, SEND_ONLY, 5);
		s.vni = 0;
		s.ip_id++;
		sends(&s, 6, 9);
		respond(&s, ACK, 9, OK);
		assert_int_equal(result(&s)->side[0].vlans_differ, second != 7);
		end(&s);
	}
}

/* A mirror's copies of every packet, with late ones among them: these may be late copies. */
static void late_among_copies(void **state)
{
	struct scene s = begin();

	(void)state;
	for (uint32_t psn = 0; psn < 20; psn++)
		for (int copy = 0; copy < 2; copy++) {
			s.ip_id = (uint16_t)(psn + 1);
			request(&s, SEND_ONLY, psn);
		}
	request(&s, SEND_ONLY, 21);
	s.ip_id = (uint16_t)(s.ip_id - 2);
	request(&s, SEND_ONLY, 20);
	s.ip_id++;
	sends(&s, 22, 29);
	respond(&s, ACK, 29, OK);
	assert_certainty(&s, "reordered", RD_POSSIBLE);
	end(&s);
}

/* Responses from an address that the requester does not send to: a device may rewrite it. */
static void other_address(void **state)
{
	(void)state;
	for (int other = 0; other < 2; other++) {
		struct scene s = begin();

		sends(&s, 0, 19);
		s.other_back = true;
		for (uint32_t psn = 0; other && psn < 20; psn++)
			respond(&s, ACK, psn, OK);
		assert_certainty(&s, "one-sided", other ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* --- absence, order and times that are not to be trusted ---------------------------------------
 */

/* A packet is lost upstream; the receiver requests it again. */
static void lose(struct scene *s, uint32_t psn)
{
	sends(s, psn, psn + 3);
	sends(s, psn + 5, psn + 6);
	respond(s, ACK, psn + 4, NAK_SEQ);
	sends(s, psn + 4, psn + 6);
	respond(s, ACK, psn + 6, OK);
}

/* Other QPs got packets that were not captured: so this one may have, if it has its part of them.
 */
static void missed_elsewhere(void **state)
{
	(void)state;
	for (uint32_t missed = 0; missed < 3; missed++) {
		struct scene s = begin();

		lose(&s, 0);
		lose(&s, 7);
		s.qp = 0x300;
		sends(&s, 1000, 1199);
		sends(&s, 1200 + missed * missed, 1399);
		s.qp = 0x400;
		respond(&s, ACK, 1399, OK);
		assert_certainty(&s, "lost-upstream", missed == 2 ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* A receiver that gets packets behind a gap sends a NAK; without one the capture missed some. */
static void gap_without_nak(void **state)
{
	(void)state;
	for (int nak = 0; nak < 2; nak++) {
		struct scene s = begin();

		sends(&s, 0, 3);
		sends(&s, 5, 6);
		if (nak)
			respond(&s, ACK, 4, NAK_SEQ);
		s.ns += 17000000;
		sends(&s, 4, 6);
		respond(&s, ACK, 6, OK);
		assert_certainty(&s, "lost-upstream", nak ? RD_LIKELY : RD_POSSIBLE);
		end(&s);
	}
}

/* Where packets overtake each other, a response that is absent at first may be late. */
static void late_responses(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		struct scene s = begin();

		sends(&s, 0, 3);
		respond(&s, ACK, 3, OK);
		request(&s, SEND_ONLY, late ? 5 : 4);
		request(&s, SEND_ONLY, late ? 4 : 5);
		respond(&s, ACK, 5, OK);
		read_request(&s, 6, 1024);
		read_request(&s, 7, 1024);
		respond(&s, RESP_ONLY, 7, OK);
		s.ns += 5000000;
		sends(&s, 8, 9);
		respond(&s, ACK, 9, OK);
		assert_certainty(&s, "responses-unseen", late ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* No timer is shorter than 8 us, and without identifications a single packet may be a copy. */
static void copies_like_rounds(void **state)
{
	static const struct {
		uint32_t more; /* packets of a round behind the first */
		bool ids;
		uint64_t wait_ns;
		enum rd_certainty certainty;
	} rows[] = {{0, true, 300000, RD_LIKELY}, {0, false, 300000, RD_POSSIBLE},
		{2, false, 300000, RD_LIKELY}, {0, false, 3000000, RD_LIKELY}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct scene s = begin();

		for (uint32_t n = 0, psn = 0; n < 3; n++, psn += 12) {
			for (uint32_t k = 0; k < 12; k++) {
				s.ip_id = rows[i].ids ? s.ip_id : UINT16_MAX;
				request(&s, SEND_ONLY, psn + k);
				if (k < 11 - rows[i].more)
					respond(&s, ACK, psn + k, OK);
			}
			s.ns += rows[i].wait_ns;
			for (uint32_t k = 11 - rows[i].more; k < 12; k++) {
				s.ip_id = rows[i].ids ? s.ip_id : UINT16_MAX;
				request(&s, SEND_ONLY, psn + k);
			}
			s.ns += 30000;
			respond(&s, ACK, psn + 11, OK);
		}
		assert_int_equal(count(result(&s), RD_INC_ROUND_TIMEOUT), 3);
		assert_certainty(&s, "timeout", rows[i].certainty);
		end(&s);
	}
}

/* Packets that others overtook leave messages broken that are not: gaps between may be none. */
static void broken_by_order(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		struct scene s = begin();

		request(&s, UC_FIRST, 0);
		request(&s, late ? UC_LAST : UC_ONLY, 3);
		request(&s, UC_FIRST, late ? 2 : 4);
		request(&s, UC_LAST, 5);
		rd_analysis_file_end(s.a, 0, true, NULL);
		assert_certainty(&s, "unreliable-lost", late ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* A packet of UC from before the first captured one is late; UC sends nothing twice. */
static void late_at_start(void **state)
{
	struct scene s = begin();

	(void)state;
	for (uint32_t psn = 5; psn < 9; psn++)
		request(&s, UC_ONLY, psn == 7 ? 4 : psn < 7 ? psn : psn - 1);
	assert_int_equal(count(result(&s), RD_INC_DUPLICATED), 0);
	assert_int_equal(count(s.r->conversations, RD_INC_REORDERED), 1);
	end(&s);
}

/* --- checksums of zeros ----------------------------------------------------------------------- */

/* Where the NIC computes the ICRC later, zeros may be in its place: nothing is damaged. */
static void zero_icrc(void **state)
{
	const struct rd_analysis_config config = {.qp = RD_QP_UNKNOWN};
	struct scene s = begin_with(&config);

	(void)state;
	s.valid_icrc = true;
	for (uint32_t psn = 0; psn < 20; psn++) {
		s.zero_icrc = psn % 4 == 0;
		request(&s, SEND_ONLY, psn);
		s.zero_icrc = false;
		respond(&s, ACK, psn, OK);
	}
	assert_int_equal(result(&s)->side[0].requests, 20);
	assert_int_equal(s.r->totals.icrc_absent, 5);
	assert_int_equal(s.r->totals.icrc_bad, 0);
	assert_null(finding(&s, "damaged"));
	assert_null(finding(&s, "unseen"));
	assert_certainty(&s, "icrc-absent", RD_CERTAIN);
	end(&s);
}

/* --- sections of a file ----------------------------------------------------------------------- */

/* A section of a file has its own list of interfaces: the same name is the same interface, if its
 * frames are later. */
static void sections(void **state)
{
	const struct rd_iface ifaces[] = {{.link = RD_LINK_ETHERNET, .name = "eth0"},
		{.link = RD_LINK_ETHERNET, .name = "eth1"},
		{.link = RD_LINK_ETHERNET, .name = "eth0", .section = 1}};

	(void)state;
	for (int earlier = 0; earlier < 2; earlier++) {
		struct scene s = begin();

		rd_analysis_ifaces(s.a, ifaces, 3);
		sends_without_ids(&s, 0, 19);
		respond(&s, ACK, 15, OK);
		s.iface = 2;
		s.ns += earlier ? -UINT64_C(100000000) : UINT64_C(100000000);
		sends_without_ids(&s, 16, 19);
		respond(&s, ACK, 19, OK);
		result(&s);
		assert_int_equal(s.r->totals.copies_left, earlier ? 4 : 0);
		assert_int_equal(count(s.r->conversations, RD_INC_RETRANSMITTED), earlier ? 0 : 4);
		end(&s);
	}
}

/* Two interfaces of one section, or of other names, are two. */
static void not_sections(void **state)
{
	(void)state;
	for (int same = 0; same < 2; same++) {
		const struct rd_iface ifaces[] = {{.link = RD_LINK_ETHERNET, .name = "eth0"},
			{.link = RD_LINK_ETHERNET,
				.name = same ? "eth0" : "eth1",
				.section = same ? 0 : 1}};
		struct scene s = begin();

		rd_analysis_ifaces(s.a, ifaces, 2);
		sends_without_ids(&s, 0, 19);
		s.iface = 1;
		sends_without_ids(&s, 16, 19);
		result(&s);
		assert_int_equal(s.r->totals.copies_left, 4);
		end(&s);
	}
}

/* PSNs that no window reaches, while requests wait for their ACK: another connection, no gap. */
static void far_ahead(void **state)
{
	struct scene s = begin();

	(void)state;
	sends(&s, 1, 9);
	sends(&s, 0x200000, 0x200009);
	respond(&s, ACK, 0x200009, OK);
	assert_int_equal(count(result(&s), RD_INC_RESTART), 1);
	assert_int_equal(count(s.r->conversations, RD_INC_LOST_UPSTREAM), 0);
	end(&s);
}

/* The capture has no length of a READ: its responses show where it ends. */
static void read_of_unknown_length(void **state)
{
	(void)state;
	for (unsigned int single = 0; single < 2; single++) {
		struct scene s = begin();

		sends(&s, 0, 4);
		respond(&s, ACK, 4, OK);
		s.cut = 54;
		read_request(&s, 5, 8192);
		s.cut = 0;
		respond(&s, single ? RESP_ONLY : RESP_FIRST, 5, OK);
		if (!single)
			respond(&s, RESP_MIDDLE, 8, OK);
		sends(&s, 11, 12);
		respond(&s, ACK, 12, OK);
		assert_int_equal(count(result(&s), RD_INC_UNSEEN), single ? 5 : 0);
		assert_int_equal(count(s.r->conversations, RD_INC_RESTART), 0);
		end(&s);
	}
}

static void long_read(struct scene *s, uint32_t psn)
{
	respond(s, RESP_FIRST, psn, OK);
	for (uint32_t i = 1; i < 7; i++)
		respond(s, RESP_MIDDLE, psn + i, OK);
	respond(s, RESP_LAST, psn + 7, OK);
}

/* READs take long because of their length: the first response to another one may come sooner. */
static void first_response_of_long_reads(void **state)
{
	(void)state;
	for (unsigned int nak = 0; nak < 2; nak++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 160; psn += 8) {
			if (psn < 80) {
				read_request(&s, psn, 8192);
				long_read(&s, psn);
				continue;
			}
			read_request(&s, psn, 8192);
			if (nak)
				respond(&s, ACK, psn, NAK_SEQ);
			else
				s.ns += 5000000;
			read_request(&s, psn, 8192);
			long_read(&s, psn);
		}
		result(&s);
		assert_int_equal(count(s.r->conversations, RD_INC_ROUND_TIMEOUT), nak ? 0 : 10);
		assert_int_equal(
			rd_side_latency(s.r->conversations[0].side, RD_LATENCY_READ)->min, 80000);
		assert_int_equal(count(s.r->conversations, RD_INC_CROSSED), 0);
		assert_int_equal(count(s.r->conversations, RD_INC_LOST_DOWNSTREAM), nak ? 10 : 0);
		assert_int_equal(count(s.r->conversations, RD_INC_REORDERED_DOWNSTREAM), 0);
		end(&s);
	}
}

/* The shortest time counts, however many READs follow. */
static void quick_read_of_many(void **state)
{
	(void)state;
	for (unsigned int quick = 0; quick < 2; quick++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 300; psn++) {
			read_request(&s, psn, 1024);
			s.ns += quick && psn < 10 ? 0 : 90000;
			respond(&s, RESP_ONLY, psn, OK);
		}
		read_request(&s, 300, 1024);
		s.ns += 5000000;
		read_request(&s, 300, 1024);
		s.ns += 30000;
		respond(&s, RESP_ONLY, 300, OK);
		result(&s);
		assert_int_equal(count(s.r->conversations, RD_INC_CROSSED), !quick);
		end(&s);
	}
}

/* Missing responses begin with those of their READ: PSNs of SENDs before it have none. */
static void first_responses_of_a_later_read(void **state)
{
	struct scene s = begin();

	(void)state;
	read_request(&s, 0, 2048);
	respond(&s, RESP_FIRST, 0, OK);
	respond(&s, RESP_LAST, 1, OK);
	sends(&s, 2, 10);
	respond(&s, ACK, 5, OK);
	read_request(&s, 11, 3072);
	respond(&s, RESP_LAST, 13, OK);
	read_request(&s, 11, 3072);
	respond(&s, RESP_FIRST, 11, OK);
	respond(&s, RESP_MIDDLE, 12, OK);
	respond(&s, RESP_LAST, 13, OK);
	for (uint32_t psn = 14; psn < 214; psn++) {
		request(&s, SEND_ONLY, psn);
		respond(&s, ACK, psn, OK);
	}
	assert_int_equal(count(result(&s), RD_INC_RESPONSE_UNSEEN), 0);
	assert_int_equal(count(s.r->conversations, RD_INC_RESPONSE_GAP), 1);
	assert_int_equal(count(s.r->conversations, RD_INC_ROUND_READ), 1);
	assert_int_equal(rd_side_latency(s.r->conversations[0].side, RD_LATENCY_ACK)->n, 201);
	end(&s);
}

/* Only responses to one READ are missing before its last one, however many requests wait. */
static void missing_responses_of_one_read(void **state)
{
	(void)state;
	for (unsigned int earlier = 0; earlier < 2; earlier++) {
		struct scene s = begin();

		read_request(&s, 0, 2048);
		respond(&s, RESP_FIRST, 0, OK);
		respond(&s, RESP_LAST, 1, OK);
		if (earlier)
			read_request(&s, 2, 2048);
		else
			sends(&s, 2, 3);
		sends(&s, 4, 5);
		read_request(&s, 6, 3072);
		sends(&s, 9, 9);
		respond(&s, RESP_LAST, 8, OK);
		respond(&s, RESP_FIRST, 6, OK);
		respond(&s, RESP_MIDDLE, 7, OK);
		respond(&s, RESP_MIDDLE, 4, OK); /* no READ has this PSN */
		result(&s);
		assert_int_equal(count(s.r->conversations, RD_INC_RESPONSE_REORDERED), 2);
		assert_int_equal(count(s.r->conversations, RD_INC_RESPONSE_REPEATED), 1);
		end(&s);
	}
}

/*
 * The receiver has the packet that a NAK asks for before the retransmission can have arrived: it
 * was late, not lost. Two of them make the other NAKs doubtful, also of QPs on the same path.
 */
static void late_on_the_same_path(void **state)
{
	(void)state;
	for (uint32_t late = 0; late < 3; late++) {
		struct scene s = begin();
		const struct rd_conversation *c, *first = NULL;

		for (uint32_t psn = 0; psn < 240; psn += 6) {
			bool other = psn >= 120, overtakes = psn < late * 6;

			s.qp = other ? 0x300 : 0;
			sends(&s, psn, psn + 5);
			s.qp = other ? 0x400 : 0;
			respond(&s, ACK, psn + 2, NAK_SEQ);
			if (overtakes)
				respond(&s, ACK, psn + 2, OK);
			s.qp = other ? 0x300 : 0;
			sends(&s, psn + 2 + overtakes, psn + 5);
			s.qp = other ? 0x400 : 0;
			respond(&s, ACK, psn + 5, OK);
		}
		c = result(&s);
		assert_int_equal(s.r->n_conversations, 2);
		for (unsigned int i = 0; i < 2; i++, c++)
			if (c->a.qp == REQUESTER || c->b.qp == REQUESTER)
				first = c;
		assert_non_null(first);
		assert_int_equal(count(first, RD_INC_REORDERED_DOWNSTREAM), late);
		assert_int_equal(count(first, RD_INC_LOST_DOWNSTREAM), 20 - late);
		for (size_t i = 0; i < s.r->findings.n; i++)
			if (!strcmp(s.r->findings.finding[i].rule, "lost-downstream"))
				assert_int_equal(s.r->findings.finding[i].certainty,
					late > 1 ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* A receiver that is not ready discards what follows, and may request it later. */
static void nak_after_rnr(void **state)
{
	(void)state;
	for (unsigned int ready = 0; ready < 2; ready++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 60; psn += 6) {
			sends(&s, psn, psn + 5);
			if (!ready) {
				respond(&s, ACK, psn + 1, RNR);
				s.ns += 1000000;
				sends(&s, psn + 1, psn + 5);
			}
			respond(&s, ACK, psn + 3, NAK_SEQ);
			sends(&s, psn + 3, psn + 5);
			respond(&s, ACK, psn + 5, OK);
		}
		assert_int_equal(count(result(&s), RD_INC_LOST_DOWNSTREAM), 10);
		assert_certainty(&s, "lost-downstream", ready ? RD_LIKELY : RD_POSSIBLE);
		end(&s);
	}
}

/* A receiver asks for no packet that it has acknowledged: that ACK overtook the NAK. */
static void nak_behind_ack(void **state)
{
	(void)state;
	for (unsigned int behind = 0; behind < 2; behind++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 120; psn += 6) {
			sends(&s, psn, psn + 5);
			respond(&s, ACK, psn + 3, NAK_SEQ);
			if (behind && !psn)
				respond(&s, ACK, psn + 2, NAK_SEQ);
			sends(&s, psn + 3, psn + 5);
			respond(&s, ACK, psn + 5, OK);
		}
		assert_int_equal(count(result(&s), RD_INC_LOST_DOWNSTREAM), 20);
		assert_certainty(&s, "lost-downstream", behind ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* The path MTU is unknown: a response to an earlier READ does not show where the last one ends. */
static void response_to_earlier_read(void **state)
{
	struct scene s = begin();

	(void)state;
	read_request(&s, 0, 200);
	read_request(&s, 1, 3000);
	respond(&s, RESP_ONLY, 0, OK);
	read_request(&s, 4, 200);
	respond(&s, RESP_FIRST, 1, OK);
	respond(&s, RESP_MIDDLE, 2, OK);
	respond(&s, RESP_LAST, 3, OK);
	respond(&s, ACK, 4, NAK_SEQ);
	read_request(&s, 4, 200);
	respond(&s, RESP_ONLY, 4, OK);
	assert_int_equal(count(result(&s), RD_INC_GAP), 0);
	assert_int_equal(count(s.r->conversations, RD_INC_LOST_DOWNSTREAM), 1);
	assert_int_equal(s.r->conversations[0].side[0].mtu, 1024);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reused_ahead),
		cmocka_unit_test(reused_for_read),
		cmocka_unit_test(reused_unseen),
		cmocka_unit_test(msn_of_one_connection),
		cmocka_unit_test(msn_of_repeated),
		cmocka_unit_test(reused_soon),
		cmocka_unit_test(gap_is_loss),
		cmocka_unit_test(responses_of_two),
		cmocka_unit_test(reused_behind),
		cmocka_unit_test(begins_with_selective),
		cmocka_unit_test(lost_again),
		cmocka_unit_test(round_with_loss),
		cmocka_unit_test(unused_numbers),
		cmocka_unit_test(one_direction),
		cmocka_unit_test(refused_read),
		cmocka_unit_test(responses_far_away),
		cmocka_unit_test(behind_ack),
		cmocka_unit_test(read_behind_response),
		cmocka_unit_test(copied_responses),
		cmocka_unit_test(copies_behind_others),
		cmocka_unit_test(all_again_soon),
		cmocka_unit_test(early_or_nak_missed),
		cmocka_unit_test(lost_or_late_there),
		cmocka_unit_test(late_or_repeated_response),
		cmocka_unit_test(all_again_late),
		cmocka_unit_test(few_copies),
		cmocka_unit_test(two_vlans),
		cmocka_unit_test(outside_of_two_networks),
		cmocka_unit_test(late_among_copies),
		cmocka_unit_test(other_address),
		cmocka_unit_test(missed_elsewhere),
		cmocka_unit_test(gap_without_nak),
		cmocka_unit_test(late_responses),
		cmocka_unit_test(copies_like_rounds),
		cmocka_unit_test(broken_by_order),
		cmocka_unit_test(late_at_start),
		cmocka_unit_test(zero_icrc),
		cmocka_unit_test(sections),
		cmocka_unit_test(not_sections),
		cmocka_unit_test(far_ahead),
		cmocka_unit_test(read_of_unknown_length),
		cmocka_unit_test(response_to_earlier_read),
		cmocka_unit_test(first_responses_of_a_later_read),
		cmocka_unit_test(missing_responses_of_one_read),
		cmocka_unit_test(first_response_of_long_reads),
		cmocka_unit_test(quick_read_of_many),
		cmocka_unit_test(late_on_the_same_path),
		cmocka_unit_test(nak_behind_ack),
		cmocka_unit_test(nak_after_rnr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
