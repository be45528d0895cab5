/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Selftest: what is replaced on request, the table of probes, numbered frames. */
#include "test.h"
#include "selftest/numbered.h"
#include "selftest/selftest.h"

/* --- replaced addresses ------------------------------------------------------------------- */

static struct rd_device device = {.name = "mlx5_0", .node_guid = 0x00000afffe001234};
static struct rd_port port = {.num = 1, .link = RD_LINK_ETHERNET};

/* What this machine is called. */
static const char *host = "host7.example.com";

int gethostname(char *name, size_t size)
{
	return snprintf(name, size, "%s", host) < 0 ? -1 : 0;
}

static void begin_redacted(struct rd_selftest *st, const struct rd_selftest_config *config)
{
	*st = (struct rd_selftest){.config = config, .device = &device, .port = &port};
	assert_int_equal(redacted_begin(st), 0);
}

/* A probe's object with `text` wherever there may be text. */
static json_t *probe_with(const char *name, const char *text)
{
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:[{s:s, s:s}], s:{s:{s:s, s:s}, s:{s:[s], "
		"s:s}}, s:[{s:s, s:s}]}",
		"name", "flow", "question", "why", "outcome", "found", "value", text, "reason",
		text, "meaning", text, "found", "key", "slow_commands", "meaning", text, "values",
		name, "value", text, "unit", "", "list", "value", text, "unit", "", "files", "name",
		"flow.pcapng", "missing", text);
}

/*
 * Whether `original` is nowhere, and the program's own words are as they were. Some are recognized
 * by the name of their value alone.
 */
static void check_gone(
	const struct rd_selftest *st, const char *name, const char *text, const char *original)
{
	json_t *probe = probe_with(name, text);
	char *dumped;

	assert_int_equal(redacted_probe(st, probe), 0);
	dumped = json_dumps(
		strcmp(name, "v") ? json_object_get(json_object_get(probe, "values"), name) : probe,
		0);
	assert_non_null(dumped);
	if (strcasestr(dumped, original))
		fail_msg("'%s' is in %s", original, dumped);
	assert_string_equal(json_string_value(json_object_get(probe, "name")), "flow");
	assert_string_equal(json_string_value(json_object_get(probe, "outcome")), "found");
	assert_non_null(json_object_get(json_object_get(probe, "values"), name));
	free(dumped);
	json_decref(probe);
}

TEST(redacted)
{
	static const char *const rows[][3] = {
		{"v", "02:00:00:ab:CD:ef", "00:ab:cd"},
		{"v", "02-00-00-ab-cd-ef", "00-ab-cd"},
		{"v", "addr:10.77.0.2", "10.77.0.2"},
		{"v", "addr=10.77.0.2.", "10.77.0.2"},
		{"v", "(10.77.0.2:4791)", "10.77.0.2"},
		{"v", "[2001:db8:1::7]:24095", "2001:db8:1::7"},
		{"v", "gid fe80::211:22ff:fe33:4455", "22ff:fe33"},
		{"v", "fe80:0000:0000:0000:0211:22ff:fe33:4455", "22ff:fe33"},
		{"v", "fe80::211:22ff:fe33:4455%eth0", "22ff:fe33"},
		{"v", "::ffff:10.0.0.1", "10.0.0.1"},
		{"v", "0002:c903:0000:1234", "c903:0000:1234"},
		{"v", "0x0002c90300001234", "0002c90300001234"},
		{"node_guid", "0x00000afffe001234", "00000afffe001234"},
		{"mac", "0c42a1b31234", "0c42a1b31234"},
		{"v", "enx0c42a1b31234", "0c42a1b31234"},
		{"v", "on host7.example.com, port 1", "host7"},
		{"v", "host7: no route", "host7"},
		{"v", "cannot write '/home/alice/out/x'", "alice"},
	};
	/* No addresses: PCI, versions, times, numbers. */
	static const char *const stay[] = {"0000:3b:00.0", "16.35.2000", "6.1.0-18-amd64",
		"05:35:29", "0x5a17c0", "16.0 GT/s PCIe", "MT_0000000010", "256.1.1.1 and 1.2.3",
		"5.8-2.0.3.0", "host77", "", ".:-"};
	const struct rd_selftest_config config = {
		.hash_addresses = true, .directory = "/home/alice/out"};
	struct rd_selftest st;

	begin_redacted(&st, &config);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_gone(&st, rows[i][0], rows[i][1], rows[i][2]);
	for (size_t i = 0; i < sizeof(stay) / sizeof(*stay); i++) {
		json_t *probe = probe_with("v", stay[i]), *same = json_deep_copy(probe);

		expect("0 1", redacted_probe(&st, probe), json_equal(probe, same));
		json_decref(probe);
		json_decref(same);
	}
	redacted_end(&st);
}

/* The program's words stay, whatever a host is called; without the option all stays. */
TEST(redacted_words)
{
	/* A directory's name without a slash is a word of sentences, too. */
	struct rd_selftest_config config = {.hash_addresses = true, .directory = "time"};
	json_t *probe = probe_with("v", "found");
	struct rd_selftest st;
	char name[64] = "found";

	host = "found";
	begin_redacted(&st, &config);
	assert_int_equal(redacted_probe(&st, probe), 0);
	assert_string_equal(json_string_value(json_object_get(probe, "outcome")), "found");
	assert_string_not_equal(json_string_value(json_object_get(probe, "value")), "found");
	assert_int_equal(redacted_name(&st, name, sizeof(name)), 0);
	assert_string_equal(json_string_value(json_object_get(probe, "value")), name);
	snprintf(name, sizeof(name), "the time is over");
	expect("0 the time is over", redacted_name(&st, name, sizeof(name)), name);
	redacted_end(&st);
	json_decref(probe);
	config.hash_addresses = false;
	begin_redacted(&st, &config);
	probe = probe_with("v", "found 10.0.0.1");
	assert_int_equal(redacted_probe(&st, probe), 0);
	assert_string_equal(json_string_value(json_object_get(probe, "value")), "found 10.0.0.1");
	json_decref(probe);
	redacted_end(&st);
}

TEST(redacted_frames)
{
	const struct rd_selftest_config config = {.hash_addresses = true};
	uint8_t frame[64] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5, 's', 'e', 'c'};
	struct rd_probe_result r = {0};
	struct rd_selftest st;
	uint8_t first[64];

	begin_redacted(&st, &config);
	result_frame(&r, frame, sizeof(frame), 1);
	result_frame(&r, frame, sizeof(frame), 2);
	assert_true(redacted_frames(&st, &r));
	memcpy(first, r.bytes, sizeof(first));
	assert_memory_not_equal(first, frame, 6);
	assert_memory_not_equal(first + 6, frame + 6, 6);
	assert_int_equal(first[14] | first[15] | first[16], 0);
	assert_memory_equal(first, r.bytes + sizeof(first), sizeof(first));
	result_free(&r);
	redacted_end(&st);
}

