/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The capture command in three parts: options (capture.c), the run (session.c), the report
 * (report.c). */
#ifndef RDMADUMP_CLI_CAPTURE_H
#define RDMADUMP_CLI_CAPTURE_H

#include <rdmadump/capture.h>
#include <stdbool.h>
#include <stdint.h>

struct capture_options {
	const char *device; /* as the user names it; NULL: the default one */
	unsigned int port;  /* 0: the one that the name implies */
	unsigned int nth;   /* >0: the nth port of the list, instead of a name */
	const char *path;   /* "-" is stdout */
	const char *format; /* NULL: by the path's ending */
	unsigned int log2_buffers;
	uint32_t max_frame; /* 0: from the port's MTU */
	uint64_t buffer;    /* bytes between receiver and writer */
	uint64_t count;	    /* 0: no limit */
	enum rd_when_full when_full;
	bool unbuffered, json, quiet;
	unsigned int verbose;
};

/* One capture from beginning to end. */
struct session {
	const struct capture_options *opt;
	struct rd_devices devices;
	const struct rd_device *device;
	const struct rd_port *port;
	struct rd_source *source;
	struct rd_encoder encoder;
	struct rd_sink *sink;
	struct rd_capture capture;
	struct rd_section section;
	char hardware[320], os[320], application[128], comment[640];
	struct rd_source_stats source_stats;
	struct rd_sink_stats written;
	int signal; /* that ended it, 0: none */
	bool broken_pipe;
	struct rd_error error;	      /* class NONE: all went well */
	uint64_t last_bytes, last_ns; /* of the progress line */
};

int session_run(struct session *s);

/* The section's texts: machine, system, program. */
void session_describe(struct session *s);
/* The comment that a support engineer reads first; finished = false while it is being written. */
void session_comment(struct session *s, bool finished);

void report_start(const struct session *s);
/* line must hold 160 characters. */
void report_progress(struct session *s, char *line, size_t room);
void report_text(const struct session *s);
void report_json(const struct session *s);

#endif
