/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of the engine: how a capture starts, ends and drains, with one thread and several. */
#define CHUNK ((size_t)64 << 10)

#include "sink/merge.h"
#include "test.h"
#include "test_capture.h"

/* --- starting --------------------------------------------------------------------------- */

/* Sources that were started are stopped, the others are not; with threads and without. */
static void start_fails(unsigned int n_threads)
{
	begin(3, 100, 3, 4);
	config.n_threads = n_threads;
	fakes[1].refuses = true;
	expect("-1 the fake refuses; try another", capture_run(), error.text);
	assert_int_equal(error.class, RD_CLASS_DEVICE);
	expect("1 1 0 0 0 0", fakes[0].starts, fakes[0].stops, fakes[1].stops, fakes[2].starts,
		fakes[2].stops, delivered());
}

TEST(start_fails)
{
	start_fails(0);
	start_fails(3);
}

static int refuse(void *ctx, struct rd_error *err)
{
	++*(unsigned int *)ctx;
	return rd_fail(err, RD_CLASS_OUTPUT, 0, NULL, "the caller refuses");
}

TEST_CAPTURE(started_fails)
{
	for (unsigned int n_threads = 0; n_threads <= 2; n_threads += 2) {
		unsigned int calls = 0;

		begin(2, 100, 2, 4);
		config.n_threads = n_threads;
		config.started = refuse;
		config.started_ctx = &calls;
		expect("-1 the caller refuses 1", capture_run(), error.text, calls);
		for (unsigned int i = 0; i < 2; i++)
			expect("1 1 0", fakes[i].starts, fakes[i].stops, fakes[i].given);
	}
}

static int count_started(void *ctx, struct rd_error *err)
{
	*(unsigned int *)ctx += fakes[0].starts + fakes[1].starts;
	return 0;
}

/* Called once, after all have started and before the first receive. */
TEST_CAPTURE(started)
{
	unsigned int calls = 0;

	begin(2, 10, 1, 4);
	fakes[0].ends = fakes[1].ends = true;
	config.started = count_started;
	config.started_ctx = &calls;
	expect("0 2", capture_run(), calls);
}

/* --- ends ------------------------------------------------------------------------------- */

static void assert_stopped(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(fakes[i].stops, 1);
}

/* When the last source ends, and not before. */
TEST_CAPTURE(sources_end)
{
	for (unsigned int n_threads = 0; n_threads <= 3; n_threads += 3) {
		begin(3, 500, 3, 8);
		config.n_threads = n_threads;
		for (unsigned int i = 0; i < 3; i++)
			fakes[i].ends = true;
		fakes[1].total = 3;
		fakes[2].total = 0;
		same(capture_run(), 0, capture.end, RD_END_SOURCE,
			rd_capture_total(&capture).encoded, 503, capture.bytes,
			503 * 2 * FRAME_BYTES);
		assert_true(capture.end_ns >= capture.start_ns && capture.start_ns > 0);
		assert_accounted();
		assert_stopped(3);
		for (unsigned int i = 0; i < 3; i++)
			feed_drain(&feeds[i]);
		assert_int_equal(seen.n, 503);
	}
}

/* Frames that arrived before the sources were stopped are received. */
TEST_CAPTURE(watch_ends_and_drains)
{
	for (unsigned int n_threads = 0; n_threads <= 2; n_threads++) {
		begin(2, 300, 2, 16);
		config.n_threads = n_threads;
		fakes[0].done_fd = watch.fd;
		fakes[0].behind = 1000;
		fakes[1].behind = 70;
		same(capture_run(), 0, capture.end, RD_END_WATCH);
		assert_accounted();
		assert_stopped(2);
		for (unsigned int i = 0; i < 2; i++) {
			assert_int_equal(fakes[i].given, fakes[i].total + fakes[i].behind);
			feed_drain(&feeds[i]);
		}
		assert_int_equal(seen.n, 1670);
		/* Reported at the end: no frame follows. */
		assert_int_equal(feeds[0].watermark, UINT64_MAX);
	}
}

