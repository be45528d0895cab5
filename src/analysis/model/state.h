/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of the analysis between frames, and its small parts. */
#pragma once

#include "bounded.h"
#include "flow.h"
#include "grid.h"

struct link_pair { /* two flows that are a pair, according to the CM or to the QPs stored in the
		      file */
	uint64_t k1, k2; /* key of a flow, without its network */
	uint64_t p1, p2; /* key of its peer */
	uint32_t network, peer_network;
	uint32_t psn; /* first PSN of the flow's requests; 0xffffffff: unknown */
	uint8_t how;
	bool asks;		   /* the sender of the flow sent the REQ */
	struct rd_connection made; /* by the CM */
};

struct cm_request {
	uint8_t src[16], dst[16];
	uint32_t local_id, qpn, psn, network;
	struct rd_incident tries;  /* with those that repeat it */
	struct rd_connection made; /* what it asks for */
	uint8_t net;
	bool used, answered, rejected;
};

struct cm_reject {
	uint32_t reason;
	struct rd_incident incident;
	uint8_t src[16], dst[16];
	uint64_t service; /* of all of them; 0: unknown */
	uint8_t net;
	bool of_request; /* a REQ is rejected; else a reply, or none that arrived */
};

#define LINK_EVENTS 64

enum link_change { LINK_UP, LINK_DOWN, LINK_GIDS };

/* A port went down or up, or its GIDs changed, between two frames. */
struct link_event {
	uint64_t before_ns, ns; /* of the frames */
	uint64_t frame;		/* the second one */
	/* When it was noted, by its own time if it has one: frames wait in a buffer before that. */
	uint64_t noted_ns;
	enum link_change what;
	char gid[RD_ADDRESS_LEN]; /* of LINK_GIDS: that was removed; "": unknown which changed */
};

struct link_events {
	struct link_event event[LINK_EVENTS];
	unsigned int n;
};

#define CM_OPEN	   256
#define CM_REJECTS 16

/* The last requests of the CM, in a ring, and the kinds of rejects. */
struct cm_seen {
	struct cm_request open[CM_OPEN];
	unsigned int at;
	struct cm_reject rejects[CM_REJECTS];
	unsigned int n_rejects;
};

/* Requests that were refused for good, and the beginnings of messages (refused.h). */
struct refused {
	struct beginning *beginning; /* a ring */
	uint32_t at;
	struct refusal *request;
	size_t n;
};

/* What files say, and which frames are being taken. */
struct input {
	struct rd_report_file *files;
	size_t n_files;
	char *application, *hardware, *os, *filter;
	uint64_t pending_dropped;
	int linktype;	   /* of the frames, if not decoded */
	enum rd_link link; /* of the frames */
	uint64_t speed;	   /* of their interface, bit/s, 0: unknown */
	/* For each interface, the first one of the file that is the same (place.c). */
	uint8_t same_iface[PLACES];
	unsigned int n_ifaces;
};

struct marks {
	struct rd_mark *rows;
	size_t n;
};

struct rd_analysis {
	struct rd_analysis_config config;
	struct rd_totals totals;
	struct input in;
	struct flow_table flows;
	uint8_t parts[256]; /* which part handles a packet, by BTH opcode */
	struct grid grid;
	struct host_paths *paths;
	uint64_t frame;		/* number of the current one */
	uint64_t ns;		/* its time */
	struct rd_point *point; /* of the current flow, at this time */
	uint64_t origin_ns;	/* of the first frame of all; 0: without --time */
	/* The last pause of all traffic that may be a step of the clock; 0: there was none. */
	uint64_t pause_ns, pause_end_ns;
	uint64_t stops, stopped_ns; /* pauses of all traffic above WAITED_NS, and their sum */
	struct {
		uint64_t good, bad;
	} icrc[RD_DIRECTIONS];
	struct rd_incident icrc_lost; /* wrong CRC, and the flow is unknown */
	struct rd_incident merged;    /* frames with several packets */
	uint64_t merged_packets;      /* in them */
	struct rd_incident tunnels;   /* RDMA frames in tunnels, whether looked into or not */
	struct rd_incident copies;    /* of packets that are analysed at another place */
	bool tunnels_proven;	      /* one of those had a valid ICRC */
	struct rd_incident foreign;   /* to RoCE's UDP port, but not RoCE (foreign.c) */
	struct pauses *pauses;	      /* NULL: no pause frame was seen */
	struct rd_unread unread[RD_UNREAD_KINDS];
	unsigned int n_unread;
	/* Request PSNs that wait for a response, to find the responder (pair.c). */
	struct bounded psns;
	struct bounded qkeys; /* of UD QPs (datagram.c) */
	struct mads *mads;    /* NULL: there was none (mad.c) */
	struct bounded links; /* struct link_pair, by key of the flow (pair.c) */
	struct cm_seen cm;
	struct rd_incident dropped; /* frames that the capture lost */
	struct facts *facts;
	struct link_events ports; /* of those that captured */
	uint64_t facts_ns;	  /* facts_pass() is due with the first frame from then on */
	bool out_of_memory;
	struct app_budget app_budget;
	struct refused refused;
	struct psn_plots *psn_plots; /* NULL: not asked for */
	struct marks marks;
};

