/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a port can be captured, condition by condition, after the device was queried: the
 * kernel's own conditions for a sniffer flow (drivers/infiniband/hw/mlx5/fs.c, hw/mlx4/main.c,
 * core/uverbs_cmd.c of Linux), in the order in which they would fail.
 */
#include "discovery.h"
#include <linux/capability.h>
#include <rdmadump/array.h>
#include <rdmadump/info.h>
#include <rdmadump/port_sniffer.h>
#include <rdmadump/privilege.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <string.h>

#define UPDATE_FIRMWARE "update the firmware; until then mirror the port on the switch"
#define NOT_GRANTED	"mirror the port on the switch"

struct subject {
	const struct rd_info *info;
	const struct rd_port *port;
	struct rd_judgement judged;
};

static bool is_mlx5(const struct subject *s)
{
	return !strcmp(s->info->device->driver, "mlx5_core");
}

static void say(
	struct rd_capture_condition *c, enum rd_answer answer, const char *why, const char *todo)
{
	c->answer = answer;
	snprintf(c->why, sizeof(c->why), "%s", why);
	snprintf(c->todo, sizeof(c->todo), "%s", answer == RD_ANSWER_YES ? "" : todo);
}

/* Driver and link layer together decide whether there is a sniffer at all. */
static bool check_driver(const struct subject *s, struct rd_capture_condition *c)
{
	struct rd_judgement j = rd_port_judge_kind(s->info->device, s->port);

	say(c, j.verdict == RD_CAPTURE_YES ? RD_ANSWER_YES : RD_ANSWER_NO, j.why, j.todo);
	return true;
}

static bool check_firmware(const struct subject *s, struct rd_capture_condition *c)
{
	const char *least = rd_firmware_minimum(s->info->device, s->port);
	const char *fw = s->info->device->fw;
	char why[160], todo[128];
	bool enough;

	if (!*least)
		return false;
	enough = *fw && rd_version_compare(fw, least) >= 0;
	snprintf(
		why, sizeof(why), "%s, at least %s is needed", *fw ? fw : "unknown version", least);
	snprintf(todo, sizeof(todo), "update the firmware to %s or newer", least);
	say(c, !*fw ? RD_ANSWER_UNKNOWN : enough ? RD_ANSWER_YES : RD_ANSWER_NO, why, todo);
	return true;
}

static bool check_steering(const struct subject *s, struct rd_capture_condition *c)
{
	if (strcmp(s->info->device->driver, "mlx4_core"))
		return false;
	say(c, s->info->device->no_steering ? RD_ANSWER_NO : RD_ANSWER_YES,
		s->info->device->no_steering ? "mlx4_core runs without flow steering"
					     : "mlx4_core steers flows",
		RD_MLX4_STEERING);
	return true;
}

static bool check_switchdev(const struct subject *s, struct rd_capture_condition *c)
{
	if (s->info->device->old_switchdev)
		say(c, RD_ANSWER_NO, RD_OLD_SWITCHDEV, RD_OLD_SWITCHDEV_TODO);
	else if (s->info->device->unsure_switchdev)
		say(c, RD_ANSWER_UNKNOWN, RD_UNSURE_SWITCHDEV, RD_UNSURE_SWITCHDEV_TODO);
	else
		return false;
	return true;
}

/* "VF" or "SF" if it is one, else NULL: the firmware decides which tables they get. */
static const char *guest_function(const struct rd_device *device)
{
	enum rd_function_kind kind = device->function.kind;

	return kind == RD_FUNCTION_VF || kind == RD_FUNCTION_SF ? rd_function_name(kind) : NULL;
}

