/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of two captures side by side: which packets are the same, and where captures end. */
#include "test_ends_make.h"
#include <stdlib.h>

static uint64_t identity(void)
{
	struct rd_frame frame = make_frame(&m);

	return rd_ends_identity(RD_LINK_ETHERNET, &frame, true);
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
	struct rd_frame frame;
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
	m.b[m.n - 1] ^= 1;
	frame = make_frame(&m);
	first = rd_ends_identity(RD_LINK_ETHERNET, &frame, false);
	frame.caplen -= 40;
	assert_true(identity() != first);
	assert_true(rd_ends_identity(RD_LINK_ETHERNET, &frame, true) == first);
	assert_true(rd_ends_identity(RD_LINK_ETHERNET, &frame, false) == first);
}

/* What the captures report of themselves in compare(). */
static struct {
	bool directions;  /* whether a frame was sent by the host */
	uint64_t dropped; /* by B's capture */
	uint64_t damaged; /* frames of B's capture with a wrong ICRC */
	uint32_t cut;	  /* bytes at the end of its frames */
	uint32_t trimmed; /* the same, and its file says that the frames were so short */
} captures;

static void put(struct rd_ends *e, enum rd_tap end, uint32_t psn, uint64_t ns)
{
	struct rd_frame frame;

	packet(psn);
	frame = make_frame(&m);
	frame.ts_ns = ns;
	if (captures.directions)
		frame.direction = end == RD_TAP_A ? RD_DIR_OUT : RD_DIR_IN;
	if (end == RD_TAP_B) {
		frame.caplen -= captures.cut + captures.trimmed;
		frame.len -= captures.trimmed;
	}
	rd_ends_frames(e, end, RD_LINK_ETHERNET, &frame, 1);
}

/* A packet each ms, up to `to`; of B's capture those from b_from to b_to, but for `lost`. */
static struct rd_ends_report *compare(uint32_t to, uint32_t b_from, uint32_t b_to, uint32_t lost)
{
	const uint64_t first[RD_TAPS] = {START, START + b_from * MS};
	struct rd_report_file file = {.dropped = captures.dropped, .dropped_known = true};
	const struct rd_report a = {0}, b = {.files = &file,
						.n_files = 1,
						.totals = {.icrc_trusted = true,
							.icrc_bad = captures.damaged}};
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

/* Snapshot lengths that differ: an ICRC that one capture lacks is no other packet. */
static void test_cut_at_one_end(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	captures.cut = 40;
	r = compare(100, 0, 100, UINT32_MAX);
	assert_int_equal(r->packets, 101);
	assert_int_equal(r->findings.n, 0);
	rd_ends_report_free(r);
	r = compare(100, 0, 100, 50);
	assert_int_equal(r->packets, 100);
	assert_int_equal(r->paths[0].qps[0].lost.count, 1);
	rd_ends_report_free(r);
	captures.cut = 0;
	captures.trimmed = 4; /* the last bytes of the payload are no ICRC */
	r = compare(100, 0, 100, UINT32_MAX);
	assert_int_equal(r->packets, 101);
	assert_int_equal(r->findings.n, 0);
	rd_ends_report_free(r);
	captures.trimmed = 0;
}

static enum rd_certainty certainty_of_loss(bool directions, uint64_t dropped, const char *rule)
{
	struct rd_ends_report *r;
	enum rd_certainty certainty;

