/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* FIFOs, and logs of applications while they grow: a line fires a trigger. */
#include "recorder.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <rdmadump/fd.h>
#include <rdmadump/printable.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#define LINE_FIRED    SIZE_MAX
#define UNFINISHED_NS 100000000U /* a line without an end is judged after so long */
#define ADVICE                                                                                     \
	"choose a path that the later user (-Z, or the caller of sudo) may use; -Z root keeps "    \
	"root"

/* --- lines ------------------------------------------------------------------------------- */

/* Whoever may write to it chose the bytes, which become comments of files. */
static void judge(struct rd_recorder *r, struct lines *l)
{
	char text[sizeof(l->line) * RD_PRINTABLE_GROWTH + 1];

	text[rd_printable(text, l->line, l->used, "")] = '\0';
	l->judged = l->used;
	if (!trigger_matches(l->trigger, text))
		return;
	recorder_fire(r, l->trigger, NULL, text);
	l->judged = LINE_FIRED;
}

static void end_line(struct rd_recorder *r, struct lines *l)
{
	if (l->judged != LINE_FIRED)
		judge(r, l);
	l->used = l->judged = 0;
}

static void end_unfinished(struct rd_recorder *r, struct lines *l)
{
	if (l->used)
		end_line(r, l);
}

/* Returns whether the end was reached. */
static bool take_lines(struct rd_recorder *r, struct lines *l)
{
	char buf[4096];

	for (unsigned int reads = 0; reads < READS_MAX; reads++) {
		const ssize_t n = read(l->fd, buf, sizeof(buf));

		if (n <= 0)
			return true;
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i] == '\n')
				end_line(r, l);
			else if (l->used < sizeof(l->line))
				l->line[l->used++] = buf[i];
		}
		l->read_ns = rd_monotonic_ns();
	}
	return false;
}

/* --- FIFOs ------------------------------------------------------------------------------- */

/*
 * The file type is known only after open(). Opened with the user's rights: as root, it could be a
 * device with side effects.
 */
static int make_fifo(struct lines *l, struct rd_error *err)
{
	const char *path = l->trigger->value;
	struct stat st;

	l->created = mkfifo(path, 0600) == 0;
	if (!l->created && errno != EEXIST)
		return rd_fail(err, RD_CLASS_OUTPUT, errno, ADVICE,
			"the FIFO '%s' cannot be created", path);
	/* Opened for writing as well, so that there is no end of file when a writer closes it. */
	l->fd = l->wakes = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (l->fd < 0)
		return rd_fail(err, RD_CLASS_OUTPUT, errno, ADVICE,
			"the FIFO '%s' cannot be opened", path);
	if (fstat(l->fd, &st) < 0 || !S_ISFIFO(st.st_mode))
		return rd_fail(err, RD_CLASS_USAGE, 0, "nothing was changed: choose another path",
			"'%s' exists and is no FIFO", path);
	/* Its owner could replace it, and read what others write. */
	if (st.st_uid != geteuid())
		return rd_fail(err, RD_CLASS_USAGE, 0, "remove it, or choose another path",
			"the FIFO '%s' belongs to another user", path);
	return 0;
}

static void remove_fifo(const struct watch *w, const struct lines *l)
{
	struct rd_identity_before before;

	if (!l->created || rd_identity_assume(&w->identity, &before, NULL) < 0)
		return;
	if (unlink(l->trigger->value) < 0)
		rd_log(RD_LOG_DEBUG, "cannot remove '%s': %s", l->trigger->value, strerror(errno));
	rd_identity_resume(&before);
}

/* --- logs -------------------------------------------------------------------------------- */

/*
 * Opens what has the log's name now, in place of what was open. What it is, is found out before it
 * is opened: a device or the writer of a FIFO would notice that. 0 also if there is nothing.
 */
static int open_log(struct lines *l, struct rd_error *err)
{
	const char *path = l->trigger->value;
	int found = open(path, O_PATH | O_CLOEXEC), fd = -1, rc = 0;
	char name[32];
	struct stat st;

	if (found < 0 && errno == ENOENT)
		return 0;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
	if (found >= 0 && fstat(found, &st) == 0 && !S_ISREG(st.st_mode))
		rc = rd_fail(err, RD_CLASS_USAGE, 0,
			"name the file that the application appends to; fifo=PATH is for a FIFO",
			"the log '%s' is no regular file", path);
	else if (found < 0 || (fd = open(name, O_RDONLY | O_CLOEXEC)) < 0)
		rc = rd_fail(
			err, RD_CLASS_DEVICE, errno, ADVICE, "the log '%s' cannot be opened", path);
	if (fd >= 0) {
		inotify_rm_watch(l->wakes, l->mark);
		l->mark = inotify_add_watch(l->wakes, name, IN_MODIFY);
		rd_fd_close(&l->fd);
		l->fd = fd;
		l->warned = false;
	}
	rd_fd_close(&found);
	return rc;
}

