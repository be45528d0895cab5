/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receive ring: buffers in one memory region, and the work requests that post them. */
#include "verbs_port.h"
#include <errno.h>
#include <rdmadump/memory.h>
#include <rdmadump/units.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

/*
 * Small frames in large buffers touch one page each: with 4 KiB pages every frame would miss the
 * TLB. Transparent huge pages, where the kernel grants them.
 */
static int map_memory(struct verbs_ring *ring, size_t bytes, int numa_node, struct rd_error *err)
{
	size_t len = (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	char size[RD_UNITS_LEN];
	uint8_t *p, *aligned;

	p = mmap(NULL, len + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return rd_fail(err, RD_CLASS_DEVICE, errno, "use fewer buffers (-b)",
			"%s for receive buffers", rd_fmt_kib(size, len));
	aligned = (uint8_t *)(((uintptr_t)p + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
	if (aligned != p)
		munmap(p, (size_t)(aligned - p));
	if (aligned + len != p + len + HUGE_PAGE)
		munmap(aligned + len, (size_t)(p + HUGE_PAGE - aligned));
	rd_memory_prefer_node(aligned, len, numa_node);
	madvise(aligned, len, MADV_HUGEPAGE);
	*ring = (struct verbs_ring){.memory = aligned, .memory_len = len};
	return 0;
}

int verbs_ring_init(struct verbs_ring *ring, struct ibv_pd *pd, unsigned int n,
	uint32_t buffer_size, int numa_node, struct rd_error *err)
{
	size_t bytes = (size_t)n * buffer_size;
	char size[RD_UNITS_LEN];

	if (map_memory(ring, bytes, numa_node, err) < 0)
		return -1;
	ring->n = n;
	ring->buffer_size = buffer_size;
	ring->tail = &ring->first;
	ring->wr = calloc(n, sizeof(*ring->wr));
	ring->sge = calloc(n, sizeof(*ring->sge));
	if (!ring->wr || !ring->sge) {
		rd_fail(err, RD_CLASS_DEVICE, ENOMEM, "use fewer buffers (-b)", "%u receives", n);
		goto fail;
	}
	/* Registers only the buffers: registered memory counts as locked. */
	ring->mr = ibv_reg_mr(pd, ring->memory, bytes, IBV_ACCESS_LOCAL_WRITE);
	if (!ring->mr) {
		rd_fail(err, RD_CLASS_DEVICE, errno, verbs_advice(VERBS_MEMORY, errno),
			"reg_mr of %s", rd_fmt_kib(size, bytes));
		goto fail;
	}
	for (unsigned int i = 0; i < n; i++) {
		ring->sge[i] = (struct ibv_sge){.addr = (uintptr_t)verbs_ring_buffer(ring, i),
			.length = buffer_size,
			.lkey = ring->mr->lkey};
		ring->wr[i] =
			(struct ibv_recv_wr){.wr_id = i, .sg_list = &ring->sge[i], .num_sge = 1};
	}
	return 0;
fail:
	verbs_ring_fini(ring);
	return -1;
}

void verbs_ring_fini(struct verbs_ring *ring)
{
	if (ring->mr)
		ibv_dereg_mr(ring->mr);
	if (ring->memory)
		munmap(ring->memory, ring->memory_len);
	free(ring->wr);
	free(ring->sge);
	*ring = (struct verbs_ring){0};
}

void verbs_ring_exchange(struct verbs_ring *ring, struct verbs_ring *larger)
{
	if (!larger)
		return;
	verbs_ring_fini(ring);
	*ring = *larger;
	ring->tail = &ring->first;
	*larger = (struct verbs_ring){0};
}

int verbs_ring_fill(struct verbs_ring *ring, struct ibv_qp *qp, struct ibv_wq *wq)
{
	ring->tail = &ring->first;
	for (unsigned int i = 0; i < ring->n; i++)
		verbs_ring_take(ring, i);
	return verbs_ring_post(ring, qp, wq);
}
