/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies whose frames, texts and addresses are replaced: every byte of them, and every failure. */
#include "test.h"
#include "test_format_maker.h"
#include <rdmadump/rewrite.h>

#define FACTS 0x80524446u
#define FRAME "0123456789abcdef0123456789ab"

/* --- what the caller replaces ----------------------------------------------------------------- */

struct replaced {
	struct memory copy;
	unsigned int calls, fails_at; /* of put(); 0: it never fails */
	bool refuses;
	uint32_t caplen, len, extra; /* of the last frame */
};

static bool change_frame(
	void *ctx, enum rd_link link, uint8_t *p, uint32_t caplen, uint32_t len, uint32_t extra)
{
	struct replaced *x = ctx;

	assert_int_equal(link, x->refuses ? RD_LINK_RAW : RD_LINK_ETHERNET);
	x->caplen = caplen;
	x->len = len;
	x->extra = extra;
	memset(p, '#', caplen);
	return !x->refuses;
}

static char *change_text(void *ctx, const char *text, size_t n, size_t *out_n)
{
	char *out;
	int len = asprintf(&out, "<%.*s>", (int)n, text);

	assert_true(len >= 2);
	*out_n = (size_t)len;
	return out;
}

static void change_address(void *ctx, uint8_t *p, size_t n)
{
	memset(p, 0xee, n);
}

static int put_copy(void *ctx, const void *p, size_t n)
{
	struct replaced *x = ctx;

	if (++x->calls == x->fails_at) {
		errno = ENOSPC;
		return -1;
	}
	memory_add(&x->copy, p, n);
	return 0;
}

static struct rd_rewrite rewriting(struct replaced *x)
{
	return (struct rd_rewrite){.frame = change_frame,
		.text = change_text,
		.address = change_address,
		.ctx = x,
		.put = put_copy,
		.put_ctx = x};
}

static int rewrite(struct rd_rewrite *w, struct memory *in, size_t step, struct rd_error *err)
{
	*err = (struct rd_error){0};
	in->at = 0;
	in->step = step;
	return rd_rewrite(w, memory_read, in, "test", err);
}

/* --- pcapng ----------------------------------------------------------------------------------- */

/* A text; in the copy it is replaced. */
static void text(struct maker *k, bool copy, uint16_t code, const char *before)
{
	char *after = change_text(NULL, before, strlen(before), &(size_t){0});

	option(k, code, copy ? after : before, (uint16_t)strlen(copy ? after : before));
	free(after);
}

/* What is not known is not in the copy. */
static void unknown(struct maker *k, bool copy, uint16_t code, uint16_t len)
{
	static const char secret[] = "host name of an unknown option";

	assert_true(len < sizeof(secret));
	if (!copy)
		option(k, code, secret, len);
}

static void facts(struct maker *k, uint32_t version, const char *json, uint32_t claimed)
{
	block(k, FACTS);
	u32(k, version);
	u32(k, claimed);
	bytes(k, json, strlen(json));
	pad(k);
	block_end(k);
}

static void interface(struct maker *k, bool copy)
{
	block(k, 1);
	u16(k, 1);
	u16(k, 0);
	u32(k, 0);
	text(k, copy, 2, "mlx5_0");
	unknown(k, copy, 5, 15); /* too short for an address */
	option(k, 4, copy ? "\xee\xee\xee\xee\xff\xff\xff\0" : "\x0a\0\0\x01\xff\xff\xff\0", 8);
	option(k, 6, copy ? "\xee\xee\xee\xee\xee\xee" : "\x02\0\0\0\0\x01", 6);
	option(k, 9, "\x09", 1);
	option(k, 11, copy ? "\0<host a>" : "\0host a", copy ? 9 : 7);
	unknown(k, copy, 8, 9); /* too long for a number */
	if (!copy)
		option(k, 11, "\1program", 8); /* a filter that is no text */
	if (copy)
		options_end(k);
	block_end(k);
}

