/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The map from parts of addresses to their replacements, which are chosen at random with the secret
 * key of the hash. A replacement is used once, and is not an original while other values are free.
 */
#include "redact.h"
#include <arpa/inet.h>
#include <rdmadump/hash.h>
#include <rdmadump/json.h>
#include <rdmadump/memory.h>
#include <rdmadump/notation.h>
#include <stdio.h>
#include <stdlib.h>

#define TRIES 4096 /* random attempts before all values are tried in order */

/* --- tables ----------------------------------------------------------------------------------- */

static struct table_row *table_row(const struct table *t, enum space space, uint64_t value)
{
	size_t i = t->capacity ? rd_hash2((uint64_t)space, value) & (t->capacity - 1) : 0;

	if (!t->capacity)
		return NULL;
	while (t->row[i].space && (t->row[i].space != space || t->row[i].value != value))
		i = (i + 1) & (t->capacity - 1);
	return &t->row[i];
}

static const struct table_row *table_find(const struct table *t, enum space space, uint64_t value)
{
	const struct table_row *row = table_row(t, space, value);

	return row && row->space ? row : NULL;
}

static bool table_grow(struct table *t)
{
	struct table grown = {.n = t->n, .capacity = t->capacity ? 2 * t->capacity : 256};

	grown.row = calloc(grown.capacity, sizeof(*grown.row));
	if (!grown.row)
		return false;
	for (size_t i = 0; i < t->capacity; i++)
		if (t->row[i].space)
			*table_row(&grown, t->row[i].space, t->row[i].value) = t->row[i];
	free(t->row);
	*t = grown;
	return true;
}

/* Returns whether it is new. */
static bool table_add(
	struct rd_redact *r, struct table *t, enum space space, uint64_t value, uint64_t to)
{
	struct table_row *row;

	if (2 * (t->n + 1) > t->capacity && !table_grow(t)) {
		r->no_memory = true;
		return false;
	}
	row = table_row(t, space, value);
	if (row->space)
		return false;
	*row = (struct table_row){.value = value, .to = to, .space = space};
	t->n++;
	return true;
}

/* --- parts of addresses ----------------------------------------------------------------------- */

/* The range of replacements. */
struct range {
	unsigned int bits; /* of the part */
	uint64_t least, most;
};

/* A replacement keeps the category of the part: a class of networks, a kind of number. */
static struct range range_of(enum space space, uint64_t value)
{
	switch (space) {
	case SPACE_IPV4_8: /* 0, 127 and those from 224 on are special */
		return value < 128 ? (struct range){8, 1, 126} : (struct range){8, 128, 223};
	case SPACE_IPV4_16:
	case SPACE_IPV4_24:
		return (struct range){8, 0, 255};
	case SPACE_IPV4_32:
		return (struct range){8, 1, 254};
	case SPACE_IPV6_16: /* RFC 4193: unique local addresses */
		return value < 0xfc00 ? (struct range){16, 1, 0xfbff}
				      : (struct range){16, value & 0xff00, value | 0xff};
	case SPACE_OUI: /* locally administered: no vendor is named */
		return (struct range){24, 0x020000, 0x02ffff};
	case SPACE_LOW24:
		return (struct range){24, 1, 0xffffff};
	case SPACE_HIGH40: /* neither small nor near all ones: such numbers are not taken for GUIDs
			      in text */
		return (struct range){40, UINT64_C(0x0100000000), UINT64_C(0xfeffffffff)};
	case SPACE_ID:
		return (struct range){48, 1, UINT64_C(0xffffffffffff)};
	default:
		return (struct range){16, 1, 0xffff};
	}
}

static bool is_first(enum space space)
{
	return space == SPACE_IPV4_8 || space == SPACE_IPV6_16 || space >= SPACE_OUI;
}

/* The replacement of the bits before a part; fixed bits have no row. */
static uint64_t before(const struct rd_redact *r, enum space space, uint64_t value)
{
	unsigned int bits = range_of(space, value).bits;
	const struct table_row *row;
	uint64_t own;

	if (is_first(space))
		return 0;
	value >>= bits;
	space--;
	row = table_find(&r->replaced, space, value);
	if (row)
		return row->to;
	bits = range_of(space, value).bits;
	own = value & ((UINT64_C(1) << bits) - 1);
	return is_first(space) ? value : before(r, space, value) << bits | own;
}

static bool is_free(const struct rd_redact *r, enum space space, uint64_t to, bool any)
{
	return !table_find(&r->used, space, to) && (any || !table_find(&r->originals, space, to));
}

