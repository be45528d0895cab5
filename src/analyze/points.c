/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which of several files are captures of the same traffic, and one report of all such pairs. */
#include "analyze.h"
#include "cli/cli.h"
#include <errno.h>
#include <limits.h>
#include <rdmadump/order.h>
#include <rdmadump/printable.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define POINTS 64    /* of more files only so many are searched for packets in common */
#define PARTLY 16384 /* packets of each of many files that are searched */

struct walker {
	/* False: the rest of the file need not be read. */
	bool (*frame)(void *ctx, enum rd_link link, const struct rd_frame *frame);
	void *ctx;
};

static int walk(const char *path, unsigned int most, const struct walker *w, struct rd_error *err)
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
			more = most-- && w->frame(w->ctx, rd_source_iface(source, &frames[i])->link,
						 &frames[i]);
		if (n)
			source->ops->release(source);
	}
	source->ops->close(source);
	return 0; /* damage is reported by the analysis that follows */
}

struct looking {
	struct rd_ends_search *search;
	enum rd_tap file;
};

static bool look_at(void *ctx, enum rd_link link, const struct rd_frame *frame)
{
	const struct looking *l = ctx;

	return rd_ends_search_frame(l->search, l->file, link, frame);
}

/* Searches for the first packets of one file in the other one, of which `most` are read. */
static int look(struct analyze_pair *pair, enum rd_tap of, bool any, unsigned int most,
	struct rd_error *err)
{
	struct looking l = {.search = rd_ends_search_open(of, any)};
	const struct walker walker = {look_at, &l};
	int ret = 0;

	if (!l.search)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory to compare two files");
	do {
		for (int i = 0; i < RD_TAPS && !ret; i++) {
			l.file = i ? !of : of;
			ret = walk(pair->files[l.file], most, &walker, err);
		}
	} while (ret == 0 && rd_ends_search_again(l.search));
	if (ret == 0)
		ret = rd_ends_search_result(l.search, pair->first_ns, &pair->offset_ns);
	rd_ends_search_close(l.search);
	return ret;
}

static int look_both(struct analyze_pair *pair, bool any, unsigned int most, struct rd_error *err)
{
	const int ret = look(pair, RD_TAP_B, any, most, err);

	return ret ? ret : look(pair, RD_TAP_A, any, most, err);
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
	const struct analyze_settings *s, struct analyze_pair *pair, struct rd_error *err)
{
	int ret = can_be_ends(s, err);

	if (ret <= 0)
		return ret;
	pair->files[RD_TAP_A] = s->files[0];
	pair->files[RD_TAP_B] = s->files[1];
	ret = look_both(pair, s->ends == WHEN_ALWAYS, UINT_MAX, err);
	if (ret == 0 && s->ends == WHEN_ALWAYS)
		return rd_fail(err, RD_CLASS_DEVICE, 0,
			"check that both were captured at the same time on these hosts",
			"--ends always: '%s' and '%s' have no packets in common", s->files[0],
			s->files[1]);
	return ret;
}

/* The first packets of a file, without their ICRCs, in the order of their numbers. */
struct prints {
	unsigned int n;
	uint64_t identity[PARTLY];
};

static bool print_of(void *ctx, enum rd_link link, const struct rd_frame *frame)
{
	struct prints *p = ctx;
	const uint64_t identity = rd_ends_identity(link, frame, false);

	if (identity && p->n < PARTLY)
		p->identity[p->n++] = identity;
	return p->n < PARTLY;
}

static bool have_in_common(const struct prints *a, const struct prints *b)
{
	unsigned int i = 0, k = 0;

	while (i < a->n && k < b->n && a->identity[i] != b->identity[k])
		if (a->identity[i] < b->identity[k])
			i++;
		else
			k++;
	return i < a->n && k < b->n;
}

/* Only files with some packet in common are searched: the others would take a time of n * n. */
static int find_pairs(const struct analyze_settings *s, struct prints *prints,
	struct analyze_pair *pairs, struct rd_error *err)
{
	int n = 0, same;

