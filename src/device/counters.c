/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counters of a port, and which of them tell of frames lost before the sniffer's queue (kernel:
 * Documentation/ABI/stable/sysfs-class-infiniband, mlx5_ib and bnxt_re's tables of counters).
 */
#include "sysfs.h"
#include <rdmadump/counters.h>
#include <rdmadump/device.h>
#include <string.h>

#define HW "hw_counters/"

int rd_counter_read(const char *sysroot, const char *device, unsigned int port, const char *name,
	uint64_t *value)
{
	return rd_sysfs_u64(
		value, "%s/sys/class/infiniband/%s/ports/%u/%s", sysroot, device, port, name);
}

void rd_loss_read(const char *sysroot, const struct rd_device *device, unsigned int port,
	struct rd_loss_counters *counters)
{
	*counters = (struct rd_loss_counters){0};
	for (const struct rd_counter_kind *k = rd_counter_kinds; k->name; k++) {
		uint64_t value;

		if (!(k->flags & RD_KIND_LOSS) || strcmp(k->drivers, device->driver) ||
			counters->n == RD_LOSS_COUNTERS ||
			rd_counter_read(sysroot, device->name, port, k->name, &value))
			continue;
		counters->counter[counters->n].name = k->name + strlen(HW);
		counters->counter[counters->n].bits = k->bits;
		counters->counter[counters->n].value = value;
		counters->n++;
	}
}

/* A counter that fell without room for a wrap was reset: it grew at least to where it is. */
static uint64_t growth(uint64_t before, uint64_t after, unsigned int bits)
{
	if (after >= before)
		return after - before;
	if (bits >= 64 || before >> bits)
		return after;
	return after + (UINT64_C(1) << bits) - before;
}

uint64_t rd_loss_delta(
	const struct rd_loss_counters *before, const struct rd_loss_counters *after, unsigned int i)
{
	if (i >= after->n)
		return 0;
	for (unsigned int k = 0; k < before->n; k++)
		if (!strcmp(before->counter[k].name, after->counter[i].name))
			return growth(before->counter[k].value, after->counter[i].value,
				after->counter[i].bits);
	return 0;
}
