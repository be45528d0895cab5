/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of matching two captures. Times are nanoseconds in A's clock; those of B are reduced by
 * the first estimate of the offset. A distance is the time at B minus the time at A.
 */
#pragma once

#include "../model/bounded.h"
#include "../rules/rules.h"
#include "../verdict/verdict.h"
#include <rdmadump/ends.h>

/* --- distances over time (clock.c) ------------------------------------------------------------ */

#define CLOCK_SLOTS 64

/* The shortest and longest distance of some time, and when they were; min > max: none. */
struct extremes {
	int64_t min, max;
	int64_t min_t, max_t;
};

struct delays {
	struct hist *hist;
	uint64_t rises; /* how often they grew by RD_ENDS_LATE_NS */
	uint64_t frame; /* where the longest one arrived */
	bool late;	/* they are so long now */
};

struct distances {
	uint64_t n;
	uint64_t width; /* of a slot; doubles when all slots are used */
	struct extremes slots[CLOCK_SLOTS];
	/* Of the last quarter to half second, to compare the next distance with. */
	uint64_t window;
	struct extremes now, before;
	/* If A is the sender, above the shortest distance; if B is, below the longest one. */
	struct delays delays[RD_TAPS];
};

/*
 * Adds a distance at time t (since the start), with the frames of both ends; NULL: of a packet
 * whose partner is uncertain, so that it shows neither a delay nor the clock offset. False if out
 * of memory.
 */
bool distances_add(struct distances *d, int64_t t, int64_t distance, const uint64_t frame[RD_TAPS]);
/* The shortest and longest recent distance; false: there was none. */
bool distances_recent(const struct distances *d, struct extremes *out);

/* Bounds of the offset of B's clock over time: no packet arrives before it was sent. */
struct clock_bounds {
	uint64_t width;			    /* 0: no distance yet */
	struct extremes upper[CLOCK_SLOTS]; /* their `min`: of packets from A to B */
	struct extremes lower[CLOCK_SLOTS]; /* their `max`: of packets from B to A */
};

/* Adds the distances of a path whose sender is known. */
void clock_add(struct clock_bounds *c, const struct distances *d, enum rd_tap sender);
/*
 * Sets offset, error and drift of the report, in the clocks of `d`. `resolution` in ns is the sum
 * of the steps of both clocks.
 */
void clock_result(const struct clock_bounds *c, uint64_t resolution, struct rd_ends_report *r);

/* --- paths and their QPs (paths.c) ------------------------------------------------------------ */

/* Source and destination of a packet: addresses, or LIDs if there is no network header. */
struct path_key {
	unsigned int net, length;
	uint32_t network; /* of its tunnel, as in struct rd_inner; 0: none */
	const uint8_t *src, *dst;
};

/* Evidence for which capture a packet passes first. */
struct order_votes {
	uint64_t ttl[RD_TAPS];	/* packets with the larger TTL there */
	uint64_t time[RD_TAPS]; /* packets that were there earlier, according to the packet of the
				   reverse path before: each of these counts once */
	int64_t least[RD_TAPS]; /* of the differences that show it, the smallest one; 0: none */
	int64_t most[RD_TAPS];	/* the largest one of all packets, counted or not */
	uint64_t squeezed;	/* of those counted: so close in a capture that it may have stamped
				   both at once, and further apart in the other one */
};

struct path {
	struct path *reverse; /* NULL: no frames */
	struct path *plain;   /* the one with these addresses that has no network in its key */
	uint32_t network;     /* as in struct path_key; 0: none so far */
	bool keyed;
	/* Of `plain`: there are others; it has packets that are in no network, and that may
	 * be of any of them. */
	bool shared, outside;
	struct distances d;
	struct extremes first; /* distances of its first packets */
	int64_t first_until;   /* of that time; 0: none yet */
	int64_t last_t, last;  /* the newest proven distance; valid if has_last */
	bool has_last;
	uint64_t last_frame[RD_TAPS]; /* its frames */
	bool compared;		      /* `last` with a packet of the reverse path */
	uint64_t frames_out[RD_TAPS]; /* frames that a capture marks as sent by its host */
	uint64_t frames_in[RD_TAPS];  /* the same, as received by it */
	struct order_votes votes;
	uint64_t same_id, other_id; /* packets matched, without copies: IP IDs equal or not */
	uint64_t id_changes;	    /* packets whose IP ID differs from that of the previous one */
	uint16_t ip_id;
	unsigned int net, length;
	size_t n_qps;
	uint8_t src[16], dst[16];
	char from[RD_ADDRESS_LEN], to[RD_ADDRESS_LEN];
	enum rd_tap sender; /* the rest is set by place_senders() */
	bool sender_known, between;
};

