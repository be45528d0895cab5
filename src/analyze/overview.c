/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One report of captures at several points: the worst pair first. */
#include "analyze.h"
#include "cli/cli.h"
#include <errno.h>
#include <rdmadump/order.h>
#include <rdmadump/printable.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>

static const struct rd_judgement *verdict_of(const struct analyze_outcome *o)
{
	return o->ends ? &o->ends->verdict : &o->reports[RD_TAP_A]->verdict;
}

/* The worst first; what is equally bad in the order of the files. */
static int by_fault(const void *x, const void *y)
{
	const struct analyze_outcome *a = x, *b = y;
	const struct rd_judgement *v = verdict_of(a), *w = verdict_of(b);

	return RD_ORDER(!v->rule, !w->rule) ?: RD_ORDER(w->severity, v->severity)
		?: RD_ORDER(w->certainty, v->certainty) ?: RD_ORDER(w->count, v->count)
		?: RD_ORDER(a->number, b->number);
}

static void put_names(const struct analyze_outcome *o)
{
	rd_printable_put(stdout, o->names[RD_TAP_A], SIZE_MAX);
	if (o->ends) {
		fputs(" and ", stdout);
		rd_printable_put(stdout, o->names[RD_TAP_B], SIZE_MAX);
	}
	putchar('\n');
}

static void put_overview(const struct analyze_settings *s, const struct analyze_outcome *outcomes,
	unsigned int n, unsigned int pairs)
{
	unsigned int sound = 0;

	printf("These look like captures at several points: %u pair%s of the files %s the same "
	       "packets.\nEach pair is judged as two ends%s, the worst first.\n"
	       "--ends never reads all files one after the other.\n\n",
		pairs, rd_plural(pairs), pairs == 1 ? "has" : "have",
		n > pairs ? ", each other file alone" : "");
	for (unsigned int i = 0; i < n; i++) {
		const struct rd_judgement *v = verdict_of(&outcomes[i]);

		if (v->rule) {
			rd_verdict_line(v, &s->style, stdout);
			printf("%*s ", RD_LABEL_MAX, "");
			put_names(&outcomes[i]);
		} else {
			sound++;
		}
	}
	if (sound)
		printf("%-*s %u of %u: no fault was found there\n", RD_LABEL_MAX, "OK", sound, n);
}

static int print_all(const struct analyze_settings *s, struct analyze_outcome *outcomes,
	unsigned int n, unsigned int pairs, struct rd_error *err)
{
	int ret = 0;

	if (!s->json) {
		qsort(outcomes, n, sizeof(*outcomes), by_fault);
		put_overview(s, outcomes, n, pairs);
	}
	for (unsigned int i = 0; i < n && !ret; i++) {
		if (!s->json) {
			fputs("\n==== ", stdout);
			put_names(&outcomes[i]);
			putchar('\n');
		}
		ret = analyze_print(s, &outcomes[i], err);
	}
	return ret;
}

static int alone(const struct analyze_settings *s, const struct analyze_point *point,
	struct analyze_outcome *o, struct rd_error *err)
{
	struct analyze_settings one = *s;
	int ret;

	one.files = point->files;
	one.n_files = point->n;
	o->names[RD_TAP_A] = point->name;
	ret = analyze_files(&one, &o->reports[RD_TAP_A], &o->faults, err);
	o->faults.incomplete |= !ret && o->reports[RD_TAP_A]->incomplete;
	return ret;
}

static bool is_of_pairs(const struct analyze_point *point, const struct analyze_points *of)
{
	unsigned int i = 0;

	while (i < of->n_pairs && of->pairs[i].points[RD_TAP_A].files != point->files &&
		of->pairs[i].points[RD_TAP_B].files != point->files)
		i++;
	return i < of->n_pairs;
}

/* Of each pair, then of each point that is in none. *n: how many there are, also after an error. */
static int judge(const struct analyze_settings *s, const struct analyze_points *of,
	struct analyze_outcome *outcomes, unsigned int *n, struct rd_error *err)
{
	int ret = 0;

	for (*n = 0; *n < of->n_pairs && !ret; ++*n)
		ret = analyze_ends(s, &of->pairs[*n], &outcomes[*n], err);
	for (unsigned int i = 0; i < of->n && !ret; i++)
		if (!is_of_pairs(&of->points[i], of))
			ret = alone(s, &of->points[i], &outcomes[(*n)++], err);
	return ret;
}

int analyze_report_points(const struct analyze_settings *s, const struct analyze_points *of,
	struct analyze_faults *faults, struct rd_error *err)
{
	struct analyze_outcome *outcomes;
	unsigned int n = 0;
	int ret;

	if (s->html || s->annotate || s->compare || s->marks)
		return rd_fail(err, RD_CLASS_USAGE, 0,
			"give two of them, or add --ends never to read one after the other",
			"'%s' and '%s' have the same packets: these look like captures at several "
			"points",
			of->pairs[0].points[RD_TAP_A].name, of->pairs[0].points[RD_TAP_B].name);
	outcomes = calloc(of->n_pairs + of->n, sizeof(*outcomes));
	if (!outcomes)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the reports");
	ret = judge(s, of, outcomes, &n, err);
	for (unsigned int i = 0; i < n; i++) {
		outcomes[i].number = i;
		faults->damaged |= outcomes[i].faults.damaged;
		faults->incomplete |= outcomes[i].faults.incomplete;
	}
	if (!ret)
		ret = print_all(s, outcomes, n, of->n_pairs, err);
	for (unsigned int i = 0; i < n; i++)
		analyze_outcome_free(&outcomes[i]);
	free(outcomes);
	return ret;
}
