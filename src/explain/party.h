/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The machines of a log: those that report, and those that others name as their peers. */
#ifndef RDMADUMP_EXPLAIN_PARTY_H
#define RDMADUMP_EXPLAIN_PARTY_H

#include "line.h"

#define PARTIES_MAX 4096
#define NAMES_MAX   (2 * PARTIES_MAX)

/* A machine, or an address that no machine is known to have. */
struct party {
	char host[64], address[ADDRESS_TEXT]; /* the first ones; "": unknown */
	uint64_t reports, named; /* lines of it; lines of others that have it as their peer */
	uint64_t line;		 /* of its first report */
	char time[40];
	bool flushed; /* that is a flushed request: a consequence; it has no other */
};

/* A name or address of a party. */
struct name {
	char text[64];
	uint16_t party; /* its index + 1 */
};

struct parties {
	struct party *party;
	size_t n;
	uint64_t unnamed; /* lines of machines for which there was no room */
	struct name *name;
	size_t n_names;
	uint16_t *slot; /* index + 1 of a name, by the hash of its text */
};

/* False if out of memory. parties_free() in any case. */
bool parties_open(struct parties *p);
void parties_note(struct parties *p, const struct reading *r, uint64_t line);
/*
 * Who reported first: by time if all write it in one form (*by_time), else by line; reports of
 * flushed requests alone do not count (*flushed: there are such). NULL: nobody reports.
 */
const struct party *parties_first(const struct parties *p, bool *by_time, bool *flushed);
void parties_free(struct parties *p);

#endif
