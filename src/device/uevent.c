/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parses the kernel's uevents of devices (lib/kobject_uevent.c of Linux). */
#include "monitored.h"
#include <string.h>

static const struct {
	const char *action;
	enum device_change_kind kind;
} actions[] = {
	{"add", DEVICE_ADDED},
	{"remove", DEVICE_REMOVED},
	{"move", DEVICE_RENAMED},
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

/* The last component of a path; "" without one. */
static void base_name(char *buf, size_t size, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	rd_text_clean(buf, size, slash ? slash + 1 : "");
}

bool rd_uevent_parse(const char *bytes, size_t len, struct device_change *change)
{
	const char *action = find_value(bytes, len, "ACTION");
	const char *subsystem = find_value(bytes, len, "SUBSYSTEM");

	*change = (struct device_change){0};
	base_name(change->name, sizeof(change->name), find_value(bytes, len, "DEVPATH"));
	base_name(
		change->previous, sizeof(change->previous), find_value(bytes, len, "DEVPATH_OLD"));
	if (!action || !subsystem || strcmp(subsystem, "infiniband") || !*change->name)
		return false;
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(action, actions[i].action)) {
			change->kind = actions[i].kind;
			return true;
		}
	return false;
}