/* A packet in a log of a QP; see evidence.c. */
struct answer {
	int64_t t;
	uint32_t psn;
	uint8_t end;
};

struct answers {
	struct answer *list;
	uint32_t n, skip, stride;
};

/* The fate of a packet that only the sender's capture has. */
enum fate {
	FATE_UNKNOWN,	/* lost between the captures, or missed by the receiver's capture */
	FATE_LOST,	/* the receiver requested it again */
	FATE_DELIVERED, /* the receiver acknowledged it: its capture missed it */
	FATES
};

/* The packet that left the other end last, of those in one capture so far. */
struct latest {
	uint64_t frame; /* of the other capture; 0: there is none */
	int64_t t[RD_TAPS];
};

struct path_qp {
	uint64_t key; /* hash of addresses and QP */
	struct path *path;
	uint32_t qp;
	uint64_t matched;
	uint64_t single; /* of them: without another packet with the same bytes */
	/* As receiver: packets after a later one; and the latest one so far. */
	uint64_t reordered[RD_TAPS];
	uint64_t reordered_proven[RD_TAPS]; /* of them: the times of both ends differ */
	struct latest latest[RD_TAPS];
	/* The same, of all packets: a copy may have been taken for another one. */
	uint64_t order_unclear[RD_TAPS]; /* of those that are not in reordered[] */
	uint64_t order_unknown[RD_TAPS]; /* packets that reordered[] leaves aside */
	struct latest latest_of_all[RD_TAPS];
	struct rd_incident only[RD_TAPS];   /* captured there only */
	struct rd_incident copies[RD_TAPS]; /* the same, of a packet that was matched as well */
	struct rd_incident twins[RD_TAPS];  /* copies that are not separate transmissions */
	/*
	 * Runs of packets in only[] and copies[], without a matched one between them; those that
	 * begin with a packet that is not a copy, or that its IP ID distinguishes from others.
	 */
	uint64_t runs[RD_TAPS], lone_runs[RD_TAPS];
	bool in_run[RD_TAPS];
	uint32_t arrived_ops, only_ops[RD_TAPS]; /* bits of opcodes, without the transport */
	/* The longest frame that both have, the shortest one of only[] and copies[]; 0: none. */
	uint16_t longest, shortest[RD_TAPS];
	uint64_t last_matched[RD_TAPS]; /* frame */
	uint64_t outside[RD_TAPS];	/* captured there while the other capture did not run */
	uint64_t requests;		/* SEND and WRITE of those matched, see FATE_DELIVERED */
	/* Requests whose PSN is not above the previous one, in each capture; and that one. */
	struct answers rounds[RD_TAPS];
	uint32_t last_psn[RD_TAPS];
	bool has_psn[RD_TAPS];
	struct answers acks, naks;	/* in packets to this QP; naks: PSN sequence errors */
	struct answers rnr_naks;	/* of either capture */
	struct rd_incident fate[FATES]; /* of those that only the sender's capture has */
	uint64_t recorded;		/* of them: with a record */
};

#define PATHS_MAX    1024
#define PATH_QPS_MAX 16384
#define PATH_SLOTS   ((size_t)PATHS_MAX * 2)

/* Either no IP ID changes on a path, or all of them do. */
static inline bool ids_kept(const struct path *p)
{
	return p->net == RD_NET_IPV4 && p->same_id > 4 * p->other_id;
}

