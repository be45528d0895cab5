/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which timer the waits of a requester show. IBTA volume 1, 9.9.2.1.1 has one timeout of 4.096 us *
 * 2^n, and so has rdma_rxe. As others measured, a ConnectX first repeats adaptively, some
 * milliseconds apart and then less often; after that it waits for twice that formula, in which it
 * takes n below 16 for 16.
 */
#include "round.h"

#define FLOOR_US     500000 /* less than the shortest timeout after adaptive retransmission */
#define ADAPTIVE_MIN 4	    /* resends that were measured, and how many times their wait grew */
#define ADAPTIVE_US  20000  /* more than the first of these waits */

uint32_t wait_us(uint64_t ns)
{
	return ns / 1000 < UINT32_MAX ? (uint32_t)(ns / 1000) : UINT32_MAX;
}

/* A host's timers are late by its clock's steps, a busy host's by more. */
static bool are_alike(uint32_t x, uint32_t y)
{
	const uint32_t most = x > y ? x : y, least = x > y ? y : x;

	return most - least <= most / 6;
}

/* Whether all from this one on are. */
static bool end_alike(const struct waits *w, unsigned int from)
{
	for (unsigned int i = from; i < w->n; i++)
		if (!are_alike(w->us[i], w->us[w->n - 1]))
			return false;
	return from < w->n;
}

/* How many, from the first on, get longer as those of adaptive retransmission do. */
static unsigned int growing(const struct waits *w)
{
	unsigned int n = 0;

	while (n < w->n && w->us[n] < FLOOR_US &&
		(!n || w->us[n] > w->us[n - 1] || are_alike(w->us[n], w->us[n - 1])))
		n++;
	return n >= ADAPTIVE_MIN && w->us[0] < ADAPTIVE_US &&
			       w->us[n - 1] / ADAPTIVE_MIN >= w->us[0]
		       ? n
		       : 0;
}

struct rd_timer waits_explain(const struct waits *w)
{
	/* A timer may run since an earlier request, so that the first wait is shorter. */
	const unsigned int from = end_alike(w, 0) ? 0 : 1;
	struct rd_timer t = {0};

	if (w->n >= from + 2 && end_alike(w, from)) {
		t.timeouts = (uint8_t)(w->n - from);
	} else {
		t.adaptive = (uint8_t)growing(w);
		if (t.adaptive && end_alike(w, t.adaptive) && w->us[t.adaptive] >= FLOOR_US)
			t.timeouts = (uint8_t)(w->n - t.adaptive);
		else if (t.adaptive < w->n)
			t.adaptive = 0;
	}
	for (unsigned int i = 0; i < t.adaptive; i++)
		t.adaptive_us += w->us[i];
	if (t.timeouts)
		t.timeout_us = w->us[w->n - 1];
	return t;
}
