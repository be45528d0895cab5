/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The device's counter against the host's clock, over hours that take no time. */
#include "source/netdev.h"
#include "source/verbs_clock.h"
#include "test.h"
#include <sched.h>

#define SECOND 1000000000ULL
#define EPOCH  1800000000000000000ULL

/* A device whose counter drifts, and a host that reads it with some jitter. */
struct device {
	double khz, drift;
	uint64_t start, mask;
	unsigned int seed;
};

static uint64_t ticks_at(const struct device *d, uint64_t ns)
{
	double past = (double)(ns - EPOCH);

	return (d->start + (uint64_t)(past * d->khz / 1e6 * (1 + d->drift))) & d->mask;
}

static void sample_at(struct clock_fit *f, struct device *d, uint64_t ns)
{
	d->seed = d->seed * 1103515245 + 12345;
	clock_fit_sample(f, ticks_at(d, ns), ns + (d->seed >> 16) % 800 - 400, SECOND);
}

static int64_t off_at(const struct clock_fit *f, const struct device *d, uint64_t ns)
{
	return (int64_t)(clock_map_ns(&f->map, ticks_at(d, ns)) - ns);
}

static int64_t magnitude(int64_t v)
{
	return v < 0 ? -v : v;
}

/* Ten hours: the worst error once the rate is known, and timestamps never go back. */
static void follow(struct device d)
{
	const uint64_t hours = 10 * 3600 * SECOND;
	uint64_t last = 0;
	int64_t worst = 0;
	struct clock_fit f;

	clock_fit_init(&f, d.mask, (uint64_t)d.khz);
	for (uint64_t t = 0; t < hours; t += SECOND) {
		sample_at(&f, &d, EPOCH + t);
		for (uint64_t k = 0; k < 10; k++) {
			uint64_t at = EPOCH + t + k * (SECOND / 10) + 1000;
			uint64_t ns = clock_map_ns(&f.map, ticks_at(&d, at));

			assert_true(ns >= last);
			last = ns;
			if (t >= 20 * SECOND && magnitude(off_at(&f, &d, at)) > worst)
				worst = magnitude(off_at(&f, &d, at));
		}
	}
	assert_int_equal(f.steps, 0);
	if (worst > 3000)
		fail_msg("%g kHz, drift %g: %lld ns off", d.khz, d.drift, (long long)worst);
}

TEST(drift)
{
	static const double khz[] = {78125, 156250, 1000000}, ppm[] = {-100, 0, 100};

	for (unsigned int i = 0; i < 3; i++)
		for (unsigned int k = 0; k < 3; k++)
			follow((struct device){.khz = khz[i],
				.drift = ppm[k] * 1e-6,
				.start = 12345,
				.mask = ((uint64_t)1 << 41) - 1});
}

/* Counters of few bits wrap every few seconds, and right at the beginning. */
TEST(wrap)
{
	static const unsigned int bits[] = {33, 41, 63, 64};

	for (unsigned int i = 0; i < 4; i++) {
		uint64_t mask = bits[i] == 64 ? UINT64_MAX : ((uint64_t)1 << bits[i]) - 1;

		follow((struct device){
			.khz = 1000000, .drift = 50e-6, .start = mask - 500000000, .mask = mask});
	}
}

/* Not read for longer than the counter's range: the first sample corrects it. */
TEST(idle)
{
	struct device d = {
		.khz = 1000000, .drift = 90e-6, .start = 7, .mask = ((uint64_t)1 << 41) - 1};
	struct clock_fit f;
	uint64_t t = EPOCH;

	clock_fit_init(&f, d.mask, 1000000);
	for (unsigned int i = 0; i < 20; i++, t += SECOND)
		sample_at(&f, &d, t);
	for (unsigned int hours = 1; hours < 100; hours *= 2) {
		t += hours * 3600 * SECOND;
		sample_at(&f, &d, t);
		expect("0 1", f.steps, magnitude(off_at(&f, &d, t + 1000)) < 2000);
		/* a frame that came just before */
		assert_true(magnitude(off_at(&f, &d, t - 1000000)) < 2000);
	}
}

/* Two queues, one of which does not have the newest line yet: they convert alike. */
TEST(shared)
{
	struct device d = {
		.khz = 156250, .drift = 100e-6, .start = 99, .mask = ((uint64_t)1 << 41) - 1};
	struct clock_fit f;

	clock_fit_init(&f, d.mask, 156250);
	sample_at(&f, &d, EPOCH);
	for (uint64_t t = EPOCH + SECOND; t < EPOCH + 60 * SECOND; t += SECOND) {
		struct clock_map before = f.map;

		sample_at(&f, &d, t);
		for (uint64_t at = t - SECOND / 2; at < t + 1900000; at += 12345678)
			assert_int_equal(clock_map_ns(&f.map, ticks_at(&d, at)),
				clock_map_ns(&before, ticks_at(&d, at)));
	}
}

