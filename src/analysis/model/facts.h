/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Facts of a capture file: queue pairs, addresses and counters of devices. */
#pragma once

#include "state.h"

/* --- counters of a device, derived from the packets (quantity.c) ------------------------------ */

struct facts_port;

enum whose {
	SENT,	  /* frames of the device */
	RECEIVED, /* frames of its peers */
	OWN,	  /* its requests */
	PEERS	  /* requests that it responds to */
};

struct quantity {
	const char *counter, *meaning;
	enum whose whose;
	uint64_t incidents; /* KIND() of those that are summed */
	bool exact;	    /* otherwise a difference of up to a fiftieth is ignored */
};

#define KIND(name) (UINT64_C(1) << RD_INC_##name)

#define HW "hw_counters/"

#define QUANTITIES 16
extern const struct quantity quantities[QUANTITIES]; /* rows without a counter end it */

/*
 * Where the ends of a flow are, seen from a port. TWICE: the other end is a port that was captured,
 * too, so the file may have each frame twice.
 */
enum { FROM_PORT = 1, TO_PORT = 2, TO_GROUP = 4, TWICE = 8 };

/*
 * For each flow, a sum of these. NULL if out of memory or there are no flows. Free it with free();
 * make it again after flows were added.
 */
uint8_t *quantity_places(const struct rd_analysis *a, const struct facts_port *p);
/* The count from all packets so far, of flows with all these bits; not after flow_finish(). */
uint64_t quantity_shown(
	const struct rd_analysis *a, const uint8_t *places, uint8_t bits, const struct quantity *q);

/* --- what files say of devices ---------------------------------------------------------------- */

#define FACTS_PORTS	16
#define FACTS_ADDRESSES 256 /* of a port; more are left out */
#define FACTS_SPANS	16

/* Counters at the beginning and at the end of one capture: facts with an object of numbers. */
struct facts_span {
	json_t *first, *last; /* last NULL: the capture has no end */
	bool was_reset;	      /* the counters of hw_counters/ were, in between */
};

/* What decides on the priority of a packet at a port. */
struct facts_dcb {
	bool known;	/* PFC is: the others may be none */
	uint8_t pfc;	/* mask of the priorities that have it */
	bool dscp, pcp; /* which of them is trusted */
	bool pcp_first; /* of both: that of the VLAN tag, if there is one */
	int8_t of[64];	/* the priority of a DSCP; -1: none is configured */
};

/* A capture's collection of owners. */
struct owner_watch {
	uint64_t from_ns, to_ns;
	uint64_t error_ns;    /* maximum offset between its clock and that of the frames */
	uint64_t interval_ns; /* the longest time between two samples */
	bool events;	      /* everything that processes did in between was reported */
};

struct facts_port {
	char *device;
	unsigned int port;
	char guid[20]; /* node GUID of the device, "": unknown */
	size_t file;   /* without a GUID: it is known in this file only */
	char gids[FACTS_ADDRESSES][RD_ADDRESS_LEN]; /* in the notation of reports; and its LID */
	unsigned int n_gids;
	char driver[32];	   /* "": unknown */
	char netdev[16];	   /* its first one; "": unknown */
	char boot[RD_BOOT_ID_LEN]; /* of its machine; "": unknown */
	uint64_t speed;		   /* bit/s, 0: unknown */
	bool owners_listed;	   /* repeatedly, while the capture was running */
	struct owner_watch watches[FACTS_SPANS];
	unsigned int n_watches;
	size_t n_files,
		last_file; /* how many files have its facts, and the number of the last one */
	struct facts_span spans[FACTS_SPANS];
	unsigned int n_spans;
	/*
	 * The packet counts at the last reading, and those outside of all spans: only the
	 * difference can be compared with the counters.
	 */
	uint64_t shown[QUANTITIES], outside[QUANTITIES];
	/* Frames before the one and after the other are outside; 0: that is settled. */
	uint64_t starts_ns, ends_ns;
	struct facts_dcb dcb; /* of the port's first netdev that has it */
};

