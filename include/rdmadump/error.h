/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The one error type: what failed, why, and what to do next, in one line. */
#pragma once

/* The cause of the failure. The values are the program's exit statuses. */
enum rd_class {
	RD_CLASS_NONE = 0,
	RD_CLASS_USAGE = 1,   /* the command line or a setting */
	RD_CLASS_DEVICE = 2,  /* device, input file, permission */
	RD_CLASS_OUTPUT = 3,  /* a file or pipe that the program writes */
	RD_CLASS_PARTIAL = 4, /* a fault that ended work already begun */
};

struct rd_error {
	enum rd_class class;
	int errnum;	/* errno of the failed call, 0 if there was none */
	char text[640]; /* "what failed: why; what to do", without newline */
};

/*
 * Fills *err (may be NULL) and returns -1, so that a failing function ends in
 * `return rd_fail(...)`. `todo` (may be NULL) is the next step for the user.
 * `fmt` says what failed and quotes the value it got; strerror(errnum) is
 * appended when errnum is not 0.
 */
int rd_fail(struct rd_error *err, enum rd_class class, int errnum, const char *todo,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));
