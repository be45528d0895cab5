/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Builds the document, and the files of a probe: its capture and raw completion queue entries. */
#include "document.h"
#include "capture_file.h"
#include "redacted.h"
#include <errno.h>
#include <rdmadump/clock.h>
#include <rdmadump/document.h>
#include <rdmadump/json.h>
#include <rdmadump/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int document_host(const struct rd_selftest *st, char *buf, size_t size)
{
	if (gethostname(buf, size) < 0)
		snprintf(buf, size, "unknown");
	buf[size - 1] = '\0';
	return redacted_name(st, buf, size);
}

json_t *document_begin(const struct rd_selftest *st)
{
	char host[128];

	if (document_host(st, host, sizeof(host)) < 0)
		return NULL;
	return rd_document(DOCUMENT_VERSION, rd_wall_ns(),
		json_pack("{s:n, s:o, s:s, s:i, s:s, s:b, s:[]}", "duration_s", "host",
			rd_json_string(host), "device", st->device->name, "port",
			(int)st->port->num, "ended", "unfinished", "hashed",
			(int)st->config->hash_addresses, "probes"));
}

void document_end(json_t *document, const char *ended)
{
	uint64_t start_ns = rd_json_u64_value(json_object_get(document, "start_ns"));

	json_object_set_new(
		document, "duration_s", rd_json_seconds((int64_t)(rd_wall_ns() - start_ns)));
	json_object_set_new(document, "ended", json_string(ended));
}

int document_write(struct rd_selftest *st, struct rd_error *err)
{
	char *text = json_dumps(st->document, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
	int rc;

	if (!text)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "the result");
	rc = directory_write(&st->directory, "result.json", text, strlen(text), err);
	free(text);
	return rc;
}

/* --- files of a probe --------------------------------------------------------------------- */

static void add_file(
	struct rd_selftest *st, json_t *files, const char *name, const void *bytes, size_t n)
{
	struct rd_error err;
	json_t *file;

	if (directory_write(&st->directory, name, bytes, n, &err) == 0) {
		file = json_pack("{s:s, s:n}", "name", name, "missing");
	} else {
		rd_log(RD_LOG_WARNING, "%s", err.text);
		if (!st->file_error.class)
			st->file_error = err;
		file = json_pack("{s:s, s:o}", "name", name, "missing", rd_json_string(err.text));
	}
	json_array_append_new(files, file);
}

static void leave_out(json_t *files, const char *name, const char *why)
{
	json_array_append_new(files, json_pack("{s:s, s:s}", "name", name, "missing", why));
}

static json_t *add_files(
	struct rd_selftest *st, const struct rd_probe *probe, struct rd_probe_result *r)
{
	json_t *files = json_array();
	char name[DIRECTORY_NAME];
	uint8_t *bytes;
	size_t n;

	snprintf(name, sizeof(name), "%s.pcapng", probe->name);
	if (r->n_frames && !redacted_frames(st, r)) {
		leave_out(files, name, "addresses in these frames cannot be replaced");
	} else if (r->n_frames && capture_file(st, r, &bytes, &n) == 0) {
		add_file(st, files, name, bytes, n);
		free(bytes);
	}
	snprintf(name, sizeof(name), "%s.cqes", probe->name);
	if (r->n_cqes)
		add_file(st, files, name, r->cqes, r->n_cqes);
	return files;
}

const json_t *document_add(struct rd_selftest *st, const struct rd_probe *probe,
	struct rd_probe_result *r, uint64_t took_ns)
{
	json_t *o = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:O, s:O, s:o, s:o}", "name",
		probe->name, "question", probe->question, "outcome",
		rd_probe_outcome_name(r->outcome), "value", rd_json_text(r->value), "reason",
		rd_json_text(r->reason), "meaning", rd_json_text(r->meaning), "found", r->found,
		"values", r->values, "files", add_files(st, probe, r), "duration_ms",
		rd_json_u64(took_ns / 1000000));

	if (!o || redacted_probe(st, o) < 0 ||
		json_array_append_new(json_object_get(st->document, "probes"), o) < 0)
		return NULL;
	return o;
}
