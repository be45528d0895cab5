/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Signals of a recording: SIGUSR1 is a trigger, others end it. Blocked until the process ends, so
 * that the report is always printed. */
#include "cli/cli.h"
#include "record.h"
#include <rdmadump/log.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

void record_signals_block(struct record_run *r)
{
	rd_cli_ending_signals(&r->signals);
	sigaddset(&r->signals, SIGUSR1);
	sigaddset(&r->signals, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &r->signals, NULL);
}

bool record_signals_ready(void *ctx, int fd)
{
	struct record_run *r = ctx;
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return false;
	switch (info.ssi_signo) {
	case SIGUSR1:
		rd_recorder_signal(r->recorder);
		return false;
	case SIGUSR2:
		return false;
	default:
		r->signal = (int)info.ssi_signo;
		return true;
	}
}

/* --- once the recording has ended ------------------------------------------------------------- */

/* Whether an ending signal is pending. */
static bool ending(const struct record_run *r)
{
	static const struct timespec now;
	int signal;

	while ((signal = sigtimedwait(&r->signals, NULL, &now)) > 0)
		if (signal != SIGUSR1 && signal != SIGUSR2)
			return true;
	return false;
}

/* A terminal and a parent may both send the signal that ended the recording: those that arrive
 * with it count as one. */
bool record_signals_while_counters_settle(void *ctx)
{
	struct record_run *r = ctx;

	if (!ending(r))
		return true;
	if (r->signal && !r->asked_to_end) {
		r->asked_to_end = true;
		return true;
	}
	return false;
}

bool record_signals_while_gateway_works(void *ctx)
{
	struct record_run *r = ctx;

	return rd_cli_wait_for_gateway(&r->gateway, r->signal != 0 || r->asked_to_end);
}

bool record_signals_waiting(void *ctx, bool commands)
{
	struct record_run *r = ctx;
	bool first = !r->announced[commands];

	r->announced[commands] = true;
	if (first && isatty(STDERR_FILENO))
		rd_log(RD_LOG_WARNING, "%s",
			commands ? "waiting for the analysis of the last files and their commands; "
				   "Ctrl-C again ends without them"
				 : "waiting for the output to take the last frames; Ctrl-C again "
				   "abandons it");
	if (!ending(r) || first)
		return true;
	if (commands)
		return false;
	/* A blocked report must not keep the program running either. */
	pthread_sigmask(SIG_UNBLOCK, &r->signals, NULL);
	rd_session_abandon(rd_recorder_session(r->recorder));
	rd_cli_fail(&r->result->error);
	record_report_end(r);
	fflush(stdout);
	_exit(RD_CLASS_OUTPUT);
}
