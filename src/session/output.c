/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The output: one file or series, with its statistics and comment. */
#include "session.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdmadump/fd.h>
#include <sys/stat.h>

#define READER_MS 50 /* between two checks for a reader of a FIFO */

bool out_to_pipe(const struct rd_session *s)
{
	return s->config->out.path && strcmp(s->config->out.path, "-") == 0;
}

const char *out_compression(const struct rd_session *s)
{
	if (!s->config->out.compression)
		return rd_compression_of(s->config->out.path);
	return strcmp(s->config->out.compression, "none") ? s->config->out.compression : NULL;
}

static bool waiting(void *ctx, bool commands)
{
	const struct rd_session_config *config = ((struct rd_session *)ctx)->config;

	return config->calls.waiting ? config->calls.waiting(config->calls.ctx, commands) : true;
}

static void begin_file(void *ctx)
{
	comment_make(ctx, NULL);
}

/* The interfaces of one source. */
static void fill_source(const struct rd_session *s, const struct rd_file_account *account,
	unsigned int source, struct rd_iface_stats *stats)
{
	struct rd_source *from = s->in.sources[source];
	unsigned int n;

	rd_source_ifaces(from, &n);
	for (unsigned int k = 0; k < n; k++) {
		unsigned int i = s->in.bases[source] + k;
		const struct rd_tally *t = &account->tally[i];
		uint64_t ours = t->dropped + account->unwritten[i];
		uint64_t lost = account->last && n == 1 ? s->in.stats[source].lost : 0;
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
		/* What a file says of its losses and its end is kept in a copy. */
		if (account->last && from->ops->iface_stats &&
			from->ops->iface_stats(from, k, &theirs)) {
			lost = theirs.dropped;
			stats[i].end_ns = theirs.end_ns;
			if (theirs.comment && strstr(theirs.comment, RD_DROPS_IN_LAST))
				stats[i].comment = theirs.comment;
		}
		stats[i].drops_unknown =
			!account->last || (n == 1 && !s->in.stats[source].loss_known);
		if (account->dump) {
			stats[i].drops_unknown = false;
			lost = k ? 0 : s->recording.lost;
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
	struct rd_session *s = ctx;

	if (account->dump) {
		loss_measure(s); /* the other counters are read when it ends, too */
		recording_ends_file(s, account->dump);
	}
	comment_make(s, account);
	for (unsigned int i = 0; i < s->in.n; i++)
		if (!s->in.follows[i])
			fill_source(s, account, i, stats);
	if (s->in.n_ifaces && *s->out.sentence && !stats[0].comment)
		stats[0].comment = s->out.sentence;
}

static int open_file(struct rd_session *s, unsigned int feeds)
{
	struct output *o = &s->out;
	struct rd_sink_config config = s->config->out;

	config.encoder = &o->encoder;
	config.feeds = feeds;
	config.numa_node = inputs_numa_node(s);
	config.compression = out_compression(s);
	config.patient = is_offline(s);
	config.inputs = &s->in.files;
	config.retention = s->config->recording ? &s->config->recording->retention : NULL;
	o->section.comment = o->comment;
	o->ending = (struct rd_sink_ending){waiting, begin_file, fill_ending, s,
		s->config->recording ? recording_facts : facts_for_file};
	o->rewritable = rd_header_rewritable(config.path, config.compression);
	for (unsigned int i = 0; i < s->in.n_ifaces; i++)
		config.max_frame = RD_MAX(config.max_frame, s->in.ifaces[i].max_frame);
	return rd_sink_open(&o->sink, &config, &o->ending, &s->error);
}

/* Checks whether later files can be created, before the first one is, and what root writes to. */
static int check_directories(struct rd_session *s)
{
	const struct rd_rotation *r = &s->config->out.rotation;
	/* A single file that ends the capture when it is full needs no further directory entry. */
	bool later = r->files != 1 &&
		     (s->config->slice_s || r->bytes || r->frames || s->config->recording);

	if (out_to_pipe(s))
		return 0;
	if (rd_identity_check_root(&s->identity, s->config->out.path, &s->error) < 0)
		return -1;
	return later ? rd_identity_check_directory(&s->identity, s->config->out.path, &s->error)
		     : 0;
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
	if (stat(config->out.path, &st) < 0 || !S_ISFIFO(st.st_mode) ||
		rd_outfile_is_planted(config->out.path))
		return 0;
	for (;;) {
		*reader = open(config->out.path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (*reader >= 0 || errno != ENXIO)
			return 0;
		if (config->calls.waiting_for_reader)
			config->calls.waiting_for_reader(config->calls.ctx);
		if (stopped(s, config->calls.waiting_for_reader ? 0 : READER_MS))
			return rd_fail(&s->error, RD_CLASS_OUTPUT, 0, NULL,
				"stopped before '%s' had a reader", config->out.path);
	}
}

int out_open(struct rd_session *s)
{
	unsigned int lanes = s->n_threads ? s->n_threads : 1;
	struct rd_identity_before before;
	int reader, rc;

	comment_describe(s);
	s->out.encoder = (struct rd_encoder){.ifaces = s->in.ifaces, .n_ifaces = s->in.n_ifaces};
	if (!s->config->out.path)
		return 0;
	if (rd_encoder_init(&s->out.encoder, s->config->format, s->config->out.path,
		    &s->out.section, s->in.ifaces, s->in.n_ifaces, &s->error) < 0 ||
		check_directories(s) < 0 ||
		rd_identity_assume(&s->identity, &before, &s->error) < 0)
		return -1;
	rc = await_reader(s, &reader);
	if (rc == 0)
		rc = open_file(s, lanes);
	/* Nothing is changed before that. */
	if (rc == 0)
		rd_sink_make_private(s->out.sink);
	rd_fd_close(&reader);
	rd_identity_resume(&before);
	if (rc < 0)
		return explain_user(s);
	for (unsigned int i = 0; i < lanes; i++)
		s->out.feeds[i] = rd_sink_feed(s->out.sink, i);
	return 0;
}

int out_start(struct rd_session *s)
{
	if (!s->out.sink)
		return 0;
	if (rd_sink_start(s->out.sink, &s->error) < 0)
		return -1;
	s->out.started = true;
	return 0;
}

void out_stats(const struct rd_session *s, struct rd_sink_stats *stats)
{
	*stats = s->out.written;
	if (s->out.sink)
		rd_sink_read_stats(s->out.sink, stats);
}

/* With the user's rights: the user may have replaced the file at this path. */
static void remove_unstarted(struct rd_session *s)
{
	struct rd_identity_before before;
	struct rd_error err;

	if (rd_identity_assume(&s->identity, &before, &err) == 0) {
		rd_sink_abandon(s->out.sink);
		rd_identity_resume(&before);
	}
}

void out_close(struct rd_session *s)
{
	struct rd_sink_stats *written = &s->out.written;
	struct rd_error err;

	if (!s->out.sink) {
		written->written = rd_capture_total(&s->capture).encoded;
	} else if (!s->out.started) {
		remove_unstarted(s);
	} else if (rd_sink_close(s->out.sink, s->capture.tally, written, &s->result.broken_pipe,
			   &err) < 0 &&
		   s->error.class == RD_CLASS_NONE && !s->result.broken_pipe) {
		/* A reader like head(1) that stops when it has enough is no error. */
		s->error = err;
	}
	s->out.sink = NULL;
	s->result.written = *written;
}
