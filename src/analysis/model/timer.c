/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which timer the waits of a requester show. IBTA volume 1, 9.9.2.1.1 has one timeout of 4.096 us *
 * 2^n, and so has rdma_rxe. As others measured, a ConnectX first repeats adaptively, some
 * milliseconds apart and then less often; after that it waits for twice that formula, in which it
 * takes n below 16 for 16.
 */
#include "timer.h"

#define FLOOR_US     500000 /* less than the shortest timeout after adaptive retransmission */
#define ADAPTIVE_MIN 3	    /* waits, as fewer may be anything */

void waits_add(struct waits *w, uint64_t ns)
{
	if (w->n < WAITS)
		w->us[w->n++] = ns / 1000 < UINT32_MAX ? (uint32_t)(ns / 1000) : UINT32_MAX;
}

/* A host's timers are late by its clock's steps, a busy host's by more. */
static bool are_alike(uint32_t x, uint32_t y)
{
	const uint32_t most = x > y ? x : y, least = x > y ? y : x;

	return most - least <= most / 6;
}

/* How many of the waits, from the first on, get longer as those of adaptive retransmission. */
static uint8_t growing(const struct waits *w)
{
	uint8_t n = 0;

	while (n < w->n && w->us[n] < FLOOR_US &&
		(!n || w->us[n] > w->us[n - 1] || are_alike(w->us[n], w->us[n - 1])))
		n++;
	return n >= ADAPTIVE_MIN && w->us[n - 1] / 2 >= w->us[0] ? n : 0;
}

struct rd_timer waits_explain(const struct waits *w)
{
	struct rd_timer t = {.adaptive = growing(w)};

	for (unsigned int i = 0; i < t.adaptive; i++)
		t.adaptive_ns += w->us[i] * UINT64_C(1000);
	if (t.adaptive == w->n)
		return t;
	t.timeouts = w->n - t.adaptive;
	t.timeout_ns = w->us[w->n - 1] * UINT64_C(1000);
	for (unsigned int i = t.adaptive; i < w->n; i++)
		if (!are_alike(w->us[i], w->us[w->n - 1]))
			return (struct rd_timer){0};
	if (t.timeouts == 1 && !t.adaptive)
		return (struct rd_timer){0};
	return t.adaptive && w->us[w->n - 1] < FLOOR_US ? (struct rd_timer){0} : t;
}
