/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Missing packets of a sequence: a few ranges; the oldest one is dropped first. */
#include "seq.h"
#include <rdmadump/array.h>
#include <stdlib.h>
#include <string.h>

#define HOLES_FIRST 4

void seq_restart(struct seq *s, uint32_t start)
{
	s->start = start;
	s->n_holes = 0;
}

void seq_free(struct seq *s)
{
	free(s->holes);
	*s = (struct seq){0};
}

static bool make_room(struct seq *s)
{
	unsigned int capacity = s->capacity ? s->capacity * 2U : HOLES_FIRST;
	struct hole *holes;

	if (s->capacity == HOLES)
		return false;
	holes = reallocarray(s->holes, capacity, sizeof(*holes));
	if (!holes)
		return false;
	s->holes = holes;
	s->capacity = (uint16_t)capacity;
	return true;
}

static void hole_remove(struct seq *s, unsigned int i)
{
	s->n_holes--;
	memmove(&s->holes[i], &s->holes[i + 1], (s->n_holes - i) * sizeof(s->holes[0]));
}

void seq_add_hole(struct seq *s, uint32_t psn, uint32_t n)
{
	if (!n)
		return;
	if (s->n_holes == s->capacity && !make_room(s)) {
		if (!s->n_holes)
			return;
		hole_remove(s, 0);
	}
	s->holes[s->n_holes++] = (struct hole){psn, n};
}

bool seq_is_hole(const struct seq *s, uint32_t psn)
{
	return RD_ANY(h, s->holes, s->n_holes, ((psn - h->psn) & 0xffffff) < h->n);
}

/* Removes [psn, psn + n) from hole i; true if nothing of the hole is left. */
static bool hole_cut(struct seq *s, unsigned int i, uint32_t psn, uint32_t n, uint32_t *taken)
{
	struct hole *h = &s->holes[i]; /* until seq_add_hole(), which moves them */
	int32_t front = psn_diff(psn, h->psn);
	int32_t back = psn_diff(psn_add(h->psn, h->n), psn_add(psn, n));

	if (front >= (int32_t)h->n || back >= (int32_t)h->n)
		return false;
	front = RD_MAX(front, 0);
	back = RD_MAX(back, 0);
	*taken += h->n - (uint32_t)front - (uint32_t)back;
	if (!front && !back) {
		hole_remove(s, i);
		return true;
	}
	h->n = (uint32_t)(front ? front : back);
	if (!front)
		h->psn = psn_add(psn, n);
	if (front && back) {
		seq_add_hole(s, psn_add(psn, n), (uint32_t)back);
	}
	return false;
}

uint32_t seq_fill(struct seq *s, uint32_t psn, uint32_t n)
{
	uint32_t taken = 0;

	for (unsigned int i = 0; i < s->n_holes;)
		if (!hole_cut(s, i, psn, n, &taken))
			i++;
	return taken;
}

uint32_t seq_close(struct seq *s, uint32_t psn)
{
	uint32_t n = 0;

	for (unsigned int i = 0; i < s->n_holes;) {
		struct hole *h = &s->holes[i];
		int32_t d = psn_diff(psn, h->psn);

		if (d <= 0) {
			i++;
		} else if ((uint32_t)d >= h->n) {
			n += h->n;
			hole_remove(s, i);
		} else {
			n += (uint32_t)d;
			h->psn = psn;
			h->n -= (uint32_t)d;
			i++;
		}
	}
	return n;
}
