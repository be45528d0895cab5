/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The vendor's ibdump as a process of a capture (rdmadump/ibdump.h). */
#include "ibdump.h"
#include "ibdump_helper.h"
#include "port_sniffer_mlx5.h"
#include "port_sniffer_record.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <rdmadump/ibdump.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHERWISE "use --sniffer icmd instead"

struct rd_ibdump_process {
	pid_t helper;
	int socket, fifo;
	bool ended, lost; /* lost: the helper ended without a message */
	struct ibdump_end end;
	char program[PATH_MAX], directory[64], path[80];
};

/* --- starting ----------------------------------------------------------------------------- */

static int find_program(struct rd_ibdump_process *p, struct rd_error *err)
{
	switch (rd_ibdump_find(getenv("PATH"), p->program)) {
	case RD_IBDUMP_OTHER:
		return 0;
	case RD_IBDUMP_OURS:
		return rd_fail(err, RD_CLASS_DEVICE, 0,
			"put the directory of the vendor's ibdump before it in PATH, or " OTHERWISE,
			"--sniffer ibdump: %s is this program under another name", p->program);
	default:
		return rd_fail(err, RD_CLASS_DEVICE, 0,
			"install it (package mstflint, or MLNX_OFED), or " OTHERWISE,
			"--sniffer ibdump: there is no ibdump in PATH");
	}
}

/* Two of them would detach each other's sniffer. */
static int check_others(const struct rd_device *device, struct rd_error *err)
{
	struct sniffer_record record, left;
	int process = sniffer_other_process(device->pci);

	if (process)
		return rd_fail(err, RD_CLASS_DEVICE, 0, "end that capture first",
			"the sniffer of %s is used by ibdump, process %d", device->name, process);
	if (sniffer_record_open(&record, &left, device->pci, err) < 0)
		return -1;
	sniffer_record_close(&record);
	return 0;
}

/* In a directory that only root can enter. */
static int make_fifo(struct rd_ibdump_process *p, struct rd_error *err)
{
	static const char *const places[] = {"/run", "/dev/shm", "/tmp"};
	bool made = false;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !made; i++) {
		snprintf(
			p->directory, sizeof(p->directory), "%s/rdmadump-ibdump-XXXXXX", places[i]);
		made = mkdtemp(p->directory) != NULL;
	}
	if (!made)
		p->directory[0] = '\0';
	snprintf(p->path, sizeof(p->path), "%s/fifo", p->directory);
	if (made && mkfifo(p->path, 0600) == 0)
		p->fifo = open(p->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (p->fifo >= 0)
		return 0;
	return rd_fail(err, RD_CLASS_DEVICE, errno, "make /run or /tmp writable",
		"cannot make a FIFO for ibdump");
}

