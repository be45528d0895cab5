/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of two captures side by side: delays that vary, late copies, clocks with long steps.
 */
#include "test_ends_make.h"
#include <stdlib.h>

/* A copy that takes a shorter way than the packet is a copy, and not one that A's capture missed.
 */
static void test_early_copy(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 100; i++) {
		const uint64_t t = i * 10 * US;

		two.ip_id = i + 1;
		if (i == 50) {
			see(RD_TAP_A, false, i, 0, t);
			see(RD_TAP_B, true, 1000, 0, t + DELAY / 4);
			see(RD_TAP_B, false, i, 0, t + DELAY / 2);
			see(RD_TAP_B, false, i, 0, t + DELAY);
			see(RD_TAP_A, true, 1000, 0, t + DELAY / 4 + DELAY);
		} else {
			request(i, t);
		}
		answer(i, 0, t + 5 * US);
	}
	r = finish();
	assert_int_equal(qp_of(r, 0x100)->missed.count, 0);
	assert_int_equal(qp_of(r, 0x100)->duplicated.count, 1);
	rd_ends_report_free(r);
}

/* By a clock that is `ahead` and has a value every 10 ms. */
static uint64_t coarse(uint64_t ns, uint64_t ahead)
{
	return (ns + ahead) / (10 * MS) * (10 * MS);
}

/* Clocks with long steps do not show an offset that is shorter than them. */
static void test_coarse_clock(void **state)
{
	const int64_t ahead = (int64_t)(4 * MS);
	struct rd_ends_report *r;

	(void)state;
	begin();
	two.directions = true;
	for (uint32_t i = 0; i < 20; i++) {
		const uint64_t t = i * 30 * MS + MS;

		see(RD_TAP_A, false, i, 0, coarse(t, 0));
		see(RD_TAP_B, false, i, 0, coarse(t + DELAY, 4 * MS));
		see(RD_TAP_B, true, i, 0, coarse(t + 2 * DELAY, 4 * MS));
		see(RD_TAP_A, true, i, 0, coarse(t + 3 * DELAY, 0));
	}
	r = finish();
	if (r->offset_known)
		assert_true(llabs(r->offset_ns - ahead) <= (int64_t)r->offset_error_ns);
	rd_ends_report_free(r);
}

/* The same with so few frames that no two have one time: all times are multiples of the step. */
static void test_coarse_clock_of_few(void **state)
{
	const int64_t ahead = (int64_t)(4 * MS);
	struct rd_ends_report *r;

	(void)state;
	begin();
	two.directions = true;
	for (uint32_t i = 0; i < 20; i++) {
		const uint64_t t = i * 50 * MS + i % 3 * 7 * MS + MS;

		see(RD_TAP_A, false, i, 0, coarse(t, 0));
		see(RD_TAP_B, false, i, 0, coarse(t + DELAY, 4 * MS));
		see(RD_TAP_B, true, i, 0, coarse(t + 20 * MS, 4 * MS));
		see(RD_TAP_A, true, i, 0, coarse(t + 20 * MS + DELAY, 0));
	}
	r = finish();
	assert_true(r->offset_known);
	assert_true(llabs(r->offset_ns - ahead) <= (int64_t)r->offset_error_ns);
	rd_ends_report_free(r);
}

/* Requests and answers up to `to`; each tenth request is `slow`. */
static void vary(uint32_t from, uint32_t to, uint64_t slow)
{
	for (uint32_t i = from; i < to; i++) {
		const uint64_t t = i * MS;

		two.ip_id = i + 1;
		see(RD_TAP_A, false, i, 0, t);
		see(RD_TAP_B, false, i, 0, t + (i % 10 == 5 ? slow : DELAY));
		answer(i, 0, t + 800 * US);
	}
}

/*
 * A packet is lost, and A's capture misses its retransmission: what the receiver acknowledges is
 * the retransmission, which its capture has.
 */
