/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where frames go: chunks of already encoded records, filled by the engine's threads, written by a
 * thread of their own into one file or a series of files. Each of the engine's threads has a feed:
 * chunks of its own, which are the only memory between the two; when none is free the engine
 * decides. Frames of several feeds are written in the order of their timestamps.
 */
#ifndef RDMADUMP_SINK_H
#define RDMADUMP_SINK_H

#include <rdmadump/facts.h>
#include <rdmadump/format.h>
#include <rdmadump/outfile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RD_IFACES_MAX  64
#define RD_STRIPES_MAX 16

/* Frames of one interface since the start of the capture. */
struct rd_tally {
	uint64_t delivered; /* handed to us by the source = encoded + filtered + dropped */
	uint64_t encoded;   /* put into a chunk */
	uint64_t filtered;
	uint64_t dropped; /* no chunk was free */
};

struct rd_chunk {
	uint8_t *data;
	size_t used, room;
	unsigned int frames;
	bool rotate; /* begins a new file */
	bool marked; /* some frames are RD_FRAME_WILD or RD_FRAME_NO_TIME */
	/* Timestamps of its first frame, no older than what came before, and of its newest one. */
	uint64_t first_ns, last_ns;
	struct rd_tally tally[RD_IFACES_MAX]; /* as of the end of this chunk */
};

enum rd_naming {
	RD_NAMES_TCPDUMP, /* name, name1, name2; strftime of the name for time slices */
	RD_NAMES_DUMPCAP, /* name_00001_20261121031500.pcapng */
};

/* When a new file begins; all 0: never. Strings may be NULL. */
struct rd_rotation {
	uint64_t bytes;	    /* when the file has so many (before compression) or more */
	uint64_t frames;    /* when it has so many */
	bool timed;	    /* chunks with `rotate` set begin a new file */
	unsigned int ring;  /* keep only so many newest files; 0: all */
	unsigned int files; /* write nothing more after so many; 0: no limit */
	enum rd_naming naming;
	const char *command;	    /* run with the name of each file that was closed */
	const char *print_names_to; /* file, "-", "stdout" or "stderr" */
};

/* How files are written; what is not a regular file or is compressed is always buffered. */
enum rd_write_mode {
	RD_WRITE_AUTO,	   /* direct; through the page cache when the writer is behind and that is
			      faster */
	RD_WRITE_BUFFERED, /* through the page cache */
	RD_WRITE_DIRECT,   /* past it, one piece after the other */
	RD_WRITE_URING,	   /* past it, one piece while the next is gathered */
};

enum rd_sync {
	RD_SYNC_NONE,	  /* the kernel decides when data reaches the disk */
	RD_SYNC_FILE,	  /* a file is on the disk before it counts as closed */
	RD_SYNC_PERIODIC, /* every 32 MiB of it are */
};

struct rd_sink_config {
	const char *path; /* "-" is stdout */
	const struct rd_encoder *encoder;
	unsigned int feeds; /* threads that fill chunks; 0: one */
	size_t buffer;	    /* bytes of all chunks together */
	uint32_t max_frame; /* longest frame that must fit */
	bool hold;	    /* write nothing before rd_sink_close(): the capture stays in memory */
	const char *compression; /* "gz", "zst"; NULL: none, whatever the path's ending */
	int compression_level;	 /* 0: the fastest */
	enum rd_write_mode write_mode;
	enum rd_sync sync;
	bool patient; /* nothing is lost when the writer is behind: frames come from a file */
	const struct rd_inputs *inputs; /* files that are read: none is written; may be NULL */
	struct rd_rotation rotation;
};

/* What has reached the files. */
struct rd_sink_stats {
	uint64_t written;    /* frames */
	uint64_t unwritten;  /* frames that were encoded and could not be written */
	uint64_t beyond;     /* frames that came after the last file was full */
	uint64_t late;	     /* frames written behind newer ones of other feeds */
	uint64_t file_bytes; /* in all files, headers included */
	unsigned int files;  /* begun */
};

/* A file that is about to end, for its trailer. Counts are of this file alone. */
struct rd_file_account {
	unsigned int number; /* from 1 */
	bool last;
	uint64_t written[RD_IFACES_MAX];
	uint64_t unwritten[RD_IFACES_MAX];
	struct rd_tally tally[RD_IFACES_MAX]; /* of the engine while this was the current file */
	uint64_t first_ns, last_ns;	      /* timestamps of its first and last frame; 0: none */
};

