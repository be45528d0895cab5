/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Signals of a capture or a recording: which are handled, and what each does while it runs and at
 * its end. They are blocked from before the first thread until the process ends, so that no default
 * action can prevent the report.
 */
#include "ending.h"
#include <rdmadump/fd.h>
#include <sys/signalfd.h>

void ending_block(struct ending *e)
{
	rd_cli_ending_signals(&e->signals);
	sigaddset(&e->signals, SIGUSR1);
	sigaddset(&e->signals, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &e->signals, NULL);
}

static bool on_signal(void *run, int fd)
{
	struct ending *e = run;
	struct signalfd_siginfo info;
	int number;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return false;
	number = (int)info.ssi_signo;
	if (number != SIGUSR1 && number != SIGUSR2) {
		e->signal = number;
		return true;
	}
	e->requested(run, number, false);
	return false;
}

void ending_open(struct ending *e, bool (*tick)(void *run, int fd))
{
	e->watches[0] = (struct rd_watch){
		signalfd(-1, &e->signals, SFD_CLOEXEC | SFD_NONBLOCK), on_signal, e};
	e->watches[1] = (struct rd_watch){
		tick && isatty(STDERR_FILENO) ? rd_timer_open(1000000000) : -1, tick, e};
}

void ending_close(struct ending *e)
{
	for (unsigned int i = 0; i < 2; i++)
		rd_fd_close(&e->watches[i].fd);
}

/* Signals are blocked, and opening a FIFO waits for its reader: a signal takes effect here. */
void ending_while_fifo_waits(void *run)
{
	static const struct timespec between = {.tv_nsec = 50000000};
	sigset_t ending;
	int signal;

	(void)run;
	rd_cli_ending_signals(&ending);
	signal = sigtimedwait(&ending, NULL, &between);
	if (signal < 0)
		return;
	/* Nothing has been captured yet: the default action ends the program. */
	sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	raise(signal);
	pthread_sigmask(SIG_UNBLOCK, &ending, NULL);
}

/* --- once the run has ended ------------------------------------------------------------- */

/* The next ending signal that is pending; 0: none. */
static int next_ending(struct ending *e)
{
	static const struct timespec now;
	int signal;

	while ((signal = sigtimedwait(&e->signals, NULL, &now)) > 0) {
		if (signal != SIGUSR1 && signal != SIGUSR2)
			return signal;
		e->requested(e, signal, true);
	}
	return 0;
}

static bool while_gateway_works(void *run)
{
	struct ending *e = run;

	return rd_cli_wait_for_gateway(&e->gateway, e->signal != 0 || e->asked);
}

static bool while_counters_settle(void *run)
{
	struct ending *e = run;
	bool first = !e->settling;

	e->settling = true;
	if (!next_ending(e))
		return true;
	/* A terminal and a parent may both send the signal that ended the run. */
	if (first && e->signal) {
		while (next_ending(e))
			;
		return true;
	}
	e->asked = true;
	return false;
}

void ending_configure(struct ending *e, struct rd_session_config *c)
{
	c->calls.is_ending = rd_cli_is_ending;
	c->calls.waiting_ctx = e;
	c->calls.waiting_for_counters = while_counters_settle;
	c->calls.waiting_for_gateway = while_gateway_works;
	c->watches = e->watches;
	c->n_watches = 2;
}

static void abandon_output(struct ending *e)
{
	/* A blocked report must not keep the program running either. */
	pthread_sigmask(SIG_UNBLOCK, &e->signals, NULL);
	e->abandon(e);
	fflush(stdout);
	_exit(RD_CLASS_OUTPUT);
}

/*
 * Signals that arrive together with the one that ended the run (a terminal and a parent may both
 * send it) count as one; a later one means: do not wait. If no signal ended the run, the first one
 * prints what the program waits for.
 */
bool ending_while_waiting(void *run, bool commands)
{
	struct ending *e = run;
	bool first = !e->announced[commands], asked = e->asked || e->signal;

	e->announced[commands] = true;
	if (!next_ending(e)) {
		if (first && isatty(STDERR_FILENO))
			rd_log(RD_LOG_WARNING, "%s", e->waits[commands]);
		return true;
	}
	e->asked = true;
	if (first || !asked) {
		while (next_ending(e))
			;
		rd_log(RD_LOG_WARNING, "%s", e->waits[commands]);
		return true;
	}
	if (!commands)
		abandon_output(e);
	return false;
}