static void test_only_retransmission(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	begin();
	vary(0, 50, 500 * US);
	two.ip_id = 51;
	see(RD_TAP_A, false, 50, 0, 50 * MS);
	two.ip_id = 500;
	see(RD_TAP_B, false, 50, 0, 50 * MS + 102 * US);
	answer(50, 0, 50 * MS + 110 * US);
	vary(51, 100, 500 * US);
	r = finish();
	assert_int_equal(qp_of(r, 0x100)->missed_at_receiver.count, 0);
	assert_int_equal(qp_of(r, 0x100)->missed.count, 1);
	rd_ends_report_free(r);
}

/* A packet that was sent before A's capture began, and came late, was not missed by it. */
static void test_late_at_first(void **state)
{
	const uint64_t first[RD_TAPS] = {START + 10 * MS, START};

	(void)state;
	for (unsigned int late = 0; late < 2; late++) {
		const uint64_t at = late ? 10 * MS + 300 * US : 40 * MS + 300 * US;
		struct rd_ends_report *r;

		memset(&two, 0, sizeof(two));
		assert_int_equal(rd_ends_open(&two.e, first, 0, NULL), 0);
		for (uint32_t i = 0; i < 10; i++)
			see(RD_TAP_B, false, i, 0, i * MS);
		vary(10, late ? 11 : 41, 500 * US);
		two.ip_id = 1000;
		see(RD_TAP_B, false, 1000, 0, at);
		vary(late ? 11 : 41, 100, 500 * US);
		r = finish();
		assert_int_equal(qp_of(r, 0x100)->missed.count, 1);
		assert_int_equal(
			certainty_of(r, "missed-at-sender"), late ? RD_POSSIBLE : RD_LIKELY);
		rd_ends_report_free(r);
	}
}

/* A capture that has none of the packets with an opcode may not take them: they need not be lost.
 */
static void test_opcode_filtered(void **state)
{
	(void)state;
	for (unsigned int some = 0; some < 2; some++) {
		struct rd_ends_report *r;

		begin();
		for (uint32_t i = 0; i < 400; i++) {
			const uint64_t t = i * 100 * US;

			two.ip_id = i + 1;
			two.opcode = i % 20 == 10 ? 0x0c : 0;
			if (two.opcode && !(some && i == 10))
				see(RD_TAP_A, false, i, 0, t);
			else
				request(i, t);
			if (!two.opcode)
				answer(0xff0000 + i, 0, t + 50 * US);
		}
		r = finish();
		assert_int_equal(qp_of(r, 0x100)->lost.count, 20 - some);
		assert_int_equal(certainty_of(r, "lost-between"), some ? RD_LIKELY : RD_POSSIBLE);
		rd_ends_report_free(r);
	}
}

/* Both captures are of one host, which only one of them knows: neither is at the other end. */
static void test_same_host(void **state)
{
	(void)state;
	for (unsigned int same = 0; same < 2; same++) {
		const uint64_t delay = same ? 0 : 3 * US;
		struct rd_ends_report *r;

		begin();
		two.directions = two.only_a = true;
		for (uint32_t i = 0; i < 200; i++) {
			const uint64_t t = i * 100 * US, noise = i * 7919 % 5 * 600;

			see(RD_TAP_A, false, i, 0, t + 2 * US);
			see(RD_TAP_B, false, i, 0, t + 2 * US + delay + noise - 1200);
			see(RD_TAP_B, true, i, 0, t + 50 * US - delay + (i % 3) * 600);
			see(RD_TAP_A, true, i, 0, t + 50 * US + 600);
		}
		r = finish_any();
		for (size_t i = 0; i < r->n_paths; i++)
			assert_int_equal(r->paths[i].sender_known, !same);
		rd_ends_report_free(r);
	}
}

