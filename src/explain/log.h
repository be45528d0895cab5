/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A log of any length in bounded memory: which codes it has how often, and who is named by whom. */
#ifndef RDMADUMP_EXPLAIN_LOG_H
#define RDMADUMP_EXPLAIN_LOG_H

#include "party.h"
#include <jansson.h>
#include <stdio.h>

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

/* -1 if out of memory, or if the input cannot be read: what was read stays. log_free() in any case.
 */
int log_open(struct log *log, struct rd_error *err);
int log_read(struct log *log, const struct catalogue *c, FILE *in, struct rd_error *err);
/* One line, without its end; words that a user typed are about everything. */
int log_line(struct log *log, const struct catalogue *c, const char *line, size_t length,
	unsigned int marks, struct rd_error *err);
void log_free(struct log *log);

#endif
