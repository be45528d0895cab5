/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Signals of a capture: which are handled, and what each does during the capture and at its end.
 * They are blocked from before the first thread until the process ends, so that no default action
 * can prevent the report.
 */
#include "capture.h"
#include "cli/cli.h"
#include <rdmadump/clock.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

void signals_block(struct capture_run *r)
{
	rd_cli_ending_signals(&r->signals);
	sigaddset(&r->signals, SIGUSR1);
	sigaddset(&r->signals, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &r->signals, NULL);
}

static void show_progress(struct capture_run *r)
{
	char line[160];

	report_progress(r, true, line, sizeof(line));
	rd_cli_say("rdmadump: ", line + strspn(line, " "));
}

bool signals_ready(void *ctx, int fd)
{
	struct capture_run *r = ctx;
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return false;
	switch (info.ssi_signo) {
	case SIGUSR1:
		show_progress(r);
		return false;
	case SIGUSR2:
		rd_session_rotate(r->session);
		return false;
	default:
		r->signal = (int)info.ssi_signo;
		return true;
	}
}

/* Signals are blocked, and opening a FIFO waits for its reader: an ending signal takes effect here.
 */
void signals_while_fifo_waits(void *ctx)
{
	static const struct timespec between = {.tv_nsec = 50000000};
	sigset_t ending;
	int signal;

	(void)ctx;
	rd_cli_ending_signals(&ending);
	signal = sigtimedwait(&ending, NULL, &between);
	if (signal < 0)
		return;
	/* Nothing has been captured yet: the default action ends the program. */
	sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	raise(signal);
	pthread_sigmask(SIG_UNBLOCK, &ending, NULL);
}

/* --- once the capture has ended --------------------------------------------------------- */

/* The next ending signal that is pending; 0: none. */
static int next_ending(struct capture_run *r)
{
	static const struct timespec now;
	int signal;

	while ((signal = sigtimedwait(&r->signals, NULL, &now)) > 0) {
		if (signal == SIGUSR1)
			show_progress(r);
		else if (signal != SIGUSR2)
			return signal;
	}
	return 0;
}

bool signals_while_gateway_works(void *ctx)
{
	struct capture_run *r = ctx;

	return rd_cli_wait_for_gateway(&r->gateway, r->signal != 0 || r->asked_to_end);
}

bool signals_while_counters_settle(void *ctx)
{
	struct capture_run *r = ctx;
	bool first = !r->settling;

	r->settling = true;
	if (!next_ending(r))
		return true;
	/* A terminal and a parent may both send the signal that ended the capture. */
	if (first && r->signal) {
		while (next_ending(r))
			;
		return true;
	}
	if (!r->signal)
		r->asked_to_end = true;
	return false;
}

/* Data that the output has not accepted counts as not written. */
static void abandon_output(struct capture_run *r)
{
	/* A blocked report must not keep the program running either. */
	pthread_sigmask(SIG_UNBLOCK, &r->signals, NULL);
	rd_session_abandon(r->session);
	rd_cli_fail(&r->result->error);
	report_end(r);
	fflush(stdout);
	_exit(RD_CLASS_OUTPUT);
}

static void announce_wait(bool commands)
{
	rd_log(RD_LOG_WARNING, "%s",
		commands ? "waiting for the commands of -z to end; Ctrl-C again ends without them"
			 : "waiting for the output to take what was captured; Ctrl-C again "
			   "abandons it");
}

/*
 * Signals that arrive together with the one that ended the capture (a terminal and a parent may
 * both send it) count as one; a later one means: do not wait. If no signal ended the capture, the
 * first one prints what the program waits for.
 */
bool signals_while_waiting(void *ctx, bool commands)
{
	struct capture_run *r = ctx;
	bool first = !r->waiting_announced[commands], asked = r->asked_to_end || r->signal;

	r->waiting_announced[commands] = true;
	if (!next_ending(r)) {
		if (first && isatty(STDERR_FILENO))
			announce_wait(commands);
		return true;
	}
	r->asked_to_end = true;
	if (first || !asked) {
		while (next_ending(r))
			;
		announce_wait(commands);
		return true;
	}
	if (!commands)
		abandon_output(r);
	return false;
}
