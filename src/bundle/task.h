/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Internal interface of this folder: what the user asked for, tasks (for each device, netdev or
 * file a row of the table of members with its result), and what becomes of their output.
 */
#pragma once

#include <limits.h>
#include <rdmadump/archive.h>
#include <rdmadump/array.h>
#include <rdmadump/device.h>
#include <rdmadump/identity.h>
#include <rdmadump/outfile.h>
#include <rdmadump/redact.h>
#include <signal.h>

/* The table of all possible members of a bundle. */

enum form {
	FORM_TEXT,    /* standard output and error of the command */
	FORM_OUTPUT,  /* standard output only; errors are noted in the manifest */
	FORM_TREE,    /* a tar archive, whose entries become members below `name` */
	FORM_CAPTURE, /* written to a file: may be long */
	FORM_COPY,    /* a file, copied */
};

/* When a command is started. Commands of a phase run in parallel, after those of the last phase. */
enum phase {
	PHASE_COLLECT, /* second, and the default: other tools, and members that wait */
	PHASE_READ,    /* first: what this program reads by itself, with more time than a tool */
	PHASE_ADAPTER, /* third: tools that open an adapter (@mlxpci), as run.c describes */
	PHASE_ANALYZE, /* fourth */
};

/*
 * Name and command may have one placeholder, and the row is repeated for each of its values:
 * @device (RDMA devices), @netdev (of their ports), @pci (their PCI functions), @mlxpci (those of
 * NVIDIA's adapters), @port (the port that is captured), @file (a given capture). @files in a
 * command are all given captures, @seconds the capture's length, @capture its file as standard
 * input.
 */
struct member {
	const char *name, *what;
	const char *command; /* "rdmadump" is that of this installation; words are separated by one
				blank */
	enum form form;
	enum phase phase;
	bool root;	    /* without root it is incomplete or fails */
	bool addresses;	    /* may contain addresses, names of hosts and users, serial numbers */
	int also_whole;	    /* a nonzero exit status that does not mean incomplete output */
	size_t bytes;	    /* limit of the output, which is truncated there; 0: MEMBER_BYTES */
	const char *unless; /* a tool that prints the same: not run where that is installed */
	bool also; /* a further output of the command of the row before: its descriptors are
		      3, 4 */
};

#define MEMBER_BYTES ((size_t)4 << 20)

extern const struct member members[];
extern const unsigned int n_members;

#define RD_MANIFEST		 "manifest.json" /* the member that lists the others */
#define RD_MANIFEST_VERSION	 3
#define RD_BUNDLE_FILES		 32 /* captures that can be given */
#define RD_BUNDLE_LIMIT_S	 4  /* default time limit of one command, s */
#define RD_BUNDLE_ADAPTER_S	 60 /* time limit of a tool that opens an adapter, s */
#define RD_BUNDLE_CAPTURE_MOST_S 3600

/* What the user asked for, and this machine. */
struct rd_bundle_config {
	const char *device; /* of --capture */
	const char *part;   /* the only part that is written */
	const char *output; /* "-": standard output, NULL: rdmadump-bundle-HOST-DATE.tar.zst */
	const char *map;    /* where to write the map of replacements; NULL: output and ".map" */
	const char *files[RD_BUNDLE_FILES]; /* captures to be included */
	unsigned int n_files;
	uint64_t capture_s; /* 0: no capture */
	uint64_t limit_s; /* seconds that a tool may take; all together about eight times as long */
	uint64_t adapter_s; /* seconds that a tool that opens an adapter may take */
	bool dry_run, json;
	bool redact;			   /* replace what identifies machines and people */
	const char *capture_port;	   /* "mlx5_0:1"; NULL: no capture */
	const struct rd_devices *devices;  /* this machine's */
	const volatile sig_atomic_t *stop; /* not 0: end without a bundle */
	/* Called at intervals; may be NULL. `doing` is a member's name. */
	void (*progress)(unsigned int done, unsigned int all, const char *doing);
};

/*
 * Collects and writes the bundle; `path` is its name. The manifest is returned in *manifest, which
 * the caller frees. On failure (-1 with the error) no file is left, and *manifest is NULL.
 * No child process is left but tools that could not be ended. Starts programs; call it before any
 * thread is started.
 */
int rd_bundle_create(const struct rd_bundle_config *config, char path[PATH_MAX], json_t **manifest,
	struct rd_error *err);
/* The planned content of a bundle, as a manifest without sizes. NULL: out of memory. */
json_t *rd_bundle_plan(const struct rd_bundle_config *config);

/*
 * Writes one part of a bundle to `fd`: what this program reads by itself, in a process of its own,
 * so that a read that hangs can be ended. Notes go to the log. -1 with RD_CLASS_USAGE for an
 * unknown name.
 */
