/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pause frames: for how long they stop a link, and whose packets stopped with it. A frame with a
 * time sets the timer of its priority, one with 0 ends it (IEEE 802.3 annexes 31B and 31D, IEEE
 * 802.1Q clause 36).
 */
#include "facts.h"
#include <stdlib.h>

#define SENDERS_MAX 16
#define SPANS	    16 /* pauses of a priority that are remembered to compare gaps with */
#define ALL	    RD_PRIORITIES

#define GAP_LEAST_NS UINT64_C(20000)
/* Packets that were on their way when the pause frame was sent, and those that wait for the end. */
#define REACTION_NS UINT64_C(50000)
#define EARLY_NS    UINT64_C(5000)
#define ETHER_LEN   14

struct span {
	uint64_t from, to;
};

struct class
{
	struct rd_pause_class sum;
	uint64_t since_ns, until_ns; /* the current pause; since_ns 0: there is none */
	struct span spans[SPANS];    /* former pauses; a ring */
	unsigned int at;	     /* the next one to be replaced */
};

struct sender {
	struct rd_pause_sender sum;
	struct class classes[RD_PAUSE_CLASSES];
	bool routes; /* its MAC address is that of a router */
};

struct pauses {
	struct sender senders[SENDERS_MAX];
	unsigned int n;
	uint64_t left_out;
};

/* --- the frames ------------------------------------------------------------------------------- */

/* Of the interface, or of the only device that the file has facts of. */
static uint64_t speed_of(const struct rd_analysis *a)
{
	uint64_t speed = 0;

	if (a->in.speed || !a->facts)
		return a->in.speed;
	for (unsigned int i = 0; i < a->facts->n_ports; i++) {
		if (speed && a->facts->ports[i].speed != speed)
			return 0;
		speed = a->facts->ports[i].speed;
	}
	return speed;
}

static bool has_mac(const struct rd_analysis *a, const struct rd_packet *p)
{
	return a->in.link == RD_LINK_ETHERNET && p->caplen >= ETHER_LEN && p->l3 >= ETHER_LEN;
}

/* NULL: there is no room. */
static struct sender *sender_of(
	struct rd_analysis *a, const struct rd_packet *p, const struct rd_frame *frame)
{
	bool known = has_mac(a, p) && p->data == frame->data;
	struct sender *s;

	if (!a->pauses)
		a->pauses = must(a, calloc(1, sizeof(*a->pauses)));
	if (!a->pauses)
		return NULL;
	s = RD_FIND(one, a->pauses->senders, a->pauses->n,
		one->sum.has_mac == known && (!known || !memcmp(one->sum.mac, p->data + 6, 6)));
	if (s)
		return s;
	if (a->pauses->n == SENDERS_MAX) {
		a->pauses->left_out++;
		return NULL;
	}
	s = &a->pauses->senders[a->pauses->n++];
	s->sum.has_mac = known;
	if (known)
		memcpy(s->sum.mac, p->data + 6, 6);
	return s;
}

/* The current pause ends now, or when its time was over. */
static void pause_end(struct class *c, uint64_t ns)
{
	uint64_t to = c->until_ns < ns ? c->until_ns : ns;

	if (c->since_ns && to > c->since_ns) {
		uint64_t length = to - c->since_ns;

		c->sum.paused_ns += length;
		c->sum.longest_ns = RD_MAX(c->sum.longest_ns, length);
		c->spans[c->at++ % SPANS] = (struct span){c->since_ns, to};
	}
	c->since_ns = 0;
}

static void class_take(struct rd_analysis *a, struct class *c, uint16_t quanta, uint64_t speed)
{
	uint64_t length = rd_pause_ns(quanta, speed);

	incident_add(quanta ? &c->sum.pauses : &c->sum.resumes, 1, a->frame, a->ns);
	c->sum.quanta += quanta;
	if (!length || c->until_ns < a->ns || a->ns < c->since_ns)
		pause_end(c, a->ns);
	if (!length)
		return;
	if (!c->since_ns)
		c->since_ns = a->ns;
	c->until_ns = a->ns + length;
}

void pause_take(struct rd_analysis *a, const struct rd_packet *p, const struct rd_frame *frame)
{
	struct rd_pause pause;
	struct sender *s;

	if (!rd_packet_pause(p, &pause) || !pause.enabled)
		return;
	s = sender_of(a, p, frame);
	if (!s)
		return;
	s->sum.frames++;
	s->sum.in += frame->direction == RD_DIR_IN;
	s->sum.out += frame->direction == RD_DIR_OUT;
	s->sum.speed = speed_of(a);
	if (!pause.pfc)
		class_take(a, &s->classes[ALL], pause.quanta[0], s->sum.speed);
	for (unsigned int i = 0; pause.pfc && i < RD_PRIORITIES; i++)
		if (pause.enabled >> i & 1)
			class_take(a, &s->classes[i], pause.quanta[i], s->sum.speed);
}

/* --- packets that wait for the end of a pause ------------------------------------------------- */

static uint64_t overlap(const struct span *s, uint64_t from, uint64_t to)
{
	uint64_t begin = s->from > from ? s->from : from, end = s->to < to ? s->to : to;

	return end > begin ? end - begin : 0;
}

/* The class's row in the flow; NULL: no room, or out of memory. */
static struct rd_held *held_of(struct rd_analysis *a, struct flow *f, unsigned int class)
{
	struct flow_held *h = f->held;

