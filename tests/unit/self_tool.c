/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Captures in one thread while another one sends by verbs on the same device, as a program does
 * that tests what a capture sees. Writes the captured frames to a file, and prints them.
 */
#include <inttypes.h>
#include <pthread.h>
#include <rdmadump/session.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../softhca/sender.h"

static const char usage[] = "usage: self_tool OUTPUT SENDER-ARGUMENTS...\n";

static sem_t is_running;

/* Of a descriptor that is readable from the beginning: the session looks at it once it receives. */
static bool on_running(void *ctx, int fd)
{
	eventfd_t value;

	(void)ctx;
	eventfd_read(fd, &value);
	sem_post(&is_running);
	return false;
}

static void *capture(void *session)
{
	rd_session_run(session);
	/* Also if it failed before that. */
	sem_post(&is_running);
	return NULL;
}

static int report(struct rd_session *session)
{
	const struct rd_session_result *r = rd_session_result(session);

	if (r->error.class != RD_CLASS_NONE)
		fprintf(stderr, "self_tool: %s\n", r->error.text);
	printf("captured %" PRIu64 " lost %" PRIu64 "\n", rd_tally_delivered(&r->total), r->lost);
	return r->ran && r->error.class == RD_CLASS_NONE ? 0 : 1;
}

int main(int argc, char **argv)
{
	int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	const struct rd_watch watch = {fd, on_running, NULL};
	struct rd_session_config config = {.out.path = argc > 1 ? argv[1] : NULL,
		.device.log2_buffers = 14,
		.out.buffer = 1 << 24,
		.user = getuid() ? NULL : "root",
		.watches = &watch,
		.n_watches = 1};
	struct rd_session *session;
	struct rd_error err;
	pthread_t thread;
	int rc;

	if (argc < 3) {
		fputs(usage, stderr);
		return 2;
	}
	sem_init(&is_running, 0, 0);
	if (rd_session_open(&session, &config, &err)) {
		fprintf(stderr, "self_tool: %s\n", err.text);
		return 1;
	}
	if (pthread_create(&thread, NULL, capture, session))
		return 1;
	sem_wait(&is_running);
	rc = sender_run(argc - 1, argv + 1);
	rd_session_stop(session);
	pthread_join(thread, NULL);
	rc |= report(session);
	rd_session_close(session);
	sem_destroy(&is_running);
	close(fd);
	return rc;
}
