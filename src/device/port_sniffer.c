/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The process that uses the command gateway. Only this process has configuration space open. It
 * receives requests over a socket; when that is closed, however the capture ended, it detaches the
 * sniffer.
 */
#include "port_sniffer_mlx5.h"
#include "sysfs.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdmadump/fd.h>
#include <rdmadump/log.h>
#include <rdmadump/privilege.h>
#include <rdmadump/spawn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define SURE_TRIES    3
#define SURE_PAUSE_US 500000
#define WAIT_MS	      50

struct rd_port_sniffer {
	pid_t helper;
	int socket;
	bool attached;	/* it is, or may be */
	bool abandoned; /* a request was not waited for */
	bool (*waiting)(void *ctx);
	void *ctx;
	char pci[16];
};

enum what { OPEN, ATTACH, DETACH };

struct request {
	enum what what;
	uint32_t qpn;
};

/* The data that the helper process inherits. */
struct helper {
	const struct rd_port_sniffer_config *config;
	int socket, config_fd;
	bool opened;
	bool unreported; /* the last reply did not reach the capture */
	struct sniffer_record left;
	struct mlx5_sniffer sniffer;
};

/* --- in the process ----------------------------------------------------------------------- */

/* Makes this process independent of what ends the capture: it ends when the socket is closed. */
static void settle(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "-1000", 5) < 0)
		rd_log(RD_LOG_DEBUG, "oom_score_adj: %s", strerror(errno));
	rd_fd_close(&fd);
	setsid();
	prctl(PR_SET_NAME, "rdmadump-icmd");
	if (chdir("/") < 0 || rd_drop_capabilities() != 0)
		rd_log(RD_LOG_DEBUG, "capabilities stay: %s", strerror(errno));
}

/* Detaches what a killed capture left: its queue pair is gone. */
static int open_sniffer(struct helper *h, struct rd_error *err)
{
	const struct rd_port_sniffer_config *c = h->config;

	if (mlx5_sniffer_open(&h->sniffer, c->device, h->config_fd, c->port, err) < 0)
		return -1;
	h->opened = true;
	if (h->left.rules)
		rd_log(RD_LOG_WARNING, "%s port %u: a capture that was killed (process %d) %s",
			c->device->name, h->left.port, (int)h->left.capture,
			h->left.rules & ~h->sniffer.absent
				? "had left its sniffer attached: it is detached now"
				: "may have left its sniffer attached: the firmware found none");
	return 0;
}

/* Another tool may use the gateway for seconds. The first error is the one that is reported: later
 * ones may be its results. */
static int surely(struct helper *h, int (*act)(struct mlx5_sniffer *, struct rd_error *),
	struct rd_error *err)
{
	struct rd_error later = {0};

	if (act(&h->sniffer, err) == 0)
		return 0;
	for (unsigned int i = 1; i < SURE_TRIES && !h->sniffer.icmd.hangs; i++) {
		pci_config_pause(SURE_PAUSE_US);
		if (act(&h->sniffer, &later) == 0) {
			*err = (struct rd_error){0};
			return 0;
		}
	}
	return -1;
}

/* A request could name any process' queue pair: `sender` must be the user who started this one. */
static int perform(
	struct helper *h, const struct request *r, const struct ucred *sender, struct rd_error *err)
{
	if (r->what == DETACH)
		return surely(h, mlx5_sniffer_detach, err);
	if (sender->uid != getuid())
		return rd_fail(err, RD_CLASS_DEVICE, EPERM, "keep root (-Z root)",
			"the sniffer of %s is attached by root only", h->config->device->pci);
	return r->what == ATTACH ? mlx5_sniffer_attach(&h->sniffer, r->qpn, err)
				 : open_sniffer(h, err);
}

/* The kernel provides the credentials of the sender. */
static bool receive(const struct helper *h, struct request *r, struct ucred *sender)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(*sender))];
	} control;
	struct iovec data = {r, sizeof(*r)};
	struct msghdr m = {.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	const struct cmsghdr *c;
	ssize_t n;

	n = TEMP_FAILURE_RETRY(recvmsg(h->socket, &m, MSG_CMSG_CLOEXEC));
	c = CMSG_FIRSTHDR(&m);
	if (n != sizeof(*r) || !c || c->cmsg_type != SCM_CREDENTIALS)
		return false;
	memcpy(sender, CMSG_DATA(c), sizeof(*sender));
	return true;
}

