/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Output of frames: the engine's threads fill chunks with encoded records, and a writer thread
 * writes them into a file or a series of files. Each of the engine's threads has a feed with its
 * own chunks, which are the only buffer between it and the writer; if none is free, the engine
 * decides what to do. Frames of several feeds are written in the order of their timestamps.
 */
#pragma once

#include <rdmadump/facts.h>
#include <rdmadump/format.h>
#include <rdmadump/outfile.h>

#define RD_IFACES_MAX 64

/* Frames of one interface since the start of the capture. */
struct rd_tally {
	uint64_t encoded; /* put into a chunk */
	uint64_t filtered;
	uint64_t dropped; /* no chunk was free */
};

/* Frames that the source delivered: each of them is in one of the counts. */
static inline uint64_t rd_tally_delivered(const struct rd_tally *t)
{
	return t->encoded + t->filtered + t->dropped;
}

struct rd_chunk {
	uint8_t *data;
	size_t used, capacity;
	unsigned int frames;
	bool rotate; /* begins a new file */
	bool marked; /* some frames are RD_FRAME_BAD_TIME or RD_FRAME_NO_TIME */
	/* Timestamps of its first frame (not older than any earlier one), and its newest. */
	uint64_t first_ns, last_ns;
	struct rd_tally tally[RD_IFACES_MAX]; /* at the end of this chunk */
};

enum rd_naming {
	RD_NAMES_TCPDUMP, /* name, name1, name2; strftime of the name for time slices */
	RD_NAMES_DUMPCAP, /* name_00001_20261121031500.pcapng */
};

/* When a new file begins; all 0: never. Strings may be NULL. */
struct rd_rotation {
	uint64_t bytes;	 /* file size in bytes, before compression, from which a new file begins */
	uint64_t frames; /* number of frames after which a new file begins */
	bool timed;	 /* chunks with `rotate` set begin a new file */
	unsigned int ring;  /* number of newest files to keep; 0: all */
	unsigned int files; /* number of files after which writing ends; 0: no limit */
	enum rd_naming naming;
	const char *command; /* run with the name of each closed file */
};

/* How regular files are written. Other outputs and compressed ones are always buffered. */
enum rd_write_mode {
	RD_WRITE_AUTO, /* direct; through the page cache if it is faster and the writer behind */
	RD_WRITE_BUFFERED, /* through the page cache */
	RD_WRITE_DIRECT,   /* O_DIRECT, one piece after the other */
};

enum rd_sync {
	RD_SYNC_NONE,	  /* the kernel decides when data reaches the disk */
	RD_SYNC_FILE,	  /* a file is synced to the disk before it is reported as closed */
	RD_SYNC_PERIODIC, /* every 32 MiB are forced to the disk */
};

/* A file with the frames around a trigger, and around later triggers within its time. */
struct rd_dump {
	const char *path;
	uint64_t from_ns, until_ns; /* timestamps of the first and last wanted frame */
	uint64_t trigger_ns;	    /* timestamp of the first trigger */
	/* Frames up to this timestamp had been evicted from memory before the trigger; 0: all
	 * wanted frames were there. */
	uint64_t missing_until_ns;
	/* Once it has ended. */
	uint64_t frames; /* 0: there is no file, which may never have begun: `path` may be NULL */
	uint64_t bytes;	 /* size of the file */
	bool cut; /* cut short by the end of the recording, the limit of bytes, or a failure */
	/* It could not be written whole, for this reason. */
	bool failed;
	const char *error;
};

/*
 * Frames stay in memory, and are discarded unless a trigger needs them: those from pre_ns before to
 * post_ns after it are then written to a separate file. A trigger whose times overlap those of the
 * file before extends that file.
 */
struct rd_retention {
	uint64_t pre_ns, post_ns;
	uint64_t holdoff_ns; /* triggers are ignored for this long after the end of a file */
	/* Existing files of this name are counted as well. */
	unsigned int files; /* maximum number of files; 0: no limit */
	uint64_t bytes;	    /* maximum bytes of all files together, headers included; 0: no limit */
	/* Called within rd_sink_open() with the number and size of existing files. May be NULL. */
	void (*found)(void *ctx, unsigned int files, uint64_t bytes);
	/* In the writer's thread: the file has its header; it is complete, or has failed, perhaps
	 * before it had a header, or none was needed. After a failure the next trigger tries
	 * another file. */
	void (*begun)(void *ctx, const struct rd_dump *dump);
	void (*ended)(void *ctx, const struct rd_dump *dump);
	void *ctx;
};

