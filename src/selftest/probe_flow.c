/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Creates and destroys the sniffer's flow ten times. Both run several firmware commands; frames
 * that arrive during a trial stay in the ring and would be mistaken for later ones.
 */
#include "sniffer.h"
#include <rdmadump/clock.h>
#include <string.h>

#define ROUNDS 10
/* A capture starts and ends by these commands; frames are lost or stale meanwhile. */
#define SLOW_US 20000

struct rounds {
	uint64_t create_us[ROUNDS], destroy_us[ROUNDS];
	uint64_t at_create, at_destroy; /* frames in the queue when the command had returned */
	unsigned int n;
};

/* Returns 0, or the errno of a flow that was refused. */
static int run_rounds(struct rd_selftest *st, struct sniffer *s, struct rounds *t)
{
	while (t->n < ROUNDS && !probe_over(st)) {
		int rc = sniffer_flow_create(s);

		if (rc)
			return rc;
		t->create_us[t->n] = s->step[STEP_FLOW].ns / 1000;
		t->at_create += sniffer_drain(s, NULL, NULL);
		rc = sniffer_flow_destroy(s);
		if (rc)
			return rc;
		t->destroy_us[t->n++] = s->step[STEP_FLOW].ns / 1000;
		t->at_destroy += sniffer_drain(s, NULL, NULL);
	}
	return 0;
}

static void judge(struct rd_probe_result *r, struct rounds *t, int rc)
{
	uint64_t create, destroy;

	result_number(r, "rounds", "", t->n);
	result_number(r, "frames_at_create", "frames", t->at_create);
	result_number(r, "frames_at_destroy", "frames", t->at_destroy);
	if (rc) {
		result_failed(r, "round %u: %s: captures may fail to start or to stop", t->n + 1,
			strerror(rc));
		return;
	}
	if (!t->n) {
		result_failed(r, "no flow was created within the limit of time");
		return;
	}
	create = result_spread(r, "create_us", t->create_us, t->n);
	destroy = result_spread(r, "destroy_us", t->destroy_us, t->n);
	result_value(r, "%.1f ms + %.1f ms", (double)create / 1000, (double)destroy / 1000);
	if (create > SLOW_US || destroy > SLOW_US)
		result_found(r, "slow_commands",
			"commands are slow: starting and ending a capture takes that long, and "
			"frames that arrive meanwhile may be missing or stale");
	result_means(r,
		"a capture starts and ends within that time; frames caught by the trials: %llu",
		(unsigned long long)(t->at_create + t->at_destroy));
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct rounds t = {.n = 0};
	struct sniffer s;
	int rc = sniffer_open(&s, st, NULL, NULL);

	if (rc) {
		result_failed(r, "%s: %s", sniffer_step_name(s.reached), strerror(rc));
	} else {
		rc = run_rounds(st, &s, &t);
		judge(r, &t, rc);
	}
	sniffer_close(&s);
}

const struct rd_probe rd_probe_flow = {.name = "flow",
	.question = "how fast the sniffer's flow is created and destroyed",
	.objects = "PD, MR (2.5 MiB), CQ, QP, 10 flows",
	.needs = RD_PROBE_SNIFFER,
	.required = true,
	.run = run};
