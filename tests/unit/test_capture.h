/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A source that the tests control, for the tests of the engine and its lanes. */
#pragma once

#include "test_feed.h"
#include <pthread.h>
#include <rdmadump/capture.h>
#include <sys/eventfd.h>

#define SOURCES	 4
#define FIRST_NS 1000000

/*
 * Frames have the timestamps first_ns, first_ns + step_ns, ...; the odd ones are of another host.
 */
struct fake {
	struct rd_source src;
	uint64_t total;	 /* frames available without arm() */
	uint64_t behind; /* and those that arrive only after stop() */
	unsigned int batch;
	uint64_t first_ns, step_ns;
	bool ends;	      /* has an end; else it falls idle */
	bool refuses;	      /* start() fails */
	uint64_t fault_after; /* receive() fails after this number; 0: never */
	int armed_fd;	      /* woken by arm(); -1: none */
	int done_fd;	      /* woken after `total` frames; -1: none */
	bool telling;	      /* has a watermark */
	bool unusual;	      /* timestamps: some are implausible, missing or too old */
	struct rd_iface own[2];

	uint64_t given;
	unsigned int held; /* of the last batch, not released yet */
	unsigned int starts, stops, faults, arms, polls;
	atomic_bool stopped;
	uint8_t data[RD_BATCH][FRAME_BYTES];
};

static inline int fake_start(struct rd_source *src, struct rd_error *err)
{
	struct fake *f = (struct fake *)src;

	f->starts++;
	if (f->refuses)
		return rd_fail(err, RD_CLASS_DEVICE, 0, "try another", "the fake refuses");
	return 0;
}

static inline uint64_t fake_total(const struct fake *f)
{
	return f->total + (f->stopped ? f->behind : 0);
}

static inline void fake_frame(struct fake *f, struct rd_frame *frame, unsigned int i)
{
	static const uint8_t header[14] = {
		0x52, 0x54, 0, 0, 0, 1, 0x52, 0x54, 0, 0, 0, 2, 0x88, 0xb5};

	memcpy(f->data[i], header, sizeof(header));
	f->data[i][11] = (uint8_t)(2 + f->given % 2);
	*frame = (struct rd_frame){.data = f->data[i],
		.caplen = FRAME_BYTES,
		.len = 2 * FRAME_BYTES,
		.ts_ns = f->first_ns + f->given * f->step_ns,
		.iface = (uint16_t)(f->src.n_ifaces > 1 ? f->given % f->src.n_ifaces : 0)};
	if (f->unusual) {
		frame->flags = f->given % 3   ? 0
			       : f->given % 5 ? RD_FRAME_BAD_TIME
					      : RD_FRAME_NO_TIME;
		frame->ts_ns -= f->given % 7 ? 0 : 3 * f->step_ns;
	}
	f->given++;
}

static inline int fake_receive(
	struct rd_source *src, struct rd_frame *frames, unsigned int max, struct rd_error *err)
{
	struct fake *f = (struct fake *)src;
	uint64_t total = fake_total(f);
	unsigned int n = 0;

	f->polls++;
	/* The last batch was released, and nothing is received before the start. */
	expect("0 1", f->held, f->starts);
	if (f->fault_after && f->given >= f->fault_after) {
		f->faults++;
		return rd_fail(err, RD_CLASS_DEVICE, 0, "look at it", "the fake fails");
	}
	for (; n < max && n < f->batch && f->given < total; n++)
		fake_frame(f, &frames[n], n);
	f->held = n;
	src->batch_disordered = f->unusual;
	if (n && f->given == f->total && f->done_fd >= 0)
		eventfd_write(f->done_fd, 1);
	return !n && f->ends ? RD_SOURCE_END : (int)n;
}

static inline void fake_release(struct rd_source *src)
{
	struct fake *f = (struct fake *)src;

	assert_true(f->held > 0);
	/* What is released is the device's again. */
	memset(f->data, 0xdd, sizeof(f->data));
	f->held = 0;
}

static inline int fake_arm(struct rd_source *src, struct rd_error *err)
{
	struct fake *f = (struct fake *)src;

	f->arms++;
	if (f->armed_fd >= 0)
		eventfd_write(f->armed_fd, 1);
	return f->given < fake_total(f);
}

static inline int fake_service(struct rd_source *src, struct rd_error *err)
{
	return 0;
}

static inline void fake_stop(struct rd_source *src)
{
	struct fake *f = (struct fake *)src;

	f->stops++;
	f->stopped = true;
}

static inline void fake_stats(struct rd_source *src, struct rd_source_stats *stats)
{
	*stats = (struct rd_source_stats){0};
}

static inline void fake_close(struct rd_source *src)
{
}