struct rd_sink_config {
	const char *path; /* "-" is stdout */
	/* NULL: all frames are written. Else one feed; names of files as RD_NAMES_DUMPCAP. */
	const struct rd_retention *retention;
	const struct rd_encoder *encoder;
	unsigned int feeds; /* threads that fill chunks; 0: one */
	uint64_t buffer;    /* bytes of all chunks together */
	int numa_node;	    /* NUMA node of the chunks; -1: any */
	uint32_t max_frame; /* longest frame that must fit */
	bool hold;	    /* write nothing before rd_sink_close(): the capture stays in memory */
	const char *compression; /* "gz", "zst"; NULL: none, whatever the path's ending */
	int compression_level;	 /* 0: the fastest */
	enum rd_write_mode write_mode;
	enum rd_sync sync;
	bool patient; /* frames come from a file: none is lost if the writer is behind */
	const struct rd_inputs *inputs; /* files that must not be overwritten; may be NULL */
	struct rd_rotation rotation;
};

/* Statistics of the data written up to now. */
struct rd_sink_stats {
	uint64_t written;   /* frames */
	uint64_t unwritten; /* frames that were encoded and could not be written */
	uint64_t beyond;    /* frames that arrived after the last file was full */
	uint64_t late;	    /* frames written after newer ones of other feeds */
	/* Frames discarded: no trigger needed them, or the limit of bytes was reached. */
	uint64_t expired;
	uint64_t file_bytes; /* in all files, headers included */
	unsigned int files;  /* begun */
};

/* The current file when it ends, for its trailer. Counts are of this file only. */
struct rd_file_account {
	unsigned int number; /* from 1 */
	bool last;
	const struct rd_dump *dump; /* NULL: the sink writes all frames */
	uint64_t written[RD_IFACES_MAX];
	uint64_t unwritten[RD_IFACES_MAX];
	struct rd_tally tally[RD_IFACES_MAX]; /* while this was the current file */
	uint64_t first_ns, last_ns;	      /* timestamps of its first and last frame; 0: none */
};

struct rd_sink_ending {
	/*
	 * Called at intervals while rd_sink_close() waits: for a slow output, or for commands
	 * (`commands`). False: stop waiting for the commands.
	 */
	bool (*waiting)(void *ctx, bool commands);
	/* Called before a file begins: sets the section's comment for an unfinished file. */
	void (*begin)(void *ctx);
	/*
	 * Called when a file ends: fills stats[] for the trailer, and may change the section's
	 * comment for the header. In the writer's thread; for the last file while rd_sink_close()
	 * waits.
	 */
	void (*fill)(
		void *ctx, const struct rd_file_account *account, struct rd_iface_stats *stats);
	void *ctx;
	/*
	 * Facts to be stored after the header of the file with this number (`end` false), or before
	 * the trailer of the last one; valid until the next call, NULL for none. They are omitted
	 * if there is no room: frames and statistics have priority. Called in the same thread as
	 * begin and fill; may be NULL.
	 */
	const struct rd_facts *(*facts)(void *ctx, unsigned int file, bool end);
};

struct rd_sink;

/*
 * Opens the first file (created with mode 0600); the content of an existing one stays until
 * rd_sink_start(). Returns 0, or -1 with RD_CLASS_OUTPUT, or RD_CLASS_USAGE if it is an input file.
 * The strings, encoder, inputs and ending of the configuration must outlive the sink, which is
 * freed by rd_sink_close() or rd_sink_abandon().
 */
int rd_sink_open(struct rd_sink **sink, const struct rd_sink_config *config,
	const struct rd_sink_ending *ending, struct rd_error *err);
/*
 * Makes the first file private (mode 0600) if it existed before; a warning is logged if it belongs
 * to another user.
 */
void rd_sink_make_private(const struct rd_sink *sink);
/*
 * Empties the first file, writes its header and starts the writer's thread. All later files are
 * opened by that thread, with the caller's current privileges. Returns 0, or -1 with
 * RD_CLASS_OUTPUT; then call rd_sink_abandon().
 */
