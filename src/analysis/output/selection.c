/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chooses what of a report is in a page: a browser cannot show a page of 60 MB, which the
 * conversations of 65 536 QPs would be.
 */
#include "../verdict/verdict.h"
#include "output.h"
#include <stdlib.h>

/* The bytes that a value has in a page, where each "<" is escaped. */
static int count_bytes(const char *text, size_t n, void *ctx)
{
	size_t *bytes = ctx;

	for (size_t i = 0; i < n; i++)
		*bytes += text[i] == '<' ? strlen("\\u003c") : 1;
	return 0;
}

/* With a comma. SIZE_MAX if out of memory, or for NULL. */
static size_t page_bytes(const json_t *value, size_t flags)
{
	size_t bytes = 1;

	return value && !json_dump_callback(value, count_bytes, &bytes, flags) ? bytes : SIZE_MAX;
}

bool room_spend(struct room *room, const json_t *value)
{
	const size_t bytes = page_bytes(value, room->flags);

	room->no_memory |= bytes == SIZE_MAX;
	if (bytes > room->bytes)
		return false;
	room->bytes -= bytes;
	return true;
}

bool room_add(struct room *room, json_t *list, json_t *value)
{
	const bool fits = room_spend(room, value);

	if (fits)
		room->no_memory |= json_array_append_new(list, value) < 0;
	else
		json_decref(value);
	return fits;
}

/* --- tables ----------------------------------------------------------------------------------- */

#define TABLE_PART 10 /* a table has at most one of so many parts of the page */

/* Removes the rows at the end that do not fit. Returns how many. */
static size_t cut_rows(json_t *rows, size_t flags, size_t bytes)
{
	const size_t n = json_array_size(rows);
	struct room room = {.flags = flags, .bytes = bytes};
	size_t fit = 0;

	while (fit < n && room_spend(&room, json_array_get(rows, fit)))
		fit++;
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

	for (size_t i = 0; i < RD_COUNT(tables); i++)
		rows += cut_rows(json_object_get(frame, tables[i]), flags, bytes);
	for (size_t i = 0; i < RD_COUNT(of_hosts); i++)
		rows += cut_rows(json_object_get(hosts, of_hosts[i]), flags, bytes);
	return rows;
}

/* --- lists ------------------------------------------------------------------------------------ */

struct page {
	const struct rd_report *r;
	struct room room;
	size_t whole;	/* until so many bytes are left, with series */
	json_t **talks; /* of conversations, by index; NULL: not in the page */
	struct left_out left;
};

static size_t add_findings(struct page *p, json_t *list)
{
	const struct rd_findings *all = &p->r->findings;
	size_t i = 0;

	while (i < all->n && room_add(&p->room, list, report_finding_json(p->r, i)))
		i++;
	return all->n - i;
}

/* Removes the data of plots, which are most of a conversation's bytes. */
static void shorten(json_t *conversation)
{
	static const char *const details[] = {"operations", "statuses", "slowest"};
	json_t *application = json_object_get(conversation, "application");

	if (!conversation)
		return;
	json_object_set_new(conversation, "series", json_null());
	for (size_t i = 0; i < RD_COUNT(details); i++)
		json_object_del(application, details[i]);
	conversation_json_drop_plots(conversation);
}

/* False: it does not fit, and the choice ends. */
static bool choose(struct page *p, size_t i)
{
	const bool whole = p->room.bytes > p->whole;
	json_t *value;

	if (p->talks[i])
		return true;
	value = report_conversation_json(p->r, i);
	if (!whole)
		shorten(value);
	if (!room_spend(&p->room, value)) {
		json_decref(value);
		return false;
	}
	p->talks[i] = value;
	p->left.series += !whole && p->r->conversations[i].series.n;
	return true;
}

/* The index of the conversation of a finding; n_shown: none is shown. */
static size_t talk_of(const struct page *p, size_t finding)
{
	const struct rd_conversation *c =
		conversation_of(p->r, p->r->findings.finding[finding].conversation);
	const size_t i = c ? (size_t)(c - p->r->conversations) : p->r->n_shown;

	return i < p->r->n_shown ? i : p->r->n_shown;
}

/* Those that have findings first, then the busiest. */
static void choose_conversations(struct page *p)
{
	const struct rd_report *r = p->r;
	bool fits = true;

	for (size_t i = 0; i < r->findings.n && fits; i++) {
		const size_t talk = talk_of(p, i);

		fits = talk == r->n_shown || choose(p, talk);
	}
	for (size_t i = 0; i < r->n_shown && fits; i++)
		fits = choose(p, i);
}

static void add_conversations(struct page *p, json_t *list)
{
	const struct rd_report *r = p->r;

	choose_conversations(p);
	/* Of those that are left out, each is counted once. */
	for (size_t i = 0; i < r->findings.n; i++) {
		const size_t talk = talk_of(p, i);

		if (talk == r->n_shown || p->talks[talk])
			continue;
		p->talks[talk] = json_null();
		p->left.with_findings++;
	}
	for (size_t i = 0; i < r->n_shown; i++)
		if (p->talks[i] && !json_is_null(p->talks[i]))
			p->room.no_memory |= json_array_append_new(list, p->talks[i]) < 0;
	p->left.conversations = r->n_shown - json_array_size(list);
}

static void fill(struct page *p, json_t *frame, size_t bytes)
{
	struct room all = {.flags = p->room.flags, .bytes = bytes};

	p->left.rows = cut_tables(frame, all.flags, bytes / TABLE_PART);
	if (!room_spend(&all, frame))
		all.bytes = 0;
	p->room.no_memory |= all.no_memory;
	p->room.bytes = all.bytes / 4;
	p->left.findings = add_findings(p, json_object_get(frame, "findings"));
	p->room.bytes += all.bytes - all.bytes / 4;
	p->whole = p->room.bytes / 3;
	add_conversations(p, json_object_get(frame, "conversations"));
}

json_t *rd_report_json_within(const struct rd_report *r, size_t bytes, size_t flags)
{
	static const struct left_out nothing;
	struct page p = {
		.r = r, .room.flags = flags, .talks = calloc(r->n_shown + 1, sizeof(*p.talks))};
	json_t *frame = p.talks ? report_frame_json(r) : NULL;

	if (frame)
		fill(&p, frame, bytes);
	free(p.talks);
	if (memcmp(&p.left, &nothing, sizeof(nothing)) != 0)
		json_object_set_new(frame, "left_out",
			rd_shape_json(&left_out_shape, &(struct rd_at){.object = &p.left}));
	if (frame && !p.room.no_memory)
		return frame;
	json_decref(frame);
	return NULL;
}
