/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of two captures side by side: what makes a packet the same one, and where one ends. */
#include "test_packet_make.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rdmadump/ends.h>
#include <stdlib.h>

#define BTH   (14 + 20 + 8)
#define START 1000000000000ULL
#define MS    1000000ULL

static struct make m;

static uint64_t identity(void)
{
	struct rd_frame frame = make_frame(&m);

	return rd_ends_identity(RD_LINK_ETHERNET, &frame);
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

static void test_identity(void **state)
{
	uint64_t first;

	(void)state;
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
}

/* What the captures report of themselves in compare(). */
static struct {
	bool directions;  /* whether a frame was sent by the host */
	uint64_t dropped; /* by B's capture */
} captures;

static void put(struct rd_ends *e, enum rd_tap end, uint32_t psn, uint64_t ns)
{
	struct rd_frame frame;

	packet(psn);
	frame = make_frame(&m);
	frame.ts_ns = ns;
	if (captures.directions)
		frame.direction = end == RD_TAP_A ? RD_DIR_OUT : RD_DIR_IN;
	rd_ends_frames(e, end, RD_LINK_ETHERNET, &frame, 1);
}

/* A packet each ms, up to `to`; of B's capture those from b_from to b_to, but for `lost`. */
static struct rd_ends_report *compare(uint32_t to, uint32_t b_from, uint32_t b_to, uint32_t lost)
{
	const uint64_t first[RD_TAPS] = {START, START + b_from * MS};
	struct rd_report_file file = {.dropped = captures.dropped, .dropped_known = true};
	const struct rd_report a = {0}, b = {.files = &file, .n_files = 1};
	const struct rd_report *const reports[RD_TAPS] = {&a, &b};
	struct rd_ends_report *r;
	struct rd_ends *e;

	assert_int_equal(rd_ends_open(&e, first, 0, NULL), 0);
	for (uint32_t i = 0; i <= to; i++) {
		put(e, RD_TAP_A, i, START + i * MS);
		if (i >= b_from && i <= b_to && i != lost)
			put(e, RD_TAP_B, i, START + i * MS + 10000);
		if (i == b_to)
			rd_ends_file_end(e, RD_TAP_B);
	}
	rd_ends_file_end(e, RD_TAP_A);
	assert_int_equal(rd_ends_report(e, reports, &r, NULL), 0);
	rd_ends_close(e);
	assert_int_equal(r->n_paths, 1);
	assert_int_equal(r->paths[0].n_qps, 1);
	return r;
}

/* What one captured before the other began, or after it had ended, is not lost. */
static void test_edges(void **state)
{
	struct rd_ends_report *r = compare(100, 20, 70, UINT32_MAX);

	(void)state;
	assert_int_equal(r->packets, 51);
	assert_int_equal(r->outside, 50);
	assert_int_equal(r->paths[0].qps[0].lost.count, 0);
	rd_ends_report_free(r);
	r = compare(100, 20, 70, 50);
	assert_int_equal(r->packets, 50);
	assert_int_equal(r->outside, 50);
	assert_int_equal(r->paths[0].qps[0].lost.count, 1);
	rd_ends_report_free(r);
}

static enum rd_certainty certainty_of_loss(bool directions, uint64_t dropped)
{
	struct rd_ends_report *r;
	enum rd_certainty certainty;

	captures.directions = directions;
	captures.dropped = dropped;
	r = compare(100, 0, 100, 50);
	assert_int_equal(r->findings.n, 1);
	assert_string_equal(r->findings.finding[0].rule, "lost-between");
	certainty = r->findings.finding[0].certainty;
	rd_ends_report_free(r);
	return certainty;
}

/* B's capture may have missed it; if it says so, or if A may be the receiver, all the more. */
static void test_certainty(void **state)
{
	(void)state;
	assert_int_equal(certainty_of_loss(true, 0), RD_LIKELY);
	assert_int_equal(certainty_of_loss(true, 1), RD_POSSIBLE);
	assert_int_equal(certainty_of_loss(false, 0), RD_POSSIBLE);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_certainty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
