/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which clocks the device has, and what the timestamps of its completions are worth. The clocks are
 * read together with the host's while frames are received, with each kind of timestamp that a
 * completion queue can have. A clock is read before the flow is created and after each poll: no
 * frame can be older than the one or newer than the other, no matter how slow this program is.
 */
#include "numbered.h"
#include <rdmadump/clock.h>
#include <rdmadump/device_clock.h>
#include <rdmadump/units.h>
#include <rdmadump/verbs.h>
#include <string.h>

#define TAKE_MS	    500 /* per kind of timestamp */
#define MIXED_SHARE 8	/* one of this many changes of direction */
#define NARROW_NS   2e9 /* captures read the counter twice in this time */
/* Captures treat timestamps further off than this as implausible. */
#define IMPLAUSIBLE_NS 1000000000LL
#define SENT_FRAMES    64
#define SENT_BURST     8
#define SENT_BYTES     128
#define BATCH_MAX      64
#define TRIES	       8 /* attempts per reading of a clock: the fastest is used */
#define MAC_BYTES      6

/* The device's clocks, each of which may be that of timestamps in completions. */
enum { COUNTER, REAL_TIME, CLOCKS };

static const struct kind {
	const char *name, *title, *refused_key;
	bool (*read)(struct ibv_context *ctx, uint64_t *value);
	uint64_t timestamps; /* of a completion queue */
} kinds[CLOCKS] = {[COUNTER] = {"counter", "counter", "timestamps_refused", rd_clock_read_counter,
			   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP},
	[REAL_TIME] = {"real_time", "real-time clock", "real_time_refused", rd_clock_read_real_time,
		IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK}};

/* What is counted of frames with timestamps; `sent`: from the port's own address. */
enum count {
	ALL,
	SENT,
	ZERO,
	IMPLAUSIBLE,
	BACK_RECEIVED, /* older than the received frame before */
	BACK_SENT,     /* older than the sent frame before */
	/* Older than the frame of the other direction before, while both are in order of theirs. */
	BACK_MIXED,
	MOST_BACK_NS,  /* maximum of the first two */
	MOST_MIXED_NS, /* ... of the third */
	CHANGES,       /* frames after a frame of the other direction; not reported */
	COUNTS
};
static const char *const count_names[CHANGES][2] = {[ALL] = {"frames", "frames"},
	[SENT] = {"frames_sent", "frames"},
	[ZERO] = {"zero", "frames"},
	[IMPLAUSIBLE] = {"implausible", "frames"},
	[BACK_RECEIVED] = {"backwards_received", "frames"},
	[BACK_SENT] = {"backwards_sent", "frames"},
	[BACK_MIXED] = {"backwards_mixed", "frames"},
	[MOST_BACK_NS] = {"most_backwards_ns", "ns"},
	[MOST_MIXED_NS] = {"most_backwards_mixed_ns", "ns"}};

struct device_clock {
	const struct kind *kind;
	bool offered; /* timestamps of it */
	bool readable;
	uint64_t value; /* at the last reading: ns, or ticks of the counter */
	int64_t ahead;	/* it minus the host's clock, in ns; not for the counter */
	uint64_t n[COUNTS];
};

struct clocks {
	struct ibv_context *ctx;
	struct rd_clock host;
	uint64_t mask, khz; /* of the counter */
	struct device_clock clock[CLOCKS];
};

/* --- the clocks --------------------------------------------------------------------------- */

static double ticks_ns(const struct clocks *c, int64_t ticks)
{
	return c->khz ? (double)ticks * 1e6 / (double)c->khz : 0;
}

/* Half the range of the counter. */
static double half_ns(const struct clocks *c)
{
	return ticks_ns(c, (int64_t)(c->mask >> 1));
}

