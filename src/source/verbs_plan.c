/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* All receive queues of a port: in which way, how many, made and unmade together. */
#include "verbs_queue.h"
#include <errno.h>
#include <rdmadump/log.h>
#include <rdmadump/privilege.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PLANS_MAX     3
#define BUFFERS_LEAST 32 /* a ring that the limit of locked memory leaves is worth having */

static int queue_open(struct verbs *v, struct rd_error *err)
{
	v->channel = ibv_create_comp_channel(v->ctx);
	if (!v->channel)
		return verbs_fail(v, err, errno, "raise the limit of open files (ulimit -n)",
			"create_comp_channel");
	if (verbs_nonblocking(v, v->channel->fd, err) < 0)
		return -1;
	v->src.frame_fd = v->channel->fd;
	if (v->striding)
		return verbs_striding_ring(v, err);
	return verbs_ring_init(&v->ring, v->pd, v->lead->n_buffers, v->lead->frame_room, err);
}

/* Several threads: each is woken by what another one was told. */
static int wakes_open(struct verbs *lead, struct rd_error *err)
{
	struct epoll_event event = {.events = EPOLLIN};

	for (unsigned int i = 0; i < lead->n_queues; i++) {
		struct verbs *q = lead->queue[i];

		q->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (q->wake_fd < 0)
			return verbs_fail(lead, err, errno,
				"raise the limit of open files (ulimit -n)", "eventfd");
		q->src.event_fd = q->wake_fd;
	}
	lead->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (lead->epoll_fd < 0 ||
		epoll_ctl(lead->epoll_fd, EPOLL_CTL_ADD, lead->wake_fd, &event) < 0 ||
		epoll_ctl(lead->epoll_fd, EPOLL_CTL_ADD, lead->ctx->async_fd, &event) < 0)
		return verbs_fail(
			lead, err, errno, "raise the limit of open files (ulimit -n)", "epoll");
	lead->src.event_fd = lead->epoll_fd;
	return 0;
}

static struct verbs *follower_new(struct verbs *lead, unsigned int index, struct rd_error *err)
{
	struct verbs *q = calloc(1, sizeof(*q));

	if (!q) {
		rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the source");
		return NULL;
	}
	q->src.ops = &verbs_follower_ops;
	q->device = lead->device;
	q->sysroot = lead->sysroot;
	q->port_num = lead->port_num;
	q->plain = lead->plain;
	q->link = lead->link;
	q->ctx = lead->ctx;
	q->pd = lead->pd;
	q->clock = lead->clock;
	q->src.local = lead->src.local;
	q->wake_fd = q->epoll_fd = -1;
	q->lead = lead;
	q->index = index;
	memcpy(q->name, lead->name, sizeof(q->name));
	return q;
}

/* A device may have a clock and refuse it all the same. */
static int cq_create(struct verbs *v, struct rd_error *err)
{
	struct verbs_clock *clock = v->clock;

	while (verbs_cq_create(v, err) < 0) {
		const char *was = clock->kind->title;

		if (v->index || !clock->kind->wc_flags || !verbs_clock_lower(clock, v->stamp_type))
			return -1;
		rd_log(RD_LOG_DEBUG, "%s: no queue with %s: %s", v->name, was, err->text);
		*err = (struct rd_error){0};
	}
	return 0;
}

/* Everything up to the flow, which is tried and taken back: what is refused is refused before a
 * file is made. */
