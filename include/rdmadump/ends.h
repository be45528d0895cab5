/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compares two captures of the same traffic: each packet of one is searched in the other. A packet
 * is identified by its addresses, its BTH and its ICRC, which switches and routers do not change.
 * Memory is bounded: a packet without a match after ten seconds, or when the table is full, counts
 * as absent.
 */
#pragma once

#include <rdmadump/report_output.h>

enum rd_tap { RD_TAP_A, RD_TAP_B, RD_TAPS };

/* The packets to one QP, from one address to another. */
struct rd_path_qp {
	uint32_t qp;
	uint32_t network;   /* of its path; 0: no other one has packets with these addresses */
	uint64_t sent;	    /* captured at the sender while both captures ran */
	uint64_t arrived;   /* captured at both ends */
	uint64_t reordered; /* of these: after a later packet */
	uint64_t reordered_proven; /* of these: confirmed by different timestamps */
	/*
	 * Of those that arrived, without `reordered`: retransmissions, or packets beside them,
	 * after a later one, if copies keep their order. 0 if a capture lacks any of the packets.
	 */
	uint64_t order_unclear;
	uint64_t order_unknown; /* of those that arrived: copies of others, not in `reordered` */
	uint64_t asked_for;	/* of those lost: requested by a NAK of the receiver */
	/* Captured at the sender only; frames of that capture. */
	struct rd_incident lost;
	struct rd_incident unclear;	       /* lost, or missed by the receiver's capture */
	struct rd_incident missed_at_receiver; /* acknowledged: missed by the receiver's capture */
	uint32_t arrived_longest, lost_shortest; /* frames, in bytes; 0: none */
	uint64_t arrived_last;			 /* frame of the sender's capture */
	bool lost_likely; /* more than possibly: and not missed by the receiver's capture */
	bool lost_kind;	  /* of some opcode among the lost packets, none arrived */
	/* How many times in a row a packet of one capture was absent from the other one. */
	uint64_t lost_runs, duplicated_runs;
	/* Frames of the receiver's capture. */
	struct rd_incident duplicated; /* captured there more often than at the sender */
	struct rd_incident missed;     /* captured there only: the sender's capture missed them */
};

#define RD_ENDS_LATE_NS 1000000U /* a delay variation worth a finding */

/* One direction between two addresses. */
struct rd_path {
	char from[RD_ADDRESS_LEN], to[RD_ADDRESS_LEN];
	uint32_t network;   /* of a tunnel, as in struct rd_inner; 0: none */
	bool shared;	    /* other networks have packets with these addresses */
	bool doubtful;	    /* and there are such packets in none: they may be of any of them */
	enum rd_tap sender; /* whose capture is at the sender */
	bool sender_known;  /* false: nothing shows it, `sender` is an assumption */
	bool sent_by_host[RD_TAPS]; /* a capture marks frames as sent by its own host */
	bool ids_tell; /* IP ids distinguish a retransmission from a copy made by the network */
	struct rd_latency variation; /* one-way delay above the shortest one of its time */
	uint64_t rises;		     /* how often it rose by RD_ENDS_LATE_NS or more */
	uint64_t slowest_frame;	     /* where the packet with the largest variation arrived */
	struct rd_path_qp *qps;	     /* most packets first */
	size_t n_qps;
};

#define RD_ENDS_DRIFT_MAX 200.0 /* ppm: two oscillators, each within 100 (IEEE 802.3) */

struct rd_ends_report {
	uint64_t start_ns;	    /* first moment of A */
	uint64_t first_ns, last_ns; /* the time that both captures cover; all times are A's */
	uint64_t packets;	    /* matched */
	uint64_t clock_steps_ns;    /* of both clocks, together */
	uint64_t edge_ns;	    /* how far first_ns and last_ns are from where they seem */
	bool proven;		    /* some packet has no other one that may be its partner */
	bool one_point;		    /* all packets have the same time in both captures */
	bool both_ways;		    /* packets in both directions, whose senders are known */
	/* B's clock minus A's at A's first moment; valid if offset_known. */
	int64_t offset_ns;
	bool offset_known; /* false, with both_ways: the clocks were set, or differ in rate by more
			      than oscillators do */
	/* Largest error of the offset, whatever the delays were; never 0. */
	uint64_t offset_error_ns;
	/* How much faster B's clock runs, and the largest error of that. drift_known means that the
	 * error is less than 1 ppm, or than a tenth of the drift. */
	double drift_ppm, drift_error_ppm;
	bool drift_known;
	uint64_t outside;   /* packets at one end while the other capture did not run */
	uint64_t elsewhere; /* packets at one end, of addresses whose packets do not pass both */
	uint64_t evicted;   /* packets removed from the full table before they were matched */
	uint64_t left_out;  /* packets of QPs over the limit, not compared */
	struct rd_path *paths;
	size_t n_paths;
	struct rd_findings findings; /* worst first */
	struct rd_groups groups;     /* groups of these findings */
	/* What both captures show together; times are A's, without a conversation. */
	struct rd_judgement verdict;
	/* Captures that missed packets, which the verdict is about or may be: bits 1 << enum
	 * rd_tap. */
	unsigned int missed_by;
	/* The capture whose finding the verdict rests on, as such a bit; 0: on the comparison. */
	unsigned int shown_by;
};

