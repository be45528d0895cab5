/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Where a capture goes: one file or series, or one for each receive queue or stripe; each tells its
 * own story. */
#include "capture.h"
#include "cli.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *session_compression(const struct session *s)
{
	if (!s->opt->compress)
		return rd_compression_of(s->opt->path);
	return strcmp(s->opt->compress, "none") ? s->opt->compress : NULL;
}

static void begin_file(void *ctx)
{
	session_comment(ctx, NULL);
}

/* The interfaces of one source. What the device lost is known for all queues together. */
static void fill_source(const struct output *o, const struct rd_file_account *account,
	unsigned int source, struct rd_iface_stats *stats)
{
	const struct session *s = o->s;
	struct rd_source *from = s->sources[source];
	bool tells_loss = account->last && o->index == 0;
	unsigned int n;

	rd_source_ifaces(from, &n);
	for (unsigned int k = 0; k < n; k++) {
		unsigned int i = s->bases[source] + k;
		const struct rd_tally *t = &account->tally[i];
		uint64_t ours = t->dropped + account->unwritten[i];
		uint64_t lost = tells_loss && n == 1 ? s->source_stats[source].lost : 0;
		struct rd_iface_stats theirs;

		stats[i] = (struct rd_iface_stats){.start_ns = account->first_ns,
			.end_ns = account->last_ns,
			.dropped_by_us = ours,
			.delivered = account->written[i]};
		if (!stats[i].start_ns || !session_is_offline(s)) {
			stats[i].start_ns = account->number == 1 || !account->first_ns
						    ? s->capture.start_ns
						    : account->first_ns;
			stats[i].end_ns = account->last || !account->last_ns ? s->capture.end_ns
									     : account->last_ns;
		}
		/* What was lost when a file was captured stays known in the next one. */
		if (tells_loss && from->ops->iface_stats &&
			from->ops->iface_stats(from, k, &theirs))
			lost = theirs.dropped;
		stats[i].drops_unknown =
			tells_loss && n == 1 && !s->source_stats[source].loss_known;
		stats[i].accepted = account->written[i] + ours;
		stats[i].received = stats[i].accepted + t->filtered + lost;
		stats[i].dropped = ours + lost;
	}
}

/* A file's frames are all in it: its statistics and its comment can be made. */
static void fill_ending(
	void *ctx, const struct rd_file_account *account, struct rd_iface_stats *stats)
{
	struct output *o = ctx;
	struct session *s = o->s;

	session_comment(o, account);
	for (unsigned int i = 0; i < s->n_sources; i++)
		if (!s->follows[i])
			fill_source(o, account, i, stats);
}

/* "a.pcapng.gz" of queue 2 is "a-q2.pcapng.gz". NULL without memory. */
static char *queue_path(const char *path, unsigned int queue)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strchr(name[0] == '.' ? name + 1 : name, '.');
	int stem = dot ? (int)(dot - path) : (int)strlen(path);
	char *out;

	return asprintf(&out, "%.*s-q%u%s", stem, path, queue, dot ? dot : "") < 0 ? NULL : out;
}

static int open_output(struct session *s, unsigned int index, unsigned int feeds)
{
	struct output *o = &s->outputs[index];
	struct rd_sink_config config = {.encoder = &o->encoder,
		.feeds = feeds,
		.buffer = s->opt->buffer / s->n_outputs,
		.hold = s->opt->hold,
		.compression_level = (int)s->opt->compress_level,
		.compression = session_compression(s),
		.write_mode = s->opt->write_mode,
		.sync = s->opt->sync,
		.patient = session_is_offline(s),
		.inputs = &s->inputs,
		.rotation = s->opt->rotation};

	o->s = s;
	o->index = index;
	o->section = s->section;
	o->section.comment = o->comment;
	o->encoder = s->encoder;
	o->encoder.section = &o->section;
	o->ending = (struct rd_sink_ending){
		signals_while_waiting, begin_file, fill_ending, o, facts_for_file};
	o->path = s->opt->per_queue   ? queue_path(s->opt->path, index)
		  : s->opt->n_stripes ? stripe_pattern(s->opt, index)
				      : strdup(s->opt->path);
	if (!o->path)
		return rd_fail(&s->error, RD_CLASS_OUTPUT, 0, NULL, "no memory for file names");
	config.path = o->path;
	o->rewritable = rd_header_rewritable(o->path, config.compression);
	for (unsigned int i = 0; i < s->n_ifaces; i++)
		if (s->ifaces[i].max_frame > config.max_frame)
			config.max_frame = s->ifaces[i].max_frame;
	return rd_sink_open(&o->sink, &config, &o->ending, &s->error);
}

/* Whether later files can be created, before anything is. */
static int check_directories(struct session *s)
{
	const struct rd_rotation *r = &s->opt->rotation;
	unsigned int n = s->opt->n_stripes ? s->opt->n_stripes : 1;
	int rc = 0;

	/* One file that ends the capture when it is full needs no place for another. */
	if (r->files == 1 || session_to_pipe(s) || !(s->opt->slice_s || r->bytes || r->frames))
		return 0;
	for (unsigned int i = 0; i < n && rc == 0; i++) {
		char *stripe = s->opt->n_stripes ? stripe_path(s->opt, i) : NULL;

		rc = rd_identity_check_directory(
			&s->identity, stripe ? stripe : s->opt->path, &s->error);
		free(stripe);
	}
	return rc;
}

