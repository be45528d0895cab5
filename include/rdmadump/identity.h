/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Least privilege: the user that the program switches to once devices and files are open. */
#pragma once

#include <rdmadump/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The user that the program switches to. */
struct rd_identity {
	bool change; /* false: the user does not change */
	bool keep;   /* -Z root: capabilities stay */
	uid_t uid;
	gid_t gid;
	char name[64];
	const char *root_option; /* "-Z root": for advice; NULL: the command has none */
};

/* The original identity while the program acts as another user. */
struct rd_identity_before {
	bool changed;
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int n_groups;
};

/*
 * The order is: open devices, open outputs between rd_identity_assume() and rd_identity_resume(),
 * start the devices, rd_identity_become(), and only then start threads: a thread keeps the
 * capabilities that it was started with.
 */
/* user: a name (-Z); NULL: who called sudo, else the current user. -1 with RD_CLASS_USAGE. */
int rd_identity_choose(struct rd_identity *id, const char *user, struct rd_error *err);
/*
 * Acts as that user, so that files are opened with its rights alone, until rd_identity_resume(). -1
 * with RD_CLASS_DEVICE; nothing is changed then. Changes the calling process as a whole.
 */
int rd_identity_assume(
	const struct rd_identity *id, struct rd_identity_before *before, struct rd_error *err);
/* Undoes it and frees what `before` holds. */
void rd_identity_resume(struct rd_identity_before *before);
/*
 * Opens a file that the user named for reading, with the rights of the user who called sudo;
 * `flags` are added to O_RDONLY and O_CLOEXEC. The only function that opens inputs. -1 with errno.
 */
int rd_open_input(const char *path, int flags);
/* What to do about an input that cannot be opened; NULL: nothing is known. */
const char *rd_open_advice(int errnum);
/*
 * Lets `bytes` of memory be pinned without CAP_IPC_LOCK, where the limit may be raised: receive
 * buffers grow when a frame is too long for them. Before rd_identity_become().
 */
void rd_identity_allow_pinned(uint64_t bytes);
/*
 * Switches to that user permanently, without any capability unless `keep`. -1 with RD_CLASS_DEVICE.
 * Before any thread is started.
 */
int rd_identity_become(const struct rd_identity *id, struct rd_error *err);
/*
 * 0 if files can be created beside `path` after rd_identity_become(), else -1 with RD_CLASS_OUTPUT.
 */
int rd_identity_check_directory(
	const struct rd_identity *id, const char *path, struct rd_error *err);
/*
 * With -Z root by sudo: the directory of `path` must be root's, else another user could redirect
 * what root writes there. -1 with RD_CLASS_OUTPUT.
 */
int rd_identity_check_root(const struct rd_identity *id, const char *path, struct rd_error *err);
