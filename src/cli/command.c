/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every command does before argp reads its command line: misspelt options, --option-list. */
#include "command.h"
#include "cli.h"
#include <errno.h>
#include <rdmadump/printable.h>
#include <rdmadump/words.h>
#include <stdlib.h>
#include <string.h>

#define ALIKE_SHARE 4 /* one letter may differ, and one more per this many letters */

static bool is_end(const struct argp_option *o)
{
	return !o->name && !o->key && !o->doc && !o->group;
}

/* An alias has the argument of the row before it. */
static const struct argp_option *main_row(const struct argp_option *o)
{
	while (o->flags & OPTION_ALIAS)
		o--;
	return o;
}

static bool is_letter(int key)
{
	return key > ' ' && key < 0x7f;
}

/* --- misspelt options ------------------------------------------------------------------- */

/* getopt accepts any prefix of a name. */
static const struct argp_option *find_long(
	const struct argp_option *options, const char *name, size_t len)
{
	for (const struct argp_option *o = options; !is_end(o); o++)
		if (o->name && strncmp(o->name, name, len) == 0)
			return o;
	return NULL;
}

static const char *nearest(const struct argp_option *options, const char *name)
{
	unsigned int best = (unsigned int)strlen(name) / ALIKE_SHARE + 2;
	const struct argp_option *found = NULL;

	for (const struct argp_option *o = options; !is_end(o); o++) {
		unsigned int edits = o->name ? rd_word_edits(name, o->name) : best;

		if (edits >= best)
			continue;
		best = edits;
		found = o;
	}
	return found ? main_row(found)->name : NULL;
}

__attribute__((noreturn)) static void say_and_exit(const char *command, const char *line)
{
	char prefix[64];

	snprintf(prefix, sizeof(prefix), "%s: ", command);
	rd_cli_say(prefix, line);
	exit(RD_CLASS_USAGE);
}

void rd_cli_usage_error(const char *command, const char *fmt, ...)
{
	char line[600];
	int n = RD_FORMAT(line, sizeof(line), fmt);

	if (n >= 0 && (size_t)n < sizeof(line))
		snprintf(line + n, sizeof(line) - (size_t)n, "; see '%s --help'", command);
	say_and_exit(command, line);
}

__attribute__((noreturn)) static void unrecognized(
	const char *command, const struct argp_option *options, const char *name, size_t len)
{
	char text[128], line[320];
	const char *near;

	snprintf(text, sizeof(text), "%.*s", (int)(len < 100 ? len : 100), name);
	near = nearest(options, text);
	if (!near)
		rd_cli_usage_error(command, "unrecognized option '--%s'", text);
	snprintf(
		line, sizeof(line), "unrecognized option '--%s'; did you mean '--%s'?", text, near);
	say_and_exit(command, line);
}

/* Whether the argument after `word`, which is option letters, belongs to the last of them. */
static bool letters_take_next(
	const char *command, const struct argp_option *options, const char *word, bool is_last)
{
	for (const char *c = word + 1; *c; c++) {
		const struct argp_option *o = options;

		while (!is_end(o) && (o->key != *c || !is_letter(o->key)))
			o++;
		if (is_end(o))
			rd_cli_usage_error(command, "unrecognized option '-%c'", *c);
		o = main_row(o);
		if (!o->arg)
			continue;
		if (c[1] || o->flags & OPTION_ARG_OPTIONAL)
			return false;
		if (is_last)
			rd_cli_usage_error(command, "option '-%c' requires an argument", *c);
		return true;
	}
	return false;
}

static void check_names(const struct argp_option *options, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		const char *word = argv[i];
		size_t len = strcspn(word, "=");
		const struct argp_option *o;

		if (word[0] != '-')
			continue;
		if (word[1] != '-') {
			i += letters_take_next(argv[0], options, word, i + 1 == argc);
			continue;
		}
		o = find_long(options, word + 2, len - 2);
		if (!o)
			unrecognized(argv[0], options, word + 2, len - 2);
		o = main_row(o);
		if (!o->arg || o->flags & OPTION_ARG_OPTIONAL || word[len])
			continue;
		if (++i == argc)
			rd_cli_usage_error(argv[0], "option '--%s' requires an argument", o->name);
	}
}

/* --- the list of options ---------------------------------------------------------------- */

static void print_list(const struct argp_option *options)
{
	for (const struct argp_option *o = options; !is_end(o); o++) {
		const char *arg = main_row(o)->arg;
		const char *flags = o->flags & OPTION_HIDDEN ? "hidden" : "shown";
		const char *doc = main_row(o)->doc ? main_row(o)->doc : "";
		const int n = (int)strcspn(doc, ".;:(\n");

		if (o->name)
			printf("--%s\t%s\t%s\t%.*s\n", o->name, arg ? arg : "-", flags, n, doc);
		if (is_letter(o->key))
			printf("-%c\t%s\t%s\t%.*s\n", o->key, arg ? arg : "-", flags, n, doc);
	}
}

