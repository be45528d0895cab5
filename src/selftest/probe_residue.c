/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kills a process in the middle of a capture: afterwards the kernel must list none of its objects,
 * and a new capture must be possible. Where the device has no sniffer, the process has a UD QP.
 */
#include "holder.h"
#include "sniffer.h"
#include <rdmadump/resource.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <string.h>

#define WAIT_MS 2000 /* wait for the kernel to destroy the process' objects */
#define STEP_MS 50

/* The QPs of the process; -1: unknown, with the reason. */
static int qps_of(const struct rd_selftest *st, pid_t pid, struct rd_error *err)
{
	struct rd_resources res;
	int n = 0;

	if (rd_resources_load(&res, st->device->name, err) < 0) {
		rd_resources_free(&res);
		return -1;
	}
	if (rd_resources_unlisted(&res, st->device->name))
		n = rd_fail(err, RD_CLASS_DEVICE, 0, NULL,
			"the device has too many queue pairs to list them");
	for (size_t i = 0; i < res.n_qps; i++)
		n += res.qps[i].pid == (uint32_t)pid;
	rd_resources_free(&res);
	return n;
}

static int wait_for_none(const struct rd_selftest *st, pid_t pid)
{
	struct rd_error err;
	int n = qps_of(st, pid, &err);

	for (unsigned int ms = 0; n > 0 && ms < WAIT_MS && !probe_over(st); ms += STEP_MS) {
		probe_sleep_ms(st, STEP_MS);
		n = qps_of(st, pid, &err);
	}
	return n;
}

/* The errno of a capture that starts now. */
static int try_capture(const struct rd_selftest *st)
{
	struct sniffer s;
	int rc = sniffer_start(&s, st, NULL, NULL);

	sniffer_close(&s);
	return rc;
}

/* `before`: errno of the capture that was killed. */
static void judge(
	const struct rd_selftest *st, struct rd_probe_result *r, int before, int during, int after)
{
	int rc = st->sniffer == SNIFFER_REFUSED ? 0 : try_capture(st);

	if (during >= 0)
		result_number(r, "qps_before_kill", "", (uint64_t)during);
	if (after >= 0)
		result_number(r, "qps_after_kill", "", (uint64_t)after);
	result_errno(r, "capture_error", rc);
	if (after > 0)
		result_found(r, "objects_left",
			"the kernel still lists %d QP%s of a killed process: captures that are "
			"killed may leave objects on the device",
			after, rd_plural((uint64_t)after));
	if (rc && before)
		result_failed(r, "captures are refused, also before one was killed: %s",
			strerror(before));
	else if (rc)
		result_found(r, "capture_refused",
			"after a capture was killed, the next one is refused (%s)", strerror(rc));
}

/* An empty list means nothing unless the list had the process' QP before. */
static void summarize(const struct rd_selftest *st, struct rd_probe_result *r, int during,
	int after, const struct rd_error *err)
{
	const char *next = st->sniffer == SNIFFER_REFUSED ? "" : "the next capture starts; ";

	if (during > 0) {
		if (after > 0)
			result_value(r, "%d QP%s left", after, rd_plural((uint64_t)after));
		else
			result_value(r, "nothing left");
		result_means(r, "a program that is killed leaves nothing on the device");
		return;
	}
	result_value(r, "not listed");
	if (during < 0) {
		result_text(r, "list_error", err->text);
		result_means(r, "%sthe kernel's list of objects could not be read", next);
	} else {
		result_means(r, "%sthe kernel's list did not have the objects of the other process",
			next);
	}
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct rd_error err = {0};
	struct holder h;
	int during, after;
	pid_t pid;

	if (holder_start(&h, st, r) == 0) {
		pid = h.pid;
		during = qps_of(st, pid, &err);
		holder_kill(&h);
		after = during < 0 ? -1 : wait_for_none(st, pid);
		judge(st, r, st->sniffer == SNIFFER_REFUSED ? 0 : h.errnum, during, after);
		summarize(st, r, during, after, &err);
		if (during <= 0 && st->sniffer == SNIFFER_REFUSED)
			result_skipped(r, "the device has no sniffer, and the kernel does not list "
					  "the objects of the other process");
	}
	holder_kill(&h);
}

const struct rd_probe rd_probe_residue = {.name = "residue",
	.question = "what a killed capture leaves on the device",
	.objects = "PD, MR, CQ, QP, flow of a second process",
	.run = run};
