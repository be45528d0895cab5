/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Unit tests of the verbs source where a model of a device leaves things to chance: timestamps
 * that go back, clocks that drift, queues that fail repeatedly, asynchronous events and
 * addresses that change.
 */
#include "source/verbs_clock.h"
#include "source/verbs_mlx5.h"
#include "source/verbs_port.h"
#include "source/verbs_queue.h"
#include "test.h"
#include <rdmadump/event.h>
#include <rdmadump/verbs.h>
#include <sys/eventfd.h>

#include "test_device_tree.h"

#define SPEED 100000000000ULL
#define MASK  ((UINT64_C(1) << 48) - 1)

/* --- a device --------------------------------------------------------------------------- */

static struct {
	struct verbs_context vctx;
	bool real_time;
	unsigned int resets, replacements;
	int reset_rc, replace_rc;
	struct ibv_async_event event[8];
	unsigned int n_events, acked;
	int async_errno; /* of a read that finds no event; 0: EAGAIN */
	int replace_errno;
	unsigned int late;  /* after so many reads without an event the device is gone */
	bool unreadable;    /* the real-time clock is; else */
	int64_t ahead;	    /* it is so many ns ahead of the system clock */
	uint64_t lead;	    /* its counter is so many ticks ahead */
	unsigned int reads; /* of the counter */
	void (*read)(void); /* what happens meanwhile */
} hca;

static int query_device(struct ibv_context *ctx, const struct ibv_query_device_ex_input *input,
	struct ibv_device_attr_ex *attr, size_t size)
{
	memset(attr, 0, size);
	attr->completion_timestamp_mask = MASK;
	attr->hca_core_clock = 1000000; /* a tick is a nanosecond */
	return 0;
}

static int query_values(struct ibv_context *ctx, struct ibv_values_ex *values)
{
	uint64_t now = (rd_monotonic_ns() + hca.lead) & MASK;

	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	values->raw_clock = (struct timespec){
		.tv_sec = (time_t)(now / 1000000000), .tv_nsec = (long)(now % 1000000000)};
	hca.reads++;
	if (hca.read)
		hca.read();
	return 0;
}

static struct ibv_context *hca_make(void)
{
	memset(&hca, 0, sizeof(hca));
	hca.vctx.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	hca.vctx.sz = sizeof(hca.vctx);
	hca.vctx.query_device_ex = query_device;
	hca.vctx.query_rt_values = query_values;
	return &hca.vctx.context;
}

bool __wrap_rd_clock_has_real_time(struct ibv_context *ctx)
{
	return hca.real_time;
}

bool __wrap_rd_clock_read_real_time(struct ibv_context *ctx, uint64_t *ns)
{
	struct rd_clock host;

	rd_clock_set(&host);
	*ns = rd_clock_now(&host) + (uint64_t)hca.ahead;
	return !hca.unreadable;
}

int __wrap_verbs_queue_reset(struct verbs_queue *v, struct verbs_ring *larger, struct rd_error *err)
{
	hca.resets++;
	return hca.reset_rc ? rd_fail(err, RD_CLASS_DEVICE, EIO, NULL, "reset") : 0;
}

int __wrap_verbs_queue_replace(struct verbs_queue *v, struct rd_error *err)
{
	hca.replacements++;
	return hca.replace_rc
		       ? rd_fail(err, RD_CLASS_DEVICE,
				 hca.replace_errno ? hca.replace_errno : EPERM, NULL, "replace")
		       : 0;
}

int __wrap_ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	return -1;
}

int __wrap_ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	if (!hca.n_events && hca.late && !--hca.late)
		hca.event[hca.n_events++] =
			(struct ibv_async_event){.event_type = IBV_EVENT_DEVICE_FATAL};
	if (!hca.n_events) {
		errno = hca.async_errno ? hca.async_errno : EAGAIN;
		return -1;
	}
	*event = hca.event[--hca.n_events];
	return 0;
}

void __wrap_ibv_ack_async_event(struct ibv_async_event *event)
{
	hca.acked++;
}

/* --- timestamps ------------------------------------------------------------------------ */

static struct verbs_clock clock_made;

static void clock_make(enum rd_stamp_type type, const char *title)
{
	if (verbs_clock_open(&clock_made, &hca.vctx.context, "fake", type, SPEED, &failure) < 0)
		fail_msg("%s", failure.text);
	if (strcmp(clock_made.kind->title, title))
		fail_msg("got '%s', want '%s'", clock_made.kind->title, title);
	/* The line does not change, even on a slow machine. */
	clock_made.interval = INT64_MAX;
}

static uint8_t flags[RD_BATCH];

/* Timestamps of a batch, as the completions have them. */
static void stamp(struct verbs_stamps *s, uint64_t *ns, unsigned int n)
{
	struct rd_frame frames[RD_BATCH];

	for (unsigned int i = 0; i < n; i++)
		frames[i] = (struct rd_frame){.ts_ns = ns[i], .len = 1000, .caplen = 1000};
	verbs_stamp(&clock_made, s, frames, n);
	for (unsigned int i = 0; i < n; i++) {
		ns[i] = frames[i].ts_ns;
		flags[i] = frames[i].flags;
	}
}