	captures.directions = directions;
	captures.dropped = dropped;
	r = compare(100, 0, 100, 50);
	assert_int_equal(r->findings.n, 1);
	assert_string_equal(r->findings.finding[0].rule, rule);
	certainty = r->findings.finding[0].certainty;
	rd_ends_report_free(r);
	return certainty;
}

/* B's capture may have missed it; if it says so, or if A may be the receiver, all the more. */
static void test_certainty(void **state)
{
	(void)state;
	assert_int_equal(certainty_of_loss(true, 0, "lost-between"), RD_LIKELY);
	assert_int_equal(certainty_of_loss(true, 1, "lost-or-missed"), RD_POSSIBLE);
	assert_int_equal(certainty_of_loss(false, 0, "lost-between"), RD_POSSIBLE);
	captures.damaged = 1; /* it may be the one that is missing */
	assert_int_equal(certainty_of_loss(true, 0, "lost-between"), RD_POSSIBLE);
	captures.damaged = 0;
}

/* --- both directions -------------------------------------------------------------------------- */

/* Of three identical copies the first is lost: the others are in order, and none is late. */
static void test_copies(void **state)
{
	const struct rd_path_qp *w;
	struct rd_ends_report *r;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 50; i++) {
		request(i, i * 100 * US);
		answer(i, 0, i * 100 * US + 10 * US);
	}
	see(RD_TAP_A, false, 50, 0, 6 * MS);
	request(50, 7 * MS);
	request(51, 7 * MS + 10 * US);
	request(50, 8 * MS);
	answer(51, 0, 9 * MS);
	r = finish();
	w = qp_of(r, 0x100);
	assert_int_equal(w->arrived, 53);
	assert_int_equal(w->lost.count, 1);
	assert_int_equal(w->lost.first_frame, 101);
	assert_int_equal(w->reordered, 0);
	assert_int_equal(w->duplicated.count, 0);
	assert_true(r->paths[0].variation.max < 10 * US);
	rd_ends_report_free(r);
}

/* A mirror session of both directions has each frame twice: the second one was not lost. */
static void test_mirrored_twice(void **state)
{
	const struct rd_path_qp *w;
	struct rd_ends_report *r;

	(void)state;
	begin();
	two.directions = true; /* too few for their times to show the order */
	for (uint32_t i = 0; i < 50; i++) {
		see(RD_TAP_A, false, i, 0, i * 100 * US);
		see(RD_TAP_A, false, i, 0, i * 100 * US + 600);
		see(RD_TAP_B, false, i, 0, i * 100 * US + DELAY);
		answer(i, 0, i * 100 * US + 10 * US);
	}
	see(RD_TAP_A, false, 50, 0, 6 * MS);
	see(RD_TAP_A, false, 50, 0, 6 * MS + 600);
	see(RD_TAP_A, false, 50, 0, 6 * MS + 50 * US);
	see(RD_TAP_B, false, 50, 0, 6 * MS + 50 * US + DELAY);
	request(51, 7 * MS);
	answer(51, 0, 9 * MS);
	r = finish();
	w = qp_of(r, 0x100);
	assert_int_equal(w->arrived, 52);
	assert_int_equal(w->lost.count, 1);
	assert_int_equal(w->duplicated.count, 0);
	rd_ends_report_free(r);
}

/* Elsewhere the second one is a transmission: of a sender that goes back at once. */
static void test_repeated_at_once(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 50; i++) {
		request(i, i * 100 * US);
		answer(i, 0, i * 100 * US + 10 * US);
	}
	see(RD_TAP_A, false, 50, 0, 6 * MS);
	request(50, 6 * MS + 3 * US);
	request(51, 7 * MS);
	answer(51, 0, 9 * MS);
	r = finish();
	assert_int_equal(qp_of(r, 0x100)->lost.count, 1);
	rd_ends_report_free(r);
}

/* Packets with the time of a capture's last frame may have been before or after it. */
static void test_last_moment(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 50; i++) {
		request(i, i * 100 * US);
		answer(i, 0, i * 100 * US + 10 * US);
	}
	see(RD_TAP_A, true, 50, 0, 5 * MS + DELAY);
	see(RD_TAP_B, true, 50, 0, 5 * MS);
	see(RD_TAP_B, false, 51, 0, 5 * MS + 2 * DELAY);
	request(52, 6 * MS);
	rd_ends_file_end(two.e, RD_TAP_A);
	see(RD_TAP_B, false, 53, 0, 6 * MS + DELAY);
	see(RD_TAP_B, false, 54, 0, 7 * MS + DELAY);
	r = finish();
	assert_int_equal(qp_of(r, 0x100)->missed.count, 1);
	assert_int_equal(r->outside, 2);
	rd_ends_report_free(r);
}

/* Copies so near each other that the second leaves before the first arrives. */
static void test_copies_in_flight(void **state)
{
	const struct rd_path_qp *w;
	struct rd_ends_report *r;

	(void)state;
	begin();
	two.directions = true; /* as above */
	request(1, 0);
	answer(1, 0, 10 * US);
	see(RD_TAP_A, false, 2, 0, 100 * US);
	see(RD_TAP_A, false, 3, 0, 101 * US);
	see(RD_TAP_A, false, 2, 0, 102 * US);
	see(RD_TAP_B, false, 2, 0, 104 * US);
	see(RD_TAP_B, false, 3, 0, 105 * US);
	see(RD_TAP_B, false, 2, 0, 106 * US);
	answer(3, 0, 120 * US);
	r = finish();
	w = qp_of(r, 0x100);
	assert_int_equal(w->arrived, 4);
	assert_int_equal(w->reordered, 0);
	assert_int_equal(r->findings.n, 0);
	rd_ends_report_free(r);
}

