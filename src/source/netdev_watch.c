/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Watches a netdev by rtnetlink and the RDMA port by the monitor; joins both descriptors in one. */
#include "netdev.h"
#include <errno.h>
#include <net/if_arp.h>
#include <rdmadump/event.h>
#include <rdmadump/fd.h>
#include <rdmadump/notation.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define CLOCK_LEN 16 /* "12:00:01" */

struct netdev_watch {
	int epoll, link;
	struct rd_monitor *monitor; /* NULL: there is no RDMA port */
	unsigned int port, ifindex;
	struct rd_source *src; /* valid while messages are processed */
	char name[IF_NAMESIZE];
	unsigned int flags; /* IFF_..., as last reported */
	bool has_mac;
	uint8_t mac[6];
	unsigned int downs;	    /* number of times that it was down */
	char first_down[CLOCK_LEN]; /* time of day */
	struct netdev_watch_state state;
};

/* --- addresses --------------------------------------------------------------------------- */

/* A query of netdevice(7) by name, on any socket. */
static int ask(unsigned long request, const char *name, struct ifreq *ifr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return -1;
	*ifr = (struct ifreq){0};
	snprintf(ifr->ifr_name, sizeof(ifr->ifr_name), "%s", name);
	rc = ioctl(fd, request, ifr);
	close(fd);
	return rc;
}

unsigned int netdev_flags(const char *name)
{
	struct ifreq ifr;

	return ask(SIOCGIFFLAGS, name, &ifr) < 0 ? 0 : (unsigned short)ifr.ifr_flags;
}

