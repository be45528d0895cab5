/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The verdict's causes: delayed messages, ports that pause, further causes in one capture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_scene.h"
#include "verdict.h"

#define US UINT64_C(1000)

static void at_host(struct scene *s, const char *address)
{
	char json[256];

	snprintf(json, sizeof(json),
		"{\"kind\":\"device\",\"device\":\"mlx5_0\",\"port\":1,\"speed\":100000000000,"
		"\"gids\":[{\"index\":0,\"gid\":\"::ffff:%s\",\"type\":\"RoCE v2\"}]}",
		address);
	rd_analysis_facts(s->a, json, strlen(json));
}

/* --- delayed messages ------------------------------------------------------------------------- */

static uint64_t delayed(struct scene *s)
{
	return count(result(s), RD_INC_DELAYED);
}

/* Of ten messages, 4 to 6 are retransmitted, two of them twice, and 9. */
static void a_message_counts_once(void **state)
{
	struct scene s = begin();

	(void)state;
	sends(&s, 1, 6);
	respond(&s, ACK, 4, NAK_SEQ);
	sends(&s, 4, 6);
	respond(&s, ACK, 5, NAK_SEQ);
	sends(&s, 5, 6);
	respond(&s, ACK, 6, OK);
	sends(&s, 7, 9);
	respond(&s, ACK, 9, RNR);
	s.ns += 2000 * US;
	sends(&s, 9, 10);
	respond(&s, ACK, 10, OK);
	assert_int_equal(delayed(&s), 4);
	assert_int_equal(s.r->verdict.delayed, 4);
	assert_int_equal(s.r->verdict.messages, 10);
	assert_non_null(strstr(s.r->verdict.how_much, " s to 0."));
	assert_true(s.r->verdict.until_ns > s.r->verdict.since_ns);
	assert_true(s.r->verdict.until_ns <= s.r->totals.last_ns);
	assert_non_null(strstr(s.r->verdict.how_much, "at least 4 of 10 (40 %)"));
	end(&s);
}

/* A round within a long message delays that message, and no other one; a second round, too. */
static void a_message_that_continues_counts_once(void **state)
{
	struct scene s = begin();

	(void)state;
	sends(&s, 1, 2);
	request(&s, WRITE_FIRST, 3);
	request(&s, WRITE_MIDDLE, 4);
	respond(&s, ACK, 3, NAK_SEQ);
	request(&s, WRITE_FIRST, 3);
	request(&s, WRITE_MIDDLE, 4);
	request(&s, WRITE_MIDDLE, 5); /* new */
	respond(&s, ACK, 4, NAK_SEQ);
	request(&s, WRITE_MIDDLE, 4);
	request(&s, WRITE_MIDDLE, 5);
	request(&s, WRITE_LAST, 6); /* new */
	respond(&s, ACK, 6, NAK_SEQ);
	request(&s, WRITE_LAST, 6); /* its end, which counts already */
	respond(&s, ACK, 6, OK);
	sends(&s, 7, 8);
	respond(&s, ACK, 8, OK);
	assert_int_equal(delayed(&s), 1);
	end(&s);
}

/* The message after one that was delayed, in a round of its own. */
static void two_long_messages_count_twice(void **state)
{
	struct scene s = begin();

	(void)state;
	for (uint32_t psn = 1; psn < 8; psn += 3) {
		request(&s, WRITE_FIRST, psn);
		request(&s, WRITE_MIDDLE, psn + 1);
		if (psn < 7) {
			respond(&s, ACK, psn, NAK_SEQ);
			request(&s, WRITE_FIRST, psn);
			request(&s, WRITE_MIDDLE, psn + 1);
		}
		request(&s, WRITE_LAST, psn + 2);
		respond(&s, ACK, psn + 2, OK);
	}
	assert_int_equal(delayed(&s), 2);
	end(&s);
}

