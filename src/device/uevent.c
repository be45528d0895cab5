/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The kernel's messages on devices (lib/kobject_uevent.c of Linux) and links (rtnetlink(7)). */
#include "monitor.h"
#include "sysfs.h"
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

static const struct {
	const char *action, *kind, *text;
} actions[] = {
	{"add", "device_added", "device added"},
	{"remove", "device_removed", "device removed"},
	{"move", "device_renamed", "device renamed"},
};

/* The value of KEY in a list of NUL-ended "KEY=VALUE". */
static const char *find_value(const char *bytes, size_t len, const char *key)
{
	size_t n = strlen(key);

	while (len) {
		size_t used = strnlen(bytes, len);

		if (used == len)
			return NULL;
		if (used > n && !strncmp(bytes, key, n) && bytes[n] == '=')
			return bytes + n + 1;
		bytes += used + 1;
		len -= used + 1;
	}
	return NULL;
}

bool rd_uevent_parse(const char *bytes, size_t len, struct rd_event *event)
{
	const char *action = find_value(bytes, len, "ACTION");
	const char *subsystem = find_value(bytes, len, "SUBSYSTEM");
	const char *path = find_value(bytes, len, "DEVPATH");
	const char *name = path ? strrchr(path, '/') : NULL;

	*event = (struct rd_event){.origin = "uevent"};
	if (!action || !subsystem || strcmp(subsystem, "infiniband") || !name)
		return false;
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		if (!strcmp(action, actions[i].action)) {
			event->kind = actions[i].kind;
			event->text = actions[i].text;
		}
	rd_text_clean(event->device, sizeof(event->device), name + 1);
	return event->kind;
}

bool rd_link_parse(const struct nlmsghdr *msg, size_t len, struct rd_link_state *state)
{
	const struct ifinfomsg *info = (const struct ifinfomsg *)(msg + 1);
	const struct rtattr *a;
	unsigned int left;

	*state = (struct rd_link_state){0};
	if (len < NLMSG_SPACE(sizeof(*info)) || msg->nlmsg_len > len ||
		msg->nlmsg_len < NLMSG_SPACE(sizeof(*info)) ||
		(msg->nlmsg_type != RTM_NEWLINK && msg->nlmsg_type != RTM_DELLINK))
		return false;
	/* A bridge tells of its ports with messages of its own family. */
	if (info->ifi_family != AF_UNSPEC)
		return false;
	state->ifindex = (unsigned int)info->ifi_index;
	state->up = info->ifi_flags & IFF_RUNNING;
	state->removed = msg->nlmsg_type == RTM_DELLINK;
	a = (const struct rtattr *)((const char *)msg + NLMSG_SPACE(sizeof(*info)));
	left = msg->nlmsg_len - (unsigned int)NLMSG_SPACE(sizeof(*info));
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == IFLA_IFNAME) {
			char name[IF_NAMESIZE] = "";
			size_t n = RTA_PAYLOAD(a);

			memcpy(name, RTA_DATA(a), n < sizeof(name) ? n : sizeof(name) - 1);
			rd_text_clean(state->name, sizeof(state->name), name);
		}
	return true;
}
