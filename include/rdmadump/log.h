/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The one logger: code below cli/ speaks through it, cli/ decides where it goes. */
#ifndef RDMADUMP_LOG_H
#define RDMADUMP_LOG_H

enum rd_level { RD_LOG_ERROR, RD_LOG_WARNING, RD_LOG_INFO, RD_LOG_DEBUG };

/* Receives each message as one line without newline; may be called from any thread. */
typedef void rd_log_fn(void *ctx, enum rd_level level, const char *line);

/* Set once, before any thread is started. Without a receiver messages are dropped. */
void rd_log_to(rd_log_fn *fn, void *ctx, enum rd_level most);

void rd_log(enum rd_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
