/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Takes the timestamps of frames, batch by batch. The device's clock is read before the flow is
 * created and after each poll: no frame can be older than the one or newer than the other, no
 * matter how slow this program is.
 */
#include "clocks.h"
#include "numbered.h"
#include <rdmadump/device_clock.h>
#include <string.h>

/* Captures treat timestamps further off than this as implausible. */
#define IMPLAUSIBLE_NS 1000000000LL
#define SENT_FRAMES    64
#define SENT_BURST     8
#define SENT_BYTES     128
#define BATCH_MAX      64
#define TRIES	       8 /* attempts per reading of a clock: the fastest is used */
#define MAC_BYTES      6

/* --- the clocks --------------------------------------------------------------------------- */

static const struct {
	const char *name;
	bool (*read)(struct ibv_context *ctx, uint64_t *value);
} clocks[DEVICE_CLOCKS] = {[CLOCK_COUNTER] = {"counter", rd_clock_read_counter},
	[CLOCK_REAL_TIME] = {"real_time", rd_clock_read_real_time}};

double clock_ticks_ns(uint64_t khz, int64_t ticks)
{
	return khz ? (double)ticks * 1e6 / (double)khz : 0;
}

bool clock_watch_read(struct clock_watch *w)
{
	uint64_t least = UINT64_MAX;

	w->name = clocks[w->clock].name;
	for (unsigned int i = 0; i < TRIES; i++) {
		uint64_t before = rd_clock_now(w->host), value, took;

		if (!clocks[w->clock].read(w->ctx, &value))
			continue;
		took = rd_clock_now(w->host) - before;
		if (took >= least)
			continue;
		least = took;
		w->value = value;
		w->ahead = (int64_t)(value - before - took / 2);
	}
	return least != UINT64_MAX;
}

/* --- what is counted ---------------------------------------------------------------------- */

struct taken {
	uint64_t timestamp;
	bool sent;
	bool copy; /* of a numbered frame that was seen before: perhaps its received copy */
};

struct taking {
	struct sniffer s;
	const struct rd_port *port;
	struct rd_local local;
	struct clock_watch *watch;
	struct timestamp_counts *counts;
	struct numbered own;
	uint64_t begin; /* raw value of the clock before the flow existed */
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

/* --- the values of a clock ---------------------------------------------------------------- */

static bool is_counter(const struct taking *t)
{
	return t->watch->clock == CLOCK_COUNTER;
}

/* ns from one timestamp to another. */
static int64_t between(const struct taking *t, uint64_t from, uint64_t to)
{
	unsigned int unused = t->watch->mask ? (unsigned int)__builtin_clzll(t->watch->mask) : 0;

	if (!is_counter(t))
		return (int64_t)(to - from);
	/* Up to half the range of the counter in either direction. */
	return (int64_t)clock_ticks_ns(t->watch->khz, (int64_t)((to - from) << unused) >> unused);
}

/*
 * Whether a timestamp that is off by IMPLAUSIBLE_NS can be recognized: the clock can be read, and
 * the counter does not wrap within that time.
 */
static bool shows_implausible(const struct taking *t)
{
	const struct clock_watch *w = t->watch;

	return w->readable && (!is_counter(t) || clock_ticks_ns(w->khz, (int64_t)(w->mask / 2)) >
							 4 * IMPLAUSIBLE_NS);
}

/* --- one frame ---------------------------------------------------------------------------- */

/* Numbered frames go from the port's own address to itself, which rd_direction_mark() leaves open.
 */
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

static bool is_implausible(struct taking *t, uint64_t timestamp)
{
	if (!t->counts->implausible_known)
		return false;
	return between(t, timestamp, t->watch->value) < -IMPLAUSIBLE_NS ||
	       between(t, t->begin, timestamp) < -IMPLAUSIBLE_NS;
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
	struct timestamp_counts *c = t->counts;
	uint64_t back = older_ns(t, sent, timestamp), mixed = older_ns(t, !sent, timestamp);

	if (back) {
		++*(sent ? &c->backwards_sent : &c->backwards_received);
		widen(&c->most_back_ns, back);
	} else if (t->ahead_ns[sent]) {
		c->backwards_mixed++;
		widen(&c->most_mixed_ns, t->ahead_ns[sent]);
	}
	t->ahead_ns[sent] = 0;
	c->changes += t->last_sent == !sent;
	if (!back && mixed && t->last_sent == !sent)
		t->ahead_ns[!sent] = mixed;
	t->last[sent] = timestamp;
	t->last_sent = sent;
}

static void take(struct taking *t, const struct taken *f)
{
	struct timestamp_counts *c = t->counts;
	uint64_t timestamp = f->timestamp;

	c->frames++;
	c->sent += f->sent;
	if (!timestamp) {
		c->zero++;
		return;
	}
	if (!is_counter(t))
		timestamp = rd_clock_real_time_ns(timestamp, rd_clock_now(t->watch->host));
	if (is_implausible(t, timestamp)) {
		c->implausible++;
		return;
	}
	if (!f->copy)
		look_at_order(t, f->sent, timestamp);
}

/* --- receiving ---------------------------------------------------------------------------- */

static unsigned int receive(struct taking *t)
{
	unsigned int n;

	t->n = 0;
	n = sniffer_poll(&t->s, look, t);
	if (!t->n)
		return n;
	clock_watch_read(t->watch);
	for (unsigned int i = 0; i < t->n; i++)
		take(t, &t->batch[i]);
	return n;
}

static void receive_for(
	struct rd_selftest *st, struct taking *t, struct numbered_sender *sender, unsigned int ms)
{
	uint64_t end = rd_monotonic_ns() + ms * 1000000ULL;
	bool sending = t->counts->sending;
	uint32_t sent = 0;

	while (!probe_over(st) && rd_monotonic_ns() < end) {
		if (sending && numbered_send(st, sender, sent, SENT_BURST) != SENT_BURST)
			sending = false;
		sent += SENT_BURST;
		sending &= sent < SENT_FRAMES;
		if (!receive(t))
			probe_sleep_ms(st, 1);
	}
}

void timestamps_take(
	struct rd_selftest *st, struct clock_watch *w, unsigned int ms, struct timestamp_counts *to)
{
	struct taking t = {.port = st->port, .watch = w, .counts = to, .last_sent = -1};
	struct numbered_sender sender;
	const struct sniffer_shape shape = {
		.timestamps = is_counter(&t) ? IBV_WC_EX_WITH_COMPLETION_TIMESTAMP
					     : IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK};
	int rc = sniffer_open(&t.s, st->device, st->port, NULL, &shape);

	*to = (struct timestamp_counts){.implausible_known = shows_implausible(&t)};
	rd_port_addresses(&t.local, "", st->device, st->port);
	clock_watch_read(w);
	t.begin = w->value;
	if (!rc)
		rc = sniffer_flow_create(&t.s);
	to->errnum = rc;
	to->step = t.s.reached;
	if (!rc && numbered_init(&t.own, SENT_FRAMES) == 0) {
		to->sending =
			!numbered_sender_open(&sender, t.s.ctx, st->port, t.own.run, SENT_BYTES);
		receive_for(st, &t, &sender, ms);
		numbered_sender_close(&sender);
	}
	numbered_free(&t.own);
	sniffer_close(&t.s);
}
