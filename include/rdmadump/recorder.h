/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The flight recorder: keeps the newest frames of a port in memory, and writes those before and
 * after a trigger into a file of their own. A recorder runs one session (session.h); it prints
 * nothing.
 */
#pragma once

#include <rdmadump/session.h>

#define RD_TRIGGERS_MAX 64

/* All strings and pointers must outlive the recorder. */
struct rd_recorder_config {
	/*
	 * What to capture and how; `path` is the name of the series. The recorder sets the fields
	 * of the caller's part that it uses itself: recording, frames, commented, comment, ctx,
	 * ready and ended, and one more watch than there are.
	 */
	struct rd_session_config session;
	struct rd_retention retention; /* its callbacks are set by the recorder */
	const char *const *triggers;   /* n_triggers texts, see rd_triggers_parse() */
	unsigned int n_triggers;
	const char *program;  /* that is run as "PROGRAM --json --html ..." for each file;
				 NULL: files are not analysed */
	const char *command;  /* run with the name of each file once it is analysed; NULL: none */
	const char *tell;     /* HOST:/PATH, the FIFO of another recorder; NULL: none */
	const char *textfile; /* for Prometheus; NULL: none */
	bool notify;	      /* the service manager, by NOTIFY_SOCKET */
	void *ctx;
	/* From the thread of rd_recorder_run(): frames come; no more come. May be NULL. */
	void (*started)(void *ctx);
	void (*ended)(void *ctx);
	bool (*waiting)(void *ctx, bool commands); /* as that of the session */
};

struct rd_recorder;

/* Statistics up to now. */
struct rd_recorder_counts {
	uint64_t fired;	       /* all triggers: the sum of the following */
	uint64_t begun;	       /* that began a file */
	uint64_t extended;     /* ... that were within the time of one */
	uint64_t held;	       /* ... that were ignored: too soon after a file */
	uint64_t closed;       /* ... that were ignored: no more files were to be written */
	uint64_t files;	       /* complete files */
	uint64_t files_failed; /* files that could not be written completely: cut, or removed */
	uint64_t files_found, bytes_found; /* files of the same name that existed before */
	uint64_t bytes;			   /* bytes of complete files */
	uint64_t frames;
	uint64_t forgotten;    /* conversations evicted from the triggers' full table */
	uint64_t not_analysed; /* files whose analysis failed */
	uint64_t commands_failed;
	uint64_t sent, confirmed; /* triggers, to and by the recorder of another host */
	size_t memory;		  /* bytes for frames */
	bool locked;
};

/* One trigger, for the report. */
struct rd_recorder_trigger {
	const char *text; /* as given; "SIGUSR1" */
	uint64_t fired;
};

/* A complete file, for the report. */
struct rd_recorder_file {
	struct rd_dump dump; /* without its error */
	char *reason;	     /* of its first trigger */
	uint64_t triggers;
	bool analysed;
};

/*
 * Opens the session and prepares the triggers; nothing is written. -1 with the error, as
 * rd_session_open(), and RD_CLASS_USAGE for a trigger that is wrong.
 */
int rd_recorder_open(
	struct rd_recorder **r, const struct rd_recorder_config *config, struct rd_error *err);
/* Records until the session ends. 0, or -1 with the error in rd_session_result(). */
int rd_recorder_run(struct rd_recorder *r);
/* NULL is legal. */
void rd_recorder_close(struct rd_recorder *r);

struct rd_session *rd_recorder_session(struct rd_recorder *r);
/* A trigger from outside: a signal. From the thread of the session, between ready and ended. */
void rd_recorder_signal(struct rd_recorder *r);
/* From any thread. */
void rd_recorder_counts(struct rd_recorder *r, struct rd_recorder_counts *counts);
/* Trigger i, 0 is the signal. False: there are not so many. */
bool rd_recorder_trigger(
	const struct rd_recorder *r, unsigned int i, struct rd_recorder_trigger *trigger);
/* After the run: the newest complete files, at most RD_RECORDER_FILES; *first: its number. */
#define RD_RECORDER_FILES 1000
const struct rd_recorder_file *rd_recorder_files(
	const struct rd_recorder *r, unsigned int *n, uint64_t *first);
/*
 * A description of trigger i, and whether it can fire on this port: several lines, to be freed.
 * NULL: out of memory, or no such trigger.
 */
char *rd_recorder_explain(struct rd_recorder *r, unsigned int i);
