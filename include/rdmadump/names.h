/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions that name the values of an enumeration; tables of the names of numbers. */
#pragma once

#include <rdmadump/array.h>
#include <stddef.h>
#include <stdint.h>

/* A list ends with one without a name. */
struct rd_name {
	uint32_t number;
	const char *name;
};

/* The first name of this number; NULL: there is none. */
static inline const char *rd_name_of(const struct rd_name *names, uint32_t number)
{
	for (; names->name; names++)
		if (names->number == number)
			return names->name;
	return NULL;
}

/*
 * Defines `const char *function(unsigned int value)`. The names follow, in the order of the values
 * or as [VALUE] = "name"; `other` is that of all values without one.
 */
#define RD_NAMES(function, other, ...)                                                             \
	const char *function(unsigned int value)                                                   \
	{                                                                                          \
		static const char *const names[] = {__VA_ARGS__};                                  \
                                                                                                   \
		return value < RD_COUNT(names) && names[value] ? names[value] : (other);           \
	}
