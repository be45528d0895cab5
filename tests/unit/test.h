/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cmocka, with the headers that it and nearly every test need, and
 *
 *	TEST(name)
 *	{
 *		...
 *	}
 *
 * for a test. main() runs them in the order of the file, and fails if one leaves a descriptor open.
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
/* needs setjmp.h to stdint.h */
#include <cmocka.h>
#include <rdmadump/error.h>

/* A function in place of another (--wrap) has no prototype, a callback parameters for others. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"

static struct {
	struct CMUnitTest test[64];
	size_t n;
	CMFixtureFunction begin, end;
} tests;

/* Why the last call failed: none has, when a test begins. */
static struct rd_error failure;

/* With functions that cmocka calls before and after it, or NULL. */
#define TEST_WITH(name, begin, end)                                                                \
	static void test_##name(void **state);                                                     \
	static void run_##name(void **state)                                                       \
	{                                                                                          \
		failure = (struct rd_error){0};                                                    \
		test_##name(state);                                                                \
	}                                                                                          \
	__attribute__((constructor(1000 + __LINE__))) static void add_##name(void)                 \
	{                                                                                          \
		const struct CMUnitTest test = {#name, run_##name, begin, end, NULL};              \
                                                                                                   \
		if (tests.n == sizeof(tests.test) / sizeof(*tests.test))                           \
			abort();                                                                   \
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

static unsigned int open_files(void)
{
	DIR *all = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (all && readdir(all))
		n++;
	closedir(all);
	return n;
}

int main(void)
{
	const unsigned int before = open_files();
	int failed;

	if (!tests.n) {
		puts("1..0 # SKIP built without the library that is tested");
		return 0;
	}
	/* against tests that wait for ever */
	alarm(300);
	failed = _cmocka_run_group_tests("tests", tests.test, tests.n, tests.begin, tests.end);
	if (open_files() == before)
		return failed;
	print_error("%u descriptors were open before, %u are now\n", before, open_files());
	return 1;
}

/* A text or a number of any type. */
struct value {
	const char *text; /* NULL: a number */
	uint64_t number;
};

static inline struct value value_text(const char *text)
{
	return (struct value){.text = text ? text : "(null)"};
}

static inline struct value value_unsigned(uintmax_t number)
{
	return (struct value){.number = number};
}

static inline struct value value_signed(intmax_t number)
{
	return (struct value){.number = (uint64_t)number};
}

static inline void value_fail(struct value v, const char *title, const char *want, int line)
{
	if (v.text)
		print_error("%s is '%s', not '%s'\n", title, v.text, want);
	else
		print_error("%s is %" PRIi64 " (%#" PRIx64 "), not %s\n", title, (int64_t)v.number,
			v.number, want);
	_fail(__BASE_FILE__, line);
}

/* Whether the text begins with the value; returns what is behind it. */
static inline const char *value_next(const char *want, struct value v, const char *title, int line)
{
	char *end = (char *)(uintptr_t)want;
	bool same;

	if (v.text) {
		same = strncmp(want, v.text, strlen(v.text)) == 0;
		end += same ? strlen(v.text) : 0;
	} else {
		same = strtoull(want, &end, 0) == v.number && end != want;
	}
	if (!same || (*end && *end != ' '))
		value_fail(v, title, want, line);
	return end + (*end == ' ');
}

static inline void value_same(
	struct value v, struct value want, const char *title, const char *wanted, int line)
{
	if (!v.text != !want.text || v.number != want.number ||
		(v.text && strcmp(v.text, want.text) != 0))
		value_fail(v, title, want.text ? want.text : wanted, line);
}

/*
 * expect("3 0 mlx5_0", receive(), port.lost, port.name): several values, each of which is the next
 * word or words of the text; numbers as in C. The first that is wrong ends the test.
 */
#define expect(want, ...)                                                                          \
	do {                                                                                       \
		const char *expected = want;                                                       \
                                                                                                   \
		EXPECT_N(__VA_ARGS__, EXPECT_8, EXPECT_7, EXPECT_6, EXPECT_5, EXPECT_4, EXPECT_3,  \
			EXPECT_2, EXPECT_1)                                                        \
		(__VA_ARGS__);                                                                     \
		value_next(expected, VALUE(""), "the rest", __LINE__);                             \
	} while (0)

/* same(err.class, RD_CLASS_USAGE, sent, 3 * size): values, each before what it must be. */
#define same(...)                                                                                  \
	do {                                                                                       \
		EXPECT_N(__VA_ARGS__, SAME_8, 7, SAME_6, 5, SAME_4, 3, SAME_2, 1)(__VA_ARGS__);    \
	} while (0)

/* clang-format off */
#define VALUE(x)                                                                                   \
	_Generic((x), char *: value_text, const char *: value_text, unsigned long: value_unsigned, \
		unsigned long long: value_unsigned, default: value_signed)(x)
#define EXPECT_N(a, b, c, d, e, f, g, h, name, ...) name
#define EXPECT_1(x) expected = value_next(expected, VALUE(x), #x, __LINE__)
#define EXPECT_2(x, ...) EXPECT_1(x); EXPECT_1(__VA_ARGS__)
#define EXPECT_3(x, ...) EXPECT_1(x); EXPECT_2(__VA_ARGS__)
#define EXPECT_4(x, ...) EXPECT_1(x); EXPECT_3(__VA_ARGS__)
#define EXPECT_5(x, ...) EXPECT_1(x); EXPECT_4(__VA_ARGS__)
#define EXPECT_6(x, ...) EXPECT_1(x); EXPECT_5(__VA_ARGS__)
#define EXPECT_7(x, ...) EXPECT_1(x); EXPECT_6(__VA_ARGS__)
#define EXPECT_8(x, ...) EXPECT_1(x); EXPECT_7(__VA_ARGS__)
#define SAME_2(x, want) value_same(VALUE(x), VALUE(want), #x, #want, __LINE__)
#define SAME_4(x, want, ...) SAME_2(x, want); SAME_2(__VA_ARGS__)
#define SAME_6(x, want, ...) SAME_2(x, want); SAME_4(__VA_ARGS__)
#define SAME_8(x, want, ...) SAME_2(x, want); SAME_6(__VA_ARGS__)
/* clang-format on */
