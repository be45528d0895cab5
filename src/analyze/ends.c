/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds out whether two files are captures of the same traffic, and reads them in parallel. */
#include "analyze.h"
#include "cli/cli.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- detection -------------------------------------------------------------------------------- */

#define SAMPLE 4096	    /* first packets of a file, which are searched in the other */
#define SLOTS  16384	    /* slots of the hash table; a power of two */
#define PARTLY (4 * SAMPLE) /* packets of each of many files that are read */
#define COMMON_PART                                                                                \
	10 /* one of this many must be found; a later part of the same capture may repeat a few */

struct sample {
	bool with_icrc;
	bool any;	   /* one packet is enough */
	bool bare;	   /* some packets have no ICRC */
	unsigned int most; /* packets to read of a file */
	struct {
		uint64_t first, last;
	} ns[RD_TAPS]; /* times of the first and last frame read from each file */
	unsigned int n, found;
	int64_t offset_ns[SAMPLE]; /* of those found: the time in the sample minus that in the other
				     file */
	struct {
		uint64_t identity, ns;
		bool found;
	} slot[SLOTS];
};

/* Called for each packet of a file; false: stop. */
typedef bool seen_fn(struct sample *s, uint64_t identity, const struct rd_frame *frame);

static uint64_t identify(
	struct sample *s, enum rd_tap file, struct rd_source *source, const struct rd_frame *frame)
{
	const enum rd_link link = rd_source_iface(source, frame)->link;
	const uint64_t bare = rd_ends_identity(link, frame, false);
	const uint64_t whole = s->with_icrc ? rd_ends_identity(link, frame, true) : 0;
	/* A file may have the ICRC of its short packets only: these tell as much as any. */
	const bool cut = s->with_icrc && whole == bare;
	const uint64_t identity = cut ? 0 : s->with_icrc ? whole : bare;

	s->bare |= bare && cut;
	if (!s->ns[file].first)
		s->ns[file].first = s->ns[file].last = frame->ts_ns;
	if ((int64_t)frame->ts_ns > (int64_t)s->ns[file].last)
		s->ns[file].last = frame->ts_ns;
	return identity;
}

static int walk(
	const char *path, enum rd_tap file, seen_fn *seen, struct sample *s, struct rd_error *err)
{
	const struct rd_file_config config = {.path = path, .all_links = true};
	struct rd_frame frames[RD_BATCH];
	struct rd_source *source;
	unsigned int left = s->most;
	bool more = true;
	int n = 0;

	if (rd_file_open(&source, &config, err) < 0)
		return -1;
	if (source->ops->start(source, err) < 0)
		more = false;
	while (more && (n = source->ops->receive(source, frames, RD_BATCH, err)) >= 0) {
		for (int i = 0; i < n && more; i++)
			more = left-- && seen(s, identify(s, file, source, &frames[i]), &frames[i]);
		if (n)
			source->ops->release(source);
	}
	source->ops->close(source);
	return 0; /* damage is reported by the analysis that follows */
}

static bool sample_add(struct sample *s, uint64_t identity, const struct rd_frame *frame)
{
	size_t i = (size_t)(identity & (SLOTS - 1));

	if (!identity || s->n == SAMPLE)
		return true;
	while (s->slot[i].identity && s->slot[i].identity != identity)
		i = (i + 1) & (SLOTS - 1);
	if (!s->slot[i].identity) {
		s->slot[i].identity = identity;
		s->slot[i].ns = frame->ts_ns;
		s->n++;
	}
	return s->n < SAMPLE || !s->with_icrc;
}

static bool is_common(const struct sample *s)
{
	return s->any ? s->found > 0 : s->n && s->found * COMMON_PART >= s->n;
}

static bool search_see(struct sample *s, uint64_t identity, const struct rd_frame *frame)
{
	size_t i = (size_t)(identity & (SLOTS - 1));

	if (!identity)
		return true;
	while (s->slot[i].identity && s->slot[i].identity != identity)
		i = (i + 1) & (SLOTS - 1);
	if (!s->slot[i].identity || s->slot[i].found)
		return true;
	s->slot[i].found = true;
	s->offset_ns[s->found++] = rd_ends_time(s->slot[i].ns, frame->ts_ns, 0);
	return !is_common(s) || !s->with_icrc;
}

/*
 * Searches for the first packets of files[of] in the other file. Without ICRCs, the next part of
 * the same capture may repeat the PSNs: only captures taken at the same time are two ends.
 */
static int look_by(const struct analyze_settings *s, enum rd_tap of, struct sample *sample,
	struct rd_error *err)
{
	if (walk(s->files[of], of, sample_add, sample, err) < 0 ||
		walk(s->files[!of], !of, search_see, sample, err) < 0)
		return -1;
	if (!is_common(sample))
		return 0;
	return sample->with_icrc || s->ends == WHEN_ALWAYS ||
	       (rd_ends_time(sample->ns[of].first, sample->ns[!of].last, 0) < 0 &&
		       rd_ends_time(sample->ns[!of].first, sample->ns[of].last, 0) < 0);
}

