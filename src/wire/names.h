/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables of the names that a specification gives to numbers. */
#ifndef RDMADUMP_WIRE_NAMES_H
#define RDMADUMP_WIRE_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct name {
	uint16_t key;
	const char *name;
};

/* The first name of this key among `n` names, NULL if there is none. */
static inline const char *find_name(const struct name *names, size_t n, unsigned int key)
{
	for (size_t i = 0; i < n; i++)
		if (names[i].key == key)
			return names[i].name;
	return NULL;
}

#endif
