/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reader on truncated and damaged files of every format: intact frames are delivered. Any
 * bytes: tests/fuzz/fuzz_reader.c.
 */
#include "test.h"
#include "test_format.h"

#define N_FRAMES 9
#define T0	 UINT64_C(1700000000000000000)

static uint8_t pattern[256];

static const struct {
	const char *spec;
	enum rd_link link;
} cases[] = {
	{"pcapng", RD_LINK_ETHERNET},
	{"pcapng", RD_LINK_INFINIBAND},
	{"pcap", RD_LINK_ETHERNET},
	{"pcap-us", RD_LINK_INFINIBAND},
	{"erf", RD_LINK_ETHERNET},
	{"erf", RD_LINK_INFINIBAND},
};
#define N_CASES (sizeof(cases) / sizeof(cases[0]))

/* A small file with everything in it; ends[i] is where frame i ends. */
static void make_file(struct memory *m, size_t number, size_t ends[N_FRAMES])
{
	const struct rd_iface iface = {
		.link = cases[number].link, .name = "mlx5_0:1", .filter = "udp"};
	const struct rd_section section = {.comment = "a comment"};
	const struct rd_note note = {3, "something happened"};
	const struct rd_iface_stats stats = {.comment = "the end"};
	struct rd_encoder e;
	uint8_t buf[4096];
	size_t used;

	assert_int_equal(
		rd_encoder_init(&e, cases[number].spec, NULL, &section, &iface, 1, NULL), 0);
	memory_add(m, buf, e.format->header(&e, buf, sizeof(buf)));
	for (unsigned int i = 0; i < N_FRAMES; i++) {
		const struct rd_frame f = {.data = pattern,
			.caplen = 20 + i,
			.len = 20 + i,
			.ts_ns = T0 + i,
			.direction = (uint8_t)(i % 3)};

		if (i % 4 == 3)
			used = e.format->noted(&e, &f, &note, buf, sizeof(buf));
		else
			e.format->frames(&e, &f, 1, buf, sizeof(buf), &used);
		memory_add(m, buf, used);
		ends[i] = m->len;
	}
	if (e.format->trailer)
		memory_add(m, buf, e.format->trailer(&e, &stats, buf, sizeof(buf)));
}

/* Reads all that a reader returns. The number of frames; *damaged: it ended with an error. */
static unsigned int read_all(struct memory *m, bool *damaged, uint32_t *sum)
{
	struct rd_frame frames[4];
	struct rd_iface_stats stats;
	const struct rd_iface *ifaces;
	unsigned int total = 0, n_ifaces;
	struct rd_reader *r;
	struct rd_note note;
	int n;

	m->at = 0;
	*damaged = true;
	if (rd_reader_open(&r, memory_read, m, "test", &failure) < 0) {
		assert_int_equal(failure.class, RD_CLASS_DEVICE);
		return 0;
	}
	while ((n = rd_reader_next(r, frames, 4, &failure)) > 0) {
		ifaces = rd_reader_ifaces(r, &n_ifaces);
		for (unsigned int i = 0; i < (unsigned int)n; i++, total++) {
			assert_in_range(frames[i].iface, 0, n_ifaces - 1);
			assert_true(frames[i].caplen <= frames[i].len);
			assert_true(frames[i].direction <= RD_DIR_OUT);
			*sum += (uint32_t)ifaces[frames[i].iface].link;
			for (uint32_t k = 0; k < frames[i].caplen; k++)
				*sum += frames[i].data[k];
			if (rd_reader_note(r, i, &note) && note.comment)
				*sum += (uint32_t)strlen(note.comment);
		}
	}
	*damaged = n < 0;
	if (n < 0)
		assert_int_equal(failure.class, RD_CLASS_PARTIAL);
	if (rd_reader_stats(r, 0, &stats) && stats.comment)
		*sum += (uint32_t)strlen(stats.comment);
	rd_reader_close(r);
	return total;
}

