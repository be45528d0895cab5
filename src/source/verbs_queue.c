/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sniffer's CQ, QP and flow: created in this order, destroyed in reverse order. */
#include "verbs_port.h"
#include <errno.h>

#define SNIFFER_QKEY 0x12345

/*
 * An extended CQ reports only the requested fields, and takes no lock: half the instructions of
 * ibv_poll_cq() on mlx5. bnxt_re, whose devices have a sniffer too, has none (rdma-core 65).
 */
int verbs_cq_create(struct verbs_queue *q, struct rd_error *err)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = q->ring.n,
		.channel = q->channel,
		.comp_vector = q->index % (unsigned int)q->port->ctx->num_comp_vectors,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | q->port->clock.kind->wc_flags,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED};

	q->armed = false;
	q->events = 0;
	q->cq_ex = ibv_create_cq_ex(q->port->ctx, &attr);
	if (q->cq_ex)
		q->cq = ibv_cq_ex_to_cq(q->cq_ex);
	else if (!q->port->clock.kind->wc_flags)
		q->cq = ibv_create_cq(
			q->port->ctx, (int)q->ring.n, NULL, q->channel, (int)attr.comp_vector);
	if (!q->cq)
		return verbs_fail_object(q->port, err, errno, VERBS_CQ, "create_cq");
	verbs_gather_init(q);
	return 0;
}

static int qp_create(struct verbs_queue *q, struct rd_error *err)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = q->cq,
		.recv_cq = q->cq,
		.cap = {.max_recv_wr = q->ring.n, .max_recv_sge = 1},
		.qp_type = q->port->link == RD_LINK_INFINIBAND ? IBV_QPT_UD : IBV_QPT_RAW_PACKET,
	};

	/* As ibdump has it: without a send queue its number would be that of a receive queue. */
	if (q->port->icmd.sniffer && attr.qp_type == IBV_QPT_RAW_PACKET)
		attr.cap.max_send_wr = attr.cap.max_send_sge = 1;
	q->port->qp = ibv_create_qp(q->port->pd, &attr);
	if (!q->port->qp)
		return verbs_fail_object(q->port, err, errno, VERBS_QUEUE, "create_qp");
	return 0;
}

static int qp_ready(struct verbs_queue *q, struct rd_error *err)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = (uint8_t)q->port->num, .qkey = SNIFFER_QKEY};
	int mask = IBV_QP_STATE | IBV_QP_PORT, rc;

	if (q->port->link == RD_LINK_INFINIBAND)
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_QKEY;
	rc = ibv_modify_qp(q->port->qp, &attr, mask);
	if (rc)
		return verbs_fail_object(q->port, err, rc, VERBS_QUEUE, "modify_qp to INIT");
	rc = verbs_ring_fill(&q->ring, q->port->qp, NULL);
	if (rc)
		return verbs_fail(q->port, err, rc, "use fewer buffers (-b)", "post_recv");
	attr.qp_state = IBV_QPS_RTR;
	rc = ibv_modify_qp(q->port->qp, &attr, IBV_QP_STATE);
	if (rc)
		return verbs_fail_object(q->port, err, rc, VERBS_QUEUE, "modify_qp to RTR");
	return 0;
}

int verbs_flow_create(struct verbs_port *port, struct rd_error *err)
{
	struct ibv_flow_attr attr = {
		.type = IBV_FLOW_ATTR_SNIFFER, .size = sizeof(attr), .port = (uint8_t)port->num};

	if (port->icmd.sniffer)
		return verbs_port_sniffer_attach(port, err);
	port->flow = ibv_create_flow(port->qp, &attr);
	if (!port->flow)
		return verbs_fail_object(port, err, errno, VERBS_FLOW, "create_flow");
	return 0;
}

