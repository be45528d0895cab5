/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The capture command in its parts: options (capture.c, parse.c, ibdump.c, extcap.c), the run
 * (session.c), what frames come from (open.c), privileges (privileges.c), the report (report.c).
 */
#ifndef RDMADUMP_CLI_CAPTURE_H
#define RDMADUMP_CLI_CAPTURE_H

#include "frame_lines.h"
#include <jansson.h>
#include <rdmadump/capture.h>
#include <rdmadump/facts.h>
#include <rdmadump/identity.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

enum decap_mode { DECAP_NONE, DECAP_INNER, DECAP_OUTER };

/* A device as the user names it: by name, or the nth port of the list. */
struct wanted_port {
	const char *name; /* NULL: the default one, or `nth` */
	unsigned int nth;
	unsigned int port; /* 0: the one that the name implies */
};

struct capture_options {
	struct wanted_port wanted[RD_IFACES_MAX];
	unsigned int n_wanted;
	const char *read;     /* capture file to read instead; NULL: a device */
	const char *path;     /* to write to, "-" is stdout; NULL: print frames */
	const char *format;   /* NULL: by the path's ending */
	const char *compress; /* "gz", "zst", "none"; NULL: by the path's ending */
	uint64_t compress_level;
	enum rd_write_mode write_mode;
	enum rd_sync sync;
	unsigned int log2_buffers;
	uint64_t max_frame;	/* 0: from the port's MTU */
	uint64_t buffer;	/* bytes between receiver and writer */
	uint64_t kernel_buffer; /* of a netdev; 0: default */
	uint64_t count;		/* 0: no limit */
	enum rd_when_full when_full;
	struct rd_filter_spec filter;
	bool filter_explain;
	struct rd_cut cut;
	enum decap_mode decap;
	struct rd_rotation rotation;
	uint64_t slice_s;   /* length of a time slice; 0: none */
	bool slice_aligned; /* slices begin at multiples of slice_s of the clock */
	uint64_t duration_s;
	const char *user;  /* to become after opening; NULL: the caller of sudo */
	bool sniffer_only; /* the device's sniffer even where none is known */
	bool unbuffered, json, quiet, print, promiscuous_off, netdev_only, hold, ibdump, no_facts;
	bool analyze;
	bool only_count; /* print nothing but the number of frames */
	enum rd_rx_mode rx_mode;
	enum rd_stamp_type stamps;
	unsigned int queues; /* receive queues of each port; 0: one, and no thread for it */
	bool queues_auto;    /* as many as the port's speed asks for */
	bool per_queue;	     /* a file for each */
	const char *stripe[RD_STRIPES_MAX]; /* directories over which frames are spread */
	unsigned int n_stripes;		    /* 0: path is the file */
	bool list_stamps;
	unsigned int debug, line_style;
};

#define RD_BUFFER_BYTES ((uint64_t)256 << 20)

struct session;
struct live;

/* One file or series of files. */
struct output {
	struct session *s;
	unsigned int index;
	char *path;
	struct rd_sink *sink;
	struct rd_encoder encoder;
	struct rd_section section;
	struct rd_sink_ending ending;
	struct rd_sink_stats written; /* once the sink is closed */
	char comment[640];
	bool rewritable; /* the header's comment, at the end */
	bool started;	 /* its file is begun, its writer runs */
	/* For each file's beginning: read at facts_ns of the monotonic clock, or found in front of
	 * a file's first frame. */
	struct rd_facts facts_start;
	uint64_t facts_ns;
};

/* One capture from beginning to end. */
struct session {
	const struct capture_options *opt;
	struct rd_devices devices;
	struct rd_source *sources[RD_IFACES_MAX];
	const struct rd_device *device[RD_IFACES_MAX]; /* NULL: no RDMA device */
	const struct rd_port *port[RD_IFACES_MAX];
	bool follows[RD_IFACES_MAX];	   /* a further queue of the port before it */
	unsigned int bases[RD_IFACES_MAX]; /* first interface of each source */
	unsigned int n_sources;
	unsigned int n_threads;	 /* 0: one serves all sources */
	int cpus[RD_IFACES_MAX]; /* of each thread; -1: any */
	struct rd_iface ifaces[RD_IFACES_MAX];
	unsigned int n_ifaces;
	struct rd_filter *filters[RD_IFACES_MAX];
	char filter_text[1024];
	struct rd_encoder encoder;
	struct output outputs[RD_IFACES_MAX];
	unsigned int n_outputs;
	struct rd_feed *feeds[RD_IFACES_MAX * RD_STRIPES_MAX]; /* of each thread, of each stripe */
	struct rd_sink *merged[RD_STRIPES_MAX];
	struct rd_capture capture;
	struct rd_section section;
	char hardware[320], os[320], application[128];
	struct rd_source_stats source_stats[RD_IFACES_MAX];
	struct rd_sink_stats written;
	struct rd_identity identity;
	struct rd_inputs inputs; /* files that are read */
	sigset_t signals;	 /* that are blocked and waited for */
	bool told_to_wait[2];	 /* at the end: the output took long, the commands did */
	bool asked_to_end;	 /* by a signal after the capture had ended */
	int signal;		 /* that ended it, 0: none */
	bool broken_pipe;
	struct rd_error error;	      /* class NONE: all went well */
	uint64_t started_ns;	      /* of the monotonic clock */
	uint64_t last_bytes, last_ns; /* of the progress line */
	struct live *live;	      /* --analyze; else NULL */
	struct frame_lines lines;     /* that are printed */
	struct rd_facts facts_end;    /* for the end of the last file */
};

