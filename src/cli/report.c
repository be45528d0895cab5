/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a capture says of itself: start, progress, end; the texts stored in the file. */
#include "capture.h"
#include "cli.h"
#include "config.h"
#include "loss.h"
#include "version.h"
#include <inttypes.h>
#include <jansson.h>
#include <rdmadump/clock.h>
#include <rdmadump/json.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct rd_tally session_total(const struct session *s)
{
	struct rd_tally t = rd_capture_total(&s->capture);

	t.delivered -= s->written.beyond;
	t.encoded -= s->written.beyond;
	return t;
}

static uint64_t dropped_by_us(const struct session *s)
{
	return session_total(s).dropped + s->written.unwritten;
}

/* Sources but for further queues of the same port. */
static unsigned int session_ports(const struct session *s)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->n_sources; i++)
		n += !s->follows[i];
	return n;
}

static uint64_t gaps(const struct session *s)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < s->n_sources; i++)
		n += s->source_stats[i].gaps;
	return n;
}

static uint64_t left_out(const struct session *s)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < s->n_sources; i++)
		n += s->source_stats[i].left_out;
	return n;
}

static double seconds(const struct session *s)
{
	return (double)(s->capture.end_ns - s->capture.start_ns) / 1e9;
}

/* --- while it runs ---------------------------------------------------------------------- */

void report_start(const struct session *s)
{
	unsigned int last = s->n_sources;

	while (last && s->follows[--last])
		;
	for (unsigned int i = 0; i < s->n_sources; i++)
		if (!s->follows[i])
			rd_log(RD_LOG_INFO, "%s %s, %s%s",
				session_is_offline(s) ? "reading" : "capturing on",
				s->sources[i]->title, s->sources[i]->details,
				session_is_offline(s) || i < last ? "" : "; Ctrl-C stops");
}

/* A bar where the end is known. */
static void progress_bar(const struct session *s, char *bar, size_t room)
{
	const struct rd_source *source = s->sources[0];
	uint64_t done = 0, size = 0;
	int width = 20, full;

	bar[0] = '\0';
	if (source->ops->progress)
		source->ops->progress(s->sources[0], &done, &size);
	if (!size)
		return;
	full = (int)(done * (uint64_t)width / size);
	snprintf(bar, room, "  [%.*s%*s] %" PRIu64 " %%", full, "####################",
		width - full, "", done * 100 / size);
}

void report_progress(struct session *s, char *line, size_t room)
{
	char hms[RD_UNITS_LEN], frames[RD_UNITS_LEN], bytes[RD_UNITS_LEN], rate[RD_UNITS_LEN],
		file[RD_UNITS_LEN], lost[RD_UNITS_LEN], bar[48];
	struct rd_tally t = rd_capture_total(&s->capture);
	uint64_t now_bytes = rd_capture_bytes(&s->capture);
	/* The rate is that since the last line, in the first one since the start. */
	uint64_t now = rd_monotonic_ns(), since = s->last_ns ? s->last_ns : s->started_ns;
	double past = (double)(now - since) / 1e9;
	struct rd_sink_stats sink = {0};
	uint64_t lost_before = 0;
	bool known = true;

	for (unsigned int i = 0; i < s->n_sources; i++) {
		struct rd_source_stats source;

		s->sources[i]->ops->stats(s->sources[i], &source);
		lost_before += source.lost;
		known &= source.loss_known || s->follows[i] || session_is_offline(s);
	}
	outputs_stats(s, &sink);
	progress_bar(s, bar, sizeof(bar));
	snprintf(line, room, "  %s   %s frames   %s   %s   file %s   lost %s%s%s",
		rd_fmt_hms(hms, (now - s->started_ns) / 1000000000U),
		rd_fmt_count(frames, t.delivered), rd_fmt_bytes(bytes, now_bytes),
		rd_fmt_bitrate(rate, past > 0 ? (double)(now_bytes - s->last_bytes) * 8 / past : 0),
		rd_fmt_bytes(file, sink.file_bytes),
		rd_fmt_count(lost, t.dropped + sink.unwritten + lost_before),
		known ? "" : " or more", bar);
	s->last_ns = now;
	s->last_bytes = now_bytes;
}