int rd_bundle_part(const char *name, int fd, struct rd_error *err);

/* --- tasks -------------------------------------------------------------------------------- */

#define TASK_ARGS 64
#define TASK_ALSO 2 /* most further outputs of a command */
#define TASK_ERROR_TEXT                                                                            \
	2048 /* bytes of standard error that are kept if it is not part of the member */

enum outcome {
	OUTCOME_WAITING,
	OUTCOME_RUNNING,
	OUTCOME_ENDED,	   /* with its exit status */
	OUTCOME_ABSENT,	   /* no such program, or no such file */
	OUTCOME_NOTHING,   /* this machine has nothing that the row applies to */
	OUTCOME_SAME,	   /* another tool that prints the same is installed */
	OUTCOME_TIMED_OUT, /* it was killed, or interrupted if it opens an adapter */
	OUTCOME_STUCK,	   /* that did not end it */
	OUTCOME_BUSY,	   /* it was not started: `holder` still uses the adapter */
	OUTCOME_LATE,	   /* the time limit of all commands expired before it started */
	OUTCOME_FAILED,	   /* it could not be started or copied: `errnum` */
	OUTCOME_LEFT_OUT,  /* it cannot be redacted: `left_out` */
};

struct bytes {
	char *data; /* NUL-terminated, or NULL */
	size_t n, capacity, most;
	bool cut; /* there was more than `most` */
};

struct task {
	const struct member *member;
	char *name;
	char *words; /* the memory of argv */
	char *argv[TASK_ARGS + 1];
	char *command;	   /* as printed */
	bool own;	   /* rdmadump, of this installation */
	const char *path;  /* path of a file to be copied */
	int in, out;	   /* files for standard input and output; -1: none, a pipe */
	int file;	   /* file without a name that has its bytes; -1: they are in `output` */
	char function[32]; /* PCI function of the adapter that it opens; "": none */
	const struct task *holder;
	const struct task *first; /* whose command writes this one as a further output; or NULL */
	unsigned int n_also;	  /* the next ones are further outputs of its command */
	unsigned int more_ms;	  /* added to the time limit */
	enum outcome outcome;
	char *left_out;	    /* why */
	int errnum, status; /* status: of waitpid() */
	pid_t pid;
	int out_pipe, error_pipe; /* -1: at their end */
	struct bytes output, errors;
	uint64_t began_ns, ended_ns, signal_ns; /* signal_ns: when it was signalled, 0: not yet */
	bool was_killed, is_stopped, is_reaped;
};

struct tasks {
	struct task *task;
	unsigned int n;
	struct rd_redact *redact; /* of the entries of trees; NULL: they stay as they are */
};

/* A task that has not begun, without a name and a command. */
struct task task_new(const struct member *member);
/* Rows of the table as tasks for this machine. -1: out of memory. tasks_free() in any case. */
int tasks_make(struct tasks *tasks, const struct rd_bundle_config *config);
void tasks_free(struct tasks *tasks);
/* What is missing and why, in a few words; "" if the member is complete. */
void task_why(const struct task *t, char *buf, size_t size);
/* Whether it failed or is incomplete; not if nobody requested it or this machine cannot have it. */
bool task_failed(const struct task *t);
/*
 * Opens a regular file that the user named, with the rights of the user who gets the bundle (the
 * caller of sudo). Its descriptor, or -1 with errno, 0 if it is not a regular file.
 */
int open_given(const char *path);
/* The same for the file that the task copies; sets its outcome. */
int task_open_file(struct task *t);
/* Makes a file name from text: keeps letters, digits, ".", "_" and "-". */
void file_name(char *buf, size_t size, const char *text);

/*
 * Runs the tasks of a phase, several at once, each with its limit. Returns false if `stop` ended
 * it. In both cases no child is left, except those that are blocked in the kernel, and tools of
 * adapters that did not end when interrupted.
 */
bool tasks_run(struct tasks *tasks, enum phase phase, const struct rd_bundle_config *config);

/* --- entries.c: members as entries of the archive ------------------------------------------ */

#define BUNDLE_INTERRUPTED "interrupted: no bundle was written"

/* A member, or a part of a tree. */
struct entry {
	const char *name, *target; /* target: of a link */
	enum rd_archive_kind kind;
	const void *bytes; /* NULL: they are in `fd` */
	int fd;
	uint64_t size;
	const struct task *task; /* its source; NULL: the bundle itself */
};

/* A result other than 0 ends the walk. */
typedef int entry_fn(void *ctx, const struct entry *e, struct rd_error *err);
/*
 * Calls fn for each entry of all tasks that have ended, always in the same order. Returns fn's last
 * result.
 */
