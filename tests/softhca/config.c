/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the configuration that the launcher wrote: lines of a key, a blank and a value. */
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "softhca.h"

static struct model_conf conf;
static bool conf_valid;
static pthread_once_t conf_once = PTHREAD_ONCE_INIT;

struct name_value {
	const char *name;
	int value;
};

static const struct name_value errno_names[] = {
	{"EPERM", EPERM},
	{"ENOENT", ENOENT},
	{"EIO", EIO},
	{"EAGAIN", EAGAIN},
	{"ENOMEM", ENOMEM},
	{"EACCES", EACCES},
	{"EFAULT", EFAULT},
	{"EBUSY", EBUSY},
	{"ENODEV", ENODEV},
	{"EINVAL", EINVAL},
	{"EMFILE", EMFILE},
	{"ENOSPC", ENOSPC},
	{"ENOSYS", ENOSYS},
	{"EOPNOTSUPP", EOPNOTSUPP},
	{"ENOTSUP", ENOTSUP},
	{"EPROTO", EPROTO},
	{"ETIMEDOUT", ETIMEDOUT},
	{"EINTR", EINTR},
	{"ENOTTY", ENOTTY},
	{"ENXIO", ENXIO},
	{"EREMOTEIO", EREMOTEIO},
};

static const struct name_value event_names[] = {
	{"cq_err", IBV_EVENT_CQ_ERR},
	{"qp_fatal", IBV_EVENT_QP_FATAL},
	{"device_fatal", IBV_EVENT_DEVICE_FATAL},
	{"port_active", IBV_EVENT_PORT_ACTIVE},
	{"port_err", IBV_EVENT_PORT_ERR},
	{"lid_change", IBV_EVENT_LID_CHANGE},
	{"pkey_change", IBV_EVENT_PKEY_CHANGE},
	{"sm_change", IBV_EVENT_SM_CHANGE},
	{"client_reregister", IBV_EVENT_CLIENT_REREGISTER},
	{"gid_change", IBV_EVENT_GID_CHANGE},
};

/* Syndrome and a vendor syndrome such as firmware reports with it. */
static const struct {
	const char *name;
	uint8_t syndrome, vendor;
} cqe_names[] = {
	{"loc_len", MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR, 0x68},
	{"loc_prot", MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, 0x52},
	{"flush", MLX5_CQE_SYNDROME_WR_FLUSH_ERR, 0xf9},
};

static int name_find(const struct name_value *t, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(t[i].name, name))
			return t[i].value;
	return atoi(name);
}

static void fault_cqe_named(struct fault *f, const char *name)
{
	f->kind = FAULT_CQE;
	f->no_qp = !strcmp(name, "no_qp");
	for (size_t i = 0; i < ARRAY_SIZE(cqe_names); i++) {
		if (!strcmp(cqe_names[i].name, name)) {
			f->syndrome = cqe_names[i].syndrome;
			f->vendor = cqe_names[i].vendor;
		}
	}
}

static void mac_parse(const char *v, uint8_t mac[6])
{
	sscanf(v, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3], &mac[4],
		&mac[5]);
}

