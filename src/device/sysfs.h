/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only code that reads sysfs: reads are bounded, and text is sanitized.
 *
 * Every call takes the path as a printf format. A file that is absent, unreadable or refuses to be
 * read (ENOENT, EACCES, EINVAL, ENODEV) yields -1: unknown. Text is returned as printable ASCII,
 * safe for a terminal, without trailing blanks or newline. Plain path calls only (open, read,
 * opendir, readlink, stat): the tests' device model redirects them.
 */
#pragma once

#include <rdmadump/array.h>
#include <rdmadump/printable.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#define RD_SYSFS_MAX	 4096 /* longest value in bytes: sysfs returns at most a page */
#define RD_SYSFS_ENTRIES 8192 /* entries listed per directory at most */

struct rd_names {
	char **name; /* raw names: for paths, not for printing */
	size_t n;
};

/* Reads at most `size` raw bytes. Returns their number, or -1 with errno. */
ssize_t rd_sysfs_bytes(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The value, truncated to `size`; on failure buf is "". */
int rd_sysfs_text(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * A file of /proc that needs several reads: at most `size` bytes, then a NUL; buf has room for size
 * + 1 bytes. Returns the number of bytes.
 */
ssize_t rd_sysfs_file(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int rd_sysfs_u64(uint64_t *value, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* 0: unknown, or larger. */
uint32_t rd_sysfs_u32(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The value after "KEY=" in a uevent file. */
int rd_sysfs_uevent(char *buf, size_t size, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The last component of a link's target. */
int rd_sysfs_link(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Opens a binary file, like a function's configuration space; -1 with errno. */
int rd_sysfs_open(int flags, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As stat(2). */
int rd_sysfs_stat(struct stat *st, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool rd_sysfs_exists(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * The entries of a directory except "." and "..", in natural order. -1 with errno if it cannot be
 * read (names is then empty); rd_names_free() in any case.
 */
int rd_sysfs_list(struct rd_names *names, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void rd_names_free(struct rd_names *names);

/*
 * Reads n bytes written as hex with a colon after each `group` bytes (MAC address: 1, GUID and
 * GID: 2); the whole text must be used.
 */
int rd_hex_bytes(const char *text, unsigned int group, uint8_t *out, size_t n);