int entries_each(const struct tasks *tasks, entry_fn *fn, void *ctx, struct rd_error *err);
/* Writes one into an archive. -1 with the error, also when *stop is not 0. */
int entry_write(const struct entry *e, struct rd_archive *a, const char *path, int64_t time,
	const volatile sig_atomic_t *stop, struct rd_error *err);
/*
 * Opens a file without a name beside the output `path`, so that no file remains, however the
 * program ends. Returns its descriptor; -1 with the error.
 */
int unnamed_file(const char *path, struct rd_error *err);
/* Appends at most `most` bytes of one file to another. -1 with an error, also if it was stopped. */
int copy_bytes(int from, int to, uint64_t most, const char *name, const volatile sig_atomic_t *stop,
	struct rd_error *err);

/* --- result.c: a file that gets its name only when it is complete ---------------------------- */

struct result {
	const char *option; /* names the file in advice */
	char path[PATH_MAX];
	char part[PATH_MAX + 16]; /* the temporary file; `path` if not a regular file */
	struct rd_outfile out;
	bool is_stdout;
};

/*
 * Called before any work, after the caller has assumed the rights of the user who called sudo.
 * Checks that `path` ("-": standard output) can be written and is not an input. The temporary file
 * has a unique name, so that two runs with the same `path` do not collide. -1 with the error; no
 * file is left then.
 */
int result_open(struct result *o, const char *path, const char *option,
	const struct rd_inputs *inputs, struct rd_error *err);
/* The descriptor to write to. If the file exists, it is truncated. -1: error. */
int result_begin(struct result *o, struct rd_error *err);
/* Renames it to its final name. */
int result_finish(struct result *o, const struct rd_identity *identity, struct rd_error *err);
/* Removes the temporary file if it was not renamed. */
void result_abandon(struct result *o, const struct rd_identity *identity);

/* --- tree.c: the files in a task's tar archive ----------------------------------------------- */

/*
 * Calls fn for each entry until the archive is damaged or truncated. Returns fn's last result. With
 * `redact`, entries are redacted; in its first pass they are only collected, and fn may be NULL.
 */
int tree_each(const struct task *t, struct rd_redact *redact, entry_fn *fn, void *ctx,
	struct rd_error *err);
/* The error that memory ran out; always returns -1. */
int redaction_failed(struct rd_error *err);

/* --- manifest.c: what is in the bundle, and what is not -------------------------------------- */

/*
 * The format is that of docs/schema/bundle.json; the caller owns the result. `took_ns` 0: the
 * manifest is a plan, and lists the members that would be there. `host` is the machine's name as
 * printed. NULL: out of memory.
 */
json_t *manifest_make(const struct tasks *tasks, const struct rd_bundle_config *config,
	const char *host, uint64_t start_ns, uint64_t took_ns);
/* A member that no command wrote. */
json_t *manifest_member(const struct entry *e);

/* --- redaction.c: the same replacements in all members, including captures ------------------- */

/*
 * Called after all tasks have ended. Redacts their output, messages, names and commands; captures
 * become other files beside the output `path`; trees are redacted by tree_each(). A member that
 * cannot be redacted is omitted, and its task has the reason. Starts a process. -1 with the error.
 */
int redaction_run(struct rd_redact *r, struct tasks *tasks, const char *path,
	const struct rd_bundle_config *config, struct rd_error *err);
/* Writes the map to `fd` as docs/schema/bundle-map.json describes it. */
int redaction_write_map(const struct rd_redact *r, const char *bundle, uint64_t start_ns, int fd,
	struct rd_error *err);

/* index.html: the page that a support engineer opens first. */

/*
 * Writes the page; the manifest lists the members. The summary, for the caller, is an object with
 * "headline" and "verdicts". -1: out of memory.
 */
int page_write(FILE *out, const struct tasks *tasks, const json_t *manifest, json_t **summary);

/* --- page_facts.c: about the machine, and the tasks that they are read from --- */

/* The task of a member; NULL: there is none. */
const struct task *page_task(const struct tasks *tasks, const char *name);
/* Its output, which the caller owns; NULL: it has none that is JSON. `t` may be NULL. */
json_t *page_json(const struct task *t);
/* One line: of which host, when, by what. */
void page_origin(FILE *out, const json_t *manifest);
/* What support asks first: distribution, kernel, driver, libraries. */
void page_facts(FILE *out, const struct tasks *tasks, const json_t *manifest);

/* --- page_facts.c: text that is not trusted --- */

/* Like fprintf(): %s is escaped, without control characters; %d is a json_int_t. No others. */
void page_put(FILE *out, const char *format, ...);
/* An element with text; writes nothing if the text is empty. */
void page_element(FILE *out, const char *open, const char *text, const char *close);