static int by_value(const void *x, const void *y)
{
	const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return a < b ? -1 : a > b;
}

/*
 * The median: a file that begins after the first transmission of a packet has its retransmission
 * first, far from the one that the other file has first.
 */
static int64_t usual_offset(struct sample *s)
{
	if (!s->found)
		return 0;
	qsort(s->offset_ns, s->found, sizeof(*s->offset_ns), by_value);
	return s->offset_ns[s->found / 2];
}

static int look(const struct analyze_settings *s, enum rd_tap of, unsigned int most,
	struct analyze_common *common, struct rd_error *err)
{
	struct sample *sample = calloc(1, sizeof(*sample));
	int ret;

	if (!sample)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory to compare two files");
	sample->with_icrc = true;
	sample->any = s->ends == WHEN_ALWAYS;
	sample->most = most;
	ret = look_by(s, of, sample, err);
	if (ret == 0 && sample->bare) {
		memset(sample, 0, sizeof(*sample));
		sample->most = most;
		sample->any = s->ends == WHEN_ALWAYS;
		ret = look_by(s, of, sample, err);
	}
	for (int i = 0; i < RD_TAPS; i++)
		common->first_ns[i] = sample->ns[i].first;
	common->offset_ns = usual_offset(sample) * (of == RD_TAP_B ? 1 : -1);
	free(sample);
	return ret;
}

/* The first one that is not a regular file and cannot be read twice; NULL: none. */
const char *analyze_not_a_file(const struct analyze_settings *s)
{
	struct stat st;

	for (unsigned int i = 0; i < s->n_files; i++)
		if (strcmp(s->files[i], "-") == 0 ||
			(stat(s->files[i], &st) == 0 && !S_ISREG(st.st_mode)))
			return s->files[i];
	return NULL;
}

/* Whether the options and the types of the files allow a comparison. */
static int can_be_ends(const struct analyze_settings *s, struct rd_error *err)
{
	const bool two = s->n_files == RD_TAPS;
	const char *odd = two ? analyze_not_a_file(s) : NULL;

	if (s->ends == WHEN_NEVER || (s->ends == WHEN_AUTO && (!two || odd)))
		return 0;
	if (!two)
		return rd_fail(err, RD_CLASS_USAGE, 0, "name one capture from each end",
			"--ends always: needs two files, not %u", s->n_files);
	if (odd)
		return rd_fail(err, RD_CLASS_USAGE, 0, "name two files; both are read twice",
			"--ends always: '%s' is not a regular file", odd);
	return 1;
}

int analyze_is_ends(
	const struct analyze_settings *s, struct analyze_common *common, struct rd_error *err)
{
	int ret = can_be_ends(s, err);

	if (ret <= 0)
		return ret;
	ret = look(s, RD_TAP_B, UINT_MAX, common, err);
	if (!ret)
		ret = look(s, RD_TAP_A, UINT_MAX, common, err);
	if (ret == 0 && s->ends == WHEN_ALWAYS)
		return rd_fail(err, RD_CLASS_DEVICE, 0,
			"check that both were captured at the same time on these hosts",
			"--ends always: '%s' and '%s' have no packets in common", s->files[0],
			s->files[1]);
	return ret;
}

int analyze_points(const struct analyze_settings *s, struct analyze_pair pairs[ANALYZE_PAIRS],
	struct rd_error *err)
{
	const unsigned int files = s->n_files < ANALYZE_POINTS ? s->n_files : ANALYZE_POINTS;
	int n = 0;

	if (s->ends != WHEN_AUTO || s->n_files <= RD_TAPS || analyze_not_a_file(s))
		return 0;
	for (unsigned int a = 0; a < files; a++)
		for (unsigned int b = a + 1; b < files; b++) {
			struct analyze_pair *p = &pairs[n];
			struct analyze_settings two = *s;
			int same;

			p->files[RD_TAP_A] = s->files[a];
			p->files[RD_TAP_B] = s->files[b];
			two.files = p->files;
			two.n_files = RD_TAPS;
			same = look(&two, RD_TAP_B, PARTLY, &p->common, err);
			if (!same)
				same = look(&two, RD_TAP_A, PARTLY, &p->common, err);
			if (same < 0)
				return -1;
			n += same;
		}
	return n;
}

/* --- side by side ----------------------------------------------------------------------------- */

struct tap {
	const char *name;
	struct rd_source *source;
	struct rd_analysis *analysis;
	struct rd_frame frames[RD_BATCH];
	unsigned int n, at;
	uint64_t origin; /* first moment of A */
	int64_t shift;	 /* makes its times A's */
	bool damaged;
	char damage[sizeof(((struct rd_error *)0)->text)];
};

