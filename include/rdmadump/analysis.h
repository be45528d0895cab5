/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The analysis of traffic: batches of frames in; one report with conversations, findings and time
 * series out, which is printed as text, JSON and HTML. Memory grows with the number of queue
 * pairs, never with the number of frames.
 */
#pragma once

#include <rdmadump/application.h>
#include <rdmadump/counters.h>
#include <rdmadump/packet.h>
#include <rdmadump/psn_plot.h>
#include <rdmadump/verdict.h>
#include <stdio.h>

#define RD_REPORT_VERSION 3

/* The incidents of one side of a conversation; each has a row in incident.def. */
enum rd_incident_kind {
#define INCIDENT(name, key, flow, help) RD_INC_##name,
#include <rdmadump/incident.def>
#undef INCIDENT
	RD_INC_COUNT
};

struct rd_incident_name {
	const char *key, *help;
};

extern const struct rd_incident_name rd_incident_names[RD_INC_COUNT];

enum rd_verb {
	RD_VERB_SEND,
	RD_VERB_WRITE,
	RD_VERB_READ,
	RD_VERB_ATOMIC,
	RD_VERB_FLUSH,
	RD_VERB_COUNT
};

const char *rd_verb_name(unsigned int verb); /* "SEND" */

struct rd_verb_use {
	uint64_t messages, bytes, packets; /* without retransmissions; READ: bytes requested */
	/* Bytes of a message; smallest > largest: none has all its packets captured in order. */
	uint32_t smallest, largest;
};

enum rd_latency_kind {
	RD_LATENCY_ACK,	    /* from the packet that requests it to the ACK */
	RD_LATENCY_READ,    /* ... to the last response */
	RD_LATENCY_ATOMIC,  /* ... to the atomic response */
	RD_LATENCY_MESSAGE, /* from the first packet of a SEND or WRITE to its ACK */
	RD_LATENCY_TIMEOUT, /* idle time before a retransmission round without a NAK */
	RD_LATENCY_CROSSED, /* ... of those whose response was on its way */
	RD_LATENCY_COUNT
};

struct rd_endpoint {
	char address[RD_ADDRESS_LEN];
	uint32_t qp; /* 0xffffffff: unknown */
};

#define RD_QP_UNKNOWN UINT32_MAX

/* The evidence that two QPs are a pair, in order of increasing reliability. */
enum rd_pairing {
	RD_PAIR_NONE,
	RD_PAIR_PSN,  /* responses carry PSNs that only this QP's requests had */
	RD_PAIR_PORT, /* UDP source ports match what drivers compute from both QP numbers */
	RD_PAIR_CM,
	RD_PAIR_RESOURCE
};

enum rd_ending {
	RD_ENDING_OPEN,	   /* no end was captured */
	RD_ENDING_CLOSED,  /* disconnected by the CM */
	RD_ENDING_STOPPED, /* responses stopped; the sender retransmits its requests to the end */
	RD_ENDING_RETRY,   /* gave up after retransmissions without a response */
	RD_ENDING_RNR,	   /* gave up after RNR NAKs */
	RD_ENDING_REMOTE_ERROR /* NAK that ends a QP: access, invalid request, operational */
};

/* The request that a responder refused with a NAK that ends a QP. */
struct rd_refusal {
	uint32_t psn; /* the NAK's */
	enum rd_verb verb;
	bool has_address; /* header captured and not of a SEND: the following are valid */
	uint64_t address;
	uint32_t rkey, length; /* bytes */
	uint64_t frame;	       /* first packet of the request */
};

/* Parameters of a connection from CM REQ and REP. */
struct rd_connection {
	uint64_t service_id, frame;	/* of the REQ */
	uint8_t retry_count, rnr_retry; /* of the REQ; RNR: 7 is unlimited */
	uint8_t reply_rnr_retry;	/* of the REP */
	uint8_t ack_timeout;		/* of the REQ's path: 4.096 us * 2^n */
	uint8_t app;			/* requested application; 0: none, or unknown */
	uint8_t app_signs;		/* RD_APP_BY_* */
	uint16_t port;			/* in its service id; 0: none */
	struct rd_app_queue queue;
};

