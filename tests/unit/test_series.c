/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of a series of files: names in both styles, the ring, printing names, the command. */
#include "sink/series.h"
#include "test.h"
#include <rdmadump/log.h>

#include "test_directory.h"

#define SECOND 1000000000ULL
#define NOON   (1795262400ULL * SECOND) /* 2026-11-21 12:00:00 UTC */
#define FILES  6

static char warnings[2000];

static void take_warning(void *ctx, enum rd_level level, const char *line)
{
	strncat(warnings, line, sizeof(warnings) - strlen(warnings) - 1);
}

static struct series s;

static int end_series(void **state)
{
	series_fini(&s);
	memset(&s, 0, sizeof(s));
	return 0;
}

/* Ends the series before it; the last one ends with the test. */
static void begin(const char *path, const struct rd_rotation *rotation)
{
	static struct rd_sink_config config; /* the series keeps a pointer into it */

	end_series(NULL);
	warnings[0] = '\0';
	config = (struct rd_sink_config){.path = path, .rotation = *rotation};
	if (series_init(&s, &config, &failure) < 0)
		fail_msg("%s", failure.text);
}

#define TEST_SERIES(name) TEST_WITH(name, NULL, end_series)

static bool go_on(void *ctx, bool commands)
{
	assert_true(commands);
	return true;
}

static const struct rd_sink_ending patient = {.waiting = go_on};

static void next(uint64_t ns)
{
	if (series_next(&s, ns, &failure) < 0)
		fail_msg("%s", failure.text);
}

/* --- names ------------------------------------------------------------------------------ */

/* Each file begins `step` seconds after the previous one. */
static const struct {
	const char *path;
	struct rd_rotation rotation;
	unsigned int step;
	const char *names[FILES];
} cases[] = {
	/* one file has its name as it is, in either style */
	{"a.pcapng", {.naming = RD_NAMES_DUMPCAP}, 0, {"a.pcapng"}},
	{"a%H.pcapng", {.naming = RD_NAMES_TCPDUMP}, 0, {"a%H.pcapng"}},
	/* dumpcap: number and time in front of the ending, that of a compression included */
	{"a.pcapng", {.bytes = 1, .naming = RD_NAMES_DUMPCAP}, 1,
		{"a_00001_20261121120000.pcapng", "a_00002_20261121120001.pcapng"}},
	{"a.pcapng.gz", {.frames = 1, .naming = RD_NAMES_DUMPCAP}, 60,
		{"a_00001_20261121120000.pcapng.gz", "a_00002_20261121120100.pcapng.gz"}},
	{"a.gz", {.timed = true, .naming = RD_NAMES_DUMPCAP}, 0, {"a_00001_20261121120000.gz"}},
	{"d.x/a", {.timed = true, .naming = RD_NAMES_DUMPCAP}, 0, {"d.x/a_00001_20261121120000"}},
	{"d.x/.a", {.timed = true, .naming = RD_NAMES_DUMPCAP}, 0, {"d.x/.a_00001_20261121120000"}},
	{"a.b.c", {.timed = true, .naming = RD_NAMES_DUMPCAP}, 0, {"a.b_00001_20261121120000.c"}},
	{"a.%H", {.timed = true, .naming = RD_NAMES_DUMPCAP}, 0, {"a_00001_20261121120000.%H"}},
	/* tcpdump -C: the name, then with a number behind it */
	{"a.pcap", {.bytes = 1}, 1, {"a.pcap", "a.pcap1", "a.pcap2", "a.pcap3"}},
	{"a%H", {.bytes = 1}, 1, {"a%H", "a%H1"}},
	/* tcpdump -C -W: numbers from 0, as wide as the last one */
	{"a", {.bytes = 1, .ring = 3}, 1, {"a0", "a1", "a2", "a0", "a1", "a2"}},
	{"a", {.bytes = 1, .ring = 10}, 1, {"a0", "a1"}},
	{"a", {.bytes = 1, .ring = 11}, 1, {"a00", "a01"}},
	{"a", {.bytes = 1, .ring = 101}, 1, {"a000"}},
	{"a", {.bytes = 1, .ring = 1}, 1, {"a0", "a0"}},
	/* tcpdump -G: strftime; a name that does not change gets a number */
	{"a-%H%M%S.pcap", {.timed = true}, 1, {"a-120000.pcap", "a-120001.pcap"}},
	{"a-%Y%m%d", {.timed = true}, 86400, {"a-20261121", "a-20261122", "a-20261123"}},
	{"a", {.timed = true}, 1, {"a", "a1", "a2"}},
	{"a%H", {.timed = true}, 1800, {"a12", "a121", "a13", "a131", "a14"}},
	/* -G with -C: the number begins again with each slice */
	{"a%M", {.timed = true, .bytes = 1}, 30, {"a00", "a001", "a01", "a011", "a02"}},
	/* -G with -W is no ring of names */
	{"a%S", {.timed = true, .ring = 2}, 1, {"a00", "a01", "a02"}},
	/* standard output has one name */
	{"-", {.bytes = 1, .naming = RD_NAMES_DUMPCAP}, 1, {"-", "-"}},
	{"-", {.timed = true}, 1, {"-", "-"}},
};

