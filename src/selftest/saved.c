/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes each file under a new name, and renames it when it is complete. */
#include "selftest.h"
#include <fcntl.h>
#include <rdmadump/archive.h>
#include <rdmadump/clock.h>
#include <rdmadump/fd.h>
#include <rdmadump/outfile.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SAME_NAME_MAX 1000 /* results of one host and device in one directory */
#define ARCHIVE	      ".tar.zst"
#define FRESH	      ".new"
#define NAME_BYTES    260
#define MAKE_ROOM     "free some space or name another directory (--output)"

static bool exists(const struct saved *o, const char *ending)
{
	char name[NAME_BYTES];
	struct stat st;

	snprintf(name, sizeof(name), "%s%s", o->base, ending);
	return fstatat(o->directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The directory may be another user's, and the names are predictable. */
static int create(const struct saved *o, const char *name)
{
	return openat(
		o->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static int choose(struct saved *o, const char *base, struct rd_error *err)
{
	char name[NAME_BYTES] = "";
	int fd = -1;

	for (unsigned int i = 1; i < SAME_NAME_MAX && fd < 0; i++) {
		snprintf(o->base, sizeof(o->base), i > 1 ? "%.180s.%u" : "%.180s", base, i);
		if (exists(o, ARCHIVE) || exists(o, ARCHIVE FRESH) ||
			exists(o, SAVED_PARTIAL FRESH))
			continue;
		snprintf(name, sizeof(name), "%s" SAVED_PARTIAL, o->base);
		fd = create(o, name);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		return rd_fail(err, RD_CLASS_OUTPUT, errno,
			"choose a directory that this user may write to (--output)",
			"cannot write '%s/%s'", o->parent, name);
	close(fd);
	return 0;
}

int saved_open(struct saved *o, const char *parent, const char *base, struct rd_error *err)
{
	struct rd_identity_before before;
	int rc;

	o->directory = -1;
	snprintf(o->parent, sizeof(o->parent), "%s", parent ? parent : ".");
	if (rd_identity_choose(&o->identity, NULL, err) < 0 ||
		rd_identity_assume(&o->identity, &before, err) < 0)
		return -1;
	o->directory = open(o->parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	rc = o->directory >= 0
		     ? choose(o, base, err)
		     : rd_fail(err, RD_CLASS_OUTPUT, errno, "name a directory that exists",
			       "--output '%s'", o->parent);
	rd_identity_resume(&before);
	if (rc < 0)
		saved_close(o);
	return rc;
}

bool saved_keep(struct saved *o, const char *name, void *bytes, size_t n)
{
	if (o->n_files == SAVED_FILES) {
		free(bytes);
		return false;
	}
	snprintf(o->file[o->n_files].name, SAVED_NAME, "%s", name);
	o->file[o->n_files].bytes = bytes;
	o->file[o->n_files++].n = n;
	return true;
}

/* --- writing ------------------------------------------------------------------------------ */

static int put_member(struct rd_archive *a, const struct saved *o, const char *name,
	const void *bytes, size_t n, struct rd_error *err)
{
	char path[NAME_BYTES];
	const struct rd_archive_entry entry = {.kind = RD_ARCHIVE_FILE,
		.path = path,
		.size = n,
		.time = (int64_t)(rd_wall_ns() / 1000000000)};

	snprintf(path, sizeof(path), "%s/%s", o->base, name);
	if (rd_archive_put_entry(a, &entry, err) < 0)
		return -1;
	return rd_archive_put(a, bytes, n, err);
}

static int put_archive(
	int fd, const struct saved *o, const char *name, const char *text, struct rd_error *err)
{
	struct rd_archive *a;
	int rc;

	if (rd_archive_create(&a, fd, true, name, MAKE_ROOM, err) < 0)
		return -1;
	rc = put_member(a, o, "result.json", text, strlen(text), err);
	for (unsigned int i = 0; i < o->n_files && !rc; i++)
		rc = put_member(a, o, o->file[i].name, o->file[i].bytes, o->file[i].n, err);
	if (!rc)
		rc = rd_archive_finish(a, err);
	rd_archive_free(a);
	return rc;
}

static int fail(const struct saved *o, const char *name, struct rd_error *err)
{
	return rd_fail(
		err, RD_CLASS_OUTPUT, errno, MAKE_ROOM, "cannot write '%s/%s'", o->parent, name);
}

static int put(const struct saved *o, const char *ending, const char *text, struct rd_error *err)
{
	char name[NAME_BYTES], fresh[NAME_BYTES];
	int fd, rc = 0;

	snprintf(name, sizeof(name), "%s%s", o->base, ending);
	snprintf(fresh, sizeof(fresh), "%s%s" FRESH, o->base, ending);
	fd = create(o, fresh);
	if (fd < 0)
		return fail(o, fresh, err);
	if (strcmp(ending, ARCHIVE) == 0)
		rc = put_archive(fd, o, name, text, err);
	else if (rd_write_whole(fd, text, strlen(text)) < 0)
		rc = fail(o, name, err);
	if (rc == 0 && fdatasync(fd) < 0 && errno != EINVAL)
		rc = fail(o, name, err);
	if (close(fd) < 0 && rc == 0)
		rc = fail(o, name, err);
	if (rc == 0 && renameat(o->directory, fresh, o->directory, name) < 0)
		rc = fail(o, name, err);
	if (rc < 0)
		unlinkat(o->directory, fresh, 0);
	return rc;
}

/* As the user. */
static int put_as(const struct saved *o, const char *ending, const char *text, struct rd_error *err)
{
	struct rd_identity_before before;
	int rc;

	if (rd_identity_assume(&o->identity, &before, err) < 0)
		return -1;
	rc = put(o, ending, text, err);
	rd_identity_resume(&before);
	return rc;
}

int saved_write(const struct saved *o, const char *text, struct rd_error *err)
{
	return put_as(o, SAVED_PARTIAL, text, err);
}

int saved_finish(const struct saved *o, const char *text, char path[PATH_MAX], struct rd_error *err)
{
	if (put_as(o, ARCHIVE, text, err) < 0)
		return -1;
	saved_remove(o);
	snprintf(path, PATH_MAX, "%.3800s/%s%s", o->parent, o->base, ARCHIVE);
	return 0;
}

void saved_remove(const struct saved *o)
{
	struct rd_identity_before before;
	char name[NAME_BYTES];

	if (rd_identity_assume(&o->identity, &before, NULL) < 0)
		return;
	snprintf(name, sizeof(name), "%s" SAVED_PARTIAL, o->base);
	unlinkat(o->directory, name, 0);
	rd_identity_resume(&before);
}

void saved_close(struct saved *o)
{
	for (unsigned int i = 0; i < o->n_files; i++)
		free(o->file[i].bytes);
	o->n_files = 0;
	rd_fd_close(&o->directory);
}
