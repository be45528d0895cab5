/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Creates what a capture needs, one by one, each with its errno and duration. */
#include "sniffer.h"
#include <rdmadump/json.h>
#include <string.h>

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

static void judge(struct rd_selftest *st, struct sniffer *s, int rc, struct rd_probe_result *r)
{
	const char *step = sniffer_step_name(s->reached);
	const char *why, *todo;

	st->sniffer = rc ? SNIFFER_REFUSED : SNIFFER_WORKS;
	if (!rc) {
		result_value(r, "all created");
		result_means(r, "the device's own sniffer can be used");
		return;
	}
	result_value(r, "%s: %s", step, error_name(rc));
	if (s->reached < STEP_QP || is_expected(st)) {
		result_failed(r, "%s: %s: no capture by the device's sniffer", step, strerror(rc));
		return;
	}
	rd_port_verdict(st->device, st->port, &why, &todo);
	result_found(r, "no_sniffer", "the device has no sniffer for verbs (%s): %s", why,
		*todo ? todo : "captures see what passes the netdev");
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct sniffer s;
	int rc = sniffer_start(&s, st, NULL, NULL);

	for (int step = 0; step < STEPS; step++)
		result_json(r, sniffer_step_name((enum sniffer_step)step),
			step_json(&s, (enum sniffer_step)step));
	judge(st, &s, rc, r);
	sniffer_close(&s);
}

const struct rd_probe rd_probe_objects = {.name = "objects",
	.question = "which objects of a capture can be created",
	.objects = "PD, MR (2.5 MiB), CQ, QP, flow",
	.required = true,
	.run = run};