/* A counter that is reset or set: timestamps go on from the host's clock, and follow it again. */
TEST(step)
{
	struct device d = {
		.khz = 156250, .drift = -30e-6, .start = 1 << 30, .mask = ((uint64_t)1 << 41) - 1};
	struct clock_fit f;
	uint64_t t = EPOCH;

	clock_fit_init(&f, d.mask, 156250);
	for (unsigned int i = 0; i < 30; i++, t += SECOND)
		sample_at(&f, &d, t);
	d.start += 156250 * 100; /* 100 ms ahead */
	sample_at(&f, &d, t);
	expect("1 1", f.steps, magnitude(off_at(&f, &d, t)) < 1000);
	for (unsigned int i = 0; i < 30; i++, t += SECOND)
		sample_at(&f, &d, t);
	expect("1 1", magnitude(off_at(&f, &d, t)) < 3000, f.steps);
}

/* A clock is not used if the reported rate is more wrong than any oscillator. */
TEST(nonsense)
{
	struct clock_fit f;

	clock_fit_init(&f, UINT64_MAX, 1000000);
	for (uint64_t i = 0; i < 30; i++)
		clock_fit_sample(&f, i * i * SECOND, EPOCH + i * SECOND, SECOND);
	assert_true(f.map.line[f.map.newest].rate > f.nominal / 2 &&
		    f.map.line[f.map.newest].rate < f.nominal * 2);
	/* the same moment twice */
	clock_fit_sample(&f, 1, EPOCH + 29 * SECOND, SECOND);
}

TEST(real_time)
{
	uint64_t now = EPOCH + 123456789, split = now / SECOND << 32 | now % SECOND;

	same(rd_clock_real_time_ns(split, now + 5000), now, rd_clock_real_time_ns(now, now + 5000),
		now);
	/* a clock that was never set counts from 1970 */
	assert_int_equal(rd_clock_real_time_ns((uint64_t)77 << 32 | 5, now), 77 * SECOND + 5);
	/* no second has so many nanoseconds: it counts nanoseconds, whatever its date */
	assert_int_equal(rd_clock_real_time_ns((uint64_t)77 << 32 | SECOND, now),
		(uint64_t)77 << 32 | SECOND);
}

TEST(epoch)
{
	const int64_t second = SECOND;
	bool set;

	expect("0 1", rd_clock_epoch_offset(2000000, &set), set);
	/* TAI is 37 s ahead */
	same(rd_clock_epoch_offset(-37 * second + 2000000, &set), -37 * second, set, true);
	same(rd_clock_epoch_offset(-37 * second + 20000000, &set), -37 * second + 20000000,
		rd_clock_epoch_offset(-20000000, &set), -20000000, set, 0);
	same(rd_clock_epoch_offset(500 * second + 1, &set), 500 * second + 1, set, false);
	same(rd_clock_epoch_offset(5 * second + second / 2, &set), 5 * second + second / 2, set,
		false);
}

TEST(scale)
{
	expect("15 -15", clock_scale(10, (uint64_t)3 << 31), clock_scale(-10, (uint64_t)3 << 31));
	assert_int_equal(clock_scale((int64_t)1 << 50, (uint64_t)6 << 32), (int64_t)6 << 50);
	assert_int_equal(clock_scale(-((int64_t)1 << 50), (uint64_t)6 << 32), -((int64_t)6 << 50));
}

/* --- the kernel's timestamps ------------------------------------------------------------------ */

/*
 * Frames that the kernel received each 100 ms and that are read 50 ms later, while the system clock
 * is set: their times go on, also that of the frame that waits meanwhile. `error`: the most that
 * one may be off while both are possible.
 */
static void steps_by(int64_t by, int64_t error)
{
	struct netdev_clock c = {.host.epoch_ns = EPOCH, .epoch_ns = EPOCH, .former_ns = EPOCH};

	for (uint64_t i = 0; i < 40; i++) {
		const uint64_t at = 1000 * SECOND + i * SECOND / 10, now = at + SECOND / 20;
		const uint64_t stamp = at + EPOCH + (i > 10 ? (uint64_t)by : 0);
		int64_t off;

		netdev_clock_epoch(&c, EPOCH + (i >= 10 ? (uint64_t)by : 0), now);
		off = (int64_t)(netdev_clock_ns(&c, stamp, now) - EPOCH - at);
		assert_true(magnitude(off) <= (i >= 10 && i < 21 ? error : 0));
	}
}

