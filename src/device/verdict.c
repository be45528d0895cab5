/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a port can be captured, by driver and link layer: the verbs sniffer exists in mlx5_ib
 * (Ethernet), mlx4_ib and bnxt_re only, as their create_flow in the kernel and in rdma-core shows.
 */
#include "discovery.h"
#include "port_sniffer_mlx5.h"

#include <linux/capability.h>
#include <rdmadump/array.h>
#include <rdmadump/info.h>
#include <rdmadump/privilege.h>
#include <string.h>

#define FRAME_MIN 1500 /* bytes of the longest frame, whatever the netdev says */

#define MIRROR	  "mirror the port on the switch"
#define OFFLOADED "the adapter's RDMA traffic bypasses the netdev"

/* Compared by address: the text depends on device and machine. */
static const char use_port_sniffer[] = RD_SNIFFER_AS_ROOT;
static const char use_ibdump[] = "use ibdump of MLNX_OFED or of a newer "
				 "mstflint package (a firmware command, as root), or " MIRROR;

static const struct rule {
	const char *driver; /* NULL: any other */
	enum rd_link link;  /* RD_LINK_UNKNOWN: any */
	enum rd_verdict verdict;
	bool whole;
	const char *why, *todo;
} rules[] = {
	{"mlx5_core", RD_LINK_ETHERNET, RD_CAPTURE_YES, true, "", ""},
	{"mlx5_core", RD_LINK_INFINIBAND, RD_CAPTURE_NO, false,
		"verbs offer no sniffer on InfiniBand ports from ConnectX-4 on", use_port_sniffer},
	{"mlx4_core", RD_LINK_UNKNOWN, RD_CAPTURE_YES, true, "", ""},
	{"bnxt_en", RD_LINK_ETHERNET, RD_CAPTURE_YES, true,
		"if kernel and rdma-core (60 or newer) have RoCE mirroring, which is known on open",
		"if not, " MIRROR},
	{"rdma_rxe", RD_LINK_UNKNOWN, RD_CAPTURE_NETDEV, true,
		"software RoCE: all of its frames pass the netdev, except those to the device "
		"itself",
		""},
	{"siw", RD_LINK_UNKNOWN, RD_CAPTURE_NETDEV, true,
		"software iWARP: all of its frames pass the netdev, except those to the device "
		"itself",
		""},
	{"ice", RD_LINK_ETHERNET, RD_CAPTURE_NETDEV, false, OFFLOADED, MIRROR},
	{"i40e", RD_LINK_ETHERNET, RD_CAPTURE_NETDEV, false, OFFLOADED, MIRROR},
	{"idpf", RD_LINK_ETHERNET, RD_CAPTURE_NETDEV, false, OFFLOADED, MIRROR},
	{"iavf", RD_LINK_ETHERNET, RD_CAPTURE_NETDEV, false, OFFLOADED, MIRROR},
	{"qede", RD_LINK_ETHERNET, RD_CAPTURE_NETDEV, false, OFFLOADED, MIRROR},
	{"hns3", RD_LINK_ETHERNET, RD_CAPTURE_NETDEV, false, OFFLOADED, MIRROR},
	{"cxgb4", RD_LINK_ETHERNET, RD_CAPTURE_NETDEV, false, OFFLOADED, MIRROR},
	{"be2net", RD_LINK_ETHERNET, RD_CAPTURE_NETDEV, false, OFFLOADED, MIRROR},
	{"ionic", RD_LINK_ETHERNET, RD_CAPTURE_NETDEV, false, OFFLOADED, MIRROR},
	{"erdma", RD_LINK_UNKNOWN, RD_CAPTURE_NETDEV, false, OFFLOADED,
		"read its counters with 'rdma statistic'"},
	{"mana", RD_LINK_UNKNOWN, RD_CAPTURE_NETDEV, false, OFFLOADED,
		"read its counters with 'rdma statistic'"},
	{"efa", RD_LINK_UNKNOWN, RD_CAPTURE_NO, false, "EFA has no sniffer and no netdev",
		"read its counters with 'rdma statistic'"},
	{"usnic_verbs", RD_LINK_UNKNOWN, RD_CAPTURE_NO, false, "usNIC has no sniffer", MIRROR},
	{"enic", RD_LINK_UNKNOWN, RD_CAPTURE_NO, false, "usNIC has no sniffer", MIRROR},
	{"hfi1", RD_LINK_UNKNOWN, RD_CAPTURE_NO, false, "Omni-Path has no sniffer for verbs",
		"read its counters with 'rdma statistic'"},
	{"ib_qib", RD_LINK_UNKNOWN, RD_CAPTURE_NO, false, "the qib driver has no sniffer", MIRROR},
	{"ib_mthca", RD_LINK_UNKNOWN, RD_CAPTURE_NO, false, "the mthca driver has no sniffer",
		MIRROR},
	{"vmw_pvrdma", RD_LINK_UNKNOWN, RD_CAPTURE_NETDEV, false,
		"paravirtual: the RDMA traffic is the host's", "capture on the host"},
	{NULL, RD_LINK_ETHERNET, RD_CAPTURE_NETDEV, false, "no sniffer is known for this driver",
		MIRROR},
	{NULL, RD_LINK_INFINIBAND, RD_CAPTURE_NO, false, "no sniffer is known for this driver",
		MIRROR},
	{NULL, RD_LINK_UNKNOWN, RD_CAPTURE_NO, false, "the port's link layer cannot be read",
		"see 'rdma link show'"},
};

static const struct rule *rule_of(const struct rd_device *device, const struct rd_port *port)
{
	const struct rule *rule = rules;

	/* The last rule matches everything. */
	while ((rule->driver && strcmp(rule->driver, device->driver)) ||
		(rule->link != RD_LINK_UNKNOWN && rule->link != port->link))
		rule++;
	return rule;
}

