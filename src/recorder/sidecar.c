/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reports beside a file (.json, .html). They are written under another name, which is changed
 * when they are complete: a recorder that is killed leaves no part of a report that could be taken
 * for a whole one. The next recorder removes what was left.
 */
#include "recorder.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/log.h>
#include <rdmadump/outfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART ".part"

/*
 * Whether no other process has the lock; then this one has it, until the descriptor is closed.
 * Processes that are started do not inherit it: that of an analysis which outlives its recorder
 * does not keep the file.
 */
static bool lock(int fd)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_SETLK, &all) == 0 || (errno != EACCES && errno != EAGAIN);
}

bool beside_create(struct beside *b, const char *file, const char *ending)
{
	struct rd_error err;

	snprintf(b->path, sizeof(b->path), "%.*s%s", (int)rd_stem_of(file), file, ending);
	snprintf(b->part, sizeof(b->part), "%s" PART, b->path);
	if (rd_outfile_open_own(&b->out, b->part, NULL, &err) == 0 &&
		rd_outfile_begin(&b->out, b->part, &err) == 0) {
		lock(b->out.fd);
		return true;
	}
	rd_outfile_abandon(&b->out, b->part);
	rd_log(RD_LOG_WARNING, "%s", err.text);
	return false;
}

bool beside_finish(struct beside *b, bool whole)
{
	if (b->out.fd < 0)
		return false;
	if (whole && (fsync(b->out.fd) < 0 || rename(b->part, b->path) < 0)) {
		rd_log(RD_LOG_WARNING, "cannot write '%s': %s", b->path, strerror(errno));
		whole = false;
	}
	if (!whole)
		unlink(b->part);
	close(b->out.fd);
	b->out.fd = -1;
	return whole;
}

/* --- what a killed recorder left ------------------------------------------------------------- */

static void remove_part(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && lock(fd) && unlinkat(dir, name, 0) == 0)
		rd_log(RD_LOG_WARNING,
			"removed '%s', the part of an analysis that was interrupted: 'rdmadump "
			"analyze' writes it again",
			name);
	close(fd);
}

void beside_clean(const struct rd_recorder *r)
{
	const char *path = r->config.session.path, *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	char *name = slash ? strndup(path, (size_t)(base - path)) : strdup(".");
	DIR *d = name ? opendir(name) : NULL;
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (rd_series_number(e->d_name, base, ".json" PART) ||
			rd_series_number(e->d_name, base, ".html" PART))
			remove_part(dirfd(d), e->d_name);
	if (d)
		closedir(d);
	free(name);
}
