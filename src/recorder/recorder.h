/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The parts of a recorder: triggers, the thread that watches for them, the work after each file,
 * and the state that other programs read.
 */
#pragma once

#include "trigger.h"
#include <limits.h>
#include <pthread.h>
#include <rdmadump/array.h>
#include <rdmadump/clock.h>
#include <rdmadump/event.h>
#include <rdmadump/identity.h>
#include <rdmadump/recorder.h>

/* The connection to the recorder of another host. */

#define TELL_NS UINT64_C(100000000) /* between two lines that prolong a file */

struct rd_recorder;
struct trigger;

/* Protected by the recorder's lock, but for what tell_init() sets. */
struct tell {
	char *host, *script; /* host NULL: none */
	char here[64];	     /* the name of this host */
	int in, out;	     /* of the process; -1: it does not run */
	pid_t child;
	unsigned int waiting; /* lines that were written and not confirmed */
	bool warned;
	uint64_t sent_ns; /* time of the last trigger that was sent */
	uint64_t due_ns;  /* monotonic clock: the next attempt to connect; UINT64_MAX: none */
};

/* `to` is HOST:/PATH, or NULL. -1 with RD_CLASS_USAGE. */
int tell_init(struct tell *t, const char *to, struct rd_error *err);
/* Connects if that is due. From the watching thread. */
void tell_keep(struct rd_recorder *r);
/* Takes confirmations, or the end of the connection. From the watching thread. */
void tell_take(struct rd_recorder *r);
/* Whether it fired here: not by a line that the recorder of another host sent. */
bool tell_is_own(const struct trigger *trigger, const char *what);
/* Called with the lock held: a trigger began or prolonged a file at this time. Never waits. */
void tell_line(struct rd_recorder *r, bool begins, uint64_t ns, const char *text);
/* Waits a second at most for confirmations, and ends the process. */
void tell_close(struct rd_recorder *r);

#define FIRINGS	      64  /* the newest ones, whose descriptions are kept */
#define TRIGGER_TEXT  400 /* a line of a log with the path and the pattern of its trigger */
#define PENDING_TEXT  (RD_NOTE_MAX - TRIGGER_TEXT)
#define COUNTER_TIMES 16
#define LINE_BYTES    2048 /* of a longer line the rest does not count */
#define READS_MAX                                                                                  \
	128 /* consecutive reads from one source: an endless writer must not block the others */

#define PENDING_FILES 32  /* maximum number of incomplete files */
#define DETAILED      100 /* triggers of a file that are described; further ones are only named */

/* A trigger that fired. */
struct firing {
	uint64_t ns;
	uint64_t file_ns; /* time of the first trigger of its file */
	char text[TRIGGER_TEXT];
};

/* The triggers of one file. */
struct file_triggers {
	uint64_t ns; /* time of the first one */
	uint64_t n;
	char first[TRIGGER_TEXT];
};

/* A counter that a trigger watches. */
struct watched_counter {
	struct trigger *trigger;
	unsigned int port;				       /* index into counters_watch.ports */
	uint64_t wrapped_ns;				       /* monotonic clock; 0: it did not */
	uint64_t grown;					       /* since it last fired */
	bool above;					       /* the rate was above the limit */
	uint64_t times[COUNTER_TIMES], amounts[COUNTER_TIMES]; /* the newest readings */
	unsigned int at;
};

struct counters_watch {
	struct rd_devices
		devices; /* devices of other ports than the recorded one; loaded if there are any */
	struct watched_port {
		const struct rd_device *device;
		const struct rd_port *port;
		struct rd_counters last; /* the last reading; its time: monotonic clock */
		uint64_t identity;	 /* rd_port_identity() at that reading */
	} ports[RD_TRIGGERS_MAX];
	unsigned int n_ports;
	struct watched_counter counter[RD_TRIGGERS_MAX];
	unsigned int n;
};

/* A FIFO or a log whose lines fire a trigger. */
struct lines {
	struct trigger *trigger;
	int fd;		  /* -1: the log is not there yet */
	int wakes;	  /* becomes readable when there may be more: the FIFO, or inotify's; -1 */
	int mark;	  /* inotify's of the log that is open */
	bool created;	  /* the FIFO, by this program */
	bool warned;	  /* that the log cannot be opened; cleared once one could */
	uint64_t read_ns; /* monotonic clock: the last bytes were read */
	size_t used, judged; /* bytes of the line; of them those that did not fire, or LINE_FIRED */
	char line[LINE_BYTES];
};

/* The thread that watches everything except frames. */
struct watch {
	pthread_t thread;
	bool running;
	int stop_fd;
	struct rd_monitor *monitor;  /* NULL: no trigger is an event */
	int kmsg_fd;		     /* -1: no trigger is a kernel message */
	struct rd_identity identity; /* FIFOs and logs are opened with its rights */
	struct lines lines[RD_TRIGGERS_MAX];
	unsigned int n_lines;
	struct counters_watch counters;
};

/* A report next to a file, until it is complete. */
struct sidecar {
	char path[PATH_MAX];
	char part[PATH_MAX + 8]; /* its name until it is complete */
	struct rd_outfile out;
};

/* The thread that analyses complete files and runs the command. */
struct follow {
	pthread_t thread;
	bool running;
	_Atomic bool stop;
	/* Protected by the recorder's lock. */
	pthread_cond_t wake;
	uint64_t next; /* number of the first file that waits; all later ones do, too */
	bool busy;     /* with the one before */
	pthread_mutex_t child_lock;
	pid_t child; /* its process; 0: none */
};

