/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which process had which QP, collected from lists of QPs that are read again and again, and from
 * events between them. Of a known process only its start time is read again, which tells whether
 * its pid was reused.
 */
#include <rdmadump/array.h>
#include <rdmadump/hash.h>
#include <rdmadump/owner.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define QPS_MAX	    (1U << 18)
#define OWNERS_MAX  (1U << 14)
#define READ_MAX    1024 /* processes read per sample; the next sample reads the others */
#define BUCKETS	    32768
#define TRIES	    4	 /* samples that try to read an environment: privileges may change */
#define FORGET_FROM 4096 /* QPs: fewer are not worth the time */
#define ROOM	    (OWNERS_MAX / 4)   /* owners and pids: fewer are too few for what comes next */
#define CLOCK_NS    UINT64_C(20000000) /* frames: 5 ms, and a delay of 15 ms (architecture.md) */

LIST_HEAD(owned_list, owned);
LIST_HEAD(owner_list, owner);
LIST_HEAD(listed_list, listed);

struct owned {
	struct rd_owned_qp qp;
	struct owner *owner;
	uint64_t key; /* of events, until it is destroyed; 0: none */
	LIST_ENTRY(owned) of_number, of_owner, of_key;
};

struct owner {
	struct rd_process who; /* first: all that callers see of it */
	struct owned_list qps;
	uint32_t n_qps;
	LIST_ENTRY(owner) of_who;
	TAILQ_ENTRY(owner) of_all;
};

/* A pid as the kernel lists it: of a process or a thread. */
struct listed {
	uint32_t pid;
	uint32_t sample; /* sample in which it was last listed */
	uint32_t tries;
	struct owner *owner; /* NULL: could not be read */
	uint64_t start_ticks;
	LIST_ENTRY(listed) of_pid;
};

struct rd_owners {
	TAILQ_HEAD(, owner) owners;
	uint32_t n_qps, n_owners, n_pids;
	struct owned_list qp_of[BUCKETS], live_of[BUCKETS]; /* by number and owner, by key */
	struct owner_list owner_of[BUCKETS];
	struct listed_list pid_of[BUCKETS];
	uint32_t n_samples, read; /* read: processes in this sample */
	uint64_t last_ns, interval_ns;
	uint32_t forget_at;   /* so many QPs */
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
	TAILQ_INIT(&o->owners);
	o->forget_at = FORGET_FROM;
	o->clock = *clock;
	o->behind_ns = o->ahead_ns = (int64_t)clock->epoch_ns;
	return o;
}

static bool is_same(const struct rd_process *a, const struct rd_process *b)
{
	return a->pid == b->pid && a->start_ticks == b->start_ticks &&
	       (a->pid || (a->service_port == b->service_port && !strcmp(a->comm, b->comm)));
}

/* NULL: out of memory. */
static struct owner *owner_of(struct rd_owners *o, const struct rd_process *who)
{
	struct owner_list *head = &o->owner_of[rd_hash2(who->pid, who->start_ticks) % BUCKETS];
	struct owner *owner;

	LIST_FOREACH (owner, head, of_who) {
		struct rd_process *was = &owner->who;

		if (!is_same(was, who))
			continue;
		if (who->has_environ != was->has_environ ? who->has_environ
							 : *who->cgroup && !*was->cgroup)
			*was = *who;
		return owner;
	}
	owner = o->n_owners < OWNERS_MAX ? calloc(1, sizeof(*owner)) : NULL;
	if (!owner)
		return NULL;
	owner->who = *who;
	LIST_INSERT_HEAD(head, owner, of_who);
	TAILQ_INSERT_TAIL(&o->owners, owner, of_all);
	o->n_owners++;
	return owner;
}

static struct listed *pid_find(struct rd_owners *o, uint32_t pid)
{
	struct listed_list *head = &o->pid_of[rd_hash2(pid, 0) % BUCKETS];
	struct listed *l;

	LIST_FOREACH (l, head, of_pid)
		if (l->pid == pid)
			return l;
	l = o->n_pids < 2 * OWNERS_MAX ? calloc(1, sizeof(*l)) : NULL;
	if (!l)
		return NULL;
	l->pid = pid;
	LIST_INSERT_HEAD(head, l, of_pid);
	o->n_pids++;
	return l;
}