/*
 * A queue's timestamps are those of the device, in any order; an impossible one is marked and
 * affects no other. `base` is now.
 */
static void true_times(uint64_t base)
{
	const uint64_t hour = 3600000000000;
	struct verbs_stamps a = {.generation = 0}, b = {.generation = 0};
	uint64_t first[4] = {base, base + 400, base + 100, base + 900};
	uint64_t second[5] = {base + 200, base + 1000 + hour, 0, base + 950, base - hour};
	uint64_t other[2] = {base + 300, base + 1200}, now;

	stamp(&a, first, 4);
	expect("1 400 100 900", a.disordered, first[1] - first[0], first[2] - first[0],
		first[3] - first[0]);
	stamp(&a, second, 5);
	now = rd_clock_now(&clock_made.host);
	assert_int_equal(second[0] - first[0], 200);
	/* A tick so far away depends on the rate. */
	assert_in_range(second[1] - first[0], hour - hour / 1000, hour + hour / 1000);
	assert_in_range(now - second[2], 0, 1000000000);
	assert_int_equal(second[3] - first[0], 950);
	assert_in_range(first[0] - second[4], hour - hour / 1000, hour + hour / 1000);
	same(flags[0] | flags[3], 0, flags[1], RD_FRAME_BAD_TIME, flags[2], RD_FRAME_NO_TIME,
		flags[4], RD_FRAME_BAD_TIME);
	assert_int_equal(a.last - first[0], 950);
	/* Another queue has an order of its own. */
	stamp(&b, other, 2);
	expect("0 300 1200", b.disordered, other[0] - first[0], other[1] - first[0]);
}

TEST(ticks_that_are_read)
{
	hca_make();
	clock_make(RD_STAMPS_ADAPTER, "hardware clock");
	true_times(rd_monotonic_ns() & MASK);
}

/* A queue that gets a frame while another queue's thread has been reading the counter for 3 ms. */
static struct {
	pthread_t thread;
	struct verbs_stamps stamps;
	struct rd_frame frame;
	uint64_t tick; /* of that frame */
	atomic_bool runs, waits, done;
} other;

int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
	if (other.runs)
		other.waits = true;
	return __real_pthread_mutex_lock(lock);
}

static void *stamp_other(void *arg)
{
	other.runs = true;
	verbs_stamp(&clock_made, &other.stamps, &other.frame, 1);
	other.done = true;
	return arg;
}

/* The second reading takes so long; the first one is the sample. */
static void slow_read(void)
{
	const uint64_t end = rd_monotonic_ns() + (hca.reads == 2 ? 3000000 : 5000);

	while (rd_monotonic_ns() < end)
		sched_yield();
	if (hca.reads != 2)
		return;
	other.frame.ts_ns = other.tick = rd_monotonic_ns() & MASK;
	assert_int_equal(pthread_create(&other.thread, NULL, stamp_other, NULL), 0);
	while (!other.waits && !other.done)
		sched_yield();
}

/* All queues convert a tick to the same time, however long it took to read the counter. */
TEST(slow_to_read)
{
	uint64_t tick;

	hca_make();
	clock_make(RD_STAMPS_ADAPTER, "hardware clock");
	tick = rd_monotonic_ns() & MASK;
	stamp(&other.stamps, &tick, 1);
	hca.read = slow_read;
	hca.reads = 0;
	hca.lead = 100000; /* the line will bend */
	clock_made.interval = 1;
	tick = rd_monotonic_ns() & MASK;
	stamp(&(struct verbs_stamps){.generation = 0}, &tick, 1);
	pthread_join(other.thread, NULL);
	assert_int_equal(other.frame.ts_ns, clock_map_ns(&clock_made.map, other.tick));
}

/* A real-time clock that drifts by `ppm`, for half an hour that takes no time. */
static void drifts(int64_t ppm)
{
	const uint64_t second = 1000000000;
	int64_t worst = 0, last, off;

	hca_make();
	hca.real_time = true;
	clock_make(RD_STAMPS_ADAPTER, "hardware clock (real time)");
	last = clock_made.offset;
	for (unsigned int i = 1; i <= 1800; i++) {
		hca.ahead += ppm * 1000;
		/* The last reading was a second ago. */
		clock_made.skew_at -= second;
		assert_true(verbs_refresh_real_time(&clock_made));
		off = hca.ahead + clock_made.offset;
		worst = llabs(off) > worst ? llabs(off) : worst;
		/* Nothing jumps: 500 ppm at most. */
		assert_in_range(llabs(clock_made.offset - last), 0, 501000);
		last = clock_made.offset;
	}
	assert_true(clock_made.drifting);
	/* Between readings it drifts on, and the readings are not exact. */
	assert_in_range(worst, CLOCK_AGREE_NS - 1000000, CLOCK_AGREE_NS + 1000000);
}

