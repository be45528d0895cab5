/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Outputs: one file or series, or one for each receive queue or stripe, each with its own
 * statistics and comment. */
#include "session.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READER_MS 50 /* between two checks for a reader of a FIFO */

bool outputs_to_pipe(const struct rd_session *s)
{
	return s->config->path && strcmp(s->config->path, "-") == 0;
}

const char *outputs_compression(const struct rd_session *s)
{
	if (!s->config->compression)
		return rd_compression_of(s->config->path);
	return strcmp(s->config->compression, "none") ? s->config->compression : NULL;
}

static bool waiting(void *ctx, bool commands)
{
	const struct rd_session_config *config = ((struct output *)ctx)->s->config;

	return config->waiting ? config->waiting(config->ctx, commands) : true;
}

static void begin_file(void *ctx)
{
	comment_make(ctx, NULL);
}

/* The interfaces of one source. The device's losses are known for all queues together only. */
static void fill_source(const struct output *o, const struct rd_file_account *account,
	unsigned int source, struct rd_iface_stats *stats)
{
	const struct rd_session *s = o->s;
	struct rd_source *from = s->in.sources[source];
	bool has_loss = account->last && o->index == 0;
	unsigned int n;

	rd_source_ifaces(from, &n);
	for (unsigned int k = 0; k < n; k++) {
		unsigned int i = s->in.bases[source] + k;
		const struct rd_tally *t = &account->tally[i];
		uint64_t ours = t->dropped + account->unwritten[i];
		uint64_t lost = has_loss && n == 1 ? s->in.stats[source].lost : 0;
		struct rd_iface_stats theirs;

		stats[i] = (struct rd_iface_stats){.start_ns = account->first_ns,
			.end_ns = account->last_ns,
			.dropped_by_us = ours,
			.delivered = account->written[i]};
		if (!stats[i].start_ns || !is_offline(s)) {
			stats[i].start_ns = account->number == 1 || !account->first_ns
						    ? s->capture.start_ns
						    : account->first_ns;
			stats[i].end_ns = account->last || !account->last_ns ? s->capture.end_ns
									     : account->last_ns;
		}
		/* Losses that an input file records are kept in the output. */
		if (account->dump && k == 0)
			lost = recording_lost(s);
		if (has_loss && from->ops->iface_stats && from->ops->iface_stats(from, k, &theirs))
			lost = theirs.dropped;
		stats[i].drops_unknown = has_loss && n == 1 && !s->in.stats[source].loss_known;
		if (account->dump) {
			stats[i].start_ns = account->dump->from_ns;
			stats[i].end_ns = account->dump->until_ns;
		}
		stats[i].accepted = account->written[i] + ours;
		stats[i].received = stats[i].accepted + t->filtered + lost;
		stats[i].dropped = ours + lost;
	}
}

/* Called when all frames of a file were written: fills in its statistics and its comment. */
static void fill_ending(
	void *ctx, const struct rd_file_account *account, struct rd_iface_stats *stats)
{
	struct output *o = ctx;
	struct rd_session *s = o->s;

	/* A recording has one writer; a capture may have several at this place at once. */
	if (s->config->recording)
		s->recording.dump = account->dump;
	comment_make(o, account);
	for (unsigned int i = 0; i < s->in.n; i++)
		if (!s->in.follows[i])
			fill_source(o, account, i, stats);
	if (s->in.n_ifaces && *o->sentence)
		stats[0].comment = o->sentence;
}

/* "a.pcapng.gz" of queue 2 is "a-q2.pcapng.gz". NULL: out of memory. */
static char *queue_path(const char *path, unsigned int queue)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strchr(name[0] == '.' ? name + 1 : name, '.');
	int stem = dot ? (int)(dot - path) : (int)strlen(path);
	char *out;

	return asprintf(&out, "%.*s-q%u%s", stem, path, queue, dot ? dot : "") < 0 ? NULL : out;
}

