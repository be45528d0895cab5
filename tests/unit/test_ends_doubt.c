/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of two captures side by side: what looks like a fault of the path, and is not proven.
 */
#include "test_ends_make.h"
#include <stdlib.h>

static void exchange(uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		request(i, i * 10 * US);
		answer(i, 0, i * 10 * US + 5 * US);
	}
}

/* A receiver that was not ready drops what follows, and asks for it: that packet was not lost. */
static void test_asked_since_not_ready(void **state)
{
	(void)state;
	for (unsigned int rnr = 0; rnr < 2; rnr++) {
		struct rd_ends_report *r;

		begin();
		exchange(0, 100);
		see(RD_TAP_A, false, 100, 0, MS);
		request(101, MS + US);
		if (rnr)
			answer(100, 0x2c, MS + 5 * US);
		answer(100, 0x60, MS + 6 * US);
		request(100, MS + 20 * US);
		request(101, MS + 21 * US);
		r = finish();
		assert_int_equal(qp_of(r, 0x100)->asked_for, !rnr);
		assert_int_equal(qp_of(r, 0x100)->missed_at_receiver.count, rnr);
		rd_ends_report_free(r);
	}
}

/* What the receiver asks for may be lost downstream of a capture that does not take such packets.
 */
static void test_asked_for_what_is_filtered(void **state)
{
	static const uint8_t opcodes[] = {0x0a, REQUEST}; /* WRITE is filtered, SEND is not */

	(void)state;
	for (unsigned int taken = 0; taken < 2; taken++) {
		struct rd_ends_report *r;

		begin();
		exchange(0, 100);
		two.opcode = opcodes[taken];
		see(RD_TAP_A, false, 100, 0, MS);
		two.opcode = REQUEST;
		request(101, MS + US);
		answer(100, 0x60, MS + 6 * US);
		two.opcode = opcodes[taken];
		if (taken)
			request(100, MS + 20 * US);
		else
			see(RD_TAP_A, false, 100, 0, MS + 20 * US);
		answer(100, 0, MS + 50 * US);
		r = finish();
		assert_int_equal(qp_of(r, 0x100)->asked_for, 1);
		assert_int_equal(certainty_of(r, "lost-between"), taken ? RD_LIKELY : RD_POSSIBLE);
		rd_ends_report_free(r);
	}
}

/* Of many identical packets with IP ids, the first one arrives last. */
static void test_late_among_many(void **state)
{
	const uint32_t many = 300;
	struct rd_ends_report *r;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 500; i++) {
		two.ip_id = i + 1;
		request(i, i * 10 * US);
		answer(i, 0, i * 10 * US + 5 * US);
	}
	for (uint32_t i = 0; i < many; i++) {
		two.ip_id = 1000 + i;
		see(RD_TAP_B, true, 499, 0, 6 * MS + i * US);
		if (i)
			see(RD_TAP_A, true, 499, 0, 6 * MS + i * US + DELAY);
	}
	two.ip_id = 1000;
	see(RD_TAP_A, true, 499, 0, 6 * MS + many * US + DELAY);
	r = finish();
	assert_int_equal(qp_of(r, 0x200)->lost.count, 0);
	assert_int_equal(qp_of(r, 0x200)->missed.count, 0);
	assert_int_equal(qp_of(r, 0x200)->duplicated.count, 0);
	assert_int_equal(qp_of(r, 0x200)->reordered, 1);
	rd_ends_report_free(r);
}

/* A delay that grows once may be a clock that was set; one that grows again and again is none. */
static void test_grows_once(void **state)
{
	(void)state;
	for (unsigned int often = 0; often < 2; often++) {
		struct rd_ends_report *r;

		begin();
		for (uint32_t i = 0; i < 100; i++) {
			const uint64_t t = i * 4 * MS + i % 7 * 13 * US;
			const bool late = often ? i % 20 > 15 : i >= 80;

			two.ahead = !often && late ? 3 * (int64_t)MS / 2 : 0;
			see(RD_TAP_A, false, i, 0, t);
			see(RD_TAP_B, false, i, 0, t + 2 * MS + (often && late ? 3 * MS / 2 : 0));
			see(RD_TAP_B, true, i, 0, t + 4 * MS);
			see(RD_TAP_A, true, i, 0, t + 6 * MS);
		}
		r = finish();
		assert_true(r->offset_known);
		assert_int_equal(certainty_of(r, "delay-varies"), often ? RD_LIKELY : RD_POSSIBLE);
		rd_ends_report_free(r);
	}
}

