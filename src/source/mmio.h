/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory shared with a device by DMA, and its registers (MMIO). The names are those of rdma-core's
 * <util/udma_barrier.h> and <util/mmio.h>, which are not installed. C11 fences are not sufficient:
 * they order memory between CPUs, and on some machines device registers need other instructions.
 */
#pragma once

#include <linux/types.h>

/*
 * MMIO_DIRECT is 1 if one 64-bit store of the CPU reaches a device register whole and in order.
 * Otherwise the caller leaves doorbells to libibverbs:
 * - s390x accesses PCI registers by special instructions, or by system calls on older machines;
 * - 32-bit machines need two stores under libmlx5's lock;
 * - for unknown machines nothing is guaranteed.
 */
#if defined(__x86_64__)
/* Stores to memory are ordered, and so are loads; only write-combined stores need a fence. */
#define MMIO_DIRECT	 1
#define MMIO_TO_DEVICE	 ""
#define MMIO_FROM_DEVICE ""
#define MMIO_FLUSH	 "sfence"
#elif defined(__aarch64__)
/* dsb waits until the register was written; dmb ish would order normal memory only. */
#define MMIO_DIRECT	 1
#define MMIO_TO_DEVICE	 "dmb oshst"
#define MMIO_FROM_DEVICE "dmb oshld"
#define MMIO_FLUSH	 "dsb st"
#elif defined(__arm__) && __ARM_ARCH >= 7
#define MMIO_DIRECT	 0
#define MMIO_TO_DEVICE	 "dmb st"
#define MMIO_FROM_DEVICE "dmb"
#define MMIO_FLUSH	 "dsb st"
#elif defined(__powerpc64__)
#define MMIO_DIRECT	 1
#define MMIO_TO_DEVICE	 "sync"
#define MMIO_FROM_DEVICE "lwsync"
#define MMIO_FLUSH	 "sync"
#elif defined(__riscv) && __riscv_xlen == 64
/* i and o are accesses to device registers, r and w those to memory. */
#define MMIO_DIRECT	 1
#define MMIO_TO_DEVICE	 "fence ow,ow"
#define MMIO_FROM_DEVICE "fence ir,ir"
#define MMIO_FLUSH	 "fence ow,ow"
#else
#define MMIO_DIRECT 0
#endif

#ifdef MMIO_FLUSH
#define MMIO_BARRIER(instruction) asm volatile(instruction ::: "memory")
#else
#define MMIO_BARRIER(instruction) __sync_synchronize()
#endif

/* The device sees earlier writes to memory before later ones. */
static inline void udma_to_device_barrier(void)
{
	MMIO_BARRIER(MMIO_TO_DEVICE);
}

/* Reads after this see what the device wrote before the word that was just read. */
static inline void udma_from_device_barrier(void)
{
	MMIO_BARRIER(MMIO_FROM_DEVICE);
}

/* After a doorbell: it leaves the CPU now, before any later doorbell. */
static inline void mmio_flush_writes(void)
{
	MMIO_BARRIER(MMIO_FLUSH);
}

/* Before a doorbell: its data is in memory. Includes udma_to_device_barrier(). */
static inline void mmio_wc_start(void)
{
	mmio_flush_writes();
}

/*
 * Writes a device register by one store; other threads may also write to it. `value` is big-endian.
 * Only if MMIO_DIRECT is 1.
 */
static inline void mmio_write64_be(volatile __be64 *reg, __be64 value)
{
	__atomic_store_n(reg, value, __ATOMIC_RELAXED);
}
