/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Unit tests of a sink that retains frames: every frame around a trigger is written exactly once,
 * no other one is, and all are accounted for. Timestamps are hours apart, so that no test depends
 * on how fast it runs.
 */
#include "sink/retained.h"
#include "test.h"
#include "test_format.h"
#include <rdmadump/sink.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "test_directory.h"
#include "test_feed_wait.h"

#define FRAME	   1000
#define HOUR	   UINT64_C(3600000000000)
#define FRAMES_MAX 20000
#define FILES_MAX  200

static struct rd_section section;
static struct rd_iface iface;

static struct place {
	struct rd_encoder encoder;
	struct rd_retention retention;
	struct rd_sink_config config;
	struct rd_sink_ending ending;
	struct rd_sink *sink;
	struct rd_tally tally[RD_IFACES_MAX];
	struct rd_sink_stats stats;
	struct rd_error err;
	uint64_t ns[FRAMES_MAX]; /* of each frame put */
	unsigned int n;
	bool written[FRAMES_MAX];
	struct rd_dump dump[FILES_MAX];
	unsigned int begun;
	_Atomic unsigned int n_dumps, n_empty; /* empty: windows without a file */
	sem_t window_ended;
	unsigned int n_windows;
	uint64_t empty_bytes;
	struct rd_chunk *chunk;
	uint64_t trigger[FILES_MAX * 4];
	unsigned int n_triggers;
	uint64_t unwritten; /* of the last file */
	bool removes;	    /* each file, once it has begun */
} place, *const p = &place;

static void on_begin(void *ctx)
{
	section.comment = "begun";
}

static void on_fill(void *ctx, const struct rd_file_account *account, struct rd_iface_stats *stats)
{
	assert_non_null(account->dump);
	section.comment = "ended";
	stats[0].delivered = account->written[0];
	p->unwritten = account->unwritten[0];
}

static bool on_waiting(void *ctx, bool commands)
{
	return true;
}

static void on_dump_begun(void *ctx, const struct rd_dump *dump)
{
	p->begun++;
	if (p->removes)
		unlink(dump->path);
}

static void on_dump_ended(void *ctx, const struct rd_dump *dump)
{
	struct rd_dump *to = &p->dump[p->n_dumps];

	if (!dump->frames && !dump->failed) {
		p->empty_bytes += dump->bytes;
		p->n_empty++;
	} else {
		assert_true(p->n_dumps < FILES_MAX);
		*to = *dump;
		to->path = strdup(dump->path);
		p->n_dumps++;
	}
	sem_post(&p->window_ended);
}

static void make_encoder(void)
{
	iface = (struct rd_iface){.name = "test", .link = RD_LINK_ETHERNET, .max_frame = FRAME};
	assert_int_equal(
		rd_encoder_init(&p->encoder, "pcapng", "ring.pcapng", &section, &iface, 1, &p->err),
		0);
}

static void start(size_t buffer)
{
	make_encoder();
	p->retention.begun = on_dump_begun;
	p->retention.ended = on_dump_ended;
	p->retention.ctx = p;
	p->config = (struct rd_sink_config){.path = "ring.pcapng",
		.encoder = &p->encoder,
		.max_frame = FRAME,
		.numa_node = -1,
		.buffer = buffer,
		.rotation = {.naming = RD_NAMES_DUMPCAP},
		.retention = &p->retention};
	p->ending = (struct rd_sink_ending){
		.begin = on_begin, .fill = on_fill, .waiting = on_waiting, .ctx = p};
	if (rd_sink_open(&p->sink, &p->config, &p->ending, &p->err) < 0 ||
		rd_sink_start(p->sink, &p->err) < 0)
		fail_msg("%s", p->err.text);
}

/* Nothing is recorded yet, and an hour around each trigger is wanted. */
static int set_up(void **state)
{
	memset(p, 0, sizeof(*p));
	sem_init(&p->window_ended, 0, 0);
	p->retention.pre_ns = p->retention.post_ns = HOUR;
	return 0;
}

