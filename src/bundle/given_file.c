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

#define RESULT_BYTES ((off_t)16 << 20)

/* Anyone who may write to the working directory can put a file there, of any size. */
static int check_result(int fd)
{
	struct rd_identity caller;
	struct stat st;

	rd_identity_choose(&caller, NULL, NULL);
	if (fstat(fd, &st) < 0)
		return errno;
	if (st.st_uid != 0 && st.st_uid != caller.uid)
		return EPERM;
	return st.st_size > RESULT_BYTES ? EFBIG : 0;
}

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
	bool result = strstr(t->member->name, "@selftest") != NULL;
	int fd = open_given(t->path, result ? O_NOFOLLOW : 0);

	t->errnum = fd < 0 ? errno : result ? check_result(fd) : 0;
	if (fd >= 0 && t->errnum) {
		close(fd);
		fd = -1;
	}
	t->outcome = fd < 0 ? OUTCOME_FAILED : OUTCOME_ENDED;
	t->began_ns = t->ended_ns = rd_monotonic_ns();
	return fd;
}
