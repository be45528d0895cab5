/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which kernel module uses a QP that the connection manager made for it: the kernel lists the
 * QP as rdma_cm's (rdma_create_qp() in drivers/infiniband/core/cma.c), and its connection
 * (cm_id) as the module's.
 */
#include "netlink.h"
#include <rdmadump/owner.h>
#include <stdlib.h>

static int compare(const char *device, uint32_t lqpn, const struct rd_cm_id *with)
{
	int order = strcmp(device, with->device);

	return order ? order : (lqpn > with->lqpn) - (lqpn < with->lqpn);
}

static int by_qp(const void *a, const void *b)
{
	const struct rd_cm_id *id = a;

	return compare(id->device, id->lqpn, b);
}

/* The first cm_id of this QP; NULL: none. cm_ids without a QP have the number 0. */
static const struct rd_cm_id *first_of(
	const struct rd_resources *r, const char *device, uint32_t lqpn)
{
	size_t from = 0, to = r->n_cm_ids;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (compare(device, lqpn, &r->cm_ids[middle]) > 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from < r->n_cm_ids && !compare(device, lqpn, &r->cm_ids[from]) ? &r->cm_ids[from]
									      : NULL;
}

static const struct rd_cm_id *next_of(const struct rd_resources *r, const struct rd_cm_id *id)
{
	const struct rd_cm_id *next = id + 1;

	return next < r->cm_ids + r->n_cm_ids && !by_qp(id, next) ? next : NULL;
}

/* The port that the connection was made to: ours, if the module listens on it. */
static uint16_t service_of(const struct rd_resources *r, const struct rd_cm_id *id)
{
	const struct rd_cm_id *l = first_of(r, id->device, 0);

	for (; l; l = next_of(r, l))
		if (l->listens && l->source == id->source && !strcmp(l->comm, id->comm))
			return id->source;
	return id->destination;
}

static void find_user(const struct rd_resources *r, struct rd_qp_res *qp)
{
	const struct rd_cm_id *first = first_of(r, qp->device, qp->lqpn), *id;
	uint16_t port;

	if (!first || !*first->comm)
		return;
	port = service_of(r, first);
	/* A cm_id keeps the number of a destroyed QP: if several match, none is used. */
	for (id = next_of(r, first); id; id = next_of(r, id)) {
		if (strcmp(id->comm, first->comm))
			return;
		if (service_of(r, id) != port)
			port = 0;
	}
	memcpy(qp->comm, first->comm, sizeof(qp->comm));
	qp->service_port = port;
}

static bool is_of_cm(const struct rd_qp_res *qp)
{
	return !qp->pid && !strcmp(qp->comm, RD_CM_MODULE);
}

bool cm_users_wanted(const struct rd_resources *r)
{
	return RD_ANY(q, r->qps, r->n_qps, is_of_cm(q));
}

void cm_users_find(struct rd_resources *r)
{
	if (!r->n_cm_ids)
		return;
	qsort(r->cm_ids, r->n_cm_ids, sizeof(*r->cm_ids), by_qp);
	for (size_t i = 0; i < r->n_qps; i++)
		if (is_of_cm(&r->qps[i]) && r->qps[i].lqpn)
			find_user(r, &r->qps[i]);
}
