/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The members of a bundle as entries of its archive, and files without a name for large ones. */
#include "task.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES 65536
#define MAKE_ROOM  "free some space, or name a file in another directory (--write)"

/* --- files -------------------------------------------------------------------------------- */

static int fail(const char *directory, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_OUTPUT, errno, MAKE_ROOM,
		"cannot keep the bundle's members in '%.200s'", directory);
}

/* Not every file system supports unnamed files (O_TMPFILE). */
int unnamed_file(const char *output, struct rd_error *err)
{
	const char *slash = strrchr(output, '/'), *named = getenv("TMPDIR");
	char directory[4096] = ".", path[sizeof(directory) + 32];
	int fd;

	if (strcmp(output, "-") == 0)
		snprintf(directory, sizeof(directory), "%s", named && *named ? named : "/tmp");
	else if (slash)
		snprintf(directory, sizeof(directory), "%.*s", (int)(slash - output + 1), output);
	fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "%s/.rdmadump-bundle-XXXXXX", directory);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return fail(directory, err);
	unlink(path);
	return fd;
}

int copy_bytes(int from, int to, uint64_t most, const char *name, const volatile sig_atomic_t *stop,
	struct rd_error *err)
{
	char buf[COPY_BYTES];
	ssize_t n = 1;

	for (uint64_t done = 0; n && done < most && !*stop; done += (uint64_t)n) {
		size_t some = most - done < sizeof(buf) ? (size_t)(most - done) : sizeof(buf);

		n = TEMP_FAILURE_RETRY(pread(from, buf, some, (off_t)done));
		if (n < 0)
			return rd_fail(err, RD_CLASS_DEVICE, errno, NULL,
				"cannot read what becomes '%s'", name);
		if (rd_write_whole(to, buf, (size_t)n) < 0)
			return rd_fail(err, RD_CLASS_OUTPUT, errno, MAKE_ROOM,
				"cannot keep the bundle's members");
	}
	return *stop ? rd_fail(err, RD_CLASS_PARTIAL, 0, NULL, BUNDLE_INTERRUPTED) : 0;
}

/* --- entries ------------------------------------------------------------------------------ */

static int task_entries(const struct tasks *tasks, const struct task *t, entry_fn *fn, void *ctx,
	struct rd_error *err)
{
	struct entry e = {.name = t->name,
		.bytes = t->output.data,
		.fd = t->file,
		.size = t->output.n,
		.task = t};
	struct stat st;

	if (t->outcome <= OUTCOME_RUNNING || t->outcome == OUTCOME_NOTHING ||
		t->outcome == OUTCOME_ABSENT || t->outcome == OUTCOME_LEFT_OUT)
		return 0;
	if (t->member->form == FORM_TREE)
		return tree_each(t, tasks->redact, fn, ctx, err);
	if (e.fd >= 0) {
		e.bytes = NULL;
		e.size = fstat(e.fd, &st) == 0 ? (uint64_t)st.st_size : 0;
	}
	return e.fd >= 0 || e.size ? fn(ctx, &e, err) : 0;
}

int entries_each(const struct tasks *tasks, entry_fn *fn, void *ctx, struct rd_error *err)
{
	int rc = 0;

	for (unsigned int i = 0; i < tasks->n && !rc; i++)
		rc = task_entries(tasks, &tasks->task[i], fn, ctx, err);
	return rc;
}

int entry_write(const struct entry *e, struct rd_archive *a, const char *path, int64_t time,
	const volatile sig_atomic_t *stop, struct rd_error *err)
{
	const struct rd_archive_entry entry = {
		.kind = e->kind, .path = path, .target = e->target, .size = e->size, .time = time};
	char buf[COPY_BYTES];

	if (*stop)
		return rd_fail(err, RD_CLASS_PARTIAL, 0, NULL, BUNDLE_INTERRUPTED);
	if (rd_archive_put_entry(a, &entry, err) < 0)
		return -1;
	if (e->bytes)
		return e->size ? rd_archive_put(a, e->bytes, (size_t)e->size, err) : 0;
	for (uint64_t done = 0; done < e->size;) {
		uint64_t left = e->size - done;
		size_t some = left < sizeof(buf) ? (size_t)left : sizeof(buf);
		ssize_t n = pread(e->fd, buf, some, (off_t)done);

		if (*stop)
			return rd_fail(err, RD_CLASS_PARTIAL, 0, NULL, BUNDLE_INTERRUPTED);
		if (n <= 0)
			return rd_fail(err, RD_CLASS_OUTPUT, n < 0 ? errno : EIO, NULL,
				"cannot read '%s' of the bundle", e->name);
		if (rd_archive_put(a, buf, (size_t)n, err) < 0)
			return -1;
		done += (uint64_t)n;
	}
	return 0;
}
