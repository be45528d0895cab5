/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The chunks of one thread, which go to the writer and come back empty. */
#pragma once

#include <rdmadump/ring.h>
#include <rdmadump/sink.h>

/* Whether writing has ended. Set by the writer, read by all threads that fill chunks. */
struct sink_state {
	atomic_bool failed;   /* an error: nothing more is written */
	atomic_bool complete; /* the last file is full */
};

struct rd_feed {
	const struct sink_state *state;
	struct rd_ring full, free; /* thread -> writer -> thread */
	struct rd_chunk *chunks, **idle;
	size_t n_chunks, n_idle;
	uint8_t *memory;
	size_t memory_len;
	_Alignas(64) _Atomic uint64_t watermark; /* no chunk with an older record will be put */
	_Alignas(64) _Atomic uint64_t
		requested; /* the watermark that the writer waits for; 0: none */
};

/*
 * n chunks of `size` bytes. `state` must outlive the feed. Returns 0, or -1 with RD_CLASS_OUTPUT.
 * Call feed_fini() in both cases.
 */
int feed_init(struct rd_feed *f, const struct sink_state *state, size_t n, size_t size,
	int numa_node, struct rd_error *err);
void feed_fini(struct rd_feed *f);

/*
 * The timestamp that orders a record after one ordered by `before`: its own, unless that is older,
 * or is implausible (RD_FRAME_BAD_TIME).
 */
static inline uint64_t chunk_order_ns(const struct rd_chunk *c, uint64_t ns, uint64_t before)
{
	return ns < before || (c->marked && ns > c->last_ns) ? before : ns;
}

/* Records of a chunk that follow each other. */
struct run {
	size_t len;
	unsigned int frames;
	uint64_t last, next; /* order of its last record, and of the one after it */
};
/*
 * The records from `at` on, the first of which is ordered by `ns`, that are not newer than `stop`;
 * at most `most` bytes.
 */
struct run chunk_run(const struct rd_encoder *e, const struct rd_chunk *c, size_t at, uint64_t ns,
	uint64_t stop, uint64_t most);

bool sink_state_failed(const struct sink_state *s);
bool sink_state_ended(const struct sink_state *s);

/* Called by the writer: the thread shall pass on its chunk, or set a watermark of at least ns. */
void feed_request(struct rd_feed *f, uint64_t ns);
