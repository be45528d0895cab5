/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long completions arrive after the flow was destroyed. Frames whose completion was already
 * written when the command returned are not late: the queue is drained first.
 */
#include "selftest.h"
#include "sniffer.h"
#include <rdmadump/clock.h>
#include <string.h>

#define BEFORE_MS 200 /* time with traffic before the flow is destroyed */
#define AFTER_MS  500 /* wait for late completions */

static uint64_t receive(const struct rd_selftest *st, struct sniffer *s)
{
	uint64_t end = rd_monotonic_ns() + BEFORE_MS * 1000000ULL;

	while (!probe_over(st) && rd_monotonic_ns() < end)
		if (!sniffer_drain(s, NULL, NULL))
			probe_sleep_ms(st, 1);
	return s->frames;
}

/* Returns the late frames, and when the last one arrived, in ns after the command. */
static uint64_t count_late(const struct rd_selftest *st, struct sniffer *s, uint64_t *last_ns)
{
	uint64_t start = rd_monotonic_ns(), late = 0, now = start;

	*last_ns = 0;
	while (sniffer_poll(s, NULL, NULL) && !probe_over(st) &&
		now - start < AFTER_MS * 1000000ULL)
		now = rd_monotonic_ns();
	while (!probe_over(st) && (now = rd_monotonic_ns()) - start < AFTER_MS * 1000000ULL) {
		unsigned int n = sniffer_drain(s, NULL, NULL);

		if (n)
			*last_ns = now - start;
		late += n;
	}
	return late;
}

static void judge(struct rd_probe_result *r, uint64_t before, uint64_t late, uint64_t last_ns)
{
	result_number(r, "frames_before", "frames", before);
	result_number(r, "frames_late", "frames", late);
	result_number(r, "last_late_us", "us", last_ns / 1000);
	if (!before) {
		result_skipped(r, "no frame arrived: repeat it while there is traffic");
		return;
	}
	result_value(r, "%llu late", (unsigned long long)late);
	if (late)
		result_found(r, "late_frames",
			"frames arrive up to %.1f ms after a capture has ended: buffers must stay "
			"until then",
			(double)last_ns / 1000000);
	result_means(r, "no frame arrives once a capture has ended");
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	uint64_t before, late, last_ns;
	struct sniffer s;
	int rc = sniffer_open(&s, st->device, st->port, NULL);

	if (!rc)
		rc = sniffer_flow_create(&s);
	if (rc) {
		result_failed(r, "%s: %s", sniffer_step_name(s.reached), strerror(rc));
	} else {
		before = receive(st, &s);
		rc = sniffer_flow_destroy(&s);
		late = count_late(st, &s, &last_ns);
		judge(r, before, late, last_ns);
		if (rc)
			result_failed(r, "destroy_flow: %s", strerror(rc));
	}
	sniffer_close(&s);
}

const struct rd_probe rd_probe_stop = {.name = "stop",
	.question = "how long frames arrive after the flow was destroyed",
	.objects = "PD, MR (2.5 MiB), CQ, QP, flow",
	.needs = RD_PROBE_SNIFFER,
	.run = run};
