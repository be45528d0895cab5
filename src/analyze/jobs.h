/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work on many files by several threads at once. */
#ifndef RDMADUMP_ANALYZE_JOBS_H
#define RDMADUMP_ANALYZE_JOBS_H

#include <rdmadump/error.h>
#include <stdbool.h>

struct job_kind {
	const char *doing; /* for the progress on a terminal */
	/* One piece of work, from any thread; 0, or -1 with the error. */
	int (*run)(void *ctx, unsigned int i, struct rd_error *err);
};

/* As many as the CPUs that this process may use. */
unsigned int jobs_default(void);
/* Whether this thread does such work now, whose progress is shown in pieces. */
bool jobs_working(void);
/*
 * Does pieces 0 to n - 1. -1 with the error of the first piece that failed; some after it are not
 * done then.
 */
int jobs_run(const struct job_kind *kind, void *ctx, unsigned int n, unsigned int threads,
	struct rd_error *err);

#endif