/* False: it cannot be read. */
static bool read_clock(const struct clocks *c, struct device_clock *d)
{
	uint64_t least = UINT64_MAX;

	for (unsigned int i = 0; i < TRIES; i++) {
		uint64_t before = rd_clock_now(&c->host), value, took;

		if (!d->kind->read(c->ctx, &value))
			continue;
		took = rd_clock_now(&c->host) - before;
		if (took >= least)
			continue;
		least = took;
		d->value = value;
		d->ahead = (int64_t)(value - before - took / 2);
	}
	return least != UINT64_MAX;
}

/* --- what the device has ------------------------------------------------------------------ */

static int look_up(struct clocks *c, const struct rd_selftest *st, struct rd_error *err)
{
	struct ibv_device_attr_ex attr = {0};

	if (rd_verbs_device_open(&c->ctx, st->device->name, NULL, NULL, err) < 0)
		return -1;
	rd_clock_set(&c->host);
	if (ibv_query_device_ex(c->ctx, NULL, &attr) == 0) {
		c->mask = attr.completion_timestamp_mask;
		c->khz = attr.hca_core_clock;
	}
	for (int i = 0; i < CLOCKS; i++) {
		struct device_clock *d = &c->clock[i];

		d->kind = &kinds[i];
		d->offered = i == REAL_TIME ? rd_clock_has_real_time(c->ctx) : c->mask != 0;
		d->readable = d->offered && (i == REAL_TIME || c->khz) && read_clock(c, d);
	}
	return 0;
}

static void report_device(const struct clocks *c, struct rd_probe_result *r)
{
	result_number(r, "counter_bits", "bits", (uint64_t)__builtin_popcountll(c->mask));
	result_number(r, "counter_khz", "kHz", c->khz);
	result_bool(r, "counter_readable", c->clock[COUNTER].readable);
	result_bool(r, "real_time", c->clock[REAL_TIME].offered);
	result_bool(r, "real_time_readable", c->clock[REAL_TIME].readable);
	if (c->khz)
		result_number(r, "counter_wraps_s", "s", (uint64_t)(half_ns(c) * 2 / 1e9));
}

static void judge_device(const struct clocks *c, struct rd_probe_result *r)
{
	const struct device_clock *counter = &c->clock[COUNTER], *real = &c->clock[REAL_TIME];

	if (!counter->offered && !real->offered)
		result_found(r, "no_hardware_clock",
			"completions have no timestamps: frames get the time at which the program "
			"polls them");
	if (counter->offered && !counter->readable)
		result_found(r, "clock_unreadable",
			"the counter behind the timestamps cannot be read: %s",
			real->readable ? "captures use the real-time clock"
				       : "captures use the time at which frames are polled");
	if (real->offered && !real->readable)
		result_found(r, "real_time_unreadable",
			"the real-time clock cannot be read: captures do not use it");
	if (c->mask && c->khz && half_ns(c) < NARROW_NS)
		result_found(r, "narrow_counter",
			"the counter wraps every %.1f s: a capture that is delayed for half of "
			"that gives frames a wrong time",
			half_ns(c) * 2 / 1e9);
}

/* How captures handle a clock that is not UTC: docs/architecture.md, Timestamps. */
static void judge_real_time(struct clocks *c, struct rd_probe_result *r)
{
	struct device_clock *d = &c->clock[REAL_TIME];
	int64_t offset;
	bool set;

	if (!d->readable || !read_clock(c, d))
		return;
	result_real(r, "real_time_ahead_ms", "ms", (double)d->ahead / 1e6);
	offset = rd_clock_epoch_offset(-d->ahead, &set);
	if (!set)
		result_found(r, "clock_not_set",
			"the device's real-time clock differs from the system clock by %.3f s: "
			"captures do not use its time unchanged (ptp4l or phc2sys would set it)",
			(double)d->ahead / 1e9);
	else if (offset)
		result_found(r, "clock_not_utc",
			"the device's real-time clock is %lld s ahead of the system clock (TAI?), "
			"which captures correct",
			(long long)(-offset / 1000000000));
}

