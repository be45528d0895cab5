/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The list of a port's counters: append, find by name, free. */
#include <rdmadump/counters.h>
#include <rdmadump/memory.h>
#include <rdmadump/printable.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_ROOM  320	 /* place and a file name */
#define COUNTS_MAX 65536 /* counters of one port; more are left out */

int rd_counters_add(struct rd_counters *c, uint64_t value, const char *fmt, ...)
{
	struct rd_counter *counter;
	char name[NAME_ROOM];
	va_list ap;

	if (c->n == COUNTS_MAX)
		return 0;
	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	rd_text_clean(name, sizeof(name), name);
	counter = rd_append(&c->counter, c->n, sizeof(*counter));
	if (!counter)
		return -1;
	*counter = (struct rd_counter){strdup(name), value, rd_counter_kind(c->driver, name)};
	if (!counter->name)
		return -1;
	c->n++;
	return 0;
}

bool rd_counters_want(const struct rd_counters *c, const char *name)
{
	const struct rd_counter_kind *kind;

	if (!c->flags)
		return true;
	kind = rd_counter_kind(c->driver, name);
	return kind && kind->flags & c->flags;
}

const struct rd_counter *rd_counters_find(const struct rd_counters *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->counter[i].name, name))
			return &c->counter[i];
	return NULL;
}

void rd_counters_free(struct rd_counters *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->counter[i].name);
	free(c->counter);
	c->counter = NULL;
	c->n = 0;
}