/* Each capture misses another one of two copies: these two are no pair, and no packet was so fast.
 */
static void test_too_fast(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	begin();
	two.directions = true;
	for (uint32_t i = 0; i < 100; i++) {
		const uint64_t t = i * 2 * MS + i % 7 * 13 * US;

		see(RD_TAP_A, false, i, 0, t);
		see(RD_TAP_B, false, i, 0, t + 2 * MS - (i % 25 == 12 ? 3 * MS / 2 : 0));
		see(RD_TAP_B, true, i, 0, t + 4 * MS);
		see(RD_TAP_A, true, i, 0, t + 6 * MS);
	}
	r = finish();
	assert_true(r->offset_known);
	assert_int_equal(certainty_of(r, "delay-varies"), RD_POSSIBLE);
	rd_ends_report_free(r);
}

/*
 * A QP that is used twice has the same packets twice. If A's capture has the second use only, none
 * of them shows which one is which: what A lacks of the first use, it need not have missed.
 */
static void test_nothing_proven(void **state)
{
	(void)state;
	for (unsigned int proven = 0; proven < 2; proven++) {
		struct rd_ends_report *r;

		begin();
		two.directions = true;
		two.ahead = proven ? 0 : (int64_t)(100 * MS);
		for (unsigned int use = 0; use < 2; use++)
			for (uint32_t i = 0; i < 100; i++) {
				const uint64_t t = use * 100 * MS + i * 20 * US;

				if (i == 50 && !use)
					see(RD_TAP_B, false, 500, 0, t + 3 * US);
				if (use || proven)
					see(RD_TAP_A, false, i, 0, t);
				see(RD_TAP_B, false, i, 0, t + DELAY);
				see(RD_TAP_B, true, i, 0, t + 2 * DELAY);
				if (use || proven)
					see(RD_TAP_A, true, i, 0, t + 3 * DELAY);
			}
		if (proven) {
			request(600, 200 * MS);
			answer(600, 0, 201 * MS);
		}
		r = finish();
		assert_int_equal(
			certainty_of(r, "missed-at-sender"), proven ? RD_LIKELY : RD_POSSIBLE);
		rd_ends_report_free(r);
	}
}

#define DELAY_MOST (60 * US)

/* With delays that leave open which one of two copies is which. */
static void exchange_varied(bool ids)
{
	for (uint32_t i = 0; i < 100; i++) {
		two.ip_id = ids ? i + 1 : 0;
		see(RD_TAP_A, false, i, 0, i * 100 * US);
		see(RD_TAP_B, false, i, 0, i * 100 * US + (i % 2 ? DELAY : DELAY_MOST));
		answer(i, 0, i * 100 * US + 70 * US);
	}
	two.ip_id = 0;
}

/* Copies whose order is unknown do not count as reordered: then the number is the least one. */
static void test_at_least(void **state)
{
	(void)state;
	for (unsigned int copies = 0; copies < 2; copies++) {
		const struct rd_finding *f;
		struct rd_ends_report *r;

		begin();
		exchange_varied(false);
		see(RD_TAP_A, false, 100, 0, 20 * MS);
		see(RD_TAP_A, false, 101, 0, 20 * MS + 10 * US);
		see(RD_TAP_B, false, 101, 0, 20 * MS + 20 * US);
		see(RD_TAP_B, false, 100, 0, 20 * MS + 50 * US);
		for (unsigned int i = 0; copies && i < 2; i++)
			request(102, 21 * MS + i * 10 * US);
		answer(102, 0, 22 * MS);
		r = finish();
		assert_int_equal(qp_of(r, 0x100)->reordered, 1);
		assert_int_equal(qp_of(r, 0x100)->order_unknown, copies ? 2 : 0);
		f = &r->findings.finding[0];
		assert_string_equal(f->rule, "reordered-between");
		assert_int_equal(strstr(f->detail, "at least 1 of ") != NULL, copies);
		rd_ends_report_free(r);
	}
}

/* Twice sent, and in B's capture never: one acknowledgement shows that it missed one of them. */
static void test_sent_twice(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	begin();
	exchange(0, 100);
	see(RD_TAP_A, false, 100, 0, MS);
	see(RD_TAP_A, false, 100, 0, MS + 50 * US);
	answer(100, 0, MS + 80 * US);
	r = finish();
	assert_int_equal(qp_of(r, 0x100)->missed_at_receiver.count, 1);
	assert_int_equal(qp_of(r, 0x100)->sent, 102);
	rd_ends_report_free(r);
}

