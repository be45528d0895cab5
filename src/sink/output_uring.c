/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One write at a time through io_uring, while this program continues. Never two: if the program is
 * killed between them, the file could have the second one and a hole of zeros instead of the first,
 * which readers take for frames.
 */
#include "config.h"
#include "output.h"
#include <errno.h>

#ifdef HAVE_URING
#define WRITE_MODES "buffered, direct, uring"
#include <liburing.h>
#include <stdlib.h>

struct uring {
	struct io_uring ring;
	bool started;
	int failed; /* errno of a write that could not be started */
};

struct uring *uring_open(void)
{
	struct uring *u = calloc(1, sizeof(*u));
	int rc = u ? io_uring_queue_init(2, &u->ring, 0) : -ENOMEM;

	if (rc == 0)
		return u;
	free(u);
	errno = -rc;
	return NULL;
}

void uring_close(struct uring *u)
{
	if (!u)
		return;
	io_uring_queue_exit(&u->ring);
	free(u);
}

void uring_start(struct uring *u, int fd, const void *data, size_t len, uint64_t offset)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);
	int rc = -EBUSY;

	if (sqe) {
		io_uring_prep_write(sqe, fd, data, (unsigned int)len, offset);
		do {
			rc = io_uring_submit(&u->ring);
		} while (rc == -EINTR || rc == -EAGAIN);
	}
	u->started = rc == 1;
	u->failed = rc == 1 ? 0 : rc < 0 ? -rc : EIO;
}

ssize_t uring_wait(struct uring *u)
{
	struct io_uring_cqe *cqe;
	ssize_t res;
	int rc;

	if (!u->started)
		return -u->failed;
	u->started = false;
	do {
		rc = io_uring_wait_cqe(&u->ring, &cqe);
	} while (rc == -EINTR || rc == -EAGAIN);
	if (rc < 0)
		return rc;
	res = cqe->res;
	io_uring_cqe_seen(&u->ring, cqe);
	return res;
}

#else
#define WRITE_MODES "buffered, direct"

struct uring *uring_open(void)
{
	errno = ENOSYS;
	return NULL;
}

void uring_close(struct uring *u)
{
	(void)u;
}

void uring_start(struct uring *u, int fd, const void *data, size_t len, uint64_t offset)
{
	(void)u, (void)fd, (void)data, (void)len, (void)offset;
}

ssize_t uring_wait(struct uring *u)
{
	(void)u;
	return -ENOSYS;
}

#endif

const char *rd_write_modes(void)
{
	return WRITE_MODES;
}
