/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Encoders: files read back equal the frames written, fit exactly, and leak no memory content. */
#include "test_format.h"
#include "test.h"
#include <rdmadump/wire.h>

#define T0	 UINT64_C(1700000000999999990)
#define N_FRAMES 73 /* lengths 0 to 70, 1500, 9216 */

static uint8_t pattern[9216];

static const struct format_case {
	const char *spec;
	enum rd_link link;
	bool us, direction, iface, crc_error, dropped, comment;
} cases[] = {
	{"pcapng", RD_LINK_ETHERNET, .direction = 1, .iface = 1, .crc_error = 1, .dropped = 1,
		.comment = 1},
	{"pcapng", RD_LINK_INFINIBAND, .direction = 1, .iface = 1, .crc_error = 1, .dropped = 1,
		.comment = 1},
	{"pcapng,dlt=247", RD_LINK_INFINIBAND, .direction = 1, .iface = 1, .crc_error = 1,
		.dropped = 1, .comment = 1},
	{"pcapng,dlt=197", RD_LINK_ETHERNET, .direction = 1, .iface = 1, .crc_error = 1,
		.dropped = 1, .comment = 1},
	{"pcap,dlt=197", RD_LINK_ETHERNET, .iface = 1, .crc_error = 1, .dropped = 1},
	{"pcap-us,dlt=197", RD_LINK_ETHERNET, .iface = 1, .crc_error = 1, .dropped = 1},
	{"pcapng", RD_LINK_RAW, .direction = 1, .iface = 1, .crc_error = 1, .dropped = 1,
		.comment = 1},
	{.spec = "pcap", .link = RD_LINK_ETHERNET},
	{"pcap", RD_LINK_INFINIBAND, .iface = 1, .crc_error = 1, .dropped = 1},
	{.spec = "pcap,dlt=247", .link = RD_LINK_INFINIBAND},
	{.spec = "pcap", .link = RD_LINK_RAW},
	{.spec = "pcap", .link = RD_LINK_SLL},
	{.spec = "pcap", .link = RD_LINK_SLL2},
	{.spec = "pcap", .link = RD_LINK_IP},
	{.spec = "pcap", .link = RD_LINK_NULL},
	{"pcapng", RD_LINK_NULL, .direction = 1, .iface = 1, .crc_error = 1, .dropped = 1,
		.comment = 1},
	{"pcap-us", RD_LINK_ETHERNET, .us = 1},
	{"pcap-us", RD_LINK_INFINIBAND, .iface = 1, .crc_error = 1, .dropped = 1},
	{"erf", RD_LINK_ETHERNET, .iface = 1, .crc_error = 1, .dropped = 1},
	{"erf", RD_LINK_INFINIBAND, .iface = 1, .crc_error = 1, .dropped = 1},
};
#define N_CASES (sizeof(cases) / sizeof(cases[0]))

static const struct rd_section section = {
	.hardware = "a CPU", .os = "Linux", .application = "rdmadump", .comment = "look at port 2"};

/* Link types that an output file keeps. */
static int dlt_of(enum rd_link link)
{
	static const int dlts[] = {[RD_LINK_RAW] = 147,
		[RD_LINK_SLL] = 113,
		[RD_LINK_SLL2] = 276,
		[RD_LINK_IP] = 228,
		[RD_LINK_NULL] = 0};

	return rd_link_keeps_dlt(link) ? dlts[link] : 0;
}

static void make_ifaces(struct rd_iface ifaces[2], enum rd_link link)
{
	ifaces[0] = (struct rd_iface){
		.link = link,
		.dlt = dlt_of(link),
		.name = "mlx5_0:1",
		.description = "hardware clock",
		.hardware = "MT4129 28.39.1002",
		.filter = "udp port 4791",
		.os = "Linux 6.1",
		.speed = UINT64_C(400000000000),
		.mac = {2, 3, 4, 5, 6, 7},
		.has_mac = true,
	};
	ifaces[1] = (struct rd_iface){.link = link, .dlt = ifaces[0].dlt, .name = "mlx5_1:1"};
}

