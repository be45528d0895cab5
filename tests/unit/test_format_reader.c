/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The reader on files built by hand: both byte orders, every resolution, old blocks, ERF inside. */
#include "test.h"
#include "test_format_maker.h"

static struct maker k;
static struct rd_reader *r;
static struct rd_frame f;
static unsigned int n;

static int end_file(void **state)
{
	rd_reader_close(r);
	r = NULL;
	memory_free(&k.m);
	return 0;
}

/* Ends the file before it. */
static void begin_file(bool big)
{
	end_file(NULL);
	k = (struct maker){.big = big};
}

static void read_file(void)
{
	r = memory_open(&k.m);
}

/* The last file ends with the test. */
#define TEST_FILE(name) TEST_WITH(name, NULL, end_file)

static void next_ok(void)
{
	if (rd_reader_next(r, &f, 1, &failure) != 1)
		fail_msg("no frame: %s", failure.text);
}

static void next_fails(const char *text)
{
	same(rd_reader_next(r, &f, 1, &failure), -1, failure.class, RD_CLASS_PARTIAL);
	if (!strstr(failure.text, text))
		fail_msg("'%s' lacks '%s'", failure.text, text);
	failure.text[0] = '\0';
	assert_int_equal(rd_reader_next(r, &f, 1, &failure), -1); /* and is repeated */
	assert_non_null(strstr(failure.text, text));
}

TEST_FILE(pcap_variants)
{
	static const struct {
		uint32_t magic, fraction;
		uint64_t ns;
		unsigned int extra;
	} variants[] = {
		{0xa1b2c3d4, 123456, 123456000, 0},
		{0xa1b23c4d, 123456789, 123456789, 0},
		{0xa1b2cd34, 123456, 123456000, 8},
	};

	for (int i = 0; i < 6; i++) {
		begin_file(i & 1);
		pcap_header(&k, variants[i / 2].magic, 96, 1 | 0x24000000);
		u32(&k, 1700000000);
		u32(&k, variants[i / 2].fraction);
		u32(&k, 5);
		u32(&k, 100);
		bytes(&k, "\0\0\0\0\0\0\0\0", variants[i / 2].extra);
		bytes(&k, "hello", 5);
		read_file();
		next_ok();
		assert_int_equal(f.ts_ns, UINT64_C(1700000000000000000) + variants[i / 2].ns);
		expect("5 100", f.caplen, f.len);
		assert_memory_equal(f.data, "hello", 5);
		assert_int_equal(rd_reader_ifaces(r, &n)->link, RD_LINK_ETHERNET);
		expect("4 96 0", rd_reader_ifaces(r, &n)->fcslen, rd_reader_ifaces(r, &n)->snaplen,
			rd_reader_next(r, &f, 1, NULL));
	}
}

TEST_FILE(pcap_damage)
{
	begin_file(false);
	pcap_header(&k, 0xa1b2c3d4, 262144, 1);
	pcap_record(
		&k, 1, 2, "abc", 3, 2); /* longer than before it was shortened: counted as whole */
	u32(&k, 1);
	read_file();
	next_ok();
	assert_int_equal(f.len, 3);
	next_fails("'test': cut short in frame 2 at byte 43; the frames before it are valid");
	begin_file(false);
	pcap_header(&k, 0xa1b2c3d4, 262144, 1);
	pcap_record(&k, 1, 2, "abc", 3, 3);
	u64(&k, 1);
	u64(&k, UINT64_MAX);
	read_file();
	next_ok();
	next_fails("damaged in frame 2 at byte 43: an impossible captured length of 4294967295");
	begin_file(false);
	pcap_header(&k, 0xa1b2c3d4, 262144, 1);
	pcap_record(&k, 1, 2, "abc", 3, 3);
	for (int i = 0; i < 100; i++)
		u64(&k, 0);
	read_file();
	next_ok();
	next_fails("zeros instead of a record");
}

