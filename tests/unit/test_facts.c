/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Facts in pcapng: written and read in both byte orders, in order, and hostile sizes. */
#include "test.h"
#include "test_format_maker.h"
#include <rdmadump/facts.h>

#define FACTS 0x80524446u

static const struct rd_iface ifaces[2] = {
	{.link = RD_LINK_ETHERNET, .name = "a"}, {.link = RD_LINK_ETHERNET, .name = "b"}};

static struct rd_encoder encoder(const char *format)
{
	struct rd_encoder e;

	assert_int_equal(rd_encoder_init(&e, format, NULL, NULL, ifaces, 2, NULL), 0);
	return e;
}

static void add_header(struct memory *m, const struct rd_encoder *e)
{
	uint8_t buf[1024];

	memory_add(m, buf, e->format->header(e, buf, sizeof(buf)));
}

static void add_facts(struct memory *m, const struct rd_encoder *e, const char *json)
{
	uint8_t buf[256];
	size_t len = rd_encoder_facts(e, json, strlen(json), buf, sizeof(buf));

	assert_true(len > 0 && len % 4 == 0 && len <= rd_encoder_facts_bound(strlen(json)));
	memory_add(m, buf, len);
}

static void add_frame(struct memory *m, const struct rd_encoder *e, const char *text)
{
	const struct rd_frame f = {.data = (const uint8_t *)text,
		.caplen = (uint32_t)strlen(text),
		.len = (uint32_t)strlen(text)};
	uint8_t buf[256];
	size_t used;

	assert_int_equal(e->format->frames(e, &f, 1, buf, sizeof(buf), &used), 1);
	memory_add(m, buf, used);
}

/* The order of delivery: "<text>" of facts, the bytes of frames. */
struct seen {
	struct rd_reader *r;
	char text[512];
	size_t used;
	unsigned int n;
	int iface; /* of interface 1 of the section at hand */
};

static void see(struct seen *s, const char *before, const void *p, size_t len, const char *behind)
{
	s->used += (size_t)snprintf(s->text + s->used, sizeof(s->text) - s->used, "%s%.*s%s",
		before, (int)len, (const char *)p, behind);
	assert_true(s->used < sizeof(s->text));
}

static void on_facts(void *ctx, const char *json, size_t len)
{
	struct seen *s = ctx;

	s->n++;
	s->iface = rd_reader_facts_iface(s->r, 1);
	assert_int_equal(rd_reader_facts_iface(s->r, 2), -1);
	see(s, "<", json, len, ">");
}

/* Reads the file frame by frame; returns the result of the last call. */
static int read_all(struct memory *m, struct seen *s, bool listen)
{
	struct rd_frame f;
	int n;

	s->r = memory_open(m);
	if (listen)
		rd_reader_on_facts(s->r, on_facts, s);
	while ((n = rd_reader_next(s->r, &f, 1, NULL)) > 0)
		see(s, "", f.data, f.caplen, " ");
	rd_reader_close(s->r);
	return n;
}

TEST(order)
{
	struct rd_encoder e = encoder("pcapng");
	const struct rd_iface_stats stats[2] = {{.delivered = 2}};
	uint8_t buf[1024];

	for (size_t step = 0; step < 40; step++) {
		struct memory m = {.step = step};
		struct seen s = {0}, deaf = {0};

		add_header(&m, &e);
		add_facts(&m, &e, "{\"one\"}");
		add_facts(&m, &e, "");
		add_frame(&m, &e, "first");
		add_facts(&m, &e, "{three}");
		add_frame(&m, &e, "second");
		add_facts(&m, &e, "{\"four\":4}");
		memory_add(&m, buf, e.format->trailer(&e, stats, buf, sizeof(buf)));
		expect("0 <{\"one\"}><>first <{three}>second <{\"four\":4}> 1 0",
			read_all(&m, &s, true), s.text, s.iface, read_all(&m, &deaf, false));
		assert_string_equal(deaf.text, "first second ");
		memory_free(&m);
	}
}

/* The second section's interfaces are the reader's 2 and 3. */
TEST(sections)
{
	struct rd_encoder e = encoder("pcapng");
	struct memory m = {0};
	struct seen s = {0};

	add_header(&m, &e);
	add_frame(&m, &e, "x");
	add_header(&m, &e);
	add_facts(&m, &e, "{}");
	expect("0 x <{}> 3", read_all(&m, &s, true), s.text, s.iface);
	memory_free(&m);
}

/* A block with arbitrary lengths of block and text, and version. */
static void add_block(struct maker *k, uint32_t total, uint32_t version, uint32_t len,
	const char *body, uint32_t tail)
{
	u32(k, FACTS);
	u32(k, total);
	u32(k, version);
	u32(k, len);
	bytes(k, body, strlen(body));
	u32(k, tail);
}

TEST(claims)
{
	static const struct {
		uint32_t total, version, len;
		const char *seen;
	} cases[] = {
		{24, 1, 4, "<{ab}>"},
		{24, 1, 2, "<{a>"},
		{24, 1, 5, ""}, /* into the block's tail */
		{24, 1, UINT32_MAX, ""},
		{24, 1, UINT32_MAX - 19, ""},
		{24, 2, 4, ""}, /* a future version */
		{24, 0, 4, ""},
		{24, 0x01000000, 4, ""},
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		struct maker k = {.big = i % 2};
		struct seen s = {0};

		section(&k);
		add_block(
			&k, cases[i / 2].total, cases[i / 2].version, cases[i / 2].len, "{ab}", 24);
		add_block(&k, 24, 1, 4, "{ok}", 24);
		s.r = memory_open(&k.m);
		rd_reader_on_facts(s.r, on_facts, &s);
		assert_int_equal(rd_reader_next(s.r, &(struct rd_frame){0}, 1, NULL), 0);
		rd_reader_close(s.r);
		assert_memory_equal(s.text, cases[i / 2].seen, strlen(cases[i / 2].seen));
		assert_string_equal(s.text + strlen(cases[i / 2].seen), "<{ok}>");
		memory_free(&k.m);
	}
}

