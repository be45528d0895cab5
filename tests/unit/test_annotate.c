/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies with comments: every byte of them, for each type of block, format and byte order. */
#include "test.h"
#include "test_format_maker.h"
#include <rdmadump/annotate.h>

static const char data[] = "0123456789abcdef0123456789abcdef0123456789abcdef";

/* --- the program under test ------------------------------------------------------------------- */

static char *text_of(const void *ctx, size_t item)
{
	char *text;

	return asprintf(&text, "finding %zu", item) < 0 ? NULL : text;
}

static int put_memory(void *ctx, const void *bytes_put, size_t len)
{
	memory_add(ctx, bytes_put, len);
	return 0;
}

static struct rd_annotation annotation(
	const struct rd_comment *comments, size_t n, struct memory *to)
{
	return (struct rd_annotation){.comments = comments,
		.n_comments = n,
		.application = "test",
		.text = text_of,
		.put = put_memory,
		.put_ctx = to};
}

static int annotate(struct rd_annotation *a, struct memory *in, size_t step)
{
	in->at = 0;
	in->step = step;
	return rd_annotate(a, memory_read, in, "test", &failure);
}

/* --- pcapng ----------------------------------------------------------------------------------- */

/* A section whose header says how long it is; in the copy this is open. */
static void section_of(struct maker *k, bool copy, uint64_t len)
{
	section_begin(k, copy ? UINT64_MAX : len);
	commented_end(k, "of the section");
}

static void custom(struct maker *k, uint32_t type, size_t len)
{
	block(k, type);
	for (size_t i = 0; i < len; i += 4)
		u32(k, (uint32_t)(i * 2654435761u));
	block_end(k);
}

/* An SPB, in the copy an EPB. */
static void spb(struct maker *k, const char *finding, uint32_t caplen, uint32_t len)
{
	if (finding) {
		epb_begin(k, 0, 0, data, caplen, len);
	} else {
		block(k, 3);
		u32(k, len);
		bytes(k, data, caplen);
		pad(k);
	}
	commented_end(k, finding);
}

static void pb(struct maker *k, const char *finding)
{
	block(k, 2);
	u16(k, 0);
	u16(k, 7); /* drops */
	u64(k, 1234);
	u32(k, 9);
	u32(k, 90);
	bytes(k, data, 9);
	pad(k);
	commented_end(k, finding);
}

/* An EPB with options: flags, a comment, something that only its writer knows. */
static void epb_full(struct maker *k, const char *first, const char *second)
{
	epb_begin(k, 1, UINT64_C(0x0123456789abcdef), data, 23, 1500);
	if (first)
		comment(k, first);
	if (second)
		comment(k, second);
	u16(k, 2);
	u16(k, 4);
	u32(k, 2);
	comment(k, "of the user");
	option(k, 2988,
		"\0\0\x86\xdf"
		"custom",
		10);
	options_end(k);
	block_end(k);
}

/* A section with ten frames; `copy`: with the comments that `comments` below asks for. */
static void scene(struct maker *k, bool copy, size_t big)
{
	section_of(k, copy, 4096);
	iface(k, 1, 20, 6);
	iface(k, 247, 0, 9);
	custom(k, 4, 40);		     /* names */
	epb(k, 0, 1000, data, 20);	     /* 1 */
	epb_begin(k, 0, 1001, data, 20, 20); /* 2 */
	commented_end(k, copy ? "finding 0" : NULL);
	custom(k, 10, 64);			   /* secrets */
	custom(k, 0x80001234, big);		   /* of another program */
	spb(k, NULL, 20, 48);			   /* 3 */
	spb(k, copy ? "finding 7" : NULL, 20, 48); /* 4: cut by the interface's limit */
	pb(k, NULL);				   /* 5 */
	pb(k, copy ? "finding 3" : NULL);	   /* 6 */
	epb_full(k, copy ? "finding 1" : NULL, copy ? "finding 9" : NULL); /* 7 */
	epb_full(k, NULL, NULL);					   /* 8 */
	custom(k, 0xbad, 0x400);
	epb_begin(k, 1, 1, data, 0, 0); /* 9: empty */
	commented_end(k, copy ? "finding 4" : NULL);
	epb(k, 1, 1, data, 1); /* 10 */
	block(k, 5);	       /* statistics */
	u32(k, 0);
	u64(k, 99);
	option_u64(k, 5, 3);
	options_end(k);
	block_end(k);
}

