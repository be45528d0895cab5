/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What happened to packets between two captures of the same traffic: each packet is looked for at
 * both ends. A packet is known again by its addresses, its BTH and its ICRC, which no switch and no
 * router may change. Memory is bounded: what has not shown up at the other end within a second, or
 * when there is no room to wait for it, never does.
 */
#ifndef RDMADUMP_ENDS_H
#define RDMADUMP_ENDS_H

#include <rdmadump/analysis.h>

enum rd_tap { RD_TAP_A, RD_TAP_B, RD_TAPS };

/* The packets to one QP, from one address to another. */
struct rd_path_qp {
	char from[RD_ADDRESS_LEN], to[RD_ADDRESS_LEN];
	uint32_t qp;
	uint64_t sent;		 /* seen where they were sent, while both captures ran */
	uint64_t arrived;	 /* seen at both ends */
	uint64_t reordered;	 /* of them: passed by a later one */
	struct rd_incident lost; /* seen where they were sent only; frames of that capture */
	struct rd_incident
		duplicated;	   /* came more often than they were sent; frames where they came */
	struct rd_incident missed; /* seen where they came only: the sender's capture missed them */
};

/* Between two addresses, one way. */
struct rd_path {
	char from[RD_ADDRESS_LEN], to[RD_ADDRESS_LEN];
	enum rd_tap sender;	     /* whose capture is at the sender */
	bool sender_known;	     /* false: only one way was seen, `sender` is a guess */
	struct rd_latency variation; /* one-way delay above the shortest one of its time */
	uint64_t slowest_frame;	     /* where it arrived, at the largest variation */
	struct rd_path_qp *qps;	     /* most packets first */
	size_t n_qps;
};

struct rd_ends_report {
	uint64_t start_ns;	    /* first moment of A */
	uint64_t first_ns, last_ns; /* what both captures cover; all times are A's */
	uint64_t packets;	    /* matched */
	/* B's clock minus A's, if delays are alike both ways; valid if offset_known. */
	int64_t offset_ns;
	bool offset_known;
	/*
	 * Half of the shortest round trip between the capture points: the offset is no further off
	 * than that, where one clock does not run faster than the other.
	 */
	uint64_t offset_error_ns;
	double drift_ppm; /* by how much B's clock runs faster; valid if drift_known */
	bool drift_known;
	uint64_t outside;  /* packets at one end before the other's capture began, or after it ended
			    */
	uint64_t evicted;  /* packets that were given up early because there was no room */
	uint64_t left_out; /* packets of ways over the limit */
	struct rd_path *paths;
	size_t n_paths;
	struct rd_findings findings; /* worst first */
};

/*
 * A moment on A's clock, counted from `origin`: `offset` is what the clock is ahead. Moments that
 * are further away than 2^60 ns (36 years) are there, so that differences of them have no overflow.
 */
#define RD_ENDS_TIME_MAX (INT64_C(1) << 60)

static inline int64_t rd_ends_time(uint64_t ns, uint64_t origin, int64_t offset)
{
	__int128_t t = (__int128_t)ns - origin - offset;

	if (t > RD_ENDS_TIME_MAX)
		return RD_ENDS_TIME_MAX;
	return t < -RD_ENDS_TIME_MAX ? -RD_ENDS_TIME_MAX : (int64_t)t;
}

struct rd_ends;

/*
 * Starts with the first moment of each capture and a first guess of B's clock minus A's, from
 * the first packet that both hold. Fails only if out of memory.
 */
int rd_ends_open(struct rd_ends **e, const uint64_t first_ns[RD_TAPS], int64_t offset_ns,
	struct rd_error *err);
/* Frames in the order of their file; both files go in side by side in time. Hot path. */
void rd_ends_frames(struct rd_ends *e, enum rd_tap end, enum rd_link link,
	const struct rd_frame *frames, unsigned int n);
/* A file has ended; what is sent after its last frame is not looked for any more. */
void rd_ends_file_end(struct rd_ends *e, enum rd_tap end);
/*
 * The result, after both files have ended. `reports` are what each capture says by itself, from
 * which it is known what was lost downstream of the receiver's capture. Owned by the caller.
 */
int rd_ends_report(struct rd_ends *e, const struct rd_report *const reports[RD_TAPS],
	struct rd_ends_report **report, struct rd_error *err);
void rd_ends_close(struct rd_ends *e);
void rd_ends_report_free(struct rd_ends_report *r);

/* By what a packet is known again; 0: it is none of InfiniBand transport. Never 0 otherwise. */
uint64_t rd_ends_identity(enum rd_link link, const struct rd_frame *frame);

/* As in docs/schema/analyze.json, "ends". NULL if out of memory. Owned by the caller. */
json_t *rd_ends_json(const struct rd_ends_report *r);
void rd_ends_text(const struct rd_ends_report *r, const struct rd_report_style *style, FILE *out);

#endif
