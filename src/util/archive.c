/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes and reads archives by libarchive. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <rdmadump/archive.h>
#include <stdlib.h>
#include <string.h>

struct rd_archive {
	struct archive *a;
	struct archive_entry *entry;
	const char *path, *todo;
	bool reads;
	char directory[4096]; /* without "/" at the end */
};

/* --- writing ------------------------------------------------------------------------------ */

/* libarchive's own errors are negative. */
static int fail_write(const struct rd_archive *a, struct rd_error *err)
{
	int errnum = archive_errno(a->a);

	return rd_fail(err, RD_CLASS_OUTPUT, errnum > 0 ? errnum : EIO,
		errnum == EPIPE ? "the reader has closed its end" : a->todo, "cannot write to '%s'",
		a->path);
}

int rd_archive_create(struct rd_archive **out, int fd, bool compress, const char *path,
	const char *todo, struct rd_error *err)
{
	struct rd_archive *a = calloc(1, sizeof(*a));

	*out = a;
	if (a) {
		a->path = path;
		a->todo = todo;
		a->a = archive_write_new();
		a->entry = archive_entry_new();
	}
	if (!a || !a->a || !a->entry) {
		rd_archive_free(a);
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "cannot write to '%s'", path);
	}
	archive_write_set_format_pax_restricted(a->a);
	archive_write_set_bytes_in_last_block(a->a, 1); /* zstd refuses zeros after its data */
	if (compress)
		archive_write_add_filter_zstd(a->a);
	if (archive_write_open_fd(a->a, fd) == ARCHIVE_OK)
		return 0;
	fail_write(a, err);
	rd_archive_free(a);
	return -1;
}

int rd_archive_put_entry(
	struct rd_archive *a, const struct rd_archive_entry *e, struct rd_error *err)
{
	static const unsigned int types[] = {[RD_ARCHIVE_FILE] = AE_IFREG,
		[RD_ARCHIVE_DIRECTORY] = AE_IFDIR,
		[RD_ARCHIVE_LINK] = AE_IFLNK};

	archive_entry_clear(a->entry);
	archive_entry_set_pathname(a->entry, e->path);
	archive_entry_set_filetype(a->entry, types[e->kind]);
	archive_entry_set_perm(a->entry, e->kind == RD_ARCHIVE_FILE ? 0644 : 0755);
	archive_entry_set_mtime(a->entry, (time_t)e->time, 0);
	if (e->kind == RD_ARCHIVE_FILE)
		archive_entry_set_size(a->entry, (la_int64_t)e->size);
	if (e->kind == RD_ARCHIVE_LINK)
		archive_entry_set_symlink(a->entry, e->target);
	return archive_write_header(a->a, a->entry) == ARCHIVE_OK ? 0 : fail_write(a, err);
}

int rd_archive_put(struct rd_archive *a, const void *bytes, size_t n, struct rd_error *err)
{
	return archive_write_data(a->a, bytes, n) == (la_ssize_t)n ? 0 : fail_write(a, err);
}

int rd_archive_finish(struct rd_archive *a, struct rd_error *err)
{
	return archive_write_close(a->a) == ARCHIVE_OK ? 0 : fail_write(a, err);
}

/* --- reading ------------------------------------------------------------------------------ */

struct rd_archive *rd_archive_open_bytes(const void *bytes, size_t n)
{
	struct rd_archive *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->a = archive_read_new();
	a->reads = true;
	if (a->a) {
		archive_read_support_format_tar(a->a);
		if (archive_read_open_memory(a->a, bytes, n) == ARCHIVE_OK)
			return a;
	}
	rd_archive_free(a);
	return NULL;
}

static enum rd_archive_kind kind_of(struct archive_entry *entry)
{
	if (archive_entry_hardlink(entry))
		return RD_ARCHIVE_OTHER;
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG:
		return RD_ARCHIVE_FILE;
	case AE_IFDIR:
		return RD_ARCHIVE_DIRECTORY;
	case AE_IFLNK:
		return RD_ARCHIVE_LINK;
	default:
		return RD_ARCHIVE_OTHER;
	}
}

/* "" for a name that is too long. */
static const char *without_slash(struct rd_archive *a, const char *path)
{
	size_t n = strlen(path);

	if (n >= sizeof(a->directory))
		n = 0;
	memcpy(a->directory, path, n);
	if (n && path[n - 1] == '/')
		n--;
	a->directory[n] = '\0';
	return a->directory;
}

bool rd_archive_next(struct rd_archive *a, struct rd_archive_entry *e)
{
	struct archive_entry *entry;
	const char *path, *target;
	int64_t size;
	int rc = archive_read_next_header(a->a, &entry);

	if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
		return false;
	path = archive_entry_pathname(entry);
	if (path && kind_of(entry) == RD_ARCHIVE_DIRECTORY)
		path = without_slash(a, path);
	target = archive_entry_symlink(entry);
	size = archive_entry_size(entry);
	*e = (struct rd_archive_entry){.kind = kind_of(entry),
		.path = path ? path : "",
		.target = target ? target : "",
		.size = size > 0 ? (uint64_t)size : 0,
		.time = archive_entry_mtime(entry)};
	return true;
}

ssize_t rd_archive_get(struct rd_archive *a, void *buf, size_t n)
{
	return archive_read_data(a->a, buf, n);
}

void rd_archive_free(struct rd_archive *a)
{
	if (!a)
		return;
	archive_entry_free(a->entry);
	if (a->a && a->reads)
		archive_read_free(a->a);
	else if (a->a)
		archive_write_free(a->a);
	free(a);
}
