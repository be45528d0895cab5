/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads all counters of the port several times, and lists those that changed. */
#include "moved.h"
#include <rdmadump/json.h>
#include <stdio.h>
#include <stdlib.h>

#define LIFESPAN_SLACK_MS 20

int moved_begin(struct moved *m, const struct rd_selftest *st, unsigned int flags)
{
	struct rd_error err;

	*m = (struct moved){.flags = flags};
	return rd_counters_load_kinds(&m->before, "", st->device, st->port, flags, &err);
}

int moved_read(struct moved *m, const struct rd_selftest *st)
{
	struct rd_error err;

	rd_counters_free(&m->now);
	free(m->growth);
	m->growth = NULL;
	if (rd_counters_load_kinds(&m->now, "", st->device, st->port, m->flags, &err) < 0)
		return -1;
	m->growth = rd_counters_compare(&m->before, &m->now);
	return m->growth ? 0 : -1;
}

/* How much the counter grew; 0 also where that is not known. */
static uint64_t grown(const struct moved *m, size_t i)
{
	const struct rd_counter_kind *kind = m->now.counter[i].kind;

	return kind && kind->flags & RD_COUNTER_GAUGE ? 0 : m->growth[i].amount;
}

json_t *moved_json(const struct moved *m)
{
	json_t *o = json_object();

	for (size_t i = 0; m->growth && i < m->now.n; i++)
		if (grown(m, i))
			json_object_set_new(o, m->now.counter[i].name, rd_json_u64(grown(m, i)));
	return o;
}

/* Counters of all traffic grow by as much as frames are sent. */
static bool is_loss(const struct rd_counter_kind *kind)
{
	return !kind || kind->severity >= RD_SEV_WARNING;
}

unsigned int moved_by(const struct moved *m, uint64_t least, uint64_t most, char *text, size_t size)
{
	unsigned int found = 0;
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; m->growth && i < m->now.n; i++) {
		uint64_t n = grown(m, i);

		if (n < least || n > most || !n || !is_loss(m->now.counter[i].kind))
			continue;
		if (used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s %llu",
				found ? ", " : "", m->now.counter[i].name, (unsigned long long)n);
		found++;
	}
	return found;
}

void moved_free(struct moved *m)
{
	rd_counters_free(&m->before);
	rd_counters_free(&m->now);
	free(m->growth);
	*m = (struct moved){.growth = NULL};
}

unsigned int lifespan_wait_ms(unsigned int lifespan_ms)
{
	return (lifespan_ms < LIFESPAN_MOST_MS ? lifespan_ms : LIFESPAN_MOST_MS) +
	       LIFESPAN_SLACK_MS;
}
