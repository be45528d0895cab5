/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The verdict on a capture: what happened, which connections are affected, how much, since when,
 * where, and how certain that is; which side is slow; the hosts; findings grouped by cause. Part of
 * struct rd_report.
 */
#pragma once

#include <rdmadump/finding.h>
#include <rdmadump/notation.h>

/*
 * Places where a fault can be. Several bits: this capture cannot tell them apart. With soft-RoCE
 * the NIC is the driver and the network stack of the kernel. "Sender" sends the requests.
 */
enum rd_place {
	RD_PLACE_SENDER_HOST = 1,
	RD_PLACE_SENDER_NIC = 2,
	RD_PLACE_FABRIC = 4,
	RD_PLACE_RECEIVER_NIC = 8,
	RD_PLACE_RECEIVER_HOST = 16,
	RD_PLACE_ALL = 31,
};

#define RD_PLACES 5

/* "sender_nic", of one bit; "unknown" of several, NULL of none. Static. */
const char *rd_place_key(unsigned int places);

/*
 * Where the requests of a side spent their time: each interval between two of its frames at the
 * capture point, classified by the event that ended it.
 */
enum rd_time {
	RD_TIME_IDLE,	   /* nothing was open; ended by a request */
	RD_TIME_REPLY,	   /* nothing was open; ended by a message of the peer */
	RD_TIME_SENDING,   /* ended by a further request */
	RD_TIME_WAITING,   /* ended by the first packet of a response */
	RD_TIME_RECEIVING, /* ended by a further READ response */
	RD_TIME_NOT_READY, /* after an RNR NAK, ended by the request again */
	RD_TIME_RECOVERY,  /* ended by a retransmission, or by a frame while one is under way */
	RD_TIME_COUNT
};

extern const char *const rd_time_keys[RD_TIME_COUNT]; /* "not_ready" */

struct rd_times {
	uint64_t ns[RD_TIME_COUNT];
	uint32_t pauses; /* requests after times when none was open */
	uint32_t gap_ns; /* shortest time between two full packets of a message, 0: unknown */
};

/* Which party the time was spent on, and where it is. */
struct rd_slow {
	enum rd_time what;
	unsigned int places;
	enum rd_certainty certainty;
	double share;			 /* share of the time, 0 to 1 */
	size_t connections;		 /* with packets in both directions */
	uint64_t all_ns;		 /* the time of all requests; 0: unknown */
	struct rd_times sum;		 /* sum over all sides */
	unsigned int conversation, side; /* the one that most of that time belongs to */
};

#define RD_STRAGGLERS 8

/* Conversations whose responses take far longer than those of most others. */
struct rd_stragglers {
	unsigned int n, of;
	unsigned int conversation[RD_STRAGGLERS]; /* the slowest first */
	uint64_t p50_ns[RD_STRAGGLERS],
		median_ns;	   /* median of their responses; of all conversations */
	char host[RD_ADDRESS_LEN]; /* part of all of them, and of no other; "" */
};

#define RD_BURST_NS UINT64_C(100000) /* interval of rd_host.peak_bytes */

/*
 * Messages that a host began although the peer's of the same number was there and nothing else
 * had arrived since: the time since the last frame to it.
 */
struct rd_late {
	uint64_t n, ns, max_ns;
};

struct rd_host {
	char address[RD_ADDRESS_LEN];
	struct rd_late late; /* at its own port */
	uint64_t sent_frames, sent_bytes, received_frames, received_bytes;
	unsigned int receivers, senders; /* hosts that it sends to, that send to it */
	uint64_t peak_bytes;		 /* most that it received within 100 us */
	uint64_t peak_ns, peak_frame;	 /* when that began */
	unsigned int peak_senders;	 /* hosts that sent it */
	unsigned int most_senders;	 /* within any 100 us */
	unsigned int number;		 /* from 0, in the order of their first frames */
};

struct rd_host_pair {
	unsigned int from, to; /* index of the host */
	uint64_t frames, bytes;
};

/* All frames of QPs; hosts and pairs with most bytes first. */
struct rd_hosts {
	struct rd_host *host;
	size_t n;
	struct rd_host_pair *pair;
	size_t n_pairs;
	uint64_t frames_left_out,
		bytes_left_out; /* frames and bytes of hosts and pairs beyond the limits */
};

/* Findings with one cause. */
struct rd_group {
	const char *rule;
	const struct rd_finding **finding; /* worst first */
	const struct rd_finding *all;	   /* the first one of the report */
	size_t n, left_out; /* left_out: further ones that the report does not have */
	/* Over all of them: number of conversations, sum of the evidence, times; 0: unknown. */
	size_t conversations;
	uint64_t count, first_ns, last_ns;
};

struct rd_groups {
	struct rd_group *group; /* worst first */
	size_t n;
};

/* Causes that this capture may confuse with one another: rd_judgement.mixed. */
enum rd_mixed {
	RD_MIXED_LOST = 1,
	RD_MIXED_LATE = 2,
	RD_MIXED_UPSTREAM = 4, /* upstream of the capture point */
	RD_MIXED_DOWNSTREAM = 8,
	RD_MIXED_RESPONSES = 16, /* else requests */
};

/* The lines of a verdict, in the order in which all outputs have them. */
enum rd_row {
	RD_ROW_WHAT,
	RD_ROW_WHERE,
	RD_ROW_WHO,
	RD_ROW_MUCH,
	RD_ROW_WHEN,
	RD_ROW_SURE,
	RD_ROW_NEXT,
	RD_ROW_ALSO,
	RD_ROW_TIME,
	RD_ROWS
};

struct rd_owner;

struct rd_judgement {
	const char *rule;	     /* rule of the main cause; NULL: no fault was found */
	enum rd_severity severity;   /* of it */
	unsigned int conversation;   /* 0: of the capture */
	enum rd_certainty certainty; /* that it happened */
	unsigned int mixed;	     /* enum rd_mixed, of loss and reordering; else 0 */
	uint64_t count;		     /* how often */
	unsigned int places;	     /* where; 0: in no place; without a rule all: unknown */
	enum rd_certainty where;     /* that it is in one of these places */
	char sender[RD_ADDRESS_LEN],
		receiver[RD_ADDRESS_LEN]; /* addresses of the hosts that the places name, or "" */
	/* Of the worst finding: owners of the sender's and of the receiver's QP, borrowed from the
	 * reports of the captures; NULL: unknown. */
	const struct rd_owner *owner[2];
	unsigned int incast; /* hosts that send to the receiver within 100 us; 0: no incast */
	uint64_t since_ns;   /* first and last time; 0: unknown */
	uint64_t until_ns;
	/* Of the senders that it concerns: messages, those that were retransmitted in part or in
	 * whole (at least so many). 0: none, or unknown. */
	uint64_t messages, delayed;
	char capture_next[RD_ADDRESS_LEN]; /* the host at which a further capture would show more,
					      or "" */
	bool both_ends;	    /* a comparison of both ends is printed with this report */
	const char *label;  /* of the first row: "LOSS", "OK" */
	char *row[RD_ROWS]; /* without line breaks and final period; "" or NULL: nothing to say */
	struct rd_slow slow;
	struct rd_stragglers stragglers;
};

/* Of a row: "where". At most RD_LABEL_MAX characters. */
#define RD_LABEL_MAX 9
const char *rd_row_label(const struct rd_judgement *v, enum rd_row row);

struct rd_report;
struct rd_report_style;
/*
 * The conversation of the verdict was also captured at its other end: the verdict no longer advises
 * to do so. -1 if out of memory.
 */
int rd_verdict_refer(struct rd_report *r);
