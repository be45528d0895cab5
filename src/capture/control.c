/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* State shared by the threads of a capture: whether and why it ends, and how they are woken. */
#include "lane.h"
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

void control_wake(int wake_fd)
{
	/* EAGAIN: the counter is at its limit, so the thread is already to be woken */
	if (wake_fd >= 0)
		eventfd_write(wake_fd, 1);
}

void control_end(struct control *c, enum rd_end why, const struct rd_error *err)
{
	pthread_mutex_lock(&c->lock);
	if (!c->stop) {
		c->why = why;
		if (err && err != c->err)
			*c->err = *err;
		c->stop = true;
	} else if (why == RD_END_WATCH) {
		c->abandon = true;
	}
	pthread_mutex_unlock(&c->lock);
	control_wake(c->wake_fd);
}

int control_poll(int epfd, int fd, enum fd_kind kind, unsigned int index, int operation,
	struct rd_error *err)
{
	/* Descriptors of pipes and packet sockets stay readable until something is received. */
	struct epoll_event event = {.events = EPOLLIN | (kind == FD_FRAMES ? EPOLLONESHOT : 0U),
		.data.u64 = (uint64_t)kind << 32 | index};

	if (fd < 0)
		return 0;
	if (epoll_ctl(epfd, operation, fd, &event) < 0)
		return rd_fail(err, RD_CLASS_DEVICE, errno, NULL, "epoll_ctl");
	return 0;
}

bool control_watched(struct control *c, unsigned int index)
{
	const struct rd_watch *w = &c->config->watches[index];
	bool rotate;

	if (w->ready(w->ctx, w->fd))
		control_end(c, RD_END_WATCH, NULL);
	rotate = c->c->rotate;
	c->c->rotate = false;
	return rotate;
}
