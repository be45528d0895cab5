/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Applies faults by number or by time, and updates the device in the sysfs tree: port state and
 * counters. Several processes may count into one tree, so counters are added to under a file lock.
 */
#include <sys/file.h>

#include "softhca.h"

#define STRAY_BEHIND 32 /* frames */

static bool fault_is_for(const struct hca *h, const struct fault *f)
{
	return f->device < 0 || f->device == h->index;
}

int fault_verb(struct hca *h, const char *verb)
{
	const struct model_conf *c = conf_get();

	for (uint32_t i = 0; i < c->nfaults; i++) {
		const struct fault *f = &c->fault[i];

		if (f->kind != FAULT_VERB || !fault_is_for(h, f) || strcmp(f->verb, verb))
			continue;
		h->fault_calls[i]++;
		if (f->nth && f->nth != h->fault_calls[i])
			continue;
		h->stat.injected_verbs++;
		return f->error ? f->error : EIO;
	}
	return 0;
}

/* As by a reloaded driver, or a tool that resets counters: the old value is lost. */
static void counter_set(struct port *p, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);
	file_set(p->file[FILE_OUT_OF_BUFFER], text);
	/* The counters of a set are reset together. */
	file_set(p->file[FILE_WRITE_REQUESTS], "0\n");
	p->counted_oob = p->out_of_buffer;
}

/* As the kernel lays them out: link-local by the MAC address, IPv4 mapped. */
static void gids_set(struct port *p, enum port_file first, const uint8_t gid[16])
{
	char text[48];
	int at = 0;

	for (int i = 0; i < 16; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%02x",
			i && i % 2 == 0 ? ":" : "", gid[i]);
	snprintf(text + at, sizeof(text) - (size_t)at, "\n");
	file_set(p->file[first], text);
	file_set(p->file[first + 1], text);
}

static void mac_set(struct port *p, const uint8_t *m)
{
	const uint8_t gid[16] = {
		0xfe, 0x80, [8] = m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]};
	char text[32];

	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x\n", m[0], m[1], m[2], m[3],
		m[4], m[5]);
	file_set(p->file[FILE_MAC], text);
	gids_set(p, FILE_GID_MAC, gid);
}

static void ip_set(struct port *p, const uint8_t *ip)
{
	const uint8_t gid[16] = {[10] = 0xff, 0xff, ip[0], ip[1], ip[2], ip[3]};

	gids_set(p, FILE_GID_IP, gid);
}

static void address_set(struct hca *h, struct port *p, const struct fault *f)
{
	if (f->kind == FAULT_MAC)
		mac_set(p, f->address);
	else
		ip_set(p, f->address);
	async_port_event(h, IBV_EVENT_GID_CHANGE, p->num);
}

static void fault_happen(struct hca *h, struct port *p, uint32_t i, uint64_t now)
{
	const struct fault *f = &conf_get()->fault[i];
	struct cq *cq;
	struct qp *qp;

	h->fault_done[i] = true;
	h->fault_ns = now;
	h->stat.injected_events++;
	if (f->kind == FAULT_PORT) {
		port_set_state(h, p, f->up);
		return;
	}
	if (f->kind == FAULT_COUNTER) {
		counter_set(p, f->value);
		return;
	}
	if (f->kind == FAULT_ETHTOOL) {
		ethtool_set(p->conf->netdev, f->verb, f->value);
		return;
	}
	if (f->kind == FAULT_MAC || f->kind == FAULT_IP) {
		address_set(h, p, f);
		return;
	}
	if (f->kind == FAULT_KMSG) {
		kmsg_write(f->text);
		return;
	}
	switch (f->event) {
	case IBV_EVENT_DEVICE_FATAL:
		hca_fatal(h);
		break;
	case IBV_EVENT_CQ_ERR:
		LIST_FOREACH (cq, &h->cqs, link)
			cq_overrun(h, cq);
		break;
	case IBV_EVENT_QP_FATAL:
		LIST_FOREACH (qp, &h->qps, link) {
			if (qp_receiving(qp) && !qp->rss) {
				qp_to_error(h, qp);
				async_qp_event(qp, f->event);
			}
		}
		break;
	case EVENT_QP_LATE:
		LIST_FOREACH (qp, &h->qps, link)
			if (qp_receiving(qp) && !qp->rss)
				async_qp_event(qp, IBV_EVENT_QP_FATAL);
		break;
	default:
		async_port_event(h, f->event, p->num);
	}
}

/* Completions before a stray one become visible with it: a consumer polls them together. */
static void completions_hold(struct hca *h)
{
	struct cq *cq;

	LIST_FOREACH (cq, &h->cqs, link)
		cq_hold(cq);
}

const struct fault *fault_frame(struct hca *h, struct port *p, uint64_t frame)
{
	const struct model_conf *c = conf_get();

	for (uint32_t i = 0; i < c->nfaults; i++) {
		const struct fault *f = &c->fault[i];

		if (f->no_qp && frame + STRAY_BEHIND == f->frame && fault_is_for(h, f))
			completions_hold(h);
		if (!f->by_frame || f->frame != frame || h->fault_done[i] || !fault_is_for(h, f))
			continue;
		if (f->kind == FAULT_CQE) {
			h->fault_done[i] = true;
			h->fault_ns = now_ns();
			return f;
		}
		fault_happen(h, p, i, now_ns());
	}
	return NULL;
}

