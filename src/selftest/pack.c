/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes and reads the archive by libarchive, which is optional. */
#include "pack.h"
#include "bounds.h"
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/selftest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef HAVE_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>

#define COPY_BYTES 65536

bool pack_available(void)
{
	return true;
}

const char *rd_selftest_archiver(void)
{
	return archive_version_string();
}

/* libarchive reports its own errors as negative numbers. */
static int fail_write(struct archive *a, struct rd_error *err)
{
	int errnum = archive_errno(a);

	return rd_fail(err, RD_CLASS_OUTPUT, errnum > 0 ? errnum : EIO,
		"make room or name another directory (--output)", "cannot write the archive");
}

static int copy_bytes(struct archive *a, int fd, struct rd_error *err)
{
	char buf[COPY_BYTES];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		if (archive_write_data(a, buf, (size_t)n) != n)
			return fail_write(a, err);
	if (n < 0)
		return rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, "cannot read the partial result");
	return 0;
}

static int add_file(
	struct archive *a, const char *base, int dir_fd, const char *name, struct rd_error *err)
{
	struct archive_entry *entry;
	char path[512];
	struct stat st;
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), rc = -1;

	if (fd < 0 || fstat(fd, &st) < 0) {
		rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, "cannot read '%s' of the partial result",
			name);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	entry = archive_entry_new();
	snprintf(path, sizeof(path), "%s/%s", base, name);
	archive_entry_set_pathname(entry, path);
	archive_entry_set_size(entry, st.st_size);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_mtime(entry, st.st_mtime, 0);
	if (archive_write_header(a, entry) != ARCHIVE_OK)
		fail_write(a, err);
	else
		rc = copy_bytes(a, fd, err);
	archive_entry_free(entry);
	close(fd);
	return rc;
}

int pack_write(int fd, const char *base, int dir_fd, const char *file, size_t stride,
	unsigned int n, struct rd_error *err)
{
	struct archive *a = archive_write_new();
	int rc = 0;

	if (!a)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "cannot write the archive");
	archive_write_set_format_pax_restricted(a);
	archive_write_add_filter_zstd(a);
	if (archive_write_open_fd(a, fd) != ARCHIVE_OK)
		rc = fail_write(a, err);
	for (unsigned int i = 0; i < n && !rc; i++)
		rc = add_file(a, base, dir_fd, file + i * stride, err);
	if (!rc && archive_write_close(a) != ARCHIVE_OK)
		rc = fail_write(a, err);
	archive_write_free(a);
	return rc;
}

static int fail_read(struct archive *a, const char *path, struct rd_error *err)
{
	const char *why = archive_error_string(a);
	int errnum = archive_errno(a);

	/* EILSEQ is libarchive's own number for a damaged file. */
	if (errnum > 0 && errnum != EILSEQ)
		return rd_fail(err, RD_CLASS_DEVICE, errnum,
			"name an archive that 'rdmadump selftest' wrote", "cannot read '%s'", path);
	return rd_fail(err, RD_CLASS_DEVICE, 0, "name an archive that 'rdmadump selftest' wrote",
		"cannot read '%s': %s", path, why ? why : "not an archive");
}

/* The size in the archive is not trusted. */
static int read_entry(
	struct archive *a, const char *path, char **bytes, size_t *n, struct rd_error *err)
{
	size_t room = COPY_BYTES;
	ssize_t got;

	*n = 0;
	*bytes = malloc(room);
	while (*bytes && (got = archive_read_data(a, *bytes + *n, room - *n)) != 0) {
		if (got < 0)
			return fail_read(a, path, err);
		*n += (size_t)got;
		if (*n < room)
			continue;
		room *= 2;
		if (room > DOCUMENT_BYTES)
			return rd_fail(err, RD_CLASS_DEVICE, EFBIG, NULL, "'%s'", path);
		char *more = realloc(*bytes, room);
		if (!more)
			free(*bytes);
		*bytes = more;
	}
	return *bytes ? 0 : rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "'%s'", path);
}

int pack_read(const char *path, const char *name, char **bytes, size_t *n, struct rd_error *err)
{
	struct archive *a = archive_read_new();
	struct archive_entry *entry;
	int rc = -1, found = ARCHIVE_FATAL;

	*bytes = NULL;
	if (!a)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "'%s'", path);
	archive_read_support_format_tar(a);
	archive_read_support_filter_zstd(a);
	if (archive_read_open_filename(a, path, COPY_BYTES) == ARCHIVE_OK) {
		while ((found = archive_read_next_header(a, &entry)) == ARCHIVE_OK) {
			const char *full = archive_entry_pathname(entry), *last;

			last = full ? strrchr(full, '/') : NULL;
			if (full && strcmp(last ? last + 1 : full, name) == 0)
				break;
		}
	}
	if (found == ARCHIVE_OK)
		rc = read_entry(a, path, bytes, n, err);
	else if (found == ARCHIVE_EOF)
		rd_fail(err, RD_CLASS_DEVICE, 0, "name an archive that 'rdmadump selftest' wrote",
			"'%s' has no %s", path, name);
	else
		fail_read(a, path, err);
	archive_read_free(a);
	if (rc < 0) {
		free(*bytes);
		*bytes = NULL;
	}
	return rc;
}

#else

bool pack_available(void)
{
	return false;
}

const char *rd_selftest_archiver(void)
{
	return "without libarchive: results of selftest are directories";
}

int pack_write(int fd, const char *base, int dir_fd, const char *file, size_t stride,
	unsigned int n, struct rd_error *err)
{
	(void)fd, (void)base, (void)dir_fd, (void)file, (void)stride, (void)n;
	return rd_fail(err, RD_CLASS_OUTPUT, ENOTSUP, NULL, "cannot write the archive");
}

int pack_read(const char *path, const char *name, char **bytes, size_t *n, struct rd_error *err)
{
	(void)name;
	*bytes = NULL;
	*n = 0;
	return rd_fail(err, RD_CLASS_DEVICE, 0,
		"unpack it (tar -xf) and name the directory, or build with libarchive",
		"cannot read '%s': this program was built without libarchive", path);
}
#endif
