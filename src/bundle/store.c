/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps members in files without a name, and writes them into an archive. */
#include "task.h"
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/memory.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES 65536
#define MAKE_ROOM  "free some space, or name a file in another directory (--write)"

static int fail(const struct store *s, int errnum, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_OUTPUT, errnum, MAKE_ROOM,
		"cannot keep the bundle's members in '%.200s'", s->directory);
}

/* Not every file system supports unnamed files (O_TMPFILE). */
int store_file(const struct store *s, struct rd_error *err)
{
	char path[sizeof(s->directory) + 32];
	int fd = open(s->directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "%s/.rdmadump-bundle-XXXXXX", s->directory);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return fail(s, errno, err);
	unlink(path);
	return fd;
}

int store_open(
	struct store *s, const char *path, const volatile sig_atomic_t *stop, struct rd_error *err)
{
	const char *slash = strrchr(path, '/'), *named = getenv("TMPDIR");

	*s = (struct store){.fd = -1, .stop = stop};
	if (strcmp(path, "-") == 0)
		snprintf(
			s->directory, sizeof(s->directory), "%s", named && *named ? named : "/tmp");
	else if (slash)
		snprintf(s->directory, sizeof(s->directory), "%.*s", (int)(slash - path + 1), path);
	else
		strcpy(s->directory, ".");
	s->fd = store_file(s, err);
	return s->fd < 0 ? -1 : 0;
}

void store_close(struct store *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->stored[i].name);
		free(s->stored[i].target);
	}
	free(s->stored);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct store){.fd = -1};
}

/* --- adding ------------------------------------------------------------------------------- */

static int drop(struct stored *m)
{
	free(m->name);
	free(m->target);
	return -1;
}

/* An empty member; NULL: out of memory. It is added once store->n is increased. */
static struct stored *next(
	struct store *s, const char *name, const char *target, const struct task *task)
{
	struct stored *m = rd_append(&s->stored, s->n, sizeof(*m));

	if (!m)
		return NULL;
	*m = (struct stored){.name = strdup(name),
		.target = target ? strdup(target) : NULL,
		.fd = s->fd,
		.at = s->end,
		.task = task};
	if (m->name && (m->target || !target))
		return m;
	drop(m);
	return NULL;
}

static int append(struct store *s, const char *bytes, size_t n, struct rd_error *err)
{
	while (n) {
		ssize_t done = TEMP_FAILURE_RETRY(pwrite(s->fd, bytes, n, (off_t)s->end));

		if (done < 0)
			return fail(s, errno, err);
		bytes += done;
		n -= (size_t)done;
		s->end += (uint64_t)done;
	}
	return 0;
}

int store_put_entry(struct store *s, const struct rd_archive_entry *e, const void *bytes, size_t n,
	const struct task *task, struct rd_error *err)
{
	struct stored *m = next(s, e->path, e->kind == RD_ARCHIVE_LINK ? e->target : NULL, task);

	if (!m)
		return fail(s, ENOMEM, err);
	m->kind = e->kind;
	m->size = e->kind == RD_ARCHIVE_FILE ? n : 0;
	if (append(s, bytes, m->size, err) < 0)
		return drop(m);
	s->n++;
	return 0;
}

int store_put(struct store *s, const char *name, const void *bytes, size_t n,
	const struct task *task, struct rd_error *err)
{
	return store_put_entry(s, &(struct rd_archive_entry){.path = name}, bytes, n, task, err);
}

int store_take(struct store *s, const char *name, int fd, uint64_t most, bool adopt,
	const struct task *task, struct rd_error *err)
{
	struct stored *m = next(s, name, NULL, task);
	char buf[COPY_BYTES];
	ssize_t n = 0;

	if (!m)
		return fail(s, ENOMEM, err);
	if (adopt) {
		m->fd = fd;
		m->at = 0;
	}
	while (m->size < most && !*s->stop) {
		size_t some = most - m->size < sizeof(buf) ? (size_t)(most - m->size) : sizeof(buf);

		n = TEMP_FAILURE_RETRY(pread(fd, buf, some, (off_t)m->size));
		if (n <= 0)
			break;
		if (!adopt && append(s, buf, (size_t)n, err) < 0)
			return drop(m);
		m->size += (uint64_t)n;
	}
	if (*s->stop) {
		drop(m);
		return rd_fail(err, RD_CLASS_PARTIAL, 0, NULL, BUNDLE_INTERRUPTED);
	}
	if (n < 0) {
		rd_fail(err, RD_CLASS_DEVICE, errno, NULL, "cannot read what becomes '%s'", name);
		return drop(m);
	}
	s->n++;
	return 0;
}

/* --- the archive -------------------------------------------------------------------------- */

int store_write(const struct stored *m, struct rd_archive *a, const char *path, int64_t time,
	const volatile sig_atomic_t *stop, struct rd_error *err)
{
	const struct rd_archive_entry entry = {
		.kind = m->kind, .path = path, .target = m->target, .size = m->size, .time = time};
	char buf[COPY_BYTES];

	if (rd_archive_put_entry(a, &entry, err) < 0)
		return -1;
	for (uint64_t done = 0; done < m->size;) {
		uint64_t left = m->size - done;
		size_t some = left < sizeof(buf) ? (size_t)left : sizeof(buf);
		ssize_t n = pread(m->fd, buf, some, (off_t)(m->at + done));

		if (*stop)
			return rd_fail(err, RD_CLASS_PARTIAL, 0, NULL, BUNDLE_INTERRUPTED);
		if (n <= 0)
			return rd_fail(err, RD_CLASS_OUTPUT, n < 0 ? errno : EIO, NULL,
				"cannot read '%s' of the bundle", m->name);
		if (rd_archive_put(a, buf, (size_t)n, err) < 0)
			return -1;
		done += (uint64_t)n;
	}
	return 0;
}