TEST(drift)
{
	drifts(100);
	drifts(-100);
}

TEST(real_time)
{
	struct verbs_stamps s = {.generation = 0};
	struct rd_clock host;
	uint64_t now, back[9];

	hca_make();
	hca.real_time = true;
	rd_clock_set(&host);
	clock_make(RD_STAMPS_ADAPTER, "hardware clock (real time)");
	true_times(rd_clock_now(&host));
	/* Set back by two seconds: all else is as before. */
	hca.ahead = -2000000000;
	now = rd_clock_now(&host);
	clock_made.refreshed = 0;
	back[0] = now;
	for (unsigned int i = 1; i < 9; i++)
		back[i] = now - 2000000000 + i * 700;
	stamp(&s, back, 9);
	assert_int_equal(back[0], now);
	for (unsigned int i = 1; i < 9; i++) {
		assert_in_range(back[i] + 10000000 - now, 0, 20000000);
		assert_int_equal(flags[i], 0);
	}
	assert_int_equal(back[8] - back[1], 7 * 700);
}

/* A clock that was never set, or cannot be read, is not used; one off by whole seconds is right. */
TEST(unset)
{
	struct verbs_stamps s = {.generation = 0};
	struct rd_clock host;
	uint64_t ns[1];

	hca_make();
	hca.real_time = true;
	hca.ahead = 20000000;
	clock_make(RD_STAMPS_ADAPTER, "hardware clock");
	/* Two clocks are read, one after the other: not exact where other processes run between. */
	assert_in_range(clock_made.unset, 10000000, 30000000);
	hca.unreadable = true;
	clock_make(RD_STAMPS_ADAPTER, "hardware clock");
	hca.unreadable = false;
	hca.ahead = 37000000000;
	clock_make(RD_STAMPS_ADAPTER, "hardware clock (real time)");
	rd_clock_set(&host);
	ns[0] = rd_clock_now(&host) + 37000000000;
	stamp(&s, ns, 1);
	assert_in_range(rd_clock_now(&host) - ns[0], 0, 1000000000);
	assert_int_equal(flags[0], 0);
}

