/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The process between the capture and ibdump. It has no capabilities, but its uid may signal
 * ibdump. It ends ibdump when the capture requests that or has ended. ibdump detaches its sniffer
 * when it is interrupted (also by the kernel, if this process is killed). While it works it holds
 * semaphores of the adapter, which stay taken if it is killed: so it gets nothing but SIGINT, and
 * is left alone if it does not end. SIGPIPE, too, would kill it.
 */
#include "ibdump_helper.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdmadump/clock.h>
#include <rdmadump/ibdump.h>
#include <rdmadump/log.h>
#include <rdmadump/privilege.h>
#include <rdmadump/spawn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXEC_FAILED 127
#define NS_PER_MS   1000000
#define SAY_MS	    1000 /* from the interruption to a message that says what is waited for */

/* Its standard output, then its standard error. */
struct output {
	int fd; /* -1: at its end */
	enum rd_level level;
	char line[160];
	size_t n;
};

struct run {
	const struct ibdump_helper *h;
	pid_t child;
	int children; /* a signalfd for SIGCHLD */
	int started;  /* a pipe that delivers an errno if the program could not be started */
	struct output out[2];
	struct ibdump_end end;
	uint64_t since_ns; /* when it was interrupted; 0: it was not */
	bool said;	   /* what is waited for */
	bool gone;	   /* the capture has ended */
};

/* --- the program -------------------------------------------------------------------------- */

static void become(const struct run *r, pid_t parent, const int out[2], int failed)
{
	sigset_t none;

	sigemptyset(&none);
	for (int i = 1; i < NSIG; i++)
		signal(i, i == SIGPIPE ? SIG_IGN : SIG_DFL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGINT);
	if (getppid() != parent)
		_exit(EXEC_FAILED);
	dup2(out[0], STDOUT_FILENO);
	dup2(out[1], STDERR_FILENO);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv(r->h->argv[0], r->h->argv);
	if (write(failed, &errno, sizeof(errno)) < 0)
		_exit(EXEC_FAILED);
	_exit(EXEC_FAILED);
}

/* False: errno has the reason. */
static bool start(struct run *r)
{
	int out[2][2], failed[2], ends[2];
	pid_t self = getpid();

	if (pipe2(out[0], O_CLOEXEC) < 0 || pipe2(out[1], O_CLOEXEC) < 0 ||
		pipe2(failed, O_CLOEXEC) < 0)
		return false;
	for (int i = 0; i < 2; i++) {
		ends[i] = out[i][1];
		r->out[i].fd = out[i][0];
		fcntl(out[i][0], F_SETFL, O_NONBLOCK);
	}
	r->child = fork();
	if (r->child < 0)
		return false;
	if (r->child == 0)
		become(r, self, ends, failed[1]);
	close(ends[0]);
	close(ends[1]);
	close(failed[1]);
	/* The read ends when the program has been started, since exec closes the pipe. */
	if (read(failed[0], &r->end.start_errno, sizeof(int)) != sizeof(int))
		r->end.start_errno = 0;
	close(failed[0]);
	return true;
}

/* --- its output --------------------------------------------------------------------------- */

static void say(struct run *r, struct output *o)
{
	/* ibdump marks errors and warnings, also on standard output. */
	bool marked = !strncmp(o->line, "-E-", 3) || !strncmp(o->line, "-W-", 3);

	o->line[o->n] = '\0';
	if (o->n) {
		rd_log(marked ? RD_LOG_WARNING : o->level, "ibdump: %s", o->line);
		/* Its errors are more informative than later lines. */
		if (marked || strncmp(r->end.said, "-E-", 3))
			memcpy(r->end.said, o->line, o->n + 1);
	}
	o->n = 0;
}

static void listen_to(struct run *r, struct output *o)
{
	char text[512];
	ssize_t n;

	while (o->fd >= 0 && (n = read(o->fd, text, sizeof(text))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] != '\n' && text[i] != '\r')
				o->line[o->n++] = text[i];
			if (text[i] == '\n' || text[i] == '\r' || o->n == sizeof(o->line) - 1)
				say(r, o);
		}
	}
	if (o->fd < 0)
		return;
	say(r, o);
	close(o->fd);
	o->fd = -1;
}

/* --- its end ------------------------------------------------------------------------------ */