/* session.c. Returns the exit status. */
int session_run(struct session *s);

bool session_to_pipe(const struct session *s);
/* At the end, in the form that is asked for. */
void session_report(const struct session *s);

/* signals.c */
/* Blocks what a capture takes, for good, and ignores what write(2) tells of anyway. */
void signals_block(struct session *s);
/* Waits for a reader of an output that is a FIFO. A descriptor to be closed, or -1. */
int signals_await_reader(struct session *s);
/* A watch of the engine on a signalfd: true if the capture is to end. */
bool signals_ready(void *session, int fd);
/* rd_sink_ending's `waiting`. Does not return when an output is abandoned. */
bool signals_while_waiting(void *output, bool commands);

/* outputs.c */
/*
 * Opens each output's first file as who the program becomes; nothing that exists is changed. What
 * was opened is closed again on an error.
 */
int outputs_open(struct session *s);
/* Privileges are dropped: empties the files and starts the writers. */
int outputs_start(struct session *s);
/* Ends the files; removes those that were opened and not started. */
void outputs_close(struct session *s);
/* Sum over the outputs, at any time. */
void outputs_stats(const struct session *s, struct rd_sink_stats *sum);
/* "gz", "zst", NULL. */
const char *session_compression(const struct session *s);

/* stripes.c */
/* The file's path in the directory of a stripe, to be freed; NULL without memory. */
char *stripe_path(const struct capture_options *o, unsigned int i);
/* The same as the name of a series: where that is expanded by strftime(3), the directory is not. */
char *stripe_pattern(const struct capture_options *o, unsigned int i);
/* Whether a file can be made in each directory; none is made. */
int stripes_check(const struct capture_options *o, struct rd_error *err);
void stripes_text(const struct session *s);
json_t *stripes_json(const struct session *s);

/* open.c: devices, netdevs or a file, as the options say. */
int session_open_sources(struct session *s);
/* -J: prints the types of time stamps of each device that is asked for. Returns the exit status. */
int session_list_stamps(struct session *s);
/* How frames come to us, for the report: NULL-safe first source. */
bool session_is_offline(const struct session *s);

/*
 * descriptors.c: whether so many further queues and all that hangs on them can be opened; raises
 * the soft limit of open files as far as that needs. *most: how many files may be open.
 */
bool descriptors_fit(const struct session *s, unsigned int queues, uint64_t *most);

/* report.c */
void session_describe(struct session *s);
/* The comment that a support engineer reads first; account NULL while the file is written. */
void session_comment(struct output *o, const struct rd_file_account *account);
void report_start(const struct session *s);
void report_progress(struct session *s, char *line, size_t room);
void report_text(const struct session *s);
void report_ibdump(const struct session *s);
void report_json(const struct session *s);
/* Frames that were delivered but came after the last file was full do not count. */
struct rd_tally session_total(const struct session *s);
/* Lost before us, all sources; *known false if one of them cannot tell. */
uint64_t session_lost(const struct session *s, bool *known);

/* facts.c: what is stored beside the frames; the last but one is rd_sink_ending's `facts`. */
void facts_from_file(void *session, const char *json, size_t len);
/* All that can be read now of the devices that are captured on; `when` is "start" or "end". */
void facts_snapshot(const struct session *s, const char *when, struct rd_facts *to);
void facts_at_end(struct session *s);
const struct rd_facts *facts_for_file(void *output, unsigned int file, bool end);
void session_facts_free(struct session *s);

/* update.c: asks the capture of that process for a new file. */
int capture_update(unsigned int pid, struct rd_error *err);

/* live.c: --analyze. */
int live_open(struct session *s);
void live_see(struct live *l, const struct rd_source *source, const struct rd_frame *frames,
	unsigned int n);
/* Draws what is known so far below the line of progress; false: no terminal shows it. */
bool live_show(struct live *l, const char *status);
/* Frames have ended; the terminal is as it was. */
void live_stop(struct live *l);
void live_report(struct live *l);
json_t *live_json(struct live *l);
void live_close(struct live *l);

/* ibdump.c: its format, once the link is known; its messages; bytes of the frames written. */
int ibdump_set_format(struct session *s);
int ibdump_fail(const struct rd_error *err);
uint64_t ibdump_bytes(const struct session *s);

#endif
