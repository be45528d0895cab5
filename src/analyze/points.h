/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What many files have in common, and which are parts of one capture. */
#pragma once

#include "analyze.h"

/* --- packets in common (common.c) ------------------------------------------------------------- */

struct analyze_walker {
	/* False: the rest need not be read. */
	bool (*frame)(void *ctx, enum rd_link link, const struct rd_frame *frame);
	void *ctx;
	uint64_t *ran_until_ns; /* until when the last file's capture ran; NULL: not needed */
	uint64_t *adapter;	/* its node GUID, of the first facts; NULL: not needed */
};

/* The frames of all files, one after the other; of a damaged one those before. */
int analyze_walk(
	char *const *files, unsigned int n, const struct analyze_walker *w, struct rd_error *err);

/* Two addresses with packets between them, in any direction. */
struct common_path {
	struct rd_ends_address low, high;
};

/* Sorted, each once. */
struct common_paths {
	struct common_path *list;
	size_t n;
};

struct common {
	unsigned int n;
	struct common_file {
		uint64_t frames, first_ns, last_ns;
		uint64_t adapter;    /* its node GUID; 0: unknown */
		unsigned int sample; /* how many of its first packets were searched */
		struct common_paths paths;
	} * files;
	bool incomplete;     /* the paths: a file has too many */
	unsigned int *found; /* [a * n + b]: how many of those of a are in b, too */
};

/* Freed by common_free(), also after an error. Time is linear in the sum of the files. */
int common_find(struct common *c, char *const *files, unsigned int n, struct rd_error *err);
void common_free(struct common *c);
/* Whether two files have any packet in common, or so many that both are of the same traffic. */
bool common_any(const struct common *c, unsigned int a, unsigned int b);
bool common_most(const struct common *c, unsigned int a, unsigned int b);
int common_order(const void *x, const void *y); /* of two paths */
/* Sorts a list, and keeps each of its elements once. Returns how many these are. */
size_t sort_unique(void *list, size_t n, size_t size, int (*order)(const void *x, const void *y));
struct common_path common_path(const struct rd_ends_packet *p);

/* --- packets of many pairs (kept.c) ----------------------------------------------------------- */

struct kept_reader;

/*
 * Reads the files of all points, and keeps what their pairs need, each packet once. NULL, with a
 * warning: it cannot.
 */
struct kept *kept_make(const struct common *c, const struct analyze_points *p,
	const unsigned int *of_point, unsigned int n, unsigned int threads);
void kept_free(struct kept *k);
const struct rd_ends_capture *kept_capture(const struct analyze_pair *pair, enum rd_tap tap);
/* The packets of one point that its pair compares, in their order; and how many these are. */
struct kept_reader *kept_open(
	const struct analyze_pair *pair, enum rd_tap tap, struct rd_error *err);
uint64_t kept_packets(const struct analyze_pair *pair, enum rd_tap tap);
/* The next one; NULL: there is none. */
const struct rd_ends_packet *kept_peek(const struct kept_reader *r);
void kept_step(struct kept_reader *r);
/* -1: it could not be read. */
int kept_close(struct kept_reader *r, struct rd_error *err);

/* --- pairs (pairs.c) -------------------------------------------------------------------------- */

/* Whether both points of a pair have the same packets: 1 with pair->start, 0, or -1. */
int pair_look(struct analyze_pair *pair, enum rd_ends_need need, struct rd_error *err);
/* Fills p->pairs with those of the first n points that have the same packets. 0, or -1. */
int pairs_find(const struct common *c, struct analyze_points *p, unsigned int n,
	const unsigned int *of_point, unsigned int threads, struct rd_error *err);

/* --- series (series.c) ------------------------------------------------------------------------ */

/*
 * Which files are parts of one capture: of_point[i] becomes the number of the point of files[i], by
 * the order of their first files; order[] the indices of all files in the order of time. The number
 * of points, or -1.
 */
int find_series(const struct common *c, char *const *files, unsigned int *of_point,
	unsigned int *order, struct rd_error *err);
