/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Creates, replaces and archives the files of a result, with the rights of the user who will own
 * them. */
#include "directory.h"
#include "pack.h"
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/archive.h>
#include <rdmadump/outfile.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAME_NAME_MAX 1000 /* results of one host and device in one directory */
#define ARCHIVE_PART  ".tar.zst.new"
#define MAKE_ROOM     "free some space or name another directory (--output)"

static bool exists(const struct directory *d, const char *ending)
{
	char name[260];
	struct stat st;

	snprintf(name, sizeof(name), "%s%s", d->base, ending);
	return fstatat(d->parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int make(struct directory *d, const char *base, struct rd_error *err)
{
	for (unsigned int i = 1; i < SAME_NAME_MAX; i++) {
		if (i == 1)
			snprintf(d->base, sizeof(d->base), "%.180s", base);
		else
			snprintf(d->base, sizeof(d->base), "%.180s.%u", base, i);
		snprintf(d->partial, sizeof(d->partial), "%s.partial", d->base);
		if (exists(d, "") || exists(d, ".tar.zst") || exists(d, ARCHIVE_PART))
			continue;
		if (mkdirat(d->parent_fd, d->partial, 0700) == 0)
			return 0;
		if (errno != EEXIST)
			break;
		errno = EEXIST;
	}
	return rd_fail(err, RD_CLASS_OUTPUT, errno,
		"choose a directory that this user may write to (--output)",
		"cannot make the directory '%s/%s'", d->parent, d->partial);
}

int directory_make(struct directory *d, const char *parent, const char *base, struct rd_error *err)
{
	struct rd_identity_before before;
	struct stat st;
	int rc = -1;

	d->parent_fd = d->fd = -1;
	d->n_files = 0;
	snprintf(d->parent, sizeof(d->parent), "%s", parent ? parent : ".");
	if (rd_identity_choose(&d->identity, NULL, err) < 0 ||
		rd_identity_assume(&d->identity, &before, err) < 0)
		return -1;
	d->parent_fd = open(d->parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (d->parent_fd < 0)
		rd_fail(err, RD_CLASS_OUTPUT, errno, "name a directory that exists",
			"--output '%s'", d->parent);
	else
		rc = make(d, base, err);
	if (rc == 0) {
		d->fd = openat(
			d->parent_fd, d->partial, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		/* Whoever owns the parent may have put another directory there. */
		if (d->fd < 0 || fstat(d->fd, &st) < 0 || st.st_uid != geteuid())
			rc = rd_fail(err, RD_CLASS_OUTPUT, d->fd < 0 ? errno : EPERM,
				"choose a directory that nobody else may change (--output)",
				"cannot open '%s/%s'", d->parent, d->partial);
	}
	rd_identity_resume(&before);
	if (rc < 0)
		directory_close(d);
	return rc;
}

static int write_through(int fd, const void *bytes, size_t n)
{
	if (rd_write_whole(fd, bytes, n) < 0)
		return -1;
	return fdatasync(fd) < 0 && errno != EINVAL ? -1 : 0;
}

static int replace(struct directory *d, const char *name, const void *bytes, size_t n)
{
	char fresh[DIRECTORY_NAME + 8];
	int fd, rc, errnum;

	snprintf(fresh, sizeof(fresh), "%s.new", name);
	fd = openat(d->fd, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	rc = write_through(fd, bytes, n);
	errnum = errno;
	if (close(fd) < 0 && rc == 0) {
		errnum = errno;
		rc = -1;
	}
	if (rc == 0 && (rc = renameat(d->fd, fresh, d->fd, name)) < 0)
		errnum = errno;
	if (rc < 0)
		unlinkat(d->fd, fresh, 0);
	errno = errnum;
	return rc;
}

static void remember(struct directory *d, const char *name)
{
	for (unsigned int i = 0; i < d->n_files; i++)
		if (strcmp(d->file[i], name) == 0)
			return;
	if (d->n_files < DIRECTORY_FILES)
		snprintf(d->file[d->n_files++], DIRECTORY_NAME, "%s", name);
}

int directory_write(
	struct directory *d, const char *name, const void *bytes, size_t n, struct rd_error *err)
{
	struct rd_identity_before before;
	int rc;

	if (rd_identity_assume(&d->identity, &before, err) < 0)
		return -1;
	rc = replace(d, name, bytes, n);
	if (rc < 0)
		rd_fail(err, RD_CLASS_OUTPUT, errno, MAKE_ROOM, "cannot write '%s/%s/%s'",
			d->parent, d->partial, name);
	else
		remember(d, name);
	rd_identity_resume(&before);
	return rc;
}

/* With the user's rights. */
static void remove_all(struct directory *d)
{
	for (unsigned int i = 0; i < d->n_files; i++)
		unlinkat(d->fd, d->file[i], 0);
	unlinkat(d->parent_fd, d->partial, AT_REMOVEDIR);
}

/* The archive gets its final name only when it is complete. */
static int archive(struct directory *d, char path[PATH_MAX], struct rd_error *err)
{
	char fresh[260], name[260];
	int fd, rc;

	snprintf(fresh, sizeof(fresh), "%s" ARCHIVE_PART, d->base);
	snprintf(name, sizeof(name), "%s.tar.zst", d->base);
	/* The directory may be another user's, and the name is predictable. */
	fd = openat(d->parent_fd, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return rd_fail(err, RD_CLASS_OUTPUT, errno, MAKE_ROOM, "cannot write '%s/%s'",
			d->parent, fresh);
	rc = pack_write(fd, d->base, d->fd, d->file[0], DIRECTORY_NAME, d->n_files, err);
	if (close(fd) < 0 && rc == 0)
		rc = rd_fail(err, RD_CLASS_OUTPUT, errno, MAKE_ROOM, "cannot write '%s/%s'",
			d->parent, fresh);
	if (rc == 0 && renameat(d->parent_fd, fresh, d->parent_fd, name) < 0)
		rc = rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, "cannot rename '%s/%s'", d->parent,
			fresh);
	if (rc < 0) {
		unlinkat(d->parent_fd, fresh, 0);
		return -1;
	}
	remove_all(d);
	snprintf(path, PATH_MAX, "%.3800s/%s", d->parent, name);
	return 0;
}

static int keep_directory(struct directory *d, char path[PATH_MAX], struct rd_error *err)
{
	if (renameat(d->parent_fd, d->partial, d->parent_fd, d->base) < 0)
		return rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, "cannot rename '%s/%s'",
			d->parent, d->partial);
	snprintf(path, PATH_MAX, "%.3800s/%s", d->parent, d->base);
	return 0;
}

int directory_finish(struct directory *d, char path[PATH_MAX], struct rd_error *err)
{
	struct rd_identity_before before;
	int rc;

	snprintf(path, PATH_MAX, "%.3800s/%s", d->parent, d->partial);
	if (rd_identity_assume(&d->identity, &before, err) < 0)
		return -1;
	rc = rd_archive_available() ? archive(d, path, err) : keep_directory(d, path, err);
	rd_identity_resume(&before);
	return rc;
}

void directory_remove(struct directory *d)
{
	struct rd_identity_before before;

	if (d->fd < 0 || rd_identity_assume(&d->identity, &before, NULL) < 0)
		return;
	remove_all(d);
	rd_identity_resume(&before);
}

void directory_close(struct directory *d)
{
	if (d->fd >= 0)
		close(d->fd);
	if (d->parent_fd >= 0)
		close(d->parent_fd);
	d->fd = d->parent_fd = -1;
}
