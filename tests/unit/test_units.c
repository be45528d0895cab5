/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers as text and back, one line per case; the line that an error becomes; descriptors. */
#include "cli/cli.h"
#include "test.h"
#include <limits.h>

#include <rdmadump/notation.h>
#include <rdmadump/sheet.h>
#include <rdmadump/spawn.h>
#include <rdmadump/units.h>
#include <rdmadump/words.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static const struct {
	char *(*format)(char *, uint64_t);
	uint64_t n;
	const char *text;
} format_cases[] = {
	{rd_fmt_count, 0, "0"},
	{rd_fmt_count, 999, "999"},
	{rd_fmt_count, 1000, "1 000"},
	{rd_fmt_count, 1284551, "1 284 551"},
	{rd_fmt_count, UINT64_MAX, "18 446 744 073 709 551 615"},
	{rd_fmt_bytes, 0, "0 B"},
	{rd_fmt_bytes, 999, "999 B"},
	{rd_fmt_bytes, 1000, "1.0 kB"},
	{rd_fmt_bytes, 9800000000, "9.8 GB"},
	{rd_fmt_bytes, 123000000, "123 MB"},
	{rd_fmt_kib, 9728, "9.5 KiB"},
	{rd_fmt_kib, 1023, "1023 B"},
	{rd_fmt_kib, 1 << 20, "1.0 MiB"},
	{rd_fmt_kib, UINT64_C(128) << 20, "128 MiB"},
	{rd_fmt_duration, 0, "0 ns"},
	{rd_fmt_duration, 999, "999 ns"},
	{rd_fmt_duration, 1000, "1 us"},
	{rd_fmt_duration, 46100, "46.1 us"},
	{rd_fmt_duration, 871234, "871 us"},
	{rd_fmt_duration, 999499, "999 us"},
	{rd_fmt_duration, 999600, "1 ms"},
	{rd_fmt_duration, 2153000000, "2.15 s"},
	{rd_fmt_duration, UINT64_C(1234567000000), "1235 s"},
	{rd_fmt_hms, 0, "00:00:00"},
	{rd_fmt_hms, 3661, "01:01:01"},
	{rd_fmt_hms, 360000, "100:00:00"},
};

TEST(format)
{
	char buf[RD_UNITS_LEN];

	for (size_t i = 0; i < COUNT(format_cases); i++) {
		assert_ptr_equal(format_cases[i].format(buf, format_cases[i].n), buf);
		assert_string_equal(buf, format_cases[i].text);
		/* The longest texts: nothing is written behind RD_UNITS_LEN. */
		assert_true(strlen(format_cases[i].format(buf, UINT64_MAX)) < RD_UNITS_LEN);
	}
	assert_true(strlen(rd_fmt_bitrate(buf, 1e300)) < RD_UNITS_LEN);
	expect("0 b/s 6.4 Gb/s 100 Gb/s 1.6 Tb/s", rd_fmt_bitrate(buf, 0),
		rd_fmt_bitrate(buf, 6.4e9), rd_fmt_bitrate(buf, 100e9),
		rd_fmt_bitrate(buf, 1.6e12));
}

