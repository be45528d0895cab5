/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a capture says of itself: start, progress, end; the texts stored in the file. */
#include "capture.h"
#include "cli.h"
#include "config.h"
#include "version.h"
#include <inttypes.h>
#include <jansson.h>
#include <rdmadump/clock.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t dropped_by_us(const struct session *s)
{
	return s->capture.tally[0].dropped + s->written.unwritten;
}

static double seconds(const struct session *s)
{
	return (double)(s->capture.end_ns - s->capture.start_ns) / 1e9;
}

/* --- while it runs ---------------------------------------------------------------------- */

void report_start(const struct session *s)
{
	rd_log(RD_LOG_INFO, "capturing on %s, %s; Ctrl-C stops", s->source->title,
		s->source->details);
}

void report_progress(struct session *s, char *line, size_t room)
{
	char hms[RD_UNITS_LEN], frames[RD_UNITS_LEN], bytes[RD_UNITS_LEN], rate[RD_UNITS_LEN],
		file[RD_UNITS_LEN], lost[RD_UNITS_LEN];
	struct rd_tally t = rd_capture_total(&s->capture);
	uint64_t now = rd_monotonic_ns(), start = s->last_ns ? s->last_ns : now;
	double past = (double)(now - start) / 1e9;
	struct rd_source_stats source;
	struct rd_sink_stats sink;
	struct timespec wall;

	s->source->ops->stats(s->source, &source);
	rd_sink_stats(s->sink, &sink);
	clock_gettime(CLOCK_REALTIME, &wall);
	snprintf(line, room, "  %s   %s frames   %s   %s   file %s   lost %s",
		rd_fmt_hms(hms, (rd_timespec_ns(&wall) - s->capture.start_ns) / 1000000000U),
		rd_fmt_count(frames, t.delivered), rd_fmt_bytes(bytes, s->capture.bytes),
		rd_fmt_bitrate(
			rate, past > 0 ? (double)(s->capture.bytes - s->last_bytes) * 8 / past : 0),
		rd_fmt_bytes(file, sink.file_bytes),
		rd_fmt_count(lost, t.dropped + sink.unwritten + source.lost));
	s->last_ns = now;
	s->last_bytes = s->capture.bytes;
}

/* --- in the file ------------------------------------------------------------------------ */

void session_describe(struct session *s)
{
	rd_machine_hardware(s->hardware, sizeof(s->hardware));
	rd_machine_os(s->os, sizeof(s->os));
	snprintf(s->application, sizeof(s->application), "rdmadump %s (%s)", PACKAGE_VERSION,
		RD_GIT_DESCRIPTION);
	s->section = (struct rd_section){.hardware = s->hardware,
		.os = s->os,
		.application = s->application,
		.comment = s->comment};
}

static void loss_text(const struct session *s, char *out, size_t room)
{
	const struct rd_source_stats *st = &s->source_stats;
	char n[RD_UNITS_LEN];
	size_t used;

	if (!st->loss_known) {
		snprintf(out, room, "unknown (no counter tells)");
		return;
	}
	used = (size_t)snprintf(out, room, "%s (", rd_fmt_count(n, st->lost));
	for (unsigned int i = 0; i < st->n_loss && used < room; i++)
		used += (size_t)snprintf(
			out + used, room - used, "%s%s", i ? ", " : "", st->loss[i].name);
	if (used < room)
		snprintf(out + used, room - used, "%s)",
			st->loss_upper_bound && st->lost ? "; upper bound, the counter is shared"
							 : "");
}

/* Always of the same length, so that the end can be written over the beginning. */
void session_comment(struct session *s, bool finished)
{
	char host[65] = "", start[40], written[RD_UNITS_LEN], filtered[RD_UNITS_LEN],
	     dropped[RD_UNITS_LEN], loss[160];
	struct timespec now;
	struct tm tm;
	int used;

	gethostname(host, sizeof(host) - 1);
	clock_gettime(CLOCK_REALTIME, &now);
	if (s->capture.start_ns)
		now.tv_sec = (time_t)(s->capture.start_ns / 1000000000U);
	strftime(start, sizeof(start), "%Y-%m-%d %H:%M:%S %z", localtime_r(&now.tv_sec, &tm));
	used = snprintf(s->comment, sizeof(s->comment), "%s on host %s, from %s. ",
		s->source->title, host, start);
	if (finished) {
		loss_text(s, loss, sizeof(loss));
		snprintf(s->comment + used, sizeof(s->comment) - (size_t)used,
			"%s frames written in %.1f s; filtered out %s, dropped by rdmadump %s, "
			"dropped by the device %s.%s%s",
			rd_fmt_count(written, s->written.written), seconds(s),
			rd_fmt_count(filtered, s->capture.tally[0].filtered),
			rd_fmt_count(dropped, dropped_by_us(s)), loss,
			s->error.class != RD_CLASS_NONE ? " Ended by a fault: " : "",
			s->error.class != RD_CLASS_NONE ? s->error.text : "");
	} else {
		snprintf(s->comment + used, sizeof(s->comment) - (size_t)used,
			"Not finished: the program still writes, or was killed; what was lost is "
			"not known.");
	}
	used = (int)strlen(s->comment);
	memset(s->comment + used, ' ', sizeof(s->comment) - 1 - (size_t)used);
	s->comment[sizeof(s->comment) - 1] = '\0';
}