/* A READ is requested again from the middle: it is the same message. */
static void a_read_counts_by_its_end(void **state)
{
	struct scene s = begin();

	(void)state;
	read_request(&s, 1, 4096);
	respond(&s, RESP_FIRST, 1, OK);
	respond(&s, RESP_MIDDLE, 3, OK);
	read_request(&s, 2, 3072);
	respond(&s, RESP_FIRST, 2, OK);
	respond(&s, RESP_LAST, 4, OK);
	read_request(&s, 3, 2048);
	respond(&s, RESP_FIRST, 3, OK);
	respond(&s, RESP_LAST, 4, OK);
	read_request(&s, 5, 1024);
	respond(&s, RESP_ONLY, 5, OK);
	assert_int_equal(delayed(&s), 1);
	end(&s);
}

/* PSNs start again far away: the end of the last message that counted is no limit any more. */
static void a_new_sequence_counts_from_its_start(void **state)
{
	struct scene s = begin();

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		const uint32_t psn = i ? 0x100000 : 0x700000;

		sends(&s, psn, psn + 3);
		respond(&s, ACK, psn + 2, NAK_SEQ);
		sends(&s, psn + 2, psn + 3);
		respond(&s, ACK, psn + 3, OK);
	}
	assert_int_equal(delayed(&s), 4);
	end(&s);
}

/* --- ports that pause ------------------------------------------------------------------------- */

#define REQUESTER_MAC "\x52\x54\0\0\0\x02"
#define SWITCH_MAC    "\x02\0\0\0\0\x77"

/* Of priority 3, for 335 us. */
static void pause_by(struct scene *s, const char *mac)
{
	uint8_t b[60] = "\x01\x80\xc2\0\0\x01";
	const struct rd_frame frame = {
		.ts_ns = s->ns += 1000, .data = b, .caplen = sizeof(b), .len = sizeof(b)};

	memcpy(b + 6, mac, 6);
	memcpy(b + 12, "\x88\x08\x01\x01\0\x08", 6);
	rd_put_be16(b + 18 + 6, 0xffff);
	rd_analysis_frames(s->a, RD_LINK_ETHERNET, &frame, 1);
}