/* Hundreds of identical ACKs are on their way at once: each of them has its partner. */
static void test_many_copies(void **state)
{
	enum { COPIES = 400, DELAY_IN_GAPS = 200 };
	struct rd_ends_report *r;

	(void)state;
	begin();
	two.directions = true; /* as above */
	request(0, 0);
	answer(0, 0, 10 * US);
	request(1, 20 * US);
	see(RD_TAP_B, true, 2, 0, 500 * US);
	see(RD_TAP_A, true, 2, 0, 500 * US + DELAY_IN_GAPS * US);
	for (unsigned int i = 0; i < COPIES + DELAY_IN_GAPS; i++) {
		if (i < COPIES)
			see(RD_TAP_B, true, 1, 0, MS + i * US);
		if (i >= DELAY_IN_GAPS)
			see(RD_TAP_A, true, 1, 0, MS + i * US);
	}
	request(2, 2 * MS);
	answer(3, 0, 2 * MS + 10 * US);
	r = finish();
	assert_int_equal(qp_of(r, 0x200)->arrived, COPIES + 3);
	assert_int_equal(qp_of(r, 0x200)->lost.count + qp_of(r, 0x200)->duplicated.count, 0);
	assert_int_equal(r->findings.n, 0);
	rd_ends_report_free(r);
}

/*
 * Half of the copies of a request are missing in the sender's capture, and hundreds are on the way:
 * the IP ids show which ones have a partner.
 */
static void test_many_copies_missed(void **state)
{
	enum { COPIES = 600, DELAY_IN_GAPS = 200 };
	struct rd_ends_report *r;

	(void)state;
	begin();
	for (unsigned int i = 0; i < COPIES + DELAY_IN_GAPS; i++) {
		const uint64_t t = i * US;
		const unsigned int sent = i, arrived = i - DELAY_IN_GAPS;

		two.ip_id = 1 + sent;
		if (sent < COPIES && sent % 2)
			see(RD_TAP_A, false, 1, 0, t);
		see(RD_TAP_B, true, sent, 0, t);
		if (i < DELAY_IN_GAPS)
			continue;
		two.ip_id = 1 + arrived;
		see(RD_TAP_B, false, 1, 0, t);
		see(RD_TAP_A, true, arrived, 0, t);
	}
	for (unsigned int i = 0; i < 4; i++) {
		two.ip_id = 2000 + i;
		request(2 + i, 2 * MS + i * US);
	}
	r = finish();
	assert_int_equal(qp_of(r, 0x100)->lost.count + qp_of(r, 0x100)->unclear.count, 0);
	assert_int_equal(qp_of(r, 0x100)->arrived, COPIES / 2 + 4);
	rd_ends_report_free(r);
}

/* A receiver repeats an ACK at once, before the other capture begins: these are no duplicates. */
static void test_repeated_before(void **state)
{
	const uint64_t first[RD_TAPS] = {START, START + 10 * MS};
	struct rd_ends_report *r;

	(void)state;
	memset(&two, 0, sizeof(two));
	assert_int_equal(rd_ends_open(&two.e, first, 0, NULL), 0);
	for (unsigned int i = 0; i < 200; i++)
		see(RD_TAP_A, true, i / 2, 0, i / 2 * 100 * US / 10 + i % 2 * US);
	for (unsigned int i = 0; i < 20; i++) {
		request(1000 + i, 10 * MS + i * 100 * US);
		answer(1000 + i, 0, 10 * MS + i * 100 * US + 50 * US);
	}
	r = finish();
	assert_int_equal(qp_of(r, 0x200)->duplicated.count, 0);
	assert_int_equal(r->outside, 200);
	rd_ends_report_free(r);
}

