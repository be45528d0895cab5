/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads a document back, from an archive, a directory or a file. Files are untrusted. */
#include "bounds.h"
#include "document.h"
#include "pack.h"
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/identity.h>
#include <rdmadump/selftest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DOCUMENT "result.json"

static int read_file(const char *path, char **bytes, size_t *n, struct rd_error *err)
{
	int fd = rd_open_input(path, O_NONBLOCK);
	struct stat st;
	ssize_t got = 0;

	*bytes = NULL;
	*n = 0;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		rd_fail(err, RD_CLASS_DEVICE, fd < 0 ? errno : 0,
			"name an archive or a directory that 'rdmadump selftest' wrote",
			"cannot read '%s'", path);
	} else if ((size_t)st.st_size > DOCUMENT_BYTES) {
		rd_fail(err, RD_CLASS_DEVICE, EFBIG, NULL, "'%s'", path);
	} else {
		*bytes = malloc((size_t)st.st_size + 1);
		while (*bytes && *n < (size_t)st.st_size &&
			(got = read(fd, *bytes + *n, (size_t)st.st_size - *n)) > 0)
			*n += (size_t)got;
		if (!*bytes || got < 0)
			rd_fail(err, RD_CLASS_DEVICE, errno, NULL, "cannot read '%s'", path);
	}
	if (fd >= 0)
		close(fd);
	if (*bytes && got >= 0)
		return 0;
	free(*bytes);
	*bytes = NULL;
	return -1;
}

static bool ends_with(const char *path, const char *ending)
{
	size_t n = strlen(path), e = strlen(ending);

	return n >= e && strcmp(path + n - e, ending) == 0;
}

static int read_document(const char *path, char **bytes, size_t *n, struct rd_error *err)
{
	char inside[PATH_MAX];
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		snprintf(inside, sizeof(inside), "%.3900s/" DOCUMENT, path);
		return read_file(inside, bytes, n, err);
	}
	if (ends_with(path, ".json"))
		return read_file(path, bytes, n, err);
	return pack_read(path, DOCUMENT, bytes, n, err);
}

/*
 * Whether the document has the types that callers rely on: strings and arrays that they print and
 * compare.
 */
static bool is_document(const json_t *document)
{
	static const char *const texts[] = {"program", "host", "device", "ended"};
	static const char *const probe_texts[] = {"name", "outcome"};
	const json_t *probes = json_object_get(document, "probes"), *probe;
	json_int_t version = json_integer_value(json_object_get(document, "version"));
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!json_is_string(json_object_get(document, texts[i])))
			return false;
	if (version < 1 || version > DOCUMENT_VERSION || !json_is_array(probes))
		return false;
	json_array_foreach (probes, i, probe) {
		for (size_t k = 0; k < sizeof(probe_texts) / sizeof(*probe_texts); k++)
			if (!json_is_string(json_object_get(probe, probe_texts[k])))
				return false;
	}
	return true;
}

int rd_selftest_load(json_t **document, const char *path, struct rd_error *err)
{
	json_error_t why;
	char *bytes;
	size_t n;

	*document = NULL;
	if (read_document(path, &bytes, &n, err) < 0)
		return -1;
	*document = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &why);
	free(bytes);
	if (!*document)
		return rd_fail(
			err, RD_CLASS_DEVICE, 0, NULL, "'%s' is damaged: line %d", path, why.line);
	if (is_document(*document))
		return 0;
	json_decref(*document);
	*document = NULL;
	return rd_fail(err, RD_CLASS_DEVICE, 0, "name a result of 'rdmadump selftest'",
		"'%s' is not a result that this version can read", path);
}
