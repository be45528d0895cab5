/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --opcode: names of the opcode table in several spellings, numbers, and classes. */
#include "filter_terms.h"
#include <ctype.h>
#include <errno.h>
#include <rdmadump/units.h>
#include <rdmadump/words.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME_MAX_LEN  48
#define SIMILAR_MAX   6 /* names that an error message suggests */
#define SIMILAR_EDITS 3 /* edits by which they may differ */

#define ALL_TRANSPORTS 0xff

/* Conditions on a packet with a given opcode; bits of struct opcode_set. */
#define COND_NONE 0x01
#define COND_ACK  0x02 /* an AETH of this kind */
#define COND_RNR  0x04
#define COND_NAK  0x08
#define COND_MAD  0x10
#define COND_CM	  0x20

struct opcode_set {
	uint8_t ask[256]; /* one of these conditions must hold; 0: the opcode is not selected */
};

/* A class selects opcodes that have one of `bits`, or all of a transport, if `ask` holds. */
static const struct opcode_class {
	const char *name;
	uint16_t bits;
	uint8_t transport;
	uint8_t ask;
} classes[] = {
	{"send", RD_OP_SEND, ALL_TRANSPORTS, COND_NONE},
	{"write", RD_OP_WRITE, ALL_TRANSPORTS, COND_NONE},
	{"read", RD_OP_READ, ALL_TRANSPORTS, COND_NONE},
	{"atomic", RD_OP_ATOMIC, ALL_TRANSPORTS, COND_NONE},
	{"flush", RD_OP_FLUSH, ALL_TRANSPORTS, COND_NONE},
	{"ack", RD_OP_ACK, ALL_TRANSPORTS, COND_ACK},
	{"nak", RD_OP_ACK, ALL_TRANSPORTS, COND_NAK},
	{"rnr", RD_OP_ACK, ALL_TRANSPORTS, COND_RNR},
	{"cnp", RD_OP_CNP, ALL_TRANSPORTS, COND_NONE},
	{"mad", 0, RD_UD, COND_MAD},
	{"cm", 0, RD_UD, COND_CM},
	{"rc", 0, RD_RC, COND_NONE},
	{"uc", 0, RD_UC, COND_NONE},
	{"rd", 0, RD_RD, COND_NONE},
	{"ud", 0, RD_UD, COND_NONE},
	{"xrc", 0, RD_XRC, COND_NONE},
};

/* Spellings used by the specification and other tools, and those of the table. */
static const struct {
	const char *theirs, *ours;
} spellings[] = {
	{"rdma_", ""},
	{"with_", ""},
	{"response", "resp"},
	{"immediate", "imm"},
	{"invalidate", "inv"},
	{"acknowledge", "ack"},
	{"compare_and_swap", "cmp_swap"},
	{"compare_swap", "cmp_swap"},
	{"cmpswap", "cmp_swap"},
	{"fetch_and_add", "fetch_add"},
	{"fetchadd", "fetch_add"},
};

static void replace(char name[NAME_MAX_LEN], const char *from, const char *to)
{
	char *at = strstr(name, from);

	if (!at)
		return;
	memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
	memcpy(at, to, strlen(to));
}

/* Converts a name to the spelling of the table. False if it is longer than any name. */
static bool normalise(char name[NAME_MAX_LEN], const char *text, size_t length)
{
	if (length >= NAME_MAX_LEN)
		return false;
	for (size_t i = 0; i < length; i++) {
		char c = (char)tolower((unsigned char)text[i]);

		name[i] = c == '-' || c == ' ' ? '_' : c;
	}
	name[length] = '\0';
	for (size_t i = 0; i < RD_COUNT(spellings); i++)
		replace(name, spellings[i].theirs, spellings[i].ours);
	return true;
}

/* The part of a name after the transport. */
static const char *verb_of(const char *name)
{
	const char *underscore = strchr(name, '_');

	return underscore ? underscore + 1 : name;
}