static void make_frames(struct rd_frame *frames)
{
	for (unsigned int i = 0; i < N_FRAMES; i++) {
		uint32_t caplen = i <= 70 ? i : i == 71 ? 1500 : 9216;

		frames[i] = (struct rd_frame){
			.data = pattern + (i <= 70 ? i : 0),
			.caplen = caplen,
			.len = caplen + (i % 5 == 0 ? 100 : 0),
			.ts_ns = i ? T0 + i * 7 : 5, /* the first one in the first second */
			.direction = (uint8_t)(i % 3),
			.flags = i % 7 == 0 ? RD_FRAME_CRC_ERROR : 0,
			.iface = i & 1,
		};
	}
}

static void init(
	struct rd_encoder *e, const char *spec, const struct rd_iface *ifaces, unsigned int n)
{
	if (rd_encoder_init(e, spec, NULL, &section, ifaces, n, &failure) < 0)
		fail_msg("%s", failure.text);
}

static void add_header(struct memory *m, const struct rd_encoder *e)
{
	size_t capacity = e->format->header_bound(e), n;
	uint8_t *buf = malloc(capacity);

	n = e->format->header(e, buf, capacity);
	if (strcmp(e->format->name, "erf") != 0)
		assert_true(n > 0);
	memset(buf, 0x11, n);
	assert_int_equal(e->format->header(e, buf, n), n);
	memory_add(m, buf, n);
	if (n)
		assert_int_equal(e->format->header(e, buf, n - 1), 0);
	free(buf);
}

/* Each frame with exactly enough room, after one byte less was refused. */
static void add_frame(struct memory *m, const struct rd_encoder *e, const struct rd_frame *f,
	const struct rd_note *note)
{
	size_t bound = e->format->bound(f->caplen), n, used = 7;
	uint8_t *big = malloc(bound), *exact;

	memset(big, 0xee, bound);
	if (note)
		n = e->format->noted(e, f, note, big, bound);
	else
		assert_int_equal(e->format->frames(e, f, 1, big, bound, &n), 1);
	assert_in_range(n, 1, bound);
	/* Options have an end. */
	if (note && (note->dropped || note->comment) && strcmp(e->format->name, "pcapng") == 0)
		assert_int_equal(rd_le32(big + n - 8), 0);
	same(e->format->record_len(big, n), n, e->format->record_len(big, n - 1), 0);
	exact = malloc(n);
	memset(exact, 0x11, n);
	if (note) {
		assert_int_equal(e->format->noted(e, f, note, exact, n - 1), 0);
		assert_int_equal(e->format->noted(e, f, note, exact, n), n);
	} else {
		same(e->format->frames(e, f, 1, exact, n - 1, &used), 0, used, 0,
			e->format->frames(e, f, 1, exact, n, &used), 1, used, n);
	}
	/* Different content before, the same after: every byte is written. */
	assert_memory_equal(big, exact, n);
	memory_add(m, exact, n);
	free(big);
	free(exact);
}

/* Where the file has none, Linux's cooked headers have it. */
static uint8_t wanted_direction(const struct format_case *c, const struct rd_frame *want)
{
	struct rd_frame f = *want;

	if (!c->direction)
		f.direction = RD_DIR_UNKNOWN;
	if (f.direction == RD_DIR_UNKNOWN && rd_link_is_cooked(c->link))
		rd_direction_cooked(c->link, &f, 1);
	return f.direction;
}