/* No output is another one under a second name, nor the file that names are printed to. */
static int check_distinct(struct session *s)
{
	const char *names = s->opt->rotation.print_names_to;
	struct rd_inputs taken = s->inputs;
	const char *twice = NULL;

	for (unsigned int i = 0; i < s->n_outputs; i++)
		if (!rd_sink_claim(s->outputs[i].sink, &taken))
			twice = s->outputs[i].path;
	if (names && rd_inputs_have(&taken, names))
		twice = names;
	if (!twice)
		return 0;
	return rd_fail(&s->error, RD_CLASS_USAGE, 0,
		"nothing was changed: give each file a name of its own",
		"'%s' is used twice: it is read, or another output leads to it", twice);
}

static int open_files(struct session *s, unsigned int lanes, unsigned int stripes)
{
	if (stripes_check(s->opt, &s->error) < 0)
		return -1;
	s->n_outputs = s->opt->per_queue ? lanes : stripes;
	for (unsigned int i = 0; i < s->n_outputs; i++)
		if (open_output(s, i, s->opt->per_queue ? 1 : lanes) < 0)
			return -1;
	if (check_distinct(s) < 0)
		return -1;
	/* All could be opened: only now is anything changed. */
	for (unsigned int i = 0; i < s->n_outputs; i++)
		rd_sink_make_private(s->outputs[i].sink);
	return 0;
}

static void abandon_outputs(struct session *s)
{
	for (unsigned int i = 0; i < s->n_outputs; i++) {
		struct output *o = &s->outputs[i];

		if (o->sink)
			rd_sink_abandon(o->sink);
		free(o->path);
		*o = (struct output){0};
	}
	s->n_outputs = 0;
}

/* Root that was refused a file must learn whose rights counted. */
static int explain_user(struct session *s)
{
	const struct rd_error first = s->error;

	if (!s->identity.change || !s->identity.uid ||
		(first.errnum != EACCES && first.errnum != EPERM))
		return -1;
	return rd_fail(&s->error, first.class, 0, "-Z root keeps root",
		"%s; files are opened as user '%s'", first.text, s->identity.name);
}

int outputs_open(struct session *s)
{
	unsigned int lanes = s->n_threads ? s->n_threads : 1;
	unsigned int stripes = s->opt->n_stripes ? s->opt->n_stripes : 1;
	struct rd_identity_before before;
	int reader, rc;

	session_describe(s);
	if (!s->opt->path) {
		s->encoder = (struct rd_encoder){.ifaces = s->ifaces, .n_ifaces = s->n_ifaces};
		return 0;
	}
	if (rd_encoder_init(&s->encoder, s->opt->format, s->opt->path, &s->section, s->ifaces,
		    s->n_ifaces, &s->error) < 0 ||
		(s->opt->ibdump && ibdump_set_format(s) < 0) || check_directories(s) < 0 ||
		rd_identity_assume(&s->identity, &before, &s->error) < 0)
		return -1;
	reader = signals_await_reader(s);
	rc = open_files(s, lanes, stripes);
	if (reader >= 0)
		close(reader);
	if (rc < 0)
		abandon_outputs(s);
	rd_identity_resume(&before);
	if (rc < 0)
		return explain_user(s);
	for (unsigned int i = 0; i < lanes; i++)
		for (unsigned int k = 0; k < stripes; k++)
			s->feeds[i * stripes + k] = s->opt->per_queue
							    ? rd_sink_feed(s->outputs[i].sink, 0)
							    : rd_sink_feed(s->outputs[k].sink, i);
	for (unsigned int k = 0; k < stripes; k++)
		s->merged[k] = s->outputs[k].sink;
	return 0;
}

int outputs_start(struct session *s)
{
	for (unsigned int i = 0; i < s->n_outputs; i++) {
		if (rd_sink_start(s->outputs[i].sink, &s->error) < 0)
			return -1;
		s->outputs[i].started = true;
	}
	return 0;
}

void outputs_stats(const struct session *s, struct rd_sink_stats *sum)
{
	*sum = (struct rd_sink_stats){0};
	for (unsigned int i = 0; i < s->n_outputs; i++) {
		struct rd_sink_stats one = s->outputs[i].written;

		if (s->outputs[i].sink)
			rd_sink_stats(s->outputs[i].sink, &one);
		sum->written += one.written;
		sum->unwritten += one.unwritten;
		sum->beyond += one.beyond;
		sum->late += one.late;
		sum->file_bytes += one.file_bytes;
		sum->files += one.files;
	}
}

static void close_output(struct session *s, struct output *o, const struct rd_tally *final)
{
	struct rd_identity_before before;
	struct rd_error err;
	bool broken_pipe = false;
	int rc;

	if (!o->sink)
		return;
	if (!o->started) {
		/* The path is the user's, who may have put something else there. */
		if (rd_identity_assume(&s->identity, &before, &err) == 0) {
			rd_sink_abandon(o->sink);
			rd_identity_resume(&before);
		}
		o->sink = NULL;
		return;
	}
	rc = rd_sink_close(o->sink, final, &o->written, &broken_pipe, &err);
	o->sink = NULL;
	s->broken_pipe |= broken_pipe;
	/* Somebody who ran `| head` has what he wanted. */
	if (rc < 0 && s->error.class == RD_CLASS_NONE && !broken_pipe)
		s->error = err;
}

void outputs_close(struct session *s)
{
	for (unsigned int i = 0; i < s->n_outputs; i++)
		close_output(s, &s->outputs[i],
			s->opt->per_queue ? s->capture.lane_tally[i] : s->capture.stripe_tally[i]);
	if (s->n_outputs)
		outputs_stats(s, &s->written);
	else
		s->written.written = rd_capture_total(&s->capture).encoded;
	for (unsigned int i = 0; i < s->n_outputs; i++)
		free(s->outputs[i].path);
}