/* Three seconds late is late, neither lost nor missed. */
static void test_very_late(void **state)
{
	const struct rd_path_qp *w;
	struct rd_ends_report *r;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 100; i++) {
		request(i, i * MS);
		answer(i, 0, i * MS + 10 * US);
	}
	see(RD_TAP_A, false, 100, 0, 100 * MS);
	see(RD_TAP_B, false, 100, 0, 3100 * MS);
	answer(100, 0, 3101 * MS);
	request(101, 3200 * MS);
	r = finish();
	w = qp_of(r, 0x100);
	assert_int_equal(w->lost.count + w->unclear.count + w->missed.count, 0);
	assert_int_equal(w->arrived, 102);
	rd_ends_report_free(r);
}

/* A burst, then seconds of sparse traffic, while the clocks drift. */
static void test_drift(void **state)
{
	static const double ppm[] = {-40, -5, 0, 5, 40};

	(void)state;
	for (size_t k = 0; k < sizeof(ppm) / sizeof(*ppm); k++) {
		struct rd_ends_report *r;

		begin();
		two.drift_ppm = ppm[k];
		for (uint32_t i = 0; i < 1000; i++)
			request(i, i * 5 * US);
		answer(999, 0, 6 * MS);
		for (uint32_t i = 1; i < 80; i++) {
			if (i == 40)
				see(RD_TAP_A, false, 5000, 0, i * 250 * MS - 100 * US);
			request(1000 + i, i * 250 * MS);
			answer(1000 + i, 0, i * 250 * MS + 10 * US);
		}
		r = finish();
		assert_int_equal(qp_of(r, 0x100)->lost.count, 1);
		assert_int_equal(qp_of(r, 0x200)->lost.count, 0);
		assert_int_equal(qp_of(r, 0x100)->missed.count, 0);
		assert_true(r->offset_known && r->drift_known);
		assert_true(r->drift_ppm > ppm[k] - 1 && r->drift_ppm < ppm[k] + 1);
		assert_true(llabs(r->offset_ns) <= (int64_t)r->offset_error_ns);
		assert_true(r->offset_error_ns > 0 && r->offset_error_ns < 10 * US);
		rd_ends_report_free(r);
	}
}

/* A span of time has its extreme distances, and of equal ones the first: also two spans joined. */
static void test_extremes(void **state)
{
	static const int64_t at_us[] = {100, 200, 400, 600, 700, 1100, 1300};
	static const int64_t distance[] = {-5000, -2000, -2000, -9000, -9000, -9000, -2000};
	static const uint64_t frame[RD_TAPS] = {1, 1};
	struct distances d = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(at_us) / sizeof(*at_us); i++)
		assert_true(distances_add(&d, at_us[i] * (int64_t)US, distance[i], frame));
	for (int joined = 0; joined < 2; joined++) {
		assert_int_equal(d.width, MS << joined);
		assert_int_equal(d.slots[0].max, -2000);
		assert_int_equal(d.slots[0].max_t, 200 * US);
		assert_int_equal(d.slots[0].min, -9000);
		assert_int_equal(d.slots[0].min_t, 600 * US);
		assert_true(distances_add(&d, CLOCK_SLOTS * (int64_t)MS, -5000, frame));
	}
	free(d.above);
	free(d.below);
}

/* In 0.17 s a drift cannot be seen, and an offset has an error. */
static void test_short(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 170; i++) {
		request(i, i * MS + i * i % 7 * US);
		answer(i, 0, i * MS + (40 + i * 5 % 11) * US);
	}
	r = finish();
	assert_true(r->offset_known && !r->drift_known);
	assert_true(r->offset_error_ns >= DELAY && r->offset_error_ns < 20 * US);
	assert_int_equal(r->findings.n, 0);
	rd_ends_report_free(r);
}

/* Both captures run: what is lost in the first millisecond is lost. */
static void test_first_moment(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	begin();
	two.directions = true; /* as above */
	request(1, 0);
	see(RD_TAP_A, false, 2, 0, 20 * US);
	request(3, 30 * US);
	answer(2, 0x60, 33 * US);
	request(2, 50 * US);
	request(3, 51 * US);
	answer(3, 0, 60 * US);
	r = finish();
	assert_int_equal(r->outside, 0);
	assert_int_equal(qp_of(r, 0x100)->lost.count, 1);
	assert_int_equal(qp_of(r, 0x100)->asked_for, 1);
	assert_true(is_found(r, "lost-between"));
	rd_ends_report_free(r);
}

