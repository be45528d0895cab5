/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which application a flow belongs to, and the replies to its requests. */
#include "app.h"
#include <rdmadump/memory.h>
#include <stdlib.h>

#define TRIES 8 /* SENDs of a flow after which it is none that is known */

/* --- operations ------------------------------------------------------------------------------- */

/* NULL: out of memory. The last one that there is room for stands for all others. */
static struct app_operation *operation_of(
	struct rd_analysis *a, struct app_queue *q, uint64_t operation)
{
	struct app_operation *op =
		RD_FIND(known, q->operations, q->n_operations, known->operation == operation);

	if (op)
		return op;
	if (q->n_operations == APP_OPERATIONS - 1 || !a->app_budget.operations) {
		if (operation != APP_OTHERS)
			return operation_of(a, q, APP_OTHERS);
	} else {
		a->app_budget.operations--;
	}
	op = rd_append(&q->operations, q->n_operations, sizeof(*op));
	if (!op)
		return NULL;
	op->operation = operation;
	q->n_operations++;
	return op;
}

static void data_add(struct rd_app_data *d, uint32_t bytes)
{
	if (!d->n++ || bytes < d->smallest)
		d->smallest = bytes;
	d->largest = RD_MAX(d->largest, bytes);
	d->bytes += bytes;
}

static void status_add(
	struct rd_analysis *a, struct app_queue *q, uint64_t operation, uint32_t code)
{
	struct app_status *s = RD_FIND(known, q->statuses, q->n_statuses,
		known->operation == operation && known->code == code);

	if (!s && q->n_statuses == APP_STATUSES)
		return;
	if (!q->statuses)
		q->statuses = must(a, calloc(APP_STATUSES, sizeof(*q->statuses)));
	if (!q->statuses)
		return;
	if (!s) {
		s = &q->statuses[q->n_statuses++];
		*s = (struct app_status){.operation = operation, .code = code};
	}
	incident_add(&s->replies, 1, a->frame, a->ns);
}

void slow_add(struct rd_app_slow *list, unsigned int *n, const struct rd_app_slow *slow)
{
	unsigned int at = *n;

	while (at && list[at - 1].ns < slow->ns)
		at--;
	if (at == RD_APP_SLOWEST)
		return;
	if (*n < RD_APP_SLOWEST)
		++*n;
	memmove(&list[at + 1], &list[at], (*n - at - 1) * sizeof(*list));
	list[at] = *slow;
}

/* --- open requests ---------------------------------------------------------------------------- */

/* Room for one more; its memory stays when it has its reply. */
static bool open_has_room(struct rd_analysis *a, struct app_queue *q)
{
	if (q->open.free)
		return true;
	if (bounded_is_full(&q->open) || !a->app_budget.open)
		return false;
	a->app_budget.open--;
	return true;
}

/* The connection ended: its requests will have no reply. */
void app_close(struct app_queue *q)
{
	for (struct app_open *o; (o = bounded_oldest(&q->open)); bounded_remove(&q->open, o))
		q->operations[o->operation].open++;
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
	struct app_operation *op = must(a, operation_of(a, q, m->operation));
	struct app_open *o = bounded_find(&q->open, m->id, server);
	bool made;

	if (!op)
		return;
	op->requests++;
	op->waits |= m->waits;
	if (m->data != APP_NO_DATA)
		data_add(m->data == APP_INLINE ? &op->inlined : &op->keyed, m->bytes);
	if (o)
		q->operations[o->operation].unanswered++;
	else if (open_has_room(a, q))
		o = bounded_take(&q->open, m->id, server, &made);
	if (!o) {
		q->not_followed++;
		return;
	}
	*o = (struct app_open){.ns = it->ns,
		.frame = it->frame,
		.psn = it->p->psn,
		.operation = (uint8_t)(op - q->operations),
		.server = server};
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
		slow_add(q->slowest, &q->n_slowest,
			&(struct rd_app_slow){.ns = ns,
				.frame = o->frame,
				.reply_frame = it->frame,
				.code = op->operation});
}

/* False: it is a reply to no open request. */
static bool reply_closes(struct rd_analysis *a, struct app_queue *q, const struct item *it,
	bool server, const struct app_message *m)
{
	struct app_open *o = bounded_find(&q->open, m->id, !server);
	struct app_operation *op;

	if (!o)
		return false;
	op = &q->operations[o->operation];
	op->replies++;
	q->signs |= RD_APP_BY_BYTES;
	if (m->status) {
		op->errors++;
		status_add(a, q, op->operation, m->status);
	}
	time_take(a, q, op, o, it);
	bounded_remove(&q->open, o);
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
	bounded_free(&q->open);
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

/* Whether its connection was to another QP than `peer`. */
static bool is_former(const struct app_queue *q, const struct flow *f, const struct flow *peer)
{
	const struct flow *other = f == q->client ? q->server : q->client;

	return other && other != peer;
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

	if (peer && peer->app && peer->app != &app_none && !is_former(peer->app, peer, f)) {
		join(peer->app, f, peer != peer->app->client);
		return;
	}
	if (!app)
		app = recognized(it, &client);
	q = app ? must(a, calloc(1, sizeof(*q))) : NULL;
	if (q) {
		q->app = app;
		bounded_init(&q->open, APP_OPEN_MAX, sizeof(struct app_open));
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
	app_close(q);
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

void app_send(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	struct flow *peer = f->pair.peer;

	if (f->app && peer && is_former(f->app, f, peer))
		app_leave(f);
	if (f->app && f->app->restarted)
		restart(a, f);
	if (!f->app)
		begin(a, f, it);
	if (!f->app || f->app == &app_none)
		return;
	if (peer && peer->app != f->app)
		join(f->app, peer, f != f->app->client);
	message_take(a, f->app, f, it);
	/* Only the format of one message was a sign of it, and most others have another one. */
	if (!f->app->signs && f->app->misfits >= TRIES) {
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
	/* Small messages of other programs with this port may look like a request and its reply. */
	bool proves = q->signs & RD_APP_BY_PRIVATE || q->app->strong;

	*certainty = RD_LIKELY;
	if (asked && fits && proves && !q->misfits)
		*certainty = RD_CERTAIN;
	else if ((asked && !fits && q->misfits) || q->misfits * 2 > q->messages)
		*certainty = RD_POSSIBLE;
	return asked || fits;
}
