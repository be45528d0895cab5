/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The model of a ConnectX HCA at the kernel's uverbs ABI: types and functions shared by its parts.
 *
 * preload.c replaces the C library's calls and passes open(), ioctl(), mmap() and close() of a
 * verbs device to uverbs.c, whose command tables call uverbs_*.c. These manage the objects; the
 * thread of device.c acts as the hardware: it reads doorbell records and work queue entries and
 * writes frames and completions. One mutex per device protects the objects.
 */
#pragma once

#include <dlfcn.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "frames.h"
#include "gateway.h"

#define EXPORT	      __attribute__((visibility("default")))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Of the next library in line: ThreadSanitizer's sees who waits for whom. */
#define REAL(name)                                                                                 \
	static __typeof__(&name) real;                                                             \
	if (!real)                                                                                 \
	*(void **)&real = dlsym(RTLD_NEXT, #name)

enum {
	MAX_DEVICES = 16,
	MAX_PORTS = 2,
	MAX_FAULTS = 32,
	GID_TABLE = 8,
	UVERBS_MAJOR = 231,
	UVERBS_MINOR = 192,
};

/* ---- configuration (config.c) ---- */

enum fault_kind {
	FAULT_VERB,
	FAULT_CQE,
	FAULT_PORT,
	FAULT_EVENT,
	FAULT_COUNTER,
	FAULT_ETHTOOL,
	FAULT_MAC,
	FAULT_IP,
	FAULT_KMSG
};

/* IBV_EVENT_QP_FATAL of a queue that works. */
#define EVENT_QP_LATE (IBV_EVENT_QP_FATAL | 1U << 16)

struct fault {
	enum fault_kind kind;
	char verb[32]; /* or the name of a driver statistic */
	char text[96]; /* of a kernel message */
	int error;
	uint64_t nth; /* 0: every call */
	uint8_t syndrome, vendor;
	bool no_qp; /* of a completion: it names no queue pair */
	bool up;
	uint32_t event;
	uint64_t value;	    /* that out_of_buffer or the statistic is set to */
	uint8_t address[6]; /* MAC or IPv4 */
	bool by_frame;
	uint64_t frame, after_ns;
	int device; /* -1: any */
};

/* What chooses the queue of a frame: its fields, its bytes, or nothing: the first one has all. */
enum rss_hash { RSS_TOEPLITZ, RSS_BY_FRAME, RSS_NONE };
/* What a frame does that is longer than its receive buffer. */
enum oversize {
	OVERSIZE_KILLS, /* the queue is in error, receives are flushed */
	OVERSIZE_HALTS, /* the queue is in error and flushes nothing */
	OVERSIZE_LIVES, /* only its entry is lost */
	OVERSIZE_OTHER, /* as KILLS, with the status of another error */
};

/* Each so many-th frame of a work queue vanishes, or has another byte, or each has four more. */
enum wq_conf { WQ_WORKS, WQ_LOSSY, WQ_CHANGES, WQ_LONGER };

struct latency {
	char verb[24]; /* "": every command */
	uint64_t ns;
};

struct port_conf {
	bool ib, active;
	char netdev[16];
	uint8_t mac[6];
	uint8_t ip[4];
	uint32_t mtu, gbps, lid, sm_lid, ifindex;
};

/* Capabilities that the device's firmware reports (devx.c). */
enum cap {
	CAP_SHARED_TIR = 1,
	CAP_SNIFFER_RX = 2,
	CAP_SNIFFER_TX = 4,
	CAP_IB_PORT_SNIFFER = 8,
	CAP_NO_FLOW_TABLE = 16,
};

/* The first frame is due so long after the flow of a program that polls. */
#define START_DELAY_NS	  20000000u
#define START_DELAY_UNSET UINT64_MAX
/* Even if a program with completion channels polls without end */
#define BEGINS_AFTER_NS 2000000000u

#define GATHER_US_MAX 4095 /* 12 bits of the CQ context */

/* How the device handles ibv_modify_cq(): refuses it, or accepts it without effect. */
enum moderation { MODERATION_WORKS, MODERATION_NONE, MODERATION_IGNORED };

struct hca_conf {
	char name[32], pci[16], fw[32], board[20], gen[256];
	bool devx;
	char fw_refuse[160]; /* opcodes, hex, joined by '+'; "all" */
	bool fw_pattern, fw_short;
	uint32_t caps;
	uint32_t minor, nports, device_id;
	uint64_t guid;
	bool sniffer, ib_sniffer;
	bool no_rss, no_rss_sniffer;
	enum wq_conf work_queues;
	enum moderation moderation;
	enum oversize oversize;
	bool compresses;    /* completions, without being asked */
	uint32_t wqes;	    /* of a receive queue at most */
	uint32_t table;	    /* work queues of a table at most */
	uint32_t sniffers;  /* flows of a port at most */
	uint64_t linger_ns; /* how long frames go on after destroy_flow */
	bool netlink;	    /* RDMA netlink lists its queue pairs */
	uint64_t more_qps;  /* that RDMA netlink counts; its list has only the answers */
	enum rss_hash rss_hash;
	uint64_t lost_events;  /* each so many-th completion event; 0: none */
	uint64_t drop_every;   /* of the drops, the counter counts each so many-th */
	bool deaf;	       /* a reset queue pair gets no frames of the flows that it has */
	char gateway[128];     /* how the command gateway behaves */
	char drop_counter[32]; /* that counts drops: out_of_buffer, a driver statistic or none */
	struct port_conf port[MAX_PORTS];
};

struct model_conf {
	char tree[512], dev_dir[512], stats[512], pcap[512], gen[256];
	bool drop, paced, flowing;
	struct latency latency[16];
	uint32_t nlatencies;
	uint64_t rate, burst, burst_pause_ns, start_delay_ns;
	bool burst_armed; /* a burst waits for a consumer that sleeps, and for no time */
	uint64_t lifespan_ns, slow_ns; /* of hw_counters; lifespan 0: never cached */
	char slow_while[512];	       /* a refresh takes as long as this file exists */
	uint32_t drain_rounds;
	bool sigint; /* once all was delivered and polled */
	uint32_t ndevices, nfaults;
	struct hca_conf device[MAX_DEVICES];
	struct fault fault[MAX_FAULTS];
};

/*
 * A key of the configuration, and what becomes of its value: read() has it, or it is the place in a
 * list of words, a number or text of a member. A stride: a member of several structures, whose
 * values are joined by '+'.
 */
struct conf_key {
	const char *name;
	size_t at, size;
	const char *words; /* joined by '|' */
	uint64_t scale;	   /* of a number */
	int base;
	size_t stride;
	void (*read)(void *at, char *value);
};

#define KEY_AT(type, member) .at = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define KEY_TEXT(key, type, member, ...)                                                           \
	{                                                                                          \
		.name = key, KEY_AT(type, member), __VA_ARGS__                                     \
	}
#define KEY_READ(key, type, member, function, ...)                                                 \
	{                                                                                          \
		.name = key, KEY_AT(type, member), .read = function, __VA_ARGS__                   \
	}
#define KEY_WORD(key, type, member, list, ...)                                                     \
	{                                                                                          \
		.name = key, KEY_AT(type, member), .words = list, __VA_ARGS__                      \
	}
#define KEY_NUMBER(key, type, member, times, ...)                                                  \
	{                                                                                          \
		.name = key, KEY_AT(type, member), .scale = times, __VA_ARGS__                     \
	}

/* The place of a word in a list "a|b|c"; 0 if it is not there */
uint64_t conf_word(const char *words, const char *value);
/* KEY=VALUE each; a word without a value is its own. Keys end with a row without a name. */
void conf_list(const struct conf_key *keys, void *to, char *list, const char *separator);

/* Reads the file that $SOFTHCA_CONFIG names, once; NULL: the process is not under the launcher. */
const struct model_conf *conf_get(void);

/* ---- objects (uverbs.c) ---- */

enum obj_type {
	OBJ_NONE,
	OBJ_CHANNEL,
	OBJ_PD,
	OBJ_MR,
	OBJ_AH,
	OBJ_CQ,
	OBJ_WQ, /* a struct qp of which there is only the receive queue */
	OBJ_TABLE,
	OBJ_QP,
	OBJ_FLOW,
	OBJ_TYPES
};

struct ctx;

/* The first member of every object. users counts the objects that keep it from being destroyed. */
struct obj {
	enum obj_type type;
	uint32_t handle, users;
	uint32_t slot; /* its record in shared.c; 0: none */
	struct ctx *ctx;
};

struct pd {
	struct obj obj;
};

struct mr {
	struct obj obj;
	struct pd *pd;
	uint32_t lkey, access;
	uint64_t start, length, iova;
};

struct ah {
	struct obj obj;
	struct pd *pd;
};

/* Completion channels and the asynchronous queue: one record per read(), with a real poll(). */
struct event_fd {
	struct obj obj;
	int user_fd, model_fd;
	bool closed;
};

struct cq {
	struct obj obj;
	uint64_t user_handle;
	uint8_t *buf;
	volatile uint32_t *db;
	uint32_t entries, cqe_size, cqn;
	uint32_t producer, consumer; /* consumer as last read */
	struct event_fd *channel;
	uint32_t armed_fired;
	uint64_t armed_events; /* with those that were lost */
	uint32_t comp_sent, async_sent;
	bool dead, hold;
	/* Moderation: an event only after so many completions, or so long after the first one. */
	uint32_t gather_count, gather_from; /* 0: none; the producer at the last event */
	uint64_t gather_ns, gather_since;   /* gather_since 0: nothing has completed since */
	bool real_time;			    /* timestamps are seconds and nanoseconds, not ticks */
	uint8_t *held_at, held_own;
	bool compressing; /* the first frame of a pair is waiting */
	uint32_t first_byte_cnt;
	LIST_ENTRY(cq) link;
};

struct flow;
struct mcast;
struct rss;

/* A reliable connection. Of a UD queue pair only psn is used. */
struct rc_state {
	/* The requester's message, whose first packet has the PSN; packets 0: none is under way. */
	uint32_t psn, packets, len;
	uint32_t sent, ever_sent, acked; /* packets of it, in this try, in any, acknowledged */
	uint64_t va;			 /* the remote address */
	uint32_t rkey;
	uint8_t tries, rnr_tries;
	bool rnr_wait;
	uint64_t wait_ns;  /* when the answer is overdue, or the wait for a receive ends */
	uint64_t requests; /* packets of all messages, without repetitions */
	/* The responder. */
	uint32_t expected, msn;
	bool nak_sent;
	uint64_t in_va;
	uint32_t in_rkey, in_at; /* in_at: bytes of the message so far */
};

struct qp {
	struct obj obj;
	uint64_t user_handle;
	struct pd *pd;
	struct cq *send_cq, *recv_cq;
	uint32_t qpn, uidx, type, state, port;
	uint8_t *rq;
	volatile uint32_t *db;
	uint32_t rq_count, rq_shift;
	uint8_t *sq;
	uint32_t sq_count;
	uint16_t sq_head;  /* in units of 64 bytes */
	uint16_t rq_head;  /* WQEs consumed */
	uint16_t rq_ready; /* posted and known to be */
	bool is_wq;
	uint64_t wq_frames; /* that arrived, where some vanish or change */
	bool halted;	    /* in error, and flushes nothing */
	bool deaf;	    /* was reset, and gets nothing of its flows */
	struct rss *rss; /* frames go to the work queues of its table; this one has no receives */
	struct mr *mr;
	uint64_t mr_generation;
	uint32_t async_sent;
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline;
	uint8_t sig_all;
	struct {
		uint32_t qkey, rq_psn, sq_psn, dest_qpn, access;
		uint16_t pkey_index;
		uint8_t path_mtu, timeout, retry, rnr_retry, min_rnr, rd_atomic, dest_rd_atomic;
		uint8_t dest[32];
	} attr;
	struct rc_state rc;
	LIST_HEAD(, flow) flows;
	LIST_HEAD(, mcast) mcasts;
	LIST_ENTRY(qp) link;
};

struct flow {
	struct obj obj;
	struct qp *qp;
	uint32_t port;
	uint64_t until_ns; /* destroyed, and effective until then; 0: it exists */
	LIST_ENTRY(flow) link;
};

struct hca;
struct mlx5_wqe_data_seg;

struct ctx {
	struct hca *hca;
	int fd;
	bool open; /* GET_CONTEXT has been done */
	struct event_fd *async;
	struct obj **obj;
	uint32_t nobj;
	LIST_HEAD(, event_fd) channels;
	LIST_ENTRY(ctx) link;
};

struct cmd;

/* ---- the device (device.c) ---- */

enum { MAX_DESTS = 16 };

/* What the model writes to in the tree. */
enum port_file {
	FILE_OUT_OF_BUFFER,
	FILE_WRITE_REQUESTS,
	FILE_RCV_PACKETS,
	FILE_RCV_DATA,
	FILE_UNICAST_RCV,
	FILE_STATE,
	FILE_PHYS_STATE,
	FILE_OPERSTATE,
	FILE_CARRIER,
	FILE_MAC,
	FILE_GID_MAC, /* RoCE v1, v2 */
	FILE_GID_MAC_V2,
	FILE_GID_IP,
	FILE_GID_IP_V2,
	PORT_FILES
};

struct port {
	struct hca *hca;
	const struct port_conf *conf;
	uint32_t num;
	bool up;
	struct qp *dest[MAX_DESTS];
	uint32_t ndests;
	bool capturing;

	struct frames *frames;
	bool tried, held, ended, end_done;
	struct frame frame;
	uint64_t flow_ns, start_ns, due_ns, due_frac, burst_left, first_ts;
	bool waited; /* for a posted receive: not a pause of the schedule */
	struct {
		uint16_t posted, ring;
		uint32_t frames;
		uint64_t start_ns, changed_ns;
	} drain;

	uint64_t before_flow; /* frames that were due before the newest flow */
	uint64_t offered, offered_bytes, delivered, delivered_bytes, copies, out_of_buffer, errored;
	uint64_t counted_offered, counted_bytes, counted_oob;
	/* As wire_shape() changed them: the frame that is held, and one that is sent. */
	struct shaped {
		uint8_t *data;
		uint32_t capacity;
	} shaped_held, shaped_sent;
	int file[PORT_FILES];
};

struct drain_round {
	uint32_t frames;
	uint64_t ns;
};

struct hca {
	const struct hca_conf *conf;
	pthread_mutex_t lock;
	atomic_int waiters;
	pthread_t thread;
	atomic_bool stop;
	bool begun; /* the program has waited for the first frame */
	bool running, fatal,
		gone; /* gone: the consumer was refused a command after a fatal event */
	uint64_t counters_ns;
	int index;
	LIST_HEAD(, ctx) contexts;
	LIST_HEAD(, cq) cqs;
	LIST_HEAD(, qp) qps;
	struct mr **keys; /* by lkey >> 8 */
	uint32_t nkeys;
	uint64_t key_generation;
	uint32_t next_qpn, next_cqn;
	struct port port[MAX_PORTS];
	uint64_t opened_ns, fault_ns;
	struct {
		int fd; /* -1: not shared */
		off_t at;
	} wire;
	int shared_fd; /* -1: nothing is shared */
	struct {
		uint64_t polled_ns;
		struct gw_rule rule[GW_PORTS][2]; /* as last read */
	} gateway;
	bool fault_done[MAX_FAULTS];
	uint64_t fault_calls[MAX_FAULTS];

	struct {
		uint64_t errors, flushed, injected_verbs, injected_cqes, injected_events;
		uint64_t retransmits, overruns, pauses, pause_ns, waits, order_violations;
		uint64_t leaked[OBJ_TYPES], created[OBJ_TYPES];
		uint64_t opens, thread_ns, completion_events, lost_events;
		struct drain_round *round;
		uint32_t rounds;
	} stat;
	char source_error[256];
};

/* What a port did in its turn. */
enum turn { TURN_IDLE, TURN_WAITS, TURN_BUSY };

struct hca *hca_get(uint32_t index);
void hca_lock(struct hca *h);
void hca_unlock(struct hca *h);
void hca_start(struct hca *h);
void hca_stop(struct hca *h);
uint64_t hca_thread_ns(const struct hca *h);
void hca_fatal(struct hca *h);
void qp_to_error(struct hca *h, struct qp *qp);
/* What is to be done at this time. *wake: when there is more to do at the latest. */
enum turn hca_step(struct hca *h, uint64_t now, uint64_t *wake);
/* The program did something, or begins to wait: the model's threads look at once. */
void hca_poke(void);
uint64_t now_ns(void);
bool qp_receiving(const struct qp *qp);
uint16_t qp_posted(struct qp *qp);
/* The receive queue that this frame of a queue pair goes to: its own, or one of its table. */
struct qp *qp_queue(struct qp *qp, const struct frame *f);
bool frame_hold(struct port *p);
void frame_spend(struct hca *h, struct port *p, const struct fault *fault);
/* To every queue pair whose flows want it. */
void frame_distribute(
	struct hca *h, struct port *p, const struct frame *f, const struct fault *fault);
/* ---- steering (steering.c) ---- */

/* Called with the lock held whenever flows or queue pair states change. */
void hca_retarget(struct hca *h);
bool qp_wants(const struct port *p, const struct qp *qp, const struct frame *f);
void flow_destroy(struct hca *h, struct flow *f);
/* Removes what was destroyed and is no longer effective; true: there was any. */
bool flows_remove(struct qp *qp, uint64_t now);
void flows_expire(struct hca *h, uint64_t now);
/* Sniffer flows that exist on a port. */
uint32_t sniffers_count(const struct hca *h, uint32_t port);

/* True: there is more to send at once (send.c). */
bool qp_send(struct hca *h, struct qp *qp);
void mcasts_free(struct qp *qp);				     /* ud.c */
enum turn drain_turn(struct hca *h, struct port *p, uint64_t *wake); /* drain.c */

/* ---- completions and events (cqe.c) ---- */

bool cq_has_room(struct cq *cq);
void cqe_write(struct hca *h, struct cq *cq, const struct qp *qp, uint32_t len, uint64_t stamp);
struct rq_error {
	uint8_t syndrome, vendor;
	uint32_t byte_cnt; /* of the frame, as a completion has it; 0: no frame */
};
void cqe_write_error(
	struct hca *h, struct cq *cq, const struct qp *qp, uint16_t wqe, const struct rq_error *e);
/* Of a send queue entry; syndrome 0 is success. */
void cqe_write_send(struct hca *h, const struct qp *qp, uint16_t wqe, uint32_t opcode,
	uint32_t byte_cnt, uint8_t syndrome);
void cq_overrun(struct hca *h, struct cq *cq);
void cq_check_arm(struct cq *cq);
void event_fd_open(struct event_fd *e);
/* Removes unread records; returns the number of records of this element. */
uint32_t event_fd_withdraw(struct event_fd *e, uint64_t element, size_t record);
void event_fd_register(struct event_fd *e);
struct event_fd *channel_from_fd(struct ctx *ctx, int fd);
void channel_release(struct event_fd *e);
bool cq_polled(struct cq *cq);
/* All completions were polled, and the next one sends an event. */
bool cq_waited_for(struct cq *cq);
/* The next entry's owner bit is not written before cq_release(). */
void cq_hold(struct cq *cq);
/* A completion of a queue pair that does not exist: libraries return an error for it. */
void cqe_write_stray(struct cq *cq);
void cq_release(struct cq *cq);
void async_port_event(struct hca *h, uint32_t type, uint32_t port);
void async_cq_event(struct cq *cq, uint32_t type);
void async_qp_event(struct qp *qp, uint32_t type);

/* ---- the clock (clock.c) ---- */

struct clock_conf {
	bool on, real_time, no_core, refuse;
	uint64_t khz, start, step_after_ns;
	uint32_t bits;
	double drift; /* 1e-6: a millionth too fast */
	int64_t offset_ns, step_ns;
	char truth[512];
	uint64_t wrong_every, wrong_at, zero_every; /* timestamps, counted from 1; 0: none */
	int64_t wrong_ns;			    /* by how much a wrong one is off */
	uint64_t tx_lag_ns;			    /* how much older those of sent frames are */
	char back[512];	 /* once this file exists the wall clock is a day back */
	char ahead[512]; /* the same, a day ahead */
};

struct mlx5_ib_alloc_ucontext_resp;

void clock_conf_read(void *at, char *spec);
/* NULL: the device has no clock. */
const struct clock_conf *clock_conf(void);
void clock_begin(struct hca *h);
/* True: there is a clock. */
bool clock_housekeeping(struct hca *h, uint64_t now);
void clock_flush(struct hca *h);
/* The timestamp of a completion that is written now. */
uint64_t clock_stamp(const struct cq *cq, const struct frame *f);
/* Updates the clock's page, which the program may read next. now: monotonic. */
void clock_look(uint64_t now);
void clock_context(const struct hca *h, struct mlx5_ib_alloc_ucontext_resp *resp);
uint64_t clock_mask(void);
void *clock_mmap(const struct hca *h, size_t len, uint32_t command);
/* Of a new CQ; 0 or an errno. */
int clock_cq(struct cq *cq, uint32_t driver_flags);

/* ---- virtual time (time.c) ---- */

bool time_is_virtual(void);
/* Virtual time in ns, of the monotonic clock; it does not pass by looking. */
uint64_t time_look(void);
/* False: the clock is not virtual. */
bool time_get(clockid_t id, struct timespec *t);
/* A wait for that many ns, as nanosleep() does it. */
int time_sleep(const struct timespec *wanted, struct timespec *left);
void time_closing(int fd);
/*
 * +1, -1: the calling thread holds a lock of the model from here on, or no more. What it calls may
 * ask for the time, as the allocator of a sanitizer does, and must not take the model's turn.
 */
void time_inside(int depth);
/* A new process; the calling thread. */
void time_enter(pid_t pid);
void time_enter_own(void);
/* Whether reads of this descriptor wait for the model. */
bool event_fd_waits(int fd);

/* ---- work queues and their tables (wq.c), receive side scaling (rss.c) ---- */

/* Whether this frame vanishes, and nothing counts it. */
bool wq_loses(const struct hca *h, struct qp *rq);
/*
 * How a work queue gets the frame, where that is not as other queues do: `to` has room for
 * WQ_FRAME_MAX bytes, `other` for what is returned then.
 */
enum { WQ_FRAME_MAX = 16384 };
const struct frame *wq_shape(const struct hca *h, struct qp *rq, const struct frame *f,
	struct frame *other, uint8_t *to);

struct table {
	struct obj obj;
	uint32_t log_size;
	struct qp *wq[];
};

/* rss.c: what the driver's part of CREATE_QP asks for, over this table. */
int rss_new(struct rss **rss, struct table *table, struct cmd *cmd);
void rss_free(struct rss *rss);
struct table *rss_table(const struct rss *rss);
struct qp *rss_choose(const struct rss *rss, const struct frame *f);

/* ---- commands that take time or are refused (quirks.c) ---- */

void latencies_read(void *at, char *spec);
/* Half of what the command takes: before its effect, and once more after it. No lock is held. */
void latency_half(const char *verb);
/* --flowing: create_flow waits until frames were due. */
void flowing_wait(struct hca *h, const char *verb);

/* ---- the wire (wire.c), of which transport.h has the rest ---- */

void loopback_read(void *at, char *spec);
void deliver_read(void *at, char *spec);
void drop_tx_read(void *at, char *v);
void shared_wire_read(void *at, char *v);
void wire_open(struct hca *h);
/* What other processes sent; true: there was any. */
bool wire_receive(struct hca *h);
/* Changes a frame to what queues receive of it. */
void wire_shape(struct shaped *to, struct frame *f);
void wire_trailer(struct port *p, struct shaped *to, struct frame *f);

/* ---- faults, port state and counters (faults.c) ---- */

int fault_verb(struct hca *h, const char *verb);
/* At this frame of this port: a completion error to write instead of delivering, or NULL. */
const struct fault *fault_frame(struct hca *h, struct port *p, uint64_t frame);
/* True if no fault by time is pending. */
bool fault_timers(struct hca *h);
/* Replaces what a file of the tree says; at most 64 bytes. */
void file_set(int fd, const char *text);
void port_set_state(struct hca *h, struct port *p, bool up);
void counters_flush(struct hca *h);
/* Whether that would change any. */
bool counters_differ(const struct hca *h);
void port_files_open(struct hca *h);

/* ---- counters (counters.c) ---- */

/* A hardware counter as the cache has it, which may sleep; -1: the file itself is to be opened. */
int counters_open(const char *path);
/* Brings the files of all devices up to date (preload.c). */
void counters_refresh(void);
int ethtool_ioctl(const char *netdev, void *command);
void ethtool_set(const char *netdev, const char *name, uint64_t value);
void ethtool_add(const char *netdev, const char *name, uint64_t value);

/* ---- /dev/kmsg (kmsg.c) ---- */

/* False: the machine's own is to be opened. */
bool kmsg_open(int flags, int *fd);
/* False: it is another descriptor. */
bool kmsg_seek(int fd, int from);
void kmsg_write(const char *text);
void kmsg_closing(int fd);

/* ---- commands (uverbs*.c) ---- */

struct cmd {
	const void *req; /* what was sent, and zeros behind it, as between revisions of the ABI */
	void *resp;	 /* zeros, and sent if the command succeeds */
	const uint8_t *in, *drv_in;
	uint8_t *out, *drv_out;
	size_t in_len, drv_in_len, out_len, drv_out_len;
};

typedef int (*cmd_fn)(struct ctx *ctx, struct cmd *cmd);

/* The driver's part, which is as long as the command says. */
void cmd_drv_in(const struct cmd *cmd, void *req, size_t len);
void cmd_drv_out(const struct cmd *cmd, const void *resp, size_t len);

void *obj_new(struct ctx *ctx, enum obj_type type, size_t size);
void *obj_get(struct ctx *ctx, enum obj_type type, uint32_t handle);
void obj_free(struct obj *obj);
/* EBUSY, counted, while others use it. */
int obj_busy(struct obj *obj);
bool has_capability(int cap);
bool may_pin(void);

#define CMD(name) int cmd_##name(struct ctx *ctx, struct cmd *cmd)
CMD(get_context);
CMD(query_device);
CMD(query_device_ex);
CMD(query_port);
CMD(alloc_pd);
CMD(dealloc_pd);
CMD(reg_mr);
CMD(dereg_mr);
CMD(create_ah);
CMD(destroy_ah);
CMD(create_comp_channel);
CMD(create_cq);
CMD(modify_cq);
CMD(destroy_cq);
CMD(create_qp);
CMD(create_qp_ex);
CMD(create_wq);
CMD(modify_wq);
CMD(destroy_wq);
CMD(create_table);
CMD(destroy_table);
CMD(query_qp);
CMD(modify_qp);
CMD(destroy_qp);
CMD(create_flow);
CMD(destroy_flow);
CMD(attach_mcast);
CMD(detach_mcast);

struct ib_uverbs_gid_entry;
/* False for an unused index. */
bool gid_entry_get(
	const struct hca *h, uint32_t port, uint32_t index, struct ib_uverbs_gid_entry *e);

/* ---- the command gateway (gateway_file.c) ---- */

/* False: it is not a configuration space. Else *rc as pread() and pwrite() return it. */
bool gateway_pread(int fd, void *to, size_t n, off_t at, ssize_t *rc);
/* Whether a pause of this process takes no time. */
bool gateway_hurry(void);
bool gateway_pwrite(int fd, const void *from, size_t n, off_t at, ssize_t *rc);
/* Reads which rules are attached, now and then. */
void gateway_poll(struct hca *h, uint64_t now);
/* The same at once. */
void gateway_follow(struct hca *h);
/* Whether any frame of the port, or this one, is copied to the queue pair. */
bool gateway_wants(const struct port *p, const struct qp *qp);
bool gateway_copies(const struct port *p, const struct qp *qp, const struct frame *f);
void gateway_qp_gone(struct hca *h, uint32_t qpn);

/* ---- queue pairs of all processes (shared.c) ---- */

struct shared_qp {
	int32_t pid; /* 0: an unused record */
	uint32_t number, type;
};

void shared_open(struct hca *h);
/* The caller holds the device's mutex. Changes the number if another process has one of it. */
void shared_add(struct hca *h, struct obj *obj, struct shared_qp *o);
void shared_remove(struct obj *obj);
/* The next one that exists, of any process; *slot is 0 at first. */
bool shared_next(struct hca *h, uint32_t *slot, struct shared_qp *o);

/* ---- firmware commands (devx.c) ---- */

int devx_general(const struct hca_conf *conf, const uint8_t *in, size_t in_len, uint8_t *out,
	size_t out_len);
int devx_query_rq(const struct hca_conf *conf, const struct qp *wq, const uint8_t *in,
	size_t in_len, uint8_t *out, size_t out_len);

/* ---- files and descriptors (uverbs.c), for preload.c ---- */

int uverbs_open(uint32_t index, int flags);
/* The context behind a descriptor of this process, or NULL. */
struct ctx *uverbs_from_fd(int fd);
void uverbs_closing(int fd);
int uverbs_ioctl(struct ctx *ctx, unsigned long request, void *arg);
void *uverbs_mmap(struct ctx *ctx, size_t len, int prot, off_t offset);

/* ---- RDMA netlink (nldev.c), for preload.c ---- */

/* False: no device has it. Else *fd, or -1 with errno. */
bool nldev_socket(int *fd, int type);
void nldev_closing(int fd);
/* False: it is none of its sockets. Else *rc as sendmsg() and recvmsg() return it. */
bool nldev_send(int fd, const struct msghdr *m, ssize_t *rc);
bool nldev_receive(int fd, struct msghdr *m, int flags, ssize_t *rc);

/* ---- statistics (stats.c) ---- */

/* How often this process has listed queue pairs. */
uint64_t nldev_qp_lists(void);
uint64_t nldev_qp_answers(void);
void stats_open(void);
void stats_write(void);

/* The C library below preload.c, for parts that must not call the model. */
int real_open(const char *path, int flags, mode_t mode);
int real_close(int fd);
