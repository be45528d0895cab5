/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads two captures of the same traffic in parallel, and compares them. */
#include "cli/cli.h"
#include "points.h"
#include <errno.h>
#include <stdlib.h>

struct tap {
	const struct analyze_point *point;
	unsigned int file; /* of the point: the one that is read, or the next one */
	struct rd_source *source;
	struct rd_analysis *analysis; /* NULL: the report is known */
	struct rd_frame frames[RD_BATCH];
	unsigned int n, at;
	uint64_t origin, ran_until_ns; /* first moment of A; the last one of the capture */
	int64_t shift;		       /* makes its times A's */
	bool damaged;
};

/* The next batch. 1, 0 at the end of the last file, -1 if a file cannot be opened. */
static int refill(struct tap *t, struct rd_error *err)
{
	int n = RD_SOURCE_END;

	if (t->n)
		t->source->ops->release(t->source);
	t->n = t->at = 0;
	while (n < 0 && (t->source || t->file < t->point->n)) {
		if (!t->source &&
			analyze_open(&t->source, t->analysis, t->point->files[t->file], err) < 0)
			return -1;
		n = analyze_batch(t->analysis, t->source, t->frames, err);
		if (n >= 0)
			break;
		t->damaged |= n != RD_SOURCE_END;
		t->ran_until_ns = analyze_close(
			t->source, t->analysis, n != RD_SOURCE_END ? err->text : NULL);
		t->source = NULL;
		t->file++;
	}
	t->n = n < 0 ? 0 : (unsigned int)n;
	return n >= 0;
}

static int64_t time_of(const struct tap *t)
{
	return rd_ends_time(t->frames[t->at].ts_ns, t->origin, t->shift);
}

/* Frames of `t` up to the time of the other's next one; of the same time, those of A are first. */
static void feed(struct rd_ends *ends, struct tap taps[RD_TAPS], enum rd_tap which)
{
	struct tap *t = &taps[which];
	const struct tap *other = &taps[!which];
	unsigned int from = t->at;

	do
		t->at++;
	while (t->at < t->n && (other->at == other->n || time_of(t) + which <= time_of(other)));
	while (from < t->at) {
		const struct rd_frame *frames = &t->frames[from];
		unsigned int run = analyze_run(t->source, frames, t->at - from);

		rd_ends_frames(ends, which, rd_source_iface(t->source, frames)->link, frames, run);
		from += run;
	}
}

static int read_both(struct rd_ends *ends, struct tap taps[RD_TAPS], struct rd_error *err)
{
	bool more[RD_TAPS] = {true, true};
	uint64_t rounds = 0;

	for (;;) {
		enum rd_tap next;

		for (int i = 0; i < RD_TAPS; i++) {
			int got = !more[i] || taps[i].at < taps[i].n ? 1 : refill(&taps[i], err);

			if (got < 0)
				return -1;
			if (!got) {
				more[i] = false;
				rd_ends_file_end(ends, (enum rd_tap)i, taps[i].ran_until_ns);
			}
		}
		if (!more[RD_TAP_A] && !more[RD_TAP_B])
			break;
		if (!more[RD_TAP_A] || !more[RD_TAP_B])
			next = more[RD_TAP_A] ? RD_TAP_A : RD_TAP_B;
		else
			next = time_of(&taps[RD_TAP_A]) <= time_of(&taps[RD_TAP_B]) ? RD_TAP_A
										    : RD_TAP_B;
		feed(ends, taps, next);
		if (++rounds % 65536 == 0)
			analyze_progress(
				taps[next].source, taps[next].point->files[taps[next].file]);
	}
	analyze_status_end();
	return 0;
}