/* A fault: the frames of the other source are received, and the error is that of the fault. */
TEST_CAPTURE(fault)
{
	for (unsigned int n_threads = 0; n_threads <= 2; n_threads += 2) {
		begin(2, 300, 2, 16);
		config.n_threads = n_threads;
		fakes[0].fault_after = 128;
		fakes[1].behind = 100;
		same(capture_run(), -1, capture.end, RD_END_FAULT, error.text,
			"the fake fails; look at it", error.class, RD_CLASS_PARTIAL);
		expect("1 128 400", fakes[0].faults, fakes[0].given, fakes[1].given);
		assert_accounted();
		assert_stopped(2);
	}
}

/* --- limits ----------------------------------------------------------------------------- */

/* Idle behind `total` frames: a limit that is reached but not noticed hangs. */
static void limited(uint64_t total, unsigned int batch, uint64_t limit, unsigned int n_threads)
{
	unsigned int n = n_threads ? n_threads : 2;
	uint64_t in_file;

	begin(n, total, n, 16);
	config.n_threads = n_threads;
	config.max_frames = limit;
	for (unsigned int i = 0; i < n; i++) {
		fakes[i].batch = batch;
		fakes[i].behind = 1000;
	}
	same(capture_run(), 0, capture.end, RD_END_COUNT, rd_capture_total(&capture).encoded,
		limit);
	/* Frames after the limit count as if they had not arrived. */
	assert_int_equal(delivered(), limit);
	assert_accounted();
	for (unsigned int i = 0; i < n; i++)
		feed_drain(&feeds[i]);
	in_file = seen.n;
	assert_int_equal(in_file, limit);
}

TEST(limit)
{
	static const unsigned int batches[] = {1, 7, 10, RD_BATCH};

	for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
		unsigned int batch = batches[i];

		limited(5, batch, 10, 0); /* exactly as many as there are */
		limited(5, batch, 9, 0);
		limited(5, batch, 1, 0);
		limited(1000, batch, 130, 0);
		limited(1000, batch, 2000, 0);
		limited(100, batch, 400, 4);
		limited(1000, batch, 399, 4);
	}
}

/* What is filtered does not count. */
TEST_CAPTURE(limit_counts_what_is_kept)
{
	const struct rd_filter_spec spec = {.host = "52:54:00:00:00:03"};
	struct rd_filter *filters[1];

	for (uint64_t limit = 49; limit <= 50; limit++) {
		begin(1, 100, 1, 8);
		assert_int_equal(
			rd_filter_compile(&filters[0], &spec, RD_LINK_ETHERNET, &error), 0);
		config.filters = filters;
		config.max_frames = limit;
		fakes[0].batch = 10;
		same(capture_run(), 0, capture.end, RD_END_COUNT,
			rd_capture_total(&capture).encoded, limit,
			rd_capture_total(&capture).filtered, 50);
		assert_accounted();
		rd_filter_free(filters[0]);
	}
}

/* The other counts are also those of the frames up to the limit. */
TEST_CAPTURE(limit_accounts_for_its_frames)
{
	for (unsigned int limit = 1; limit < 3 * RD_BATCH; limit += 13) {
		struct rd_frame_account want = {0}, *got = &capture.account;

		begin(1, 1000, 1, 8);
		fakes[0].unusual = true;
		config.max_frames = limit;
		for (unsigned int i = 0; i < limit; i++) {
			want.bad_time += i % 3 == 0 && i % 5;
			want.no_time += i % 15 == 0;
			want.disordered[RD_DIR_UNKNOWN] += i && i % 7 == 0 && i % 3;
		}
		same(capture_run(), 0, delivered(), limit, capture.bytes, limit * 2 * FRAME_BYTES,
			got->direction[RD_DIR_UNKNOWN], limit);
		same(got->bad_time, want.bad_time, got->no_time, want.no_time,
			got->disordered[RD_DIR_UNKNOWN], want.disordered[RD_DIR_UNKNOWN]);
	}
}