/* Two transmissions of the same bytes have different IP IDs. */
static inline bool ids_tell(const struct path *p)
{
	return ids_kept(p) && p->id_changes > p->same_id / 2;
}

/* 0: no other network has packets with its addresses. */
static inline uint32_t path_network(const struct path *p)
{
	return p->plain->shared ? p->network : 0;
}

/* NULL: over a limit, or out of memory. */
struct path_qp *path_qp_find(struct rd_ends *e, const struct path_key *r, uint32_t qp);
/* The packets on a path to this QP; NULL: there are none. */
const struct path_qp *path_qp_known(const struct rd_ends *e, const struct path *p, uint32_t qp);

/* --- packets that wait for their match (match.c, pending.h) ----------------------------------- */

enum entry_state { ENTRY_OPEN, ENTRY_ALONE, ENTRY_PAIRED };

/*
 * Entries are numbered from 1 in order of arrival; 0: none. Numbers below the tail belong to
 * removed entries. Those of the same addresses and BTH are a list from the oldest to the newest,
 * whose ICRCs may differ or be cut off, and so are those of the same request or response, whose
 * retransmissions may differ in some bits. The oldest one is in a bucket, and has the numbers that
 * the whole list needs.
 */
enum list { BY_BYTES, BY_PACKET, LISTS };

struct listed {
	uint64_t next; /* in the oldest: the oldest of the next list in this bucket */
	uint64_t last; /* in the oldest: the newest */
	uint64_t same; /* the next newer one */
};

struct entry {
	uint64_t id[LISTS];
	struct listed in[LISTS];
	/* In the oldest BY_BYTES: none before `open` lacks a partner; `paired` got its one last. */
	uint64_t open, paired;
	uint64_t frame;
	int64_t t;
	struct path_qp *to;
	uint64_t partner_frame;
	int64_t partner_t;
	uint32_t psn;
	uint32_t icrc;
	uint32_t network; /* 0: none; its partner may be in one */
	uint16_t ip_id, length;
	uint8_t ttl, state, opcode;
	uint8_t in_row; /* how many entries of the same packet were removed just before, up to 2 */
	bool whole;	/* its ICRC was captured */
	bool earlier;	/* the same packet was removed before */
	bool single;	/* only it and its partner have these bytes */
	bool kin;	/* so near one with the same bytes that partners may be swapped */
	bool repeated;	/* one with the same bytes was removed before */
	bool copy;	/* one with the same bytes and IP id was removed before */
	bool of_pair;	/* and that one had a partner */
	bool twin;	/* that one is the same transmission */
	bool lonely;	/* and had no partner */
	bool request;	/* of a reliable connection */
	bool data;	/* SEND or WRITE: acknowledged only if it arrived */
};

#ifndef ENDS_RING_LOG2 /* smaller for the fuzzer, which restarts many times a second */
#define ENDS_RING_LOG2 18
#endif
#define RING ((uint64_t)1 << ENDS_RING_LOG2) /* the most entries */

#define REMOVED (RING / 4) /* the most of each that are known */

/* The packets of one capture that may still be matched. */
struct pending {
	uint64_t size; /* of the ring and of each table of buckets; a power of two */
	struct entry *ring;
	uint64_t *buckets[LISTS];
	uint64_t head, tail; /* entries [tail, head) are in the ring */
	uint64_t near;	     /* of those removed: pairs of the same packet within TWIN_NS */
	int64_t first, last;
	bool ended;
	struct rd_ends_clock clock; /* of the frames so far, or of all, see rd_ends_capture() */
	struct bounded requests, transmissions; /* those removed: whether any had a partner */
};

/* A packet that only one capture has. */
struct record {
	struct path_qp *to;
	uint64_t frame, ns;
	int64_t t;
	int64_t soonest; /* time at the other end, in its clock */
	int64_t again;	 /* when it arrived at the other end after all; INT64_MAX: never */
	uint32_t psn;
	uint8_t end;
	bool request, data; /* see struct entry */
	bool earlier;	    /* it was sent before, or arrived before */
};

#define RECORDS_MAX 65536