/* Exchanges at two captures; `later` tells how much later B has a packet than A. */
static void exchange_at(unsigned int n, const uint64_t later[2][4], uint64_t delay)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t t = i * 100 * US + 7; /* with a resolution of 1 ns */

		see(RD_TAP_A, false, i, 0, t);
		see(RD_TAP_B, false, i, 0, t + later[0][i % 4] + delay);
		see(RD_TAP_A, true, i, 0, t + 50 * US);
		see(RD_TAP_B, true, i, 0, t + 50 * US + later[1][i % 4] - delay);
	}
}

/* Times of captures at one place that jitter may show an order by chance, if they are few. */
static void test_few_times(void **state)
{
	static const uint64_t later[2][4] = {
		{2 * US, 5 * US, 3 * US, 4 * US}, {0, 3 * US, US, 2 * US}};

	(void)state;
	for (unsigned int apart = 0; apart < 2; apart++) {
		struct rd_ends_report *r;

		begin();
		exchange_at(8, later, apart ? 3 * US : 0);
		r = finish_any();
		assert_int_equal(r->n_paths, 2);
		for (size_t i = 0; i < r->n_paths; i++)
			assert_int_equal(r->paths[i].sender_known, apart);
		rd_ends_report_free(r);
	}
}

/*
 * A driver takes frames in bursts, and stamps them then: the first one of a burst gets the latest
 * time. At one place that is no order, whatever the pauses of the two directions are.
 */
static void test_bursts(void **state)
{
	static const struct packets {
		bool back;
		uint64_t at, late; /* in ns; late: in B's capture, without the delay of the path */
	} exchanges[][6] = {
		/* A response in the burst of its request. */
		{{false, 0, 5000}, {true, 4000, 1150}},
		/* The last request in a burst, the last response alone. */
		{{false, 0, 5000}, {false, 1000, 4150}, {true, 20000, 5000}, {true, 21000, 4150},
			{true, 22000, 3300}, {true, 40000, 5000}},
		/* In bursts, too, but the path takes longer than a burst. */
		{{false, 0, 5000}, {false, 1000, 4150}, {true, 100000, 5000}, {true, 101000, 4150},
			{true, 102000, 3300}, {true, 140000, 5000}},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(exchanges) / sizeof(*exchanges); k++) {
		const bool apart = k == 2;
		const uint64_t delay = apart ? 20 * US : 0;
		struct rd_ends_report *r;
		uint32_t psn = 0;

		begin();
		for (uint32_t i = 0; i < 100; i++)
			for (const struct packets *x = exchanges[k]; x->late; x++, psn++) {
				const uint64_t t = i * 300 * US + x->at;

				see(RD_TAP_A, x->back, psn, 0, t + (x->back ? delay : 0));
				see(RD_TAP_B, x->back, psn, 0, t + (x->back ? 0 : delay) + x->late);
				if (x == &exchanges[k][5])
					break;
			}
		r = finish_any();
		assert_int_equal(r->n_paths, 2);
		for (size_t i = 0; i < r->n_paths; i++)
			if (r->paths[i].sender_known != apart)
				fail_msg("case %zu", k);
		rd_ends_report_free(r);
	}
}

/* A TTL that a device on the path sets does not show the order, nor one that times contradict. */
static void test_ttl(void **state)
{
	static const struct {
		uint8_t ttl[2][RD_TAPS];
		unsigned int exchanges;
		bool known;
	} cases[] = {
		{{{64, 64}, {64, 64}}, 1, false},
		{{{64, 62}, {62, 64}}, 1, true},
		{{{64, 62}, {64, 64}}, 1, false},
		{{{64, 65}, {64, 64}}, 1, false},
		{{{64, 62}, {64, 64}}, 100, true},
		{{{64, 62}, {64, 62}}, 1, false},
		{{{64, 255}, {255, 64}}, 1, false},
		{{{64, 255}, {255, 64}}, 100, true},
		{{{64, 255}, {63, 64}}, 1, false},
		{{{60, 64}, {64, 60}}, 100, false},
		{{{60, 64}, {64, 60}}, 2, false},
		{{{64, 62}, {62, 64}}, 100, true},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct rd_ends_report *r;

		begin();
		memcpy(two.ttl, cases[k].ttl, sizeof(two.ttl));
		for (uint32_t i = 0; i < cases[k].exchanges; i++) {
			request(i, i * 100 * US);
			answer(i, 0, i * 100 * US + 50 * US);
		}
		r = finish_any();
		assert_int_equal(r->n_paths, 2);
		for (size_t i = 0; i < r->n_paths; i++) {
			if (r->paths[i].sender_known != cases[k].known)
				fail_msg("case %zu", k);
			if (cases[k].known)
				assert_int_equal(r->paths[i].sender,
					!strcmp(r->paths[i].from, "10.0.0.1") ? RD_TAP_B
									      : RD_TAP_A);
		}
		rd_ends_report_free(r);
	}
}

