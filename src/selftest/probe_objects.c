/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Creates what a capture needs, one by one, each with its errno and duration; then destroys and
 * creates the flow ten times. Both run several firmware commands; frames that arrive during a trial
 * stay in the ring and would be mistaken for later ones.
 */
#include "sniffer.h"
#include <rdmadump/json.h>
#include <string.h>

#define ROUNDS 10
/* A capture starts and ends by these commands; frames are lost or stale meanwhile. */
#define SLOW_US 20000

static json_t *step_json(const struct sniffer *s, enum sniffer_step step)
{
	bool tried = step <= s->reached;
	int errnum = s->step[step].errnum;

	return json_pack("{s:b, s:o, s:o}", "created", tried && !errnum, "errno",
		errnum ? json_string(error_name(errnum)) : json_null(), "us",
		tried ? rd_json_u64(s->step[step].ns / 1000) : json_null());
}

/* Whether the device is known to have a sniffer. */
static bool is_expected(const struct rd_selftest *st)
{
	const char *why, *todo;

	return rd_port_verdict(st->device, st->port, &why, &todo) == RD_CAPTURE_YES;
}

static void judge_refusal(
	struct rd_selftest *st, const struct sniffer *s, int rc, struct rd_probe_result *r)
{
	const char *step = sniffer_step_name(s->reached);
	const char *why, *todo;

	result_value(r, "%s: %s", step, error_name(rc));
	if (s->reached < STEP_QP || is_expected(st)) {
		result_failed(r, "%s: %s: no capture by the device's sniffer", step, strerror(rc));
		return;
	}
	rd_port_verdict(st->device, st->port, &why, &todo);
	result_found(r, "no_sniffer", "the device has no sniffer for verbs (%s): %s", why,
		*todo ? todo : "captures see what passes the netdev");
}

/* --- the flow, again and again ----------------------------------------------------------- */

struct rounds {
	uint64_t create_us[ROUNDS], destroy_us[ROUNDS];
	uint64_t at_create, at_destroy; /* frames in the queue when the command had returned */
	unsigned int n;
};

/* Returns 0, or the errno of a flow that was refused. */
static int run_rounds(struct rd_selftest *st, struct sniffer *s, struct rounds *t)
{
	int rc = sniffer_flow_destroy(s);

	while (!rc && t->n < ROUNDS && !probe_over(st)) {
		rc = sniffer_flow_create(s);
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
	return rc;
}

static void judge_rounds(struct rd_probe_result *r, struct rounds *t, int rc)
{
	uint64_t create, destroy;

	result_number(r, "rounds", "", t->n);
	result_number(r, "frames_at_create", "frames", t->at_create);
	result_number(r, "frames_at_destroy", "frames", t->at_destroy);
	if (rc)
		result_failed(r, "round %u: %s: captures may fail to start or to stop", t->n + 1,
			strerror(rc));
	if (rc || !t->n)
		return;
	create = result_spread(r, "create_us", t->create_us, t->n);
	destroy = result_spread(r, "destroy_us", t->destroy_us, t->n);
	result_value(r, "%.1f ms + %.1f ms", (double)create / 1000, (double)destroy / 1000);
	if (create > SLOW_US || destroy > SLOW_US)
		result_found(r, "slow_commands",
			"commands are slow: starting and ending a capture takes that long, and "
			"frames that arrive meanwhile may be missing or stale");
	result_means(r,
		"the device's own sniffer can be used, and starts and ends within that time; "
		"frames caught by the trials: %llu",
		(unsigned long long)(t->at_create + t->at_destroy));
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct rounds t = {.n = 0};
	struct sniffer s;
	int rc = sniffer_start(&s, st, NULL, NULL);

	for (int step = 0; step < STEPS; step++)
		result_json(r, sniffer_step_name((enum sniffer_step)step),
			step_json(&s, (enum sniffer_step)step));
	st->sniffer = rc ? SNIFFER_REFUSED : SNIFFER_WORKS;
	if (rc) {
		judge_refusal(st, &s, rc, r);
	} else {
		rc = run_rounds(st, &s, &t);
		judge_rounds(r, &t, rc);
	}
	sniffer_close(&s);
}

const struct rd_probe rd_probe_objects = {.name = "objects",
	.question = "which objects of a capture can be created, and how fast its flow",
	.objects = "PD, MR (2.5 MiB), CQ, QP, 11 flows",
	.required = true,
	.run = run};
