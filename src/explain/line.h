/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What one line of a log says: its codes, and who and where it was. */
#pragma once

#include "catalogue.h"

#define LINE_CODES   6
#define FLUSHED	     5 /* IBV_WC_WR_FLUSH_ERR: a consequence, never the cause */
#define QPN_UNKNOWN  0xffffffffu
#define ADDRESS_TEXT 48

/* A code of a line. */
struct found {
	enum space space;
	unsigned int number;	 /* ANY_NUMBER: the line has its name only */
	const struct code *code; /* NULL: unknown */
};

struct reading {
	struct found found[LINE_CODES]; /* each space once */
	unsigned int n;
	unsigned int call;   /* of libibverbs that failed: enum call; 0: unknown */
	const char *program; /* who prints such lines; NULL: unknown */
	char host[64];	     /* the machine that printed it; "": unknown */
	char time[40];	     /* as it is written; "": none */
	char device[32];
	unsigned int port;			      /* 0: unknown */
	char local[ADDRESS_TEXT], peer[ADDRESS_TEXT]; /* IP addresses or GIDs; "": unknown */
	bool has_peer_gid;			      /* peer is one */
	unsigned int qpn, peer_qpn;		      /* QPN_UNKNOWN */
};

/*
 * Reads a line of `length` bytes of any content. `marks`: what it is about from the start; all for
 * words that a user typed.
 */
void line_read(const struct catalogue *c, const char *line, size_t length, unsigned int marks,
	struct reading *r);
/* Adds a code, unless the space has one. */
void reading_add(struct reading *r, enum space space, unsigned int number, const struct code *code);
/* The completion status that the line has; ANY_NUMBER: none. */
unsigned int reading_status(const struct reading *r);
/* Finds the codes of the numbers, when all are added. */
void reading_finish(const struct catalogue *c, struct reading *r);

/* --- the beginning of a line (prefix.c) ------------------------------------------------- */

/* Sets time and host; what the line does not begin with stays "". */
void prefix_read(const char *line, size_t length, struct reading *r);
/*
 * Such a time in ns since 1970; 0: it has no date. A year that is not written is the one nearest to
 * `near_ns`; without a zone (*zoned false) it is in that of this machine.
 */
uint64_t prefix_time(const char *time, uint64_t near_ns, bool *zoned);

/* --- dumps of error CQEs of mlx5: libmlx5 prints them on stderr, the kernel in its log (cqe.c) */

/*
 * The last of a dump's four lines has all that matters, so that dumps of several ranks may be
 * mixed: it ends with four words of eight hexadecimal digits, or sixteen of two. True if the line
 * is one, with a known syndrome: *r is what it says.
 */
bool cqe_line(const struct catalogue *c, const char *line, size_t length, struct reading *r);