static void check_frame(const struct format_case *c, struct rd_reader *r, unsigned int at,
	const struct rd_frame *got, const struct rd_frame *want, const struct rd_note *note)
{
	struct rd_note found = {0};
	unsigned int n;
	const struct rd_iface *ifaces = rd_reader_ifaces(r, &n);
	/* test_erf_without_data() */
	bool no_length = !want->caplen && c->link == RD_LINK_INFINIBAND && !strcmp(c->spec, "erf");

	assert_in_range(got->iface, 0, n - 1);
	same(ifaces[got->iface].link, c->link, got->caplen, want->caplen, got->len,
		no_length ? 0 : want->len);
	assert_memory_equal(got->data, want->data, want->caplen);
	assert_int_equal(got->ts_ns, c->us ? want->ts_ns / 1000 * 1000 : want->ts_ns);
	assert_int_equal(got->direction, wanted_direction(c, want));
	assert_int_equal(got->flags & RD_FRAME_CRC_ERROR, c->crc_error ? want->flags : 0);
	same(got->iface, c->iface ? want->iface : 0, rd_reader_note(r, at, &found),
		note && ((c->dropped && note->dropped) || (c->comment && note->comment)));
	if (!note)
		return;
	assert_int_equal(found.dropped, c->dropped ? note->dropped : 0);
	if (c->comment && note->comment)
		assert_string_equal(found.comment, note->comment);
	else
		assert_null(found.comment);
}

static const struct rd_note notes[] = {
	{.dropped = 3}, {.comment = "port down"}, {.dropped = 65534, .comment = "queue recovered"}};

static const struct rd_note *note_of(unsigned int i)
{
	return i % 4 == 3 ? &notes[i / 4 % 3] : NULL;
}

TEST(round_trip)
{
	for (size_t k = 0; k < N_CASES; k++) {
		static const unsigned int batches[] = {1, 3, 64};
		static const size_t steps[] = {0, 1, 4099};
		struct rd_frame frames[N_FRAMES], got[64];
		struct memory m = {0};
		struct rd_iface ifaces[2];
		struct rd_encoder e;

		make_ifaces(ifaces, cases[k].link);
		make_frames(frames);
		init(&e, cases[k].spec, ifaces, 2);
		add_header(&m, &e);
		for (unsigned int i = 0; i < N_FRAMES; i++)
			add_frame(&m, &e, &frames[i], note_of(i));
		for (int b = 0; b < 3; b++) {
			struct rd_error err = {0};
			struct rd_reader *r;
			unsigned int total = 0;
			int n;

			m.step = steps[b];
			r = memory_open(&m);
			while ((n = rd_reader_next(r, got, batches[b], &err)) > 0)
				for (int i = 0; i < n; i++, total++)
					check_frame(&cases[k], r, (unsigned int)i, &got[i],
						&frames[total], note_of(total));
			if (n < 0)
				fail_msg("%s: %s", cases[k].spec, err.text);
			same(total, N_FRAMES, rd_reader_next(r, got, 1, &err), 0);
			rd_reader_close(r);
		}
		memory_free(&m);
	}
}

/* One call for many frames gives the same bytes as one call for each. */
TEST(batches)
{
	for (size_t k = 0; k < N_CASES; k++) {
		struct rd_frame frames[N_FRAMES];
		struct memory one = {0};
		struct rd_iface ifaces[2];
		struct rd_encoder e;
		size_t used;
		uint8_t *all;

		make_ifaces(ifaces, cases[k].link);
		make_frames(frames);
		init(&e, cases[k].spec, ifaces, 2);
		for (unsigned int i = 0; i < N_FRAMES; i++)
			add_frame(&one, &e, &frames[i], NULL);
		all = malloc(one.len);
		same(e.format->frames(&e, frames, N_FRAMES, all, one.len, &used), N_FRAMES, used,
			one.len);
		assert_memory_equal(all, one.data, one.len);
		same(e.format->frames(&e, frames, N_FRAMES, all, one.len - 1, &used), N_FRAMES - 1,
			e.format->frames(&e, frames, 0, all, one.len, &used), 0, used, 0);
		free(all);
		memory_free(&one);
	}
}

