/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parts of a report that other files make. */
#pragma once

#include "../model/app.h"

/* The ports that facts are of, and which ends of conversations they are. -1 if out of memory. */
int report_ports_make(const struct rd_analysis *a, struct rd_report *r);
void report_ports_free(struct rd_report *r);
/* Compares counters of devices with their packets. -1 if out of memory. */
int comparisons_make(const struct rd_analysis *a, struct rd_report *r);
/* Adds findings about the growth of counters. -1 if out of memory. */
int readings_judge(const struct rd_analysis *a, struct rd_report *r);
/* Corrects conclusions from the packets of conversations. */
void readings_correct(const struct rd_analysis *a, struct rd_report *r);

/* One application, of as many queues as are added. All zero is an empty one. */
struct app_sum {
	struct rd_application app;
	struct samples *latencies; /* of each operation */
};

/* Moves the result into *out, for application_clear(). False if out of memory. */
bool app_sum_end(struct app_sum *s, struct rd_application *out);
void app_sum_free(struct app_sum *s);
/*
 * The application of a conversation of these flows, the first of them from side a. Adds it to those
 * of the capture, by number. False if out of memory.
 */
bool application_fill(struct rd_conversation *c, struct app_sum sums[APPS], const struct flow *a,
	const struct flow *b);
void application_clear(struct rd_application *app);
