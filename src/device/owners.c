/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which process had which QP, collected from lists of QPs that are read again and again, and from
 * events between them. Of a known process only its start time is read again, which tells whether
 * its pid was reused.
 */
#include <rdmadump/array.h>
#include <rdmadump/hash.h>
#include <rdmadump/memory.h>
#include <rdmadump/owner.h>
#include <stdlib.h>
#include <string.h>

#define QPS_MAX	    (1U << 18)
#define OWNERS_MAX  (1U << 14)
#define READ_MAX    1024 /* processes read per sample; the next sample reads the others */
#define BUCKETS	    32768
#define TRIES	    4	 /* samples that try to read an environment: privileges may change */
#define FORGET_FROM 4096 /* QPs: fewer are not worth the time */
#define ROOM	    (OWNERS_MAX / 4)   /* owners and pids: fewer are too few for what comes next */
#define CLOCK_NS    UINT64_C(20000000) /* frames: 5 ms, and a delay of 15 ms (architecture.md) */

struct owned {
	struct rd_owned_qp qp;
	uint32_t owner; /* number of it, from 1 */
	uint32_t next,
		sibling;    /* next in the bucket, next of the same owner; from 1; 0: the last */
	uint64_t key;	    /* of events, until it is destroyed; 0: none */
	uint32_t next_live; /* in the bucket of the key */
};

struct owner {
	struct rd_process who;
	uint32_t first, n_qps;
	uint32_t next; /* in the bucket; from 1; 0: the last */
};

/* A pid as the kernel lists it: of a process or a thread. */
struct listed {
	uint32_t pid, owner; /* owner 0: could not be read */
	uint64_t start_ticks;
	uint32_t sample; /* sample in which it was last listed */
	uint32_t tries;
	uint32_t next;
};

struct rd_owners {
	struct owned *qps;
	struct owner *owners;
	struct listed *pids;
	uint32_t n_qps, n_owners, n_pids;
	uint32_t qp_of[BUCKETS], pid_of[BUCKETS], live_of[BUCKETS], owner_of[BUCKETS];
	uint32_t n_samples, read; /* read: processes in this sample */
	uint64_t last_ns, interval_ns;
	uint32_t forget_at;   /* so many QPs; 0: FORGET_FROM */
	uint32_t kept_owners; /* by the last forgetting */
	bool watched;
	uint64_t lost, no_room; /* events */
	uint64_t since_ns;	/* of the first sample */
	struct rd_clock clock;	/* of all times */
	bool clock_read;
	int64_t behind_ns, ahead_ns; /* a clock's time less the monotonic one: least and most */
};

struct sample {
	const char *root;
	uint64_t ticks, ns; /* when the list was begun */
};

struct rd_owners *rd_owners_new(const struct rd_clock *clock)
{
	struct rd_owners *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->clock = *clock;
	o->behind_ns = o->ahead_ns = (int64_t)clock->epoch_ns;
	return o;
}

void rd_owners_free(struct rd_owners *o)
{
	if (!o)
		return;
	free(o->qps);
	free(o->owners);
	free(o->pids);
	free(o);
}

static uint32_t *owner_bucket(struct rd_owners *o, const struct rd_process *who)
{
	return &o->owner_of[rd_hash2(who->pid, who->start_ticks) % BUCKETS];
}

/* Owner `number`, from 1, into its bucket. */
static void link_owner(struct rd_owners *o, uint32_t number)
{
	struct owner *owner = &o->owners[number - 1];
	uint32_t *head = owner_bucket(o, &owner->who);

	owner->next = *head;
	*head = number;
}

/* The number of a new owner; 0: out of memory. */
static uint32_t owner_add(struct rd_owners *o, const struct rd_process *who)
{
	struct owner *owner;

	if (o->n_owners == OWNERS_MAX)
		return 0;
	owner = rd_append(&o->owners, o->n_owners, sizeof(*owner));
	if (!owner)
		return 0;
	owner->who = *who;
	link_owner(o, ++o->n_owners);
	return o->n_owners;
}

static bool is_same(const struct rd_process *a, const struct rd_process *b)
{
	return a->pid == b->pid && a->start_ticks == b->start_ticks &&
	       (a->pid || (a->service_port == b->service_port && !strcmp(a->comm, b->comm)));
}

