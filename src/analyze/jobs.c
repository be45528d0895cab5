/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work on many files by several threads at once. */
#include "analyze.h"
#include "cli/cli.h"
#include <pthread.h>
#include <sched.h>

#define THREADS_MAX 256

static _Thread_local bool working;

struct jobs {
	const struct job_kind *kind;
	void *ctx;
	unsigned int n;
	atomic_uint next;
	atomic_bool failed;
	pthread_mutex_t lock;
	unsigned int done, percent, first_failed; /* protected by the lock, as is *err */
	struct rd_error *err;
};

unsigned int jobs_default(void)
{
	cpu_set_t cpus;

	/* Of more CPUs than the set has room for, one is certain. */
	return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (unsigned int)CPU_COUNT(&cpus) : 1;
}

bool jobs_working(void)
{
	return working;
}

static void show(struct jobs *j, unsigned int percent)
{
	char line[80];

	j->percent = percent;
	snprintf(line, sizeof(line), "  %s: %u of %u (%u %%)", j->kind->doing, j->done, j->n,
		percent);
	rd_cli_status(line);
}

static void note_end(struct jobs *j, unsigned int i, int ret, const struct rd_error *err)
{
	unsigned int percent;

	pthread_mutex_lock(&j->lock);
	if (ret < 0 && (!atomic_exchange(&j->failed, true) || i < j->first_failed)) {
		j->first_failed = i;
		*j->err = *err;
	}
	percent = (unsigned int)(100 * (uint64_t)++j->done / j->n);
	if (percent != j->percent)
		show(j, percent);
	pthread_mutex_unlock(&j->lock);
}

/* A worker. Those before the first one that failed are all done, so that the error is the same. */
static void *work(void *ctx)
{
	struct jobs *j = ctx;
	struct rd_error err;

	working = true;
	while (!atomic_load(&j->failed)) {
		const unsigned int i = atomic_fetch_add(&j->next, 1);

		if (i >= j->n)
			break;
		note_end(j, i, j->kind->run(j->ctx, i, &err), &err);
	}
	working = false;
	return NULL;
}

int jobs_run(const struct job_kind *kind, void *ctx, unsigned int n, unsigned int threads,
	struct rd_error *err)
{
	struct jobs j = {
		.kind = kind, .ctx = ctx, .n = n, .lock = PTHREAD_MUTEX_INITIALIZER, .err = err};
	pthread_t thread[THREADS_MAX];
	unsigned int started = 0;

	/* One that cannot be started is not missed: this thread works, too. */
	while (started + 1 < threads && started + 1 < n && started < THREADS_MAX &&
		pthread_create(&thread[started], NULL, work, &j) == 0)
		started++;
	work(&j);
	while (started)
		pthread_join(thread[--started], NULL);
	rd_cli_status(NULL);
	return atomic_load(&j.failed) ? -1 : 0;
}
