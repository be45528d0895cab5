/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of the analysis between frames. A flow is all frames from one address to one QP:
 * requests of the sender, and its responses to requests of that QP. Two flows are a conversation.
 */
#ifndef RDMADUMP_ANALYSIS_STATE_H
#define RDMADUMP_ANALYSIS_STATE_H

#include "bounded.h"
#include "congestion.h"
#include "leg.h"
#include "times.h"
#include <rdmadump/analysis.h>
#include <string.h>

/* The distance from PSN b to PSN a, modulo 2^24: -2^23 to 2^23 - 1. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & 0xffffff;
}

/* --- sequences with holes (seq.c) ------------------------------------------------------------- */

#define HOLES 256 /* maximum per sequence; packet spraying causes many small ones */

struct hole {
	uint32_t psn, n;
};

/* All PSNs from `start` on, except the holes; the oldest hole is the first. */
struct seq {
	uint32_t start;
	uint16_t n_holes, capacity;
	struct hole *holes; /* NULL until the first one */
};

/* Starts again at this PSN, without holes. */
void seq_restart(struct seq *s, uint32_t start);
void seq_free(struct seq *s);
/* [psn, psn + n) is missing. If there is no room or no memory, the oldest hole is dropped. */
void seq_add_hole(struct seq *s, uint32_t psn, uint32_t n);
/* Removes [psn, psn + n) from the holes; returns how many of these PSNs were missing. */
uint32_t seq_fill(struct seq *s, uint32_t psn, uint32_t n);
/* Removes the holes before psn; returns how many PSNs they had. */
uint32_t seq_close(struct seq *s, uint32_t psn);
/* Whether psn is missing. */
bool seq_is_hole(const struct seq *s, uint32_t psn);

/* --- histograms (hist.c) ---------------------------------------------------------------------- */

/* Four steps per power of two, from 64 ns to half a minute. */
#define HIST_STEPS 120

/* Stores only the range of steps that have samples; a count grows from one byte to four. */
struct hist {
	uint64_t n, min, max;
	uint8_t first, steps; /* number of the first step, how many there are */
	uint8_t width;	      /* bytes of a count: 1, 2, 4 */
	_Alignas(4) uint8_t counts[];
};

/*
 * Adds a sample; allocates or enlarges *h (NULL at first) as needed; free it with free(). False if
 * out of memory.
 */
bool hist_add(struct hist **h, uint64_t ns);
/* Adds all samples of `from`, which has some. False if out of memory. */
bool hist_join(struct hist **to, const struct hist *from);
struct rd_latency hist_result(const struct hist *h);

/* --- time series (grid.c) --------------------------------------------------------------------- */

#define SERIES_KEPT 1024 /* flows with a series of their own; the others share row 0 */

struct grid {
	uint64_t start, width;
	uint64_t since;			    /* start of the current point */
	unsigned int at;		    /* its number */
	unsigned int last;		    /* the highest one used */
	struct rd_point *rows[SERIES_KEPT]; /* RD_SERIES_POINTS each; [0] is shared */
	unsigned int n_rows;
};

bool grid_init(struct grid *g);
void grid_free(struct grid *g);
/* Allocates a row for a flow; 0, the shared one, if there is no room. */
unsigned int grid_row(struct grid *g);
/* Makes ns the current time. */
void grid_move(struct grid *g, uint64_t ns);

/* Makes an empty series with the number of points that the grid uses. False if out of memory. */
bool points_init(struct rd_series *s, const struct grid *g);
/* Adds a row of the grid. */
void points_add(struct rd_series *s, const struct rd_point *row);

static inline struct rd_point *grid_point(struct grid *g, unsigned int row, uint64_t ns)
{
	if (ns - g->since >= g->width)
		grid_move(g, ns);
	return &g->rows[row][g->at];
}

/* --- intervals (interval.c) ------------------------------------------------------------------- */

struct intervals;

/* NULL if out of memory. */
struct intervals *intervals_open(uint64_t width_ns);
void intervals_free(struct intervals *v);
/* Makes ns the current time, before the frame of that time is counted in the totals. */
void intervals_move(struct rd_analysis *a, uint64_t ns);
/* Counts incidents at the current time; kinds that intervals do not have are ignored. */
void intervals_incident(struct intervals *v, enum rd_incident_kind kind, uint64_t n);
/* Takes back the last incident of this kind, which was counted in error. */
void intervals_take_back(struct intervals *v, enum rd_incident_kind kind);
/* Copies the intervals so far; `v` may be NULL. False if out of memory. */
bool intervals_copy(struct rd_intervals *to, struct intervals *v, const struct rd_totals *t);

