/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The chunks of one thread, which go to the writer and come back empty. */
#include "feed.h"
#include <errno.h>
#include <rdmadump/memory.h>
#include <stdlib.h>
#include <sys/mman.h>

int feed_init(struct rd_feed *f, const struct sink_state *state, size_t n, size_t size,
	int numa_node, struct rd_error *err)
{
	f->state = state;
	f->n_chunks = n;
	f->memory_len = n * size;
	f->memory = mmap(NULL, f->memory_len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (f->memory == MAP_FAILED) {
		f->memory = NULL;
		return rd_fail(err, RD_CLASS_OUTPUT, errno, "use a smaller --buffer-size",
			"%zu bytes of memory for the writer", f->memory_len);
	}
	rd_memory_prefer_node(f->memory, f->memory_len, numa_node);
	madvise(f->memory, f->memory_len, MADV_HUGEPAGE);
	f->chunks = calloc(n, sizeof(*f->chunks));
	f->idle = calloc(n, sizeof(struct rd_chunk *));
	if (!f->chunks || !f->idle)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "memory for the writer");
	for (size_t i = 0; i < n; i++) {
		f->chunks[i] = (struct rd_chunk){.data = f->memory + i * size, .capacity = size};
		f->idle[f->n_idle++] = &f->chunks[n - 1 - i];
	}
	return rd_ring_init(&f->full, n, err) < 0 || rd_ring_init(&f->free, n, err) < 0 ? -1 : 0;
}

void feed_fini(struct rd_feed *f)
{
	rd_ring_fini(&f->full);
	rd_ring_fini(&f->free);
	if (f->memory)
		munmap(f->memory, f->memory_len);
	free(f->chunks);
	free(f->idle);
}

struct run chunk_run(const struct rd_encoder *e, const struct rd_chunk *c, size_t at, uint64_t ns,
	uint64_t stop, uint64_t most)
{
	const uint8_t *p = c->data + at;
	size_t left = c->used - at;
	struct run r = {.next = ns};

	while (left && r.next <= stop) {
		size_t len = e->format->record_len(p, left);

		/* That can only be a bug: all that is left, rather than waiting forever. */
		if (!len)
			len = left;
		if (r.len + len > most)
			break;
		r.last = r.next;
		r.len += len;
		r.frames++;
		p += len;
		left -= len;
		r.next = left ? chunk_order_ns(c, e->format->record_ns(p), r.last) : 0;
	}
	return r;
}

static void take_back(struct rd_feed *f)
{
	struct rd_chunk *c;

	while ((c = rd_ring_take(&f->free)))
		f->idle[f->n_idle++] = c;
}

/* The chunk returned last is used first: its memory is still in the cache. */
struct rd_chunk *rd_feed_get(struct rd_feed *f)
{
	struct rd_chunk *c;

	take_back(f);
	if (!f->n_idle)
		return NULL;
	c = f->idle[--f->n_idle];
	c->used = 0;
	c->frames = 0;
	c->rotate = false;
	c->marked = false;
	return c;
}

void rd_feed_put(struct rd_feed *f, struct rd_chunk *c)
{
	if (!c->frames) {
		f->idle[f->n_idle++] = c;
		return;
	}
	atomic_store_explicit(&f->requested, 0, memory_order_relaxed);
	rd_ring_put(&f->full, c);
}

int rd_feed_fd(const struct rd_feed *f)
{
	return f->free.fd;
}

bool rd_feed_arm_for_chunk(struct rd_feed *f)
{
	if (f->n_idle)
		return false;
	return rd_ring_about_to_sleep(&f->free);
}

bool rd_feed_idle(struct rd_feed *f)
{
	take_back(f);
	/* The caller holds one chunk. */
	return f->n_idle + 1 >= f->n_chunks;
}

bool rd_feed_arm(struct rd_feed *f)
{
	take_back(f);
	return rd_ring_about_to_sleep(&f->free);
}

void rd_feed_disarm(struct rd_feed *f)
{
	rd_ring_awake(&f->free);
}

uint64_t rd_feed_requested(const struct rd_feed *f)
{
	return atomic_load_explicit(&f->requested, memory_order_relaxed);
}

void rd_feed_watermark(struct rd_feed *f, uint64_t ns)
{
	uint64_t requested = atomic_load_explicit(&f->requested, memory_order_relaxed);

	if (requested && ns < requested)
		return;
	/* A newer request stays in place. */
	atomic_compare_exchange_strong(&f->requested, &requested, 0);
	atomic_store_explicit(&f->watermark, ns, memory_order_seq_cst);
	rd_ring_notify(&f->full);
}

/* A thread checks for requests between rd_feed_arm() and sleep, so that it misses none. */
void feed_request(struct rd_feed *f, uint64_t ns)
{
	atomic_store_explicit(&f->requested, ns, memory_order_seq_cst);
	rd_ring_notify(&f->free);
}

bool sink_state_failed(const struct sink_state *s)
{
	return atomic_load_explicit(&s->failed, memory_order_acquire);
}

bool sink_state_ended(const struct sink_state *s)
{
	return sink_state_failed(s) || atomic_load_explicit(&s->complete, memory_order_acquire);
}

bool rd_feed_ended(const struct rd_feed *f)
{
	return sink_state_ended(f->state);
}

bool rd_feed_failed(const struct rd_feed *f)
{
	return sink_state_failed(f->state);
}