/* A capability of the firmware, in rd_info.mlx5: by the link that it is for. */
static const struct capability {
	const char *key, *field;
	enum rd_link link;
	size_t answer;
} capabilities[] = {
#define CAPABILITY(key, member, field, link)                                                       \
	{                                                                                          \
		key, field, RD_LINK_##link, offsetof(struct rd_mlx5_caps, member)                  \
	}
	CAPABILITY("flow_tables", nic_flow_table, "nic_flow_table", ETHERNET),
	CAPABILITY("shared_tir", shared_tir, "allow_sniffer_and_nic_rx_shared_tir", ETHERNET),
	CAPABILITY("sniffer_rx", sniffer_rx, "flow_table_properties_nic_receive_sniffer.ft_support",
		ETHERNET),
	CAPABILITY("sniffer_tx", sniffer_tx,
		"flow_table_properties_nic_transmit_sniffer.ft_support", ETHERNET),
	CAPABILITY("ib_port_sniffer", ib_port_sniffer, "ib_port_sniffer", INFINIBAND),
#undef CAPABILITY
};

static bool check_capability_bit(const struct subject *s, struct rd_capture_condition *c)
{
	const struct rd_mlx5_caps *caps = &s->info->mlx5;
	const struct capability *of = capabilities;
	const char *guest = guest_function(s->info->device);
	enum rd_answer answer;
	char why[200];

	while (strcmp(of->key, c->key) != 0)
		of++;
	if (!is_mlx5(s) || s->port->link != of->link)
		return false;
	if (!caps->asked) {
		say(c, RD_ANSWER_UNKNOWN,
			*caps->reason ? caps->reason : "the device was not queried",
			"run this as root, on the machine itself");
		return true;
	}
	memcpy(&answer, (const char *)caps + of->answer, sizeof(answer));
	snprintf(why, sizeof(why), "%s is %d%s%s", of->field, answer == RD_ANSWER_YES,
		answer == RD_ANSWER_NO && guest ? ": the firmware does not grant it to this " : "",
		answer == RD_ANSWER_NO && guest ? guest : "");
	say(c, answer, why,
		guest || of->link == RD_LINK_INFINIBAND ? NOT_GRANTED : UPDATE_FIRMWARE);
	return true;
}

/* Where verbs have no sniffer, firmware may; only running it shows whether it works. */
static bool check_port_sniffer(const struct subject *s, struct rd_capture_condition *c)
{
	struct rd_sniffer_refusal refusal = {"no obstacle to --sniffer icmd was found", ""};
	bool possible;

	if (!is_mlx5(s) || s->port->link != RD_LINK_INFINIBAND)
		return false;
	possible = rd_port_sniffer_possible(s->info->device, &refusal);
	if (possible && s->info->device->copied)
		say(c, RD_ANSWER_UNKNOWN, "this can only be checked on the machine itself",
			RD_SNIFFER_AS_ROOT);
	else
		say(c, possible ? RD_ANSWER_YES : RD_ANSWER_NO, refusal.why, refusal.todo);
	return true;
}

/* Tools that capture on InfiniBand ports write PCI configuration space, which lockdown forbids. */
static bool check_lockdown(const struct subject *s, struct rd_capture_condition *c)
{
	const char *state = s->info->lockdown;
	bool locked = *state && strcmp(state, "none") != 0;
	char why[160];

	if (!is_mlx5(s) || s->port->link != RD_LINK_INFINIBAND)
		return false;
	snprintf(why, sizeof(why), "kernel lockdown is %s", *state ? state : "not known");
	say(c,
		!*state	 ? RD_ANSWER_UNKNOWN
		: locked ? RD_ANSWER_NO
			 : RD_ANSWER_YES,
		why,
		locked ? "PCI configuration space cannot be written: boot without Secure Boot, or "
			 "mirror the port on the switch"
		       : "");
	return true;
}

static bool check_opened(const struct subject *s, struct rd_capture_condition *c)
{
	if (s->info->device->copied)
		return false;
	say(c, s->info->opened ? RD_ANSWER_YES : RD_ANSWER_NO,
		s->info->opened ? "libibverbs opens the device" : s->info->closed_why, "");
	return true;
}