struct rd_ends {
	int64_t offset;
	uint64_t origin; /* first timestamp of A */
	uint64_t start;	 /* the same, moved as in the reports */
	struct pending pending[RD_TAPS];
	uint64_t matched, evicted, left_out;
	uint64_t at_once;   /* of those matched, with the same time in both captures */
	uint64_t elsewhere; /* packets that only one capture can have, and are not looked at */
	struct rd_ends_start known; /* its addresses are borrowed */
	struct path *paths[PATHS_MAX];
	uint16_t path_slots[PATH_SLOTS]; /* an open hash: place in paths + 1 */
	size_t n_paths;
	struct path_qp **qps; /* open hash */
	size_t n_slots;	      /* of it; a power of two, above the number of frames or QPs */
	size_t n_qps;
	struct path_qp *cached;
	struct record *records;
	size_t n_records;
	uint64_t answers; /* in all logs */
	bool out_of_memory;
};

#define PATH_QP_SLOTS ((size_t)PATH_QPS_MAX * 2) /* the most slots */

#define CLOCK_TICK_MIN ((int64_t)100000)   /* of timers; traffic may have shorter steps */
#define CLOCK_STEP_MAX ((int64_t)20000000) /* a timer of 64 Hz has 15.6 ms */
#define OFTEN_EQUAL    16		   /* one in this many frames; fewer may be chance */

/*
 * The longest step in ns that the clock of a capture can have. All times between frames are
 * multiples of a step. Frames with equal timestamps show that a clock has steps, even if these have
 * different lengths; no step is longer than the time between two frames with different timestamps.
 */
static inline int64_t clock_step(const struct rd_ends_clock *p)
{
	int64_t step = p->fine ? 1 : 1000;

	if (p->divisor >= CLOCK_TICK_MIN)
		step = p->divisor;
	if (p->equal * OFTEN_EQUAL >= p->frames && p->shortest > step)
		step = p->shortest;
	return step < CLOCK_STEP_MAX ? step : CLOCK_STEP_MAX;
}

#define BURST_NS    ((int64_t)1000) /* between frames that a driver took at once */
#define BURSTS_PART 4		    /* one in this many frames */

/*
 * Whether most timestamps of a capture may be those of bursts: a driver takes all frames that are
 * there, and stamps them then. The first one of a burst is later than the others, always.
 */
static inline bool has_bursts(const struct rd_ends_clock *p)
{
	return p->close * BURSTS_PART >= p->frames;
}

/* --- which copy is which (copies.c) ----------------------------------------------------------- */

#define COPIES_MAX  16			   /* of one packet that are compared at once */
#define PATIENCE_NS ((int64_t)10000000000) /* the longest pause of a paused port */

/* Entries without a partner that may be copies of one packet, oldest first. */
struct copies {
	struct entry *here[COPIES_MAX], *there[COPIES_MAX];
	unsigned int n_here, n_there;
	int64_t alone_here[COPIES_MAX], alone_there[COPIES_MAX]; /* the cost of having no partner */
};

/* The current distances of packets on this path. */
struct extremes distances_expected(const struct path *p);
/*
 * Whether the other capture was running when this packet passed it. At the time of its first or
 * last frame it may not have been: clocks have steps.
 */
bool both_ran(const struct rd_ends *e, enum rd_tap end, const struct entry *en);
/*
 * The partner of the first copy here, in the capture `end`; NULL: none. At least one copy is in
 * each list. Sets the costs.
 */
struct entry *copies_partner(const struct rd_ends *e, enum rd_tap end, struct copies *c);

/* --- which capture is at the sender (place.c) ------------------------------------------------- */

/*
 * Records the evidence of a matched packet; `at` are its entries. Times count only if no other
 * packet can be the partner (`proven`).
 */
void place_note(const struct rd_ends *e, struct path *p, const struct entry *const at[RD_TAPS],
	bool proven);
/* Sets sender, sender_known and between of all paths. */
void place_senders(struct rd_ends *e);

/* --- what one capture alone shows (sides.c) --------------------------------------------------- */

/*
 * The owner of the QP that sends or receives these packets, and that QP. Only the file of its own
 * host has it. NULL: unknown; *not_listed: unknown although a file lists that host's owners.
 */