/* A free random replacement; in a small range, the next free one. */
static uint64_t choose(const struct rd_redact *r, enum space space, uint64_t value, uint64_t parent)
{
	const struct range range = range_of(space, value);
	uint64_t size = range.most - range.least + 1, start = 0;

	for (unsigned int i = 0; i < TRIES; i++) {
		start = rd_hash2((uint64_t)space << 32 | i, value) % size;
		if (is_free(r, space, parent << range.bits | (range.least + start), false))
			return parent << range.bits | (range.least + start);
	}
	for (uint64_t i = 0; i < size && size <= TRIES; i++) {
		uint64_t to = parent << range.bits | (range.least + (start + i) % size);

		if (is_free(r, space, to, true))
			return to;
	}
	return parent << range.bits | (range.least + start);
}

uint64_t part_replace(struct rd_redact *r, enum space space, uint64_t value)
{
	const struct table_row *known;
	uint64_t to;

	if (!r->replacing) {
		table_add(r, &r->originals, space, value, 0);
		return value;
	}
	known = table_find(&r->replaced, space, value);
	if (known)
		return known->to;
	to = choose(r, space, value, before(r, space, value));
	if (table_add(r, &r->replaced, space, value, to))
		table_add(r, &r->used, space, to, 0);
	return to;
}

bool part_was_seen(const struct rd_redact *r, enum space space, uint64_t value)
{
	return table_find(&r->originals, space, value) != NULL;
}

void rd_redact_begin(struct rd_redact *r)
{
	r->replacing = true;
}

/* --- the map ---------------------------------------------------------------------------------- */

static size_t address_length(enum rd_redact_kind kind)
{
	static const uint8_t lengths[RD_REDACT_KINDS] = {[RD_REDACT_MAC] = 6,
		[RD_REDACT_GUID] = 8,
		[RD_REDACT_IPV4] = 4,
		[RD_REDACT_IPV6] = 16};

	return lengths[kind];
}

/* Whether there is an entry for these bytes of that kind; from now on there is. */
static bool is_recorded(struct rd_redact *r, enum rd_redact_kind kind, const void *bytes, size_t n)
{
	struct rd_hash h = rd_hash_begin();
	unsigned int words = rd_hash_add_bytes(&h, bytes, n);

	return !table_add(
		r, &r->recorded, (enum space)(SPACES + (int)kind), rd_hash_end(&h, words), 0);
}

static void entry_add(
	struct rd_redact *r, enum rd_redact_kind kind, const char *from, size_t n, const char *to)
{
	struct entry *e = rd_append(&r->entry, r->n_entries, sizeof(*e));

	r->no_memory |= !e;
	if (!e)
		return;
	r->n_entries++;
	*e = (struct entry){kind, strndup(from, n), strdup(to)};
	r->no_memory |= !e->from || !e->to;
}

static void put_address(char buf[64], enum rd_redact_kind kind, const uint8_t *p)
{
	if (kind == RD_REDACT_IPV4 || kind == RD_REDACT_IPV6)
		inet_ntop(kind == RD_REDACT_IPV4 ? AF_INET : AF_INET6, p, buf, 64);
	else if (kind == RD_REDACT_MAC)
		rd_mac_text(buf, p);
	else
		snprintf(buf, 64, "0x%016llx", (unsigned long long)rd_be64(p));
}

void record_address(
	struct rd_redact *r, enum rd_redact_kind kind, const uint8_t *from, const uint8_t *to)
{
	size_t n = address_length(kind);
	char old[64] = "", new[64] = "";

	if (!r->replacing || memcmp(from, to, n) == 0 || is_recorded(r, kind, from, n))
		return;
	put_address(old, kind, from);
	put_address(new, kind, to);
	entry_add(r, kind, old, strlen(old), new);
}

void record_text(
	struct rd_redact *r, enum rd_redact_kind kind, const char *from, size_t n, const char *to)
{
	if (r->replacing && !is_recorded(r, kind, from, n))
		entry_add(r, kind, from, n, to);
}

static json_t *json_entry(const struct entry *e)
{
	return json_pack("{s:s, s:o, s:o}", "kind", kind_names[e->kind], "original",
		rd_json_string(e->from), "replacement", rd_json_string(e->to));
}

json_t *rd_redact_map(const struct rd_redact *r)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < r->n_entries; i++)
		if (json_array_append_new(list, json_entry(&r->entry[i])) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

struct rd_redact *rd_redact_new(void)
{
	struct rd_redact *r = calloc(1, sizeof(*r));

	if (r)
		labels_index(r);
	return r;
}

void rd_redact_free(struct rd_redact *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_entries; i++) {
		free(r->entry[i].from);
		free(r->entry[i].to);
	}
	free(r->entry);
	free(r->originals.row);
	free(r->replaced.row);
	free(r->used.row);
	free(r->recorded.row);
	names_free(r);
	free(r);
}

bool rd_redact_failed(const struct rd_redact *r)
{
	return r->no_memory;
}