static void frames(struct maker *k, bool copy)
{
	char after[sizeof(FRAME)];

	memset(after, '#', sizeof(after));
	epb_begin(k, 0, 77, copy ? after : FRAME, 27, 90);
	text(k, copy, 1, "a comment");
	option(k, 2, "\1\0\0\0", 4);
	unknown(k, copy, 3, 12);
	options_end(k);
	block_end(k);
	epb(k, 0, 78, copy ? after : FRAME, 28);
	block(k, 3);
	u32(k, 6);
	bytes(k, copy ? "######" : "simple", 6);
	pad(k);
	block_end(k);
}

enum { UNKNOWN = 10 }; /* options and blocks of a scene */

/* Each sort of block; `large`: 32-bit words of one that is not known. */
static void scene(struct maker *k, bool copy, unsigned int large)
{
	section_begin(k, copy ? UINT64_MAX : 4000);
	text(k, copy, 3, "Linux");
	unknown(k, copy, 99, 6);
	options_end(k);
	block_end(k);
	interface(k, copy);
	if (!copy) {
		block(k, 0x80000001);
		for (unsigned int i = 0; i < large; i++)
			u32(k, 1);
		block_end(k);
		facts(k, 1, "{\"host\":\"b\"}", 13);   /* longer than its block */
		facts(k, 2, "{\"host\":\"b\"}", 12);   /* of a later version */
		facts(k, 0, "{\"host\":\"b\"}", 1300); /* both */
	}
	facts(k, 1, copy ? "<{\"n\":1}>" : "{\"n\":1}", copy ? 9 : 7);
	frames(k, copy);
	facts(k, 1, copy ? "<{}>" : "{}", copy ? 4 : 2);
	block(k, 5);
	u32(k, 0);
	u64(k, 79);
	option_u64(k, 4, 3);
	unknown(k, copy, 4, 10);
	options_end(k);
	block_end(k);
}

TEST(pcapng)
{
	static const struct {
		bool big;
		size_t step;
		unsigned int large;
	} cases[] = {{false, 0, 3}, {true, 0, 3}, {false, 1, 3}, {true, 7, 3},
		{false, 4096, 1 << 20}, {true, 0, 1 << 20}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct maker before = {.big = cases[i].big}, after = {.big = cases[i].big};
		struct replaced x = {0};
		struct rd_rewrite w = rewriting(&x);
		struct rd_error err;

		scene(&before, false, cases[i].large);
		scene(&after, true, 0);
		same(rewrite(&w, &before.m, cases[i].step, &err), 0, x.copy.len, after.m.len);
		assert_memory_equal(x.copy.data, after.m.data, after.m.len);
		same(w.frames, 3, w.left_out, UNKNOWN);
		/* The last frame is the simple one, with two bytes of padding. */
		expect("6 6 2", x.caplen, x.len, x.extra);
		memory_free(&before.m);
		memory_free(&after.m);
		memory_free(&x.copy);
	}
}

/* --- pcap ------------------------------------------------------------------------------------- */

TEST(pcap)
{
	for (unsigned int big = 0; big < 2; big++) {
		struct maker before = {.big = big}, after = {.big = big};
		struct replaced x = {0};
		struct rd_rewrite w = rewriting(&x);
		struct rd_error err;

		pcap_header(&before, 0xa1b2c3d4, 65535, 1);
		pcap_record(&before, 5, 6, "frame", 5, 70);
		pcap_record(&before, 7, 8, "another", 7, 7);
		pcap_header(&after, 0xa1b2c3d4, 65535, 1);
		pcap_record(&after, 5, 6, "#####", 5, 70);
		pcap_record(&after, 7, 8, "#######", 7, 7);
		same(rewrite(&w, &before.m, big, &err), 0, x.copy.len, after.m.len);
		assert_memory_equal(x.copy.data, after.m.data, after.m.len);
		expect("2 0 0", w.frames, w.left_out, x.extra);
		memory_free(&before.m);
		memory_free(&after.m);
		memory_free(&x.copy);
	}
}

/* --- failures --------------------------------------------------------------------------------- */

