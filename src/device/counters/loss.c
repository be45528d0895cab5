/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The counters of a port that count frames lost before they reached the sniffer's queue (kernel:
 * Documentation/ABI/stable/sysfs-class-infiniband, mlx5_ib and bnxt_re's tables of counters).
 */
#include "../sysfs.h"
#include <rdmadump/clock.h>
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
	*counters = (struct rd_loss_counters){.time_ns = rd_monotonic_ns()};
	for (const struct rd_counter_kind *k = rd_counter_kinds; k->name; k++) {
		uint64_t value;

		if (!(k->flags & RD_KIND_LOSS) || strcmp(k->drivers, device->driver) ||
			counters->n == RD_LOSS_COUNTERS ||
			rd_counter_read(sysroot, device->name, port, k->name, &value))
			continue;
		counters->counter[counters->n].kind = k;
		counters->counter[counters->n].name = k->name + strlen(HW);
		counters->counter[counters->n].value = value;
		counters->n++;
	}
}

static const uint64_t *value_of(
	const struct rd_loss_counters *counters, const struct rd_counter_kind *kind)
{
	for (unsigned int i = 0; i < counters->n; i++)
		if (counters->counter[i].kind == kind)
			return &counters->counter[i].value;
	return NULL;
}

void rd_loss_update(struct rd_loss *loss, const struct rd_loss_counters *now, uint64_t speed)
{
	struct rd_loss_counters *last = &loss->last;
	const struct rd_span span = {(double)(now->time_ns - last->time_ns) / 1e9, speed};

	for (unsigned int i = 0; i < last->n; i++) {
		const struct rd_counter_kind *kind = last->counter[i].kind;
		const uint64_t *value = value_of(now, kind);
		struct rd_growth more =
			rd_counter_growth(kind, &last->counter[i].value, value, &span);

		rd_growth_add(&loss->growth[i], &more);
		if (value)
			last->counter[i].value = *value;
	}
	last->time_ns = now->time_ns;
}