/* A delay counts from the fault before it in the list, or from opening the device. */
bool fault_timers(struct hca *h)
{
	const struct model_conf *c = conf_get();
	uint64_t now = 0;
	bool none = true;

	for (uint32_t i = 0; i < c->nfaults; i++) {
		const struct fault *f = &c->fault[i];

		if (f->kind == FAULT_VERB || !fault_is_for(h, f) || h->fault_done[i])
			continue;
		if (f->by_frame)
			return none;
		none = false;
		if (!now)
			now = now_ns();
		if (now - h->fault_ns < f->after_ns)
			return false;
		fault_happen(h, &h->port[0], i, now);
	}
	return none;
}

/* ---- the tree ---- */

static const struct {
	const char *name;
	bool netdev; /* below class/net, else below the port */
} port_files[PORT_FILES] = {
	[FILE_OUT_OF_BUFFER] = {"hw_counters/out_of_buffer", false},
	[FILE_WRITE_REQUESTS] = {"hw_counters/rx_write_requests", false},
	[FILE_RCV_PACKETS] = {"counters/port_rcv_packets", false},
	[FILE_RCV_DATA] = {"counters/port_rcv_data", false},
	[FILE_UNICAST_RCV] = {"counters/unicast_rcv_packets", false},
	[FILE_STATE] = {"state", false},
	[FILE_PHYS_STATE] = {"phys_state", false},
	[FILE_OPERSTATE] = {"operstate", true},
	[FILE_CARRIER] = {"carrier", true},
	[FILE_MAC] = {"address", true},
	[FILE_GID_MAC] = {"gids/0", false},
	[FILE_GID_MAC_V2] = {"gids/1", false},
	[FILE_GID_IP] = {"gids/2", false},
	[FILE_GID_IP_V2] = {"gids/3", false},
};

/* Opened with the device, because a consumer may give up its rights afterwards. */
void port_files_open(struct hca *h)
{
	char path[1024];

	for (uint32_t i = 0; i < h->conf->nports; i++) {
		struct port *p = &h->port[i];

		for (int f = 0; f < PORT_FILES; f++) {
			if (port_files[f].netdev)
				snprintf(path, sizeof(path), "%s/class/net/%s/%s", conf_get()->tree,
					p->conf->netdev, port_files[f].name);
			else
				snprintf(path, sizeof(path), "%s/class/infiniband/%s/ports/%u/%s",
					conf_get()->tree, h->conf->name, p->num,
					port_files[f].name);
			p->file[f] = real_open(path, O_RDWR | O_CLOEXEC, 0);
		}
	}
}

/* Nobody reads an empty file: a kernel has none. What is longer ends with empty lines first. */
void file_set(int fd, const char *text)
{
	char whole[64];
	const size_t len = strlen(text);
	struct stat st;

	if (fd < 0)
		return;
	memset(whole, '\n', sizeof(whole));
	memcpy(whole, text, len < sizeof(whole) ? len : sizeof(whole));
	if (fstat(fd, &st) || st.st_size > (off_t)sizeof(whole) || len > sizeof(whole) ||
		pwrite(fd, whole, st.st_size > (off_t)len ? (size_t)st.st_size : len, 0) < 0 ||
		ftruncate(fd, (off_t)len))
		perror("softhca: file of a port");
}

void port_set_state(struct hca *h, struct port *p, bool up)
{
	if (p->up == up)
		return;
	p->up = up;
	file_set(p->file[FILE_STATE], up ? "4: ACTIVE\n" : "1: DOWN\n");
	file_set(p->file[FILE_PHYS_STATE], up ? "5: LinkUp\n" : "3: Disabled\n");
	file_set(p->file[FILE_OPERSTATE], up ? "up\n" : "down\n");
	file_set(p->file[FILE_CARRIER], up ? "1\n" : "0\n");
	async_port_event(h, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, p->num);
}

static void counter_add(int fd, uint64_t n)
{
	char text[32] = "";

	if (fd < 0 || !n)
		return;
	flock(fd, LOCK_EX);
	if (pread(fd, text, sizeof(text) - 1, 0) >= 0) {
		int len = snprintf(text, sizeof(text), "%llu\n",
			strtoull(text, NULL, 10) + (unsigned long long)n);

		if (pwrite(fd, text, (size_t)len, 0) != len)
			perror("softhca: counter");
	}
	flock(fd, LOCK_UN);
}

/* A device may drop frames before they reach the queue: then another counter moves, or none. */
static void drops_count(struct port *p, uint64_t n)
{
	const char *name = p->hca->conf->drop_counter;

	if (!n || !strcmp(name, "none") || !strcmp(name, "absent"))
		return;
	if (!name[0] || !strcmp(name, "out_of_buffer"))
		counter_add(p->file[FILE_OUT_OF_BUFFER], n);
	else
		ethtool_add(p->conf->netdev, name, n);
}

bool counters_differ(const struct hca *h)
{
	for (uint32_t i = 0; i < h->conf->nports; i++)
		if (h->port[i].offered != h->port[i].counted_offered ||
			h->port[i].out_of_buffer != h->port[i].counted_oob)
			return true;
	return false;
}

void counters_flush(struct hca *h)
{
	for (uint32_t i = 0; i < h->conf->nports; i++) {
		struct port *p = &h->port[i];
		uint64_t frames = p->offered - p->counted_offered;
		uint64_t every = h->conf->drop_every ? h->conf->drop_every : 1;

		drops_count(p, p->out_of_buffer / every - p->counted_oob / every);
		p->counted_oob = p->out_of_buffer;
		if (!frames)
			continue;
		counter_add(p->file[FILE_RCV_PACKETS], frames);
		counter_add(p->file[FILE_UNICAST_RCV], frames);
		counter_add(p->file[FILE_RCV_DATA], p->offered_bytes / 4 - p->counted_bytes / 4);
		p->counted_offered = p->offered;
		p->counted_bytes = p->offered_bytes;
	}
}
