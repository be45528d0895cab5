/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A single-producer single-consumer ring of pointers that wakes a sleeping consumer. */
#include <errno.h>
#include <rdmadump/ring.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

int rd_ring_init(struct rd_ring *ring, size_t capacity, struct rd_error *err)
{
	size_t size = 1;

	while (size < capacity)
		size *= 2;
	*ring = (struct rd_ring){.mask = size - 1, .fd = -1};
	ring->slot = calloc(size, sizeof(*ring->slot));
	if (!ring->slot)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "ring of %zu entries", size);
	ring->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ring->fd < 0) {
		rd_fail(err, RD_CLASS_OUTPUT, errno, "raise the limit of open files (ulimit -n)",
			"eventfd");
		free(ring->slot);
		ring->slot = NULL;
		return -1;
	}
	return 0;
}

void rd_ring_fini(struct rd_ring *ring)
{
	if (!ring->slot)
		return;
	close(ring->fd);
	free(ring->slot);
	ring->slot = NULL;
}

void rd_ring_wake(struct rd_ring *ring)
{
	/* EAGAIN means that the counter is at its limit: the consumer is awake already. */
	eventfd_write(ring->fd, 1);
}

void rd_ring_notify(struct rd_ring *ring)
{
	if (atomic_load_explicit(&ring->sleeping, memory_order_seq_cst))
		rd_ring_wake(ring);
}

void rd_ring_put(struct rd_ring *ring, void *item)
{
	size_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	ring->slot[tail & ring->mask] = item;
	atomic_store_explicit(&ring->tail, tail + 1, memory_order_seq_cst);
	rd_ring_notify(ring);
}

void *rd_ring_take(struct rd_ring *ring)
{
	size_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	void *item;

	if (head == atomic_load_explicit(&ring->tail, memory_order_acquire))
		return NULL;
	item = ring->slot[head & ring->mask];
	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
	return item;
}

size_t rd_ring_used(const struct rd_ring *ring)
{
	return atomic_load_explicit(&ring->tail, memory_order_relaxed) -
	       atomic_load_explicit(&ring->head, memory_order_relaxed);
}

bool rd_ring_about_to_sleep(struct rd_ring *ring)
{
	atomic_store_explicit(&ring->sleeping, true, memory_order_seq_cst);
	if (atomic_load_explicit(&ring->head, memory_order_relaxed) ==
		atomic_load_explicit(&ring->tail, memory_order_seq_cst))
		return true;
	rd_ring_awake(ring);
	return false;
}

void rd_ring_awake(struct rd_ring *ring)
{
	uint64_t count;

	atomic_store_explicit(&ring->sleeping, false, memory_order_relaxed);
	eventfd_read(ring->fd, &count);
}
