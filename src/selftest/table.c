/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints plans and results as tables of 80 columns. */
#include "command.h"
#include <rdmadump/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS	     80
#define WIDTH_PROBE  12
#define WIDTH_RESULT 7
#define WIDTH_VALUE  19
#define GAP	     2
#define TEXT_AT	     (WIDTH_PROBE + WIDTH_RESULT + WIDTH_VALUE + 3 * GAP)
#define TEXT_WIDTH   (COLUMNS - TEXT_AT)

/* The bytes of `text` that go into one line of `width` columns. */
static size_t line_length(const char *text, size_t width)
{
	size_t n = strlen(text), k = width;

	if (n <= width)
		return n;
	while (k && text[k] != ' ')
		k--;
	return k ? k : width;
}

/* Prints text in lines of `width` columns, each but the first one indented. */
static void put_wrapped(FILE *out, const char *text, size_t indent, size_t width)
{
	for (bool first = true; *text || first; first = false) {
		size_t n = line_length(text, width);

		if (!first)
			fprintf(out, "%*s", (int)indent, "");
		fprintf(out, "%.*s\n", (int)n, text);
		text += n;
		while (*text == ' ')
			text++;
	}
}

static void put_row(
	FILE *out, const char *probe, const char *result, const char *value, const char *text)
{
	fprintf(out, "%-*s%*s%-*s%*s", WIDTH_PROBE, probe, GAP, "", WIDTH_RESULT, result, GAP, "");
	if (strlen(value) > WIDTH_VALUE) {
		fprintf(out, "%s\n%*s", value, TEXT_AT, "");
	} else {
		fprintf(out, "%-*s%*s", WIDTH_VALUE, value, GAP, "");
	}
	put_wrapped(out, text, TEXT_AT, TEXT_WIDTH);
}

void selftest_print_effects(void)
{
	put_wrapped(stdout,
		"The sniffer's copies double what the port writes over PCIe. Where PCIe "
		"stalls, the port may send pause frames (tx_prioN_pause), which slow down "
		"other hosts. Counters that the test moves: those of frames and bytes, "
		"out_of_buffer, rx_out_of_buffer, local_ack_timeout_err, "
		"req_transport_retries_exceeded, resp_local_length_error, req_cqe_error, "
		"resp_cqe_error and those of flushed entries.",
		0, COLUMNS);
}

void selftest_print_heading(FILE *out)
{
	put_row(out, "PROBE", "RESULT", "VALUE", "WHAT IT MEANS FOR CAPTURES");
}

void selftest_print_probe(FILE *out, const json_t *probe)
{
	const json_t *found = json_object_get(probe, "found"), *one;
	const char *reason = rd_json_text_of(probe, "reason");
	bool first = true;
	size_t i;

	if (*reason) {
		put_row(out, rd_json_text_of(probe, "name"), rd_json_text_of(probe, "outcome"),
			rd_json_text_of(probe, "value"), reason);
		first = false;
	}
	json_array_foreach (found, i, one) {
		put_row(out, first ? rd_json_text_of(probe, "name") : "",
			first ? rd_json_text_of(probe, "outcome") : "",
			first ? rd_json_text_of(probe, "value") : "",
			rd_json_text_of(one, "meaning"));
		first = false;
	}
	if (first)
		put_row(out, rd_json_text_of(probe, "name"), rd_json_text_of(probe, "outcome"),
			rd_json_text_of(probe, "value"), rd_json_text_of(probe, "meaning"));
}

void selftest_print_end(FILE *out, const json_t *document)
{
	static const struct {
		const char *ended, *text;
	} rows[] = {{"complete", NULL},
		{"required_probe", "Ended early: without this probe no other one makes sense."},
		{"removed", "Ended early: the device was removed, or has failed fatally."},
		{"interrupted", "Interrupted: not all probes were run."},
		{"time_limit", "Ended early: the limit of time for all probes is over."},
		{"unfinished", "Unfinished: the program was ended before all probes were run."}};
	const char *ended = rd_json_text_of(document, "ended");

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].text && strcmp(rows[i].ended, ended) == 0)
			fprintf(out, "%s\n", rows[i].text);
}

void selftest_print_document(FILE *out, const json_t *document)
{
	const json_t *probe;
	size_t i;

	fprintf(out, "%s port %lld on %s, by %s\n", rd_json_text_of(document, "device"),
		(long long)json_integer_value(json_object_get(document, "port")),
		rd_json_text_of(document, "host"), rd_json_text_of(document, "program"));
	selftest_print_heading(out);
	json_array_foreach (json_object_get(document, "probes"), i, probe) {
		selftest_print_probe(out, probe);
	}
	selftest_print_end(out, document);
}

/* --- the plan ----------------------------------------------------------------------------- */

/* The reason why the probe would be skipped; NULL: it would run. */
static const char *skipped(const struct rd_selftest_config *c, const struct rd_probe *probe)
{
	if (probe->needs & RD_PROBE_ICMD && !c->icmd)
		return "skipped without --sniffer icmd";
	return NULL;
}

void selftest_print_plan(const struct rd_selftest_config *c)
{
	const struct rd_probe *const *probe = c->probes ? c->probes : rd_probes;

	printf("%s port %u: nothing is done, the device is not opened.\n", c->device->name,
		c->port->num);
	printf("%-*s%8s %7s  %s\n", WIDTH_PROBE, "PROBE", "AT MOST", "FRAMES", "OBJECTS");
	for (; *probe; probe++) {
		const char *why = skipped(c, *probe);
		char limit[16];

		snprintf(limit, sizeof(limit), "%u s", rd_probe_limit(*probe));
		printf("%-*s%8s %7u  ", WIDTH_PROBE, (*probe)->name, limit, (*probe)->frames);
		put_wrapped(stdout,
			why		     ? why
			: *(*probe)->objects ? (*probe)->objects
					     : "none",
			WIDTH_PROBE + 18, COLUMNS - WIDTH_PROBE - 18);
		printf("%*s", WIDTH_PROBE + 18, "");
		put_wrapped(
			stdout, (*probe)->question, WIDTH_PROBE + 18, COLUMNS - WIDTH_PROBE - 18);
	}
	selftest_print_effects();
}

json_t *selftest_plan_json(const struct rd_selftest_config *c)
{
	const struct rd_probe *const *probe = c->probes ? c->probes : rd_probes;
	json_t *list = json_array();

	for (; *probe; probe++)
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:i, s:i, s:s?}", "name", (*probe)->name,
				      "question", (*probe)->question, "objects", (*probe)->objects,
				      "frames", (int)(*probe)->frames, "limit_s",
				      (int)rd_probe_limit(*probe), "skipped", skipped(c, *probe)));
	return list;
}