/* The host's clock once a batch: frames as far apart as the port's speed has them. */
TEST(host)
{
	struct verbs_stamps s = {.generation = 0};
	uint64_t ns[4] = {0}, before, after, future;

	hca_make();
	clock_make(RD_STAMPS_HOST, "software clock");
	before = rd_clock_now(&clock_made.host);
	stamp(&s, ns, 4);
	after = rd_clock_now(&clock_made.host);
	assert_true(ns[3] >= before && ns[3] <= after);
	/* 1024 bytes with what is around them, at 100 Gb/s */
	for (unsigned int i = 1; i < 4; i++)
		assert_in_range(ns[i] - ns[i - 1], 81, 83);
	/* The previous batch ends later than this one begins. */
	s.last = future = rd_clock_now(&clock_made.host) + 1000000000000;
	stamp(&s, ns, 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(ns[i], future);
}

/* --- a queue that fails ----------------------------------------------------------------- */

static struct verbs_port port;
static struct verbs_queue queue, second;
static unsigned int frames_next, errors_next; /* of the next poll */
static bool poll_fails, removed_meanwhile; /* ... by another queue's thread, after frames arrived */

static unsigned int poll_fake(struct verbs_queue *v, struct rd_frame *frames, unsigned int max)
{
	unsigned int n = frames_next;

	assert_true(frames_next <= max);
	if (poll_fails) {
		v->fault = (struct queue_fault){.text = "cannot be polled", .cq_failed = true};
		return 0;
	}
	for (unsigned int i = 0; i < n; i++)
		frames[i] = (struct rd_frame){.len = 100, .caplen = 100};
	frames_next = removed_meanwhile ? 10 : 0;
	port.removed |= removed_meanwhile;
	removed_meanwhile = false;
	while (errors_next && errors_next--)
		verbs_completion_error(v, IBV_WC_WR_FLUSH_ERR, 0, 0);
	return n;
}

static int post_fake(struct verbs_queue *v)
{
	return 0;
}

static const struct verbs_path path_fake = {.name = "fake", .poll = poll_fake, .post = post_fake};

static void queue_make(void)
{
	hca_make();
	frames_next = errors_next = 0;
	poll_fails = false;
	memset(&queue, 0, sizeof(queue));
	memset(&second, 0, sizeof(second));
	queue.path = &path_fake;
	memset(&port, 0, sizeof(port));
	queue.port = second.port = &port;
	second.index = 1;
	port.queue[0] = &queue;
	port.queue[1] = &second;
	port.n_queues = 2;
	port.ctx = &hca.vctx.context;
	queue.wake_fd = second.wake_fd = -1;
	port.num = 1;
	queue.cq = (void *)&queue.cq_ex;
	queue.wq = (void *)&queue.ring;
	second.cq = (void *)&second.cq_ex;
	second.wq = (void *)&second.ring;
	pthread_mutex_init(&port.lock, NULL);
	strcpy(port.name, "fake:1");
	assert_int_equal(
		verbs_clock_open(&port.clock, port.ctx, "fake", RD_STAMPS_HOST, SPEED, &failure),
		0);
}

static int receive(struct rd_error *err)
{
	struct rd_frame frames[RD_BATCH];

	queue.src.note[0] = '\0';
	return verbs_ops.receive(&queue.src, frames, RD_BATCH, err);
}

/* Any number of times, as long as frames arrive in between. */
TEST(repairs)
{
	queue_make();
	for (unsigned int i = 1; i <= 300; i++) {
		errors_next = 3;
		frames_next = 2;
		/* Completions before the failure are taken first. */
		same(receive(&failure), 2, hca.resets, i - 1, receive(&failure), 0, hca.resets, i);
		assert_non_null(strstr(queue.src.note, "was restored"));
		assert_int_equal(queue.gaps, i);
	}
	assert_int_equal(hca.replacements, 0);
}

/* But not without limit if no frame arrives. */
TEST(hopeless)
{
	queue_make();
	for (unsigned int i = 1; i <= 64; i++) {
		errors_next = 1;
		expect("0 0", receive(&failure), receive(&failure));
	}
	assert_int_equal(hca.resets, 64);
	errors_next = 1;
	same(receive(&failure), -1, failure.class, RD_CLASS_PARTIAL);
	assert_non_null(strstr(failure.text, "fake:1 fails repeatedly"));
	assert_int_equal(hca.resets, 64);
}

/* What a queue has before the start is dropped; one that failed until then is renewed. */
TEST(before_the_start)
{
	queue_make();
	queue.ring.n = 16;
	frames_next = 3;
	queue.src.recheck_ns = 1;
	expect("0 0 0 0", verbs_queue_empty(&queue, &failure), frames_next, queue.src.recheck_ns,
		hca.resets);
	errors_next = 1;
	expect("0 1 0", verbs_queue_empty(&queue, &failure), hca.resets, queue.fault.text != NULL);
	queue.oversize.unsure = true;
	expect("0 2 0", verbs_queue_empty(&queue, &failure), hca.resets, queue.oversize.unsure);
	errors_next = 1;
	hca.reset_rc = hca.replace_rc = -1;
	expect("-1", verbs_queue_empty(&queue, &failure));
}

/*
 * If a reset is refused, or does not help, the queue is replaced; if that fails the capture ends.
 */
TEST(replace)
{
	queue_make();
	hca.reset_rc = -1;
	errors_next = 1;
	expect("0 1 1", receive(&failure), hca.resets, hca.replacements);
	hca.reset_rc = 0;
	poll_fails = true;
	expect("0 1 2", receive(&failure), hca.resets, hca.replacements);
	hca.replace_rc = -1;
	assert_int_equal(receive(&failure), -1);
	assert_non_null(strstr(failure.text, "replace"));
}

/* Once stopped nothing is repaired: arrived frames are received, then the source ends. */
TEST(stopped)
{
	queue_make();
	errors_next = 1;
	frames_next = 1;
	assert_int_equal(receive(&failure), 1);
	port.stopped = true;
	same(receive(&failure), RD_SOURCE_END, hca.resets, 0, queue.gaps, 0);
}

/* A flow that cannot be destroyed delivers: what was there at its stop is received, no more. */
TEST(abandoned)
{
	queue_make();
	port.stopped = port.abandoned = true;
	queue.rest = 5;
	frames_next = 2;
	assert_int_equal(receive(&failure), 2);
	frames_next = 3;
	expect("3 -2", receive(&failure), receive(&failure));
}

TEST(removed)
{
	queue_make();
	hca.event[0] = (struct ibv_async_event){.event_type = IBV_EVENT_DEVICE_FATAL};
	hca.n_events = 1;
	errors_next = 1;
	frames_next = 1;
	expect("1 -1", receive(&failure), receive(&failure));
	assert_non_null(strstr(failure.text, "fake:1 failed fatally or was removed"));
	expect("0 1", hca.resets, hca.acked);
}

/* What arrived between a poll that found nothing and the removal is received before the end. */
TEST(removed_after_a_poll)
{
	queue_make();
	removed_meanwhile = true;
	expect("0 10 -1", receive(&failure), receive(&failure), receive(&failure));
}

/* A device that is removed may close its event queue without an event. */
TEST(removed_without_event)
{
	queue_make();
	verbs_events_take(&queue);
	assert_false(port.removed);
	hca.async_errno = EIO;
	verbs_events_take(&queue);
	expect("1 -1", port.removed, receive(&failure));
	assert_non_null(strstr(failure.text, "fake:1 failed fatally or was removed"));
}

/* The device is removed during a repair: its commands fail before the event can be read. */
TEST(removed_during_a_repair)
{
	queue_make();
	hca.vctx.context.async_fd = -1;
	hca.reset_rc = hca.replace_rc = -1;
	hca.replace_errno = EIO;
	hca.late = 3;
	errors_next = 1;
	assert_int_equal(receive(&failure), -1);
	assert_non_null(strstr(failure.text, "fake:1 failed fatally or was removed"));
	same(failure.class, RD_CLASS_PARTIAL, hca.replacements, 1);
	/* Another reason: the command's own error. */
	queue_make();
	hca.reset_rc = hca.replace_rc = -1;
	hca.replace_errno = ENOMEM;
	hca.late = 4;
	errors_next = 1;
	assert_int_equal(receive(&failure), -1);
	assert_non_null(strstr(failure.text, "replace"));
}

/* --- frames that are longer than their buffers -------------------------------------------- */

static unsigned int posted;

static int post_counted(struct verbs_queue *v)
{
	posted++;
	return 0;
}

/* So many frames too long, then flushed receives. */
static unsigned int long_next, flushed_next;

static unsigned int poll_long(struct verbs_queue *v, struct rd_frame *frames, unsigned int max)
{
	unsigned int n = poll_fake(v, frames, max);

	for (; long_next; long_next--)
		assert_true(verbs_completion_error(v, IBV_WC_LOC_LEN_ERR, 0, 9000));
	for (; flushed_next; flushed_next--)
		assert_false(verbs_completion_error(v, IBV_WC_WR_FLUSH_ERR, 0, 0));
	return n;
}

static const struct verbs_path path_long = {
	.name = "long", .poll = poll_long, .post = post_counted};

TEST(oversize)
{
	struct rd_source_stats stats;

	queue_make();
	queue.path = &path_long;
	queue.ring.buffer_size = 1600;
	port.keep_buffers = true;
	/* Alone it is not released by anybody. */
	posted = 0;
	long_next = 1;
	expect("0 1", receive(&failure), posted);
	assert_non_null(strstr(queue.src.note, "lost 1 frame of 9000 bytes: longer than"));
	expect("1 0", queue.oversize.unsure, hca.resets);
	/* Frames after it show that the queue still works. */
	frames_next = 3;
	expect("3 0", receive(&failure), queue.oversize.unsure);
	/* Between frames of a batch. */
	frames_next = 2;
	long_next = 1;
	expect("2 1 1", receive(&failure), queue.oversize.unsure, posted);
	/* Flushed receives show that it does not. */
	flushed_next = 3;
	expect("0 1", receive(&failure), hca.resets);
	assert_non_null(strstr(queue.src.note, "failed (a frame was longer than its buffer)"));
	assert_int_equal(queue.gaps, 1);
	/* Not each one is noted. */
	long_next = 1;
	assert_int_equal(receive(&failure), 0);
	assert_null(strstr(queue.src.note, "lost"));
	/* What came before the stop counts. */
	port.stopped = true;
	long_next = 1;
	assert_int_equal(receive(&failure), 0);
	verbs_ops.stats(&queue.src, &stats);
	expect("4 longer_than_buffer", stats.lost, stats.loss[0].name);
	/* No frame has this length. */
	expect("1 9000", verbs_completion_error(&queue, IBV_WC_LOC_LEN_ERR, 0, FRAME_MAX + 1),
		queue.oversize.longest);
}

/* Whether the queue is in error is asked after a while, and no sooner. */
TEST(oversize_recheck)
{
	queue_make();
	port.stopped = true; /* its state is then not asked for */
	queue.oversize.unsure = true;
	queue.src.recheck_ns = UINT64_MAX;
	expect("0 1", receive(&failure), queue.oversize.unsure);
	queue.src.recheck_ns = 1;
	expect("0 0 0", receive(&failure), queue.oversize.unsure, queue.src.recheck_ns);
	/* Removed once stopped: the end is no failure. */
	port.removed = true;
	assert_int_equal(receive(&failure), 0);
	port.stopped = false;
	assert_int_equal(receive(&failure), -1);
}

/* --- events that moderation should have delayed -------------------------------------------- */

static void early_events(unsigned int n)
{
	while (n--)
		verbs_gather_event(&queue);
}

TEST(gather)
{
	const uint64_t began = rd_monotonic_ns();

	queue_make();
	port.speed = SPEED;
	port.latency_us = 5000;
	port.frame_room = 1600;
	queue.ring.n = 16384;
	/* So long a period that every event is early. */
	queue.gather =
		(struct verbs_gather){.count = 64, .period_us = 100000000, .event_ns = began};
	early_events(15);
	expect("15 1", queue.gather.early, queue.gather.event_ns >= began);
	/* With enough frames it is not too early. */
	queue.gather.frames = 32;
	early_events(1);
	expect("0 0", queue.gather.early, queue.gather.frames);
	early_events(15);
	/* Nor after the period. */
	queue.gather.event_ns -= UINT64_C(100000000000);
	early_events(1);
	expect("0 64", queue.gather.early, queue.gather.count);
	early_events(15);
	expect("64 0", queue.gather.count, queue.src.nap_ns.least);
	early_events(1);
	expect("0 1", queue.gather.count, queue.src.gathers);
	assert_int_equal(queue.src.nap_ns.least, 4096ULL * 84 * 8 * 1000000000 / SPEED);
}

/* --- completions of mlx5 with lengths that cannot be ---------------------------------------- */

static struct {
	struct mlx5_cqe64 cqe[8];
	struct mlx5_mprq_wqe wqe[8];
	__be32 cq_record[2], rq_record[2];
	uint64_t uar[32];
	struct ibv_wq wq;
	struct ibv_mr mr;
	bool is_mlx5;
} shared;

bool __wrap_mlx5dv_is_supported(struct ibv_device *device)
{
	return shared.is_mlx5;
}

int __wrap_mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t type)
{
	if (type & MLX5DV_OBJ_CQ)
		*obj->cq.out = (struct mlx5dv_cq){.buf = shared.cqe,
			.dbrec = shared.cq_record,
			.cqe_cnt = 8,
			.cqe_size = sizeof(shared.cqe[0]),
			.cq_uar = shared.uar};
	if (type & MLX5DV_OBJ_RWQ)
		*obj->rwq.out = (struct mlx5dv_rwq){.buf = shared.wqe,
			.dbrec = shared.rq_record,
			.wqe_cnt = 8,
			.stride = sizeof(shared.wqe[0])};
	return 0;
}

