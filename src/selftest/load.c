/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads a document back, from an archive or a JSON file. Files are untrusted. */
#include "document.h"
#include <errno.h>
#include <rdmadump/archive.h>
#include <rdmadump/json.h>
#include <rdmadump/selftest.h>
#include <string.h>

#define TODO "name a result of 'rdmadump selftest'"

static bool ends_with(const char *path, const char *ending)
{
	size_t n = strlen(path), e = strlen(ending);

	return n >= e && strcmp(path + n - e, ending) == 0;
}

static json_t *load_file(const char *path, struct rd_error *err)
{
	struct rd_json_failure f;
	json_t *document = rd_json_read_file(path, DOCUMENT_BYTES, JSON_REJECT_DUPLICATES, &f);

	if (f.errnum || f.too_long)
		rd_fail(err, RD_CLASS_DEVICE, f.too_long ? EFBIG : f.errnum, TODO,
			"cannot read '%s'", path);
	else if (!document)
		rd_fail(err, RD_CLASS_DEVICE, 0, NULL, "'%s' is damaged: line %d", path,
			f.why.line);
	return document;
}

struct member {
	struct rd_archive *archive;
	size_t left; /* the size in the archive is not trusted */
	struct rd_error *err;
	bool failed; /* `err` has the reason */
};

static size_t read_member(void *bytes, size_t n, void *ctx)
{
	struct member *m = ctx;
	ssize_t got = rd_archive_get(m->archive, bytes, n < m->left ? n : m->left, m->err);

	m->failed = got < 0;
	m->left -= got > 0 ? (size_t)got : 0;
	return m->failed ? (size_t)-1 : (size_t)got;
}

static json_t *load_archive(const char *path, struct rd_error *err)
{
	struct member m = {.left = DOCUMENT_BYTES, .err = err};
	struct rd_archive_entry entry;
	json_t *document = NULL;
	json_error_t why;
	int found;

	if (rd_archive_open(&m.archive, path, TODO, err) < 0)
		return NULL;
	while ((found = rd_archive_next(m.archive, &entry, err)) > 0 &&
		!ends_with(entry.path, "/result.json"))
		;
	if (found > 0)
		document = json_load_callback(read_member, &m, JSON_REJECT_DUPLICATES, &why);
	if (!found)
		rd_fail(err, RD_CLASS_DEVICE, 0, TODO, "'%s' has no result.json", path);
	else if (found > 0 && !document && !m.failed)
		rd_fail(err, RD_CLASS_DEVICE, 0, NULL, "'%s' is damaged: line %d", path, why.line);
	rd_archive_free(m.archive);
	return document;
}

static bool has_strings(const json_t *object, const char *const *keys)
{
	for (; *keys; keys++)
		if (!json_is_string(json_object_get(object, *keys)))
			return false;
	return true;
}

/* Whether the document has the types that callers rely on. */
static bool is_document(const json_t *document)
{
	static const char *const texts[] = {"program", "host", "device", "ended", NULL};
	static const char *const probe_texts[] = {"name", "outcome", NULL};
	const json_t *probes = json_object_get(document, "probes"), *probe;
	json_int_t version = json_integer_value(json_object_get(document, "version"));
	size_t i;

	if (!has_strings(document, texts) || version < 1 || version > DOCUMENT_VERSION ||
		!json_is_array(probes))
		return false;
	json_array_foreach (probes, i, probe) {
		if (!has_strings(probe, probe_texts))
			return false;
	}
	return true;
}

int rd_selftest_load(json_t **document, const char *path, struct rd_error *err)
{
	*document = ends_with(path, ".json") ? load_file(path, err) : load_archive(path, err);
	if (!*document)
		return -1;
	if (is_document(*document))
		return 0;
	json_decref(*document);
	*document = NULL;
	return rd_fail(err, RD_CLASS_DEVICE, 0, TODO,
		"'%s' is not a result that this version can read", path);
}