static bool read_mac(unsigned int ifindex, uint8_t mac[6])
{
	char name[IF_NAMESIZE];
	struct ifreq ifr;

	if (!if_indextoname(ifindex, name) || ask(SIOCGIFHWADDR, name, &ifr) < 0 ||
		ifr.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return false;
	memcpy(mac, ifr.ifr_hwaddr.sa_data, 6);
	return true;
}

void netdev_addresses_add(unsigned int ifindex, const struct rd_port *port, struct rd_local *local)
{
	struct rd_local now = {0};
	uint8_t mac[6];

	if (read_mac(ifindex, mac))
		rd_local_add_mac(&now, mac);
	for (unsigned int i = 0; port && i < port->n_netdevs; i++)
		if (read_mac(port->netdevs[i].ifindex, mac))
			rd_local_add_mac(&now, mac);
	rd_local_now(local, &now);
}

/* --- the link's state -------------------------------------------------------------------- */

static const char *state_text(unsigned int flags)
{
	if (!(flags & IFF_UP))
		return "netdev down";
	return flags & IFF_RUNNING ? "netdev up" : "netdev up, without carrier";
}

static void time_of_day(char text[CLOCK_LEN])
{
	time_t now = time(NULL);
	struct tm tm;

	strftime(text, CLOCK_LEN, "%H:%M:%S", localtime_r(&now, &tm));
}

/*
 * A packet socket is detached from a netdev that is set down, and attached again some time after it
 * is up. Frames in between are missing, and no counter has them.
 */
static void note_missing(struct netdev_watch *w, bool is_up)
{
	char now[CLOCK_LEN], *text = w->state.missing;
	const size_t capacity = sizeof(w->state.missing);
	char times[24] = "";

	time_of_day(now);
	if (!is_up && !w->downs++)
		memcpy(w->first_down, now, sizeof(now));
	if (w->downs > 1)
		snprintf(times, sizeof(times), " %u times", w->downs);
	snprintf(text, capacity, "netdev down%s %s-%s, frames may be missing", times, w->first_down,
		is_up ? now : "now");
}

static void take_flags(struct netdev_watch *w, unsigned int flags)
{
	const unsigned int both = IFF_UP | IFF_RUNNING;

	if ((flags & both) != (w->flags & both))
		rd_source_note(w->src, RD_LOG_WARNING, "%s", state_text(flags));
	if ((flags ^ w->flags) & IFF_UP)
		note_missing(w, flags & IFF_UP);
	w->flags = flags;
}

static void take_identity(struct netdev_watch *w, const struct rd_link_change *change)
{
	char was[RD_MAC_LEN], is[RD_MAC_LEN];

	if (*change->name && strcmp(change->name, w->name)) {
		rd_source_note(w->src, RD_LOG_WARNING, "netdev renamed from %s to %s", w->name,
			change->name);
		memcpy(w->name, change->name, sizeof(w->name));
	}
	if (!change->has_mac || !memcmp(change->mac, w->mac, sizeof(w->mac)))
		return;
	if (w->has_mac)
		rd_source_note(w->src, RD_LOG_WARNING, "MAC address changed from %s to %s",
			rd_mac_text(was, w->mac), rd_mac_text(is, change->mac));
	memcpy(w->mac, change->mac, sizeof(w->mac));
	w->has_mac = true;
}

static void take_link(void *ctx, const struct rd_link_change *change)
{
	struct netdev_watch *w = ctx;

	/* Slaves of a bond have their own addresses. */
	w->state.addresses_changed = true;
	if (change->ifindex != w->ifindex || change->kind == RD_LINK_ADDRESS)
		return;
	if (change->kind == RD_LINK_REMOVED) {
		w->state.removed = true;
		return;
	}
	take_identity(w, change);
	take_flags(w, change->flags);
}

void netdev_watch_link(struct netdev_watch *w, struct rd_source *src)
{
	w->src = src;
	while (rd_links_read(w->link, take_link, w))
		;
}

/* Changes of the netdev are reported by netdev_watch_link(). */
void netdev_watch_port(struct netdev_watch *w, struct rd_source *src)
{
	struct rd_event event;

	while (w->monitor && rd_monitor_next(w->monitor, &event))
		if (strcmp(event.origin, "rtnetlink") != 0 &&
			(!event.port || event.port == w->port))
			rd_source_note(src, RD_LOG_WARNING, "%s: %s", event.device, event.text);
}

void netdev_watch_end(struct netdev_watch *w)
{
	if (w->downs == 1 && !(w->flags & IFF_UP))
		w->state.missing[0] = '\0';
}

struct netdev_watch_state *netdev_watch_state(struct netdev_watch *w)
{
	return &w->state;
}

/* --- life -------------------------------------------------------------------------------- */

static int add(const struct netdev_watch *w, int fd)
{
	struct epoll_event want = {.events = EPOLLIN};

	return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &want);
}

int netdev_watch_open(struct netdev_watch **out, unsigned int ifindex,
	const struct rd_device *device, const struct rd_port *port, int *fd, struct rd_error *err)
{
	const struct rd_monitor_config config = {.device = device ? device->name : NULL};
	struct netdev_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the source");
	w->ifindex = ifindex;
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	w->link = rd_links_open();
	*out = w;
	if (w->epoll < 0 || w->link < 0 || add(w, w->link) < 0)
		return rd_fail(err, RD_CLASS_DEVICE, errno,
			"raise the limit of open files (ulimit -n)",
			"cannot watch the netdev with index %u (rtnetlink)", ifindex);
	*fd = w->epoll;
	/* The state is read after the socket is open, so that no change is missed. */
	if (if_indextoname(ifindex, w->name))
		w->flags = netdev_flags(w->name);
	w->has_mac = read_mac(ifindex, w->mac);
	if (!device || !port || device->copied)
		return 0;
	w->port = port->num;
	if (rd_monitor_open(&w->monitor, &config, err) || add(w, rd_monitor_fd(w->monitor)) < 0)
		return -1;
	return 0;
}

void netdev_watch_close(struct netdev_watch *w)
{
	if (!w)
		return;
	rd_monitor_close(w->monitor);
	rd_fd_close(&w->link);
	rd_fd_close(&w->epoll);
	free(w);
}
