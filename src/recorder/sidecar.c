/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reports next to a file (.json, .html). They are written under a temporary name and renamed
 * when they are complete, so that a killed recorder leaves no partial report that looks complete.
 * The next recorder removes the temporary files.
 */
#include "recorder.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART ".part"

/*
 * Takes the lock, which is held until the descriptor is closed; false if another process has it.
 * Child processes do not inherit it: an analysis that outlives its recorder does not hold the lock.
 */
static bool lock(int fd)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_SETLK, &all) == 0 || (errno != EACCES && errno != EAGAIN);
}

bool sidecar_create(struct sidecar *b, const char *file, const char *ending)
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

bool sidecar_finish(struct sidecar *b, bool whole)
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

/* --- leftovers of killed recorders ------------------------------------------------------- */

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

void sidecar_clean(const struct rd_recorder *r)
{
	const char *path = r->config.session.out.path, *slash = strrchr(path, '/');
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
