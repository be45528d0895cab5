/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints the start of a capture, its progress, and the report at the end, as text or JSON. */
#include "capture.h"
#include <inttypes.h>
#include <limits.h>
#include <rdmadump/document.h>
#include <rdmadump/json.h>
#include <rdmadump/units.h>

static double seconds(const struct capture_run *r)
{
	return (double)(r->result->end_ns - r->result->start_ns) / 1e9;
}

/* --- while it runs ---------------------------------------------------------------------- */

void report_start(const struct capture_run *r)
{
	bool offline = rd_session_offline(r->session);
	unsigned int n;
	const struct rd_session_source *sources = rd_session_sources(r->session, &n);

	for (unsigned int i = 0; i < n; i++)
		rd_log(RD_LOG_INFO, "%s %s, %s%s", offline ? "reading" : "capturing on",
			sources[i].source->title, sources[i].source->details,
			offline || i + 1 < n || r->style ? "" : "; Ctrl-C stops");
	if (r->style)
		rd_log(RD_LOG_INFO, "%s", r->style->ready);
}

/* A bar if the input's size is known. */
static void progress_bar(const struct rd_session_progress *p, char *bar, size_t size)
{
	int width = 20, full;

	bar[0] = '\0';
	if (!p->input_size)
		return;
	full = (int)(p->input_done * (uint64_t)width / p->input_size);
	snprintf(bar, size, "  [%.*s%*s] %" PRIu64 " %%", full, "####################",
		width - full, "", p->input_done * 100 / p->input_size);
}

/* The rate is that since the last line; on request (SIGUSR1) the average since the start. */
void report_progress(struct capture_run *r, bool on_request, char *line, size_t size)
{
	char hms[RD_UNITS_LEN], frames[RD_UNITS_LEN], bytes[RD_UNITS_LEN], rate[RD_UNITS_LEN],
		file[RD_UNITS_LEN], lost[RD_UNITS_LEN], bar[48];
	struct rd_session_progress p;
	uint64_t since_ns = on_request ? 0 : r->last_ns, since = on_request ? 0 : r->last_bytes;
	double past;

	rd_session_progress(r->session, &p);
	past = (double)(p.elapsed_ns - since_ns) / 1e9;
	progress_bar(&p, bar, sizeof(bar));
	snprintf(line, size, "  %s   %s frame%s   %s   %s   file %s   lost %s%s%s",
		rd_fmt_hms(hms, p.elapsed_ns / 1000000000U), rd_fmt_count(frames, p.frames),
		rd_plural(p.frames), rd_fmt_bytes(bytes, p.bytes),
		rd_fmt_bitrate(rate, past > 0 ? (double)(p.bytes - since) * 8 / past : 0),
		rd_fmt_bytes(file, p.file_bytes), rd_fmt_count(lost, p.lost),
		p.lost_known ? "" : " or more", bar);
	if (on_request)
		return;
	r->last_ns = p.elapsed_ns;
	r->last_bytes = p.bytes;
}

/* --- at the end ------------------------------------------------------------------------- */

/* No file of the series has the name of -w itself. */
static bool only_named_after(const struct rd_session_config *c)
{
	const struct rd_rotation *rotation = &c->out.rotation;

	if (!(rotation->bytes || rotation->frames || c->slice_s))
		return false;
	return rotation->naming == RD_NAMES_DUMPCAP || (rotation->ring && !rotation->timed) ||
	       (rotation->timed && strchr(c->out.path, '%'));
}

static void report_where(const struct capture_run *r)
{
	const char *path = r->opt->session.out.path;
	char n[RD_UNITS_LEN], size[RD_UNITS_LEN], before[48] = "", files[48] = "",
						  line[PATH_MAX + 200];
	int used = snprintf(line, sizeof(line), "%s frame%s in %.1f s",
		rd_fmt_count(n, r->result->written.written), rd_plural(r->result->written.written),
		seconds(r));

	if (path && only_named_after(&r->opt->session))
		snprintf(before, sizeof(before), "%u file%s named after ", r->result->written.files,
			rd_plural(r->result->written.files));
	else if (r->result->written.files > 1)
		snprintf(files, sizeof(files), " and others, %u files", r->result->written.files);
	if (path)
		snprintf(line + used, sizeof(line) - (size_t)used, ", written to %s%s%s (%s)",
			before, strcmp(path, "-") ? path : "standard output", files,
			rd_fmt_bytes(size, r->result->written.file_bytes));
	rd_cli_say("", line);
}