TEST(system_clock_is_set)
{
	const int64_t day = 86400 * (int64_t)SECOND;
	struct netdev_clock c = {.host.epoch_ns = EPOCH, .epoch_ns = EPOCH, .former_ns = EPOCH};

	steps_by(-day, 0);
	steps_by(day, 0);
	steps_by(-(int64_t)SECOND, 0);
	steps_by(SECOND / 5, 0);
	steps_by(-(int64_t)SECOND / 50, SECOND / 50);
	steps_by(SECOND / 50, SECOND / 50);
	/* A difference within the uncertainty of reading two clocks counts as none. */
	netdev_clock_epoch(&c, EPOCH + 900000, SECOND);
	netdev_clock_epoch(&c, EPOCH - 900000, SECOND);
	assert_int_equal(c.epoch_ns, EPOCH);
	netdev_clock_epoch(&c, EPOCH + 2000000, SECOND);
	assert_int_equal(c.epoch_ns, EPOCH + 2000000);
	netdev_clock_start(&c);
	assert_true(magnitude((int64_t)(c.epoch_ns - c.host.epoch_ns)) < (int64_t)SECOND);
}

/* How long each read of the system clock takes; NULL: it is the machine's. The compiler assumes
 * that clock_gettime() changes no variable of this file. */
static const uint64_t *volatile takes;
static uint64_t monotonic = 1000 * SECOND;

int __real_clock_gettime(clockid_t id, struct timespec *out);
int __wrap_clock_gettime(clockid_t id, struct timespec *out)
{
	uint64_t ns;

	if (!takes)
		return __real_clock_gettime(id, out);
	if (id == CLOCK_REALTIME)
		monotonic += *takes++;
	ns = monotonic + (id == CLOCK_REALTIME ? EPOCH : 0);
	*out = (struct timespec){(time_t)(ns / SECOND), (long)(ns % SECOND)};
	return 0;
}

/* The difference of the clocks that is found by reading the system clock n times. */
static uint64_t set(const uint64_t *each, unsigned int n)
{
	struct rd_clock c;

	takes = each;
	rd_clock_set(&c);
	assert_ptr_equal(takes, each + n);
	takes = NULL;
	return c.epoch_ns;
}

/* ... by a look, which sees no step if it cannot know */
static uint64_t look(const uint64_t *each)
{
	struct netdev_clock c = {0};

	takes = each;
	netdev_clock_look(&c);
	takes = NULL;
	return c.epoch_ns;
}

/* Another thread ran between both clocks: they are read again, but not for ever. */
TEST(interrupted_look)
{
	static const uint64_t at_once[] = {0}, just[] = {50000}, twice[] = {50001, 1000},
			      last[] = {SECOND, SECOND, SECOND, 2000},
			      never[] = {SECOND, 60000, SECOND, SECOND};

	same(set(at_once, 1), EPOCH, set(just, 1), EPOCH + 50000, set(twice, 2), EPOCH + 1000,
		set(last, 4), EPOCH + 2000);
	same(set(never, 4), EPOCH + 60000, look(last), EPOCH + 2000, look(never), 0);
}

/* A thread that asks for the losses of a netdev while another one is reading them. */
static struct {
	pthread_t thread;
	struct rd_source *src;
	unsigned int reads;
	atomic_bool runs, waits, done;
} asker;

int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
	if (asker.runs)
		asker.waits = true;
	return __real_pthread_mutex_lock(lock);
}

pcap_t *__wrap_pcap_create(const char *netdev, char *why)
{
	return pcap_open_dead(DLT_EN10MB, 65535);
}

int __wrap_pcap_activate(pcap_t *pcap)
{
	return 0;
}

int __wrap_pcap_setnonblock(pcap_t *pcap, int on, char *why)
{
	return 0;
}

int __wrap_pcap_get_selectable_fd(pcap_t *pcap)
{
	return STDIN_FILENO;
}

static uint64_t lost(void)
{
	struct rd_source_stats stats;

	asker.src->ops->stats(asker.src, &stats);
	return stats.lost;
}

static void *ask(void *arg)
{
	asker.runs = true;
	lost();
	asker.done = true;
	return arg;
}

/* One frame more is dropped before each reading. */
int __wrap_pcap_stats(pcap_t *pcap, struct pcap_stat *now)
{
	*now = (struct pcap_stat){.ps_recv = 9, .ps_drop = ++asker.reads};
	if (now->ps_drop > 1)
		return 0;
	assert_int_equal(pthread_create(&asker.thread, NULL, ask, NULL), 0);
	while (!asker.waits && !asker.done)
		sched_yield();
	return 0;
}

/* The recorder's threads ask for them, too: what one of them has read is older than it seems. */
TEST(losses_for_two_threads)
{
	const struct rd_netdev_config config = {.netdev = "any"};

	assert_int_equal(rd_netdev_open(&asker.src, &config, &failure), 0);
	lost();
	pthread_join(asker.thread, NULL);
	same(lost(), 3, asker.reads, 3);
	asker.src->ops->close(asker.src);
}