/* The process of a QP. */
struct rd_owner {
	uint32_t pid;	      /* 0: the kernel */
	char comm[32];	      /* "": unknown, of a process */
	uint64_t start_ticks; /* with the pid, it identifies the process; 0: unknown */
	uint32_t rank;	      /* in its job; UINT32_MAX: unknown */
	/*
	 * Other known facts, shared and constant: start_ns, cgroup, container, pod, job as in the
	 * file's facts. NULL: nothing.
	 */
	json_t *details;
};

#define RD_OWNER_TEXT_MAX 256

/*
 * "python3 (pid 4711, rank 3, SLURM job 77)" or "nvme_rdma in the kernel (service port 4420)", as
 * the file has it: not made safe for a terminal. Returns buf.
 */
const char *rd_owner_text(char buf[RD_OWNER_TEXT_MAX], const struct rd_owner *owner);
/* Its job in Slurm; NULL: unknown. */
const char *rd_owner_job(const struct rd_owner *owner);
/* "; sent by ... and received by ..."; nothing if both are NULL: unknown. */
void rd_owners_put(FILE *out, const struct rd_owner *const owner[2]);

/* Why the owner of a QP is unknown. */
enum rd_owner_state {
	RD_OWNER_KNOWN,
	RD_OWNER_NO_FACTS,   /* no file lists the QPs of its host */
	RD_OWNER_NOT_LISTED, /* QPs were listed while the capture ran, and it is in no list */
	/*
	 * Several processes had QPs with this number one after the other, and the frames are from
	 * the times of several of them, or cannot be compared with these times.
	 */
	RD_OWNER_SEVERAL,
	RD_OWNER_OTHER_TIME /* all of them had it at other times than those of the frames */
};

/* Priority fields of the frames that a side sent, CNPs excluded. -1: unknown, or none. */
struct rd_priority {
	int16_t dscp, other_dscp; /* DSCP of most frames; the last other DSCP */
	uint64_t others;	  /* frames with another DSCP */
	int16_t cnp_dscp;
	int16_t pcp;	 /* priority code point of its first VLAN tag */
	bool untagged;	 /* some frames have no tag */
	bool pcp_varies; /* some tags have another code point */
	/* By the DCB settings of a port of either end, as the file has them. */
	int16_t class; /* the priority that they lead to */
	uint8_t pfc;   /* mask of the priorities with PFC, valid if `class` is */
	uint8_t ecn;   /* bit n: some frames have n in the ECN field; 3: congestion experienced */
};

/* The effects of congestion control on a side that sends. */
struct rd_congestion {
	/* From the first frame with a congestion mark after an interval without any, to the CNP. */
	struct rd_latency reaction;
	struct rd_latency interval; /* between CNPs */
	/* From the last CNP until the rate is 90 % of that before the first one again. */
	struct rd_latency recovery;
	uint64_t episodes;		  /* for which both rates are known */
	uint64_t rate_before, rate_after; /* bit/s on the wire, means; after: the lowest ones */
};

/* Gaps in the frames of a side that begin and end with pauses. */
struct rd_held {
	struct rd_incident gaps; /* the frames after them */
	uint64_t ns, longest_ns, longest_frame;
	uint16_t classes; /* bit n: pauses of priority n; bit RD_PRIORITIES: of all traffic */
	uint64_t through; /* frames that were captured in the middle of a pause */
};

/* All frames in one direction. */
struct rd_traffic {
	uint64_t frames, wire_bytes, payload_bytes;
	uint64_t first_ns, last_ns, first_frame, last_frame;
};

/* Header fields of the first packet. */
struct rd_first_header {
	uint16_t pkey;
	uint16_t lid; /* the sender's; valid if has_lrh */
	uint8_t sl;   /* service level of InfiniBand, valid if has_lrh */
	bool has_lrh;
};

/* The longest wait for a response while requests were open. */
struct rd_stall {
	uint64_t ns, frame; /* the frame that ended it */
	bool doubtful;	    /* all traffic paused for nearly as long: a clock may have been set */
};