/* A file that ends early is copied up to there; what is no capture is not. */
TEST(damage)
{
	struct maker k = {0};
	struct replaced x = {0};
	struct rd_rewrite w = rewriting(&x);
	size_t whole;

	section(&k);
	iface(&k, 1, 0, -1);
	epb(&k, 0, 77, "frame", 5);
	whole = k.m.len;
	epb(&k, 0, 78, "frame", 5);
	k.m.len -= 1;
	assert_int_equal(rewrite(&w, &k.m, 0, &failure), 1);
	assert_int_not_equal(failure.text[0], '\0');
	same(x.copy.len, whole, w.frames, 1);
	memcpy(k.m.data, "text", 4);
	same(rewrite(&w, &k.m, 0, &failure), -1, failure.class, RD_CLASS_DEVICE, x.copy.len, whole);
	memory_free(&k.m);
	memory_free(&x.copy);
}

/*
 * What is behind a frame does not count what is before it. Records of the link are no frames. An
 * extension header of ERF says which host captured.
 */
TEST(erf)
{
	static const uint8_t host[16] = {0x8e, 1, 'h', 'o', 's', 't', 'i', 'd', 3, 2, 0, 0, 0, 0, 9,
		8},
			     wanted[16] = {0x8e, [8] = 3};

	for (unsigned int i = 0; i < 4; i++) {
		const bool link = i & 1, more = i & 2;
		const uint16_t length = 16 + 10 + (more ? sizeof(host) : strlen("pad."));
		struct maker k = {0};
		struct replaced x = {0};
		struct rd_rewrite w = rewriting(&x);

		pcap_header(&k, 0xa1b2c3d4, 65535, 197);
		u32(&k, 5);
		u32(&k, 6);
		u32(&k, length);
		u32(&k, length);
		erf_head(&k, (more ? 0x80 : 0) | (link ? 25 : 2), 4, length, 0, 8);
		bytes(&k, host, more ? sizeof(host) : 0);
		bytes(&k, "\0\0ethernetpad.", more ? 10 : 14);
		same(rewrite(&w, &k.m, 0, &failure), 0, x.copy.len, k.m.len, w.frames, 1);
		if (more)
			assert_memory_equal(x.copy.data + k.m.len - 26, wanted, sizeof(wanted));
		else
			expect(link ? "1 0 0" : "1 8 4",
				!memcmp(x.copy.data, k.m.data, k.m.len - (link ? 0 : 12)), x.caplen,
				x.extra);
		memory_free(&k.m);
		memory_free(&x.copy);
	}
}

/* Nothing is written after a failure, and its reason is reported. */
TEST(failures)
{
	struct maker k = {0};

	scene(&k, false, 3);
	for (unsigned int at = 1; at <= 5; at++) {
		struct replaced x = {.fails_at = at};
		struct rd_rewrite w = rewriting(&x);

		same(rewrite(&w, &k.m, 0, &failure), -1, failure.class, RD_CLASS_OUTPUT,
			failure.errnum, ENOSPC, x.calls, at);
		memory_free(&x.copy);
	}
	memory_free(&k.m);
}

/* A frame of a link type that cannot be changed: only what is before it is copied. */
TEST(refused)
{
	for (unsigned int pcap = 0; pcap < 2; pcap++) {
		struct maker k = {0};
		struct replaced x = {.refuses = true};
		struct rd_rewrite w = rewriting(&x);
		struct rd_error err;
		size_t before;

		if (pcap) {
			pcap_header(&k, 0xa1b2c3d4, 65535, 127);
		} else {
			section(&k);
			iface(&k, 127, 0, -1);
		}
		before = k.m.len;
		for (unsigned int i = 0; i < 2; i++) {
			if (pcap)
				pcap_record(&k, 5, 6, "frame", 5, 5);
			else
				epb(&k, 0, 77, "frame", 5);
		}
		same(rewrite(&w, &k.m, 0, &err), -1, err.class, RD_CLASS_DEVICE);
		assert_non_null(strstr(err.text, "link type 127 (IEEE 802.11 radiotap)"));
		same(x.copy.len, before, w.frames, 1);
		memory_free(&x.copy);
		memory_free(&k.m);
	}
}
