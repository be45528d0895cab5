/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints plans and results as tables of 80 columns, or as JSON. */
#include "cli/cli.h"
#include "selftest.h"
#include <rdmadump/json.h>
#include <rdmadump/sheet.h>
#include <string.h>

#define COLUMNS	     80
#define WIDTH_PROBE  12
#define WIDTH_RESULT 7
#define WIDTH_VALUE  19
#define GAP	     2
#define TEXT_AT	     (WIDTH_PROBE + WIDTH_RESULT + WIDTH_VALUE + 3 * GAP)

static void put_row(
	FILE *out, const char *probe, const char *result, const char *value, const char *text)
{
	fprintf(out, "%-*s%*s%-*s%*s", WIDTH_PROBE, probe, GAP, "", WIDTH_RESULT, result, GAP, "");
	if (strlen(value) > WIDTH_VALUE) {
		fprintf(out, "%s\n%*s", value, TEXT_AT, "");
	} else {
		fprintf(out, "%-*s%*s", WIDTH_VALUE, value, GAP, "");
	}
	rd_put_wrapped(out, text, TEXT_AT, TEXT_AT, COLUMNS);
}

static void put_effects(void)
{
	rd_put_wrapped(stdout,
		"The sniffer's copies double what the port writes over PCIe. Where PCIe "
		"stalls, the port may send pause frames (tx_prioN_pause), which slow down "
		"other hosts. Counters that the test moves: those of frames and bytes, "
		"out_of_buffer, rx_out_of_buffer, local_ack_timeout_err, "
		"req_transport_retries_exceeded, resp_local_length_error, req_cqe_error, "
		"resp_cqe_error and those of flushed entries.",
		0, 0, COLUMNS);
}

static void put_heading(FILE *out)
{
	put_row(out, "PROBE", "RESULT", "VALUE", "WHAT IT MEANS FOR CAPTURES");
}

/* A row each for the reason and the findings; the first one has the name. */
static void put_probe(FILE *out, const json_t *probe)
{
	const json_t *found = json_object_get(probe, "found");
	const char *reason = rd_json_text_of(probe, "reason");
	size_t n = json_array_size(found), i = *reason ? 0 : 1;
	bool first = true;

	for (; i <= n || first; i++, first = false)
		put_row(out, first ? rd_json_text_of(probe, "name") : "",
			first ? rd_json_text_of(probe, "outcome") : "",
			first ? rd_json_text_of(probe, "value") : "",
			!i	 ? reason
			: i <= n ? rd_json_text_of(json_array_get(found, i - 1), "meaning")
				 : rd_json_text_of(probe, "meaning"));
}

static void put_end(FILE *out, const json_t *document)
{
	static const char *const rows[][2] = {
		{"required_probe", "Ended early: without this probe no other one makes sense."},
		{"removed", "Ended early: the device was removed, or has failed fatally."},
		{"interrupted", "Interrupted: not all probes were run."},
		{"time_limit", "Ended early: the limit of time for all probes is over."},
		{"unfinished", "Unfinished: the program was ended before all probes were run."}};
	const char *ended = rd_json_text_of(document, "ended");

	for (size_t i = 0; i < RD_COUNT(rows); i++)
		if (strcmp(rows[i][0], ended) == 0)
			fprintf(out, "%s\n", rows[i][1]);
}

void print_document(FILE *out, const json_t *document)
{
	const json_t *probe;
	size_t i;

	fprintf(out, "%s port %lld on %s, by %s\n", rd_json_text_of(document, "device"),
		(long long)json_integer_value(json_object_get(document, "port")),
		rd_json_text_of(document, "host"), rd_json_text_of(document, "program"));
	put_heading(out);
	json_array_foreach (json_object_get(document, "probes"), i, probe) {
		put_probe(out, probe);
	}
	put_end(out, document);
}

/* --- standard output ---------------------------------------------------------------------- */

void print_beginning(const struct rd_selftest_config *config)
{
	if (!config->json) {
		put_effects();
		put_heading(stdout);
	}
	fflush(stdout);
}

void print_began(const struct rd_probe *probe)
{
	char line[128];

	snprintf(line, sizeof(line), "%s (at most %u s): %s", probe->name, rd_probe_limit(probe),
		probe->question);
	rd_cli_status(line);
}

void print_ended(const struct rd_selftest_config *config, const json_t *result)
{
	rd_cli_status(NULL);
	if (!config->json)
		put_probe(stdout, result);
	fflush(stdout);
}

int print_end(const struct rd_selftest_config *config, json_t *document, struct rd_error *err)
{
	if (config->json)
		return rd_cli_put_json(document, JSON_INDENT(1), err);
	put_end(stdout, document);
	json_decref(document);
	return 0;
}

/* --- the plan ----------------------------------------------------------------------------- */

/* The reason why the probe would be skipped; NULL: it would run. */
static const char *skipped(const struct rd_selftest_config *c, const struct rd_probe *probe)
{
	return probe->needs & RD_PROBE_ICMD && !c->sniffer ? "skipped without --sniffer icmd"
							   : NULL;
}

static json_t *plan_json(const struct rd_selftest_config *c)
{
	const struct rd_probe *const *probe = rd_probes_chosen(c);
	json_t *list = json_array();

	for (; *probe; probe++)
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:i, s:i, s:s?}", "name", (*probe)->name,
				      "question", (*probe)->question, "objects", (*probe)->objects,
				      "frames", (int)(*probe)->frames, "limit_s",
				      (int)rd_probe_limit(*probe), "skipped", skipped(c, *probe)));
	return list;
}

static void put_plan(const struct rd_selftest_config *c)
{
	const struct rd_probe *const *probe = rd_probes_chosen(c);
	const size_t at = WIDTH_PROBE + 18;

	printf("%s port %u: nothing is done, the device is not opened.\n", c->device->name,
		c->port->num);
	printf("%-*s%8s %7s  %s\n", WIDTH_PROBE, "PROBE", "AT MOST", "FRAMES", "OBJECTS");
	for (; *probe; probe++) {
		const char *why = skipped(c, *probe);
		char limit[16];

		snprintf(limit, sizeof(limit), "%u s", rd_probe_limit(*probe));
		printf("%-*s%8s %7u  ", WIDTH_PROBE, (*probe)->name, limit, (*probe)->frames);
		rd_put_wrapped(stdout,
			why		     ? why
			: *(*probe)->objects ? (*probe)->objects
					     : "none",
			at, at, COLUMNS);
		printf("%*s", (int)at, "");
		rd_put_wrapped(stdout, (*probe)->question, at, at, COLUMNS);
	}
	put_effects();
}

int print_plan(const struct rd_selftest_config *config, struct rd_error *err)
{
	if (config->json)
		return rd_cli_put_json(plan_json(config), JSON_INDENT(1), err);
	put_plan(config);
	return 0;
}
