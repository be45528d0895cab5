/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Both sides of a capture in another process. The process is a new program, not a copy of this one:
 * libibverbs has memory pinned, which copies would share. It ends when its standard input does, so
 * that it cannot outlive this program.
 */
#include "holder.h"
#include "port_capture.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_MAX_BYTES 64
#define POLL_MS	       1

extern char **environ;

/* --- in the other process ----------------------------------------------------------------- */

static bool has_ended(int fd)
{
	struct pollfd in = {.fd = fd, .events = POLLIN};
	char byte;

	return poll(&in, 1, POLL_MS) > 0 && read(fd, &byte, 1) <= 0;
}

/* That it is ready: the last step, and its errno. */
static int put_line(int out, const char *step, int errnum, struct rd_error *err)
{
	char line[LINE_MAX_BYTES];
	int n = snprintf(line, sizeof(line), "%s %d\n", step, errnum);

	if (write(out, line, (size_t)n) == n)
		return 0;
	return rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, "cannot write to the parent");
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

static int hold_flow(const struct rd_device *device, const struct rd_port *port, int in, int out,
	struct rd_error *err)
{
	struct sniffer s;
	struct ibv_qp *other;
	int rc = sniffer_open(&s, device, port, NULL, NULL);

	if (!rc)
		rc = sniffer_flow_create(&s);
	other = stand_in(&s);
	rc = put_line(out, sniffer_step_name(s.reached), rc, err);
	while (!rc && !has_ended(in))
		if (s.flow)
			sniffer_drain(&s, NULL, NULL);
	if (other)
		ibv_destroy_qp(other);
	sniffer_close(&s);
	return rc;
}

static int hold_icmd(const struct rd_device *device, const struct rd_port *port, int in, int out,
	struct rd_error *err)
{
	struct port_capture c;
	struct rd_error later;
	int rc = port_capture_open(&c, device, port, err);

	if (!rc)
		rc = port_capture_attach(&c, RD_SNIFF_BOTH, err);
	if (put_line(out, "attach", rc ? EIO : 0, rc ? &later : err) < 0)
		rc = -1;
	while (!rc && !has_ended(in))
		sniffer_drain(&c.queue, NULL, NULL);
	port_capture_close(&c);
	return rc;
}

int rd_selftest_hold(const struct rd_device *device, const struct rd_port *port, bool icmd, int in,
	int out, struct rd_error *err)
{
	return (icmd ? hold_icmd : hold_flow)(device, port, in, out, err);
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

/* A line, without its end. False: none arrived before the probe was over. */
static bool read_line(struct holder *h, const struct rd_selftest *st, char line[LINE_MAX_BYTES])
{
	struct pollfd fd = {.fd = h->from, .events = POLLIN};
	size_t n = 0;

	while (n < LINE_MAX_BYTES - 1 && !probe_over(st)) {
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
	if (!read_line(h, st, line) || sscanf(line, "%*s %d", &h->errnum) != 1) {
		if (!st->config->stop || !*st->config->stop)
			result_failed(r, "the second process did not report that it is ready");
		return -1;
	}
	return 0;
}

void holder_kill(struct holder *h)
{
	if (h->pid > 0)
		kill(h->pid, SIGKILL);
	while (h->pid > 0 && waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	h->pid = 0;
	if (h->to >= 0)
		close(h->to);
	if (h->from >= 0)
		close(h->from);
	h->to = h->from = -1;
}
