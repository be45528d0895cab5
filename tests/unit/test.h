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

/* A value and the text before it has been compared with; see expect(). */
static inline const char *expect_number(const char *want, uint64_t n, const char *title, int line)
{
	char *end;

	if (strtoull(want, &end, 0) != n || end == want || (*end && *end != ' ')) {
		print_error("line %d: %s is %" PRIi64 " (%#" PRIx64 "), not %s\n", line, title,
			(int64_t)n, n, want);
		_fail(__BASE_FILE__, line);
	}
	return end + (*end == ' ');
}

static inline const char *expect_signed(const char *want, intmax_t n, const char *title, int line)
{
	return expect_number(want, (uint64_t)n, title, line);
}

static inline const char *expect_text(
	const char *want, const char *text, const char *title, int line)
{
	size_t n = text ? strlen(text) : 0;

	if (!text || strncmp(want, text, n) != 0 || (want[n] && want[n] != ' ')) {
		print_error("line %d: %s is '%s', not '%s'\n", line, title, text, want);
		_fail(__BASE_FILE__, line);
	}
	return want + n + (want[n] == ' ');
}

/*
 * expect("3 0 mlx5_0", receive(), port.lost, port.name): several values, each of which is the next
 * word or words of the text; numbers as in C. The first that is wrong ends the test.
 */
#define expect(want, ...)                                                                          \
	do {                                                                                       \
		const char *expect_rest = want;                                                    \
                                                                                                   \
		EXPECT_N(__VA_ARGS__, EXPECT_8, EXPECT_7, EXPECT_6, EXPECT_5, EXPECT_4, EXPECT_3,  \
			EXPECT_2, EXPECT_1)                                                        \
		(__VA_ARGS__);                                                                     \
		expect_text(expect_rest, "", "the rest", __LINE__);                                \
	} while (0)

#define EXPECT_N(a, b, c, d, e, f, g, h, name, ...) name
/* clang-format off */
#define EXPECT_1(x)                                                            \
	expect_rest = _Generic((x), char *: expect_text, const char *: expect_text, \
		unsigned long: expect_number, unsigned long long: expect_number,       \
		default: expect_signed)(expect_rest, x, #x, __LINE__)
#define EXPECT_2(x, ...) EXPECT_1(x); EXPECT_1(__VA_ARGS__)
#define EXPECT_3(x, ...) EXPECT_1(x); EXPECT_2(__VA_ARGS__)
#define EXPECT_4(x, ...) EXPECT_1(x); EXPECT_3(__VA_ARGS__)
#define EXPECT_5(x, ...) EXPECT_1(x); EXPECT_4(__VA_ARGS__)
#define EXPECT_6(x, ...) EXPECT_1(x); EXPECT_5(__VA_ARGS__)
#define EXPECT_7(x, ...) EXPECT_1(x); EXPECT_6(__VA_ARGS__)
#define EXPECT_8(x, ...) EXPECT_1(x); EXPECT_7(__VA_ARGS__)
/* clang-format on */

#endif