static uint32_t owner_find(struct rd_owners *o, const struct rd_process *who)
{
	for (uint32_t i = *owner_bucket(o, who); i; i = o->owners[i - 1].next)
		if (is_same(&o->owners[i - 1].who, who))
			return i;
	return 0;
}

static uint32_t owner_of(struct rd_owners *o, const struct rd_process *who)
{
	uint32_t known = owner_find(o, who);
	struct rd_process *was;

	if (!known)
		return owner_add(o, who);
	was = &o->owners[known - 1].who;
	if (who->has_environ != was->has_environ ? who->has_environ : *who->cgroup && !*was->cgroup)
		*was = *who;
	return known;
}

static struct listed *pid_find(struct rd_owners *o, uint32_t pid)
{
	uint32_t *head = &o->pid_of[rd_hash2(pid, 0) % BUCKETS];
	struct listed *l;

	for (uint32_t i = *head; i; i = o->pids[i - 1].next)
		if (o->pids[i - 1].pid == pid)
			return &o->pids[i - 1];
	if (o->n_pids == 2 * OWNERS_MAX)
		return NULL;
	l = rd_append(&o->pids, o->n_pids, sizeof(*l));
	if (!l)
		return NULL;
	l->pid = pid;
	l->next = *head;
	*head = ++o->n_pids;
	return l;
}

/*
 * The process with this pid, if it is still the one from the time of the list. The start time of
 * the listed task is read after the process, so that a reused thread id is detected as well.
 */
static uint32_t read_owner(struct rd_owners *o, const struct sample *s, struct listed *l)
{
	struct rd_process who;
	uint64_t start;

	if (o->read == READ_MAX)
		return 0;
	o->read++;
	if (rd_process_read(s->root, l->pid, &o->clock, &who) || who.start_ticks > s->ticks ||
		rd_process_start(s->root, l->pid, &start) || start > s->ticks)
		return 0;
	l->start_ticks = start;
	return owner_of(o, &who);
}

static bool is_to_be_read(const struct rd_owners *o, const struct sample *s, struct listed *l)
{
	uint64_t start;

	if (!l->owner || rd_process_start(s->root, l->pid, &start) || start != l->start_ticks) {
		l->tries = 0;
		l->owner = 0;
		return true;
	}
	/* New processes come first. */
	return !o->owners[l->owner - 1].who.has_environ && l->tries < TRIES &&
	       o->read < READ_MAX / 2;
}

static uint32_t process_of(struct rd_owners *o, const struct sample *s, uint32_t pid)
{
	struct listed *l = pid_find(o, pid);
	uint32_t now;

	if (!l || l->sample == o->n_samples)
		return l ? l->owner : 0;
	l->sample = o->n_samples;
	if (is_to_be_read(o, s, l)) {
		l->tries++;
		now = read_owner(o, s, l);
		l->owner = now ? now : l->owner;
	}
	return l->owner;
}

static uint32_t kernel_of(struct rd_owners *o, const char *module, uint16_t service_port)
{
	struct rd_process who = {.service_port = service_port};

	if (!*module) /* the process has ended, or is in another PID namespace */
		return 0;
	memcpy(who.comm, module, strnlen(module, sizeof(who.comm) - 1));
	return owner_of(o, &who);
}

/* Into its bucket, and to its owner's others. */
static void link_qp(struct rd_owners *o, uint32_t index)
{
	struct owned *q = &o->qps[index];
	struct owner *owner = &o->owners[q->owner - 1];
	uint32_t *head = &o->qp_of[rd_hash2(q->qp.lqpn, q->owner) % BUCKETS];

	q->next = *head;
	q->sibling = owner->first;
	*head = owner->first = index + 1;
	owner->n_qps++;
}

static struct owned *qp_find(struct rd_owners *o, uint32_t lqpn, uint32_t owner)
{
	const uint32_t *head = &o->qp_of[rd_hash2(lqpn, owner) % BUCKETS];
	struct owned *q;