static void check_text(const char *a, const char *b)
{
	if (!b)
		assert_null(a);
	else
		assert_string_equal(a, b);
}

/* A file whose frames have no FCS does not say how long it is. */
TEST(pcap_fcs)
{
	static const uint8_t lengths[] = {0, 4};
	static const uint32_t wanted[] = {1, 0x24000001};
	struct rd_iface ifaces[2];
	struct rd_encoder e;
	uint8_t buf[64];

	for (unsigned int i = 0; i < 2; i++) {
		make_ifaces(ifaces, RD_LINK_ETHERNET);
		ifaces[0].fcslen = lengths[i];
		init(&e, "pcap", ifaces, 1);
		same(e.format->header(&e, buf, sizeof(buf)), 24, rd_le32(buf + 20), wanted[i]);
	}
}

TEST(pcapng_descriptions)
{
	const struct rd_iface_stats stats[2] = {
		{T0, T0 + 5, 10, 4, 5, 1, 5, "measured twice", false},
		{.received = UINT64_MAX, .dropped_by_us = 3, .drops_unknown = true}};
	struct rd_iface_stats s;
	struct memory m = {0};
	struct rd_iface ifaces[2];
	const struct rd_iface *got;
	const struct rd_section *sec;
	struct rd_encoder e;
	struct rd_reader *r;
	struct rd_frame frame;
	unsigned int n;
	uint8_t buf[4096];
	size_t len;

	make_ifaces(ifaces, RD_LINK_ETHERNET);
	ifaces[0].snaplen = ifaces[1].snaplen = 128;
	ifaces[1].fcslen = 4;
	init(&e, NULL, ifaces, 2);
	add_header(&m, &e);
	len = e.format->trailer(&e, stats, buf, e.format->header_bound(&e));
	assert_in_range(len, 1, e.format->header_bound(&e));
	memory_add(&m, buf, len);
	assert_int_equal(e.format->trailer(&e, stats, buf, len - 1), 0);
	r = memory_open(&m);
	assert_string_equal(rd_reader_format(r), "pcapng");
	sec = rd_reader_section(r);
	check_text(sec->hardware, section.hardware);
	check_text(sec->os, section.os);
	check_text(sec->application, section.application);
	check_text(sec->comment, section.comment);
	got = rd_reader_ifaces(r, &n);
	assert_int_equal(n, 2);
	for (unsigned int i = 0; i < n; i++) {
		check_text(got[i].name, ifaces[i].name);
		check_text(got[i].description, ifaces[i].description);
		check_text(got[i].hardware, ifaces[i].hardware);
		check_text(got[i].filter, ifaces[i].filter);
		check_text(got[i].os, ifaces[i].os);
		same(got[i].snaplen, 128, got[i].speed, ifaces[i].speed, got[i].fcslen,
			ifaces[i].fcslen, got[i].has_mac, ifaces[i].has_mac);
		assert_memory_equal(got[i].mac, ifaces[i].mac, 6);
	}
	expect("0 1", rd_reader_next(r, &frame, 1, NULL), rd_reader_stats(r, 0, &s));
	assert_string_equal(s.comment, stats[0].comment);
	s.comment = stats[0].comment;
	assert_memory_equal(&s, &stats[0], sizeof(s));
	assert_true(rd_reader_stats(r, 1, &s));
	same(s.received, UINT64_MAX, s.dropped, 3, s.drops_unknown, true);
	assert_false(rd_reader_stats(r, 2, &s));
	rd_reader_close(r);
	memory_free(&m);
}