/* B's capture lacks packets that B acknowledges: they were not lost. */
static void test_delivered(void **state)
{
	const struct rd_path_qp *w;
	struct rd_ends_report *r;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 100; i++) {
		if (i % 10 == 5)
			see(RD_TAP_A, false, i, 0, i * 10 * US);
		else
			request(i, i * 10 * US);
		answer(i, 0, i * 10 * US + 5 * US);
	}
	r = finish();
	w = qp_of(r, 0x100);
	assert_int_equal(w->missed_at_receiver.count, 10);
	assert_int_equal(w->lost.count + w->unclear.count, 0);
	assert_int_equal(w->sent, 100);
	assert_false(is_found(r, "lost-between"));
	assert_true(is_found(r, "missed-at-receiver"));
	rd_ends_report_free(r);
}

/* A packet that arrives while an earlier one is missing is dropped by the receiver, and asked for
 * later: that does not show that the path lost it. */
static void test_dropped_by_receiver(void **state)
{
	const struct rd_path_qp *w;
	struct rd_ends_report *r;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 100; i += i == 49 ? 3 : 1) {
		if (i == 25) /* the capture misses it */
			see(RD_TAP_A, false, i, 0, i * 10 * US);
		else
			request(i, i * 10 * US);
		answer(i, 0, i * 10 * US + 5 * US);
	}
	see(RD_TAP_A, false, 51, 0, 2000 * US); /* missed, and dropped since 50 is missing */
	request(52, 2001 * US);
	answer(50, 0x60, 2010 * US);
	request(50, 2020 * US);
	request(52, 2021 * US);
	answer(51, 0x60, 2030 * US);
	request(51, 2040 * US);
	request(52, 2041 * US);
	answer(52, 0, 2050 * US);
	r = finish();
	w = qp_of(r, 0x100);
	assert_int_equal(w->asked_for, 0);
	assert_int_equal(w->lost.count, 0);
	assert_int_equal(w->unclear.count, 1);
	assert_false(is_found(r, "lost-between"));
	rd_ends_report_free(r);
}

/*
 * A lost packet that the receiver asks for, while the ACK of the one before is lost, too: the round
 * begins with that one. The retransmission arrives, and its ACK is no proof that the first copy
 * did, whatever the first estimate of the offset was.
 */
static void test_round_begins_before(void **state)
{
	static const int64_t ahead[] = {0, (int64_t)(8 * MS), -(int64_t)(8 * MS)};

	(void)state;
	for (size_t i = 0; i < sizeof(ahead) / sizeof(ahead[0]); i++) {
		const uint64_t t = 40 * MS;
		const struct rd_path_qp *w;
		struct rd_ends_report *r;

		begin();
		two.ahead = ahead[i];
		for (uint32_t psn = 0; psn < 100; psn++) {
			request(psn, 20 * MS + psn * 100 * US);
			if (psn < 99)
				answer(psn, 0, 20 * MS + psn * 100 * US + 10 * US);
		}
		see(RD_TAP_B, true, 99, 0, 20 * MS + 99 * 100 * US + 10 * US);
		see(RD_TAP_A, false, 100, 0, t);
		request(101, t + US);
		answer(100, 0x60, t + 10 * US);
		two.changed = 1;
		for (uint32_t psn = 99; psn < 102; psn++)
			request(psn, t + 20 * US + psn * US);
		for (uint32_t psn = 99; psn < 102; psn++)
			answer(psn, 0, t + 30 * US + psn * US);
		request(102, t + 10 * MS);
		answer(102, 0, t + 10 * MS + 10 * US);
		r = finish();
		w = qp_of(r, 0x100);
		assert_int_equal(w->missed_at_receiver.count, 0);
		assert_int_equal(w->lost.count, 1);
		assert_int_equal(w->asked_for, 1);
		assert_false(is_found(r, "missed-at-receiver"));
		rd_ends_report_free(r);
	}
}

/* Packets that only A has, out of 60: in a row, or every sixth one. All before are acknowledged. */
static enum rd_certainty certainty_of_runs(bool in_a_row)
{
	enum rd_certainty certainty;
	struct rd_ends_report *r;

