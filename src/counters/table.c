/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of counters: what each one counts, its width, what growth means and what to do about
 * it. The rows are in *.def, one file per place or driver. The first match is taken, so exact
 * names come before patterns. And the list of a port's counters: append, find by name, free.
 */
#include <fnmatch.h>
#include <rdmadump/array.h>
#include <rdmadump/counters.h>
#include <rdmadump/memory.h>
#include <rdmadump/printable.h>
#include <stdlib.h>
#include <string.h>

/* Fields that a row omits are 0. Severity 0: growth is not a finding. */
_Static_assert(RD_SEV_NONE == 0, "rows of the table without a severity");

#define COUNTER(counter, ...) {.name = counter, .drivers = DRIVERS, __VA_ARGS__},

const struct rd_counter_kind rd_counter_kinds[] = {
/* In this order: the first match is taken. */
/* clang-format off */
#include "port.def"
#include "mlx5.def"
#define COMMAND(...)
#define COUNT(command, field, bit, width, u, s, text)                                              \
	COUNTER("device/" #command "/" field, .unit = RD_UNIT_##u, .bits = width,                  \
		.severity = RD_SEV_##s, .meaning = text)
#define GAUGE(command, field, bit, width, u, text)                                                 \
	COUNTER("device/" #command "/" field, .unit = RD_UNIT_##u, .bits = width,                  \
		.flags = RD_COUNTER_GAUGE, .meaning = text)
#define DRIVERS "mlx5_core"
#include "firmware_mlx5.def"
#undef DRIVERS
#include "mad_sa.def"
#include "cm.def"
#include "rxe.def"
#include "bnxt.def"
#include "irdma.def"
#include "efa.def"
#include "hns.def"
#include "netdev.def"
#include "ethtool.def"
	/* clang-format on */
	{0},
};

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = words; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		if (n == len && !strncmp(p, word, n))
			return true;
		p += n;
	}
	return false;
}

const struct rd_counter_kind *rd_counter_kind(const char *driver, const char *name)
{
	for (const struct rd_counter_kind *k = rd_counter_kinds; k->name; k++) {
		size_t plain = strcspn(k->name, "*?[");

		/* Most rows differ before any wildcard, and comparing that part is cheap. */
		if (!strncmp(k->name, name, plain) && !fnmatch(k->name, name, FNM_PATHNAME) &&
			(!k->drivers || !*driver || has_word(k->drivers, driver)))
			return k;
	}
	return NULL;
}

const char *rd_unit_name(enum rd_unit unit)
{
	static const char *const names[RD_UNITS] = {
		[RD_UNIT_PACKETS] = "packets",
		[RD_UNIT_BYTES] = "bytes",
		[RD_UNIT_WORDS] = "4-byte words",
		[RD_UNIT_REQUESTS] = "requests",
		[RD_UNIT_EVENTS] = "events",
		[RD_UNIT_ERRORS] = "errors",
		[RD_UNIT_MESSAGES] = "messages",
		[RD_UNIT_TICKS] = "ticks",
		[RD_UNIT_OBJECTS] = "objects",
		[RD_UNIT_US] = "microseconds",
		[RD_UNIT_SECONDS] = "seconds",
		[RD_UNIT_PERCENT] = "percent",
	};

	return names[unit];
}

/* --- the list of a port's counters ------------------------------------------------------- */

#define NAME_ROOM  320	 /* place and a file name */
#define COUNTS_MAX 65536 /* counters of one port; more are left out */

int rd_counters_add(struct rd_counters *c, uint64_t value, const char *fmt, ...)
{
	struct rd_counter *counter;
	char name[NAME_ROOM];

	if (c->n == COUNTS_MAX)
		return 0;
	RD_FORMAT(name, sizeof(name), fmt);
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
	return RD_FIND(kept, c->counter, c->n, !strcmp(kept->name, name));
}

void rd_counters_free(struct rd_counters *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->counter[i].name);
	free(c->counter);
	c->counter = NULL;
	c->n = 0;
}
