/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares two documents, probe by probe and value by value. */
#include <rdmadump/selftest.h>
#include <stdio.h>
#include <string.h>

static const json_t *probe_of(const json_t *document, const char *name)
{
	const json_t *probe;
	size_t i;

	json_array_foreach (json_object_get(document, "probes"), i, probe) {
		if (strcmp(json_string_value(json_object_get(probe, "name")), name) == 0)
			return probe;
	}
	return NULL;
}

static void differ(json_t *list, const char *probe, const char *name, json_t *before, json_t *after)
{
	json_array_append_new(
		list, json_pack("{s:s, s:s, s:O?, s:O?}", "probe", probe, "name", name, "before",
			      before ? before : json_null(), "after", after ? after : json_null()));
}

#define SAME_PPM 10 /* temperature changes an oscillator's frequency by this much */

/* Measured times differ between runs: only large differences count. */
static bool is_same(const json_t *a, const json_t *b, const char *unit)
{
	double x = json_number_value(a), y = json_number_value(b);

	if (json_is_number(a) && json_is_number(b) && strcmp(unit, "ppm") == 0)
		return x - y <= SAME_PPM && y - x <= SAME_PPM;
	if (!json_is_number(a) || !json_is_number(b) || (strcmp(unit, "us") && strcmp(unit, "ns")))
		return json_equal(a, b) != 0;
	return x <= 1.5 * y && y <= 1.5 * x;
}

static void compare_values(
	json_t *list, const char *probe, const json_t *before, const json_t *after)
{
	const char *name;
	json_t *old, *now;

	json_object_foreach ((json_t *)(uintptr_t)before, name, old) {
		const char *unit = json_string_value(json_object_get(old, "unit"));

		now = json_object_get(after, name);
		if (!is_same(json_object_get(old, "value"), json_object_get(now, "value"),
			    unit ? unit : ""))
			differ(list, probe, name, json_object_get(old, "value"),
				json_object_get(now, "value"));
	}
	json_object_foreach ((json_t *)(uintptr_t)after, name, now) {
		if (!json_object_get(before, name))
			differ(list, probe, name, NULL, json_object_get(now, "value"));
	}
}

/* The keys of the findings. */
static json_t *keys(const json_t *probe)
{
	json_t *list = json_array();
	const json_t *found;
	size_t i;

	json_array_foreach (json_object_get(probe, "found"), i, found) {
		json_array_append(list, json_object_get(found, "key"));
	}
	return list;
}

static void compare_probe(json_t *list, const char *name, const json_t *before, const json_t *after)
{
	json_t *old = json_object_get(before, "outcome"), *now = json_object_get(after, "outcome");
	json_t *old_keys = keys(before), *now_keys = keys(after);

	if (!json_equal(old, now))
		differ(list, name, "outcome", old, now);
	if (!json_equal(old_keys, now_keys))
		differ(list, name, "found", old_keys, now_keys);
	if (before && after)
		compare_values(list, name, json_object_get(before, "values"),
			json_object_get(after, "values"));
	json_decref(old_keys);
	json_decref(now_keys);
}

json_t *rd_selftest_compare(const json_t *before, const json_t *after)
{
	json_t *list = json_array();
	const json_t *probe;
	const char *name;
	size_t i;

	json_array_foreach (json_object_get(before, "probes"), i, probe) {
		name = json_string_value(json_object_get(probe, "name"));
		compare_probe(list, name, probe, probe_of(after, name));
	}
	json_array_foreach (json_object_get(after, "probes"), i, probe) {
		name = json_string_value(json_object_get(probe, "name"));
		if (!probe_of(before, name))
			compare_probe(list, name, NULL, probe);
	}
	return list;
}