static const struct rd_comment comments[] = {
	{2, 0},
	{4, 7},
	{6, 3},
	{7, 1},
	{7, 9},
	{9, 4},
	/* the second section; frames that are not there get none */
	{12, 0},
	{14, 7},
	{16, 3},
	{17, 1},
	{17, 9},
	{19, 4},
	{21, 5},
};
enum { COMMENTS = sizeof(comments) / sizeof(*comments) };

/* Two sections of different byte orders, and a block larger than the reader's buffer. */
static void make(struct memory *m, bool big_first, bool copy, size_t big)
{
	for (int i = 0; i < 2; i++) {
		struct maker k = {.big = big_first == !i};

		scene(&k, copy, big);
		memory_add(m, k.m.data, k.m.len);
		memory_free(&k.m);
	}
}

TEST(pcapng)
{
	static const struct {
		size_t big, step;
		bool big_first;
	} cases[] = {{0, 0, false}, {0, 1, true}, {1 << 20, 0, false}, {5 << 20, 4096, true}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct memory in = {0}, want = {0}, got = {0};
		struct rd_annotation a = annotation(comments, COMMENTS, &got);

		make(&in, cases[i].big_first, false, cases[i].big);
		make(&want, cases[i].big_first, true, cases[i].big);
		expect("0 20 10", annotate(&a, &in, cases[i].step), a.frames, a.noted);
		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.data, want.data, want.len);
		memory_free(&in);
		memory_free(&want);
		memory_free(&got);
	}
}

/* --- other formats ---------------------------------------------------------------------------- */

/* Reads both to their ends: the same frames, and the comments that `comments` asks for. */
static void same_frames(struct memory *x, struct memory *y, const char *const *texts)
{
	struct rd_reader *rx, *ry;
	unsigned int n;

	x->step = 0;
	rx = memory_open(x);
	ry = memory_open(y);
	for (n = 0;; n++) {
		struct rd_frame fx, fy;
		struct rd_note note = {0};
		int more = rd_reader_next(rx, &fx, 1, NULL);

		assert_int_equal(rd_reader_next(ry, &fy, 1, NULL), more);
		if (!more)
			break;
		same(fx.ts_ns, fy.ts_ns, fx.len, fy.len, fx.caplen, fy.caplen);
		assert_memory_equal(fx.data, fy.data, fx.caplen);
		if (!texts[n]) {
			assert_false(rd_reader_note(ry, 0, &note) && note.comment);
			continue;
		}
		assert_true(rd_reader_note(ry, 0, &note));
		assert_string_equal(note.comment, texts[n]);
	}
	assert_null(texts[n]);
	assert_int_equal(rd_reader_ifaces(rx, &n)->link, rd_reader_ifaces(ry, &n)->link);
	assert_int_equal(rd_reader_ifaces(rx, &n)->fcslen, rd_reader_ifaces(ry, &n)->fcslen);
	assert_int_equal(rd_reader_ifaces(rx, &n)->snaplen, rd_reader_ifaces(ry, &n)->snaplen);
	rd_reader_close(rx);
	rd_reader_close(ry);
}

TEST(pcap)
{
	static const char *const texts[] = {"finding 5", NULL, "finding 6", NULL};
	static const struct rd_comment two[] = {{1, 5}, {3, 6}};
	static const struct {
		uint32_t magic, extra;
	} variants[] = {{0xa1b2c3d4, 0}, {0xa1b23c4d, 0}, {0xa1b2cd34, 8}};

	for (unsigned int i = 0; i < 6; i++) {
		struct maker k = {.big = i & 1};
		struct memory got = {0};
		struct rd_annotation a = annotation(two, 2, &got);

		pcap_header(&k, variants[i / 2].magic, 96, 1 | 0x24000000);
		for (uint32_t n = 0; n < 3; n++) {
			u32(&k, 1700000000 + n);
			u32(&k, 999999);
			u32(&k, 11 + n);
			u32(&k, 1400);
			bytes(&k, "\0\0\0\0\0\0\0\0", variants[i / 2].extra);
			bytes(&k, data, 11 + n);
		}
		expect("0 2", annotate(&a, &k.m, i ? 0 : 1), a.noted);
		same_frames(&k.m, &got, texts);
		memory_free(&k.m);
		memory_free(&got);
	}
}

