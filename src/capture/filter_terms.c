/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of the filter's terms, and the simple terms. */
#include "filter_terms.h"
#include <errno.h>
#include <rdmadump/units.h>
#include <stdlib.h>

#define NUMBER_MAX  0xffffff /* QP numbers and MSNs have 24 bits */
#define ENTRY_SHOWN 60

/* --- direction -------------------------------------------------------------------------- */

struct direction {
	const char *name;
	uint8_t direction;
};

static int compile_direction(void **state, const struct rd_term_use *use, struct rd_error *err)
{
	static struct direction names[] = {
		{"in", RD_DIR_IN},
		{"rx", RD_DIR_IN},
		{"out", RD_DIR_OUT},
		{"tx", RD_DIR_OUT},
		{"inout", RD_DIR_UNKNOWN},
		{"both", RD_DIR_UNKNOWN},
	};

	for (size_t i = 0; i < RD_COUNT(names); i++) {
		if (strcasecmp(names[i].name, use->text))
			continue;
		*state = &names[i];
		return names[i].direction == RD_DIR_UNKNOWN ? RD_TERM_ALL : 0;
	}
	return rd_fail(err, RD_CLASS_USAGE, 0, "give in (rx), out (tx) or inout",
		"direction '%s' is not known", use->text);
}

static bool match_direction(
	const void *state, const struct rd_frame *frame, const struct rd_packet *p)
{
	const struct direction *wanted = state;

	(void)p;
	return frame->direction == wanted->direction;
}

/* --- transport -------------------------------------------------------------------------- */

static bool match_roce(const void *state, const struct rd_frame *frame, const struct rd_packet *p)
{
	(void)state;
	(void)frame;
	return p->kind != RD_KIND_OTHER;
}

/* --- numbers ---------------------------------------------------------------------------- */

/* A sorted list. */
struct numbers {
	unsigned int n;
	uint32_t values[];
};

static int compare_numbers(const void *a, const void *b)
{
	return RD_ORDER(*(const uint32_t *)a, *(const uint32_t *)b);
}

static int compile_numbers(void **state, const struct rd_term_use *use, struct rd_error *err)
{
	const char *list = use->text, *entry;
	struct numbers *set =
		calloc(1, sizeof(*set) + rd_list_length(list) * sizeof(set->values[0]));
	size_t length;

	*state = set;
	if (!set)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "compiling the filter");
	while ((entry = rd_list_next(&list, &length))) {
		char text[24] = "";
		uint64_t v;

		if (length < sizeof(text))
			memcpy(text, entry, length);
		if (rd_parse_u64(text, 0, NUMBER_MAX, &v))
			return rd_fail(err, RD_CLASS_USAGE, 0, "give numbers like 17 or 0x11,0x12",
				"%s: '%.*s' is not a %s from 0 to 0x%x", use->term->option,
				(int)(length > ENTRY_SHOWN ? ENTRY_SHOWN : length), entry,
				use->term->value, NUMBER_MAX);
		set->values[set->n++] = (uint32_t)v;
	}
	qsort(set->values, set->n, sizeof(set->values[0]), compare_numbers);
	return 0;
}

static bool has_number(const struct numbers *set, uint32_t v)
{
	unsigned int low = 0, high = set->n;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (set->values[middle] < v)
			low = middle + 1;
		else
			high = middle;
	}
	return low < set->n && set->values[low] == v;
}

static bool match_qp(const void *state, const struct rd_frame *frame, const struct rd_packet *p)
{
	(void)frame;
	return p->op && has_number(state, p->dest_qp);
}

static bool match_msn(const void *state, const struct rd_frame *frame, const struct rd_packet *p)
{
	struct rd_aeth aeth;

	(void)frame;
	return rd_packet_aeth(p, &aeth) && has_number(state, aeth.msn);
}

static bool match_src_qp(const void *state, const struct rd_frame *frame, const struct rd_packet *p)
{
	struct rd_deth deth;

	(void)frame;
	return p->op && rd_packet_deth(p, &deth) && has_number(state, deth.src_qp);
}

#define FIELD(name) .at = offsetof(struct rd_filter_spec, name)

const struct rd_term rd_terms[] = {
	{"-Q", NULL, FIELD(direction), .compile = compile_direction, .match = match_direction},
	{"", NULL, FIELD(expression), .compile = rd_expression_compile,
		.match = rd_expression_match, .free = rd_expression_free},
	{"--roce", NULL, FIELD(roce), .flag = true, .packet = true, .match = match_roce},
	{"--qp", "QP number", FIELD(qp), .packet = true, .compile = compile_numbers,
		.match = match_qp, .free = free},
	{"--src-qp", "QP number", FIELD(src_qp), .packet = true, .compile = compile_numbers,
		.match = match_src_qp, .free = free},
	{"--msn", "message sequence number", FIELD(msn), .packet = true, .compile = compile_numbers,
		.match = match_msn, .free = free},
	{"--opcode", NULL, FIELD(opcode), .packet = true, .compile = rd_opcode_compile,
		.match = rd_opcode_match, .free = free},
	{"--host", NULL, FIELD(host), .packet = true, .compile = rd_host_compile,
		.match = rd_host_match, .free = rd_addresses_free},
	{"--gid", NULL, FIELD(gid), .packet = true, .compile = rd_gid_compile,
		.match = rd_gid_match, .free = rd_addresses_free},
	{"--sample", NULL, FIELD(sample), .packet = true, .compile = rd_sample_compile,
		.match = rd_sample_match, .free = free},
};

const unsigned int n_rd_terms = RD_COUNT(rd_terms);
_Static_assert(RD_COUNT(rd_terms) <= RD_TERMS_MAX, "a filter has room for every term");
