/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A single-producer single-consumer ring of pointers that wakes a sleeping consumer. */
#ifndef RDMADUMP_RING_H
#define RDMADUMP_RING_H

#include <rdmadump/error.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct rd_ring {
	void **slot;
	size_t mask;
	int fd; /* eventfd, readable when the consumer that went to sleep has something to take */
	_Alignas(64) atomic_size_t head; /* next to take; written by the consumer */
	atomic_bool sleeping;
	_Alignas(64) atomic_size_t tail; /* next to fill; written by the producer */
};

/* Room for at least `capacity` pointers. The caller never puts more than that in. */
int rd_ring_init(struct rd_ring *ring, size_t capacity, struct rd_error *err);
void rd_ring_fini(struct rd_ring *ring);

/* Producer. Wakes the consumer if it sleeps. */
void rd_ring_put(struct rd_ring *ring, void *item);
/* Wakes the consumer without giving it anything. */
void rd_ring_wake(struct rd_ring *ring);

/* The same, but only if it sleeps. */
void rd_ring_notify(struct rd_ring *ring);

/* How many items are in it, as the consumer sees it. */
size_t rd_ring_used(const struct rd_ring *ring);

/* Consumer: the oldest item, NULL if there is none. */
void *rd_ring_take(struct rd_ring *ring);
/*
 * Consumer: says that it is about to sleep on ring->fd. False if there is something to take after
 * all. After waking, rd_ring_awake() must be called.
 */
bool rd_ring_about_to_sleep(struct rd_ring *ring);
void rd_ring_awake(struct rd_ring *ring);

#endif