	for (uint32_t i = *head; i; i = o->qps[i - 1].next)
		if (o->qps[i - 1].qp.lqpn == lqpn && o->qps[i - 1].owner == owner)
			return &o->qps[i - 1];
	if (o->n_qps == QPS_MAX)
		return NULL;
	q = rd_append(&o->qps, o->n_qps, sizeof(*q));
	if (!q)
		return NULL;
	q->qp.lqpn = lqpn;
	q->owner = owner;
	link_qp(o, o->n_qps++);
	return q;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* --- events ----------------------------------------------------------------------------------- */

static uint32_t *live_bucket(struct rd_owners *o, uint64_t key)
{
	return &o->live_of[rd_hash2((uint32_t)key, (uint32_t)(key >> 32)) % BUCKETS];
}

/* The QP with this key, which has none from now on; NULL: it is not known. */
static struct owned *live_take(struct rd_owners *o, uint64_t key)
{
	for (uint32_t *at = live_bucket(o, key); *at; at = &o->qps[*at - 1].next_live) {
		struct owned *q = &o->qps[*at - 1];

		if (q->key != key)
			continue;
		*at = q->next_live;
		q->key = 0;
		return q;
	}
	return NULL;
}

static void live_add(struct rd_owners *o, struct owned *q, uint64_t key)
{
	uint32_t *head = live_bucket(o, key);

	q->key = key;
	q->next_live = *head;
	*head = (uint32_t)(q - o->qps) + 1;
}

static void set_peer(struct rd_owners *o, const struct rd_qp_event *event)
{
	for (uint32_t i = *live_bucket(o, event->key); i; i = o->qps[i - 1].next_live)
		if (o->qps[i - 1].key == event->key && o->qps[i - 1].qp.lqpn == event->lqpn)
			o->qps[i - 1].qp.rqpn = event->rqpn;
}

void rd_owners_event(struct rd_owners *o, unsigned int port, const struct rd_qp_event *event,
	const struct rd_process *who)
{
	struct owned *q;
	uint32_t owner;

	if (event->kind == RD_QP_CONNECTED) {
		set_peer(o, event);
		return;
	}
	/* The key of a QP whose end was not reported may be another's now. */
	q = live_take(o, event->key);
	if (event->kind == RD_QP_DESTROYED) {
		if (q)
			q->qp.last_ns = later(q->qp.last_ns, event->time_ns);
		return;
	}
	if (event->port && event->port != port)
		return;
	owner = owner_of(o, who);
	q = owner ? qp_find(o, event->lqpn, owner) : NULL;
	if (!q) {
		o->no_room++;
		return;
	}
	if (q->key)
		live_take(o, q->key);
	live_add(o, q, event->key);
	if (!q->qp.first_ns || q->qp.first_ns > event->time_ns)
		q->qp.first_ns = event->time_ns;
	q->qp.last_ns = later(q->qp.last_ns, event->time_ns);
}

void rd_owners_watched(struct rd_owners *o, uint64_t lost)
{
	o->watched = true;
	o->lost = lost;
}

/* --- clocks ----------------------------------------------------------------------------------- */

void rd_owners_frame_clock(struct rd_owners *o, uint64_t frame_ns, uint64_t monotonic_ns)
{
	int64_t epoch_ns = (int64_t)(frame_ns - monotonic_ns);

	o->clock_read = true;
	o->behind_ns = RD_MIN(o->behind_ns, epoch_ns);
	o->ahead_ns = RD_MAX(o->ahead_ns, epoch_ns);
}

uint64_t rd_owners_now(const struct rd_owners *o)
{
	return rd_clock_now(&o->clock);
}

/* --- forgetting ------------------------------------------------------------------------------- */

/* Moves those that are kept to the beginning. */
static void keep_qps(struct rd_owners *o, uint64_t before_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < o->n_qps; i++)
		if (o->qps[i].key || o->qps[i].qp.last_ns >= before_ns)
			o->qps[kept++] = o->qps[i];
	o->n_qps = kept;
}

/* Moves those that have QPs to the beginning; `moved`: the new number of each old one. */
static void keep_owners(struct rd_owners *o, uint32_t *moved)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < o->n_qps; i++)
		moved[o->qps[i].owner - 1] = 1;
	memset(o->owner_of, 0, sizeof(o->owner_of));
	for (uint32_t i = 0; i < o->n_owners; i++) {
		if (!moved[i])
			continue;
		o->owners[kept] = (struct owner){.who = o->owners[i].who};
		moved[i] = ++kept;
		link_owner(o, kept);
	}
	o->n_owners = o->kept_owners = kept;
}