TEST_SERIES(names)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(cases[i].path, &cases[i].rotation);
		for (unsigned int k = 0; k < FILES && cases[i].names[k]; k++) {
			next(NOON + k * cases[i].step * SECOND);
			assert_int_equal(s.number, k + 1);
			if (strcmp(s.path, cases[i].names[k]))
				fail_msg("case %zu, file %u: got %s, want %s", i, k, s.path,
					cases[i].names[k]);
		}
	}
}

/* A name that becomes empty or too long is not used. */
TEST_SERIES(names_odd)
{
	const struct rd_rotation timed = {.timed = true};
	char path[3000];

	memset(path, 'a', sizeof(path));
	for (size_t i = 0; i + 2 < sizeof(path); i += 2)
		memcpy(path + i, "%c", 2);
	path[sizeof(path) - 1] = '\0';
	begin(path, &timed);
	next(NOON);
	assert_string_equal(s.path, path);
}

/* --- the first frame -------------------------------------------------------------------- */

static void touch(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Frames that are older than the file, as from another file: they name it. */
TEST_SERIES(first_frame)
{
	const struct rd_rotation rotation = {.timed = true};
	char was[100];

	begin("first-%Y%m%d%H%M%S", &rotation);
	next(0);
	snprintf(was, sizeof(was), "%s", s.path);
	touch(was);
	/* Not if they are newer, */
	same(series_first_frame(&s, NOON + 100ULL * 365 * 86400 * SECOND, &failure), 0, s.path,
		was);
	expect("0 first-20251121120000 1 0",
		series_first_frame(&s, NOON - 365ULL * 86400 * SECOND, &failure), s.path,
		exists(s.path), exists(was));
	/* and not if it is not the first file. */
	next(NOON);
	expect("first-20261121120000 0 first-20261121120000", s.path,
		series_first_frame(&s, SECOND, &failure), s.path);
	unlink("first-20251121120000");
}

TEST_SERIES(first_frame_fails)
{
	const struct rd_rotation rotation = {.timed = true};

	begin("gone-%Y%m%d%H%M%S", &rotation);
	next(0);
	same(series_first_frame(&s, SECOND, &failure), -1, failure.class, RD_CLASS_OUTPUT);
	assert_non_null(strstr(failure.text, "cannot rename to 'gone-19700101000001'"));
}

/* --- the ring --------------------------------------------------------------------------- */

TEST_SERIES(ring)
{
	const struct rd_rotation rotation = {.frames = 1, .ring = 3, .naming = RD_NAMES_DUMPCAP};
	char names[6][100];

	begin("ring.pcap", &rotation);
	for (unsigned int i = 0; i < 6; i++) {
		next(NOON + i * SECOND);
		snprintf(names[i], sizeof(names[i]), "%s", s.path);
		touch(s.path);
		for (unsigned int k = 0; k <= i; k++)
			assert_int_equal(exists(names[k]), k + 3 > i);
	}
	assert_string_equal(warnings, "");
	/* A file removed by another program is no fault; one that cannot be removed is. */
	unlink(names[3]);
	next(NOON + 6 * SECOND);
	assert_string_equal(warnings, "");
	unlink(names[4]);
	assert_int_equal(mkdir(names[4], 0700), 0);
	next(NOON + 7 * SECOND);
	assert_non_null(strstr(warnings, "cannot remove the oldest file"));
	assert_non_null(strstr(warnings, names[4]));
	rmdir(names[4]);
	unlink(names[5]);
}

/* Files of an earlier run: their number, their bytes, and the highest number among them. */
TEST_SERIES(find)
{
	static const char *const ours[] = {
		"found_00003_20261121031500.pcap", "found_123456_20261121031500.pcap"};
	static const char *const others[] = {"found.pcap", "fount_00009_20261121031500.pcap",
		"found-00009_20261121031500.pcap", "found_0009_20261121031500.pcap",
		"found_00009-20261121031500.pcap", "found_00009_2026112103150.pcap",
		"found_00009_202611210315000.pcap", "afound_00009_20261121031500.pcap",
		"found_00009_20261121031500.pcapng", "found_00009_20261121031500",
		"found_4294967295_20261121031500.pcap"};
	const struct rd_rotation rotation = {.naming = RD_NAMES_DUMPCAP};
	struct series_found found;

	begin("found.pcap", &rotation);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		touch(others[i]);
	series_find(&s, &found);
	expect("0 0", found.files, s.number);
	for (size_t i = 0; i < 2; i++) {
		touch(ours[i]);
		assert_int_equal(truncate(ours[i], 100), 0);
	}
	assert_int_equal(mkdir("found_200000_20261121031500.pcap", 0700), 0);
	series_find(&s, &found);
	expect("2 200 123456", found.files, found.bytes, s.number);
	rmdir("found_200000_20261121031500.pcap");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		unlink(others[i]);
	for (size_t i = 0; i < 2; i++)
		unlink(ours[i]);
}

/* Repeated names are overwritten when they are opened, not removed. */
TEST_SERIES(ring_same_names)
{
	const struct rd_rotation rotation = {.frames = 1, .ring = 2};

	begin("same", &rotation);
	for (unsigned int i = 0; i < 5; i++) {
		next(NOON + i * SECOND);
		assert_int_equal(exists(s.path), i >= 2);
		touch(s.path);
	}
	unlink("same0");
	unlink("same1");
}

/* --- when a file is closed -------------------------------------------------------------- */

static void read_text(const char *path, char *text, size_t capacity)
{
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	text[fread(text, 1, capacity - 1, f)] = '\0';
	fclose(f);
}

static void script(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	chmod(path, 0700);
}

/* Each file once, in any order; the end waits for all. */
TEST_SERIES(command)
{
	struct rd_rotation rotation = {.frames = 1, .command = "./command"};
	unsigned int seen = 0;
	char text[200];

	script("command", "#!/bin/sh\necho \"$# $1\" >>ran\n");
	begin("c", &rotation);
	for (unsigned int i = 0; i < 3; i++) {
		next(NOON);
		series_closed(&s);
	}
	series_wait(&s, &patient);
	assert_int_equal(s.running, 0);
	read_text("ran", text, sizeof(text));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		seen |= !strcmp(line, "1 c")	? 1U
			: !strcmp(line, "1 c1") ? 2U
			: !strcmp(line, "1 c2") ? 4U
						: 8U;
	expect("7 ", seen, warnings);

	script("command", "#!/bin/sh\nexit 3\n");
	begin("c", &rotation);
	next(NOON);
	series_closed(&s);
	series_wait(&s, &patient);
	assert_non_null(strstr(warnings, "command './command' failed with status 3"));

	rotation.command = "./no-such-command";
	begin("c", &rotation);
	next(NOON);
	series_closed(&s);
	assert_non_null(strstr(warnings, "cannot run './no-such-command c': No such file"));
	series_wait(&s, &patient);
	unlink("command");
	unlink("ran");
}

/* The series waits for its own commands, and leaves the children of other parts to them. */
TEST_SERIES(children_of_others)
{
	struct rd_rotation rotation = {.frames = 1, .command = "true"};
	siginfo_t info;
	int status;
	pid_t other = fork();

	if (other == 0)
		_exit(7);
	expect("1 0", other > 0, waitid(P_PID, (id_t)other, &info, WEXITED | WNOWAIT));
	begin("c", &rotation);
	next(NOON);
	series_closed(&s);
	series_wait(&s, &patient);
	expect("0 ", s.running, warnings);
	same(waitpid(other, &status, 0), other, WEXITSTATUS(status), 7);
}

static int enter(void **state)
{
	setenv("TZ", "UTC0", 1);
	tzset();
	rd_log_to(take_warning, NULL, RD_LOG_WARNING);
	return directory_enter(state);
}

ALL_TESTS_WITH(enter, directory_leave)
