/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions that text, JSON and HTML share. */
#pragma once

#include <rdmadump/drops.h>
#include <rdmadump/report_output.h>
#include <rdmadump/shape.h>
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

/* With -v: the priorities of a side's packets, and the effect of congestion control on it. */
void side_congestion_text(const struct rd_side *s, FILE *out);
/* The table of pause frames; nothing without any. */
void pauses_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out);

/* The verdict's rows and an empty line. */
void verdict_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out);
/* How the time of a side's requests was spent, in one line; nothing for NULL. */
void times_text(const struct rd_times *t, FILE *out);
/* Tables of hosts if there are more than two; with -v always, and also of pairs of hosts. */
void hosts_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out);

/* The table of management datagrams (mads.c). */
void mads_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out);
/* Applications (applications.c): the tables; with -v: that of a conversation. */
void applications_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out);
void application_text(const struct rd_application *app, FILE *out);

/*
 * A report in parts: all of it with empty arrays for findings and conversations, which are made one
 * by one. NULL if out of memory.
 */
json_t *report_frame_json(const struct rd_report *r);
json_t *report_finding_json(const struct rd_report *r, size_t i);
json_t *report_conversation_json(const struct rd_report *r, size_t i);
/* Removes the PSNs over time, which only pages have. */
void conversation_json_drop_plots(json_t *conversation);
struct rd_ends_report;
/* The verdict on two ends, with times since A's first frame. */
json_t *ends_verdict_json(const struct rd_ends_report *r);

/* What is not in a page. */
struct left_out {
	size_t findings, conversations, with_findings, series, rows;
};

/* --- rows of the JSON ------------------------------------------------------------------------- */

extern const struct rd_shape application_shape, application_sum_shape, congestion_shape,
	conversation_shape, ends_shape, group_shape, held_shape, hosts_shape, incident_shape,
	latency_shape, left_out_shape, mad_shape, owner_shape, pause_sender_shape, points_shape,
	priority_shape, psn_plot_shape, report_shape, series_shape, times_shape, verdict_shape;

/* Members of a side or a report. */
const char *ecn_name(unsigned int bit);
json_t *priority_json(const struct rd_at *at);

/* An empty list, which is filled item by item; something that only a page has. */
json_t *json_nothing_yet(const struct rd_at *at);
json_t *json_in_a_page(const struct rd_at *at);

/* --- names of enumerations, in JSON and in text (values.c) ------------------------------------ */

/* The name of a value; "?" if it has none. Static. */
const char *kind_name(unsigned int kind);
const char *pairing_name(unsigned int pairing);
const char *ending_name(unsigned int ending);
const char *side_name(unsigned int side); /* "a", "b"; NULL if it is neither */
const char *captured_name(unsigned int captured);
const char *end_name(unsigned int end);

/* --- what fits a page of limited size (selection.c) ------------------------------------------- */

struct room {
	size_t flags, bytes; /* that are left, of JSON with these flags of jansson */
	bool no_memory;
};

/* False: the value does not fit, or no memory. NULL is no memory. */
bool room_spend(struct room *room, const json_t *value);
/* The same; consumes the value, and adds it if it fits. */
bool room_add(struct room *room, json_t *list, json_t *value);