/* --- in the file ------------------------------------------------------------------------ */

void session_describe(struct session *s)
{
	const struct rd_section *theirs = s->n_sources ? s->sources[0]->section : NULL;

	if (theirs) {
		snprintf(s->hardware, sizeof(s->hardware), "%s",
			theirs->hardware ? theirs->hardware : "");
		snprintf(s->os, sizeof(s->os), "%s", theirs->os ? theirs->os : "");
	} else if (!session_is_offline(s)) {
		rd_machine_hardware(s->hardware, sizeof(s->hardware));
		rd_machine_os(s->os, sizeof(s->os));
	}
	snprintf(s->application, sizeof(s->application), "rdmadump %s (%s)", PACKAGE_VERSION,
		RD_GIT_DESCRIPTION);
	s->section = (struct rd_section){
		.hardware = s->hardware, .os = s->os, .application = s->application};
}

static int comment_head(const struct session *s, char *out, size_t room)
{
	const struct rd_section *theirs = s->sources[0]->section;
	char host[65] = "", start[40];
	struct timespec now;
	struct tm tm;

	if (session_is_offline(s)) {
		const char *was = theirs && theirs->comment ? theirs->comment : "";
		int len = (int)strlen(was);

		while (len && was[len - 1] == ' ')
			len--;
		return snprintf(out, room, "From %s. %.*s%s", s->sources[0]->title,
			len < 300 ? len : 300, was, len ? " Then: " : "");
	}
	gethostname(host, sizeof(host) - 1);
	clock_gettime(CLOCK_REALTIME, &now);
	if (s->capture.start_ns)
		now.tv_sec = (time_t)(s->capture.start_ns / 1000000000U);
	strftime(start, sizeof(start), "%Y-%m-%d %H:%M:%S %z", localtime_r(&now.tv_sec, &tm));
	return snprintf(out, room, "%s%s on host %s, from %s. ", s->sources[0]->title,
		session_ports(s) > 1 ? " and others" : "", host, start);
}

/* The last file tells of the whole capture, the others of themselves. */
static void comment_numbers(
	const struct session *s, const struct rd_file_account *a, char *out, size_t room)
{
	char written[RD_UNITS_LEN], filtered[RD_UNITS_LEN], dropped[RD_UNITS_LEN], loss[160];
	uint64_t w = 0, f = 0, d = 0;

	for (unsigned int i = 0; i < s->n_ifaces; i++) {
		w += a->written[i];
		f += a->tally[i].filtered;
		d += a->tally[i].dropped + a->unwritten[i];
	}
	if (!a->last) {
		snprintf(out, room,
			"File %u: %s frames written; filtered out %s, dropped by rdmadump %s; "
			"what the device dropped stands in the last file.",
			a->number, rd_fmt_count(written, w), rd_fmt_count(filtered, f),
			rd_fmt_count(dropped, d));
		return;
	}
	loss_text(s, loss, sizeof(loss));
	snprintf(out, room,
		"%s frames written in %.1f s; filtered out %s, dropped by rdmadump %s, "
		"dropped %s.%s%.256s",
		rd_fmt_count(written, w), seconds(s), rd_fmt_count(filtered, f),
		rd_fmt_count(dropped, d), loss,
		s->error.class != RD_CLASS_NONE ? " Ended by a fault: " : "",
		s->error.class != RD_CLASS_NONE ? s->error.text : "");
}

/* Of a further stripe: what came not to any of them stands in the first. */
static void comment_stripe(
	const struct session *s, const struct rd_file_account *a, char *out, size_t room)
{
	char written[RD_UNITS_LEN], unwritten[RD_UNITS_LEN];
	uint64_t w = 0, u = 0;

	for (unsigned int i = 0; i < s->n_ifaces; i++) {
		w += a->written[i];
		u += a->unwritten[i];
	}
	snprintf(out, room,
		"File %u: %s frames written, %s that could not be written; what was filtered out "
		"or dropped before stands in stripe 1.",
		a->number, rd_fmt_count(written, w), rd_fmt_count(unwritten, u));
}

