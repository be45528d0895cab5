/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A capture as a library: takes a configuration, writes frames from devices or a file into files,
 * and returns a result. Nothing is printed; warnings go to the log. One session per process: it
 * drops the privileges of the process permanently.
 */
#pragma once

#include <rdmadump/capture.h>
#include <rdmadump/counters.h>
#include <rdmadump/drops.h>

/*
 * A recording: frames stay in memory, and only those around triggers are written, each group into a
 * file of its own. One source, one receive queue.
 */
struct rd_session_recording {
	/* Its callbacks come from the writer's thread, with its own ctx. */
	struct rd_retention retention;
	/* Appends to the comment of a file what triggered it; from the writer's thread. */
	void (*describe)(void *ctx, const struct rd_dump *dump, char *out, size_t size);
	/* Appends facts to be stored at the end of a file; from the writer's thread. */
	void (*facts)(void *ctx, const struct rd_dump *dump, struct rd_facts *to);
};

/* The caller's part, from the thread of rd_session_run(). All may be NULL. */
struct rd_session_calls {
	void *ctx;
	/* Sources and outputs are open, the devices are started next. */
	void (*ready)(void *ctx);
	/* The devices are started and privileges dropped: from now on each frame counts. */
	void (*started)(void *ctx);
	bool runs_programs; /* then or later, beside the command of the rotation */
	/* Each batch that is kept, after the cut. One thread then serves all queues. */
	void (*frames)(void *ctx, const struct rd_source *source, const struct rd_frame *frames,
		unsigned int n);
	/* For the same frames: see struct rd_capture_config. */
	uint64_t (*commented)(void *ctx, const struct rd_source *source,
		const struct rd_frame *frames, unsigned int n);
	const char *(*comment)(void *ctx, unsigned int i);
	/* No more frames come; the outputs are still to be completed. */
	void (*ended)(void *ctx);
	/*
	 * Called at intervals while the outputs are completed, `commands`: while only the commands
	 * of the rotation still run. False: stop waiting for the commands.
	 */
	bool (*waiting)(void *ctx, bool commands);
	/* Called every 50 ms or less often while a FIFO awaits a reader. Must sleep that long. */
	void (*waiting_for_reader)(void *ctx);
	void *waiting_ctx; /* of the next two */
	/*
	 * Called every 20 ms while waiting for the device's counters, which may take seconds to
	 * include the last losses. False: stop waiting.
	 */
	bool (*waiting_for_counters)(void *ctx);
	/*
	 * Called every 50 ms while the command gateway of an adapter is used (port_sniffer), also
	 * by rd_session_open(), and by the threads of queues. False: stop waiting; another
	 * process detaches the sniffer.
	 */
	bool (*waiting_for_gateway)(void *ctx);
	/* Whether the user wants to end: asked while QPs are listed, before and after capturing. */
	bool (*is_ending)(void);
};

/* All strings and pointers must outlive the session. Zero is the default unless noted. */
struct rd_session_config {
	/* The input of a capture. */
	const struct rd_wanted_port *wanted;
	unsigned int n_wanted; /* 0: the default port */
	const char *read;      /* a capture file instead, "-" is standard input */
	bool netdev_only;      /* the netdev even where the device has a sniffer */
	bool sniffer_only;     /* the device's sniffer even where none is known */
	bool port_sniffer;     /* the one that a firmware command attaches; with sniffer_only */
	bool force; /* the sniffer in switchdev mode before Linux 5.10; port_sniffer on Ethernet */
	bool promiscuous_off;
	uint64_t kernel_buffer; /* buffer of a netdev, bytes */
	/* How a device's sniffer receives; the session sets device, port, sniffer and the rest. */
	struct rd_verbs_config device;
	unsigned int queues; /* receive queues of each port; 0: one, and no thread for it */
	bool queues_auto;    /* as many queues as the port's speed requires */

	/* Which frames, how much of each, how many. */
	struct rd_filter_spec filter;
	struct rd_cut cut;
	bool decap;
	uint64_t count;	     /* frames; 0: no limit */
	uint64_t duration_s; /* 0: no limit */

	/* The output of a capture. */
	/*
	 * path NULL: nothing is written. compression may also be "none"; NULL: by the path's
	 * ending. buffer: not 0. What depends on the inputs is set by the session.
	 */
	struct rd_sink_config out;
	const char *format; /* NULL: by the path's ending */
	uint64_t slice_s;   /* length of a time slice; 0: none */
	bool slice_aligned; /* slices begin at multiples of slice_s of the clock */
	enum rd_when_full when_full;
	bool unbuffered; /* frames are written as soon as traffic pauses */
	bool no_facts;	 /* only frames and statistics are stored */
	const struct rd_session_recording *recording; /* NULL: all frames are written */
	bool stop_on_pause; /* stop when a port sends pause frames or its PCIe stalls */
	bool all_qps;	/* list QPs even where there are thousands, each by a firmware command */
	bool no_owners; /* the facts omit the owners of QPs */

	/* The user, and the program's own name. */
	const char *user;	 /* to become after opening; NULL: the caller of sudo */
	const char *root_option; /* "-Z root", for advice; NULL: the command has none */
	bool no_seccomp;	 /* no system call is refused once the capture runs */

	struct rd_session_calls calls;
	/* Further descriptors to watch while frames come: signals, timers. */
	const struct rd_watch *watches;
	unsigned int n_watches; /* RD_SESSION_WATCHES at most */
};

#define RD_SESSION_WATCHES 4

