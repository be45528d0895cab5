/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which application a flow belongs to, and the replies to its requests. */
#include "app.h"
#include "pair.h"
#include <rdmadump/hash.h>
#include <stdlib.h>

#define TRIES	   8 /* SENDs of a flow after which it is none that is known */
#define OPEN_FIRST 8

/* --- operations ------------------------------------------------------------------------------- */

/* NULL: out of memory. The last one that there is room for stands for all others. */
static struct app_operation *operation_of(
	struct rd_analysis *a, struct app_queue *q, uint64_t operation)
{
	for (unsigned int i = 0; i < q->n_operations; i++)
		if (q->operations[i].operation == operation)
			return &q->operations[i];
	if (q->n_operations == APP_OPERATIONS - 1 || !a->app_budget.operations) {
		if (operation != APP_OTHERS)
			return operation_of(a, q, APP_OTHERS);
	} else {
		a->app_budget.operations--;
	}
	if (q->n_operations == q->operations_capacity) {
		unsigned int capacity = q->operations_capacity ? q->operations_capacity * 2U : 2;
		struct app_operation *list = reallocarray(q->operations, capacity, sizeof(*list));

		if (!list)
			return NULL;
		q->operations = list;
		q->operations_capacity = (uint8_t)capacity;
	}
	q->operations[q->n_operations] = (struct app_operation){.operation = operation};
	return &q->operations[q->n_operations++];
}

static void data_add(struct rd_app_data *d, uint32_t bytes)
{
	if (!d->n++ || bytes < d->smallest)
		d->smallest = bytes;
	if (bytes > d->largest)
		d->largest = bytes;
	d->bytes += bytes;
}

static void status_add(
	struct rd_analysis *a, struct app_queue *q, uint64_t operation, uint32_t code)
{
	struct app_status *s = NULL;

	for (unsigned int i = 0; i < q->n_statuses && !s; i++)
		if (q->statuses[i].operation == operation && q->statuses[i].code == code)
			s = &q->statuses[i];
	if (!s && q->n_statuses == APP_STATUSES)
		return;
	if (!q->statuses) {
		q->statuses = calloc(APP_STATUSES, sizeof(*q->statuses));
		if (!q->statuses) {
			a->out_of_memory = true;
			return;
		}
	}
	if (!s) {
		s = &q->statuses[q->n_statuses++];
		*s = (struct app_status){.operation = operation, .code = code};
	}
	incident_add(&s->replies, 1, a->frame, a->ns);
}

static void slow_add(struct app_queue *q, const struct app_slow *slow)
{
	unsigned int at = q->n_slowest;

	while (at && q->slowest[at - 1].ns < slow->ns)
		at--;
	if (at == RD_APP_SLOWEST)
		return;
	if (q->n_slowest < RD_APP_SLOWEST)
		q->n_slowest++;
	memmove(&q->slowest[at + 1], &q->slowest[at],
		(q->n_slowest - at - 1) * sizeof(q->slowest[0]));
	q->slowest[at] = *slow;
}

/* --- open requests ---------------------------------------------------------------------------- */

static uint32_t open_slot(const struct app_queue *q, uint32_t id, bool server)
{
	uint32_t i = (uint32_t)rd_hash2(id, server) & q->open_mask;

	while (q->open[i].used && (q->open[i].id != id || q->open[i].server != server))
		i = (i + 1) & q->open_mask;
	return i;
}

/* Removes a slot, and moves up the following ones that were displaced by a collision. */
static void open_remove(struct app_queue *q, uint32_t hole)
{
	uint32_t i = hole;

	for (;;) {
		uint32_t home;

		q->open[hole].used = false;
		do {
			i = (i + 1) & q->open_mask;
			if (!q->open[i].used) {
				q->n_open--;
				return;
			}
			home = (uint32_t)rd_hash2(q->open[i].id, q->open[i].server) & q->open_mask;
		} while (((i - home) & q->open_mask) < ((i - hole) & q->open_mask));
		q->open[hole] = q->open[i];
		hole = i;
	}
}

/* Room for one more request. */
static bool open_grow(struct rd_analysis *a, struct app_queue *q)
{
	uint32_t capacity = q->open ? (q->open_mask + 1) * 2 : OPEN_FIRST, n = q->open_mask + 1;
	struct app_open *old = q->open, *list;

	if (old && q->n_open * 2 < n)
		return true;
	if (q->n_open >= APP_OPEN_MAX)
		return false;
	list = capacity <= a->app_budget.open ? calloc(capacity, sizeof(*list)) : NULL;
	if (!list) /* one slot stays free: it ends searches */
		return old && q->n_open < q->open_mask;
	a->app_budget.open -= capacity;
	q->open = list;
	q->open_mask = capacity - 1;
	for (uint32_t i = 0; old && i < n; i++)
		if (old[i].used)
			list[open_slot(q, old[i].id, old[i].server)] = old[i];
	if (old)
		a->app_budget.open += n;
	free(old);
	return true;
}

