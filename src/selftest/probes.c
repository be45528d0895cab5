/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The probes, in the order in which they run. A probe is one row here, and a file. */
#include "selftest.h"
#include <string.h>

/* clang-format off */
#define PROBES(X)                                                                                  \
	X(inventory)                                                                               \
	X(objects)                                                                                 \
	X(send)                                                                                    \
	X(loopback)                                                                                \
	X(contents)                                                                                \
	X(paths)                                                                                   \
	X(clocks)                                                                                  \
	X(oversize)                                                                                \
	X(overload)

#define PROBES_OF_ICMD(X)                                                                          \
	X(attach)                                                                                  \
	X(inside)
/* clang-format on */

#define DECLARE(name) extern const struct rd_probe rd_probe_##name;
PROBES(DECLARE)
PROBES_OF_ICMD(DECLARE)

#define ROW(name) &rd_probe_##name,
const struct rd_probe *const rd_probes[] = {PROBES(ROW) NULL};

static const struct rd_probe *const rd_probes_of_icmd[] = {
	&rd_probe_inventory, PROBES_OF_ICMD(ROW) NULL};

const struct rd_probe *rd_probe_find(const char *name)
{
	const struct rd_probe *const *const lists[] = {rd_probes, rd_probes_of_icmd};

	for (unsigned int k = 0; k < 2; k++)
		for (unsigned int i = 0; lists[k][i]; i++)
			if (strcmp(lists[k][i]->name, name) == 0)
				return lists[k][i];
	return NULL;
}

const struct rd_probe *const *rd_probes_chosen(const struct rd_selftest_config *config)
{
	return config->n_probes ? config->probe : config->sniffer ? rd_probes_of_icmd : rd_probes;
}

unsigned int rd_probe_limit(const struct rd_probe *probe)
{
	return probe->limit_s ? probe->limit_s : LIMIT_PROBE_S;
}