/* Always of the same length, so that the end can be written over the beginning. */
void session_comment(struct output *o, const struct rd_file_account *account)
{
	const size_t room = sizeof(o->comment);
	size_t used = (size_t)comment_head(o->s, o->comment, room);

	if (used < room && o->s->opt->n_stripes)
		used += (size_t)snprintf(o->comment + used, room - used,
			"This is stripe %u of %u: the others' frames are in other directories. ",
			o->index + 1, o->s->n_outputs);
	else if (used < room && o->s->n_outputs > 1)
		used += (size_t)snprintf(o->comment + used, room - used,
			"Receive queue %u of %u: the others' frames are in other files. ", o->index,
			o->s->n_outputs);
	if (used < room) {
		if (account && o->s->opt->n_stripes && o->index)
			comment_stripe(o->s, account, o->comment + used, room - used);
		else if (account)
			comment_numbers(o->s, account, o->comment + used, room - used);
		else
			snprintf(o->comment + used, room - used, "%s",
				o->rewritable
					? "Not finished: the program still writes, or was killed; "
					  "what was lost is not known."
					: "What was lost stands in the interface statistics at "
					  "the end; without them the capture was not finished.");
	}
	used = strlen(o->comment);
	memset(o->comment + used, ' ', room - 1 - used);
	o->comment[room - 1] = '\0';
}

/* --- at the end ------------------------------------------------------------------------- */

static void report_where(const struct session *s)
{
	char n[RD_UNITS_LEN], size[RD_UNITS_LEN], files[48] = "";

	if (!s->opt->path) {
		fprintf(stderr, "%s frames in %.1f s\n", rd_fmt_count(n, s->written.written),
			seconds(s));
		return;
	}
	if (s->opt->n_stripes)
		snprintf(files, sizeof(files), " in %u directories, %u files", s->opt->n_stripes,
			s->written.files);
	else if (s->written.files > 1)
		snprintf(files, sizeof(files), " and others, %u files", s->written.files);
	fprintf(stderr, "%s frames in %.1f s, written to %s%s (%s)\n",
		rd_fmt_count(n, s->written.written), seconds(s),
		strcmp(s->opt->path, "-") ? s->opt->path : "standard output", files,
		rd_fmt_bytes(size, s->written.file_bytes));
}

void report_text(const struct session *s)
{
	struct rd_tally t = session_total(s);
	char filtered[RD_UNITS_LEN], dropped[RD_UNITS_LEN], loss[160];

	report_where(s);
	stripes_text(s);
	loss_text(s, loss, sizeof(loss));
	fprintf(stderr, "  filtered out %s    dropped by rdmadump %s    dropped %s\n",
		rd_fmt_count(filtered, t.filtered), rd_fmt_count(dropped, dropped_by_us(s)), loss);
	if (left_out(s))
		fprintf(stderr,
			"  %" PRIu64
			" frames of other link types were left out: a file holds one\n",
			left_out(s));
	if (s->written.late)
		fprintf(stderr,
			"  %" PRIu64
			" frames came so late that they stand behind newer ones of other queues "
			"(reordercap puts them right)\n",
			s->written.late);
	if (gaps(s))
		fprintf(stderr,
			"  the receive queue failed %" PRIu64
			" times and was brought back; frames are missing there, unknown how many\n",
			gaps(s));
	if (s->capture.end == RD_END_MEMORY)
		fprintf(stderr, "  the memory of -M was full: the capture ended there\n");
	loss_advise(s);
}