/* The next batch; false at the end. */
static bool refill(struct tap *t)
{
	struct rd_error err;
	int n;

	if (t->n)
		t->source->ops->release(t->source);
	t->n = t->at = 0;
	while ((n = t->source->ops->receive(t->source, t->frames, RD_BATCH, &err)) == 0) {
		struct pollfd fd = {.fd = t->source->frame_fd, .events = POLLIN};

		if (t->source->ops->arm(t->source, &err) == 0)
			poll(&fd, 1, -1);
	}
	if (n < 0) {
		t->damaged = n != RD_SOURCE_END;
		if (t->damaged)
			memcpy(t->damage, err.text, sizeof(t->damage));
		return false;
	}
	t->n = (unsigned int)n;
	if (t->source->batch_has_notes)
		analyze_notes(t->analysis, t->source, t->frames, t->n);
	analyze_frames(t->analysis, t->source, t->frames, t->n);
	return true;
}

static int64_t time_of(const struct tap *t)
{
	return rd_ends_time(t->frames[t->at].ts_ns, t->origin, t->shift);
}

/* Frames of `t` up to the time of the other's next one. */
static void feed(struct rd_ends *ends, struct tap taps[RD_TAPS], enum rd_tap which)
{
	struct tap *t = &taps[which];
	const struct tap *other = &taps[!which];
	unsigned int from = t->at;

	do
		t->at++;
	while (t->at < t->n && (other->at == other->n || time_of(t) <= time_of(other)));
	while (from < t->at) {
		const struct rd_frame *frames = &t->frames[from];
		unsigned int run = analyze_run(t->source, frames, t->at - from);

		rd_ends_frames(ends, which, rd_source_iface(t->source, frames)->link, frames, run);
		from += run;
	}
}

static void read_both(struct rd_ends *ends, struct tap taps[RD_TAPS])
{
	bool more[RD_TAPS] = {true, true};
	uint64_t rounds = 0;

	for (;;) {
		enum rd_tap next;

		for (int i = 0; i < RD_TAPS; i++)
			if (more[i] && taps[i].at == taps[i].n && !refill(&taps[i])) {
				more[i] = false;
				rd_ends_file_end(ends, (enum rd_tap)i);
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
			analyze_progress(taps[next].source, taps[next].name);
	}
	rd_cli_status(NULL);
}

static int tap_open(struct tap *t, const struct analyze_settings *s, enum rd_tap which,
	const struct analyze_common *common, struct rd_error *err)
{
	t->name = s->files[which];
	t->origin = common->first_ns[RD_TAP_A];
	t->shift = which == RD_TAP_B ? common->offset_ns : 0;
	if (rd_analysis_open(&t->analysis, &s->config, err) < 0)
		return -1;
	return analyze_open(&t->source, t->analysis, t->name, err);
}

static int print(const struct analyze_settings *s, struct rd_ends *ends,
	const struct tap taps[RD_TAPS], bool *incomplete, struct rd_error *err)
{
	struct analyze_outcome o = {.names = {taps[0].name, taps[1].name}};
	struct rd_ends_report *report = NULL;
	int ret = 0;

	for (int i = 0; i < RD_TAPS && !ret; i++) {
		ret = rd_analysis_report(taps[i].analysis, &o.reports[i], err);
		*incomplete |= !ret && o.reports[i]->incomplete;
	}
	if (!ret)
		ret = rd_ends_report(
			ends, (const struct rd_report *const *)o.reports, &report, err);
	o.ends = report;
	if (!ret && rd_ends_refer(report, o.reports) < 0)
		ret = rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the report");
	if (!ret)
		ret = analyze_print(s, &o, err);
	rd_ends_report_free(report);
	for (int i = 0; i < RD_TAPS; i++)
		rd_report_free(o.reports[i]);
	return ret;
}

int analyze_ends(const struct analyze_settings *s, const struct analyze_common *common,
	struct analyze_faults *faults, struct rd_error *err)
{
	struct tap *taps = calloc(RD_TAPS, sizeof(*taps));
	struct rd_ends *ends = NULL;
	int ret = -1;

	if (!taps)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory to compare two files");
	if (tap_open(&taps[0], s, RD_TAP_A, common, err) == 0 &&
		tap_open(&taps[1], s, RD_TAP_B, common, err) == 0 &&
		rd_ends_open(&ends, common->first_ns, common->offset_ns, err) == 0) {
		read_both(ends, taps);
		ret = 0;
	}
	for (int i = 0; i < RD_TAPS; i++) {
		if (taps[i].source)
			analyze_close(taps[i].source, taps[i].analysis,
				taps[i].damaged ? taps[i].damage : NULL);
		faults->damaged |= taps[i].damaged;
	}
	if (!ret)
		ret = print(s, ends, taps, &faults->incomplete, err);
	rd_ends_close(ends);
	for (int i = 0; i < RD_TAPS; i++)
		if (taps[i].analysis)
			rd_analysis_close(taps[i].analysis);
	free(taps);
	return ret;
}
