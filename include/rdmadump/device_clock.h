/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clocks of a device, as captures read them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ibv_context; /* of libibverbs */

/* The counter of ibv_query_rt_values_ex(3), in ticks; false: it cannot be read. */
bool rd_clock_read_counter(struct ibv_context *ctx, uint64_t *ticks);
/* Whether completions can have the device's real time. */
bool rd_clock_has_real_time(struct ibv_context *ctx);
/* The real-time clock itself, in ns; false: it cannot be read. */
bool rd_clock_read_real_time(struct ibv_context *ctx, uint64_t *ns);

/*
 * A timestamp of mlx5's real-time format, seconds and nanoseconds in a word, in ns. A device or
 * library that gives plain ns is recognized by `now`: the two readings of a word lie decades apart,
 * and a clock that was never set counts seconds from 1970.
 */
uint64_t rd_clock_real_time_ns(uint64_t stamp, uint64_t now);

/*
 * What must be added to a clock that is `difference` ns behind the host's: nothing where they
 * agree, whole seconds where the clock is right but not UTC (TAI), else the difference; *set is
 * false then.
 */
int64_t rd_clock_epoch_offset(int64_t difference, bool *set);
