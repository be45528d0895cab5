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

/* A READ without an IP identification, and its copy. */
static void plain_read(struct scene *s, uint32_t psn, bool twice)
{
	for (int copy = 0; copy < (twice ? 2 : 1); copy++) {
		s->ip_id = UINT16_MAX;
		s->ns -= copy ? 9500 : 0;
		read_request(s, psn, 1024);
	}
}

/* Copies that only their time shows: what seems to be missing may be an effect of others. */
static void missed_beside_copies(void **state)
{
	(void)state;
	for (int twice = 0; twice < 2; twice++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 200; psn++) {
			plain_read(&s, psn, twice && psn == 3);
			if (psn != 5)
				respond(&s, RESP_ONLY, psn, OK);
		}
		assert_certainty(&s, "responses-unseen", twice ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
		s = begin();
		for (uint32_t psn = 0; psn < 20; psn++) {
			if (psn == 5)
				continue;
			plain(&s, psn);
			s.ns -= 9500;
			if (twice && psn == 3)
				plain(&s, psn);
			s.msn = (uint8_t)(psn + 1);
			respond(&s, ACK, psn, OK);
		}
		assert_certainty(&s, "unseen", twice ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/*
 * Among other requests, a READ is repeated after the ACK of a later one. Which response the
 * requester lacks is unknown, but not that it lacks one.
 */
static void read_among_others_again(void **state)
{
	struct scene s = begin();

	(void)state;
	sends(&s, 0, 3);
	respond(&s, ACK, 3, OK);
	for (uint32_t psn = 4; psn < 40; psn += 4) {
		for (int again = 0; again < (psn % 16 ? 1 : 2); again++) {
			read_request(&s, psn, 1024);
			request(&s, SEND_ONLY, psn + 1);
			respond(&s, RESP_ONLY, psn, OK);
			respond(&s, ACK, psn + 1, OK);
			s.ns += 2 * MS;
		}
		sends(&s, psn + 2, psn + 3);
		respond(&s, ACK, psn + 3, OK);
	}
	assert_int_equal(count(result(&s), RD_INC_RESPONSE_LOST), 0);
	assert_certainty(&s, "responses-lost-downstream", RD_POSSIBLE);
	assert_int_equal(finding(&s, "responses-lost-downstream")->evidence.count, 2);
	end(&s);
}

/*
 * ACKs and responses overtake each other: a response that comes before its request is repeated was
 * late. Where that happens, the requester may lack a response because it is late there.
 */
static void responses_overtake(void **state)
{
	(void)state;
	for (int late = 0; late < 3; late++) { /* 2: after its request was repeated */
		struct scene s = begin();
		const struct rd_conversation *c;

		sends(&s, 0, 2);
		respond(&s, ACK, 2, OK);
		read_request(&s, 3, 1024);
		respond(&s, RESP_ONLY, 3, OK);
		read_request(&s, 4, 1024);
		read_request(&s, 5, 1024);
		sends(&s, 6, 6);
		if (late == 2)
			read_request(&s, 4, 1024);
		if (late) {
			respond(&s, ACK, 6, OK);
			respond(&s, RESP_ONLY, 5, OK);
		}
		respond(&s, RESP_ONLY, 4, OK);
		if (!late) {
			respond(&s, RESP_ONLY, 5, OK);
			respond(&s, ACK, 6, OK);
		}
		for (uint32_t psn = 7; psn < 38; psn++) {
			sends(&s, psn, psn);
			respond(&s, ACK, psn, OK);
			s.ns += psn % 16 ? 0 : 2 * MS;
			if (psn % 16)
				continue;
			sends(&s, psn, psn);
			respond(&s, ACK, psn, OK);
		}
		c = result(&s);
		assert_int_equal(count(c, RD_INC_RESPONSE_REORDERED), late == 1);
		assert_int_equal(count(c, RD_INC_RESPONSE_REPEATED), late == 2);
		assert_certainty(
			&s, "responses-lost-downstream", late == 1 ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* A packet after a gap, by a sender without identifications: lost upstream, or late as others. */
static void late_as_others(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		struct scene s = begin();
		uint32_t psn = 0;

		for (; psn < 60; psn += 6) {
			plain(&s, psn);
			plain(&s, psn + 1);
			plain(&s, psn + 3);
			respond(&s, ACK, psn + 2, NAK_SEQ);
			plain(&s, psn + 2);
			plain(&s, psn + 3);
			plain(&s, psn + 4);
			plain(&s, psn + 5);
			respond(&s, ACK, psn + 5, OK);
		}
		s.qp = 0x300;
		for (psn = 500; psn < 550 && late; psn += 5) {
			sends(&s, psn, psn + 1);
			sends(&s, psn + 3, psn + 3);
			sends(&s, psn + 2, psn + 2);
			sends(&s, psn + 4, psn + 4);
		}
		assert_certainty(&s, "lost-upstream", late ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* A READ that a later request overtook has its response before the ACK of that one: none is
 * missing. */
static void read_was_overtaken(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	for (uint32_t psn = 0; psn < 40; psn += 2) {
		request(&s, SEND_ONLY, psn + 1);
		read_request(&s, psn, 1024);
		respond(&s, RESP_ONLY, psn, OK);
		respond(&s, ACK, psn + 1, OK);
	}
	c = result(&s);
	assert_int_equal(count(c, RD_INC_RESPONSE_GAP), 0);
	assert_int_equal(count(c, RD_INC_RESPONSE_UNSEEN), 0);
	end(&s);
}

/*
 * A responder without identifications does not repeat a response by itself: the network made the
 * copy, unless the request was captured again.
 */
static void response_without_a_second_request(void **state)
{
	(void)state;
	for (int again = 0; again < 2; again++) {
		struct scene s = begin();
		const struct rd_conversation *c;

		for (uint32_t psn = 0; psn < 8; psn++) {
			read_request(&s, psn, 1024);
			s.ip_id = UINT16_MAX;
			respond(&s, RESP_ONLY, psn, OK);
			if (psn != 6)
				continue;
			s.ns += 2 * MS;
			if (again)
				read_request(&s, psn, 1024);
			s.ip_id = UINT16_MAX;
			respond(&s, RESP_ONLY, psn, OK);
		}
		c = result(&s);
		assert_int_equal(count(c, RD_INC_RESPONSE_DUPLICATED), !again);
		assert_int_equal(count(c, RD_INC_RESPONSE_REPEATED), again);
		if (again)
			assert_null(finding(&s, "duplicated"));
		else
			assert_certainty(&s, "duplicated", RD_POSSIBLE);
		end(&s);
	}
}

/* Congestion marks are said once: alone, with the CNPs, or where no CNP answers ten of them. */
static void congestion_marks(void **state)
{
	enum { ONE_DIRECTION, FEW, MANY, WITH_CNP, CASES };

	(void)state;
	for (int how = 0; how < CASES; how++) {
		struct scene s = begin();

		s.tos = 3;
		sends(&s, 0, how == FEW ? 2 : 11);
		s.tos = 0;
		if (how != ONE_DIRECTION)
			respond(&s, ACK, how == FEW ? 2 : 11, OK);
		if (how == WITH_CNP)
			put(&s, true, CNP, 0, NULL, 16);
		if (how == ONE_DIRECTION || how == FEW) {
			assert_certainty(&s, "ecn-ce", RD_CERTAIN);
			assert_non_null(strstr(
				finding(&s, "ecn-ce")->evidence.filter, "ipv6.tclass.ecn == 3"));
		} else {
			assert_null(finding(&s, "ecn-ce"));
		}
		assert_int_equal(finding(&s, "ecn-no-cnp") != NULL, how == MANY);
		assert_int_equal(finding(&s, "cnp") != NULL, how == WITH_CNP);
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
		const struct rd_finding *f;

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
		f = finding(&s, "responses-stopped");
		if (stops) {
			assert_certainty(&s, "responses-stopped", RD_LIKELY);
			/* The last response, and the last packet. */
			assert_int_equal(f->evidence.count, 3);
			assert_int_equal(f->evidence.frames[0], 10);
			assert_int_equal(f->evidence.frames[1], 13);
			assert_int_equal(f->evidence.first_ns, f->evidence.last_ns);
			assert_true(f->evidence.first_ns);
		} else {
			assert_null(f);
		}
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

/*
 * A requester that lacks the response to a READ discards later ones, and repeats the READ: the
 * receiver did not stop responding, as long as it sends these.
 */
static void later_responses_are_responses(void **state)
{
	(void)state;
	for (int stops = 0; stops < 2; stops++) {
		struct scene s = begin();

		sends(&s, 0, 3);
		respond(&s, ACK, 3, OK);
		for (int round = 0; round < 4; round++) {
			read_request(&s, 4, 1024);
			read_request(&s, 5, 1024);
			if (!stops || !round)
				respond(&s, RESP_ONLY, 5, OK);
			s.ns += 20 * MS;
		}
		result(&s);
		if (stops)
			assert_certainty(&s, "responses-stopped", RD_LIKELY);
		else
			assert_null(finding(&s, "responses-stopped"));
		end(&s);
	}
}

/*
 * A sender without any response may send new requests between its rounds: they show no progress
 * until its timer would have expired again.
 */
static void new_requests_without_a_response(void **state)
{
	(void)state;
	for (int on = 0; on < 2; on++) {
		struct scene s = begin();

		sends(&s, 0, 3);
		for (int round = 0; round < 4; round++) {
			s.ns += 3 * MS;
			sends(&s, 0, 3);
		}
		s.ns += (on ? 4 : 2) * MS;
		sends(&s, 4, 20);
		result(&s);
		if (on)
			assert_null(finding(&s, "no-response"));
		else
			assert_certainty(&s, "no-response", RD_POSSIBLE);
		end(&s);
	}
}

/* A round of a READ, a SEND, a READ and more SENDs, of which the first READ has its response. */
static void round_with_reads(struct scene *s)
{
	read_request(s, 5, 1024);
	request(s, SEND_ONLY, 6);
	read_request(s, 7, 1024);
	sends(s, 8, 20);
	respond(s, RESP_ONLY, 5, OK);
}

/*
 * A capture that begins within a round: a responder answers copies of SENDs with its last ACK,
 * sooner than the READs before them. That is no gap in the responses.
 */
static void begins_within_a_round(void **state)
{
	(void)state;
	for (int before = 0; before < 2; before++) {
		struct scene s = begin();

		if (before)
			respond(&s, ACK, 20, OK);
		round_with_reads(&s);
		respond(&s, ACK, 20, OK);
		read_request(&s, 7, 1024);
		sends(&s, 8, 20);
		respond(&s, RESP_ONLY, 7, OK);
		respond(&s, ACK, 20, OK);
		assert_int_equal(count(result(&s), RD_INC_RESPONSE_GAP), !before);
		assert_int_equal(finding(&s, "responses-lost-upstream") != NULL, !before);
		end(&s);
	}
}

/* Responses before the requests were known concern these only, not those that follow. */
static void gap_after_such_a_round(void **state)
{
	struct scene s = begin();

	(void)state;
	respond(&s, ACK, 20, OK);
	round_with_reads(&s);
	respond(&s, RESP_ONLY, 7, OK);
	respond(&s, ACK, 20, OK);
	sends(&s, 21, 22);
	respond(&s, ACK, 22, OK);
	read_request(&s, 23, 1024);
	sends(&s, 24, 25);
	respond(&s, ACK, 25, OK);
	read_request(&s, 23, 1024);
	sends(&s, 24, 25);
	assert_int_equal(count(result(&s), RD_INC_RESPONSE_GAP), 1);
	end(&s);
}

/*
 * A response is missing while the requester still repeats older requests: it does not continue, so
 * it is not known to have the response.
 */
static void round_goes_on_after_a_gap(void **state)
{
	(void)state;
	for (int goes_on = 0; goes_on < 2; goes_on++) {
		struct scene s = begin();

		read_request(&s, 0, 1024);
		respond(&s, RESP_ONLY, 0, OK);
		for (uint32_t psn = 1; psn < 7; psn++)
			read_request(&s, psn, 1024);
		s.ns += 5 * MS;
		read_request(&s, 1, 1024);
		read_request(&s, 2, 1024);
		respond(&s, RESP_ONLY, 1, OK);
		respond(&s, RESP_ONLY, 4, OK); /* that to 2 is missing */
		if (goes_on)
			read_request(&s, 3, 1024);
		read_request(&s, 9, 1024);
		s.ns += 5 * MS;
		respond(&s, ACK, 7, NAK_SEQ);
		assert_int_equal(count(result(&s), RD_INC_RESPONSE_UNSEEN), !goes_on);
		end(&s);
	}
}

/* What a QP has before its first request or response does not show its transport. */
static void begins_with_cnp(void **state)
{
	(void)state;
	for (int back = 0; back < 2; back++) {
		struct scene s = begin();

		put(&s, back, CNP, 0, NULL, 16);
		sends(&s, 0, 9);
		respond(&s, ACK, 9, OK);
		assert_int_equal(result(&s)->transport, RD_RC);
		end(&s);
		s = begin();
		put(&s, false, CNP, 0, NULL, 16);
		request(&s, UC_ONLY, 0);
		assert_int_equal(result(&s)->transport, RD_UC);
		end(&s);
	}
}

/* CNPs are frames of the other direction. */
static void cnps_back_only(void **state)
{
	(void)state;
	for (int cnps = 0; cnps < 2; cnps++) {
		struct scene s = begin();

		sends(&s, 0, 19);
		if (cnps)
			put(&s, true, CNP, 0, NULL, 16);
		assert_certainty(&s, "one-sided", cnps ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_on_the_same_path),
		cmocka_unit_test(missed_beside_copies),
		cmocka_unit_test(read_among_others_again),
		cmocka_unit_test(read_was_overtaken),
		cmocka_unit_test(responses_overtake),
		cmocka_unit_test(late_as_others),
		cmocka_unit_test(response_without_a_second_request),
		cmocka_unit_test(congestion_marks),
		cmocka_unit_test(stopped_after_last_response),
		cmocka_unit_test(gave_up_where_frames_are_missed),
		cmocka_unit_test(one_packet_after_its_ack),
		cmocka_unit_test(round_for_each_of_two_naks),
		cmocka_unit_test(later_responses_are_responses),
		cmocka_unit_test(new_requests_without_a_response),
		cmocka_unit_test(begins_within_a_round),
		cmocka_unit_test(gap_after_such_a_round),
		cmocka_unit_test(round_goes_on_after_a_gap),
		cmocka_unit_test(begins_with_cnp),
		cmocka_unit_test(cnps_back_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
