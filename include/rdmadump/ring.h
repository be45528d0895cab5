/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A single-producer single-consumer ring of pointers that wakes a sleeping consumer. */
#pragma once

#include <rdmadump/error.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct rd_ring {
	void **slot;
	size_t mask;
	int fd; /* eventfd, readable when a consumer that called rd_ring_about_to_sleep() can take
		   an item */
	_Alignas(64) atomic_size_t head; /* next to take; written by the consumer */
	atomic_bool sleeping;
	_Alignas(64) atomic_size_t tail; /* next to fill; written by the producer */
};

/*
 * Room for at least `capacity` pointers; the producer never puts more. Returns 0, or -1 with
 * RD_CLASS_OUTPUT (out of memory or of descriptors).
 */
int rd_ring_init(struct rd_ring *ring, size_t capacity, struct rd_error *err);
/* Frees the ring, not the items in it. After both threads have stopped using it. */
void rd_ring_fini(struct rd_ring *ring);

/* Producer: adds an item. Wakes the consumer if it sleeps. */
void rd_ring_put(struct rd_ring *ring, void *item);
/* Any thread: wakes the consumer without adding an item. */
void rd_ring_wake(struct rd_ring *ring);

/* The same, but only if it sleeps. */
void rd_ring_notify(struct rd_ring *ring);

/* Consumer: the number of items in it. */
size_t rd_ring_used(const struct rd_ring *ring);

/* Consumer: the oldest item, NULL if there is none. */
void *rd_ring_take(struct rd_ring *ring);
/*
 * Consumer: announces that it is about to sleep on ring->fd. False if an item can be taken now.
 * Call rd_ring_awake() after true, when it wakes up.
 */
bool rd_ring_about_to_sleep(struct rd_ring *ring);
void rd_ring_awake(struct rd_ring *ring);
