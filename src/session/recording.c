/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The facts of a recording: read at intervals, so that each file can have the counters from before
 * its first frame; and the text in the file's header.
 */
#include "session.h"
#include <rdmadump/sum.h>
#include <rdmadump/units.h>

#define PERIOD_MIN_NS 1000000000U
#define TIMES_READ    50	  /* reading facts takes at most this fraction (1/N) of the time */
#define LATE_NS	      1000000000U /* a file begins at most so long after its first frame arrived */

void recording_free(struct rd_session *s)
{
	struct recording *r = &s->recording;

	for (unsigned int i = 0; i < SNAPSHOTS; i++)
		rd_facts_free(&r->snapshot[i].facts);
	rd_facts_free(&r->begin.facts);
	rd_facts_free(&r->end);
}

static uint64_t lost_now(const struct rd_session *s)
{
	uint64_t lost = 0;

	for (unsigned int i = 0; i < s->in.n; i++) {
		struct rd_source_stats stats;

		s->in.sources[i]->ops->stats(s->in.sources[i], &stats);
		rd_sum_add(&lost, stats.lost);
	}
	return lost;
}

void recording_read(struct rd_session *s)
{
	struct recording *r = &s->recording;
	struct rd_facts facts = {0};
	uint64_t start = rd_monotonic_ns(), took, period;
	struct snapshot *to;

	if (!s->config->recording || start < r->next_ns)
		return;
	if (!s->config->no_facts)
		rd_session_facts(s, "start", &facts);
	took = rd_monotonic_ns() - start;
	period = s->config->recording->retention.pre_ns;
	period = period > PERIOD_MIN_NS ? period : PERIOD_MIN_NS;
	r->next_ns = start + (took * TIMES_READ > period ? took * TIMES_READ : period);
	pthread_mutex_lock(&r->lock);
	r->newest = (r->newest + 1) % SNAPSHOTS;
	to = &r->snapshot[r->newest];
	rd_facts_free(&to->facts);
	*to = (struct snapshot){.time_ns = rd_monotonic_ns(), .lost = lost_now(s), .facts = facts};
	pthread_mutex_unlock(&r->lock);
}

/* The newest snapshot older than the frames before a trigger at this time, else the oldest one. */
static const struct snapshot *before(const struct rd_session *s)
{
	uint64_t now = rd_monotonic_ns(), pre = s->config->recording->retention.pre_ns + LATE_NS;
	const struct recording *r = &s->recording;
	const struct snapshot *found = &r->snapshot[r->newest];

	for (unsigned int i = 1; i < SNAPSHOTS && found->time_ns + pre > now; i++) {
		const struct snapshot *older =
			&r->snapshot[(r->newest + SNAPSHOTS - i) % SNAPSHOTS];

		if (!older->time_ns)
			break;
		found = older;
	}
	return found;
}

static const struct rd_facts *facts_before(struct rd_session *s)
{
	struct recording *r = &s->recording;
	const struct snapshot *from;

	rd_facts_free(&r->begin.facts);
	pthread_mutex_lock(&r->lock);
	from = before(s);
	r->begin.time_ns = from->time_ns;
	r->begin.lost = from->lost;
	for (size_t i = 0; i < from->facts.n; i++)
		rd_facts_add(&r->begin.facts, from->facts.fact[i].json, from->facts.fact[i].len);
	pthread_mutex_unlock(&r->lock);
	return &r->begin.facts;
}

const struct rd_facts *recording_facts(void *ctx, unsigned int file, bool end)
{
	struct rd_session *s = ctx;
	const struct rd_session_recording *config = s->config->recording;
	struct recording *r = &s->recording;

	(void)file;
	if (s->config->no_facts || !s->out.encoder.format->facts)
		return NULL;
	if (!end)
		return facts_before(s);
	rd_facts_free(&r->end);
	rd_session_facts(s, "end", &r->end);
	if (config->facts)
		config->facts(config->retention.ctx, r->dump, &r->end);
	return &r->end;
}

void recording_ends_file(struct rd_session *s, const struct rd_dump *dump)
{
	s->recording.dump = dump;
	s->recording.lost = lost_now(s) - s->recording.begin.lost;
}

void recording_drops(const struct rd_session *s, struct rd_drops *d)
{
	struct rd_source_stats stats[RD_IFACES_MAX];

	for (unsigned int i = 0; i < s->in.n; i++)
		s->in.sources[i]->ops->stats(s->in.sources[i], &stats[i]);
	loss_drops(s, stats, d);
	d->device = s->recording.lost;
	d->too_long = 0;
	d->moved = d->device;
}

static void missing_text(const struct rd_dump *dump, char *out, size_t size)
{
	if (dump->missing_until_ns)
		snprintf(out, size,
			" Frames of the first %.3f s are missing: memory had no room for them.",
			(double)(dump->missing_until_ns - dump->from_ns) / 1e9);
}

void recording_comment(
	const struct rd_session *s, const struct rd_file_account *a, char *out, size_t size)
{
	const struct rd_session_recording *config = s->config->recording;
	char written[RD_UNITS_LEN], missing[128] = "";
	uint64_t w = 0;
	size_t used;

	*out = '\0';
	if (config->describe)
		config->describe(config->retention.ctx, a ? a->dump : NULL, out, size);
	used = strlen(out);
	if (!a) {
		snprintf(out + used, size - used,
			"Not finished: the program still writes, or was killed.");
		return;
	}
	for (unsigned int i = 0; i < s->in.n_ifaces; i++)
		w += a->written[i];
	missing_text(a->dump, missing, sizeof(missing));
	snprintf(out + used, size - used,
		"File %u: %s frame%s written; since the counters at its beginning: %s.%s",
		a->number, rd_fmt_count(written, w), rd_plural(w), s->out.sentence, missing);
}
