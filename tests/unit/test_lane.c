/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of a lane: processing of a batch, and that each frame is accounted for once. */
#define CHUNK ((size_t)8 << 10) /* holds 85 records */

#include "test.h"
#include "test_capture.h"

#define HELD (CHUNK / RECORD_BYTES)

/* One source, which ends after its frames. */
static void begin_ending(uint64_t total, size_t chunks)
{
	begin(1, total, 1, chunks);
	fakes[0].ends = true;
}

static void run(void)
{
	if (capture_run() < 0)
		fail_msg("%s", error.text);
	assert_accounted();
}

static void assert_stamps(uint64_t first, uint64_t step)
{
	for (size_t i = 0; i < seen.n; i++)
		assert_int_equal(seen.ns[i], first + i * step);
}

/* --- nothing lost ----------------------------------------------------------------------- */

/* Over many chunks: every frame once, in order, in its interface's tally. */
TEST_CAPTURE(chunks)
{
	for (unsigned int batch = 1; batch <= RD_BATCH; batch += 9) {
		begin_ending(3000, 40);
		fakes[0].batch = batch;
		run();
		feed_drain(&feeds[0]);
		assert_int_equal(seen.n, 3000);
		assert_stamps(FIRST_NS, SOURCES);
		same(capture.tally[0].encoded, 3000, capture.bytes, 3000 * 2 * FRAME_BYTES);
	}
}

/* Sources with one interface and with two, numbered consecutively or as configured. */
TEST_CAPTURE(interfaces)
{
	const unsigned int bases[] = {5, 0, 3};

	for (unsigned int given = 0; given < 2; given++) {
		const unsigned int want[2][3] = {{0, 1, 3}, {5, 0, 3}};

		begin(3, 100, 1, 16);
		for (unsigned int i = 0; i < 3; i++)
			fakes[i].ends = true;
		fakes[1].src.n_ifaces = 2;
		fakes[1].src.ifaces = fakes[1].own;
		config.bases = given ? bases : NULL;
		run();
		for (unsigned int i = 0; i < RD_IFACES_MAX; i++) {
			uint64_t frames = i == want[given][0] || i == want[given][2]	   ? 100
					  : i == want[given][1] || i == want[given][1] + 1 ? 50
											   : 0;

			assert_int_equal(capture.tally[i].encoded, frames);
		}
		feed_drain(&feeds[0]);
		for (size_t i = 0; i < seen.n; i++)
			assert_true(
				seen.iface[i] == want[given][(seen.ns[i] - FIRST_NS) % SOURCES] ||
				((seen.ns[i] - FIRST_NS) % SOURCES == 1 &&
					seen.iface[i] == want[given][1] + 1));
	}
}

static uint64_t looked_at;

static void on_seen(
	void *ctx, const struct rd_source *s, const struct rd_frame *frames, unsigned int n)
{
	assert_ptr_equal(s, sources[0]);
	assert_ptr_equal(ctx, &looked_at);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(frames[i].caplen, 20);
	looked_at += n;
}

/* Without a sink frames are passed to `seen` after filter and cut, and count as encoded. */
TEST_CAPTURE(seen)
{
	const struct rd_filter_spec spec = {.host = "52:54:00:00:00:03"};
	const struct rd_cut cut = {.snaplen = 20};
	struct rd_filter *filters[1];

	capture_begin(1, 301);
	assert_int_equal(rd_filter_compile(&filters[0], &spec, RD_LINK_ETHERNET, &error), 0);
	fakes[0].ends = true;
	config.feeds = NULL;
	config.filters = filters;
	config.cut = &cut;
	config.seen = on_seen;
	config.seen_ctx = &looked_at;
	looked_at = 0;
	run();
	expect("150 150 151", looked_at, capture.tally[0].encoded, capture.tally[0].filtered);
	rd_filter_free(filters[0]);
}

/* --- no chunk is free ------------------------------------------------------------------- */

TEST_CAPTURE(drop)
{
	begin_ending(1000, 3);
	config.when_full = RD_FULL_DROP;
	run();
	/* The newest are dropped. */
	same(capture.tally[0].encoded, 3 * HELD, capture.tally[0].dropped, 1000 - 3 * HELD);
	feed_drain(&feeds[0]);
	assert_int_equal(seen.n, 3 * HELD);
	assert_stamps(FIRST_NS, SOURCES);
}

TEST_CAPTURE(end_when_full)
{
	begin(1, 100000, 1, 3);
	config.when_full = RD_FULL_END;
	run();
	same(capture.end, RD_END_MEMORY, capture.tally[0].encoded, 3 * HELD,
		capture.tally[0].dropped < RD_BATCH, true);
}