/* Counts a packet by its opcode. */
void opcodes_take(struct rd_opcode_use *opcodes, const struct rd_packet *p, uint64_t frame);

/* --- PSNs over time (psn_plot.c) -------------------------------------------------------------- */

struct psn_plots;
struct flow;
struct item;

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

/* --- flows (flow.c) --------------------------------------------------------------------------- */

struct flow_key {
	uint64_t k1, k2;
};

/* The incidents that were counted, in the order of their kinds: bit n of `has` is kind n. */
struct incidents {
	uint64_t has;
	struct rd_incident *list;
};

/* Allocated for a flow when its request sequence breaks for the first time. */
struct trouble {
	struct seq seen;     /* request PSNs ever seen; start is the first one */
	struct seq pass;     /* request PSNs of the current retransmission round */
	uint32_t depth;	     /* most packets that overtook a reordered one */
	uint32_t late_depth; /* the same of the late packets that are not judged yet */
	bool doubtful; /* the first packet of the last round may be late, not a retransmission */
	bool fetches;  /* the current packet is a READ or an atomic */
	bool repeats;  /* the current packet is a retransmission */
	bool ports_differ; /* UDP source ports of packets out of sequence differ from the first */
	bool copies_timed, late_doubtful, naks_late, behind_ack; /* see struct rd_side */
	uint32_t unseen, unseen_n; /* PSNs that the last ACK covers, none of which was captured */
	/* The last gap before the start of a message: missed packets, or another connection. */
	bool gap_open;	       /* no response to a packet after it was captured */
	bool gap_doubtful;     /* another connection may have started there */
	bool again_doubtful;   /* one may have started with PSNs that were used before */
	uint32_t gap_next;     /* the PSN after the gap */
	uint32_t gap_msn;      /* messages completed before it; 0: unknown */
	uint64_t gap_messages; /* messages captured before it */
	bool two_naks;	       /* the last NAK arrived before the round of the previous one */
	bool leftover;	       /* only the second one is left, whose round may not be visible */
	bool denied_open; /* the last packet counted as lost downstream may only be late there */
	bool denied_late; /* it was late, and no NAK followed yet */
	uint32_t denied;  /* its PSN */
	uint32_t denied_next; /* the next new PSN at the time of the NAK for it */
	uint64_t again_ns;    /* no later than the capture of its retransmission; 0: none yet */
	uint64_t round_ns;    /* the beginning of the current or last round */
	bool denied_only;     /* the round has its only copy: nothing before was captured */
	bool denied_again;    /* another copy was captured after the NAK for it */
	bool denied_fetch;    /* which is a READ or an atomic */
	bool denied_by_nak;   /* the response to it is a NAK */
	uint32_t filled, filled_n; /* PSNs last captured in a round, and not before; 0: none */
	uint32_t fetch, fetch_n;   /* PSNs of a READ or an atomic that was retransmitted; 0: none */
	uint32_t read, read_n;	   /* responses of the READ captured last, since trouble began */
	/* Messages that rounds delayed (delayed.c). */
	bool any_delayed;     /* delayed_end is valid */
	bool within;	      /* the last packet of a round is not the end of its message */
	bool rest_delayed;    /* the message with this number counts: a round ended within it */
	uint32_t delayed_end; /* the position after the last message that is counted by its end */
	uint64_t rest;
};

/*
 * Maximum number of requests that wait for their response, to measure latencies; if there are more,
 * a sample of them. A power of two.
 */
#define WAITING 8

struct waiting {
	uint64_t first_ns, last_ns; /* first packet of the message, packet that requests the ACK */
	uint32_t psn;
	uint32_t span : 24; /* READ: number of responses; else 1 */
	uint32_t verb : 8;
};

#define READ_UNKNOWN UINT32_MAX /* more than a message can have */
/* Bytes of a message with packets that are missing or captured after later ones. */
#define MESSAGE_UNSIZED UINT32_MAX

#define PLACES 128 /* interfaces of a file that are compared */

#define RECENT	    32
#define RECENT_NONE 0xffffffff

/*
 * Where its frames are captured. A file may have the same packet from several interfaces, and both
 * inside and outside of a tunnel (place.c).
 */
struct flow_place {
	uint8_t home;	/* see struct item */
	uint8_t copies; /* at other places, minus the packets that were only there */
};

