/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One report of captures at several points: of each, and of each pair that has the same packets. */
#pragma once

#include <rdmadump/ends.h>

#define RD_POINTS_VERSION 1

struct rd_points_capture {
	const char *name; /* of its first file, and how many follow; borrowed */
	struct rd_report *report;
};

struct rd_points_pair {
	unsigned int capture[RD_TAPS];
	struct rd_ends_report *ends;
};

/* Of a pair, or of a capture that is in none. */
struct rd_points_verdict {
	uint32_t pair, capture; /* UINT32_MAX: none */
	/* Rests on one capture of its pair; this other pair has the same packets at both ends. */
	uint32_t better;
	const struct rd_judgement *of;
};

/* Whether one of the captures was made at a host. */
enum rd_points_captured {
	RD_POINTS_SILENT,  /* no packet of it was captured anywhere */
	RD_POINTS_NO,	   /* the facts of each capture say whose it is */
	RD_POINTS_UNKNOWN, /* none is known to be */
	RD_POINTS_LIKELY,  /* all packets of one are to it or from it */
	RD_POINTS_YES,	   /* a file says so */
};

/*
 * The addresses of packets that are of one port, by the facts of the files; an address that no
 * facts name is a host.
 */
struct rd_points_host {
	uint32_t address; /* the first one, which names it */
	uint32_t n_addresses;
	enum rd_points_captured captured;
};

/* A process with QPs at an address of a host. */
struct rd_points_owner {
	uint32_t host, address;
	const struct rd_owner *who; /* of a conversation; NULL: owner of a QP there is unknown */
};

/* Processes of a host with the same command and job. */
struct rd_points_program {
	const struct rd_points_owner *owner; /* the first one; in the order of their ranks */
	size_t n_owners;		     /* a process at several addresses has several */
	uint32_t host, n_processes;
};

enum rd_points_count {
	RD_POINTS_LOST, /* between two captures */
	RD_POINTS_RETRANSMITTED,
	RD_POINTS_PAUSED_NS,
	RD_POINTS_PAUSES,
	RD_POINTS_PACKETS,
	RD_POINTS_COUNTS
};

/* From one host to another one. */
struct rd_points_path {
	uint32_t from, to; /* hosts */
	/* Of each pair of addresses the most that one capture, or pair of captures, shows. */
	uint64_t count[RD_POINTS_COUNTS];
	bool lost_known;
	/* Responses to its requests, of the conversation with the largest p99; n = 0: none. */
	struct rd_latency latency;
};

enum rd_points_end { RD_POINTS_TO, RD_POINTS_FROM, RD_POINTS_EITHER, RD_POINTS_ENDS };

/* Where most faulty paths (lost or retransmitted packets; else slow responses) end or begin. */
struct rd_points_common {
	bool slow;
	bool address;	/* it is one of several addresses of a host; else a host */
	uint32_t place; /* the number of that */
	enum rd_points_end end;
	size_t faulty, of_faulty, others, of_others; /* paths; faulty 0: nowhere */
	const struct rd_owner *owner; /* of all QPs there; NULL: several, or unknown */
};

/* Of a capture, at the first moment of the reference, which is the first one of them. */
struct rd_points_clock {
	uint32_t capture;
	int64_t offset_ns; /* ahead of the reference */
	uint64_t error_ns; /* the largest one */
};

/* The host that begins its messages far later than the others, so that they wait for it. */
struct rd_points_straggler {
	uint32_t address;
	size_t of; /* addresses that were compared; 0: there is none */
	struct rd_late late;
	uint64_t next_ns;	      /* how late the next one is */
	const struct rd_owner *owner; /* of all QPs there; NULL: several, or unknown */
};

struct rd_points {
	struct rd_points_capture *captures;
	size_t n_captures;
	struct rd_points_pair *pairs;
	size_t n_pairs;
	struct rd_points_verdict *verdicts; /* worst first */
	/* The first of them are faults; then those that another pair shows better. */
	size_t n_verdicts, n_faults, n_same;
	const char **addresses; /* of all conversations */
	uint32_t *host_of;	/* of each address */
	size_t n_addresses;
	struct rd_points_host *hosts;
	size_t n_hosts;
	struct rd_points_path *paths; /* worst first */
	size_t n_paths;
	struct rd_points_owner *owners;
	size_t n_owners;
	struct rd_points_program *programs; /* in the order of hosts */
	size_t n_programs;
	struct rd_points_common common;
	struct rd_points_clock *clocks; /* in the order of captures; of others nothing shows it */
	size_t n_clocks;
	uint64_t clock_start; /* the reference's first moment, by its clock */
	struct rd_points_straggler straggler;
};

/*
 * Of captures and pairs whose reports are made: what they show together. Changes the reports:
 * advice to capture at a point that was captured is replaced. -1 if out of memory.
 */
int rd_points_judge(struct rd_points *p);
/* With the reports. */
void rd_points_free(struct rd_points *p);

/* The name of what faulty paths have in common. */
const char *rd_points_place(const struct rd_points *p);

/* What is printed before the reports. */
void rd_points_text(const struct rd_points *p, const struct rd_report_style *style, FILE *out);
/* As docs/schema/analyze-points.json describes it, in parts; as rd_report_json_write(). */
int rd_points_json_write(const struct rd_points *p, size_t flags, FILE *out);
/*
 * For a page of about this many bytes: the worst verdicts and paths, in full the first reports.
 * NULL if out of memory. Owned by the caller.
 */
json_t *rd_points_json_within(const struct rd_points *p, size_t bytes, size_t flags);
