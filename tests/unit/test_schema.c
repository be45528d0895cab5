/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Schemas in docs/schema are what the rows say that write the JSON; UPDATE_GOLDEN=1 writes them. */
#include "analysis/output/output.h"
#include "test.h"
#include <rdmadump/points.h>

extern const struct rd_shape explain_shape; /* src/explain/json.c */

#define NAMES 64 /* more than any enumeration has */

static json_t *schema_of(const struct rd_shape *shape, json_t *defs);

/* What a row adds: JSON with ' for ". */
static json_t *parsed(const char *text)
{
	char buf[1024];
	json_t *value;

	assert_in_range(snprintf(buf, sizeof(buf), "{%s}", text ? text : ""), 2, sizeof(buf) - 1);
	for (char *c = buf; (c = strchr(c, '\''));)
		*c = '"';
	value = json_loads(buf, 0, NULL);
	if (!value)
		fail_msg("not JSON: %s", buf);
	return value;
}

static json_t *type(const char *name, bool nullable)
{
	return nullable ? json_pack("{s:[s, s]}", "type", name, "null")
			: json_pack("{s:s}", "type", name);
}

static json_t *unsigned_type(bool nullable)
{
	json_t *o = type("integer", nullable);

	json_object_set_new(o, "minimum", json_integer(0));
	return o;
}

static json_t *names(const struct rd_field *f, bool nullable)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < NAMES && f->name(i) && strcmp(f->name(i), "?") != 0; i++)
		json_array_append_new(list, json_string(f->name(i)));
	if (nullable)
		json_array_append_new(list, json_null());
	return json_pack("{s:o}", "enum", list);
}

static json_t *list_of(json_t *items)
{
	return json_pack("{s:s, s:o}", "type", "array", "items", items);
}

static json_t *kind_of(const struct rd_field *f, json_t *defs)
{
	const bool nullable = f->known.size > 0;

	switch (f->kind) {
	case RD_FIELD_UINT:
		return unsigned_type(nullable);
	case RD_FIELD_POSITIVE:
	case RD_FIELD_KNOWN:
	case RD_FIELD_INT:
		return unsigned_type(true);
	case RD_FIELD_REAL:
		return type("number", nullable);
	case RD_FIELD_BOOL:
		return type("boolean", nullable);
	case RD_FIELD_TEXT:
	case RD_FIELD_CHARS:
		return type("string", nullable);
	case RD_FIELD_TEXT_OR:
	case RD_FIELD_CHARS_OR:
		return type("string", true);
	case RD_FIELD_TIME:
		return type("integer", nullable);
	case RD_FIELD_NAME:
		return names(f, nullable);
	case RD_FIELD_LIST:
	case RD_FIELD_ARRAY:
	case RD_FIELD_MADE_LIST:
		return list_of(schema_of(f->shape, defs));
	default:
		return f->shape ? schema_of(f->shape, defs) : json_object();
	}
}

static bool is_required(const struct rd_field *f)
{
	return f->kind != RD_FIELD_MAYBE;
}

static void add_field(json_t *properties, json_t *required, const struct rd_field *f, json_t *value)
{
	json_t *more = parsed(f->schema);

	json_object_update(value, more);
	json_decref(more);
	if (f->help)
		json_object_set_new(value, "description", json_string(f->help));
	assert_null(json_object_get(properties, f->key));
	json_object_set_new(properties, f->key, value);
	if (is_required(f))
		json_array_append_new(required, json_string(f->key));
}

static void add_members(
	const struct rd_shape *s, json_t *properties, json_t *required, json_t *defs)
{
	for (unsigned int i = 0; i < s->n; i++)
		add_field(properties, required, &s->field[i], kind_of(&s->field[i], defs));
	for (unsigned int i = 0; s->columns && i < s->columns->n; i++) {
		const struct rd_field *f = &s->columns->field[i];
		json_t *item = kind_of(f, defs), *more = parsed(f->schema);
		const struct rd_field column = {.key = f->key, .help = f->help};

		json_object_update(item, more);
		json_decref(more);
		add_field(properties, required, &column, list_of(item));
	}
}

static json_t *object_of(const struct rd_shape *s, json_t *defs)
{
	json_t *o = type("object", s->nullable || s->known.size), *properties = json_object(),
	       *required = json_array();

	if (s->help)
		json_object_set_new(o, "description", json_string(s->help));
	add_members(s, properties, required, defs);
	json_object_set_new(o, "properties", properties);
	json_object_set_new(o, "required", required);
	return o;
}

