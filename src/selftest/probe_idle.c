/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control of other probes: which counters move and how many frames arrive while this program
 * sends nothing. In the first half there is no sniffer that could lose frames.
 */
#include "moved.h"
#include "sniffer.h"
#include <rdmadump/clock.h>
#include <rdmadump/units.h>
#include <string.h>

#define HALF_MS 400

static void receive(const struct rd_selftest *st, struct sniffer *s)
{
	uint64_t end = rd_monotonic_ns() + HALF_MS * 1000000ULL;

	while (!probe_over(st) && rd_monotonic_ns() < end)
		if (!sniffer_drain(s, NULL, NULL))
			probe_sleep_ms(st, 1);
}

/* The growth of the loss counters without a sniffer, in frames. */
static uint64_t lost_by_others(
	const struct rd_selftest *st, struct moved *m, struct rd_probe_result *r)
{
	struct rd_loss loss = {0};
	struct rd_loss_counters now;
	uint64_t sum = 0;

	if (moved_begin(m, st, 0) < 0)
		return 0;
	rd_loss_read("", st->device, st->port->num, &loss.last);
	probe_sleep_ms(st, HALF_MS);
	probe_sleep_ms(st, lifespan_wait_ms(loss.last.lifespan_ms));
	rd_loss_read("", st->device, st->port->num, &now);
	rd_loss_update(&loss, &now, st->port->speed);
	moved_read(m, st);
	for (unsigned int i = 0; i < loss.last.n; i++)
		if (rd_growth_known(&loss.growth[i]))
			sum += loss.growth[i].amount;
	result_json(r, "moved", moved_json(m));
	result_number(r, "counters", "", m->now.n);
	result_number(r, "loss_growth", "frames", sum);
	return sum;
}

static void judge(struct rd_probe_result *r, uint64_t frames, uint64_t lost)
{
	result_number(r, "frames", "frames", frames);
	result_value(r, "%llu frame%s", (unsigned long long)frames, rd_plural(frames));
	if (lost)
		result_found(r, "loss_of_others",
			"the counter of lost frames grew by %llu without a capture: part of what "
			"captures report as lost is of other programs",
			(unsigned long long)lost);
	result_means(r, "without a capture the counters of lost frames stand still");
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct moved m = {.growth = NULL};
	struct sniffer s;
	int rc = sniffer_open(&s, st->device, st->port, NULL);
	uint64_t lost = rc ? 0 : lost_by_others(st, &m, r);

	if (!rc)
		rc = sniffer_flow_create(&s);
	if (rc) {
		result_failed(r, "%s: %s", sniffer_step_name(s.reached), strerror(rc));
	} else {
		receive(st, &s);
		judge(r, s.frames, lost);
	}
	sniffer_close(&s);
	moved_free(&m);
}

const struct rd_probe rd_probe_idle = {.name = "idle",
	.question = "which counters move and what arrives without own traffic",
	.objects = "PD, MR (2.5 MiB), CQ, QP, flow",
	.needs = RD_PROBE_SNIFFER,
	.run = run};