/* --- at the end ------------------------------------------------------------------------- */

void report_text(const struct session *s)
{
	const struct rd_source_stats *st = &s->source_stats;
	const struct rd_tally *t = &s->capture.tally[0];
	char n[RD_UNITS_LEN], size[RD_UNITS_LEN], filtered[RD_UNITS_LEN], dropped[RD_UNITS_LEN],
		loss[160];

	loss_text(s, loss, sizeof(loss));
	fprintf(stderr, "%s frames in %.1f s, written to %s (%s)\n",
		rd_fmt_count(n, s->written.written), seconds(s),
		strcmp(s->opt->path, "-") ? s->opt->path : "standard output",
		rd_fmt_bytes(size, s->written.file_bytes));
	fprintf(stderr, "  filtered out %s    dropped by rdmadump %s    dropped by the device %s\n",
		rd_fmt_count(filtered, t->filtered), rd_fmt_count(dropped, dropped_by_us(s)), loss);
	if (st->gaps)
		fprintf(stderr,
			"  the receive queue failed %" PRIu64
			" times and was brought back; frames are missing there, unknown how many\n",
			st->gaps);
	if (dropped_by_us(s) && s->error.class == RD_CLASS_NONE && !s->broken_pipe)
		fprintf(stderr,
			"  the output was too slow: use a larger --buffer-size or a faster disk\n");
}

static const char *end_name(const struct session *s)
{
	static const char *const names[] = {
		[RD_END_WATCH] = "signal",
		[RD_END_COUNT] = "count",
		[RD_END_SOURCE] = "source",
		[RD_END_FAULT] = "fault",
		[RD_END_OUTPUT] = "output",
	};

	return s->broken_pipe ? "closed pipe" : names[s->capture.end];
}

static json_t *json_count(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *json_device(const struct session *s)
{
	const struct rd_device *d = s->device;

	return json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s}", "device", d->name, "port",
		(int)s->port->num, "netdev", s->port->n_netdevs ? s->port->netdevs[0].name : "",
		"link", s->port->link == RD_LINK_INFINIBAND ? "InfiniBand" : "Ethernet", "firmware",
		d->fw, "driver", d->driver, "pci", d->pci);
}

static json_t *json_loss(const struct rd_source_stats *st)
{
	json_t *counters = json_object();

	for (unsigned int i = 0; i < st->n_loss; i++)
		json_object_set_new(counters, st->loss[i].name, json_count(st->loss[i].frames));
	return json_pack("{s:b, s:b, s:o, s:o}", "known", (int)st->loss_known, "upper_bound",
		(int)st->loss_upper_bound, "frames", json_count(st->lost), "counters", counters);
}

void report_json(const struct session *s)
{
	const struct rd_tally *t = &s->capture.tally[0];
	json_t *root = json_pack(
		"{s:i, s:s, s:o, s:s, s:s, s:o, s:f, s:s, s:{s:o, s:o, s:o, s:{s:o, s:o}}, s:o, "
		"s:o, s:o, s:o}",
		"version", 1, "program", s->application, "source", json_device(s), "file",
		s->opt->path, "format", s->encoder.format->name, "start_ns",
		json_count(s->capture.start_ns), "duration_s", seconds(s), "ended_by", end_name(s),
		"frames", "delivered", json_count(t->delivered), "written",
		json_count(s->written.written), "filtered", json_count(t->filtered), "dropped",
		"buffer_full", json_count(t->dropped), "output", json_count(s->written.unwritten),
		"bytes", json_count(s->capture.bytes), "file_bytes",
		json_count(s->written.file_bytes), "device_dropped", json_loss(&s->source_stats),
		"gaps", json_count(s->source_stats.gaps));
	FILE *out = strcmp(s->opt->path, "-") ? stdout : stderr;

	if (!root)
		return;
	json_object_set_new(root, "error",
		s->error.class == RD_CLASS_NONE ? json_null() : json_string(s->error.text));
	json_object_set_new(root, "exit_status", json_integer(s->error.class));
	json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	fputc('\n', out);
	json_decref(root);
}
