/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of a session: inputs, outputs, the texts in the file, facts, loss. */
#pragma once

#include <pthread.h>
#include <rdmadump/array.h>
#include <rdmadump/identity.h>
#include <rdmadump/owner.h>
#include <rdmadump/session.h>
#include <stdatomic.h>

/*
 * The sources. A port has one source for each receive queue: the first one represents the port, the
 * others follow it.
 */
struct inputs {
	struct rd_devices devices;
	struct rd_source *sources[RD_IFACES_MAX];
	const struct rd_device *device[RD_IFACES_MAX]; /* NULL: no RDMA device */
	const struct rd_port *port[RD_IFACES_MAX];
	bool follows[RD_IFACES_MAX];	   /* a further queue of the port before it */
	unsigned int bases[RD_IFACES_MAX]; /* first interface of each source */
	/* Sources that receive frames as soon as they are opened: their facts were read before. */
	bool early[RD_IFACES_MAX];
	struct rd_facts early_facts;
	unsigned int n;
	struct rd_iface ifaces[RD_IFACES_MAX];
	unsigned int n_ifaces;
	struct rd_filter *filters[RD_IFACES_MAX];
	char filter_text[1024];
	struct rd_source_stats stats[RD_IFACES_MAX];
	struct rd_inputs files; /* input files: no output may be one of them */
};

#define SNAPSHOTS 4

/* Facts of a device, read at several times during a recording: the writer stores those from before
 * the first frame of a file. */
struct recording {
	pthread_mutex_t lock;
	struct snapshot {
		uint64_t time_ns; /* CLOCK_MONOTONIC; 0: none */
		uint64_t lost;	  /* frames lost by the device so far */
		struct rd_facts facts;
	} snapshot[SNAPSHOTS], begin; /* begin: of the current file */
	unsigned int newest;
	uint64_t next_ns;	    /* CLOCK_MONOTONIC time at which the next one is due */
	const struct rd_dump *dump; /* the file that is ending */
	uint64_t lost;		    /* by the device, since the facts at its start were read */
	struct rd_facts end;
};

#define COMMENT_ROOM 1600 /* longer text is truncated */

/* The file or series of files. */
struct output {
	struct rd_sink *sink;		      /* NULL: not open */
	struct rd_feed *feeds[RD_IFACES_MAX]; /* one per thread */
	struct rd_encoder encoder;
	struct rd_section section;
	char hardware[320], os[320];
	struct rd_sink_ending ending;
	struct rd_sink_stats written; /* set when the sink is closed */
	char comment[COMMENT_ROOM];
	char sentence[2 * RD_DROPS_TEXT]; /* what the ending file's capture lost; "": another file
					 says it */
	bool rewritable;		  /* the header's final comment */
	bool started;			  /* its file has a header, and its writer is running */
	/*
	 * For each file's beginning: read at facts_ns of the monotonic clock, or found before a
	 * file's first frame.
	 */
	struct rd_facts facts_start;
	uint64_t facts_ns;
	struct rd_facts facts_end; /* stored at the end of the last file */
};

/* Counters of the devices while frames are captured. */
struct loss {
	pthread_t thread; /* reads the counters; serves no ring */
	bool running, stop;
	pthread_mutex_t lock; /* protects both; one thread at a time has sources measure */
	pthread_cond_t wake;
	uint64_t
		slowest_ns; /* longest reading so far, ns; owned by the thread until it has ended */
	/* Counters of each source that is not a follower: at the start and at the end. */
	struct rd_counters before[RD_IFACES_MAX], after[RD_IFACES_MAX];
	uint64_t identity[RD_IFACES_MAX]; /* rd_port_identity() at the start; 0: unknown */
	struct rd_counter_change *changes[RD_IFACES_MAX];
	/* Owned by the thread. */
	uint64_t reported[RD_IFACES_MAX]; /* bits: counters of pause, in their order */
	uint64_t pause_ns;		  /* CLOCK_MONOTONIC: when they are read again */
};

struct owner_events;

/*
 * Owners of the QPs of each source's port. Changed by the main thread until the capture's threads
 * are started, then by the thread that reads counters, then by the main thread again; a recording's
 * writer reads them meanwhile.
 */
struct sampling {
	pthread_mutex_t lock;			 /* protects what the owners have */
	struct rd_clock clock;			 /* of their times; not changed */
	struct rd_owners *owners[RD_IFACES_MAX]; /* NULL: not sampled */
	uint64_t next_ns;			 /* CLOCK_MONOTONIC; 0: never */
	struct owner_events *events;		 /* NULL: only samples */
	bool tried_events;
	uint64_t events_lost;
	_Atomic uint64_t slowest_ns; /* a list of QPs */
	atomic_bool hurried;	     /* the user does not want to wait for any */
};

struct rd_session {
	const struct rd_session_config *config;
	struct inputs in;
	struct output out;
	struct loss loss;
	struct recording recording; /* facts of a recording */
	struct sampling sampling;
	struct rd_identity identity;
	unsigned int n_threads;	 /* 0: one serves all sources */
	int cpus[RD_IFACES_MAX]; /* CPU of each thread; -1: any */
	struct rd_capture capture;
	int stop_fd;
	uint64_t started_ns; /* CLOCK_MONOTONIC */
	struct rd_error error;
	struct rd_session_source listed[RD_IFACES_MAX]; /* without those that follow */
	unsigned int n_listed;
	struct rd_session_result result;
};

static inline bool is_offline(const struct rd_session *s)
{
	return s->config->read != NULL;
}

