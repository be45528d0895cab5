/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What follows each complete file: the analysis, by a process of its own, so that its memory and
 * its time are not the recorder's; then the user's command.
 */
#include "recorder.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <rdmadump/log.h>
#include <rdmadump/spawn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NICE	    10
#define WAIT_NS	    20000000 /* between two looks whether all is done */
#define ASKED	    15	     /* looks between two questions to the caller */
#define FOLLOW_MOST 1000     /* files that wait for their analysis */

void follow_init(struct rd_recorder *r)
{
	pthread_mutex_init(&r->follow.lock, NULL);
	pthread_cond_init(&r->follow.wake, NULL);
	r->follow.last = &r->follow.first;
}

static struct follow_job *job_make(const char *path)
{
	struct follow_job *job = calloc(1, sizeof(*job));

	if (job)
		job->path = strdup(path);
	if (job && job->path)
		return job;
	free(job);
	return NULL;
}

static void skip(struct rd_recorder *r, const char *path, const char *why)
{
	rd_log(RD_LOG_WARNING, "%s: '%s' is not analysed", why, path);
	pthread_mutex_lock(&r->lock);
	r->counts.not_analysed += r->config.program != NULL;
	r->counts.commands_failed += r->config.command != NULL;
	pthread_mutex_unlock(&r->lock);
}

void follow_add(struct rd_recorder *r, const char *path, uint64_t number, bool analyse)
{
	struct follow *f = &r->follow;
	struct follow_job *job;

	if (!f->running || !(r->config.program || r->config.command))
		return;
	/* Read without the lock: only this thread adds. */
	if (f->n >= FOLLOW_MOST) {
		skip(r, path, "too many files wait for their analysis");
		return;
	}
	job = job_make(path);
	if (!job) {
		skip(r, path, "out of memory");
		return;
	}
	job->number = number;
	job->analyse = analyse;
	pthread_mutex_lock(&f->lock);
	*f->last = job;
	f->last = &job->next;
	f->n++;
	pthread_cond_signal(&f->wake);
	pthread_mutex_unlock(&f->lock);
}

/* --- one process --------------------------------------------------------------------------------
 */

/* Its exit status, -1 if it could not be run or was killed. */
static int run(struct rd_recorder *r, char *const argv[], int out)
{
	int status = -1, rc;
	siginfo_t info;
	pid_t pid;

	rc = rd_spawn(&pid, argv, out);
	if (rc) {
		rd_log(RD_LOG_WARNING, "cannot run '%s': %s", argv[0], strerror(rc));
		return -1;
	}
	r->follow.child = pid;
	/* Its number cannot be another process' while it may be killed. */
	while ((rc = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT)) < 0 && errno == EINTR)
		;
	r->follow.child = 0;
	rc = waitpid(pid, &status, 0);
	/* If the parent ignores SIGCHLD, there is no exit status. */
	if (rc < 0)
		return 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* "a_00001_20261121031500.pcapng.zst" with another ending. */
static void beside(const char *path, const char *ending, char out[PATH_MAX])
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = strlen(path);

	for (int endings = rd_compression_of(path) ? 2 : 1; endings; endings--) {
		const char *dot = memrchr(name, '.', len - (size_t)(name - path));

		if (dot && dot != name)
			len = (size_t)(dot - path);
	}
	snprintf(out, PATH_MAX, "%.*s%s", (int)len, path, ending);
}

static int create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		rd_log(RD_LOG_WARNING, "cannot create '%s': %s", path, strerror(errno));
	return fd;
}

static bool analyse(struct rd_recorder *r, const char *path)
{
	char json[PATH_MAX], html[PATH_MAX];
	char *argv[] = {(char *)(uintptr_t)r->config.program, (char *)(uintptr_t) "analyze",
		(char *)(uintptr_t) "--json", (char *)(uintptr_t) "--html", html,
		(char *)(uintptr_t)path, NULL};
	int out, status;

	beside(path, ".json", json);
	beside(path, ".html", html);
	out = create(json);
	if (out < 0)
		return false;
	status = run(r, argv, out);
	close(out);
	/* 4: not all frames could be judged. */
	if (status == 0 || status == RD_CLASS_PARTIAL)
		return true;
	rd_log(RD_LOG_WARNING, "the analysis of '%s' failed", path);
	unlink(json);
	return false;
}

