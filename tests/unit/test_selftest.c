/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Selftest: what is replaced on request, differences between two results, what a peer may
 * send. */
#include "test.h"
#include "numbered.h"
#include "peer_address.h"
#include "peer_link.h"
#include "redacted.h"
#include "selftest.h"
#include <arpa/inet.h>
#include <dlfcn.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <rdmadump/bytes.h>
#include <rdmadump/clock.h>
#include <rdmadump/selftest.h>
#include <semaphore.h>
#include <signal.h>

/* --- replaced addresses ------------------------------------------------------------------- */

static struct rd_device device = {.name = "mlx5_0", .node_guid = 0x00000afffe001234};
static struct rd_port port = {.num = 1, .link = RD_LINK_ETHERNET};

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
		"name", "stop", "question", "why", "outcome", "found", "value", text, "reason",
		text, "meaning", text, "found", "key", "late_frames", "meaning", text, "values",
		name, "value", text, "unit", "", "list", "value", text, "unit", "", "files", "name",
		"stop.pcapng", "missing", text);
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
	assert_string_equal(json_string_value(json_object_get(probe, "name")), "stop");
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
		{"v", "cannot connect to peer7.example.com, TCP", "peer7"},
		{"v", "peer7: no route", "peer7"},
		{"v", "cannot write '/home/alice/out/x'", "alice"},
	};
	/* No addresses: PCI, versions, times, numbers. */
	static const char *const stay[] = {"0000:3b:00.0", "16.35.2000", "6.1.0-18-amd64",
		"05:35:29", "0x5a17c0", "16.0 GT/s PCIe", "MT_0000000010", "256.1.1.1 and 1.2.3",
		"5.8-2.0.3.0", "peer77", "", ".:-"};
	const struct rd_selftest_config config = {.hash_addresses = true,
		.peer = "peer7.example.com",
		.directory = "/home/alice/out"};
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
	struct rd_selftest_config config = {
		.hash_addresses = true, .peer = "found", .directory = "time"};
	json_t *probe = probe_with("v", "found");
	struct rd_selftest st;
	char name[64] = "found";

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
	struct rd_probe_result r;
	struct rd_selftest st;
	uint8_t first[64];

	begin_redacted(&st, &config);
	result_init(&r);
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

