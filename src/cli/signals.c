/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Signals of a capture: which are taken, and what each does while frames come and at the end. They
 * are blocked from before the first thread until the process ends; no default action can cost the
 * report.
 */
#include "capture.h"
#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

void rd_cli_hold_requests(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

void rd_cli_ending_signals(sigset_t *set)
{
	struct sigaction hangup;

	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	/* Ignored by nohup(1). One that is blocked would be delivered all the same. */
	if (sigaction(SIGHUP, NULL, &hangup) < 0 || hangup.sa_handler != SIG_IGN)
		sigaddset(set, SIGHUP);
}

void signals_block(struct session *s)
{
	rd_cli_ending_signals(&s->signals);
	sigaddset(&s->signals, SIGUSR1);
	sigaddset(&s->signals, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &s->signals, NULL);
	/* Both are reported by write(): a pipe without reader, a file at its size limit. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

static void show_progress(struct session *s)
{
	char line[160];

	report_progress(s, line, sizeof(line));
	rd_cli_say("rdmadump: ", line + strspn(line, " "));
}

bool signals_ready(void *session, int fd)
{
	struct session *s = session;
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return false;
	switch (info.ssi_signo) {
	case SIGUSR1:
		show_progress(s);
		return false;
	case SIGUSR2:
		/* A pipe has one beginning. */
		s->capture.rotate = !session_to_pipe(s);
		return false;
	default:
		s->signal = (int)info.ssi_signo;
		return true;
	}
}

/*
 * Opening a FIFO waits for a reader, and signals are blocked: so it is waited for here. The
 * descriptor keeps the reader until the output has its own; -1: no FIFO, or it cannot be opened.
 */
int signals_await_reader(struct session *s)
{
	static const struct timespec between = {.tv_nsec = 50000000};
	sigset_t ending;
	struct stat st;
	int fd, signal;

	if (!s->opt->path || stat(s->opt->path, &st) < 0 || !S_ISFIFO(st.st_mode))
		return -1;
	rd_cli_ending_signals(&ending);
	while ((fd = open(s->opt->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0 && errno == ENXIO) {
		signal = sigtimedwait(&ending, NULL, &between);
		if (signal < 0)
			continue;
		/* Nothing has been captured: as if it had not been blocked. */
		sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
		raise(signal);
		pthread_sigmask(SIG_UNBLOCK, &ending, NULL);
	}
	return fd;
}

/* --- once the capture has ended --------------------------------------------------------- */

/* The next signal that asks for the end, 0: none has come. */
static int next_ending(struct session *s)
{
	static const struct timespec now;
	int signal;

	while ((signal = sigtimedwait(&s->signals, NULL, &now)) > 0) {
		if (signal == SIGUSR1)
			show_progress(s);
		else if (signal != SIGUSR2)
			return signal;
	}
	return 0;
}

/* What the output has not taken counts as not written. */
static void abandon_output(struct session *s)
{
	uint64_t encoded = rd_capture_total(&s->capture).encoded;

	/* A report that nobody takes must not keep the program either. */
	pthread_sigmask(SIG_UNBLOCK, &s->signals, NULL);
	rd_fail(&s->error, RD_CLASS_OUTPUT, 0, NULL,
		"abandoned: the end of the capture is not in '%s'", s->opt->path);
	rd_cli_fail(&s->error);
	outputs_stats(s, &s->written);
	s->written.unwritten = encoded - s->written.written - s->written.beyond;
	session_report(s);
	fflush(stdout);
	_exit(RD_CLASS_OUTPUT);
}

static void tell_to_wait(bool commands)
{
	rd_log(RD_LOG_WARNING, "%s",
		commands ? "waiting for the commands of -z to end; Ctrl-C again ends without them"
			 : "waiting for the output to take what was captured; Ctrl-C again "
			   "abandons it");
}

/*
 * Signals that came together with the one that ended the capture (a terminal and a parent may both
 * send it) are one; a later one means that nobody wants to wait. Where the capture ended by itself
 * the first one asks what it waits for.
 */
bool signals_while_waiting(void *output, bool commands)
{
	struct session *s = ((struct output *)output)->s;
	bool first = !s->told_to_wait[commands], asked = s->asked_to_end || s->signal;

	s->told_to_wait[commands] = true;
	if (!next_ending(s)) {
		if (first && isatty(STDERR_FILENO))
			tell_to_wait(commands);
		return true;
	}
	s->asked_to_end = true;
	if (first || !asked) {
		while (next_ending(s))
			;
		tell_to_wait(commands);
		return true;
	}
	if (!commands)
		abandon_output(s);
	return false;
}
