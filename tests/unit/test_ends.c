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
	uint32_t cut;	  /* bytes at the end of its frames */
} captures;

static void put(struct rd_ends *e, enum rd_tap end, uint32_t psn, uint64_t ns)
{
	struct rd_frame frame;

	packet(psn);
	frame = make_frame(&m);
	frame.ts_ns = ns;
	if (captures.directions)
		frame.direction = end == RD_TAP_A ? RD_DIR_OUT : RD_DIR_IN;
	if (end == RD_TAP_B)
		frame.caplen -= captures.cut;
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
}

/* --- both directions -------------------------------------------------------------------------- */

#define US	1000ULL
#define REQUEST 0x04 /* RC SEND only, to QP 0x100 of 10.0.0.1 */
#define ANSWER	0x11 /* RC ACK, to QP 0x200 of 10.0.0.2 */
#define DELAY	(2 * US)

static struct two {
	struct rd_ends *e;
	double drift_ppm; /* of B */
	int64_t ahead;	  /* B's clock, which the first estimate of the offset does not know */
	unsigned int ip_id;
	uint32_t changed; /* of requests: their payload, and so their ICRC */
} two;

static const uint32_t to_qp[] = {0x100, 0x200};

static void begin(void)
{
	const uint64_t first[RD_TAPS] = {START, START};

	memset(&two, 0, sizeof(two));
	assert_int_equal(rd_ends_open(&two.e, first, 0, NULL), 0);
}

/* A packet in the file of one end, at `ns` after the start by a clock without drift. */
static void see(enum rd_tap end, bool back, uint32_t psn, uint8_t syndrome, uint64_t ns)
{
	struct rd_frame frame;

	m.n = 0;
	make_packet(&m, MAKE_V2_IPV4, back ? ANSWER : REQUEST, to_qp[back], back ? 4 : 64, 0);
	if (back) {
		memcpy(m.b + 26, "\x0a\0\0\x01\x0a\0\0\x02", 8);
		m.b[BTH + 12] = syndrome;
	}
	rd_put_be16(m.b + 14 + 4, (uint16_t)two.ip_id);
	rd_put_be32(m.b + BTH + 8, psn);
	rd_put_be32(m.b + m.n - 4, psn * 2654435761U + syndrome + (back ? 0 : two.changed));
	frame = make_frame(&m);
	frame.ts_ns = START + ns;
	if (end == RD_TAP_B)
		frame.ts_ns += (uint64_t)((int64_t)((double)ns * two.drift_ppm / 1e6) + two.ahead);
	rd_ends_frames(two.e, end, RD_LINK_ETHERNET, &frame, 1);
}

static void request(uint32_t psn, uint64_t ns)
{
	see(RD_TAP_A, false, psn, 0, ns);
	see(RD_TAP_B, false, psn, 0, ns + DELAY);
}

static void answer(uint32_t psn, uint8_t syndrome, uint64_t ns)
{
	see(RD_TAP_B, true, psn, syndrome, ns);
	see(RD_TAP_A, true, psn, syndrome, ns + DELAY);
}

/* The reports of each capture alone, which know that both QPs are a pair. */
static struct rd_ends_report *finish(void)
{
	struct rd_conversation c = {.a = {"10.0.0.2", 0x200}, .b = {"10.0.0.1", 0x100}};
	const struct rd_report alone = {.conversations = &c, .n_conversations = 1};
	const struct rd_report *const reports[RD_TAPS] = {&alone, &alone};
	struct rd_ends_report *r;

	rd_ends_file_end(two.e, RD_TAP_A);
	rd_ends_file_end(two.e, RD_TAP_B);
	assert_int_equal(rd_ends_report(two.e, reports, &r, NULL), 0);
	rd_ends_close(two.e);
	for (size_t i = 0; i < r->n_paths; i++)
		assert_true(r->paths[i].sender_known);
	return r;
}

static const struct rd_path_qp *qp_of(const struct rd_ends_report *r, uint32_t qp)
{
	for (size_t i = 0; i < r->n_paths; i++) {
		uint32_t to = r->paths[i].qps[0].qp;

		assert_int_equal(r->paths[i].sender, to == to_qp[0] ? RD_TAP_A : RD_TAP_B);
		if (to == qp)
			return &r->paths[i].qps[0];
	}
	fail_msg("QP 0x%x is not reported", qp);
	return NULL;
}

static bool is_found(const struct rd_ends_report *r, const char *rule)
{
	for (size_t i = 0; i < r->findings.n; i++)
		if (!strcmp(r->findings.finding[i].rule, rule))
			return true;
	return false;
}

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

/* Of packets with the time of a capture's last frame nobody knows whether they came before it. */
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

static enum rd_certainty certainty_of(const struct rd_ends_report *r, const char *rule)
{
	for (size_t i = 0; i < r->findings.n; i++)
		if (!strcmp(r->findings.finding[i].rule, rule))
			return r->findings.finding[i].certainty;
	fail_msg("%s is not found", rule);
	return RD_POSSIBLE;
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
		cmocka_unit_test(test_very_late),
		cmocka_unit_test(test_drift),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_first_moment),
		cmocka_unit_test(test_delivered),
		cmocka_unit_test(test_dropped_by_receiver),
		cmocka_unit_test(test_round_begins_before),
		cmocka_unit_test(test_clock_set),
		cmocka_unit_test(test_ip_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
