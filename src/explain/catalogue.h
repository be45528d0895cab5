/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Everything that can be explained, found by its number, its name, or the words of a line. */
#pragma once

#include <rdmadump/array.h>
#include <rdmadump/counters.h>

/* Codes that programs, kernels and adapters print, and what is known about each: rows of *.def. */

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

/* What the rest of a line is about. */
enum mark {
	MARK_NOTHING = 0,
	MARK_COMPLETION = 1,
	MARK_HEALTH = 2,
	MARK_CQE = 4,
	MARK_RDMA = 8,
	MARK_LND = 16
};

/* A GID is the address of RDMA; another one may be that of a program's own connection. */
enum member { MEMBER_QPN, MEMBER_PEER_QPN, MEMBER_PEER, MEMBER_PEER_GID, MEMBER_LOCAL_GID };

/* A sequence of words, and what it means in a line. */
struct phrase {
	const char *text;
	size_t length;
	enum phrase_kind {
		PHRASE_CODE,
		PHRASE_ABOUT,
		PHRASE_VALUE,
		PHRASE_HEX, /* the same, without 0x */
		PHRASE_FIELD,
		PHRASE_CALL,
		PHRASE_FROM
	} kind;
	unsigned int needs;	   /* marks of the line so far */
	unsigned int what;	   /* enum mark, space, member or call */
	const struct code *code;   /* of PHRASE_CODE */
	const char *program;	   /* of PHRASE_FROM */
	const struct phrase *next; /* with the same first word; longer ones come first */
};

struct catalogue {
	struct code *code; /* the rows, the timers, the counters, the rules */
	char (*text)[CODE_TEXT];
	size_t n;
	struct phrase *phrase;
	size_t n_phrases;
	const struct phrase **first; /* by the hash of the first word */
	size_t n_first;		     /* a power of two */
};

/* -1 if out of memory. catalogue_free() in any case. */
int catalogue_make(struct catalogue *c, struct rd_error *err);
void catalogue_free(struct catalogue *c);

/* The code of this number: that of this `with`, else that of any. NULL: unknown. */
const struct code *code_of(
	const struct catalogue *c, enum space space, unsigned int number, unsigned int with);
/* What is known of a counter. */
struct code code_of_counter(const struct rd_counter_kind *k, const char *name);
/* Whether rdmadump alone prints it: its own events, triggers, findings of devices. */
bool is_own(const struct code *code);
/* A word of a line: letters and digits. Returns where it begins, its length; NULL: none is left. */
const char *word_next(const char *text, const char *end, size_t *length);
/*
 * The longest phrase that begins with this word and that the marks allow; with `former` not NULL
 * the next one, which is as long or shorter. *after is where it ends. NULL: none.
 */
const struct phrase *phrase_at(const struct catalogue *c, const struct phrase *former,
	const char *word, size_t length, const char *end, unsigned int marks, const char **after);
