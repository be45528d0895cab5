/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Members of bundles as named values: JSON and text of tools, hostile ones included. */
#include "bundle/compare.h"
#include "test.h"

struct pair {
	const char *name, *value;
};

/* Takes the values. */
static void check(json_t *values, const struct pair *want, size_t n)
{
	assert_non_null(values);
	for (size_t i = 0; i < n; i++) {
		const char *got = json_string_value(json_object_get(values, want[i].name));

		if (!got)
			fail_msg("there is no '%s'", want[i].name);
		assert_string_equal(got, want[i].value);
	}
	assert_int_equal(json_object_size(values), n);
	json_decref(values);
}

/* Elements of arrays are named by what they have, in whatever order they are. */
TEST(json)
{
	static const char untitled[] =
		"{\"findings\":[{\"rule\":\"lost\",\"severity\":\"problem\"}]}";
	static const struct pair fields[] = {
		{"findings/rule", "lost"}, {"findings/severity", "problem"}};
	static const char text[] =
		"{\"firmware\":{\"sysfs\":\"16.35\"},\"list\":[1,2.5],\"ports\":["
		"{\"active_mtu\":null,\"port\":2,\"name\":\"x\"},{\"active_mtu\":4096,\"port\":1,"
		"\"netdevs\":[{\"up\":true,\"name\":\"eth0\"}]},"
		"{\"device\":\"mlx5_0\",\"port\":1,\"counters\":["
		"{\"name\":\"hw/oob\",\"value\":3,\"severity\":\"problem\"},"
		"{\"name\":\"rx\",\"value\":4,\"severity\":null}]}],"
		"\"findings\":[{\"rule\":\"lost\",\"severity\":\"problem\",\"where\":\"a -> b\","
		"\"title\":\"packets are lost\",\"count\":7},{\"rule\":\"slow\",\"severity\":"
		"\"warning\",\"where\":null,\"title\":\"slow\"}]}";
	static const struct pair want[] = {{"firmware/sysfs", "16.35"}, {"list", "1"},
		{"list #2", "2.5"}, {"ports/2/active_mtu", "null"}, {"ports/2/port", "2"},
		{"ports/2/name", "x"}, {"ports/1/active_mtu", "4096"}, {"ports/1/port", "1"},
		{"ports/1/netdevs/eth0/up", "true"}, {"ports/1/netdevs/eth0/name", "eth0"},
		{"ports/mlx5_0:1/device", "mlx5_0"}, {"ports/mlx5_0:1/port", "1"},
		{"ports/mlx5_0:1/faults/hw/oob", "3"}, {"ports/mlx5_0:1/counters/rx", "4"},
		{"findings/lost a -> b", "problem: packets are lost"},
		{"findings/slow ", "warning: slow"}};

	check(flatten_json(text, strlen(text)), want, sizeof(want) / sizeof(*want));
	/* What lacks a title is not a finding. */
	check(flatten_json(untitled, strlen(untitled)), fields, 2);
}

TEST(lines)
{
	static const char text[] =
		"rdmadump 0.1.0 (abc)\n  libpcap version 1.10.3 (with X)\r\n\n"
		"tx-checksumming: on\n\ttx-checksum-ipv4: off [fixed]\nipv4\tamd64\t1:6.1\n"
		"   SRIOV_EN        True(1)\nA = 5\nno value\nA = 6\nlast: one";
	static const struct pair want[] = {{"rdmadump", "0.1.0 (abc)"},
		{"libpcap version", "1.10.3 (with X)"}, {"tx-checksumming", "on"},
		{"tx-checksum-ipv4", "off [fixed]"}, {"ipv4", "amd64 1:6.1"},
		{"SRIOV_EN", "True(1)"}, {"A", "5"}, {"no value", ""}, {"A #2", "6"},
		{"last", "one"}};

	check(flatten_lines(text, strlen(text)), want, sizeof(want) / sizeof(*want));
	check(flatten_lines("", 0), NULL, 0);
}

/* n times the same, to be freed */
static char *repeat(const char *what, size_t n)
{
	size_t len = strlen(what);
	char *all = malloc(n * len + 1);

	for (size_t i = 0; i < n; i++)
		memcpy(all + i * len, what, len);
	all[n * len] = '\0';
	return all;
}

TEST(hostile)
{
	static const struct pair odd[] = {{"\xef\xbf\xbd\x1b[31m", "x"}};
	char *text;
	json_t *values;

	assert_null(flatten_json("{", 1));
	assert_null(flatten_json("", 0));
	check(flatten_lines("\xff\x1b[31m: x\0: y\n", 12), odd, 1);
	/* Deep, but not too deep for the parser. */
	text = repeat("[", 1000);
	memset(text + 500, ']', 500);
	assert_null(flatten_json(text, 1000));
	free(text);
	/* A name of many bytes, which is cut within a character. */
	text = repeat("\xe2\x82\xac", 2000);
	text[0] = 'x';
	values = flatten_lines(text, strlen(text));
	assert_int_equal(json_object_size(values), 1);
	json_decref(values);
	free(text);
	/* As many values as there may be, and one more. */
	text = repeat("a\n", FLAT_MAX + 1);
	values = flatten_lines(text, 2 * FLAT_MAX);
	assert_int_equal(json_object_size(values), FLAT_MAX);
	json_decref(values);
	assert_null(flatten_lines(text, 2 * (FLAT_MAX + 1)));
	free(text);
}