	for (unsigned int b = 0; b < s->n_files; b++) {
		const struct walker walker = {print_of, &prints[b]};

		if (walk(s->files[b], PARTLY, &walker, err) < 0)
			return -1;
		qsort(prints[b].identity, prints[b].n, sizeof(*prints[b].identity), rd_order_u64);
	}
	for (unsigned int a = 0; a < s->n_files; a++)
		for (unsigned int b = a + 1; b < s->n_files; b++) {
			struct analyze_pair *p = &pairs[n];

			if (!have_in_common(&prints[a], &prints[b]))
				continue;
			p->files[RD_TAP_A] = s->files[a];
			p->files[RD_TAP_B] = s->files[b];
			same = look_both(p, false, PARTLY, err);
			if (same < 0)
				return -1;
			n += same;
		}
	return n;
}

int analyze_points(
	const struct analyze_settings *s, struct analyze_pair **pairs, struct rd_error *err)
{
	struct analyze_settings first = *s;
	struct prints *prints;
	int n;

	*pairs = NULL;
	if (s->ends != WHEN_AUTO || s->n_files <= RD_TAPS || analyze_not_a_file(s))
		return 0;
	if (first.n_files > POINTS)
		first.n_files = POINTS;
	*pairs = calloc((size_t)first.n_files * (first.n_files - 1) / 2, sizeof(**pairs));
	prints = calloc(first.n_files, sizeof(*prints));
	if (*pairs && prints)
		n = find_pairs(&first, prints, *pairs, err);
	else
		n = rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory to compare %u files",
			first.n_files);
	free(prints);
	if (n >= 0 && first.n_files < s->n_files)
		rd_log(RD_LOG_WARNING,
			"only the first %u of %u files were searched for packets in common",
			first.n_files, s->n_files);
	return n;
}

/* --- one report of several pairs -------------------------------------------------------------- */

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

static int alone(const struct analyze_settings *s, char *file, struct analyze_outcome *o,
	struct rd_error *err)
{
	struct analyze_settings one = *s;
	int ret;

	one.files = &file;
	one.n_files = 1;
	o->names[RD_TAP_A] = file;
	ret = analyze_files(&one, &o->reports[RD_TAP_A], &o->faults, err);
	o->faults.incomplete |= !ret && o->reports[RD_TAP_A]->incomplete;
	return ret;
}

static bool is_of_pairs(const char *file, const struct analyze_pair *pairs, unsigned int n)
{
	unsigned int i = 0;

	while (i < n && pairs[i].files[RD_TAP_A] != file && pairs[i].files[RD_TAP_B] != file)
		i++;
	return i < n;
}

/* Of each pair, then of each file that is in none. *n: how many there are, also after an error. */
static int judge(const struct analyze_settings *s, const struct analyze_pair *pairs,
	unsigned int n_pairs, struct analyze_outcome *outcomes, unsigned int *n,
	struct rd_error *err)
{
	int ret = 0;

	for (*n = 0; *n < n_pairs && !ret; ++*n)
		ret = analyze_ends(s, &pairs[*n], &outcomes[*n], err);
	for (unsigned int i = 0; i < s->n_files && !ret; i++)
		if (!is_of_pairs(s->files[i], pairs, n_pairs))
			ret = alone(s, s->files[i], &outcomes[(*n)++], err);
	return ret;
}

int analyze_report_points(const struct analyze_settings *s, const struct analyze_pair *pairs,
	unsigned int n_pairs, struct analyze_faults *faults, struct rd_error *err)
{
	struct analyze_outcome *outcomes;
	unsigned int n = 0;
	int ret;

	if (s->html || s->annotate || s->compare || s->marks)
		return rd_fail(err, RD_CLASS_USAGE, 0,
			"give two of them, or add --ends never to read one after the other",
			"'%s' and '%s' have the same packets: these look like captures at several "
			"points",
			pairs[0].files[RD_TAP_A], pairs[0].files[RD_TAP_B]);
	outcomes = calloc(n_pairs + s->n_files, sizeof(*outcomes));
	if (!outcomes)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the reports");
	ret = judge(s, pairs, n_pairs, outcomes, &n, err);
	for (unsigned int i = 0; i < n; i++) {
		outcomes[i].number = i;
		faults->damaged |= outcomes[i].faults.damaged;
		faults->incomplete |= outcomes[i].faults.incomplete;
	}
	if (!ret)
		ret = print_all(s, outcomes, n, n_pairs, err);
	for (unsigned int i = 0; i < n; i++)
		analyze_outcome_free(&outcomes[i]);
	free(outcomes);
	return ret;
}
