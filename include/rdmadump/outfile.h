/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files that the program writes. Opening one changes no existing file, so that a command can still
 * be refused; only rd_outfile_begin() truncates the file. An input of the command is never opened
 * for writing.
 */
#pragma once

#include <rdmadump/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#define RD_INPUTS_MAX 80

/* Identifies an open or existing file, whatever its name: hard link, symbolic link, /dev/fd. */
struct rd_file_id {
	dev_t dev;
	ino_t ino;
};

/* The regular files that a command reads; no output may be one of them. */
struct rd_inputs {
	struct rd_file_id id[RD_INPUTS_MAX];
	size_t n;
};

/*
 * Adds the file at `path` ("-": standard input). Ignored if it is absent, not a regular file, or
 * more than RD_INPUTS_MAX.
 */
void rd_inputs_add(struct rd_inputs *inputs, const char *path);
/* True if `fd` is one of them. */
bool rd_inputs_have_fd(const struct rd_inputs *inputs, int fd);
/* True if the file at `path` is one of them. */
bool rd_inputs_have(const struct rd_inputs *inputs, const char *path);

struct rd_outfile {
	int fd; /* for writing; -1: not open */
	bool regular;
	bool created; /* by rd_outfile_open() */
	struct rd_file_id id;
};

/*
 * Whether another user created the file of this name, in a directory like /tmp: a link could lead
 * to one of our files, a regular file would give away our data, a FIFO would block us. A file with
 * several hard links is also refused. This is the rule of the kernel's fs.protected_symlinks,
 * _regular, _fifos and _hardlinks, which are 0 on some machines. No other user can replace a name
 * that passes: the directory is sticky.
 */
bool rd_outfile_is_planted(const char *path);
/*
 * Opens `path`, created with mode 0600 if it is absent; waits for the reader of a FIFO. Refuses
 * what rd_outfile_is_planted(). `inputs` may be NULL. Returns 0, or -1 with RD_CLASS_OUTPUT
 * (RD_CLASS_USAGE for an input of the command); nothing is changed then, and nothing is open.
 */
int rd_outfile_open(struct rd_outfile *f, const char *path, const struct rd_inputs *inputs,
	struct rd_error *err);
/*
 * The same for a name that this program generated and others can predict: does not follow a link or
 * wait for a FIFO.
 */
int rd_outfile_open_own(struct rd_outfile *f, const char *path, const struct rd_inputs *inputs,
	struct rd_error *err);
/*
 * The same for a name that no file may have: 1, and nothing is open, if there is one. Of several
 * processes that make the same name, one has it.
 */
int rd_outfile_open_new(struct rd_outfile *f, const char *path, const struct rd_inputs *inputs,
	struct rd_error *err);
/*
 * Makes a new file of mode 0600; `path` ends with ".XXXXXX", which is replaced to make the name
 * unique, and left out in errors. 0, or -1 with RD_CLASS_OUTPUT.
 */
int rd_outfile_open_unique(struct rd_outfile *f, char *path, struct rd_error *err);
/*
 * Makes an existing regular file private (0600). If it belongs to another user, who could read the
 * output, this is logged as a warning. Never fails.
 */
void rd_outfile_make_private(const struct rd_outfile *f, const char *path);
/* Truncates a regular file to length 0. Returns 0, or -1 with RD_CLASS_OUTPUT. */
int rd_outfile_begin(const struct rd_outfile *f, const char *path, struct rd_error *err);
/* Closes it, and removes it if rd_outfile_open() created it. Does nothing if it is not open. */
void rd_outfile_abandon(struct rd_outfile *f, const char *path);

/*
 * Replaces a file that all may read, as a whole: a reader sees the old or the new content, never a
 * part. `put` writes it; -1 with the error.
 */
int rd_outfile_replace(const char *path, int (*put)(void *ctx, FILE *out, struct rd_error *err),
	void *ctx, struct rd_error *err);
/* -1 with RD_CLASS_OUTPUT if writing to standard output failed, or it is closed; else 0. */
int rd_stdout_check(int errnum, struct rd_error *err);
/* Writes all bytes, also if it is interrupted by a signal. 0, or -1 with errno. */
int rd_write_whole(int fd, const void *bytes, size_t n);