/* The adapter's firmware has a sniffer; if rdmadump cannot use it, another program might. */
static const char *port_sniffer_advice(const struct rd_device *device)
{
	struct rd_sniffer_refusal refusal;

	if (rd_port_sniffer_possible(device, &refusal))
		return use_port_sniffer;
	/* ibdump does not know undocumented registers either. */
	if (strcmp(refusal.todo, RD_SNIFFER_ELSEWHERE) ||
		sniffer_chip_undocumented(device->part_id))
		return refusal.todo;
	return use_ibdump;
}

static const char sniffed[] = "the adapter's own sniffer, kernel bypass included";

struct rd_judgement rd_port_judge_kind(const struct rd_device *device, const struct rd_port *port)
{
	const struct rule *rule = rule_of(device, port);
	const char *todo =
		rule->todo == use_port_sniffer ? port_sniffer_advice(device) : rule->todo;

	return (struct rd_judgement){
		rule->verdict, rule->whole, *rule->why ? rule->why : sniffed, todo};
}

/* Older than what ibdump requires; a version that cannot be read is accepted. */
static bool is_too_old(const struct rd_device *device, const struct rd_port *port)
{
	const char *least = rd_firmware_minimum(device, port);

	return *least && *device->fw && rd_version_compare(device->fw, least) < 0;
}

/* Queue and completion entries are small compared with the buffers, but are locked too. */
#define ENTRY_BYTES 128

uint64_t rd_ring_default_bytes(const struct rd_port *port)
{
	uint64_t frame = FRAME_MIN;

	for (unsigned int i = 0; i < port->n_netdevs; i++)
		frame = RD_MAX(frame, port->netdevs[i].mtu);
	return (frame + ENTRY_BYTES) << RD_LOG2_BUFFERS;
}

/* The port can be captured, but this process may lack the privileges. */
static void judge_process(struct rd_judgement *j, const struct rd_port *port)
{
	bool sniffer = j->verdict == RD_CAPTURE_YES;

	if (!rd_has_capability(CAP_NET_RAW)) {
		j->todo = RD_RUN_PRIVILEGED;
		if (sniffer)
			j->why = RD_WHY_PRIVILEGE;
	} else if (sniffer && rd_lockable() < rd_ring_default_bytes(port)) {
		j->why = "the limit of locked memory (ulimit -l) is below what the receive ring "
			 "needs: it would be smaller";
		j->todo = RD_NEEDS_LOCK;
	}
}

static bool is_mlx5_function(const struct rd_device *device, enum rd_function_kind kind)
{
	return !strcmp(device->driver, "mlx5_core") && device->function.kind == kind;
}

/* VFs and SFs get tables from the firmware, which may refuse the sniffer's. */
static void judge_function(struct rd_judgement *j, const struct rd_device *device)
{
	if (j->verdict != RD_CAPTURE_YES)
		return;
	if (is_mlx5_function(device, RD_FUNCTION_VF)) {
		j->why = "if the firmware grants this VF a sniffer table: 'rdmadump info' asks it";
		j->todo = "if not, " MIRROR;
	} else if (is_mlx5_function(device, RD_FUNCTION_SF)) {
		j->why = "if the firmware grants this SF a sniffer table: 'rdmadump info' asks it";
		j->todo = "if not, " MIRROR;
	}
}

struct rd_judgement rd_port_judge(const struct rd_device *device, const struct rd_port *port)
{
	struct rd_judgement j = rd_port_judge_kind(device, port);

	if (is_too_old(device, port))
		return (struct rd_judgement){RD_CAPTURE_NO, false,
			"the firmware is older than the first that can sniff",
			port->link == RD_LINK_INFINIBAND ? "update it to 2.33.5000 or newer"
							 : "update it to 2.11.1140 or newer"};
	if (device->no_steering)
		return (struct rd_judgement){RD_CAPTURE_NO, false,
			"mlx4_core runs without flow steering", RD_MLX4_STEERING};
	if (device->old_switchdev && j.verdict == RD_CAPTURE_YES)
		return (struct rd_judgement){
			RD_CAPTURE_NO, false, RD_OLD_SWITCHDEV, RD_OLD_SWITCHDEV_TODO};
	judge_function(&j, device);
	if (device->unsure_switchdev && j.verdict == RD_CAPTURE_YES) {
		j.why = RD_UNSURE_SWITCHDEV;
		j.todo = RD_UNSURE_SWITCHDEV_TODO;
	}
	if (j.verdict == RD_CAPTURE_NETDEV && !port->n_netdevs) {
		j.verdict = RD_CAPTURE_NO;
		j.whole = false;
		j.why = "only a netdev could be captured, and this port has none";
		if (!*j.todo)
			j.todo = "look for the netdev in the host's network namespace";
	}
	/* The name is known from the GIDs, but this namespace has no netdev with that name. */
	if (j.verdict == RD_CAPTURE_NETDEV && !device->copied && port->n_netdevs &&
		!port->netdevs[0].ifindex)
		return (struct rd_judgement){RD_CAPTURE_NO, false,
			"its netdev is in another network namespace", RD_RUN_IN_NETNS};
	if (j.verdict != RD_CAPTURE_NO && j.whole && !device->copied)
		judge_process(&j, port);
	return j;
}

enum rd_verdict rd_port_verdict(const struct rd_device *device, const struct rd_port *port,
	const char **why, const char **todo)
{
	struct rd_judgement j = rd_port_judge(device, port);

	*why = j.why;
	*todo = j.todo;
	return j.verdict;
}
