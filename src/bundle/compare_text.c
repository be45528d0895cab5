/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints the differences between two bundles as text. */
#include "compare.h"
#include <rdmadump/json.h>
#include <rdmadump/notation.h>
#include <rdmadump/printable.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LINES_MAX 40  /* lines per topic */
#define VALUE_MAX 200 /* bytes per value */

static const char *text_of(const json_t *object, const char *key, const char *other)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : other;
}

static void print_side(const char *title, const json_t *about)
{
	static const char *const keys[] = {"file", "host", "kernel", "program"};
	uint64_t start_ns = rd_json_u64_value(json_object_get(about, "start_ns"));
	char start[RD_UTC_LEN];

	printf("%s", title);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		fputs(i ? ", " : "", stdout);
		rd_printable_put(stdout, text_of(about, keys[i], "?"), VALUE_MAX);
	}
	if (start_ns)
		printf(", %.19sZ", rd_utc_text(start, start_ns));
	puts(json_is_true(json_object_get(about, "redacted")) ? ", redacted" : "");
}

static void print_change(const json_t *change)
{
	fputs("  ", stdout);
	rd_printable_put(stdout, text_of(change, "member", ""), SIZE_MAX);
	fputs(": ", stdout);
	rd_printable_put(stdout, text_of(change, "name", ""), VALUE_MAX);
	fputs(": ", stdout);
	rd_printable_put(stdout, text_of(change, "old", "(none)"), VALUE_MAX);
	fputs(" -> ", stdout);
	rd_printable_put(stdout, text_of(change, "new", "(none)"), VALUE_MAX);
	putchar('\n');
}

/* The changes of one topic, which follow each other; returns where the next topic begins. */
static size_t print_topic(const json_t *list, size_t from)
{
	const char *topic = text_of(json_array_get(list, from), "topic", "");
	size_t end = from, shown;

	while (end < json_array_size(list) &&
		strcmp(topic, text_of(json_array_get(list, end), "topic", "")) == 0)
		end++;
	printf("\n%s: %zu changed\n", topic, end - from);
	shown = end - from < LINES_MAX ? end - from : LINES_MAX;
	for (size_t i = 0; i < shown; i++)
		print_change(json_array_get(list, from + i));
	if (shown < end - from)
		printf("  and %zu more: --json prints all\n", end - from - shown);
	return end;
}

static void print_not_compared(const json_t *list)
{
	const json_t *m;
	size_t i;

	if (json_array_size(list))
		puts("\nnot compared:");
	json_array_foreach (list, i, m) {
		fputs("  ", stdout);
		rd_printable_put(stdout, text_of(m, "member", ""), SIZE_MAX);
		printf(": missing in the %s bundle: ", text_of(m, "missing_in", ""));
		rd_printable_put(stdout, text_of(m, "why", ""), VALUE_MAX);
		putchar('\n');
	}
}

void bundle_print_changes(const json_t *changes)
{
	const json_t *list = json_object_get(changes, "changes"),
		     *old = json_object_get(changes, "old"), *new = json_object_get(changes, "new");
	json_int_t left_out = json_integer_value(json_object_get(changes, "changes_left_out"));

	print_side("old: ", old);
	print_side("new: ", new);
	if (json_is_true(json_object_get(old, "redacted")) ||
		json_is_true(json_object_get(new, "redacted")))
		puts("Redaction replaces the same address by another one in each bundle: addresses "
		     "and names differ.");
	for (size_t i = 0; i < json_array_size(list);)
		i = print_topic(list, i);
	if (!json_array_size(list))
		puts("\nnothing changed");
	if (left_out)
		printf("\n%lld more changes were left out\n", (long long)left_out);
	print_not_compared(json_object_get(changes, "not_compared"));
}
