/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which of many files are the parts of one capture: by names, times and packets. */
#include "points.h"
#include <errno.h>
#include <rdmadump/array.h>
#include <stdlib.h>

#define DIGITS                                                                                     \
	5 /* of a number or time in the names of dumpcap and of tcpdump -G; fewer name a host */

/*
 * What the names of a series have in common: without numbers and times, and without the number that
 * tcpdump adds at the end. NULL: out of memory.
 */
static char *key_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
	const size_t before = (size_t)(from - path);
	char *key = strdup(path), *to = key ? key + before : NULL;

	while (key && *from) {
		const size_t digits = strspn(from, "0123456789");
		const bool behind_ending = digits && to - key > 4 && !memcmp(to - 4, "pcap", 4);

		if (digits < DIGITS && !behind_ending) {
			memcpy(to, from, digits + !digits);
			to += digits + !digits;
		}
		from += digits + !digits;
	}
	if (key)
		*to = '\0';
	return key;
}

/* Into names[]: for each file the first one whose name has the same key. */
static int compare_names(char *const *files, unsigned int n, unsigned int *names)
{
	char **keys = calloc(n, sizeof(*keys));
	int ret = keys ? 0 : -1;

	for (unsigned int i = 0; i < n && !ret; i++) {
		keys[i] = key_of(files[i]);
		ret = keys[i] ? 0 : -1;
		names[i] = 0;
		while (!ret && strcmp(keys[names[i]], keys[i]) != 0)
			names[i]++;
	}
	for (unsigned int i = 0; i < n && keys; i++)
		free(keys[i]);
	free(keys);
	return ret;
}

static int by_time(const void *x, const void *y, void *ctx)
{
	const unsigned int a = *(const unsigned int *)x, b = *(const unsigned int *)y;
	const struct common *c = ctx;

	return RD_ORDER((int64_t)c->files[a].first_ns, (int64_t)c->files[b].first_ns)
		       ?: RD_ORDER(a, b);
}

/*
 * Whether a file begins about where the former one ends: the last frames of one may have later
 * times than the first ones of the next.
 */
static bool is_after(const struct common_file *f, const struct common_file *former)
{
	const int64_t half = (int64_t)(f->last_ns - f->first_ns) / 2;
	const int64_t half_former = (int64_t)(former->last_ns - former->first_ns) / 2;

	return (int64_t)(f->first_ns - former->first_ns) >= half_former &&
	       (int64_t)(f->last_ns - former->last_ns) >= half;
}

/* Whether files[i], in the order of time, goes on where all those of a point have ended. */
static bool goes_on(const struct common *c, const unsigned int *names, const unsigned int *order,
	const unsigned int *of_point, unsigned int i, unsigned int point)
{
	const unsigned int file = order[i];

	for (unsigned int k = 0; k < i; k++) {
		const unsigned int former = order[k];

		if (of_point[former] == point &&
			(names[former] != names[file] || common_most(c, file, former) ||
				!is_after(&c->files[file], &c->files[former])))
			return false;
	}
	return true;
}

/* Points have the number of their earliest file; here they get those in the order of the files. */
static unsigned int number_points(unsigned int n, unsigned int *of_point, unsigned int *numbers)
{
	unsigned int points = 0;

	for (unsigned int i = 0; i < n; i++)
		numbers[i] = n;
	for (unsigned int i = 0; i < n; i++) {
		if (numbers[of_point[i]] == n)
			numbers[of_point[i]] = points++;
		of_point[i] = numbers[of_point[i]];
	}
	return points;
}

int find_series(const struct common *c, char *const *files, unsigned int *of_point,
	unsigned int *order, struct rd_error *err)
{
	unsigned int *names = calloc(c->n, sizeof(*names)), points;

	if (!names || compare_names(files, c->n, names) < 0) {
		free(names);
		return rd_fail(
			err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory to compare %u names", c->n);
	}
	for (unsigned int i = 0; i < c->n; i++)
		order[i] = i;
	qsort_r(order, c->n, sizeof(*order), by_time, (void *)(uintptr_t)c);
	for (unsigned int i = 0; i < c->n; i++) {
		of_point[order[i]] = order[i];
		for (unsigned int k = i; k-- > 0 && of_point[order[i]] == order[i];)
			if (goes_on(c, names, order, of_point, i, of_point[order[k]]))
				of_point[order[i]] = of_point[order[k]];
	}
	points = number_points(c->n, of_point, names);
	free(names);
	return (int)points;
}
