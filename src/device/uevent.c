/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parses the kernel's messages on devices (lib/kobject_uevent.c of Linux). */
#include "uevent.h"
#include "sysfs.h"
#include <string.h>

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