	begin();
	for (uint32_t i = 0; i < 100; i++) {
		request(i, i * 10 * US);
		answer(i, 0, i * 10 * US + 5 * US);
	}
	for (uint32_t i = 0; i < 60; i++) {
		uint64_t t = MS + i * 10 * US;

		if (in_a_row ? i >= 20 && i < 30 : i % 6 == 3)
			see(RD_TAP_A, false, 100 + i, 0, t);
		else
			request(100 + i, t);
	}
	r = finish();
	assert_int_equal(qp_of(r, 0x100)->lost.count, 10);
	certainty = certainty_of(r, "lost-between");
	rd_ends_report_free(r);
	return certainty;
}

/* A capture whose buffer is full misses many packets in a row, and then no others. */
static void test_lost_in_runs(void **state)
{
	(void)state;
	assert_int_equal(certainty_of_runs(true), RD_POSSIBLE);
	assert_int_equal(certainty_of_runs(false), RD_LIKELY);
}

/* None of a QP's packets arrives: the receiver's capture may be of one direction only. */
static void test_one_direction(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	begin();
	two.directions = true;
	for (uint32_t i = 0; i < 100; i++) {
		if (i % 25 == 24) /* too few to be missed by chance */
			see(RD_TAP_A, false, i, 0, i * 100 * US);
		answer(0xff0000 + i, 0, i * 100 * US + 50 * US);
	}
	r = finish();
	assert_true(qp_of(r, 0x100)->lost.count > 2);
	assert_int_equal(certainty_of(r, "lost-between"), RD_POSSIBLE);
	rd_ends_report_free(r);
}

/* Of two packets the first one arrives last; `gap` is between them, at either end. */
static struct rd_ends_report *reordered(uint64_t gap, bool missed)
{
	begin();
	for (uint32_t i = 0; i < 100; i++) {
		request(i, i * 10 * US);
		answer(i, 0, i * 10 * US + 5 * US);
	}
	see(RD_TAP_A, false, 100, 0, MS);
	see(RD_TAP_A, false, 101, 0, MS + gap);
	see(RD_TAP_B, false, 101, 0, MS + gap + DELAY);
	see(RD_TAP_B, false, 100, 0, MS + gap + DELAY + gap);
	if (missed)
		see(RD_TAP_B, false, 102, 0, MS + 10 * US);
	request(103, MS + 20 * US);
	answer(103, 0, MS + 25 * US);
	return finish();
}

/* Equal times prove no order, nor does a capture of the sender that may lack a retransmission. */
static void test_reordered(void **state)
{
	static const struct {
		uint64_t gap;
		bool missed;
		enum rd_certainty certainty;
	} cases[] = {{US, false, RD_LIKELY}, {0, false, RD_POSSIBLE}, {US, true, RD_POSSIBLE}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rd_ends_report *r = reordered(cases[i].gap, cases[i].missed);

		assert_int_equal(qp_of(r, 0x100)->reordered, 1);
		assert_int_equal(certainty_of(r, "reordered-between"), cases[i].certainty);
		rd_ends_report_free(r);
	}
}

/*
 * Which copy of a retransmitted packet was late is unknown if delays vary by more than the time
 * between both; but the order is another one: neither capture can say that nothing was reordered.
 */
static void test_reordered_copies(void **state)
{
	struct rd_report_style style = {0};
	struct rd_ends_report *r;
	char *text = NULL;
	size_t size;
	FILE *out;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 100; i++) {
		see(RD_TAP_A, false, i, 0, i * 100 * US);
		see(RD_TAP_B, false, i, 0, i * 100 * US + (i % 2 ? DELAY : 60 * US));
		answer(i, 0, i * 100 * US + 70 * US);
	}
	see(RD_TAP_A, false, 100, 0, 20 * MS);
	see(RD_TAP_A, false, 101, 0, 20 * MS + 10 * US);
	see(RD_TAP_A, false, 100, 0, 20 * MS + 30 * US);
	see(RD_TAP_B, false, 101, 0, 20 * MS + 10 * US + DELAY);
	see(RD_TAP_B, false, 100, 0, 20 * MS + 30 * US + DELAY);
	see(RD_TAP_B, false, 100, 0, 20 * MS + 50 * US);
	answer(101, 0, 21 * MS);
	r = finish();
	assert_int_equal(qp_of(r, 0x100)->arrived, 103);
	assert_int_equal(qp_of(r, 0x100)->reordered, 0);
	assert_true(qp_of(r, 0x100)->order_unclear > 0);
	assert_int_equal(certainty_of(r, "reordered-between"), RD_POSSIBLE);
	out = open_memstream(&text, &size);
	assert_non_null(out);
	rd_ends_text(r, &style, out);
	fclose(out);
	assert_null(strstr(text, "nothing was lost"));
	free(text);
	rd_ends_report_free(r);
}