static const struct {
	int (*parse)(const char *, uint64_t, uint64_t, uint64_t *);
	const char *text;
	uint64_t min, max;
	int ret;
	uint64_t value;
} parse_cases[] = {
	{rd_parse_u64, "0", 0, 10, 0, 0},
	{rd_parse_u64, "10", 0, 10, 0, 10},
	{rd_parse_u64, "11", 0, 10, -1, 0},
	{rd_parse_u64, "0", 1, 10, -1, 0},
	{rd_parse_u64, "0x1f", 0, 255, 0, 31},
	{rd_parse_u64, "0X1F", 0, 255, 0, 31},
	{rd_parse_u64, "0x", 0, 255, -1, 0},
	{rd_parse_u64, "0xg", 0, 255, -1, 0},
	{rd_parse_u64, "010", 0, 255, 0, 10},
	{rd_parse_u64, "", 0, 255, -1, 0},
	{rd_parse_u64, " 1", 0, 255, -1, 0},
	{rd_parse_u64, "1 ", 0, 255, -1, 0},
	{rd_parse_u64, "-1", 0, UINT64_MAX, -1, 0},
	{rd_parse_u64, "+1", 0, 255, -1, 0},
	{rd_parse_u64, "1k", 0, UINT64_MAX, -1, 0},
	{rd_parse_u64, "18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX},
	{rd_parse_u64, "18446744073709551616", 0, UINT64_MAX, -1, 0},
	{rd_parse_duration, "0", 0, UINT64_MAX, 0, 0},
	{rd_parse_duration, "5", 0, UINT64_MAX, 0, 5000000000},
	{rd_parse_duration, "5s", 0, UINT64_MAX, 0, 5000000000},
	{rd_parse_duration, "250us", 0, UINT64_MAX, 0, 250000},
	{rd_parse_duration, "2m", 0, UINT64_MAX, 0, 120000000000},
	{rd_parse_duration, "2ms", 2000000, 2000000, 0, 2000000},
	{rd_parse_duration, "2ms", 2000001, UINT64_MAX, -1, 0},
	{rd_parse_duration, "2ms", 0, 1999999, -1, 0},
	{rd_parse_duration, "1h", 0, UINT64_MAX, 0, 3600000000000},
	{rd_parse_duration, "5124095h", 0, UINT64_MAX, 0, 18446742000000000000U},
	{rd_parse_duration, "5124096h", 0, UINT64_MAX, -1, 0},
	{rd_parse_duration, "1d", 0, UINT64_MAX, -1, 0},
	{rd_parse_duration, "1 s", 0, UINT64_MAX, -1, 0},
	{rd_parse_duration, "s", 0, UINT64_MAX, -1, 0},
	{rd_parse_duration, "-1s", 0, UINT64_MAX, -1, 0},
	{rd_parse_duration, "", 0, UINT64_MAX, -1, 0},
	{rd_parse_size, "4096", 0, UINT64_MAX, 0, 4096},
	{rd_parse_size, "4096B", 0, UINT64_MAX, 0, 4096},
	{rd_parse_size, "1k", 0, UINT64_MAX, 0, 1000},
	{rd_parse_size, "1K", 0, UINT64_MAX, 0, 1000},
	{rd_parse_size, "1kB", 0, UINT64_MAX, 0, 1000},
	{rd_parse_size, "1Ki", 0, UINT64_MAX, 0, 1024},
	{rd_parse_size, "2MiB", 0, UINT64_MAX, 0, 2097152},
	{rd_parse_size, "3G", 0, UINT64_MAX, 0, 3000000000},
	{rd_parse_size, "1Ti", 0, UINT64_MAX, 0, UINT64_C(1) << 40},
	{rd_parse_size, "16777216Ti", 0, UINT64_MAX, -1, 0},
	{rd_parse_size, "1M", 0, 999999, -1, 0},
	{rd_parse_size, "1k", 1001, UINT64_MAX, -1, 0},
	{rd_parse_size, "1P", 0, UINT64_MAX, -1, 0},
	{rd_parse_size, "1kk", 0, UINT64_MAX, -1, 0},
	{rd_parse_size, "1i", 0, UINT64_MAX, -1, 0},
	{rd_parse_size, "k", 0, UINT64_MAX, -1, 0},
	{rd_parse_size, "1.5k", 0, UINT64_MAX, -1, 0},
	{rd_parse_size, "-1k", 0, UINT64_MAX, -1, 0},
};

TEST(parse)
{
	for (size_t i = 0; i < COUNT(parse_cases); i++) {
		uint64_t value = 77;
		int ret = parse_cases[i].parse(
			parse_cases[i].text, parse_cases[i].min, parse_cases[i].max, &value);

		if (ret != parse_cases[i].ret)
			fail_msg("'%s' gave %d", parse_cases[i].text, ret);
		/* A refusal leaves the value as it was. */
		if (value != (ret ? 77 : parse_cases[i].value))
			fail_msg("'%s' gave %llu", parse_cases[i].text, (unsigned long long)value);
	}
}

TEST(error_line)
{
	same(rd_fail(&failure, RD_CLASS_OUTPUT, ENOSPC, "free some space", "cannot write '%s'",
		     "a.pcap"),
		-1, failure.class, RD_CLASS_OUTPUT, failure.errnum, ENOSPC, failure.text,
		"cannot write 'a.pcap': No space left on device; free some space");
	rd_fail(&failure, RD_CLASS_USAGE, 0, NULL, "no such option");
	assert_string_equal(failure.text, "no such option");
	rd_fail(&failure, RD_CLASS_USAGE, 0, "see --help", "no such option");
	assert_string_equal(failure.text, "no such option; see --help");
	assert_int_equal(rd_fail(NULL, RD_CLASS_DEVICE, 0, NULL, "nobody listens"), -1);
}

/* What is too long is cut, not written past the end. */
TEST(error_cut)
{
	char name[2000];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	rd_fail(&failure, RD_CLASS_DEVICE, EPERM, name, "%s", name);
	assert_int_equal(strlen(failure.text), sizeof(failure.text) - 1);
}

TEST(words)
{
	static const struct {
		const char *a, *b;
		unsigned int edits;
	} cases[] = {{"list", "list", 0}, {"lsit", "list", 1}, {"LIST", "list", 0},
		{"host", "list", 2}, {"", "list", 4}, {"analyse", "analyze", 1},
		{"lists", "list", 1}, {"ist", "list", 1}, {"tsil", "list", 3}};
	char name[65];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(rd_word_edits(cases[i].a, cases[i].b), cases[i].edits);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	same(rd_word_edits(name, "list"), UINT_MAX, rd_word_edits(name + 17, "list"), 47);
}

TEST(percent)
{
	static const struct {
		double percent;
		const char *text;
	} cases[] = {{0, "0 %"}, {1e-5, "less than 0.01 %"}, {0.01, "0.01 %"}, {0.0234, "0.023 %"},
		{2.083, "2.1 %"}, {64.7, "65 %"}, {99, "99 %"}, {99.9999, "more than 99 %"},
		{100, "100 %"}, {140, "140 %"}};
	char buf[RD_UNITS_LEN];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(rd_fmt_percent(buf, cases[i].percent), cases[i].text);
}

TEST(utc)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {{0, "1970-01-01T00:00:00.000000000Z"},
		{UINT64_C(1700000000000000005), "2023-11-14T22:13:20.000000005Z"},
		{(uint64_t)-1, "1969-12-31T23:59:59.999999999Z"},
		{(uint64_t)-1000000000, "1969-12-31T23:59:59.000000000Z"},
		{(uint64_t)-1000000001, "1969-12-31T23:59:58.999999999Z"}};
	char buf[RD_UTC_LEN];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(rd_utc_text(buf, cases[i].ns), cases[i].text);
}

