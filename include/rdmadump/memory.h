/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arrays that grow; NUMA placement of the pages of a mapping. */
#pragma once

#include <stddef.h>

/*
 * Appends an element of zeros to an array of n elements of this size, all of which were appended
 * so; `array` points to the pointer to it, which is NULL at first. Returns the element, which the
 * caller counts; NULL if out of memory: the array is as it was. Its capacity is a power of two.
 */
void *rd_append(void *array, size_t n, size_t size);

/*
 * Pages of this mapping that are not yet allocated come from the NUMA node, or from others if it
 * has none left. p: from mmap(). node < 0: no preference. If that is refused (a container's seccomp
 * filter, a kernel without NUMA), the kernel's default policy stays; this is logged with --debug.
 */
void rd_memory_prefer_node(void *p, size_t len, int node);