#define TEST_RETAINED(name) TEST_WITH(name, set_up, NULL)

/* --- the lane ---------------------------------------------------------------------------- */

static void hand_over(void)
{
	if (!p->chunk)
		return;
	memcpy(p->chunk->tally, p->tally, sizeof(p->tally));
	rd_feed_put(rd_sink_feed(p->sink, 0), p->chunk);
	p->chunk = NULL;
}

static bool encode(const struct rd_frame *frame)
{
	struct rd_chunk *c;
	size_t used;

	if (!p->chunk)
		p->chunk = feed_chunk(rd_sink_feed(p->sink, 0));
	c = p->chunk;
	if (!p->encoder.format->frames(
		    &p->encoder, frame, 1, c->data + c->used, c->capacity - c->used, &used))
		return false;
	c->used += used;
	if (!c->frames++)
		c->first_ns = frame->ts_ns;
	c->last_ns = frame->ts_ns;
	return true;
}

/* One frame, whose number is its content. */
static void put(uint64_t ns)
{
	uint8_t data[FRAME] = {0};
	const struct rd_frame frame = {.data = data, .caplen = FRAME, .len = FRAME, .ts_ns = ns};

	memcpy(data, &p->n, sizeof(p->n));
	while (!encode(&frame))
		hand_over();
	p->tally[0].encoded++;
	p->ns[p->n++] = ns;
	assert_true(p->n < FRAMES_MAX);
	if (rd_feed_requested(rd_sink_feed(p->sink, 0)))
		hand_over();
}

static enum rd_triggered fire(uint64_t ns)
{
	enum rd_triggered result = rd_sink_trigger(p->sink, ns);

	p->n_windows += result == RD_TRIGGER_BEGINS;
	if (result == RD_TRIGGER_BEGINS || result == RD_TRIGGER_EXTENDS)
		p->trigger[p->n_triggers++] = ns;
	return result;
}

/* --- what was written --------------------------------------------------------------------- */

static void read_file(const struct rd_dump *dump)
{
	struct memory m = {0};
	struct rd_frame frames[64];
	struct rd_iface_stats stats;
	struct rd_reader *r;
	uint64_t n = 0;
	int got;

	memory_add_file(&m, dump->path);
	assert_int_equal(m.len, dump->bytes);
	r = memory_open(&m);
	while ((got = rd_reader_next(r, frames, 64, &failure)) > 0)
		for (int i = 0; i < got; i++, n++) {
			unsigned int number;

			memcpy(&number, frames[i].data, sizeof(number));
			expect("1 0", number < p->n, p->written[number]);
			p->written[number] = true;
			assert_int_equal(frames[i].ts_ns, p->ns[number]);
		}
	same(got, 0, n, dump->frames);
	expect("ended 1", rd_reader_section(r)->comment, rd_reader_stats(r, 0, &stats));
	assert_int_equal(stats.delivered, n);
	rd_reader_close(r);
	memory_free(&m);
	unlink(dump->path);
	free((void *)(uintptr_t)dump->path);
}

/* Closes the sink, whose files are read. False: some could not be written. */
static bool closed(void)
{
	bool quiet = false, whole;
	uint64_t written = 0;

	hand_over();
	whole = rd_sink_close(p->sink, p->tally, &p->stats, &quiet, &p->err) == 0;
	for (unsigned int i = 0; i < p->n_dumps; i++) {
		if (p->dump[i].frames)
			read_file(&p->dump[i]);
		else
			free((void *)(uintptr_t)p->dump[i].path);
	}
	for (unsigned int i = 0; i < p->n; i++)
		written += p->written[i];
	same(p->stats.files, p->begun, p->stats.written, written,
		p->stats.written + p->stats.expired + p->stats.unwritten, p->n);
	expect("0 0", p->stats.beyond, p->empty_bytes);
	return whole;
}