struct rd_sink_ending {
	/*
	 * Called at intervals while rd_sink_close() waits: for a slow output, or for commands
	 * (`commands`). False: stop waiting for the commands.
	 */
	bool (*waiting)(void *ctx, bool commands);
	/* A file is about to be begun: the section's comment must be that of an unfinished one. */
	void (*begin)(void *ctx);
	/*
	 * Fills stats[] for the trailer and may change the section's comment for the header. Called
	 * from the writer's thread, for the last file while rd_sink_close() waits for it.
	 */
	void (*fill)(
		void *ctx, const struct rd_file_account *account, struct rd_iface_stats *stats);
	void *ctx;
	/*
	 * Facts for the place after the header of the file with this number (`end` false), or
	 * before the trailer of the last one; valid until the next call, NULL for none. They are
	 * omitted where they do not fit: frames and statistics come first. Called like begin and
	 * fill, may be NULL.
	 */
	const struct rd_facts *(*facts)(void *ctx, unsigned int file, bool end);
};

struct rd_sink;

/*
 * Opens the first file (mode 0600 if it is created); the content of an existing one stays until
 * rd_sink_start(). Fails with RD_CLASS_OUTPUT, or RD_CLASS_USAGE for one of the inputs. The
 * configuration's strings, encoder, inputs and ending must outlive the sink.
 */
int rd_sink_open(struct rd_sink **sink, const struct rd_sink_config *config,
	const struct rd_sink_ending *ending, struct rd_error *err);
/* Adds the first file to `taken`; false if it is there already. */
bool rd_sink_claim(const struct rd_sink *sink, struct rd_inputs *taken);
/* The first file, if it existed before, becomes private where we may change it. */
void rd_sink_make_private(const struct rd_sink *sink);
/*
 * Empties the first file, writes its header and starts the writer's thread. All later files are
 * opened by that thread, with the privileges that the caller has now. After -1 the sink must be
 * abandoned.
 */
int rd_sink_start(struct rd_sink *sink, struct rd_error *err);
/* Instead of rd_sink_close() for a sink that was not started: a file that it created is removed. */
void rd_sink_abandon(struct rd_sink *sink);
struct rd_feed *rd_sink_feed(struct rd_sink *sink, unsigned int i);

/* --- from the one thread that fills the feed's chunks --- */

/* A free chunk, empty; NULL when the writer has them all. */
struct rd_chunk *rd_feed_get(struct rd_feed *feed);
/* Hands a chunk to the writer; an empty one goes back unwritten. */
void rd_feed_put(struct rd_feed *feed, struct rd_chunk *chunk);
/* Readable when a chunk became free, writing has ended or the writer requests a watermark, after
 * rd_feed_arm_for_chunk() or rd_feed_arm() returned true. */
int rd_feed_fd(const struct rd_feed *feed);
/* Before sleeping on rd_feed_fd() because no chunk is free: false if one is free already. */
bool rd_feed_arm_for_chunk(struct rd_feed *feed);
/* True if the writer has written all that it got. */
bool rd_feed_idle(struct rd_feed *feed);
/* Before sleeping on rd_feed_fd() for any other reason: false if a chunk has come back meanwhile.
 */
bool rd_feed_arm(struct rd_feed *feed);
/* rd_feed_fd() was readable. */
void rd_feed_disarm(struct rd_feed *feed);
/*
 * The writer has frames of other feeds with this timestamp (ns), and waits until it knows that this
 * feed has none that are older: for a chunk, even if it is not full, or a watermark of this or
 * more. 0: it does not wait.
 */
uint64_t rd_feed_requested(const struct rd_feed *feed);
/* Promises that no frame with a timestamp below ns will be put any more; UINT64_MAX: none at all.
 */
void rd_feed_watermark(struct rd_feed *feed, uint64_t ns);
bool rd_feed_ended(const struct rd_feed *feed);
bool rd_feed_failed(const struct rd_feed *feed);

/* --- from any thread --- */

/*
 * With several feeds: the first frame with this timestamp or a later one begins a new file. From
 * one thread at a time.
 */
void rd_sink_rotate(struct rd_sink *sink, uint64_t ns);
/* True once nothing more will be written: writing failed, or the last file is full. */
bool rd_sink_ended(const struct rd_sink *sink);
bool rd_sink_failed(const struct rd_sink *sink);
/* At any time, from any thread. */
void rd_sink_read_stats(const struct rd_sink *sink, struct rd_sink_stats *stats);

/*
 * Writes what is queued, ends the last file and waits for the commands. `final` is the engine's
 * tally of each interface. Returns -1 with the first error of the writer (stats are filled in any
 * case). *quiet is set when that error is only a reader that closed its end of a pipe. The sink is
 * gone after it.
 */
int rd_sink_close(struct rd_sink *sink, const struct rd_tally *final, struct rd_sink_stats *stats,
	bool *quiet, struct rd_error *err);

/* The compression that a file name's ending asks for ("gz", "zst"), NULL for none or unknown. */
const char *rd_compression_of(const char *path);
/* Whether the header's comment can be written over when the file is complete: no pipe, no zst. */
bool rd_header_rewritable(const char *path, const char *compression);
/* "gz zst": what this program can compress with. */
const char *rd_compressions(void);
/* "buffered, direct, uring": how it can write. */
const char *rd_write_modes(void);

#endif
