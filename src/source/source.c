/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by all sources: notes on events, the time of a frame that arrives now. */
#include <rdmadump/clock.h>
#include <rdmadump/printable.h>
#include <rdmadump/source.h>
#include <string.h>

uint64_t rd_source_now(const struct rd_source *s)
{
	return s->ops->now ? s->ops->now(s) : rd_wall_ns();
}

void rd_source_note(struct rd_source *s, enum rd_level level, const char *fmt, ...)
{
	char what[160], when[16];
	struct timespec now;
	struct tm tm;
	size_t used = strlen(s->note);

	RD_FORMAT(what, sizeof(what), fmt);
	clock_gettime(CLOCK_REALTIME, &now);
	strftime(when, sizeof(when), "%H:%M:%S", localtime_r(&now.tv_sec, &tm));
	rd_log(level, "%s: %s", s->iface.name ? s->iface.name : "source", what);
	snprintf(s->note + used, sizeof(s->note) - used, "%s%s.%03ld %s", used ? "; " : "", when,
		now.tv_nsec / 1000000, what);
}
