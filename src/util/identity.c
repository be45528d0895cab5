/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Least privilege: the user that the program becomes once devices and files are open. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <linux/capability.h>
#include <pwd.h>
#include <rdmadump/identity.h>
#include <rdmadump/log.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int by_name(struct rd_identity *id, const char *user, struct rd_error *err)
{
	struct passwd *pw;

	errno = 0;
	pw = getpwnam(user);
	if (!pw)
		return rd_fail(err, RD_CLASS_USAGE, errno, "name a user that exists",
			"-Z %s: no such user", user);
	*id = (struct rd_identity){.change = true, .uid = pw->pw_uid, .gid = pw->pw_gid};
	snprintf(id->name, sizeof(id->name), "%s", user);
	return 0;
}

/* sudo names its caller; only root can set these variables for a root process. */
static void by_sudo(struct rd_identity *id)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID"),
		   *user = getenv("SUDO_USER");
	uint64_t u, g;

	if (!uid || !gid || rd_parse_u64(uid, 1, UINT32_MAX - 1, &u) ||
		rd_parse_u64(gid, 0, UINT32_MAX - 1, &g))
		return;
	*id = (struct rd_identity){.change = true, .uid = (uid_t)u, .gid = (gid_t)g};
	snprintf(id->name, sizeof(id->name), "%s", user ? user : uid);
}

int rd_identity_choose(struct rd_identity *id, const char *user, struct rd_error *err)
{
	*id = (struct rd_identity){.uid = geteuid(), .gid = getegid()};
	if (user && by_name(id, user, err) < 0)
		return -1;
	if (!user && geteuid() == 0)
		by_sudo(id);
	id->keep = user && id->uid == 0;
	if (!id->name[0])
		snprintf(id->name, sizeof(id->name), "%u", (unsigned int)id->uid);
	return 0;
}

static bool is_other(const struct rd_identity *id)
{
	return id->change && (geteuid() != id->uid || getegid() != id->gid);
}

static int fail_become(const struct rd_identity *id, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_DEVICE, errno, "run as root, or without -Z",
		"cannot become user '%s'", id->name);
}

/* --- temporarily ----------------------------------------------------------------------- */

static int set_groups(const struct rd_identity *id)
{
	return initgroups(id->name, id->gid) < 0 ? setgroups(1, &id->gid) : 0;
}

int rd_identity_assume(
	const struct rd_identity *id, struct rd_identity_before *before, struct rd_error *err)
{
	*before = (struct rd_identity_before){.uid = geteuid(), .gid = getegid()};
	if (!is_other(id))
		return 0;
	before->n_groups = getgroups(0, NULL);
	before->groups = calloc((size_t)before->n_groups + 1, sizeof(*before->groups));
	if (!before->groups)
		return fail_become(id, err);
	before->n_groups = getgroups(before->n_groups, before->groups);
	before->changed = true;
	/* An effective user other than root has no effective capability either: capabilities(7). */
	if (set_groups(id) == 0 && setegid(id->gid) == 0 && seteuid(id->uid) == 0)
		return 0;
	fail_become(id, err);
	rd_identity_resume(before);
	return -1;
}

void rd_identity_resume(struct rd_identity_before *before)
{
	/* This cannot fail: the saved user is still root. */
	if (before->changed && (seteuid(before->uid) < 0 || setegid(before->gid) < 0 ||
				       setgroups((size_t)before->n_groups, before->groups) < 0))
		rd_log(RD_LOG_DEBUG, "cannot return to user %u: %s", (unsigned int)before->uid,
			strerror(errno));
	free(before->groups);
	*before = (struct rd_identity_before){0};
}

/* --- inputs ----------------------------------------------------------------------------- */

int rd_open_input(const char *path, int flags)
{
	struct rd_identity_before before;
	struct rd_identity id;
	int fd, errnum;

	if (rd_identity_choose(&id, NULL, NULL) < 0 || rd_identity_assume(&id, &before, NULL) < 0) {
		errno = EPERM;
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | flags);
	errnum = errno;
	rd_identity_resume(&before);
	errno = errnum;
	return fd;
}

const char *rd_open_advice(int errnum)
{
	struct rd_identity id;

	switch (errnum) {
	case EACCES:
	case EPERM:
		rd_identity_choose(&id, NULL, NULL);
		errno = errnum; /* the caller's message has it */
		return is_other(&id) ? "sudo reads files with its caller's rights: let that user "
				       "read it, or use a login of root"
				     : "run as its owner or as root";
	case ENOENT:
	case ENOTDIR:
		return "check the name";
	default:
		return NULL;
	}
}

