/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kills a capture by the port sniffer, then one together with the process that would detach it. The
 * next capture must start, which detaches what is left.
 */
#include "holder.h"
#include "port_capture.h"
#include <rdmadump/clock.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define NEXT_MS 10000 /* wait for the process of a killed capture to detach */
#define STEP_MS 20

/* The only child: the process of the command gateway. 0: the kernel does not list children. */
static pid_t child_of(pid_t pid)
{
	char path[64], line[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	return (pid_t)strtol(line, NULL, 10);
}

/* Attaches and detaches once. While the other one's process lives, opening is refused. */
static int try_next(const struct rd_selftest *st, uint64_t *ms, struct rd_error *err)
{
	uint64_t start = rd_monotonic_ns(), now;
	struct port_capture c;
	int rc;

	do {
		*err = (struct rd_error){0};
		rc = port_capture_open(&c, st->device, st->port, err);
		now = rd_monotonic_ns();
		if (rc == 0)
			break;
		port_capture_close(&c);
		probe_sleep_ms(st, STEP_MS);
	} while (now - start < NEXT_MS * 1000000ULL && !probe_over(st));
	*ms = (now - start) / 1000000;
	if (rc == 0 && (port_capture_attach(&c, RD_SNIFF_BOTH, err) < 0 ||
			       port_capture_detach(&c, err) < 0))
		rc = -1;
	port_capture_close(&c);
	return rc;
}

/* False: nothing was tested. */
static bool kill_one(
	const struct rd_selftest *st, struct rd_probe_result *r, const char *name, bool both)
{
	struct rd_error err = {0};
	struct holder h;
	bool tested = false;
	uint64_t ms;
	pid_t child;

	if (holder_start(&h, st, r) == 0 && h.errnum)
		result_failed(r, "the second process could not attach the sniffer");
	child = h.pid && !h.errnum ? child_of(h.pid) : 0;
	if (r->outcome != RD_PROBE_FAILED && r->outcome != RD_PROBE_SKIPPED && (!both || child)) {
		if (both)
			kill(child, SIGKILL);
		holder_kill(&h);
		tested = true;
		if (try_next(st, &ms, &err) < 0)
			result_found(r, both ? "refused_after_both" : "refused_after_kill",
				"after a capture was killed%s, the next one is refused: %s",
				both ? " together with its process rdmadump-icmd" : "", err.text);
		else
			result_number(r, name, "ms", ms);
	}
	holder_kill(&h);
	return tested;
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	bool one = kill_one(st, r, "next_after_ms", false), both;

	if (!one)
		return;
	/* Where captures are refused now, none can be killed. */
	both = r->outcome != RD_PROBE_FOUND && kill_one(st, r, "next_after_both_ms", true);
	result_bool(r, "both_killed", both);
	result_value(r, both ? "2 captures killed" : "1 capture killed");
	result_means(r, "after a capture was killed, the next one detaches what is left%s",
		both ? ", also if its process rdmadump-icmd was killed, too" : "");
}

const struct rd_probe rd_probe_killed = {.name = "killed",
	.question = "whether a capture can start after one that was killed",
	.objects = "PD, MR, CQ, QP, also of a second process; 24 firmware commands",
	.needs = RD_PROBE_ICMD,
	.limit_s = 60,
	.run = run};
