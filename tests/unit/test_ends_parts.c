/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parts of the comparison of two captures; whole comparisons are in tests/cases/ends*.txt. */
#include "analysis/ends/ends.h"
#include "test.h"
#include "test_packet_make.h"

#define BTH    (14 + 20 + 8)
#define MS     1000000ULL
#define US     1000ULL
#define WINDOW 250000000 /* of clock.c */

static struct make m;

static struct rd_ends_packet packet_at(const struct rd_frame *frame)
{
	struct rd_ends_packet p;

	assert_true(rd_ends_packet(RD_LINK_ETHERNET, frame, &p));
	return p;
}

static uint64_t identity(void)
{
	const struct rd_frame frame = make_frame(&m);

	return packet_at(&frame).identity;
}

static void packet(uint32_t psn)
{
	m.n = 0;
	make_packet(&m, MAKE_V2_IPV4, 0x04, 0x100, 64, 0);
	rd_put_be32(m.b + BTH + 8, psn);
	rd_put_be32(m.b + m.n - 4, psn * 2654435761U);
}

/* Bytes that a switch or router may change, and bytes that it may not. */
static const struct {
	const char *name;
	uint32_t at;
	uint8_t flip;
	bool same;
} changes[] = {
	{"destination MAC", 0, 1, true},
	{"source MAC", 11, 1, true},
	{"ECN and DSCP", 15, 0xff, true},
	{"time to live", 22, 3, true},
	{"IP checksum", 24, 0xff, true},
	{"UDP checksum", 40, 0xff, true},
	{"FECN", BTH + 4, 0x20, true},
	{"BECN", BTH + 4, 0x10, true},
	{"source address", 29, 1, false},
	{"destination address", 33, 1, false},
	{"opcode", BTH, 1, false},
	{"QP", BTH + 7, 1, false},
	{"request for an ACK", BTH + 8, 0x80, false},
	{"PSN", BTH + 11, 1, false},
	{"ICRC", BTH + 12 + 64, 1, false},
};

TEST(identity)
{
	struct rd_frame frame;
	uint64_t first;

	packet(5);
	first = identity();
	assert_true(first != 0);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		m.b[changes[i].at] ^= changes[i].flip;
		if ((identity() == first) != changes[i].same)
			fail_msg("%s", changes[i].name);
		m.b[changes[i].at] ^= changes[i].flip;
	}
	assert_true(identity() == first);
	m.b[m.n - 1] ^= 1;
	frame = make_frame(&m);
	first = packet_at(&frame).bytes;
	assert_true(identity() != first);
	frame.caplen -= 40;
	same(packet_at(&frame).whole, 0, packet_at(&frame).identity, first, packet_at(&frame).bytes,
		first);
}

/* A span of time has its extreme distances, and of equal ones the first: also two spans joined. */
TEST(extremes)
{
	static const int64_t at_us[] = {100, 200, 400, 600, 700, 1100, 1300};
	static const int64_t distance[] = {-5000, -2000, -2000, -9000, -9000, -9000, -2000};
	static const uint64_t frame[RD_TAPS] = {1, 1};
	struct distances d = {0};

	for (size_t i = 0; i < sizeof(at_us) / sizeof(*at_us); i++)
		assert_true(distances_add(&d, at_us[i] * (int64_t)US, distance[i], frame));
	for (int joined = 0; joined < 2; joined++) {
		same(d.width, MS << joined, d.slots[0].max, -2000, d.slots[0].max_t, 200 * US,
			d.slots[0].min, -9000);
		assert_int_equal(d.slots[0].min_t, 600 * US);
		assert_true(distances_add(&d, CLOCK_SLOTS * (int64_t)MS, -5000, frame));
	}
	free(d.delays[RD_TAP_A].hist);
	free(d.delays[RD_TAP_B].hist);
}

/* The extremes of this window and of the one before it. */
TEST(recent_extremes)
{
	static const struct {
		int64_t window, distance, min, max;
	} rows[] = {{0, -5000, -5000, -5000}, {1, 7000, -5000, 7000}, {2, 100, 100, 7000},
		{2, -50, -50, 7000}, {4, 300, 300, 300}};
	struct distances d = {0};
	struct extremes near;

	assert_false(distances_recent(&d, &near));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_true(distances_add(&d, rows[i].window * WINDOW, rows[i].distance, NULL));
		assert_true(distances_recent(&d, &near));
		same(near.min, rows[i].min, near.max, rows[i].max);
	}
}

/* Searched again without ICRCs: what was found before does not count. */
TEST(search_without_icrc)
{
	struct rd_ends_search *s = rd_ends_search_open(RD_TAP_A, RD_ENDS_NEED_ONE, NULL);
	struct rd_ends_start start = {0};

	assert_non_null(s);
	for (int again = 0; again < 2; again++) {
		for (int i = 0; i < RD_TAPS; i++) {
			struct rd_frame frame;

			packet(i ? 100 : 1);
			frame = make_frame(&m);
			frame.caplen -= 40;
			rd_ends_search_frame(s, (enum rd_tap)i, RD_LINK_ETHERNET, &frame);
		}
		assert_int_equal(rd_ends_search_again(s), !again);
	}
	assert_false(rd_ends_search_result(s, &start));
	rd_ends_search_close(s);
}

/* A file that has grown since its frames were counted: the tables stay as they are. */
TEST(more_frames_than_expected)
{
	const struct rd_ends_start start = {.frames = 1};
	struct rd_ends *e;

	assert_int_equal(rd_ends_open(&e, &start, &failure), 0);
	for (uint32_t i = 0; i < 100; i++) {
		struct rd_frame frame;

		packet(i);
		rd_put_be32(m.b + BTH + 4, i / 2);
		frame = make_frame(&m);
		rd_ends_frames(e, (enum rd_tap)(i % 2), RD_LINK_ETHERNET, &frame, 1);
	}
	expect("2 96 1", e->n_qps, e->left_out, e->evicted > 0);
	rd_ends_close(e);
}

TEST(clock_without_packets)
{
	const struct rd_ends_report none = {0};
	json_t *json = rd_ends_json(&none);

	expect("1 one_direction", json_is_null(json_object_get(json, "clock")),
		json_string_value(json_object_get(json, "clock_unknown")));
	json_decref(json);
}

/* The columns of a table that are said to be empty are so in the rows that it leaves out, too. */
TEST(empty_columns)
{
	struct rd_path_qp qps[20] = {0};
	struct rd_path path = {.from = "10.0.0.2", .to = "10.0.0.1", .qps = qps, .n_qps = 20};
	const struct rd_ends_report r = {.packets = 20, .paths = &path, .n_paths = 1};
	const struct rd_report_style style = {.columns = 60};

	for (unsigned int late = 0; late < 2; late++) {
		char *text = NULL;
		size_t length = 0;
		FILE *out = open_memstream(&text, &length);

		qps[19].duplicated.count = late;
		rd_ends_text(&r, &style, out);
		fclose(out);
		assert_non_null(strstr(text, "empty or 0: "));
		assert_int_equal(strstr(strstr(text, "empty or 0: "), "DUPLICATED") == NULL, late);
		free(text);
	}
}