/* --- argp ------------------------------------------------------------------------------- */

static const struct argp_option common[] = {
	{"help", '?', 0, 0, "", 0},
	{"usage", 0, 0, 0, "", 0},
	{NULL, 'h', 0, 0, "", 0},
	{"option-list", 0, 0, OPTION_HIDDEN, "", 0},
	{0},
};

/* What argp does not do itself. `options` end with those that it adds. */
static void check_line(const struct argp_option *options, bool argp_helps, int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--option-list") == 0) {
		print_list(options);
		exit(0);
	}
	if (argc == 2 && strcmp(argv[1], "-h") == 0 && argp_helps)
		argv[1] = (char *)(uintptr_t) "--help";
	check_names(options, argc, argv);
}

/* --- rows ------------------------------------------------------------------------------- */

#define FIRST_KEY 0x100 /* of options without a letter */

static bool is_last(const struct cli_option *row)
{
	return !row->name && !row->letter;
}

/* 0: argp takes that of the row before it. */
static int key_of(const struct cli_option *rows, size_t i)
{
	return rows[i].letter ? rows[i].letter : rows[i].flags & OPT_ALIAS ? 0 : FIRST_KEY + (int)i;
}

static struct argp_option for_argp(const struct cli_option *rows, size_t i)
{
	const struct cli_option *row = &rows[i];
	bool alias = row->flags & OPT_ALIAS;

	return (struct argp_option){.name = row->name,
		.key = key_of(rows, i),
		.arg = row->arg,
		.doc = alias	   ? NULL
		       : row->help ? row->help
				   : "",
		.flags = (alias ? OPTION_ALIAS : 0) |
			 (row->flags & OPT_HIDDEN ? OPTION_HIDDEN : 0) |
			 (row->flags & OPT_OPTIONAL ? OPTION_ARG_OPTIONAL : 0)};
}

/* The input of argp. */
struct reading {
	const struct cli_option *rows;
	argp_parser_t other;
	void *settings;
	bool by_letter;
};

static error_t read_other(struct reading *r, int key, char *arg, struct argp_state *state)
{
	error_t ret = ARGP_ERR_UNKNOWN;

	state->input = r->settings;
	if (r->other)
		ret = r->other(key, arg, state);
	state->input = r;
	return ret;
}

/* A word that is no option. */
static void take_word(const char **field, const struct cli_option *last, char *arg,
	const struct argp_state *state)
{
	if (!last->size || *field)
		rd_cli_usage_error(state->name, "unexpected argument '%s': %s", arg, last->help);
	*field = arg;
}

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct reading *r = state->input;
	const struct cli_option *row = r->rows;
	struct rd_error err;
	char as[40];

	while (!is_last(row) && (!key || key != key_of(r->rows, (size_t)(row - r->rows))))
		row++;
	if (is_last(row)) {
		if (key != ARGP_KEY_ARG || !row->help)
			return read_other(r, key, arg, state);
		take_word((const char **)((char *)r->settings + row->at), row, arg, state);
		return 0;
	}
	while (row->flags & OPT_ALIAS)
		row--;
	if (r->by_letter && key < FIRST_KEY)
		snprintf(as, sizeof(as), "-%c", key);
	else
		snprintf(as, sizeof(as), "--%s", row->name);
	if (option_set(r->settings, row, as, arg, NULL, &err) < 0)
		rd_cli_usage_error(state->name, "%s", err.text);
	read_other(r, KEY_TAKEN, NULL, state);
	return 0;
}

error_t rd_cli_read_groups(const struct cli_option *rows, const char *const *headings,
	const struct argp *argp, int argc, char **argv, void *settings)
{
	struct reading r = {rows, argp->parser, settings, headings};
	struct argp whole = *argp;
	struct argp_option *options, *to;
	unsigned int group = 0;
	size_t n = 0;
	error_t ret;

	while (!is_last(&rows[n]))
		n++;
	options = to = calloc(2 * n + RD_COUNT(common), sizeof(*options));
	if (!options)
		return ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (headings && rows[i].group != group)
			*to++ = (struct argp_option){
				.doc = headings[rows[i].group], .group = (int)rows[i].group};
		group = rows[i].group;
		*to++ = for_argp(rows, i);
	}
	if (!headings)
		memcpy(to, common, sizeof(common));
	check_line(options, !headings, argc, argv);
	*to = (struct argp_option){0};
	whole.options = options;
	whole.parser = read_option;
	ret = argp_parse(&whole, argc, argv, headings ? ARGP_NO_HELP : 0, NULL, &r);
	free(options);
	return ret;
}

error_t rd_cli_read(const struct cli_option *rows, const struct argp *argp, int argc, char **argv,
	void *settings)
{
	return rd_cli_read_groups(rows, NULL, argp, argc, argv, settings);
}
