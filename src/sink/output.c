/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A file, device or pipe that bytes are written to. */
#include "output.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *open_advice(int errnum)
{
	switch (errnum) {
	case EACCES:
	case EPERM:
		return "choose a directory that you may write to, or run as root";
	case ENOENT:
	case ENOTDIR:
		return "the directory must exist";
	case EISDIR:
		return "give a file name, not a directory";
	case EROFS:
		return "choose a file system that is not read-only";
	case ENOSPC:
	case EDQUOT:
		return "free some space or choose another file system";
	default:
		return NULL;
	}
}

int output_open(struct output *out, const char *path, struct rd_error *err)
{
	struct stat st;

	*out = (struct output){.fd = -1, .path = path};
	if (strcmp(path, "-") == 0)
		out->fd = dup(STDOUT_FILENO);
	else
		out->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (out->fd < 0)
		return rd_fail(err, RD_CLASS_OUTPUT, errno, open_advice(errno),
			"cannot write to '%s'", path);
	/* stdout may be a file that is appended to or shared: what stands in it is not ours. */
	out->regular = strcmp(path, "-") != 0 && fstat(out->fd, &st) == 0 && S_ISREG(st.st_mode);
	return 0;
}

size_t output_write(struct output *out, const void *data, size_t len, int *errnum)
{
	const uint8_t *p = data;
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(out->fd, p + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			*errnum = n < 0 ? errno : ENOSPC;
			break;
		}
		done += (size_t)n;
	}
	out->offset += done;
	return done;
}

void output_cut(struct output *out, uint64_t size)
{
	if (!out->regular || ftruncate(out->fd, (off_t)size) < 0 ||
		lseek(out->fd, (off_t)size, SEEK_SET) < 0)
		return;
	out->offset = size;
}

void output_rewrite_start(struct output *out, const void *data, size_t len)
{
	/* A header with its first text is as readable as one with its last: nothing to report. */
	if (out->regular && pwrite(out->fd, data, len, 0) < 0)
		return;
}

int output_close(struct output *out, struct rd_error *err)
{
	int fd = out->fd;

	out->fd = -1;
	if (fd >= 0 && close(fd) < 0 && errno != EINTR)
		return rd_fail(err, RD_CLASS_OUTPUT, errno,
			"the end of the file may be missing; check the file system",
			"cannot finish '%s'", out->path);
	return 0;
}
