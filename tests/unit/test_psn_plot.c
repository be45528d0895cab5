/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* PSNs over time: steps that become longer, NAKs that are thinned, who gets a plot. */
#include "test.h"
#include "test_scene.h"

static struct scene begin_plots(void)
{
	const struct rd_analysis_config config = {
		.skip_icrc = true, .qp = RD_QP_UNKNOWN, .psn_plots = true};

	return begin_with(&config);
}

static const struct rd_psn_plot *plot_of(struct scene *s)
{
	return result(s)->side[0].psn_plot;
}

/* Whatever the time is, all packets stay in the plot, in order. */
TEST(long_time)
{
	static const uint64_t gaps[] = {1000, 700000, 333, 50000000, 2000000000};
	struct scene s = begin_plots();
	const struct rd_psn_plot *p;
	uint64_t start, width = 1000;
	int64_t next = 0;

	start = s.ns + 10000;
	for (uint32_t i = 0; i < 2000; i++) {
		sends(&s, i, i);
		s.ns += gaps[i * 5 / 2000];
	}
	width = (s.ns - gaps[4] - start) / RD_PSN_STEPS;
	p = plot_of(&s);
	same(p->start_ns, start, p->width_ns > width && p->width_ns <= 2 * width + 2, true,
		p->n > RD_PSN_STEPS / 2 && p->n <= RD_PSN_STEPS, true);
	for (unsigned int i = 0; i < p->n; i++) {
		if (p->steps[i].sent.high == RD_PSN_NONE)
			continue;
		assert_int_equal(p->steps[i].sent.low, next);
		next = p->steps[i].sent.high + 1;
	}
	assert_int_equal(next, 2000);
	end(&s);
}

TEST(many_naks)
{
	struct scene s = begin_plots();
	const struct rd_psn_plot *p;
	uint64_t step;

	for (uint32_t i = 0; i < 300; i++) {
		sends(&s, i, i);
		respond(&s, i, RNR);
		sends(&s, i, i);
		respond(&s, i, OK);
	}
	p = plot_of(&s);
	assert_int_equal(p->naks_in_all, 300);
	assert_in_range(p->n_naks, RD_PSN_NAKS / 2, RD_PSN_NAKS);
	step = (uint64_t)(p->naks[1].psn - p->naks[0].psn);
	for (unsigned int i = 0; i < p->n_naks; i++)
		same(p->naks[i].rnr, true, p->naks[i].psn, i * step);
	assert_true((p->n_naks + 1) * step > 300);
	end(&s);
}

/* A hundred requesters are there before the one in trouble: it gets the plot of another one. */
TEST(trouble_is_drawn)
{
	struct scene s = begin_plots();
	unsigned int plots = 0, late = 0;

	for (uint32_t qp = 1; qp <= 100; qp++) {
		s.qp = 0x1000 + qp;
		sends(&s, 0, qp == 100 ? 1 : 9);
	}
	s.ns += 10000000;
	sends(&s, 0, 1); /* of the last one */
	s.qp = 0;
	assert_int_equal(rd_analysis_report(s.a, &s.r, NULL), 0);
	for (size_t i = 0; i < s.r->n_conversations; i++) {
		const struct rd_conversation *c = &s.r->conversations[i];
		const struct rd_psn_plot *p = c->side[0].psn_plot;

		plots += p != NULL;
		late += p && p->late;
		if (c->end[1].qp == 0x1000 + 100) {
			assert_non_null(p);
			assert_true(p->late);
		}
	}
	expect("64 1", plots, late);
	end(&s);
}

TEST(not_asked_for)
{
	struct scene s = begin();

	sends(&s, 0, 9);
	assert_null(plot_of(&s));
	end(&s);
}
