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

/* SIZE_MAX if out of memory. */
static size_t size_of(const json_t *value, size_t flags)
{
	size_t bytes = 1; /* the comma */

	return value && !json_dump_callback(value, count_bytes, &bytes, flags) ? bytes : SIZE_MAX;
}

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
		bool fits = spend(b, size_of(value, b->flags));

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
	fits = spend(b, size_of(value, b->flags));
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

bool selection_make(struct selection *s, const struct rd_report *r, size_t flags, size_t bytes)
{
	struct budget b = {.r = r, .flags = flags, .bytes = bytes / 4};

	*s = (struct selection){.intervals = r->intervals.n <= INTERVALS_MAX};
	s->conversations = calloc(r->n_shown + 1, 1);
	if (!s->conversations)
		return false;
	s->findings = choose_findings(&b);
	b.bytes += bytes - bytes / 4;
	b.whole = b.bytes / 3;
	choose_conversations(&b, s);
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
	size_t left[] = {[SELECTED_NOT] = 0, [SELECTED_NUMBERS] = 0, [SELECTED_WHOLE] = 0};
	size_t findings = r->findings.n - s->findings;
	size_t intervals = s->intervals ? 0 : r->intervals.n;

	for (size_t i = 0; i < r->n_shown; i++)
		left[s->conversations[i]] +=
			s->conversations[i] != SELECTED_NUMBERS || r->conversations[i].series.n > 0;
	if (!findings && !intervals && !left[SELECTED_NOT] && !left[SELECTED_NUMBERS])
		return NULL;
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "findings", rd_json_u64(findings),
		"conversations", rd_json_u64(left[SELECTED_NOT]), "conversations_with_findings",
		rd_json_u64(left_with_findings(s, r)), "series",
		rd_json_u64(left[SELECTED_NUMBERS]), "intervals", rd_json_u64(intervals));
}