/* One port, netdev or file. Valid until rd_session_close(). */
struct rd_session_source {
	const struct rd_source *source; /* its title, interfaces, kind (ops->name) */
	const struct rd_device *device; /* NULL: no RDMA device */
	const struct rd_port *port;
	struct rd_source_stats stats; /* final after the run */
	/* After the run: other counters of the port that changed during the capture. */
	const struct rd_counter_change *related;
	unsigned int n_related;
};

/* A counter that changed, of those reported together with the loss (RD_COUNTER_RELATED). */
struct rd_counter_change {
	const char *name; /* in full: "ethtool/rx_discards_phy" */
	const char *meaning, *unit;
	bool is_level;	/* it goes up and down: growth says nothing */
	uint64_t value; /* at the end */
	struct rd_growth growth;
};

struct rd_session_result {
	bool ran; /* outputs were open and devices started; else only `error` is valid */
	enum rd_end end;
	bool paused;		   /* by stop_on_pause: a cause of RD_END_WATCH */
	bool broken_pipe;	   /* the reader of the output closed it: no error */
	struct rd_error error;	   /* class NONE: all went well */
	uint64_t start_ns, end_ns; /* Unix epoch */
	uint64_t bytes;		   /* bytes on the wire of the frames delivered */
	struct rd_frame_account account;
	struct rd_tally total; /* without frames that came after the last file was full */
	struct rd_sink_stats written;
	uint64_t dropped;  /* by the program: no chunk was free, or the output failed */
	uint64_t lost;	   /* before the program, at least; exact if lost_known */
	bool lost_known;   /* for all sources */
	bool lost_settled; /* the counters were read late enough to include the last losses */
	uint64_t gaps;	   /* times that a receive queue failed and was restored */
	uint64_t left_out; /* frames of link types that the output cannot hold */
};

/* The progress of a running session. */
struct rd_session_progress {
	uint64_t elapsed_ns;
	uint64_t frames, bytes; /* delivered */
	uint64_t file_bytes;
	uint64_t lost; /* dropped, unwritten and lost before */
	bool lost_known;
	uint64_t input_done, input_size; /* bytes of the file that is read; size 0: not known */
};

struct rd_session;

/*
 * Finds and opens the sources and compiles the filters; no output is touched. -1 with the error:
 * RD_CLASS_USAGE or RD_CLASS_DEVICE. Waits for the first frame of a file that is a pipe.
 */
int rd_session_open(
	struct rd_session **session, const struct rd_session_config *config, struct rd_error *err);
/*
 * Opens the outputs, starts the devices, gives up privileges, and captures until one of the ends of
 * enum rd_end; then completes the files. Once per session. 0, or -1 with the error in
 * rd_session_result().
 */
int rd_session_run(struct rd_session *session);
/* Closes the sources. NULL is legal. */
void rd_session_close(struct rd_session *session);

/* Ends the run. From any thread and signal handler, also before the run. */
void rd_session_stop(struct rd_session *session);
/* The next frame begins a new file, unless the output is a pipe. From a watch of the session. */
void rd_session_rotate(struct rd_session *session);
/*
 * Recordings only: fires a trigger at this timestamp of the frames. From any thread, between
 * config->ready() and config->ended().
 */
enum rd_triggered rd_session_trigger(struct rd_session *session, uint64_t ns);
/*
 * The timestamp of a frame that arrives now: it does not step with the system clock. From any
 * thread, once the sources have started.
 */
uint64_t rd_session_now(const struct rd_session *session);
/* Recordings only: the memory for frames, in bytes; *locked: it cannot be swapped out. Valid once
 * config->ready() was called. */
size_t rd_session_memory(const struct rd_session *session, bool *locked);

/* --- queries, from the thread of the session ---------------------------------------- */

/* Final after rd_session_run(); in config->waiting() without the outcome of the output. */
const struct rd_session_result *rd_session_result(struct rd_session *session);
/* For an output abandoned during completion: what it did not accept counts as not written. */
void rd_session_abandon(struct rd_session *session);
void rd_session_progress(const struct rd_session *session, struct rd_session_progress *progress);
/* After rd_session_open(). */
bool rd_session_offline(const struct rd_session *session);
const struct rd_session_source *rd_session_sources(
	const struct rd_session *session, unsigned int *n);
const struct rd_iface *rd_session_ifaces(const struct rd_session *session, unsigned int *n);
/* The filter as text, "" if there is none. */
const char *rd_session_filter_text(const struct rd_session *session);
/* The format of the output; NULL: none. Valid once config->ready() was called. */
const struct rd_encoder *rd_session_encoder(const struct rd_session *session);
/* All facts that can be read now of the devices that are captured on; `when`: "start", "end". */
void rd_session_facts(struct rd_session *session, const char *when, struct rd_facts *to);

/* --- loss ---------------------------------------------------------------------------------- */

#define RD_LOSS_TEXT RD_DROPS_TEXT
/* What the capture lost. After the run. */
void rd_session_drops(const struct rd_session *session, struct rd_drops *drops);
/* "rx_discards_phy +200". */
void rd_counter_change_text(const struct rd_counter_change *change, char *out, size_t size);
/* Why a source's loss is unknown: "out_of_buffer was reset during the capture"; only if so. */
void rd_loss_reason(const struct rd_source_stats *stats, char out[RD_LOSS_TEXT]);
/*
 * The functions whose traffic a source sees: "traffic of PF 0000:3b:00.0 alone: not of VFs, ...";
 * "" where it is not a device's sniffer.
 */
void rd_session_scope_text(const struct rd_session_source *source, char out[RD_LOSS_TEXT]);
