/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long a reading of the counters takes while a sniffer receives: it is several commands of the
 * firmware, and other commands wait meanwhile. Each reading waits until the cache is old.
 */
#include "measured.h"
#include "moved.h"
#include "sniffer.h"
#include <rdmadump/clock.h>
#include <string.h>

#define READINGS  5
#define BUDGET_MS 3000
#define SLOW_US	  100000

struct readings {
	uint64_t loss_us[READINGS], all_us[READINGS];
	uint64_t queued; /* most frames found in the queue after a reading of all counters */
	unsigned int n, lifespan_ms;
};

static void receive_ms(const struct rd_selftest *st, struct sniffer *s, unsigned int ms)
{
	uint64_t end = rd_monotonic_ns() + ms * 1000000ULL;

	do {
		if (!sniffer_drain(s, NULL, NULL))
			probe_sleep_ms(st, 1);
	} while (!probe_over(st) && rd_monotonic_ns() < end);
}

/* Returns the duration in ns of a reading after the cache has expired. */
static uint64_t time_loss(const struct rd_selftest *st, struct sniffer *s, struct readings *t)
{
	struct rd_loss_counters loss;
	uint64_t start;

	receive_ms(st, s, lifespan_wait_ms(t->lifespan_ms));
	start = rd_monotonic_ns();
	rd_loss_read("", st->device, st->port->num, &loss);
	t->lifespan_ms = loss.lifespan_ms;
	return (rd_monotonic_ns() - start) / 1000;
}

static uint64_t time_all(const struct rd_selftest *st, struct sniffer *s, struct readings *t)
{
	struct moved m;
	unsigned int queued;
	uint64_t start, us;

	receive_ms(st, s, lifespan_wait_ms(t->lifespan_ms));
	start = rd_monotonic_ns();
	moved_begin(&m, st, 0);
	us = (rd_monotonic_ns() - start) / 1000;
	queued = sniffer_drain(s, NULL, NULL);
	t->queued = queued > t->queued ? queued : t->queued;
	moved_free(&m);
	return us;
}

static void judge(struct rd_probe_result *r, struct readings *t)
{
	uint64_t loss, all;

	result_number(r, "readings", "", t->n);
	result_number(r, "frames_queued", "frames", t->queued);
	if (!t->n) {
		result_failed(r, "the counters were not read within the limit of time");
		return;
	}
	loss = measured(r, "loss_us", t->loss_us, t->n);
	all = measured(r, "all_us", t->all_us, t->n);
	result_value(r, "%.1f ms, all %.1f ms", (double)loss / 1000, (double)all / 1000);
	if (loss > SLOW_US || all > SLOW_US)
		result_found(r, "slow_counters",
			"a reading of the counters takes %.0f ms: a thread that receives frames "
			"must not read them, and other programs' commands wait",
			(double)(loss > all ? loss : all) / 1000);
	result_means(r, "the counters can be read during captures");
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct readings t = {.n = 0};
	struct sniffer s;
	int rc = sniffer_open(&s, st->device, st->port, NULL);
	uint64_t end = rd_monotonic_ns() + BUDGET_MS * 1000000ULL;

	if (!rc)
		rc = sniffer_flow_create(&s);
	if (rc) {
		result_failed(r, "%s: %s", sniffer_step_name(s.reached), strerror(rc));
	} else {
		for (; t.n < READINGS && !probe_over(st) && rd_monotonic_ns() < end; t.n++) {
			t.loss_us[t.n] = time_loss(st, &s, &t);
			t.all_us[t.n] = time_all(st, &s, &t);
		}
		judge(r, &t);
	}
	sniffer_close(&s);
}

const struct rd_probe rd_probe_stall = {.name = "stall",
	.question = "how long a reading of the counters takes during a capture",
	.objects = "PD, MR (2.5 MiB), CQ, QP, flow",
	.needs = RD_PROBE_SNIFFER,
	.run = run};