static void follow_one(struct rd_recorder *r, struct follow_job *job)
{
	char *argv[] = {(char *)(uintptr_t)r->config.command, job->path, NULL};
	bool analysed = r->config.program && job->analyse && analyse(r, job->path), failed = false;

	if (r->config.command && !r->follow.stop)
		failed = run(r, argv, -1) != 0;
	if (failed)
		rd_log(RD_LOG_WARNING, "command '%s %s' failed", argv[0], argv[1]);
	pthread_mutex_lock(&r->lock);
	r->counts.not_analysed += r->config.program && !analysed;
	r->counts.commands_failed += failed;
	if (r->n_files - job->number <= RD_RECORDER_FILES)
		r->files[job->number % RD_RECORDER_FILES].analysed = analysed;
	pthread_mutex_unlock(&r->lock);
}

/* --- the thread
 * ------------------------------------------------------------------------------------ */

/* The next file stays in the list until it is done. NULL: the thread is to end. */
static struct follow_job *await_job(struct follow *f)
{
	struct follow_job *job;

	pthread_mutex_lock(&f->lock);
	while (!f->first && !f->stop)
		pthread_cond_wait(&f->wake, &f->lock);
	job = f->stop ? NULL : f->first;
	pthread_mutex_unlock(&f->lock);
	return job;
}

static void drop_first(struct follow *f)
{
	struct follow_job *job;

	pthread_mutex_lock(&f->lock);
	job = f->first;
	f->first = job->next;
	f->n--;
	if (!f->first)
		f->last = &f->first;
	pthread_mutex_unlock(&f->lock);
	free(job->path);
	free(job);
}

static void *follow_run(void *arg)
{
	struct rd_recorder *r = arg;
	struct follow_job *job;

	/* Of this thread and its processes alone: frames come first. */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	while ((job = await_job(&r->follow))) {
		follow_one(r, job);
		drop_first(&r->follow);
	}
	return NULL;
}

int follow_start(struct rd_recorder *r)
{
	int rc;

	if (!r->config.program && !r->config.command)
		return 0;
	rc = pthread_create(&r->follow.thread, NULL, follow_run, r);
	if (rc) {
		rd_log(RD_LOG_WARNING, "cannot start the thread that analyses files: %s",
			strerror(rc));
		return -1;
	}
	pthread_setname_np(r->follow.thread, "analysis");
	r->follow.running = true;
	return 0;
}

static bool is_idle(struct follow *f)
{
	bool idle;

	pthread_mutex_lock(&f->lock);
	idle = !f->first;
	pthread_mutex_unlock(&f->lock);
	return idle;
}

void follow_finish(struct rd_recorder *r)
{
	const struct timespec pause = {.tv_nsec = WAIT_NS};
	struct follow *f = &r->follow;

	if (!f->running)
		return;
	for (unsigned int looks = 1; !is_idle(f); looks++) {
		if (looks % ASKED == 0 && r->config.waiting &&
			!r->config.waiting(r->config.ctx, true)) {
			rd_log(RD_LOG_WARNING, "not waiting for the analysis of the last files");
			break;
		}
		nanosleep(&pause, NULL);
	}
	pthread_mutex_lock(&f->lock);
	f->stop = true;
	pthread_cond_signal(&f->wake);
	pthread_mutex_unlock(&f->lock);
	if (f->child)
		kill(f->child, SIGTERM);
	pthread_join(f->thread, NULL);
	f->running = false;
}

void follow_fini(struct rd_recorder *r)
{
	follow_finish(r);
	while (r->follow.first)
		drop_first(&r->follow);
	pthread_cond_destroy(&r->follow.wake);
	pthread_mutex_destroy(&r->follow.lock);
}