/* --- permanently ------------------------------------------------------------------------ */

/* Sets this thread's capabilities: keeps or clears the effective and the permitted ones. */
static int set_capabilities(bool effective, bool permitted)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2];

	if (syscall(SYS_capget, &head, sets) < 0)
		return -1;
	for (unsigned int i = 0; i < 2; i++)
		sets[i] = (struct __user_cap_data_struct){
			.permitted = permitted ? sets[i].permitted : 0,
			.effective = effective ? sets[i].permitted : 0,
			.inheritable = permitted ? sets[i].inheritable : 0};
	return (int)syscall(SYS_capset, &head, sets);
}

void rd_identity_allow_pinned(uint64_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0 || limit.rlim_max == RLIM_INFINITY ||
		limit.rlim_max >= bytes)
		return;
	limit.rlim_cur = limit.rlim_max = bytes;
	/* Without CAP_SYS_RESOURCE the limit stays unchanged. */
	setrlimit(RLIMIT_MEMLOCK, &limit);
}

int rd_identity_become(const struct rd_identity *id, struct rd_error *err)
{
	if (is_other(id) && (set_groups(id) < 0 || setresgid(id->gid, id->gid, id->gid) < 0 ||
				    setresuid(id->uid, id->uid, id->uid) < 0))
		return fail_become(id, err);
	if (id->keep)
		return 0;
	/* Without PR_SET_NO_NEW_PRIVS a command that root starts gets its capabilities back. */
	if (set_capabilities(false, false) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return rd_fail(err, RD_CLASS_DEVICE, errno,
			id->root_option ? "-Z root keeps them" : "allow capset(2) and prctl(2)",
			"cannot give up capabilities");
	return 0;
}

/* --- where files can be created --------------------------------------------------------- */

/* Whether this user may create files there without capabilities: 0 or errno; -1 with an error. */
static int may_write(const struct rd_identity *id, const char *dir, struct rd_error *err)
{
	struct rd_identity_before before;
	int rc;

	if (rd_identity_assume(id, &before, err) < 0)
		return -1;
	set_capabilities(false, true);
	/* The effective user's rights count, not the real user's. */
	rc = faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0 ? errno : 0;
	/* A user other than root gets its effective capabilities back from seteuid(). */
	if (!before.changed)
		set_capabilities(true, true);
	rd_identity_resume(&before);
	return rc;
}

int rd_identity_check_directory(
	const struct rd_identity *id, const char *path, struct rd_error *err)
{
	char *copy, *dir;
	struct stat st;
	int rc;

	/* dirname() drops a "/" at the end. */
	if ((*path && path[strlen(path) - 1] == '/') ||
		(stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
		return rd_fail(err, RD_CLASS_OUTPUT, EISDIR, "give a file name, not a directory",
			"cannot write to '%s'", path);
	if (id->keep)
		return 0;
	copy = strdup(path);
	dir = copy ? dirname(copy) : NULL;
	rc = dir ? may_write(id, dir, err) : 0;
	if (rc == ENOENT || rc == ENOTDIR || rc == EROFS)
		rd_fail(err, RD_CLASS_OUTPUT, rc,
			rc == EROFS ? "choose a file system that is not read-only"
				    : "name a directory that exists",
			"cannot create files in '%s'", dir);
	else if (rc > 0)
		rd_fail(err, RD_CLASS_OUTPUT, rc,
			id->root_option ? "later files could not be created: choose a directory of "
					  "that user, or keep all privileges with -Z root"
					: "later files could not be created: choose a directory of "
					  "that user",
			"user '%s' may not write to directory '%s' without capabilities", id->name,
			dir);
	free(copy);
	return rc ? -1 : 0;
}

int rd_identity_check_root(const struct rd_identity *id, const char *path, struct rd_error *err)
{
	char *copy, *dir;
	struct rd_identity caller;
	struct stat st;
	int rc = 0;

	rd_identity_choose(&caller, NULL, NULL);
	if (!id->change || !id->keep || !is_other(&caller))
		return 0;
	copy = strdup(path);
	dir = copy ? dirname(copy) : NULL;
	if (!dir || (stat(dir, &st) == 0 && st.st_uid != 0))
		rc = rd_fail(err, RD_CLASS_OUTPUT, 0, "name a directory of root's, or omit -Z root",
			"-Z root by sudo: the directory of '%s' belongs to another user", path);
	free(copy);
	return rc;
}