/* What makes incidents of a side less certain. */
struct rd_unclear {
	bool ports_differ; /* packets out of sequence have several UDP source ports */
	bool copies_timed; /* some copies are identified only by their time, not by IP IDs */
	/*
	 * Some late packets arrived after a NAK, and nothing proves that they are not
	 * retransmissions; or they may be copies of packets whose identifications are not
	 * remembered.
	 */
	bool late;
	bool naks_late; /* a NAK came after an ACK for the packet that it requests */
	/* Another connection may have begun: in a gap of its PSNs; with PSNs used before. */
	bool gap, again;
	bool behind_ack; /* requests are in the file after their ACKs, and not before */
};

/* How its requests ended. */
struct rd_side_end {
	enum rd_ending how;
	/* The frame that shows it; RETRY and STOPPED: the last response, the last packet. */
	uint64_t frame, ns;
	unsigned int attempts; /* rounds without a response at the end */
	bool lacks; /* RETRY and STOPPED: request packets before these are missing here */
};

/*
 * What the series of rounds at the end, or else the longest series of rounds from one PSN, without
 * any response, shows of the requester's timer: resends some milliseconds apart as of a ConnectX's
 * adaptive retransmission, then waits of one length. All zero: there was none, or its waits fit no
 * timer that is known.
 */
struct rd_timer {
	uint8_t adaptive, timeouts;
	uint32_t adaptive_us, timeout_us; /* all of these resends; each of these waits */
};

/* One side: the frames it sent, its requests, and the responses to them. */
struct rd_side {
	struct rd_traffic traffic;
	struct rd_first_header first;
	uint64_t requests;	/* request packets, retransmissions included */
	uint64_t goodput_bytes; /* payload of new data that its requests moved, READs included */
	uint64_t acks;		/* positive ACKs that it received */
	uint64_t read_responses;
	/*
	 * Only incidents that happened, since most QPs have few of them: bit n of the mask is set
	 * if incident n is stored. rd_side_incident() and the other functions below read them.
	 */
	uint64_t has_incidents;
	struct rd_incident *incidents;
	struct rd_verb_use *verbs;
	struct rd_latency *latencies; /* latencies of its requests */
	struct rd_times *times;	      /* where its requests spent their time; NULL: it has none */
	uint8_t has_verbs, has_latencies;
	uint8_t ack_timeout; /* as encoded in the CM's REQ; 0: unknown */
	struct rd_timer timer;
	uint32_t psn_first, psn_last; /* valid if requests > 0 */
	uint32_t mtu;		      /* path MTU, derived from packets; 0: unknown */
	uint32_t rnr_timer_us;	      /* longest wait that an RNR NAK requested */
	struct rd_stall stall;
	/* Rounds without a NAK whose response was captured before: lost, late, or on its way. */
	uint32_t unclear_rounds;
	/* In responses; the capture does not show whether they are requested again. */
	uint32_t open_gaps;
	int64_t credits; /* last advertised, -1: no flow control */
	struct rd_priority priority;
	struct rd_congestion *congestion; /* NULL: no congestion mark, no CNP */
	struct rd_held *held;		  /* NULL: no gap fits a pause */
	struct rd_unclear unclear;
	bool seen;	   /* a frame of it was captured */
	bool responded;	   /* it received responses of any kind: ACKs, NAKs, data */
	bool identified;   /* its last frame has an IP identification */
	bool counted_once; /* its CNPs have several, or else ACKs have: copies are known */
	/* Its frames are of several VLANs, or only some have a tag; or some are outside of tunnels,
	 * in which several networks use the same addresses and QPs. */
	bool vlans_differ;
	bool shared; /* another network has packets with these addresses and this QP */
	struct rd_side_end end;
	uint32_t qkey;		      /* UD */
	uint32_t reorder_depth;	      /* most packets that overtook a reordered one */
	struct rd_refusal *refusal;   /* NULL: none, or the request is unknown */
	struct rd_psn_plot *psn_plot; /* PSNs of its requests; NULL: not requested, or left out */
};

struct rd_conversation;
/*
 * Goodput in bit/s, the same in all outputs: `bytes`, by the time from the first to the last frame
 * of these n conversations. 0: all their frames have one time.
 */
uint64_t rd_goodput(uint64_t bytes, const struct rd_conversation *conversations, size_t n);