const struct rd_owner *sides_owner(const struct rd_report *const reports[RD_TAPS], const char *from,
	const char *to, uint32_t qp, uint32_t network, bool receiver, uint32_t *owned,
	bool *not_listed);

/* What one capture alone has of the packets of a path to a QP; NULL: nothing. */
const struct rd_side *side_in(const struct rd_report *r, const struct rd_path *p, uint32_t qp);

/* NULL: no packet went this way at both ends. `network`: of a conversation, see struct rd_inner. */
const struct rd_path *ends_path(
	const struct rd_ends_report *r, const char *from, const char *to, uint32_t network);

/* --- the fate of packets (evidence.c) ----------------------------------------------------- */

/* Records what a request repeats, and what a response acknowledges or requests again. */
void evidence_note(struct rd_ends *e, enum rd_tap end, const struct rd_ends_packet *p,
	struct path_qp *to, int64_t t);
/* Keeps what evidence_judge() needs of a packet without a match. */
void evidence_keep(struct rd_ends *e, const struct record *record);
/* Sets fate[] of all QPs. Needs place_senders(). */
void evidence_judge(struct rd_ends *e, const struct rd_report *const reports[RD_TAPS]);

/* --- findings (findings.c) -------------------------------------------------------------------- */

/* How reliably a capture contains all packets that passed it. */
struct trust {
	uint64_t missed; /* packets that it missed, according to the other capture or a response */
	uint64_t tested; /* packets that it has, and whose absence would have been detected */
	uint64_t copied; /* copies that it alone has of what its host sent */
	bool drops;	 /* its file reports losses */
};

static inline bool trusted(const struct trust *t)
{
	return !t->missed && !t->drops;
}

#define ENDS_RULES 10

/* What the QPs of a rule's findings sent. */
struct concern {
	const char *rule; /* NULL: it has no finding */
	size_t qps;
	uint64_t packets;
	uint64_t messages, delayed; /* delayed: partly or completely retransmitted */
};

/* What the report is made of. */
struct judging {
	struct rd_ends *e;
	struct rd_ends_report *r;
	const struct rd_report *const *reports;
	struct trust trust[RD_TAPS];
	struct concern concerns[ENDS_RULES];
};

/* False if out of memory. */
bool ends_findings(struct judging *j);
/* Whether the comparison of two captures shows where the cause is, which one alone cannot. */
bool ends_answer(const char *rule);

/* What a rule over two captures looks at. */
struct sight {
	const struct rd_report *const *reports; /* of each capture alone */
	const struct trust *trust;
	const struct rd_ends_report *r;
	const struct rd_path *p;
	const struct rd_path_qp *w; /* NULL for rules over a path */
};

/* This direction in the report of one capture alone; NULL: it is absent. */
const struct rd_side *side_at(const struct sight *s, enum rd_tap tap);

/* --- the verdict (verdict.c, times.c, sentences.c) -------------------------------------------- */

/* The event that both captures together show: from the comparison, or from one of them. */
struct culprit {
	const struct rule *compared; /* of a finding of the comparison; else NULL */
	const struct cause *cause;
	const struct rd_group *group; /* NULL: nothing happened */
	enum rd_tap tap;	      /* the capture that shows it, if it is not the comparison */
	const struct rd_finding *worst;
	enum rd_certainty certainty; /* not above that of `worst` */
	/* Of the comparison: what its worst finding is about; NULL, 0: unknown. */
	const struct rd_path *path;
	uint32_t qp;
	uint32_t network; /* of the packets; 0: no other one has their addresses */
	bool assumed;	  /* the place follows if that capture was made at the port of its host */
	enum rd_tap at;	  /* that capture */
};

/* Fills r->verdict. False if out of memory. */
bool ends_judge(struct judging *j);
/* Writes the sentences of r->verdict. False if out of memory. */
bool ends_sentences(struct judging *j, const struct culprit *culprit);
/* Sets the verdict's statements about the time of requests (times.c). False if out of memory. */
bool ends_times(struct judging *j);