/* The connection ended: its requests will have no reply. */
static void open_clear(struct app_queue *q)
{
	for (uint32_t i = 0; q->open && i <= q->open_mask; i++) {
		if (q->open[i].used)
			q->operations[q->open[i].operation].open++;
		q->open[i].used = false;
	}
	q->n_open = 0;
}

/*
 * Whether a request and its reply, both of this connection, may not belong together: after the
 * request its sender sent packets that were not captured, which may have had the same identifier,
 * and so did the other end, whose packets may have had the first one's reply.
 */
static bool is_doubtful(const struct flow *from, const struct flow *to, const struct app_open *o)
{
	const struct seq *sent = from && from->trouble ? &from->trouble->seen : NULL;
	const struct seq *back = to && to->trouble ? &to->trouble->seen : NULL;

	return sent && back && sent->n_holes && back->n_holes &&
	       psn_diff(sent->holes[sent->n_holes - 1].psn, o->psn) > 0;
}

/* --- messages --------------------------------------------------------------------------------- */

static void request_opens(struct rd_analysis *a, struct app_queue *q, const struct item *it,
	bool server, const struct app_message *m)
{
	struct app_operation *op = operation_of(a, q, m->operation);
	uint32_t i = q->open ? open_slot(q, m->id, server) : 0;

	if (!op) {
		a->out_of_memory = true;
		return;
	}
	op->requests++;
	op->waits |= m->waits;
	if (m->data != APP_NO_DATA)
		data_add(m->data == APP_INLINE ? &op->inlined : &op->keyed, m->bytes);
	if (q->open && q->open[i].used) {
		q->operations[q->open[i].operation].unanswered++;
	} else if (open_grow(a, q)) {
		i = open_slot(q, m->id, server);
		q->n_open++;
	} else {
		q->not_followed++;
		return;
	}
	q->open[i] = (struct app_open){.ns = it->ns,
		.frame = it->frame,
		.id = m->id,
		.psn = it->p->psn,
		.operation = (uint8_t)(op - q->operations),
		.server = server,
		.used = true};
}

static void time_take(struct rd_analysis *a, struct app_queue *q, struct app_operation *op,
	const struct app_open *o, const struct item *it)
{
	const struct flow *from = o->server ? q->server : q->client;
	const struct flow *to = o->server ? q->client : q->server;
	uint64_t ns = it->ns - o->ns;

	if (it->ns < o->ns || is_doubtful(from, to, o)) {
		op->untimed++;
		return;
	}
	if (!samples_add(&op->latency, ns, &a->app_budget.samples))
		a->out_of_memory = true;
	if (ns >= op->slowest_ns) {
		op->slowest_ns = ns;
		op->slowest_frame = o->frame;
		op->slowest_reply_frame = it->frame;
	}
	if (!op->waits)
		slow_add(q, &(struct app_slow){ns, o->frame, it->frame, op->operation});
}

/* False: it is a reply to no open request. */
static bool reply_closes(struct rd_analysis *a, struct app_queue *q, const struct item *it,
	bool server, const struct app_message *m)
{
	uint32_t i = q->open ? open_slot(q, m->id, !server) : 0;
	struct app_operation *op;

	if (!q->open || !q->open[i].used)
		return false;
	op = &q->operations[q->open[i].operation];
	op->replies++;
	q->signs |= RD_APP_BY_BYTES;
	if (m->status) {
		op->errors++;
		status_add(a, q, op->operation, m->status);
	}
	time_take(a, q, op, &q->open[i], it);
	open_remove(q, i);
	return true;
}

static void message_take(
	struct rd_analysis *a, struct app_queue *q, const struct flow *f, const struct item *it)
{
	const struct app_bytes b = app_bytes_of(it->p);
	bool client = f == q->client, any;
	struct app_message m = {0};

	if (q->app->strong && !(q->signs & RD_APP_BY_BYTES) && q->app->recognize(&b, &any))
		q->signs |= RD_APP_BY_BYTES;
	q->messages++;
	switch (q->app->read(&b, client, &q->queue, &m)) {
	case APP_UNREADABLE:
		q->unreadable++;
		break;
	case APP_MISFIT:
		q->misfits++;
		break;
	case APP_REQUEST:
		request_opens(a, q, it, !client, &m);
		break;
	case APP_REPLY:
		q->unmatched += !reply_closes(a, q, it, !client, &m);
		break;
	case APP_EITHER:
		if (!reply_closes(a, q, it, !client, &m))
			request_opens(a, q, it, !client, &m);
		break;
	default:
		break;
	}
}