/*
 * A time in A's clock, relative to `origin`, of a clock that is `offset` ahead. Clamped to 2^60 ns
 * (36 years) either way, so that differences do not overflow.
 */
#define RD_ENDS_TIME_MAX (INT64_C(1) << 60)

static inline int64_t rd_ends_time(uint64_t ns, uint64_t origin, int64_t offset)
{
	__int128_t t = (__int128_t)(int64_t)ns - (int64_t)origin - offset;

	if (t > RD_ENDS_TIME_MAX)
		return RD_ENDS_TIME_MAX;
	return t < -RD_ENDS_TIME_MAX ? -RD_ENDS_TIME_MAX : (int64_t)t;
}

struct rd_ends;

/* An IP address or GID, or a LID, in the first bytes; the others are 0. */
struct rd_ends_address {
	uint64_t word[2];
};

/* By their words: what a sort and a search need. */
int rd_ends_address_order(const void *x, const void *y);

/* What is known of two captures before they are compared. */
struct rd_ends_start {
	uint64_t first_ns[RD_TAPS]; /* the first timestamp of each */
	int64_t offset_ns;	    /* B's clock minus A's, of the first packet that is in both */
	bool undecided;		    /* ends whose clocks are far apart, or parts of one capture */
	uint64_t frames;	    /* about so many has the larger one; 0: unknown */
	/*
	 * Sorted, all addresses between which both have packets, in some direction: only packets
	 * between two of them can be in both. NULL: unknown.
	 */
	struct rd_ends_address *addresses;
	size_t n_addresses;
};

/* --- packets ---------------------------------------------------------------------------------- */

/* What a response tells its requester: its PSN, that one is missing, or that it must wait. */
enum rd_ends_answer { RD_ENDS_NONE, RD_ENDS_ACK, RD_ENDS_NAK, RD_ENDS_RNR };

/* What the comparison needs of a packet, whatever it is compared with. */
struct rd_ends_packet {
	uint64_t ns;
	uint64_t frame, latest_ns; /* its number, and the latest time so far, of its capture */
	uint64_t bytes, identity, packet; /* hashes of what is the same at both ends: without the
					     ICRC, with it, of all transmissions */
	struct rd_ends_address from, to;
	uint32_t qp, psn, icrc;
	uint32_t network; /* of its tunnel, as in struct rd_inner; 0: none */
	uint16_t ip_id, length;
	uint8_t ttl, opcode;
	uint8_t net, address_length;
	uint8_t direction; /* enum rd_direction */
	uint8_t answer;	   /* enum rd_ends_answer, of a reliable connection */
	bool whole;	   /* its ICRC was captured */
	bool request;	   /* of a reliable connection */
	bool data;	   /* SEND or WRITE: acknowledged only if it arrived */
	bool in_sample[2]; /* see struct rd_ends_sample */
};

/* False: not RoCE or InfiniBand. Leaves `frame`, `latest_ns`, and in_sample as they are. */
bool rd_ends_packet(enum rd_link link, const struct rd_frame *frame, struct rd_ends_packet *packet);

/* The steps of a capture's clock, as its frames show them. */
struct rd_ends_clock {
	uint64_t frames;
	uint64_t equal;	  /* frames with the same timestamp as the previous one */
	uint64_t close;	  /* frames less than 1 us after the previous one */
	uint64_t last_ns; /* of the newest frame */
	int64_t shortest; /* shortest time between consecutive frames, above 0; 0: none yet */
	int64_t divisor;  /* greatest common divisor of all times between frames; 0: none yet */
	bool fine;	  /* it has timestamps with a finer resolution than 1 us */
};

/* The next frame. */
void rd_ends_clock_add(struct rd_ends_clock *c, uint64_t ns);

/*
 * The first packets of a capture, which are searched in others: [0] of those with an ICRC, by it;
 * [1] of all, without.
 */
struct rd_ends_sample {
	unsigned int n[2];
	uint64_t last[2];      /* frame of the last one */
	bool bare_until, bare; /* a packet has no ICRC: until the first sample was full, or later */
};

/* What all frames of a capture show that is compared with several. */
struct rd_ends_capture {
	struct rd_ends_clock clock;
	struct rd_ends_sample sample;
	uint64_t packets; /* RoCE or InfiniBand */
	uint64_t latest_ns;
	uint64_t ran_until_ns;
};

