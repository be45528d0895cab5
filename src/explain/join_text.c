/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What captures show about the queue pair of a line, as text. */
#include "explain.h"
#include <inttypes.h>
#include <rdmadump/json.h>
#include <rdmadump/sheet.h>
#include <rdmadump/units.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 512

#define INDENT 2
#define LABEL  10

void explain_put(FILE *out, const char *label, const char *text, unsigned int columns)
{
	while (text && *text) {
		size_t n = strcspn(text, "\n");
		char *line = strndup(text, n);

		fprintf(out, "%*s%-*s", INDENT, "", LABEL, label);
		if (line)
			rd_put_wrapped(out, line, INDENT + LABEL, INDENT + LABEL, columns);
		else /* without memory: whole, on one line */
			fprintf(out, "%.*s\n", (int)n, text);
		free(line);
		label = "";
		text += n + (text[n] == '\n');
	}
}

static void put_end(FILE *s, const json_t *end)
{
	const json_t *qp = json_object_get(end, "qp"), *owner = json_object_get(end, "owner");

	fprintf(s, "%s", rd_json_text_of(end, "address"));
	if (json_is_integer(qp))
		fprintf(s, " QP 0x%" PRIx64, rd_json_u64_value(qp));
	if (json_is_object(owner))
		fprintf(s, " of %s, process %" PRIu64, rd_json_text_of(owner, "comm"),
			rd_json_u64_value(json_object_get(owner, "pid")));
}

/* "10.0.0.1 QP 0x11 of train, process 4711 -> 10.0.0.2 QP 0x12; found by QP, the peer" */
static void put_pair(FILE *out, const json_t *one, unsigned int columns)
{
	char text[TEXT];
	FILE *s = fmemopen(text, sizeof(text), "w");
	json_t *by;
	size_t i;

	if (!s)
		return;
	put_end(s, json_object_get(one, "here"));
	fputs(" -> ", s);
	put_end(s, json_object_get(one, "peer"));
	fputs("; found by ", s);
	json_array_foreach (json_object_get(one, "by"), i, by) {
		fprintf(s, "%s%s", i ? ", " : "", json_string_value(by));
	}
	fclose(s);
	text[sizeof(text) - 1] = '\0';
	explain_put(out, "QP pair", text, columns);
}

/* When the line was printed, by the packets of the queue pair. */
static void put_time(FILE *out, const json_t *time, unsigned int columns)
{
	const uint64_t line = rd_json_u64_value(json_object_get(time, "line_ns")),
		       first = rd_json_u64_value(json_object_get(time, "first_ns")),
		       last = rd_json_u64_value(json_object_get(time, "last_ns"));
	char text[TEXT], much[RD_UNITS_LEN];

	if (!line)
		return;
	snprintf(text, sizeof(text), "the line is %s%s",
		line < first  ? rd_fmt_duration(much, first - line)
		: line > last ? rd_fmt_duration(much, line - last)
			      : "",
		line < first  ? " before its first packet"
		: line > last ? " after its last packet"
			      : "between its first packet and its last one");
	explain_put(out, "time", text, columns);
}

static void put_finding(FILE *out, const json_t *finding, const char *said, unsigned int columns)
{
	char text[TEXT];
	const json_t *doubt;
	size_t i;

	snprintf(text, sizeof(text), "%s  [%s]", rd_json_text_of(finding, "title"),
		rd_json_text_of(finding, "certainty"));
	explain_put(out, "happened", text, columns);
	explain_put(out, "", rd_json_text_of(finding, "detail"), columns);
	json_array_foreach (json_object_get(finding, "doubts"), i, doubt) {
		if (strcmp(json_string_value(doubt), said) == 0)
			continue;
		snprintf(text, sizeof(text), "no more than %s: %s",
			rd_json_text_of(finding, "certainty"), json_string_value(doubt));
		explain_put(out, "", text, columns);
	}
	explain_put(out, "next", rd_json_text_of(finding, "next"), columns);
}

void explain_print_joined(FILE *out, const json_t *found, unsigned int columns)
{
	const uint64_t n = json_array_size(found);
	uint64_t fits;
	json_t *one, *finding;
	size_t i, k;

	if (!n) {
		fputs("\nin the captures: no queue pair fits what the line says of device, QP, "
		      "address or error\n",
			out);
		return;
	}
	fits = rd_json_u64_value(json_object_get(json_array_get(found, 0), "fits"));
	if (fits == 1)
		fputs("\nin the captures\n", out);
	else
		fprintf(out,
			"\nin the captures: %" PRIu64 " queue pairs fit equally well; a line with "
			"QP and address would tell which\n",
			fits);
	json_array_foreach (found, i, one) {
		put_pair(out, one, columns);
		put_time(out, json_object_get(one, "time"), columns);
		explain_put(out, "doubt", rd_json_text_of(one, "doubt"), columns);
		json_array_foreach (json_object_get(one, "happened"), k, finding) {
			put_finding(out, finding, rd_json_text_of(one, "doubt"), columns);
		}
		if (!json_array_size(json_object_get(one, "happened")))
			explain_put(
				out, "happened", "no finding of the report is about it", columns);
	}
	json_array_foreach (json_object_get(json_array_get(found, 0), "counters"), i, one) {
		char text[TEXT];

		snprintf(text, sizeof(text), "capture %" PRIu64 ", %s: %s",
			rd_json_u64_value(json_object_get(one, "capture")) + 1,
			rd_json_text_of(one, "where"), rd_json_text_of(one, "title"));
		explain_put(out, i ? "" : "counters", text, columns);
	}
	explain_put(out, "verdict", rd_json_text_of(json_array_get(found, 0), "verdict"), columns);
}
