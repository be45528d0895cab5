/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What selftest takes for an address, and what it finds different between two results. */
#include "addresses.h"
#include "numbered.h"
#include <rdmadump/selftest.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* '#' stands for a hash. */
static void check(const char *text, const char *wanted)
{
	const struct addresses a = {.secret = {"node7.example.com", "node7"}, .n = 2};
	char *clean = addresses_replace(&a, text), *to = clean, *from = clean;

	assert_non_null(clean);
	while (*from) {
		if (strncmp(from, "x-", 2) == 0 && strspn(from + 2, "0123456789abcdef") >= 12) {
			*to++ = '#';
			from += 14;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	assert_string_equal(clean, wanted);
	free(clean);
}

static void test_addresses(void **state)
{
	static const char *const rows[][2] = {
		{"02:00:00:ab:CD:ef", "#"},
		{"02-00-00-ab-cd-ef", "#"},
		{"10.77.0.2", "#"},
		{"from 10.77.0.2.", "from #."},
		{"(10.77.0.2:4791)", "(#:4791)"},
		{"10.77.0.2, fe80::1", "#, #"},
		{"fe80::1%eth0", "#%eth0"},
		{"::ffff:10.0.0.1", "#"},
		{"fe80:0000:0000:0000:0000:0000:0000:0001", "#"},
		{"0002:c903:0000:1234", "#"},
		{"0x0002c90300001234", "#"},
		{"node7", "#"},
		{"NODE7.example.com is up", "# is up"},
		{"selftest-node7-mlx5_0", "selftest-#-mlx5_0"},
		{"node77 mynode7", "node77 mynode7"},
		/* No addresses: PCI, versions, times, numbers. */
		{"0000:3b:00.0", "0000:3b:00.0"},
		{"16.35.2000", "16.35.2000"},
		{"6.1.0-18-amd64", "6.1.0-18-amd64"},
		{"05:35:29", "05:35:29"},
		{"0x5a17c0", "0x5a17c0"},
		{"16.0 GT/s PCIe", "16.0 GT/s PCIe"},
		{"MT_0000000010", "MT_0000000010"},
		{"256.1.1.1 and 1.2.3", "256.1.1.1 and 1.2.3"},
		{"", ""},
		{".:-", ".:-"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check(rows[i][0], rows[i][1]);
}

static void test_addresses_stay_equal(void **state)
{
	const struct addresses none = {.n = 0};
	json_t *value = json_pack(
		"{s:s, s:[s, s], s:i}", "a", "fe80::1", "b", "FE80::1", "fe80::2", "n", 7);
	const char *first, *second, *third;

	(void)state;
	assert_int_equal(addresses_replace_json(&none, value), 0);
	first = json_string_value(json_object_get(value, "a"));
	second = json_string_value(json_array_get(json_object_get(value, "b"), 0));
	third = json_string_value(json_array_get(json_object_get(value, "b"), 1));
	assert_string_equal(first, second);
	assert_string_not_equal(first, third);
	assert_int_equal(json_integer_value(json_object_get(value, "n")), 7);
	json_decref(value);
}

/* A document of one probe with one value. */
static json_t *document(const char *outcome, const char *unit, int value)
{
	return json_pack("{s:[{s:s, s:s, s:[], s:{s:{s:i, s:s}}}]}", "probes", "name", "stop",
		"outcome", outcome, "found", "values", "v", "value", value, "unit", unit);
}

static size_t differences(json_t *before, json_t *after)
{
	json_t *list = rd_selftest_compare(before, after);
	size_t n = json_array_size(list);

	json_decref(list);
	json_decref(before);
	json_decref(after);
	return n;
}

static void test_compare(void **state)
{
	(void)state;
	assert_int_equal(differences(document("passed", "", 5), document("passed", "", 5)), 0);
	assert_int_equal(differences(document("passed", "", 5), document("passed", "", 6)), 1);
	assert_int_equal(differences(document("passed", "", 5), document("failed", "", 6)), 2);
	assert_int_equal(
		differences(document("passed", "us", 100), document("passed", "us", 149)), 0);
	assert_int_equal(
		differences(document("passed", "us", 100), document("passed", "us", 160)), 1);
	assert_int_equal(
		differences(document("passed", "ppm", -4), document("passed", "ppm", 5)), 0);
	assert_int_equal(
		differences(document("passed", "ppm", -6), document("passed", "ppm", 5)), 1);
	assert_int_equal(differences(document("passed", "", 5), json_pack("{s:[]}", "probes")), 1);
	assert_int_equal(differences(json_pack("{s:[]}", "probes"), document("passed", "", 5)), 1);
}

/* Names are unique, since they are file names and options. */
static void test_probes(void **state)
{
	(void)state;
	assert_non_null(rd_probes[0]);
	for (unsigned int i = 0; rd_probes[i]; i++) {
		assert_ptr_equal(rd_probe_find(rd_probes[i]->name), rd_probes[i]);
		assert_true(rd_probe_limit(rd_probes[i]) > 0);
		assert_non_null(rd_probes[i]->objects);
		assert_int_equal(
			strspn(rd_probes[i]->name, "abcdefghijklmnopqrstuvwxyz_0123456789"),
			strlen(rd_probes[i]->name));
	}
	assert_null(rd_probe_find("none"));
}

/* A frame with `before` bytes, blocks of 40 bytes with these numbers, `after` bytes. */
static uint32_t make_frame(uint8_t *frame, const struct numbered *m, uint32_t before,
	const uint32_t *numbers, unsigned int n, uint32_t after)
{
	uint32_t len = before;

	memset(frame, 0x55, before);
	for (unsigned int i = 0; i < n; i++, len += 40)
		numbered_block(frame + len, 40, m->run, numbers[i]);
	memset(frame + len, 0xaa, after);
	return len + after;
}

static void look(struct numbered *m, uint32_t before, uint32_t number, uint32_t after)
{
	uint8_t frame[256];

	numbered_look(m, frame, make_frame(frame, m, before, &number, 1, after));
}

static void test_numbered(void **state)
{
	const uint32_t three = 3;
	struct numbered m, other;
	struct numbered_counts c;
	uint8_t frame[64];
	uint32_t len;

	(void)state;
	assert_int_equal(numbered_init(&m, NUMBERED_MOST + 1), -1);
	numbered_free(&m);
	assert_int_equal(numbered_init(&m, 4), 0);
	assert_int_equal(numbered_init(&other, 4), 0);
	other.run = m.run + 1;
	look(&m, 14, 0, 0);
	look(&m, 14, 2, 4);
	look(&m, 18, 2, 0);
	look(&m, 54, 1, 4);
	c = numbered_counts(&m);
	assert_int_equal(c.once, 2);
	assert_int_equal(c.more, 1);
	assert_int_equal(c.never, 1);
	assert_int_equal(m.frames, 4);
	assert_int_equal(m.disordered, 1);
	assert_int_equal(m.changed + m.cut, 0);
	assert_int_equal(m.least_before, 14);
	assert_int_equal(m.most_before, 54);
	assert_int_equal(m.least_after, 0);
	assert_int_equal(m.most_after, 4);
	/* Another run's, and a number that was not sent. */
	len = make_frame(frame, &other, 14, &three, 1, 0);
	numbered_look(&m, frame, len);
	assert_int_equal(m.frames, 4);
	look(&m, 14, 4, 0);
	assert_int_equal(m.changed, 1);
	numbered_reset(&m);
	assert_int_equal(numbered_counts(&m).never, 4);
	numbered_free(&m);
	numbered_free(&other);
}

static void test_numbered_damage(void **state)
{
	static const uint32_t numbers[] = {0, 1, 2};
	uint8_t frame[256];
	struct numbered m;
	uint32_t len;

	(void)state;
	assert_int_equal(numbered_init(&m, 4), 0);
	len = make_frame(frame, &m, 42, numbers, 3, 4);
	numbered_look(&m, frame, len);
	assert_int_equal(m.most_blocks, 3);
	assert_int_equal(numbered_counts(&m).once, 3);
	assert_int_equal(m.most_after, 4);
	frame[42 + 40 + 30] ^= 1;
	numbered_look(&m, frame, len);
	assert_int_equal(m.changed, 1);
	assert_int_equal(m.cut, 0);
	/* Every length: nothing is read behind the end, which the sanitizers check. */
	for (uint32_t n = 0; n < 42 + 40; n++) {
		uint8_t *exact = malloc(n ? n : 1);

		memcpy(exact, frame, n);
		numbered_reset(&m);
		numbered_look(&m, exact, n);
		assert_int_equal(m.times[0], n >= 42 + 20);
		assert_int_equal(m.cut, n >= 42 + 20);
		free(exact);
	}
	numbered_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_addresses_stay_equal), cmocka_unit_test(test_compare),
		cmocka_unit_test(test_numbered), cmocka_unit_test(test_numbered_damage),
		cmocka_unit_test(test_probes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