static int start_log(struct lines *l, struct rd_error *err)
{
	char *copy = strdup(l->trigger->value);

	if (!copy)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for triggers");
	l->wakes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (inotify_add_watch(l->wakes, dirname(copy), IN_CREATE | IN_MOVED_TO) < 0)
		rd_log(RD_LOG_INFO, "a new file '%s' is noticed late, after up to 10 s: %s",
			l->trigger->value, strerror(errno));
	free(copy);
	if (open_log(l, err) < 0)
		return -1;
	if (l->fd < 0)
		rd_log(RD_LOG_INFO, "the log '%s' is not there yet: all its lines will be new",
			l->trigger->value);
	else
		lseek(l->fd, 0, SEEK_END);
	return 0;
}

/* Whether another file has the log's name than the one that is open. */
static bool is_replaced(const struct lines *l)
{
	struct stat named, own;

	return stat(l->trigger->value, &named) == 0 &&
	       (fstat(l->fd, &own) < 0 || named.st_ino != own.st_ino || named.st_dev != own.st_dev);
}

static bool is_truncated(const struct lines *l)
{
	struct stat own;

	return fstat(l->fd, &own) == 0 && own.st_size < lseek(l->fd, 0, SEEK_CUR);
}

/* Opens the file that replaced it; returns whether it could. */
static bool reopen(struct lines *l)
{
	struct rd_error err;

	if (open_log(l, &err) == 0)
		return true;
	if (!l->warned)
		rd_log(RD_LOG_WARNING, "%s", err.text);
	l->warned = true;
	return false;
}

/* Takes the new lines; returns as lines_take(). */
static uint64_t follow_log(struct rd_recorder *r, struct lines *l)
{
	char events[4096];
	/* Known before the old file is read to its end: it gets no more after that. */
	bool replaced;

	while (read(l->wakes, events, sizeof(events)) > 0)
		;
	replaced = is_replaced(l);
	if (is_truncated(l)) {
		end_unfinished(r, l);
		lseek(l->fd, 0, SEEK_SET);
	}
	if (!take_lines(r, l))
		return 0;
	if (replaced && reopen(l)) {
		end_unfinished(r, l);
		return 0;
	}
	if (l->judged >= l->used)
		return UINT64_MAX;
	if (rd_monotonic_ns() - l->read_ns < UNFINISHED_NS)
		return UNFINISHED_NS;
	judge(r, l);
	return UINT64_MAX;
}

/* --- all --------------------------------------------------------------------------------- */

int lines_open(struct rd_recorder *r, struct trigger *t, struct rd_error *err)
{
	struct watch *w = &r->watch;
	struct rd_identity_before before;
	struct lines *l = &w->lines[w->n_lines++];
	int rc;

	*l = (struct lines){.trigger = t, .fd = -1, .wakes = -1, .mark = -1};
	if (rd_identity_choose(&w->identity, r->config.session.user, err) < 0 ||
		rd_identity_assume(&w->identity, &before, err) < 0)
		return -1;
	rc = t->source == TRIGGER_FIFO ? make_fifo(l, err) : start_log(l, err);
	rd_identity_resume(&before);
	return rc;
}

void lines_check(const struct rd_recorder *r)
{
	for (unsigned int i = 0; i < r->watch.n_lines; i++) {
		const struct lines *l = &r->watch.lines[i];

		if (faccessat(AT_FDCWD, l->trigger->value, R_OK, AT_EACCESS) < 0 && errno == EACCES)
			rd_log(RD_LOG_WARNING,
				"a later file '%s', as after logrotate, cannot be opened: user "
				"'%s' has no capabilities; -Z root keeps them",
				l->trigger->value, r->watch.identity.name);
	}
}

uint64_t lines_take(struct rd_recorder *r)
{
	uint64_t least = UINT64_MAX;

	for (unsigned int i = 0; i < r->watch.n_lines; i++) {
		struct lines *l = &r->watch.lines[i];

		if (l->trigger->source == TRIGGER_FIFO) {
			take_lines(r, l);
		} else {
			const uint64_t wait = follow_log(r, l);

			least = wait < least ? wait : least;
		}
	}
	return least;
}

void lines_close(struct rd_recorder *r)
{
	for (unsigned int i = 0; i < r->watch.n_lines; i++) {
		struct lines *l = &r->watch.lines[i];

		rd_fd_close(&l->fd);
		if (l->trigger->source == TRIGGER_LOG)
			rd_fd_close(&l->wakes);
		remove_fifo(&r->watch, l);
	}
}
