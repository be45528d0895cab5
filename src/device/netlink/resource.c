/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Open objects of a device: names of QP types and states (include/rdma/ib_verbs.h of Linux), and
 * lookup functions; nldev.c reads them.
 */
#include <rdmadump/names.h>
#include <rdmadump/resource.h>
#include <stdlib.h>
#include <string.h>

static struct {
	bool (*fn)(void *ctx);
	void *ctx;
} stop;

void rd_resources_stop_when(bool (*fn)(void *ctx), void *ctx)
{
	stop.fn = fn;
	stop.ctx = ctx;
}

bool rd_resources_stopped(void)
{
	return stop.fn && stop.fn(stop.ctx);
}

void rd_resources_free(struct rd_resources *r)
{
	free(r->qps);
	free(r->cm_ids);
	free(r->counts);
	*r = (struct rd_resources){0};
}

bool rd_resources_count(
	const struct rd_resources *r, const char *device, const char *kind, uint64_t *n)
{
	for (size_t i = 0; i < r->n_counts; i++)
		if (!strcmp(r->counts[i].device, device) && !strcmp(r->counts[i].kind, kind)) {
			*n = r->counts[i].n;
			return true;
		}
	return false;
}

uint64_t rd_resources_unlisted(const struct rd_resources *r, const char *device)
{
	uint64_t n = 0;

	return rd_resources_count(r, device, "qp", &n) && n > RD_QPS_LISTED_MAX ? n : 0;
}

const char *rd_qp_type_name(unsigned int type)
{
	static const char *const names[] = {"SMI", "GSI", "RC", "UC", "UD", "RAW_IPV6",
		"RAW_ETHERTYPE", NULL, "RAW_PACKET", "XRC_INI", "XRC_TGT"};

	if (type == 0xff)
		return "DRIVER";
	return type < RD_COUNT(names) && names[type] ? names[type] : "unknown";
}

RD_NAMES(rd_qp_state_name, "unknown", "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR")