/* Long texts are cut, between two characters. */
TEST(long_texts)
{
	struct rd_frame frame = {.data = pattern, .caplen = 60, .len = 60, .ts_ns = T0}, got;
	char *text = malloc(70001);
	struct rd_note note = {.comment = text}, found;
	struct rd_iface iface = {.link = RD_LINK_ETHERNET, .name = text, .filter = text};
	struct rd_section long_section = {text, text, text, text};
	struct memory m = {0};
	struct rd_encoder e;
	struct rd_reader *r;

	text[0] = 'x'; /* so that the limit falls into an e with acute accent */
	for (int i = 1; i < 70000; i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	text[69999] = '\0';
	init(&e, "pcapng", &iface, 1);
	e.section = &long_section;
	add_header(&m, &e);
	add_frame(&m, &e, &frame, &note);
	r = memory_open(&m);
	expect("1 1", rd_reader_next(r, &got, 1, NULL), rd_reader_note(r, 0, &found));
	assert_int_equal(strlen(found.comment), RD_NOTE_MAX - 1);
	assert_memory_equal(found.comment, text, RD_NOTE_MAX - 1);
	rd_reader_close(r);
	memory_free(&m);
	free(text);
}

/* Frames that were dropped before this one: in the ERF header that precedes it, at most 65535. */
TEST(erf_loss_counter)
{
	static const struct {
		uint64_t dropped;
		unsigned int counter;
	} counts[] = {{0, 0}, {7, 7}, {65535, 65535}, {70000, 65535}};
	const struct rd_frame frame = {.data = pattern, .caplen = 60, .len = 60, .ts_ns = T0};
	const struct rd_iface iface = {.link = RD_LINK_INFINIBAND, .name = "mlx5_0:1"};
	struct rd_encoder e;
	uint8_t record[512];

	init(&e, "pcapng", &iface, 1);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		const struct rd_note note = {.dropped = counts[i].dropped};

		assert_true(e.format->noted(&e, &frame, &note, record, sizeof(record)) > 0);
		/* The packet block's fixed part, then the ERF header. */
		assert_int_equal(rd_be16(record + 28 + 12), counts[i].counter);
	}
}

/*
 * Of a frame nothing was captured. Wireshark takes a bare record without data for damage, unless it
 * is padding, and reads no further: the record has eight bytes that are not the frame's.
 */
TEST(erf_without_data)
{
	static const uint32_t lens[] = {0, 300};
	const struct rd_iface iface = {.link = RD_LINK_INFINIBAND};
	struct rd_encoder e;

	init(&e, "erf", &iface, 1);
	for (int i = 0; i < 2; i++) {
		const struct rd_frame frame = {.data = pattern, .len = lens[i], .ts_ns = T0};
		const struct rd_note note = {.dropped = 7};
		struct memory m = {0};
		struct rd_reader *r;
		struct rd_frame got;

		add_frame(&m, &e, &frame, &note);
		add_frame(&m, &e, &frame, NULL);
		assert_int_equal(m.len, 2 * 24);
		expect("24 7 0 1", rd_be16(m.data + 10), rd_be16(m.data + 12), rd_be16(m.data + 14),
			rd_le64(m.data + 16) == 0);
		r = memory_open(&m);
		for (int k = 0; k < 2; k++)
			expect("1 0 0", rd_reader_next(r, &got, 1, NULL), got.caplen, got.len);
		assert_int_equal(rd_reader_next(r, &got, 1, NULL), 0);
		rd_reader_close(r);
		memory_free(&m);
	}
}

/* No length in an ERF header can hold these; the file must stay readable. */
TEST(longer_than_erf)
{
	static const char *const specs[] = {"pcapng", "pcap", "erf"};
	static uint8_t data[70000];
	const struct rd_frame frame = {.data = data, .caplen = 70000, .len = 70001, .ts_ns = T0};
	struct rd_frame got[2];

	for (int k = 0; k < 6; k++) {
		const struct rd_iface iface = {
			.link = k < 3 ? RD_LINK_INFINIBAND : RD_LINK_ETHERNET};
		struct memory m = {0};
		struct rd_encoder e;
		struct rd_reader *r;

		init(&e, specs[k % 3], &iface, 1);
		add_header(&m, &e);
		add_frame(&m, &e, &frame, NULL);
		add_frame(&m, &e, &frame, NULL);
		r = memory_open(&m);
		same(rd_reader_next(r, got, 2, NULL), 2, got[1].caplen,
			e.dlt == 1 ? 70000
			: k < 3	   ? 65535 - 16
				   : 65535 - 18);
		expect("1 0", got[1].len >= got[1].caplen, rd_reader_next(r, got, 2, NULL));
		rd_reader_close(r);
		memory_free(&m);
	}
}

