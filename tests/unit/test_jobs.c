/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pieces of work done by several threads. */
#include "analyze/analyze.h"
#include "test.h"
#include <pthread.h>
#include <stdatomic.h>

#define PIECES 50

static atomic_uint done[PIECES];
static unsigned int fails_at[2];
static pthread_barrier_t both;

static int piece(void *ctx, unsigned int i, struct rd_error *err)
{
	atomic_fetch_add(&done[i], jobs_working() ? 1 : PIECES);
	if (i == fails_at[0] || i == fails_at[1])
		return rd_fail(err, RD_CLASS_DEVICE, 0, NULL, "piece %u", i);
	return 0;
}

/* Waits for another piece: only a second thread can bring it. */
static int meet(void *ctx, unsigned int i, struct rd_error *err)
{
	pthread_barrier_wait(&both);
	return 0;
}

static const struct job_kind kind = {"testing", piece}, meeting = {"meeting", meet};

TEST(each_piece_is_done_once)
{
	fails_at[0] = fails_at[1] = PIECES;
	for (unsigned int threads = 1; threads <= 2 * PIECES; threads += 33) {
		memset(done, 0, sizeof(done));
		assert_int_equal(jobs_run(&kind, NULL, PIECES, threads, &failure), 0);
		for (unsigned int i = 0; i < PIECES; i++)
			assert_int_equal(done[i], 1);
	}
	expect("0 0", jobs_run(&kind, NULL, 0, 4, &failure), jobs_working());
}

TEST(several_at_once)
{
	pthread_barrier_init(&both, NULL, 2);
	assert_int_equal(jobs_run(&meeting, NULL, 2, 2, &failure), 0);
	pthread_barrier_destroy(&both);
}

TEST(the_error_is_that_of_the_first_piece_that_fails)
{
	fails_at[0] = 7;
	fails_at[1] = 6;
	for (unsigned int round = 0; round < 200; round++) {
		assert_int_equal(jobs_run(&kind, NULL, PIECES, 1 + round % 8, &failure), -1);
		assert_string_equal(failure.text, "piece 6");
	}
	/* One thread does nothing after it. */
	memset(done, 0, sizeof(done));
	expect("-1 1 0", jobs_run(&kind, NULL, PIECES, 1, &failure), done[6], done[7]);
}