/* What the JSON has about a clock whose offset is unknown; NULL: it is known. */
static void is_unknown(const struct rd_ends_report *r, const char *why)
{
	json_t *json = rd_ends_json(r);
	const json_t *found = json_object_get(json, "clock_unknown");

	assert_non_null(found);
	assert_int_equal(json_is_null(json_object_get(json, "clock")), why != NULL);
	if (why)
		assert_string_equal(json_string_value(found), why);
	else
		assert_true(json_is_null(found));
	json_decref(json);
}

static void test_clock_without_packets(void **state)
{
	const struct rd_ends_report none = {0};

	(void)state;
	is_unknown(&none, "one_direction");
}

/* Packets that wait in a queue, or a clock that is set: then no offset fits both directions. */
static void test_clock_set(void **state)
{
	(void)state;
	for (unsigned int set = 0; set < 2; set++) {
		struct rd_ends_report *r;

		begin();
		for (uint32_t i = 0; i < 100; i++) {
			uint64_t t = i * 5 * MS;

			if (set && i > 50)
				two.ahead = 20 * MS;
			if (i == 60) { /* lost */
				see(RD_TAP_A, false, i, 0, t);
				request(i + 1, t + 10 * US);
				answer(i, 0x60, t + 20 * US);
				two.changed = 1;
				t += MS;
			}
			see(RD_TAP_A, false, i, 0, t);
			see(RD_TAP_B, false, i, 0, t + DELAY + (!set && i % 8 == 0 ? 3 * MS : 0));
			answer(i, 0, t + 4 * MS);
		}
		r = finish();
		assert_true(r->both_ways);
		assert_int_equal(r->offset_known, !set);
		is_unknown(r, set ? "no_agreement" : NULL);
		assert_int_equal(is_found(r, "delay-varies"), !set);
		if (!set)
			assert_int_equal(certainty_of(r, "delay-varies"), RD_LIKELY);
		assert_int_equal(qp_of(r, 0x100)->lost.count, 1);
		assert_int_equal(certainty_of(r, "lost-between"), set ? RD_POSSIBLE : RD_LIKELY);
		rd_ends_report_free(r);
	}
}

/* A copy by the network has the IP id of the first; a retransmission that A's capture missed has
 * another one. */
static void test_ip_ids(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 100; i++) {
		two.ip_id = i + 1;
		request(i, i * 10 * US);
		if (i == 50)
			see(RD_TAP_B, false, i, 0, i * 10 * US + DELAY + 500);
		answer(i, 0, i * 10 * US + 5 * US);
	}
	two.ip_id = 500;
	see(RD_TAP_B, false, 99, 0, 2 * MS);
	two.ip_id = 501;
	request(100, 3 * MS);
	answer(100, 0, 3 * MS + 5 * US);
	r = finish();
	assert_int_equal(qp_of(r, 0x100)->duplicated.count, 1);
	assert_int_equal(qp_of(r, 0x100)->missed.count, 1);
	assert_true(is_found(r, "duplicated-between"));
	assert_true(is_found(r, "missed-at-sender"));
	rd_ends_report_free(r);
}

/* A copy that was made in the sender, and that its capture may have once, if it misses others. */
static void test_copy_of_sender(void **state)
{
	(void)state;
	for (unsigned int missed = 0; missed < 2; missed++) {
		struct rd_ends_report *r;

		begin();
		for (uint32_t i = 0; i < 100; i++) {
			two.ip_id = i + 1;
			if (i == 30 && missed)
				see(RD_TAP_B, false, i, 0, i * 10 * US + DELAY);
			else
				request(i, i * 10 * US);
			if (i == 50)
				see(RD_TAP_B, false, i, 0, i * 10 * US + DELAY + 500);
			answer(i, 0, i * 10 * US + 5 * US);
		}
		r = finish();
		assert_int_equal(
			certainty_of(r, "duplicated-between"), missed ? RD_POSSIBLE : RD_LIKELY);
		rd_ends_report_free(r);
	}
}