/* --- the sink --------------------------------------------------------------------------- */

TEST_CAPTURE(sink_ends)
{
	for (unsigned int i = 0; i < 4; i++) {
		begin(1, 1000, 1, 8);
		config.n_threads = i / 2;
		sink.complete = true;
		sink.failed = i % 2;
		same(capture_run(), 0, capture.end, i % 2 ? RD_END_OUTPUT : RD_END_FILES);
		assert_accounted();
		assert_stopped(1);
	}
}

/* --- several lanes into one file -------------------------------------------------------- */

static struct {
	struct merge m;
	atomic_bool closing;
	uint64_t asked;
} writer;

/* Like the writer, without a file. */
static void *merges(void *arg)
{
	const struct rd_chunk *c;

	for (;;) {
		bool closing = writer.closing;

		c = merge_next(&writer.m, closing);
		if (c) {
			seen_add(&seen, &encoder, c);
			continue;
		}
		if (closing)
			return NULL;
		if (merge_state(&writer.m) == MERGE_WAITING) {
			merge_request(&writer.m);
			writer.asked++;
		}
		usleep(50);
	}
}

/* Lanes of different speed, one idle: all is written in order, because each sets watermarks. */
TEST_CAPTURE(lanes_tell)
{
	pthread_t thread;

	memset(&writer, 0, sizeof(writer));
	begin(4, 20000, 4, 6);
	assert_int_equal(merge_init(&writer.m, &encoder, feeds, 4, CHUNK, &error), 0);
	config.n_threads = 4;
	config.when_full = RD_FULL_WAIT;
	fakes[0].done_fd = watch.fd;
	fakes[1].batch = 3;
	fakes[2].batch = 1;
	fakes[2].total = 500;
	fakes[3].total = 0;
	for (unsigned int i = 0; i < 4; i++)
		fakes[i].telling = true;
	/* It has no limit, so any may be returned. */
	fakes[3].first_ns = fakes[2].first_ns = FIRST_NS + 40000ULL * SOURCES;
	expect("0 0", pthread_create(&thread, NULL, merges, NULL), capture_run());
	writer.closing = true;
	pthread_join(thread, NULL);
	assert_int_equal(capture.end, RD_END_WATCH);
	assert_accounted();
	same(rd_capture_total(&capture).dropped, 0, seen.n, rd_capture_total(&capture).encoded);
	expect("20000 0", fakes[0].given, writer.m.late);
	for (size_t i = 1; i < seen.n; i++)
		assert_true(seen.ns[i - 1] <= seen.ns[i]);
	merge_fini(&writer.m);
}

/* --- a new file now --------------------------------------------------------------------- */

static uint64_t turned_at;

void __wrap_rd_sink_rotate(struct rd_sink *s, uint64_t ns)
{
	assert_ptr_equal(s, &sink);
	turned_at = ns;
}

static unsigned int looks;

/* The first request is for a new file, the second for the end. */
static bool watch_turns(void *ctx, int fd)
{
	eventfd_t value;

	eventfd_read(fd, &value);
	if (looks++)
		return true;
	capture.rotate = true;
	fakes[0].total += 10;
	return false;
}

TEST_CAPTURE(rotate)
{
	for (unsigned int i = 0; i < 2; i++) {
		begin(1, 100, 1, 8);
		looks = 0;
		turned_at = 0;
		watch.ready = watch_turns;
		fakes[0].done_fd = watch.fd;
		config.sink = i ? (struct rd_sink *)(void *)&sink : NULL;
		same(capture_run(), 0, feed_drain(&feeds[0]), i ? 0 : 1, seen.n, 110);
		/* After the newest frame of any lane. */
		same(turned_at, i ? FIRST_NS + 99 * SOURCES + 1 : 0, capture.rotate, false);
	}
}
