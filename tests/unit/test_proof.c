/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What NAKs, requests for the rest of a READ, copies and clocks prove about loss and progress. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_scene.h"

#define MS UINT64_C(1000000)

/* --- NAKs --------------------------------------------------------------------------------------
 */

/* After an RNR NAK a sender repeats all packets, and the receiver requests none that is absent. */
static void rnr_requests_nothing(void **state)
{
	(void)state;
	for (int nak = 0; nak < 2; nak++) {
		struct scene s = begin();

		sends(&s, 0, 3);
		respond(&s, ACK, 0, OK);
		sends(&s, 5, 6);
		respond(&s, ACK, nak ? 4 : 1, nak ? NAK_SEQ : RNR);
		s.ns += 2 * MS;
		sends(&s, nak ? 4 : 1, 6);
		respond(&s, ACK, 6, OK);
		assert_int_equal(count(result(&s), RD_INC_LOST_UPSTREAM), 1);
		assert_certainty(&s, "lost-upstream", nak ? RD_LIKELY : RD_POSSIBLE);
		end(&s);
	}
}

/* A receiver that takes packets in order sends a NAK for each gap, unless only the capture has it.
 */
static void gaps_without_naks(void **state)
{
	(void)state;
	for (uint32_t naks = 1; naks < 5; naks += 2) {
		struct scene s = begin();

		for (uint32_t i = 0, psn = 0; i < 4; i++, psn += 6) {
			sends(&s, psn, psn + 2);
			respond(&s, ACK, psn + 2, OK);
			sends(&s, psn + 4, psn + 5);
			if (i < naks)
				respond(&s, ACK, psn + 3, NAK_SEQ);
			else
				s.ns += 17 * MS;
			sends(&s, psn + 3, psn + 5);
			respond(&s, ACK, psn + 5, OK);
		}
		assert_int_equal(count(result(&s), RD_INC_LOST_UPSTREAM), 4);
		assert_certainty(&s, "lost-upstream", naks == 1 ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* Rounds that nothing captured explains: where NAKs for gaps are missing, theirs may be, too. */
static void rounds_without_naks(void **state)
{
	(void)state;
	for (int gaps = 0; gaps < 2; gaps++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 24; psn += 6) {
			sends(&s, psn, psn + 2);
			respond(&s, ACK, psn + 2, OK);
			sends(&s, psn + 3 + (uint32_t)gaps, psn + 5);
			s.ns += 17 * MS;
			sends(&s, psn + 3, psn + 5);
			s.ns += 50000;
			respond(&s, ACK, psn + 5, OK);
		}
		assert_int_equal(count(result(&s), RD_INC_ROUND_TIMEOUT), 4);
		assert_certainty(&s, "timeout", gaps ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* A frame, and its copy 30 us later where all are captured twice; no IP identifications. */
static void frame(struct scene *s, bool twice, bool back, uint32_t psn, enum syndrome syndrome)
{
	for (int copy = 0; copy < (twice ? 2 : 1); copy++) {
		s->ip_id = UINT16_MAX;
		s->ns += copy ? 20000 : 0;
		if (back)
			respond(s, ACK, psn, syndrome);
		else
			request(s, SEND_ONLY, psn);
	}
}

/* A file that has each packet twice, from two points: a retransmission may be a copy. */
static void each_twice(void **state)
{
	(void)state;
	for (int twice = 0; twice < 2; twice++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 60; psn += 6) {
			for (uint32_t i = 0; i < 6; i++)
				if (i != 3)
					frame(&s, twice, false, psn + i, OK);
			frame(&s, twice, true, psn + 3, NAK_SEQ);
			for (uint32_t i = 3; i < 6; i++)
				frame(&s, twice, false, psn + i, OK);
			frame(&s, twice, true, psn + 5, OK);
		}
		assert_certainty(&s, "lost-upstream", twice ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
	for (int twice = 0; twice < 2; twice++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 60; psn += 6) {
			for (uint32_t i = 0; i < 6; i++)
				frame(&s, twice, false, psn + i, OK);
			frame(&s, twice, true, psn + 3, NAK_SEQ);
			for (uint32_t i = 3; i < 6; i++)
				frame(&s, twice, false, psn + i, OK);
			frame(&s, twice, true, psn + 5, OK);
		}
		assert_certainty(&s, "lost-downstream", twice ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/*
 * Copies of the other end that come when their identifications are not remembered any more look as
 * if their responses were lost.
 */
static void copies_or_lost_responses(void **state)
{
	(void)state;
	for (int twice = 0; twice < 2; twice++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 200; psn += 50) {
			sends(&s, psn, psn + 49);
			respond(&s, ACK, psn + 49, OK);
			s.ns += 2 * MS;
			if (twice) {
				s.ip_id -= 51; /* those of the first copies */
				sends(&s, psn, psn + 49);
			}
			s.ns += 2 * MS;
			sends(&s, psn + 45, psn + 49);
			respond(&s, ACK, psn + 49, OK);
		}
		assert_true(count(result(&s), RD_INC_RESPONSE_LOST) >= 2);
		assert_certainty(&s, "responses-lost-downstream", twice ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/*
 * A packet that was first captured in a round is requested when an earlier one of the round has
 * arrived, then acknowledged: this copy was on its way, and the one before was lost upstream.
 */
static void nak_meets_round(void **state)
{
	(void)state;
	for (uint32_t again = 0; again < 2; again++) {
		struct scene s = begin();
		const struct rd_conversation *c;

		sends(&s, 0, 1);
		respond(&s, ACK, 1, OK);
		sends(&s, 5, 5);
		respond(&s, ACK, 2, NAK_SEQ);
		sends(&s, 2, 4);
		respond(&s, ACK, 3, NAK_SEQ);
		if (again)
			request(&s, SEND_ONLY, 3);
		respond(&s, ACK, 4, OK);
		sends(&s, 6, 8);
		respond(&s, ACK, 8, OK);
		c = result(&s);
		assert_int_equal(count(c, RD_INC_LOST_UPSTREAM), 3);
		assert_int_equal(count(c, RD_INC_LOST_DOWNSTREAM), again);
		assert_int_equal(count(c, RD_INC_REORDERED_DOWNSTREAM), 0);
		end(&s);
	}
}

/* The first response to a READ may come sooner than any ACK: it does not show a late request. */
static void read_is_fast(void **state)
{
	(void)state;
	for (uint32_t late = 0; late < 2; late++) {
		struct scene s = begin();
		const struct rd_conversation *c;
		uint32_t psn = 0;

		read_request(&s, psn++, 1024);
		respond(&s, RESP_ONLY, 0, OK);
		for (; psn < 7; psn++) {
			request(&s, SEND_ONLY, psn);
			s.ns += 50000;
			respond(&s, ACK, psn, OK);
		}
		read_request(&s, 7, 1024);
		request(&s, SEND_ONLY, 8);
		respond(&s, ACK, 7, NAK_SEQ);
		if (!late)
			read_request(&s, 7, 1024);
		respond(&s, RESP_ONLY, 7, OK);
		c = result(&s);
		assert_int_equal(count(c, RD_INC_LOST_DOWNSTREAM), !late);
		assert_int_equal(count(c, RD_INC_REORDERED_DOWNSTREAM), late);
		end(&s);
	}
}

/*
 * An ACK for several packets shows how soon a response may come, though not for which one it is:
 * a retransmission that is acknowledged no sooner than that may have been needed.
 */
static void as_soon_as_the_ack_of_several(void **state)
{
	(void)state;
	for (int several = 0; several < 2; several++) {
		struct scene s = begin();
		const struct rd_conversation *c;
		uint32_t psn = 0;

		for (; psn < 6; psn++) {
			sends(&s, psn, psn);
			s.ns += 40000;
			respond(&s, ACK, psn, OK);
		}
		if (several) {
			sends(&s, psn, psn);
			psn++;
			request(&s, SEND_FIRST, psn++);
			respond(&s, ACK, psn - 1, OK);
			request(&s, SEND_LAST, psn++);
			s.ns += 40000;
			respond(&s, ACK, psn - 1, OK);
		}
		for (int i = 0; i < 2; i++, psn += 3) {
			sends(&s, psn, psn + 2);
			respond(&s, ACK, psn, NAK_SEQ);
			sends(&s, psn, psn + 2);
			respond(&s, ACK, psn + 2, OK);
		}
		c = result(&s);
		assert_int_equal(count(c, RD_INC_REORDERED_DOWNSTREAM), several ? 0 : 2);
		assert_int_equal(count(c, RD_INC_LOST_DOWNSTREAM), several ? 2 : 0);
		end(&s);
	}
}

/*
 * A receiver that takes packets in order requests most of those that others overtake: a NAK more
 * than lost packets explain shows little among many late packets.
 */
static void few_naks_for_late_packets(void **state)
{
	(void)state;
	for (uint32_t few = 0; few < 2; few++) {
		struct scene s = begin();
		const struct rd_conversation *c;

		for (uint32_t psn = 0; psn < 240; psn += 6) {
			uint16_t id = s.ip_id;
			bool nak = few ? psn == 60 : psn % 24 == 6;

			s.ip_id++;
			sends(&s, psn + 1, psn + 3);
			if (nak)
				respond(&s, ACK, psn, NAK_SEQ);
			s.ip_id = id; /* sent before the others */
			sends(&s, psn, psn);
			s.ip_id = (uint16_t)(id + 5);
			if (nak)
				sends(&s, psn, psn + 3);
			sends(&s, psn + 4, psn + 5);
			respond(&s, ACK, psn + 5, OK);
		}
		c = result(&s);
		assert_int_equal(count(c, RD_INC_REORDERED), 39); /* not before the first frame */
		assert_int_equal(count(c, RD_INC_LOST_UPSTREAM), 0);
		assert_int_equal(count(c, RD_INC_NAK_SEQUENCE), few ? 1 : 10);
		assert_certainty(&s, "reordered", few ? RD_POSSIBLE : RD_LIKELY);
		assert_int_equal(
			finding(&s, "reordered")->severity, few ? RD_SEV_NOTE : RD_SEV_PROBLEM);
		end(&s);
	}
}

/* --- READs ------------------------------------------------------------------------------------ */

/* A request for the rest of a READ shows that the requester has the responses before. */
static void rest_of_read(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	read_request(&s, 0xfffffe, 2 * 1024); /* which shows the path MTU */
	respond(&s, RESP_FIRST, 0xfffffe, OK);
	respond(&s, RESP_LAST, 0xffffff, OK);
	read_request(&s, 0, 20 * 1024);
	respond(&s, RESP_FIRST, 0, OK);
	respond(&s, RESP_MIDDLE, 1, OK);
	respond(&s, RESP_MIDDLE, 3, OK); /* the capture missed response 2 */
	respond(&s, RESP_MIDDLE, 5, OK); /* response 4 was lost */
	read_request(&s, 4, 16 * 1024);
	for (uint32_t psn = 8; psn < 20; psn += 4) {
		respond(&s, RESP_FIRST, psn - 4, OK);
		for (uint32_t i = 1; i < 3; i++)
			respond(&s, RESP_MIDDLE, psn - 4 + i, OK);
		read_request(&s, psn, (20 - psn) * 1024);
	}
	s.ns += 2 * MS;
	c = result(&s);
	assert_int_equal(count(c, RD_INC_RESPONSE_UNSEEN), 1 + 3);
	assert_null(finding(&s, "responses-stopped"));
	assert_null(finding(&s, "gave-up"));
	end(&s);
}

/* A requester that went back since a response is missing, or for it before, waits for its timer. */
static void response_missing_again(void **state)
{
	(void)state;
	for (int again = 0; again < 3; again++) {
		struct scene s = begin();

		sends(&s, 0, 0);
		respond(&s, ACK, 0, OK);
		read_request(&s, 1, 1024);
		read_request(&s, 2, 1024);
		if (again == 2)
			read_request(&s, 3, 1024);
		respond(&s, RESP_ONLY, again == 2 ? 1 : 2, OK);
		if (again == 2)
			respond(&s, RESP_ONLY, 3, OK);
		if (again) { /* for response 1, which was lost downstream where it was captured */
			read_request(&s, 1, 1024);
			read_request(&s, 2, 1024);
		}
		if (again == 2)
			respond(&s, RESP_ONLY, 1, OK);
		sends(&s, again == 2 ? 4 : 3, 4);
		respond(&s, RESP_ONLY, again == 2 ? 3 : 2, OK);
		respond(&s, ACK, 4, OK);
		s.ns += 20 * MS;
		sends(&s, 5, 5);
		respond(&s, ACK, 5, OK);
		assert_int_equal(count(result(&s), RD_INC_RESPONSE_UNSEEN), !again);
		end(&s);
	}
}

/*
 * A NAK is sent at once: it may acknowledge a packet sooner than any ACK, which proves no lateness.
 * Nor does a response that is sooner by one step of the clock.
 */
static void late_for_sure(void **state)
{
	(void)state;
	for (int how = 0; how < 3; how++) {
		struct scene s = begin();
		const struct rd_conversation *c;
		uint64_t frame = how == 2 ? 9000 : 9900, psn = 0;

		for (; psn < 6; psn++) {
			s.ns -= frame;
			request(&s, SEND_ONLY, (uint32_t)psn);
			s.ns -= 7000;
			respond(&s, ACK, (uint32_t)psn, OK);
		}
		for (; psn < 20; psn += 4) {
			s.ns -= 9000;
			sends(&s, (uint32_t)psn, (uint32_t)psn + 2);
			respond(&s, ACK, (uint32_t)psn, NAK_SEQ);
			request(&s, SEND_ONLY, (uint32_t)psn);
			s.ns -= 8000;
			respond(&s, ACK, (uint32_t)psn + (how == 1), how == 1 ? NAK_SEQ : OK);
			sends(&s, (uint32_t)psn + 1, (uint32_t)psn + 3);
			s.ns += 50000;
			respond(&s, ACK, (uint32_t)psn + 3, OK);
		}
		c = result(&s);
		assert_true(count(c, RD_INC_REORDERED_DOWNSTREAM) > 1);
		assert_certainty(&s, "reordered-downstream", how ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* How long a sender is silent is unknown where times go backwards, or frames were missed. */
static void gave_up_or_not_captured(void **state)
{
	enum { SURE, BACK, MISSED, HOWS };

	(void)state;
	for (int how = 0; how < HOWS; how++) {
		struct scene s = begin();

		sends(&s, 0, 3);
		if (how == MISSED)
			respond(&s, ACK, 5, OK);
		sends(&s, how == MISSED ? 6 : 4, 8);
		respond(&s, ACK, 7, RNR);
		s.qp = 0x777;
		s.ns += 5000 * MS;
		sends(&s, 70, 70);
		s.ns -= how == BACK ? MS : 0;
		sends(&s, 71, 73);
		assert_certainty(&s, "gave-up-rnr", how ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* The path MTU is learned from the other direction when a READ is repeated. */
static void repeated_read_of_known_length(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	read_request(&s, 0, 4 * 1024);
	s.qp = 0;
	put(&s, true, WRITE_FIRST, 70, NULL, 16 + 1024);
	put(&s, true, WRITE_LAST, 71, NULL, 1024);
	put(&s, false, ACK, 71, (const uint8_t[]){OK, 0, 0, 1}, 4);
	s.ns += 2 * MS;
	read_request(&s, 0, 4 * 1024);
	respond(&s, RESP_FIRST, 0, OK);
	respond(&s, RESP_MIDDLE, 1, OK);
	respond(&s, RESP_MIDDLE, 2, OK);
	respond(&s, RESP_LAST, 3, OK);
	sends(&s, 4, 5);
	respond(&s, ACK, 5, OK);
	c = result(&s);
	assert_int_equal(c->pairing == RD_PAIR_NONE, 0);
	assert_int_equal(count(c, RD_INC_UNSEEN), 0);
	assert_null(finding(&s, "unseen"));
	end(&s);
}

/*
 * A READ that requests the rest of the last one shows the path MTU, which no response does in a
 * capture of the requests: nothing is missing between them.
 */
static void rest_of_read_shows_the_mtu(void **state)
{
	static const uint32_t rests[] = {43, 40, 57}; /* the last two: of another READ */

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct scene s = begin();
		const struct rd_conversation *c;

		read_request(&s, 0, 100 * 1024 - 7);
		read_request(&s, 57, rests[i] * 1024 - 7);
		if (!i) {
			read_request(&s, 100, 183 * 1024);
			read_request(&s, 220, 63 * 1024);
		}
		c = result(&s);
		assert_int_equal(count(c, RD_INC_GAP), i ? 1 : 0);
		assert_int_equal(count(c, RD_INC_UNSEEN), 0);
		assert_int_equal(count(c, RD_INC_RETRANSMITTED), i ? 0 : 2);
		end(&s);
	}
}

/* --- clocks ----------------------------------------------------------------------------------- */

/* Where a clock's steps are a millisecond, a response and a round at one time prove no crossing. */
static void crossing_by_coarse_clock(void **state)
{
	(void)state;
	for (int coarse = 0; coarse < 2; coarse++) {
		struct scene s = begin();

		s.ns = MS;
		for (uint32_t psn = 0; psn < 12; psn++)
			for (int copy = 0; copy < 2; copy++) {
				s.ns += coarse ? MS - 10000 : 20000;
				request(&s, SEND_ONLY, psn);
				s.ns += coarse ? MS - 10000 : 20000;
				respond(&s, ACK, psn, OK);
			}
		assert_true(count(result(&s), RD_INC_CROSSED) >= 2);
		assert_certainty(&s, "timeout-short", coarse ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/*
 * A long wait in which no QP has a frame may be a step of the clock, where several wait at once or
 * where no timer of a sender is so long. One in which others have frames is none.
 */
static void stall_or_clock(void **state)
{
	enum { ALONE, ALL_WAIT, OTHERS_GO_ON, TOO_LONG, CASES };

	(void)state;
	for (int how = 0; how < CASES; how++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 20; psn++) {
			sends(&s, psn, psn);
			respond(&s, ACK, psn, OK);
		}
		s.qp = 0x300;
		if (how == ALL_WAIT || how == OTHERS_GO_ON)
			sends(&s, 70, 70);
		s.qp = 0;
		sends(&s, 20, 20);
		for (uint32_t psn = 71; psn < 81; psn++) {
			s.ns += (how == TOO_LONG ? 3700 : 40) * MS;
			s.qp = 0x300;
			if (how == OTHERS_GO_ON)
				sends(&s, psn, psn);
			s.qp = 0;
		}
		respond(&s, ACK, 20, OK);
		assert_certainty(
			&s, "stall", how == ALL_WAIT || how == TOO_LONG ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rnr_requests_nothing),
		cmocka_unit_test(gaps_without_naks),
		cmocka_unit_test(rounds_without_naks),
		cmocka_unit_test(each_twice),
		cmocka_unit_test(copies_or_lost_responses),
		cmocka_unit_test(nak_meets_round),
		cmocka_unit_test(read_is_fast),
		cmocka_unit_test(as_soon_as_the_ack_of_several),
		cmocka_unit_test(few_naks_for_late_packets),
		cmocka_unit_test(rest_of_read),
		cmocka_unit_test(response_missing_again),
		cmocka_unit_test(late_for_sure),
		cmocka_unit_test(gave_up_or_not_captured),
		cmocka_unit_test(repeated_read_of_known_length),
		cmocka_unit_test(rest_of_read_shows_the_mtu),
		cmocka_unit_test(crossing_by_coarse_clock),
		cmocka_unit_test(stall_or_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
