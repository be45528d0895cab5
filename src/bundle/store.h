/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The members until they are archived: their bytes are in unnamed files, so that no file remains,
 * however the program ends.
 */
#ifndef RDMADUMP_BUNDLE_STORE_H
#define RDMADUMP_BUNDLE_STORE_H

#include <rdmadump/archive.h>
#include <rdmadump/error.h>
#include <rdmadump/sha256.h>
#include <signal.h>
#include <stdint.h>

#define BUNDLE_INTERRUPTED "interrupted: no bundle was written"

struct task;

struct stored {
	char *name, *target; /* target: of a link */
	enum rd_archive_kind kind;
	int fd; /* where its bytes are */
	uint64_t at, size;
	char sha256[RD_SHA256_TEXT];
	const struct task *task; /* the source of the member; NULL: the bundle itself */
};

struct store {
	char directory[4096];
	const volatile sig_atomic_t *stop; /* not 0: copying ends with an error */
	int fd;
	uint64_t end;
	struct stored *stored;
	size_t n, capacity;
};

/*
 * In the directory of `path`; the caller owns `stop`. 0, or -1 with RD_CLASS_OUTPUT. store_close()
 * in any case.
 */
int store_open(
	struct store *s, const char *path, const volatile sig_atomic_t *stop, struct rd_error *err);
void store_close(struct store *s);
/* Opens another unnamed file. Returns its descriptor, which the caller owns; -1 with the error. */
int store_file(const struct store *s, struct rd_error *err);
/* Adds bytes, a link, a directory. -1 with the error. */
int store_put(struct store *s, const char *name, const void *bytes, size_t n,
	const struct task *task, struct rd_error *err);
int store_put_entry(struct store *s, const char *name, enum rd_archive_kind kind,
	const char *target, const struct task *task, struct rd_error *err);
/*
 * Adds a copy of the file `fd`, at most `most` bytes; `adopt`: the file itself, whose descriptor
 * must stay open as long as the store.
 */
int store_take(struct store *s, const char *name, int fd, uint64_t most, bool adopt,
	const struct task *task, struct rd_error *err);
/* Writes one member into an archive. -1 with the error, also when *stop is not 0. */
int store_write(const struct stored *m, struct rd_archive *a, const char *path, int64_t time,
	const volatile sig_atomic_t *stop, struct rd_error *err);

#endif
