/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions that text, JSON and HTML share. */
#ifndef RDMADUMP_ANALYSIS_OUTPUT_H
#define RDMADUMP_ANALYSIS_OUTPUT_H

#include <rdmadump/analysis.h>
#include <rdmadump/drops.h>
#include <rdmadump/units.h>

/* Prints "1066", or with several files "second.pcap:66": the number in Wireshark. */
void frame_text(const struct rd_report *r, uint64_t frame, FILE *out);
struct rd_path_qp;
/*
 * With captures of two ends: whether packets to this QP were lost, duplicated, reordered, or missed
 * by a capture.
 */
bool path_qp_is_faulty(const struct rd_path_qp *w);
/* What the captures of the files lost, as each said it itself; perhaps `text`. */
const char *losses_text(const struct rd_report *r, char text[RD_DROPS_TEXT]);
/* Prints only the findings of a report. */
void findings_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out);

/* Intervals and opcodes, if requested (tables.c). */
void tables_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out);
void tables_json(const struct rd_report *r, json_t *report);

/* With -v: the priorities of a side's packets, and the effect of congestion control on it. */
void side_congestion_text(const struct rd_side *s, FILE *out);
/* The table of pause frames; nothing without any. */
void pauses_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out);

/* Adds the same to the object of a side. */
void side_congestion_json(json_t *side, const struct rd_side *s);
/* The senders of pause frames: an array. */
json_t *pauses_json(const struct rd_report *r);
/* The verdict as a paragraph and an empty line. */
void verdict_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out);
/* All its sentences in one line; NULL if out of memory. To be freed by the caller. */
char *verdict_sentences(const struct rd_judgement *v);
/* How the time of a side's requests was spent, in one line; nothing for NULL. */
void times_text(const struct rd_times *t, FILE *out);
/* Tables of hosts if there are more than two; with -v always, and also of pairs of hosts. */
void hosts_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out);
json_t *verdict_json(const struct rd_report *r);
json_t *hosts_json(const struct rd_report *r);
json_t *groups_json(const struct rd_report *r);
/* Null for NULL. */
json_t *times_json(const struct rd_times *t);

/* The table of management datagrams (mads.c). */
void mads_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out);
json_t *mads_json(const struct rd_report *r);
/* Applications (applications.c): the tables; with -v: that of a conversation. */
void applications_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out);
void application_text(const struct rd_application *app, FILE *out);
json_t *applications_json(const struct rd_report *r);
/* Null for NULL. */
json_t *application_json(const struct rd_application *app);
/* Null if there are no samples. */
json_t *latency_json(const struct rd_latency *l);
/*
 * A report in parts: the first one has empty arrays for the lists below, whose items are made one
 * by one. NULL if out of memory.
 */
json_t *report_frame_json(const struct rd_report *r);
struct list {
	const char *key;
	size_t (*count)(const struct rd_report *r);
	json_t *(*make)(const struct rd_report *r, size_t i);
};
/* PSNs over time; `start` is the time of the first frame (psn_json.c). */
json_t *psn_plot_json(const struct rd_psn_plot *p, uint64_t start);
/* The list with this key; NULL: it is not a list. */
const struct list *report_list(const char *key);
/* Removes the data of a conversation's plots, which are most of its bytes. */
void conversation_json_shorten(json_t *conversation);

#endif