static int queues_make(struct verbs *lead, const struct verbs_plan *plan, struct rd_error *err)
{
	for (unsigned int i = 0; i == 0 || i < plan->queues; i++) {
		struct verbs *q = i ? follower_new(lead, i, err) : lead;

		if (!q)
			return -1;
		lead->queue[i] = q;
		lead->n_queues = i + 1;
		q->striding = plan->striding;
		if (queue_open(q, err) < 0 || cq_create(q, err) < 0 ||
			(plan->queues ? verbs_wq_create(q, err) : verbs_queue_create(q, err)) < 0)
			return -1;
	}
	lead->src.event_fd = lead->ctx->async_fd;
	if (lead->n_queues > 1 && wakes_open(lead, err) < 0)
		return -1;
	if (plan->queues && verbs_spread_create(lead, err) < 0)
		return -1;
	if (verbs_flow_create(lead, err) < 0)
		return -1;
	verbs_flow_destroy(lead);
	return 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void verbs_queues_close(struct verbs *lead)
{
	verbs_queues_destroy(lead);
	for (unsigned int i = 0; i < lead->n_queues; i++) {
		struct verbs *q = lead->queue[i];

		verbs_mlx5_free(q);
		verbs_ring_fini(&q->ring);
		if (q->channel)
			ibv_destroy_comp_channel(q->channel);
		q->channel = NULL;
		close_fd(&q->wake_fd);
		close_fd(&q->epoll_fd);
		if (i)
			free(q);
	}
	lead->n_queues = 0;
}

static bool can_stride(struct verbs *v)
{
	const char *ignored;

	return verbs_striding_offered(v, &ignored) && verbs_striding_layout(v);
}

/*
 * From the best way down to the one that every device with a sniffer has. By itself, striding is
 * taken only where a queue of single buffers cannot be as long as is wanted: it is not cheaper
 * (docs/performance.md), and no real device has shown it yet.
 */
static unsigned int plans_make(struct verbs *v, unsigned int wanted, struct verbs_plan *plans)
{
	bool striding = v->rx_mode == RD_RX_STRIDING;
	const char *why = "";
	unsigned int n = 0, most = verbs_spread_most(v, wanted, &why);

	if (most < wanted)
		snprintf(v->spread_note, sizeof(v->spread_note), "%s", why);
	if (striding) {
		if (most && can_stride(v))
			plans[n++] = (struct verbs_plan){.queues = most, .striding = true};
		return n;
	}
	if (v->rx_mode == RD_RX_AUTO && v->n_wanted > v->n_buffers && most && can_stride(v))
		plans[n++] = (struct verbs_plan){.queues = most, .striding = true};
	if (most > 1)
		plans[n++] = (struct verbs_plan){.queues = most};
	plans[n++] = (struct verbs_plan){0};
	return n;
}

static int striding_refused(const struct verbs *v, struct rd_error *err)
{
	const char *why = v->spread_note;

	if (verbs_striding_offered(v, &why) && !*v->spread_note)
		why = "the device takes no striding receive queue for so many buffers (-b)";
	return rd_fail(err, RD_CLASS_DEVICE, 0, "use --rx-mode auto",
		"--rx-mode striding on %s: %s", v->name, why);
}

/* What is pinned counts against the limit of locked memory: half as many buffers may fit. */
static bool shrink(struct verbs *v, const struct rd_error *why)
{
	if (!verbs_limited(why->errnum) || v->n_buffers <= BUFFERS_LEAST ||
		v->n_wanted <= BUFFERS_LEAST)
		return false;
	v->n_buffers /= 2;
	v->n_wanted /= 2;
	return true;
}

static void tell_shrunk(const struct verbs *v, unsigned int asked)
{
	uint64_t limit = rd_lockable();
	char most[RD_UNITS_LEN];

	rd_log(RD_LOG_WARNING,
		"%s: only %s of memory may be locked (ulimit -l): %u receive buffers instead of "
		"%u; " RD_NEEDS_LOCK ", or ask for fewer (-b %d)",
		v->name, rd_fmt_kib(most, limit), v->n_wanted, asked, __builtin_ctz(v->n_wanted));
}

/* With fewer buffers as long as the limit of locked memory is why; the first reason is told. */
static int plan_try(struct verbs *v, const struct verbs_plan *plan, struct rd_error *err)
{
	unsigned int wanted = v->n_wanted, buffers = v->n_buffers;
	struct rd_error first = {0};

	while (queues_make(v, plan, err) < 0) {
		verbs_queues_close(v);
		if (first.class == RD_CLASS_NONE)
			first = *err;
		if (!shrink(v, err) || (plan->striding && !verbs_striding_layout(v))) {
			v->n_wanted = wanted;
			v->n_buffers = buffers;
			if (plan->striding)
				verbs_striding_layout(v);
			*err = first;
			return -1;
		}
		*err = (struct rd_error){0};
	}
	if (v->n_wanted != wanted)
		tell_shrunk(v, wanted);
	return 0;
}

static void tell_shorter(const struct verbs *v)
{
	if (v->n_wanted > v->n_buffers)
		rd_log(RD_LOG_WARNING,
			"%s takes at most %u receives per queue: using so many buffers instead of "
			"%u",
			v->name, v->n_buffers, v->n_wanted);
}

static int plans_try(struct verbs *v, unsigned int wanted, struct rd_error *err)
{
	struct verbs_plan plans[PLANS_MAX];
	unsigned int n = plans_make(v, wanted, plans);

	if (!n)
		return striding_refused(v, err);
	for (unsigned int i = 0; i < n; i++) {
		if (plan_try(v, &plans[i], err) == 0) {
			if (!plans[i].striding)
				tell_shorter(v);
			return 0;
		}
		if (i + 1 == n)
			break;
		rd_log(RD_LOG_DEBUG, "%u queues: %s", plans[i].queues, err->text);
		snprintf(v->spread_note, sizeof(v->spread_note), "%.*s",
			(int)strcspn(err->text, ";"), err->text);
		*err = (struct rd_error){0};
	}
	return -1;
}

/* Some firmware takes the CQ with real-time stamps and refuses the queue that stands on it. */
int verbs_queues_open(struct verbs *v, unsigned int wanted, struct rd_error *err)
{
	struct verbs_clock *clock = v->clock;

	while (plans_try(v, wanted, err) < 0) {
		const char *was = clock->kind->title;

		if ((err->errnum != EOPNOTSUPP && err->errnum != EINVAL) ||
			!clock->kind->wc_flags || !verbs_clock_lower(clock, v->stamp_type))
			return -1;
		rd_log(RD_LOG_DEBUG, "%s: no queue with %s: %s", v->name, was, err->text);
		*err = (struct rd_error){0};
	}
	return 0;
}

void verbs_queues_tell(struct verbs *v, unsigned int wanted)
{
	size_t used = strlen(v->src.details);

	if (v->n_queues > 1 || wanted > 1)
		snprintf(v->src.details + used, sizeof(v->src.details) - used, ", %u queue%s%s%s%s",
			v->n_queues, v->n_queues > 1 ? "s" : "", *v->spread_note ? " (" : "",
			v->spread_note, *v->spread_note ? ")" : "");
	if (v->n_queues < wanted)
		rd_log(RD_LOG_WARNING, "%s: %u queue%s instead of %u: %s", v->name, v->n_queues,
			v->n_queues > 1 ? "s" : "", wanted, v->spread_note);
	rd_log(RD_LOG_DEBUG, "%s: receiving by %s", v->name, v->path->name);
	for (unsigned int i = 1; i < v->n_queues; i++) {
		struct rd_source *src = &v->queue[i]->src;

		src->iface = v->src.iface;
		memcpy(src->title, v->src.title, sizeof(src->title));
		memcpy(src->details, v->src.details, sizeof(src->details));
	}
}
