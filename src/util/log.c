/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Passes each message to the function that rd_log_to() has set. */
#include <rdmadump/log.h>
#include <rdmadump/printable.h>

static struct {
	rd_log_fn *fn;
	void *ctx;
	enum rd_level most;
} receiver;

void rd_log_to(rd_log_fn *fn, void *ctx, enum rd_level most)
{
	receiver.fn = fn;
	receiver.ctx = ctx;
	receiver.most = most;
}

void rd_log(enum rd_level level, const char *fmt, ...)
{
	char line[1024];

	if (!receiver.fn || level > receiver.most)
		return;
	RD_FORMAT(line, sizeof(line), fmt);
	receiver.fn(receiver.ctx, level, line);
}