int rd_sink_start(struct rd_sink *sink, struct rd_error *err);
/* Frees a sink that was not started, and removes a file that it created. */
void rd_sink_abandon(struct rd_sink *sink);
/* The feed with index i; it lives as long as the sink. */
struct rd_feed *rd_sink_feed(struct rd_sink *sink, unsigned int i);

/* --- from the one thread that fills the feed's chunks --- */

/* A free chunk, empty; NULL if there is none. */
struct rd_chunk *rd_feed_get(struct rd_feed *feed);
/* Passes a chunk to the writer; an empty one is returned unwritten. */
void rd_feed_put(struct rd_feed *feed, struct rd_chunk *chunk);
/*
 * A descriptor for poll(2). After rd_feed_arm_for_chunk() or rd_feed_arm() returned true it becomes
 * readable when a chunk is free, writing has ended or the writer requests a watermark.
 */
int rd_feed_fd(const struct rd_feed *feed);
/* Before sleeping on rd_feed_fd() because no chunk is free: false if one is free already. */
bool rd_feed_arm_for_chunk(struct rd_feed *feed);
/* True if the writer has written all chunks that it got. */
bool rd_feed_idle(struct rd_feed *feed);
/* Before sleeping on rd_feed_fd() for any other reason: false if a chunk has come back already. */
bool rd_feed_arm(struct rd_feed *feed);
/* After rd_feed_fd() was readable. */
void rd_feed_disarm(struct rd_feed *feed);
/*
 * The watermark that the writer requests: it has frames of other feeds with this timestamp (ns),
 * and waits for an older frame of this feed (put the chunk, even if it is not full) or for a
 * watermark of at least this value. 0: it does not wait.
 */
uint64_t rd_feed_requested(const struct rd_feed *feed);
/* Promises that all frames put from now on have timestamps from ns on; UINT64_MAX: none follow. */
void rd_feed_watermark(struct rd_feed *feed, uint64_t ns);
/* True once nothing more will be written: writing failed, or the last file is full. */
bool rd_feed_ended(const struct rd_feed *feed);
/* True if writing failed. */
bool rd_feed_failed(const struct rd_feed *feed);

/* --- from any thread --- */

/*
 * With several feeds: the first frame with this timestamp or a newer one begins a new file. From
 * one thread at a time.
 */
void rd_sink_rotate(struct rd_sink *sink, uint64_t ns);
void rd_sink_read_stats(const struct rd_sink *sink, struct rd_sink_stats *stats);

/* The effect of a trigger. */
enum rd_triggered {
	RD_TRIGGER_BEGINS,  /* a file begins with the frames around it */
	RD_TRIGGER_EXTENDS, /* the previous file is extended */
	RD_TRIGGER_HELD,    /* ignored: too soon after the previous file */
	RD_TRIGGER_CLOSED,  /* ignored: no more files are written */
};

/* Only for a sink that retains frames: fires a trigger at this timestamp of the frames. */
enum rd_triggered rd_sink_trigger(struct rd_sink *sink, uint64_t ns);
/* Bytes for frames in memory; *locked: none of it can be swapped out. */
size_t rd_sink_memory(const struct rd_sink *sink, bool *locked);

/*
 * Writes all queued chunks, ends the last file and waits for the commands. `final` has the engine's
 * tally of each interface. Returns 0, or -1 with the writer's first error; stats are filled in both
 * cases. *quiet is set if the error is only that a reader closed its end of a pipe. Frees the sink.
 */
int rd_sink_close(struct rd_sink *sink, const struct rd_tally *final, struct rd_sink_stats *stats,
	bool *quiet, struct rd_error *err);

/* The compression for a file name's ending ("gz", "zst"); NULL: none or unknown. */
const char *rd_compression_of(const char *path);
/* -1 (RD_CLASS_USAGE) if the ending is one of a compression that cannot be written. */
int rd_compression_check(const char *path, struct rd_error *err);
/* Whether the header's comment can be overwritten at the file's end: not in a pipe or zst. */
bool rd_header_rewritable(const char *path, const char *compression);
/* Length of a path without its ending, including that of a compression. */
size_t rd_stem_of(const char *path);
/*
 * The number in a file's name of a series (RD_NAMES_DUMPCAP) whose path ends with `base`: 1 for
 * "a_00001_20261121031500", followed by `ending`, and "a.pcapng". 0: it is another file.
 */
unsigned int rd_series_number(const char *name, const char *base, const char *ending);
