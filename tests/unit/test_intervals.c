/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Intervals of random traffic against a recount: clocks set back, too many intervals. */
#include "test.h"
#include "test_scene.h"

#define US 1000
#define MS 1000000

static struct scene begin_intervals(uint64_t width_ns)
{
	const struct rd_analysis_config config = {
		.skip_icrc = true, .qp = RD_QP_UNKNOWN, .interval_ns = width_ns};

	return begin_with(&config);
}

static const struct rd_intervals *intervals_of(struct scene *s)
{
	assert_int_equal(rd_analysis_report(s->a, &s->r, NULL), 0);
	return &s->r->intervals;
}

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
			respond(s, psn - back, NAK_SEQ);
		else if (what == 1)
			respond(s, psn - back, RNR);
		else if (what == 2)
			respond(s, psn - 1, OK);
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
	same(sum.wire_bytes, s->r->totals.wire_bytes, sum.retransmitted, retransmitted, sum.rnr,
		rnr, sum.nak, naks);
	assert_true(retransmitted > 100 && rnr > 10 && naks > 10);
	free(frames);
}

TEST(random_traffic)
{
	static const struct {
		uint64_t width, step;
		bool too_many;
	} cases[] = {{MS, 0, false}, {3 * MS + 7, 1, false}, {123 * (uint64_t)US, 3, true},
		{1, 0, true}, {US, 1000, true}};
	uint64_t *times = calloc(FRAMES, sizeof(*times));

	for (uint32_t i = 0; i < 100; i++) {
		const size_t c = i % (sizeof(cases) / sizeof(*cases));
		struct scene s = begin_intervals(cases[c].width);

		random_frames(&s, i, cases[c].step, times);
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