static void finish(void)
{
	if (!closed())
		fail_msg("%s", p->err.text);
	assert_int_equal(p->stats.unwritten, 0);
}

static bool is_wanted(uint64_t ns)
{
	for (unsigned int i = 0; i < p->n_triggers; i++)
		if (ns + p->retention.pre_ns >= p->trigger[i] &&
			ns <= p->trigger[i] + p->retention.post_ns)
			return true;
	return false;
}

static void check_exact(void)
{
	for (unsigned int i = 0; i < p->n; i++)
		if (p->written[i] != is_wanted(p->ns[i]))
			fail_msg("frame %u at %llu is %swritten", i, (unsigned long long)p->ns[i],
				p->written[i] ? "" : "not ");
}

static atomic_uint waits;

/* In place of libc's */
int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	waits++;
	return poll(fds, n, timeout ? (int)(timeout->tv_nsec / 1000000) + 1 : -1);
}

/* The writer sleeps where there is nothing to do. */
TEST_RETAINED(idle)
{
	start((size_t)1 << 20);
	while (!waits)
		sched_yield();
	finish();
}

/* --- exactly once ---------------------------------------------------------------------------- */

/* Triggers at frames, close together and far apart, in the middle of chunks of any size. */
TEST_RETAINED(exactly_once)
{
	uint64_t ns = 1000 * HOUR;
	unsigned int fired = 0;

	p->retention.pre_ns = 3 * HOUR;
	p->retention.post_ns = 2 * HOUR;
	start((size_t)16 << 20);
	srand(7);
	while (fired < 50) {
		unsigned int frames = 1 + (unsigned int)rand() % 20;

		for (unsigned int i = 0; i < frames; i++) {
			ns += HOUR / 50 + (uint64_t)rand() % (HOUR / 10);
			put(ns);
			if (rand() % 150 == 0 && fired < 50) {
				enum rd_triggered result = fire(ns);

				assert_true(result == RD_TRIGGER_BEGINS ||
					    result == RD_TRIGGER_EXTENDS);
				fired++;
			}
		}
		/* Partial chunks are handed over when the writer requests them, or earlier. */
		if (rand() % 2)
			hand_over();
	}
	for (unsigned int i = 0; i < 200; i++)
		put(ns += HOUR / 10);
	finish();
	check_exact();
	assert_true(p->n_dumps > 5 && p->n_dumps < 50);
}

/* A trigger within the time of the file before extends it; one after it begins another one, which
 * does not have the frames that the other one has. */
TEST_RETAINED(overlap)
{
	p->retention.pre_ns = 10 * HOUR;
	p->retention.post_ns = 5 * HOUR;
	start((size_t)16 << 20);
	for (unsigned int i = 0; i < 100; i++) {
		put((100 + i) * HOUR);
		if (i == 30)
			assert_int_equal(fire(130 * HOUR), RD_TRIGGER_BEGINS);
		if (i == 34)
			assert_int_equal(fire(134 * HOUR), RD_TRIGGER_EXTENDS);
		if (i == 45) {
			/* Wait until the file is complete, so that this one cannot extend it. */
			hand_over();
			while (!p->n_dumps)
				sem_wait(&p->window_ended);
			assert_int_equal(fire(145 * HOUR), RD_TRIGGER_BEGINS);
		}
	}
	finish();
	check_exact();
	same(p->n_dumps, 2, p->dump[0].from_ns, 120 * HOUR, p->dump[0].until_ns, 139 * HOUR,
		p->dump[0].frames, 20);
	/* From 140, not from 135: those were written. */
	assert_int_equal(p->dump[1].frames, 11);
}

/* A frame behind the window ends it; one that was there before may have done so already. */
static void end_window(uint64_t ns)
{
	put(ns);
	hand_over();
	while (p->n_dumps + p->n_empty < p->n_windows)
		sem_wait(&p->window_ended);
}

