/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A parsed trigger. */
#pragma once

#include <rdmadump/error.h>
#include <rdmadump/packet.h>
#include <stdatomic.h>
#include <sys/queue.h>

enum trigger_source {
	TRIGGER_SIGNAL,
	TRIGGER_WIRE, /* a frame */
	TRIGGER_COUNTER,
	TRIGGER_EVENT, /* an event of a device */
	TRIGGER_KMSG,
	TRIGGER_FIFO,
	TRIGGER_LOG,   /* a line of an application's log */
	TRIGGER_STALL, /* a stalled conversation */
};

/* What a frame can show. */
enum wire_kind {
	WIRE_NAK,
	WIRE_RNR,
	WIRE_RETRANSMISSION,
	WIRE_GAVE_UP,
	WIRE_QP_ERROR,
	WIRE_CNP,
	WIRE_CM_REJECT,
	WIRE_ICRC_ERROR,
	WIRE_KINDS,
};

enum trigger_value { VALUE_NONE, VALUE_NAK, VALUE_EVENT, VALUE_TEXT };

/* One row for each name; all other names are counters. */
struct trigger_name {
	const char *name;
	enum trigger_source source;
	enum trigger_value value;
	enum wire_kind wire;
	const char *event; /* "port_error" */
	const char *help;
};

#define TRIGGER_QP_ANY	UINT32_MAX
#define TRIGGER_NAK_ANY 0xff

struct trigger {
	enum trigger_source source;
	const struct trigger_name *name; /* NULL: a counter, or the signal */
	char *text;			 /* as given */
	char *words;			 /* a copy that the following point into */
	const char *counter;		 /* its name, in full or the part after the last slash */
	const char
		*device;   /* the counter's device: "mlx5_1", "mlx5_1:2"; NULL: the recorded port */
	const char *value; /* pattern, path, name of an event */
	char *glob;	   /* of trigger_matches(); NULL: what programs print of failures */
	uint64_t most;	   /* fires above this; stall: ns */
	bool rate;	   /* per second */
	uint8_t nak;
	uint32_t qp;
	uint8_t host[16];
	unsigned int host_len; /* 0: any, 4, 16 */
	_Atomic uint64_t fired;
};

/* -1 with RD_CLASS_USAGE. trigger_free() in both cases. */
int trigger_parse(struct trigger *t, const char *text, struct rd_error *err);
void trigger_free(struct trigger *t);
/* Whether this text, a kernel message or a line, is one that it waits for. */
bool trigger_matches(const struct trigger *t, const char *text);
/* Describes what it waits for: "a NAK 'remote access error'". */
void trigger_describe(const struct trigger *t, char *out, size_t size);

/*
 * Detects stalled connections: a request has no response, and no packet of the conversation was
 * seen for longer than a trigger allows. One thread. Memory is constant: if the table is full,
 * conversations are evicted and counted.
 */

#define STALL_FLOWS 16384 /* a power of two */

struct stall_flow;
struct stall_answers;

struct stall {
	struct trigger **triggers; /* those that wait for a stall, at most 64 */
	unsigned int n;
	uint64_t least, most; /* shortest and longest of their times, ns */
	struct stall_flow *flows;
	struct stall_answers *answers;
	LIST_HEAD(stall_pair, stall_flow) * pairs;  /* the flows of each pair of hosts */
	TAILQ_HEAD(stall_wait, stall_flow) waiting; /* ordered by their last packet */
	uint64_t clock;				    /* all frames up to this timestamp were seen */
	uint64_t read_ns;      /* monotonic time when the newest frames were received */
	uint64_t tick_ns;      /* monotonic time of the last call of stall_tick() */
	uint64_t due;	       /* value of `clock` at which to check again */
	uint64_t forgotten;    /* flows evicted from the full table */
	struct stall_flow *at; /* the next flow to check; NULL: none */
};

/* Selects the stall triggers among all triggers. -1: out of memory. stall_fini() in both cases. */
int stall_init(struct stall *s, struct trigger *triggers, unsigned int n);
void stall_fini(struct stall *s);
/* A packet of any kind. Hot path. */
void stall_packet(struct stall *s, const struct rd_packet *p, const struct rd_frame *frame);
/* A batch of frames was received at this time of the monotonic clock. */
void stall_received(struct stall *s, uint64_t now_ns);
/*
 * Called at intervals by the thread that receives frames, which has polled since the last call.
 * Frames may wait in the source for late_ns.
 */
void stall_tick(struct stall *s, uint64_t now_ns, uint64_t late_ns);
/*
 * The next trigger that fires; call it until it returns NULL. *ns: the timestamp at which its time
 * expired; out: describes the conversation.
 */
struct trigger *stall_next(struct stall *s, uint64_t *ns, char *out, size_t size);

/*
 * Triggers that frames fire. One thread. Memory is constant: a flow for which there is no room
 * replaces one that was idle longer, which is counted.
 */

#define WIRE_FLOWS   65536 /* twice those that have room nearly always; a power of two */
#define WIRE_WAYS    8	   /* associativity of the table, as in a cache; a power of two */
#define WIRE_BUCKETS 10	   /* parts of a second, for rates */

/* Requests from one connected QP to another, as sent or received by a port. */
struct wire_flow {
	uint64_t key;	 /* a hash; 0: unused */
	uint64_t used;	 /* number of its last request */
	uint32_t newest; /* PSN */
	uint32_t last;	 /* PSN of the packet before */
	uint32_t first;	 /* first PSN of the last retransmission round */
	uint32_t rounds; /* retransmission rounds that started with it */
};

/* How often something happened within the last second. */
struct wire_rate {
	uint64_t bucket; /* number of the newest tenth of a second */
	uint64_t above;	 /* ... in which the limit was last exceeded; 0: never */
	uint32_t count[WIRE_BUCKETS];
};

struct wire {
	struct trigger **triggers; /* those of frames */
	unsigned int n;
	struct wire_rate *rates; /* one for each */
	uint32_t wanted;	 /* bit for each enum wire_kind */
	struct wire_flow *flows; /* NULL: no trigger needs them */
	uint64_t requests;	 /* so far */
	uint64_t forgotten;	 /* flows that were replaced */
	struct stall *stall;	 /* gets every packet; may be NULL */
};

/* Uses the frame triggers among all triggers. -1 if out of memory. wire_fini() in both cases. */
int wire_init(struct wire *w, struct trigger *triggers, unsigned int n);
void wire_fini(struct wire *w);
/* The trigger that this frame fires, the first one if there are several; NULL: none. Hot path. */
struct trigger *wire_frame(struct wire *w, enum rd_link link, const struct rd_frame *frame);
/* Describes a frame that fired a trigger: "nak: NAK 'remote access error' to QP 0x12, PSN 5". */
void wire_describe(const struct trigger *t, enum rd_link link, const struct rd_frame *frame,
	char *out, size_t size);
