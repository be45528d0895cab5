/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Captures in one thread while another one sends by verbs of its own on the same device, as a
 * program does that tests what a capture sees. Writes what was captured, and prints its frames.
 */
#include <inttypes.h>
#include <pthread.h>
#include <rdmadump/session.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../softhca/sender.h"

static const char usage[] = "usage: self_tool OUTPUT SENDER-ARGUMENTS...\n";

static sem_t is_ready;

static void on_ready(void *ctx)
{
	(void)ctx;
	sem_post(&is_ready);
}

static void *capture(void *session)
{
	rd_session_run(session);
	/* Also if it failed before it was ready. */
	sem_post(&is_ready);
	return NULL;
}

static int report(struct rd_session *session)
{
	const struct rd_session_result *r = rd_session_result(session);

	if (r->error.class != RD_CLASS_NONE)
		fprintf(stderr, "self_tool: %s\n", r->error.text);
	printf("captured %" PRIu64 " lost %" PRIu64 "\n", r->total.delivered, r->lost);
	return r->ran && r->error.class == RD_CLASS_NONE ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct rd_session_config config = {.path = argc > 1 ? argv[1] : NULL,
		.log2_buffers = 14,
		.buffer = 1 << 24,
		.user = getuid() ? NULL : "root",
		.ready = on_ready};
	struct rd_session *session;
	struct rd_error err;
	pthread_t thread;
	int rc;

	if (argc < 3) {
		fputs(usage, stderr);
		return 2;
	}
	sem_init(&is_ready, 0, 0);
	if (rd_session_open(&session, &config, &err)) {
		fprintf(stderr, "self_tool: %s\n", err.text);
		return 1;
	}
	if (pthread_create(&thread, NULL, capture, session))
		return 1;
	sem_wait(&is_ready);
	rc = sender_run(argc - 1, argv + 1);
	rd_session_stop(session);
	pthread_join(thread, NULL);
	rc |= report(session);
	rd_session_close(session);
	sem_destroy(&is_ready);
	return rc;
}
