/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* New processes and threads, which count in virtual time (time.c) before they run. */
#include <sched.h>

#include "softhca.h"

EXPORT pid_t fork(void)
{
	pid_t pid;
	REAL(fork);

	pid = real();
	if (pid > 0)
		time_enter(pid);
	return pid;
}

struct started {
	void *(*run)(void *);
	void *arg;
	atomic_bool entered;
};

static void *start(void *arg)
{
	struct started *s = arg, own_copy = {.run = s->run, .arg = s->arg};

	time_enter_own();
	atomic_store(&s->entered, true);
	return own_copy.run(own_copy.arg);
}

EXPORT int pthread_create(
	pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	struct started s = {.run = run, .arg = arg};
	int rc;
	REAL(pthread_create);

	if (!time_is_virtual())
		return real(thread, attr, run, arg);
	rc = real(thread, attr, start, &s);
	while (!rc && !atomic_load(&s.entered))
		sched_yield();
	return rc;
}
