/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions that name the values of an enumeration. */
#ifndef RDMADUMP_NAMES_H
#define RDMADUMP_NAMES_H

/*
 * Defines `const char *function(unsigned int value)`. The names follow, in the order of the values
 * or as [VALUE] = "name"; `other` is that of all values without one.
 */
#define RD_NAMES(function, other, ...)                                                             \
	const char *function(unsigned int value)                                                   \
	{                                                                                          \
		static const char *const names[] = {__VA_ARGS__};                                  \
                                                                                                   \
		return value < sizeof(names) / sizeof(*names) && names[value] ? names[value]       \
									      : (other);           \
	}

#endif