int verbs_flow_destroy(struct verbs_port *port, struct rd_error *err)
{
	int rc = port->flow ? ibv_destroy_flow(port->flow) : 0;

	port->flow = NULL;
	if (port->icmd.sniffer)
		return verbs_port_sniffer_detach(port, err);
	/* The kernel itself destroys the objects of a removed device. */
	if (!rc || rc == EIO || port->removed)
		return 0;
	port->abandoned = true;
	verbs_fail(port, err, rc, "the kernel frees it when the device is closed", "destroy_flow");
	rd_log(RD_LOG_WARNING, "%s", err->text);
	return -1;
}

void verbs_completion_events_take(struct verbs_queue *q)
{
	struct ibv_cq *cq;
	void *context;

	while (ibv_get_cq_event(q->channel, &cq, &context) == 0) {
		q->armed = false;
		q->events++;
		verbs_gather_event(q);
		ibv_ack_cq_events(cq, 1);
	}
}

static void cq_destroy(struct verbs_queue *q)
{
	if (q->cq)
		ibv_destroy_cq(q->cq);
	q->cq = NULL;
	q->cq_ex = NULL;
}

/* In this order nothing can arrive at an object that was destroyed. */
void verbs_queues_destroy(struct verbs_port *port)
{
	struct rd_error why;

	if (verbs_flow_destroy(port, &why) < 0 || port->abandoned)
		return;
	verbs_spread_destroy(port);
	for (unsigned int i = 0; i < port->n_queues; i++)
		verbs_wq_destroy(port->queue[i]);
	for (unsigned int i = 0; i < port->n_queues; i++)
		cq_destroy(port->queue[i]);
}

int verbs_queue_create(struct verbs_queue *q, struct rd_error *err)
{
	if (qp_create(q, err) < 0 || qp_ready(q, err) < 0)
		return -1;
	q->path = verbs_path_libibverbs(q);
	if (q->port->rx_mode != RD_RX_VERBS)
		verbs_mlx5_adopt(q);
	return 0;
}

int verbs_queue_reset(struct verbs_queue *q, struct verbs_ring *larger, struct rd_error *err)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	int rc;

	if (q->wq)
		return verbs_wq_reset(q, larger, err);
	rc = ibv_modify_qp(q->port->qp, &attr, IBV_QP_STATE);
	if (rc)
		return verbs_fail_object(q->port, err, rc, VERBS_QUEUE, "modify_qp to RESET");
	q->armed = false;
	verbs_ring_exchange(&q->ring, larger);
	if (q->path->cleared)
		q->path->cleared(q);
	return qp_ready(q, err);
}

enum verbs_state verbs_queue_state(const struct verbs_queue *q)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	if (q->wq)
		return verbs_wq_state(q);
	if (ibv_query_qp(q->port->qp, &attr, IBV_QP_STATE, &init))
		return VERBS_STATE_UNKNOWN;
	return attr.qp_state == IBV_QPS_ERR ? VERBS_STATE_ERROR : VERBS_STATE_READY;
}

/* Flow, QP and table refer to all queues: the others go on receiving after the replacement. */
static int replace(struct verbs_queue *q, struct rd_error *err)
{
	struct verbs_port *port = q->port;
	bool in_table = q->wq != NULL;

	if (verbs_flow_destroy(port, err) < 0)
		return -1;
	verbs_spread_destroy(port);
	verbs_wq_destroy(q);
	cq_destroy(q);
	if (verbs_cq_create(q, err) < 0)
		return -1;
	if (in_table) {
		if (verbs_wq_create(q, err) < 0 || verbs_spread_create(port, err) < 0)
			return -1;
	} else if (verbs_queue_create(q, err) < 0) {
		return -1;
	}
	return port->stopped ? 0 : verbs_flow_create(port, err);
}

int verbs_queue_replace(struct verbs_queue *q, struct rd_error *err)
{
	int rc;

	pthread_mutex_lock(&q->port->lock);
	rc = replace(q, err);
	pthread_mutex_unlock(&q->port->lock);
	return rc;
}