/* A writer that is slow, and the number of chunks that it took. */
static void *slow_writer(void *arg)
{
	atomic_bool *closing = arg;

	for (;;) {
		bool last = *closing;
		struct rd_chunk *c = rd_ring_take(&feeds[0].full);

		if (!c && last)
			return NULL;
		usleep(20);
		if (!c)
			continue;
		seen_add(&seen, &encoder, c);
		rd_ring_put(&feeds[0].free, c);
	}
}

/* The source waits: nothing is dropped, however small the buffer. */
TEST_CAPTURE(wait)
{
	atomic_bool closing = false;
	pthread_t thread;

	begin_ending(50000, 3);
	config.when_full = RD_FULL_WAIT;
	assert_int_equal(pthread_create(&thread, NULL, slow_writer, &closing), 0);
	run();
	closing = true;
	pthread_join(thread, NULL);
	expect("50000 50000", capture.tally[0].encoded, seen.n);
	assert_stamps(FIRST_NS, SOURCES);
}

static unsigned int looks;

/* Remains readable: the first check ends the capture, the second one abandons the output. */
static bool watch_twice(void *ctx, int fd)
{
	looks++;
	return true;
}

/* An output that accepts nothing: after a second request to end it is not waited for. */
TEST_CAPTURE(abandon)
{
	begin(1, 100000, 1, 3);
	config.when_full = RD_FULL_WAIT;
	watch.ready = watch_twice;
	looks = 0;
	eventfd_write(watch.fd, 1);
	run();
	same(capture.end, RD_END_WATCH, looks >= 2, true, capture.tally[0].encoded, 3 * HELD,
		capture.tally[0].dropped > 0, true);
}

/* --- a writer that waits ---------------------------------------------------------------- */

static void *wait_for_chunk(void *arg)
{
	struct rd_chunk *c = ring_wait(&feeds[0].full);

	seen_add(&seen, &encoder, c);
	rd_ring_put(&feeds[0].free, c);
	eventfd_write(watch.fd, 1);
	return NULL;
}

/* A chunk that does not fill is handed over while no frames arrive. */
TEST_CAPTURE(flush)
{
	pthread_t thread;

	begin(1, 10, 1, 3);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_chunk, NULL), 0);
	run();
	pthread_join(thread, NULL);
	assert_int_equal(seen.n, 10);
	assert_null(rd_ring_take(&feeds[0].full));
}

/* A source that is idle after the frames; the watch then ends the capture. */
static void begin_idle(uint64_t total, unsigned int batch)
{
	begin(1, total, 1, 40);
	fakes[0].batch = batch;
	fakes[0].done_fd = watch.fd;
}

/* If frames gather, the lane sleeps when batches are not full, after two polls at most. */
TEST_CAPTURE(gathering)
{
	begin_idle(1000, 10);
	fakes[0].src.gathers = true;
	run();
	assert_int_equal(capture.tally[0].encoded, 1000);
	assert_in_range(fakes[0].arms, 1000 / 10 / 2 - 2, 1000 / 10 / 2 + 2);

	begin_idle(RD_BATCH * 20, RD_BATCH);
	fakes[0].src.gathers = true;
	run();
	assert_int_equal(capture.tally[0].encoded, RD_BATCH * 20);
	assert_in_range(fakes[0].arms, 0, 2);
}

/* If they do not, it continues to poll while frames arrive, and many times before it sleeps. */
TEST_CAPTURE(not_gathering)
{
	begin_idle(1000, 10);
	fakes[0].src.idle_polls = 0;
	run();
	assert_int_equal(capture.tally[0].encoded, 1000);
	assert_in_range(fakes[0].arms, 0, 1);
	assert_true(fakes[0].polls > 1000 / 10 + 200);
}

/* Naps with frames need no arming; after one without frames the sources are armed. */
TEST_CAPTURE(naps)
{
	begin_idle(1000, 10);
	fakes[0].src.gathers = true;
	fakes[0].src.nap_ns.least = fakes[0].src.nap_ns.most = 1000;
	run();
	expect("1000 0", capture.tally[0].encoded, fakes[0].arms);

	begin_idle(10, 10);
	fakes[0].done_fd = -1;
	fakes[0].src.gathers = true;
	fakes[0].src.nap_ns.least = fakes[0].src.nap_ns.most = 1000;
	fakes[0].armed_fd = watch.fd;
	run();
	assert_int_equal(fakes[0].arms, 1);
}

/* A lane of several sources arms each of them. */
TEST_CAPTURE(arms_all)
{
	begin(3, 10, 1, 40);
	fakes[2].armed_fd = watch.fd;
	run();
	assert_int_equal(
		capture.tally[0].encoded + capture.tally[1].encoded + capture.tally[2].encoded, 30);
	for (unsigned int i = 0; i < 3; i++)
		assert_true(fakes[i].arms > 0);
}

