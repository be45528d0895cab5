/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a port that is captured sends pause frames. Copies about double what the port writes over
 * PCIe; where that stalls, the port's buffer fills, and it pauses its neighbours: traffic of others
 * slows down. Statistics of drivers may take milliseconds to read: the thread that reads counters
 * does it once a second.
 */
#include "session.h"
#include <stdlib.h>
#include <sys/eventfd.h>

#define PERIOD_NS    1000000000U
#define TIMES_READ   50 /* at most this fraction (1/N) of the time */
#define COUNTERS_MAX 64 /* of a port */

/* Of a share, whether it is larger than it was. */
static uint64_t growth_of(const struct rd_counters *before, const struct rd_counter *c,
	const struct rd_growth *growth)
{
	const struct rd_counter *was = rd_counters_find(before, c->name);

	if (!(c->kind->flags & RD_COUNTER_GAUGE))
		return growth->verdict == RD_GROWTH_RESET ? 0 : growth->amount;
	return was && c->value > was->value ? c->value - was->value : 0;
}

static void report(
	struct rd_session *s, unsigned int i, const struct rd_counter *c, uint64_t growth)
{
	rd_log(RD_LOG_WARNING,
		"%s port %u: %s grew by %llu during the capture (%s): its copies load PCIe, and "
		"may make the port slow down other hosts; %s",
		s->in.device[i]->name, s->in.port[i]->num, c->name, (unsigned long long)growth,
		c->kind->meaning,
		s->config->stop_on_pause ? "the capture ends (--stop-on-pause)"
					 : "end the capture if that is not acceptable");
	if (!s->config->stop_on_pause)
		return;
	s->result.paused = true;
	eventfd_write(s->stop_fd, 1);
}

static void look(struct rd_session *s, unsigned int i)
{
	struct rd_counters now;
	struct rd_growth *growth;

	if (rd_counters_load_kinds(
		    &now, "", s->in.device[i], s->in.port[i], RD_COUNTER_PAUSE, NULL) < 0)
		return;
	growth = rd_counters_compare(&s->loss.before[i], &now);
	for (size_t k = 0; growth && k < now.n && k < COUNTERS_MAX; k++) {
		uint64_t n = growth_of(&s->loss.before[i], &now.counter[k], &growth[k]);

		if (!n || s->loss.reported[i] & UINT64_C(1) << k)
			continue;
		s->loss.reported[i] |= UINT64_C(1) << k;
		report(s, i, &now.counter[k], n);
	}
	free(growth);
	rd_counters_free(&now);
}

void pause_tick(struct rd_session *s)
{
	uint64_t start = rd_monotonic_ns(), period;

	if (start < s->loss.pause_ns)
		return;
	for (unsigned int i = 0; i < s->in.n; i++)
		/* The kernel alone fills the queue of a netdev: nothing is copied over PCIe. */
		if (s->loss.before[i].n && strcmp(s->in.sources[i]->ops->name, "netdev") != 0)
			look(s, i);
	period = (rd_monotonic_ns() - start) * TIMES_READ;
	s->loss.pause_ns = start + (period > PERIOD_NS ? period : PERIOD_NS);
}
