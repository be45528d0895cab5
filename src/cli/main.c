/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which program this is, by its name and first word; then which command, capture by default. */
#include "cli.h"
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <rdmadump/words.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

const struct rd_command rd_commands[] = {
	{"capture", "[OPTION...]", "capture what crosses a port into a file (the default)",
		rd_cmd_capture},
	{"analyze", "[OPTION...] FILE...",
		"what the traffic in capture files did, and what went wrong", rd_cmd_analyze},
	{"list", "[OPTION...]", "devices and ports, and whether they can be captured", rd_cmd_list},
	{"info", "[OPTION...] [DEVICE]",
		"firmware, ports, limits, what is open, can it be captured", rd_cmd_info},
	{"events", "[OPTION...] [DEVICE]", "what happens to devices, as it happens", rd_cmd_events},
	{"counters", "[OPTION...] [DEV[:PORT]]", "every counter: read, compare, watch, explain",
		rd_cmd_counters},
	{0},
};

const char *rd_command_like(const char *word)
{
	for (const struct rd_command *c = rd_commands; c->name; c++)
		if (rd_word_edits(word, c->name) <= strlen(c->name) / 4)
			return c->name;
	return NULL;
}

/* Programs that have a command line of their own. */
static const struct personality {
	const char *name, *word; /* what it is called, or how its first word looks; else NULL */
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
 * As setuid root every user of the machine would write files as root and name another user in
 * SUDO_UID; nothing here is made for that.
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
		"LINES=", "LOGNAME=", "PATH=", "TERM=", "TZ=", "USER=", NULL};

	for (unsigned int i = 0; kept[i]; i++)
		if (strncmp(variable, kept[i], strlen(kept[i])) == 0)
			return true;
	return false;
}

/*
 * With file capabilities the caller is not trusted, and libraries cannot tell: by RDMAV_DRIVERS
 * libibverbs would load any code of his.
 */
static void distrust_environment(void)
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
 * A descriptor of ours that got number 1 or 2 would be written to, and be inherited by commands. In
 * the direction that is not used, so that reading and writing fail as before.
 */
static void fill_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return;
}

int main(int argc, char **argv)
{
	static char full_name[64];
	const struct personality *p = personality(argc > 1 ? argv[1] : NULL);
	const struct rd_command *c = &rd_commands[0];

	if (refuse_setuid())
		return RD_CLASS_DEVICE;
	distrust_environment();
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
	if (argc > 1)
		while (c->name && strcmp(c->name, argv[1]))
			c++;
	if (argc < 2 || !c->name)
		return rd_cmd_capture(argc, argv);
	snprintf(full_name, sizeof(full_name), "rdmadump %s", c->name);
	argv[1] = full_name;
	return c->run(argc - 1, argv + 1);
}
