/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How many descriptors a capture needs, and whether the limit allows them. */
#include "session.h"
#include <dirent.h>
#include <sys/resource.h>

#define ALWAYS	  24 /* device, outputs, signals, timers, netlink, files read meanwhile */
#define PER_PORT  8
#define PER_QUEUE 7 /* completion channel, events, its thread, full and empty chunks */

static unsigned int open_now(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	/* Counts three too many: ".", ".." and the directory's own descriptor. */
	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* Number of descriptors if `queues` more queues are opened. */
static rlim_t descriptors_needed(const struct rd_session *s, unsigned int queues)
{
	const struct rd_session_config *o = s->config;
	unsigned int all = s->in.n + queues;

	return open_now() + ALWAYS + PER_PORT * (o->n_wanted > 1 ? o->n_wanted - 1 : 0) +
	       PER_QUEUE * all;
}

bool descriptors_fit(const struct rd_session *s, unsigned int queues, uint64_t *most)
{
	rlim_t needed = descriptors_needed(s, queues);
	struct rlimit limit;

	*most = UINT64_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return true;
	/* No higher than needed: commands inherit the limit, and some close every descriptor below
	 * it. */
	if (limit.rlim_cur < needed && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	*most = limit.rlim_cur;
	return needed <= limit.rlim_cur;
}