/* A QP and the nth process that had one of its number. */
struct qp_owner {
	uint32_t qp, port;	    /* number of its facts_port */
	bool more;		    /* of the first one: there was no room for others */
	uint64_t first_ns, last_ns; /* it had the QP at both times and in between; 0: unknown */
	struct rd_owner who;
};

void owner_list_init(struct bounded *owners);
void owner_list_free(struct bounded *owners);
/*
 * Of a QP on a port, from `first_ns` to `last_ns` (0: it is unknown when); takes a reference to the
 * details. False: no room.
 */
bool owner_add(struct bounded *o, uint32_t qp, uint32_t port, const struct rd_owner *who,
	uint64_t first_ns, uint64_t last_ns);
/* NULL: no process, or not so many. */
struct qp_owner *owner_at(const struct bounded *o, uint32_t qp, uint32_t port, uint32_t nth);
/*
 * The process named in an object of facts, without unknown members; false: it names no process. The
 * caller owns who->details.
 */
bool owner_read(const json_t *facts, struct rd_owner *who);
/* Reads from an object of facts when the owners of a port were collected. */
void owner_watched(struct facts *f, struct facts_port *p, const json_t *facts);
/*
 * The owner of a conversation's QP while its frames were captured, the first one at `first_ns`, the
 * last one at `last_ns`; side 0 is a. NULL: unknown, *state says why, or out of memory.
 * owner_free().
 */
struct rd_owner *owner_of(const struct rd_analysis *a, const struct rd_conversation *c,
	unsigned int side, uint64_t first_ns, uint64_t last_ns, enum rd_owner_state *state);
void owner_free(struct rd_owner *owner);

struct facts {
	struct bounded owners; /* struct qp_owner, by QP, port and nth */
	struct bounded peers;  /* remote QPs, by local QP and nth */
	uint64_t left_out;     /* facts over the limits */
	struct facts_port ports[FACTS_PORTS];
	unsigned int n_ports;
	struct facts_port *current; /* the last one that a device was stored for in this file */
	size_t current_file;
};

/* Whether an address in the notation of reports is of this port. */
bool facts_is_local(const struct facts_port *p, const char *address);
/* The port with this address; NULL: the file has none. */
const struct facts_port *facts_port_at(const struct rd_analysis *a, const char *address);
/* Nanoseconds since the Unix epoch, 0: unknown. */
uint64_t reading_ns(const json_t *reading);
/*
 * Growth of a counter, in all captures that have its value at the beginning and at the end. False
 * if the device has no such counter, or no capture has both readings. `exact`: not known if other
 * counters of its folder show a reset, after which this one may have passed its former value again:
 * else growth is then a lower bound only.
 */
bool facts_growth(
	const struct facts_port *p, const char *counter, bool exact, struct rd_growth *grown);
/* Whether counters of this span fell that cannot wrap. */
bool facts_show_reset(const struct facts_port *p, const struct facts_span *s);
/* How long these captures were. */
double facts_seconds(const struct facts_port *p);
/*
 * How many requests of the device with this address failed after too many retries, or after too
 * many RNR NAKs. False: unknown, or no capture had both readings around this time.
 */
bool facts_gave_up(const struct rd_analysis *a, const char *address, bool rnr, uint64_t from_ns,
	uint64_t to_ns, struct rd_growth *grown);

/* The nth known peer QP according to the QPs stored for a device; RD_QP_UNKNOWN: no more. */
uint32_t facts_peer(const struct rd_analysis *a, uint32_t qp, unsigned int nth);
void analysis_facts_free(struct facts *facts);
/* The next frame is at time `ns`: spans between readings of counters may start or end before it. */
void facts_pass(struct rd_analysis *a, uint64_t ns);
/* No frames of the current file follow. */
void facts_settle(struct rd_analysis *a);
