/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of two captures side by side: overlay networks with the same addresses and QPs. */
#include "test_ends_make.h"
#include <stdlib.h>

#define NETWORKS 2

/* Network 7 and 8. */
static struct rd_ends_report *finish_networks(bool known)
{
	struct rd_conversation c[NETWORKS];
	const struct rd_report alone = {.conversations = c, .n_conversations = NETWORKS};
	const struct rd_report *const reports[RD_TAPS] = {&alone, &alone};
	struct rd_ends_report *r;

	for (uint32_t i = 0; i < NETWORKS; i++)
		c[i] = (struct rd_conversation){.a = {"10.0.0.2", 0x200},
			.b = {"10.0.0.1", 0x100},
			.network = known ? 7 + i : 0};
	rd_ends_file_end(two.e, RD_TAP_A);
	rd_ends_file_end(two.e, RD_TAP_B);
	assert_int_equal(rd_ends_report(two.e, reports, &r, NULL), 0);
	rd_ends_close(two.e);
	return r;
}

/* The requests of a network. */
static const struct rd_path_qp *requests_in(const struct rd_ends_report *r, uint32_t network)
{
	for (size_t i = 0; i < r->n_paths; i++)
		if (r->paths[i].network == network && r->paths[i].qps[0].qp == to_qp[0]) {
			assert_int_equal(r->paths[i].n_qps, 1);
			return &r->paths[i].qps[0];
		}
	fail_msg("no path in network %u", network);
	return NULL;
}

static void in_network(uint32_t a, uint32_t b)
{
	two.network[RD_TAP_A] = a;
	two.network[RD_TAP_B] = b;
}

/* A's capture is in the tunnels, and B's is if `b`. */
static void exchange(uint32_t psn, bool b)
{
	for (uint32_t network = 7; network < 7 + NETWORKS; network++) {
		const uint64_t t = psn * 100 * US + (network - 7) * US;

		in_network(network, b ? network : 0);
		two.changed = network; /* their payload differs */
		request(psn, t);
		answer(psn, (uint8_t)(network - 7), t + 20 * US);
	}
}

static const struct rd_finding *finding_of(const struct rd_ends_report *r, const char *rule)
{
	for (size_t i = 0; i < r->findings.n; i++)
		if (!strcmp(r->findings.finding[i].rule, rule))
			return &r->findings.finding[i];
	return NULL;
}

/* One network loses what the receiver of the other one asks for, which only its capture missed. */
static void test_two_networks(void **state)
{
	const struct rd_finding *f;
	struct rd_ends_report *r;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 100; i++)
		exchange(i, true);
	in_network(8, 8);
	see(RD_TAP_A, false, 100, 0, 10 * MS);
	request(101, 10 * MS + US);
	in_network(7, 7);
	see(RD_TAP_A, false, 100, 0, 10 * MS + 50 * US);
	answer(100, 0x60, 10 * MS + 60 * US);
	request(100, 10 * MS + 80 * US);
	r = finish_networks(true);
	assert_int_equal(r->n_paths, 2 * NETWORKS);
	for (size_t i = 0; i < r->n_paths; i++) {
		assert_true(r->paths[i].sender_known);
		assert_true(r->paths[i].shared);
		assert_false(r->paths[i].doubtful);
	}
	assert_int_equal(requests_in(r, 7)->lost.count, 1);
	assert_int_equal(requests_in(r, 7)->asked_for, 1);
	assert_int_equal(requests_in(r, 7)->arrived, 101);
	assert_int_equal(requests_in(r, 8)->lost.count, 1);
	assert_int_equal(requests_in(r, 8)->asked_for, 0);
	assert_int_equal(requests_in(r, 8)->arrived, 101);
	f = finding_of(r, "lost-between");
	assert_non_null(f);
	assert_int_equal(f->certainty, RD_LIKELY);
	assert_string_equal(f->where, "10.0.0.2 -> 10.0.0.1 QP 0x100 (network 7)");
	assert_non_null(r->verdict.rule);
	assert_int_equal(r->verdict.certainty, RD_LIKELY);
	assert_non_null(strstr(r->verdict.whom, "(network 7)"));
	rd_ends_report_free(r);
}