TEST(compare)
{
	assert_int_equal(differences(document("passed", "", 5), document("passed", "", 5)), 0);
	assert_int_equal(differences(document("passed", "", 5), document("passed", "", 6)), 1);
	expect("2 0", differences(document("passed", "", 5), document("failed", "", 6)),
		differences(document("passed", "us", 100), document("passed", "us", 149)));
	expect("1 0", differences(document("passed", "us", 100), document("passed", "us", 160)),
		differences(document("passed", "ppm", -4), document("passed", "ppm", 5)));
	expect("1 1", differences(document("passed", "ppm", -6), document("passed", "ppm", 5)),
		differences(document("passed", "", 5), json_pack("{s:[]}", "probes")));
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
TEST(compare_findings)
{
	assert_int_equal(differences(with_finding("a"), with_finding("a")), 0);
	assert_int_equal(differences(with_finding("a"), with_finding("b")), 1);
	assert_int_equal(differences(with_finding("a"), document("found", "", 5)), 1);
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
	expect("2 1 1 4 1 0 14", c.once, c.more, c.never, m.frames, m.disordered, m.changed + m.cut,
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
			.gid = {0xfe, 0x80, [15] = 7},
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

TEST(peer_messages)
{
	for (unsigned int type = 0; type < PEER_TYPES; type++) {
		const struct peer_message m = make_message((enum peer_type)type);
		uint8_t bytes[PEER_HEAD + PEER_BODY];
		struct peer_message back;
		size_t n = peer_message_put(bytes, &m);

		assert_in_range(n, PEER_HEAD, sizeof(bytes));
		same(rd_be32(bytes + 12), n - PEER_HEAD, read_back(&back, bytes), PEER_GOOD);
		assert_memory_equal(&back, &m, sizeof(m));
	}
}

/* Each change of the head is refused, by its reason. */
TEST(peer_heads)
{
	const struct peer_message m = make_message(PEER_READY);
	uint8_t bytes[PEER_HEAD + PEER_BODY];
	struct peer_message back;

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

TEST(peer_bodies)
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
		{PEER_HELLO, 106, 1, "\xff"}, /* a GID that is a group, of IPv6 and of IPv4 */
		{PEER_HELLO, 106, 16, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xe0\0\0\1"},
		{PEER_HELLO, 106, 16, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff"},
		{PEER_HELLO, 106, 16, "\0\0\0\0\0\0\0\0\0\0\xff\xff\0\0\0\1"},
		{PEER_HELLO, 106, 16, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1"}, /* this machine */
		{PEER_HELLO, 106, 16, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"},
		{PEER_HELLO, 106, 16, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"},
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

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(
			with_bytes(bad[i].type, bad[i].at, bad[i].bytes, bad[i].n), PEER_MALFORMED);
	assert_int_equal(with_bytes(PEER_READY, 52, "\0\0\1\0", 4), PEER_GOOD);
	/* The last and the first network of IPv4, and an address with no other bits than the last.
	 */
	assert_int_equal(with_bytes(PEER_HELLO, 106, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xdf\0\0\1", 16),
		PEER_GOOD);
	assert_int_equal(
		with_bytes(PEER_HELLO, 106, "\0\0\0\0\0\0\0\0\0\0\xff\xff\1\0\0\1", 16), PEER_GOOD);
	assert_int_equal(
		with_bytes(PEER_HELLO, 106, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2", 16), PEER_GOOD);
	/* No GID, so its bytes do not count */
	assert_int_equal(with_bytes(PEER_HELLO, 98, "\0\2\2\0\0\0\0\1\xff", 9), PEER_GOOD);
	assert_int_equal(with_bytes(PEER_GO, 32, "\0\0\0\x40", 4), PEER_GOOD);
	/* A text without its end */
	assert_int_equal(
		with_bytes(PEER_HELLO, 0, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 32), PEER_MALFORMED);
}

/* Each byte of each message at its extremes: refused, or taken as it is. */
TEST(peer_extremes)
{
	static const uint8_t values[] = {0, 1, 2, 0x1b, ' ', 0x7f, 0x80, 0xff};
	unsigned int refused = 0, good = 0;

	for (unsigned int type = 0; type < PEER_TYPES; type++) {
		const struct peer_message m = make_message((enum peer_type)type);
		uint8_t bytes[PEER_HEAD + PEER_BODY], again[PEER_HEAD + PEER_BODY];
		struct peer_message back;
		size_t n = peer_message_put(bytes, &m);

		for (size_t i = 0; i < n * sizeof(values); i++) {
			uint8_t *at = &bytes[i / sizeof(values)], was = *at;

			*at = values[i % sizeof(values)];
			if (read_back(&back, bytes)) {
				refused++;
			} else {
				good++;
				assert_int_equal(peer_message_put(again, &back), n);
				assert_memory_equal(again, bytes, n);
			}
			*at = was;
		}
	}
	assert_true(refused > 1000 && good > 1000);
}

/* A connection that ends within a message: after the handshake, too, that is no message. */
TEST(peer_truncated)
{
	const struct rd_selftest_config config = {.control_port = 1};
	const struct rd_selftest st = {.config = &config, .deadline_ns = UINT64_MAX};

	for (unsigned int type = 0; type < PEER_TYPES; type++) {
		const struct peer_message m = make_message((enum peer_type)type);
		uint8_t bytes[PEER_HEAD + PEER_BODY];
		size_t n = peer_message_put(bytes, &m);

		for (size_t sent = 0; sent <= n; sent++) {
			struct peer_link l = {.st = &st, .patience_ms = PEER_MESSAGE_MS};
			struct peer_message got;
			int ends[2];

			assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
			assert_int_equal(write(ends[0], bytes, sent), sent);
			close(ends[0]);
			l.fd = ends[1];
			assert_int_equal(peer_link_receive(&l, m.type, &got), sent < n ? -1 : 0);
			assert_int_equal(l.lost, sent < n);
			if (sent < n)
				assert_non_null(strstr(l.why, "closed the connection"));
			else
				assert_memory_equal(&got, &m, sizeof(m));
			close(ends[1]);
		}
	}
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

/*
 * A resolver that knows one name, and does not answer for another one: its name server is down.
 * Addresses go to the C library's.
 */
static sem_t answer;

/* More addresses than are kept, for "many.test". */
static struct addrinfo many[PEER_ADDRESSES + 2];
static struct sockaddr_in many_in[PEER_ADDRESSES + 2];

static struct addrinfo *make_many(void)
{
	for (unsigned int i = 0; i < PEER_ADDRESSES + 2; i++) {
		many_in[i].sin_family = AF_INET;
		many_in[i].sin_addr.s_addr = htonl(0xc0000201 + i); /* 192.0.2.1 */
		many[i] = (struct addrinfo){.ai_family = AF_INET,
			.ai_addrlen = sizeof(many_in[i]),
			.ai_addr = (void *)&many_in[i],
			.ai_next = i < PEER_ADDRESSES + 1 ? &many[i + 1] : NULL};
	}
	return many;
}

void freeaddrinfo(struct addrinfo *list)
{
	void (*real)(struct addrinfo *);
	void *found = dlsym(RTLD_NEXT, "freeaddrinfo");

	memcpy(&real, &found, sizeof(real));
	if (list != many)
		real(list);
}

int getaddrinfo(
	const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
	void *found = dlsym(RTLD_NEXT, "getaddrinfo");

	if (strcmp(node, "many.test") == 0 && !(hints->ai_flags & AI_NUMERICHOST)) {
		*list = make_many();
		return 0;
	}
	if (!(hints->ai_flags & AI_NUMERICHOST)) {
		while (strcmp(node, "slow.test") == 0 && sem_wait(&answer) < 0)
			;
		return EAI_NONAME;
	}
	memcpy(&real, &found, sizeof(real));
	return real(node, service, hints, list);
}

static const char *find_peer(struct peer_addresses *a, const char *host)
{
	const struct rd_selftest_config config = {.peer = host, .control_port = 24095};
	const struct rd_selftest st = {.config = &config,
		.run_deadline_ns = UINT64_MAX,
		.deadline_ns = rd_monotonic_ns() + 60000000000U};

	return peer_addresses_find(a, &st);
}

TEST(peer_addresses)
{
	const struct sockaddr_storage same = address("192.0.2.7"),
				      mapped = address("::ffff:192.0.2.7"),
				      next = address("192.0.2.8"), six = address("2001:db8::7");
	struct peer_addresses a;
	char name[300];

	assert_null(find_peer(&a, "192.0.2.7"));
	expect("1 1 1 0 0", a.n, peer_addresses_have(&a, &same), peer_addresses_have(&a, &mapped),
		peer_addresses_have(&a, &next), peer_addresses_have(&a, &six));
	assert_null(find_peer(&a, "2001:db8::7"));
	expect("1 0", peer_addresses_have(&a, &six), peer_addresses_have(&a, &same));
	assert_int_equal(peer_address_size(&a.address[0]), sizeof(struct sockaddr_in6));
	assert_non_null(find_peer(&a, "192.0.2.7.8"));
	/* By a name: all that there is room for. */
	assert_null(find_peer(&a, "many.test"));
	assert_int_equal(a.n, PEER_ADDRESSES);
	expect("1 1 0", peer_addresses_have(&a, &same), peer_addresses_have(&a, &next),
		peer_addresses_have(&a, &six));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_string_equal(find_peer(&a, name), "the name is too long");
}

/* A link-local address is another one on another interface. */
TEST(peer_scope)
{
	struct sockaddr_storage from = address("fe80::7");
	struct sockaddr_in6 *six = (void *)&from;
	struct peer_addresses a;

	assert_null(find_peer(&a, "fe80::7%lo"));
	six->sin6_scope_id = if_nametoindex("lo");
	expect("1 1", six->sin6_scope_id, peer_addresses_have(&a, &from));
	six->sin6_scope_id++;
	assert_false(peer_addresses_have(&a, &from));
	assert_null(find_peer(&a, "fe80::7"));
	assert_true(peer_addresses_have(&a, &from));
}

/* The wait for a resolver ends with the probe, and with an interruption. */
TEST(peer_slow_resolver)
{
	volatile sig_atomic_t stop = 0;
	const struct rd_selftest_config config = {.peer = "slow.test", .stop = &stop};
	struct rd_selftest st = {.config = &config, .run_deadline_ns = UINT64_MAX};
	struct peer_addresses a;

	assert_int_equal(sem_init(&answer, 0, 0), 0);
	st.deadline_ns = rd_monotonic_ns() + 20000000;
	assert_string_equal(peer_addresses_find(&a, &st),
		"the resolver did not respond in time: name an IP address");
	st.deadline_ns = UINT64_MAX;
	stop = 1;
	assert_non_null(peer_addresses_find(&a, &st));
	/* The threads end, and free what they have. */
	sem_post(&answer);
	sem_post(&answer);
}
