/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Least privilege: who the program becomes once devices and files are open. */
#include "capture.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <linux/capability.h>
#include <pwd.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int by_name(struct identity *id, const char *user, struct rd_error *err)
{
	struct passwd *pw;

	errno = 0;
	pw = getpwnam(user);
	if (!pw)
		return rd_fail(err, RD_CLASS_USAGE, errno, "name a user that exists",
			"-Z %s: no such user", user);
	*id = (struct identity){.change = true, .uid = pw->pw_uid, .gid = pw->pw_gid};
	snprintf(id->name, sizeof(id->name), "%s", user);
	return 0;
}

/* sudo says who called it; anybody who can set these variables of a root process is root. */
static void by_sudo(struct identity *id)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID"),
		   *user = getenv("SUDO_USER");
	uint64_t u, g;

	if (!uid || !gid || rd_parse_u64(uid, 1, UINT32_MAX - 1, &u) ||
		rd_parse_u64(gid, 0, UINT32_MAX - 1, &g))
		return;
	*id = (struct identity){.change = true, .uid = (uid_t)u, .gid = (gid_t)g};
	snprintf(id->name, sizeof(id->name), "%s", user ? user : uid);
}

int identity_choose(struct identity *id, const char *user, struct rd_error *err)
{
	*id = (struct identity){.uid = (uid_t)-1, .gid = (gid_t)-1};
	if (user)
		return by_name(id, user, err);
	if (geteuid() == 0)
		by_sudo(id);
	return 0;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	return (int)syscall(SYS_capset, &head, none);
}

int identity_become(const struct identity *id, struct rd_error *err)
{
	bool root = geteuid() == 0;

	if (id->change && (geteuid() != id->uid || getegid() != id->gid)) {
		if (initgroups(id->name, id->gid) < 0 && setgroups(0, NULL) < 0)
			goto fail;
		if (setresgid(id->gid, id->gid, id->gid) < 0 ||
			setresuid(id->uid, id->uid, id->uid) < 0)
			goto fail;
		root = false;
	}
	/* root that stays root stays able: it may be all that can write where it was told to. */
	if (!root && (drop_capabilities() < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0))
		goto fail;
	return 0;
fail:
	return rd_fail(err, RD_CLASS_DEVICE, errno, "run as root, or without -Z",
		"cannot become user '%s'", id->name);
}

int directory_check(const char *path, struct rd_error *err)
{
	char *copy = strdup(path), *dir = copy ? dirname(copy) : NULL;
	int rc = 0;

	if (dir && faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0)
		rc = rd_fail(err, RD_CLASS_OUTPUT, errno,
			"later files could not be made: choose a directory of that user, or -Z "
			"root",
			"user %u may not write to directory '%s'", (unsigned int)geteuid(), dir);
	free(copy);
	return rc;
}