/* --- which application ------------------------------------------------------------------------ */

static void queue_free(struct app_queue *q)
{
	for (unsigned int i = 0; i < q->n_operations; i++)
		samples_free(&q->operations[i].latency);
	free(q->operations);
	free(q->statuses);
	free(q->open);
	free(q);
}

void app_leave(struct flow *f)
{
	if (f->app && f->app != &app_none && !--f->app->users)
		queue_free(f->app);
	f->app = NULL;
}

static void join(struct app_queue *q, struct flow *f, bool client)
{
	app_leave(f);
	f->app = q;
	q->users++;
	*(client ? &q->client : &q->server) = f;
}

/* What the CM's REQ says of it. */
static const struct app *asked_for(
	const struct rd_analysis *a, const struct flow *f, const struct link_pair **link)
{
	*link = pair_link_of(a, f);
	if (!*link || (*link)->how != RD_PAIR_CM || !(*link)->made.app)
		return NULL;
	return apps[(*link)->made.app - 1];
}

static const struct app *recognized(const struct item *it, bool *client)
{
	const struct app_bytes b = app_bytes_of(it->p);

	for (unsigned int i = 0; i < APPS; i++)
		if (apps[i]->recognize(&b, client))
			return apps[i];
	return NULL;
}

static uint64_t sends_of(const struct flow *f)
{
	unsigned int at = f->req.verb_at[RD_VERB_SEND];

	return at ? f->req.verbs[at - 1].messages : 0;
}

/* A flow without an application: one begins, or it has none that is known. */
static void begin(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	const struct link_pair *link;
	const struct app *app = asked_for(a, f, &link);
	bool client = app && link->asks, by_cm = app;
	struct flow *peer = f->pair.peer;
	struct app_queue *q;

	if (peer && peer->app && peer->app != &app_none) {
		join(peer->app, f, peer != peer->app->client);
		return;
	}
	if (!app)
		app = recognized(it, &client);
	q = app ? calloc(1, sizeof(*q)) : NULL;
	a->out_of_memory |= app && !q;
	if (q) {
		q->app = app;
		join(q, f, client);
	} else if (sends_of(f) >= TRIES || f->id.transport != RD_RC) {
		f->app = &app_none;
	}
	if (q && by_cm) {
		q->signs = link->made.app_signs;
		q->port = link->made.port;
		q->queue = link->made.queue;
	}
}

/* The QP has a new connection, of the same application or of another one. */
static void restart(struct rd_analysis *a, struct flow *f)
{
	struct app_queue *q = f->app;
	const struct link_pair *link;
	const struct app *app = asked_for(a, f, &link);

	q->restarted = false;
	open_clear(q);
	if (!app)
		return;
	if (app != q->app) {
		if (f->pair.peer && f->pair.peer->app == q)
			app_leave(f->pair.peer);
		app_leave(f);
		return;
	}
	q->signs |= link->made.app_signs;
	q->port = link->made.port;
	if (link->made.queue.known)
		q->queue = link->made.queue;
}

/* Nothing but the format of one message was a sign of it, and most others have another one. */
static bool was_no_application(const struct app_queue *q)
{
	return !q->signs && q->misfits >= TRIES;
}

void app_send(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	struct flow *peer = f->pair.peer;

	if (f->app && f->app->restarted)
		restart(a, f);
	if (!f->app)
		begin(a, f, it);
	if (!f->app || f->app == &app_none)
		return;
	if (peer && peer->app != f->app)
		join(f->app, peer, f != f->app->client);
	message_take(a, f->app, f, it);
	if (was_no_application(f->app)) {
		app_leave(f);
		f->app = &app_none;
	}
}

void apps_free(struct rd_analysis *a)
{
	for (size_t i = 0; i < a->flows.n; i++)
		if (a->flows.all[i])
			app_leave(a->flows.all[i]);
}

bool app_certainty(const struct app_queue *q, enum rd_certainty *certainty)
{
	bool asked = q->signs & (RD_APP_BY_PORT | RD_APP_BY_PRIVATE);
	bool fits = q->signs & RD_APP_BY_BYTES;
	/* Small messages of another program with this port may look like a request and its reply.
	 */
	bool proves = q->signs & RD_APP_BY_PRIVATE || q->app->strong;

	*certainty = RD_LIKELY;
	if (asked && fits && proves && !q->misfits)
		*certainty = RD_CERTAIN;
	else if ((asked && !fits && q->misfits) || q->misfits * 2 > q->messages)
		*certainty = RD_POSSIBLE;
	return asked || fits;
}
