/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cmocka, with the headers that it and nearly every test need, and
 *
 *	TEST(name)
 *	{
 *		...
 *	}
 *
 * for a test. main() runs them in the order of the file.
 */
#ifndef TEST_H
#define TEST_H

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* needs setjmp.h to stdint.h */
#include <cmocka.h>

/* A function in place of another (--wrap) has no prototype, a callback parameters for others. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"

static struct {
	struct CMUnitTest test[64];
	size_t n;
	CMFixtureFunction begin, end;
} tests;

/* With functions that cmocka calls before and after it, or NULL. */
#define TEST_WITH(name, begin, end)                                                                \
	static void test_##name(void **state);                                                     \
	__attribute__((constructor(1000 + __LINE__))) static void add_##name(void)                 \
	{                                                                                          \
		const struct CMUnitTest test =                                                     \
			cmocka_unit_test_setup_teardown(test_##name, begin, end);                  \
                                                                                                   \
		tests.test[tests.n++] = test;                                                      \
	}                                                                                          \
	static void test_##name(void **state)

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* Functions that cmocka calls before the first test and after the last one, or NULL. */
#define ALL_TESTS_WITH(first, last)                                                                \
	__attribute__((constructor)) static void add_group(void)                                   \
	{                                                                                          \
		tests.begin = first;                                                               \
		tests.end = last;                                                                  \
	}

int main(void)
{
	if (!tests.n) {
		puts("1..0 # SKIP built without the library that is tested");
		return 0;
	}
	/* against tests that wait for ever */
	alarm(300);
	return _cmocka_run_group_tests("tests", tests.test, tests.n, tests.begin, tests.end);
}

#endif
