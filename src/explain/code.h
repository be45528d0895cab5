/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Codes that programs, kernels and adapters print, and what is known about each: the rows of *.def.
 */
#ifndef RDMADUMP_EXPLAIN_CODE_H
#define RDMADUMP_EXPLAIN_CODE_H

#include <stdbool.h>
#include <stddef.h>

/* What a code is a number or a name of, in the order in which answers are printed. */
enum space {
#define SPACE(id, ...) SPACE_##id,
#include "spaces.def"
#undef SPACE
	SPACES,
};

/* Where the cause can be, seen from the program or machine that printed the code. */
enum where {
	WHERE_UNKNOWN = 0,
	WHERE_HERE = 1, /* this side */
	WHERE_PEER = 2,
	WHERE_PATH = 4,
};

/* Calls whose errors mean something particular. */
enum call {
	CALL_NONE,
#define CALL(id, words) CALL_##id,
#define ALSO(id, words)
#include "calls.def"
#undef CALL
#undef ALSO
};

#define ANY_NUMBER 0xffffffffu /* a code has no number */

struct code {
	enum space space;
	unsigned int number;
	const char *name;  /* as programs write it; NULL: it has none */
	const char *words; /* texts by which a line has it, separated by '|'; after '~' only if the
			    * line is about RDMA; NULL: the name alone */
	/*
	 * Of a vendor error: 1 + the completion status that it comes with; of a CQE syndrome: 1 +
	 * the status that it is; of an errno: the call (enum call); of a message: the call that
	 * failed. 0: any.
	 */
	unsigned int with;
	const char *meaning;
	unsigned int where;  /* enum where, or'ed */
	const char *causes;  /* the usual ones, the most frequent first, separated by '\n'; NULL:
				none known */
	const char *next;    /* what to look at, commands first, separated by '\n'; NULL: nothing */
	const char *unknown; /* what does not follow from it; NULL: nothing */
	const char *source;  /* who says so, if another than that of the space; NULL */
};

/* What the codes of a space have in common. */
struct space_row {
	const char *key;    /* in JSON and for --list: "completion-status" */
	const char *title;  /* "completion status" */
	bool hex;	    /* numbers are written so */
	unsigned int most;  /* the largest one; a larger number of a line is something else */
	const char *source; /* specification, header or measurement */
};

extern const struct space_row code_spaces[SPACES];
extern const char *const code_calls[]; /* by enum call */
/* Ended by a row without a meaning. */
extern const struct code codes[];

#define CODE_TEXT      256
#define CODES_COMPUTED 128

/* Those whose meaning is computed from their number: timers, ACKs and RNR NAKs. */
void codes_compute(struct code code[CODES_COMPUTED], char text[CODES_COMPUTED][CODE_TEXT]);

#endif
