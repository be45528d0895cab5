/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waiting for a sink as a lane does, without a limit: the runner ends a lost wake-up. */
#pragma once

#include <poll.h>
#include <rdmadump/sink.h>

#define FEED_SLEEP(feed) poll(&(struct pollfd){.fd = rd_feed_fd(feed), .events = POLLIN}, 1, -1)

/* Until reached(feed), of which the sink tells a lane. */
#define FEED_AWAIT(reached, feed)                                                                  \
	do {                                                                                       \
		struct rd_feed *feed_ = (feed);                                                    \
		for (; !reached(feed_); rd_feed_disarm(feed_))                                     \
			if (rd_feed_arm(feed_) && !reached(feed_))                                 \
				FEED_SLEEP(feed_);                                                 \
	} while (0)

static inline struct rd_chunk *feed_chunk(struct rd_feed *f)
{
	struct rd_chunk *c;

	while (!(c = rd_feed_get(f)))
		if (rd_feed_arm_for_chunk(f)) {
			FEED_SLEEP(f);
			rd_feed_disarm(f);
		}
	return c;
}