TEST_FILE(resolutions)
{
	static const struct {
		int resolution;
		uint64_t ticks, ns;
	} cases[] = {
		{-1, 1700000000123456, UINT64_C(1700000000123456000)},
		{0, 1700000000, UINT64_C(1700000000000000000)},
		{3, 1700000000123, UINT64_C(1700000000123000000)},
		{9, UINT64_C(1700000000123456789), UINT64_C(1700000000123456789)},
		{10, UINT64_C(12345678901), 1234567890},
		{12, UINT64_C(1700000123456789), UINT64_C(1700000123456)},
		{28, UINT64_C(17000000000000000000), 1},
		{40, UINT64_MAX, 0},
		{127, UINT64_MAX, 0},
		{0x80, 1700000000, UINT64_C(1700000000000000000)},
		{0x80 | 4, 24, 1500000000},
		{0x80 | 30, UINT64_C(3) << 29, 1500000000},
		{0x80 | 32, (UINT64_C(5) << 32) + 0xffffffff, 5999999999},
		{0x80 | 43, (UINT64_C(2) << 43) + (UINT64_C(1) << 42), 2500000000},
		{0x80 | 63, UINT64_C(3) << 62, 1500000000},
		{0x80 | 64, UINT64_C(1) << 63, 500000000},
		{0x80 | 127, UINT64_MAX, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin_file(i & 1);
		section(&k);
		iface(&k, 1, 0, cases[i].resolution);
		epb(&k, 0, cases[i].ticks, "abcde", 5);
		read_file();
		next_ok();
		if (f.ts_ns != cases[i].ns)
			fail_msg("resolution %d: %lu, not %lu", cases[i].resolution,
				(unsigned long)f.ts_ns, (unsigned long)cases[i].ns);
	}
}

/* Two sections of different byte orders, each with its own interfaces; unknown blocks. */
TEST_FILE(sections)
{
	const struct rd_iface *ifaces;

	begin_file(true);
	section(&k);
	iface(&k, 1, 0, 9);
	iface(&k, 1, 0, 9);
	epb(&k, 1, 77, "first", 5);
	block(&k, 0x80000001); /* not a frame, although it has what a frame's block has */
	u32(&k, 0);
	u64(&k, 77);
	u64(&k, UINT64_C(4) << 32 | 4);
	bytes(&k, "fake", 4);
	block_end(&k);
	block(&k, 0x80000001);
	for (int i = 0; i < 400000; i++) /* larger than the reader's buffer */
		u64(&k, 1);
	block_end(&k);
	block(&k, 3);
	u32(&k, 6);
	bytes(&k, "simple", 6);
	pad(&k);
	block_end(&k);
	k.big = false;
	section(&k);
	block(&k, 1);
	u16(&k, 247);
	u16(&k, 0);
	u32(&k, 0);
	option_u64(&k, 14, (uint64_t)INT64_C(-2));
	option(&k, 9, "\x09", 1);
	block_end(&k);
	block(&k, 2); /* the obsolete packet block */
	u16(&k, 0);
	u16(&k, 12);
	u64(&k, UINT64_C(3000000000) << 32);
	u32(&k, 3);
	u32(&k, 9);
	bytes(&k, "old\0", 4);
	option(&k, 2, &(uint32_t){htole32(2 | 1u << 24)}, 4);
	block_end(&k);
	read_file();
	ifaces = rd_reader_ifaces(r, &n);
	expect("2 0 0", n, ifaces[0].section, ifaces[1].section);
	next_ok();
	assert_memory_equal(f.data, "first", 5);
	expect("1 77", f.iface, f.ts_ns);
	next_ok();
	expect("6 0", f.caplen, f.iface);
	next_ok();
	ifaces = rd_reader_ifaces(r, &n);
	same(n, 3, ifaces[2].section, 1, ifaces[2].link, RD_LINK_INFINIBAND);
	expect("2 3 9 1000000000", f.iface, f.caplen, f.len, f.ts_ns);
	same(f.direction, RD_DIR_OUT, f.flags, RD_FRAME_CRC_ERROR, rd_reader_next(r, &f, 1, NULL),
		0);
}

/* Options of an interface with the length that they must have, and with another one. */
TEST_FILE(iface_options)
{
	const struct rd_iface *ifaces;

	begin_file(false);
	section(&k);
	for (unsigned int wrong = 0; wrong < 2; wrong++) {
		block(&k, 1);
		u16(&k, 1);
		u16(&k, 0);
		u32(&k, 0);
		option(&k, 2, "eth7", 4);
		option(&k, 3, "a port", 6);
		option(&k, 6, "\x02\x03\x04\x05\x06\x07", (uint16_t)(6 - wrong));
		option(&k, 8, &(uint64_t){htole64(25000000000)}, (uint16_t)(8 - 4 * wrong));
		option(&k, 9, "\x09\x09", (uint16_t)(1 + wrong));
		option(&k, 11, wrong ? "\1udp" : "\0udp", 4);
		option(&k, 12, "Linux", 5);
		option(&k, 13, "\x04\x04", (uint16_t)(1 + wrong));
		option(&k, 14, &(uint64_t){htole64(2)}, (uint16_t)(8 - 4 * wrong));
		option(&k, 15, "an adapter", 10);
		block_end(&k);
	}
	epb(&k, 0, 1, "right", 5);
	epb(&k, 1, 1, "wrong", 5);
	read_file();
	next_ok();
	assert_int_equal(f.ts_ns, 2000000001);
	next_ok();
	assert_int_equal(f.ts_ns, 1000); /* microseconds by default */
	ifaces = rd_reader_ifaces(r, &n);
	assert_int_equal(n, 2);
	for (unsigned int i = 0; i < n; i++)
		expect("eth7 a port Linux an adapter", ifaces[i].name, ifaces[i].description,
			ifaces[i].os, ifaces[i].hardware);
	assert_true(ifaces[0].has_mac);
	assert_memory_equal(ifaces[0].mac, "\x02\x03\x04\x05\x06\x07", 6);
	expect("25000000000 4 udp 0 0", ifaces[0].speed, ifaces[0].fcslen, ifaces[0].filter,
		ifaces[1].has_mac, ifaces[1].speed);
	assert_int_not_equal(ifaces[1].fcslen, 4);
	assert_null(ifaces[1].filter);
}

TEST_FILE(epb_options)
{
	struct rd_note note;
	struct rd_frame three[3];

	begin_file(true);
	section(&k);
	iface(&k, 1, 0, 9);
	epb_begin(&k, 0, 1, "12345678abcd", 12, 12);
	u16(&k, 2); /* flags: in, four bytes of FCS */
	u16(&k, 4);
	u32(&k, 1 | 4 << 5);
	option(&k, 1, "one", 3);
	option_u64(&k, 4, 5);
	option(&k, 1, "two\0three", 9);
	option(&k, 0, NULL, 0);
	option(&k, 1, "after the end", 13);
	block_end(&k);
	epb(&k, 0, 2, "x", 1);
	epb_begin(&k, 0, 3, "y", 1, 1);
	u16(&k, 1); /* leads outside the block: the frame is still valid */
	u16(&k, 999);
	block_end(&k);
	read_file();
	same(rd_reader_next(r, three, 3, NULL), 3, three[0].direction, RD_DIR_IN);
	expect("8 8 1 5 one; two 0 0", three[0].len, three[0].caplen, rd_reader_note(r, 0, &note),
		note.dropped, note.comment, rd_reader_note(r, 1, &note),
		rd_reader_note(r, 2, &note));
}

TEST_FILE(pcapng_damage)
{
	static const struct {
		const char *text;
		uint32_t type, words[7], total, again; /* total 0: the right one */
	} cases[] = {
		{"interface 1 has no description", 6, {1}, 0, 0},
		{"captured length of 9 bytes", 6, {0, 0, 0, 9, 9}, 0, 0},
		{"two lengths are 40 and 44", 6, {0}, 40, 44},
		{"block length of 41 bytes", 6, {0}, 41, 41},
		{"block length of 8 bytes", 0x80000000, {0}, 8, 8},
		{"claims 67108864 bytes", 6, {0}, 64 << 20, 64 << 20},
		{"cut short in frame 2", 0x80000000, {0}, 64 << 20, 64 << 20},
		{"statistics of interface 3", 5, {3}, 0, 0},
		{"without byte-order magic", 0x0a0d0d0a, {0}, 0, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin_file(i & 1);
		section(&k);
		iface(&k, 1, 0, 9);
		epb(&k, 0, 1, "good", 4);
		u32(&k, cases[i].type);
		u32(&k, cases[i].total ? cases[i].total : 40);
		for (int w = 0; w < 7; w++)
			u32(&k, cases[i].words[w]);
		u32(&k, cases[i].again ? cases[i].again : 40);
		read_file();
		next_ok();
		next_fails(cases[i].text);
	}
}

/* Records of both types, with extension headers, colours, padding and an unknown type. */
static void erf_records(bool bare)
{
	static const struct {
		uint8_t type, flags;
		uint16_t lctr, wlen;
		unsigned int extensions;
		const char *data;
	} records[] = {
		{21, 4, 0, 6, 0, "native"},
		{2, 4, 7, 12, 0, "\0\0ethernet"},
		{2 | 0x80, 5, 0, 14, 2, "\0\0ethernet++"},
		{20, 4, 9, 50, 0, "\0\0colour"},
		{27, 4, 0, 4, 0, "meta"},
		{48, 0, 0, 0, 0, "pad."},
		{25, 0x14, 0, 2, 0, "link"},
		{21, 4, 3, 9, 0, "again"},
	};

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		size_t data = strlen(records[i].data + 2) + 2;
		uint16_t rlen = (uint16_t)(16 + records[i].extensions * 8 + data);
		uint32_t headers = rlen - (uint32_t)data + (records[i].data[0] ? 0 : 2);

		if (!bare) {
			u32(&k, 5);
			u32(&k, 6);
			u32(&k, rlen);
			u32(&k, headers + records[i].wlen);
		}
		erf_head(&k, records[i].type, records[i].flags, rlen, records[i].lctr,
			records[i].wlen);
		if (records[i].extensions) {
			bytes(&k, "\x80xxxxxxx", 8);
			bytes(&k, "\x01xxxxxxx", 8);
		}
		bytes(&k, records[i].data, data);
	}
}

TEST_FILE(erf)
{
	static const struct {
		uint16_t iface;
		enum rd_link link;
		uint32_t caplen, len;
		const char *data;
		uint64_t dropped;
		uint8_t flags;
	} want[] = {
		{0, RD_LINK_INFINIBAND, 6, 6, "native", 0, 0},
		{1, RD_LINK_ETHERNET, 8, 8, "ethernet", 7, 0},
		{2, RD_LINK_ETHERNET, 10, 10, "ethernet++", 0, 0},
		{1, RD_LINK_ETHERNET, 6, 46, "colour", 0, 0},
		{3, RD_LINK_RAW, 20, 20, NULL, 0, RD_FRAME_CRC_ERROR},
		{0, RD_LINK_INFINIBAND, 5, 9, "again", 3, 0},
	};

	for (int bare = 0; bare < 2; bare++) {
		begin_file(false);
		if (!bare)
			pcap_header(&k, 0xa1b2c3d4, 262144, 197);
		erf_records(bare);
		read_file();
		assert_string_equal(rd_reader_format(r), bare ? "erf" : "pcap");
		for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
			struct rd_note note = {0};

			next_ok();
			same(f.iface, want[i].iface, rd_reader_ifaces(r, &n)[f.iface].link,
				want[i].link, f.caplen, want[i].caplen, f.len, want[i].len);
			assert_int_equal(f.flags & RD_FRAME_CRC_ERROR, want[i].flags);
			assert_true(f.flags & RD_FRAME_HAS_PORT);
			assert_int_equal(f.flags >> RD_FRAME_PORT_SHIFT, want[i].iface == 2);
			assert_int_equal(f.ts_ns, UINT64_C(1700000000500000000));
			if (want[i].data)
				assert_memory_equal(f.data, want[i].data, f.caplen);
			assert_int_equal(rd_reader_note(r, 0, &note), want[i].dropped != 0);
			assert_int_equal(note.dropped, want[i].dropped);
		}
		expect("0 port B", rd_reader_next(r, &f, 1, NULL), rd_reader_ifaces(r, &n)[2].name);
	}
}

