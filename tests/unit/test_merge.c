/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The merge: order of timestamps over feeds, watermarks, late frames, rotation, tallies. */
#include "sink/merge.h"
#include "test.h"
#include "test_feed.h"

#define FEEDS_MAX 8
#define CHUNKS	  8
#define ROOM	  ((size_t)64 << 10)
#define LONG_RUN  (32768 / RECORD_BYTES + 1) /* records that are not copied */

static struct feeds {
	struct rd_encoder e;
	struct rd_feed feed[FEEDS_MAX];
	struct merge m;
	unsigned int n;
} t;
static struct seen seen;

static int end(void **state)
{
	merge_fini(&t.m);
	for (unsigned int i = 0; i < t.n; i++)
		feed_fini(&t.feed[i]);
	return 0;
}

/* Ends the merge before it, too. */
static void begin_with(unsigned int n, unsigned int n_ifaces, const char *format)
{
	end(NULL);
	memset(&t, 0, sizeof(t));
	seen.n = 0;
	t.n = n;
	encoder_make(&t.e, format, n_ifaces);
	for (unsigned int i = 0; i < n; i++)
		feed_make(&t.feed[i], NULL, CHUNKS, ROOM);
	if (merge_init(&t.m, &t.e, t.feed, n, ROOM, &failure) < 0)
		fail_msg("%s", failure.text);
}

static void begin(unsigned int n)
{
	begin_with(n, 1, "pcapng");
}

