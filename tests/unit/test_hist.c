/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of what the analysis keeps: ranges of missing PSNs against a map of all, histograms
 * and samples against the sorted values, identifications of recent frames. */
#include "analysis/model/app.h"
#include "test.h"
#include <malloc.h>

#if !__GLIBC_PREREQ(2, 33) /* as in Debian 11 */
#define mallinfo2 mallinfo
#endif

#define PSNS   200
#define VALUES 1000

static unsigned int seed;

static unsigned int random_below(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

/* --- missing PSNs ----------------------------------------------------------------------- */

/* base: where the numbers begin, so that they also run through the end of 24 bits. */
static void assert_same(const struct seq *s, const bool *missing, uint32_t base)
{
	for (uint32_t i = 0; i < PSNS; i++)
		assert_int_equal(seq_is_hole(s, psn_add(base, i)), missing[i]);
}

static uint32_t take(bool *missing, uint32_t from, uint32_t to)
{
	uint32_t n = 0;

	for (uint32_t i = from; i < to && i < PSNS; i++) {
		n += missing[i];
		missing[i] = false;
	}
	return n;
}

static void sequence_run(uint32_t base)
{
	struct seq s = {.start = base};
	bool missing[PSNS] = {false};
	uint32_t at = 0;

	while (at + 20 < PSNS) {
		uint32_t n = random_below(12), from, len;

		/* No more holes than are kept, so that none is forgotten. */
		if (s.n_holes < HOLES / 2) {
			seq_add_hole(&s, psn_add(base, at), n);
			memset(missing + at, true, n);
			at += n;
		}
		at += 1 + random_below(3);
		from = random_below(at);
		len = 1 + random_below(6);
		if (random_below(8) == 0)
			assert_int_equal(
				seq_close(&s, psn_add(base, from)), take(missing, 0, from));
		else
			assert_int_equal(seq_fill(&s, psn_add(base, from), len),
				take(missing, from, from + len));
		assert_same(&s, missing, base);
	}
	same(seq_close(&s, psn_add(base, PSNS)), take(missing, 0, PSNS), s.n_holes, 0);
	seq_free(&s);
}

TEST(sequence)
{
	for (unsigned int run = 0; run < 400; run++) {
		seed = run;
		sequence_run(run % 2 ? 0xffffff - PSNS / 2 : run * 1000);
	}
}

/* A packet out of the middle leaves two ranges; the one behind is found again. */
TEST(split)
{
	struct seq s = {.start = 0};

	seq_add_hole(&s, 10, 10);
	expect("2 2 1 0 0 1 1", seq_fill(&s, 14, 2), s.n_holes, seq_is_hole(&s, 13),
		seq_is_hole(&s, 14), seq_is_hole(&s, 15), seq_is_hole(&s, 16), seq_is_hole(&s, 19));
	assert_false(seq_is_hole(&s, 20));
	seq_free(&s);
}

/* With too many ranges the oldest is forgotten. */
TEST(too_many)
{
	struct seq s = {.start = 0};

	for (uint32_t i = 0; i <= HOLES; i++)
		seq_add_hole(&s, 10 * i, 2);
	assert_int_equal(s.n_holes, HOLES);
	assert_false(seq_is_hole(&s, 0));
	for (uint32_t i = 1; i <= HOLES; i++)
		assert_true(seq_is_hole(&s, 10 * i + 1));
	seq_add_hole(&s, 500, 0);
	assert_int_equal(s.n_holes, HOLES);
	seq_free(&s);
}

/* --- histograms ------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Four steps per power of two: within a quarter of the value that has that rank. */
static void assert_near(uint64_t got, uint64_t want)
{
	expect("1 1", got <= want + want / 4 + 64, want <= got + got / 4 + 64);
}

static void histogram_run(unsigned int n, unsigned int bits)
{
	static uint64_t values[VALUES];
	struct hist *h = NULL;
	struct rd_latency l;

	for (unsigned int i = 0; i < n; i++) {
		values[i] = random_below(30000) * (UINT64_C(1) << random_below(bits));
		assert_true(hist_add(&h, values[i]));
	}
	qsort(values, n, sizeof(values[0]), by_value);
	l = hist_result(h);
	same(l.n, n, l.min, values[0], l.max, values[n - 1]);
	assert_near(l.p50, values[(n * 50 + 99) / 100 - 1]);
	assert_near(l.p90, values[(n * 90 + 99) / 100 - 1]);
	assert_near(l.p99, values[(n * 99 + 99) / 100 - 1]);
	assert_true(l.min <= l.p50 && l.p50 <= l.p90 && l.p90 <= l.p99 && l.p99 <= l.max);
	free(h);
}

TEST(histogram)
{
	seed = 1;
	for (unsigned int n = 1; n <= 40; n++)
		histogram_run(n, 1 + n % 20);
	histogram_run(VALUES, 1);
	histogram_run(VALUES, 20);
}

/* Few values far apart: the rank decides, not the distance. */
TEST(ranks)
{
	struct hist *h = NULL;
	struct rd_latency l;

	for (unsigned int i = 0; i < 3; i++)
		assert_true(hist_add(&h, i ? 1000000 : 100));
	l = hist_result(h);
	assert_near(l.p50, 1000000);
	free(h);
	h = NULL;
	for (unsigned int i = 0; i < 99; i++)
		assert_true(hist_add(&h, 100));
	assert_true(hist_add(&h, 1000000000));
	l = hist_result(h);
	assert_near(l.p99, 100);
	assert_int_equal(l.max, 1000000000);
	free(h);
}

/* More samples of one step than 16 bits count, beside others. */
TEST(many_of_one)
{
	struct hist *h = NULL;
	struct rd_latency l;

	assert_true(hist_add(&h, 5000));
	for (unsigned int i = 0; i < 70000; i++)
		assert_true(hist_add(&h, 1000));
	assert_true(hist_add(&h, 5000));
	l = hist_result(h);
	assert_int_equal(l.n, 70002);
	assert_near(l.p99, 1000);
	assert_int_equal(l.max, 5000);
	free(h);
}

/* Two become what one of all values is. */
TEST(joined)
{
	struct hist *all = NULL, *part[2] = {NULL, NULL};

	for (unsigned int i = 0; i < 80000; i++) {
		const uint64_t ns = i < 70000 ? 1000 : i < 70400 ? 5000 : 90000;

		assert_true(hist_add(&all, ns) && hist_add(&part[i % 2], ns));
	}
	assert_true(hist_join(&part[0], part[1]));
	assert_memory_equal(part[0], all, sizeof(*all) + all->steps * sizeof(*all->counts));
	for (unsigned int i = 0; i < 2; i++)
		free(part[i]);
	free(all);
}

/* Nothing, and what no step holds. */
TEST(ends)
{
	struct hist *h = NULL;
	struct rd_latency l = hist_result(NULL);

	expect("0 1 1", l.n, hist_add(&h, 0), hist_add(&h, UINT64_MAX));
	l = hist_result(h);
	expect("0 1", l.min, l.max == UINT64_MAX);
	free(h);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void collect_samples(void)
{
	struct samples s = {0}, more = {0};
	uint32_t budget = 65536;
	struct rd_latency l;
	bool exact;

	for (uint64_t i = 40000; i > 20000; i--)
		assert_true(samples_add(&s, i, &budget));
	for (uint64_t i = 1; i <= 20000; i++)
		assert_true(samples_add(&more, i, &budget));
	expect("0 1 1 40000 800020000 40000 1", budget, samples_join(&s, &more),
		samples_result(&s, &l, &exact) && exact, s.n, s.sum, l.n, l.min);
	expect("20000 36000 39600 40000", l.p50, l.p90, l.p99, l.max);
	while (more.n <= 32768)
		assert_true(samples_add(&more, 50000, &budget));
	expect("1 1", samples_join(&s, &more), samples_result(&s, &l, &exact) && !exact);
	same(l.n, s.n, l.max, 50000);
	samples_free(&s);
	samples_free(&more);
}

TEST(samples)
{
	size_t before = mallinfo2().hblkhd;

	mallopt(M_MMAP_THRESHOLD, 65536); /* so that it counts them apart from all that is small */
	collect_samples();
	assert_int_equal(mallinfo2().hblkhd, before);
}

/* --- recent frames ---------------------------------------------------------------------------- */

/* A later identification than that of its PSN, or if this is forgotten, of the newest frame. */
TEST(again)
{
	static const struct {
		uint32_t psn, ip_id;
		bool again;
	} is[] = {{5, 101, true}, {5, 100, false}, {5, 99, false}, {5, 0x10000, false},
		{5 + 4, 301, true}, {5 + 4, 101, false}, {6, 301, true}, {6, 101, false}};
	uint32_t values[4] = {RECENT_NONE, 5U << 16 | 100, RECENT_NONE, RECENT_NONE};
	struct flow f = {.recent = {.value = {values}, .capacity = {4}, .ip_id = 300}};
	const struct rd_opcode *op = &rd_opcodes[0x04];

	for (size_t i = 0; i < sizeof(is) / sizeof(*is); i++) {
		struct rd_packet p = {.op = op, .psn = is[i].psn};
		struct item it = {.p = &p, .ip_id = is[i].ip_id};

		assert_int_equal(flow_is_again(&f, &it), is[i].again);
	}
}
