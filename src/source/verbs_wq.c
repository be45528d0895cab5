/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work queues, and the QP that distributes frames among them: a RAW_PACKET QP with a table of work
 * queues instead of its own receive queue (ibv_create_wq(3), ibv_create_rwq_ind_table(3)).
 */
#include "verbs_port.h"
#include <errno.h>

#define KEY_BYTES 40 /* length of the Toeplitz key, as mlx5 needs it */

static int modify(struct verbs_queue *q, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state};
	int rc = ibv_modify_wq(q->wq, &attr);

	return rc < 0 ? -rc : rc;
}

static int wq_ready(struct verbs_queue *q, struct rd_error *err)
{
	/* First the state RDY: the transition clears the doorbell record. */
	int rc = modify(q, IBV_WQS_RDY);

	if (rc)
		return verbs_fail_object(q->port, err, rc, VERBS_QUEUE, "modify_wq to RDY");
	rc = verbs_ring_fill(&q->ring, NULL, q->wq);
	if (rc)
		return verbs_fail(q->port, err, rc, "use fewer buffers (-b)", "post_wq_recv");
	return 0;
}

static int wq_make(struct verbs_queue *q, struct rd_error *err)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = q->ring.n,
		.max_sge = 1,
		.pd = q->port->pd,
		.cq = q->cq,
	};

	q->path = verbs_path_libibverbs(q);
	q->wq = ibv_create_wq(q->port->ctx, &attr);
	return q->wq ? 0 : verbs_fail_object(q->port, err, errno, VERBS_QUEUE, "create_wq");
}

int verbs_wq_create(struct verbs_queue *q, struct rd_error *err)
{
	if (wq_make(q, err) < 0 || wq_ready(q, err) < 0)
		return -1;
	if (q->port->rx_mode != RD_RX_VERBS)
		verbs_mlx5_adopt(q);
	return 0;
}

int verbs_wq_reset(struct verbs_queue *q, struct verbs_ring *larger, struct rd_error *err)
{
	int rc = modify(q, IBV_WQS_RESET);

	if (rc)
		return verbs_fail_object(q->port, err, rc, VERBS_QUEUE, "modify_wq to RESET");
	q->armed = false;
	verbs_ring_exchange(&q->ring, larger);
	if (q->path->cleared)
		q->path->cleared(q);
	return wq_ready(q, err);
}

void verbs_wq_destroy(struct verbs_queue *q)
{
	if (q->wq)
		ibv_destroy_wq(q->wq);
	q->wq = NULL;
}

/* --- the table ---------------------------------------------------------------------------- */

/* mlx5 hashes only one IP version: the port's. Frames of the other are all in the first queue. */
static uint64_t hash_fields(const struct verbs_port *port)
{
	return IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP |
	       (port->ipv6 ? IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6
			   : IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4);
}

int verbs_spread_create(struct verbs_port *port, struct rd_error *err)
{
	uint8_t key[KEY_BYTES];
	struct ibv_wq *queues[RD_QUEUES_MAX];
	struct ibv_rwq_ind_table_init_attr table = {.ind_tbl = queues};
	struct ibv_qp_init_attr_ex qp = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
		.pd = port->pd,
		.rx_hash_conf = {.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = KEY_BYTES,
			.rx_hash_key = key,
			/* no hash for a table of one queue */
			.rx_hash_fields_mask = port->n_queues > 1 ? hash_fields(port) : 0},
	};

	/*
	 * Any key distributes. This one (alternately a byte and its complement, XORed with a
	 * counter) has no long runs. It is constant, so that a flow is in the same queue in every
	 * capture.
	 */
	for (unsigned int i = 0; i < KEY_BYTES; i++)
		key[i] = (uint8_t)((i & 1 ? 0x5a : 0xa5) ^ (i * 37));
	while (1U << table.log_ind_tbl_size < port->n_queues)
		table.log_ind_tbl_size++;
	for (unsigned int i = 0; i < port->n_queues; i++)
		queues[i] = port->queue[i]->wq;
	port->table = ibv_create_rwq_ind_table(port->ctx, &table);
	if (!port->table)
		return verbs_fail_object(port, err, errno, VERBS_QUEUE, "create_rwq_ind_table");
	qp.rwq_ind_tbl = port->table;
	port->qp = ibv_create_qp_ex(port->ctx, &qp);
	if (!port->qp)
		return verbs_fail_object(port, err, errno, VERBS_QUEUE, "create_qp");
	return 0;
}

void verbs_spread_destroy(struct verbs_port *port)
{
	if (port->qp)
		ibv_destroy_qp(port->qp);
	port->qp = NULL;
	if (port->table)
		ibv_destroy_rwq_ind_table(port->table);
	port->table = NULL;
}

unsigned int verbs_spread_most(const struct verbs_port *port, unsigned int wanted, const char **why)
{
	struct ibv_device_attr_ex attr;
	unsigned int most = 1;

	*why = "the port sniffer (--sniffer icmd) fills one queue";
	if (port->icmd.sniffer)
		return 0;
	*why = "only Ethernet ports have receive side scaling";
	if (port->link != RD_LINK_ETHERNET)
		return 0;
	*why = "the device has no receive side scaling (RSS)";
	if (ibv_query_device_ex(port->ctx, NULL, &attr) ||
		!(attr.rss_caps.supported_qpts & 1U << IBV_QPT_RAW_PACKET) ||
		!(attr.rss_caps.rx_hash_function & IBV_RX_HASH_FUNC_TOEPLITZ) ||
		!attr.rss_caps.max_rwq_indirection_tables)
		return 0;
	*why = "queues come in powers of two";
	while (most * 2 <= wanted && most * 2 <= RD_QUEUES_MAX) {
		if (most * 2 > attr.rss_caps.max_rwq_indirection_table_size ||
			most * 2 > attr.max_wq_type_rq) {
			*why = "the device takes no more work queues";
			break;
		}
		most *= 2;
	}
	return most;
}