static void a_pausing_port_is_a_hosts_or_a_switchs(void **state)
{
	static const struct {
		const char *at, *mac;
		unsigned int places;
		const char *receiver, *next;
	} cases[] = {
		{"10.0.0.2", REQUESTER_MAC, RD_PLACE_RECEIVER_NIC, "10.0.0.2", ""},
		{"10.0.0.1", REQUESTER_MAC, RD_PLACE_RECEIVER_NIC | RD_PLACE_FABRIC, "10.0.0.2",
			"10.0.0.2"},
		{NULL, REQUESTER_MAC, RD_PLACE_RECEIVER_NIC | RD_PLACE_FABRIC, "10.0.0.2",
			"10.0.0.2"},
		{"10.0.0.2", SWITCH_MAC, RD_PLACE_FABRIC, "", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene s = begin();
		const struct rd_judgement *v;

		if (cases[i].at)
			at_host(&s, cases[i].at);
		rd_analysis_speed(s.a, UINT64_C(100000000000));
		request(&s, SEND_ONLY, 1);
		pause_by(&s, cases[i].mac);
		for (uint32_t psn = 2; psn < 9; psn++) {
			request(&s, SEND_ONLY, psn);
			respond(&s, ACK, psn, OK);
		}
		result(&s);
		v = &s.r->verdict;
		assert_string_equal(v->rule, "pause-frames");
		assert_int_equal(v->places, cases[i].places);
		assert_int_equal(v->where, RD_LIKELY);
		assert_string_equal(v->receiver, cases[i].receiver);
		assert_string_equal(v->capture_next, cases[i].next);
		assert_non_null(strstr(v->what, "Pause frames ask the other end of a link to stop: "
						"priority 3, sent by "));
		assert_non_null(strstr(v->how_much, "% of the time"));
		end(&s);
	}
}

/* --- not ready, and congestion without marks ------------------------------------------------ */

/*
 * An RNR NAK to a SEND is for a missing receive. A request that needs no receive gets one, too, for
 * example after a page fault: that is no sign of the application alone.
 */
static void a_receiver_lacks_receives_or_pages(void **state)
{
	enum { WRITE_ONLY = 0x0a, WRITE_ONLY_IMM = 0x0b };
	static const struct {
		unsigned int first, second, places;
	} cases[] = {
		{SEND_ONLY, SEND_ONLY, RD_PLACE_RECEIVER_HOST},
		{WRITE_ONLY_IMM, WRITE_ONLY_IMM, RD_PLACE_RECEIVER_HOST},
		{WRITE_ONLY, WRITE_ONLY, RD_PLACE_RECEIVER_NIC | RD_PLACE_RECEIVER_HOST},
		{READ, READ, RD_PLACE_RECEIVER_NIC | RD_PLACE_RECEIVER_HOST},
		{WRITE_ONLY, SEND_ONLY, RD_PLACE_RECEIVER_HOST},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const bool pages = cases[i].places & RD_PLACE_RECEIVER_NIC;
		struct scene s = begin();

		for (uint32_t psn = 1; psn < 5; psn++) {
			const unsigned int op = psn % 2 ? cases[i].first : cases[i].second;

			for (int again = 0; again < 2; again++) {
				if (op == READ)
					read_request(&s, psn, 1024);
				else
					request(&s, op, psn);
				s.ns += again ? 0 : 10 * US;
				respond(&s, again && op == READ ? RESP_ONLY : ACK, psn,
					again ? OK : RNR);
				s.ns += again ? 0 : 2000 * US;
			}
		}
		result(&s);
		assert_string_equal(s.r->verdict.rule, "rnr");
		assert_int_equal(s.r->verdict.places, cases[i].places);
		/* That the application was slow is not certain, as the NAK is. */
		assert_null(strstr(s.r->verdict.what, "application"));
		assert_int_equal(strstr(finding(&s, "rnr")->detail, "need no receive") != NULL,
			pages || cases[i].first != cases[i].second);
		end(&s);
	}
}

/* The receiver asks the sender to slow down; a switch has marked packets, or none has. */
static void notifications_without_marks_are_the_receivers(void **state)
{
	enum { ECT = 2, CE = 3 };
	static const struct {
		const char *at;
		bool whole; /* the file reports that it lost nothing */
		uint32_t marked;
		unsigned int places;
	} cases[] = {
		{"10.0.0.1", true, 0, RD_PLACE_RECEIVER_NIC},
		{"10.0.0.1", true, 7, RD_PLACE_FABRIC},
		{"10.0.0.1", false, 0, RD_PLACE_FABRIC},
		{"10.0.0.2", true, 0, RD_PLACE_FABRIC}, /* marks are set behind this point */
		{NULL, true, 0, RD_PLACE_FABRIC},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const bool unmarked = cases[i].places == RD_PLACE_RECEIVER_NIC;
		struct scene s = begin();

		if (cases[i].at)
			at_host(&s, cases[i].at);
		for (uint32_t psn = 1; psn < 20; psn++) {
			s.tos = psn == cases[i].marked ? CE : ECT;
			request(&s, SEND_ONLY, psn);
			s.tos = ECT;
			if (psn % 4 == 3)
				put(&s, true, CNP, 0, NULL, 16);
			respond(&s, ACK, psn, OK);
		}
		rd_analysis_file_end(s.a, 0, cases[i].whole, NULL);
		result(&s);
		assert_string_equal(s.r->verdict.rule, unmarked ? "cnp-unmarked" : "cnp");
		assert_int_equal(s.r->verdict.places, cases[i].places);
		assert_int_equal(s.r->verdict.where, RD_LIKELY);
		assert_string_equal(s.r->verdict.what,
			unmarked ? "10.0.0.1 asks 10.0.0.2 to slow down, but no packet reached it "
				   "with a congestion mark."
				 : "10.0.0.1 reports congestion on the path from 10.0.0.2, and "
				   "asks it to slow down.");
		assert_int_equal(s.r->verdict.certainty, unmarked ? RD_LIKELY : RD_CERTAIN);
		end(&s);
	}
}

/* Where the file says that it is of one end, the other one is where to capture. */
static void the_next_capture_is_elsewhere(void **state)
{
	static const char *const at[][2] = {
		{NULL, "10.0.0.1"}, {"10.0.0.2", "10.0.0.1"}, {"10.0.0.1", "10.0.0.2"}};

	(void)state;
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		struct scene s = begin();

		if (at[i][0])
			at_host(&s, at[i][0]);
		for (uint32_t psn = 1; psn < 40; psn++) {
			s.tos = 26 << 2;
			request(&s, SEND_ONLY, psn);
			s.tos = 0;
			respond(&s, ACK, psn, OK);
		}
		result(&s);
		assert_string_equal(s.r->verdict.rule, "priorities-differ");
		assert_string_equal(s.r->verdict.capture_next, at[i][1]);
		end(&s);
	}
}

