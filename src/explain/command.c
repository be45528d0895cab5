/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `rdmadump explain`: what a code or a line of a log means. */
#include "cli/command.h"
#include "cli/cli.h"
#include "explain.h"
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <rdmadump/units.h>
#include <rdmadump/words.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MIN 40

struct explain_settings {
	bool json, list;
	char *captures[JOIN_FILES];
	unsigned int n_captures;
	char **words;
	int n_words;
};

static int add_capture(const struct option_use *use, struct rd_error *err)
{
	struct explain_settings *s = use->settings;

	if (s->n_captures == JOIN_FILES)
		return rd_fail(err, RD_CLASS_USAGE, 0, "join them with mergecap(1)",
			"--with: more than %d files", JOIN_FILES);
	s->captures[s->n_captures++] = (char *)(uintptr_t)use->arg;
	return 0;
}

#define OPTIONS_OF struct explain_settings

static const struct cli_option options[] = {
	{"json", 0, NULL, "Print the answer as JSON", FLAG(json)},
	{"with", 'w', "FILE",
		"Find the queue pair of the line in FILE, a capture or a directory of captures, "
		"and say what happened to it; again for further files of the same capture, or one "
		"of the other end",
		.set = add_capture},
	{"list", 'l', NULL, "List everything that can be explained", FLAG(list)}, {0}};

static error_t parse_other(int key, char *arg, struct argp_state *state)
{
	struct explain_settings *s = state->input;

	(void)arg;
	if (key == ARGP_KEY_NO_ARGS && !s->list)
		rd_cli_usage_error(state->name, "no WORD: give a code, a name, a line of a log, or "
						"'-' to read lines from standard input");
	if (key == ARGP_KEY_END && s->list && (s->n_words || s->n_captures))
		rd_cli_usage_error(state->name, "--list lists everything: no WORD, no --with");
	if (key != ARGP_KEY_ARGS)
		return ARGP_ERR_UNKNOWN;
	s->words = state->argv + state->next;
	s->n_words = state->argc - state->next;
	return 0;
}

/* --- words of the command line ---------------------------------------------------------------- */

static char *join(char **words, int n)
{
	char *text;
	size_t size;
	FILE *s = open_memstream(&text, &size);

	for (int i = 0; s && i < n; i++)
		fprintf(s, "%s%s", i ? " " : "", words[i]);
	return s && !fclose(s) ? text : NULL;
}

static void add_answer(struct log *log, const struct code *code)
{
	struct reading r = {.qpn = QPN_UNKNOWN, .peer_qpn = QPN_UNKNOWN};

	reading_add(&r, code->space, code->number, code);
	log->group[log->n_groups++] = (struct group){.first = r, .count = 1};
}

/* All codes of this name, a counter also with its group; whether other programs may print one. */
static bool read_name(const struct catalogue *c, const char *text, struct log *log)
{
	const char *slash = strrchr(text, '/');
	const struct rd_counter_kind *kind = slash ? rd_counter_kind("", text) : NULL;
	static struct code counter;
	bool is_of_others = false;

	for (size_t i = 0; i < c->n && log->n_groups < GROUPS_MAX; i++) {
		if (!c->code[i].name ||
			fnmatch(c->code[i].name, slash ? slash + 1 : text, FNM_CASEFOLD) != 0)
			continue;
		add_answer(log, &c->code[i]);
		is_of_others |= !is_own(&c->code[i]);
	}
	/* device/mr_cache/2/miss: only a pattern of the table has it. */
	if (log->n_groups || !kind)
		return is_of_others;
	counter = code_of_counter(kind, kind->name);
	add_answer(log, &counter);
	return true;
}

/* A number alone: what it means of each kind. "12/0x81", "12 0x81": a status and vendor error. */
static void read_numbers(const struct catalogue *c, const char *text, struct log *log)
{
	struct group *g = log->group;
	char copy[64], *rest = copy, *word;
	uint64_t n[2];
	size_t count = 0;

	if (strlen(text) >= sizeof(copy))
		return;
	strcpy(copy, text);
	while ((word = strsep(&rest, "/ ,")))
		if (*word && (count == 2 || rd_parse_u64(word, 0, ANY_NUMBER - 1, &n[count++]) < 0))
			return;
	for (size_t i = 0; count == 1 && i < c->n && log->n_groups < GROUPS_MAX; i++)
		if (c->code[i].number == n[0])
			add_answer(log, &c->code[i]);
	if (count == 2) {
		g->first = (struct reading){.qpn = QPN_UNKNOWN, .peer_qpn = QPN_UNKNOWN};
		reading_add(&g->first, SPACE_STATUS, (unsigned int)n[0], NULL);
		reading_add(&g->first, SPACE_VENDOR, (unsigned int)n[1], NULL);
		reading_finish(c, &g->first);
		log->n_groups = 1;
	}
}

/* The name that differs in the fewest letters; NULL: none is alike. */
static const char *nearest(const struct catalogue *c, char *word)
{
	unsigned int best = (unsigned int)strlen(word) / 4 + 2;
	const char *found = NULL;

	for (char *l = word; *l; l++)
		*l = (char)tolower((unsigned char)*l);
	for (size_t i = 0; i < c->n; i++) {
		const char *name = c->code[i].name;
		const unsigned int edits = name ? rd_word_edits(name, word) : best;

		if (edits < best) {
			best = edits;
			found = name;
		}
	}
	return found;
}

