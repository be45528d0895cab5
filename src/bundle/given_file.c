/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens the captures that are copied into the bundle (--file). */
#include "task.h"
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/clock.h>
#include <sys/stat.h>
#include <unistd.h>

int open_given(const char *path)
{
	/* A FIFO would wait for its writer. */
	int fd = rd_open_input(path, O_NONBLOCK);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	errno = 0;
	return -1;
}

int task_open_file(struct task *t)
{
	int fd = open_given(t->path);

	t->errnum = fd >= 0 ? 0 : errno ? errno : EINVAL;
	t->outcome = fd < 0 ? OUTCOME_FAILED : OUTCOME_ENDED;
	t->began_ns = t->ended_ns = rd_monotonic_ns();
	return fd;
}