static void complete(unsigned int i, uint32_t byte_cnt, uint16_t wqe_counter)
{
	shared.cqe[i].byte_cnt = htobe32(byte_cnt);
	shared.cqe[i].wqe_counter = htobe16(wqe_counter);
	shared.cqe[i].op_own = MLX5_CQE_RESP_SEND << 4;
}

static void mlx5_queue_make(uint8_t *memory, uint32_t buffer_size)
{
	queue_make();
	memset(&shared, 0, sizeof(shared));
	shared.is_mlx5 = true;
	for (unsigned int i = 0; i < 8; i++)
		shared.cqe[i].op_own = (uint8_t)(MLX5_CQE_INVALID << 4);
	port.link = RD_LINK_ETHERNET;
	port.keep_buffers = true;
	queue.ring = (struct verbs_ring){
		.memory = memory, .buffer_size = buffer_size, .n = 8, .mr = &shared.mr};
}

static void mlx5_queue_free(void)
{
	shared.is_mlx5 = false;
	verbs_mlx5_free(&queue);
}

/* Nothing behind the buffer is read: the frame counts as too long, its entry is posted again. */
TEST(impossible_length)
{
	static uint8_t memory[8 * 192];
	struct rd_frame frames[RD_BATCH];

	mlx5_queue_make(memory, 192);
	if (!verbs_mlx5_adopt(&queue)) {
		assert_false(MMIO_DIRECT);
		skip();
	}
	complete(0, 60, 0);
	complete(1, 193, 1);
	complete(2, UINT32_MAX, 2);
	complete(3, 192, 3);
	assert_int_equal(queue.path->poll(&queue, frames, RD_BATCH), 2);
	assert_ptr_equal(frames[0].data, memory);
	assert_int_equal(frames[0].len, 60);
	assert_ptr_equal(frames[1].data, memory + 3 * 192);
	expect("192 2 4", frames[1].len, queue.oversize.frames, queue.taken);
	queue.path->post(&queue);
	assert_int_equal(be32toh(shared.rq_record[MLX5_RCV_DBR]), 8 + 4);
	/* Lengths that fit, and more than the buffer if ORed. */
	complete(4, 128, 4);
	complete(5, 127, 5);
	expect("2 2", queue.path->poll(&queue, frames, RD_BATCH), queue.oversize.frames);
	/* By one byte. */
	complete(6, 193, 6);
	expect("0 3", queue.path->poll(&queue, frames, RD_BATCH), queue.oversize.frames);
	mlx5_queue_free();
}