/* A line in a FIFO fires while the lane is behind, then an earlier frame that it receives only now:
 * what that one wants was received before, and is still there. */
TEST_RETAINED(earlier_frame)
{
	start((size_t)16 << 20);
	for (unsigned int i = 0; i < 10; i++)
		put(100 * HOUR + i * HOUR / 4);
	hand_over();
	assert_int_equal(fire(120 * HOUR), RD_TRIGGER_BEGINS);
	FEED_AWAIT(rd_feed_requested, rd_sink_feed(p->sink, 0));
	put(103 * HOUR);
	assert_int_equal(fire(103 * HOUR), RD_TRIGGER_EXTENDS);
	put(120 * HOUR);
	end_window(130 * HOUR);
	finish();
	check_exact();
}

TEST_RETAINED(no_trigger)
{
	p->retention.pre_ns = HOUR;
	start((size_t)16 << 20);
	for (unsigned int i = 0; i < 10000; i++)
		put((1 + i) * HOUR / 100);
	finish();
	expect("0 10000", p->n_dumps, p->stats.expired);
}

/* Triggers on an idle port, and one whose frames are in the file before: there is no file, and none
 * counts towards the limit. */
TEST_RETAINED(no_frames)
{
	p->retention.files = 2;
	start((size_t)16 << 20);
	for (unsigned int i = 1; i <= 3; i++) {
		assert_int_equal(fire(i * 100 * HOUR), RD_TRIGGER_BEGINS);
		end_window((i * 100 + 10) * HOUR);
		assert_int_equal(p->n_empty, i);
	}
	put(400 * HOUR);
	assert_int_equal(fire(400 * HOUR), RD_TRIGGER_BEGINS);
	end_window(405 * HOUR);
	assert_int_equal(fire(401 * HOUR), RD_TRIGGER_BEGINS);
	end_window(406 * HOUR);
	same(p->n_empty, 4, fire(406 * HOUR), RD_TRIGGER_BEGINS);
	finish();
	check_exact();
	expect("2 2 1", p->begun, p->n_dumps, p->dump[0].frames);
	/* Those of 405 and 406 */
	assert_int_equal(p->dump[1].frames, 2);
}

/* The recording ends while the window waits for its first frame. */
TEST_RETAINED(closed_without_frames)
{
	start((size_t)16 << 20);
	assert_int_equal(fire(100 * HOUR), RD_TRIGGER_BEGINS);
	finish();
	expect("0 1", p->begun, p->n_empty);
}

/* --- limits ------------------------------------------------------------------------------ */

/* The oldest frames leave memory for newer ones, and the file says which are missing. */
TEST_RETAINED(short_memory)
{
	unsigned int first = 0;

	p->retention.pre_ns = 1000 * HOUR;
	p->retention.post_ns = HOUR;
	/* Eight chunks of 64 KiB: for about 300 frames. */
	start(512 << 10);
	for (unsigned int i = 0; i < 2000; i++)
		put((2000 + i) * HOUR);
	hand_over();
	assert_int_equal(fire(3999 * HOUR), RD_TRIGGER_BEGINS);
	finish();
	while (!p->written[first])
		first++;
	/* All that was there, without a hole. */
	for (unsigned int i = first; i < p->n; i++)
		assert_true(p->written[i]);
	assert_in_range(p->n - first, 100, 512);
	assert_int_equal(p->dump[0].missing_until_ns, p->ns[first - 1]);
}

TEST_RETAINED(most_files)
{
	p->retention.files = 2;
	start((size_t)16 << 20);
	for (unsigned int i = 0; i < 2; i++) {
		put((10 + 10 * i) * HOUR);
		assert_int_equal(fire((10 + 10 * i) * HOUR), RD_TRIGGER_BEGINS);
		put((15 + 10 * i) * HOUR);
	}
	assert_int_equal(fire(50 * HOUR), RD_TRIGGER_CLOSED);
	put(50 * HOUR);
	hand_over();
	FEED_AWAIT(rd_feed_ended, rd_sink_feed(p->sink, 0));
	assert_false(rd_feed_failed(rd_sink_feed(p->sink, 0)));
	finish();
	check_exact();
	assert_int_equal(p->n_dumps, 2);
}