static uint64_t reported;

static void *wait_for_watermark(void *arg)
{
	while (!(reported = feeds[0].watermark))
		usleep(100);
	eventfd_write(watch.fd, 1);
	return NULL;
}

/* The watermark of a lane is that of its slowest source; one that has ended does not count. */
TEST_CAPTURE(watermark_of_sources)
{
	pthread_t thread;

	for (unsigned int behind = 0; behind < 2; behind++) {
		begin(3, 0, 1, 3);
		config.n_threads = 1;
		for (unsigned int i = 0; i < 3; i++) {
			fakes[i].telling = true;
			fakes[i].first_ns = FIRST_NS + 1000;
		}
		fakes[behind].first_ns = FIRST_NS + 100;
		fakes[2].first_ns = FIRST_NS;
		fakes[2].ends = true;
		feed_request(&feeds[0], FIRST_NS + 50);
		assert_int_equal(pthread_create(&thread, NULL, wait_for_watermark, NULL), 0);
		run();
		pthread_join(thread, NULL);
		assert_int_equal(reported, FIRST_NS + 100);
	}
}

/* --- notes ------------------------------------------------------------------------------ */

#define NOTES_MAX 100

static struct {
	unsigned int n;
	uint64_t ns[NOTES_MAX], dropped[NOTES_MAX];
	char comment[NOTES_MAX][40];
} notes;

static size_t (*real_noted)(const struct rd_encoder *e, const struct rd_frame *frame,
	const struct rd_note *note, uint8_t *dst, size_t capacity);

static size_t see_noted(const struct rd_encoder *e, const struct rd_frame *frame,
	const struct rd_note *note, uint8_t *dst, size_t capacity)
{
	size_t len = real_noted(e, frame, note, dst, capacity);

	if (!len)
		return 0;
	assert_true(notes.n < NOTES_MAX);
	notes.ns[notes.n] = frame->ts_ns;
	notes.dropped[notes.n] = note->dropped;
	snprintf(notes.comment[notes.n++], 40, "%s", note->comment ? note->comment : "");
	return len;
}

/* The format, with a check of its notes. */
static void watch_notes(void)
{
	static struct rd_format format;

	format = *encoder.format;
	real_noted = format.noted;
	format.noted = see_noted;
	encoder.format = &format;
	notes.n = 0;
}

/* A note of the source is stored with the next frame, once. */
TEST_CAPTURE(source_note)
{
	begin(2, 100, 1, 16);
	fakes[0].ends = fakes[1].ends = true;
	snprintf(fakes[1].src.note, sizeof(fakes[1].src.note), "port down");
	watch_notes();
	run();
	same(notes.n, 1, notes.ns[0], FIRST_NS + 1);
	expect("port down 0 ", notes.comment[0], notes.dropped[0], fakes[1].src.note);
}

/* Notes of frames; the drop count of a filtered frame is kept for the next one. */
TEST_CAPTURE(frame_notes)
{
	const struct rd_filter_spec spec = {.host = "52:54:00:00:00:03"};
	struct rd_filter *filters[1];

	begin(1, 12, 1, 16);
	assert_int_equal(rd_filter_compile(&filters[0], &spec, RD_LINK_ETHERNET, &error), 0);
	config.filters = filters;
	fakes[0].ends = true;
	fakes[0].src.batch_has_notes = true;
	snprintf(fakes[0].src.note, sizeof(fakes[0].src.note), "port up");
	watch_notes();
	run();
	/* Frames 0, 3, 6, 9 had one; 1, 3, 5, 7, 9, 11 were kept. */
	same(capture.tally[0].encoded, 6, notes.n, 4, notes.ns[0], FIRST_NS + 1 * SOURCES);
	expect("5 port up", notes.dropped[0], notes.comment[0]);
	assert_int_equal(notes.ns[1], FIRST_NS + 3 * SOURCES);
	same(notes.dropped[1], 5, notes.comment[1], "own", notes.ns[2], FIRST_NS + 7 * SOURCES);
	expect("5 ", notes.dropped[2], notes.comment[2]);
	assert_int_equal(notes.ns[3], FIRST_NS + 9 * SOURCES);
	rd_filter_free(filters[0]);
}

TEST_CAPTURE(both_notes)
{
	begin_ending(1, 16);
	fakes[0].src.batch_has_notes = true;
	snprintf(fakes[0].src.note, sizeof(fakes[0].src.note), "port up");
	watch_notes();
	run();
	expect("1 own; port up", notes.n, notes.comment[0]);
}

static unsigned int freed;

