/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs after each complete file: the analysis in a separate process, so that it does not use the
 * recorder's memory and time; then the user's command.
 */
#include "recorder.h"
#include <errno.h>
#include <rdmadump/spawn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NICE	10
#define WAIT_NS 20000000 /* between two checks whether all files are finished */
#define ASKED	15	 /* checks between two calls of the caller's function */

void follow_make_room(struct rd_recorder *r)
{
	struct follow *f = &r->follow;

	if (!f->running || r->n_files - f->next < RD_RECORDER_FILES)
		return;
	rd_log(RD_LOG_WARNING, "too many files wait for their analysis: '%s' is not analysed",
		r->files[f->next++ % RD_RECORDER_FILES].dump.path);
	r->counts.not_analysed += r->config.program != NULL;
	r->counts.commands_failed += r->config.command != NULL;
}

/* --- one process ------------------------------------------------------------------------- */

/* Its exit status, -1 if it could not be run or was killed. */
static int run(struct rd_recorder *r, char *const argv[], const struct rd_spawn *how)
{
	struct follow *f = &r->follow;
	int status = -1, rc;
	siginfo_t info;
	pid_t pid;

	/* A process that starts after stop would not get its signal. */
	pthread_mutex_lock(&f->child_lock);
	rc = f->stop ? ECANCELED : rd_spawn(&pid, argv, how);
	f->child = rc ? 0 : pid;
	pthread_mutex_unlock(&f->child_lock);
	if (rc) {
		rd_log(RD_LOG_WARNING, "cannot run '%s': %s", argv[0], strerror(rc));
		return -1;
	}
	/* The process is not reaped before this, so its pid cannot belong to another process. */
	TEMP_FAILURE_RETRY(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	pthread_mutex_lock(&f->child_lock);
	f->child = 0;
	pthread_mutex_unlock(&f->child_lock);
	rc = waitpid(pid, &status, 0);
	/* If the parent ignores SIGCHLD, there is no exit status. */
	if (rc < 0)
		return 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The process gets open files: by name it would follow a symbolic link of another user. */
static int analyse_into(struct rd_recorder *r, const char *path, int json, int html)
{
	const struct rd_spawn how = {.out = json, .file = html};
	char *argv[] = {(char *)(uintptr_t)r->config.program, (char *)(uintptr_t) "--json",
		(char *)(uintptr_t) "--html", (char *)(uintptr_t)RD_SPAWN_FILE,
		(char *)(uintptr_t)path, NULL};
	int status = run(r, argv, &how);

	if (status != 0 && status != RD_CLASS_PARTIAL)
		rd_log(RD_LOG_WARNING, "the analysis of '%s' failed", path);
	return status;
}

static bool analyse(struct rd_recorder *r, const char *path)
{
	struct sidecar json = {0}, html = {0};
	bool out = sidecar_create(&json, path, ".json"),
	     page = sidecar_create(&html, path, ".html");
	int status = out && page ? analyse_into(r, path, json.out.fd, html.out.fd) : -1;
	/* 4: not all frames could be judged. */
	bool whole = status == 0 || status == RD_CLASS_PARTIAL;

	out = sidecar_finish(&json, whole);
	page = sidecar_finish(&html, whole);
	return out && page;
}

/* The file that is looked after; its entry may be overwritten meanwhile. */
struct job {
	uint64_t number;
	bool analyse;
	char path[PATH_MAX];
};

static void follow_one(struct rd_recorder *r, struct job *job)
{
	static const struct rd_spawn inherit;
	char *argv[] = {(char *)(uintptr_t)r->config.command, job->path, NULL};
	bool analysed = r->config.program && job->analyse && analyse(r, job->path), failed = false;

	if (r->config.command && !r->follow.stop)
		failed = run(r, argv, &inherit) != 0;
	if (failed)
		rd_log(RD_LOG_WARNING, "command '%s %s' failed", argv[0], argv[1]);
	pthread_mutex_lock(&r->lock);
	r->counts.not_analysed += r->config.program && !analysed;
	r->counts.commands_failed += failed;
	if (r->n_files - job->number <= RD_RECORDER_FILES)
		r->files[job->number % RD_RECORDER_FILES].analysed = analysed;
	r->follow.busy = false;
	pthread_mutex_unlock(&r->lock);
}

/* --- the thread -------------------------------------------------------------------------- */

/* Waits for the next file. False: the thread must end. */
static bool await_job(struct rd_recorder *r, struct job *job)
{
	struct follow *f = &r->follow;
	const struct rd_recorder_file *file;

	pthread_mutex_lock(&r->lock);
	while (f->next == r->n_files && !f->stop)
		pthread_cond_wait(&f->wake, &r->lock);
	f->busy = !f->stop;
	if (f->busy) {
		job->number = f->next++;
		file = &r->files[job->number % RD_RECORDER_FILES];
		job->analyse = !file->dump.failed;
		snprintf(job->path, PATH_MAX, "%s", file->dump.path ? file->dump.path : "");
	}
	pthread_mutex_unlock(&r->lock);
	return f->busy;
}

static void *follow_run(void *arg)
{
	struct rd_recorder *r = arg;
	struct job job = {0};

	/* Lowers the priority of this thread and of processes that it starts: frames go first. */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	if (r->config.program)
		sidecar_clean(r);
	while (await_job(r, &job))
		follow_one(r, &job);
	return NULL;
}

void follow_start(struct rd_recorder *r)
{
	int rc;

	if (!r->config.program && !r->config.command)
		return;
	rc = pthread_create(&r->follow.thread, NULL, follow_run, r);
	if (rc) {
		rd_log(RD_LOG_WARNING, "cannot start the thread that analyses files: %s",
			strerror(rc));
		return;
	}
	pthread_setname_np(r->follow.thread, "analysis");
	r->follow.running = true;
}

static bool is_idle(struct rd_recorder *r)
{
	bool idle;

	pthread_mutex_lock(&r->lock);
	idle = !r->follow.busy && r->follow.next == r->n_files;
	pthread_mutex_unlock(&r->lock);
	return idle;
}

void follow_finish(struct rd_recorder *r)
{
	const struct timespec pause = {.tv_nsec = WAIT_NS};
	struct follow *f = &r->follow;

	if (!f->running)
		return;
	for (unsigned int looks = 1; !is_idle(r); looks++) {
		notify_alive(r);
		if (looks % ASKED == 0 && r->config.waiting &&
			!r->config.waiting(r->config.ctx, true)) {
			rd_log(RD_LOG_WARNING, "not waiting for the analysis of the last files");
			break;
		}
		nanosleep(&pause, NULL);
	}
	/* Under the lock: the process may end now, and kill(0) is for this program's own group. */
	pthread_mutex_lock(&f->child_lock);
	f->stop = true;
	if (f->child)
		kill(f->child, SIGTERM);
	pthread_mutex_unlock(&f->child_lock);
	pthread_mutex_lock(&r->lock);
	pthread_cond_signal(&f->wake);
	pthread_mutex_unlock(&r->lock);
	pthread_join(f->thread, NULL);
	f->running = false;
}