/* In a child: bits of what is wrong. */
static int keeps_these(const int *kept, size_t n_kept, const int *others, size_t n_others)
{
	int keep[] = {kept[1], kept[0], -1}, wrong = 0;
	char null[16] = "", path[32];

	dup2(others[0], STDIN_FILENO);
	dup2(others[1], STDOUT_FILENO);
	rd_descriptors_keep(keep, COUNT(keep));
	for (int fd = STDIN_FILENO; fd <= STDOUT_FILENO; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, null, sizeof(null) - 1) < 0 || strcmp(null, "/dev/null") != 0)
			wrong |= 1;
	}
	for (size_t i = 0; i < n_kept; i++)
		wrong |= fcntl(kept[i], F_GETFD) < 0 ? 2 : 0;
	for (size_t i = 0; i < n_others; i++)
		wrong |= fcntl(others[i], F_GETFD) < 0 ? 0 : 4;
	return wrong | (fcntl(STDERR_FILENO, F_GETFD) < 0 ? 8 : 0);
}

/* Between words; one that is too long stays whole, to be copied, as does what is quoted. */
TEST(wrapped)
{
	char text[256] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");
	struct rd_sheet sheet;

	rd_put_wrapped(out, "a word 0123456789 'b c d' cd 7 us xx in s 1 234", 2, 2, 8);
	/* Values are wrapped where 30 columns are left for them. */
	for (size_t width = 34; width <= 35; width++) {
		rd_sheet_open(&sheet, out, NULL);
		sheet.width = width;
		rd_sheet_row(&sheet, "t", "thirty characters, and some more");
		rd_sheet_close(&sheet);
	}
	fclose(out);
	expect("a word\n  0123456789\n  'b c d'\n  cd\n  7 us\n  xx in\n  s\n  1 234\n"
	       "  t  thirty characters, and some more\n"
	       "  t  thirty characters, and some\n     more\n",
		text);
}

/* A process that outlives the caller does not hold its terminal, pipes or files. */
TEST(descriptors)
{
	int before[2], kept[2], behind[2], status;
	pid_t pid;

	assert_int_equal(pipe(before) | pipe(kept) | pipe(behind), 0);
	const int others[] = {before[0], before[1], behind[0], behind[1]};

	pid = fork();
	if (pid == 0)
		_exit(keeps_these(kept, COUNT(kept), others, COUNT(others)));
	same(waitpid(pid, &status, 0), pid, status, 0);
	for (int i = 0; i < 2; i++) {
		close(before[i]);
		close(kept[i]);
		close(behind[i]);
	}
}
