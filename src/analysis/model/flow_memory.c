/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of flows, mapped for many at once: while a report is made of them, it goes back to the
 * system, so that flows and the conversations made of them are not there at the same time.
 */
#include "flow.h"
#include <stdlib.h>
#include <sys/mman.h>

#define CHUNK 128

struct flow_chunk {
	unsigned int live;
	struct flow flows[CHUNK];
};

/* Room for one more pointer, at a new chunk's number. */
static bool chunks_grow(struct flow_table *t, size_t number)
{
	struct flow_chunk **chunks;

	if (number & (number - 1)) /* capacities are powers of two */
		return true;
	chunks = reallocarray(t->chunks, number ? number * 2 : 1, sizeof(struct flow_chunk *));
	if (chunks)
		t->chunks = chunks;
	return chunks != NULL;
}

struct flow *flow_allocate(struct flow_table *t)
{
	size_t number = t->n / CHUNK;
	struct flow_chunk *c;

	if (t->n % CHUNK == 0) {
		if (!chunks_grow(t, number))
			return NULL;
		c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
		if (c == MAP_FAILED)
			return NULL;
		t->chunks[number] = c;
	}
	c = t->chunks[number];
	c->live++;
	return &c->flows[t->n % CHUNK];
}

void flow_release(struct flow_table *t, size_t index)
{
	struct flow_chunk *c = t->chunks[index / CHUNK];

	if (!--c->live)
		munmap(c, sizeof(*c));
}
