/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Archives: tar, compressed by zstd, through libarchive, which is optional. Without it every
 * function that opens an archive fails. One archive is used by one thread.
 */
#pragma once

#include <rdmadump/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rd_archive;

enum rd_archive_kind {
	RD_ARCHIVE_FILE,
	RD_ARCHIVE_DIRECTORY,
	RD_ARCHIVE_LINK,  /* a symbolic link */
	RD_ARCHIVE_OTHER, /* a hard link, a device: read only */
};

struct rd_archive_entry {
	enum rd_archive_kind kind;
	const char *path;   /* when read: untrusted, "" if it has none */
	const char *target; /* target of a symbolic link; also untrusted */
	uint64_t size;	    /* size of a file, bytes */
	int64_t time;	    /* time of the last change, seconds since the Unix epoch */
};

/*
 * Begins an archive that is written to `fd`, which stays the caller's. Errors name `path`, which
 * stays valid, and advise `todo`. 0, or -1 with RD_CLASS_OUTPUT. rd_archive_free() after success.
 */
int rd_archive_create(struct rd_archive **a, int fd, bool compress, const char *path,
	const char *todo, struct rd_error *err);
/* Begins an entry; after that of a file exactly `size` bytes are put. 0, or RD_CLASS_OUTPUT. */
int rd_archive_put_entry(
	struct rd_archive *a, const struct rd_archive_entry *entry, struct rd_error *err);
int rd_archive_put(struct rd_archive *a, const void *bytes, size_t n, struct rd_error *err);
/* Writes what is buffered. Only after this is the archive complete. */
int rd_archive_finish(struct rd_archive *a, struct rd_error *err);

/*
 * Reads an archive that is not compressed, of `n` bytes, which stay valid until rd_archive_free().
 * NULL if it is none, or memory is short.
 */
struct rd_archive *rd_archive_open_bytes(const void *bytes, size_t n);
/* The next entry, valid until the next call; false at the end, or where the archive is damaged. */
bool rd_archive_next(struct rd_archive *a, struct rd_archive_entry *entry);
/* Reads at most n bytes of the entry. 0 at its end, negative if it cannot be read. */
ssize_t rd_archive_get(struct rd_archive *a, void *buf, size_t n);

/* Frees it; without rd_archive_finish() the archive is incomplete. NULL does nothing. */
void rd_archive_free(struct rd_archive *a);