static bool serve_one(struct helper *h)
{
	struct rd_error err = {0};
	struct ucred sender;
	struct request r;

	if (!receive(h, &r, &sender))
		return false;
	perform(h, &r, &sender, &err);
	h->unreported = send(h->socket, &err, sizeof(err), MSG_NOSIGNAL) != sizeof(err);
	return !h->unreported;
}

static void detach_abandoned(struct helper *h)
{
	struct rd_error err = {0};
	const struct mlx5_sniffer *s = &h->sniffer;

	if (h->unreported && !s->record.rules)
		rd_log(RD_LOG_WARNING,
			"%s port %u: what was not waited for has ended: no sniffer is attached",
			h->config->device->name, s->record.port);
	if (!h->opened || !s->record.rules)
		return;
	if (surely(h, mlx5_sniffer_detach, &err) == 0)
		rd_log(RD_LOG_WARNING,
			"%s port %u: the capture ended without detaching the sniffer: it is "
			"detached now",
			h->config->device->name, s->record.port);
	else
		rd_log(RD_LOG_ERROR,
			"%s port %u: the sniffer may still be attached: %s; the next capture with "
			"--sniffer icmd detaches it, or a reset of the adapter",
			h->config->device->name, s->record.port, err.text);
}

static void helper_run(struct helper *h)
{
	struct sniffer_record *record = &h->sniffer.record;
	int keep[] = {h->socket, h->config_fd, record->fd, h->config->keep};
	struct rd_error ignored;

	/* An inherited pipe or device that stays open here could block other processes. */
	rd_descriptors_keep(keep, RD_COUNT(keep));
	settle();
	sniffer_record_inherit(record, &h->left, getpid());
	while (serve_one(h))
		;
	detach_abandoned(h);
	surely(h, mlx5_sniffer_close, &ignored);
	/* Anything still held or attached is cleaned up by the next capture. */
	if (sniffer_record_is_clean(record) && !h->sniffer.icmd.held)
		sniffer_record_clear(record);
}

/* --- in the capture ------------------------------------------------------------------------- */

static int fail_helper(const struct rd_port_sniffer *s, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_DEVICE, 0,
		s->attached ? "frames may still be copied to this port's old queue pair: start a "
			      "capture with --sniffer icmd again, which detaches it"
			    : "start the capture again",
		"the process that uses the command gateway of %s was killed", s->pci);
}

static int fail_abandoned(const struct rd_port_sniffer *s, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_DEVICE, 0,
		"it detaches the sniffer and ends by itself: start no other capture on this "
		"adapter before",
		"interrupted while the command gateway of %s is used by rdmadump-icmd, process %d",
		s->pci, (int)s->helper);
}

/* Commands take up to 30 s, and other tools hold the gateway for seconds. The closed socket is what
 * makes the process detach the sniffer. */
static bool wait_reply(struct rd_port_sniffer *s)
{
	struct pollfd p = {.fd = s->socket, .events = POLLIN};

	while (s->waiting && poll(&p, 1, WAIT_MS) <= 0) {
		if (s->waiting(s->ctx))
			continue;
		s->abandoned = true;
		close(s->socket);
		s->socket = -1;
		return false;
	}
	return true;
}

static int ask(struct rd_port_sniffer *s, const struct request *r, struct rd_error *err)
{
	struct rd_error reply;
	ssize_t n;

	if (s->abandoned)
		return fail_abandoned(s, err);
	if (send(s->socket, r, sizeof(*r), MSG_NOSIGNAL) != sizeof(*r))
		return fail_helper(s, err);
	if (!wait_reply(s))
		return fail_abandoned(s, err);
	n = TEMP_FAILURE_RETRY(recv(s->socket, &reply, sizeof(reply), 0));
	if (n != sizeof(reply))
		return fail_helper(s, err);
	if (reply.class == RD_CLASS_NONE)
		return 0;
	*err = reply;
	return -1;
}

static int open_config(struct helper *h, struct rd_error *err)
{
	const struct rd_port_sniffer_config *c = h->config;

	h->config_fd = rd_sysfs_open(
		O_RDWR | O_SYNC, "%s/sys/bus/pci/devices/%s/config", c->sysroot, c->device->pci);
	if (h->config_fd >= 0)
		return 0;
	return rd_fail(err, RD_CLASS_DEVICE, errno,
		errno == EACCES || errno == EPERM ? "run as root, on the host"
						  : "run it on the host that owns the adapter",
		"cannot open the configuration space of %s", c->device->pci);
}