static int open_output(struct rd_session *s, unsigned int index, unsigned int feeds)
{
	struct output *o = &s->out.list[index];
	struct rd_sink_config config = {.encoder = &o->encoder,
		.feeds = feeds,
		.buffer = s->config->buffer / s->out.n,
		.numa_node = inputs_numa_node(s),
		.hold = s->config->hold,
		.compression_level = s->config->compression_level,
		.compression = outputs_compression(s),
		.write_mode = s->config->write_mode,
		.sync = s->config->sync,
		.patient = is_offline(s),
		.inputs = &s->in.files,
		.rotation = s->config->rotation,
		.retention = s->config->recording ? &s->config->recording->retention : NULL};

	o->s = s;
	o->index = index;
	o->section = s->out.section;
	o->section.comment = o->comment;
	o->encoder = s->out.encoder;
	o->encoder.section = &o->section;
	o->ending = (struct rd_sink_ending){waiting, begin_file, fill_ending, o,
		s->config->recording ? recording_facts : facts_for_file};
	o->path = s->config->per_queue	 ? queue_path(s->config->path, index)
		  : s->config->n_stripes ? stripe_pattern(s->config, index)
					 : strdup(s->config->path);
	if (!o->path)
		return rd_fail(&s->error, RD_CLASS_OUTPUT, 0, NULL, "memory for file names");
	config.path = o->path;
	o->rewritable = rd_header_rewritable(o->path, config.compression);
	for (unsigned int i = 0; i < s->in.n_ifaces; i++)
		if (s->in.ifaces[i].max_frame > config.max_frame)
			config.max_frame = s->in.ifaces[i].max_frame;
	return rd_sink_open(&o->sink, &config, &o->ending, &s->error);
}

/* Checks whether later files can be created, before the first one is, and what root writes to. */
static int check_directories(struct rd_session *s)
{
	const struct rd_rotation *r = &s->config->rotation;
	unsigned int n = s->config->n_stripes ? s->config->n_stripes : 1;
	/* A single file that ends the capture when it is full needs no further directory entry. */
	bool later = r->files != 1 &&
		     (s->config->slice_s || r->bytes || r->frames || s->config->recording);
	int rc = outputs_to_pipe(s) ? 1 : 0;

	for (unsigned int i = 0; i < n && rc == 0; i++) {
		char *stripe = s->config->n_stripes ? rd_stripe_path(s->config, i) : NULL;
		const char *path = stripe ? stripe : s->config->path;

		rc = rd_identity_check_root(&s->identity, path, &s->error);
		if (!rc && later)
			rc = rd_identity_check_directory(&s->identity, path, &s->error);
		free(stripe);
	}
	return rc < 0 ? -1 : 0;
}

/* No output may be an input, another output, or the file of `printname`, under any name. */
static int check_distinct(struct rd_session *s)
{
	const char *names = s->config->rotation.print_names_to;
	struct rd_inputs taken = s->in.files;
	const char *twice = NULL;

	for (unsigned int i = 0; i < s->out.n; i++)
		if (!rd_sink_claim(s->out.list[i].sink, &taken))
			twice = s->out.list[i].path;
	if (names && rd_inputs_have(&taken, names))
		twice = names;
	if (!twice)
		return 0;
	return rd_fail(&s->error, RD_CLASS_USAGE, 0,
		"nothing was changed: give each file a name of its own",
		"'%s' is used twice: as two outputs, or as input and output", twice);
}

static int open_files(struct rd_session *s, unsigned int lanes, unsigned int stripes)
{
	if (stripes_check(s->config, &s->error) < 0)
		return -1;
	s->out.n = s->config->per_queue ? lanes : stripes;
	for (unsigned int i = 0; i < s->out.n; i++)
		if (open_output(s, i, s->config->per_queue ? 1 : lanes) < 0)
			return -1;
	if (check_distinct(s) < 0)
		return -1;
	/* Nothing is changed before all outputs could be opened. */
	for (unsigned int i = 0; i < s->out.n; i++)
		rd_sink_make_private(s->out.list[i].sink);
	return 0;
}

static void abandon_outputs(struct rd_session *s)
{
	for (unsigned int i = 0; i < s->out.n; i++) {
		struct output *o = &s->out.list[i];

		if (o->sink)
			rd_sink_abandon(o->sink);
		free(o->path);
		*o = (struct output){0};
	}
	s->out.n = 0;
}

/* If files are opened with another user's rights, a permission error names that user. */
static int explain_user(struct rd_session *s)
{
	const struct rd_error first = s->error;

	if (!s->identity.change || !s->identity.uid ||
		(first.errnum != EACCES && first.errnum != EPERM))
		return -1;
	return rd_fail(&s->error, first.class, 0,
		s->identity.root_option ? "-Z root keeps root" : NULL,
		"%s; files are opened as user '%s'", first.text, s->identity.name);
}

