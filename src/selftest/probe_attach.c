/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attaches and detaches the port sniffer ten times, both directions. Then no frame may arrive: the
 * firmware's response alone does not show that detaching had an effect.
 */
#include "port_capture.h"
#include <rdmadump/clock.h>

#define ROUNDS	     10
#define SLOW_US	     100000 /* duration of two commands */
#define TRAFFIC_MS   300    /* wait for frames while it is attached */
#define QUIET_MS     200    /* no frame for this long: it is detached */
#define LATE_MOST_MS 3000   /* wait for frames that were in flight */

struct rounds {
	uint64_t attach_us[ROUNDS], detach_us[ROUNDS], frames;
	unsigned int n;
};

static int run_round(struct port_capture *c, struct rounds *t, struct rd_error *err)
{
	uint64_t start = rd_monotonic_ns(), attached;

	if (port_capture_attach(c, RD_SNIFF_BOTH, err) < 0)
		return -1;
	attached = rd_monotonic_ns();
	t->frames += sniffer_drain(&c->queue, NULL, NULL);
	t->attach_us[t->n] = (attached - start) / 1000;
	start = rd_monotonic_ns();
	if (rd_port_sniffer_detach(c->icmd, err) < 0)
		return -1;
	t->detach_us[t->n++] = (rd_monotonic_ns() - start) / 1000;
	t->frames += sniffer_drain(&c->queue, NULL, NULL);
	return 0;
}

static void judge_rounds(struct rd_probe_result *r, struct rounds *t)
{
	uint64_t attach = result_spread(r, "attach_us", t->attach_us, t->n);
	uint64_t detach = result_spread(r, "detach_us", t->detach_us, t->n);

	result_value(r, "%.1f ms + %.1f ms", (double)attach / 1000, (double)detach / 1000);
	if (attach > SLOW_US || detach > SLOW_US)
		result_found(r, "slow_commands",
			"the firmware's commands are slow: captures start and end that late, and "
			"one direction before the other");
	result_means(r, "captures with --sniffer icmd start and end within that time");
}

/* Counts frames until none has arrived for QUIET_MS. */
static uint64_t count_late(const struct rd_selftest *st, struct port_capture *c, bool *quiet)
{
	uint64_t now = rd_monotonic_ns(), end = now + LATE_MOST_MS * 1000000ULL, last = now, n = 0;

	/* By the clock: on a busy machine a pause of 1 ms lasts longer. */
	while (now - last < QUIET_MS * 1000000ULL && !probe_over(st) && now < end) {
		unsigned int got;

		probe_sleep_ms(st, 1);
		got = sniffer_drain(&c->queue, NULL, NULL);
		now = rd_monotonic_ns();
		last = got ? now : last;
		n += got;
	}
	*quiet = now - last >= QUIET_MS * 1000000ULL;
	return n;
}

/* Whether detaching stops the frames, if there is traffic. */
static int try_end(const struct rd_selftest *st, struct port_capture *c, struct rd_probe_result *r,
	struct rd_error *err)
{
	uint64_t attached = 0, late;
	bool quiet;

	if (port_capture_attach(c, RD_SNIFF_BOTH, err) < 0)
		return -1;
	for (unsigned int ms = 0; ms < TRAFFIC_MS && !attached && !probe_over(st); ms++) {
		probe_sleep_ms(st, 1);
		attached = sniffer_drain(&c->queue, NULL, NULL);
	}
	if (rd_port_sniffer_detach(c->icmd, err) < 0)
		return -1;
	sniffer_drain(&c->queue, NULL, NULL);
	late = count_late(st, c, &quiet);
	result_bool(r, "traffic", attached > 0);
	result_number(r, "frames_after_detach", "frames", late);
	if (attached && !quiet && !probe_over(st))
		result_found(r, "not_detached",
			"frames arrive %u s after the sniffer was detached: the firmware answers "
			"and does not do it; only a reset of the adapter ends the copies",
			LATE_MOST_MS / 1000);
	return 0;
}

static void try_rounds(
	const struct rd_selftest *st, struct port_capture *c, struct rd_probe_result *r)
{
	struct rounds t = {.n = 0};
	struct rd_error err = {0};
	int rc = 0;

	while (t.n < ROUNDS && !rc && !probe_over(st))
		rc = run_round(c, &t, &err);
	result_number(r, "rounds", "", t.n);
	result_number(r, "frames", "frames", t.frames);
	if (rc < 0)
		result_failed(r, "round %u: %s", t.n + 1, err.text);
	else if (!t.n)
		result_failed(r, "it was not attached within the limit of time");
	else if (try_end(st, c, r, &err) < 0)
		result_failed(r, "%s", err.text);
	else
		judge_rounds(r, &t);
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	uint64_t start = rd_monotonic_ns();
	struct rd_error err = {0};
	struct port_capture c;

	if (port_capture_open(&c, st->device, st->port, &err) < 0) {
		result_failed(r, "%s", err.text);
	} else {
		result_number(r, "open_us", "us", (rd_monotonic_ns() - start) / 1000);
		try_rounds(st, &c, r);
	}
	port_capture_close(&c);
}

const struct rd_probe rd_probe_attach = {.name = "attach",
	.question = "whether the port sniffer can be attached and detached, and how fast",
	.objects = "PD, MR (2.5 MiB), CQ, QP; 48 firmware commands",
	.needs = RD_PROBE_ICMD,
	.limit_s = 60,
	.required = true,
	.run = run};
