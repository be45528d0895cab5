/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A device's NUMA node and CPUs: numa_node, local_cpulist ("0-7,64-71") of its PCI function. */
#include "sysfs.h"
#include <limits.h>
#include <rdmadump/device.h>
#include <sched.h>
#include <stdlib.h>

static unsigned int add_range(unsigned long first, unsigned long last, const cpu_set_t *allowed,
	int *cpus, unsigned int n, unsigned int size)
{
	for (unsigned long i = first; i <= last && i < CPU_SETSIZE && n < size; i++)
		if (CPU_ISSET(i, allowed))
			cpus[n++] = (int)i;
	return n;
}

unsigned int rd_device_cpus(
	const char *sysroot, const struct rd_device *device, int *cpus, unsigned int size)
{
	char list[RD_SYSFS_MAX], *p = list;
	unsigned int n = 0;
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0 ||
		rd_sysfs_text(list, sizeof(list), "%s/sys/class/infiniband/%s/device/local_cpulist",
			sysroot, device->name) < 0)
		return 0;
	while (*p >= '0' && *p <= '9') {
		unsigned long first = strtoul(p, &p, 10), last = first;

		if (*p == '-')
			last = strtoul(p + 1, &p, 10);
		n = add_range(first, last, &allowed, cpus, n, size);
		if (*p == ',')
			p++;
	}
	return n;
}

int rd_device_numa_node(const char *sysroot, const struct rd_device *device)
{
	uint64_t node;

	return rd_sysfs_u64(&node, "%s/sys/class/infiniband/%s/device/numa_node", sysroot,
		       device->name) ||
			       node > INT_MAX
		       ? -1
		       : (int)node;
}
