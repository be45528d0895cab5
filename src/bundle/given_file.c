/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens the files that are copied into the bundle: captures (--file), results of selftest. */
#include "task.h"
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/clock.h>
#include <rdmadump/identity.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_given(const char *path, int flags)
{
	/* A FIFO would wait for its writer. */
	int fd = rd_open_input(path, O_NONBLOCK | flags), errnum = errno;
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
		errnum = EINVAL;
	}
	errno = errnum;
	return fd;
}

int task_open_file(struct task *t)
{
	/* Anyone who may write to the working directory can put a link there. */
	int fd = open_given(t->path, strstr(t->member->name, "@selftest") ? O_NOFOLLOW : 0);

	t->errnum = fd < 0 ? errno : 0;
	t->outcome = fd < 0 ? OUTCOME_FAILED : OUTCOME_ENDED;
	t->began_ns = t->ended_ns = rd_monotonic_ns();
	return fd;
}
