/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* PSNs, and sequences of them with holes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The distance from PSN b to PSN a, modulo 2^24: -2^23 to 2^23 - 1. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & 0xffffff;
}

#define HOLES 256 /* maximum per sequence; packet spraying causes many small ones */

struct hole {
	uint32_t psn, n;
};

/* All PSNs from `start` on, except the holes; the oldest hole is the first. */
struct seq {
	uint32_t start;
	uint16_t n_holes, capacity;
	struct hole *holes; /* NULL until the first one */
};

/* Starts again at this PSN, without holes. */
void seq_restart(struct seq *s, uint32_t start);
void seq_free(struct seq *s);
/* [psn, psn + n) is missing. If there is no room or no memory, the oldest hole is dropped. */
void seq_add_hole(struct seq *s, uint32_t psn, uint32_t n);
/* Removes [psn, psn + n) from the holes; returns how many of these PSNs were missing. */
uint32_t seq_fill(struct seq *s, uint32_t psn, uint32_t n);
/* Removes the holes before psn; returns how many PSNs they had. */
uint32_t seq_close(struct seq *s, uint32_t psn);
/* Whether psn is missing. */
bool seq_is_hole(const struct seq *s, uint32_t psn);