/* An InfiniBand record, padding, a record that is no frame for the reader, an Ethernet one. */
static void erf_records(struct maker *k, bool in_pcap)
{
	static const uint8_t types[] = {21, 48, 27, 2};

	for (size_t i = 0; i < sizeof(types); i++) {
		if (in_pcap)
			pcap_record(k, 1700000000, 500000, "", 0, 56);
		erf_head(k, types[i], 4, 16 + 40, 0, types[i] == 2 ? 42 : 40);
		bytes(k, data, 40);
		if (in_pcap) {
			const uint32_t caplen = 56;

			memcpy(k->m.data + k->m.len - 56 - 8, &caplen, 4);
		}
	}
}

TEST(erf)
{
	static const char *const texts[] = {NULL, "finding 2", NULL};
	static const struct rd_comment one[] = {{2, 2}};

	for (int in_pcap = 0; in_pcap < 2; in_pcap++) {
		struct maker k = {.big = __BYTE_ORDER == __BIG_ENDIAN};
		struct memory got = {0};
		struct rd_annotation a = annotation(one, 1, &got);

		if (in_pcap)
			pcap_header(&k, 0xa1b2c3d4, 65535, 197);
		erf_records(&k, in_pcap);
		expect("0 2", annotate(&a, &k.m, 0), a.frames);
		same_frames(&k.m, &got, texts);
		memory_free(&k.m);
		memory_free(&got);
	}
}

/* Files of different formats become the sections of one, and numbers go on. */
TEST(several)
{
	static const struct rd_comment two[] = {{2, 0}, {3, 1}};
	struct maker pcap = {0}, ng = {.big = true};
	struct memory got = {0};
	struct rd_annotation a = annotation(two, 2, &got);
	struct rd_reader *r;
	struct rd_frame f;
	struct rd_note note;

	pcap_header(&pcap, 0xa1b2c3d4, 96, 1);
	pcap_record(&pcap, 1, 2, data, 20, 20);
	pcap_record(&pcap, 1, 3, data, 20, 20);
	section(&ng);
	iface(&ng, 247, 0, 9);
	epb(&ng, 0, 77, data, 30);
	expect("0 0 3", annotate(&a, &pcap.m, 0), annotate(&a, &ng.m, 0), a.frames);
	r = memory_open(&got);
	expect("1 0", rd_reader_next(r, &f, 1, NULL), rd_reader_note(r, 0, &note));
	for (unsigned int i = 0; i < 2; i++) {
		expect("1 1", rd_reader_next(r, &f, 1, NULL), rd_reader_note(r, 0, &note));
		assert_string_equal(note.comment, i ? "finding 1" : "finding 0");
	}
	expect("77 test", f.ts_ns, rd_reader_section(r)->application);
	rd_reader_close(r);
	memory_free(&pcap.m);
	memory_free(&ng.m);
	memory_free(&got);
}

/* --- limits and faults ------------------------------------------------------------------------ */

TEST(many_comments)
{
	struct rd_comment many[RD_FRAME_COMMENTS + 3] = {0};
	struct maker k = {0};
	struct memory got = {0};
	struct rd_annotation a = annotation(many, RD_FRAME_COMMENTS + 3, &got);
	struct rd_reader *r;
	struct rd_frame f;
	struct rd_note note;

	for (size_t i = 0; i < RD_FRAME_COMMENTS + 3; i++)
		many[i] = (struct rd_comment){1, i};
	section(&k);
	iface(&k, 1, 0, 9);
	epb(&k, 0, 77, data, 30);
	assert_int_equal(annotate(&a, &k.m, 0), 0);
	r = memory_open(&got);
	expect("1 1", rd_reader_next(r, &f, 1, NULL), rd_reader_note(r, 0, &note));
	assert_non_null(strstr(note.comment, "; finding 31; and 3 more findings"));
	assert_null(strstr(note.comment, "finding 32"));
	rd_reader_close(r);
	memory_free(&k.m);
	memory_free(&got);
}

static char *long_text(const void *ctx, size_t item)
{
	char *text = malloc(70001);

	memset(text, 'x', 70000);
	memcpy(text + 65531, "\xc3\xa4", 2); /* a character across the limit */
	text[70000] = '\0';
	return text;
}

