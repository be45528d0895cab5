/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Intervals and opcodes against a recount: boundaries, clocks set back, too many intervals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_scene.h"

#define US 1000
#define MS 1000000

static struct scene begin_intervals(uint64_t width_ns)
{
	const struct rd_analysis_config config = {
		.skip_icrc = true, .qp = RD_QP_UNKNOWN, .interval_ns = width_ns, .opcodes = true};

	return begin_with(&config);
}

static const struct rd_intervals *intervals_of(struct scene *s)
{
	assert_int_equal(rd_analysis_report(s->a, &s->r, NULL), 0);
	return &s->r->intervals;
}

/* A request at this time. */
static void send_at(struct scene *s, uint64_t ns, uint32_t psn)
{
	s->ns = ns - 10000; /* put() adds this */
	sends(s, psn, psn);
}

static void boundaries(void **state)
{
	static const uint64_t at[] = {0, 1, MS - 1, MS, 2 * MS, 5 * MS + 1, 6 * MS - 1};
	static const uint64_t want[] = {3, 1, 1, 0, 0, 2};
	struct scene s = begin_intervals(MS);
	const struct rd_intervals *v;

	(void)state;
	for (uint32_t i = 0; i < sizeof(at) / sizeof(*at); i++)
		send_at(&s, 7777 * (uint64_t)US + at[i], i);
	v = intervals_of(&s);
	assert_int_equal(v->n, 6);
	assert_int_equal(v->width_ns, MS);
	assert_int_equal(v->start_ns, 7777 * (uint64_t)US);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(v->rows[i].frames, want[i]);
		assert_int_equal(v->rows[i].rdma_frames, want[i]);
		assert_int_equal(v->rows[i].wire_bytes * 7, want[i] * s.r->totals.wire_bytes);
	}
	end(&s);
}

/* A frame belongs to the interval of its time, wherever it is in the file. */
static void clock_set_back(void **state)
{
	struct scene s = begin_intervals(MS);
	const struct rd_intervals *v;

	(void)state;
	send_at(&s, 100 * MS, 0);
	send_at(&s, 103 * MS, 1);
	send_at(&s, 101 * MS + 5, 2);
	send_at(&s, 50 * MS, 3); /* before the first one */
	send_at(&s, 103 * MS + 1, 4);
	v = intervals_of(&s);
	assert_int_equal(v->n, 4);
	assert_int_equal(v->rows[0].frames, 2);
	assert_int_equal(v->rows[1].frames, 1);
	assert_int_equal(v->rows[2].frames, 0);
	assert_int_equal(v->rows[3].frames, 2);
	end(&s);
}

/* Each incident is in the interval of the frame that shows it. */
static void incidents(void **state)
{
	struct scene s = begin_intervals(MS);
	const struct rd_intervals *v;

	(void)state;
	send_at(&s, MS, 0);
	send_at(&s, MS + 50 * US, 1);
	send_at(&s, MS + 90 * US, 3);
	s.ns = 2 * MS;
	respond(&s, ACK, 2, NAK_SEQ);
	s.ns = 3 * MS;
	sends(&s, 2, 3);
	s.tos = 3;
	sends(&s, 4, 5);
	s.tos = 0;
	s.ns = 5 * MS;
	put(&s, true, CNP, 0, NULL, 16);
	respond(&s, ACK, 5, RNR);
	respond(&s, ACK, 5, RNR);
	v = intervals_of(&s);
	assert_int_equal(v->n, 5);
	assert_int_equal(v->rows[1].nak, 1);
	assert_int_equal(v->rows[2].retransmitted, 2);
	assert_int_equal(v->rows[2].ce, 2);
	assert_int_equal(v->rows[4].cnp, 1);
	assert_int_equal(v->rows[4].rnr, 2);
	for (size_t i = 0; i < 5; i++) {
		const struct rd_interval *x = &v->rows[i];

		assert_int_equal(x->nak, i == 1);
		assert_int_equal(x->retransmitted, i == 2 ? 2 : 0);
		assert_int_equal(x->ce, i == 2 ? 2 : 0);
		assert_int_equal(x->cnp, i == 4);
		assert_int_equal(x->rnr, i == 4 ? 2 : 0);
	}
	end(&s);
}

/* Without an IP identification, so that late packets and retransmissions look the same. */
static void send_without_id(struct scene *s, uint32_t psn)
{
	s->ip_id = UINT16_MAX;
	sends(s, psn, psn);
}

/* What was taken for a retransmission was the first copy, late: the round began one later. */
static void taken_back(void **state)
{
	struct scene s = begin_intervals(MS);
	const struct rd_intervals *v;

	(void)state;
	s.ns = MS;
	send_without_id(&s, 0);
	send_without_id(&s, 1);
	send_without_id(&s, 3);
	respond(&s, ACK, 2, NAK_SEQ);
	s.ns = 2 * MS - 100000;
	send_without_id(&s, 2);
	s.ns = 2 * MS + 100000;
	send_without_id(&s, 2);
	send_without_id(&s, 3);
	v = intervals_of(&s);
	assert_int_equal(count(&s.r->conversations[0], RD_INC_REORDERED), 1);
	assert_int_equal(count(&s.r->conversations[0], RD_INC_RETRANSMITTED), 2);
	assert_int_equal(v->n, 2);
	assert_int_equal(v->rows[0].retransmitted, 0);
	assert_int_equal(v->rows[1].retransmitted, 2);
	end(&s);
}

/* --- random traffic --------------------------------------------------------------------------- */