/* Other bytes with the same header: lost is the one whose bytes did not arrive. */
static void test_other_bytes(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	begin();
	exchange_varied(true);
	see(RD_TAP_A, false, 100, 0, 20 * MS);
	two.changed = 1;
	see(RD_TAP_A, false, 100, 0, 20 * MS + US);
	see(RD_TAP_B, false, 100, 0, 20 * MS + 30 * US);
	answer(100, 0, 21 * MS);
	r = finish();
	assert_int_equal(qp_of(r, 0x100)->lost.count, 1);
	assert_int_equal(qp_of(r, 0x100)->lost.first_frame, 201);
	rd_ends_report_free(r);
}

/* A packet of the other capture is the partner of one packet only, also if an older one has none.
 */
static void test_partner_of_one(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	begin();
	exchange_varied(true);
	two.ip_id = 205;
	see(RD_TAP_A, false, 100, 0, 20 * MS);
	see(RD_TAP_A, false, 100, 0, 20 * MS);
	two.ip_id = 209; /* A's capture missed it */
	see(RD_TAP_B, false, 100, 0, 20 * MS + DELAY_MOST);
	two.ip_id = 205;
	see(RD_TAP_B, false, 100, 0, 20 * MS + DELAY_MOST);
	answer(100, 0, 21 * MS);
	r = finish();
	assert_int_equal(qp_of(r, 0x100)->arrived, 101);
	assert_int_equal(qp_of(r, 0x100)->missed.count, 1);
	rd_ends_report_free(r);
}

/* The path repeats a packet after the sender did so: the sender's capture has all that was sent. */
static void test_late_copy(void **state)
{
	static const struct {
		uint32_t between;
		bool icrc; /* as in RoCEv2, it covers the IP id; else as if it were cut off */
	} cases[] = {{0, true}, {3, true}, {3, false}, {99, true}};

	(void)state;
	for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
		const uint32_t between = cases[k].between;
		struct rd_ends_report *r;

		begin();
		exchange_varied(true);
		for (uint32_t i = 0; i <= between; i++) {
			two.ip_id = 200 + i;
			two.changed = cases[k].icrc ? i : 0;
			request(100, 20 * MS + i * 10 * US);
		}
		two.ip_id = 200;
		two.changed = 0;
		see(RD_TAP_B, false, 100, 0, 22 * MS);
		two.ip_id = 1000;
		answer(100, 0, 23 * MS);
		r = finish();
		assert_int_equal(qp_of(r, 0x100)->arrived, 101 + between);
		assert_int_equal(qp_of(r, 0x100)->missed.count, 0);
		assert_int_equal(qp_of(r, 0x100)->duplicated.count, 1);
		assert_int_equal(certainty_of(r, "duplicated-between"), RD_LIKELY);
		rd_ends_report_free(r);
	}
}

/* Where one capture lacks the ICRC, only IP ids tell which one of two transmissions is which. */
static void test_cut_icrc(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	begin();
	two.directions = true; /* too few have no copies for their times to show the order */
	two.cut = true;
	for (uint32_t i = 0; i < 100; i++)
		for (uint32_t again = 0; again < 2; again++) {
			two.changed = again;
			two.ip_id = 2 * i + again + 1;
			request(i, i * 100 * US + again * 50 * US);
			two.ip_id = 0;
			answer(i, 0, i * 100 * US + again * 50 * US + 10 * US);
		}
	two.ip_id = 199;
	see(RD_TAP_B, false, 99, 0, 10 * MS);
	two.ip_id = 0;
	answer(100, 0, 11 * MS);
	r = finish();
	assert_int_equal(qp_of(r, 0x100)->arrived, 200);
	assert_int_equal(qp_of(r, 0x100)->missed.count, 0);
	assert_int_equal(qp_of(r, 0x100)->duplicated.count, 1);
	assert_int_equal(certainty_of(r, "duplicated-between"), RD_LIKELY);
	rd_ends_report_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asked_since_not_ready),
		cmocka_unit_test(test_asked_for_what_is_filtered),
		cmocka_unit_test(test_late_among_many),
		cmocka_unit_test(test_grows_once),
		cmocka_unit_test(test_too_fast),
		cmocka_unit_test(test_nothing_proven),
		cmocka_unit_test(test_at_least),
		cmocka_unit_test(test_sent_twice),
		cmocka_unit_test(test_other_bytes),
		cmocka_unit_test(test_partner_of_one),
		cmocka_unit_test(test_late_copy),
		cmocka_unit_test(test_cut_icrc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
