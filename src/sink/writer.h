/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of a sink, and the writer thread that uses it. */
#pragma once

#include "file.h"
#include "merge.h"
#include "retained.h"
#include <poll.h>
#include <rdmadump/array.h>
#include <semaphore.h>

struct rd_sink {
	struct rd_sink_config config;
	const struct rd_encoder *encoder;
	const struct rd_sink_ending *ending;
	struct file file;
	struct series series;
	struct rd_feed *feeds;
	unsigned int n_feeds;
	struct merge merge;	  /* if there are several feeds */
	struct retained retained; /* if frames are retained */
	struct pollfd *pfds;
	uint64_t patience; /* ns that frames may wait for other feeds before a watermark is
			      requested */
	size_t capacity;   /* bytes of a chunk */
	pthread_t thread;
	sem_t ended;	  /* the thread has finished */
	bool gone;	  /* the current file was removed or truncated by another program */
	bool has_wrapped; /* a timestamp was too late for the format */
	struct sink_state state;
	atomic_bool closing;
	bool quiet;
	struct rd_error error; /* set by the writer; read by others after the join */
	atomic_uint_fast64_t written, unwritten, beyond, expired, file_bytes;
	atomic_uint files;

	/* Used only by the writer: the tallies it has seen, and those at the file's start. */
	struct rd_tally seen[RD_IFACES_MAX], begun[RD_IFACES_MAX];
	const struct rd_tally *final; /* the engine's tallies, once the sink is closing */
	uint64_t lost[RD_IFACES_MAX]; /* frames that the current file lost */
	uint64_t first_ns, last_ns, bytes_before;
};

/* Opens the next file of the series; first_ns: timestamp of its first frame, 0 if not known. */
int writer_open_file(struct rd_sink *s, uint64_t first_ns, struct rd_error *err);
/* Truncates the file and writes its header. */
int writer_begin_file(struct rd_sink *s, struct rd_error *err);
/* Both, for a later file, which is private. */
int writer_next_file(struct rd_sink *s, uint64_t first_ns, struct rd_error *err);
/* Writes trailer and final header, and closes the current file. s->seen must be up to date. */
int writer_end_file(struct rd_sink *s, bool last, struct rd_error *err);
/* Writes records; false on an error. Frames lost by the error are counted. */
bool writer_write(struct rd_sink *s, const uint8_t *data, const struct records *records);
/* Writes what is buffered; last: see file_flush(). */
void writer_flush(struct rd_sink *s, bool last);
/* Ends writing because of an error, which is in s->error already or in *err. */
void writer_fail(struct rd_sink *s, const struct rd_error *err);
/* All files that may be written are complete. */
void writer_finish(struct rd_sink *s);
/* The thread: writes what the feeds deliver until s->closing, then completes the last file. */
void *writer_run(void *sink);
