/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A log of any length in bounded memory: which codes it has how often, and who is named by whom. */
#pragma once

#include "line.h"
#include <stdio.h>

/* The machines of a log: those that report, and those that others name as their peers. */

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

#define LINE_MAX_BYTES 65536 /* of longer lines the rest is skipped */
#define GROUPS_MAX     256

/* Lines with the same codes. */
struct group {
	struct reading first; /* the first of these lines */
	char *text;	      /* as it is in the log */
	size_t length;
	uint64_t line; /* its number, from 1 */
	uint64_t count;
};

struct log {
	struct group *group;
	size_t n_groups;
	struct parties parties;
	bool damaged;	/* of the captures: a file ends early */
	json_t *joined; /* what captures show of it; NULL: none were given */
	uint64_t lines, explained, bytes;
	uint64_t cut;	   /* lines that were longer */
	uint64_t left_out; /* lines with codes for which there was no room */
	/* NULL, or called now and then; `size` of the input in bytes, 0 if its end is not known */
	void (*progress)(const struct log *log, uint64_t size);
};

/* -1: out of memory, or it cannot be read: what was read stays. log_free() in any case. */
int log_open(struct log *log, struct rd_error *err);
int log_read(struct log *log, const struct catalogue *c, FILE *in, struct rd_error *err);
/* One line, without its end; words that a user typed are about everything. */
int log_line(struct log *log, const struct catalogue *c, const char *line, size_t length,
	unsigned int marks, struct rd_error *err);
void log_free(struct log *log);
