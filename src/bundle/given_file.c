/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens the captures that are copied into the bundle (--file). */
#include "task.h"
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/clock.h>
#include <rdmadump/identity.h>
#include <sys/stat.h>
#include <unistd.h>

int task_open_file(struct task *t)
{
	/* A FIFO would wait for its writer. */
	int fd = rd_open_input(t->path, O_NONBLOCK);
	struct stat st;

	t->errnum = fd < 0 ? errno : 0;
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
		t->errnum = EINVAL;
	}
	t->outcome = fd < 0 ? OUTCOME_FAILED : OUTCOME_ENDED;
	t->began_ns = t->ended_ns = rd_monotonic_ns();
	return fd;
}
