/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loss counters of one QP. The behaviour of Linux (drivers/infiniband; see also docs/hardware.md):
 *
 * - core/nldev.c: each request to bind needs CAP_NET_ADMIN in the first user namespace
 *   (RDMA_NL_ADMIN_PERM, netlink_capable()). Reading needs no capability.
 * - core/counters.c, rdma_counter_bind_qpn_alloc(): takes any type of QP, and finds it by
 *   its number alone. ENOENT: no such QP, or a raw packet QP without CAP_NET_RAW. EINVAL:
 *   the port binds counters automatically. EOPNOTSUPP: the port has no counters. ENOMEM:
 *   most other failures, a driver that cannot bind included (rxe).
 * - core/counters.c, rdma_counter_query_stats(): each reading asks the device; there is no
 *   cache.
 * - hw/mlx5/qp.c, mlx5_ib_qp_set_counter(), __mlx5_ib_modify_qp(): a set that is bound in
 *   state RESET is given to the receive queue of a raw packet QP at each transition from
 *   RESET to INIT, if the firmware has modify_rq_counter_set_id. In other states the driver
 *   only tries RTS2RTS_QP, which is not for raw packet QPs.
 * - hw/mlx5/qp.c, mlx5_ib_modify_wq(): work queues (RSS) always count in the
 *   port's set. Binding to the QP in front of their table succeeds, without effect.
 */
#include "info_parts.h"
#include "netlink/nldev.h"
#include <errno.h>
#include <rdmadump/clock.h>
#include <rdmadump/counters.h>
#include <rdmadump/device.h>
#include <rdmadump/own_counter.h>
#include <rdmadump/owner.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ONLY_SHARED "leave --own-counter out: this device has only the port's counters"

struct rd_own_counter {
	struct rd_netlink *nl;
	struct rd_nldev_stat stat;
	const char *driver;
};

static const struct advice {
	int errnum;
	const char *why, *todo;
} advices[] = {
	{EPERM, "binding a counter needs CAP_NET_ADMIN",
		"run as root, or setcap cap_net_admin,cap_net_raw,cap_ipc_lock+ep on rdmadump"},
	{EOPNOTSUPP, "the driver has no counters of queue pairs", ONLY_SHARED},
	{ENOMEM, "the driver or its firmware binds no counters to queue pairs", ONLY_SHARED},
	{EINVAL, "the kernel is too old, or binds counters on this port automatically",
		"see 'rdma statistic qp mode'; turn it off with 'rdma statistic qp set link "
		"DEVICE/PORT auto off'"},
	{ENOENT, "the kernel does not find the queue pair",
		"run with CAP_NET_RAW in the first user namespace (not in a container of its own)"},
};

static int fail_bind(const struct rd_error *kernel, struct rd_error *err)
{
	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++)
		if (kernel->errnum == advices[i].errnum)
			return rd_fail(err, RD_CLASS_DEVICE, kernel->errnum, advices[i].todo, "%s",
				advices[i].why);
	*err = *kernel;
	return -1;
}

/*
 * QPs, send queues and receive queues of mlx5 are numbered separately, a raw packet QP has the
 * number of one of its queues, and the kernel's table has one entry for a number: it may be another
 * process' QP.
 */
static int check_owner(const struct rd_own_counter *own, struct rd_error *err)
{
	uint32_t pid = 0;
	struct rd_qp_res qp;

	/* The kernel names the thread that created it. */
	if (rd_nldev_qp(own->nl, own->stat.device, own->stat.lqpn, &qp, NULL) == 0 && qp.pid)
		rd_process_of("", qp.pid, &pid);
	if (pid == (uint32_t)getpid())
		return 0;
	return rd_fail(err, RD_CLASS_DEVICE, 0, "start the capture again",
		"the kernel does not list queue pair 0x%x as one of this process", own->stat.lqpn);
}

/* Without this capability the kernel binds the counter anyway, and it stays at 0. */
static int check_firmware(const struct rd_device *device, unsigned int port, struct rd_error *err)
{
	for (unsigned int i = 0; i < device->n_ports; i++)
		if (device->ports[i].num == port && device->ports[i].link == RD_LINK_INFINIBAND)
			return 0;
	if (rd_mlx5_counts_per_queue(device->name) != RD_ANSWER_NO)
		return 0;
	return rd_fail(err, RD_CLASS_DEVICE, 0, "update the firmware, or " ONLY_SHARED,
		"the firmware cannot count for one receive queue (modify_rq_counter_set_id)");
}

static int bind_qp(struct rd_own_counter *own, const struct rd_device *device, struct rd_error *err)
{
	struct rd_loss_counters first;
	struct rd_error kernel = {0};

	if (rd_netlink_open(&own->nl, NETLINK_RDMA, err) ||
		rd_nldev_index(own->nl, device->name, &own->stat.device, err) ||
		check_owner(own, err) || check_firmware(device, own->stat.port, err))
		return -1;
	if (rd_nldev_stat_bind(own->nl, &own->stat, &kernel))
		return fail_bind(&kernel, err);
	/* Representors have counters of other names. */
	rd_own_counter_read(own, &first);
	return first.n ? 0
		       : rd_fail(err, RD_CLASS_DEVICE, 0, ONLY_SHARED,
				 "the counters of a queue pair have no out_of_buffer");
}

int rd_own_counter_bind(struct rd_own_counter **own, const struct rd_device *device,
	unsigned int port, uint32_t qpn, struct rd_error *err)
{
	struct rd_own_counter *c = calloc(1, sizeof(*c));

	*own = NULL;
	if (!c)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for a counter");
	c->stat.port = port;
	c->stat.lqpn = qpn;
	c->driver = device->driver;
	if (bind_qp(c, device, err) < 0) {
		rd_own_counter_close(c);
		return -1;
	}
	*own = c;
	return 0;
}

void rd_own_counter_read(const struct rd_own_counter *own, struct rd_loss_counters *counters)
{
	*counters = (struct rd_loss_counters){.time_ns = rd_monotonic_ns()};
	for (const struct rd_counter_kind *k = rd_counter_kinds; k->name; k++) {
		const char *name = strrchr(k->name, '/');
		uint64_t value;

		if (!(k->flags & RD_COUNTER_LOSS) || strcmp(k->drivers, own->driver) ||
			counters->n == RD_LOSS_COUNTERS || !name ||
			rd_nldev_stat_read(own->nl, &own->stat, name + 1, &value, NULL))
			continue;
		counters->counter[counters->n].kind = k;
		counters->counter[counters->n].name = name + 1;
		counters->counter[counters->n].value = value;
		counters->n++;
	}
}

void rd_own_counter_close(struct rd_own_counter *own)
{
	if (!own)
		return;
	rd_netlink_close(own->nl);
	free(own);
}