/* inputs.c */
int inputs_open(struct rd_session *s);
/* The NUMA node that all devices have in common; -1: none, or unknown. */
int inputs_numa_node(const struct rd_session *s);
int inputs_compile_filters(struct rd_session *s);
/* Stores the sources' final numbers. */
void inputs_stats(struct rd_session *s);
void inputs_close(struct rd_session *s);

/*
 * seccomp.c: from now on the kernel refuses calls that a capture has no use for, in all threads and
 * in what they run; runs: they run programs. 0, or an errno: nothing is refused.
 */
int seccomp_restrict(bool runs);

/* output.c */
/* Opens the first file with the rights of the later user; no existing file is changed. */
int out_open(struct rd_session *s);
/* Called after privileges are dropped: truncates the file and starts the writer. */
int out_start(struct rd_session *s);
/* Completes the file; removes one that was opened but not started. */
void out_close(struct rd_session *s);
/* At any time. */
void out_stats(const struct rd_session *s, struct rd_sink_stats *sum);
bool out_to_pipe(const struct rd_session *s);
/* "gz", "zst", NULL. */
const char *out_compression(const struct rd_session *s);

/* recording.c: facts before and after a trigger. */
void recording_free(struct rd_session *s);
/* Reads facts if they are due; from the thread that reads counters, or before it runs. */
void recording_read(struct rd_session *s);
/* rd_sink_ending's `facts`. */
const struct rd_facts *recording_facts(void *session, unsigned int file, bool end);
/* Before the file's statistics and comment are made. */
void recording_ends_file(struct rd_session *s, const struct rd_dump *dump);
/* What the file that ends lacks: the device's part since the counters at its beginning. */
void recording_drops(const struct rd_session *s, struct rd_drops *d);
/* Appends the file's numbers to its comment. */
void recording_comment(
	const struct rd_session *s, const struct rd_file_account *a, char *out, size_t size);

/* comment.c: the texts in the file's header. */
void comment_describe(struct rd_session *s);
/* The file's comment; account is NULL while the file is being written. */
void comment_make(struct rd_session *s, const struct rd_file_account *account);

/* loss.c */
void loss_init(struct rd_session *s);
/* Before the sources are started. */
void loss_before(struct rd_session *s);
/* Starts the thread that reads the counters of loss and the owners of QPs, with the privileges that
 * the caller has. */
int loss_watch(struct rd_session *s);
/* Reads the counters of loss, from any thread. */
void loss_measure(struct rd_session *s);
/* The capture has ended: the last reading, after the kernel's cache has expired. */
void loss_after(struct rd_session *s);
void loss_free(struct rd_session *s);

/* owners.c: which process has which QP. */
/* The first sample, with all privileges, before the next source, of this port, is opened, if it
 * receives frames from then on. */
void owners_before_open(
	struct rd_session *s, const struct rd_device *device, const struct rd_port *port);
/* Before the sources are started: the first sample of the others. */
void owners_begin(struct rd_session *s);
/* Whether the device has few QPs, or the user asks for all. */
/* Until owners_free(), lists of QPs end early where the user does not want to wait for them. */
void owners_init(struct rd_session *s);
bool qps_may_be_listed(const struct rd_session *s, const struct rd_device *device);
bool owners_wanted(const struct rd_session *s);
/* Takes a sample if one is due. */
void owners_tick(struct rd_session *s);
/* The capture has ended: the last sample. */
void owners_end(struct rd_session *s);
/* owner_events.c: owners of QPs that exist between two samples. */
/* Once, with all privileges: makes the kernel report QPs; logs why if it does not. */
void owner_events_open(struct rd_session *s);
/* The kernel reports all QPs, and none was lost. */
bool owner_events_whole(const struct rd_session *s);
/* Starts the thread that looks up the processes. Without it, only the kernel's reports are used. */
void owner_events_watch(struct rd_session *s);
/* Adds what was reported to the owners, from the thread that samples them. */
void owner_events_take(struct rd_session *s);
/* Ends the thread, and adds the remaining reports. */
void owner_events_end(struct rd_session *s);
void owner_events_free(struct rd_session *s);

/* Appends the owners on the port of source `i`, which the facts call `device` and `port`. */
void owners_facts(struct rd_session *s, unsigned int i, const struct rd_device *device,
	const struct rd_port *port, struct rd_facts *to);
void owners_free(struct rd_session *s);

/* pause.c: reports that a port began to send pause frames. In the thread that reads counters. */
void pause_tick(struct rd_session *s);

/* loss_text.c */
/* What these statistics of the sources say; the caller adds what the program itself dropped. */
void loss_drops(
	const struct rd_session *s, const struct rd_source_stats *stats, struct rd_drops *d);
/* "Also counted: rx_discards_phy +200, ...", of all sources; "": nothing. */
void loss_related_text(const struct rd_session *s, char *out, size_t size);

/* scope.c: warns if the capture lacks traffic of other functions. */
void scope_warn(const struct rd_session *s);

/* facts.c: facts stored in the file; facts_for_file() is rd_sink_ending's `facts`. */
void facts_from_file(void *session, const char *json, size_t len);
/* Called before the sources are started: reading is slow, and the rings would fill meanwhile. */
void facts_at_start(struct rd_session *s);
/* Before the next source, of this port, is opened, if it receives frames from then on. */
void facts_before_open(
	struct rd_session *s, const struct rd_device *device, const struct rd_port *port);
void facts_at_end(struct rd_session *s);
const struct rd_facts *facts_for_file(void *output, unsigned int file, bool end);
void facts_free(struct rd_session *s);
