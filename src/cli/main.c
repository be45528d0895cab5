/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Selects ibdump, extcap, or a command (default: capture) by the program's name and first word. */
#include "cli.h"
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <rdmadump/filter.h>
#include <rdmadump/words.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define COMMAND_RUN(name, args, help) rd_cmd_##name,
static rd_command_fn *const runs[] = {RD_COMMANDS(COMMAND_RUN)};

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

/*
 * Installed setuid root, the program would let every user write files as root, or name another user
 * in SUDO_UID.
 */
static int refuse_setuid(void)
{
	struct rd_error err;

	if (getuid() == geteuid() && getgid() == getegid())
		return 0;
	rd_fail(&err, RD_CLASS_DEVICE, 0,
		"chmod a-s it, and use sudo or setcap cap_net_raw,cap_ipc_lock+ep",
		"the program is installed setuid or setgid, which it does not allow");
	return rd_cli_fail(&err);
}

static bool environment_keeps(const char *variable)
{
	static const char *const kept[] = {"COLUMNS=", "HOME=", "LANG=", "LC_",
		"LINES=", "LOGNAME=", "NO_COLOR=", "PATH=", "TERM=", "TZ=", "USER=", NULL};

	for (unsigned int i = 0; kept[i]; i++)
		if (strncmp(variable, kept[i], strlen(kept[i])) == 0)
			return true;
	return false;
}

/*
 * With file capabilities the caller is not trusted, but libraries do not check that: libibverbs
 * loads any code that RDMAV_DRIVERS names.
 */
static void sanitize_environment(void)
{
	char **to = environ;

	if (!getauxval(AT_SECURE))
		return;
	for (char **from = environ; from && *from; from++)
		if (environment_keeps(*from))
			*to++ = *from;
	if (to)
		*to = NULL;
}

/*
 * If the caller closed a standard descriptor, a device or file could get its number, be written to,
 * and be inherited by commands. The access mode makes reading and writing fail as before.
 */
static void fill_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return;
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

int main(int argc, char **argv)
{
	static char full_name[64];
	const struct personality *p = personality(argc > 1 ? argv[1] : NULL);
	size_t i = 0;
	int rc;

	if (refuse_setuid())
		return RD_CLASS_DEVICE;
	sanitize_environment();
	rd_cli_hold_requests();
	fill_standard_descriptors();
	rd_cli_streams();
	argp_err_exit_status = RD_CLASS_USAGE;
	argp_program_version_hook = NULL;
	program_invocation_name = program_invocation_short_name;
	if (p && p->takes_word) {
		argc--;
		argv++;
	}
	if (argc > 0)
		argv[0] = program_invocation_short_name;
	if (p)
		return p->run(argc, argv);
	translate_help(argc, argv);
	while (rd_commands[i].name && (argc < 2 || strcmp(rd_commands[i].name, argv[1])))
		i++;
	if (!rd_commands[i].name) {
		rc = check_first_word(argc, argv);
		return rc ? rc : rd_cmd_capture(argc, argv);
	}
	snprintf(full_name, sizeof(full_name), "rdmadump %s", rd_commands[i].name);
	argv[1] = full_name;
	return runs[i](argc - 1, argv + 1);
}