/* --- several causes --------------------------------------------------------------------------- */

static void lose(struct scene *s, uint32_t first)
{
	for (uint32_t psn = first; psn < first + 20; psn += 10) {
		sends(s, psn, psn + 5);
		respond(s, ACK, psn + 3, NAK_SEQ);
		sends(s, psn + 3, psn + 9);
		respond(s, ACK, psn + 9, OK);
	}
}

/* Further causes are named: those of the same QPs, too, unless they follow from the first one. */
static void other_causes_are_named(void **state)
{
	struct scene s = begin();

	(void)state;
	lose(&s, 1);
	result(&s);
	assert_string_equal(s.r->verdict.rule, "lost-downstream");
	assert_string_equal(s.r->verdict.also, "");
	end(&s);
	s = begin();
	lose(&s, 1);
	for (uint32_t psn = 21; psn < 26; psn++) {
		request(&s, SEND_ONLY, psn);
		respond(&s, ACK, psn, RNR);
		s.ns += 2000 * US;
		request(&s, SEND_ONLY, psn);
		respond(&s, ACK, psn, OK);
	}
	result(&s);
	assert_string_equal(s.r->verdict.rule, "lost-downstream");
	assert_string_equal(s.r->verdict.also,
		"There is more: the receiver was not ready (RNR NAK) (1 QP pair).");
	end(&s);
}

/* Of other hosts than the first cause, they are named: "the receiver" would be another one. */
static void other_causes_name_their_hosts(void **state)
{
	struct scene s = begin();

	(void)state;
	lose(&s, 1);
	s.third = true;
	for (uint32_t psn = 21; psn < 26; psn++) {
		s.qp = 0x101;
		request(&s, SEND_ONLY, psn);
		s.qp = 0x201;
		respond(&s, ACK, psn, RNR);
		s.ns += 2000 * US;
		s.qp = 0x101;
		request(&s, SEND_ONLY, psn);
		s.qp = 0x201;
		respond(&s, ACK, psn, OK);
	}
	result(&s);
	assert_string_equal(s.r->verdict.rule, "lost-downstream");
	assert_string_equal(s.r->verdict.also,
		"There is more: the receiver was not ready (RNR NAK) (1 QP pair, 10.0.0.9 -> "
		"10.0.0.1).");
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_counts_once),
		cmocka_unit_test(a_message_that_continues_counts_once),
		cmocka_unit_test(two_long_messages_count_twice),
		cmocka_unit_test(a_read_counts_by_its_end),
		cmocka_unit_test(a_new_sequence_counts_from_its_start),
		cmocka_unit_test(a_pausing_port_is_a_hosts_or_a_switchs),
		cmocka_unit_test(a_receiver_lacks_receives_or_pages),
		cmocka_unit_test(notifications_without_marks_are_the_receivers),
		cmocka_unit_test(the_next_capture_is_elsewhere),
		cmocka_unit_test(other_causes_are_named),
		cmocka_unit_test(other_causes_name_their_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