/* A chunk with these timestamps into the feed. */
static void put(unsigned int feed, const uint64_t *ns, size_t n)
{
	struct rd_chunk *c = rd_feed_get(&t.feed[feed]);

	assert_non_null(c);
	for (size_t i = 0; i < n; i++)
		assert_true(chunk_add(&t.e, c, ns[i], 0));
	rd_feed_put(&t.feed[feed], c);
}
#define PUT(feed, ...)                                                                             \
	put(feed, (const uint64_t[]){__VA_ARGS__},                                                 \
		sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void put_run(unsigned int feed, uint64_t first, uint64_t step, size_t n)
{
	uint64_t ns[1000];

	assert_true(n <= 1000);
	for (size_t i = 0; i < n; i++)
		ns[i] = first + i * step;
	put(feed, ns, n);
}

/* Reads all available records into `seen`; returns the number of pieces. */
static unsigned int take_all(bool all)
{
	const struct rd_chunk *c;
	unsigned int pieces = 0;

	while ((c = merge_next(&t.m, all))) {
		assert_true(c->used <= ROOM);
		seen_add(&seen, &t.e, c);
		pieces++;
	}
	return pieces;
}

static void assert_seen(const uint64_t *ns, size_t n)
{
	assert_int_equal(seen.n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(seen.ns[i], ns[i]);
}
#define SEEN(...)                                                                                  \
	assert_seen((const uint64_t[]){__VA_ARGS__},                                               \
		sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void assert_in_order(void)
{
	for (size_t i = 1; i < seen.n; i++)
		assert_true(seen.ns[i - 1] <= seen.ns[i]);
}

/* --- order ------------------------------------------------------------------------------ */

TEST(order)
{
	begin(3);
	PUT(0, 1, 4, 7);
	PUT(1, 2, 5, 8);
	PUT(2, 3, 6, 9);
	/* One piece: interleaved records are gathered. */
	assert_int_equal(take_all(true), 1);
	SEEN(1, 2, 3, 4, 5, 6, 7, 8, 9);
	same(t.m.late, 0, merge_state(&t.m), MERGE_EMPTY);
}

/* Chunk after chunk of one feed, while another has a single old record. */
TEST(chunk_after_chunk)
{
	begin(2);
	PUT(0, 10, 11);
	PUT(0, 12, 20);
	PUT(0, 21);
	PUT(1, 15);
	take_all(true);
	SEEN(10, 11, 12, 15, 20, 21);
	/* All chunks went back. */
	for (unsigned int i = 0; i < CHUNKS; i++)
		assert_non_null(rd_feed_get(&t.feed[0]));
}

/* Each format returns a record's timestamp with the precision that it stores. */
TEST(formats)
{
	static const char *const formats[] = {"pcapng", "pcap", "pcap-us", "erf"};
	const uint64_t second = 1000000000, unit = 1000;

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		begin_with(2, 1, formats[i]);
		PUT(0, second - 2 * unit, second + unit, 3 * second);
		PUT(1, second - unit, second + 2 * unit, 5 * second);
		take_all(true);
		SEEN(second - 2 * unit, second - unit, second + unit, second + 2 * unit, 3 * second,
			5 * second);
	}
}

/* --- watermarks ------------------------------------------------------------------------- */

TEST(held)
{
	begin(2);
	assert_int_equal(merge_state(&t.m), MERGE_EMPTY);
	assert_null(merge_next(&t.m, false));
	PUT(0, 10, 20, 30);
	/* The other feed has set no watermark. */
	same(merge_state(&t.m), MERGE_WAITING, take_all(false), 0);
	rd_feed_watermark(&t.feed[1], 9);
	same(merge_state(&t.m), MERGE_WAITING, take_all(false), 0);
	/* Up to the watermark, inclusive. */
	rd_feed_watermark(&t.feed[1], 10);
	assert_int_equal(merge_state(&t.m), MERGE_READY);
	take_all(false);
	SEEN(10);
	PUT(1, 15);
	take_all(false);
	SEEN(10, 15);
	assert_int_equal(merge_state(&t.m), MERGE_WAITING);
	rd_feed_watermark(&t.feed[1], 29);
	take_all(false);
	SEEN(10, 15, 20);
	rd_feed_watermark(&t.feed[1], UINT64_MAX);
	take_all(false);
	SEEN(10, 15, 20, 30);
	same(merge_state(&t.m), MERGE_EMPTY, t.m.late, 0);
}

/* Of three feeds the lowest watermark counts, in whatever order they are read. */
TEST(least_watermark)
{
	for (unsigned int owner = 0; owner < 3; owner++) {
		begin(3);
		rd_feed_watermark(&t.feed[(owner + 1) % 3], 12);
		rd_feed_watermark(&t.feed[(owner + 2) % 3], 22);
		PUT(owner, 11, 13, 21, 23);
		take_all(false);
		SEEN(11);
		rd_feed_watermark(&t.feed[(owner + 1) % 3], 100);
		take_all(false);
		SEEN(11, 13, 21);
	}
}

TEST(want)
{
	begin(4);
	rd_feed_watermark(&t.feed[1], 100);
	rd_feed_watermark(&t.feed[2], 99);
	PUT(0, 100);
	PUT(3, 200);
	assert_int_equal(merge_state(&t.m), MERGE_WAITING);
	merge_request(&t.m);
	/* A watermark is requested only of the feed that delays the oldest record. */
	expect("0 0 100 0", rd_feed_requested(&t.feed[0]), rd_feed_requested(&t.feed[1]),
		rd_feed_requested(&t.feed[2]), rd_feed_requested(&t.feed[3]));
	rd_feed_watermark(&t.feed[2], 100);
	assert_int_equal(merge_state(&t.m), MERGE_READY);
}

TEST(pressed)
{
	begin(2);
	for (unsigned int i = 0; i < CHUNKS / 4; i++)
		PUT(1, 10 + i);
	assert_false(merge_under_pressure(&t.m));
	PUT(1, 20);
	assert_true(merge_under_pressure(&t.m));
}

/* --- late frames ------------------------------------------------------------------------ */

TEST(late)
{
	begin(2);
	rd_feed_watermark(&t.feed[1], 50);
	PUT(0, 10, 20, 30);
	take_all(false);
	SEEN(10, 20, 30);
	assert_int_equal(t.m.late, 0);
	/* A record older than its feed's watermark: written on arrival, and counted. */
	PUT(1, 25);
	rd_feed_watermark(&t.feed[0], 100);
	take_all(false);
	SEEN(10, 20, 30, 25);
	assert_int_equal(t.m.late, 1);
	/* A record as new as the newest is not late; and each is counted once. */
	PUT(1, 30, 31);
	take_all(true);
	SEEN(10, 20, 30, 25, 30, 31);
	assert_int_equal(t.m.late, 1);
	/* A feed's own disorder is kept, and delays no other feed. */
	PUT(1, 5, 32);
	PUT(0, 31);
	take_all(true);
	SEEN(10, 20, 30, 25, 30, 31, 31, 5, 32);
	assert_int_equal(t.m.late, 1);
}

/* An impossible timestamp delays neither its feed's frames nor the others'. */
TEST(implausible)
{
	struct rd_chunk *c;

	begin(2);
	c = rd_feed_get(&t.feed[0]);
	assert_non_null(c);
	expect("1 1 1 1", chunk_add(&t.e, c, 10, 0), chunk_add(&t.e, c, 3600000000010, 0),
		chunk_add(&t.e, c, 20, 0), chunk_add(&t.e, c, 30, 0));
	c->marked = true;
	rd_feed_put(&t.feed[0], c);
	PUT(1, 5, 15, 25, 35);
	take_all(true);
	SEEN(5, 10, 3600000000010, 15, 20, 25, 30, 35);
	expect("0 35", t.m.late, t.m.newest);
}

/* --- pieces ----------------------------------------------------------------------------- */

/* A long run is written from its chunk, which is then returned. */
TEST(long_run)
{
	const struct rd_chunk *c;
	struct rd_chunk *theirs;

	begin(2);
	PUT(1, 1, 5000);
	put_run(0, 1000, 1, LONG_RUN);
	c = merge_next(&t.m, true);
	expect("1 1", c->frames, c->first_ns);
	theirs = t.m.head[0].chunk;
	c = merge_next(&t.m, true);
	assert_int_equal(c->frames, LONG_RUN);
	assert_ptr_equal(c->data, theirs->data);
	same(c->first_ns, 1000, c->last_ns, 1000 + LONG_RUN - 1, c->used, theirs->used);
	/* It is still being written. */
	assert_null(rd_ring_take(&t.feed[0].free));
	c = merge_next(&t.m, true);
	assert_ptr_equal(rd_ring_take(&t.feed[0].free), theirs);
	expect("1 5000", c->frames, c->first_ns);
	assert_null(merge_next(&t.m, true));
}

/* A long run that the other feed cuts: its rest follows, and the chunk goes back once. */
TEST(long_run_cut)
{
	begin(2);
	put_run(0, 1000, 10, LONG_RUN + 50);
	PUT(1, 1000 + 10 * LONG_RUN + 5);
	take_all(true);
	assert_int_equal(seen.n, LONG_RUN + 51);
	assert_in_order();
	assert_non_null(rd_ring_take(&t.feed[0].free));
	assert_null(rd_ring_take(&t.feed[0].free));
}

/* Many short runs: a piece is never longer than the buffer, and nothing is lost. */
TEST(room)
{
	begin(2);
	for (unsigned int i = 0; i < 3; i++) {
		put_run(0, 1000 + i * 1200, 2, 600);
		put_run(1, 1001 + i * 1200, 2, 600);
	}
	expect("1 3600", take_all(true) > 4, seen.n);
	for (size_t i = 0; i < seen.n; i++)
		assert_int_equal(seen.ns[i], 1000 + i);
}

/* --- rotation --------------------------------------------------------------------------- */

/* A new file begins with the first record that is not older than the moment asked for. */
TEST(rotate)
{
	const struct rd_chunk *c;

	begin(2);
	merge_rotate(&t.m, 30);
	PUT(0, 10, 29, 30, 31);
	PUT(1, 20, 40);
	c = merge_next(&t.m, true);
	assert_false(c->rotate);
	seen_add(&seen, &t.e, c);
	SEEN(10, 20, 29);
	c = merge_next(&t.m, true);
	assert_true(c->rotate);
	seen_add(&seen, &t.e, c);
	SEEN(10, 20, 29, 30, 31, 40);
	assert_null(merge_next(&t.m, true));
}

TEST(rotates)
{
	unsigned int turns = 0;
	const struct rd_chunk *c;

	begin(2);
	/* Two requests for the same record make one file; further ones wait as there is room. */
	merge_rotate(&t.m, 5);
	for (uint64_t i = 0; i < MERGE_ROTATIONS + 10; i++)
		merge_rotate(&t.m, 10 + i);
	PUT(0, 9);
	put_run(1, 10, 1, MERGE_ROTATIONS + 20);
	while ((c = merge_next(&t.m, true))) {
		turns += c->rotate;
		seen_add(&seen, &t.e, c);
	}
	same(turns, MERGE_ROTATIONS, seen.n, MERGE_ROTATIONS + 21);
	assert_in_order();
}

/* --- tallies ---------------------------------------------------------------------------- */

static void put_tally(
	unsigned int feed, uint64_t ns, uint16_t iface, uint64_t filtered, uint64_t dropped)
{
	struct rd_chunk *c = rd_feed_get(&t.feed[feed]);

	assert_true(chunk_add(&t.e, c, ns, iface));
	c->tally[iface].filtered = filtered;
	c->tally[iface].dropped = dropped;
	rd_feed_put(&t.feed[feed], c);
}

/* A chunk's tally is that of its end, since the start; the sum is that of the pieces returned. */
TEST(tally)
{
	begin_with(2, 2, "pcapng");
	put_tally(0, 10, 0, 5, 1);
	put_tally(1, 11, 1, 100, 0);
	put_tally(0, 12, 0, 7, 4);
	take_all(true);
	expect("2 1 7 4", t.m.out.tally[0].encoded, t.m.out.tally[1].encoded,
		t.m.out.tally[0].filtered, t.m.out.tally[0].dropped);
	expect("100 0", t.m.out.tally[1].filtered, t.m.out.tally[1].dropped);
}

/* A format that knows one interface only. */
TEST(tally_of_one)
{
	begin_with(2, 2, "pcap");
	PUT(0, 10, 12);
	PUT(1, 11);
	take_all(true);
	SEEN(10, 11, 12);
	assert_int_equal(t.m.out.tally[0].encoded, 3);
}

/* --- anything --------------------------------------------------------------------------- */

static unsigned int seed;

static unsigned int random_below(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

/* Feeds of different speed, random chunks and watermarks: all records, in order. */
static void random_run(unsigned int n)
{
	uint64_t now[FEEDS_MAX], ns[300];
	size_t put_in_all = 0;

	begin(n);
	for (unsigned int i = 0; i < n; i++)
		now[i] = 1000 + random_below(50);
	for (unsigned int step = 0; step < 400; step++) {
		unsigned int i = random_below(n), count = 1 + random_below(i ? 20 : 300);

		if (random_below(3) == 0) {
			rd_feed_watermark(&t.feed[i], now[i]);
		} else if (rd_ring_used(&t.feed[i].full) < CHUNKS - 2) {
			for (unsigned int k = 0; k < count; k++)
				ns[k] = now[i] += random_below(i == 1 ? 300 : 30);
			put(i, ns, count);
			put_in_all += count;
		}
		take_all(false);
	}
	take_all(true);
	assert_int_equal(seen.n, put_in_all);
	assert_in_order();
	assert_int_equal(t.m.late, 0);
}

TEST(random)
{
	for (unsigned int run = 0; run < 12; run++) {
		seed = run + 1;
		random_run(2 + run % (FEEDS_MAX - 1));
	}
}

ALL_TESTS_WITH(NULL, end)