TEST_RETAINED(most_bytes)
{
	uint64_t least;

	p->retention.pre_ns = p->retention.post_ns = 1000 * HOUR;
	p->retention.bytes = 300000;
	start(512 << 10);
	assert_int_equal(fire(10 * HOUR), RD_TRIGGER_BEGINS);
	for (unsigned int i = 0; i < 1000 && !rd_feed_ended(rd_sink_feed(p->sink, 0)); i++)
		put(10 * HOUR + i);
	hand_over();
	FEED_AWAIT(rd_feed_ended, rd_sink_feed(p->sink, 0));
	assert_int_equal(rd_sink_trigger(p->sink, 5000 * HOUR), RD_TRIGGER_CLOSED);
	finish();
	expect("1 1", p->n_dumps, p->dump[0].cut);
	/* What is left is reserved for header and trailer, or too small for a frame. */
	least = p->retention.bytes - 2 * p->encoder.format->header_bound(&p->encoder) - FRAME;
	assert_in_range(p->dump[0].bytes, least, p->retention.bytes);
}

/* There is room for a header, but not for a frame: no file is left. */
TEST_RETAINED(no_bytes)
{
	make_encoder();
	p->retention.bytes = p->encoder.format->header_bound(&p->encoder) + FRAME / 2;
	start((size_t)16 << 20);
	assert_int_equal(fire(10 * HOUR), RD_TRIGGER_BEGINS);
	put(10 * HOUR);
	hand_over();
	FEED_AWAIT(rd_feed_ended, rd_sink_feed(p->sink, 0));
	finish();
	expect("0 1 1", p->n_dumps, p->n_empty, p->stats.expired);
}

/* --- files that cannot be written -------------------------------------------------------- */

/* 600 frames, with a trigger in their middle, and until its file is done. */
static void dump_at(uint64_t hour)
{
	for (unsigned int i = 0; i < 500; i++)
		put(hour * HOUR + i);
	assert_int_equal(fire(hour * HOUR + 250), RD_TRIGGER_BEGINS);
	end_window((hour + 5) * HOUR);
}

/* As on a full disk: recording goes on, and the next trigger tries again. What was written stays; a
 * file without frames is removed, and does not count. */
TEST_RETAINED(failing_files)
{
	p->retention.holdoff_ns = 0;
	p->retention.files = 3;
	start((size_t)16 << 20);
	dump_at(100);
	assert_false(p->dump[0].failed);
	limit_files(100);
	dump_at(200);
	expect("1 0 -1", p->dump[1].failed, p->dump[1].frames, access(p->dump[1].path, F_OK));
	limit_files(200000);
	dump_at(300);
	assert_true(p->dump[2].failed && p->dump[2].cut);
	assert_in_range(p->dump[2].frames, 100, 200);
	assert_false(rd_feed_failed(rd_sink_feed(p->sink, 0)));
	limit_files(RLIM_INFINITY);
	same(p->unwritten, 500 - p->dump[2].frames);
	dump_at(400);
	expect("0 500 0 0", p->dump[3].failed, p->dump[3].frames, closed(), p->unwritten);
	assert_non_null(strstr(p->err.text, "File too large"));
	/* Neither those of the file that could not begin nor the rest of the other one expired. */
	assert_int_equal(p->stats.unwritten, 500 + 500 - p->dump[2].frames);
}

/* Its directory is not there for a while. */
TEST_RETAINED(no_directory)
{
	start((size_t)16 << 20);
	expect("0 0 0", mkdir("gone", 0700), chdir("gone"), rmdir("../gone"));
	dump_at(100);
	expect("1 0 0", p->dump[0].failed, p->begun, chdir(directory_path));
	dump_at(200);
	expect("0 500 0 500", p->dump[1].failed, p->dump[1].frames, closed(), p->stats.unwritten);
}

