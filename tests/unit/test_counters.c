/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Counters: growth over wraps and resets, the table's rows, what is judged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these before itself */
#include <cmocka.h>
#include <rdmadump/counters.h>
#include <stdlib.h>
#include <string.h>

static void test_growth(void **state)
{
	(void)state;
	assert_int_equal(rd_counter_growth(5, 9, 32), 4);
	assert_int_equal(rd_counter_growth(0xfffffffe, 3, 32), 5);
	assert_int_equal(rd_counter_growth(100, 3, 32), 3);
	assert_int_equal(rd_counter_growth(UINT64_C(1) << 33, 3, 32), 3);
	assert_int_equal(rd_counter_growth(UINT64_MAX, 3, 64), 3);
	assert_int_equal(rd_counter_growth(0, UINT64_MAX, 64), UINT64_MAX);
}

static struct rd_counters make(const char *driver, const char *name, uint64_t value)
{
	struct rd_counters c = {0};

	strcpy(c.driver, driver);
	assert_int_equal(rd_counters_add(&c, value, "%s", name), 0);
	return c;
}

/* What stops at its end does not wrap: 65535, then 3, is a reset. */
static void test_compare(void **state)
{
	static const struct {
		const char *name;
		uint64_t before, after, delta;
		bool wrapped, reset;
	} cases[] = {
		{"counters/symbol_error", 65535, 3, 3, false, true},
		{"hw_counters/out_of_buffer", 0xfffffff0, 4, 20, true, false},
		{"hw_counters/np_cnp_sent", 0xfffffff0, 4, 4, false, true},
		{"hw_counters/never_heard_of", 9, 4, 4, false, true},
		{"device/mr_cache/2/cur", 9, 4, 4, false, false}, /* goes up and down */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rd_counters before = make("mlx5_core", cases[i].name, cases[i].before);
		struct rd_counters after = make("mlx5_core", cases[i].name, cases[i].after);
		struct rd_change *changes = rd_counters_compare(&before, &after);

		assert_non_null(changes);
		assert_int_equal(changes[0].delta, cases[i].delta);
		assert_int_equal(changes[0].wrapped, cases[i].wrapped);
		assert_int_equal(changes[0].reset, cases[i].reset);
		assert_false(changes[0].new);
		free(changes);
		rd_counters_free(&before);
		rd_counters_free(&after);
	}
}

static size_t findings_of(const char *name, uint64_t value, bool grew, enum rd_severity *first)
{
	struct rd_counters c = make("mlx5_core", name, value);
	struct rd_change change = {.delta = grew ? value : 0};
	struct rd_findings f;
	size_t n;

	assert_int_equal(rd_counters_judge(&f, &c, grew ? &change : NULL, 1), 0);
	n = f.n;
	*first = n ? f.finding[0].severity : RD_SEV_NONE;
	rd_findings_free(&f);
	rd_counters_free(&c);
	return n;
}

static void test_judge(void **state)
{
	enum rd_severity s;

	(void)state;
	assert_int_equal(findings_of("hw_counters/out_of_buffer", 1, false, &s), 1);
	assert_int_equal(s, RD_SEV_BAD);
	assert_int_equal(findings_of("hw_counters/rx_write_requests", 1000, true, &s), 0);
	/* A few errors in a link's life are nothing; one now is. */
	assert_int_equal(findings_of("counters/symbol_error", 9, false, &s), 0);
	assert_int_equal(findings_of("counters/symbol_error", 10, false, &s), 1);
	assert_int_equal(findings_of("counters/symbol_error", 1, true, &s), 1);
	assert_int_equal(s, RD_SEV_WARN);
	assert_int_equal(findings_of("counters/symbol_error", 65535, false, &s), 2);
	assert_int_equal(findings_of("hw_counters/unheard_of", 65535, true, &s), 0);
	/* Without np_cnp_sent beside it nothing is known of it. */
	assert_int_equal(findings_of("hw_counters/np_ecn_marked_roce_packets", 5, true, &s), 1);
}

static void test_relation(void **state)
{
	struct rd_counters c = make("mlx5_core", "hw_counters/np_ecn_marked_roce_packets", 5);
	struct rd_findings f;

	(void)state;
	assert_int_equal(rd_counters_add(&c, 0, "hw_counters/np_cnp_sent"), 0);
	assert_int_equal(rd_counters_judge(&f, &c, NULL, 0), 0);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.finding[0].severity, RD_SEV_BAD);
	assert_non_null(strstr(f.finding[0].text, "no notification is sent"));
	rd_findings_free(&f);
	c.counter[1].value = 1;
	assert_int_equal(rd_counters_judge(&f, &c, NULL, 0), 0);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.finding[0].severity, RD_SEV_WARN);
	rd_findings_free(&f);
	rd_counters_free(&c);
}

/* Every row can be reached, is whole, and fits where findings are printed. */
static void test_table(void **state)
{
	size_t n = 0;

	(void)state;
	for (const struct rd_counter_kind *k = rd_counter_kinds; k->name; k++, n++) {
		char driver[64] = "";

		assert_non_null(strchr(k->name, '/'));
		assert_true(k->meaning && *k->meaning && strlen(k->meaning) < 100);
		assert_true(!k->cause || strlen(k->cause) < 150);
		assert_true(k->bits > 0 && k->bits <= 64 && k->unit < RD_UNITS);
		assert_true(!(k->flags & RD_KIND_SATURATES) || k->bits < 64);
		/* The table's contract for RD_KIND_LOSS: one driver, in hw_counters, exact. */
		if (k->flags & RD_KIND_LOSS) {
			assert_non_null(k->drivers);
			assert_null(strpbrk(k->drivers, " "));
			assert_int_equal(strncmp(k->name, "hw_counters/", 12), 0);
		}
		if (strpbrk(k->name, "*?["))
			continue;
		if (k->drivers)
			memcpy(driver, k->drivers, strcspn(k->drivers, " "));
		if (rd_counter_kind(driver, k->name) != k)
			fail_msg("'%s' is hidden by '%s'", k->name,
				rd_counter_kind(driver, k->name)->name);
	}
	assert_true(n > 200);
	assert_null(rd_counter_kind("mlx5_core", "hw_counters/sent_pkts"));
	assert_non_null(rd_counter_kind("rdma_rxe", "hw_counters/sent_pkts"));
	assert_null(rd_counter_kind("mlx5", "hw_counters/out_of_buffer"));
	assert_non_null(rd_counter_kind("", "hw_counters/out_of_buffer"));
	assert_non_null(rd_counter_kind("irdma", "hw_counters/Nak Sequence Error"));
}

static void test_names(void **state)
{
	struct rd_counters c = {0};

	(void)state;
	assert_int_equal(rd_counters_add(&c, 1, "hw_counters/%s", "a\nb\033[2J\xff"), 0);
	assert_string_equal(c.counter[0].name, "hw_counters/a?b?[2J?");
	assert_ptr_equal(rd_counters_find(&c, "hw_counters/a?b?[2J?"), &c.counter[0]);
	assert_null(rd_counters_find(&c, "hw_counters/a"));
	rd_counters_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_judge),
		cmocka_unit_test(test_relation),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