/* Addresses, QPs and header fields of the first packet; constant but for networks (flow.c). */
struct flow_id {
	uint64_t back;		  /* k1 of the reverse direction */
	uint32_t number;	  /* from 1, in the order of first frames */
	uint32_t dest_qp, src_qp; /* src_qp: of the DETH if UD, else RD_QP_UNKNOWN */
	uint32_t network;	  /* see struct item; 0: it was in none so far */
	uint16_t pkey, sport;
	uint8_t transport, kind, net;
	bool multicast;
	bool has_lrh, ipoib; /* ipoib: the first SEND that begins a message */
	bool keyed;	     /* the network is in its key: another one's flow has the plain key */
	bool shared;	     /* another network has a flow with these addresses and QPs */
	bool outside;	     /* it has frames outside of networks, too */
	uint8_t sl;
	uint16_t lid;
	uint8_t src[16], dst[16];
};

/* The flow in the reverse direction, and how it was found (pair.c). */
struct flow_pair {
	struct flow *peer; /* NULL: unknown */
	uint8_t how;	   /* enum rd_pairing */
	bool cm_made, cm_ended;
	uint8_t ack_timeout; /* local ACK timeout that the CM's REQ has, 0: unknown */
	uint16_t misses;     /* responses that do not match the peer's requests */
};

/* All frames of the flow (analysis.c). */
struct flow_traffic {
	uint64_t frames, wire_bytes, payload;
	uint64_t first_ns, last_ns, first_frame, last_frame;
	uint32_t unproven;    /* frames without a valid ICRC, counted up to UINT32_MAX */
	uint16_t implausible; /* frames to this QP that are not RoCE, counted up to UINT16_MAX */
	uint16_t row;	      /* its time series in the grid */
	uint8_t directions;   /* bits 1 << enum rd_direction: what files say of its frames */
};

/* Its requests as a PSN sequence and as messages (request.c, datagram.c). */
struct flow_requests {
	uint64_t packets, goodput;
	uint32_t next;	/* the PSN after the highest one ever seen */
	uint32_t at;	/* the PSN after the last packet of the current round; == next: new data */
	uint32_t first; /* first PSN seen */
	uint32_t mtu;	/* path MTU, 0: unknown */
	bool any, started;
	bool slow;	/* the fast path does not apply: a round or late packets are pending */
	bool read_open; /* the last request is a READ with an unknown number of responses */
	uint32_t read_psn, read_length; /* READ_UNKNOWN: the capture cut the length off */
	uint32_t message_bytes;
	uint64_t message_ns;		/* first packet of the current message */
	uint64_t progress_ns;		/* last new request or ACK */
	uint8_t verb_at[RD_VERB_COUNT]; /* index in verbs[], from 1; 0: never used */
	uint8_t n_verbs;
	uint16_t before; /* PSNs before the first frame that were captured after it */
	struct rd_verb_use *verbs;
	/* Late packets, which are the beginning of a round or were reordered. */
	uint32_t late_psn, late_n;
	uint64_t late_frame, late_ns;
	uint32_t qkey;			   /* UD: of the last packet */
	bool qkey_differs;		   /* from that of the first packet to this QP */
	bool message_open, message_broken; /* UC: between first and last packet; not complete */
	bool start_known;		   /* the CM set the first PSN: there is none before it */
	bool receives;			   /* one needs a posted receive */
};

/* Retransmission rounds of its sender (round.c). */
struct flow_rounds {
	uint32_t psn;	   /* where the current round began */
	uint32_t top;	   /* the PSN after the highest one sent before that */
	uint32_t attempts; /* rounds that started at the same PSN, without a response */
	bool active;
	bool silent;	/* no NAK caused it, and there was no response since */
	bool straggler; /* one retransmitted packet at a PSN where no round is expected to start */
	uint32_t straggler_psn, straggler_next;
	uint64_t frame;
	uint64_t waited_ns; /* of one without a NAK; 0: unknown */
	uint32_t unclear;   /* rounds whose response was captured, and lost, late or on its way */
};

/* The state of a receiver at the capture point (request.c, response.c). */
struct flow_receiver {
	uint32_t expected;     /* PSN */
	uint32_t nak;	       /* PSN of its last NAK; valid if naked */
	uint32_t previous_nak; /* the one before, still to be captured; valid if previous_naked */
	bool naked, nak_seen;  /* nak_seen: the real receiver's NAK for it was captured */
	bool previous_naked;
	bool refusing; /* it has sent a NAK, and waits for that PSN */
};

