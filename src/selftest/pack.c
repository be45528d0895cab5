/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A result's archive: its files below one folder. */
#include "pack.h"
#include "bounds.h"
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/archive.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES 65536

static int copy_bytes(struct rd_archive *a, int fd, struct rd_error *err)
{
	char buf[COPY_BYTES];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		if (rd_archive_put(a, buf, (size_t)n, err) < 0)
			return -1;
	if (n < 0)
		return rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, "cannot read the partial result");
	return 0;
}

static int add_file(
	struct rd_archive *a, const char *base, int dir_fd, const char *name, struct rd_error *err)
{
	struct rd_archive_entry entry = {.kind = RD_ARCHIVE_FILE};
	char path[512];
	struct stat st;
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), rc = -1;

	if (fd < 0 || fstat(fd, &st) < 0) {
		rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, "cannot read '%s' of the partial result",
			name);
	} else {
		snprintf(path, sizeof(path), "%s/%s", base, name);
		entry.path = path;
		entry.size = (uint64_t)st.st_size;
		entry.time = st.st_mtime;
		rc = rd_archive_put_entry(a, &entry, err);
		if (rc == 0)
			rc = copy_bytes(a, fd, err);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

int pack_write(int fd, const char *base, int dir_fd, const char *file, size_t stride,
	unsigned int n, struct rd_error *err)
{
	struct rd_archive *a;
	int rc = 0;

	if (rd_archive_create(
		    &a, fd, true, "free some space or name another directory (--output)", err) < 0)
		return -1;
	for (unsigned int i = 0; i < n && !rc; i++)
		rc = add_file(a, base, dir_fd, file + i * stride, err);
	if (!rc)
		rc = rd_archive_finish(a, err);
	rd_archive_free(a);
	return rc;
}

/* The size in the archive is not trusted. */
static int read_entry(
	struct rd_archive *a, const char *path, char **bytes, size_t *n, struct rd_error *err)
{
	size_t size = COPY_BYTES;
	ssize_t got;

	*n = 0;
	*bytes = malloc(size);
	while (*bytes && (got = rd_archive_get(a, *bytes + *n, size - *n, err)) != 0) {
		if (got < 0)
			return -1;
		*n += (size_t)got;
		if (*n < size)
			continue;
		size *= 2;
		if (size > DOCUMENT_BYTES)
			return rd_fail(err, RD_CLASS_DEVICE, EFBIG, NULL, "'%s'", path);
		char *more = realloc(*bytes, size);
		if (!more)
			free(*bytes);
		*bytes = more;
	}
	return *bytes ? 0 : rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "'%s'", path);
}

static bool has_name(const char *path, const char *name)
{
	const char *last = strrchr(path, '/');

	return strcmp(last ? last + 1 : path, name) == 0;
}

int pack_read(const char *path, const char *name, char **bytes, size_t *n, struct rd_error *err)
{
	static const char todo[] = "name an archive that 'rdmadump selftest' wrote";
	struct rd_archive_entry entry;
	struct rd_archive *a;
	int rc, found;

	*bytes = NULL;
	*n = 0;
	if (rd_archive_open(&a, path, todo, err) < 0)
		return -1;
	while ((found = rd_archive_next(a, &entry, err)) > 0 && !has_name(entry.path, name))
		;
	rc = found > 0 ? read_entry(a, path, bytes, n, err) : -1;
	if (!found)
		rd_fail(err, RD_CLASS_DEVICE, 0, todo, "'%s' has no %s", path, name);
	rd_archive_free(a);
	if (rc < 0) {
		free(*bytes);
		*bytes = NULL;
	}
	return rc;
}
