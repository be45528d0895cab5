/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which of the files are captures of the same traffic at several points. */
#include "points.h"
#include "cli/cli.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#define FILES 512 /* of more files only so many are searched for packets in common */

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
	*pair = (struct analyze_pair){0};
	for (int i = 0; i < RD_TAPS; i++)
		pair->points[i] = (struct analyze_point){&s->files[i], 1, s->files[i]};
	ret = pair_look(pair, s->ends == WHEN_ALWAYS ? RD_ENDS_NEED_ONE : RD_ENDS_NEED_PART, err);
	if (ret == 0 && s->ends == WHEN_ALWAYS)
		return rd_fail(err, RD_CLASS_DEVICE, 0,
			"check that both were captured at the same time on these hosts",
			"--ends always: '%s' and '%s' have no packets in common", s->files[0],
			s->files[1]);
	return ret;
}

/* The files of each point, in the order of time. */
static int take_points(char *const *files, unsigned int n, struct analyze_points *p,
	const unsigned int *of_point, const unsigned int *order)
{
	unsigned int at = 0;

	p->files = calloc(n, sizeof(*p->files));
	p->points = calloc(p->n, sizeof(*p->points));
	for (unsigned int i = 0; i < p->n && p->files && p->points; i++) {
		struct analyze_point *point = &p->points[i];

		point->files = &p->files[at];
		for (unsigned int k = 0; k < n; k++)
			if (of_point[order[k]] == i)
				p->files[at++] = files[order[k]];
		point->n = (unsigned int)(&p->files[at] - point->files);
		if (asprintf(&point->name, point->n > 1 ? "%s and %u more" : "%s", point->files[0],
			    point->n - 1) < 0)
			return -1;
	}
	return p->files && p->points ? 0 : -1;
}

static int by_name(const void *x, const void *y)
{
	return strverscmp(*(char *const *)x, *(char *const *)y);
}

/* The names in an order that does not depend on that of the arguments. NULL: out of memory. */
static char **sorted(const struct analyze_settings *s)
{
	char **files = calloc(s->n_files, sizeof(*files));

	if (files) {
		memcpy(files, s->files, s->n_files * sizeof(*files));
		qsort(files, s->n_files, sizeof(*files), by_name);
	}
	return files;
}

int analyze_points_find(
	const struct analyze_settings *s, struct analyze_points *p, struct rd_error *err)
{
	const unsigned int n = s->n_files < FILES ? s->n_files : FILES;
	unsigned int *of_point = NULL, *order = NULL;
	char **files = NULL;
	struct common c = {0};
	int points = -1;

	*p = (struct analyze_points){0};
	if (s->ends != WHEN_AUTO || s->n_files <= RD_TAPS || analyze_not_a_file(s))
		return 0;
	files = sorted(s);
	of_point = calloc(s->n_files, sizeof(*of_point));
	order = calloc(s->n_files, sizeof(*order));
	if (!files || !of_point || !order)
		rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory to compare %u files", n);
	else if (common_find(&c, files, n, err) == 0)
		points = find_series(&c, files, of_point, order, err);
	if (points > 0) {
		p->n = (unsigned int)points;
		for (unsigned int i = n; i < s->n_files; i++) {
			of_point[i] = p->n++;
			order[i] = i;
		}
		if (take_points(files, s->n_files, p, of_point, order) < 0)
			points = rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for names");
		else
			points = pairs_find(&c, p, (unsigned int)points, of_point, s->threads, err);
	}
	common_free(&c);
	free(files);
	free(of_point);
	free(order);
	if (points == 0 && n < s->n_files)
		rd_log(RD_LOG_WARNING,
			"only the first %u of %u files were searched for packets in common", n,
			s->n_files);
	return points < 0 ? -1 : p->n_pairs > 0;
}

void analyze_points_free(struct analyze_points *p)
{
	for (unsigned int i = 0; i < p->n && p->points; i++)
		free(p->points[i].name);
	for (unsigned int i = 0; i < p->n_pairs; i++)
		free(p->pairs[i].start.addresses);
	kept_free(p->kept);
	free(p->points);
	free(p->files);
	free(p->pairs);
}
