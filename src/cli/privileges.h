/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Least privilege: who the program becomes once devices and files are open. */
#ifndef RDMADUMP_CLI_PRIVILEGES_H
#define RDMADUMP_CLI_PRIVILEGES_H

#include <rdmadump/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Who the program becomes once the devices are open. */
struct identity {
	bool change; /* false: stays who it is */
	bool keep;   /* -Z root: capabilities stay */
	uid_t uid;
	gid_t gid;
	char name[64];
};

/* Who the program was while it acts as somebody else. */
struct identity_before {
	bool changed;
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int n_groups;
};

/*
 * The order is: open devices, open outputs between identity_assume() and
 * identity_resume(), start the devices, identity_become(), and only then start threads: a thread
 * keeps the capabilities that it was started with.
 */
int identity_choose(struct identity *id, const char *user, struct rd_error *err);
/* Acts as that user, so that files are opened with his rights alone, until identity_resume(). */
int identity_assume(
	const struct identity *id, struct identity_before *before, struct rd_error *err);
void identity_resume(struct identity_before *before);
/*
 * Lets `bytes` of memory be pinned without CAP_IPC_LOCK, where we may raise the limit: receive
 * buffers grow when a frame is too long for them. Before identity_become().
 */
void identity_allow_pinned(uint64_t bytes);
/* Becomes that user for good, without any capability unless `keep`. */
int identity_become(const struct identity *id, struct rd_error *err);
/* Whether files can be created beside `path` after identity_become(). */
int identity_check_directory(const struct identity *id, const char *path, struct rd_error *err);

#endif
