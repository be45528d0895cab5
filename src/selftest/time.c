/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When a probe must end, and waiting within that. */
#include "cli/cli.h"
#include "selftest.h"
#include <rdmadump/clock.h>

#define STEP_MS 10 /* between two looks at the time */

bool probe_over(const struct rd_selftest *st)
{
	return rd_cli_ended || rd_monotonic_ns() >= st->deadline_ns;
}

void probe_sleep_ms(const struct rd_selftest *st, unsigned int ms)
{
	uint64_t end = rd_monotonic_ns() + ms * 1000000ULL;

	while (!probe_over(st) && rd_monotonic_ns() < end) {
		struct timespec step = {.tv_nsec = (ms < STEP_MS ? ms : STEP_MS) * 1000000L};

		nanosleep(&step, NULL);
	}
}
