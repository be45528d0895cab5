/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A flow is all frames from one address to one QP: requests of the sender, and its responses to
 * requests of that QP. Two flows are a conversation.
 */
#pragma once

#include "congestion.h"
#include "hist.h"
#include "host_path.h"
#include "seq.h"
#include "times.h"

struct flow_key {
	uint64_t k1, k2;
};

/* The incidents that were counted, in the order of their kinds: bit n of `has` is kind n. */
struct incidents {
	uint64_t has;
	struct rd_incident *list;
};

/* The index of a bit in such a list: how many lower ones are set. */
static inline unsigned int bit_place(uint64_t has, unsigned int bit)
{
	return (unsigned int)__builtin_popcountll(has & ((UINT64_C(1) << bit) - 1));
}

/* Allocated for a flow when its request sequence breaks for the first time. */
struct trouble {
	struct seq seen;     /* request PSNs ever seen; start is the first one */
	struct seq pass;     /* request PSNs of the current retransmission round */
	uint32_t depth;	     /* most packets that overtook a reordered one */
	uint32_t late_depth; /* the same of the late packets that are not judged yet */
	bool doubtful; /* the first packet of the last round may be late, not a retransmission */
	bool fetches;  /* the current packet is a READ or an atomic */
	bool repeats;  /* the current packet is a retransmission */
	struct rd_unclear unclear; /* its `gap`: at the last gap before the start of a message */
	struct seq unseen; /* its holes: PSNs that were acknowledged before they were captured */
	/* The last gap before the start of a message: missed packets, or another connection. */
	bool gap_open;	       /* no response to a packet after it was captured */
	uint32_t gap_next;     /* the PSN after the gap */
	uint32_t gap_msn;      /* messages completed before it; 0: unknown */
	uint64_t gap_messages; /* messages captured before it */
	bool two_naks;	       /* the last NAK arrived before the round of the previous one */
	bool leftover;	       /* only the second one is left, whose round may not be visible */
	bool denied_open; /* the last packet counted as lost downstream may only be late there */
	bool denied_late; /* it was late, and no NAK followed yet */
	uint32_t denied;  /* its PSN */
	uint32_t denied_next;	/* the next new PSN at the time of the NAK for it */
	uint64_t again_ns;	/* no later than the capture of its retransmission; 0: none yet */
	uint64_t round_ns;	/* the beginning of the current or last round */
	uint32_t first_wait_us; /* before the round at the same PSN that came first; 0: unknown */
	struct waits *waits; /* before the last rounds, and the longest such series; NULL: none */
	bool denied_only;    /* the round has its only copy: nothing before was captured */
	bool denied_again;   /* another copy was captured after the NAK for it */
	bool denied_fetch;   /* which is a READ or an atomic */
	bool denied_by_nak;  /* the response to it is a NAK */
	uint32_t filled, filled_n; /* PSNs last captured in a round, and not before; 0: none */
	uint32_t fetch, fetch_n;   /* PSNs of a READ or an atomic that was retransmitted; 0: none */
	uint32_t read, read_n;	   /* responses of the READ captured last, since trouble began */
	/* Messages that rounds delayed (round.c). */
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
#define NEWEST_CNPS 4

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
	uint16_t sport;
	uint8_t transport, kind, net;
	bool multicast;
	bool ipoib;   /* the first SEND that begins a message is */
	bool keyed;   /* the network is in its key: another one's flow has the plain key */
	bool shared;  /* another network has a flow with these addresses and QPs */
	bool outside; /* it has frames outside of networks, too */
	struct rd_first_header first;
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

/* More about all frames of the flow (analysis.c). */
struct flow_frames {
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
	uint32_t late_psn, late_end, late_n; /* first PSN, the one after the last, packets */
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
	bool straggler_fetches; /* it is a READ or an atomic */
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
	bool ended;	 /* a NAK ended the QP, and no other connection has begun since */
	bool ever_ended; /* ... or a connection before */
	bool refused;	 /* that NAK is for an open request: packets sent now are not accepted */
	bool idle;	 /* no request is open: all are acknowledged, or none was sent */
	uint8_t waiting_at, waiting_n, waiting_capacity;
	bool counts;	   /* that number was seen to increase */
	bool answered;	   /* resp.until of the peer applies */
	uint8_t firsts;	   /* samples of first_ns, counted up to UINT8_MAX */
	uint32_t msn;	   /* messages that the responder completed; 0: unknown */
	uint32_t first_ns; /* shortest to the first response of a READ, or a later ACK */
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
	struct rd_stall stall;
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
	uint16_t ip_id;		    /* of the newest frame */
	uint16_t cnps[NEWEST_CNPS]; /* those of CNPs, the newest first; 0: none */
	uint64_t ns;		    /* of the newest request without one */
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
	struct rd_traffic traffic;
	struct flow_frames all;
	struct flow_pair pair;
	struct flow_priority priority;
	struct flow_rate rate;
	struct flow_recent recent;
	struct host_path *path; /* never NULL */
	struct times *times;	/* NULL until its first request */
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
	return f->traffic.frames > f->all.unproven && f->all.unproven < UINT32_MAX;
}

/* Has no valid ICRC, and as many frames to its QP that cannot be RoCE. */
static inline bool flow_is_foreign(const struct flow *f)
{
	return !flow_is_proven(f) && f->all.implausible >= f->traffic.frames;
}

static inline void flow_unproven(struct flow *f)
{
	f->all.unproven += f->all.unproven < UINT32_MAX;
}

#define NEAR 64 /* flows of each direction */

struct flow_table {
	struct flow **slots;
	size_t mask, n, max;
	struct flow **all;	     /* by id - 1; NULL: dropped */
	struct flow_chunk **chunks;  /* flow_memory.c */
	struct flow *near[2 * NEAR]; /* by low bits of QP and address: the flows used last */
};

/* One frame, for the functions of the parts. */
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
/* That of a packet whose addresses or QP may be wrong; NULL: it has none. */
struct flow *flow_made(const struct rd_analysis *a, const struct item *it);
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

static inline struct flow **flow_near(struct flow_table *t, uint64_t k1, uint64_t k2)
{
	/* Each direction has a half: both may have the same QP, or one next to the other's. */
	const bool up = (uint8_t)(k1 >> 24) < k1 >> 56;

	return &t->near[(k2 ^ k1 >> 24 ^ k1 >> 56) % NEAR + (up ? NEAR : 0)];
}

/* The flow of a packet without a DETH if it is in the cache of recent IPv4 flows; else NULL. */
static inline struct flow *flow_recent(struct flow_table *t, const struct item *it)
{
	const struct rd_packet *p = it->p;

	if (p->net == RD_NET_IPV4) {
		uint64_t k1 = rd_le64(p->data + p->l3 + 12); /* both addresses */
		uint64_t k2 = flow_key_qps(RD_NET_IPV4, p->dest_qp, RD_QP_UNKNOWN);
		struct flow *f = *flow_near(t, k1, k2);

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
/* The key of a flow between two addresses, without a network. `net`: rd_net; RD_NET_NONE: LIDs. */
struct flow_key flow_key(unsigned int net, const uint8_t *src, const uint8_t *dst, uint32_t dest_qp,
	uint32_t src_qp);
bool flow_table_init(struct flow_table *t, size_t max);
void flow_table_free(struct flow_table *t);

/* Counts n incidents of a kind, at the current frame. */
void flow_incident(struct rd_analysis *a, struct flow *f, enum rd_incident_kind kind, uint64_t n);
/* Takes back one incident of this kind, which was counted in error. */
void flow_take_back(struct flow *f, enum rd_incident_kind kind);
void incident_add(struct rd_incident *e, uint64_t n, uint64_t frame, uint64_t ns);
/* Adds those of another list, whose frames may be before or between these. */
void incident_join(struct rd_incident *to, const struct rd_incident *from);
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

/* The nth request that waits, the oldest one first; n may be the number of them, for a new one. */
static inline struct waiting *waiting_at(const struct flow *f, unsigned int n)
{
	return &f->ack.waiting[(f->ack.waiting_at + n) & (f->ack.waiting_capacity - 1U)];
}

/* The oldest one waits no longer. */
static inline void waiting_next(struct flow *f)
{
	f->ack.waiting_at = (uint8_t)((f->ack.waiting_at + 1U) & (f->ack.waiting_capacity - 1U));
	f->ack.waiting_n--;
}

/* Frees the memory that it owns, when the report has copies; its plain numbers stay. */
void flow_finish(struct flow *f);
/* Also frees the flow if no frames follow. */
void flow_drop(struct flow_table *t, struct flow *f);
/* Zeroed memory for flow number t->n + 1 (flow_memory.c); NULL if out of memory. */
struct flow *flow_allocate(struct flow_table *t);
void flow_release(struct flow_table *t, size_t index);
bool flow_is_duplicate(const struct flow *f, const struct item *it, bool response);
/* The same of a CNP, which it remembers: called once for each. */
bool flow_is_same_cnp(struct flow *f, const struct item *it);

enum sent { SENT_UNKNOWN, SENT_BEFORE, SENT_AFTER };

/* Whether a request was sent before or after the newest one, by IP identifications. */
enum sent flow_sent(const struct flow *f, const struct item *it);

/* The identification of the request with this PSN; 0: not known any more. */
uint32_t flow_id_of(const struct flow *f, uint32_t psn);

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
/* 16 bits last for 8 ms. Timeouts, powers of two of 4.096 us, must be no multiples of that. */
#define TIME_STEP_NS 125

/* Remembers a frame at its PSN modulo RECENT. In a smaller table each has a slot of its own. */
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

/* --- which flows are a pair (pair.c) ---------------------------------------------------------- */

struct link_pair;

void pair_init(struct rd_analysis *a);
void pair_request(struct rd_analysis *a, struct flow *f, uint32_t psn);
void pair_response(struct rd_analysis *a, struct flow *f, uint32_t psn);
/* Pairs a flow without a peer by a PSN that its NAK requests, if only one has sent there. */
void pair_nak(struct rd_analysis *a, struct flow *f, uint32_t psn);
void pair_new_flow(struct rd_analysis *a, struct flow *f);
void pair_link(struct rd_analysis *a, const struct link_pair *link);
/* The link of a flow; NULL: none. */
const struct link_pair *pair_link_of(const struct rd_analysis *a, const struct flow *f);

/* --- sides of a conversation (side.c) --------------------------------------------------------- */

/* Whether an incident of a side is counted in the flow of its peer. */
extern const bool side_is_in_peer[RD_INC_COUNT];
/*
 * Copy a flow into a side (side.c): incidents, of a side with the frames `own` and its peer's
 * `other` (either may be NULL); verbs and latencies of its requests. False if out of memory.
 */
bool side_incidents(struct rd_side *s, const struct flow *own, const struct flow *other);
bool side_requests(struct rd_side *s, const struct flow *f);
void side_free(struct rd_side *s);
/* `files` may be NULL. */
void report_files_free(struct rd_report_file *files, size_t n);
