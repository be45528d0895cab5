/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sentences of the verdict. */
#ifndef RDMADUMP_ANALYSIS_WORDS_H
#define RDMADUMP_ANALYSIS_WORDS_H

#include "verdict.h"
#include <stdio.h>

/* Sets the texts of report->verdict; g: its main group, or NULL. -1 if out of memory. */
int words_make(struct rd_report *r, const struct rd_group *g);

/* Whether requests were retransmitted; without a finding, nothing says why. */
bool was_repeated(const struct rd_report *r);

/* --- parts of sentences (phrases.c) ----------------------------------------------------------- */

/*
 * What happened: of loss and reordering (`mixed`) the side of the capture point `point`; else the
 * sentence of the cause, or the title of the finding.
 */
void put_event(FILE *out, const struct rd_report *r, const struct rd_judgement *v,
	const struct rd_finding *f, unsigned int mixed, const char *point);
/* Makes the first letter lowercase, except in abbreviations. */
void lower_first(char *text);
/* Puts "Possibly: " before v->what if it is only possible. False if out of memory. */
bool what_is_possible(struct rd_judgement *v);
/* "That it happened is likely; surer with " */
void put_how_sure(FILE *out, const struct rd_judgement *v);
/* "; messages delayed by retransmissions: at least 4 of 80 (5 %)" */
void put_delayed(FILE *out, const struct rd_judgement *v);

/* Writes a template with addresses in place of {s}, {r}, {h}. */
void put_filled(FILE *out, const char *text, const char *s, const char *r);
/* "the NIC of 10.0.0.1 or the fabric"; "the NIC or the application on 10.0.0.2" */
void put_places(FILE *out, unsigned int set, const char *sender, const char *receiver);
/* The title of a finding that so many QPs have: "this sender" is not the verdict's. */
void put_other_title(FILE *out, const struct rd_finding *f, size_t n);
/* " of 480 (2.1 %)"; `what` comes after the larger number. */
void put_of(FILE *out, uint64_t some, uint64_t all, const char *what);
/* ", from 0.2 s to 1.7 s", since the first frame. */
void put_since(FILE *out, const struct rd_judgement *v, uint64_t first_ns);
/* ": the bottleneck is ...": all hosts that are about as slow (times.c). */
void put_bottleneck(FILE *out, const struct rd_report *r);

#endif
