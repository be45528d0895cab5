/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The signals that end a command, and how long a command waits for an adapter after one. */
#include "cli.h"
#include <poll.h>
#include <rdmadump/clock.h>
#include <unistd.h>

/* What the adapter executes ends within milliseconds, unless something is wrong. */
#define GATEWAY_SLOW_CALLS 20 /* of 50 ms, before the wait is announced on a terminal */
#define GATEWAY_NOTICE_NS  500000000U
#define GATEWAY_GRACE_NS   3000000000U

void rd_cli_hold_requests(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* Both are reported by write(): a pipe without reader, a file at its size limit. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

void rd_cli_ending_signals(sigset_t *set)
{
	struct sigaction hangup;

	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	/* nohup(1) ignores it. A blocked signal becomes pending even if it is ignored. */
	if (sigaction(SIGHUP, NULL, &hangup) < 0 || hangup.sa_handler != SIG_IGN)
		sigaddset(set, SIGHUP);
}

volatile sig_atomic_t rd_cli_ended;

static void on_signal(int number)
{
	(void)number;
	rd_cli_ended = 1;
}

void rd_cli_catch_ending(int flags)
{
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
	sigset_t ending;

	rd_cli_ending_signals(&ending);
	for (int i = 1; i < NSIG; i++)
		if (sigismember(&ending, i) == 1)
			sigaction(i, &action, NULL);
}

void rd_cli_hold_ending(sigset_t *before)
{
	sigset_t ending;

	rd_cli_ending_signals(&ending);
	sigprocmask(SIG_BLOCK, &ending, before);
	rd_cli_catch_ending(0);
}

void rd_cli_wait(struct pollfd *fd, uint64_t end_ns, const sigset_t *let_in)
{
	const uint64_t now = rd_monotonic_ns(), left = end_ns > now ? end_ns - now : 0;
	const struct timespec wait = {(time_t)(left / 1000000000), (long)(left % 1000000000)};

	ppoll(fd, fd != NULL, &wait, let_in);
}

bool rd_cli_is_ending(void)
{
	sigset_t ending, pending;

	rd_cli_ending_signals(&ending);
	return sigpending(&pending) == 0 && sigandset(&pending, &pending, &ending) == 0 &&
	       !sigisemptyset(&pending);
}

static void announce_gateway(atomic_bool *announced, const char *text)
{
	if (!atomic_exchange(announced, true))
		rd_log(RD_LOG_WARNING, "%s", text);
}

bool rd_cli_wait_for_gateway(struct gateway_wait *w, bool ended)
{
	uint64_t now = rd_monotonic_ns();

	if (!w->end_ns && (ended || rd_cli_is_ending()))
		w->end_ns = now;
	if (!w->end_ns) {
		if (++w->calls >= GATEWAY_SLOW_CALLS && isatty(STDERR_FILENO))
			announce_gateway(&w->announced[0],
				"waiting for the adapter's command gateway, which another program "
				"may be using; Ctrl-C ends that");
		return true;
	}
	if (now - w->end_ns >= GATEWAY_NOTICE_NS)
		announce_gateway(
			&w->announced[1], "waiting up to 3 s for the adapter's command gateway");
	return now - w->end_ns < GATEWAY_GRACE_NS;
}