/* Names are unique, since they are file names and options. */
TEST(probes)
{
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

TEST(numbered)
{
	const uint32_t three = 3;
	struct numbered m, other;
	struct numbered_counts c;
	uint8_t frame[64];
	uint32_t len;

	assert_int_equal(numbered_init(&m, NUMBERED_MAX + 1), -1);
	numbered_free(&m);
	expect("0 0", numbered_init(&m, 4), numbered_init(&other, 4));
	other.run = m.run + 1;
	look(&m, 14, 0, 0);
	look(&m, 14, 2, 4);
	look(&m, 18, 2, 0);
	look(&m, 54, 1, 4);
	c = numbered_counts(&m);
	expect("2 1 1 4 0 14", c.once, c.more, c.never, m.frames, m.changed + m.cut,
		m.least_before);
	expect("54 0 4", m.most_before, m.least_after, m.most_after);
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

TEST(numbered_damage)
{
	static const uint32_t numbers[] = {0, 1, 2};
	uint8_t frame[256];
	struct numbered m;
	uint32_t len;

	assert_int_equal(numbered_init(&m, 4), 0);
	len = make_frame(frame, &m, 42, numbers, 3, 4);
	numbered_look(&m, frame, len);
	expect("3 3 4", m.most_blocks, numbered_counts(&m).once, m.most_after);
	frame[42 + 40 + 30] ^= 1;
	numbered_look(&m, frame, len);
	expect("1 0", m.changed, m.cut);
	/* Every length: nothing is read behind the end, which the sanitizers check. */
	for (uint32_t n = 0; n < 42 + 40; n++) {
		uint8_t *exact = malloc(n ? n : 1);

		memcpy(exact, frame, n);
		numbered_reset(&m);
		numbered_look(&m, exact, n);
		same(m.times[0], n >= 42 + 20, m.cut, n >= 42 + 20);
		free(exact);
	}
	numbered_free(&m);
}
