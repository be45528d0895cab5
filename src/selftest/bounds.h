/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All limits of a self-test: time, memory, frames. */
#ifndef RDMADUMP_SELFTEST_BOUNDS_H
#define RDMADUMP_SELFTEST_BOUNDS_H

#define LIMIT_PROBE_S 20  /* a probe that sets no limit of its own */
#define LIMIT_RUN_S   600 /* all probes together */

/* One receive queue. Its memory stays below 8 MiB, the usual limit on locked memory. */
#define RING_BUFFERS 256
#define RING_BUFFER  10240 /* bytes per buffer: holds a jumbo frame */

/* Frames that one probe keeps for its capture file. */
#define KEPT_FRAMES 256
#define KEPT_BYTES  ((size_t)1 << 20)

/* Numbered frames that probes send. */
#define SEND_PER_S	 4000
#define NUMBERED_MAX	 ((uint32_t)1 << 17)
#define WAIT_NUMBERED_MS 500 /* wait for frames that were sent but not seen yet */

/* One RC stream, sent at the device's full speed. */
#define STREAM_MESSAGES 1024
#define STREAM_MS	60

/* Longest wait for the kernel's counter cache to expire. */
#define LIFESPAN_MOST_MS 2000

#define RAW_CQE_BYTES ((size_t)1 << 16) /* size of the stored part of a completion queue */

#define DOCUMENT_BYTES ((size_t)16 << 20) /* largest result.json that is read */

#endif
