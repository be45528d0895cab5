/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What differs between two bundles. Each is unpacked, read into lists of named values, and removed
 * before the next one.
 */
#include "compare.h"
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <rdmadump/bundle.h>
#include <rdmadump/document.h>
#include <rdmadump/json.h>
#include <rdmadump/notation.h>
#include <rdmadump/printable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMBER_BYTES ((size_t)16 << 20) /* the largest member that a bundle has */
#define CHANGES_MAX  5000
#define LINES_MAX    40	 /* lines per topic */
#define VALUE_MAX    200 /* bytes per value */

/*
 * Which values of which members are compared, and under which topic. The first matching row is
 * used. A value without a row changes on every run (times, for example) or is compared in another
 * member.
 */
static const struct row {
	const char *member, *name, *topic; /* topic NULL: not compared */
} rows[] = {
	{"host/host.json", "kernel", "versions"},
	{"host/host.json", "build", "versions"},
	{"host/host.json", "distribution", "versions"},
	{"host/host.json", "bios", "versions"},
	{"host/host.json", "command_line", "settings"},
	{"host/host.json", "cpu*", "settings"},
	{"host/host.json", "memory", "settings"},
	{"host/host.json", "huge_pages", "settings"},
	{"host/host.json", "lockdown", "settings"},
	{"host/host.json", "product", "settings"},
	{"host/host.json", "tainted", "settings"},
	{"host/host.json", "limits/*", "settings"},
	{"host/modules.json", "*/parameters/*", "module parameters"},
	{"host/modules.json", "*", "versions"},
	{"host/environment.json", "own/*", "settings"},
	{"host/packages-*.txt", "*", "versions"},
	{"rdmadump/version.txt", "*", "versions"},
	{"rdmadump/info-*.json", "firmware/*", "firmware"},
	{"rdmadump/info-*.json", "identity/*psid", "firmware"},
	{"rdmadump/info-*.json", "identity/*", "settings"},
	{"rdmadump/info-*.json", "driver/*", "versions"},
	{"rdmadump/info-*.json", "findings/*", "findings"},
	{"rdmadump/info-*.json", "pci/link/*", "links"},
	{"rdmadump/info-*.json", "pci/*", "settings"},
	{"rdmadump/info-*.json", "limits/*", "settings"},
	{"rdmadump/info-*.json", "provider/*", "settings"},
	{"rdmadump/info-*.json", "ports/*/state", "links"},
	{"rdmadump/info-*.json", "ports/*/phys_state", "links"},
	{"rdmadump/info-*.json", "ports/*/operstate", "links"},
	{"rdmadump/info-*.json", "ports/*/bits_per_second", "links"},
	{"rdmadump/info-*.json", "ports/*/lanes", "links"},
	{"rdmadump/info-*.json", "ports/*/capture/*/why", NULL},
	{"rdmadump/info-*.json", "ports/*/ifindex", NULL},
	{"rdmadump/info-*.json", "ports/*_cntr", "counters"},
	{"rdmadump/info-*.json", "ports/*", "settings"},
	{"rdmadump/counters.json", "*/faults/*", "counters of faults"},
	{"rdmadump/counters.json", "*/counters/*", "counters"},
	{"analysis/*.json", "findings/*", "findings"},
	{"tools/devlink-dev-info.txt", "*", "firmware"},
	{"tools/mstflint-*.txt", "*", "firmware"},
	{"tools/ofed_info.txt", "*", "versions"},
	{"tools/ethtool-i-*.txt", "*", "versions"},
	{"tools/ethtool-[ka]-*.txt", "*", "settings"},
	{"tools/ethtool-priv-flags-*.txt", "*", "settings"},
	{"tools/dcb-pfc-*.txt", "prio-pfc*", "settings"},
	{"tools/dcb-ets-*.txt", "*", "settings"},
	{"tools/dcb-buffer-*.txt", "*", "settings"},
	{"tools/dcb-app-*.txt", "*", "settings"},
	{"tools/mlnx_qos-*.txt", "*", "settings"},
	{"tools/mlxconfig-*.txt", "*", "settings"},
	{"tools/mstconfig-*.txt", "*", "settings"},
	{"tools/rdma-system.txt", "*", "settings"},
	{"tools/nvidia-smi-topo.txt", "*", "settings"},
};

