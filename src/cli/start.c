/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every program does before it reads its command line, and with whose rights it reads. */
#include "cli.h"
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/identity.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Setuid root, it would let every user write files as root, or name another user in SUDO_UID. */
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
		"LINES=", "LOGNAME=", "NO_COLOR=", "PATH=", "TERM=", "TZ=", "USER="};

	return RD_ANY(k, kept, RD_COUNT(kept), strncmp(variable, *k, strlen(*k)) == 0);
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
	for (char **from = environ; *from; from++)
		if (environment_keeps(*from))
			*to++ = *from;
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

int rd_cli_start(void)
{
	if (refuse_setuid())
		return RD_CLASS_DEVICE;
	sanitize_environment();
	rd_cli_hold_requests();
	fill_standard_descriptors();
	rd_cli_streams();
	argp_err_exit_status = RD_CLASS_USAGE;
	argp_program_version_hook = NULL;
	json_set_alloc_funcs(malloc, free); /* ours, in a program that wraps it */
	program_invocation_name = program_invocation_short_name;
	return 0;
}

int rd_cli_main(const char *name, rd_command_fn *run, int argc, char **argv)
{
	static char full_name[64];
	int status = rd_cli_start();

	if (status)
		return status;
	snprintf(full_name, sizeof(full_name), "rdmadump %s", name);
	if (argc > 0)
		argv[0] = full_name;
	return run(argc, argv);
}

/* --- devices of a copied tree, with the rights of the user who called sudo ---------------- */

int run_as_caller(int (*run)(void *ctx, struct rd_error *err), void *ctx, struct rd_error *err)
{
	struct rd_identity_before before;
	struct rd_identity caller;
	int rc;

	if (rd_identity_choose(&caller, NULL, err) < 0 ||
		rd_identity_assume(&caller, &before, err) < 0)
		return -1;
	rc = run(ctx, err);
	rd_identity_resume(&before);
	return rc;
}

int run_on_tree(
	const char *sysroot, int (*run)(void *settings, struct rd_error *err), void *settings)
{
	struct rd_error err = {0};
	int rc = *sysroot ? run_as_caller(run, settings, &err) : run(settings, &err);

	return rc < 0 ? rd_cli_fail(&err) : RD_CLASS_NONE;
}
