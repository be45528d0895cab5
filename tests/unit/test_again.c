/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What repeated packets and responses show: lateness, copies, endings, timers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_scene.h"

#define MS UINT64_C(1000000)

/* A request without an IP identification. */
static void plain(struct scene *s, uint32_t psn)
{
	s->ip_id = UINT16_MAX;
	request(s, SEND_ONLY, psn);
}

/* --- responses ------------------------------------------------------------------------------- */

/* A mirror duplicates the packets of all QPs: a copy of a READ looks repeated. */
static void copies_on_the_same_path(void **state)
{
	(void)state;
	for (int how = 0; how < 3; how++) { /* 1: copies of another QP; 2: but there are IP ids */
		struct scene s = begin();
		uint32_t psn = 0;

		for (; psn < 24; psn++) {
			read_request(&s, psn, 1024);
			s.ip_id = how == 2 ? s.ip_id : UINT16_MAX;
			respond(&s, RESP_ONLY, psn, OK);
			s.ip_id = how == 2 ? s.ip_id : UINT16_MAX;
			if (psn % 8)
				continue;
			s.ns += 2 * MS;
			read_request(&s, psn, 1024);
			s.ip_id = how == 2 ? s.ip_id : UINT16_MAX;
			respond(&s, RESP_ONLY, psn, OK);
			s.ip_id = how == 2 ? s.ip_id : UINT16_MAX;
		}
		s.qp = 0x300;
		for (psn = 70; psn < 90; psn++) {
			plain(&s, psn);
			s.ns -= how ? 9500 : 0;
			if (how)
				plain(&s, psn);
		}
		assert_certainty(
			&s, "responses-lost-downstream", how == 1 ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* --- endings ---------------------------------------------------------------------------------- */

/*
 * A receiver that has responded to a request responds to its repetition, too: where it does not any
 * more, responses stopped, although all requests had been answered at this point.
 */
static void stopped_after_last_response(void **state)
{
	static const enum op ops[][2] = {
		{FETCH_ADD, ATOMIC_ACK}, {READ, RESP_ONLY}, {SEND_ONLY, ACK}};

	(void)state;
	for (unsigned int i = 0; i < 2 * sizeof(ops) / sizeof(*ops); i++) {
		struct scene s = begin();
		bool stops = i % 2;
		enum op op = ops[i / 2][0], response = ops[i / 2][1];

		for (uint32_t psn = 0; psn < 8; psn++) {
			uint32_t again = psn < 2 ? psn : 2;

			s.ns += psn > 2 ? 60 * MS : 0;
			if (op == READ)
				read_request(&s, again, 1024);
			else
				request(&s, op, again);
			if (!stops || psn < 5)
				respond(&s, response, again, OK);
		}
		result(&s);
		if (stops)
			assert_certainty(&s, "responses-stopped", RD_LIKELY);
		else
			assert_null(finding(&s, "responses-stopped"));
		assert_null(finding(&s, "gave-up"));
		end(&s);
	}
}

/*
 * A capture that missed packets of another QP may have missed two responses, hardly three; one that
 * reports its losses, or cut a response off, may have missed any.
 */
static void gave_up_where_frames_are_missed(void **state)
{
	static const enum rd_certainty expected[] = {
		RD_LIKELY, RD_POSSIBLE, RD_LIKELY, RD_POSSIBLE, RD_POSSIBLE};

	(void)state;
	for (unsigned int how = 0; how < 5; how++) {
		struct scene s = begin();

		assert_int_equal(rd_analysis_file(s.a, "a.pcap", "pcap", NULL, NULL), 0);
		sends(&s, 0, 3);
		respond(&s, ACK, 1, OK);
		s.cut = how == 3 ? 54 : 0;
		respond(&s, ACK, 1, OK);
		s.cut = 0;
		for (unsigned int again = 0; again < (how >= 2 ? 3 : 2); again++) {
			s.ns += 10 * MS;
			sends(&s, 2, 3);
		}
		s.qp = 0x300;
		sends(&s, 70, 72);
		s.qp = 0x400;
		respond(&s, ACK, 72, OK);
		s.qp = 0x300;
		sends(&s, 73 + (how > 0), 200);
		s.ns += 2000 * MS;
		sends(&s, 201, 201);
		s.qp = 0x400;
		respond(&s, ACK, 201, OK);
		rd_analysis_file_end(s.a, how == 4, true, NULL);
		assert_certainty(&s, "gave-up", expected[how]);
		end(&s);
	}
}

/* --- timers ------------------------------------------------------------------------------------
 */

/* A packet that is retransmitted, by its IP identification, is a round, though all was answered.
 */
static void one_packet_after_its_ack(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0, 5);
	respond(&s, ACK, 5, OK);
	request(&s, SEND_ONLY, 1);
	sends(&s, 6, 9);
	respond(&s, ACK, 9, OK);
	c = result(&s);
	assert_int_equal(count(c, RD_INC_RETRANSMITTED), 1);
	assert_int_equal(count(c, RD_INC_ROUND_TIMEOUT), 1);
	assert_certainty(&s, "timeout-short", RD_POSSIBLE);
	end(&s);
}

/* A receiver that is not ready may send a NAK, too: the sender goes back for each of them. */
static void round_for_each_of_two_naks(void **state)
{
	(void)state;
	for (int rnr = 0; rnr < 2; rnr++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 8; psn += 2) {
			sends(&s, psn, psn + 1);
			if (rnr)
				respond(&s, ACK, psn, RNR);
			if (rnr)
				respond(&s, ACK, psn, NAK_SEQ);
			for (int again = 0; again < (psn == 6) + (rnr || psn == 6); again++) {
				s.ns += 200000;
				sends(&s, psn, psn + 1);
			}
			s.ns += 50000;
			respond(&s, ACK, psn + 1, OK);
		}
		assert_int_equal(count(result(&s), RD_INC_ROUND_TIMEOUT), rnr ? 1 : 2);
		assert_certainty(&s, "timeout", rnr ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_on_the_same_path),
		cmocka_unit_test(stopped_after_last_response),
		cmocka_unit_test(gave_up_where_frames_are_missed),
		cmocka_unit_test(one_packet_after_its_ack),
		cmocka_unit_test(round_for_each_of_two_naks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
