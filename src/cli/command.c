/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every command does before argp reads its command line: misspelt options, --option-list. */
#include "command.h"
#include "cli.h"
#include <errno.h>
#include <rdmadump/words.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIKE_SHARE 4 /* one letter may differ, and one more per this many letters */

static const struct argp_option end = {0};

static bool is_end(const struct argp_option *o)
{
	return !o->name && !o->key && !o->doc && !o->group;
}

static const struct argp_option *options_of(const struct argp *argp)
{
	return argp->options ? argp->options : &end;
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
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
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

/* Whether the argument after `word`, which consists of option letters, belongs to its last letter.
 */
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

		if (o->name)
			printf("--%s\t%s\t%s\n", o->name, arg ? arg : "-", flags);
		if (is_letter(o->key))
			printf("-%c\t%s\t%s\n", o->key, arg ? arg : "-", flags);
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

/* The command's options, and those that argp adds. */
static struct argp_option *all_options(const struct argp *argp, unsigned int flags)
{
	const struct argp_option *from = options_of(argp), *o = from;
	size_t n = 0, more = flags & ARGP_NO_HELP ? 0 : sizeof(common) / sizeof(*common) - 1;
	struct argp_option *all;

	while (!is_end(o++))
		n++;
	all = calloc(n + more + 1, sizeof(*all));
	if (!all)
		return NULL;
	memcpy(all, from, n * sizeof(*all));
	memcpy(all + n, common, more * sizeof(*all));
	return all;
}

error_t rd_cli_parse(
	const struct argp *argp, int argc, char **argv, unsigned int flags, void *input)
{
	struct argp_option *options = all_options(argp, flags);

	if (!options)
		return ENOMEM;
	if (argc == 2 && strcmp(argv[1], "--option-list") == 0) {
		print_list(options);
		exit(0);
	}
	if (argc == 2 && strcmp(argv[1], "-h") == 0 && !(flags & ARGP_NO_HELP))
		argv[1] = (char *)(uintptr_t) "--help";
	check_names(options, argc, argv);
	free(options);
	return argp_parse(argp, argc, argv, flags, NULL, input);
}

/* --- rows ------------------------------------------------------------------------------- */

#define FIRST_KEY 0x100 /* of options without a letter */

struct argp_option option_for_argp(const struct cli_option *row, int key)
{
	bool alias = row->flags & OPT_ALIAS;

	return (struct argp_option){.name = row->name,
		.key = key,
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
};

static int key_of(const struct cli_option *rows, size_t i)
{
	return rows[i].letter ? rows[i].letter : FIRST_KEY + (int)i;
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
	const struct cli_option *last = r->rows;
	struct rd_error err;
	char as[40];
	error_t ret;

	for (; last->name; last++) {
		if (key != key_of(r->rows, (size_t)(last - r->rows)))
			continue;
		snprintf(as, sizeof(as), "--%s", last->name);
		if (option_set(NULL, r->settings, last, as, arg, NULL, &err) < 0)
			rd_cli_usage_error(state->name, "%s", err.text);
		return 0;
	}
	if (key == ARGP_KEY_ARG && last->help) {
		take_word((const char **)((char *)r->settings + last->at), last, arg, state);
		return 0;
	}
	if (!r->other)
		return ARGP_ERR_UNKNOWN;
	state->input = r->settings;
	ret = r->other(key, arg, state);
	state->input = r;
	return ret;
}

error_t rd_cli_read(const struct cli_option *rows, const struct argp *argp, int argc, char **argv,
	void *settings)
{
	struct reading r = {.rows = rows, .other = argp->parser, .settings = settings};
	struct argp whole = *argp;
	struct argp_option *options;
	size_t n = 0;
	error_t ret;

	while (rows[n].name)
		n++;
	options = calloc(n + 1, sizeof(*options));
	if (!options)
		return ENOMEM;
	for (size_t i = 0; i < n; i++)
		options[i] = option_for_argp(&rows[i], key_of(rows, i));
	whole.options = options;
	whole.parser = read_option;
	ret = rd_cli_parse(&whole, argc, argv, 0, &r);
	free(options);
	return ret;
}