/* Cards that write records of one length pad short ones; the time tells them from other bytes. */
TEST_FILE(erf_padded)
{
	static const struct {
		uint16_t rlen, wlen; /* of the middle one of three records */
		uint32_t last_s;     /* added to the time of the last one */
		uint32_t first_s;    /* and of the first one */
		bool known;
	} cases[] = {
		{16 + 8, 8, 100000, 100000, true},
		{16 + 16, 8, 100000, 100000, true},
		{16 + 17, 8, 0, 0, true},
		{16 + 17, 8, 3600, 3601, true},
		{16 + 17, 8, 3601, 3600, true},
		{16 + 17, 8, 3601, 3601, false},
		{16 + 64, 0, 0, 0, true},
		{16 + 64, 0, 100000, 100000, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint8_t zeros[64] = {0};
		struct rd_error err = {0};

		begin_file(false);
		erf_head(&k, 21, 4, 24, 0, 8);
		bytes(&k, "lrh+data", 8);
		rd_put_le32(k.m.data + 4, 1700000000 + cases[i].first_s);
		erf_head(&k, 21, 4, cases[i].rlen, 0, cases[i].wlen);
		bytes(&k, zeros, cases[i].rlen - 16U);
		erf_head(&k, 21, 4, 24, 0, 8);
		bytes(&k, "lrh+data", 8);
		rd_put_le32(k.m.data + k.m.len - 20, 1700000000 + cases[i].last_s);
		assert_int_equal(rd_reader_open(&r, memory_read, &k.m, "test", &err),
			cases[i].known ? 0 : -1);
		if (cases[i].known) {
			const uint32_t lens[] = {8, cases[i].wlen, 8};

			for (size_t l = 0; l < 3; l++) {
				next_ok();
				same(f.caplen, lens[l], f.len, lens[l]);
			}
		}
	}
}

/* The record's own time counts in pcap, where there is one. */
TEST_FILE(erf_in_pcap)
{
	struct maker inner = {0};

	begin_file(false);
	erf_head(&inner, 2, 0, 24, 0, 10);
	bytes(&inner, "\0\0frame!", 8);
	pcap_header(&k, 0xa1b2c3d4, 262144, 197);
	pcap_record(&k, 5, 6, inner.m.data, 24, 24);
	pcap_record(&k, 7, 8, "too short", 9, 9);
	read_file();
	next_ok();
	assert_int_equal(f.ts_ns, UINT64_C(1700000000500000000));
	assert_memory_equal(f.data, "frame!", 6);
	next_fails("too few for its ERF headers");
	memory_free(&inner.m);
}

/* In pcapng the block's time counts; the loss is not counted twice. */
TEST_FILE(erf_in_pcapng)
{
	struct maker inner = {0};
	struct rd_note note;

	begin_file(false);
	erf_head(&inner, 2, 4, 24, 6, 10);
	bytes(&inner, "\0\0frame!", 8);
	section(&k);
	iface(&k, 197, 96 + 16, 9);
	epb_begin(&k, 0, 99, inner.m.data, 24, 28);
	option_u64(&k, 4, 70000);
	block_end(&k);
	epb(&k, 0, 100, "too short", 9);
	read_file();
	/* Known before the first frame is asked for. */
	same(rd_reader_ifaces(r, &n)->link, RD_LINK_ETHERNET, rd_reader_ifaces(r, &n)->snaplen, 96);
	next_ok();
	expect("1 99 6", n, f.ts_ns, f.len);
	assert_memory_equal(f.data, "frame!", 6);
	expect("1 70000", rd_reader_note(r, 0, &note), note.dropped);
	next_fails("too few for its ERF headers");
	memory_free(&inner.m);
}

TEST_FILE(strangers)
{
	static const struct {
		const char *data, *text;
		size_t len;
	} cases[] = {
		{"", "'test' is empty", 0},
		{"\x1f\x8b\x08\0", "is a gzip file; uncompress it first", 4},
		{"\x28\xb5\x2f\xfd\0", "is a zstd file", 5},
		{"#!/bin/sh\necho this is no capture\n", "is not a capture file; it must be", 34},
		{"\xd4\xc3\xb2\xa1\x02\0\x04\0", "ends within the file header", 8},
		{"\xd4\xc3\xb2\xa1\x03\0\x04\0aaaabbbbccccdddd", "pcap version 3.4", 24},
		{"\0", "is not a capture file", 1},
		/* Nearly ERF: longer than what it carries; an extension without room for it. */
		{"12345678\x02\0\0\x28\0\0\0\0frame of no byte, 0, 0, 0", "is not a capture file",
			40},
		{"12345678\x82\0\0\x14\0\0\0\x04\0\0\0\0", "is not a capture file", 20},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct memory m = {0};
		struct rd_error err = {0};
		struct rd_reader *none = (void *)&m;

		memory_add(&m, cases[i].data, cases[i].len);
		assert_int_equal(rd_reader_open(&none, memory_read, &m, "test", &err), -1);
		assert_null(none);
		assert_int_equal(err.class, RD_CLASS_DEVICE);
		if (!strstr(err.text, cases[i].text))
			fail_msg("'%s' lacks '%s'", err.text, cases[i].text);
		memory_free(&m);
	}
}
