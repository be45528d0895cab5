/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Flattens JSON documents and text into lists of named values. */
#include "compare.h"
#include <ctype.h>
#include <rdmadump/json.h>
#include <rdmadump/printable.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX      32
#define VALUE_NAME_MAX 1000 /* bytes of a name */

struct flat {
	json_t *values; /* name -> text */
	json_t *times;	/* name -> number of earlier occurrences */
	bool failed;
};

/* --- values ------------------------------------------------------------------------------- */

/* A name that is already used gets a number: "name #2". */
static void put(struct flat *f, const char *name, json_t *value)
{
	json_int_t times = json_integer_value(json_object_get(f->times, name));
	char numbered[VALUE_NAME_MAX + 32];

	snprintf(numbered, sizeof(numbered), times ? "%.*s #%lld" : "%.*s", VALUE_NAME_MAX, name,
		(long long)times + 1);
	if (json_object_size(f->values) >= FLAT_MAX || !value ||
		json_object_set_new(f->times, name, json_integer(times + 1)) ||
		json_object_set(f->values, numbered, value))
		f->failed = true;
	json_decref(value);
}

static json_t *flat_end(struct flat *f)
{
	json_decref(f->times);
	if (!f->failed)
		return f->values;
	json_decref(f->values);
	return NULL;
}

/* --- JSON --------------------------------------------------------------------------------- */

static void put_value(struct flat *f, const char *name, const json_t *value)
{
	char *text;

	if (json_is_string(value)) {
		put(f, name, json_string(json_string_value(value)));
		return;
	}
	text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
	put(f, name, text ? json_string(text) : NULL);
	free(text);
}

static const char *string_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static bool ends_with(const char *path, const char *word)
{
	size_t n = strlen(path), len = strlen(word);

	return n >= len && strcmp(path + n - len, word) == 0;
}

/* A finding's values change with every run; only its presence is compared. */
static bool put_finding(struct flat *f, const char *path, const json_t *object)
{
	const char *rule = string_of(object, "rule"), *title = string_of(object, "title"),
		   *severity = string_of(object, "severity"), *where = string_of(object, "where");
	char name[VALUE_NAME_MAX];

	if (!rule || !title || !severity)
		return false;
	snprintf(name, sizeof(name), "%s/%s %s", path, rule, where ? where : "");
	put(f, name, json_sprintf("%s: %s", severity, title));
	return true;
}

/* A counter whose growth indicates a fault gets a different name from the others. */
static bool put_counter(struct flat *f, const char *path, const json_t *object)
{
	const char *name = string_of(object, "name");
	const json_t *value = json_object_get(object, "value");
	char full[VALUE_NAME_MAX];

	if (!name || !json_is_number(value) || !ends_with(path, "counters"))
		return false;
	snprintf(full, sizeof(full), "%.*s%s/%s", (int)(strlen(path) - strlen("counters")), path,
		string_of(object, "severity") ? "faults" : "counters", name);
	put_value(f, full, value);
	return true;
}

/* The key that names an element of an array; "" if there is none. */
static void label(const json_t *element, char *out, size_t size)
{
	static const char *const keys[] = {"device", "port", "name", "index", "key", "netdev"};
	size_t used = 0;

	*out = '\0';
	for (unsigned int i = 0; i < sizeof(keys) / sizeof(*keys) && used < size; i++) {
		const json_t *v = json_object_get(element, keys[i]);

		if (json_is_string(v))
			snprintf(out + used, size - used, "%s", json_string_value(v));
		else if (json_is_integer(v))
			snprintf(out + used, size - used, "%s%lld", used ? ":" : "",
				(long long)json_integer_value(v));
		else
			continue;
		/* A device has several ports; any other key is enough. */
		if (i > 0)
			return;
		used = strlen(out);
	}
}

static void walk(struct flat *f, const char *path, const json_t *value, unsigned int depth)
{
	const char *slash = *path ? "/" : "", *key;
	char name[VALUE_NAME_MAX], which[200];
	json_t *v;
	size_t i;

	if (f->failed || depth > DEPTH_MAX) {
		f->failed = true;
		return;
	}
	if (json_is_object(value)) {
		if (put_finding(f, path, value) || put_counter(f, path, value))
			return;
		json_object_foreach ((json_t *)(uintptr_t)value, key, v) {
			snprintf(name, sizeof(name), "%s%s%s", path, slash, key);
			walk(f, name, v, depth + 1);
		}
	} else if (json_is_array(value)) {
		json_array_foreach (value, i, v) {
			label(v, which, sizeof(which));
			snprintf(name, sizeof(name), "%s%s%s", path, *which ? "/" : "", which);
			/* The name of these is their value. */
			walk(f,
				ends_with(path, "findings") || ends_with(path, "counters") ? path
											   : name,
				v, depth + 1);
		}
	} else {
		put_value(f, path, value);
	}
}

json_t *flatten_json(const char *text, size_t len)
{
	struct flat f = {json_object(), json_object(), false};
	json_t *root = json_loadb(text, len, 0, NULL);

	if (root)
		walk(&f, "", root, 0);
	else
		f.failed = true;
	json_decref(root);
	return flat_end(&f);
}

/* --- lines -------------------------------------------------------------------------------- */

/* Where the name ends; *value: what follows it. Without a separator, at the first number. */
static size_t name_end(const char *line, const char **value)
{
	size_t n = 0, number = 0;

	while (line[n] && !strchr(":=\t", line[n]) && !(line[n] == ' ' && line[n + 1] == ' ')) {
		if (!number && line[n] == ' ' && isdigit((unsigned char)line[n + 1]))
			number = n;
		n++;
	}
	if (!line[n] && number)
		n = number;
	*value = line + n;
	while (**value && strchr(":=\t ", **value))
		(*value)++;
	while (n && line[n - 1] == ' ')
		n--;
	return n;
}

static void put_line(struct flat *f, char *line)
{
	char *safe, name[VALUE_NAME_MAX];
	const char *value;
	size_t n = strlen(line), end;

	while (n && isspace((unsigned char)line[n - 1]))
		line[--n] = '\0';
	while (isspace((unsigned char)*line))
		line++;
	if (!*line)
		return;
	safe = rd_utf8_copy(line);
	if (!safe) {
		f->failed = true;
		return;
	}
	end = name_end(safe, &value);
	for (char *p = safe + (value - safe); *p; p++)
		*p = *p == '\t' ? ' ' : *p;
	if (end >= VALUE_NAME_MAX)
		end = VALUE_NAME_MAX - 1 - rd_utf8_unfinished(safe, VALUE_NAME_MAX - 1);
	snprintf(name, sizeof(name), "%.*s", (int)end, safe);
	put(f, name, json_string(value));
	free(safe);
}

json_t *flatten_lines(const char *text, size_t len)
{
	struct flat f = {json_object(), json_object(), false};
	const char *end = text + len;

	while (text < end && !f.failed) {
		const char *next = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((next ? next : end) - text);
		char *line = strndup(text, n);

		if (line)
			put_line(&f, line);
		else
			f.failed = true;
		free(line);
		text += n + 1;
	}
	return flat_end(&f);
}
