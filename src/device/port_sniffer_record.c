/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The record of a capture by the command gateway: one line of text in a fixed format. */
#include "port_sniffer_mlx5.h"
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/fd.h>
#include <rdmadump/log.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define FOLDER	  "/run/rdmadump"
#define LINE_ROOM 200

#define LINE_READ                                                                                  \
	"port-sniffer 1 capture %d helper %d orphans %d %d %d %d port %u qpn %x rules %u ticket "  \
	"%x"
/* The line has a fixed length, so that a new one replaces the old one. */
#define LINE_WRITE                                                                                 \
	"port-sniffer 1 capture %10d helper %10d orphans %10d %10d %10d %10d port %3u qpn %06x "   \
	"rules %u ticket %08x\n"

static void read_line(int fd, struct sniffer_record *r)
{
	char line[LINE_ROOM] = "";
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);

	*r = (struct sniffer_record){.fd = -1};
	if (n > 0 && sscanf(line, LINE_READ, &r->capture, &r->helper, &r->orphans[0],
			     &r->orphans[1], &r->orphans[2], &r->orphans[3], &r->port, &r->qpn,
			     &r->rules, &r->ticket) != 10)
		*r = (struct sniffer_record){.fd = -1};
}

static bool is_ours_alone(const struct stat *st, mode_t type)
{
	return (st->st_mode & S_IFMT) == type && st->st_uid == geteuid() &&
	       !(st->st_mode & (S_IWGRP | S_IWOTH)) && (type == S_IFDIR || st->st_nlink == 1);
}

static int fail_shared(const char *path, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_DEVICE, 0,
		"remove it: another user could make rdmadump detach other programs' sniffers",
		"'%s' is not root's alone", path);
}

static int fail_create(const char *path, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_DEVICE, errno,
		errno == EACCES || errno == EPERM
			? "run as root"
			: "make /run writable: without a record, nothing would detach the sniffer "
			  "of a killed capture",
		"cannot create '%s'", path);
}

/* Only root may write to /run, but others may have made the folder there. */
static int open_file(const char *path, struct rd_error *err)
{
	struct stat st;
	int fd;

	if (mkdir(FOLDER, 0700) < 0 && errno != EEXIST)
		return fail_create(path, err);
	if (lstat(FOLDER, &st) < 0 || !is_ours_alone(&st, S_IFDIR))
		return fail_shared(FOLDER, err);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return fail_create(path, err);
	if (fstat(fd, &st) == 0 && is_ours_alone(&st, S_IFREG))
		return fd;
	close(fd);
	return fail_shared(path, err);
}

static int fail_used(const struct sniffer_record *by, const char *pci, struct rd_error *err)
{
	if (!by->capture)
		return rd_fail(err, RD_CLASS_DEVICE, 0, "wait until it has ended",
			"another rdmadump uses the command gateway of %s", pci);
	/* Its process outlives a capture that did not wait for a command, or was killed. */
	if (kill(by->capture, 0) < 0 && errno == ESRCH)
		return rd_fail(err, RD_CLASS_DEVICE, 0, "wait until that process has ended",
			"the sniffer of %s port %u is being detached by rdmadump-icmd, process %d, "
			"whose capture has ended",
			pci, by->port, (int)by->helper);
	return rd_fail(err, RD_CLASS_DEVICE, 0, "end that capture first",
		"the sniffer of %s port %u is attached by rdmadump, process %d", pci, by->port,
		(int)by->capture);
}

int sniffer_record_open(struct sniffer_record *r, struct sniffer_record *left, const char *pci,
	struct rd_error *err)
{
	char path[128];
	int locked;

	*r = (struct sniffer_record){.fd = -1};
	snprintf(path, sizeof(path), FOLDER "/port-sniffer-%s", pci);
	r->fd = open_file(path, err);
	if (r->fd < 0)
		return -1;
	locked = flock(r->fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
	read_line(r->fd, left);
	if (!locked)
		return 0;
	rd_fd_close(&r->fd);
	if (locked == EWOULDBLOCK)
		return fail_used(left, pci, err);
	return rd_fail(err, RD_CLASS_DEVICE, locked, NULL, "cannot lock '%s'", path);
}

void sniffer_record_inherit(
	struct sniffer_record *r, const struct sniffer_record *left, pid_t helper)
{
	r->helper = helper;
	r->orphans[0] = left->helper;
	memcpy(r->orphans + 1, left->orphans, sizeof(r->orphans) - sizeof(r->orphans[0]));
	r->rules = left->rules;
	r->ticket = left->ticket;
	if (!left->rules)
		return;
	r->port = left->port;
	r->qpn = left->qpn;
}

bool sniffer_record_is_clean(const struct sniffer_record *r)
{
	/* orphans[0] is set if any orphan is. */
	return !r->rules && !r->ticket && !r->orphans[0];
}

int sniffer_record_write(const struct sniffer_record *r)
{
	char line[LINE_ROOM];
	int n = snprintf(line, sizeof(line), LINE_WRITE, (int)r->capture, (int)r->helper,
		(int)r->orphans[0], (int)r->orphans[1], (int)r->orphans[2], (int)r->orphans[3],
		r->port, r->qpn, r->rules, r->ticket);
	ssize_t done = r->fd < 0 ? n : pwrite(r->fd, line, (size_t)n, 0);

	return done == n ? 0 : done < 0 ? errno : ENOSPC;
}

void sniffer_record_clear(struct sniffer_record *r)
{
	if (r->fd >= 0 && ftruncate(r->fd, 0) < 0)
		rd_log(RD_LOG_DEBUG, "record of the port's sniffer: %s", strerror(errno));
}