/* ns -> ERF -> ns: every nanosecond of two milliseconds, and a sample of the whole second. */
TEST(erf_timestamps)
{
	const struct rd_iface iface = {.link = RD_LINK_INFINIBAND};
	struct rd_frame frame = {.data = pattern};
	struct rd_encoder e;
	uint8_t record[96];
	size_t used;

	init(&e, "erf", &iface, 1);
	for (uint32_t ns = 0; ns < 1000000000; ns += ns < 1000000 || ns >= 999000000 ? 1 : 997) {
		uint64_t timestamp, low;

		frame.ts_ns = UINT64_C(1700000000) * 1000000000 + ns;
		e.format->frames(&e, &frame, 1, record, sizeof(record), &used);
		timestamp = rd_le64(record);
		low = timestamp & 0xffffffff;
		if (timestamp >> 32 != 1700000000 || low * 1000000000 >> 32 != ns ||
			(low * 1000000000 + (UINT64_C(1) << 31)) >> 32 != ns)
			fail_msg("%u ns became %#lx", ns, (unsigned long)timestamp);
	}
	init(&e, "pcapng,dlt=197", &iface, 1);
	frame.ts_ns = 5;
	e.format->frames(&e, &frame, 1, record, sizeof(record), &used);
	expect("22", rd_le64(record + 28)); /* behind what is fixed in a block */
	expect("1 22",
		e.format->noted(&e, &frame, &(struct rd_note){0}, record, sizeof(record)) > 0,
		rd_le64(record + 28));
}

static const struct choice {
	const char *spec, *filename, *format; /* format NULL: an error that contains text */
	enum rd_link link;
	int dlt;
	const char *text;
} choices[] = {
	{NULL, NULL, "pcapng", RD_LINK_ETHERNET, 1, NULL},
	{NULL, "-", "pcapng", RD_LINK_INFINIBAND, 197, NULL},
	{NULL, "a.pcap", "pcap", RD_LINK_INFINIBAND, 197, NULL},
	{NULL, "a.PCAP.gz", "pcap", RD_LINK_ETHERNET, 1, NULL},
	{NULL, "a.cap.zst", "pcap", RD_LINK_ETHERNET, 1, NULL},
	{NULL, "a.pcapng.zst", "pcapng", RD_LINK_ETHERNET, 1, NULL},
	{NULL, "a.erf", "erf", RD_LINK_ETHERNET, 197, NULL},
	{NULL, "a.gz", "pcapng", RD_LINK_ETHERNET, 1, NULL},
	{NULL, ".pcap", "pcapng", RD_LINK_ETHERNET, 1, NULL},
	{"pcap-us", "a.pcapng", "pcap-us", RD_LINK_ETHERNET, 1, NULL},
	{"pcap,dlt=247", NULL, "pcap", RD_LINK_INFINIBAND, 247, NULL},
	{"pcapng,dlt=197", NULL, "pcapng", RD_LINK_INFINIBAND, 197, NULL},
	{"pcap-us,dlt=197", NULL, "pcap-us", RD_LINK_ETHERNET, 197, NULL},
	{"pcapng", NULL, "pcapng", RD_LINK_RAW, 147, NULL},
	{"pcapng", NULL, "pcapng", RD_LINK_SLL, 113, NULL},
	{"pcap", NULL, "pcap", RD_LINK_NULL, 0, NULL},
	{"erf", NULL, NULL, RD_LINK_SLL2, 0, "276"},
	{"pcapx", NULL, NULL, RD_LINK_ETHERNET, 0, "pcapng, pcap, pcap-us, erf"},
	{"", NULL, NULL, RD_LINK_ETHERNET, 0, "unknown file format ''"},
	{"pcap,", NULL, NULL, RD_LINK_ETHERNET, 0, "unknown option"},
	{"pcap,dlt", NULL, NULL, RD_LINK_ETHERNET, 0, "unknown option 'dlt'"},
	{"pcap,dlt=", NULL, NULL, RD_LINK_ETHERNET, 0, "bad link type"},
	{"pcap,dlt=247", NULL, NULL, RD_LINK_ETHERNET, 0, "247"},
	{"pcap,dlt=1", NULL, NULL, RD_LINK_INFINIBAND, 0, "InfiniBand cannot"},
	{"erf,dlt=247", NULL, NULL, RD_LINK_INFINIBAND, 0, "ERF files cannot"},
	{"erf", NULL, NULL, RD_LINK_RAW, 0, "147"},
	{"pcap", NULL, NULL, RD_LINK_UNKNOWN, 0, "not known"},
};

