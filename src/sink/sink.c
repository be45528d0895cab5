/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A sink from open to close: its feeds, its writer thread, its statistics. */
#include "writer.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES	     ((size_t)1 << 20)
#define WAIT_NS		     300000000
#define PATIENCE_NS	     1000000U
#define FASTEST_BYTES_PER_NS 50 /* 400 Gb/s */
#define CHUNKS_MIN	     3	/* one being filled, one being written, one in the ring */

static int make_feeds(struct rd_sink *s, const struct rd_sink_config *config, struct rd_error *err)
{
	size_t size = CHUNK_BYTES, bound = config->encoder->format->bound(config->max_frame);
	unsigned int n = config->feeds ? config->feeds : 1;
	size_t buffer = config->buffer / n, chunks;

	while (size > 65536 && buffer / size < 8)
		size /= 2;
	if (size < bound)
		size = (bound + 4095) & ~(size_t)4095;
	chunks = buffer / size > CHUNKS_MIN ? buffer / size : CHUNKS_MIN;
	s->capacity = size;
	s->feeds = aligned_alloc(_Alignof(struct rd_feed), n * sizeof(*s->feeds));
	s->pfds = calloc(n, sizeof(*s->pfds));
	if (!s->feeds || !s->pfds)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "memory for the writer");
	memset(s->feeds, 0, n * sizeof(*s->feeds));
	while (s->n_feeds < n) {
		struct rd_feed *f = &s->feeds[s->n_feeds++];

		if (feed_init(f, &s->state, chunks, size, config->numa_node, err) < 0)
			return -1;
		s->pfds[s->n_feeds - 1] = (struct pollfd){.fd = f->full.fd, .events = POLLIN};
	}
	/* At most the time in which line rate fills half of the buffer. */
	s->patience = config->buffer / FASTEST_BYTES_PER_NS / 2;
	s->patience = RD_MIN(s->patience, PATIENCE_NS);
	if (config->retention)
		return retained_init(s, err);
	return n > 1 ? merge_init(&s->merge, s->encoder, s->feeds, n, size, err) : 0;
}

static void sink_free(struct rd_sink *s)
{
	file_fini(&s->file);
	series_fini(&s->series);
	merge_fini(&s->merge);
	held_fini(&s->retained.held);
	for (unsigned int i = 0; i < s->n_feeds; i++)
		feed_fini(&s->feeds[i]);
	free(s->feeds);
	free(s->pfds);
	free(s);
}

int rd_sink_open(struct rd_sink **sink, const struct rd_sink_config *config,
	const struct rd_sink_ending *ending, struct rd_error *err)
{
	struct rd_sink *s = aligned_alloc(_Alignof(struct rd_sink), sizeof(*s));

	if (!s)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "memory for the writer");
	memset(s, 0, sizeof(*s));
	s->encoder = config->encoder;
	s->ending = ending;
	s->config = *config;
	s->file.out.fd = -1;
	if (make_feeds(s, config, err) < 0 || series_init(&s->series, &s->config, err) < 0 ||
		file_init(&s->file, config, s->capacity, err) < 0 ||
		(!config->retention && writer_open_file(s, 0, err) < 0)) {
		sink_free(s);
		return -1;
	}
	if (config->retention)
		retained_find(s);
	*sink = s;
	return 0;
}

void rd_sink_make_private(const struct rd_sink *s)
{
	output_make_private(&s->file.out);
}

int rd_sink_start(struct rd_sink *s, struct rd_error *err)
{
	int rc;

	if (!s->config.retention && writer_begin_file(s, err) < 0)
		return -1;
	sem_init(&s->ended, 0, 0);
	rc = pthread_create(&s->thread, NULL, s->config.retention ? retained_run : writer_run, s);
	if (rc)
		return rd_fail(err, RD_CLASS_OUTPUT, rc, NULL, "cannot start the writer thread");
	pthread_setname_np(s->thread, "writer");
	return 0;
}

void rd_sink_abandon(struct rd_sink *s)
{
	if (s->file.out.fd >= 0)
		output_abandon(&s->file.out);
	sink_free(s);
}

struct rd_feed *rd_sink_feed(struct rd_sink *s, unsigned int i)
{
	return &s->feeds[i];
}

void rd_sink_rotate(struct rd_sink *s, uint64_t ns)
{
	merge_rotate(&s->merge, ns);
}

void rd_sink_read_stats(const struct rd_sink *s, struct rd_sink_stats *stats)
{
	stats->written = atomic_load_explicit(&s->written, memory_order_relaxed);
	stats->unwritten = atomic_load_explicit(&s->unwritten, memory_order_relaxed);
	stats->expired = atomic_load_explicit(&s->expired, memory_order_relaxed);
	stats->beyond = atomic_load_explicit(&s->beyond, memory_order_relaxed);
	stats->file_bytes = atomic_load_explicit(&s->file_bytes, memory_order_relaxed);
	stats->files = atomic_load_explicit(&s->files, memory_order_relaxed);
	stats->late = atomic_load_explicit(&s->merge.late, memory_order_relaxed);
}

/* The semaphore gives a join with timeout, which ThreadSanitizer does not support directly. */
static void wait_for_writer(struct rd_sink *s)
{
	struct timespec until;

	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += WAIT_NS;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		if (sem_clockwait(&s->ended, CLOCK_MONOTONIC, &until) == 0)
			break;
		if (errno == ETIMEDOUT)
			s->ending->waiting(s->ending->ctx, false);
	}
	pthread_join(s->thread, NULL);
	sem_destroy(&s->ended);
}

int rd_sink_close(struct rd_sink *s, const struct rd_tally *final, struct rd_sink_stats *stats,
	bool *quiet, struct rd_error *err)
{
	bool failed;

	s->final = final;
	atomic_store_explicit(&s->closing, true, memory_order_release);
	rd_ring_wake(&s->feeds[0].full);
	wait_for_writer(s);
	series_wait(&s->series, s->ending);
	rd_sink_read_stats(s, stats);
	failed = sink_state_failed(&s->state) || s->retained.any_failed;
	if (failed) {
		*err = s->retained.any_failed ? s->retained.error : s->error;
		*quiet = s->quiet;
	}
	sink_free(s);
	return failed ? -1 : 0;
}
