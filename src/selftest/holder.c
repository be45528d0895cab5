/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Both sides of a capture in another process. The process is a new program, not a copy of this one:
 * libibverbs has memory pinned, which copies would share. It ends when its standard input does, so
 * that it cannot outlive this program.
 */
#include "holder.h"
#include "sniffer.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <rdmadump/clock.h>
#include <rdmadump/identity.h>
#include <rdmadump/units.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 64
#define POLL_MS	       1
#define END_MS	       2000 /* timeout for its end */
#define RECOVER	       'r'  /* the request to recover without privileges */
#define RECOVERED_MS   300  /* wait for frames after that */
#define NOBODY	       65534

extern char **environ;

/* --- in the other process ----------------------------------------------------------------- */

static bool has_ended(int fd, char *request)
{
	struct pollfd in = {.fd = fd, .events = POLLIN};

	*request = 0;
	return poll(&in, 1, POLL_MS) > 0 && read(fd, request, 1) <= 0;
}

static void receive_recovered(struct sniffer *s)
{
	uint64_t end = rd_monotonic_ns() + RECOVERED_MS * 1000000ULL;
	const struct timespec step = {.tv_nsec = 1000000};

	s->frames = 0;
	while (!s->frames && rd_monotonic_ns() < end)
		if (!sniffer_drain(s, NULL, NULL))
			nanosleep(&step, NULL);
}

/* As a capture that has dropped its privileges. Returns 0, or -1: the parent is gone. */
static int recover_unprivileged(struct sniffer *s, int out)
{
	const struct rd_identity nobody = {
		.change = geteuid() == 0, .uid = NOBODY, .gid = NOBODY, .name = "nobody"};
	struct recovery done = {.step = "privileges"};
	char line[LINE_MAX_BYTES];
	struct rd_error err;
	int n;

	if (rd_identity_become(&nobody, &err) < 0) {
		done.errnum = err.errnum ? err.errnum : EPERM;
	} else {
		recover(s, &done);
		if (!done.errnum)
			receive_recovered(s);
	}
	n = snprintf(line, sizeof(line), "%s %d %" PRIu64 "\n", done.step, done.errnum, s->frames);
	return write(out, line, (size_t)n) == n ? 0 : -1;
}

/*
 * Without a sniffer, the kernel's list of objects is still tested, with a QP of a type that every
 * device has.
 */
static struct ibv_qp *stand_in(struct sniffer *s)
{
	struct ibv_qp_init_attr attr = {.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_UD};

	return s->cq && !s->qp ? ibv_create_qp(s->pd, &attr) : NULL;
}

int rd_selftest_hold(const struct rd_device *device, const struct rd_port *port, int in, int out,
	struct rd_error *err)
{
	char line[LINE_MAX_BYTES];
	struct sniffer s;
	char request;
	struct ibv_qp *other;
	int rc = sniffer_open(&s, device, port, NULL), n;

	if (!rc)
		rc = sniffer_flow_create(&s);
	other = stand_in(&s);
	n = snprintf(line, sizeof(line), "%s %d\n", sniffer_step_name(s.reached), rc);
	if (write(out, line, (size_t)n) != n)
		rc = rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, "cannot write to the parent");
	else
		rc = 0;
	while (!rc && !has_ended(in, &request)) {
		if (s.flow)
			sniffer_drain(&s, NULL, NULL);
		if (s.flow && request == RECOVER && recover_unprivileged(&s, out) < 0)
			break;
	}
	n = snprintf(line, sizeof(line), "%llu\n", (unsigned long long)s.frames);
	if (!rc && write(out, line, (size_t)n) != n)
		rc = rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, "cannot write to the parent");
	if (other)
		ibv_destroy_qp(other);
	sniffer_close(&s);
	return rc;
}

/* --- in this process ---------------------------------------------------------------------- */

static int spawn(struct holder *h, const char *const *command)
{
	posix_spawn_file_actions_t actions;
	int to[2], from[2], rc;
	char *argv[16];
	unsigned int n = 0;

	for (; n < 15 && command[n]; n++)
		memcpy(&argv[n], &command[n], sizeof(argv[n]));
	argv[n] = NULL;
	if (pipe2(to, O_CLOEXEC) < 0)
		return errno;
	if (pipe2(from, O_CLOEXEC) < 0) {
		rc = errno;
		close(to[0]);
		close(to[1]);
		return rc;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, to[0], 0);
	posix_spawn_file_actions_adddup2(&actions, from[1], 1);
	rc = posix_spawn(&h->pid, "/proc/self/exe", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(to[0]);
	close(from[1]);
	h->to = to[1];
	h->from = from[0];
	if (rc)
		h->pid = 0;
	return rc;
}

/* A line, without its end. False: none arrived before the probe was over or `ms` had passed. */
static bool read_line(
	struct holder *h, const struct rd_selftest *st, unsigned int ms, char line[LINE_MAX_BYTES])
{
	struct pollfd fd = {.fd = h->from, .events = POLLIN};
	uint64_t end = rd_monotonic_ns() + ms * 1000000ULL;
	size_t n = 0;

	while (n < LINE_MAX_BYTES - 1 && !(st && probe_over(st)) && rd_monotonic_ns() < end) {
		if (poll(&fd, 1, 10) <= 0)
			continue;
		if (read(h->from, line + n, 1) != 1)
			return false;
		if (line[n] == '\n') {
			line[n] = '\0';
			return true;
		}
		n++;
	}
	return false;
}

int holder_start(struct holder *h, const struct rd_selftest *st, struct rd_probe_result *r)
{
	char line[LINE_MAX_BYTES];
	int rc;

	*h = (struct holder){.to = -1, .from = -1};
	if (!st->config->holder) {
		result_skipped(r, "the program cannot start itself again");
		return -1;
	}
	rc = spawn(h, st->config->holder);
	if (rc) {
		result_skipped(r, "cannot start a second process: %s", strerror(rc));
		return -1;
	}
	if (!read_line(h, st, LIMIT_PROBE_S * 1000, line) ||
		sscanf(line, "%15s %d", h->step, &h->errnum) != 2) {
		if (!st->config->stop || !*st->config->stop)
			result_failed(r, "the second process did not report that it is ready");
		return -1;
	}
	return 0;
}

int holder_recover(
	struct holder *h, const struct rd_selftest *st, struct recovery *done, uint64_t *frames)
{
	const char request = RECOVER;
	char line[LINE_MAX_BYTES];

	*done = (struct recovery){.errnum = 0};
	if (write(h->to, &request, 1) != 1 || !read_line(h, st, LIMIT_PROBE_S * 1000, line) ||
		sscanf(line, "%15s %d %" SCNu64, done->step, &done->errnum, frames) != 3)
		return -1;
	return 0;
}

static void reap(struct holder *h)
{
	while (h->pid > 0 && waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	h->pid = 0;
}

uint64_t holder_stop(struct holder *h)
{
	char line[LINE_MAX_BYTES] = "";
	uint64_t frames = 0;

	if (h->to >= 0)
		close(h->to);
	h->to = -1;
	if (h->pid > 0 && read_line(h, NULL, END_MS, line) &&
		rd_parse_u64(line, 0, UINT64_MAX, &frames) < 0)
		frames = 0;
	/* End of file on its output means that it has destroyed its objects and ended. */
	read_line(h, NULL, END_MS, line);
	holder_kill(h);
	return frames;
}

void holder_kill(struct holder *h)
{
	if (h->pid > 0)
		kill(h->pid, SIGKILL);
	reap(h);
	if (h->to >= 0)
		close(h->to);
	if (h->from >= 0)
		close(h->from);
	h->to = h->from = -1;
}