/* A line, if there are any: what stands before their number, what they are, and what of them. */
static void put_count(const char *before, uint64_t n, const char *noun, const char *after)
{
	if (n)
		rd_cli_note("%s%" PRIu64 " %s%s%s", before, n, noun, rd_plural(n), after);
}

/* What was counted before frames were filtered out says so. */
static void report_account(const struct rd_frame_account *a, bool filtered)
{
	char in[RD_UNITS_LEN], out[RD_UNITS_LEN], unknown[RD_UNITS_LEN];

	rd_cli_note("received %s    sent %s    direction unknown %s%s",
		rd_fmt_count(in, a->direction[RD_DIR_IN]),
		rd_fmt_count(out, a->direction[RD_DIR_OUT]),
		rd_fmt_count(unknown, a->direction[RD_DIR_UNKNOWN]),
		filtered ? "    (before the filter)" : "");
	put_count(
		"", a->bad_time, "timestamp", " of the device more than 1 s off, stored unchanged");
	put_count("", a->no_time, "frame",
		" without a timestamp of the device, with the system clock's");
	if (a->disordered[RD_DIR_IN] || a->disordered[RD_DIR_OUT] || a->disordered[RD_DIR_UNKNOWN])
		rd_cli_note("timestamps of the device out of order: %" PRIu64 " received, %" PRIu64
			    " sent, %" PRIu64 " of unknown direction (reordercap sorts the file)",
			a->disordered[RD_DIR_IN], a->disordered[RD_DIR_OUT],
			a->disordered[RD_DIR_UNKNOWN]);
}

static json_t *json_directions(const uint64_t *count)
{
	return json_pack("{s:o, s:o, s:o}", "in", rd_json_u64(count[RD_DIR_IN]), "out",
		rd_json_u64(count[RD_DIR_OUT]), "unknown", rd_json_u64(count[RD_DIR_UNKNOWN]));
}

static void report_scope(const struct capture_run *r)
{
	unsigned int n;
	const struct rd_session_source *sources = rd_session_sources(r->session, &n);
	char scope[RD_LOSS_TEXT];

	for (unsigned int i = 0; i < n; i++) {
		rd_session_scope_text(&sources[i], scope);
		if (*scope)
			rd_cli_note("%s%s%s", n > 1 ? sources[i].device->name : "",
				n > 1 ? ": " : "", scope);
	}
}

static void report_text(const struct capture_run *r)
{
	struct rd_tally t = r->result->total;
	char filtered[RD_UNITS_LEN], text[RD_DROPS_TEXT];
	struct rd_drops drops;

	report_where(r);
	rd_session_drops(r->session, &drops);
	rd_drops_text(&drops, text);
	rd_cli_note("filtered out %s, %s", rd_fmt_count(filtered, t.filtered), text);
	rd_drops_scope(&drops, text);
	if (*text)
		rd_cli_note("%s", text);
	loss_text(r);
	report_account(&r->result->account, t.filtered);
	if (r->result->written.beyond)
		rd_cli_note(
			"%" PRIu64
			" of these frames arrived after the last file was full, and are in none",
			r->result->written.beyond);
	report_scope(r);
	put_count("", r->result->left_out, "frame",
		" of other link types left out: a file has one link type");
	put_count("", r->result->written.late, "frame",
		" arrived too late to be sorted among those of other queues (reordercap sorts the "
		"file)");
	put_count("the receive queue failed ", r->result->gaps, "time",
		"; an unknown number of frames is missing there");
	if (r->result->end == RD_END_MEMORY)
		rd_cli_note("the memory of -M was full: the capture ended there");
	loss_advise(r);
}

static const char *end_name(const struct capture_run *r)
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

	if (r->broken_pipe)
		return "closed pipe";
	if (r->result->end == RD_END_WATCH && !r->ending.signal)
		return r->result->paused ? "pause" : "duration";
	return names[r->result->end];
}