/* Signals are blocked over fork(), so that none can reach the process before it ignores them. */
static int start(struct rd_ibdump_process *p, char *const argv[], struct rd_error *err)
{
	struct ibdump_helper h = {.argv = argv, .directory = p->directory, .fifo = p->path};
	sigset_t all, old;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return rd_fail(err, RD_CLASS_DEVICE, errno,
			"raise the limit of open files (ulimit -n)", "socketpair");
	p->socket = pair[0];
	h.socket = pair[1];
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	p->helper = fork();
	if (p->helper == 0) {
		ibdump_helper_run(&h);
		_exit(0);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	close(pair[1]);
	if (p->helper > 0)
		return 0;
	return rd_fail(err, RD_CLASS_DEVICE, errno, "raise the limit of processes (ulimit -u)",
		"cannot start ibdump");
}

static int open_all(
	struct rd_ibdump_process *p, const struct rd_ibdump_config *config, struct rd_error *err)
{
	char device[80], port[16], log2[16];
	char *const argv[] = {p->program, (char *)"-d", device, (char *)"-i", port, (char *)"-b",
		log2, (char *)"-w", p->path, NULL};

	if (find_program(p, err) < 0)
		return -1;
	if (geteuid() != 0)
		return rd_fail(err, RD_CLASS_DEVICE, 0, "run as root, on the host",
			"--sniffer ibdump: ibdump needs root");
	if (check_others(config->device, err) < 0 || make_fifo(p, err) < 0)
		return -1;
	snprintf(device, sizeof(device), "%s", config->device->name);
	snprintf(port, sizeof(port), "%u", config->port->num);
	snprintf(log2, sizeof(log2), "%u", config->log2_buffers);
	return start(p, argv, err);
}

int rd_ibdump_open(struct rd_ibdump_process **process, const struct rd_ibdump_config *config,
	struct rd_error *err)
{
	struct rd_ibdump_process *p = calloc(1, sizeof(*p));

	*process = NULL;
	if (!p)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for ibdump");
	p->socket = p->fifo = -1;
	if (open_all(p, config, err) < 0) {
		rd_ibdump_close(p);
		return -1;
	}
	*process = p;
	return 0;
}

int rd_ibdump_fifo(const struct rd_ibdump_process *p)
{
	return p->fifo;
}

int rd_ibdump_event(const struct rd_ibdump_process *p)
{
	return p->socket;
}

/* --- ending ------------------------------------------------------------------------------- */

void rd_ibdump_stop(struct rd_ibdump_process *p)
{
	send(p->socket, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool rd_ibdump_ended(struct rd_ibdump_process *p)
{
	ssize_t n;

	if (p->ended)
		return true;
	n = recv(p->socket, &p->end, sizeof(p->end), MSG_DONTWAIT);
	if (n < 0)
		return false;
	p->lost = n != sizeof(p->end);
	p->ended = true;
	return true;
}

/* Whether it ended on request: with any status, but not by another signal. */
static bool was_asked(const struct ibdump_end *e)
{
	return e->asked && (!WIFSIGNALED(e->status) || WTERMSIG(e->status) == SIGINT);
}

int rd_ibdump_result(const struct rd_ibdump_process *p, struct rd_error *err)
{
	const struct ibdump_end *e = &p->end;
	const char *colon = e->said[0] ? ": " : "";
	const char *todo = "see its messages above, or " OTHERWISE;

	if (p->lost)
		return rd_fail(err, RD_CLASS_PARTIAL, 0, "start the capture again",
			"the process that runs ibdump was killed");
	if (e->start_errno)
		return rd_fail(err, RD_CLASS_DEVICE, e->start_errno,
			"install it again, or " OTHERWISE, "cannot start %s", p->program);
	if (e->left)
		return rd_fail(
			err, RD_CLASS_PARTIAL, 0, IBDUMP_LEFT_TODO, IBDUMP_LEFT, (int)e->left);
	if (was_asked(e) || (WIFEXITED(e->status) && WEXITSTATUS(e->status) == 0))
		return 0;
	if (WIFSIGNALED(e->status))
		return rd_fail(err, RD_CLASS_PARTIAL, 0, todo, "ibdump was ended by signal %d (%s)",
			WTERMSIG(e->status), strsignal(WTERMSIG(e->status)));
	return rd_fail(err, RD_CLASS_PARTIAL, 0, todo, "ibdump ended with status %d%s%s",
		WEXITSTATUS(e->status), colon, e->said);
}

void rd_ibdump_close(struct rd_ibdump_process *p)
{
	if (!p)
		return;
	if (p->fifo >= 0)
		close(p->fifo);
	if (p->helper <= 0 && p->directory[0]) {
		unlink(p->path);
		rmdir(p->directory);
	}
	if (p->helper > 0 && !p->ended)
		rd_ibdump_stop(p);
	while (p->helper > 0 && waitpid(p->helper, NULL, 0) < 0 && errno == EINTR)
		;
	if (p->socket >= 0)
		close(p->socket);
	free(p);
}
