/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the threads of a capture share: whether and why it is to end, and what each may be woken by.
 */
#include "control.h"
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

void control_ring(int bell)
{
	uint64_t one = 1;

	/* EAGAIN: it rings already. */
	if (bell >= 0 && write(bell, &one, sizeof(one)) < 0)
		return;
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
	control_ring(c->bell);
}

int control_poll(int epfd, int fd, enum fd_kind kind, unsigned int index, int operation,
	struct rd_error *err)
{
	/* Those of pipes and packet sockets stay readable until something is received. */
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
