/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Everything that can be explained, found by its number, its name, or the words of a line. */
#ifndef RDMADUMP_EXPLAIN_CATALOGUE_H
#define RDMADUMP_EXPLAIN_CATALOGUE_H

#include "code.h"
#include <rdmadump/counters.h>
#include <rdmadump/error.h>
#include <stdint.h>

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

/*
 * The code of this number: the one of this `with`, else the one of any. NULL: unknown.
 */
const struct code *code_of(
	const struct catalogue *c, enum space space, unsigned int number, unsigned int with);
/* What is known of a counter. */
struct code code_of_counter(const struct rd_counter_kind *k, const char *name);
/* Whether rdmadump alone prints it: its own events, triggers, findings of devices. */
bool is_own(const struct code *code);
/* A word of a line: letters and digits. Returns where it begins, and its length; NULL: none is
 * left. */
const char *word_next(const char *text, const char *end, size_t *length);
/*
 * The longest phrase that begins with this word and that the marks allow; with `former` not NULL
 * the next one, which is as long or shorter. *after is where it ends. NULL: none.
 */
const struct phrase *phrase_at(const struct catalogue *c, const struct phrase *former,
	const char *word, size_t length, const char *end, unsigned int marks, const char **after);

#endif