static json_t *json_source(const struct capture_run *r, const struct rd_session_source *from)
{
	const struct rd_device *d = from->device;
	const struct rd_port *p = from->port;
	const struct rd_source *source = from->source;
	struct rd_trailers trailers[RD_DIRECTIONS];
	json_t *o = json_pack("{s:s, s:o, s:o, s:o, s:o}", "kind", source->ops->name, "name",
		rd_json_string(source->iface.name ? source->iface.name : ""), "title",
		rd_json_string(source->title), "lost", loss_json_source(r, from), "gaps",
		rd_json_u64(from->stats.gaps));

	if (source->ops->trailers && source->ops->trailers(from->source, trailers))
		json_object_set_new(o, "checksums", rd_trailers_json(trailers));
	if (d && p)
		json_object_update_new(o,
			json_pack("{s:s, s:s, s:i, s:s, s:s, s:s, s:s, s:s}", "device", d->name,
				"function", rd_function_name(d->function.kind), "port", (int)p->num,
				"netdev", p->n_netdevs ? p->netdevs[0].name : "", "link",
				p->link == RD_LINK_INFINIBAND ? "InfiniBand" : "Ethernet",
				"firmware", d->fw, "driver", d->driver, "pci", d->pci));
	return o;
}

static json_t *json_sources(const struct capture_run *r)
{
	unsigned int n;
	const struct rd_session_source *sources = rd_session_sources(r->session, &n);

	return RD_JSON_LIST(source, sources, n, json_source(r, source));
}

static void report_json(const struct capture_run *r)
{
	struct rd_tally t = r->result->total;
	const struct rd_format *format = rd_session_encoder(r->session)->format;
	json_t *root;
	FILE *out = capture_to_pipe(r->opt) ? stderr : stdout;
	root = rd_document(2, r->result->start_ns,
		json_pack("{s:f, s:s, s:o, s:o, s:s?, s:I, s:o}", "duration_s", seconds(r),
			"ended_by", end_name(r), "sources", json_sources(r), "file",
			rd_json_string(r->opt->session.out.path), "format",
			format ? format->name : NULL, "files", (json_int_t)r->result->written.files,
			"filter", rd_json_string(rd_session_filter_text(r->session))));
	if (!root)
		return;
	json_object_set_new(root, "frames",
		json_pack("{s:o, s:o, s:o, s:{s:o, s:o}, s:o, s:o, s:o}", "delivered",
			rd_json_u64(rd_tally_delivered(&t)), "written",
			rd_json_u64(r->result->written.written), "filtered",
			rd_json_u64(t.filtered), "dropped", "buffer_full", rd_json_u64(t.dropped),
			"output", rd_json_u64(r->result->written.unwritten), "left_out",
			rd_json_u64(r->result->left_out), "beyond",
			rd_json_u64(r->result->written.beyond), "out_of_order",
			rd_json_u64(r->result->written.late)));
	json_object_set_new(root, "directions", json_directions(r->result->account.direction));
	json_object_set_new(root, "timestamps",
		json_pack("{s:o, s:o, s:o}", "implausible",
			rd_json_u64(r->result->account.bad_time), "missing",
			rd_json_u64(r->result->account.no_time), "out_of_order",
			json_directions(r->result->account.disordered)));
	json_object_set_new(root, "lost_before_us", loss_json(r));
	json_object_set_new(root, "bytes", rd_json_u64(r->result->bytes));
	json_object_set_new(root, "file_bytes", rd_json_u64(r->result->written.file_bytes));
	json_object_set_new(root, "gaps", rd_json_u64(r->result->gaps));
	json_object_set_new(root, "error",
		r->result->error.class == RD_CLASS_NONE ? json_null()
							: rd_json_string(r->result->error.text));
	json_object_set_new(root, "exit_status", json_integer(r->result->error.class));
	if (r->live)
		json_object_set_new(root, "analysis", live_json(r->live));
	json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	fputc('\n', out);
	json_decref(root);
}

void report_end(const struct capture_run *r)
{
	if (r->opt->json)
		report_json(r);
	else if (r->style)
		r->style->report(r);
	else if (!r->opt->quiet)
		report_text(r);
	if (r->live && !r->opt->json)
		live_report(r->live);
	/* Also after an error, like a damaged file: what was counted before it. */
	if (r->opt->only_count)
		printf("%" PRIu64 " frame%s\n", r->result->total.encoded,
			rd_plural(r->result->total.encoded));
}
