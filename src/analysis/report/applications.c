/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What was measured of applications: of one conversation, and of all that have the same one. */
#include "report.h"
#include <rdmadump/memory.h>
#include <stdlib.h>

#define OPERATIONS_MAX 256 /* of one application; names of further ones are "others" */
#define STATUSES_MAX   64

/* --- operations ------------------------------------------------------------------------------- */

static void operation_name(char *name, const struct app_queue *q, uint64_t operation)
{
	if (operation == APP_OTHERS)
		snprintf(name, RD_APP_NAME, "others");
	else
		q->app->operation(name, RD_APP_NAME, operation, &q->queue);
}

static const char *group_of(const struct app_queue *q, uint64_t operation)
{
	return q->app->group && operation != APP_OTHERS ? q->app->group(operation, &q->queue)
							: NULL;
}

/* Its number; SIZE_MAX: out of memory. Names of groups are static, so equal ones are the same. */
static size_t row_of(struct app_sum *s, const char *name, const char *group)
{
	struct rd_application *app = &s->app;
	struct rd_app_operation *op;
	size_t n = app->n_operations;

	for (size_t i = 0; i < n; i++)
		if (app->operations[i].group == group && !strcmp(app->operations[i].name, name))
			return i;
	if (n >= OPERATIONS_MAX && (group || strcmp(name, "others") != 0))
		return row_of(s, "others", NULL);
	op = rd_append(&app->operations, n, sizeof(*op));
	if (!op || !rd_append(&s->latencies, n, sizeof(*s->latencies)))
		return SIZE_MAX;
	op->group = group;
	snprintf(op->name, RD_APP_NAME, "%s", name);
	app->n_operations++;
	return n;
}

static void data_join(struct rd_app_data *to, const struct rd_app_data *from)
{
	if (!from->n)
		return;
	if (!to->n || from->smallest < to->smallest)
		to->smallest = from->smallest;
	to->largest = RD_MAX(to->largest, from->largest);
	to->n += from->n;
	to->bytes += from->bytes;
}

static bool operation_add(
	struct app_sum *s, const struct app_queue *q, const struct app_operation *from)
{
	char name[RD_APP_NAME];
	struct rd_app_operation *to;
	size_t row;

	operation_name(name, q, from->operation);
	row = row_of(s, name, group_of(q, from->operation));
	if (row == SIZE_MAX)
		return false;
	to = &s->app.operations[row];
	to->waits |= from->waits;
	to->requests += from->requests;
	to->replies += from->replies;
	to->open += from->open;
	to->unanswered += from->unanswered;
	to->errors += from->errors;
	to->untimed += from->untimed;
	data_join(&to->inlined, &from->inlined);
	data_join(&to->keyed, &from->keyed);
	if (from->latency.n && from->slowest_ns >= to->latency.max) {
		to->latency.max = from->slowest_ns;
		to->slowest_frame = from->slowest_frame;
		to->slowest_reply_frame = from->slowest_reply_frame;
	}
	return samples_join(&s->latencies[row], &from->latency);
}

/* --- errors ----------------------------------------------------------------- */

static bool status_add(
	struct rd_application *app, const struct app_queue *q, const struct app_status *from)
{
	struct rd_app_status made = {.code = from->code}, *added, *known;

	operation_name(made.operation, q, from->operation);
	q->app->status(made.name, RD_APP_NAME, from->operation, from->code);
	known = RD_FIND(s, app->statuses, app->n_statuses,
		s->code == made.code && !strcmp(s->operation, made.operation));
	if (known)
		incident_join(&known->replies, &from->replies);
	if (known || app->n_statuses == STATUSES_MAX)
		return true;
	added = rd_append(&app->statuses, app->n_statuses, sizeof(*added));
	if (!added)
		return false;
	made.replies = from->replies;
	*added = made;
	app->n_statuses++;
	return true;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* False if out of memory. */
static bool app_sum_add(struct app_sum *s, const struct app_queue *q)
{
	struct rd_application *app = &s->app;
	enum rd_certainty certainty;

	if (!app_certainty(q, &certainty))
		return true;
	if (!app->conversations || certainty < app->certainty)
		app->certainty = (uint8_t)certainty;
	app->key = q->app->key;
	app->name = q->app->name;
	app->requests = q->app->requests;
	app->signs |= q->signs;
	app->port = app->port ? app->port : q->port;
	app->conversations++;
	app->messages += q->messages;
	app->unreadable += q->unreadable;
	app->misfits += q->misfits;
	app->unmatched += q->unmatched;
	app->not_followed += q->not_followed;
	for (unsigned int i = 0; i < q->n_operations; i++)
		if (!operation_add(s, q, &q->operations[i]))
			return false;
	for (unsigned int i = 0; i < q->n_statuses; i++)
		if (!status_add(app, q, &q->statuses[i]))
			return false;
	for (unsigned int i = 0; i < q->n_slowest; i++) {
		struct rd_app_slow slow = q->slowest[i];

		operation_name(slow.operation, q, slow.code);
		slow_add(app->slowest, &app->n_slowest, &slow);
	}
	return true;
}

/* I/O before admin, then those with most requests. */
static int by_use(const void *x, const void *y)
{
	const struct rd_app_operation *a = x, *b = y;

	return strcmp(a->group ?: "", b->group ?: "") ?: RD_ORDER(b->requests, a->requests)
		?: strcmp(a->name, b->name);
}

bool app_sum_end(struct app_sum *s, struct rd_application *out)
{
	for (size_t i = 0; i < s->app.n_operations; i++) {
		struct rd_app_operation *op = &s->app.operations[i];

		op->latency_sum = s->latencies[i].sum;
		if (!samples_result(&s->latencies[i], &op->latency, &op->exact))
			return false;
	}
	if (s->app.n_operations)
		qsort(s->app.operations, s->app.n_operations, sizeof(*s->app.operations), by_use);
	*out = s->app;
	s->app.operations = NULL;
	s->app.statuses = NULL;
	return true;
}

void app_sum_free(struct app_sum *s)
{
	for (size_t i = 0; s->latencies && i < s->app.n_operations; i++)
		samples_free(&s->latencies[i]);
	free(s->latencies);
	application_clear(&s->app);
	*s = (struct app_sum){0};
}

void application_clear(struct rd_application *app)
{
	free(app->operations);
	free(app->statuses);
}

/* --- a conversation --------------------------------------------------------------------------- */

static struct app_queue *queue_of(const struct flow *f)
{
	return f && f->app && f->app != &app_none ? f->app : NULL;
}

bool application_fill(struct rd_conversation *c, struct app_sum sums[APPS], const struct flow *a,
	const struct flow *b)
{
	struct app_queue *q = queue_of(a) ? queue_of(a) : queue_of(b);
	struct app_sum one = {0};
	enum rd_certainty certainty;
	unsigned int number = 0;
	bool done;

	if (!q || !app_certainty(q, &certainty))
		return true;
	while (apps[number] != q->app)
		number++;
	app_close(q);
	c->application = calloc(1, sizeof(*c->application));
	done = c->application && app_sum_add(&one, q) && app_sum_end(&one, c->application) &&
	       app_sum_add(&sums[number], q);
	app_sum_free(&one);
	if (!done)
		return false;
	c->application->queue = q->queue;
	c->application->client = queue_of(a) ? a != q->client : b == q->client;
	return true;
}