/* The state of its requests according to responses, which are frames of the peer (response.c). */
struct flow_acks {
	uint32_t una; /* first PSN that is not acknowledged; valid if acked */
	bool acked;
	bool gap_open;	 /* a READ response is missing: the requester drops those after it */
	uint8_t end_nak; /* value of the NAK that ended the QP, + 1; 0: none */
	bool refused;	 /* that NAK is for an open request: packets sent now are not accepted */
	bool idle;	 /* no request is open: all are acknowledged, or none was sent */
	uint8_t waiting_at, waiting_n, waiting_capacity;
	bool counts;	     /* that number was seen to increase */
	bool stall_doubtful; /* see struct rd_side */
	bool answered;	     /* resp.until of the peer applies */
	uint8_t firsts;	     /* samples of first_ns, counted up to UINT8_MAX */
	uint32_t msn;	     /* messages that the responder completed; 0: unknown */
	uint32_t first_ns;   /* shortest to the first response of a READ, or a later ACK */
	/* Shortest from a NAK to its round, and from a response to the next request, if none was
	 * open; plus 1, 0: unknown. */
	uint32_t turn_ns, next_ns;
	struct waiting *waiting;       /* a ring */
	uint64_t rnr_frame, nak_frame; /* not yet followed by a round; 0: none */
	uint64_t nak_ns;	       /* of nak_frame */
	uint32_t nak_psn, rnr_psn;
	uint32_t msn_psn;	     /* of the response with `msn` */
	uint32_t gap_psn : 24;	     /* first response that is missing, if gap_open */
	uint32_t gap_responses : 8;  /* captured after it, READS_OPEN + 1 at most */
	uint32_t gaps, gaps_late;    /* this one and those captured since; see gap_more() */
	uint32_t passed_psn, passed; /* the oldest of these gaps that count as unseen; how many */
	uint64_t gap_ns;	     /* when the first of these was captured */
	uint64_t end_frame; /* of the NAK that ended the QP; without one of the last response */
	uint64_t end_ns;
	uint64_t open_since_ns; /* the oldest open request waits since then; 0: none is open */
	uint64_t quiet_ns;	/* the same, whatever was retransmitted; 0 also while not ready */
	uint64_t waited_ns;	/* for the last ACK */
	uint64_t stall_ns, stall_frame;
	struct hist *latencies[RD_LATENCY_COUNT];
};

/* Responses that it carries, to requests of its peer (response.c). */
struct flow_responses {
	uint64_t acks, reads, goodput;
	uint32_t next;	/* the PSN after the highest READ response */
	uint32_t until; /* the PSN after the highest response with `early`; valid if that is set */
	uint32_t rnr_timer_us : 20;
	bool any : 1, started : 1;
	bool open : 1;	/* between the first and the last response to one READ */
	bool early : 1; /* there were responses before the requester was known */
	int32_t credits;
	struct seq *missing; /* READ responses; NULL: none ever was */
};

/*
 * PSN and IP identification of the last frames: of requests [0], of responses [1] (recent.c).
 * Requests without an identification have their time instead.
 */
struct flow_recent {
	uint32_t *value[2];
	uint8_t capacity[2];
	uint16_t ip_id; /* of the newest frame */
	uint64_t ns;	/* of the newest request without one */
};

struct app_queue;
extern struct app_queue app_none; /* flow.c */

/* Remaining allocation budget of all application queues. */
struct app_budget {
	uint32_t samples, open, operations;
};

/* Fields needed for each frame come first, so that a capture with many QPs uses few cache lines. */
struct flow {
	struct flow_key key;
	struct flow_traffic traffic;
	struct flow_pair pair;
	struct flow_priority priority;
	struct flow_rate rate;
	struct flow_recent recent;
	struct leg *leg;     /* never NULL */
	struct times *times; /* NULL until its first request */
	/* NULL: not known yet; `app_none`: none of the known applications. */
	struct app_queue *app;
	struct flow_place place;
	uint8_t psn_plot; /* its number, from 1; 0: none */
	struct flow_receiver receiver;
	struct flow_requests req;
	struct flow_acks ack;
	struct flow_responses resp;
	struct flow_rounds round;
	struct incidents incidents;
	struct trouble *trouble;
	struct congestion *congestion; /* NULL: no mark, no CNP */
	struct flow_held *held;	       /* NULL: no gap fits a pause */
	struct flow_id id;
};

