/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether two captures are possible at a time: a second flow from a second QP of this process, then
 * one from another process. The kernel shares one firmware table among all sniffers of a device.
 */
#include "holder.h"
#include "selftest.h"
#include "sniffer.h"
#include <errno.h>
#include <rdmadump/clock.h>
#include <string.h>

#define WATCH_MS 200 /* time in which both receive */

static void watch(const struct rd_selftest *st, struct sniffer *a, struct sniffer *b)
{
	uint64_t end = rd_monotonic_ns() + WATCH_MS * 1000000ULL;

	while (!probe_over(st) && rd_monotonic_ns() < end) {
		unsigned int n = sniffer_drain(a, NULL, NULL);

		if (b)
			n += sniffer_drain(b, NULL, NULL);
		if (!n)
			probe_sleep_ms(st, 1);
	}
}

/* Returns the errno of the second QP; a failure of the probe where it is not the flow's. */
static int try_qp(const struct rd_selftest *st, struct sniffer *first, struct rd_probe_result *r)
{
	struct sniffer second;
	int rc = sniffer_open(&second, st->device, st->port, first);

	if (!rc)
		rc = sniffer_flow_create(&second);
	result_errno(r, "qp_error", rc);
	if (rc && second.reached < STEP_FLOW) {
		result_failed(r, "%s of a second QP: %s", sniffer_step_name(second.reached),
			strerror(rc));
	} else if (!rc) {
		first->frames = 0;
		watch(st, first, &second);
		result_number(r, "qp_frames_first", "frames", first->frames);
		result_number(r, "qp_frames_second", "frames", second.frames);
	}
	sniffer_close(&second);
	return rc;
}

/* Returns the errno of the other process; -1: it could not be started. */
static int try_process(
	const struct rd_selftest *st, struct sniffer *first, struct rd_probe_result *r)
{
	struct holder h;
	int rc = holder_start(&h, st, r);

	if (!rc) {
		rc = h.errnum;
		result_errno(r, "process_error", rc);
		first->frames = 0;
		watch(st, first, NULL);
		result_number(r, "process_frames_first", "frames", first->frames);
		result_number(r, "process_frames_second", "frames", holder_stop(&h));
	}
	holder_kill(&h);
	return rc;
}

static void judge(struct rd_probe_result *r, int qp, int process)
{
	result_value(r, "QP %s, process %s", qp ? "refused" : "yes",
		process < 0   ? "?"
		: process > 0 ? "refused"
			      : "yes");
	if (qp && r->outcome != RD_PROBE_FAILED)
		result_found(r, "one_sniffer_per_process",
			"a second flow of one process is refused (%s)", strerror(qp));
	if (process > 0)
		result_found(r, "one_sniffer",
			"only one program at a time can capture on this device (%s): end the other "
			"one first",
			strerror(process));
	result_means(r, "several captures of one port can run at a time");
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct sniffer first;
	int rc = sniffer_open(&first, st->device, st->port, NULL), qp;

	if (!rc)
		rc = sniffer_flow_create(&first);
	if (rc) {
		result_failed(r, "%s: %s", sniffer_step_name(first.reached), strerror(rc));
	} else {
		qp = try_qp(st, &first, r);
		judge(r, qp, try_process(st, &first, r));
	}
	sniffer_close(&first);
}

const struct rd_probe rd_probe_second = {.name = "second",
	.question = "whether a second QP and a second process can capture, too",
	.objects = "up to two of each: PD, MR, CQ, QP, flow",
	.needs = RD_PROBE_SNIFFER,
	.run = run};