/* --- one timestamp ------------------------------------------------------------------------ */

struct taken {
	uint64_t timestamp;
	bool sent;
	bool copy; /* of a numbered frame that was seen before: perhaps its received copy */
};

struct taking {
	struct sniffer s;
	const struct rd_port *port;
	struct rd_local local;
	const struct clocks *c;
	struct device_clock *d;
	struct numbered own;
	bool finds_implausible; /* the clock can be read at the same time, and wraps late enough */
	uint64_t begin;		/* raw value of the clock before the flow existed */
	struct taken batch[BATCH_MAX];
	unsigned int n;
	uint64_t last[2]; /* timestamp of the newest frame, by `sent`; 0: none */
	int last_sent;	  /* direction of the frame before; -1: none */
	/*
	 * By how much the newest frame of a direction is ahead of one of the other direction. It
	 * counts once the next frame of its own direction is not older: then it was in order.
	 */
	uint64_t ahead_ns[2];
};

static bool is_counter(const struct taking *t)
{
	return t->d->kind == &kinds[COUNTER];
}

/* ns from one timestamp to another. */
static int64_t between(const struct taking *t, uint64_t from, uint64_t to)
{
	unsigned int unused = t->c->mask ? (unsigned int)__builtin_clzll(t->c->mask) : 0;

	if (!is_counter(t))
		return (int64_t)(to - from);
	/* Up to half the range of the counter in either direction. */
	return (int64_t)ticks_ns(t->c, (int64_t)((to - from) << unused) >> unused);
}

/* Numbered frames go from the port's own address to itself: rd_direction_mark() cannot tell. */
static bool is_sent(const struct taking *t, const uint8_t *data, uint32_t len)
{
	struct rd_frame frame = {.data = data, .caplen = len, .len = len};

	rd_direction_mark(&t->local, &frame, 1);
	return frame.direction == RD_DIR_OUT ||
	       (t->port->link == RD_LINK_ETHERNET && t->port->n_netdevs && len >= 2 * MAC_BYTES &&
		       memcmp(data + MAC_BYTES, t->port->netdevs[0].mac, MAC_BYTES) == 0);
}

static void look(void *ctx, const uint8_t *data, uint32_t len)
{
	struct taking *t = ctx;
	bool own;

	if (t->n == BATCH_MAX)
		return;
	own = numbered_take(&t->own, data, len);
	t->batch[t->n++] = (struct taken){
		t->s.timestamp, is_sent(t, data, len), own && t->own.times[t->own.last] > 1};
}

static bool is_implausible(const struct taking *t, uint64_t timestamp)
{
	return t->finds_implausible && (between(t, timestamp, t->d->value) < -IMPLAUSIBLE_NS ||
					       between(t, t->begin, timestamp) < -IMPLAUSIBLE_NS);
}

/* How much older it is than the newest frame of a direction; 0: it is not. */
static uint64_t older_ns(const struct taking *t, bool than, uint64_t timestamp)
{
	int64_t past = t->last[than] ? between(t, t->last[than], timestamp) : 0;

	return past < 0 ? (uint64_t)-past : 0;
}

static void widen(uint64_t *most, uint64_t ns)
{
	*most = ns > *most ? ns : *most;
}

static void look_at_order(struct taking *t, bool sent, uint64_t timestamp)
{
	uint64_t back = older_ns(t, sent, timestamp), mixed = older_ns(t, !sent, timestamp);
	uint64_t *n = t->d->n;

	if (back) {
		n[sent ? BACK_SENT : BACK_RECEIVED]++;
		widen(&n[MOST_BACK_NS], back);
	} else if (t->ahead_ns[sent]) {
		n[BACK_MIXED]++;
		widen(&n[MOST_MIXED_NS], t->ahead_ns[sent]);
	}
	t->ahead_ns[sent] = 0;
	n[CHANGES] += t->last_sent == !sent;
	if (!back && mixed && t->last_sent == !sent)
		t->ahead_ns[!sent] = mixed;
	t->last[sent] = timestamp;
	t->last_sent = sent;
}

