/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chooses what of a report is in a page: a browser cannot show a page of 60 MB, which the
 * conversations of 65 536 QPs would be.
 */
#include "selection.h"
#include <rdmadump/json.h>
#include <stdlib.h>

#define INTERVALS_MAX 2048 /* rows; more would need most of the page */

/* The bytes that a value has in a page, where each "<" is escaped. */
static int count_bytes(const char *text, size_t n, void *ctx)
{
	size_t *bytes = ctx;

	for (size_t i = 0; i < n; i++)
		*bytes += text[i] == '<' ? strlen("\\u003c") : 1;
	return 0;
}

size_t page_bytes(const json_t *value, size_t flags)
{
	size_t bytes = 1; /* the comma */

	return value && !json_dump_callback(value, count_bytes, &bytes, flags) ? bytes : SIZE_MAX;
}

/* --- tables ----------------------------------------------------------------------------------- */

#define TABLE_PART 10 /* a table has at most one of so many parts of the page */

/* Removes the rows at the end that do not fit. Returns how many. */
static size_t cut_rows(json_t *rows, size_t flags, size_t bytes)
{
	const size_t n = json_array_size(rows);
	size_t fit = 0;

	while (fit < n) {
		const size_t row = page_bytes(json_array_get(rows, fit), flags);

		if (row > bytes)
			break;
		bytes -= row;
		fit++;
	}
	for (size_t i = n; i > fit; i--)
		json_array_remove(rows, i - 1);
	return n - fit;
}

/* The tables whose length depends on the capture. Returns the rows that were removed. */
static size_t cut_tables(json_t *frame, size_t flags, size_t bytes)
{
	static const char *const tables[] = {"applications", "counters", "mads"};
	static const char *const of_hosts[] = {"list", "pairs"};
	const json_t *hosts = json_object_get(frame, "hosts");
	size_t rows = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		rows += cut_rows(json_object_get(frame, tables[i]), flags, bytes);
	for (size_t i = 0; i < sizeof(of_hosts) / sizeof(*of_hosts); i++)
		rows += cut_rows(json_object_get(hosts, of_hosts[i]), flags, bytes);
	return rows;
}

/* --- lists ------------------------------------------------------------------------------------ */

struct budget {
	const struct rd_report *r;
	size_t flags, bytes, whole; /* until `whole` bytes are left, with series */
	bool no_memory;
};

static bool spend(struct budget *b, size_t bytes)
{
	b->no_memory |= bytes == SIZE_MAX;
	if (bytes > b->bytes)
		return false;
	b->bytes -= bytes;
	return true;
}

static size_t choose_findings(struct budget *b)
{
	const struct list *list = report_list("findings");
	size_t n = list->count(b->r);

	for (size_t i = 0; i < n; i++) {
		json_t *value = list->make(b->r, i);
		bool fits = spend(b, page_bytes(value, b->flags));

		json_decref(value);
		if (!fits)
			return i;
	}
	return n;
}

/* False: it does not fit, and the choice ends. */
static bool choose(struct budget *b, struct selection *s, size_t i)
{
	const struct list *list = report_list("conversations");
	bool whole = b->bytes > b->whole, fits;
	json_t *value;

	if (s->conversations[i] != SELECTED_NOT)
		return true;
	value = list->make(b->r, i);
	if (!whole)
		conversation_json_shorten(value);
	fits = spend(b, page_bytes(value, b->flags));
	json_decref(value);
	if (fits)
		s->conversations[i] = whole ? SELECTED_WHOLE : SELECTED_NUMBERS;
	return fits;
}

/* The index of each conversation by its id, plus 1; 0: none is shown. */
static size_t *index_by_id(const struct rd_report *r, size_t *n)
{
	size_t *index;

	*n = 1;
	for (size_t i = 0; i < r->n_shown; i++)
		if (r->conversations[i].id >= *n)
			*n = (size_t)r->conversations[i].id + 1;
	index = calloc(*n, sizeof(*index));
	for (size_t i = 0; index && i < r->n_shown; i++)
		index[r->conversations[i].id] = i + 1;
	return index;
}

static void choose_conversations(struct budget *b, struct selection *s)
{
	const struct rd_report *r = b->r;
	size_t n, *index = index_by_id(r, &n);
	bool fits = true;

	b->no_memory |= !index;
	for (size_t i = 0; i < r->findings.n && fits && index; i++) {
		unsigned int id = r->findings.finding[i].conversation;

		if (id < n && index[id])
			fits = choose(b, s, index[id] - 1);
	}
	for (size_t i = 0; i < r->n_shown && fits; i++)
		fits = choose(b, s, i);
	free(index);
}

bool selection_make(
	struct selection *s, const struct rd_report *r, json_t *frame, size_t flags, size_t bytes)
{
	struct budget b = {.r = r, .flags = flags};
	size_t used;

	*s = (struct selection){.intervals = r->intervals.n <= INTERVALS_MAX};
	s->conversations = calloc(r->n_shown + 1, 1);
	if (!s->intervals)
		json_object_del(frame, "intervals");
	s->rows = cut_tables(frame, flags, bytes / TABLE_PART);
	used = page_bytes(frame, flags);
	b.no_memory = !s->conversations || used == SIZE_MAX;
	bytes -= used < bytes ? used : bytes;
	b.bytes = bytes / 4;
	if (!b.no_memory) {
		s->findings = choose_findings(&b);
		b.bytes += bytes - bytes / 4;
		b.whole = b.bytes / 3;
		choose_conversations(&b, s);
	}
	if (b.no_memory)
		selection_free(s);
	return !b.no_memory;
}

void selection_free(struct selection *s)
{
	free(s->conversations);
	s->conversations = NULL;
}

/* Conversations that are left out and have findings; each is counted once. */
static size_t left_with_findings(const struct selection *s, const struct rd_report *r)
{
	size_t n, count = 0, *index = index_by_id(r, &n);

	for (size_t i = 0; i < r->findings.n && index; i++) {
		unsigned int id = r->findings.finding[i].conversation;

		if (id >= n || !index[id] || s->conversations[index[id] - 1] != SELECTED_NOT)
			continue;
		index[id] = 0;
		count++;
	}
	free(index);
	return count;
}

json_t *selection_left_out(const struct selection *s, const struct rd_report *r)
{
	struct left_out left = {.findings = r->findings.n - s->findings,
		.intervals = s->intervals ? 0 : r->intervals.n,
		.rows = s->rows};

	for (size_t i = 0; i < r->n_shown; i++) {
		left.conversations += s->conversations[i] == SELECTED_NOT;
		left.series +=
			s->conversations[i] == SELECTED_NUMBERS && r->conversations[i].series.n > 0;
	}
	if (!left.findings && !left.intervals && !left.rows && !left.conversations && !left.series)
		return NULL;
	left.with_findings = left_with_findings(s, r);
	return rd_shape_json(&left_out_shape, &(struct rd_at){.object = &left});
}
