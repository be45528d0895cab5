/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Settings of a netdev, by netdevice(7). */
#include "interface.h"
#include <errno.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int request(const char *name, unsigned long number, struct ifreq *q)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return errno;
	strncpy(q->ifr_name, name, IFNAMSIZ - 1);
	rc = ioctl(fd, number, q) < 0 ? errno : 0;
	close(fd);
	return rc;
}

unsigned int interface_index(const char *name)
{
	struct ifreq q = {0};

	return request(name, SIOCGIFINDEX, &q) == 0 ? (unsigned int)q.ifr_ifindex : 0;
}

int interface_read(struct interface *i, const char *name)
{
	struct ifreq q = {0};
	int rc = request(name, SIOCGIFFLAGS, &q);

	*i = (struct interface){.up = q.ifr_flags & IFF_UP};
	strncpy(i->name, name, IFNAMSIZ - 1);
	if (!rc)
		rc = request(name, SIOCGIFMTU, &q);
	i->mtu = q.ifr_mtu;
	if (!rc)
		rc = request(name, SIOCGIFHWADDR, &q);
	if (!rc && q.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		rc = EAFNOSUPPORT;
	memcpy(i->mac, q.ifr_hwaddr.sa_data, sizeof(i->mac));
	return rc;
}

int interface_set_up(const char *name, bool up)
{
	struct ifreq q = {0};
	int rc = request(name, SIOCGIFFLAGS, &q);

	if (rc)
		return rc;
	q.ifr_flags = (short)(up ? q.ifr_flags | IFF_UP : q.ifr_flags & ~IFF_UP);
	return request(name, SIOCSIFFLAGS, &q);
}

int interface_set_mtu(const char *name, int mtu)
{
	struct ifreq q = {.ifr_mtu = mtu};

	return request(name, SIOCSIFMTU, &q);
}

int interface_set_mac(const char *name, const uint8_t mac[6])
{
	struct ifreq q = {.ifr_hwaddr = {.sa_family = ARPHRD_ETHER}};

	memcpy(q.ifr_hwaddr.sa_data, mac, 6);
	return request(name, SIOCSIFHWADDR, &q);
}

int interface_restore(const struct interface *before)
{
	struct interface now;
	int first = interface_read(&now, before->name), rc;

	if (first)
		return first;
	/* Each setting is tried even if another one failed. */
	rc = memcmp(now.mac, before->mac, sizeof(now.mac))
		     ? interface_set_mac(before->name, before->mac)
		     : 0;
	first = rc;
	rc = now.mtu != before->mtu ? interface_set_mtu(before->name, before->mtu) : 0;
	first = first ? first : rc;
	rc = now.up != before->up ? interface_set_up(before->name, before->up) : 0;
	return first ? first : rc;
}