/* Whether one of its frames had a valid ICRC. */
static inline bool flow_is_proven(const struct flow *f)
{
	return f->traffic.frames > f->traffic.unproven && f->traffic.unproven < UINT32_MAX;
}

/* Has no valid ICRC, and as many frames to its QP that cannot be RoCE. */
static inline bool flow_is_foreign(const struct flow *f)
{
	return !flow_is_proven(f) && f->traffic.implausible >= f->traffic.frames;
}

static inline void flow_unproven(struct flow *f)
{
	f->traffic.unproven += f->traffic.unproven < UINT32_MAX;
}

#define NEAR 64 /* flows of each direction */

struct flow_table {
	struct flow **slots;
	size_t mask, n, max;
	struct flow **all; /* by id - 1; NULL: dropped */
	size_t capacity;
	struct flow_chunk **chunks;  /* flow_memory.c */
	struct flow *near[2 * NEAR]; /* by low bits of QP and address: the flows used last */
};

/* --- the whole -------------------------------------------------------------------------------- */

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
	uint64_t ns, last_ns, frame, last_frame, service;
	uint8_t retry_count, rnr_retry, ack_timeout;
	uint8_t net;
	bool used, answered, rejected;
	uint8_t app, app_signs;
	uint16_t repeats, port;
	struct rd_app_queue queue;
};

struct cm_reject {
	uint16_t reason;
	struct rd_incident incident;
	uint8_t src[16], dst[16];
	uint64_t service;
	uint8_t net;
};

#define LINK_EVENTS 64

/* A port went down or up between two frames. */
struct link_event {
	uint64_t before_ns, ns; /* of the frames */
	uint64_t frame;		/* the second one */
	bool down;
};

#define CM_OPEN	   256
#define CM_REJECTS 16

struct rd_analysis {
	struct rd_analysis_config config;
	struct rd_totals totals;
	struct flow_table flows;
	uint8_t parts[256]; /* which part handles a packet, by BTH opcode */
	struct grid grid;
	struct legs *legs;
	uint64_t frame;		/* number of the current one */
	uint64_t ns;		/* its time */
	struct rd_point *point; /* of the current flow, at this time */
	uint64_t origin_ns;	/* of the first frame of all; 0: without --time */
	/* The last pause of all traffic that may be a step of the clock; 0: there was none. */
	uint64_t pause_ns, pause_end_ns;
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
	int linktype;		      /* of the frames that are being taken, if not decoded */
	enum rd_link link;	      /* of the frames that are being taken */
	uint64_t speed;		      /* of their interface, bit/s, 0: unknown */
	struct pauses *pauses;	      /* NULL: no pause frame was seen */
	struct rd_unread unread[RD_UNREAD_KINDS];
	unsigned int n_unread;
	/* Request PSNs that wait for a response, to find the responder (pair.c). */
	struct bounded psns;
	struct bounded qkeys;	 /* of UD QPs (datagram.c) */
	struct mads *mads;	 /* NULL: there was none (mad.c) */
	struct link_pair *links; /* by key of the flow; an open hash */
	size_t n_links, links_mask;
	struct cm_request cm[CM_OPEN];
	unsigned int cm_at;
	struct cm_reject rejects[CM_REJECTS];
	unsigned int n_rejects;
	struct rd_report_file *files;
	size_t n_files;
	char *application, *hardware, *os;
	uint64_t pending_dropped;
	struct rd_incident dropped; /* frames that the capture lost */
	struct facts *facts;
	struct beginning *beginnings; /* of messages: a ring (refused.h) */
	uint32_t beginnings_at;
	struct refusal *refusals;
	size_t n_refusals;
	struct link_event links_seen[LINK_EVENTS]; /* of the capturing ports */
	unsigned int n_links_seen;
	uint64_t facts_ns; /* facts_pass() is due with the first frame from then on */
	/* For each interface, the first one of the file that is the same (place.c). */
	uint8_t same_iface[PLACES];
	unsigned int n_ifaces;
	bool filtered; /* the frames were selected by a filter */
	bool out_of_memory;
	/* NULL: not asked for. */
	struct intervals *intervals;
	struct rd_opcode_use *opcodes; /* 256 */
	struct psn_plots *psn_plots;
	struct app_budget app_budget;
};