TEST(choices)
{
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		const struct choice *c = &choices[i];
		const struct rd_iface iface = {.link = c->link, .dlt = dlt_of(c->link)};
		struct rd_error err = {0};
		struct rd_encoder e;
		int rc = rd_encoder_init(&e, c->spec, c->filename, NULL, &iface, 1, &err);

		if (c->format) {
			same(rc, 0, e.format->name, c->format, e.dlt, c->dlt);
		} else {
			same(rc, -1, err.class, RD_CLASS_USAGE);
			if (!strstr(err.text, c->text))
				fail_msg("'%s' lacks '%s'", err.text, c->text);
		}
	}
}

TEST(mixtures)
{
	struct rd_iface ifaces[2] = {
		{.link = RD_LINK_ETHERNET, .name = "a"}, {.link = RD_LINK_INFINIBAND, .name = "b"}};
	struct rd_encoder e;

	same(rd_encoder_init(&e, NULL, NULL, NULL, ifaces, 2, &failure), -1, failure.class,
		RD_CLASS_USAGE);
	assert_non_null(strstr(failure.text, "'b' (interface 1) is InfiniBand and 'a'"));
	ifaces[1].link = RD_LINK_ETHERNET;
	ifaces[1].snaplen = 64;
	assert_int_equal(rd_encoder_init(&e, NULL, NULL, NULL, ifaces, 2, &failure), -1);
	assert_non_null(strstr(failure.text, "cut at 64 bytes"));
	assert_int_equal(rd_encoder_init(&e, NULL, NULL, NULL, NULL, 0, &failure), 0);
}

/* The room for a header is computed before its comment is known. */
TEST(late_comment)
{
	static char comment[RD_NOTE_MAX + 1], filter[1500];
	struct rd_section late = {.hardware = "h", .comment = ""};
	struct rd_iface iface = {.link = RD_LINK_ETHERNET, .filter = filter};
	struct rd_encoder e;
	uint8_t *buf;
	size_t capacity;

	memset(comment, 'c', sizeof(comment) - 1);
	memset(filter, 'f', sizeof(filter) - 1);
	assert_int_equal(rd_encoder_init(&e, "pcapng", NULL, &late, &iface, 1, NULL), 0);
	capacity = e.format->header_bound(&e);
	late.comment = comment;
	buf = malloc(capacity);
	assert_in_range(
		e.format->header(&e, buf, capacity), sizeof(comment) + sizeof(filter), capacity);
	free(buf);
}

static int set_pattern(void **state)
{
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 7 + 1);
	return 0;
}

ALL_TESTS_WITH(set_pattern, NULL)
