/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What selftest takes for an address, and what it finds different between two results. */
#include "addresses.h"
#include "numbered.h"
#include "peer_address.h"
#include "peer_message.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdmadump/bytes.h>
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

static json_t *with_finding(const char *key)
{
	json_t *all = document("found", "", 5), *probe;

	probe = json_array_get(json_object_get(all, "probes"), 0);
	json_object_set_new(probe, "found", json_pack("[{s:s, s:s}]", "key", key, "meaning", "-"));
	return all;
}

/* Other findings with the same outcome; the words of a meaning may change. */
static void test_compare_findings(void **state)
{
	(void)state;
	assert_int_equal(differences(with_finding("a"), with_finding("a")), 0);
	assert_int_equal(differences(with_finding("a"), with_finding("b")), 1);
	assert_int_equal(differences(with_finding("a"), document("found", "", 5)), 1);
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

/* --- what two ends tell each other -------------------------------------------------------- */

static struct peer_message make_message(enum peer_type type)
{
	struct peer_message m;

	memset(&m, 0, sizeof(m));
	m.type = type;
	if (type == PEER_HELLO) {
		m.hello = (struct peer_hello){.program = "rdmadump",
			.device = "mlx5_0",
			.watches = "sniffer",
			.has_mac = 1,
			.has_gid = 1,
			.gid_type = 2,
			.mac = {2, 0, 0, 0, 0, 1},
			.lid = 0xbeef};
	} else if (type == PEER_READY) {
		m.ready = (struct peer_ready){.kind = 3,
			.from_listener = 1,
			.error = "EPERM",
			.run = 0x12345678,
			.qpn = 0x11,
			.rkey = 0x80000001,
			.mtu = 1024,
			.address = 0x1122334455667788};
	} else if (type == PEER_GO || type == PEER_SENT) {
		m.step = (struct peer_step){.error = "EIO", .frames = PEER_FRAMES};
	} else if (type == PEER_SEEN) {
		m.seen = (struct peer_seen){.full = 1, .times = {1, 2, 255}, .arrived = {1}};
	}
	return m;
}

static enum peer_fault read_back(struct peer_message *m, const uint8_t *bytes)
{
	enum peer_type type;
	uint32_t version;
	size_t body;
	enum peer_fault fault = peer_head_get(bytes, &type, &body, &version);

	return fault ? fault : peer_body_get(m, type, bytes + PEER_HEAD);
}

static void test_peer_messages(void **state)
{
	(void)state;
	for (unsigned int type = 0; type < PEER_TYPES; type++) {
		const struct peer_message m = make_message((enum peer_type)type);
		uint8_t bytes[PEER_HEAD + PEER_BODY];
		struct peer_message back;
		size_t n = peer_message_put(bytes, &m);

		assert_in_range(n, PEER_HEAD, sizeof(bytes));
		assert_int_equal(rd_be32(bytes + 12), n - PEER_HEAD);
		assert_int_equal(read_back(&back, bytes), PEER_GOOD);
		assert_memory_equal(&back, &m, sizeof(m));
	}
}

/* Each change of the head is refused, by its reason. */
static void test_peer_heads(void **state)
{
	const struct peer_message m = make_message(PEER_READY);
	uint8_t bytes[PEER_HEAD + PEER_BODY];
	struct peer_message back;

	(void)state;
	peer_message_put(bytes, &m);
	for (size_t i = 0; i < PEER_HEAD; i++) {
		bytes[i] ^= 0x40;
		assert_int_equal(read_back(&back, bytes), i < 8	   ? PEER_NO_PEER
							  : i < 10 ? PEER_OTHER_VERSION
								   : PEER_MALFORMED);
		bytes[i] ^= 0x40;
	}
	/* The length of one type with another type. */
	rd_put_be16(bytes + 10, PEER_SEEN);
	assert_int_equal(read_back(&back, bytes), PEER_MALFORMED);
	rd_put_be16(bytes + 10, PEER_TYPES);
	assert_int_equal(read_back(&back, bytes), PEER_MALFORMED);
}

static enum peer_fault with_bytes(enum peer_type type, size_t at, const void *bytes, size_t n)
{
	const struct peer_message m = make_message(type);
	uint8_t to[PEER_HEAD + PEER_BODY];
	struct peer_message back;

	peer_message_put(to, &m);
	memcpy(to + PEER_HEAD + at, bytes, n);
	return read_back(&back, to);
}

static void test_peer_bodies(void **state)
{
	static const struct {
		enum peer_type type;
		size_t at, n;
		const char *bytes;
	} bad[] = {
		{PEER_HELLO, 0, 2, "\x1b["},		/* a text that is not printable */
		{PEER_HELLO, 31, 1, "x"},		/* bytes behind its end */
		{PEER_HELLO, 96, 1, "\2"},		/* no link layer */
		{PEER_HELLO, 99, 1, "\3"},		/* no kind of GID */
		{PEER_HELLO, 100, 6, "\1\0\x5e\0\0\1"}, /* a group */
		{PEER_HELLO, 100, 6, "\0\0\0\0\0\0"},
		{PEER_HELLO, 122, 2, "\0\1"},	   /* a LID of 17 bits */
		{PEER_READY, 0, 1, "\1"},	   /* no kind */
		{PEER_READY, 7, 1, "\2"},	   /* no direction */
		{PEER_READY, 44, 1, "\1"},	   /* a QPN of 25 bits */
		{PEER_READY, 52, 4, "\0\0\x10\1"}, /* an MTU of 4097 bytes */
		{PEER_READY, 52, 4, "\0\0\0\xff"}, /* of 255 */
		{PEER_GO, 32, 4, "\0\0\0\x41"},	   /* more frames than there are */
		{PEER_SEEN, 0, 1, "\2"},
		{PEER_SEEN, 66, 1, "\2"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(
			with_bytes(bad[i].type, bad[i].at, bad[i].bytes, bad[i].n), PEER_MALFORMED);
	assert_int_equal(with_bytes(PEER_READY, 52, "\0\0\1\0", 4), PEER_GOOD);
	assert_int_equal(with_bytes(PEER_GO, 32, "\0\0\0\x40", 4), PEER_GOOD);
	/* A text without its end */
	assert_int_equal(
		with_bytes(PEER_HELLO, 0, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 32), PEER_MALFORMED);
}

static struct sockaddr_storage address(const char *text)
{
	struct sockaddr_storage a;
	struct sockaddr_in *four = (void *)&a;
	struct sockaddr_in6 *six = (void *)&a;

	memset(&a, 0, sizeof(a));
	a.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	assert_int_equal(
		inet_pton(a.ss_family, text,
			a.ss_family == AF_INET ? (void *)&four->sin_addr : (void *)&six->sin6_addr),
		1);
	return a;
}

static void test_peer_addresses(void **state)
{
	const struct sockaddr_storage same = address("192.0.2.7"),
				      mapped = address("::ffff:192.0.2.7"),
				      next = address("192.0.2.8"), six = address("2001:db8::7");
	struct peer_addresses a;

	(void)state;
	assert_null(peer_addresses_find(&a, "192.0.2.7", 24095));
	assert_int_equal(a.n, 1);
	assert_true(peer_addresses_have(&a, &same));
	assert_true(peer_addresses_have(&a, &mapped));
	assert_false(peer_addresses_have(&a, &next));
	assert_false(peer_addresses_have(&a, &six));
	assert_null(peer_addresses_find(&a, "2001:db8::7", 24095));
	assert_true(peer_addresses_have(&a, &six));
	assert_false(peer_addresses_have(&a, &same));
	assert_int_equal(peer_address_size(&a.address[0]), sizeof(struct sockaddr_in6));
	assert_non_null(peer_addresses_find(&a, "192.0.2.7.8", 24095));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_addresses_stay_equal), cmocka_unit_test(test_compare),
		cmocka_unit_test(test_compare_findings), cmocka_unit_test(test_numbered),
		cmocka_unit_test(test_numbered_damage), cmocka_unit_test(test_peer_messages),
		cmocka_unit_test(test_peer_heads), cmocka_unit_test(test_peer_bodies),
		cmocka_unit_test(test_peer_addresses), cmocka_unit_test(test_probes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
