/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All limits of a selftest: time, memory, frames. */
#ifndef RDMADUMP_SELFTEST_BOUNDS_H
#define RDMADUMP_SELFTEST_BOUNDS_H

#define LIMIT_PROBE_S 20  /* of a probe that names no other limit */
#define LIMIT_RUN_S   600 /* of all probes together */

/* Of one receive queue: its memory stays below the usual 8 MiB that a process may lock. */
#define RING_BUFFERS 256
#define RING_BUFFER  10240 /* bytes of a buffer: a jumbo frame */

/* Of the frames that one probe keeps for its capture file. */
#define KEPT_FRAMES 256
#define KEPT_BYTES  ((size_t)1 << 20)

/* Of the numbered frames that probes send. */
#define SEND_PER_S	 4000
#define NUMBERED_MOST	 ((uint32_t)1 << 17)
#define WAIT_NUMBERED_MS 500 /* for frames that were sent and not seen yet */

/* Of one RC stream, which goes at the device's speed. */
#define STREAM_MESSAGES 1024
#define STREAM_MS	60

/* Of the wait until the kernel's cache of counters is renewed. */
#define LIFESPAN_MOST_MS 2000

/* Of a run with a second machine. */
#define PEER_PORT	24095 /* of the datagrams that are sent */
#define PEER_LISTEN_S	300   /* for a peer that connects */
#define PEER_RESOLVE_MS 5000  /* for the addresses of a name */
#define PEER_CONNECT_MS 3000
#define PEER_HELLO_MS	2000 /* for a connection to prove that it is a peer */
#define PEER_MESSAGE_MS 10000
#define PEER_SEND_MS	5000 /* for the frames of one round: shorter than the peer's patience */
#define PEER_LIMIT_S	(PEER_LISTEN_S + 60)

#define RAW_CQE_BYTES ((size_t)1 << 16) /* of a completion queue's memory */

#define DOCUMENT_BYTES ((size_t)16 << 20) /* of a result.json that is read */

#endif