/* What libibverbs may read: neither what is not written yet, nor compressed completions. */
TEST(readable)
{
	struct ibv_cq cq = {.context = &hca.vctx.context};
	bool compressed = false;

	mlx5_queue_make(NULL, 0);
	shared.cq_record[0] = htobe32(6);
	assert_int_equal(rd_verbs_readable(&cq, 4, &compressed), 0);
	complete(6, 60, 0);
	complete(7, 60, 1);
	/* The next pass over the CQ: another owner. */
	complete(0, 60, 2);
	same(rd_verbs_readable(&cq, 1, &compressed), 1, rd_verbs_readable(&cq, 4, &compressed), 2);
	shared.cq_record[0] = htobe32(8);
	assert_int_equal(rd_verbs_readable(&cq, 4, &compressed), 0);
	shared.cqe[0].op_own |= MLX5_CQE_OWNER_MASK;
	shared.cqe[1].op_own = MLX5_CQE_RESP_ERR << 4 | MLX5_CQE_OWNER_MASK;
	shared.cqe[2].op_own = MLX5_CQE_RESP_SEND << 4 | CQE_COMPRESSED | MLX5_CQE_OWNER_MASK;
	shared.cqe[3].op_own = shared.cqe[0].op_own;
	expect("2 0 2 1", rd_verbs_readable(&cq, 2, &compressed), compressed,
		rd_verbs_readable(&cq, 4, &compressed), compressed);
	mlx5_queue_free();
	assert_int_equal(rd_verbs_readable(&cq, 4, &compressed), 4);
}

