/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tells the recorder of another host what fired here, so that both keep the same seconds: a line
 * over ssh into that recorder's FIFO. The other end confirms each line by a byte; whatever else it
 * sends ends the connection.
 */
#include "recorder.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdmadump/fd.h>
#include <rdmadump/spawn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SENT	  "sent by " /* begins each line; those are not sent on */
#define AGAIN_NS  UINT64_C(10000000000)
#define LAST_NS	  UINT64_C(1000000000) /* for confirmations at the end */
#define LINE_MOST (TRIGGER_TEXT + 80)
#define BYTES	  64

/*
 * Runs on the other host, with the FIFO as $f. It must not become a file, if no recorder is there;
 * one that was started again has another FIFO.
 */
static const char there[] =
	"while IFS= read -r l; do { [ -p \"$f\" ] && printf '%s\\n' \"$l\" >\"$f\"; } "
	"2>/dev/null && printf + || printf -; done";

/* What the other host writes to its standard error is not shown: it could be anything. */
static char ssh[] = "exec ssh -T -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 "
		    "-o ServerAliveCountMax=2 -- \"$0\" \"$1\" 2>/dev/null";

int tell_init(struct tell *t, const char *to, struct rd_error *err)
{
	const char *path = to ? strstr(to, ":/") : NULL;

	*t = (struct tell){.in = -1, .out = -1};
	if (!to)
		return 0;
	/* A quote would end the one around the path. */
	if (!path || path == to || *to == '-' || strchr(to, '\''))
		return rd_fail(err, RD_CLASS_USAGE, 0,
			"HOST is what ssh takes, PATH that of --trigger fifo=PATH of the recorder "
			"there",
			"--tell '%s' is not HOST:/PATH", to);
	if (asprintf(&t->host, "%.*s", (int)(path - to), to) < 0)
		t->host = NULL;
	if (asprintf(&t->script, "f='%s'; %s", path + 1, there) < 0)
		t->script = NULL;
	gethostname(t->here, sizeof(t->here) - 1);
	return t->host && t->script
		       ? 0
		       : rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for --tell");
}

/* Logged once, until a line is confirmed. */
static void warn(struct tell *t, const char *why)
{
	rd_log(t->warned ? RD_LOG_DEBUG : RD_LOG_WARNING,
		"--tell: %s %s; recording goes on, and the next trigger is sent if that works "
		"again",
		t->host, why);
	t->warned = true;
}

static void hang_up(struct tell *t)
{
	close(t->in);
	close(t->out);
	t->in = t->out = -1;
	t->waiting = 0;
}

/* Without the lock: nobody else uses the process once its pipes are closed. */
static void wait_for(pid_t child)
{
	kill(child, SIGTERM);
	TEMP_FAILURE_RETRY(waitpid(child, NULL, 0));
}

/* Without the lock: to start a process takes long. Returns an errno; 0: it runs. */
static int begin(struct tell *t, int *own_in, int *own_out)
{
	char *argv[] = {
		(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", ssh, t->host, t->script, NULL};
	int in[2] = {-1, -1}, out[2] = {-1, -1}, rc = 0;

	if (pipe2(in, O_CLOEXEC | O_NONBLOCK) < 0 || pipe2(out, O_CLOEXEC | O_NONBLOCK) < 0)
		rc = errno;
	/* The other process has ends that wait. */
	fcntl(in[0], F_SETFL, 0);
	fcntl(out[1], F_SETFL, 0);
	if (!rc)
		rc = rd_spawn(&t->child, argv,
			&(struct rd_spawn){.in = in[0], .out = out[1], .own_group = true});
	rd_fd_close(&in[0]);
	rd_fd_close(&out[1]);
	if (rc) {
		rd_fd_close(&in[1]);
		rd_fd_close(&out[0]);
	}
	*own_in = in[1];
	*own_out = out[0];
	return rc;
}

void tell_keep(struct rd_recorder *r)
{
	struct tell *t = &r->tell;
	const uint64_t now = rd_monotonic_ns();
	int in = -1, out = -1, rc;

	if (!t->host || t->in >= 0 || now < t->due_ns)
		return;
	t->due_ns = now + AGAIN_NS;
	rc = begin(t, &in, &out);
	pthread_mutex_lock(&r->lock);
	if (rc) {
		warn(t, strerror(rc));
	} else {
		t->in = in;
		t->out = out;
	}
	pthread_mutex_unlock(&r->lock);
}

/* Called with the lock held. False: the connection is gone, or the other end is no recorder's. */
static bool take_bytes(struct tell *t, uint64_t *confirmed)
{
	char bytes[BYTES];
	const ssize_t n = read(t->out, bytes, sizeof(bytes));

	if (n < 0)
		return errno == EAGAIN;
	for (ssize_t i = 0; i < n; i++) {
		if (!t->waiting || (bytes[i] != '+' && bytes[i] != '-')) {
			warn(t, "sent something else than confirmations");
			t->due_ns = UINT64_MAX;
			return false;
		}
		t->waiting--;
		*confirmed += bytes[i] == '+';
		if (bytes[i] == '-')
			warn(t, "has no FIFO of a recorder at this path");
		else
			t->warned = false;
	}
	if (!n)
		warn(t, "is not connected: try 'ssh -o BatchMode=yes HOST true'");
	return n > 0;
}

void tell_take(struct rd_recorder *r)
{
	struct tell *t = &r->tell;
	bool ended;

	if (!t->host || t->in < 0)
		return;
	pthread_mutex_lock(&r->lock);
	ended = !take_bytes(t, &r->counts.confirmed);
	if (ended)
		hang_up(t);
	pthread_mutex_unlock(&r->lock);
	if (ended)
		wait_for(t->child);
}

bool tell_is_own(const struct trigger *trigger, const char *what)
{
	return trigger->source != TRIGGER_FIFO || strncmp(what, SENT, strlen(SENT)) != 0;
}

void tell_line(struct rd_recorder *r, bool begins, uint64_t ns, const char *text)
{
	struct tell *t = &r->tell;
	char line[LINE_MOST];
	int len;

	if (!t->host || (!begins && ns < t->sent_ns + TELL_NS))
		return;
	t->sent_ns = ns;
	r->counts.sent++;
	/* A line is written as a whole, or not at all. */
	len = snprintf(line, sizeof(line), SENT "%s: %s", t->here, text);
	if (len >= (int)sizeof(line))
		len = sizeof(line) - 1;
	line[strcspn(line, "\n")] = ' ';
	line[len++] = '\n';
	if (t->in < 0)
		return;
	if (write(t->in, line, (size_t)len) == len)
		t->waiting++;
	else
		warn(t, "takes no more lines");
}

void tell_close(struct rd_recorder *r)
{
	struct tell *t = &r->tell;
	struct pollfd fd = {.fd = t->out, .events = POLLIN};
	const uint64_t until = rd_monotonic_ns() + LAST_NS;

	if (!t->host)
		return;
	for (uint64_t now; t->waiting && t->in >= 0 && (now = rd_monotonic_ns()) < until;) {
		poll(&fd, 1, (int)((until - now) / 1000000) + 1);
		tell_take(r);
	}
	if (t->in >= 0) {
		hang_up(t);
		wait_for(t->child);
	}
	free(t->host);
	free(t->script);
	t->host = t->script = NULL;
}
