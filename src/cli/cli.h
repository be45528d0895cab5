/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs share: their start, streams, messages, colours, the signals that end them. */
#pragma once

#include <jansson.h>
#include <rdmadump/array.h>
#include <rdmadump/log.h>
#include <rdmadump/outfile.h>
#include <signal.h>
#include <stdatomic.h>

/* argv[0] is the command's full name, "rdmadump list". Returns the exit status (enum rd_class). */
typedef int rd_command_fn(int argc, char **argv);

/*
 * What a program does before anything else: refuses to be setuid, cleans the environment if it got
 * capabilities, opens the standard descriptors that are closed, rd_cli_streams(). Returns 0, or the
 * exit status.
 */
int rd_cli_start(void);

/* The main() of a program that is one command, "rdmadump NAME". */
int rd_cli_main(const char *name, rd_command_fn *run, int argc, char **argv);

/* The commands that are programs of their own. */
rd_command_fn rd_cmd_analyze, rd_cmd_bundle, rd_cmd_explain, rd_cmd_selftest;

/*
 * Makes stdout and stderr streams that print control characters other than \n and \t as escapes.
 * Call it before anything is printed. If writing to stdout failed, exit status 0 becomes that of
 * RD_CLASS_OUTPUT.
 */
void rd_cli_streams(void);

/* Colours of a terminal, for what needs attention. */
enum rd_colour { RD_COLOUR_NONE, RD_COLOUR_WARNING, RD_COLOUR_PROBLEM };

/* Whether stdout or stderr is a terminal with colours, and NO_COLOR is not set. */
bool rd_cli_has_colours(FILE *out);

/* Prints a line and a newline on stdout or stderr, in colour if rd_cli_has_colours() or wanted. */
void rd_cli_put_line(FILE *out, enum rd_colour colour, const char *line);

/*
 * Prints one line on stderr at every log level, as several where a terminal is narrower; control
 * characters in it are escaped, also \n.
 */
void rd_cli_say(const char *prefix, const char *line);
/* ... of a report, behind two blanks. */
void rd_cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The columns of a terminal, or $COLUMNS; 0: it is none. */
unsigned int rd_cli_columns(int fd);

/*
 * Prints a document, which it consumes, and a newline. -1 if memory ran out, also if `document` is
 * NULL. Whether all could be written is checked when the program ends, as for all other output.
 */
int rd_cli_put_json(json_t *document, size_t flags, struct rd_error *err);

/* An allocation failed: see wrapped.c. */
extern _Atomic bool rd_cli_out_of_memory;

/* Whether an output failed because the reader of a pipe had closed its end. */
bool rd_cli_is_closed_pipe(const struct rd_error *err);

/*
 * Prints the error as "rdmadump: what: why; what to do" and returns its exit status. If the reader
 * of standard output has closed the pipe, like head(1), it is not an error: prints nothing and
 * returns 0.
 */
int rd_cli_fail(const struct rd_error *err);

/* Prints the program's messages up to level `max` on stderr, one per line. */
void rd_cli_log(enum rd_level max);

/* Shows the progress line on a terminal, where messages replace it; NULL removes it. */
void rd_cli_status(const char *line);

/*
 * Prevents these signals from ending the process. SIGUSR1 and SIGUSR2 are blocked: a running
 * capture handles them, other commands never do. SIGPIPE and SIGXFSZ are ignored: write() fails
 * instead.
 */
void rd_cli_hold_requests(void);

/* The signals that end a command: SIGINT, SIGTERM, and SIGHUP unless it is ignored. */
void rd_cli_ending_signals(sigset_t *set);
/* Has them set rd_cli_ended. `flags` of sigaction(2): SA_RESETHAND, for the second to end it. */
void rd_cli_catch_ending(int flags);
/* ... and only while rd_cli_wait() waits with the mask `before`, so that none is missed. */
void rd_cli_hold_ending(sigset_t *before);
/* Until the descriptor is ready, if there is one, a signal, or this time of the monotonic clock. */
struct pollfd;
void rd_cli_wait(struct pollfd *fd, uint64_t end_ns, const sigset_t *let_in);
extern volatile sig_atomic_t rd_cli_ended;
/* Whether one of them is pending; it stays so. */
bool rd_cli_is_ending(void);
/*
 * Call it every 50 ms while a command waits for an adapter's command gateway; *wait is zero at
 * first. `ended`: a signal has ended the command; a pending signal counts too, and stays pending.
 * Returns false some seconds later: do not wait any longer. From any thread.
 */
struct gateway_wait {
	atomic_uint calls;
	_Atomic uint64_t end_ns;
	atomic_bool announced[2];
};
bool rd_cli_wait_for_gateway(struct gateway_wait *wait, bool ended);

/* --sysroot of the commands that read devices. */

/* The row of the option, of settings with a `sysroot`: "" is this machine. */
#define SYSROOT_OPTION(help)                                                                       \
	{                                                                                          \
		"sysroot", 0, "DIR", "Read the copied sysfs tree DIR/sys" help, STRING(sysroot)    \
	}

/*
 * Runs it with the rights of the user who called sudo: links in a tree that is not root's may lead
 * to any file. Returns its result, or -1.
 */
int run_as_caller(int (*run)(void *ctx, struct rd_error *err), void *ctx, struct rd_error *err);

/* Runs a command, as the caller of sudo if it reads a copied tree. Returns the exit status. */
int run_on_tree(
	const char *sysroot, int (*run)(void *settings, struct rd_error *err), void *settings);

/* Files that reports (HTML, JSON, Prometheus) are written to, never over a capture or an input. */

/*
 * Called before any work. 0 if a report may be written to `path`; -1 with RD_CLASS_USAGE if that is
 * an input or contains a capture. Changes nothing. `option` is named in the error.
 */
int report_file_check(
	const char *path, const char *option, const struct rd_inputs *inputs, struct rd_error *err);
/*
 * The same check, then opens and truncates the file, with the rights of the caller of sudo if there
 * is one; `private`: an existing file gets mode 0600, as a capture does. "/dev/fd/N" is a
 * descriptor of this process. NULL with the error. Close it with report_file_close().
 */
FILE *report_file_open(const char *path, const char *option, const struct rd_inputs *inputs,
	bool private, struct rd_error *err);
/* Closes it. A regular file that is not `whole` is removed, no link to one. -1 with the error. */
int report_file_close(
	FILE *file, const char *path, const char *option, bool whole, struct rd_error *err);