/*
 * A's clock has steps of 10 ms. What it has of the step in which B's capture began may be from
 * before, though all that both have seems to be later.
 */
static void test_clock_steps(void **state)
{
	struct rd_ends_report *r;
	uint32_t psn = 0;

	(void)state;
	begin();
	two.ttl[0][RD_TAP_A] = 1;
	while (psn < 10)
		see(RD_TAP_A, false, psn++, 0, 0);
	for (unsigned int step = 0; step < 10; step++)
		for (unsigned int at = 4; at < 6; at++, psn++) {
			see(RD_TAP_A, false, psn, 0, step * 10 * MS);
			see(RD_TAP_B, false, psn, 0, (step * 10 + at) * MS);
		}
	r = finish();
	assert_int_equal(qp_of(r, 0x100)->arrived, 20);
	assert_int_equal(qp_of(r, 0x100)->lost.count, 0);
	assert_int_equal(r->outside, 10);
	rd_ends_report_free(r);
}

/* A burst that a capture gets late is later than what is sent alone, at one place as well. */
static void test_mostly_later(void **state)
{
	static const uint64_t later[2][4] = {
		{8 * US, 8 * US, 8 * US, 0}, {4 * US, 4 * US, 4 * US, 4 * US}};
	struct rd_ends_report *r;

	(void)state;
	begin();
	two.directions = two.only_a = true;
	exchange_at(200, later, 0);
	r = finish_any();
	assert_int_equal(r->n_paths, 2);
	for (size_t i = 0; i < r->n_paths; i++)
		assert_false(r->paths[i].sender_known);
	rd_ends_report_free(r);
}

/*
 * The receiver asks for packets that are lost downstream of its capture, too. If that misses
 * packets, one of these may look like one that is lost on the path.
 */
static void test_missed_and_lost_downstream(void **state)
{
	(void)state;
	for (unsigned int downstream = 0; downstream < 2; downstream++) {
		struct rd_ends_report *r;

		begin();
		for (uint32_t i = 0; i < 100; i++) {
			const uint64_t t = i * 100 * US;

			two.ip_id = i + 1;
			if (i % 8 == 3)
				see(RD_TAP_A, false, i, 0, t);
			else
				request(i, t);
			answer(i, 0, t + 50 * US);
		}
		two.ip_id = 200;
		see(RD_TAP_A, false, 100, 0, 10 * MS);
		two.ip_id = 201;
		request(101, 10 * MS + 10 * US);
		answer(100, 0x60, 10 * MS + 20 * US);
		two.ip_id = 202;
		request(100, 10 * MS + 50 * US);
		answer(100, 0, 10 * MS + 60 * US);
		two.ip_id = 203;
		request(101, 12 * MS);
		answer(101, 0, 12 * MS + 10 * US);
		two.alone = downstream ? UINT64_C(1) << RD_INC_LOST_DOWNSTREAM : 0;
		r = finish();
		assert_int_equal(qp_of(r, 0x100)->asked_for, 1);
		assert_int_equal(
			certainty_of(r, "lost-between"), downstream ? RD_POSSIBLE : RD_LIKELY);
		rd_ends_report_free(r);
	}
}