/* One frame, for the functions below. */
struct item {
	const struct rd_packet *p;
	uint64_t ns, frame;
	uint32_t ip_id;	  /* 0x10000: there is none */
	uint32_t network; /* as in struct rd_inner; 0: none */
	bool part;	  /* of a frame that the host merged */
	uint8_t place;	  /* twice the number of the interface, plus 1 if it was in a tunnel */
};

/* Finds the flow of a packet or makes it (*made). NULL: over the limit, or out of memory. */
struct flow *flow_find(struct rd_analysis *a, const struct item *it, bool *made);
/* The first request or response of a flow: CNPs before it do not show its transport. */
void flow_transport(struct flow *f, const struct rd_packet *p);
/* Starts the sequence of its requests at this PSN. */
void flow_expect(struct flow *f, uint32_t psn);
/* From now on the responses to its requests belong to another connection. */
void responses_restart(struct flow *f);

/* The part of a key other than addresses: QPs, kind of address, whether the source QP is known. */
static inline uint64_t flow_key_qps(unsigned int net, uint32_t dest_qp, uint32_t src_qp)
{
	return (uint64_t)net << 48 | (uint64_t)(src_qp & 0xffffff) << 24 | dest_qp |
	       (src_qp == RD_QP_UNKNOWN ? 0 : UINT64_C(1) << 56);
}

/* Both addresses of an IPv4 header, in network byte order. */
static inline uint64_t flow_key_ipv4(const uint8_t *src)
{
	uint64_t v;

	memcpy(&v, src, sizeof(v));
	return v;
}

static inline struct flow **flow_near(struct flow_table *t, uint64_t k1, uint64_t k2)
{
	/* Each direction has a half: both may have the same QP, or one next to the other's. */
	const bool up = (uint8_t)(k1 >> 24) < k1 >> 56;

	return &t->near[(k2 ^ k1 >> 24 ^ k1 >> 56) % NEAR + (up ? NEAR : 0)];
}

/* The flow of a packet without a DETH if it is in the cache of recent IPv4 flows; else NULL. */
static inline struct flow *flow_recent(struct rd_analysis *a, const struct item *it)
{
	const struct rd_packet *p = it->p;

	if (p->net == RD_NET_IPV4) {
		uint64_t k1 = flow_key_ipv4(p->data + p->l3 + 12);
		uint64_t k2 = flow_key_qps(RD_NET_IPV4, p->dest_qp, RD_QP_UNKNOWN);
		struct flow *f = *flow_near(&a->flows, k1, k2);

		if (f && f->key.k1 == k1 && f->key.k2 == k2 &&
			(!it->network || it->network == f->id.network))
			return f;
	}
	return NULL;
}

/*
 * The flow with this key, in this network (0: any or none); NULL. Two networks may use the same
 * addresses and QPs: the flow of the first one has the key without its network.
 */
struct flow *flow_in(const struct flow_table *t, const struct flow_key *key, uint32_t network);
/* k1 of these addresses in this network. */
uint64_t flow_network_key(uint64_t k1, uint32_t network);
/* k1 of a flow without its network. */
uint64_t flow_plain(const struct flow *f);
/* The key of a flow between two addresses, without a network. `net` is enum rd_net; RD_NET_NONE:
 * LIDs. */
struct flow_key flow_key(unsigned int net, const uint8_t *src, const uint8_t *dst, uint32_t dest_qp,
	uint32_t src_qp);
bool flow_table_init(struct flow_table *t, size_t max);
void flow_table_free(struct flow_table *t);

/* Counts n incidents of a kind, at the current frame. */
void flow_incident(struct rd_analysis *a, struct flow *f, enum rd_incident_kind kind, uint64_t n);
/* Takes back one incident of this kind, which was counted in error. */
void flow_take_back(struct flow *f, enum rd_incident_kind kind);
void incident_add(struct rd_incident *e, uint64_t n, uint64_t frame, uint64_t ns);
/* The incident of this kind; NULL: it never happened. */
struct rd_incident *incident_of(const struct incidents *incidents, enum rd_incident_kind kind);
/* The same, made if it is absent; NULL if out of memory. */
struct rd_incident *flow_incident_of(
	struct rd_analysis *a, struct flow *f, enum rd_incident_kind kind);
/* The flow's, allocated if it has none; NULL if out of memory. */
struct trouble *flow_trouble(struct rd_analysis *a, struct flow *f);
struct seq *flow_missing(struct rd_analysis *a, struct flow *f);
struct times *flow_times(struct rd_analysis *a, struct flow *f);
struct rd_verb_use *flow_verb(struct rd_analysis *a, struct flow *f, enum rd_verb verb);
/* flow_remember() where the table may have to grow. */
void flow_remember_more(
	struct rd_analysis *a, struct flow *f, uint32_t psn, uint32_t value, bool response);