static inline bool fake_note(struct rd_source *src, unsigned int i, struct rd_note *note)
{
	*note = (struct rd_note){.dropped = 5, .comment = "own"};
	return i % 3 == 0;
}

/* 0 while more frames may arrive at any time. */
static inline uint64_t fake_watermark(struct rd_source *src)
{
	struct fake *f = (struct fake *)src;

	return f->telling ? f->first_ns + f->given * f->step_ns : 0;
}

static const struct rd_source_ops fake_ops = {.name = "fake",
	.start = fake_start,
	.receive = fake_receive,
	.release = fake_release,
	.arm = fake_arm,
	.service = fake_service,
	.stop = fake_stop,
	.stats = fake_stats,
	.close = fake_close,
	.note = fake_note,
	.watermark = fake_watermark};

/* --- a capture -------------------------------------------------------------------------- */

static struct fake fakes[SOURCES];
static struct rd_source *sources[SOURCES];
static struct rd_capture capture;
static struct rd_capture_config config;
static struct rd_encoder encoder;
static struct sink_state sink;
static struct rd_feed feeds[SOURCES];
static struct rd_feed *feed_list[SOURCES];
static unsigned int n_feeds;
static struct rd_watch watch;
static struct rd_error error;
static struct seen seen;

static inline bool watch_ends(void *ctx, int fd)
{
	eventfd_t value;

	eventfd_read(fd, &value);
	return true;
}

static inline int capture_end(void **state)
{
	if (!config.n_sources)
		return 0;
	for (unsigned int i = 0; i < config.n_sources; i++) {
		assert_int_equal(fakes[i].held, 0);
		close(fakes[i].src.frame_fd);
	}
	for (unsigned int i = 0; i < n_feeds; i++)
		feed_fini(&feeds[i]);
	n_feeds = config.n_sources = 0;
	close(watch.fd);
	return 0;
}

/* A capture, or several: each ends as the next one begins, and the last with the test. */
#define TEST_CAPTURE(name) TEST_WITH(name, NULL, capture_end)

/* n sources that fall idle, of `total` frames each, one feed, pcapng; what else a test changes. */
static inline void capture_begin(unsigned int n, uint64_t total)
{
	capture_end(NULL);
	memset(&config, 0, sizeof(config));
	memset(&capture, 0, sizeof(capture));
	memset(&error, 0, sizeof(error));
	sink = (struct sink_state){0};
	seen.n = 0;
	for (unsigned int i = 0; i < n; i++) {
		fakes[i] = (struct fake){.src = {.ops = &fake_ops,
						 .frame_fd = eventfd(0, EFD_CLOEXEC),
						 .event_fd = -1,
						 .idle_polls = 4},
			.total = total,
			.batch = RD_BATCH,
			.first_ns = FIRST_NS + i,
			.step_ns = SOURCES,
			.armed_fd = -1,
			.done_fd = -1};
		fakes[i].src.iface = (struct rd_iface){.link = RD_LINK_ETHERNET};
		sources[i] = &fakes[i].src;
	}
	watch = (struct rd_watch){.fd = eventfd(0, EFD_CLOEXEC), .ready = watch_ends};
	encoder_make(&encoder, "pcapng", N_IFACES);
	config.sources = sources;
	config.n_sources = n;
	config.encoder = &encoder;
	config.feeds = feed_list;
	config.watches = &watch;
	config.n_watches = 1;
	config.flush_ns = 1000000;
	n_feeds = 0;
}

/* A run of `n` sources; its feeds have so many chunks of CHUNK bytes, which a test defines. */
static inline void begin(unsigned int n, uint64_t total, unsigned int feeds_wanted, size_t chunks)
{
	capture_begin(n, total);
	n_feeds = feeds_wanted;
	for (unsigned int i = 0; i < feeds_wanted; i++) {
		feed_make(&feeds[i], &sink, chunks, CHUNK);
		feed_list[i] = &feeds[i];
	}
}

static inline int capture_run(void)
{
	return rd_capture_run(&capture, &config, &error);
}

/* The chunks that wait for a writer, into `seen`; how many began a file. */
static inline unsigned int feed_drain(struct rd_feed *f)
{
	struct rd_chunk *c;
	unsigned int turns = 0;

	while ((c = rd_ring_take(&f->full))) {
		seen_add(&seen, &encoder, c);
		turns += c->rotate;
		rd_ring_put(&f->free, c);
	}
	return turns;
}

static inline uint64_t delivered(void)
{
	struct rd_tally total = rd_capture_total(&capture);

	return rd_tally_delivered(&total);
}

/* Each frame that was received is in one of the counts. */
static inline void assert_accounted(void)
{
	uint64_t received = 0;

	for (unsigned int i = 0; i < RD_DIRECTIONS; i++)
		received += capture.account.direction[i];
	assert_int_equal(delivered(), received);
}
