/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The terms of a filter: one row each (filter_terms.c). A new term needs a field of struct
 * rd_filter_spec, a row in the table with its functions, and a row of the command line's options.
 */
#pragma once

#include <rdmadump/array.h>
#include <rdmadump/filter.h>

#define RD_TERM_ALL 1 /* the term matches every frame, so it is not needed */

struct rd_term;

/* A term as given by the user. */
struct rd_term_use {
	const struct rd_term *term;
	const char *text;
	enum rd_link link;
};

/*
 * *state is NULL at first; the row's free() frees it, even after an error. Returns 0, -1 with the
 * error, or RD_TERM_ALL.
 */
typedef int rd_term_compile(void **state, const struct rd_term_use *use, struct rd_error *err);
/* p is NULL for a term without `packet`. */
typedef bool rd_term_match(
	const void *state, const struct rd_frame *frame, const struct rd_packet *p);
typedef void rd_term_free(void *state);

struct rd_term {
	const char *option; /* command line option; empty: printed without a label */
	const char *value;  /* name of a number, for messages */
	size_t at;	    /* offset of its field in struct rd_filter_spec */
	bool flag;	    /* the field is a bool, else a string */
	bool packet;	    /* needs the parsed packet, not only the frame's bytes */
	rd_term_compile *compile;
	rd_term_match *match;
	rd_term_free *free; /* NULL: nothing to free */
};

#define RD_TERMS_MAX 16
#define RD_MAPPED    UINT64_C(0xffff00000000) /* ::ffff:0.0.0.0, lower half */

/* Those without `packet` first; n_rd_terms <= RD_TERMS_MAX. */
extern const struct rd_term rd_terms[];
extern const unsigned int n_rd_terms;

/* An expression of libpcap (filter_expression.c). */
rd_term_compile rd_expression_compile;
rd_term_match rd_expression_match;
rd_term_free rd_expression_free;

/* Opcodes (filter_opcode.c). */
rd_term_compile rd_opcode_compile;
rd_term_match rd_opcode_match;

/* Addresses of either end (filter_addresses.c). */
rd_term_compile rd_host_compile, rd_gid_compile;
rd_term_match rd_host_match, rd_gid_match;
rd_term_free rd_addresses_free;

/* Pairs of addresses (filter_sample.c). */
rd_term_compile rd_sample_compile;
rd_term_match rd_sample_match;

/*
 * Walks a comma-separated list: returns the next entry of *list (not terminated) and its length;
 * NULL at the end.
 */
const char *rd_list_next(const char **list, size_t *length);
/* The number of entries of a list. */
unsigned int rd_list_length(const char *list);
