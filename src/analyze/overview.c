/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One report of captures at several points: each is analysed once, each pair is compared. */
#include "analyze.h"
#include <errno.h>
#include <stdlib.h>

struct work {
	const struct analyze_settings *s;
	const struct analyze_points *of;
	struct rd_points *p;
	struct analyze_faults *faults; /* of each point */
};

static int analyse_one(void *ctx, unsigned int i, struct rd_error *err)
{
	const struct work *w = ctx;
	struct rd_points_capture *c = &w->p->captures[i];
	struct analyze_settings one = *w->s;

	one.files = w->of->points[i].files;
	one.n_files = w->of->points[i].n;
	c->name = w->of->points[i].name;
	if (analyze_files(&one, &c->report, &w->faults[i], err) < 0)
		return -1;
	analyze_limit(w->s, c->report);
	return 0;
}

static int compare_one(void *ctx, unsigned int i, struct rd_error *err)
{
	const struct work *w = ctx;
	const struct analyze_pair *pair = &w->of->pairs[i];
	struct rd_points_pair *to = &w->p->pairs[i];
	struct analyze_outcome o = {0};

	for (int end = 0; end < RD_TAPS; end++) {
		to->capture[end] = pair->number[end];
		o.reports[end] = w->p->captures[pair->number[end]].report;
	}
	if (analyze_ends(w->s, pair, &o, err) < 0)
		return -1;
	to->ends = o.ends;
	return 0;
}

static int make_reports(struct work *w, struct rd_error *err)
{
	static const struct job_kind analyse = {"analysing captures", analyse_one},
				     compare = {"comparing captures", compare_one};
	const unsigned int n = w->of->n, pairs = w->of->n_pairs, threads = w->s->threads;

	w->p->captures = calloc(n, sizeof(*w->p->captures));
	w->p->pairs = calloc(pairs, sizeof(*w->p->pairs));
	w->faults = calloc(n, sizeof(*w->faults));
	if (!w->p->captures || !w->p->pairs || !w->faults)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the reports");
	w->p->n_captures = n;
	if (jobs_run(&analyse, w, n, threads, err) < 0)
		return -1;
	w->p->n_pairs = pairs;
	return jobs_run(&compare, w, pairs, threads, err);
}

int analyze_report_points(const struct analyze_settings *s, const struct analyze_points *of,
	struct analyze_faults *faults, struct rd_error *err)
{
	struct rd_points p = {0};
	const struct analyze_outcome o = {.points = &p};
	struct work w = {s, of, &p, NULL};
	int ret;

	if (s->annotate || s->marks)
		return rd_fail(err, RD_CLASS_USAGE, 0,
			"give two of them, or add --ends never to read one after the other",
			"'%s' and '%s' have the same packets: these look like captures at several "
			"points",
			of->pairs[0].points[RD_TAP_A].name, of->pairs[0].points[RD_TAP_B].name);
	ret = make_reports(&w, err);
	for (unsigned int i = 0; i < of->n && !ret; i++) {
		faults->damaged |= w.faults[i].damaged;
		faults->incomplete |= p.captures[i].report->incomplete;
	}
	free(w.faults);
	if (!ret && rd_points_judge(&p) < 0)
		ret = rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the reports");
	if (!ret)
		ret = analyze_print(s, &o, err);
	rd_points_free(&p);
	return ret;
}
