/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The recorder's state for other programs: a file for the textfile collector of Prometheus'
 * node_exporter, replaced as a whole, and the status line of the service manager.
 */
#include "recorder.h"
#include <inttypes.h>
#include <rdmadump/units.h>

#define PERIOD_NS 10000000000U

static void put(FILE *out, const char *name, const char *help, uint64_t value)
{
	fprintf(out,
		"# HELP rdmadump_record_%s %s\n# TYPE rdmadump_record_%s %s\n"
		"rdmadump_record_%s %" PRIu64 "\n",
		name, help, name, strstr(name, "_total") ? "counter" : "gauge", name, value);
}

/* Writes the value of a label; backslashes, quotes and newlines are escaped. */
static void put_label(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\\"", *text))
			fputc('\\', out);
		if (*text == '\n')
			fputs("\\n", out);
		else
			fputc(*text, out);
	}
}

static void put_triggers(FILE *out, const struct rd_recorder *r)
{
	fputs("# HELP rdmadump_record_triggers_total Times that each trigger fired\n"
	      "# TYPE rdmadump_record_triggers_total counter\n",
		out);
	for (unsigned int i = 0; i < r->n_triggers; i++) {
		fputs("rdmadump_record_triggers_total{trigger=\"", out);
		put_label(out, r->trigger[i].text);
		fprintf(out, "\"} %" PRIu64 "\n",
			atomic_load_explicit(&r->trigger[i].fired, memory_order_relaxed));
	}
}

struct textfile {
	struct rd_recorder *r;
	bool running;
};

static int put_all(void *ctx, FILE *out, struct rd_error *err)
{
	const struct textfile *file = ctx;
	struct rd_recorder *r = file->r;
	struct rd_recorder_counts c;
	struct rd_session_progress p;

	pthread_mutex_lock(&r->lock);
	c = r->counts;
	p = r->progress;
	pthread_mutex_unlock(&r->lock);
	put(out, "running", "1 while frames are recorded", file->running);
	put(out, "frames_total", "Frames received", p.frames);
	put(out, "lost_frames_total", "Frames lost by the device or dropped", p.lost);
	put(out, "memory_bytes", "Memory for frames", c.memory);
	put(out, "files_total", "Files written", c.files);
	put(out, "file_frames_total", "Frames in files", c.frames);
	put(out, "file_bytes_total", "Bytes of files", c.bytes);
	put(out, "files_failed_total", "Files that could not be written completely",
		c.files_failed);
	put(out, "triggers_ignored_total",
		"Triggers that were too soon after a file, or after the last one",
		c.held + c.closed);
	put(out, "analyses_failed_total", "Files that could not be analysed", c.not_analysed);
	put(out, "commands_failed_total", "Commands that failed", c.commands_failed);
	put_triggers(out, r);
	(void)err; /* the stream keeps it */
	return 0;
}

static void write_textfile(struct rd_recorder *r, bool running)
{
	struct textfile file = {r, running};
	struct rd_error err;
	bool failed = rd_outfile_replace(r->config.textfile, put_all, &file, &err) < 0;

	if (failed && !r->textfile_failed)
		rd_log(RD_LOG_WARNING, "%s", err.text);
	r->textfile_failed = failed;
}

static void send_status(struct rd_recorder *r)
{
	struct rd_recorder_counts c;
	uint64_t frames;
	char status[200];

	pthread_mutex_lock(&r->lock);
	c = r->counts;
	frames = r->progress.frames;
	pthread_mutex_unlock(&r->lock);
	snprintf(status, sizeof(status),
		"STATUS=recording: %" PRIu64 " frame%s received, %" PRIu64 " trigger%s, %" PRIu64
		" file%s, %" PRIu64 " failed",
		frames, rd_plural(frames), c.fired, rd_plural(c.fired), c.files, rd_plural(c.files),
		c.files_failed);
	notify_send(r, status);
}

void state_write(struct rd_recorder *r, bool now)
{
	uint64_t time = rd_monotonic_ns();

	if (!now && time < r->state_due_ns)
		return;
	r->state_due_ns = time + PERIOD_NS;
	if (r->config.textfile)
		write_textfile(r, !now);
	if (!now)
		send_status(r);
}