/* Signals are blocked over fork(), so that none can reach the process before it ignores them. */
static int start(struct rd_port_sniffer *s, struct helper *h, struct rd_error *err)
{
	const int on = 1;
	sigset_t all, old;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
		setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return rd_fail(err, RD_CLASS_DEVICE, errno,
			"raise the limit of open files (ulimit -n)", "socketpair");
	s->socket = pair[0];
	h->socket = pair[1];
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	s->helper = fork();
	if (s->helper == 0) {
		helper_run(h);
		_exit(0);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	close(pair[1]);
	if (s->helper > 0)
		return 0;
	return rd_fail(err, RD_CLASS_DEVICE, errno, "raise the limit of processes (ulimit -u)",
		"cannot start the process that uses the command gateway");
}

/* Refuses to run beside ibdump: its sniffer would be detached, both would want the semaphores. */
static int check_other(const struct rd_device *device, struct rd_error *err)
{
	int process = sniffer_other_process(device->pci);

	if (!process)
		return 0;
	return rd_fail(err, RD_CLASS_DEVICE, 0, "end that capture first",
		"the sniffer of %s is used by ibdump, process %d", device->name, process);
}

static int open_all(struct rd_port_sniffer *s, const struct rd_port_sniffer_config *config,
	struct rd_error *err)
{
	const struct request first = {.what = OPEN};
	struct helper h = {.config = config, .socket = -1, .config_fd = -1};
	struct sniffer_record *record = &h.sniffer.record;
	int rc;

	if (check_other(config->device, err) < 0 ||
		sniffer_record_open(record, &h.left, config->device->pci, err) < 0)
		return -1;
	sniffer_forget_living(&h.left, config->device->pci);
	record->capture = getpid();
	record->port = config->port;
	rc = open_config(&h, err) < 0 || start(s, &h, err) < 0 ? -1 : 0;
	/* From now on they belong to the helper process alone. */
	rd_fd_close(&record->fd);
	rd_fd_close(&h.config_fd);
	return rc < 0 ? -1 : ask(s, &first, err);
}

int rd_port_sniffer_open(struct rd_port_sniffer **sniffer,
	const struct rd_port_sniffer_config *config, struct rd_error *err)
{
	struct rd_port_sniffer *s;

	*sniffer = NULL;
	if (rd_port_sniffer_check(config->device, err) < 0)
		return -1;
	s = calloc(1, sizeof(*s));
	if (!s)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the sniffer");
	s->socket = s->helper = -1;
	s->waiting = config->waiting;
	s->ctx = config->ctx;
	snprintf(s->pci, sizeof(s->pci), "%s", config->device->pci);
	if (open_all(s, config, err) < 0) {
		rd_port_sniffer_close(s);
		return -1;
	}
	*sniffer = s;
	return 0;
}

int rd_port_sniffer_attach(struct rd_port_sniffer *s, uint32_t qpn, struct rd_error *err)
{
	const struct request r = {ATTACH, qpn};

	/* Even if it fails: undoing it may have failed, or the process was killed meanwhile. */
	s->attached = true;
	return ask(s, &r, err);
}

int rd_port_sniffer_detach(struct rd_port_sniffer *s, struct rd_error *err)
{
	const struct request r = {.what = DETACH};

	if (!s->attached)
		return 0;
	if (ask(s, &r, err) < 0)
		return -1;
	s->attached = false;
	return 0;
}

/* The process detaches what is attached, which may take as long as a request; otherwise it ends at
 * once. Its end of the socket is closed then. */
static void end_helper(struct rd_port_sniffer *s)
{
	if (s->abandoned)
		return;
	shutdown(s->socket, SHUT_WR);
	if (s->attached && !wait_reply(s)) {
		rd_log(RD_LOG_WARNING,
			"the command gateway of %s is still used by rdmadump-icmd, process %d: "
			"start no other capture on this adapter before it has ended",
			s->pci, (int)s->helper);
		return;
	}
	close(s->socket);
	TEMP_FAILURE_RETRY(waitpid(s->helper, NULL, 0));
}

void rd_port_sniffer_close(struct rd_port_sniffer *s)
{
	if (!s)
		return;
	if (s->helper > 0)
		end_helper(s);
	else if (s->socket >= 0)
		close(s->socket);
	free(s);
}
