/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs commands, several at once, without a shell. Each command leads its own process group and has
 * /dev/null as standard input; its output is read up to a limit. If it takes too long, its group
 * gets SIGTERM, then SIGKILL. A command that still does not end is blocked in the kernel, for
 * example by a device, and is abandoned.
 *
 * Tools that open an adapter (PHASE_ADAPTER) hold semaphores of its firmware while they work. If
 * one is killed meanwhile, it blocks all other tools and the driver. So they run one after another
 * on each adapter, with a long limit, and get nothing but SIGINT at that limit. One that runs on
 * is left alone, and nothing else opens its adapter.
 */
#include "task.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdmadump/clock.h>
#include <rdmadump/fd.h>
#include <rdmadump/log.h>
#include <rdmadump/program.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define AT_ONCE	    6
#define FIRST_ALSO  3  /* descriptor of the first further output */
#define UNUSED_FD   10 /* above those of the further outputs */
#define READ_TIMES  3  /* the limit of PHASE_READ, for slow machines */
#define POLL_MS	    50
#define REPORT_MS   100	 /* between two reports of the progress */
#define TERM_MS	    300	 /* from SIGTERM to SIGKILL */
#define KILL_MS	    1000 /* from SIGKILL to giving up */
#define LEAVE_MS    2000 /* from SIGINT to leaving a tool of an adapter alone */
#define READ_BYTES  65536
#define PATH_SYSTEM "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/mellanox/bin"

extern char **environ;

struct run {
	struct task *running[AT_ONCE];
	char **environment;
	uint64_t end_ns; /* no command is started after it */
	unsigned int limit_ms, at_once;
	uint64_t reported_ns;
};

static uint64_t ms(uint64_t n)
{
	return n * 1000000;
}

/* --- starting ----------------------------------------------------------------------------- */

/* Absolute directories of the user's PATH, then those of the system: users often lack sbin. */
static bool find_program(const char *name, char path[PATH_MAX])
{
	const char *own = getenv("PATH");

	return !strchr(name, '/') && ((own && rd_program_search(path, own, name, false)) ||
					     rd_program_search(path, PATH_SYSTEM, name, false));
}

/* English messages, no pager, no colours. */
static char **make_environment(void)
{
	static const char *const set[] = {"LC_ALL=C", "NO_COLOR=1", "PAGER=cat"};
	size_t n = 0, k = 0, more = RD_COUNT(set);
	char **out;

	while (environ && environ[n])
		n++;
	out = calloc(n + more + 1, sizeof(*out));
	for (size_t i = 0; out && i < n; i++)
		if (strncmp(environ[i], "LC_ALL=", 7) != 0)
			out[k++] = environ[i];
	for (size_t i = 0; out && i < more; i++)
		memcpy(&out[k++], &set[i], sizeof(*out));
	return out;
}

