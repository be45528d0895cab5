/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds out whether two files are captures of the same traffic, and reads them in parallel. */
#include "analyze.h"
#include "cli/cli.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- detection -------------------------------------------------------------------------------- */

#define PARTLY 16384 /* packets of each of many files that are read */

static int walk(const char *path, enum rd_tap file, unsigned int left,
	struct rd_ends_search *search, struct rd_error *err)
{
	const struct rd_file_config config = {.path = path, .all_links = true};
	struct rd_frame frames[RD_BATCH];
	struct rd_source *source;
	bool more = true;
	int n = 0;

	if (rd_file_open(&source, &config, err) < 0)
		return -1;
	if (source->ops->start(source, err) < 0)
		more = false;
	while (more && (n = source->ops->receive(source, frames, RD_BATCH, err)) >= 0) {
		for (int i = 0; i < n && more; i++)
			more = left-- &&
			       rd_ends_search_frame(search, file,
				       rd_source_iface(source, &frames[i])->link, &frames[i]);
		if (n)
			source->ops->release(source);
	}
	source->ops->close(source);
	return 0; /* damage is reported by the analysis that follows */
}

/* Searches for the first packets of files[of] in the other file, of which `most` are read. */
static int look(char *const files[RD_TAPS], enum rd_tap of, bool any, unsigned int most,
	struct analyze_common *common, struct rd_error *err)
{
	struct rd_ends_search *search = rd_ends_search_open(of, any);
	int ret;

	if (!search)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory to compare two files");
	do {
		ret = walk(files[of], of, most, search, err);
		if (ret == 0)
			ret = walk(files[!of], !of, most, search, err);
	} while (ret == 0 && rd_ends_search_again(search));
	if (ret == 0)
		ret = rd_ends_search_result(search, common->first_ns, &common->offset_ns);
	rd_ends_search_close(search);
	return ret;
}

static int look_both(char *const files[RD_TAPS], bool any, unsigned int most,
	struct analyze_common *common, struct rd_error *err)
{
	const int ret = look(files, RD_TAP_B, any, most, common, err);

	return ret ? ret : look(files, RD_TAP_A, any, most, common, err);
}

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
	ret = look_both(s->files, s->ends == WHEN_ALWAYS, UINT_MAX, common, err);
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
			int same;

			p->files[RD_TAP_A] = s->files[a];
			p->files[RD_TAP_B] = s->files[b];
			same = look_both(p->files, false, PARTLY, &p->common, err);
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
	n = analyze_batch(t->analysis, t->source, t->frames, &err);
	if (n < 0) {
		t->damaged = n != RD_SOURCE_END;
		if (t->damaged)
			memcpy(t->damage, err.text, sizeof(t->damage));
		return false;
	}
	t->n = (unsigned int)n;
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
