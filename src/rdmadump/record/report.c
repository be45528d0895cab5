/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints the start of a recording, its progress on a terminal, and its report, as text or JSON. */
#include "record.h"
#include <inttypes.h>
#include <rdmadump/document.h>
#include <rdmadump/fd.h>
#include <rdmadump/json.h>
#include <rdmadump/units.h>
#include <unistd.h>

static const struct rd_session_source *source_of(const struct record_run *r)
{
	unsigned int n;

	return rd_session_sources(rd_recorder_session(r->recorder), &n);
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

/* --- while it runs ---------------------------------------------------------------------- */

void record_report_start(const struct record_run *r)
{
	const struct rd_recorder_config *c = &r->settings->config;
	const struct rd_session_source *source = source_of(r);
	struct rd_recorder_counts counts;
	char memory[RD_UNITS_LEN];

	rd_recorder_counts(r->recorder, &counts);
	rd_log(RD_LOG_INFO, "recording %s, %s", source->source->title, source->source->details);
	rd_log(RD_LOG_INFO,
		"%s of memory for frames%s: the last %g s are kept, and as much of them as fits; "
		"SIGUSR1 (process %d) triggers, Ctrl-C stops",
		rd_fmt_kib(memory, counts.memory), counts.locked ? ", locked" : ", not locked",
		seconds(c->retention.pre_ns), (int)getpid());
}

bool record_report_progress(void *ctx, int fd)
{
	struct record_run *r = ctx;
	char hms[RD_UNITS_LEN], frames[RD_UNITS_LEN], lost[RD_UNITS_LEN], line[200];
	struct rd_session_progress p;
	struct rd_recorder_counts counts;

	if (!rd_fd_fired(fd))
		return false;
	rd_session_progress(rd_recorder_session(r->recorder), &p);
	rd_recorder_counts(r->recorder, &counts);
	snprintf(line, sizeof(line),
		"  %s   %s frame%s   lost %s%s   %" PRIu64 " trigger%s   %" PRIu64 " file%s",
		rd_fmt_hms(hms, p.elapsed_ns / 1000000000U), rd_fmt_count(frames, p.frames),
		rd_plural(p.frames), rd_fmt_count(lost, p.lost), p.lost_known ? "" : " or more",
		counts.fired, rd_plural(counts.fired), counts.files, rd_plural(counts.files));
	rd_cli_status(line);
	return false;
}

/* --- at the end --------------------------------------------------------------------------- */

static const char *end_name(const struct record_run *r, const struct rd_recorder_counts *c)
{
	unsigned int most = r->settings->config.retention.files;

	switch (r->result->end) {
	case RD_END_WATCH:
		return r->ending.signal ? "signal" : r->result->paused ? "pause" : "duration";
	case RD_END_FILES:
		return most && c->files_found + c->files >= most ? "dumps" : "disk";
	case RD_END_FAULT:
		return "fault";
	case RD_END_OUTPUT:
		return "output";
	default:
		return "source";
	}
}

static json_t *json_triggers(const struct record_run *r)
{
	json_t *list = json_array();
	struct rd_recorder_trigger t;

	for (unsigned int i = 0; rd_recorder_trigger(r->recorder, i, &t); i++)
		json_array_append_new(
			list, json_pack("{s:o, s:o}", "trigger", rd_json_string(t.text), "fired",
				      rd_json_u64(t.fired)));
	return list;
}

static json_t *json_file(const struct rd_recorder_file *f)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:b}", "file",
		rd_json_string(f->dump.path), "trigger", rd_json_string(f->reason), "trigger_ns",
		rd_json_u64(f->dump.trigger_ns), "from_ns", rd_json_u64(f->dump.from_ns),
		"until_ns", rd_json_u64(f->dump.until_ns), "missing_until_ns",
		rd_json_u64_or_null(f->dump.missing_until_ns), "triggers", rd_json_u64(f->triggers),
		"frames", rd_json_u64(f->dump.frames), "bytes", rd_json_u64(f->dump.bytes), "cut",
		f->dump.cut, "failed", f->dump.failed, "analysed", f->analysed);
}

static json_t *json_files(const struct record_run *r)
{
	json_t *list = json_array();
	uint64_t first;
	unsigned int n;
	const struct rd_recorder_file *files = rd_recorder_files(r->recorder, &n, &first);

	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(list, json_file(&files[(first + i) % RD_RECORDER_FILES]));
	return list;
}