/* The incident of this side; all zero if it never happened. Valid as long as the report. */
const struct rd_incident *rd_side_incident(const struct rd_side *s, enum rd_incident_kind kind);
const struct rd_verb_use *rd_side_verb(const struct rd_side *s, enum rd_verb verb);
const struct rd_latency *rd_side_latency(const struct rd_side *s, enum rd_latency_kind kind);
/* Of its responses: the kind with most samples. */
const struct rd_latency *rd_side_responses(const struct rd_side *s);

#define RD_SERIES_POINTS 256

struct rd_point {
	uint64_t wire_bytes, goodput_bytes;
	uint32_t frames, retransmitted, cnp, ce, nak; /* nak: RNR too */
	uint32_t latency_n, latency_max_ns;
	uint64_t latency_sum_ns;
};

/* Equal steps from `start_ns`; the width doubles when all points are used. */
struct rd_series {
	uint64_t start_ns, width_ns;
	unsigned int n;
	struct rd_point *points;
};

struct rd_conversation {
	unsigned int id; /* from 1, by first frame */
	enum rd_transport transport;
	enum rd_kind kind;
	enum rd_pairing pairing;
	struct rd_endpoint end[2]; /* a and b; UD: source QP and destination QP */
	bool multicast, cm;	   /* cm: the CM connected or disconnected it within the capture */
	bool ipoib;		   /* IP over InfiniBand */
	uint32_t network;	   /* as in struct rd_inner; 0: none */
	bool proven;		   /* a frame of it had a valid ICRC */
	/* a, b: of a device whose facts the file has, or whose frames it marks as sent. */
	bool local[2];
	struct rd_owner *owner[2]; /* owners of a's and b's QP; NULL: unknown */
	enum rd_owner_state owner_state[2];
	struct rd_connection *connection;   /* NULL: unknown */
	struct rd_application *application; /* NULL: unknown */
	struct rd_side side[2];		    /* a's and b's */
	struct rd_series series;	    /* both directions; n = 0: not kept */
};

#define RD_MAD_ROWS 512

/* Management datagrams of one kind. */
struct rd_mad_row {
	uint8_t class, method;
	bool asks; /* responses have to follow */
	uint16_t attribute;
	uint16_t status; /* status of the responses; 0: no error, or no response */
	struct rd_incident frames;
	uint64_t segments; /* of these: RMPP acknowledgments, and segments after the first */
	/* Requests: those with the transaction ID of one that was open, with a response, without
	 * one (repeated, or older than a second at the end), without one yet or not followed. */
	uint64_t repeated, answered, unjudged;
	struct rd_incident unanswered;
	uint64_t answers; /* responses whose request was captured */
};

struct rd_report_file {
	char *name;
	char format[16];
	uint64_t first_frame, frames; /* number of its first frame in the report */
	uint64_t first_ns, last_ns;
	uint64_t dropped; /* lost by the capture, as the file says */
	bool dropped_known;
	char *losses; /* the same in the words of its capture; NULL: unknown */
	char *damage; /* why it could not be read to its end; NULL: it could */
};

/* A port whose facts the files have. */
struct rd_report_port {
	char *device, *netdev;		   /* netdev: its first one; NULL: unknown */
	char guid[RD_GUID_LEN];		   /* node GUID of the device; "": unknown */
	char boot[RD_BOOT_ID_LEN];	   /* of its machine, since it started; "": unknown */
	char (*addresses)[RD_ADDRESS_LEN]; /* in the notation of conversations */
	unsigned int port, n_addresses;
};

/* A counter of a device, and what the packets show of it. */
struct rd_comparison {
	char *device, *counter;
	char *meaning; /* what was counted in the packets */
	uint64_t packets, device_count;
	bool known; /* false: device_count is unknown, for the reason in `why` */
	bool agrees;
	bool unsure;	/* frames at the start and end of the capture may explain the difference */
	bool explained; /* frames that the packets do not show to be the port's may explain it */
	char *why;	/* why they may differ; NULL: unknown, or no difference */
};

/* Pauses of one priority, or of all traffic. */
struct rd_pause_class {
	struct rd_incident pauses, resumes; /* frames with a time, and with 0 */
	uint64_t quanta;		    /* sum of the times, of 512 bits */
	/* As the frames request, at the speed of the link; valid if that is known. */
	uint64_t paused_ns, longest_ns;
};

#define RD_PAUSE_CLASSES (RD_PRIORITIES + 1) /* the last one: of all traffic */

