/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The sniffer's CQ, QP and flow: made in that order, unmade in the other. */
#include "verbs_queue.h"
#include <errno.h>

#define SNIFFER_QKEY 0x12345

int verbs_fail(
	const struct verbs *v, struct rd_error *err, int errnum, const char *todo, const char *verb)
{
	return rd_fail(err, RD_CLASS_DEVICE, errnum, todo, "%s on %s", verb, v->name);
}

/*
 * An extended CQ gives only what is asked for, and without a lock: half the instructions of
 * ibv_poll_cq() on mlx5. Not every provider has it.
 */
int verbs_cq_create(struct verbs *v, struct rd_error *err)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = v->ring.cqes,
		.channel = v->channel,
		.comp_vector = v->index % (unsigned int)v->ctx->num_comp_vectors,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | v->clock->kind->wc_flags,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED};

	v->armed = false;
	v->events = 0;
	v->cq_ex = ibv_create_cq_ex(v->ctx, &attr);
	if (v->cq_ex)
		v->cq = ibv_cq_ex_to_cq(v->cq_ex);
	else if (!v->clock->kind->wc_flags)
		v->cq = ibv_create_cq(
			v->ctx, (int)v->ring.cqes, NULL, v->channel, (int)attr.comp_vector);
	if (!v->cq)
		return verbs_fail_object(v, err, errno, VERBS_CQ, "create_cq");
	return 0;
}

int verbs_fail_object(const struct verbs *v, struct rd_error *err, int errnum,
	enum verbs_object object, const char *verb)
{
	return verbs_fail(v, err, errnum, verbs_advice(object, errnum), verb);
}

static int qp_create(struct verbs *v, struct rd_error *err)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = v->cq,
		.recv_cq = v->cq,
		.cap = {.max_recv_wr = v->ring.n, .max_recv_sge = 1},
		.qp_type = v->link == RD_LINK_INFINIBAND ? IBV_QPT_UD : IBV_QPT_RAW_PACKET,
	};

	v->qp = ibv_create_qp(v->pd, &attr);
	if (!v->qp)
		return verbs_fail_object(v, err, errno, VERBS_QUEUE, "create_qp");
	return 0;
}

static int qp_ready(struct verbs *v, struct rd_error *err)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = (uint8_t)v->port_num, .qkey = SNIFFER_QKEY};
	int mask = IBV_QP_STATE | IBV_QP_PORT, rc;

	if (v->link == RD_LINK_INFINIBAND)
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_QKEY;
	rc = ibv_modify_qp(v->qp, &attr, mask);
	if (rc)
		return verbs_fail_object(v, err, rc, VERBS_QUEUE, "modify_qp to INIT");
	rc = verbs_ring_fill(&v->ring, v->qp, NULL);
	if (rc)
		return verbs_fail(v, err, rc, "use fewer buffers (-b)", "post_recv");
	attr.qp_state = IBV_QPS_RTR;
	rc = ibv_modify_qp(v->qp, &attr, IBV_QP_STATE);
	if (rc)
		return verbs_fail_object(v, err, rc, VERBS_QUEUE, "modify_qp to RTR");
	return 0;
}

int verbs_flow_create(struct verbs *v, struct rd_error *err)
{
	struct ibv_flow_attr attr = {
		.type = IBV_FLOW_ATTR_SNIFFER, .size = sizeof(attr), .port = (uint8_t)v->port_num};

	v->flow = ibv_create_flow(v->qp, &attr);
	if (!v->flow)
		return verbs_fail_object(v, err, errno, VERBS_FLOW, "create_flow");
	return 0;
}

void verbs_flow_destroy(struct verbs *v)
{
	if (v->flow)
		ibv_destroy_flow(v->flow);
	v->flow = NULL;
}

void verbs_ack_events(struct verbs *v)
{
	if (v->unacked)
		ibv_ack_cq_events(v->cq, v->unacked);
	v->unacked = 0;
}

void verbs_cq_destroy(struct verbs *v)
{
	if (v->cq) {
		verbs_ack_events(v);
		ibv_destroy_cq(v->cq);
	}
	v->cq = NULL;
	v->cq_ex = NULL;
}

/* The order in which nothing can arrive at what is gone. */
void verbs_queues_destroy(struct verbs *lead)
{
	verbs_flow_destroy(lead);
	verbs_spread_destroy(lead);
	for (unsigned int i = 0; i < lead->n_queues; i++)
		verbs_wq_destroy(lead->queue[i]);
	for (unsigned int i = 0; i < lead->n_queues; i++)
		verbs_cq_destroy(lead->queue[i]);
}

int verbs_queue_create(struct verbs *v, struct rd_error *err)
{
	if (qp_create(v, err) < 0 || qp_ready(v, err) < 0)
		return -1;
	v->path = v->cq_ex ? &verbs_path_extended : &verbs_path_plain;
	if (!v->plain)
		verbs_mlx5_take_over(v);
	return 0;
}

int verbs_queue_reset(struct verbs *v, struct rd_error *err)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	int rc;

	if (v->wq)
		return verbs_wq_reset(v, err);
	rc = ibv_modify_qp(v->qp, &attr, IBV_QP_STATE);
	if (rc)
		return verbs_fail_object(v, err, rc, VERBS_QUEUE, "modify_qp to RESET");
	v->armed = false;
	if (v->path->cleared)
		v->path->cleared(v);
	return qp_ready(v, err);
}

/* Flow, QP and table stand on all queues: the others go on receiving when they are made anew. */
static int replace(struct verbs *v, struct rd_error *err)
{
	struct verbs *lead = v->lead;
	bool in_table = v->wq != NULL;

	verbs_flow_destroy(lead);
	verbs_spread_destroy(lead);
	verbs_wq_destroy(v);
	verbs_cq_destroy(v);
	if (verbs_cq_create(v, err) < 0)
		return -1;
	if (in_table) {
		if (verbs_wq_create(v, err) < 0 || verbs_spread_create(lead, err) < 0)
			return -1;
	} else if (verbs_queue_create(v, err) < 0) {
		return -1;
	}
	return lead->stopped ? 0 : verbs_flow_create(lead, err);
}

int verbs_queue_replace(struct verbs *v, struct rd_error *err)
{
	int rc;

	pthread_mutex_lock(&v->lead->lock);
	rc = replace(v, err);
	pthread_mutex_unlock(&v->lead->lock);
	return rc;
}
