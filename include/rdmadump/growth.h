/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * By how much a counter grew between two readings, and whether that is known. Only this part
 * handles wraps, resets and counters that stop at their largest value.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rd_device;
struct rd_counter_kind; /* counters.h */

/* The row for a counter's full name; NULL if it is not known. driver "" matches any. */
const struct rd_counter_kind *rd_counter_kind(const char *driver, const char *name);

enum rd_growth_verdict {
	RD_GROWTH_EXACT,
	RD_GROWTH_AT_LEAST, /* the counter stopped at its largest value */
	RD_GROWTH_MISSING,  /* absent before or after: unknown */
	RD_GROWTH_RESET,    /* it decreased, and not by wrapping: unknown */
};

struct rd_growth {
	uint64_t amount; /* 0 where it is unknown */
	enum rd_growth_verdict verdict;
	bool wrapped; /* passed its largest value once */
};

/* The interval between two readings. */
struct rd_span {
	double seconds; /* 0: unknown */
	uint64_t speed; /* bit/s of the port, 0: unknown */
};

/*
 * kind NULL: not known, its width is derived from its values. A value NULL: the counter was absent.
 * A decrease is a wrap if the counter is known to wrap, less than half of its range has passed, and
 * the port can be that fast; else a reset. Growth by a whole range or more cannot be detected.
 */
struct rd_growth rd_counter_growth(const struct rd_counter_kind *kind, const uint64_t *before,
	const uint64_t *after, const struct rd_span *span);
/*
 * Whether growth that seems to have wrapped did so between two readings that are tenths of a second
 * apart; else it was a reset. late_ms: by which the first reading may have been older.
 */
bool rd_growth_is_wrap(
	const struct rd_growth *growth, const struct rd_span *span, unsigned int late_ms);
/* Growth of one interval after the other; what was unknown once stays unknown. */
void rd_growth_add(struct rd_growth *sum, const struct rd_growth *more);
/* Why growth is not exact, as a predicate of the counter ("was reset"); NULL if it is. Static. */
const char *rd_growth_reason(const struct rd_growth *growth);
/*
 * Whether the growth of counter `name` shows that counter `other` was reset, too: counters of a
 * folder are. kind NULL: not known, it may go up and down.
 */
bool rd_counter_shows_reset(const struct rd_counter_kind *kind, const char *name,
	const struct rd_growth *growth, const char *other);
/* Whether a counter that stops at its largest value has reached it. */
bool rd_counter_is_full(const struct rd_counter_kind *kind, uint64_t value);

static inline bool rd_growth_known(const struct rd_growth *growth)
{
	return growth->verdict == RD_GROWTH_EXACT || growth->verdict == RD_GROWTH_AT_LEAST;
}

/* --- frames that a sniffer's queue may have missed -------------------------------------------- */

/*
 * The counters of a port that count frames which the device received and could not deliver to the
 * sniffer's receive queue, known per driver.
 */
#define RD_LOSS_COUNTERS  4
#define RD_LOSS_WITNESSES 4
struct rd_loss_counters {
	uint64_t time_ns;	  /* monotonic clock */
	unsigned int lifespan_ms; /* lifetime of the kernel's cache, ms */
	/* witness: counters that are reset together with the others: one that fell shows it. */
	unsigned int n, n_witnesses;
	struct rd_loss_counter {
		const struct rd_counter_kind *kind;
		const char *name; /* "out_of_buffer" */
		uint64_t value;
	} counter[RD_LOSS_COUNTERS], witness[RD_LOSS_WITNESSES];
};
/*
 * Reads them now, which may take hundreds of milliseconds: not for a thread that receives frames. n
 * = 0 if the driver is not known to have any, or none is readable.
 */
void rd_loss_read(const char *sysroot, const struct rd_device *device, unsigned int port,
	struct rd_loss_counters *counters);

/* Growth since a first reading, updated at each reading. */
struct rd_loss {
	struct rd_loss_counters last;
	struct rd_growth growth[RD_LOSS_COUNTERS]; /* growth of last.counter[i] */
	/* A lower bound, exact where growth is; a counter that fell starts at 0 again. */
	uint64_t least[RD_LOSS_COUNTERS];
};
/* Adds what was counted since the last reading. speed: of the port in bit/s, 0: unknown. */
void rd_loss_update(struct rd_loss *loss, const struct rd_loss_counters *now, uint64_t speed);
