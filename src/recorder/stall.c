/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connected QPs that wait for a response.
 *
 * A packet contains only its destination QP, so the responses to the requests of a QP must be
 * recognized: they travel between the same hosts in the opposite direction, and their PSNs are
 * those of outstanding requests (IBTA volume 1, 9.7.5). Where several QPs are possible, the UDP
 * source port decides, which most drivers compute from both QP numbers (rdma_get_udp_sport() in the
 * kernel's ib_verbs.h). A QP whose responses are not recognized is not judged.
 */
#include "trigger.h"
#include <arpa/inet.h>
#include <rdmadump/hash.h>
#include <stdio.h>
#include <stdlib.h>

#define PSN_MASK   0xffffffU
#define PSN_HALF   0x800000U
#define PSN_BEHIND 0x10000U /* further back than this, the QP was connected again */
#define MTU_MIN	   256U
#define VOTES	   2 /* consecutive responses that match the same requests */
#define MISFITS	   8 /* consecutive responses that do not match them */
#define CANDIDATES 256
#define LOOK_NS	   1000000U
#define HASH_SHIFT 16
#define WAYS	   4 /* associativity of the table, as in a cache; a power of two */

struct ends {
	uint8_t src[16], dst[16];
	uint8_t len; /* bytes of one address */
};

/* The requests to one QP. */
struct stall_flow {
	uint64_t key;			/* a hash; 0: unused */
	uint64_t answers;		/* key of the responses; 0: not recognized */
	uint64_t last_ns;		/* time of the newest packet, request or response */
	uint64_t fired;			/* bit for each trigger, since then */
	LIST_ENTRY(stall_flow) of_pair; /* of hosts */
	TAILQ_ENTRY(stall_flow) of_waiting;
	uint32_t dest_qp, answer_qp;
	uint32_t newest;      /* PSN of the newest request */
	uint32_t first, last; /* PSNs of expected responses; last: the most that a READ can use */
	uint32_t wanted;      /* PSN of the newest request that requires a response */
	uint16_t port;	      /* UDP source port; 0: none */
	uint8_t misfits;
	bool open;    /* the responses from first to last are outstanding */
	bool waiting; /* `wanted` is among them */
	bool listed;  /* among those that wait */
	bool doubt;   /* another QP sends packets that may be its responses */
	struct ends hosts;
};

/* The responses to one QP. */
struct stall_answers {
	uint64_t key;
	struct stall_flow *flow; /* NULL: not recognized */
	uint32_t votes;
};

int stall_init(struct stall *s, struct trigger *triggers, unsigned int n)
{
	*s = (struct stall){
		.triggers = calloc(n ? n : 1, sizeof(*s->triggers)), .least = UINT64_MAX};
	if (!s->triggers)
		return -1;
	for (unsigned int i = 0; i < n && s->n < 64; i++) {
		if (triggers[i].source != TRIGGER_STALL)
			continue;
		s->triggers[s->n++] = &triggers[i];
		s->least = triggers[i].most < s->least ? triggers[i].most : s->least;
		s->most = triggers[i].most > s->most ? triggers[i].most : s->most;
	}
	if (!s->n)
		return 0;
	TAILQ_INIT(&s->waiting);
	s->flows = calloc(STALL_FLOWS, sizeof(*s->flows));
	s->answers = calloc(STALL_FLOWS, sizeof(*s->answers));
	s->pairs = calloc(STALL_FLOWS, sizeof(*s->pairs));
	return s->flows && s->answers && s->pairs ? 0 : -1;
}

void stall_fini(struct stall *s)
{
	free(s->triggers);
	free(s->flows);
	free(s->answers);
	free(s->pairs);
	*s = (struct stall){0};
}

/* --- keys ------------------------------------------------------------------------------------ */

/* Addresses of the network header, else LIDs. */
static struct ends ends_of(const struct rd_packet *p)
{
	struct ends e = {0};
	const uint8_t *src = NULL, *dst = NULL;

	e.len = (uint8_t)rd_packet_addresses(p, &src, &dst);
	if (!e.len && p->kind == RD_KIND_IB && p->bth >= 8) {
		e.len = 2;
		dst = p->data + p->bth - 8 + 2;
		src = p->data + p->bth - 8 + 6;
	}
	if (e.len) {
		memcpy(e.src, src, e.len);
		memcpy(e.dst, dst, e.len);
	}
	return e;
}

static uint64_t key_of(const uint8_t *src, const uint8_t *dst, uint32_t qp)
{
	struct rd_hash h = rd_hash_begin();
	uint64_t words[5] = {0};

	memcpy(words, src, 16);
	memcpy(words + 2, dst, 16);
	words[4] = qp;
	for (unsigned int i = 0; i < 5; i++)
		rd_hash_add(&h, words[i]);
	return rd_hash_end(&h, 5) | 1;
}

#define NO_QP UINT32_MAX

static struct stall_pair *pair_of(struct stall *s, const uint8_t *src, const uint8_t *dst)
{
	return &s->pairs[(key_of(src, dst, NO_QP) >> HASH_SHIFT) & (STALL_FLOWS - 1)];
}

static uint16_t port_of(const struct rd_packet *p)
{
	return p->kind == RD_KIND_ROCE2 && p->l4 ? rd_be16(p->data + p->l4) : 0;
}

static uint32_t after(uint32_t psn, uint32_t before)
{
	return (psn - before) & PSN_MASK;
}

/* --- lists ----------------------------------------------------------------------------------- */

static void unlist(struct stall *s, struct stall_flow *f)
{
	if (!f->listed)
		return;
	f->listed = false;
	if (s->at == f)
		s->at = TAILQ_NEXT(f, of_waiting);
	TAILQ_REMOVE(&s->waiting, f, of_waiting);
}

static void stop_waiting(struct stall *s, struct stall_flow *f)
{
	f->waiting = false;
	unlist(s, f);
}

/* Moves the flow to the end of the list: its last packet is the newest one. */
static void wait_from_now(struct stall *s, struct stall_flow *f)
{
	unlist(s, f);
	f->waiting = f->listed = true;
	TAILQ_INSERT_TAIL(&s->waiting, f, of_waiting);
}

/* --- requests -------------------------------------------------------------------------------- */

/* Whether `a` is to be evicted rather than `b`: it does not wait, or its last packet is older. An
 * unused one is all zeros, and so the first. */
static bool is_less_needed(const struct stall_flow *a, const struct stall_flow *b)
{
	if (a->waiting != b->waiting)
		return b->waiting;
	return a->last_ns < b->last_ns;
}

/* The flow's slot: its own, else the one to evict. */
static struct stall_flow *place_of(struct stall *s, uint64_t key)
{
	struct stall_flow *f = &s->flows[(key >> HASH_SHIFT) & (STALL_FLOWS - WAYS)];
	struct stall_flow *place = f;

	for (unsigned int i = 0; i < WAYS; i++) {
		if (f[i].key == key)
			return &f[i];
		if (is_less_needed(&f[i], place))
			place = &f[i];
	}
	return place;
}

static struct stall_flow *flow_of(struct stall *s, const struct rd_packet *p)
{
	const struct ends e = ends_of(p);
	uint64_t key = key_of(e.src, e.dst, p->dest_qp);
	struct stall_flow *f = place_of(s, key);

	if (f->key == key)
		return f;
	if (f->key) {
		stop_waiting(s, f);
		LIST_REMOVE(f, of_pair);
		s->forgotten++;
	}
	*f = (struct stall_flow){.key = key, .dest_qp = p->dest_qp, .hosts = e};
	LIST_INSERT_HEAD(pair_of(s, e.src, e.dst), f, of_pair);
	return f;
}

/* The highest possible PSN of the last packet of its response, since the path MTU is not known. */
static uint32_t last_answer(const struct rd_packet *p)
{
	struct rd_reth reth;

	if (!(p->op->bits & RD_OP_READ) || !rd_packet_reth(p, &reth) || !reth.length)
		return p->psn;
	return (p->psn + (reth.length - 1) / MTU_MIN) & PSN_MASK;
}

/*
 * Whether it is a new flow, or its PSN is that of neither a next request nor a retransmission: then
 * the QP was connected again.
 */
static bool is_new(const struct stall_flow *f, uint32_t psn)
{
	return !f->last_ns ||
	       (after(psn, f->newest) >= PSN_HALF && after(f->newest, psn) > PSN_BEHIND);
}

static void request(struct stall *s, const struct rd_packet *p)
{
	struct stall_flow *f = flow_of(s, p);
	bool must_be_answered = p->bth_bits & RD_BTH_ACKREQ ||
				p->op->bits & (RD_OP_READ | RD_OP_ATOMIC | RD_OP_FLUSH);
	bool is_next = after(p->psn, f->newest) < PSN_HALF;

	if (is_new(f, p->psn)) {
		stop_waiting(s, f);
		f->open = false;
		f->answers = 0;
		is_next = true;
	}
	if (!f->open || after(p->psn, f->first) >= PSN_HALF)
		f->first = p->psn;
	if (is_next) {
		f->newest = p->psn;
		f->last = last_answer(p);
	}
	f->open = true;
	f->port = port_of(p);
	f->last_ns = s->clock;
	f->fired = 0;
	if (must_be_answered && (!f->waiting || after(p->psn, f->wanted) < PSN_HALF))
		f->wanted = p->psn;
	if (must_be_answered || f->waiting)
		wait_from_now(s, f);
}

/* --- responses ------------------------------------------------------------------------------- */

static bool fits(const struct stall_flow *f, uint32_t psn)
{
	return f->open && after(psn, f->first) <= after(f->last, f->first);
}

/* The flow of requests that this response may belong to; NULL: none, or more than one. */
static struct stall_flow *candidate(
	struct stall *s, uint64_t key, const struct ends *e, const struct rd_packet *p)
{
	struct stall_flow *f = LIST_FIRST(pair_of(s, e->dst, e->src)), *any = NULL, *by_port = NULL;
	unsigned int n_any = 0, n_by_port = 0;
	uint16_t port = port_of(p);

	for (unsigned int looks = 0; f && looks < CANDIDATES; f = LIST_NEXT(f, of_pair), looks++) {
		if (f->answers == key)
			return f;
		if (!fits(f, p->psn) || memcmp(f->hosts.src, e->dst, 16) ||
			memcmp(f->hosts.dst, e->src, 16))
			continue;
		f->doubt = f->answers != 0;
		if (f->answers)
			continue;
		any = f;
		n_any++;
		if (port && f->port == port) {
			by_port = f;
			n_by_port++;
		}
	}
	return n_any == 1 ? any : n_by_port == 1 ? by_port : NULL;
}

static struct stall_answers *answers_at(struct stall *s, uint64_t key)
{
	return &s->answers[(key >> HASH_SHIFT) & (STALL_FLOWS - 1)];
}

static void recognize(
	struct stall *s, struct stall_answers *a, const struct ends *e, const struct rd_packet *p)
{
	struct stall_flow *f = candidate(s, a->key, e, p);

	if (!f)
		return;
	a->votes = a->flow == f ? a->votes + 1 : 1;
	a->flow = f;
	if (a->votes < VOTES && !(port_of(p) && port_of(p) == f->port))
		return;
	f->answers = a->key;
	f->answer_qp = p->dest_qp;
	f->misfits = 0;
	f->doubt = false;
}

/* Acknowledges the requests up to `psn`, whose responses are complete. */
static void acknowledge(struct stall *s, struct stall_flow *f, uint32_t psn)
{
	if (f->waiting && after(psn, f->wanted) < PSN_HALF)
		stop_waiting(s, f);
	f->first = (psn + 1) & PSN_MASK;
	if (after(psn, f->newest) < PSN_HALF)
		f->open = false;
}

static void take_answer(struct stall *s, struct stall_flow *f, const struct rd_packet *p)
{
	struct rd_aeth aeth;
	bool has = rd_packet_aeth(p, &aeth);

	f->last_ns = s->clock;
	f->fired = 0;
	if (f->waiting)
		wait_from_now(s, f);
	if (!fits(f, p->psn)) {
		/* Before the oldest outstanding request: a duplicate response. */
		if (after(f->first, p->psn) > PSN_BEHIND && ++f->misfits >= MISFITS)
			f->answers = 0;
		return;
	}
	f->misfits = 0;
	f->doubt = false;
	if (has && aeth.kind == RD_AETH_RNR)
		return;
	if (has && aeth.kind == RD_AETH_NAK) {
		/* Requests follow a sequence error; after any other the QP sends nothing. */
		if (aeth.value)
			stop_waiting(s, f);
		else if (p->psn != f->first)
			acknowledge(s, f, (p->psn - 1) & PSN_MASK);
		return;
	}
	/* A partial READ response acknowledges only the requests before the READ. */
	if (p->op->bits & RD_OP_LAST)
		acknowledge(s, f, p->psn);
}

static void answer(struct stall *s, const struct rd_packet *p)
{
	const struct ends e = ends_of(p);
	uint64_t key = key_of(e.src, e.dst, p->dest_qp);
	struct stall_answers *a = answers_at(s, key);

	if (a->key != key)
		*a = (struct stall_answers){.key = key};
	if (!a->flow || a->flow->answers != key)
		recognize(s, a, &e, p);
	if (a->flow && a->flow->answers == key)
		take_answer(s, a->flow, p);
}

void stall_packet(struct stall *s, const struct rd_packet *p, const struct rd_frame *frame)
{
	enum rd_transport t = rd_packet_transport(p);

	if (frame->ts_ns > s->clock && !(frame->flags & (RD_FRAME_BAD_TIME | RD_FRAME_NO_TIME)))
		s->clock = frame->ts_ns;
	if (t != RD_RC && t != RD_XRC)
		return;
	if (p->op->bits & (RD_OP_RESPONSE | RD_OP_ACK))
		answer(s, p);
	else
		request(s, p);
}

/* --- time ------------------------------------------------------------------------------------ */

static void look(struct stall *s)
{
	if (s->clock < s->due)
		return;
	s->due = s->clock + LOOK_NS;
	s->at = TAILQ_FIRST(&s->waiting);
}

void stall_received(struct stall *s, uint64_t now_ns)
{
	s->read_ns = now_ns;
	look(s);
}

void stall_tick(struct stall *s, uint64_t now_ns, uint64_t late_ns)
{
	/* No frame since the last call: a frame that arrived before it would have been received. */
	if (s->read_ns && s->tick_ns > s->read_ns + late_ns) {
		s->clock += s->tick_ns - s->read_ns - late_ns;
		s->read_ns = s->tick_ns - late_ns;
	}
	s->tick_ns = now_ns;
	look(s);
}

static void put_host(const struct stall_flow *f, const uint8_t *host, char *out, size_t size)
{
	if (f->hosts.len == 2)
		snprintf(out, size, "LID %u", rd_be16(host));
	else if (!f->hosts.len ||
		 !inet_ntop(f->hosts.len == 4 ? AF_INET : AF_INET6, host, out, (socklen_t)size))
		snprintf(out, size, "?");
}

static void describe(const struct stall *s, const struct stall_flow *f, char *out, size_t size)
{
	char src[INET6_ADDRSTRLEN + 8], dst[INET6_ADDRSTRLEN + 8];

	put_host(f, f->hosts.src, src, sizeof(src));
	put_host(f, f->hosts.dst, dst, sizeof(dst));
	snprintf(out, size,
		"QP 0x%06x of %s waits for QP 0x%06x of %s: PSN %u to %u, no packet for %.3f s",
		f->answer_qp, src, f->dest_qp, dst, f->first, f->wanted,
		(double)(s->clock - f->last_ns) / 1e9);
}

static bool concerns(const struct trigger *t, const struct stall_flow *f)
{
	if (t->qp != TRIGGER_QP_ANY && t->qp != f->dest_qp && t->qp != f->answer_qp)
		return false;
	return !t->host_len || (t->host_len == f->hosts.len &&
				       (!memcmp(f->hosts.src, t->host, t->host_len) ||
					       !memcmp(f->hosts.dst, t->host, t->host_len)));
}

/* The next trigger of this flow whose time has expired. */
static struct trigger *over(struct stall *s, struct stall_flow *f, uint64_t *ns)
{
	for (unsigned int i = 0; i < s->n; i++) {
		struct trigger *t = s->triggers[i];

		if (f->fired & UINT64_C(1) << i || s->clock - f->last_ns <= t->most ||
			!concerns(t, f))
			continue;
		f->fired |= UINT64_C(1) << i;
		*ns = f->last_ns + t->most;
		return t;
	}
	return NULL;
}

struct trigger *stall_next(struct stall *s, uint64_t *ns, char *out, size_t size)
{
	while (s->at) {
		struct stall_flow *f = s->at;
		struct trigger *t;

		if (f->doubt && s->clock - f->last_ns > s->least) {
			f->answers = 0;
			f->doubt = false;
		}
		t = f->answers ? over(s, f, ns) : NULL;
		if (t) {
			describe(s, f, out, size);
			return t;
		}
		/* All following flows have newer packets. */
		if (s->clock - f->last_ns <= s->least)
			s->at = NULL;
		else if (s->clock - f->last_ns > s->most)
			unlist(s, f);
		else
			s->at = TAILQ_NEXT(f, of_waiting);
	}
	return NULL;
}
