/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of flows, mapped for many at once: while a report is made of them, it goes back to the
 * system, so that flows and the conversations made of them are not there at the same time.
 */
#include "flow.h"
#include <rdmadump/memory.h>
#include <sys/mman.h>

#define CHUNK 128

struct flow_chunk {
	unsigned int live;
	struct flow flows[CHUNK];
};

struct flow *flow_allocate(struct flow_table *t)
{
	size_t number = t->n / CHUNK;
	struct flow_chunk *c;

	if (t->n % CHUNK == 0) {
		if (!rd_append(&t->chunks, number, sizeof(struct flow_chunk *)))
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
