/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The device's own thread: takes frames from the source when they are due, reads the receive queue
 * as the hardware would (doorbell record, work queue entry, memory key) and completes.
 */
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "transport.h"

enum {
	BATCH = 256,
	YIELDS = 40,
	SHORT_SLEEP_NS = 20000,
	LOOK_NS = 500000,
	LATE_NS = 2000000,
	VIRTUAL_FRAME_NS = 500,
	COUNTERS_NS = 10000000,
};

uint64_t now_ns(void)
{
	struct timespec t;

	if (time_is_virtual())
		return time_look();
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The thread yields to others that wait; otherwise it would lock the mutex again at once. */
void hca_lock(struct hca *h)
{
	time_inside(1);
	atomic_fetch_add(&h->waiters, 1);
	pthread_mutex_lock(&h->lock);
	atomic_fetch_sub(&h->waiters, 1);
}

void hca_unlock(struct hca *h)
{
	pthread_mutex_unlock(&h->lock);
	time_inside(-1);
	hca_poke();
}

bool qp_receiving(const struct qp *qp)
{
	return qp->state >= IBV_QPS_RTR && qp->state <= IBV_QPS_RTS;
}

uint16_t qp_posted(struct qp *qp)
{
	uint32_t db = __atomic_load_n(&qp->db[MLX5_RCV_DBR], __ATOMIC_ACQUIRE);
	uint16_t n = (uint16_t)(be32toh(db) - qp->rq_head);

	qp->rq_ready = n <= qp->rq_count ? n : 0;
	return qp->rq_ready;
}

/* The work queue entry at an index of the receive queue. */
static struct mlx5_wqe_data_seg *qp_wqe(const struct qp *qp, uint16_t index)
{
	size_t at = (size_t)(index & (qp->rq_count - 1)) << qp->rq_shift;

	return (struct mlx5_wqe_data_seg *)(void *)(qp->rq + at);
}

static struct mr *mr_find(struct hca *h, struct qp *qp, uint32_t lkey)
{
	struct mr *mr;

	/* The generation first: an MR of an older one may be freed. */
	if (qp->mr && qp->mr_generation == h->key_generation && qp->mr->lkey == lkey)
		return qp->mr;
	mr = lkey >> 8 < h->nkeys && h->keys ? h->keys[lkey >> 8] : NULL;
	if (!mr || mr->lkey != lkey || mr->pd != qp->pd || !(mr->access & IBV_ACCESS_LOCAL_WRITE))
		return NULL;
	qp->mr = mr;
	qp->mr_generation = h->key_generation;
	return mr;
}

uint8_t rq_scatter(struct hca *h, struct qp *qp, uint32_t offset, const uint8_t *data, uint32_t len)
{
	const struct mlx5_wqe_data_seg *seg = qp_wqe(qp, qp->rq_head);
	uint32_t nsegs = 1u << (qp->rq_shift - 4);

	for (uint32_t i = 0; i < nsegs && len; i++) {
		uint32_t capacity = be32toh(seg[i].byte_count), n;
		uint64_t addr = be64toh(seg[i].addr) + offset;
		struct mr *mr;

		if (!capacity)
			break;
		if (offset >= capacity) {
			offset -= capacity;
			continue;
		}
		n = capacity - offset < len ? capacity - offset : len;
		mr = mr_find(h, qp, be32toh(seg[i].lkey));
		if (!mr || addr < mr->iova || addr - mr->iova + n > mr->length)
			return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
		memcpy((void *)(uintptr_t)(mr->start + (addr - mr->iova)), data, n);
		data += n;
		len -= n;
		offset = 0;
	}
	return len ? MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR : 0;
}

struct qp *qp_queue(struct qp *qp, const struct frame *f)
{
	return qp->rss ? rss_choose(qp->rss, f) : qp;
}

static bool rq_has_room(struct qp *rq)
{
	return qp_receiving(rq) && (rq->rq_ready || qp_posted(rq));
}

static void qp_flush(struct hca *h, struct qp *qp)
{
	const struct rq_error flush = {.syndrome = MLX5_CQE_SYNDROME_WR_FLUSH_ERR, .vendor = 0xf9};

	while (!qp->halted && qp_posted(qp) && !qp->recv_cq->dead) {
		cqe_write_error(h, qp->recv_cq, qp, qp->rq_head, &flush);
		qp->rq_head++;
		h->stat.flushed++;
	}
}

void qp_to_error(struct hca *h, struct qp *qp)
{
	if (qp->rss)
		return;
	qp->state = IBV_QPS_ERR;
	qp_flush(h, qp);
}

/* What a frame that is longer than its buffer does to the queue: sources disagree (README.md). */
static void qp_fail(struct hca *h, struct port *p, struct qp *qp, const struct rq_error *e)
{
	enum oversize then = e->syndrome == MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR ? h->conf->oversize
									       : OVERSIZE_KILLS;

	cqe_write_error(h, qp->recv_cq, qp, qp->rq_head,
		then == OVERSIZE_OTHER ? &(struct rq_error){MLX5_CQE_SYNDROME_LOCAL_PROT_ERR,
						 e->vendor, e->byte_cnt}
				       : e);
	h->stat.errors++;
	p->errored++;
	qp->rq_head++;
	if (then == OVERSIZE_LIVES) {
		qp->rq_ready--;
		return;
	}
	qp->halted = then == OVERSIZE_HALTS;
	qp_to_error(h, qp);
}

static void deliver(struct hca *h, struct port *p, struct qp *qp, const struct frame *f,
	const struct fault *fault)
{
	uint8_t syndrome, bytes[WQ_FRAME_MAX];
	struct frame other;

	p->copies++;
	qp = qp_queue(qp, f);
	f = wq_shape(h, qp, f, &other, bytes);
	if (!rq_has_room(qp)) {
		p->out_of_buffer++;
		return;
	}
	if (!cq_has_room(qp->recv_cq)) {
		p->errored++;
		cq_overrun(h, qp->recv_cq);
		return;
	}
	if (fault && fault->no_qp) {
		h->stat.injected_cqes++;
		p->errored++;
		qp->rq_head++;
		qp->rq_ready--;
		cqe_write_stray(qp->recv_cq);
		cq_release(qp->recv_cq);
		return;
	}
	if (fault) {
		h->stat.injected_cqes++;
		qp_fail(h, p, qp, &(struct rq_error){fault->syndrome, fault->vendor, f->len});
		return;
	}
	if (wq_loses(h, qp))
		return;
	syndrome = rq_scatter(h, qp, 0, f->data, f->len);
	if (syndrome) {
		qp_fail(h, p, qp,
			&(struct rq_error){syndrome,
				syndrome == MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR ? 0x68 : 0x52,
				f->len});
		return;
	}
	p->delivered++;
	p->delivered_bytes += f->len;
	qp->rq_head++;
	qp->rq_ready--;
	cqe_write(h, qp->recv_cq, qp, f->len, clock_stamp(qp->recv_cq, f));
}

/* ---- the schedule ---- */

static void source_open(struct port *p)
{
	const struct model_conf *c = conf_get();
	const struct hca_conf *d = p->hca->conf;
	const char *pcap = d->gen[0] ? "" : c->pcap;
	const char *gen = d->gen[0] ? d->gen : c->gen;
	struct gen_conf g;
	char *err = p->hca->source_error;

	p->tried = true;
	if (pcap[0])
		p->frames = frames_load(pcap, p->conf->ib, err, sizeof(p->hca->source_error));
	else if (gen[0] && gen_conf_parse(&g, gen, err, sizeof(p->hca->source_error)))
		p->frames = frames_generate(&g, p->conf->ib, err, sizeof(p->hca->source_error));
	if (err[0])
		fprintf(stderr, "softhca: %s: %s\n", d->name, err);
	p->ended = !p->frames;
}

/* Whether every consumer has polled all, and waits for the next completion. */
static bool consumers_wait(struct hca *h)
{
	struct cq *cq;

	LIST_FOREACH (cq, &h->cqs, link)
		if (cq->channel && !cq->dead && !cq_waited_for(cq))
			return false;
	return true;
}

/* A late thread shifts the schedule: catching up would turn smooth traffic into bursts. */
static bool frame_due(struct hca *h, struct port *p, uint64_t now, bool waited, uint64_t *wake)
{
	const struct model_conf *c = conf_get();
	uint64_t due = p->due_ns;

	if (c->paced) {
		if (!p->first_ts)
			p->first_ts = p->frame.ts_ns;
		due += p->frame.ts_ns - p->first_ts;
	}
	if (now < due) {
		if (due < *wake)
			*wake = due;
		return false;
	}
	if ((c->rate || c->paced) && now - due > LATE_NS) {
		p->due_ns += now - due;
		if (!waited) {
			h->stat.pauses++;
			h->stat.pause_ns += now - due;
		}
	}
	return true;
}

static void schedule_next(struct port *p)
{
	const struct model_conf *c = conf_get();

	if (c->rate) {
		p->due_frac += (1000000000ULL << 8) / c->rate;
		p->due_ns += p->due_frac >> 8;
		p->due_frac &= 0xff;
	}
	if (c->burst && --p->burst_left == 0) {
		p->burst_left = c->burst;
		p->due_ns = now_ns() + c->burst_pause_ns;
	}
}

bool frame_hold(struct port *p)
{
	if (p->held || p->ended)
		return p->held;
	p->held = frames_next(p->frames, &p->frame);
	if (p->held) {
		wire_shape(&p->shaped_held, &p->frame);
		wire_trailer(p, &p->shaped_held, &p->frame);
	}
	p->ended = !p->held;
	return p->held;
}

static bool all_ready(const struct port *p)
{
	for (uint32_t i = 0; i < p->ndests; i++)
		if (!rq_has_room(qp_queue(p->dest[i], &p->frame)))
			return false;
	return true;
}

void frame_distribute(
	struct hca *h, struct port *p, const struct frame *f, const struct fault *fault)
{
	p->offered++;
	p->offered_bytes += f->len;
	for (uint32_t i = 0; i < p->ndests; i++)
		if (qp_wants(p, p->dest[i], f))
			deliver(h, p, p->dest[i], f, fault);
}

void frame_spend(struct hca *h, struct port *p, const struct fault *fault)
{
	p->held = false;
	frame_distribute(h, p, &p->frame, fault);
}

static void wake_by(uint64_t *wake, uint64_t at)
{
	if (at < *wake)
		*wake = at;
}

/*
 * Frames begin when the program waits for the first one: a flow before that is its trial, however
 * long a busy machine takes for it. Of a program that only polls it is not known when it begins.
 */
static bool port_begins(struct hca *h, struct port *p, uint64_t now, uint64_t *wake)
{
	const struct model_conf *c = conf_get();
	uint64_t delay = c->start_delay_ns;
	bool waits = false;
	struct cq *cq;

	LIST_FOREACH (cq, &h->cqs, link)
		waits |= cq->channel && !cq->dead;
	if (!p->flow_ns)
		p->flow_ns = now;
	if (waits && !c->flowing && !h->begun && now - p->flow_ns < BEGINS_AFTER_NS) {
		h->begun = consumers_wait(h);
		wake_by(wake, now + LOOK_NS);
		if (!h->begun)
			return false;
	}
	if (delay == START_DELAY_UNSET)
		delay = h->begun ? 0 : START_DELAY_NS;
	p->start_ns = p->due_ns = now + delay;
	p->burst_left = c->burst;
	return true;
}

static enum turn port_turn(struct hca *h, struct port *p, uint64_t now, uint64_t *wake)
{
	const struct model_conf *c = conf_get();
	bool clocked = c->rate || c->paced || c->burst;

	if ((!p->capturing && !c->flowing) || !p->up || !p->tried || p->ended)
		return TURN_IDLE;
	if (!p->start_ns && !port_begins(h, p, now, wake))
		return TURN_IDLE;
	for (int n = 0; n < BATCH; n++) {
		const struct fault *fault;

		if (!frame_hold(p))
			return n ? TURN_BUSY : TURN_IDLE;
		if (clocked || now < p->due_ns) {
			if (clocked && n)
				now = now_ns();
			if (!frame_due(h, p, now, p->waited, wake))
				return n ? TURN_BUSY : TURN_IDLE;
		}
		if (c->burst_armed && p->burst_left == c->burst && !consumers_wait(h))
			return n ? TURN_BUSY : TURN_WAITS;
		if (!c->drop && !all_ready(p)) {
			h->stat.waits += !p->waited;
			p->waited = true;
			return n ? TURN_BUSY : TURN_WAITS;
		}
		p->waited = false;
		fault = fault_frame(h, p, p->offered + 1);
		if (!p->up || h->fatal)
			return TURN_BUSY;
		frame_spend(h, p, fault);
		schedule_next(p);
		if (atomic_load_explicit(&h->waiters, memory_order_relaxed))
			return TURN_BUSY;
	}
	/* No time passes while the model works: a source without a rate would never end. */
	if (time_is_virtual() && !clocked)
		p->due_ns = now + BATCH * VIRTUAL_FRAME_NS;
	return TURN_BUSY;
}

void hca_fatal(struct hca *h)
{
	struct qp *qp;

	if (h->fatal)
		return;
	h->fatal = true;
	async_port_event(h, IBV_EVENT_DEVICE_FATAL, 0);
	LIST_FOREACH (qp, &h->qps, link)
		if (qp->state != IBV_QPS_RESET)
			qp_to_error(h, qp);
}

/* Acts once every capturing port has nothing left and what it delivered has been polled. */
static void end_check(struct hca *h)
{
	struct cq *cq;
	bool any = false;

	if (!conf_get()->sigint || h->port[0].end_done)
		return;
	for (uint32_t i = 0; i < h->conf->nports; i++) {
		struct port *p = &h->port[i];

		any |= p->ndests && p->tried;
		if (p->ndests && (!p->ended || p->held))
			return;
	}
	LIST_FOREACH (cq, &h->cqs, link)
		if (cq->producer && !cq->dead && !cq_polled(cq))
			return;
	if (!any)
		return;
	h->port[0].end_done = true;
	kill(getpid(), SIGINT);
}

/*
 * For what nothing announces: what other processes do, the gateway's rules included, and, to the
 * model's own thread, doorbells.
 */
static bool must_look(struct hca *h)
{
	bool doorbells = !time_is_virtual();
	struct qp *qp;
	struct cq *cq;

	if (h->wire.fd >= 0)
		return true;
	LIST_FOREACH (qp, &h->qps, link)
		if (qp->rc.packets || (qp_receiving(qp) && LIST_EMPTY(&qp->flows)) ||
			(doorbells && (qp->state == IBV_QPS_ERR ||
					      (qp->state == IBV_QPS_RTS && qp->sq_count))))
			return true;
	LIST_FOREACH (cq, &h->cqs, link)
		if (!cq->dead && (doorbells || cq->gather_count) && !cq_polled(cq))
			return true;
	return false;
}

/* True: there is more to do at once. Else *wake may become earlier. */
static bool housekeeping(struct hca *h, uint64_t now, uint64_t *wake)
{
	struct cq *cq;
	struct qp *qp;
	bool more;

	if (h->gone)
		return false;
	more = wire_receive(h);
	flows_expire(h, now);
	if (!fault_timers(h) || h->conf->linger_ns)
		wake_by(wake, now + LOOK_NS);
	gateway_poll(h, now);
	if (clock_housekeeping(h, now))
		wake_by(wake, now + COUNTERS_NS);
	LIST_FOREACH (qp, &h->qps, link) {
		more |= qp_send(h, qp);
		if (qp->state == IBV_QPS_ERR && qp->rq_count)
			qp_flush(h, qp);
	}
	LIST_FOREACH (cq, &h->cqs, link)
		cq_check_arm(cq);
	if (now - h->counters_ns > COUNTERS_NS) {
		h->counters_ns = now;
		counters_flush(h);
	} else if (counters_differ(h)) {
		wake_by(wake, h->counters_ns + COUNTERS_NS + 1);
	}
	end_check(h);
	if (must_look(h))
		wake_by(wake, now + LOOK_NS);
	return more;
}

static struct port *port_without_source(struct hca *h)
{
	for (uint32_t i = 0; i < h->conf->nports; i++)
		if ((h->port[i].capturing || conf_get()->flowing) && !h->port[i].tried)
			return &h->port[i];
	return NULL;
}

enum turn hca_step(struct hca *h, uint64_t now, uint64_t *wake)
{
	enum turn best = TURN_IDLE;
	struct port *p;

	*wake = UINT64_MAX;
	pthread_mutex_lock(&h->lock);
	for (uint32_t i = 0; i < h->conf->nports; i++) {
		enum turn t = conf_get()->drain_rounds ? drain_turn(h, &h->port[i], wake)
						       : port_turn(h, &h->port[i], now, wake);

		if (t > best)
			best = t;
	}
	if (housekeeping(h, now, wake))
		best = TURN_BUSY;
	p = port_without_source(h);
	pthread_mutex_unlock(&h->lock);
	if (p)
		source_open(p);
	return p ? TURN_BUSY : best;
}

/* ---- the thread ---- */

#define SLEEP_MOST_NS 20000000U
static _Atomic uint32_t pokes, sleepers;

void hca_poke(void)
{
	atomic_fetch_add(&pokes, 1);
	if (atomic_load(&sleepers))
		syscall(SYS_futex, &pokes, FUTEX_WAKE_PRIVATE, MAX_DEVICES, NULL, NULL, 0);
}

/*
 * Until then, or until a poke after `seen`; for SLEEP_MOST_NS at most, since not everything that a
 * program does with a device is known here: what nobody announces is late, and not lost.
 */
static void sleep_until(uint64_t wake, uint32_t seen)
{
	uint64_t now = now_ns(), ns = wake > now ? wake - now : 0;
	struct timespec t = {.tv_nsec = (long)(ns < SLEEP_MOST_NS ? ns : SLEEP_MOST_NS)};

	if (!ns)
		return;
	atomic_fetch_add(&sleepers, 1);
	syscall(SYS_futex, &pokes, FUTEX_WAIT_PRIVATE, seen, &t, NULL, 0);
	atomic_fetch_sub(&sleepers, 1);
}

static void *hca_run(void *arg)
{
	struct hca *h = arg;
	unsigned int idle = 0;

	prctl(PR_SET_NAME, "softhca");
	prctl(PR_SET_TIMERSLACK, 1);
	while (!atomic_load(&h->stop)) {
		uint32_t seen = atomic_load(&pokes);
		uint64_t wake;
		enum turn turn = hca_step(h, now_ns(), &wake);

		for (int i = 0; i < YIELDS && atomic_load(&h->waiters); i++)
			sched_yield();
		idle = turn == TURN_BUSY ? 0 : idle + 1;
		if (turn == TURN_WAITS && idle < YIELDS)
			sched_yield();
		else if (turn == TURN_WAITS)
			sleep_until(now_ns() + SHORT_SLEEP_NS, seen);
		else if (turn == TURN_IDLE)
			sleep_until(wake, seen);
	}
	return NULL;
}

void hca_start(struct hca *h)
{
	sigset_t all, old;

	if (h->running)
		return;
	h->running = time_is_virtual();
	if (h->running)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	atomic_store(&h->stop, false);
	h->running = !pthread_create(&h->thread, NULL, hca_run, h);
	/* Tests that look at the program's threads leave this one out. */
	if (h->running)
		pthread_setname_np(h->thread, "softhca");
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

uint64_t hca_thread_ns(const struct hca *h)
{
	struct timespec cpu = {0};
	clockid_t clock;

	if (h->running && !time_is_virtual() && !pthread_getcpuclockid(h->thread, &clock))
		clock_gettime(clock, &cpu);
	return h->stat.thread_ns + (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
}

void hca_stop(struct hca *h)
{
	if (!h->running)
		return;
	atomic_store(&h->stop, true);
	hca_poke();
	h->stat.thread_ns = hca_thread_ns(h);
	if (!time_is_virtual())
		pthread_join(h->thread, NULL);
	h->running = false;
}
