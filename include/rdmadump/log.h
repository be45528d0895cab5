/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The logger: code below cli/ logs through it, and cli/ decides where messages go. */
#pragma once

enum rd_level { RD_LOG_ERROR, RD_LOG_WARNING, RD_LOG_INFO, RD_LOG_DEBUG };

/* Receives each message as one line without newline; may be called from any thread. */
typedef void rd_log_fn(void *ctx, enum rd_level level, const char *line);

/*
 * Sets the receiver of messages up to level `max`. Call it before any thread is started. Without a
 * receiver messages are dropped.
 */
void rd_log_to(rd_log_fn *fn, void *ctx, enum rd_level max);

/* Formats one line of at most 1023 bytes and passes it to the receiver, in the caller's thread. */
void rd_log(enum rd_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
