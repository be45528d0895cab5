/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Open objects of devices (queue pairs and others), read by RDMA netlink. */
#include "parts.h"
#include <rdmadump/json.h>
#include <rdmadump/resource.h>

static json_t *json_qp(const struct rd_qp_res *qp)
{
	return json_pack("{s:o, s:I, s:I, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "device",
		rd_json_string(qp->device), "port", (json_int_t)qp->port, "lqpn",
		(json_int_t)qp->lqpn, "type", rd_qp_type_name(qp->type), "state",
		rd_qp_state_name(qp->state), "rqpn",
		qp->has_rqpn ? json_integer(qp->rqpn) : json_null(), "sq_psn",
		qp->has_psn ? json_integer(qp->sq_psn) : json_null(), "rq_psn",
		qp->has_rqpn ? json_integer(qp->rq_psn) : json_null(), "pid",
		rd_json_u64_or_null(qp->pid), "comm", rd_json_text(qp->comm));
}

json_t *part_resources(const struct rd_devices *devices, struct rd_error *err)
{
	json_t *counts = json_array(), *qps = json_array();
	struct rd_resources r;

	(void)devices;
	if (rd_resources_load(&r, NULL, err) < 0) {
		json_decref(counts);
		json_decref(qps);
		return NULL;
	}
	for (size_t i = 0; i < r.n_counts; i++)
		json_array_append_new(counts,
			json_pack("{s:o, s:s, s:o}", "device", rd_json_string(r.counts[i].device),
				"kind", r.counts[i].kind, "count", rd_json_u64(r.counts[i].n)));
	for (size_t i = 0; i < r.n_qps; i++)
		json_array_append_new(qps, json_qp(&r.qps[i]));
	rd_resources_free(&r);
	return json_pack("{s:o, s:o}", "counts", counts, "qps", qps);
}
