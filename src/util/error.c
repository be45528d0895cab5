/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Builds the one line that says what failed, why, and what to do next. */
#include <errno.h>
#include <rdmadump/error.h>
#include <rdmadump/printable.h>
#include <string.h>

static void append(struct rd_error *err, const char *separator, const char *text)
{
	size_t used = strlen(err->text);

	snprintf(err->text + used, sizeof(err->text) - used, "%s%s", separator, text);
}

int rd_fail(struct rd_error *err, enum rd_class class, int errnum, const char *todo,
	const char *fmt, ...)
{
	char reason[128];

	if (!err)
		return -1;
	err->class = class;
	err->errnum = errnum;
	RD_FORMAT(err->text, sizeof(err->text), fmt);
	if (errnum)
		append(err, ": ", strerror_r(errnum, reason, sizeof(reason)));
	if (!todo && errnum == ENOMEM)
		todo = "free memory, raise its limit (ulimit -v), or give it less to do";
	if (todo)
		append(err, "; ", todo);
	return -1;
}