static bool add_class(struct opcode_set *set, const char *name)
{
	const struct opcode_class *c =
		RD_FIND(k, classes, RD_COUNT(classes), !strcmp(k->name, name));

	for (unsigned int code = 0; c && code < 256; code++)
		if (c->transport == ALL_TRANSPORTS ? rd_opcodes[code].bits & c->bits
						   : code >> 5 == c->transport)
			set->ask[code] |= c->ask;
	return c;
}

static bool add_name(struct opcode_set *set, const char *name)
{
	bool found = false;

	for (unsigned int code = 0; code < 256; code++) {
		const char *full = rd_opcodes[code].name;

		if (full && (!strcasecmp(full, name) || !strcasecmp(verb_of(full), name))) {
			set->ask[code] |= COND_NONE;
			found = true;
		}
	}
	return found;
}

static bool is_similar(const char *known, const char *name)
{
	char lower[NAME_MAX_LEN];
	unsigned int most = strlen(name) < 5 ? 2 : SIMILAR_EDITS;

	normalise(lower, known, strlen(known));
	return rd_word_edits(known, name) <= most || (strlen(name) > 2 && strstr(lower, name));
}

static void list_similar(const char *name, char *out, size_t size)
{
	unsigned int n = 0;
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < RD_COUNT(classes) && n < SIMILAR_MAX && used < size; i++)
		if (rd_word_edits(classes[i].name, name) <= 1 + strlen(name) / 4 && ++n)
			used += (size_t)snprintf(out + used, size - used, "%s%s",
				used ? ", " : "; similar: ", classes[i].name);
	for (unsigned int code = 0; code < 256 && n < SIMILAR_MAX && used < size; code++) {
		const char *full = rd_opcodes[code].name;

		if (full && (is_similar(full, name) || is_similar(verb_of(full), name)) && ++n)
			used += (size_t)snprintf(
				out + used, size - used, "%s%s", used ? ", " : "; similar: ", full);
	}
}

static void list_classes(char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < RD_COUNT(classes) && used < size; i++)
		used += (size_t)snprintf(
			out + used, size - used, "%s%s", i ? ", " : "", classes[i].name);
}

static int unknown(const char *entry, size_t length, struct rd_error *err)
{
	char name[NAME_MAX_LEN], similar[200] = "", known[160] = "";

	if (normalise(name, entry, length))
		list_similar(name, similar, sizeof(similar));
	list_classes(known, sizeof(known));
	return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
		"--opcode: '%.*s' is not an opcode; give a class (%s), a name like SEND_ONLY or "
		"RC_WRITE_FIRST, or a number like 0x04%s",
		(int)(length > 60 ? 60 : length), entry, known, similar);
}

int rd_opcode_compile(void **state, const struct rd_term_use *use, struct rd_error *err)
{
	struct opcode_set *set = *state = calloc(1, sizeof(*set));
	const char *list = use->text, *entry;
	size_t length;

	if (!set)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "compiling the filter");
	while ((entry = rd_list_next(&list, &length))) {
		char name[NAME_MAX_LEN];
		uint64_t code;

		if (!normalise(name, entry, length))
			return unknown(entry, length, err);
		if (rd_parse_u64(name, 0, 255, &code) == 0)
			set->ask[code] |= COND_NONE;
		else if (!add_class(set, name) && !add_name(set, name))
			return unknown(entry, length, err);
	}
	return 0;
}

bool rd_opcode_match(const void *state, const struct rd_frame *frame, const struct rd_packet *p)
{
	static const uint8_t asks[] = {
		[RD_AETH_ACK] = COND_ACK, [RD_AETH_RNR] = COND_RNR, [RD_AETH_NAK] = COND_NAK};
	const struct opcode_set *set = state;
	struct rd_aeth aeth;
	struct rd_mad mad;
	uint8_t ask;

	(void)frame;
	if (!p->op)
		return false;
	ask = set->ask[p->opcode];
	if (ask & COND_NONE || !ask)
		return ask;
	if (ask & (COND_ACK | COND_RNR | COND_NAK) && rd_packet_aeth(p, &aeth))
		return ask & asks[aeth.kind];
	if (ask & COND_MAD && rd_packet_is_mad(p))
		return true;
	return ask & COND_CM && rd_packet_mad(p, &mad) && mad.class == RD_MAD_CM;
}
