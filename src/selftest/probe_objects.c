/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Creates what a capture needs, one by one, each with its errno and duration. */
#include "selftest.h"
#include "sniffer.h"
#include <errno.h>
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

/* A work queue and its table: what --queues needs. Their absence is not a fault. */
static void try_work_queue(struct sniffer *s, struct rd_probe_result *r)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 16, .max_sge = 1, .pd = s->pd, .cq = s->cq};
	struct ibv_rwq_ind_table_init_attr table = {0};
	struct ibv_rwq_ind_table *made;
	struct ibv_wq *wq;

	errno = 0;
	wq = ibv_create_wq(s->ctx, &attr);
	result_errno(r, "wq_error", wq ? 0 : errno ? errno : EOPNOTSUPP);
	if (!wq)
		return;
	table.ind_tbl = &wq;
	errno = 0;
	made = ibv_create_rwq_ind_table(s->ctx, &table);
	result_errno(r, "table_error", made ? 0 : errno ? errno : EOPNOTSUPP);
	if (made)
		ibv_destroy_rwq_ind_table(made);
	ibv_destroy_wq(wq);
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
	int rc = sniffer_open(&s, st->device, st->port, NULL);

	if (!rc)
		rc = sniffer_flow_create(&s);
	for (int step = 0; step < STEPS; step++)
		result_json(r, sniffer_step_name((enum sniffer_step)step),
			step_json(&s, (enum sniffer_step)step));
	judge(st, &s, rc, r);
	if (s.cq)
		try_work_queue(&s, r);
	sniffer_close(&s);
}

const struct rd_probe rd_probe_objects = {.name = "objects",
	.question = "which objects of a capture can be created",
	.objects = "PD, MR (2.5 MiB), CQ, QP, flow, WQ, table",
	.required = true,
	.run = run};