static void fault_parse(struct fault *f, char *spec)
{
	char *save = NULL;

	f->device = -1;
	for (char *t = strtok_r(spec, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
		char *v = strchr(t, '=');

		if (v)
			*v++ = 0;
		else
			v = t;
		if (!strcmp(t, "verb")) {
			f->kind = FAULT_VERB;
			snprintf(f->verb, sizeof(f->verb), "%s", v);
		} else if (!strcmp(t, "errno")) {
			f->error = name_find(errno_names, ARRAY_SIZE(errno_names), v);
		} else if (!strcmp(t, "nth")) {
			f->nth = strtoull(v, NULL, 0);
		} else if (!strcmp(t, "cqe")) {
			fault_cqe_named(f, v);
		} else if (!strcmp(t, "port")) {
			f->kind = FAULT_PORT;
			f->up = !strcmp(v, "up");
		} else if (!strcmp(t, "fatal")) {
			f->kind = FAULT_EVENT;
			f->event = IBV_EVENT_DEVICE_FATAL;
		} else if (!strcmp(t, "event")) {
			f->kind = FAULT_EVENT;
			f->event = (uint32_t)name_find(event_names, ARRAY_SIZE(event_names), v);
		} else if (!strcmp(t, "counter")) {
			f->kind = FAULT_COUNTER;
			f->value = strtoull(v, NULL, 0);
		} else if (!strcmp(t, "ethtool")) {
			f->kind = FAULT_ETHTOOL;
			if (sscanf(v, "%31[^:]:%" SCNu64, f->verb, &f->value) != 2)
				fprintf(stderr, "softhca: fault ethtool=%s: NAME:VALUE\n", v);
		} else if (!strcmp(t, "mac")) {
			f->kind = FAULT_MAC;
			mac_parse(v, f->address);
		} else if (!strcmp(t, "ip")) {
			f->kind = FAULT_IP;
			sscanf(v, "%hhu.%hhu.%hhu.%hhu", &f->address[0], &f->address[1],
				&f->address[2], &f->address[3]);
		} else if (!strcmp(t, "kmsg")) {
			f->kind = FAULT_KMSG;
			snprintf(f->text, sizeof(f->text), "%s", v);
		} else if (!strcmp(t, "frame")) {
			f->by_frame = true;
			f->frame = strtoull(v, NULL, 0);
		} else if (!strcmp(t, "after_ms")) {
			f->after_ns = strtoull(v, NULL, 0) * 1000000;
		} else if (!strcmp(t, "device")) {
			f->device = atoi(v);
		}
	}
}

static void copy_name(char *to, size_t n, const char *from)
{
	snprintf(to, n, "%.*s", (int)n - 1, from);
}

static void port_parse(struct hca_conf *d, const char *key, const char *v)
{
	uint32_t at = 0;
	char buf[128], *save = NULL;

	copy_name(buf, sizeof(buf), v);
	for (char *t = strtok_r(buf, "+", &save); t && at < MAX_PORTS;
		t = strtok_r(NULL, "+", &save), at++) {
		struct port_conf *p = &d->port[at];

		if (!strcmp(key, "link"))
			p->ib = !strcmp(t, "ib");
		else if (!strcmp(key, "state"))
			p->active = !strcmp(t, "active");
		else if (!strcmp(key, "netdev"))
			copy_name(p->netdev, sizeof(p->netdev), t);
		else if (!strcmp(key, "mac"))
			mac_parse(t, p->mac);
		else if (!strcmp(key, "ip"))
			sscanf(t, "%hhu.%hhu.%hhu.%hhu", &p->ip[0], &p->ip[1], &p->ip[2],
				&p->ip[3]);
		else if (!strcmp(key, "mtu"))
			p->mtu = (uint32_t)strtoul(t, NULL, 0);
		else if (!strcmp(key, "rate"))
			p->gbps = (uint32_t)strtoul(t, NULL, 0);
		else if (!strcmp(key, "lid"))
			p->lid = (uint32_t)strtoul(t, NULL, 0);
		else if (!strcmp(key, "sm_lid"))
			p->sm_lid = (uint32_t)strtoul(t, NULL, 0);
		else if (!strcmp(key, "ifindex"))
			p->ifindex = (uint32_t)strtoul(t, NULL, 0);
	}
}

static const struct name_value cap_names[] = {
	{"shared_tir", CAP_SHARED_TIR},
	{"sniffer_rx", CAP_SNIFFER_RX},
	{"sniffer_tx", CAP_SNIFFER_TX},
	{"no_flow_table", CAP_NO_FLOW_TABLE},
	{"no_rq_counter", CAP_NO_RQ_COUNTER},
	{"ib_port_sniffer", CAP_IB_PORT_SNIFFER},
};

/* "all", or names joined by '+'. */
static uint32_t caps_parse(const char *v)
{
	char buf[128], *save = NULL;
	uint32_t caps = 0;

	if (!strcmp(v, "all"))
		return CAP_SHARED_TIR | CAP_SNIFFER_RX | CAP_SNIFFER_TX | CAP_IB_PORT_SNIFFER;
	copy_name(buf, sizeof(buf), v);
	for (char *t = strtok_r(buf, "+", &save); t; t = strtok_r(NULL, "+", &save))
		caps |= (uint32_t)name_find(cap_names, ARRAY_SIZE(cap_names), t);
	return caps;
}

static void qp_counter_parse(struct hca_conf *d, const char *v)
{
	d->foreign_qps = !strcmp(v, "foreign");
	d->vport_names = !strcmp(v, "vport");
	if (!strcmp(v, "no"))
		d->qp_counter = QP_COUNTER_NO_NETLINK;
	else if (v[0] == 'E')
		d->qp_counter = name_find(errno_names, ARRAY_SIZE(errno_names), v);
	else
		d->qp_counter = QP_COUNTER_WORKS;
}

static void device_parse(struct hca_conf *d, char *spec)
{
	char *save = NULL;

	d->minor = conf.ndevices;
	d->wqes = 32768;
	d->sniffers = d->all_sniffers = UINT32_MAX;
	d->qp_counter = QP_COUNTER_NO_NETLINK;
	for (char *t = strtok_r(spec, ";", &save); t; t = strtok_r(NULL, ";", &save)) {
		char *v = strchr(t, '=');

		if (!v)
			continue;
		*v++ = 0;
		if (!strcmp(t, "name"))
			copy_name(d->name, sizeof(d->name), v);
		else if (!strcmp(t, "pci"))
			copy_name(d->pci, sizeof(d->pci), v);
		else if (!strcmp(t, "fw"))
			copy_name(d->fw, sizeof(d->fw), v);
		else if (!strcmp(t, "board"))
			copy_name(d->board, sizeof(d->board), v);
		else if (!strcmp(t, "devx"))
			d->devx = strcmp(v, "no") != 0;
		else if (!strcmp(t, "fw_refuse"))
			copy_name(d->fw_refuse, sizeof(d->fw_refuse), v);
		else if (!strcmp(t, "fw_answer")) {
			d->fw_short = !strcmp(v, "short");
			d->fw_pattern = d->fw_short || !strcmp(v, "pattern");
		} else if (!strcmp(t, "caps"))
			d->caps = caps_parse(v);
		else if (!strcmp(t, "gen"))
			copy_name(d->gen, sizeof(d->gen), v);
		else if (!strcmp(t, "ports"))
			d->nports = (uint32_t)strtoul(v, NULL, 0);
		else if (!strcmp(t, "devid"))
			d->device_id = (uint32_t)strtoul(v, NULL, 16);
		else if (!strcmp(t, "guid"))
			d->guid = strtoull(v, NULL, 16);
		else if (!strcmp(t, "qp_counter"))
			qp_counter_parse(d, v);
		else if (!strcmp(t, "more_qps"))
			d->more_qps = strtoull(v, NULL, 0);
		else if (!strcmp(t, "sniffer"))
			d->sniffer = strcmp(v, "no") != 0;
		else if (!strcmp(t, "moderation"))
			d->moderation = !strcmp(v, "no")	? MODERATION_NONE
					: !strcmp(v, "ignored") ? MODERATION_IGNORED
								: MODERATION_WORKS;
		else if (!strcmp(t, "rss"))
			d->no_rss = !strcmp(v, "no");
		else if (!strcmp(t, "striding"))
			striding_conf(d, v);
		else if (!strcmp(t, "rss_sniffer"))
			d->no_rss_sniffer = !strcmp(v, "no");
		else if (!strcmp(t, "ib_sniffer"))
			d->ib_sniffer = !strcmp(v, "1");
		else if (!quirks_key(d, t, v))
			port_parse(d, t, v);
	}
	if (d->nports < 1 || d->nports > MAX_PORTS)
		d->nports = 1;
}

static const struct name_value end_names[] = {
	{"idle", END_IDLE},
	{"fatal", END_FATAL},
	{"sigint", END_SIGINT},
	{"exit-consumer", END_EXIT},
};

static void conf_line(char *key, char *v)
{
	unsigned long long a = 0, b = 0;

	if (!strcmp(key, "tree"))
		copy_name(conf.tree, sizeof(conf.tree), v);
	else if (!strcmp(key, "devdir"))
		copy_name(conf.dev_dir, sizeof(conf.dev_dir), v);
	else if (!strcmp(key, "stats"))
		copy_name(conf.stats, sizeof(conf.stats), v);
	else if (!strcmp(key, "pcap"))
		copy_name(conf.pcap, sizeof(conf.pcap), v);
	else if (!strcmp(key, "gen"))
		copy_name(conf.gen, sizeof(conf.gen), v);
	else if (!strcmp(key, "mode"))
		conf.drop = !strcmp(v, "drop");
	else if (!strcmp(key, "pace"))
		conf.paced = !strcmp(v, "1");
	else if (!strcmp(key, "loop"))
		conf.loops = strtoull(v, NULL, 0);
	else if (!strcmp(key, "rate"))
		conf.rate = strtoull(v, NULL, 0);
	else if (!strcmp(key, "burst") && sscanf(v, "%llu,%llu", &a, &b) == 2)
		conf.burst = a, conf.burst_pause_ns = b * 1000;
	else if (!strcmp(key, "burst") && sscanf(v, "%llu", &a) == 1)
		conf.burst = a, conf.burst_armed = true;
	else if (!strcmp(key, "start_delay"))
		conf.start_delay_ns = strtoull(v, NULL, 0) * 1000000;
	else if (!strcmp(key, "lifespan") && sscanf(v, "%llu,%llu", &a, &b) >= 1)
		conf.lifespan_ns = a * 1000000, conf.slow_ns = b * 1000000;
	else if (!strcmp(key, "slow_while"))
		copy_name(conf.slow_while, sizeof(conf.slow_while), v);
	else if (!strcmp(key, "drain"))
		conf.drain_rounds = (uint32_t)strtoul(v, NULL, 0);
	else if (!strcmp(key, "at_end"))
		conf.at_end = (enum at_end)name_find(end_names, ARRAY_SIZE(end_names), v);
	else if (!strcmp(key, "flowing"))
		conf.flowing = true;
	else if (!strcmp(key, "latency"))
		latencies_parse(&conf, v);
	else if (!strcmp(key, "clock"))
		clock_conf_parse(v);
	else if (wire_conf_line(key, v) || cable_conf_line(key, v))
		return;
	else if (!strcmp(key, "fault") && conf.nfaults < MAX_FAULTS)
		fault_parse(&conf.fault[conf.nfaults++], v);
	else if (!strcmp(key, "device") && conf.ndevices < MAX_DEVICES) {
		device_parse(&conf.device[conf.ndevices], v);
		conf.ndevices++;
	}
}

/* Read with bare descriptors: this runs inside the program's own calls of open() and fopen(). */
static void conf_read(void)
{
	const char *path = getenv("SOFTHCA_CONFIG");
	char *buf = NULL, *save = NULL;
	size_t used = 0, capacity = 0;
	ssize_t n;
	int fd;

	if (!path)
		return;
	fd = real_open(path, 0, 0);
	if (fd < 0)
		return;
	conf.loops = 1;
	conf.start_delay_ns = START_DELAY_UNSET;
	do {
		if (used + 4096 > capacity) {
			char *p = realloc(buf, capacity + 16384);

			if (!p)
				break;
			buf = p;
			capacity += 16384;
		}
		n = read(fd, buf + used, capacity - used - 1);
		if (n > 0)
			used += (size_t)n;
	} while (n > 0);
	real_close(fd);
	if (!buf)
		return;
	buf[used] = 0;
	for (char *l = strtok_r(buf, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *v = strchr(l, ' ');

		if (!v)
			continue;
		*v++ = 0;
		conf_line(l, v);
	}
	free(buf);
	conf_valid = conf.tree[0] != 0;
}

const struct model_conf *conf_get(void)
{
	pthread_once(&conf_once, conf_read);
	return conf_valid ? &conf : NULL;
}