/* Whether both captures may have packets between these, or have missed them. */
bool rd_ends_known(const struct rd_ends_start *start, const struct rd_ends_address *a,
	const struct rd_ends_address *b);
/* The addresses are borrowed until the end. Fails only if out of memory. */
int rd_ends_open(struct rd_ends **e, const struct rd_ends_start *start, struct rd_error *err);
/* Frames in the order of their file; both files in parallel, in the order of time. Hot path. */
void rd_ends_frames(struct rd_ends *e, enum rd_tap end, enum rd_link link,
	const struct rd_frame *frames, unsigned int n);
/*
 * In place of all frames of a capture, before the first packet: how many of its packets are not
 * taken, since they are not between known addresses.
 */
void rd_ends_capture(struct rd_ends *e, enum rd_tap end, const struct rd_ends_capture *capture,
	uint64_t elsewhere);
void rd_ends_take(struct rd_ends *e, enum rd_tap end, const struct rd_ends_packet *packet);
/* A file has ended: packets sent after its last frame, and after its capture, are not in it. */
void rd_ends_file_end(struct rd_ends *e, enum rd_tap end, uint64_t ran_until_ns);
/*
 * The result, after both files have ended. `reports` are those of each capture alone, which show
 * what was lost downstream of the receiver's capture. Owned by the caller.
 */
int rd_ends_report(struct rd_ends *e, const struct rd_report *const reports[RD_TAPS],
	struct rd_ends_report **report, struct rd_error *err);
/* Replaces advice to capture at the other end in the reports of each capture. -1: out of memory. */
int rd_ends_refer(const struct rd_ends_report *e, struct rd_report *const reports[RD_TAPS]);
void rd_ends_close(struct rd_ends *e);
void rd_ends_report_free(struct rd_ends_report *r);
/* Whether both captures have packets of two hosts in both directions, whoever sent them. */
bool rd_ends_has_both_ways(const struct rd_ends_report *r);

/*
 * Whether two files are captures of the same traffic: the first packets of one (`of`), which is
 * read first, are searched in the other. NULL if out of memory.
 */
enum rd_ends_need {
	RD_ENDS_NEED_PART, /* a part of all packets */
	/* A part of those from one address to another, if several of these are in both: hosts that
	 * send to many others have few packets in common with each. */
	RD_ENDS_NEED_PATH,
	RD_ENDS_NEED_ONE, /* one packet */
};
/* The times of the first and last frame of a file. */
struct rd_ends_span {
	uint64_t first_ns, last_ns;
};
struct rd_ends_search;
/* `spans`: of both, as far as they are known: then files are not read to their ends; or NULL. */
struct rd_ends_search *rd_ends_search_open(
	enum rd_tap of, enum rd_ends_need need, const struct rd_ends_span *spans);
/* Their facts say so: neither is the next part of the other, even if their clocks are far apart. */
void rd_ends_search_two_adapters(struct rd_ends_search *s);
/* False: the rest of the file need not be read. */
bool rd_ends_search_frame(struct rd_ends_search *s, enum rd_tap file, enum rd_link link,
	const struct rd_frame *frame);
bool rd_ends_search_packet(
	struct rd_ends_search *s, enum rd_tap file, const struct rd_ends_packet *packet);
/* The next packet of a capture: whether it is in the sample. `by`: a search for each kind. */
void rd_ends_sample_add(struct rd_ends_search *const by[2], struct rd_ends_sample *sample,
	struct rd_ends_packet *packet);
/*
 * In place of the frames of `of`: its packets, until false; then both samples, as far as they are
 * not among these packets.
 */
bool rd_ends_search_sampled(struct rd_ends_search *s, const struct rd_ends_sample *of,
	const struct rd_ends_packet *packet);
void rd_ends_search_samples(struct rd_ends_search *s, const struct rd_ends_sample *of,
	const struct rd_ends_sample *other);
/* Whether both files have to be read once more, without the ICRCs that some frames lack. */
bool rd_ends_search_again(struct rd_ends_search *s);
/* True: they are; sets the first timestamps, and the offset is the median of the packets found, B's
 * clock minus A's. */
bool rd_ends_search_result(struct rd_ends_search *s, struct rd_ends_start *start);
void rd_ends_search_close(struct rd_ends_search *s);

/* As in docs/schema/analyze.json, "ends". NULL if out of memory. Owned by the caller. */
json_t *rd_ends_json(const struct rd_ends_report *r);
/*
 * The same for a page: with these flags of jansson, findings and QPs have at most this many bytes:
 * the worst findings, then QPs whose packets were lost, duplicated, reordered or missed, then the
 * busiest. "page_left_out" has the number of the others.
 */
json_t *rd_ends_json_within(const struct rd_ends_report *r, size_t bytes, size_t flags);
void rd_ends_text(const struct rd_ends_report *r, const struct rd_report_style *style, FILE *out);