#define N_ROWS (sizeof(rows) / sizeof(*rows))

/* In the order of the report. */
static const char *const topics[] = {"findings", "links", "counters of faults", "versions",
	"firmware", "module parameters", "settings", "counters"};

#define N_TOPICS (sizeof(topics) / sizeof(*topics))

/*
 * The first row of a value, or if `name` is NULL of any value of the member; NULL: there is none.
 * FNM_PATHNAME: a name of the manifest cannot lead out of the folder of the row.
 */
static const struct row *row_of(const char *member, const char *name)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (fnmatch(rows[i].member, member, FNM_PATHNAME) == 0 &&
			(!name || fnmatch(rows[i].name, name, 0) == 0))
			return &rows[i];
	return NULL;
}

/* --- one bundle ----------------------------------------------------------------------------- */

/* The member's bytes; NULL: the member is absent or too large. */
static char *read_member(const struct rd_bundle *b, const char *name, size_t *len)
{
	char path[2 * PATH_MAX], *bytes = malloc(MEMBER_BYTES + 1);
	ssize_t got = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", b->directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	*len = 0;
	while (fd >= 0 && bytes && *len <= MEMBER_BYTES &&
		(got = read(fd, bytes + *len, MEMBER_BYTES + 1 - *len)) > 0)
		*len += (size_t)got;
	if (fd >= 0)
		close(fd);
	if (got == 0) /* end of the member: it is not too large */
		return bytes;
	free(bytes);
	return NULL;
}

/* An object of values, or a string with the reason why there are no values. */
static json_t *read_values(const struct rd_bundle *b, const char *name)
{
	const char *dot = strrchr(name, '.');
	json_t *values = NULL;
	size_t len;
	char *bytes = read_member(b, name, &len);

	if (!bytes)
		return json_string("it is not in the archive, or too large");
	values = dot && strcmp(dot, ".json") == 0 ? flatten_json(bytes, len)
						  : flatten_lines(bytes, len);
	free(bytes);
	return values ? values : json_string("it is damaged, or has too many values");
}

static json_t *read_all(const struct rd_bundle *b)
{
	json_t *all = json_object(), *m;
	size_t i;

	json_array_foreach (json_object_get(b->manifest, "members"), i, m) {
		const char *name = json_string_value(json_object_get(m, "name"));

		if (name && row_of(name, NULL))
			json_object_set_new(all, name, read_values(b, name));
	}
	json_array_foreach (json_object_get(b->manifest, "not_taken"), i, m) {
		const char *name = json_string_value(json_object_get(m, "name"));
		json_t *why = json_object_get(m, "why");

		/* A member whose output was cut off is compared as well. */
		if (name && row_of(name, NULL) && json_is_string(why) &&
			!json_object_get(all, name))
			json_object_set(all, name, why);
	}
	return all;
}

struct side {
	json_t *about;	 /* for the report */
	json_t *members; /* name -> object of values, or why there are none */
};

static int read_side(struct side *side, const char *path, struct rd_error *err)
{
	static const char *const keys[] = {"program", "host", "kernel", "start_ns", "redacted"};
	struct rd_bundle b;

	if (rd_bundle_open(&b, path, RD_BUNDLE_REPORTS, err) < 0)
		return -1;
	side->about = json_pack("{s:o}", "file", rd_json_string(path));
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		json_t *v = json_object_get(b.manifest, keys[i]);

		json_object_set(side->about, keys[i],
			json_is_string(v) || json_is_boolean(v) || json_is_integer(v)
				? v
				: json_null());
	}
	side->members = read_all(&b);
	rd_bundle_close(&b);
	return 0;
}

