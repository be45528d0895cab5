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
/* The title of a finding as a sentence. */
void put_title(FILE *out, const struct rd_report *r, const struct rd_finding *f);

/* --- parts of sentences (phrases.c) ----------------------------------------------------------- */

/* The address, or "the host" if it is empty. */
const char *host_name(const char *address);

#define POSSIBLY "Possibly: " /* precedes a statement that is only possible */
/* Makes the first letter lowercase, for a sentence after POSSIBLY, except in abbreviations. */
void lower_first(char *text);

/* Writes a template with addresses in place of {s}, {r}, {h}. */
void put_filled(FILE *out, const char *text, const char *s, const char *r);
/* "the NIC of 10.0.0.1 or the fabric"; "the NIC or the application on 10.0.0.2" */
void put_places(FILE *out, unsigned int set, const char *sender, const char *receiver);
/* The title of a finding that so many QPs have: "this sender" is not the verdict's. */
void put_other_title(FILE *out, const struct rd_finding *f, size_t n);
/* " of 480 (2.1 %)"; `what` comes after the larger number. */
void put_of(FILE *out, uint64_t some, uint64_t all, const char *what);
/* ", from 0.2 s to 1.7 s", since the first frame. */
void put_since(FILE *out, const struct rd_report *r);
/* ": the bottleneck is ...": all hosts that are about as slow (times.c). False if out of memory. */
bool put_bottleneck(FILE *out, const struct rd_report *r);

#endif