/*
 * The process with this pid, if it is still the one from the time of the list. The start time of
 * the listed task is read after the process, so that a reused thread id is detected as well.
 */
static struct owner *read_owner(struct rd_owners *o, const struct sample *s, struct listed *l)
{
	struct rd_process who;
	uint64_t start;

	if (o->read == READ_MAX)
		return NULL;
	o->read++;
	if (rd_process_read(s->root, l->pid, &o->clock, &who) || who.start_ticks > s->ticks ||
		rd_process_start(s->root, l->pid, &start) || start > s->ticks)
		return NULL;
	l->start_ticks = start;
	return owner_of(o, &who);
}

static bool is_to_be_read(const struct rd_owners *o, const struct sample *s, struct listed *l)
{
	uint64_t start;

	if (!l->owner || rd_process_start(s->root, l->pid, &start) || start != l->start_ticks) {
		l->tries = 0;
		l->owner = NULL;
		return true;
	}
	/* New processes come first. */
	return !l->owner->who.has_environ && l->tries < TRIES && o->read < READ_MAX / 2;
}

static struct owner *process_of(struct rd_owners *o, const struct sample *s, uint32_t pid)
{
	struct listed *l = pid_find(o, pid);
	struct owner *now;

	if (!l || l->sample == o->n_samples)
		return l ? l->owner : NULL;
	l->sample = o->n_samples;
	if (is_to_be_read(o, s, l)) {
		l->tries++;
		now = read_owner(o, s, l);
		l->owner = now ? now : l->owner;
	}
	return l->owner;
}

static struct owner *kernel_of(struct rd_owners *o, const char *module, uint16_t service_port)
{
	struct rd_process who = {.service_port = service_port};

	if (!*module) /* the process has ended, or is in another PID namespace */
		return NULL;
	memcpy(who.comm, module, strnlen(module, sizeof(who.comm) - 1));
	return owner_of(o, &who);
}

static struct owned *qp_find(struct rd_owners *o, uint32_t lqpn, struct owner *owner)
{
	struct owned_list *head = &o->qp_of[rd_hash2(lqpn, (uintptr_t)owner) % BUCKETS];
	struct owned *q;

	LIST_FOREACH (q, head, of_number)
		if (q->qp.lqpn == lqpn && q->owner == owner)
			return q;
	q = o->n_qps < QPS_MAX ? calloc(1, sizeof(*q)) : NULL;
	if (!q)
		return NULL;
	q->qp.lqpn = lqpn;
	q->owner = owner;
	LIST_INSERT_HEAD(head, q, of_number);
	LIST_INSERT_HEAD(&owner->qps, q, of_owner);
	owner->n_qps++;
	o->n_qps++;
	return q;
}

/* --- events ----------------------------------------------------------------------------------- */

static struct owned_list *live_bucket(struct rd_owners *o, uint64_t key)
{
	return &o->live_of[rd_hash2((uint32_t)key, (uint32_t)(key >> 32)) % BUCKETS];
}

/* The QP with this key, which has none from now on; NULL: it is not known. */
static struct owned *live_take(struct rd_owners *o, uint64_t key)
{
	struct owned *q;

	LIST_FOREACH (q, live_bucket(o, key), of_key)
		if (q->key == key)
			break;
	if (q) {
		LIST_REMOVE(q, of_key);
		q->key = 0;
	}
	return q;
}

static void set_peer(struct rd_owners *o, const struct rd_qp_event *event)
{
	struct owned *q;

	LIST_FOREACH (q, live_bucket(o, event->key), of_key)
		if (q->key == event->key && q->qp.lqpn == event->lqpn)
			q->qp.rqpn = event->rqpn;
}