/* Some frames are dropped, then a chunk comes back. */
static void on_batch(
	void *ctx, const struct rd_source *s, const struct rd_frame *frames, unsigned int n)
{
	struct rd_chunk *c;

	if (frames[0].ts_ns < FIRST_NS + 10 * RD_BATCH * SOURCES || freed++)
		return;
	c = rd_ring_take(&feeds[0].full);
	assert_non_null(c);
	rd_ring_put(&feeds[0].free, c);
}

/* --- comments of the engine's caller --------------------------------------------------------- */

/* Frames that get a comment, by their number; 0: no more. */
static const unsigned int *comment_these;
static const struct rd_frame *of_batch;
static char made[40];

static uint64_t on_commented(
	void *ctx, const struct rd_source *s, const struct rd_frame *frames, unsigned int n)
{
	uint64_t mask = 0;

	of_batch = frames;
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int k = 0; comment_these[k]; k++)
			if (frames[i].ts_ns == FIRST_NS + comment_these[k] * SOURCES)
				mask |= UINT64_C(1) << i;
	return mask;
}

static const char *on_comment(void *ctx, unsigned int i)
{
	snprintf(made, sizeof(made), "frame at %llu",
		(unsigned long long)(of_batch[i].ts_ns - FIRST_NS));
	return made;
}

/* Exactly these frames: neighbours, at both ends of a batch, together with a note of the source. */
TEST_CAPTURE(comments)
{
	static const unsigned int these[] = {1, 5, 6, 63, 64, 100, 0};

	begin_ending(200, 16);
	comment_these = these;
	config.commented = on_commented;
	config.comment = on_comment;
	watch_notes();
	run();
	expect("200 6", capture.tally[0].encoded, notes.n);
	for (unsigned int i = 0; these[i]; i++) {
		char want[40];

		snprintf(want, sizeof(want), "frame at %llu",
			(unsigned long long)these[i] * SOURCES);
		same(notes.ns[i], FIRST_NS + these[i] * SOURCES, notes.comment[i], want);
	}
}

/* The comment of a frame that is dropped goes to the next one that is written. */
TEST_CAPTURE(comment_dropped)
{
	static const unsigned int these[] = {10 * RD_BATCH - 7, 0};

	begin_ending(11 * RD_BATCH, 3);
	config.seen = on_batch;
	comment_these = these;
	config.commented = on_commented;
	config.comment = on_comment;
	freed = 0;
	watch_notes();
	run();
	same(notes.n, 1, notes.ns[0], FIRST_NS + 10 * RD_BATCH * SOURCES);
	assert_memory_equal(notes.comment[0], "before this frame, dropped: frame at", 36);
}

/* The number of dropped frames is stored with the next frame written. */
TEST_CAPTURE(dropped_note)
{
	begin_ending(11 * RD_BATCH, 3);
	config.seen = on_batch;
	freed = 0;
	watch_notes();
	run();
	same(capture.tally[0].dropped, 10 * RD_BATCH - 3 * HELD, notes.n, 1, notes.ns[0],
		FIRST_NS + 10 * RD_BATCH * SOURCES, notes.dropped[0], 10 * RD_BATCH - 3 * HELD);
}

/* --- slices of time --------------------------------------------------------------------- */

/* The timestamps that begin a file. */
static unsigned int begins(uint64_t *ns, unsigned int most)
{
	struct rd_chunk *c;
	unsigned int n = 0;

	while ((c = rd_ring_take(&feeds[0].full))) {
		seen_add(&seen, &encoder, c);
		if (c->rotate && n < most)
			ns[n++] = c->first_ns;
		rd_ring_put(&feeds[0].free, c);
	}
	return n;
}

TEST_CAPTURE(slices)
{
	uint64_t ns[10];

	/* From the first frame on: 1000005, so that each slice of 100 has 25 frames. */
	begin_ending(60, 16);
	fakes[0].first_ns = FIRST_NS + 5;
	config.slice_ns = 100;
	run();
	same(begins(ns, 10), 2, ns[0], FIRST_NS + 105, ns[1], FIRST_NS + 205, seen.n, 60);
	assert_stamps(FIRST_NS + 5, SOURCES);
	/* At multiples of the slice. */
	begin_ending(60, 16);
	fakes[0].first_ns = FIRST_NS + 60;
	config.slice_ns = 100;
	config.slice_aligned = true;
	run();
	same(begins(ns, 10), 2, ns[0], FIRST_NS + 100, ns[1], FIRST_NS + 200, seen.n, 60);
	/* Slices without a frame begin no file, and the next end is where it would have been. */
	begin_ending(4, 16);
	fakes[0].step_ns = 350;
	config.slice_ns = 100;
	run();
	same(begins(ns, 10), 3, ns[0], FIRST_NS + 350, ns[1], FIRST_NS + 700, ns[2],
		FIRST_NS + 1050);
}