static json_t *schema_of(const struct rd_shape *shape, json_t *defs)
{
	if (!shape->name)
		return object_of(shape, defs);
	if (!json_object_get(defs, shape->name)) {
		json_object_set_new(defs, shape->name, json_null());
		json_object_set_new(defs, shape->name, object_of(shape, defs));
	}
	return json_pack("{s:o}", "$ref", json_sprintf("#/$defs/%s", shape->name));
}

/* --- the file --------------------------------------------------------------------------------- */

static bool has_properties(const json_t *value)
{
	const char *key;
	json_t *item;

	json_object_foreach ((json_t *)value, key, item)
		if (!strcmp(key, "properties") || has_properties(item))
			return true;
	return false;
}

/* A line for each member of an object, one for all others. */
static void put(FILE *out, const char *key, json_t *value, int depth)
{
	const char *name, *comma = "";
	json_t *item;

	if (!has_properties(value) && strcmp(key, "properties") != 0 && strcmp(key, "$defs") != 0) {
		json_dumpf(value, out, JSON_ENCODE_ANY);
		return;
	}
	fputc('{', out);
	json_object_foreach (value, name, item) {
		fprintf(out, "%s\n%*s\"%s\": ", comma, depth + 1, "", name);
		put(out, name, item, depth + 1);
		comma = ",";
	}
	fprintf(out, "\n%*s}", depth, "");
}

/* Of a document, whose members of its own are `shape`; rd_document() writes the first ones. */
static void put_document(FILE *out, const char *id, int version, const char *title,
	const char *start, const struct rd_shape *shape)
{
	json_t *defs = json_object(),
	       *required = json_pack("[s, s, s]", "version", "program", "start_ns"),
	       *o = json_pack("{s:s, s:s, s:s, s:s, s:o, s:s}", "$schema",
		       "https://json-schema.org/draft/2020-12/schema", "$id", id, "title", title,
		       "description", shape->help, "$defs", defs, "type", "object"),
	       *properties = json_pack("{s:{s:i}, s:{s:s, s:s}, s:{s:[s, s], s:s}}", "version",
		       "const", version, "program", "type", "string", "description",
		       "name, version and source revision", "start_ns", "type", "integer", "null",
		       "description", start);

	add_members(shape, properties, required, defs);
	json_object_set_new(o, "properties", properties);
	json_object_set_new(o, "required", required);
	put(out, "", o, 0);
	fputc('\n', out);
	json_decref(o);
}

static void assert_file(const char *id, int version, const char *title, const char *start,
	const struct rd_shape *shape)
{
	const char *source = getenv("srcdir");
	char path[4096], *text, *found;
	size_t n;
	FILE *out = open_memstream(&text, &n), *file;

	put_document(out, id, version, title, start, shape);
	assert_int_equal(fclose(out), 0);
	snprintf(path, sizeof(path), "%s/docs/schema/%s", source ? source : ".", id);
	if (getenv("UPDATE_GOLDEN")) {
		file = fopen(path, "w");
		assert_non_null(file);
		fputs(text, file);
		assert_int_equal(fclose(file), 0);
	}
	file = fopen(path, "r");
	found = calloc(1, n + 2);
	assert_true(file && found);
	if (fread(found, 1, n + 1, file) != n || strcmp(found, text) != 0)
		fail_msg("docs/schema/%s differs from the rows: UPDATE_GOLDEN=1", id);
	fclose(file);
	free(found);
	free(text);
}

TEST(one_capture)
{
	assert_file("analyze.json", RD_REPORT_VERSION, "rdmadump analyze --json",
		"the first frame; nanoseconds since the Unix epoch", &report_shape);
}

TEST(two_ends)
{
	static const struct rd_field fields[] = {
		{"ends", NULL, .kind = RD_FIELD_OBJECT, .shape = &ends_shape},
		{"captures", "A and B, each by itself", .kind = RD_FIELD_MADE,
			.schema = "'type': 'array', 'items': {'$ref': 'analyze.json'}, 'minItems': "
				  "2, 'maxItems': 2"},
	};
	static const struct rd_shape document = {NULL,
		"Version 3. Keys are only added within a version. Times in \"ends\" are "
		"nanoseconds of A's clock since start_ns.",
		.field = fields, .n = sizeof(fields) / sizeof(*fields)};

	assert_file("analyze-ends.json", RD_REPORT_VERSION,
		"rdmadump analyze --json, of two ends of the same traffic",
		"A's first frame; nanoseconds since the Unix epoch", &document);
}

TEST(several_points)
{
	assert_file("analyze-points.json", RD_POINTS_VERSION,
		"rdmadump analyze --json, of captures at several points",
		"null: captures and pairs have their own", &points_shape);
}

TEST(explanations)
{
	assert_file("explain.json", 1, "rdmadump explain --json", "null", &explain_shape);
}