static bool check_capability(const struct subject *s, struct rd_capture_condition *c)
{
	bool may = rd_has_capability(CAP_NET_RAW);

	if (s->info->device->copied)
		return false;
	say(c, may ? RD_ANSWER_YES : RD_ANSWER_NO,
		may ? "this process has CAP_NET_RAW" : "CAP_NET_RAW is missing", RD_RUN_PRIVILEGED);
	return true;
}

static bool check_locked_memory(const struct subject *s, struct rd_capture_condition *c)
{
	uint64_t limit = rd_lockable(), needed = rd_ring_default_bytes(s->port);
	char why[160], most[RD_UNITS_LEN], ring[RD_UNITS_LEN];

	if (s->info->device->copied || s->judged.verdict != RD_CAPTURE_YES)
		return false;
	if (limit == UINT64_MAX) {
		say(c, RD_ANSWER_YES, "this process may lock any amount", "");
		return true;
	}
	snprintf(why, sizeof(why), "%s may be locked (ulimit -l), the receive ring takes %s",
		rd_fmt_kib(most, limit), rd_fmt_kib(ring, needed));
	say(c, limit < needed ? RD_ANSWER_NO : RD_ANSWER_YES, why, RD_NEEDS_LOCK);
	return true;
}

static bool check_netdev(const struct subject *s, struct rd_capture_condition *c)
{
	char why[160];

	if (s->judged.verdict == RD_CAPTURE_YES || !s->port->n_netdevs ||
		s->port->link != RD_LINK_ETHERNET)
		return false;
	snprintf(why, sizeof(why), "%s: %s", s->port->netdevs[0].name,
		s->judged.whole ? "all RDMA frames pass it"
				: "only what is not offloaded passes it");
	say(c, s->judged.whole ? RD_ANSWER_YES : RD_ANSWER_NO, why,
		"mirror the port on the switch");
	return true;
}

static const struct condition {
	const char *key, *title;
	bool decides; /* the device's sniffer cannot be used without it */
	bool (*check)(const struct subject *s,
		struct rd_capture_condition *c); /* false: does not apply */
} conditions[] = {
	{"sniffer", "driver with a sniffer", true, check_driver},
	{"firmware", "firmware", true, check_firmware},
	{"steering", "flow steering", true, check_steering},
	{"switchdev", "switchdev mode", true, check_switchdev},
	{"flow_tables", "NIC flow tables", true, check_capability_bit},
	{"shared_tir", "shared receive target", true, check_capability_bit},
	{"sniffer_rx", "sniffer table, receive", true, check_capability_bit},
	{"sniffer_tx", "sniffer table, transmit", true, check_capability_bit},
	{"ib_port_sniffer", "port sniffer of InfiniBand", false, check_capability_bit},
	{"icmd", "port sniffer by command", false, check_port_sniffer},
	{"lockdown", "kernel lockdown", false, check_lockdown},
	{"opened", "device opens", false, check_opened},
	{"cap_net_raw", "privilege", false, check_capability},
	{"locked_memory", "locked memory", false, check_locked_memory},
	{"netdev", "netdev", false, check_netdev},
};

unsigned int rd_info_conditions(const struct rd_info *info, const struct rd_port *port,
	struct rd_capture_condition checks[RD_CONDITIONS_MAX], enum rd_verdict *verdict)
{
	struct subject s = {info, port, rd_port_judge(info->device, port)};
	bool possible = true;
	unsigned int n = 0;

	for (size_t i = 0; i < RD_COUNT(conditions) && n < RD_CONDITIONS_MAX; i++) {
		struct rd_capture_condition *c = &checks[n];

		*c = (struct rd_capture_condition){
			.key = conditions[i].key, .title = conditions[i].title};
		if (!conditions[i].check(&s, c))
			continue;
		possible &= !conditions[i].decides || c->answer != RD_ANSWER_NO;
		n++;
	}
	*verdict = s.judged.verdict;
	if (*verdict == RD_CAPTURE_YES && !possible)
		*verdict = port->n_netdevs && port->link == RD_LINK_ETHERNET ? RD_CAPTURE_NETDEV
									     : RD_CAPTURE_NO;
	return n;
}
