/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All counters of the port before and after an action: which of them changed, and by how much. */
#ifndef RDMADUMP_SELFTEST_MOVED_H
#define RDMADUMP_SELFTEST_MOVED_H

#include "selftest.h"
#include <rdmadump/counters.h>

struct moved {
	struct rd_counters before, now;
	unsigned int flags;	  /* only counters of these kinds are read; 0: all */
	struct rd_growth *growth; /* growth of now.counter[i]; NULL: there is no second reading */
};

/* The first reading; flags: RD_COUNTER_... -1: out of memory. moved_free() in any case. */
int moved_begin(struct moved *m, const struct rd_selftest *st, unsigned int flags);
/* Another reading, which replaces the previous one. -1: out of memory. */
int moved_read(struct moved *m, const struct rd_selftest *st);
/* Name and growth of those that grew, without gauges. A new object; NULL: out of memory. */
json_t *moved_json(const struct moved *m);
/*
 * "NAME 12, NAME 13": counters of loss, and unknown ones, that grew by `least` to `most`. Returns
 * their number, even if `size` is too small for all.
 */
unsigned int moved_by(
	const struct moved *m, uint64_t least, uint64_t most, char *text, size_t size);
void moved_free(struct moved *m);

/* The lifetime of the kernel's counter cache plus a margin, in ms; at most LIFESPAN_MOST_MS. */
unsigned int lifespan_wait_ms(unsigned int lifespan_ms);

#endif