struct rd_recorder {
	struct rd_recorder_config config;
	struct rd_session_config session_config;
	struct rd_session_recording recording;
	struct rd_watch watches[RD_SESSION_WATCHES];
	struct rd_session *session;
	struct trigger trigger[RD_TRIGGERS_MAX + 1]; /* 0: the signal */
	unsigned int n_triggers;
	struct wire wire;
	struct stall stall;
	struct watch watch;
	struct follow follow;

	/* Used by the lane's thread: the comments of the current batch. */
	enum rd_link link;
	struct trigger *fired_by[RD_BATCH];
	char comment[RD_NOTE_MAX];
	char taken[PENDING_TEXT]; /* the comment of the first frame, from triggers that no frame
				     fired */

	pthread_mutex_t lock; /* protects all below */
	atomic_bool has_pending;
	char pending[PENDING_TEXT]; /* the next frame's comment */
	struct firing firings[FIRINGS];
	uint64_t n_firings;
	struct rd_recorder_counts counts;
	struct tell tell;
	struct file_triggers begun[PENDING_FILES];
	unsigned int newest; /* index of the newest one */
	struct rd_recorder_file *files;
	uint64_t
		n_files; /* number of complete files; the newest RD_RECORDER_FILES are in `files` */
	struct rd_session_progress progress;
	int tick_fd;
	struct rd_clock wall;  /* the system clock when it was last looked at */
	uint64_t notified_ns;  /* the last message to the service manager's watchdog */
	uint64_t state_due_ns; /* the textfile is due */
	bool textfile_failed;  /* the failure was logged */
	bool warned;	       /* a failed file was logged; cleared by a complete file */
};

/* fire.c */
/*
 * Fires a trigger that is not fired by a frame; `what` describes the event. at: its timestamp, as
 * frames have; NULL: now. From any thread.
 */
void recorder_fire(struct rd_recorder *r, struct trigger *t, const uint64_t *at, const char *what);
/* A frame fired a trigger. Returns whether it gets a comment. From the lane's thread. */
bool recorder_fire_frame(struct rd_recorder *r, struct trigger *t, const struct rd_frame *frame);

/* counters.c */
int counters_watch_init(struct rd_recorder *r, struct rd_error *err);
void counters_watch_fini(struct rd_recorder *r);
/* Reads the counters, fires triggers; returns ns until the next reading, UINT64_MAX: never. */
uint64_t counters_watch_read(struct rd_recorder *r);
/* Whether this counter exists on its port, and its name in full. */
bool counters_watch_find(struct rd_recorder *r, const struct trigger *t, char *name, size_t size);

/* explain.c */
/* Warns of triggers that cannot fire on this port. */
void explain_warn(const struct rd_recorder *r);

/* lines.c */
int lines_open(struct rd_recorder *r, struct trigger *t, struct rd_error *err);
/* Warns of logs that can no longer be opened, when privileges are dropped. */
void lines_check(const struct rd_recorder *r);
/* Takes the new lines of all; returns ns until there may be more, unless `wakes` is readable. */
uint64_t lines_take(struct rd_recorder *r);
void lines_close(struct rd_recorder *r);

/* watch.c */
int watch_open(struct rd_recorder *r, struct rd_error *err);
void watch_start(struct rd_recorder *r);
void watch_stop(struct rd_recorder *r);
/* The device is lost to recording: fires `fatal` if no event said so. After watch_stop(). */
void watch_fault(struct rd_recorder *r, const char *what);
void watch_close(struct rd_recorder *r);

/* sidecar.c: the analysis in files next to a capture; used by the thread that analyses. */
/* Creates the report, named like `file` with this suffix. False: not open, and the log says why. */
bool sidecar_create(struct sidecar *b, const char *file, const char *ending);
/*
 * Renames a complete (`whole`) report to its final name, else removes it. Returns whether it was
 * renamed. Does nothing if it is not open.
 */
bool sidecar_finish(struct sidecar *b, bool whole);
/* Removes incomplete reports that no process is writing any more, and logs their names. */
void sidecar_clean(const struct rd_recorder *r);

/* follow.c */
void follow_start(struct rd_recorder *r);
/* With the lock, before another file is added: the oldest one that waits may have to go. */
void follow_make_room(struct rd_recorder *r);
/* Waits until all files are analysed or the caller stops waiting. */
void follow_finish(struct rd_recorder *r);

/* state.c */
/* Writes the textfile if it is due, or `now`. From the watching thread, and at the end. */
void state_write(struct rd_recorder *r, bool now);

/* journal.c */
enum journal_event {
	JOURNAL_TRIGGER, /* a file was started */
	JOURNAL_FILE,	 /* it is complete */
	JOURNAL_FAILED,	 /* it is not */
};
/* Logs `text`; in systemd's journal with a MESSAGE_ID and fields. `trigger`, `dump` may be NULL. */
void journal_log(const struct rd_recorder *r, enum journal_event event, const char *text,
	const char *trigger, const struct rd_dump *dump);

/* notify.c: sd_notify(3) without the library. */
/* A datagram to a socket: a path, or an abstract name after '@'. False: it was not sent. */
bool notify_datagram(const char *path, const char *data, size_t n);
/* Does nothing without NOTIFY_SOCKET. */
void notify_send(const struct rd_recorder *r, const char *state);
/*
 * Notifies the service manager's watchdog that the recorder is alive, if this is due. From the
 * lane's thread; after it has ended, from the thread that waits.
 */
void notify_alive(struct rd_recorder *r);