/* The pause frames of one sender, which stop the port at the other end of its link. */
struct rd_pause_sender {
	uint8_t mac[6];
	bool has_mac;
	char address[RD_ADDRESS_LEN]; /* source address of RDMA packets from this MAC address; "":
					 none */
	uint64_t frames, in, out;     /* in all; received and sent by the port that captured */
	uint64_t speed;		      /* speed of the link, bit/s; 0: unknown */
	struct rd_pause_class classes[RD_PAUSE_CLASSES];
};

#define RD_UNREAD_KINDS 8

enum rd_unread_why { RD_UNREAD_LINK, RD_UNREAD_TYPE, RD_UNREAD_CUT };

/* Frames that are not decoded, by reason. */
struct rd_unread {
	enum rd_unread_why why;
	int number; /* link type, Ethertype; -1: all others, when the table is full */
	struct rd_incident frames;
};

struct rd_totals {
	uint64_t frames, wire_bytes, rdma_frames, cnp_frames, mad_frames, other_frames;
	uint64_t payload_bytes, goodput_bytes;
	uint64_t first_ns, last_ns;
	/* What all times of the report have been moved by, so that those before 1970 are ordered;
	 * 0: not. */
	uint64_t moved_ns;
	uint64_t icrc_good, icrc_bad, icrc_unchecked;
	bool icrc_trusted;     /* false: so many are wrong that ICRCs mean nothing here */
	uint64_t icrc_doubted; /* part of icrc_bad: of a direction of which most are wrong */
	uint64_t icrc_absent;  /* part of icrc_unchecked: zeros replace ICRC and VCRC */
	uint64_t cut, malformed, fragments;
	uint64_t unread;       /* may be RDMA traffic, but is not decoded: rd_report.unread */
	uint64_t tunnelled;    /* RDMA frames that were taken out of tunnels */
	uint64_t tunnels_left; /* ... that were not, and are in other_frames */
	/* Frames of QPs that are followed at another interface; also in other_frames. */
	uint64_t copies_left;
	uint64_t behind_ack; /* requests just after their ACKs: frames are out of order */
	uint64_t moved; /* times that a QP moved to another interface, or into or out of a tunnel */
	unsigned int tunnel_kinds; /* enum rd_tunnel, of both */
	uint64_t foreign;	   /* to UDP port 4791, but not RoCE; in other_frames */
	uint64_t truncated;	   /* frames shorter in the file than on the wire */
	uint64_t backwards;	   /* timestamps earlier than the one before */
	uint64_t step_ns; /* of the clock, about, as times show it, if above 1 us; 0: none differ */
	uint64_t qps;
	/* Frames of QPs over the limit. Such QPs are not tracked, so their number is unknown. */
	uint64_t frames_left_out;
	uint64_t silences; /* long pauses of all traffic while several QPs had open requests */
	uint64_t longest_silence_ns, silence_frame;
};

/* What a frame is counted as: `kind` is enum rd_incident_kind. */
struct rd_mark {
	uint64_t frame;
	uint32_t flow;
	uint8_t kind;
	bool pending; /* only the frames after it decided */
};

struct rd_report {
	char *application, *hardware, *os; /* from the file, NULL: unknown */
	char *filter; /* with which frames were captured or copied; NULL: none that is known */
	struct rd_report_file *files;
	size_t n_files;
	struct rd_report_port *ports;
	size_t n_ports;
	struct rd_totals totals;
	struct rd_conversation *conversations; /* busiest first */
	size_t n_conversations;
	size_t n_shown;	    /* how many of them are shown (--top) */
	uint32_t *place_of; /* index of the conversation with this id; n_places entries */
	size_t n_places;
	/* An open hash by addresses and destination QP: of a conversation, twice its index, plus
	 * the side, plus 1. */
	uint32_t *flow_slots;
	size_t n_flow_slots;	     /* a power of two */
	struct rd_findings findings; /* worst first */
	struct rd_comparison *comparisons;
	size_t n_comparisons;
	struct rd_counters *readings; /* whose names findings borrow */
	size_t n_readings;
	struct rd_series series;	       /* all frames */
	struct rd_pause_sender *pause_senders; /* in the order of their first frames */
	size_t n_pause_senders;
	uint64_t pauses_left_out; /* frames of further senders */
	struct rd_unread unread[RD_UNREAD_KINDS];
	unsigned int n_unread;
	struct rd_mad_row *mads; /* by class, attribute, method */
	size_t n_mads;
	struct rd_application *applications; /* summed over all conversations */
	size_t n_applications;
	uint64_t mads_left_out; /* frames that the full table could not count */
	struct rd_judgement verdict;
	struct rd_hosts hosts;
	struct rd_groups groups;
	struct rd_mark *marks; /* in the order of frames; of config.marks */
	size_t n_marks;
	uint64_t port_speed; /* bit/s of the capturing port as the file says, 0: unknown */
	/* Some frames, or all, could not be analysed: the exit status shows it. */
	bool incomplete;
};