/* A comment is cut where its length no longer fits, a frame near the limit of readers gets none. */
TEST(long)
{
	enum { NEAR_LIMIT = (16 << 20) - 1000 };
	static const struct rd_comment both[] = {{1, 0}, {2, 0}};
	struct maker k = {0};
	struct memory got = {0};
	struct rd_annotation a = annotation(both, 2, &got);
	struct rd_reader *r;
	struct rd_frame f;
	struct rd_note note;
	char *large = calloc(1, NEAR_LIMIT);

	a.text = long_text;
	section(&k);
	iface(&k, 1, 0, 9);
	epb(&k, 0, 77, data, 30);
	epb(&k, 0, 78, large, NEAR_LIMIT);
	expect("0 1 1", annotate(&a, &k.m, 0), a.noted, a.too_big);
	r = memory_open(&got);
	expect("1 1 65531 1", rd_reader_next(r, &f, 1, NULL), rd_reader_note(r, 0, &note),
		strlen(note.comment), rd_reader_next(r, &f, 1, NULL));
	assert_int_equal(f.caplen, NEAR_LIMIT);
	rd_reader_close(r);
	free(large);
	memory_free(&k.m);
	memory_free(&got);
}

/* The largest block that readers accept, with its comment, and one that is a word longer. */
TEST(largest)
{
	enum { BLOCK = 16 << 20, FIXED = 32, COMMENT = 4 + 12, END = 4 };
	static const struct rd_comment one[] = {{1, 0}};
	char *large = calloc(1, BLOCK);

	for (unsigned int longer = 0; longer < 2; longer++) {
		const uint32_t caplen = BLOCK - FIXED - COMMENT - END + 4 * longer;
		struct maker k = {0};
		struct memory got = {0};
		struct rd_annotation a = annotation(one, 1, &got);
		struct rd_reader *r;
		struct rd_frame f;

		section(&k);
		iface(&k, 1, 0, 9);
		epb(&k, 0, 77, large, caplen);
		same(annotate(&a, &k.m, 0), 0, a.noted, !longer, a.too_big, longer);
		r = memory_open(&got);
		same(rd_reader_next(r, &f, 1, NULL), 1, f.caplen, caplen);
		rd_reader_close(r);
		memory_free(&k.m);
		memory_free(&got);
	}
	free(large);
}

/* What is before the damage is copied, and nothing of what is behind it. */
TEST(damage)
{
	struct maker k = {0}, whole = {0};
	struct memory got = {0};
	struct rd_annotation a = annotation(NULL, 0, &got);

	section(&whole);
	iface(&whole, 1, 0, 9);
	epb(&whole, 0, 77, data, 30);
	memory_add(&k.m, whole.m.data, whole.m.len);
	memory_add(&k.m, "damage that is no block", 23);
	same(annotate(&a, &k.m, 0), 1, a.frames, 1, got.len, whole.m.len);
	assert_memory_equal(got.data, whole.m.data, whole.m.len);
	k.m.len = 10; /* no capture file any more */
	k.m.at = 0;
	same(rd_annotate(&a, memory_read, &k.m, "test", &failure), -1, failure.class,
		RD_CLASS_DEVICE);
	memory_free(&k.m);
	memory_free(&whole.m);
	memory_free(&got);
}

struct small_disk {
	size_t left;
};

static int put_small(void *ctx, const void *p, size_t len)
{
	struct small_disk *d = ctx;

	if (len > d->left) {
		errno = ENOSPC;
		return -1;
	}
	d->left -= len;
	return 0;
}

TEST(full_disk)
{
	struct maker k = {0}, copy = {0};

	scene(&k, false, 0);
	scene(&copy, true, 0);
	for (size_t capacity = 0; capacity <= copy.m.len; capacity++) {
		struct small_disk disk = {capacity};
		struct rd_annotation a = annotation(comments, COMMENTS, NULL);
		int ret;

		a.put = put_small;
		a.put_ctx = &disk;
		k.m.at = 0;
		ret = rd_annotate(&a, memory_read, &k.m, "test", &failure);
		assert_int_equal(ret, capacity == copy.m.len ? 0 : -1);
		if (ret < 0)
			same(failure.class, RD_CLASS_OUTPUT, failure.errnum, ENOSPC);
	}
	memory_free(&k.m);
	memory_free(&copy.m);
}