void rd_owners_event(struct rd_owners *o, unsigned int port, const struct rd_qp_event *event,
	const struct rd_process *who)
{
	struct owner *owner;
	struct owned *q;

	if (event->kind == RD_QP_CONNECTED) {
		set_peer(o, event);
		return;
	}
	/* The key of a QP whose end was not reported may be another's now. */
	q = live_take(o, event->key);
	if (event->kind == RD_QP_DESTROYED) {
		if (q)
			q->qp.last_ns = RD_MAX(q->qp.last_ns, event->time_ns);
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
		LIST_REMOVE(q, of_key);
	q->key = event->key;
	LIST_INSERT_HEAD(live_bucket(o, q->key), q, of_key);
	if (!q->qp.first_ns || q->qp.first_ns > event->time_ns)
		q->qp.first_ns = event->time_ns;
	q->qp.last_ns = RD_MAX(q->qp.last_ns, event->time_ns);
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

/* QPs that have ended before this time, and owners that have no other; UINT64_MAX: all. */
static void drop(struct rd_owners *o, uint64_t before_ns)
{
	struct owned *q, *next_q;

	for (struct owner *owner = TAILQ_FIRST(&o->owners), *next; owner; owner = next) {
		next = TAILQ_NEXT(owner, of_all);
		for (q = LIST_FIRST(&owner->qps); q; q = next_q) {
			next_q = LIST_NEXT(q, of_owner);
			if ((q->key && before_ns != UINT64_MAX) || q->qp.last_ns >= before_ns)
				continue;
			LIST_REMOVE(q, of_number);
			LIST_REMOVE(q, of_owner);
			owner->n_qps--;
			o->n_qps--;
			free(q);
		}
		if (owner->n_qps)
			continue;
		LIST_REMOVE(owner, of_who);
		TAILQ_REMOVE(&o->owners, owner, of_all);
		o->n_owners--;
		free(owner);
	}
}

/* They are read again. */
static void drop_pids(struct rd_owners *o)
{
	struct listed *l;

	for (unsigned int i = 0; i < BUCKETS; i++)
		while ((l = LIST_FIRST(&o->pid_of[i]))) {
			LIST_REMOVE(l, of_pid);
			free(l);
		}
	o->n_pids = 0;
}

/*
 * Whether there is so much that it is worth the time, which each QP costs; or there will soon be no
 * room for another process, and at least half of what was free has been used since the last time.
 */
static bool is_worth(const struct rd_owners *o)
{
	const uint32_t owners = OWNERS_MAX - o->n_owners, free = OWNERS_MAX - o->kept_owners;

	return o->n_qps >= o->forget_at || (owners < ROOM && owners <= free / 2) ||
	       2 * OWNERS_MAX - o->n_pids < ROOM;
}

void rd_owners_forget(struct rd_owners *o, uint64_t before_ns)
{
	if (!is_worth(o))
		return;
	drop(o, before_ns);
	drop_pids(o);
	o->kept_owners = o->n_owners;
	/* Not again before the number of QPs has doubled: each time, all of them are read. */
	o->forget_at = RD_MAX(o->n_qps * 2, FORGET_FROM);
	o->forget_at = RD_MIN(o->forget_at, QPS_MAX);
}

void rd_owners_free(struct rd_owners *o)
{
	if (!o)
		return;
	drop(o, UINT64_MAX);
	drop_pids(o);
	free(o);
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
		struct owner *owner;
		struct owned *q;

		if (r->port && r->port != port)
			continue;
		owner = r->pid ? process_of(o, &s, r->pid) : kernel_of(o, r->comm, r->service_port);
		q = owner ? qp_find(o, r->lqpn, owner) : NULL;
		if (!q)
			continue;
		if (!q->qp.first_ns)
			q->qp.first_ns = ns;
		q->qp.last_ns = RD_MAX(q->qp.last_ns, ns);
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

const struct rd_process *rd_owners_next(
	const struct rd_owners *o, const struct rd_process *after, size_t *n_qps)
{
	const struct owner *owner = (const void *)after;

	owner = owner ? TAILQ_NEXT(owner, of_all) : TAILQ_FIRST(&o->owners);
	if (!owner)
		return NULL;
	*n_qps = owner->n_qps;
	return &owner->who;
}

void rd_owners_qps(const struct rd_process *who, struct rd_owned_qp *qps)
{
	const struct owner *owner = (const void *)who;
	const struct owned *q;

	LIST_FOREACH (q, &owner->qps, of_owner)
		*qps++ = q->qp;
}
