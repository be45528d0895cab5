/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Owners of QPs that exist between two samples: the kernel reports each QP that a process creates,
 * and a thread looks at once who the process is, before it can end. The thread that samples takes
 * over what this one found, so that the owners need no lock.
 */
#include "session.h"
#include <errno.h>
#include <poll.h>
#include <rdmadump/fd.h>
#include <rdmadump/memory.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#define PENDING_MAX 8192 /* 8 MiB; taken every 100 ms */

struct pending {
	struct rd_qp_event event;
	struct rd_process *who; /* NULL, unless a QP was created */
};

struct owner_events {
	struct rd_qp_events *source;
	const struct rd_clock *clock; /* the session's */
	struct rd_process last;	      /* read last */
	uint64_t last_start_ns;
	pthread_t thread;
	bool running;
	int stop_fd;
	pthread_mutex_t lock; /* protects all members below */
	struct pending *pending;
	size_t n;
	uint64_t dropped; /* when the list was full */
};

/* --- the thread that looks up processes ------------------------------------------------------- */

/* False: the list is full. */
static bool keep(struct owner_events *e, const struct rd_qp_event *event, struct rd_process *who)
{
	struct pending *kept = NULL;

	pthread_mutex_lock(&e->lock);
	if (e->n < PENDING_MAX)
		kept = rd_append(&e->pending, e->n, sizeof(*kept));
	e->n += kept != NULL;
	e->dropped += !kept;
	if (kept)
		*kept = (struct pending){*event, who};
	pthread_mutex_unlock(&e->lock);
	return kept;
}

/* To be freed. Several QPs of one process often follow each other: it is read once. */
static struct rd_process *identify(struct owner_events *e, const struct rd_qp_event *event)
{
	struct rd_process *who = malloc(sizeof(*who));

	if (!who)
		return NULL;
	if (e->last.pid != event->pid || e->last_start_ns != event->start_ns) {
		rd_process_of_event("", event, e->clock, &e->last);
		e->last_start_ns = event->start_ns;
	}
	*who = e->last;
	return who;
}

static void look_up(void *ctx, const struct rd_qp_event *event)
{
	struct owner_events *e = ctx;
	struct rd_process *who = event->kind == RD_QP_CREATED ? identify(e, event) : NULL;

	if ((event->kind == RD_QP_CREATED && !who) || !keep(e, event, who))
		free(who);
}

static void *watch(void *arg)
{
	struct owner_events *e = arg;
	struct pollfd fds[] = {{.fd = rd_qp_events_fd(e->source), .events = POLLIN},
		{.fd = e->stop_fd, .events = POLLIN}};

	while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
		if (fds[1].revents)
			break;
		rd_qp_events_read(e->source, look_up, e);
	}
	return NULL;
}

void owner_events_watch(struct rd_session *s)
{
	struct owner_events *e = s->sampling.events;

	if (!e || pthread_create(&e->thread, NULL, watch, e))
		return;
	pthread_setname_np(e->thread, "owners");
	e->running = true;
}

static void watch_end(struct owner_events *e)
{
	if (!e->running)
		return;
	eventfd_write(e->stop_fd, 1);
	pthread_join(e->thread, NULL);
	e->running = false;
}

/* --- the thread that samples ------------------------------------------------------------------ */

static void give(struct rd_session *s, const struct pending *p)
{
	for (unsigned int i = 0; i < s->in.n; i++)
		if (s->sampling.owners[i] && s->in.device[i] &&
			!strcmp(s->in.device[i]->name, p->event.device))
			rd_owners_event(
				s->sampling.owners[i], s->in.port[i]->num, &p->event, p->who);
	free(p->who);
}

void owner_events_take(struct rd_session *s)
{
	struct owner_events *e = s->sampling.events;
	struct pending *pending;
	uint64_t lost;
	size_t n;

	if (!e)
		return;
	pthread_mutex_lock(&e->lock);
	pending = e->pending;
	n = e->n;
	lost = rd_qp_events_lost(e->source) + e->dropped;
	e->pending = NULL;
	e->n = 0;
	pthread_mutex_unlock(&e->lock);
	s->sampling.events_lost = lost;
	pthread_mutex_lock(&s->sampling.lock);
	for (size_t i = 0; i < n; i++)
		give(s, &pending[i]);
	for (unsigned int i = 0; i < s->in.n; i++)
		if (s->sampling.owners[i])
			rd_owners_watched(s->sampling.owners[i], lost);
	pthread_mutex_unlock(&s->sampling.lock);
	free(pending);
}

bool owner_events_whole(const struct rd_session *s)
{
	return s->sampling.events && !s->sampling.events_lost;
}

void owner_events_open(struct rd_session *s)
{
	struct rd_error err = {0};
	struct owner_events *e;

	if (s->sampling.tried_events)
		return;
	s->sampling.tried_events = true;
	e = calloc(1, sizeof(*e));
	if (!e)
		return;
	e->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	e->clock = &s->sampling.clock;
	e->stop_fd = eventfd(0, EFD_CLOEXEC);
	e->source = e->stop_fd < 0 ? NULL : rd_qp_events_open(e->clock, &err);
	s->sampling.events = e;
	if (e->source)
		return;
	/* Only what a user can change now is worth a line in each capture. */
	rd_log(err.errnum == EPERM || err.errnum == EACCES ? RD_LOG_INFO : RD_LOG_DEBUG,
		"owners of queue pairs are sampled, so short-lived ones may be missed: %s",
		err.text);
	owner_events_free(s);
}

void owner_events_end(struct rd_session *s)
{
	struct owner_events *e = s->sampling.events;

	if (!e)
		return;
	watch_end(e);
	rd_qp_events_read(e->source, look_up, e);
	owner_events_take(s);
}

void owner_events_free(struct rd_session *s)
{
	struct owner_events *e = s->sampling.events;

	if (!e)
		return;
	watch_end(e);
	rd_qp_events_close(e->source);
	for (size_t i = 0; i < e->n; i++)
		free(e->pending[i].who);
	free(e->pending);
	rd_fd_close(&e->stop_fd);
	free(e);
	s->sampling.events = NULL;
}