/* Copies that passed before the sender's capture began: where they were made is unknown. */
static void test_copy_before(void **state)
{
	const uint64_t first[RD_TAPS] = {START + 10 * MS, START};
	struct rd_ends_report *r;

	(void)state;
	memset(&two, 0, sizeof(two));
	assert_int_equal(rd_ends_open(&two.e, first, 0, NULL), 0);
	for (unsigned int i = 0; i < 20; i++) {
		two.ip_id = 1 + i;
		see(RD_TAP_B, false, i, 0, i * 100 * US);
		if (i % 5 == 0)
			see(RD_TAP_B, false, i, 0, i * 100 * US + US);
	}
	for (unsigned int i = 0; i < 40; i++) {
		two.ip_id = 100 + i;
		request(1000 + i, 10 * MS + i * 100 * US);
		answer(1000 + i, 0, 10 * MS + i * 100 * US + 50 * US);
	}
	r = finish();
	assert_int_equal(qp_of(r, 0x100)->duplicated.count, 0);
	assert_int_equal(r->outside, 24);
	rd_ends_report_free(r);
}

/*
 * Each packet is there three times, with the same IP id: one that a capture missed looks like one
 * that was lost, or made, on the path. So that no other packet is missing proves nothing.
 */
static void test_only_copies(void **state)
{
	(void)state;
	for (unsigned int lacks = 0; lacks < RD_TAPS; lacks++) {
		const enum rd_tap whole = lacks == RD_TAP_A ? RD_TAP_B : RD_TAP_A;
		struct rd_ends_report *r;

		begin();
		two.directions = true; /* their times show no order */
		for (uint32_t i = 0; i < 60; i++) {
			for (uint32_t k = 0; k < 3; k++) {
				uint64_t t = i * MS + k * 100 * US;

				if (k == 1 && i % 6 == 5)
					see(whole, false, i, 0,
						t + (whole == RD_TAP_B ? DELAY : 0));
				else
					request(i, t);
				answer(i, 0, t + 50 * US);
			}
		}
		r = finish();
		assert_int_equal(
			certainty_of(r, lacks == RD_TAP_A ? "duplicated-between" : "lost-between"),
			RD_POSSIBLE);
		rd_ends_report_free(r);
	}
}

/* A receiver that is not ready requests a packet again that it had: nothing is lost downstream. */
static void test_not_ready(void **state)
{
	(void)state;
	for (unsigned int rnr = 0; rnr < 2; rnr++) {
		struct rd_ends_report *r;

		begin();
		two.alone = UINT64_C(1) << RD_INC_LOST_DOWNSTREAM;
		if (rnr)
			two.alone |= UINT64_C(1) << RD_INC_RNR;
		for (uint32_t i = 0; i < 100; i++) {
			request(i, i * 10 * US);
			answer(i, 0, i * 10 * US + 5 * US);
		}
		r = finish();
		assert_int_equal(certainty_of(r, "lost-downstream-of-receiver"),
			rnr ? RD_POSSIBLE : RD_LIKELY);
		rd_ends_report_free(r);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_cut_at_one_end),
		cmocka_unit_test(test_certainty),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_mirrored_twice),
		cmocka_unit_test(test_repeated_at_once),
		cmocka_unit_test(test_last_moment),
		cmocka_unit_test(test_copies_in_flight),
		cmocka_unit_test(test_many_copies),
		cmocka_unit_test(test_many_copies_missed),
		cmocka_unit_test(test_repeated_before),
		cmocka_unit_test(test_very_late),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_drift),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_first_moment),
		cmocka_unit_test(test_delivered),
		cmocka_unit_test(test_dropped_by_receiver),
		cmocka_unit_test(test_round_begins_before),
		cmocka_unit_test(test_lost_in_runs),
		cmocka_unit_test(test_one_direction),
		cmocka_unit_test(test_reordered),
		cmocka_unit_test(test_reordered_copies),
		cmocka_unit_test(test_clock_set),
		cmocka_unit_test(test_ip_ids),
		cmocka_unit_test(test_clock_without_packets),
		cmocka_unit_test(test_copy_of_sender),
		cmocka_unit_test(test_copy_before),
		cmocka_unit_test(test_only_copies),
		cmocka_unit_test(test_not_ready),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
