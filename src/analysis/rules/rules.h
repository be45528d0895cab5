/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A rule, and what it looks at. */
#ifndef RDMADUMP_ANALYSIS_FINDINGS_H
#define RDMADUMP_ANALYSIS_FINDINGS_H

#include "../report/report.h"

struct look {
	const struct rd_analysis *a;
	const struct rd_report *r;
	const struct rd_conversation *c; /* NULL for rules over the whole capture */
	const struct rd_side *s;	 /* whose requests and frames */
	const struct rd_side *other;
	const struct rd_endpoint *from, *to; /* of that side and of the other */
	unsigned int side;
	unsigned int nth; /* for rules that find several things: counts up while they find */
};

enum scope {
	OF_SIDE,   /* asked for each side of each conversation */
	OF_CAPTURE /* asked once, or with nth = 0, 1, 2 ... while true */
};

struct rule {
	const char *key;
	enum scope scope;
	enum rd_severity severity; /* unless the rule says another */
	/* True if it is so; fills sure, count, frames, title, detail, filter. */
	bool (*applies)(const struct look *look, struct rd_finding *f);
	const char *meaning, *next;
};

extern const struct rule rules_of_sides[], rules_of_capture[]; /* ended by a row without a key */

/* For qsort(): the worst first. */
int finding_worse(const void *x, const void *y);
/* The finding's numbers, time and frames are those of the event. */
void finding_of(struct rd_finding *f, const struct rd_event *e, enum rd_sureness sure);
void finding_frame(struct rd_finding *f, uint64_t frame);
void finding_title(struct rd_finding *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void finding_detail(struct rd_finding *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* A Wireshark display filter; the frames from `first` on, if it is not 0. */
void finding_filter(struct rd_finding *f, uint64_t first, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