/* Blocks without room for their fields are skipped; texts that are too long are not kept. */
TEST(sizes)
{
	static const uint32_t totals[] = {12, 16, 20, 8, 0, 0xfffffffc};

	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
		struct maker k = {.big = false};
		struct seen s = {0};
		bool stands = totals[i] >= 12 && totals[i] <= 20;

		section(&k);
		u32(&k, FACTS);
		u32(&k, totals[i]);
		for (uint32_t at = 8; at < totals[i] && at < 20; at += 4)
			u32(&k, totals[i]);
		s.r = memory_open(&k.m);
		rd_reader_on_facts(s.r, on_facts, &s);
		assert_int_equal(
			rd_reader_next(s.r, &(struct rd_frame){0}, 1, NULL), stands ? 0 : -1);
		rd_reader_close(s.r);
		assert_int_equal(s.n, 0);
		memory_free(&k.m);
	}
}

TEST(largest)
{
	struct rd_encoder e = encoder("pcapng");
	char *json = calloc(1, RD_FACTS_MAX + 4);
	uint8_t *buf = malloc(rd_encoder_facts_bound(RD_FACTS_MAX));
	struct memory m = {0};
	struct seen s = {0};
	size_t len;

	expect("1 0", json && buf, rd_encoder_facts(&e, json, RD_FACTS_MAX + 1, buf, SIZE_MAX));
	len = rd_encoder_facts(&e, json, RD_FACTS_MAX, buf, rd_encoder_facts_bound(RD_FACTS_MAX));
	add_header(&m, &e);
	memory_add(&m, buf, len);
	expect("1 0", len > RD_FACTS_MAX, rd_encoder_facts(&e, json, RD_FACTS_MAX, buf, len - 1));
	/* one word longer than any that is read */
	len += 4;
	memcpy(buf + 4, &(uint32_t){(uint32_t)len}, 4);
	memory_add(&m, buf, len - 8);
	memory_add(&m, "\0\0\0\0\0\0\0\0", 8);
	add_facts(&m, &e, "{}");
	expect("0 2", read_all(&m, &s, true), s.n);
	memory_free(&m);
	free(json);
	free(buf);
}

TEST(other_formats)
{
	static const char *const names[] = {"pcap", "pcap-us", "erf"};
	uint8_t buf[64];

	for (size_t i = 0; i < 3; i++) {
		struct rd_encoder e = encoder(names[i]);

		assert_int_equal(rd_encoder_facts(&e, "{}", 2, buf, sizeof(buf)), 0);
	}
}

TEST(list)
{
	static const char text[] = "{\"kind\":\"x\",\"interface\":3,\"n\":18446744073709551}";
	struct rd_facts f = {0};

	for (int i = 0; i < 100; i++)
		assert_int_equal(rd_facts_add(&f, text, strlen(text)), 0);
	same(f.n, 100, f.fact[99].json, text);
	expect("3 -1 -1 -1", rd_facts_iface(text, strlen(text)), rd_facts_iface("{}", 2),
		rd_facts_iface("[3]", 3), rd_facts_iface("{\"interface\":-1}", 16));
	expect("-1 -1 0", rd_facts_iface("{\"interface\":65536}", 19),
		rd_facts_iface("{\"interface\":\"1\"}", 17),
		rd_facts_add_moved(&f, text, strlen(text), 7));
	expect("{\"kind\":\"x\",\"interface\":7,\"n\":18446744073709551} -1 -1", f.fact[100].json,
		rd_facts_add_moved(&f, "{\"a\":", 5, 7), rd_facts_add_moved(&f, "[]", 2, 7));
	assert_int_equal(f.n, 101);
	rd_facts_free(&f);
	f.bytes = RD_FACTS_LIST_MAX - 20;
	expect("-1 0", rd_facts_add(&f, text, strlen(text)), f.n);
}

/* Who has a queue pair is left out, and nothing else. */
TEST(no_owners)
{
	static const struct {
		const char *in, *out;
		int rc;
	} cases[] = {
		{"{\"kind\":\"counters\",\"interface\":1}",
			"{\"kind\":\"counters\",\"interface\":1}", 0},
		{"{\"kind\":\"qps\",\"qps\":[{\"qpn\":17,\"pid\":3,\"comm\":\"a\"},{\"qpn\":18}]}",
			"{\"kind\":\"qps\",\"qps\":[{\"qpn\":17},{\"qpn\":18}]}", 0},
		{"{\"kind\":\"owners\",\"owners\":[{\"pid\":3}]}", NULL, 0},
		{"{\"kind\":", NULL, -1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rd_facts f = {0};

		same(rd_facts_add_no_owners(&f, cases[i].in, strlen(cases[i].in)), cases[i].rc, f.n,
			cases[i].out != NULL);
		if (cases[i].out)
			assert_string_equal(f.fact[0].json, cases[i].out);
		rd_facts_free(&f);
	}
}