/* Enlarges the ring of waiting requests; false if out of memory. */
bool flow_waiting_grow(struct rd_analysis *a, struct flow *f);
/* Frees the memory that it owns, when the report has copies; its plain numbers stay. */
void flow_finish(struct flow *f);
/* Also frees the flow if no frames follow. */
void flow_drop(struct flow_table *t, struct flow *f);
/* Zeroed memory for flow number t->n + 1 (flow_memory.c); NULL if out of memory. */
struct flow *flow_allocate(struct flow_table *t);
void flow_release(struct flow_table *t, size_t index);
bool flow_is_duplicate(const struct flow *f, const struct item *it, bool response);

enum sent { SENT_UNKNOWN, SENT_BEFORE, SENT_AFTER };

/* Whether a request was sent before or after the newest one, by IP identifications. */
enum sent flow_sent(const struct flow *f, const struct item *it);

/* Whether the identification of the request with this PSN is still remembered. */
bool flow_knows_id(const struct flow *f, uint32_t psn);

/*
 * Whether a frame has a later identification than its packet had, or than all earlier ones: a
 * retransmission, not a copy.
 */
bool flow_is_again(const struct flow *f, const struct item *it);

/*
 * Whether a request without an IP identification was captured so recently that a timeout cannot be
 * the reason for this one.
 */
bool flow_is_recent(const struct flow *f, const struct item *it);

#define HAS_IP_ID(id) ((id)-1U < 0xffffU)
/* 16 bits last for 8 ms. Timeouts are powers of two of 4.096 us, and must not be multiples of that.
 */
#define TIME_STEP_NS 125

/*
 * Remembers a frame at its PSN modulo RECENT. A smaller table is one in which all frames have slots
 * of their own.
 */
static inline void flow_remember(
	struct rd_analysis *a, struct flow *f, const struct item *it, bool response)
{
	uint32_t psn = it->p->psn, value = psn << 16 | it->ip_id;

	f->recent.ip_id = (uint16_t)it->ip_id;
	if (!HAS_IP_ID(it->ip_id)) {
		if (response)
			return;
		value = psn << 16 | (it->ns / TIME_STEP_NS & 0xffff);
		f->recent.ns = it->ns;
	}
	if (f->recent.capacity[response] == RECENT)
		f->recent.value[response][psn % RECENT] = value;
	else
		flow_remember_more(a, f, psn, value, response);
}

/* --- the parts -------------------------------------------------------------------------------- */

/* Requests of RC and XRC (request.c). */
void request_rc(struct rd_analysis *a, struct flow *f, const struct item *it);
/*
 * Whether a PSN at distance d from the next one is so far away that it belongs to a new connection
 * of a reused QP.
 */
bool request_restarts(const struct flow *f, const struct rd_packet *p, int32_t d);
/* UC and UD (datagram.c). */
void request_uc(struct rd_analysis *a, struct flow *f, const struct item *it);
void datagram_init(struct rd_analysis *a);
void request_datagram(struct rd_analysis *a, struct flow *f, const struct item *it);
/* PSNs of a READ request (read.c); 1 while the span is unknown. */
uint32_t read_span(struct flow *f, const struct rd_packet *p);
/* Whether it requests the last responses of an earlier READ, whose first ones were not captured. */
bool read_is_rest(const struct flow *f, uint32_t psn, uint32_t span);
/* The packet after a READ shows its number of responses. */
void read_followed(struct flow *f, const struct rd_packet *p);
/* The path MTU became known, and with it the span of a READ. */
void request_learn_mtu(struct flow *f, uint32_t mtu);
/* All data of the last READ fits into one response. */
void request_read_is_single(struct flow *f);
/*
 * A packet was retransmitted: counts its message if it is the last packet and the message is not
 * counted yet (delayed.c).
 */
void delayed_packet(struct rd_analysis *a, struct flow *f, struct trouble *t, const struct item *it,
	uint32_t span);