void report_ibdump(const struct session *s)
{
	bool known;
	uint64_t lost = session_lost(s, &known);

	if (s->opt->quiet)
		return;
	if (s->capture.end == RD_END_MEMORY)
		fprintf(stderr, "Buffer full ...\n");
	fprintf(stderr, "Captured: %" PRIu64 " packets, %" PRIu64 " bytes\n", s->written.written,
		ibdump_bytes(s));
	if (dropped_by_us(s))
		fprintf(stderr, "-W- %" PRIu64 " packets were dropped\n", dropped_by_us(s));
	if (lost)
		fprintf(stderr, "-W- %" PRIu64 " packets were lost by the device\n", lost);
}

static const char *end_name(const struct session *s)
{
	static const char *const names[] = {
		[RD_END_WATCH] = "signal",
		[RD_END_COUNT] = "count",
		[RD_END_SOURCE] = "source",
		[RD_END_FAULT] = "fault",
		[RD_END_OUTPUT] = "output",
		[RD_END_FILES] = "files",
		[RD_END_MEMORY] = "memory",
	};

	if (s->broken_pipe)
		return "closed pipe";
	if (s->capture.end == RD_END_WATCH && !s->signal)
		return "duration";
	return names[s->capture.end];
}

static json_t *json_count(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *json_source(const struct session *s, unsigned int i)
{
	const struct rd_device *d = s->device[i];
	const struct rd_port *p = s->port[i];
	const struct rd_source *source = s->sources[i];
	json_t *o = json_pack("{s:s, s:o, s:o, s:o, s:o}", "kind", source->ops->name, "name",
		rd_json_string(source->iface.name ? source->iface.name : ""), "title",
		rd_json_string(source->title), "lost", loss_json_source(s, i), "gaps",
		json_count(s->source_stats[i].gaps));

	if (d && p)
		json_object_update_new(o,
			json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s}", "device", d->name, "port",
				(int)p->num, "netdev", p->n_netdevs ? p->netdevs[0].name : "",
				"link", p->link == RD_LINK_INFINIBAND ? "InfiniBand" : "Ethernet",
				"firmware", d->fw, "driver", d->driver, "pci", d->pci));
	return o;
}

void report_json(const struct session *s)
{
	struct rd_tally t = session_total(s);
	json_t *sources = json_array(), *root;
	FILE *out = s->opt->path && strcmp(s->opt->path, "-") == 0 ? stderr : stdout;

	for (unsigned int i = 0; i < s->n_sources; i++)
		if (!s->follows[i])
			json_array_append_new(sources, json_source(s, i));
	root = json_pack("{s:i, s:s, s:o, s:o, s:s?, s:I, s:I, s:f, s:s, s:o}", "version", 1,
		"program", s->application, "sources", sources, "file", rd_json_string(s->opt->path),
		"format", s->encoder.format ? s->encoder.format->name : NULL, "files",
		(json_int_t)s->written.files, "start_ns", (json_int_t)s->capture.start_ns,
		"duration_s", seconds(s), "ended_by", end_name(s), "filter",
		rd_json_string(s->filter_text));
	if (!root)
		return;
	json_object_set_new(root, "frames",
		json_pack("{s:o, s:o, s:o, s:{s:o, s:o}, s:o, s:o}", "delivered",
			json_count(t.delivered), "written", json_count(s->written.written),
			"filtered", json_count(t.filtered), "dropped", "buffer_full",
			json_count(t.dropped), "output", json_count(s->written.unwritten),
			"left_out", json_count(left_out(s)), "out_of_order",
			json_count(s->written.late)));
	json_object_set_new(root, "lost_before_us", loss_json(s));
	json_object_set_new(root, "bytes", json_count(s->capture.bytes));
	json_object_set_new(root, "file_bytes", json_count(s->written.file_bytes));
	if (s->opt->n_stripes)
		json_object_set_new(root, "stripes", stripes_json(s));
	json_object_set_new(root, "gaps", json_count(gaps(s)));
	json_object_set_new(root, "error",
		s->error.class == RD_CLASS_NONE ? json_null() : rd_json_string(s->error.text));
	json_object_set_new(root, "exit_status", json_integer(s->error.class));
	if (s->live)
		json_object_set_new(root, "analysis", live_json(s->live));
	json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	fputc('\n', out);
	json_decref(root);
}