	if (!h)
		h = f->held = must(a, calloc(1, sizeof(*h)));
	if (!h)
		return NULL;
	for (unsigned int i = 0; i < h->n; i++)
		if (h->of[i].classes == 1U << class)
			return &h->of[i];
	if (h->n == HELD_CLASSES)
		return NULL;
	h->of[h->n].classes = (uint16_t)(1U << class);
	return &h->of[h->n++];
}

/* Whether pauses fill most of the time without packets, and its end is theirs. */
static bool gap_fits(const struct class *c, uint64_t start, uint64_t end)
{
	const struct span now = {c->since_ns, c->until_ns};
	uint64_t sum = c->since_ns ? overlap(&now, start, end) : 0;
	bool ends = c->since_ns && now.to <= end + EARLY_NS && now.to + REACTION_NS >= end;

	for (const struct span *s = c->spans; s < c->spans + SPANS; s++) {
		sum += overlap(s, start, end);
		ends |= s->to && s->to <= end + EARLY_NS && s->to + REACTION_NS >= end;
	}
	return ends && sum >= (end - start) / 5 * 4;
}

static void class_gap(
	struct rd_analysis *a, struct flow *f, const struct class *c, unsigned int class)
{
	uint64_t start = f->traffic.last_ns, end = a->ns;
	struct rd_held *h;

	if (c->since_ns && end > c->since_ns + REACTION_NS && end + REACTION_NS < c->until_ns) {
		h = held_of(a, f, class);
		if (h)
			h->through++;
		return;
	}
	if (end < start + GAP_LEAST_NS || !gap_fits(c, start, end))
		return;
	h = held_of(a, f, class);
	if (!h)
		return;
	incident_add(&h->gaps, 1, a->frame, a->ns);
	h->ns += end - start;
	if (end - start > h->longest_ns) {
		h->longest_ns = end - start;
		h->longest_frame = a->frame;
	}
}

/* RDMA packets of its MAC address show its own, unless it forwards them: fewer hops are left. */
static void name_sender(struct sender *s, const struct rd_packet *p)
{
	static const uint8_t unrouted[] = {1, 64, 128, 255};
	const uint8_t *src, *dst;
	uint8_t hops;

	if (s->routes || *s->sum.address || !rd_packet_addresses(p, &src, &dst))
		return;
	hops = p->data[p->l3 + (p->net == RD_NET_IPV4 ? 8 : 7)];
	s->routes = p->net != RD_NET_GRH && !memchr(unrouted, hops, sizeof(unrouted));
	if (!s->routes)
		rd_address_text(s->sum.address, p->net, src);
}

/* A sender of pause frames does not stop itself. */
static bool is_sender(struct rd_analysis *a, struct sender *s, const struct rd_packet *p)
{
	if (!s->sum.has_mac || !has_mac(a, p) || memcmp(s->sum.mac, p->data + 6, 6) != 0)
		return false;
	name_sender(s, p);
	return true;
}

void pause_gap(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	for (unsigned int i = 0; i < a->pauses->n; i++) {
		struct sender *s = &a->pauses->senders[i];

		if (is_sender(a, s, it->p) || !f->traffic.frames)
			continue;
		/* Without a VLAN tag the packets may have any priority. */
		for (unsigned int k = 0; k < RD_PAUSE_CLASSES; k++)
			if ((s->classes[k].since_ns || s->classes[k].at) &&
				(k == ALL || f->priority.pcp == PCP_NONE || f->priority.pcp == k))
				class_gap(a, f, &s->classes[k], k);
	}
}

/* --- the result ------------------------------------------------------------------------------- */

int pauses_result(const struct rd_analysis *a, struct rd_report *r)
{
	struct pauses *p = a->pauses;

	if (!p)
		return 0;
	r->pauses_left_out = p->left_out;
	r->pause_senders = calloc(p->n + 1, sizeof(*r->pause_senders));
	if (!r->pause_senders)
		return -1;
	for (unsigned int i = 0; i < p->n; i++) {
		struct rd_pause_sender *s = &r->pause_senders[r->n_pause_senders++];

		*s = p->senders[i].sum;
		for (unsigned int k = 0; k < RD_PAUSE_CLASSES; k++) {
			pause_end(&p->senders[i].classes[k], a->totals.last_ns);
			s->classes[k] = p->senders[i].classes[k].sum;
		}
	}
	return 0;
}

/* A priority whose pauses the flow's packets ignore is not what stops them. */
static bool is_stopped(const struct rd_held *h)
{
	return h->gaps.count && h->through <= h->gaps.count / 4;
}

bool held_result(struct rd_held **out, const struct flow *f)
{
	const struct rd_held *most = NULL;
	struct rd_held *r;

	for (unsigned int i = 0; f->held && i < f->held->n; i++) {
		const struct rd_held *h = &f->held->of[i];

		if (is_stopped(h) && (!most || h->ns > most->ns))
			most = h;
	}
	if (!most)
		return true;
	*out = r = malloc(sizeof(*r));
	if (!r)
		return false;
	*r = *most;
	for (unsigned int i = 0; i < f->held->n; i++)
		if (is_stopped(&f->held->of[i]) && f->held->of[i].ns >= most->ns / 10 * 9)
			r->classes |= f->held->of[i].classes;
	return true;
}
