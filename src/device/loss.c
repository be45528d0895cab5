/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The counters of a port that count frames lost before they reached the sniffer's queue (kernel:
 * Documentation/ABI/stable/sysfs-class-infiniband, mlx5_ib and bnxt_re's tables of counters).
 */
#include "sysfs.h"
#include <limits.h>
#include <rdmadump/clock.h>
#include <rdmadump/counters.h>
#include <rdmadump/device.h>
#include <string.h>

#define HW "hw_counters/"

#define SHORTEST_PACKET 26     /* bytes: LRH, BTH, ICRC, VCRC */
#define SPEED_MAX	1.6e12 /* bit/s, if the port's speed is unknown */
#define SLACK		0.05   /* s, allowance for the duration of a reading */
#define WRAP_MAX	(UINT32_MAX / 16)

/* A counter file of a port ("hw_counters/out_of_buffer"); -1 if it is absent or holds no number. */
static int counter_read(const char *sysroot, const char *device, unsigned int port,
	const char *name, uint64_t *value)
{
	return rd_sysfs_u64(
		value, "%s/sys/class/infiniband/%s/ports/%u/%s", sysroot, device, port, name);
}

static void add(struct rd_loss_counter *list, unsigned int *n, unsigned int most,
	const struct rd_counter_kind *kind, uint64_t value)
{
	if (*n < most)
		list[(*n)++] = (struct rd_loss_counter){kind, kind->name + strlen(HW), value};
}

void rd_loss_read(const char *sysroot, const struct rd_device *device, unsigned int port,
	struct rd_loss_counters *counters)
{
	uint64_t lifespan;

	*counters = (struct rd_loss_counters){.time_ns = rd_monotonic_ns()};
	if (!counter_read(sysroot, device->name, port, HW "lifespan", &lifespan))
		counters->lifespan_ms = lifespan < UINT_MAX ? (unsigned int)lifespan : UINT_MAX;
	for (const struct rd_counter_kind *k = rd_counter_kinds; k->name; k++) {
		uint64_t value;

		if (!(k->flags & (RD_COUNTER_LOSS | RD_COUNTER_WITNESS)) ||
			strcmp(k->drivers, device->driver) ||
			counter_read(sysroot, device->name, port, k->name, &value))
			continue;
		if (k->flags & RD_COUNTER_WITNESS)
			add(counters->witness, &counters->n_witnesses, RD_LOSS_WITNESSES, k, value);
		else
			add(counters->counter, &counters->n, RD_LOSS_COUNTERS, k, value);
	}
}

static const uint64_t *value_of(
	const struct rd_loss_counters *counters, const struct rd_counter_kind *kind)
{
	const struct rd_loss_counter *found =
		RD_FIND(c, counters->counter, counters->n, c->kind == kind);

	return found ? &found->value : NULL;
}

/*
 * A counter of 32 bits may have wrapped, or been reset to 0. It wrapped where the port
 * could receive so many of the shortest packets meanwhile: two readings are tenths of a second
 * apart. If they are not (the program was stopped, the machine slept), a wrap is possible from
 * almost any value: only one from a value near the largest is taken for a wrap.
 */
bool rd_growth_is_wrap(
	const struct rd_growth *more, const struct rd_span *span, unsigned int late_ms)
{
	double most = (span->speed ? (double)span->speed : SPEED_MAX) / (8 * SHORTEST_PACKET);

	return more->amount <= WRAP_MAX &&
	       (double)more->amount <= most * (span->seconds + late_ms / 1e3 + SLACK);
}

static struct rd_growth grown(const struct rd_counter_kind *kind, const uint64_t *before,
	const uint64_t *after, const struct rd_span *span, unsigned int late_ms)
{
	struct rd_growth more = rd_counter_growth(kind, before, after, span);

	if (more.wrapped && !rd_growth_is_wrap(&more, span, late_ms))
		more = (struct rd_growth){.verdict = RD_GROWTH_RESET};
	return more;
}

/*
 * A counter that is reset and passes its old value before it is read again does not show it;
 * another one of its set may.
 */
static bool witness_fell(const struct rd_loss_counters *last, const struct rd_loss_counters *now,
	const struct rd_span *span)
{
	for (unsigned int i = 0; i < last->n_witnesses && i < now->n_witnesses; i++)
		if (last->witness[i].kind == now->witness[i].kind &&
			grown(now->witness[i].kind, &last->witness[i].value, &now->witness[i].value,
				span, now->lifespan_ms)
					.verdict == RD_GROWTH_RESET)
			return true;
	return false;
}

void rd_loss_update(struct rd_loss *loss, const struct rd_loss_counters *now, uint64_t speed)
{
	struct rd_loss_counters *last = &loss->last;
	const struct rd_span span = {(double)(now->time_ns - last->time_ns) / 1e9, speed};
	bool reset = witness_fell(last, now, &span);

	for (unsigned int i = 0; i < last->n; i++) {
		const struct rd_counter_kind *kind = last->counter[i].kind;
		const uint64_t *value = value_of(now, kind);
		struct rd_growth more =
			grown(kind, &last->counter[i].value, value, &span, now->lifespan_ms);

		rd_growth_add(&loss->growth[i], &more);
		if (reset)
			rd_growth_add(
				&loss->growth[i], &(struct rd_growth){.verdict = RD_GROWTH_RESET});
		if (more.verdict == RD_GROWTH_RESET && value)
			more.amount = *value;
		if (__builtin_add_overflow(loss->least[i], more.amount, &loss->least[i]))
			loss->least[i] = UINT64_MAX;
		if (value)
			last->counter[i].value = *value;
	}
	memcpy(last->witness, now->witness, sizeof(last->witness));
	last->n_witnesses = now->n_witnesses;
	last->time_ns = now->time_ns;
	last->lifespan_ms = now->lifespan_ms;
}