/* Another program removes the file that is being written. */
TEST_RETAINED(removed_file)
{
	p->removes = true;
	start((size_t)16 << 20);
	dump_at(100);
	expect("1 0", p->dump[0].failed, p->dump[0].frames);
	p->removes = false;
	dump_at(200);
	expect("0 500 0", p->dump[1].failed, p->dump[1].frames, closed());
}

TEST_RETAINED(directory)
{
	make_encoder();
	p->config = (struct rd_sink_config){.path = "none/ring.pcapng",
		.encoder = &p->encoder,
		.max_frame = FRAME,
		.numa_node = -1,
		.buffer = 1 << 20,
		.retention = &p->retention};
	assert_int_equal(rd_sink_open(&p->sink, &p->config, &p->ending, &p->err), -1);
	assert_int_equal(p->err.class, RD_CLASS_OUTPUT);
	assert_non_null(strstr(p->err.text, "'none'"));
}

/* --- windows ----------------------------------------------------------------------------- */

TEST(windows)
{
	const struct rd_retention c = {.pre_ns = 10, .post_ns = 5, .holdoff_ns = 20, .files = 3};
	struct windows w = {.config = &c, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct window next;

	assert_false(windows_next(&w, &next));
	assert_int_equal(windows_add(&w, 100, 0), RD_TRIGGER_BEGINS);
	/* An older one does not shorten it, one that touches it extends it. */
	assert_int_equal(windows_add(&w, 98, 1), RD_TRIGGER_EXTENDS);
	assert_int_equal(windows_add(&w, 115, 2), RD_TRIGGER_EXTENDS);
	expect("1 88 120 100 7", windows_next(&w, &next), next.from, next.until, next.trigger,
		next.due_ns);
	assert_int_equal(windows_add(&w, 131, 3), RD_TRIGGER_HELD);
	/* It grew since the caller looked. */
	expect("0 1 0", windows_complete(&w, 119), windows_complete(&w, 120),
		windows_next(&w, &next));
	same(windows_add(&w, 139, 4), RD_TRIGGER_HELD, windows_add(&w, 140, 4), RD_TRIGGER_BEGINS,
		windows_add(&w, 170, 4), RD_TRIGGER_BEGINS);
	assert_int_equal(windows_add(&w, 300, 4), RD_TRIGGER_CLOSED);
	expect("1 140", windows_next(&w, &next), next.trigger);
	windows_close(&w);
	assert_int_equal(windows_add(&w, 171, 4), RD_TRIGGER_CLOSED);
	assert_false(windows_next(&w, &next));
}

/* While the writer is behind, no trigger is lost: the last window grows. */
TEST(many_windows)
{
	const struct rd_retention c = {.pre_ns = 1, .post_ns = 1};
	struct windows w = {.config = &c, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct window next;
	unsigned int n = 0;

	for (uint64_t i = 0; i < WINDOWS_MAX; i++)
		assert_int_equal(windows_add(&w, 100 + i * 10, 0), RD_TRIGGER_BEGINS);
	assert_int_equal(windows_add(&w, 1000, 0), RD_TRIGGER_EXTENDS);
	while (windows_next(&w, &next)) {
		n++;
		assert_true(windows_complete(&w, next.until));
	}
	same(n, WINDOWS_MAX, next.until, 1001);
	/* As many whose files fail; none of them extends one that is over. */
	for (uint64_t i = 0; i < 2 * WINDOWS_MAX; i++) {
		assert_int_equal(windows_add(&w, 2000 + i * 10, 0), RD_TRIGGER_BEGINS);
		windows_drop(&w);
		assert_false(windows_missed(&w, 1995 + i * 10, 0));
		windows_missed_until(&w, 2005 + i * 10);
	}
}

ALL_TESTS_WITH(directory_enter, directory_leave)