/* In the child: only functions that are safe after fork(). */
static void become(const struct task *t, const char *path, char **environment, int out, int errors,
	int also[TASK_ALSO])
{
	sigset_t none;
	int in = t->in >= 0 ? t->in : open("/dev/null", O_RDONLY | O_CLOEXEC);

	setpgid(0, 0);
	if (!*t->function)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	/*
	 * Also what was ignored where rdmadump was started: SIGINT ends a tool of an adapter. Such
	 * a tool may outlive the reader of its output.
	 */
	for (int i = 1; i < NSIG; i++)
		signal(i, i == SIGPIPE && *t->function ? SIG_IGN : SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (unsigned int i = 0; i < t->n_also; i++)
		also[i] = fcntl(also[i], F_DUPFD_CLOEXEC, UNUSED_FD);
	if (in < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
		dup2(errors, STDERR_FILENO) < 0)
		_exit(127);
	for (unsigned int i = 0; i < t->n_also; i++)
		if (dup2(also[i], FIRST_ALSO + (int)i) < 0)
			_exit(127);
	execve(path, t->argv, environment);
	_exit(127);
}

/* Of all outputs. */
static void conclude(struct task *t, enum outcome outcome, int errnum)
{
	const uint64_t now = rd_monotonic_ns();

	for (unsigned int i = 0; i <= t->n_also; i++) {
		t[i].outcome = outcome;
		t[i].errnum = errnum;
		t[i].status = t->status;
		t[i].began_ns = t->began_ns;
		t[i].ended_ns = t->began_ns ? now : 0;
	}
}

static int fail_start(struct task *t, const int out[2], const int errors[2])
{
	int errnum = errno, fds[] = {out[0], out[1], errors[0], errors[1]};

	for (size_t i = 0; i < RD_COUNT(fds); i++)
		rd_fd_close(&fds[i]);
	conclude(t, OUTCOME_FAILED, errnum);
	return -1;
}

/* Pipes for the further outputs; -1: errno. */
static int open_also(struct task *t, int also[TASK_ALSO])
{
	int fds[2], errnum;

	for (unsigned int i = 0; i < t->n_also; i++) {
		if (pipe2(fds, O_CLOEXEC) < 0) {
			errnum = errno;
			while (i--) {
				close(also[i]);
				close(t[i + 1].out_pipe);
			}
			errno = errnum;
			return -1;
		}
		fcntl(fds[0], F_SETFL, O_NONBLOCK);
		t[i + 1].out_pipe = fds[0];
		also[i] = fds[1];
	}
	return 0;
}

/* Standard error goes into the same pipe where the member is what a terminal would show. */
static int start(struct run *r, struct task *t)
{
	int out[2] = {-1, -1}, errors[2] = {-1, -1}, also[TASK_ALSO];
	char path[PATH_MAX], other[PATH_MAX];
	struct rd_error err;

	t->began_ns = t->ended_ns = rd_monotonic_ns();
	if (t->own ? rd_program_find(path, t->argv[0], &err) < 0
		   : !find_program(t->argv[0], path)) {
		t->outcome = OUTCOME_ABSENT;
		return -1;
	}
	if (t->member->unless && find_program(t->member->unless, other)) {
		t->outcome = OUTCOME_SAME;
		return -1;
	}
	if ((t->out < 0 && pipe2(out, O_CLOEXEC) < 0) || pipe2(errors, O_CLOEXEC) < 0 ||
		open_also(t, also) < 0)
		return fail_start(t, out, errors);
	t->pid = fork();
	if (t->pid == 0)
		become(t, path, r->environment, t->out >= 0 ? t->out : out[1],
			t->member->form == FORM_TEXT && t->out < 0 ? out[1] : errors[1], also);
	for (unsigned int i = 0; i < t->n_also; i++)
		close(also[i]);
	if (t->pid < 0)
		return fail_start(t, out, errors);
	/* Done in parent and child, whichever runs first. */
	setpgid(t->pid, t->pid);
	rd_fd_close(&out[1]);
	close(errors[1]);
	t->out_pipe = out[0];
	t->error_pipe = errors[0];
	if (t->out_pipe >= 0)
		fcntl(t->out_pipe, F_SETFL, O_NONBLOCK);
	fcntl(t->error_pipe, F_SETFL, O_NONBLOCK);
	for (unsigned int i = 0; i <= t->n_also; i++)
		t[i].outcome = OUTCOME_RUNNING;
	return 0;
}

/* --- reading ------------------------------------------------------------------------------ */

static bool make_room(struct bytes *b, size_t more)
{
	size_t size = b->capacity ? b->capacity : 4096;
	char *grown;

	while (size < b->n + more + 1)
		size *= 2;
	if (size == b->capacity)
		return true;
	grown = realloc(b->data, size);
	if (!grown)
		return false;
	b->data = grown;
	b->capacity = size;
	return true;
}

static void keep(struct bytes *b, const char *from, size_t n)
{
	size_t some = n < b->most - b->n ? n : b->most - b->n;

	if (!make_room(b, some)) {
		b->cut = true;
		return;
	}
	b->cut |= some < n;
	memcpy(b->data + b->n, from, some);
	b->n += some;
	b->data[b->n] = '\0';
}

static void read_pipe(int *fd, struct bytes *b)
{
	char buf[READ_BYTES];
	ssize_t n;

	if (*fd < 0)
		return;
	n = read(*fd, buf, sizeof(buf));
	if (n > 0)
		keep(b, buf, (size_t)n);
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	close(*fd);
	*fd = -1;
}

/* --- ending ------------------------------------------------------------------------------- */

static void end(struct task *t, enum outcome outcome)
{
	/* Processes that the command left running must not outlive it. */
	if (!*t->function)
		kill(-t->pid, SIGKILL);
	rd_fd_close(&t->error_pipe);
	for (unsigned int i = 0; i <= t->n_also; i++)
		rd_fd_close(&t[i].out_pipe);
	conclude(t, outcome, 0);
}

static void stop_task(struct task *t, int number)
{
	t->signal_ns = rd_monotonic_ns();
	t->was_killed = number == SIGKILL;
	t->is_stopped = true;
	kill(-t->pid, number);
}

/* No output may be longer. */
static bool all_cut(const struct task *t)
{
	bool cut = true;

	for (unsigned int i = 0; i <= t->n_also; i++)
		cut &= t[i].output.cut;
	return cut;
}

/* Signals a task that is over its limit. True: it cannot be killed. */
static bool enforce(const struct run *r, struct task *t)
{
	uint64_t now = rd_monotonic_ns();

	if (!t->is_stopped && all_cut(t))
		stop_task(t, SIGKILL);
	else if (!t->is_stopped && now - t->began_ns > ms((uint64_t)r->limit_ms + t->more_ms))
		stop_task(t, SIGTERM);
	else if (t->is_stopped && !t->was_killed && now - t->signal_ns > ms(TERM_MS))
		stop_task(t, SIGKILL);
	return t->was_killed && rd_monotonic_ns() - t->signal_ns > ms(KILL_MS);
}

/* The same for a tool that opens an adapter. True: it does not end. */
static bool interrupt(const struct run *r, struct task *t)
{
	if (!t->is_stopped && rd_monotonic_ns() - t->began_ns > ms(r->limit_ms))
		stop_task(t, SIGINT);
	return t->is_stopped && rd_monotonic_ns() - t->signal_ns > ms(LEAVE_MS);
}

/* A process that a tool started still uses the adapter as long as it has the tool's output open. */
static bool has_ended(struct task *t)
{
	if (!t->is_reaped)
		t->is_reaped = waitpid(t->pid, &t->status, WNOHANG) != 0;
	return t->is_reaped && (!*t->function || (t->out_pipe < 0 && t->error_pipe < 0));
}

static void leave(struct task *t)
{
	end(t, OUTCOME_STUCK);
	if (*t->function)
		rd_log(RD_LOG_WARNING,
			"'%s' did not end when interrupted, and was left running (process %d): it "
			"uses the adapter, which a killed tool can block",
			t->command, (int)t->pid);
}

/* Output that it wrote before it ended is still in the pipe, and may need more than one read. */
static void drain(struct task *t)
{
	for (unsigned int i = 0; i < 64 && t->out_pipe >= 0 && !t->output.cut; i++) {
		struct pollfd fd = {.fd = t->out_pipe, .events = POLLIN};

		if (poll(&fd, 1, 0) <= 0)
			break;
		read_pipe(&t->out_pipe, &t->output);
	}
}

static bool attend(const struct run *r, struct task *t)
{
	bool stuck = *t->function ? interrupt(r, t) : enforce(r, t), ended;

	for (unsigned int i = 0; i <= t->n_also; i++)
		read_pipe(&t[i].out_pipe, &t[i].output);
	read_pipe(&t->error_pipe, &t->errors);
	ended = has_ended(t);
	if (!ended && !stuck)
		return true;
	if (!ended) {
		leave(t);
		return false;
	}
	for (unsigned int i = 0; i <= t->n_also; i++)
		drain(&t[i]);
	read_pipe(&t->error_pipe, &t->errors);
	end(t, t->is_stopped && !all_cut(t) ? OUTCOME_TIMED_OUT : OUTCOME_ENDED);
	return false;
}

static void wait_for_output(const struct run *r)
{
	struct pollfd fds[(2 + TASK_ALSO) * AT_ONCE];
	nfds_t n = 0;

	for (unsigned int i = 0; i < AT_ONCE; i++) {
		const struct task *t = r->running[i];

		for (unsigned int k = 0; t && k <= t->n_also; k++)
			if (t[k].out_pipe >= 0)
				fds[n++] = (struct pollfd){.fd = t[k].out_pipe, .events = POLLIN};
		if (t && t->error_pipe >= 0)
			fds[n++] = (struct pollfd){.fd = t->error_pipe, .events = POLLIN};
	}
	/* Both pipes may be closed while the process still runs. */
	poll(fds, n, n ? POLL_MS : 1);
}

static void say_wait(const struct run *r, const struct task *t)
{
	uint64_t took_ms = (rd_monotonic_ns() - t->began_ns) / 1000000;

	rd_log(RD_LOG_WARNING,
		"waiting for '%s', at most %llu s: it uses the adapter, which a killed tool can "
		"block",
		t->command,
		(unsigned long long)(r->limit_ms + LEAVE_MS -
				     (took_ms < r->limit_ms ? took_ms : r->limit_ms)) /
			1000);
}

static void end_all(struct run *r)
{
	for (unsigned int i = 0; i < AT_ONCE; i++)
		if (r->running[i] && *r->running[i]->function)
			say_wait(r, r->running[i]);
		else if (r->running[i])
			stop_task(r->running[i], SIGKILL);
	for (unsigned int i = 0; i < AT_ONCE; i++)
		while (r->running[i] && attend(r, r->running[i]))
			wait_for_output(r);
}

/* --- all ---------------------------------------------------------------------------------- */

/* The task that uses the same adapter now, on any of its functions. */
static const struct task *holder_of(const struct tasks *tasks, const struct task *t)
{
	size_t n = strcspn(t->function, ".");

	for (unsigned int i = 0; i < tasks->n && n; i++) {
		const struct task *o = &tasks->task[i];

		if ((o->outcome == OUTCOME_RUNNING || o->outcome == OUTCOME_STUCK) &&
			strcspn(o->function, ".") == n && strncmp(o->function, t->function, n) == 0)
			return o;
	}
	return NULL;
}

/* The next task of the phase that has not begun and may begin now. */
static struct task *next_task(struct tasks *tasks, enum phase phase)
{
	for (unsigned int i = 0; i < tasks->n; i++) {
		struct task *t = &tasks->task[i];

		if (t->member->phase != phase || t->outcome != OUTCOME_WAITING || t->first ||
			t->member->form == FORM_COPY)
			continue;
		t->holder = holder_of(tasks, t);
		if (!t->holder)
			return t;
		if (t->holder->outcome == OUTCOME_STUCK)
			t->outcome = OUTCOME_BUSY;
	}
	return NULL;
}

/* More processes than CPUs would only delay all of them. At least two: one may hang. */
static unsigned int read_at_once(void)
{
	cpu_set_t cpus;
	unsigned int n =
		sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (unsigned int)CPU_COUNT(&cpus) : 0;

	return n < 2 ? 2 : n < AT_ONCE ? n : AT_ONCE;
}

static void fill(struct run *r, struct tasks *tasks, enum phase phase)
{
	for (unsigned int i = 0; i < r->at_once; i++)
		while (!r->running[i]) {
			struct task *t = next_task(tasks, phase);

			if (!t)
				return;
			if (rd_monotonic_ns() > r->end_ns)
				conclude(t, OUTCOME_LATE, 0);
			else if (start(r, t) == 0)
				r->running[i] = t;
		}
}

static bool is_busy(const struct run *r)
{
	return RD_ANY(slot, r->running, AT_ONCE, *slot);
}

static void report(struct run *r, const struct tasks *tasks, const struct rd_bundle_config *config)
{
	const struct task *oldest = NULL;
	unsigned int done = 0;

	if (rd_monotonic_ns() - r->reported_ns < ms(REPORT_MS))
		return;
	r->reported_ns = rd_monotonic_ns();
	for (unsigned int i = 0; i < tasks->n; i++)
		done += tasks->task[i].outcome > OUTCOME_RUNNING;
	for (unsigned int i = 0; i < AT_ONCE; i++)
		if (r->running[i] && (!oldest || r->running[i]->began_ns < oldest->began_ns))
			oldest = r->running[i];
	if (config->progress && oldest)
		config->progress(done, tasks->n, oldest->name);
}

static unsigned int limit_of(enum phase phase, const struct rd_bundle_config *config)
{
	uint64_t seconds = phase == PHASE_ADAPTER ? config->adapter_s
			   : phase == PHASE_READ  ? config->limit_s * READ_TIMES
						  : config->limit_s;

	return (unsigned int)(seconds * 1000);
}

bool tasks_run(struct tasks *tasks, enum phase phase, const struct rd_bundle_config *config)
{
	struct run r = {.limit_ms = limit_of(phase, config),
		.at_once = phase == PHASE_READ ? read_at_once() : AT_ONCE};
	bool complete = true;

	/* Leaves the command that is started last its whole time limit. */
	r.end_ns = rd_monotonic_ns() + ms(r.limit_ms);
	r.environment = make_environment();
	if (!r.environment)
		return false;
	fill(&r, tasks, phase);
	while (is_busy(&r) && complete) {
		wait_for_output(&r);
		for (unsigned int i = 0; i < AT_ONCE; i++)
			if (r.running[i] && !attend(&r, r.running[i]))
				r.running[i] = NULL;
		complete = !*config->stop;
		if (complete)
			fill(&r, tasks, phase);
		report(&r, tasks, config);
	}
	if (!complete)
		end_all(&r);
	free(r.environment);
	return complete;
}
