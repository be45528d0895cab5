/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads one attribute of an untrusted netlink message; refuses one that is too short. */
#ifndef RDMADUMP_DEVICE_NETLINK_ATTR_H
#define RDMADUMP_DEVICE_NETLINK_ATTR_H

#include <netlink/attr.h>
#include <rdmadump/printable.h>
#include <stdbool.h>
#include <string.h>

static inline bool attr_get(const struct nlattr *a, void *value, size_t size)
{
	if (!a || nla_len(a) < 0 || (size_t)nla_len(a) < size)
		return false;
	memcpy(value, nla_data(a), size);
	return true;
}

/* As printable ASCII; false, and "", if there is none. */
static inline bool attr_text(const struct nlattr *a, char *buf, size_t size)
{
	char raw[256];
	size_t n = a && nla_len(a) > 0 ? (size_t)nla_len(a) : 0;

	if (n > sizeof(raw) - 1)
		n = sizeof(raw) - 1;
	if (n)
		memcpy(raw, nla_data(a), n);
	raw[n] = '\0';
	rd_text_clean(buf, size, raw);
	return *buf != '\0';
}

#endif
