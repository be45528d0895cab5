/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Builds the document, and the files of a probe: its capture and raw completion queue entries. */
#include "document.h"
#include <rdmadump/archive.h>
#include <rdmadump/clock.h>
#include <rdmadump/document.h>
#include <rdmadump/format.h>
#include <rdmadump/json.h>
#include <stdio.h>
#include <stdlib.h>

json_t *document_begin(const struct rd_selftest *st, const char *host)
{
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

/* --- files of a probe --------------------------------------------------------------------- */

/* The frames as pcapng; NULL: out of memory. */
static uint8_t *capture_file(
	const struct rd_selftest *st, const struct rd_probe_result *r, size_t *n)
{
	char name[RD_NAME_MAX + 8];
	const struct rd_section section = {.application = rd_program()};
	const struct rd_iface iface = {.link = st->port->link,
		.name = name,
		.description = "software clock",
		.speed = st->port->speed};
	struct rd_encoder e;
	struct rd_error err;
	size_t size, used;
	uint8_t *to;

	snprintf(name, sizeof(name), "%s:%u", st->device->name, st->port->num);
	if (rd_encoder_init(&e, "pcapng", NULL, &section, &iface, 1, &err) < 0)
		return NULL;
	size = e.format->header_bound(&e);
	for (unsigned int i = 0; i < r->n_frames; i++)
		size += e.format->bound(r->frame[i].len);
	to = malloc(size);
	if (!to)
		return NULL;
	*n = e.format->header(&e, to, size);
	for (unsigned int i = 0; i < r->n_frames; i++) {
		const struct rd_frame frame = {.data = r->bytes + r->frame[i].at,
			.caplen = r->frame[i].len,
			.len = r->frame[i].len,
			.ts_ns = r->frame[i].ts_ns};

		e.format->frames(&e, &frame, 1, to + *n, size - *n, &used);
		*n += used;
	}
	return to;
}

/* `why`: it is missing for this reason; NULL: it is kept, if there are `bytes`. */
static void add_file(struct rd_selftest *st, json_t *files, const char *probe, const char *ending,
	void *bytes, size_t n, const char *why)
{
	char name[SAVED_NAME];

	snprintf(name, sizeof(name), "%s.%s", probe, ending);
	if (!why && !rd_archive_available())
		why = "this build has no libarchive";
	if (why)
		free(bytes);
	else if (!saved_keep(&st->saved, name, bytes, n))
		why = "there are too many files";
	json_array_append_new(files, json_pack("{s:s, s:s?}", "name", name, "missing", why));
}

static json_t *add_files(struct rd_selftest *st, const char *probe, struct rd_probe_result *r)
{
	json_t *files = json_array();
	uint8_t *capture = NULL;
	const char *why = NULL;
	size_t n = 0;

	if (r->n_frames && !redacted_frames(st, r))
		why = "addresses in these frames cannot be replaced";
	else if (r->n_frames)
		capture = capture_file(st, r, &n);
	if (capture || why)
		add_file(st, files, probe, "pcapng", capture, n, why);
	if (r->cqes)
		add_file(st, files, probe, "cqes", r->cqes, r->n_cqes, NULL);
	r->cqes = NULL;
	return files;
}

const json_t *document_add(struct rd_selftest *st, const struct rd_probe *probe,
	struct rd_probe_result *r, uint64_t took_ns)
{
	json_t *o = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:O, s:O, s:o, s:o}", "name",
		probe->name, "question", probe->question, "outcome",
		rd_probe_outcome_name(r->outcome), "value", rd_json_text(r->value), "reason",
		rd_json_text(r->reason), "meaning", rd_json_text(r->meaning), "found", r->found,
		"values", r->values, "files", add_files(st, probe->name, r), "duration_ms",
		rd_json_u64(took_ns / 1000000));

	if (!o || redacted_probe(st, o) < 0 ||
		json_array_append_new(json_object_get(st->document, "probes"), o) < 0)
		return NULL;
	return o;
}
