/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One report of captures at several points: each is analysed once, each pair is compared. */
#include "analyze.h"
#include "cli/cli.h"
#include <errno.h>
#include <stdlib.h>

static int analyse_each(const struct analyze_settings *s, const struct analyze_points *of,
	struct rd_points *p, struct analyze_faults *faults, struct rd_error *err)
{
	struct analyze_settings one = *s;
	int ret = 0;

	for (unsigned int i = 0; i < of->n && !ret; i++) {
		struct rd_report *report = NULL;
		struct analyze_faults found;

		one.files = of->points[i].files;
		one.n_files = of->points[i].n;
		ret = analyze_files(&one, &report, &found, err);
		if (ret)
			break;
		p->captures[p->n_captures++] =
			(struct rd_points_capture){of->points[i].name, report};
		analyze_limit(s, report);
		faults->damaged |= found.damaged;
		faults->incomplete |= report->incomplete;
	}
	return ret;
}

static int compare_each(const struct analyze_settings *s, const struct analyze_points *of,
	struct rd_points *p, struct rd_error *err)
{
	int ret = 0;

	for (unsigned int i = 0; i < of->n_pairs && !ret; i++) {
		const struct analyze_pair *pair = &of->pairs[i];
		struct analyze_outcome o = {0};

		for (int end = 0; end < RD_TAPS; end++)
			o.reports[end] = p->captures[pair->number[end]].report;
		ret = analyze_ends(s, pair, &o, err);
		if (!ret)
			p->pairs[p->n_pairs++] = (struct rd_points_pair){
				{pair->number[RD_TAP_A], pair->number[RD_TAP_B]}, o.ends};
	}
	return ret;
}

int analyze_report_points(const struct analyze_settings *s, const struct analyze_points *of,
	struct analyze_faults *faults, struct rd_error *err)
{
	struct rd_points p = {0};
	const struct analyze_outcome o = {.points = &p};
	int ret = 0;

	if (s->annotate || s->compare || s->marks)
		return rd_fail(err, RD_CLASS_USAGE, 0,
			"give two of them, or add --ends never to read one after the other",
			"'%s' and '%s' have the same packets: these look like captures at several "
			"points",
			of->pairs[0].points[RD_TAP_A].name, of->pairs[0].points[RD_TAP_B].name);
	p.captures = calloc(of->n, sizeof(*p.captures));
	p.pairs = calloc(of->n_pairs, sizeof(*p.pairs));
	if (!p.captures || !p.pairs)
		ret = rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the reports");
	if (!ret)
		ret = analyse_each(s, of, &p, faults, err);
	if (!ret)
		ret = compare_each(s, of, &p, err);
	if (!ret && rd_points_judge(&p) < 0)
		ret = rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the reports");
	if (!ret)
		ret = analyze_print(s, &o, err);
	rd_points_free(&p);
	return ret;
}