/* Waits up to `ms`; true if rd_session_stop() was called. */
static bool stopped(const struct rd_session *s, int ms)
{
	struct pollfd p = {.fd = s->stop_fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

/*
 * Waits for a FIFO's reader without blocking in open(), so that the caller can stop it. *reader is
 * a descriptor of the FIFO, to be closed after the output has been opened; -1: not a FIFO, or it
 * cannot be opened. Fails if the session is stopped.
 */
static int await_reader(struct rd_session *s, int *reader)
{
	const struct rd_session_config *config = s->config;
	struct stat st;

	*reader = -1;
	if (stat(config->path, &st) < 0 || !S_ISFIFO(st.st_mode) ||
		rd_outfile_is_planted(config->path))
		return 0;
	for (;;) {
		*reader = open(config->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (*reader >= 0 || errno != ENXIO)
			return 0;
		if (config->waiting_for_reader)
			config->waiting_for_reader(config->ctx);
		if (stopped(s, config->waiting_for_reader ? 0 : READER_MS))
			return rd_fail(&s->error, RD_CLASS_OUTPUT, 0, NULL,
				"stopped before '%s' had a reader", config->path);
	}
}

int outputs_open(struct rd_session *s)
{
	unsigned int lanes = s->n_threads ? s->n_threads : 1;
	unsigned int stripes = s->config->n_stripes ? s->config->n_stripes : 1;
	struct rd_identity_before before;
	int reader, rc;

	comment_describe(s);
	if (!s->config->path) {
		s->out.encoder =
			(struct rd_encoder){.ifaces = s->in.ifaces, .n_ifaces = s->in.n_ifaces};
		return 0;
	}
	if (rd_encoder_init(&s->out.encoder, s->config->format, s->config->path, &s->out.section,
		    s->in.ifaces, s->in.n_ifaces, &s->error) < 0 ||
		check_directories(s) < 0 ||
		rd_identity_assume(&s->identity, &before, &s->error) < 0)
		return -1;
	rc = await_reader(s, &reader);
	if (rc == 0)
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
			s->out.feeds[i * stripes + k] =
				s->config->per_queue ? rd_sink_feed(s->out.list[i].sink, 0)
						     : rd_sink_feed(s->out.list[k].sink, i);
	for (unsigned int k = 0; k < stripes; k++)
		s->out.merged[k] = s->out.list[k].sink;
	return 0;
}

int outputs_start(struct rd_session *s)
{
	for (unsigned int i = 0; i < s->out.n; i++) {
		if (rd_sink_start(s->out.list[i].sink, &s->error) < 0)
			return -1;
		s->out.list[i].started = true;
	}
	return 0;
}

void outputs_stats(const struct rd_session *s, struct rd_sink_stats *sum)
{
	*sum = (struct rd_sink_stats){0};
	for (unsigned int i = 0; i < s->out.n; i++) {
		struct rd_sink_stats one = s->out.list[i].written;

		if (s->out.list[i].sink)
			rd_sink_read_stats(s->out.list[i].sink, &one);
		sum->written += one.written;
		sum->unwritten += one.unwritten;
		sum->beyond += one.beyond;
		sum->late += one.late;
		sum->expired += one.expired;
		sum->file_bytes += one.file_bytes;
		sum->files += one.files;
	}
}

static void close_output(struct rd_session *s, struct output *o, const struct rd_tally *final)
{
	struct rd_identity_before before;
	struct rd_error err;
	bool broken_pipe = false;
	int rc;

	if (!o->sink)
		return;
	if (!o->started) {
		/* With the user's rights: the user may have replaced the file at this path. */
		if (rd_identity_assume(&s->identity, &before, &err) == 0) {
			rd_sink_abandon(o->sink);
			rd_identity_resume(&before);
		}
		o->sink = NULL;
		return;
	}
	rc = rd_sink_close(o->sink, final, &o->written, &broken_pipe, &err);
	o->sink = NULL;
	s->result.broken_pipe |= broken_pipe;
	/* Not an error: a reader like head(1) stops when it has enough. */
	if (rc < 0 && s->error.class == RD_CLASS_NONE && !broken_pipe)
		s->error = err;
}

void outputs_close(struct rd_session *s)
{
	for (unsigned int i = 0; i < s->out.n; i++)
		close_output(s, &s->out.list[i],
			s->config->per_queue ? s->capture.lane_tally[i]
					     : s->capture.stripe_tally[i]);
	if (s->out.n)
		outputs_stats(s, &s->result.written);
	else
		s->result.written.written = rd_capture_total(&s->capture).encoded;
	for (unsigned int i = 0; i < s->out.n; i++)
		free(s->out.list[i].path);
}