/* The part of the capture's time for which the sender requested pauses. */
static inline double rd_pause_share(const struct rd_report *r, const struct rd_pause_class *c)
{
	uint64_t all = r->totals.last_ns - r->totals.first_ns;

	return all ? (double)c->paused_ns / (double)all : 0;
}

struct rd_analysis;

enum rd_tunnels {
	RD_TUNNELS_AUTO, /* inspected, but a QP's packets count once: where they were first seen */
	RD_TUNNELS_ALWAYS,
	RD_TUNNELS_NEVER,
};

struct rd_analysis_config {
	bool skip_icrc;
	size_t max_qps;		 /* 0: RD_ANALYSIS_QPS */
	uint64_t from_ns, to_ns; /* only frames of this time after the first frame; 0, 0: all */
	uint32_t qp;		 /* only conversations with this QP; RD_QP_UNKNOWN: all */
	enum rd_tunnels tunnels;
	bool psn_plots, marks;
	bool may_be_ends; /* the files may be captures of the same traffic at several points */
};

#define RD_ANALYSIS_QPS 65536

/* Fails only if out of memory. */
int rd_analysis_open(
	struct rd_analysis **a, const struct rd_analysis_config *config, struct rd_error *err);
/* The frames that follow are of this file, until the next call. Strings are copied. */
int rd_analysis_file(struct rd_analysis *a, const char *name, const char *format,
	const struct rd_section *section, struct rd_error *err);
/*
 * The interfaces of the current file, of which more may follow: one of the same name in a later
 * section is the same one.
 */
void rd_analysis_ifaces(struct rd_analysis *a, const struct rd_iface *ifaces, unsigned int n);
/*
 * Frames in the order of the file, of interfaces with this link, LINKTYPE_ value and speed. If it
 * has a filter, counters of devices count other frames as well. Hot path. Never fails: what exceeds
 * a limit is counted.
 */
void rd_analysis_frames(struct rd_analysis *a, const struct rd_iface *iface,
	const struct rd_frame *frames, unsigned int n);
/* The capture lost this many frames before the next one. */
void rd_analysis_dropped(struct rd_analysis *a, uint64_t frames);
/* The file's comment on frame i of those that rd_analysis_frames() gets next: ports down or up. */
void rd_analysis_comment(
	struct rd_analysis *a, const char *comment, const struct rd_frame *frames, unsigned int i);
/*
 * The current file has ended: the losses it reports, the comment of its statistics (or NULL), and
 * the damage that ended it (or NULL).
 */
void rd_analysis_file_end(struct rd_analysis *a, uint64_t dropped, bool dropped_known,
	const char *comment, const char *damage);
/* A block of facts of the current file: JSON, untrusted; what is unknown is ignored. */
void rd_analysis_facts(struct rd_analysis *a, const char *json, size_t len);
/*
 * The result. Frees the state for further frames, so the analysis can only be closed afterwards.
 * Owned by the caller.
 */
int rd_analysis_report(struct rd_analysis *a, struct rd_report **report, struct rd_error *err);
void rd_analysis_close(struct rd_analysis *a);

void rd_report_free(struct rd_report *r);

/* What a rule is about, for users. All texts are static; all but the key may be NULL. */
struct rd_rule_text {
	const char *key, *title, *meaning, *next;
};
/* The first `most` rules over one capture, and over two; returns how many there are. */
size_t rd_rule_texts(struct rd_rule_text *texts, size_t most);
size_t rd_ends_rule_texts(struct rd_rule_text *texts, size_t most);
