/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Settings of a port's netdev that programs read and change by ioctl (netdevice(7)): they are the
 * files of the tree, for all processes of the run. If a link goes down, so does the port.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "softhca.h"

#define UP_NS 25000000000ULL /* of a link that is slow: as with 200 and 400 Gb/s */

static void file_path(char path[1024], const struct port_conf *p, const char *file)
{
	snprintf(path, 1024, "%s/class/net/%s/%s", conf_get()->tree, p->netdev, file);
}

static bool file_read(const struct port_conf *p, const char *file, char text[64])
{
	char path[1024];
	ssize_t n;
	int fd;

	file_path(path, p, file);
	fd = real_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	n = read(fd, text, 63);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static int file_write(const struct port_conf *p, const char *file, const char *text)
{
	char path[1024];
	int fd, rc;

	file_path(path, p, file);
	fd = real_open(path, O_WRONLY | O_TRUNC | O_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	rc = write(fd, text, strlen(text)) < 0 ? errno : 0;
	close(fd);
	return rc;
}

/* --- what a change does to the port ------------------------------------------------------- */

/* Queue pairs with flows end with their receives flushed, as after an error of the device. */
static void receives_fail(struct hca *h, const struct port *p)
{
	struct qp *qp;

	LIST_FOREACH(qp, &h->qps, link)
	if (qp->obj.type == OBJ_QP && qp->type == IBV_QPT_RAW_PACKET && qp->port == p->num &&
		qp->rq_count)
		qp_to_error(h, qp);
}

static void changed(const struct port_conf *conf, bool *up)
{
	struct hca *h;

	for (uint32_t i = 0; i < conf_get()->ndevices; i++) {
		const struct hca_conf *c = &conf_get()->device[i];

		h = conf >= c->port && conf < c->port + MAX_PORTS ? hca_get(i) : NULL;
		if (!h)
			continue;
		hca_lock(h);
		if (c->netdev_set == NETDEV_ERRORS)
			receives_fail(h, &h->port[conf - c->port]);
		if (up && *up && c->netdev_set == NETDEV_SLOW)
			h->port[conf - c->port].up_ns = now_ns() + UP_NS;
		else if (up && c->netdev_set != NETDEV_STAYS)
			port_set_state(h, &h->port[conf - c->port], *up);
		hca_unlock(h);
	}
}

static bool may_change(const struct port_conf *conf)
{
	for (uint32_t i = 0; i < conf_get()->ndevices; i++) {
		const struct hca_conf *c = &conf_get()->device[i];

		if (conf >= c->port && conf < c->port + MAX_PORTS)
			return c->netdev_set != NETDEV_FIXED;
	}
	return false;
}

/* --- requests ----------------------------------------------------------------------------- */

static int get(const struct port_conf *p, unsigned long request, struct ifreq *q)
{
	unsigned int m[6];
	char text[64];

	if (request == SIOCGIFINDEX) {
		q->ifr_ifindex = (int)p->ifindex;
		return 0;
	}
	if (!file_read(p,
		    request == SIOCGIFFLAGS ? "flags"
		    : request == SIOCGIFMTU ? "mtu"
					    : "address",
		    text))
		return ENODEV;
	if (request == SIOCGIFFLAGS)
		q->ifr_flags = (short)strtol(text, NULL, 0);
	else if (request == SIOCGIFMTU)
		q->ifr_mtu = atoi(text);
	else if (sscanf(text, "%x:%x:%x:%x:%x:%x", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5]) == 6)
		for (int i = 0; i < 6; i++)
			q->ifr_hwaddr.sa_data[i] = (char)m[i];
	if (request == SIOCGIFHWADDR)
		q->ifr_hwaddr.sa_family = ARPHRD_ETHER;
	return 0;
}

static int set(const struct port_conf *p, unsigned long request, const struct ifreq *q)
{
	const uint8_t *m = (const uint8_t *)q->ifr_hwaddr.sa_data;
	bool up = q->ifr_flags & IFF_UP;
	char text[64];
	int rc;

	if (request == SIOCSIFFLAGS)
		snprintf(text, sizeof(text), "0x%x\n", (unsigned int)(uint16_t)q->ifr_flags);
	else if (request == SIOCSIFMTU)
		snprintf(text, sizeof(text), "%d\n", q->ifr_mtu);
	else
		snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x\n", m[0], m[1], m[2],
			m[3], m[4], m[5]);
	rc = file_write(p,
		request == SIOCSIFFLAGS ? "flags"
		: request == SIOCSIFMTU ? "mtu"
					: "address",
		text);
	if (!rc)
		changed(p, request == SIOCSIFFLAGS ? &up : NULL);
	return rc;
}

bool netdev_ioctl(const struct port_conf *p, unsigned long request, void *arg, int *rc)
{
	bool gets = request == SIOCGIFINDEX || request == SIOCGIFFLAGS || request == SIOCGIFMTU ||
		    request == SIOCGIFHWADDR;
	bool sets = request == SIOCSIFFLAGS || request == SIOCSIFMTU || request == SIOCSIFHWADDR;

	if (!p || !may_change(p) || (!gets && !sets))
		return false;
	*rc = gets ? get(p, request, arg) : set(p, request, arg);
	return true;
}
