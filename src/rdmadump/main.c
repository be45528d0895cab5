/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Selects ibdump, extcap, or a command (default: capture) by the program's name and first word, and
 * runs the program of a command that is one. */
#include "commands.h"
#include <errno.h>
#include <fnmatch.h>
#include <rdmadump/filter.h>
#include <rdmadump/identity.h>
#include <rdmadump/program.h>
#include <rdmadump/words.h>
#include <unistd.h>

/* The commands of this program; each of the others is the program rdmadump-NAME. */
static const struct own_command {
	const char *name;
	rd_command_fn *run;
} own_commands[] = {
	{"capture", rd_cmd_capture},
	{"list", rd_cmd_list},
	{"info", rd_cmd_info},
	{"events", rd_cmd_events},
	{"counters", rd_cmd_counters},
	{"record", rd_cmd_record},
	{0},
};

/* Those that are scripts. */
static const char *const scripts[] = {"compare", "digest", "export", NULL};

#define ALIKE_SHARE 4 /* one letter in this many may differ */

/* Names under which the program has a different command line. */
static const struct personality {
	const char *name, *word; /* program name, or pattern of the first word; else NULL */
	bool takes_word;
	rd_command_fn *run;
} personalities[] = {
	{"ibdump", NULL, false, ibdump_run},
	{NULL, "--ibdump", true, ibdump_run},
	{"rdmadump-extcap", NULL, false, extcap_run},
	{NULL, "--extcap-*", false, extcap_run},
	{NULL, "--capture", false, extcap_run},
	{0},
};

static const struct personality *personality(const char *word)
{
	const struct personality *p = personalities;

	for (; p->run; p++) {
		if (p->name && strcmp(p->name, program_invocation_short_name) == 0)
			return p;
		if (p->word && word && fnmatch(p->word, word, 0) == 0)
			return p;
	}
	return NULL;
}

/* The command whose name is nearly `word`, or NULL. */
static const char *command_like(const char *word)
{
	for (const struct rd_command *c = rd_commands; c->name; c++)
		if (rd_word_edits(word, c->name) <= strlen(c->name) / ALIKE_SHARE)
			return c->name;
	return NULL;
}

/* The words before the first option; false if they are too long. */
static bool leading_words(char *out, size_t size, int argc, char **argv)
{
	size_t used = 0;

	for (int i = 1; i < argc && argv[i][0] != '-' && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " " : "", argv[i]);
	return used < size;
}

/* A first word that is not a command must begin a filter. Returns 0, or an exit status. */
static int check_first_word(int argc, char **argv)
{
	char words[1024] = "";
	const struct rd_filter_spec spec = {.expression = words};
	const char *word = argc > 1 ? argv[1] : "-", *like;
	struct rd_filter *filter;
	struct rd_error err;

	if (word[0] == '-' || !word[0] || !leading_words(words, sizeof(words), argc, argv))
		return 0;
	if (rd_filter_compile(&filter, &spec, RD_LINK_ETHERNET, &err) == 0) {
		rd_filter_free(filter);
		return 0;
	}
	like = command_like(word);
	if (like)
		rd_fail(&err, RD_CLASS_USAGE, 0, NULL,
			"there is no command '%.64s'; did you mean 'rdmadump %s'?", word, like);
	else if (strchr(words, ' '))
		return 0;
	else if (access(word, F_OK) == 0)
		rd_fail(&err, RD_CLASS_USAGE, 0,
			"to read it: 'rdmadump analyze FILE' or 'rdmadump -r FILE'",
			"'%.200s' is a file, neither a command nor a filter", word);
	else
		rd_fail(&err, RD_CLASS_USAGE, 0, "'rdmadump --help' lists the commands",
			"there is no command '%.64s', and it is not a filter", word);
	return rd_cli_fail(&err);
}

/* "help" and "help COMMAND" are --help and COMMAND --help. */
static void translate_help(int argc, char **argv)
{
	static char option[] = "--help";

	if (argc < 2 || strcmp(argv[1], "help") != 0)
		return;
	if (argc > 2)
		argv[1] = argv[2];
	argv[argc > 2 ? 2 : 1] = option;
}

/* Programs open files with the rights of the caller of sudo themselves, a shell cannot. */
static int become_caller(const char *command, struct rd_error *err)
{
	struct rd_identity id;
	unsigned int i = 0;

	while (scripts[i] && strcmp(scripts[i], command) != 0)
		i++;
	if (!scripts[i] || rd_identity_choose(&id, NULL, err) < 0 || !id.change)
		return 0;
	return rd_identity_become(&id, err);
}

/* Returns the exit status if the program cannot be run. */
static int run_program(const char *command, char **argv)
{
	char name[64], path[PATH_MAX];
	struct rd_error err;

	snprintf(name, sizeof(name), "rdmadump-%s", command);
	if (rd_program_find(path, name, &err) == 0 && become_caller(command, &err) == 0) {
		execv(path, argv);
		rd_fail(&err, RD_CLASS_DEVICE, errno, NULL, "cannot run '%s'", path);
	}
	return rd_cli_fail(&err);
}

int main(int argc, char **argv)
{
	static char full_name[64];
	const struct personality *p = personality(argc > 1 ? argv[1] : NULL);
	const struct rd_command *c = rd_commands;
	const struct own_command *own = own_commands;
	int rc = rd_cli_start();

	if (rc)
		return rc;
	if (p && p->takes_word) {
		argc--;
		argv++;
	}
	if (argc > 0)
		argv[0] = program_invocation_short_name;
	if (p)
		return p->run(argc, argv);
	translate_help(argc, argv);
	while (c->name && (argc < 2 || strcmp(c->name, argv[1])))
		c++;
	if (!c->name) {
		rc = check_first_word(argc, argv);
		return rc ? rc : rd_cmd_capture(argc, argv);
	}
	while (own->name && strcmp(own->name, c->name) != 0)
		own++;
	if (!own->name)
		return run_program(c->name, argv + 1);
	snprintf(full_name, sizeof(full_name), "rdmadump %s", c->name);
	argv[1] = full_name;
	return own->run(argc - 1, argv + 1);
}