/* --- a CQ without extended polling -------------------------------------------------------- */

static int wcs_next; /* completions of the next poll, then it fails */

/* Those of a queue that was reset are polled, and nothing behind them. */
static int poll_stale_fake(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
	shared.cq_record[0] = htobe32(be32toh(shared.cq_record[0]) + (uint32_t)most);
	return most;
}

TEST(discard)
{
	struct ibv_cq cq = {.context = &hca.vctx.context};

	mlx5_queue_make(NULL, 0);
	hca.vctx.context.ops.poll_cq = poll_stale_fake;
	for (unsigned int i = 0; i < 5; i++)
		complete(i, 60, (uint16_t)i);
	rd_verbs_discard(&cq, NULL);
	assert_int_equal(be32toh(shared.cq_record[0]), 5);
	mlx5_queue_free();
}

static int poll_wcs_fake(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
	assert_true(wcs_next < most);
	for (int i = 0; i < wcs_next; i++)
		wc[i] = (struct ibv_wc){.wr_id = (uint64_t)i, .byte_len = 60 + (uint32_t)i};
	return -1;
}

/* Completions that a failed call had taken are delivered. */
TEST(failed_poll)
{
	uint8_t memory[8 * 64] = {0};
	struct ibv_recv_wr wr[8] = {0};
	struct ibv_cq cq = {.context = &hca.vctx.context};
	struct rd_frame frames[RD_BATCH];

	queue_make();
	hca.vctx.context.ops.poll_cq = poll_wcs_fake;
	queue.cq = &cq;
	queue.path = verbs_path_libibverbs(&queue);
	queue.ring = (struct verbs_ring){.memory = memory, .buffer_size = 64, .n = 8, .wr = wr};
	queue.ring.tail = &queue.ring.first;
	wcs_next = 3;
	assert_int_equal(verbs_ops.receive(&queue.src, frames, RD_BATCH, &failure), 3);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(frames[i].len, 60 + i);
	expect("1 0 1", queue.fault.cq_failed, receive(&failure), hca.replacements);
	/* A length beyond the buffer: its entry is posted again. */
	wcs_next = 6;
	expect("5 1", verbs_ops.receive(&queue.src, frames, RD_BATCH, &failure),
		queue.oversize.frames);
}

/* --- advice ------------------------------------------------------------------------------- */

static void advised(enum verbs_object object, int errnum, const char *driver, const char *todo)
{
	struct rd_device device = {0};

	strcpy(device.driver, driver);
	port.device = &device;
	assert_int_equal(verbs_fail_object(&port, &failure, errnum, object, "verb"), -1);
	if (!strstr(failure.text, todo))
		fail_msg("'%s' has no '%s'", failure.text, todo);
}

TEST(advice)
{
	queue_make();
	advised(VERBS_FLOW, EOPNOTSUPP, "mlx5_core", "has no sniffer for verbs");
	/* A provider without ibv_create_flow() gives the same errno as firmware that refuses. */
	advised(VERBS_FLOW, EOPNOTSUPP, "mlx4_core", "log_num_mgm_entry_size=-1");
	advised(VERBS_FLOW, ENOSYS, "mlx4_core", "log_num_mgm_entry_size=-1");
	advised(VERBS_QUEUE, EOPNOTSUPP, "mlx4_core", "no RAW_PACKET queue pair");
}

/* --- numbers ---------------------------------------------------------------------------- */

/* What all queues and all of the device's counters tell; known if each of them is. */
TEST(stats)
{
	struct rd_source_stats stats;

	queue_make();
	queue.gaps = 2;
	second.gaps = 5;
	port.loss.last.n = 2;
	port.loss.growth[0].amount = port.loss.least[0] = 3;
	port.loss.growth[1].amount = port.loss.least[1] = 4;
	verbs_ops.stats(&queue.src, &stats);
	expect("7 2 7 0", stats.gaps, stats.n_loss, stats.lost, stats.loss_known);
	queue.gaps = second.gaps = 0;
	for (unsigned int i = 0; i < 2; i++) {
		port.loss.growth[i].verdict = RD_GROWTH_RESET;
		verbs_ops.stats(&queue.src, &stats);
		assert_false(stats.loss_known);
		port.loss.growth[i].verdict = RD_GROWTH_EXACT;
	}
	port.loss.last.n = 0;
	verbs_ops.stats(&queue.src, &stats);
	assert_false(stats.loss_known);
}

/* --- events ----------------------------------------------------------------------------- */

static void tell(enum ibv_event_type type, int num, struct ibv_cq *cq, struct ibv_wq *wq)
{
	hca.event[0] = (struct ibv_async_event){.event_type = type};
	if (num)
		hca.event[0].element.port_num = num;
	else if (cq)
		hca.event[0].element.cq = cq;
	else
		hca.event[0].element.wq = wq;
	hca.n_events = 1;
	queue.src.note[0] = '\0';
	queue.pending_faults = second.pending_faults = 0;
	verbs_events_take(&queue);
}