/* Packets of the same bytes are in two networks; each has its own way and delay. */
static void test_same_bytes(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 100; i++) {
		const uint64_t t = i * 100 * US;

		in_network(8, 8);
		see(RD_TAP_A, false, i, 0, t);
		in_network(7, 7);
		see(RD_TAP_A, false, i, 0, t + US);
		see(RD_TAP_B, false, i, 0, t + US + DELAY);
		answer(i, 0, t + 10 * US);
		in_network(8, 8);
		if (i != 50)
			see(RD_TAP_B, false, i, 0, t + 50 * US);
		answer(i, 0, t + 60 * US);
	}
	r = finish_networks(true);
	assert_int_equal(requests_in(r, 7)->lost.count, 0);
	assert_int_equal(requests_in(r, 8)->lost.count, 1);
	for (uint32_t network = 7; network <= 8; network++) {
		assert_int_equal(requests_in(r, network)->reordered, 0);
		assert_int_equal(requests_in(r, network)->order_unclear, 0);
	}
	for (size_t i = 0; i < r->n_paths; i++)
		assert_true(r->paths[i].variation.max < US);
	rd_ends_report_free(r);
}

/* B's capture is outside of the tunnels: bytes tell whose packets it has; nothing is likely. */
static void test_outside(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 100; i++)
		exchange(i, false);
	in_network(8, 0);
	see(RD_TAP_A, false, 100, 0, 10 * MS);
	request(101, 10 * MS + US);
	answer(100, 0x60, 10 * MS + 10 * US);
	request(100, 10 * MS + 30 * US);
	request(101, 10 * MS + 31 * US);
	answer(101, 1, 10 * MS + 40 * US);
	r = finish_networks(false);
	assert_int_equal(requests_in(r, 7)->arrived, 100);
	assert_int_equal(requests_in(r, 7)->lost.count, 0);
	assert_int_equal(requests_in(r, 7)->missed.count, 0);
	assert_int_equal(requests_in(r, 8)->arrived, 103);
	assert_int_equal(requests_in(r, 8)->lost.count, 1);
	assert_true(r->findings.n > 0);
	for (size_t i = 0; i < r->findings.n; i++)
		assert_int_equal(r->findings.finding[i].certainty, RD_POSSIBLE);
	for (size_t i = 0; i < r->n_paths; i++)
		assert_true(r->paths[i].doubtful);
	rd_ends_report_free(r);
}

/* One network, which only A sees, or another one in each direction: nothing is in doubt. */
static void test_one_network(void **state)
{
	(void)state;
	for (unsigned int routed = 0; routed < 2; routed++) {
		struct rd_ends_report *r;

		begin();
		for (uint32_t i = 0; i < 100; i++) {
			in_network(7, routed ? 7 : 0);
			if (i == 50)
				see(RD_TAP_A, false, i, 0, i * 100 * US);
			else
				request(i, i * 100 * US);
			in_network(routed ? 8 : 7, routed ? 8 : 0);
			answer(i == 50 ? 49 : i, i == 50 ? 1 : 0, i * 100 * US + 20 * US);
		}
		r = finish();
		assert_int_equal(r->n_paths, 2);
		assert_int_equal(r->paths[0].shared || r->paths[1].shared, false);
		assert_int_equal(requests_in(r, 7)->arrived, 99);
		assert_int_equal(requests_in(r, 7)->network, 0);
		assert_true(is_found(r, "missed-at-receiver"));
		assert_int_equal(certainty_of(r, "missed-at-receiver"), RD_LIKELY);
		rd_ends_report_free(r);
	}
}

/* The same addresses, at other ends: each network has its own order of the captures. */
static void test_other_ends(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 100; i++) {
		const uint64_t t = i * 100 * US;

		in_network(7, 7);
		request(i, t);
		answer(i, 0, t + 10 * US);
		in_network(8, 8);
		see(RD_TAP_B, false, i, 0, t + 30 * US);
		see(RD_TAP_A, false, i, 0, t + 30 * US + DELAY);
		see(RD_TAP_A, true, i, 0, t + 40 * US);
		see(RD_TAP_B, true, i, 0, t + 40 * US + DELAY);
	}
	r = finish_networks(true);
	assert_int_equal(r->n_paths, 2 * NETWORKS);
	for (size_t i = 0; i < r->n_paths; i++) {
		const bool back = r->paths[i].qps[0].qp == to_qp[1];

		assert_true(r->paths[i].sender_known);
		assert_int_equal(
			r->paths[i].sender == RD_TAP_B, (r->paths[i].network == 8) != back);
	}
	rd_ends_report_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_networks),
		cmocka_unit_test(test_same_bytes),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_one_network),
		cmocka_unit_test(test_other_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