static void side_free(struct side *side)
{
	json_decref(side->about);
	json_decref(side->members);
}

/* --- both ----------------------------------------------------------------------------------- */

struct comparison {
	json_t *topics[N_TOPICS]; /* arrays of changes */
	json_t *not_compared;
	size_t n;
	uint64_t omitted;
};

static void add_change(struct comparison *c, const char *member, const char *name,
	const json_t *before, const json_t *after)
{
	const struct row *row = row_of(member, name);

	for (size_t i = 0; row && row->topic && i < N_TOPICS; i++) {
		if (strcmp(topics[i], row->topic) != 0)
			continue;
		if (c->n >= CHANGES_MAX) {
			c->omitted++;
			return;
		}
		c->n++;
		json_array_append_new(c->topics[i],
			json_pack("{s:s, s:s, s:s, s:O?, s:O?}", "topic", row->topic, "member",
				member, "name", name, "old", before, "new", after));
	}
}

static void compare_values(
	struct comparison *c, const char *member, json_t *before, const json_t *after)
{
	const char *name;
	json_t *v;

	json_object_foreach (before, name, v) {
		const json_t *now = json_object_get(after, name);

		if (!now || !json_equal(v, now))
			add_change(c, member, name, v, now);
	}
	json_object_foreach ((json_t *)(uintptr_t)after, name, v) {
		if (!json_object_get(before, name))
			add_change(c, member, name, NULL, v);
	}
}

/* Adds a member that only one bundle has, with the reason if the other bundle gives one. */
static void add_not_compared(
	struct comparison *c, const char *member, const json_t *before, const json_t *after)
{
	const json_t *missing = json_is_object(before) ? after : before;
	const char *why = json_string_value(missing);

	json_array_append_new(
		c->not_compared, json_pack("{s:s, s:s, s:s}", "member", member, "missing_in",
					 json_is_object(before) ? "new" : "old", "why",
					 why ? why : "it has no such member"));
}

static void compare_member(
	struct comparison *c, const char *member, json_t *before, const json_t *after)
{
	if (json_is_object(before) && json_is_object(after))
		compare_values(c, member, before, after);
	else if (json_is_object(before) || json_is_object(after))
		add_not_compared(c, member, before, after);
}

static json_t *compare_all(const struct side *before, const struct side *after)
{
	struct comparison c = {.not_compared = json_array()};
	json_t *changes = json_array(), *v;
	const char *member;

	for (size_t i = 0; i < N_TOPICS; i++)
		c.topics[i] = json_array();
	json_object_foreach (before->members, member, v) {
		compare_member(&c, member, v, json_object_get(after->members, member));
	}
	json_object_foreach (after->members, member, v) {
		if (!json_object_get(before->members, member))
			compare_member(&c, member, NULL, v);
	}
	for (size_t i = 0; i < N_TOPICS; i++) {
		json_array_extend(changes, c.topics[i]);
		json_decref(c.topics[i]);
	}
	return rd_document(2, 0,
		json_pack("{s:O, s:O, s:o, s:o, s:o}", "old", before->about, "new", after->about,
			"changes", changes, "changes_left_out", rd_json_u64(c.omitted),
			"not_compared", c.not_compared));
}

int rd_bundle_compare(
	const char *old_path, const char *new_path, json_t **changes, struct rd_error *err)
{
	struct side before = {0}, after = {0};
	int rc = -1;

	*changes = NULL;
	if (read_side(&before, old_path, err) == 0 && read_side(&after, new_path, err) == 0) {
		*changes = compare_all(&before, &after);
		rc = *changes ? 0 : rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "'%s'", new_path);
	}
	side_free(&before);
	side_free(&after);
	return rc;
}

/* --- as text -------------------------------------------------------------------------------- */

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