static eventfd_t woken(const struct verbs_queue *q)
{
	eventfd_t times = 0;

	eventfd_read(q->wake_fd, &times);
	return times;
}

TEST(events)
{
	queue_make();
	queue.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	second.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	tell(IBV_EVENT_PORT_ERR, 1, NULL, NULL);
	assert_non_null(strstr(queue.src.note, "port down"));
	tell(IBV_EVENT_PORT_ACTIVE, 1, NULL, NULL);
	assert_non_null(strstr(queue.src.note, "port up"));
	/* Of the device's other port. */
	tell(IBV_EVENT_PORT_ERR, 2, NULL, NULL);
	assert_string_equal(queue.src.note, "");
	/* To the queue whose CQ or work queue it is, and to no other. */
	tell(IBV_EVENT_CQ_ERR, 0, second.cq, NULL);
	same(queue.pending_faults, 0, second.pending_faults, FAULT_CQ);
	/* Its thread may sleep; the one that reads events does not. */
	assert_int_equal(woken(&second), 1);
	tell(IBV_EVENT_WQ_FATAL, 0, NULL, queue.wq);
	same(queue.pending_faults, FAULT_QUEUE, second.pending_faults, 0);
	tell(IBV_EVENT_QP_FATAL, 0, NULL, NULL);
	assert_int_equal(queue.pending_faults, FAULT_QUEUE);
	/* Of a queue that is no more. */
	tell(IBV_EVENT_CQ_ERR, 0, (void *)&hca, NULL);
	expect("0 7 0", queue.pending_faults | second.pending_faults, hca.acked,
		woken(&queue) + woken(&second));
	close(queue.wake_fd);
	close(second.wake_fd);
	queue.wake_fd = second.wake_fd = -1;
}

/* Where the CQ failed too, it is the cause, and a reset would not help. */
TEST(pending_faults)
{
	queue_make();
	queue.pending_faults = FAULT_QUEUE | FAULT_CQ;
	expect("0 0", receive(&failure), queue.pending_faults);
	assert_non_null(strstr(queue.src.note, "the completion queue overran"));
	expect("0 1", hca.resets, hca.replacements);
	queue.pending_faults = FAULT_ACCESS;
	assert_int_equal(receive(&failure), 0);
	assert_non_null(strstr(queue.src.note, "access violation"));
	assert_int_equal(hca.resets, 1);
}

/* --- addresses -------------------------------------------------------------------------- */

/* What rtnetlink reports next; kind, ifindex. */
static struct rd_link_change links[4];
static unsigned int n_links;

bool __wrap_rd_links_read(int fd, rd_link_fn *fn, void *ctx)
{
	assert_int_equal(fd, 77);
	if (!n_links)
		return false;
	fn(ctx, &links[--n_links]);
	return true;
}

static void link_changes(unsigned int ifindex)
{
	links[n_links++] = (struct rd_link_change){.kind = RD_LINK_STATE, .ifindex = ifindex};
}

static bool is_local(const uint8_t *mac)
{
	for (unsigned int i = 0; i < queue.src.local.n_mac; i++)
		if (memcmp(queue.src.local.mac[i], mac, 6) == 0)
			return true;
	return false;
}

/* The netdev's MAC address changes: read again when netlink reports that netdev, no other. */
TEST(addresses)
{
	static const uint8_t former[6] = {2, 0, 0, 0, 0, 1}, now[6] = {2, 0, 0, 0, 0, 2};
	const char *address = "sys/class/net/eth7/address";
	const struct rd_device device = {.name = "fake"};
	const struct rd_port from = {.num = 1,
		.link = RD_LINK_ETHERNET,
		.n_netdevs = 1,
		.netdevs = {{.name = "eth7", .ifindex = 7}}};

	queue_make();
	tree_make();
	tree_text(address, "02:00:00:00:00:01\n");
	port.sysroot = tree.root;
	port.device = &device;
	verbs_addresses_open(&port, &from);
	verbs_addresses_take(&queue);
	assert_true(is_local(former));
	tree_text(address, "02:00:00:00:00:02\n");
	port.addresses.fd = 77;
	n_links = 0;
	link_changes(8);
	verbs_addresses_service(&port);
	assert_int_equal(port.addresses.generation, queue.addresses);
	/* Several messages, the last of them of another netdev. */
	link_changes(9);
	link_changes(7);
	link_changes(7);
	verbs_addresses_service(&port);
	assert_int_not_equal(port.addresses.generation, queue.addresses);
	assert_int_equal(receive(&failure), 0);
	/* Frames on their way have the former one. */
	assert_true(is_local(now) && is_local(former));
	/* The same again is no change. */
	link_changes(7);
	verbs_addresses_service(&port);
	assert_int_equal(port.addresses.generation, queue.addresses);
}
