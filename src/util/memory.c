/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arrays that grow; memory policy by mbind(2), the system call, since its wrapper is in libnuma. */
#include <errno.h>
#include <limits.h>
#include <linux/mempolicy.h>
#include <rdmadump/log.h>
#include <rdmadump/memory.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NODES_MAX 1024 /* MAX_NUMNODES of the kernel is not larger */
#define WORD_BITS (sizeof(unsigned long) * CHAR_BIT)

void *rd_append(void *array, size_t n, size_t size)
{
	char *elements, *grown;

	memcpy(&elements, array, sizeof(elements));
	if ((n & (n - 1)) == 0) {
		grown = reallocarray(elements, n ? 2 * n : 1, size);
		if (!grown)
			return NULL;
		elements = grown;
		memcpy(array, &elements, sizeof(elements));
	}
	return memset(elements + n * size, 0, size);
}

void rd_memory_prefer_node(void *p, size_t len, int node)
{
	unsigned long nodes[NODES_MAX / WORD_BITS] = {0};

	if (node < 0 || node >= NODES_MAX)
		return;
	nodes[(size_t)node / WORD_BITS] = 1UL << (size_t)node % WORD_BITS;
	/* The kernel uses one bit less than the number that it gets. */
	if (syscall(SYS_mbind, p, len, MPOL_PREFERRED, nodes, NODES_MAX + 1UL, 0U) < 0)
		rd_log(RD_LOG_DEBUG, "memory on NUMA node %d: %s", node, strerror(errno));
}