/* Returns the pointer; NULL sets out_of_memory. */
static inline void *must(struct rd_analysis *a, void *memory)
{
	a->out_of_memory |= !memory;
	return memory;
}

/* Counts goodput of the current frame: in *total, of its flow, and in the time series. */
static inline void goodput_add(struct rd_analysis *a, uint64_t *total, uint64_t bytes)
{
	*total += bytes;
	a->point->goodput_bytes += bytes;
}

/* --- frames that are left aside (foreign.c, place.c) ------------------------------------------ */

/*
 * A packet without a valid ICRC: returns true if it is not RoCE, and counts it. If the QP has
 * packets with valid ICRCs, it is always RoCE (foreign.c).
 */
bool foreign_take(struct rd_analysis *a, const struct item *it);
/* Whether its headers are not those of RoCE, unless a valid ICRC proves that they are. */
bool foreign_may_be(const struct rd_packet *p);
/* Counts a frame that is not RDMA traffic, if its content is unknown. */
void unread_take(struct rd_analysis *a, const struct rd_packet *p);

/* A frame from a place other than the flow's: true if it is ignored (place.c). */
bool place_leaves(struct rd_analysis *a, struct flow *f, const struct item *it);
/* Sets the place of a new flow: that of others of its hosts, if these are at several places. */
void place_new(struct rd_analysis *a, struct flow *f);

/* --- management datagrams (mad.c, cm.c) ------------------------------------------------------- */

/* Counts a MAD (mad.c). */
void mad_free(struct mads *mads);
void mad_take(struct rd_analysis *a, const struct item *it);
void mad_take_smp(struct rd_analysis *a, const struct item *it);
/* Fills the table of a report; false if out of memory. */
bool mad_rows(const struct rd_analysis *a, struct rd_report *r);

/* A message of the CM: connections (cm.c). */
void cm_message(struct rd_analysis *a, struct flow *f, const struct item *it);

/* --- what each frame is counted as (marks.c) -------------------------------------------------- */

/* The current frame is counted as this; most kinds are not about one frame, and do nothing. */
void mark_incident(struct rd_analysis *a, const struct flow *f, enum rd_incident_kind kind);
/* Any kind. `pending`: unless those after it show that a round began with it. */
void mark_frame(
	struct rd_analysis *a, const struct flow *f, enum rd_incident_kind kind, bool pending);
/* These frames began a round. */
void mark_late_again(struct rd_analysis *a, const struct flow *f);
/* The first frame of the last round was late; this was just counted at the current frame. */
void mark_first_was_late(struct rd_analysis *a, const struct flow *f);

/* --- PSNs over time (psn_plot.c) -------------------------------------------------------------- */

/* NULL if out of memory. */
struct psn_plots *psn_plots_open(void);
void psn_plots_free(struct psn_plots *plots);
/* Sets the current frame, before the two functions below are called. */
void psn_plots_incident(struct rd_analysis *a, enum rd_incident_kind kind);
/* A request of `f`, and a response to requests of `r`, after they were judged. */
void psn_plots_request(struct rd_analysis *a, struct flow *f, const struct item *it, uint32_t span);
void psn_plots_response(struct rd_analysis *a, struct flow *r, const struct item *it);
/* Sets *to, which the caller frees, if the flow has a plot. False if out of memory. */
bool psn_plot_copy(struct rd_psn_plot **to, const struct psn_plots *plots, const struct flow *f);