static int read_words(const struct explain_settings *s, const struct catalogue *c, struct log *log,
	struct rd_error *err)
{
	char *text = join(s->words, s->n_words), *lower = join(s->words, s->n_words);
	const char *near;
	int ret;

	if (!text || !lower)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "the words");
	ret = read_name(c, text, log)
		      ? 0
		      : log_line(log, c, text, strlen(text), MARK_COMPLETION | MARK_RDMA, err);
	if (!ret && !log->n_groups)
		read_numbers(c, text, log);
	if (!ret && !log->n_groups) {
		near = nearest(c, lower);
		ret = rd_fail(err, RD_CLASS_USAGE, 0,
			"'rdmadump explain --list' has everything that is known",
			"nothing in '%s' is known%s%s%s", text, near ? "; did you mean '" : "",
			near ? near : "", near ? "'?" : "");
	}
	free(text);
	free(lower);
	return ret;
}

/* --- the command ------------------------------------------------------------------------------ */

static unsigned int columns(void)
{
	const unsigned int n = rd_cli_columns(STDOUT_FILENO);

	return !n ? 80 : n < COLUMNS_MIN ? COLUMNS_MIN : n;
}

/* The first line that has a cause: flushed requests have none. */
static const struct reading *line_to_join(const struct log *log)
{
	for (size_t i = 0; i < log->n_groups; i++) {
		const unsigned int status = reading_status(&log->group[i].first);

		if (status != FLUSHED && status != ANY_NUMBER)
			return &log->group[i].first;
	}
	return &log->group[0].first;
}

static int join_captures(const struct explain_settings *s, struct log *log, struct rd_error *err)
{
	json_t *report = join_report(s->captures, s->n_captures, &log->damaged, err);

	if (!report)
		return -1;
	log->joined = join_find(report, line_to_join(log));
	json_decref(report);
	return 0;
}

/* How far it is, on a terminal */
static void show_progress(const struct log *log, uint64_t size)
{
	char line[160], bytes[RD_UNITS_LEN];

	if (size)
		snprintf(line, sizeof(line), "  reading standard input: %u %%",
			(unsigned int)(100.0 * (double)log->bytes / (double)size));
	else
		snprintf(line, sizeof(line), "  reading standard input: %s, %" PRIu64 " lines",
			rd_fmt_bytes(bytes, log->bytes), log->lines);
	rd_cli_status(line);
}

static int read_log(const struct catalogue *c, struct log *log, struct rd_error *err)
{
	int ret;

	log->progress = show_progress;
	ret = log_read(log, c, stdin, err);
	rd_cli_status(NULL);
	return ret;
}

static int read_and_print(const struct explain_settings *s, const struct catalogue *c,
	struct log *log, struct rd_error *err)
{
	const bool from_stdin = s->n_words == 1 && !strcmp(s->words[0], "-");
	int ret = from_stdin ? read_log(c, log, err) : read_words(s, c, log, err);

	if (!ret && log->n_groups && s->n_captures)
		ret = join_captures(s, log, err);
	if (!log->n_groups && !ret && !s->json)
		puts("No line has a code that is known.");
	if (log->n_groups || (!ret && s->json)) {
		struct rd_error failure;

		if (!s->json)
			explain_print(stdout, log, columns());
		else if (rd_cli_put_json(explain_json(log), JSON_INDENT(2), &failure) < 0 && !ret) {
			*err = failure;
			ret = -1;
		}
	}
	return ret;
}

/* Returns the exit status, or -1 with the error. */
static int run(const struct explain_settings *s, const struct catalogue *c, struct rd_error *err)
{
	struct log log;
	int ret = 0;

	if (s->list && s->json)
		return rd_cli_put_json(explain_list_json(c), JSON_INDENT(2), err);
	if (s->list) {
		explain_list(stdout, c);
		return 0;
	}
	if (log_open(&log, err) < 0)
		ret = -1;
	else
		ret = read_and_print(s, c, &log, err);
	if (!ret && log.damaged)
		ret = RD_CLASS_PARTIAL;
	log_free(&log);
	return ret;
}

int rd_cmd_explain(int argc, char **argv)
{
	static const struct argp argp = {.parser = parse_other,
		.args_doc = "WORD...\n-\n--list",
		.doc = "Says what a code, name or line of a log means: completion statuses and "
		       "vendor errors, events, counters, findings; on which side the cause is, the "
		       "usual causes, and what to look at next. WORD is a number, a name, or a "
		       "whole line; '-' reads a log from standard input."};
	struct explain_settings s = {0};
	struct catalogue c = {0};
	struct rd_error err;
	int ret;

	if (rd_cli_read(options, &argp, argc, argv, &s))
		return RD_CLASS_USAGE;
	rd_cli_log(RD_LOG_WARNING);
	ret = catalogue_make(&c, &err);
	if (!ret)
		ret = run(&s, &c, &err);
	catalogue_free(&c);
	return ret < 0 ? rd_cli_fail(&err) : ret;
}