static void take(struct taking *t, const struct taken *f)
{
	uint64_t timestamp = f->timestamp, *n = t->d->n;

	n[ALL]++;
	n[SENT] += f->sent;
	if (timestamp && !is_counter(t))
		timestamp = rd_clock_real_time_ns(timestamp, rd_clock_now(&t->c->host));
	if (!f->timestamp)
		n[ZERO]++;
	else if (is_implausible(t, timestamp))
		n[IMPLAUSIBLE]++;
	else if (!f->copy)
		look_at_order(t, f->sent, timestamp);
}

/* --- receiving ---------------------------------------------------------------------------- */

static unsigned int receive(struct taking *t)
{
	unsigned int n;

	t->n = 0;
	n = sniffer_poll(&t->s, look, t);
	if (t->n)
		read_clock(t->c, t->d);
	for (unsigned int i = 0; i < t->n; i++)
		take(t, &t->batch[i]);
	return n;
}

/* Sends numbered frames meanwhile, where that is possible. */
static void receive_and_send(const struct rd_selftest *st, struct taking *t)
{
	uint64_t end = rd_monotonic_ns() + TAKE_MS * 1000000ULL;
	struct numbered_sender sender;
	uint32_t sent = 0;
	bool sending = !numbered_sender_open(&sender, t->s.ctx, st->port, t->own.run, SENT_BYTES);

	while (!probe_over(st) && rd_monotonic_ns() < end) {
		if (sending && numbered_send(st, &sender, sent, SENT_BURST) != SENT_BURST)
			sending = false;
		sent += SENT_BURST;
		sending &= sent < SENT_FRAMES;
		if (!receive(t))
			probe_sleep_ms(st, 1);
	}
	queue_pair_close(&sender.q);
}

static void report_counts(const struct taking *t, int rc, struct rd_probe_result *r)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_error", t->d->kind->name);
	result_errno(r, name, rc);
	for (int i = 0; i < CHANGES && !rc; i++) {
		if (i == IMPLAUSIBLE && !t->finds_implausible)
			continue;
		snprintf(name, sizeof(name), "%s_%s", t->d->kind->name, count_names[i][0]);
		result_number(r, name, count_names[i][1], t->d->n[i]);
	}
}

/* Takes the timestamps of frames for a while. False: no sniffer can be created. */
static bool take_all(const struct rd_selftest *st, struct clocks *c, struct device_clock *d,
	struct rd_probe_result *r)
{
	const struct sniffer_shape shape = {.timestamps = d->kind->timestamps};
	struct taking t = {.port = st->port, .c = c, .d = d, .last_sent = -1};
	int rc = sniffer_open(&t.s, st, NULL, &shape);
	enum sniffer_step step;

	t.finds_implausible = d->readable && (!is_counter(&t) || half_ns(c) > 4 * IMPLAUSIBLE_NS);
	rd_port_addresses(&t.local, "", st->device, st->port);
	read_clock(c, d);
	t.begin = d->value;
	if (!rc)
		rc = sniffer_flow_create(&t.s);
	step = t.s.reached;
	if (!rc && numbered_init(&t.own, SENT_FRAMES) == 0)
		receive_and_send(st, &t);
	numbered_free(&t.own);
	sniffer_close(&t.s);
	report_counts(&t, rc, r);
	if (rc && (step < STEP_CQ || step == STEP_FLOW)) {
		result_failed(r, "%s: %s", sniffer_step_name(step), strerror(rc));
		return false;
	}
	if (rc)
		result_found(r, d->kind->refused_key,
			"the device reports timestamps of its %s, but refuses a queue with them "
			"(%s: %s): captures use the next best clock",
			d->kind->title, sniffer_step_name(step), strerror(rc));
	return true;
}