TEST(cut)
{
	for (size_t k = 0; k < N_CASES; k++) {
		struct memory whole = {0};
		size_t ends[N_FRAMES];

		make_file(&whole, k, ends);
		for (size_t len = 0; len <= whole.len; len++) {
			/* A separate copy, so that a sanitizer detects an overrun. */
			struct memory cut = {.step = len % 3 ? 0 : 5};
			unsigned int want = 0, got;
			uint32_t sum = 0;
			bool damaged;

			memory_add(&cut, whole.data, len);
			while (want < N_FRAMES && ends[want] <= len)
				want++;
			got = read_all(&cut, &damaged, &sum);
			if (got != want)
				fail_msg("%s cut at %zu: %u frames of %u", cases[k].spec, len, got,
					want);
			if (len == whole.len || (want && ends[want - 1] == len))
				assert_false(damaged);
			memory_free(&cut);
		}
		memory_free(&whole);
	}
}

static ssize_t read_fails(void *ctx, uint8_t *buf, size_t capacity, struct rd_error *err)
{
	struct memory *m = ctx;

	if (m->at == m->len)
		return rd_fail(err, RD_CLASS_DEVICE, 5, NULL, "cannot read 'test'");
	return memory_read(m, buf, capacity, err);
}

/* An error of the read function reaches the caller unchanged, after the frames. */
TEST(read_error)
{
	struct rd_frame frames[N_FRAMES + 1];
	struct memory m = {0};
	size_t ends[N_FRAMES];
	struct rd_reader *r;

	make_file(&m, 2, ends);
	assert_int_equal(rd_reader_open(&r, read_fails, &m, "test", &failure), 0);
	assert_int_equal(rd_reader_next(r, frames, N_FRAMES + 1, &failure), N_FRAMES);
	expect("-1 5", rd_reader_next(r, frames, 1, &failure), failure.errnum);
	assert_non_null(strstr(failure.text, "cannot read 'test'"));
	rd_reader_close(r);
	memory_free(&m);
}

/* A length that makes sense in either byte order is read in that of the file. */
TEST(lengths_either_way)
{
	static uint8_t data[0x10000];
	const struct rd_iface iface = {.link = RD_LINK_ETHERNET};
	const struct rd_section section = {0};
	const struct rd_frame frame = {
		.data = data, .caplen = 0x10000, .len = 0x10000, .ts_ns = T0};
	static uint8_t buf[sizeof(data) + 100];
	struct rd_frame got;
	struct memory m = {0};
	struct rd_encoder e;
	struct rd_reader *r;
	size_t used;

	assert_int_equal(rd_encoder_init(&e, "pcap", NULL, &section, &iface, 1, NULL), 0);
	memory_add(&m, buf, e.format->header(&e, buf, sizeof(buf)));
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(e.format->frames(&e, &frame, 1, buf, sizeof(buf), &used), 1);
		memory_add(&m, buf, used);
	}
	r = memory_open(&m);
	for (unsigned int i = 0; i < 3; i++)
		expect("1 0x10000", rd_reader_next(r, &got, 1, NULL), got.caplen);
	assert_int_equal(rd_reader_next(r, &got, 1, NULL), 0);
	rd_reader_close(r);
	memory_free(&m);
}

/* A packet's block that is shorter than its own fields, behind one that is whole. */
TEST(short_block)
{
	static const uint32_t blocks[] = {16, 20, 28};
	size_t ends[N_FRAMES];

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		/* The frame has as many bytes as a block without any lacks. */
		const uint32_t bytes = blocks[i] - 32;
		uint32_t block[32] = {6, blocks[i], 0, 0, 0, bytes, bytes}, sum = 0;
		struct memory m = {0};
		bool damaged;

		block[blocks[i] / 4 - 1] = blocks[i];
		make_file(&m, 0, ends);
		m.len = ends[0];
		memory_add(&m, (uint8_t *)block, sizeof(block));
		expect("1 1", read_all(&m, &damaged, &sum), damaged);
		memory_free(&m);
	}
}

static int set_pattern(void **state)
{
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i + 1);
	return 0;
}

ALL_TESTS_WITH(set_pattern, NULL)
