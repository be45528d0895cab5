/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The probes of the port sniffer (rdmadump/port_sniffer.h), step by step, as captures with
 * --sniffer icmd use it. One attaches and detaches it ten times, both directions. Then no frame may
 * arrive: the firmware's response alone does not show that detaching had an effect. The other one
 * asks how often it sees traffic between two queue pairs of the port, which does not leave the
 * adapter: two rules may copy it twice, or not at all.
 */
#include "traffic.h"
#include <rdmadump/clock.h>
#include <rdmadump/port_sniffer.h>
#include <rdmadump/verbs.h>

#define ROUNDS	     10
#define SLOW_US	     100000 /* duration of two commands */
#define TRAFFIC_MS   300    /* wait for frames while it is attached */
#define QUIET_MS     200    /* no frame for this long: it is detached */
#define LATE_MOST_MS 3000   /* wait for frames that were in flight */

struct port_capture {
	struct ibv_context *ctx;
	struct rd_port_sniffer *icmd;
	struct sniffer queue; /* without a flow */
};

/* --- a capture ---------------------------------------------------------------------------- */

/*
 * Starts the process of the command gateway, which detaches any attached sniffer, and creates the
 * receive queue. The process is forked before memory is registered: both would share that memory.
 * close_capture() in any case.
 */
static int open_capture(struct port_capture *c, const struct rd_selftest *st, struct rd_error *err)
{
	struct rd_port_sniffer_config config = {
		.device = st->device, .sysroot = "", .port = st->port->num};
	int rc;

	*c = (struct port_capture){0};
	if (rd_port_sniffer_check_link(st->device, st->port, err) < 0 ||
		rd_verbs_device_open(&c->ctx, st->device->name, NULL, NULL, err) < 0)
		return -1;
	config.keep = c->ctx->cmd_fd;
	if (rd_port_sniffer_open(&c->icmd, &config, err) < 0)
		return -1;
	rc = sniffer_open(&c->queue, st, c->ctx, NULL);
	if (!rc)
		return 0;
	return rd_fail(err, RD_CLASS_DEVICE, rc, NULL, "%s of the port sniffer",
		sniffer_step_name(c->queue.reached));
}

/* Both directions. */
static int attach(struct port_capture *c, struct rd_error *err)
{
	return rd_port_sniffer_attach(c->icmd, c->queue.qp->qp_num, err);
}

/*
 * Detaches, and destroys all objects. The process keeps the device open until it has detached, so
 * that its queue pair outlives that.
 */
static void close_capture(struct port_capture *c)
{
	struct rd_error err;

	if (c->icmd)
		rd_port_sniffer_detach(c->icmd, &err);
	sniffer_close(&c->queue);
	rd_port_sniffer_close(c->icmd);
	if (c->ctx)
		ibv_close_device(c->ctx);
}

/* --- attaching and detaching -------------------------------------------------------------- */

struct rounds {
	uint64_t attach_us[ROUNDS], detach_us[ROUNDS], frames;
	unsigned int n;
};

static int run_round(struct port_capture *c, struct rounds *t, struct rd_error *err)
{
	uint64_t start = rd_monotonic_ns(), attached;

	if (attach(c, err) < 0)
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

	if (attach(c, err) < 0)
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

static void run_attach(struct rd_selftest *st, struct rd_probe_result *r)
{
	uint64_t start = rd_monotonic_ns();
	struct rd_error err = {0};
	struct port_capture c;

	if (open_capture(&c, st, &err) < 0) {
		result_failed(r, "%s", err.text);
	} else {
		result_number(r, "open_us", "us", (rd_monotonic_ns() - start) / 1000);
		try_rounds(st, &c, r);
	}
	close_capture(&c);
}

const struct rd_probe rd_probe_attach = {.name = "attach",
	.question = "whether the port sniffer can be attached and detached, and how fast",
	.objects = "PD, MR (2.5 MiB), CQ, QP; 48 firmware commands",
	.needs = RD_PROBE_ICMD,
	.limit_s = 60,
	.required = true,
	.run = run_attach};

/* --- traffic within the adapter ----------------------------------------------------------- */

static void run_inside(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct port_capture c;
	struct rd_error err = {0};
	unsigned int acks;
	int rc = open_capture(&c, st, &err);

	if (!rc)
		rc = attach(&c, &err);
	if (!rc) {
		traffic_summarize(st, r, &c.queue, traffic_within_port(st, r, &c.queue, &acks), 2,
			"traffic within the adapter");
		rc = rd_port_sniffer_detach(c.icmd, &err);
	}
	if (rc)
		result_failed(r, "%s", err.text);
	close_capture(&c);
}

const struct rd_probe rd_probe_inside = {.name = "inside",
	.question = "how often the port sniffer sees traffic within the adapter",
	.objects = "three of each: PD, MR, CQ, QP; AH; 6 firmware commands",
	.frames = TRAFFIC_TRIES * TRAFFIC_FRAMES * 2,
	.needs = RD_PROBE_ICMD | RD_PROBE_ACTIVE,
	.limit_s = 60,
	.run = run_inside};