/* A round ended with a new packet: counts the message that it continues. */
void delayed_rest(struct rd_analysis *a, struct flow *f, struct trouble *t);
/* The packet before PSN `end`, the only one of its round, was not a retransmission. */
void delayed_take_back(struct flow *f, struct trouble *t, uint32_t end);
/* Messages of which the last packet was captured. */
uint64_t messages_of(const struct flow *f);
/* Counts pending late packets as reordered: no round followed. */
void request_settle(struct rd_analysis *a, struct flow *f);
/* A receiver at the capture point would not expect this PSN (flow.c). */
void receiver_refuses(struct rd_analysis *a, struct flow *f, uint32_t psn);
/* The verb of a message with this opcode. */
static inline enum rd_verb verb_of(const struct rd_opcode *op)
{
	enum { WHICH = RD_OP_SEND | RD_OP_WRITE | RD_OP_READ | RD_OP_ATOMIC };
	/* An opcode has one of these bits, or none. */
	static const uint8_t verbs[WHICH + 1] = {
		[0] = RD_VERB_FLUSH,
		[RD_OP_SEND] = RD_VERB_SEND,
		[RD_OP_WRITE] = RD_VERB_WRITE,
		[RD_OP_READ] = RD_VERB_READ,
		[RD_OP_ATOMIC] = RD_VERB_ATOMIC,
	};

	return (enum rd_verb)verbs[op->bits & WHICH];
}

/* Whether this request uses a posted receive; of a WRITE with several packets, the last one. */
static inline bool opcode_needs_receive(const struct rd_opcode *op)
{
	for (size_t i = 0; op->bits & RD_OP_WRITE && i < sizeof(op->headers); i++)
		if (op->headers[i] == RD_H_IMMDT)
			return true;
	return op->bits & RD_OP_SEND;
}

/* Counts goodput of the current frame: in *total, of its flow, and in the time series. */
static inline void goodput_add(struct rd_analysis *a, uint64_t *total, uint64_t bytes)
{
	*total += bytes;
	a->point->goodput_bytes += bytes;
}

/* Responses of RC and XRC (response.c). */
void response_rc(struct rd_analysis *a, struct flow *f, const struct item *it);
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
/*
 * Sets the place of a new flow: that of other flows of its hosts, if their packets are at several
 * places.
 */
void place_new(struct rd_analysis *a, struct flow *f);
/* Which flows are a pair (pair.c). */
void pair_init(struct rd_analysis *a);
void pair_request(struct rd_analysis *a, struct flow *f, uint32_t psn);
void pair_response(struct rd_analysis *a, struct flow *f, uint32_t psn);
/*
 * Pairs a flow without a peer by a PSN that its NAK requests, if only one flow has sent to that
 * address.
 */
void pair_nak(struct rd_analysis *a, struct flow *f, uint32_t psn);
void pair_new_flow(struct rd_analysis *a, struct flow *f);
void pair_link(struct rd_analysis *a, const struct link_pair *link);
/* The link of a flow; NULL: none. */
const struct link_pair *pair_link_of(const struct rd_analysis *a, const struct flow *f);
/* The nth known peer QP according to the QPs stored for a device; RD_QP_UNKNOWN: no more. */
uint32_t facts_peer(const struct rd_analysis *a, uint32_t qp, unsigned int nth);
void analysis_facts_free(struct facts *facts);
/* The next frame is at time `ns`: spans between readings of counters may start or end before it. */
void facts_pass(struct rd_analysis *a, uint64_t ns);
/* Before the time of a frame is used; `ns`: of the next frame. */
void times_begin(struct rd_analysis *a, uint64_t ns);
/* No frames of the current file follow. */
void facts_settle(struct rd_analysis *a);
/*
 * Copy a flow into a side (side.c): incidents, of a side with the frames `own` and its peer's
 * `other` (either may be NULL); verbs and latencies of its requests. False if out of memory.
 */
/* Whether an incident of a side is counted in the flow of its peer. */
bool side_is_in_peer(enum rd_incident_kind kind);
bool side_incidents(struct rd_side *s, const struct flow *own, const struct flow *other);
bool side_requests(struct rd_side *s, const struct flow *f);
void side_free(struct rd_side *s);
/* Counts a MAD (mad.c). */
void mad_free(struct mads *mads);
void mad_take(struct rd_analysis *a, const struct item *it);
/* Of InfiniBand: SMPs use a separate virtual lane (VL15), and do not belong to a QP. */
bool mad_is_smp(const struct rd_packet *p);
void mad_take_smp(struct rd_analysis *a, const struct item *it);
/* Fills the table of a report; false if out of memory. */
bool mad_rows(const struct rd_analysis *a, struct rd_report *r);
/* Connections (cm.c). */
void cm_message(struct rd_analysis *a, struct flow *f, const struct item *it);

#endif