/* The same, of packets that were kept when the files were read for several pairs. */
static int take_both(struct rd_ends *ends, const struct analyze_pair *pair, struct rd_error *err)
{
	struct kept_reader *r[RD_TAPS];
	bool more[RD_TAPS];
	int ret = 0;

	for (int i = 0; i < RD_TAPS; i++) {
		const struct rd_ends_capture *c = kept_capture(pair, (enum rd_tap)i);

		r[i] = kept_open(pair, (enum rd_tap)i, err);
		more[i] = r[i];
		rd_ends_capture(
			ends, (enum rd_tap)i, c, c->packets - kept_packets(pair, (enum rd_tap)i));
	}
	while (more[RD_TAP_A] || more[RD_TAP_B]) {
		const struct rd_ends_packet *p[RD_TAPS];
		int64_t t[RD_TAPS];
		enum rd_tap next;

		for (int i = 0; i < RD_TAPS; i++) {
			const struct rd_ends_capture *c = kept_capture(pair, (enum rd_tap)i);

			p[i] = more[i] ? kept_peek(r[i]) : NULL;
			t[i] = more[i] ? rd_ends_time(p[i] ? p[i]->latest_ns : c->latest_ns,
						 pair->start.first_ns[RD_TAP_A],
						 i == RD_TAP_B ? pair->start.offset_ns : 0)
				       : INT64_MAX;
		}
		next = t[RD_TAP_A] <= t[RD_TAP_B] ? RD_TAP_A : RD_TAP_B;
		if (p[next]) {
			rd_ends_take(ends, next, p[next]);
			kept_step(r[next]);
			continue;
		}
		more[next] = false;
		rd_ends_file_end(ends, next, kept_capture(pair, next)->ran_until_ns);
	}
	for (int i = 0; i < RD_TAPS; i++)
		ret = !r[i] || kept_close(r[i], err) < 0 ? -1 : ret;
	return ret;
}

static int tap_open(struct tap *t, const struct analyze_settings *s,
	const struct analyze_pair *pair, enum rd_tap which, bool known, struct rd_error *err)
{
	t->point = &pair->points[which];
	t->origin = pair->start.first_ns[RD_TAP_A];
	t->shift = which == RD_TAP_B ? pair->start.offset_ns : 0;
	return known ? 0 : rd_analysis_open(&t->analysis, &s->config, err);
}

static int report(struct rd_ends *ends, const struct tap taps[RD_TAPS], struct analyze_outcome *o,
	struct rd_error *err)
{
	int ret = 0;

	for (int i = 0; i < RD_TAPS && !ret; i++) {
		o->names[i] = taps[i].point->name;
		if (taps[i].analysis)
			ret = rd_analysis_report(taps[i].analysis, &o->reports[i], err);
		o->faults.damaged |= taps[i].damaged;
		o->faults.incomplete |= !ret && o->reports[i]->incomplete;
	}
	if (!ret)
		ret = rd_ends_report(
			ends, (const struct rd_report *const *)o->reports, &o->ends, err);
	return ret;
}

int analyze_ends(const struct analyze_settings *s, const struct analyze_pair *pair,
	struct analyze_outcome *o, struct rd_error *err)
{
	struct tap *taps = calloc(RD_TAPS, sizeof(*taps));
	struct rd_ends *ends = NULL;
	int ret = -1;

	if (!taps)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory to compare two files");
	if (tap_open(&taps[0], s, pair, RD_TAP_A, o->reports[RD_TAP_A], err) == 0 &&
		tap_open(&taps[1], s, pair, RD_TAP_B, o->reports[RD_TAP_B], err) == 0 &&
		rd_ends_open(&ends, &pair->start, err) == 0)
		ret = pair->kept ? take_both(ends, pair, err) : read_both(ends, taps, err);
	for (int i = 0; i < RD_TAPS; i++)
		if (taps[i].source)
			analyze_close(taps[i].source, taps[i].analysis, NULL);
	if (!ret)
		ret = report(ends, taps, o, err);
	rd_ends_close(ends);
	for (int i = 0; i < RD_TAPS; i++)
		if (taps[i].analysis)
			rd_analysis_close(taps[i].analysis);
	free(taps);
	return ret;
}
