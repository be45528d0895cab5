/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Replaces addresses in texts by a hash with a key of this run: equal addresses stay equal. */
#ifndef RDMADUMP_SELFTEST_ADDRESSES_H
#define RDMADUMP_SELFTEST_ADDRESSES_H

#include <jansson.h>
#include <stddef.h>

/* A name that is replaced wherever it occurs, beside what has the form of an address. */
#define SECRETS_MAX 8
struct addresses {
	const char *secret[SECRETS_MAX];
	unsigned int n;
};

/* "x-" and 12 hexadecimal digits. */
void address_hash(char *buf, size_t room, const char *text, size_t n);
/*
 * A copy with every MAC, IPv4 and IPv6 address, GID, GUID and secret replaced, to be freed by the
 * caller; NULL: out of memory.
 */
char *addresses_replace(const struct addresses *a, const char *text);
/* The same for all strings within a value, in place. -1: out of memory. */
int addresses_replace_json(const struct addresses *a, json_t *value);

#endif