/*
 * A QP that is used twice has the same packets twice. If A's capture begins with the second use, it
 * is unknown which packet is which, and so whose capture has them first.
 */
static void test_used_twice(void **state)
{
	const uint64_t later = 100 * MS;
	struct rd_ends_report *r;

	(void)state;
	begin();
	two.ahead = -(int64_t)(50 * MS);
	for (unsigned int use = 0; use < 2; use++)
		for (uint32_t i = 0; i < 100; i++) {
			const uint64_t t = use * later + i * (20 * US + i % 7 * US) + 60 * MS;

			see(RD_TAP_B, false, i, 0, t + DELAY);
			see(RD_TAP_B, true, i, 0, t + 2 * DELAY);
			if (!use)
				continue;
			see(RD_TAP_A, false, i, 0, t);
			see(RD_TAP_A, true, i, 0, t + 3 * DELAY);
		}
	r = finish_any();
	for (size_t i = 0; i < r->n_paths; i++)
		assert_false(r->paths[i].sender_known);
	assert_false(r->offset_known);
	rd_ends_report_free(r);
}

/*
 * What was sent before B's capture began, and arrives again later, was sent twice: A's capture
 * missed the second time, and no packet took so long.
 */
static void test_sent_before(void **state)
{
	const uint64_t first[RD_TAPS] = {START, START + 10 * MS};
	struct rd_ends_report *r;

	(void)state;
	begin();
	rd_ends_close(two.e);
	assert_int_equal(rd_ends_open(&two.e, first, 0, NULL), 0);
	two.directions = true;
	for (uint32_t i = 0; i < 20; i++)
		see(RD_TAP_A, false, i, 0, 5 * MS + i * 10 * US);
	for (uint32_t i = 20; i < 1000; i++) {
		const uint64_t t = 11 * MS + i * 20 * US;

		request(i, t);
		answer(i, 0, t + 5 * US);
		if (i >= 180 && i < 200)
			see(RD_TAP_B, false, i - 180, 0, t + 10 * US);
	}
	r = finish();
	assert_true(r->offset_known);
	assert_false(is_found(r, "delay-varies"));
	rd_ends_report_free(r);
}

/* The columns of a table that are said to be empty are so in the rows that it leaves out, too. */
static void test_empty_columns(void **state)
{
	struct rd_path_qp qps[20] = {0};
	struct rd_path path = {.from = "10.0.0.2", .to = "10.0.0.1", .qps = qps, .n_qps = 20};
	const struct rd_ends_report r = {.packets = 20, .paths = &path, .n_paths = 1};
	const struct rd_report_style style = {.columns = 60};

	(void)state;
	for (unsigned int late = 0; late < 2; late++) {
		char *text = NULL;
		size_t length = 0;
		FILE *out = open_memstream(&text, &length);

		qps[19].duplicated.count = late;
		rd_ends_text(&r, &style, out);
		fclose(out);
		assert_non_null(strstr(text, "empty or 0: "));
		assert_int_equal(strstr(strstr(text, "empty or 0: "), "DUPLICATED") == NULL, late);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_early_copy),
		cmocka_unit_test(test_coarse_clock),
		cmocka_unit_test(test_coarse_clock_of_few),
		cmocka_unit_test(test_only_retransmission),
		cmocka_unit_test(test_late_at_first),
		cmocka_unit_test(test_opcode_filtered),
		cmocka_unit_test(test_same_host),
		cmocka_unit_test(test_few_times),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_ttl),
		cmocka_unit_test(test_clock_steps),
		cmocka_unit_test(test_mostly_later),
		cmocka_unit_test(test_missed_and_lost_downstream),
		cmocka_unit_test(test_used_twice),
		cmocka_unit_test(test_sent_before),
		cmocka_unit_test(test_empty_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
