/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is open on a device now, by RDMA netlink. */
#include "info.h"
#include <rdmadump/array.h>
#include <rdmadump/printable.h>
#include <string.h>

#define QPS_SHOWN 64 /* more would push the rest off the screen; JSON has all */

void rd_text_if(bool known, char *buf, size_t size, const char *fmt, ...)
{
	buf[0] = '\0';
	if (!known)
		return;
	RD_FORMAT(buf, size, fmt);
}

static void print_qp(
	const struct info_output *t, const struct rd_qp_res *qp, json_t *list, bool show)
{
	char local[16], remote[16], sq[16], rq[16], owner[64], port[16];
	const char *type = rd_qp_type_name(qp->type), *state = rd_qp_state_name(qp->state);

	json_array_append_new(
		list, json_pack("{s:i, s:I, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "port",
			      (int)qp->port, "lqpn", (json_int_t)qp->lqpn, "type", type, "state",
			      state, "rqpn", qp->has_rqpn ? json_integer(qp->rqpn) : json_null(),
			      "sq_psn", qp->has_psn ? json_integer(qp->sq_psn) : json_null(),
			      "rq_psn", qp->has_rqpn ? json_integer(qp->rq_psn) : json_null(),
			      "pid", rd_json_u64_or_null(qp->pid), "comm", rd_json_text(qp->comm)));
	if (!show)
		return;
	rd_text_if(qp->port != 0, port, sizeof(port), "%u", qp->port);
	snprintf(local, sizeof(local), "0x%06x", qp->lqpn);
	rd_text_if(qp->has_rqpn, remote, sizeof(remote), "0x%06x", qp->rqpn);
	rd_text_if(qp->has_psn, sq, sizeof(sq), "%u", qp->sq_psn);
	rd_text_if(qp->has_rqpn, rq, sizeof(rq), "%u", qp->rq_psn);
	if (qp->pid)
		snprintf(owner, sizeof(owner), "%u (%s)", qp->pid, qp->comm);
	else
		rd_text_if(*qp->comm != '\0', owner, sizeof(owner), "kernel (%s)", qp->comm);
	rd_sheet_cell(t->sheet, local);
	rd_sheet_cell(t->sheet, type);
	rd_sheet_cell(t->sheet, state);
	rd_sheet_cell(t->sheet, port);
	rd_sheet_cell(t->sheet, remote);
	rd_sheet_cell(t->sheet, sq);
	rd_sheet_cell(t->sheet, rq);
	rd_sheet_cell(t->sheet, owner);
}

static void print_counts(const struct info_output *t)
{
	static const struct {
		const char *kind, *title;
	} kinds[] = {{"qp", "QPs"}, {"cq", "CQs"}, {"mr", "MRs"}, {"pd", "PDs"},
		{"cm_id", "connection ids"}, {"ctx", "user contexts"}, {"srq", "SRQs"}};

	for (size_t i = 0; i < RD_COUNT(kinds); i++) {
		uint64_t n;

		if (rd_resources_count(t->resources, t->info->device->name, kinds[i].kind, &n))
			rd_sheet_number(t->sheet, kinds[i].kind, kinds[i].title, n);
	}
}

void rd_info_print_open(const struct info_output *t)
{
	static const char *const columns[] = {
		"QP", "TYPE", "STATE", "PORT", "REMOTE QP", "SQ PSN", "RQ PSN", "OWNER"};
	json_t *list = json_array();
	size_t n = t->resources ? t->resources->n_qps : 0;

	rd_sheet_section(t->sheet, "resources", "Open now");
	rd_sheet_text(t->sheet, "unknown", "not known", t->no_resources);
	rd_sheet_section(t->sheet, "counts", "");
	if (t->resources)
		print_counts(t);
	rd_sheet_end(t->sheet);
	rd_sheet_table(t->sheet, columns, 8);
	for (size_t i = 0; i < n; i++)
		print_qp(t, &t->resources->qps[i], list, i < QPS_SHOWN || t->verbose);
	rd_sheet_table_end(t->sheet);
	if (t->sheet->out && n > QPS_SHOWN && !t->verbose)
		printf("  %zu more: -v or --json\n", n - QPS_SHOWN);
	rd_sheet_json(t->sheet, "qps", list);
	rd_sheet_end(t->sheet);
}