static void put_json(const struct record_run *r, const struct rd_recorder_counts *c)
{
	const struct rd_session_result *res = r->result;
	const struct rd_session_source *source = source_of(r);
	json_t *root = rd_document(1, res->start_ns,
		json_pack("{s:f, s:s, s:o, s:o, s:b}", "duration_s",
			seconds(res->end_ns - res->start_ns), "ended_by", end_name(r, c), "source",
			rd_json_string(source->source->title), "memory_bytes",
			rd_json_u64(c->memory), "memory_locked", c->locked));

	if (!root)
		return;
	json_object_set_new(root, "frames",
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "delivered",
			rd_json_u64(rd_tally_delivered(&res->total)), "written",
			rd_json_u64(res->written.written), "expired",
			rd_json_u64(res->written.expired), "buffer_full",
			rd_json_u64(res->total.dropped), "output",
			rd_json_u64(res->written.unwritten), "filtered",
			rd_json_u64(res->total.filtered)));
	json_object_set_new(
		root, "lost_before_us", res->lost_known ? rd_json_u64(res->lost) : json_null());
	json_object_set_new(root, "triggers",
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "fired", rd_json_u64(c->fired), "began",
			rd_json_u64(c->begun), "extended", rd_json_u64(c->extended), "held_off",
			rd_json_u64(c->held), "after_the_last", rd_json_u64(c->closed),
			"forgotten_conversations", rd_json_u64(c->forgotten)));
	json_object_set_new(root, "of_triggers", json_triggers(r));
	json_object_set_new(root, "dumps", rd_json_u64(c->files));
	json_object_set_new(root, "dumps_found", rd_json_u64(c->files_found));
	json_object_set_new(root, "dump_bytes_found", rd_json_u64(c->bytes_found));
	json_object_set_new(root, "dumps_failed", rd_json_u64(c->files_failed));
	json_object_set_new(root, "dump_bytes", rd_json_u64(c->bytes));
	json_object_set_new(root, "files", json_files(r));
	json_object_set_new(root, "analyses_failed", rd_json_u64(c->not_analysed));
	json_object_set_new(root, "commands_failed", rd_json_u64(c->commands_failed));
	json_object_set_new(root, "triggers_sent", rd_json_u64(c->sent));
	json_object_set_new(root, "triggers_confirmed", rd_json_u64(c->confirmed));
	json_object_set_new(root, "error",
		res->error.class == RD_CLASS_NONE ? json_null() : rd_json_string(res->error.text));
	json_object_set_new(root, "exit_status", json_integer(res->error.class));
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	fputc('\n', stdout);
	json_decref(root);
}

/* On a terminal, where the line of a log or of the kernel fired: what says more about it. */
static void point_to_explain(const struct record_run *r)
{
	struct rd_recorder_trigger t;
	uint64_t first, fired = 0;
	unsigned int n;
	const struct rd_recorder_file *files = rd_recorder_files(r->recorder, &n, &first);

	for (unsigned int i = 0; rd_recorder_trigger(r->recorder, i, &t); i++)
		if (strncmp(t.text, "log=", 4) == 0 || strncmp(t.text, "kmsg=", 5) == 0)
			fired += t.fired;
	if (fired && n && isatty(STDERR_FILENO))
		fprintf(stderr, "rdmadump explain --with '%s' 'LINE' says what a line means\n",
			files[(first + n - 1) % RD_RECORDER_FILES].dump.path);
}

static void put_text(const struct record_run *r, const struct rd_recorder_counts *c)
{
	const struct rd_session_result *res = r->result;
	char frames[RD_UNITS_LEN], written[RD_UNITS_LEN], size[RD_UNITS_LEN],
		sentence[2 * RD_DROPS_TEXT];
	struct rd_drops drops;

	rd_session_drops(rd_recorder_session(r->recorder), &drops);
	fprintf(stderr,
		"%" PRIu64 " trigger%s, %" PRIu64 " file%s (%s) with %s of %s frame%s in %.1f s\n",
		c->fired, rd_plural(c->fired), c->files, rd_plural(c->files),
		rd_fmt_bytes(size, c->bytes), rd_fmt_count(written, res->written.written),
		rd_fmt_count(frames, drops.delivered), rd_plural(drops.delivered),
		seconds(res->end_ns - res->start_ns));
	if (c->files_failed)
		fprintf(stderr, "files that could not be written completely: %" PRIu64 "\n",
			c->files_failed);
	if (c->forgotten)
		rd_cli_note("too many conversations for the triggers retransmission, gave-up and "
			    "stall: idle ones forgotten: %" PRIu64,
			c->forgotten);
	if (c->sent)
		fprintf(stderr, "sent to %s: %" PRIu64 ", confirmed %" PRIu64 "\n",
			r->settings->config.tell, c->sent, c->confirmed);
	rd_drops_sentence(&drops, sentence);
	rd_cli_say("", sentence);
	if (res->total.dropped)
		rd_cli_note("the output was too slow: raise --memory, or use a faster disk");
	if (res->written.unwritten)
		rd_cli_note("%s of them belong to files that could not be written: see the warning "
			    "above",
			rd_fmt_count(written, res->written.unwritten));
	point_to_explain(r);
}

void record_report_end(const struct record_run *r)
{
	struct rd_recorder_counts counts;

	rd_recorder_counts(r->recorder, &counts);
	if (r->settings->json)
		put_json(r, &counts);
	else if (!r->settings->quiet)
		put_text(r, &counts);
}