static unsigned int waited_ms(const struct run *r)
{
	return (unsigned int)((rd_monotonic_ns() - r->since_ns) / NS_PER_MS);
}

/* Also the processes that it started. */
static void interrupt(struct run *r)
{
	r->since_ns = rd_monotonic_ns();
	kill(-r->child, SIGINT);
}

static void say_wait(struct run *r)
{
	if (r->said || waited_ms(r) < SAY_MS)
		return;
	r->said = true;
	rd_log(RD_LOG_WARNING,
		"waiting for ibdump (process %d), at most %d s: it uses the adapter, which a "
		"killed ibdump can block",
		(int)r->child, (RD_IBDUMP_END_MS - SAY_MS) / 1000);
}

/* Milliseconds until the next thing to do without an event; -1: there is none. */
static int next_ms(const struct run *r)
{
	unsigned int until = r->said ? RD_IBDUMP_END_MS : SAY_MS, waited;

	if (!r->since_ns)
		return -1;
	waited = waited_ms(r);
	return until > waited ? (int)(until - waited) : 0;
}

/*
 * A process that it started still uses the adapter as long as it has the output open. Until then
 * the program is not reaped, so that no other process gets the number of its group.
 */
static bool has_ended(struct run *r)
{
	siginfo_t ended = {0};

	if (waitid(P_PID, (id_t)r->child, &ended, WEXITED | WNOHANG | WNOWAIT) < 0 || !ended.si_pid)
		return false;
	if (r->out[0].fd < 0 && r->out[1].fd < 0)
		return waitpid(r->child, &r->end.status, 0) == r->child;
	if (!r->since_ns)
		interrupt(r);
	return false;
}

static bool must_be_left(struct run *r)
{
	if (!r->since_ns || waited_ms(r) < RD_IBDUMP_END_MS)
		return false;
	r->end.left = r->child;
	return true;
}

/* The content of a request is ignored: any message means the same as the end of the capture. */
static bool is_asked(struct run *r)
{
	char request;
	ssize_t n = recv(r->h->socket, &request, sizeof(request), MSG_DONTWAIT);

	r->gone |= n == 0;
	return n >= 0;
}

static void serve(struct run *r)
{
	struct signalfd_siginfo ignored;

	while (!has_ended(r) && !must_be_left(r)) {
		struct pollfd p[] = {{.fd = r->gone ? -1 : r->h->socket, .events = POLLIN},
			{.fd = r->children, .events = POLLIN},
			{.fd = r->out[0].fd, .events = POLLIN},
			{.fd = r->out[1].fd, .events = POLLIN}};

		poll(p, sizeof(p) / sizeof(p[0]), next_ms(r));
		if (p[1].revents && read(r->children, &ignored, sizeof(ignored)) < 0)
			continue;
		listen_to(r, &r->out[0]);
		listen_to(r, &r->out[1]);
		if (!r->gone && is_asked(r) && !r->since_ns) {
			r->end.asked = true;
			interrupt(r);
		}
		if (r->since_ns)
			say_wait(r);
	}
}

static void report(struct run *r)
{
	/* If the capture still runs, it says so. */
	if (r->end.left && r->gone)
		rd_log(RD_LOG_WARNING, IBDUMP_LEFT "; " IBDUMP_LEFT_TODO, (int)r->end.left);
	send(r->h->socket, &r->end, sizeof(r->end), MSG_NOSIGNAL);
	if (r->gone && !r->end.left)
		rd_log(RD_LOG_WARNING, "the capture ended without ending ibdump: it is ended now");
}

void ibdump_helper_run(const struct ibdump_helper *h)
{
	struct run r = {.h = h,
		.out = {{.fd = -1, .level = RD_LOG_DEBUG}, {.fd = -1, .level = RD_LOG_WARNING}}};
	int keep[] = {h->socket};
	sigset_t child;

	rd_descriptors_keep(keep, 1);
	prctl(PR_SET_NAME, "rdmadump-ibdump");
	setsid();
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	signal(SIGCHLD, SIG_DFL); /* if it is ignored there is no status */
	r.children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (!start(&r)) {
		r.end.start_errno = errno;
	} else {
		rd_drop_capabilities();
		serve(&r);
	}
	unlink(h->fifo);
	rmdir(h->directory);
	report(&r);
}