/* --- the result --------------------------------------------------------------------------- */

/*
 * One wrong timestamp may look like a difference of the directions, if the next frame of its own
 * direction comes much later. Where a direction is disordered by itself, that takes more of them.
 */
static bool directions_differ(const uint64_t n[COUNTS])
{
	bool disordered = n[BACK_RECEIVED] || n[BACK_SENT];

	return n[BACK_MIXED] > (disordered ? n[CHANGES] / MIXED_SHARE : 0);
}

static void judge_timestamps(const uint64_t n[COUNTS], struct rd_probe_result *r)
{
	const uint64_t back = n[BACK_RECEIVED] + n[BACK_SENT];

	if (n[ZERO])
		result_found(r, "zero_timestamps",
			"%llu of %llu frames have no timestamp: captures give them the time of "
			"their poll",
			(unsigned long long)n[ZERO], (unsigned long long)n[ALL]);
	if (n[IMPLAUSIBLE])
		result_found(r, "implausible_timestamps",
			"%llu of %llu timestamps are times that the frame cannot have: captures "
			"report them, and order nothing by them",
			(unsigned long long)n[IMPLAUSIBLE], (unsigned long long)n[ALL]);
	if (back)
		result_found(r, "disordered_timestamps",
			"%llu frame%s older than one of the same direction before, by up to %.1f "
			"us: order by time is not the order of arrival",
			(unsigned long long)back, rd_plural(back), (double)n[MOST_BACK_NS] / 1e3);
	if (directions_differ(n))
		result_found(r, "sent_and_received_disordered",
			"%llu frame%s older than one of the other direction before, by up to %.1f "
			"us: shorter response times than that mean nothing",
			(unsigned long long)n[BACK_MIXED], rd_plural(n[BACK_MIXED]),
			(double)n[MOST_MIXED_NS] / 1e3);
}

static void judge(struct clocks *c, struct rd_probe_result *r)
{
	bool counter = c->clock[COUNTER].offered, real_time = c->clock[REAL_TIME].offered;
	uint64_t n[COUNTS];

	for (int i = 0; i < COUNTS; i++) {
		n[i] = c->clock[COUNTER].n[i];
		if (i == MOST_BACK_NS || i == MOST_MIXED_NS)
			widen(&n[i], c->clock[REAL_TIME].n[i]);
		else
			n[i] += c->clock[REAL_TIME].n[i];
	}
	judge_device(c, r);
	judge_real_time(c, r);
	judge_timestamps(n, r);
	result_value(r, "%s%s%s", real_time ? "real time" : "", counter && real_time ? ", " : "",
		counter	    ? "counter"
		: real_time ? ""
			    : "none");
	if (!n[ALL] && r->outcome == RD_PROBE_PASSED)
		result_skipped(r,
			"no frame arrived, and none could be sent: the clocks are readable, but "
			"their timestamps were not seen");
	if (!n[SENT] || n[SENT] == n[ALL])
		result_means(r, "timestamps are plausible and in order; %s frames were not seen",
			n[SENT] ? "received" : "sent");
	else
		result_means(r, "timestamps are plausible and in order");
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct clocks c = {0};
	struct rd_error err;
	bool taken = true;

	if (look_up(&c, st, &err) < 0) {
		result_failed(r, "%s", err.text);
		return;
	}
	report_device(&c, r);
	for (int i = 0; i < CLOCKS && taken; i++)
		if (c.clock[i].offered)
			taken = take_all(st, &c, &c.clock[i], r);
	if (taken)
		judge(&c, r);
	ibv_close_device(c.ctx);
}

const struct rd_probe rd_probe_clocks = {.name = "clocks",
	.question = "which clocks there are, and whether timestamps are right and in order",
	.objects = "two of each: PD, MR (2.5 MiB), CQ, QP; flow",
	.frames = 128,
	.needs = RD_PROBE_SNIFFER | RD_PROBE_SENDER,
	.run = run};