/*
 * Whether there is so much that it is worth the time, which each QP costs; or there will soon be no
 * room for another process, and at least half of what was free has been used since the last time.
 */
static bool is_worth(const struct rd_owners *o)
{
	const uint32_t owners = OWNERS_MAX - o->n_owners, free = OWNERS_MAX - o->kept_owners;

	return o->n_qps >= (o->forget_at ? o->forget_at : FORGET_FROM) ||
	       (owners < ROOM && owners <= free / 2) || 2 * OWNERS_MAX - o->n_pids < ROOM;
}

void rd_owners_forget(struct rd_owners *o, uint64_t before_ns)
{
	uint32_t *moved;

	if (!is_worth(o))
		return;
	moved = calloc(o->n_owners, sizeof(*moved));
	if (!moved)
		return;
	keep_qps(o, before_ns);
	keep_owners(o, moved);
	memset(o->qp_of, 0, sizeof(o->qp_of));
	memset(o->live_of, 0, sizeof(o->live_of));
	for (uint32_t i = 0; i < o->n_qps; i++) {
		o->qps[i].owner = moved[o->qps[i].owner - 1];
		link_qp(o, i);
		if (o->qps[i].key)
			live_add(o, &o->qps[i], o->qps[i].key);
	}
	free(moved);
	/* They are read again. */
	o->n_pids = 0;
	memset(o->pid_of, 0, sizeof(o->pid_of));
	/* Not again before the number of QPs has doubled: each time, all of them are read. */
	o->forget_at = o->n_qps * 2 > FORGET_FROM ? o->n_qps * 2 : FORGET_FROM;
	o->forget_at = RD_MIN(o->forget_at, QPS_MAX);
}

/* --- samples ---------------------------------------------------------------------------------- */

void rd_owners_add(struct rd_owners *o, const char *root, unsigned int port,
	const struct rd_resources *list, uint64_t ticks, uint64_t ns)
{
	const struct sample s = {root, ticks, ns};

	if (o->n_samples && ns > o->last_ns && ns - o->last_ns > o->interval_ns)
		o->interval_ns = ns - o->last_ns;
	o->last_ns = ns;
	if (!o->n_samples++)
		o->since_ns = ns;
	o->read = 0;
	for (size_t i = 0; i < list->n_qps; i++) {
		const struct rd_qp_res *r = &list->qps[i];
		struct owned *q;
		uint32_t owner;

		if (r->port && r->port != port)
			continue;
		owner = r->pid ? process_of(o, &s, r->pid) : kernel_of(o, r->comm, r->service_port);
		q = owner ? qp_find(o, r->lqpn, owner) : NULL;
		if (!q)
			continue;
		if (!q->qp.first_ns)
			q->qp.first_ns = ns;
		q->qp.last_ns = later(q->qp.last_ns, ns);
		if (r->has_rqpn && r->rqpn)
			q->qp.rqpn = r->rqpn;
	}
}

struct rd_owners_worth rd_owners_worth(const struct rd_owners *o)
{
	return (struct rd_owners_worth){.samples = o->n_samples,
		.since_ns = o->since_ns,
		.interval_ns = o->interval_ns,
		.watched = o->watched,
		.lost = o->lost + o->no_room,
		.clock_known = o->clock_read,
		.clock_error_ns = CLOCK_NS + (uint64_t)(o->ahead_ns - o->behind_ns)};
}

const struct rd_process *rd_owners_get(const struct rd_owners *o, size_t nth, size_t *n_qps)
{
	if (nth >= o->n_owners)
		return NULL;
	*n_qps = o->owners[nth].n_qps;
	return &o->owners[nth].who;
}

void rd_owners_qps(const struct rd_owners *o, size_t nth, struct rd_owned_qp *qps)
{
	uint32_t at = o->owners[nth].first;

	for (size_t i = 0; i < o->owners[nth].n_qps; i++, at = o->qps[at - 1].sibling)
		qps[i] = o->qps[at - 1].qp;
}
