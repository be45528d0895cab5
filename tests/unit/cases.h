/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Cases of the analysis as text (tests/cases/README.md): what the files of their runner share. */
#pragma once

#include "test_packet_make.h"
#include <jansson.h>
#include <rdmadump/analysis.h>
#include <rdmadump/ends.h>

struct token {
	const char *text;
	int line;
	bool starts;  /* the first one of its line */
	size_t match; /* of a "{": the "}" */
};

/* Variables with a meaning; the others are the cases' own. */
#define SLOTS                                                                                      \
	S_qp, S_tos, S_vlan, S_iface, S_cut, S_vni, S_vni_back, S_tunnelled, S_reserved, S_icrc,   \
		S_group, S_third, S_other_back, S_msn, S_gap, S_id, S_ib, S_body, S_zero, S_marks, \
		S_length, S_addr, S_rkey, S_qkey, S_src, S_opcode, S_changed, S_ahead, S_drift,    \
		S_directions, S_only_a, S_net_a, S_net_b, S_ttl_a, S_ttl_b, S_ttl_back_a,          \
		S_ttl_back_b, S_first_a, S_first_b, S_delay, S_trim, S_known, S_alone
enum slot { SLOTS, N_SLOTS };

#define VARS 64

struct var {
	char name[24];
	const char *text; /* NULL: the number */
	int64_t n;
};

/* Of two captures: what the report of one of them alone has of the QP pair. */
struct alone {
	struct rd_report report;
	struct rd_conversation c[2]; /* 10.0.0.2 QP 0x200 -> 10.0.0.1 QP 0x100 */
	struct rd_report_file file;
	struct rd_incident incidents[8];
	struct rd_verb_use verb;
	struct rd_times times;
	struct rd_owner owner[2];
};

struct run {
	const char *path, *name; /* of the file, and of the case */
	struct token *tok;
	size_t n;
	struct var var[VARS], made[VARS]; /* of tables, loops and parameters; by "set" */
	unsigned int n_vars, n_made, depth;
	int64_t slot[N_SLOTS];
	unsigned int failed; /* expectations of the case */
	unsigned int expected;
	/* One capture. */
	uint64_t ns;
	struct rd_analysis *a;
	struct rd_analysis_config config;
	struct rd_iface ifaces[8], iface; /* iface: of the frames that follow */
	unsigned int n_ifaces;
	struct rd_report *r;
	/* Two of them. */
	bool two;
	struct rd_ends *e;
	bool ended[RD_TAPS];
	struct rd_ends_report *er;
	struct alone by[RD_TAPS];
	json_t *json;
	char *text;
};

/* --- words (cases_words.c) --------------------------------------------------------------- */

/* A fault of the file: says where, and ends. */
void bail(const struct run *r, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));
void words_read(struct run *r, const char *path);
void words_free(struct run *r);
/* The token with "$name" and "$(expression)" replaced, and without quotation marks. */
const char *text_of(struct run *r, size_t at);
int64_t value_of(struct run *r, size_t at, const char *expression);
void var_set(struct run *r, size_t at, const char *name, const char *text, int64_t n);
/* Whether all names in a text are those of variables. */
bool is_expression(struct run *r, const char *text);
/* The text that a variable with this name has; NULL: it has none. */
const char *text_in(struct run *r, const char *name);
/* "name=expression": the slot with this name gets its value. False: it is no slot. */
bool slot_set(struct run *r, int64_t *slots, size_t at, const char *assignment);
/* Whether the token belongs to the statement that began before it. */
bool goes_on(const struct run *r, size_t at);

/* --- frames (cases_frames.c, cases_ends.c): the index behind the statement; 0: none ------- */

size_t frames_statement(struct run *r, size_t at);
void frames_report(struct run *r);
size_t ends_statement(struct run *r, size_t at);
void ends_report(struct run *r, size_t at);
void ends_begin(struct run *r);
void ends_close(struct run *r);

/* --- expectations (cases_expect.c) ------------------------------------------------------- */

size_t expect_line(struct run *r, size_t at);
