/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How the program speaks to a person: messages, errors and the progress line, all on stderr. */
#include "cli.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct {
	pthread_mutex_t lock;
	size_t shown; /* characters of the progress line on the terminal */
} screen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void wipe(void)
{
	if (screen.shown)
		fprintf(stderr, "\r%*s\r", (int)screen.shown, "");
	screen.shown = 0;
}

static void say(void *ctx, enum rd_level level, const char *line)
{
	static const char *const prefix[] = {
		[RD_LOG_ERROR] = "",
		[RD_LOG_WARNING] = "warning: ",
		[RD_LOG_INFO] = "",
		[RD_LOG_DEBUG] = "",
	};

	(void)ctx;
	pthread_mutex_lock(&screen.lock);
	wipe();
	fprintf(stderr, "rdmadump: %s%s\n", prefix[level], line);
	pthread_mutex_unlock(&screen.lock);
}

void rd_cli_log(enum rd_level most)
{
	rd_log_to(say, NULL, most);
}

int rd_cli_fail(const struct rd_error *err)
{
	say(NULL, RD_LOG_ERROR, err->text);
	return (int)err->class;
}

void rd_cli_status(const char *line)
{
	pthread_mutex_lock(&screen.lock);
	wipe();
	if (line) {
		screen.shown = strlen(line);
		fprintf(stderr, "%s", line);
		fflush(stderr);
	}
	pthread_mutex_unlock(&screen.lock);
}