#define FRAMES 4000

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* Retransmissions, late packets, NAKs and RNR NAKs at random times; the times are kept. */
static void random_frames(struct scene *s, uint32_t seed, uint64_t step, uint64_t *times)
{
	uint32_t psn = 0;

	for (unsigned int i = 0; i < FRAMES; i++) {
		uint32_t what = random_next(&seed) % 16, back = random_next(&seed) % 8;
		uint64_t ns = s->ns + random_next(&seed) * step;

		if (random_next(&seed) % 64 == 0 && ns > 300000)
			ns -= 250000;
		s->ns = ns;
		if (what == 0)
			respond(s, ACK, psn - back, NAK_SEQ);
		else if (what == 1)
			respond(s, ACK, psn - back, RNR);
		else if (what == 2)
			respond(s, ACK, psn - 1, OK);
		else if (what < 7)
			sends(s, psn - back, psn - back);
		else {
			psn += what == 7 ? back : 1;
			sends(s, psn - 1, psn - 1);
		}
		times[i] = s->ns;
	}
}

static void same_sums(struct scene *s, const uint64_t *times)
{
	const struct rd_intervals *v = &s->r->intervals;
	uint64_t *frames = calloc(v->n, sizeof(*frames));
	uint64_t retransmitted = 0, rnr = 0, naks = 0;
	struct rd_interval sum = {0};

	for (unsigned int i = 0; i < FRAMES; i++) {
		uint64_t at = times[i] < times[0] ? 0 : (times[i] - times[0]) / v->width_ns;

		assert_true(at < v->n);
		frames[at]++;
	}
	for (size_t i = 0; i < v->n; i++) {
		assert_int_equal(v->rows[i].frames, frames[i]);
		sum.wire_bytes += v->rows[i].wire_bytes;
		sum.retransmitted += v->rows[i].retransmitted;
		sum.rnr += v->rows[i].rnr;
		sum.nak += v->rows[i].nak;
	}
	for (size_t i = 0; i < s->r->n_conversations; i++)
		for (unsigned int k = 0; k < 2; k++) {
			const struct rd_side *side = &s->r->conversations[i].side[k];

			retransmitted += rd_side_incident(side, RD_INC_RETRANSMITTED)->count;
			rnr += rd_side_incident(side, RD_INC_RNR)->count;
			naks += rd_side_incident(side, RD_INC_NAK_SEQUENCE)->count;
		}
	assert_int_equal(sum.wire_bytes, s->r->totals.wire_bytes);
	assert_int_equal(sum.retransmitted, retransmitted);
	assert_int_equal(sum.rnr, rnr);
	assert_int_equal(sum.nak, naks);
	assert_true(retransmitted > 100 && rnr > 10 && naks > 10);
	free(frames);
}

static void random_traffic(void **state)
{
	static const struct {
		uint64_t width, step;
		bool too_many;
	} cases[] = {{MS, 0, false}, {3 * MS + 7, 1, false}, {123 * (uint64_t)US, 3, true},
		{1, 0, true}, {US, 1000, true}};
	uint64_t *times = calloc(FRAMES, sizeof(*times));

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		const size_t c = i % (sizeof(cases) / sizeof(*cases));
		struct scene s = begin_intervals(cases[c].width);
		struct rd_report *early;

		random_frames(&s, i, cases[c].step, times);
		if (i % 2) { /* a look changes nothing */
			assert_int_equal(rd_analysis_look(s.a, &early, NULL), 0);
			rd_report_free(early);
		}
		intervals_of(&s);
		assert_int_equal(s.r->intervals.wanted_ns, cases[c].width);
		assert_int_equal(s.r->intervals.width_ns != cases[c].width, cases[c].too_many);
		assert_int_equal(s.r->intervals.width_ns % cases[c].width, 0);
		assert_true(s.r->intervals.n <= RD_INTERVALS_MAX);
		assert_true(!cases[c].too_many || s.r->intervals.n > RD_INTERVALS_MAX / 2);
		same_sums(&s, times);
		end(&s);
	}
	free(times);
}

/* --- opcodes ---------------------------------------------------------------------------------- */

static void opcodes(void **state)
{
	struct scene s = begin_intervals(MS);
	const struct rd_opcode_use *u;
	uint64_t bytes = 0;

	(void)state;
	sends(&s, 0, 9);
	respond(&s, ACK, 9, OK);
	respond(&s, ACK, 9, OK);
	intervals_of(&s);
	u = &s.r->opcodes[SEND_ONLY];
	assert_int_equal(u->frames, 10);
	assert_int_equal(u->payload_bytes, 10 * 1024);
	assert_int_equal(u->first_frame, 1);
	assert_int_equal(u->last_frame, 10);
	u = &s.r->opcodes[ACK];
	assert_int_equal(u->frames, 2);
	assert_int_equal(u->payload_bytes, 0);
	assert_int_equal(u->first_frame, 11);
	for (unsigned int i = 0; i < 256; i++)
		bytes += s.r->opcodes[i].wire_bytes;
	assert_int_equal(bytes, s.r->totals.wire_bytes);
	end(&s);
}

static void not_asked_for(void **state)
{
	struct scene s = begin();

	(void)state;
	sends(&s, 0, 9);
	result(&s);
	assert_null(s.r->opcodes);
	assert_int_equal(s.r->intervals.width_ns, 0);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boundaries),
		cmocka_unit_test(clock_set_back),
		cmocka_unit_test(incidents),
		cmocka_unit_test(taken_back),
		cmocka_unit_test(random_traffic),
		cmocka_unit_test(opcodes),
		cmocka_unit_test(not_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
