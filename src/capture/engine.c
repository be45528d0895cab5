/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The engine: sources are started, lanes move their frames into the sinks, and all of it ends. */
#include "lane.h"
#include <errno.h>
#include <rdmadump/clock.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void ring(int bell)
{
	uint64_t one = 1;

	/* EAGAIN: it rings already. */
	if (bell >= 0 && write(bell, &one, sizeof(one)) < 0)
		return;
}

static void ring_all(struct engine *e)
{
	for (unsigned int i = 0; i < e->n_lanes; i++)
		ring(e->lanes[i].bell);
}

void engine_end(struct engine *e, enum rd_end why, const struct rd_error *err)
{
	pthread_mutex_lock(&e->lock);
	if (!e->stop) {
		e->why = why;
		if (err && err != e->err)
			*e->err = *err;
		e->stop = true;
	} else if (why == RD_END_WATCH) {
		e->abandon = true;
	}
	pthread_mutex_unlock(&e->lock);
	ring(e->bell);
}

int engine_watch(int epfd, int fd, enum fd_kind kind, unsigned int index, int operation,
	struct rd_error *err)
{
	/* Those of pipes and packet sockets stay readable while nobody receives. */
	struct epoll_event event = {.events = EPOLLIN | (kind == FD_FRAMES ? EPOLLONESHOT : 0U),
		.data.u64 = (uint64_t)kind << 32 | index};

	if (fd < 0)
		return 0;
	if (epoll_ctl(epfd, operation, fd, &event) < 0)
		return rd_fail(err, RD_CLASS_DEVICE, errno, NULL, "epoll_ctl");
	return 0;
}

static unsigned int stripes(const struct engine *e)
{
	return e->config->n_stripes ? e->config->n_stripes : 1;
}

/* --- a new file now --------------------------------------------------------------------- */

/*
 * Where lanes are merged the file turns at a moment of the frames' time, behind the newest frame
 * that anybody has seen; where they are not, each lane turns with its next frame.
 */
static void turn(struct engine *e)
{
	uint64_t newest = 0;

	if (e->config->merged) {
		for (unsigned int i = 0; i < e->n_lanes; i++) {
			uint64_t ns = __atomic_load_n(&e->lanes[i].newest_ns, __ATOMIC_RELAXED);

			newest = ns > newest ? ns : newest;
		}
		for (unsigned int i = 0; i < stripes(e); i++)
			rd_sink_rotate(e->config->merged[i], newest + 1);
		return;
	}
	for (unsigned int i = 0; i < e->n_lanes; i++)
		e->lanes[i].turn_asked = true;
}

void engine_watched(struct engine *e, unsigned int index)
{
	const struct rd_watch *w = &e->config->watches[index];

	if (w->ready(w->ctx, w->fd))
		engine_end(e, RD_END_WATCH, NULL);
	if (e->c->rotate) {
		e->c->rotate = false;
		turn(e);
	}
}

/* --- lanes ------------------------------------------------------------------------------ */

static int lanes_make(struct engine *e)
{
	const struct rd_capture_config *config = e->config;
	bool threads = config->n_threads > 0;

	e->n_lanes = threads ? config->n_threads : 1;
	e->lanes = calloc(e->n_lanes, sizeof(*e->lanes));
	if (!e->lanes)
		return rd_fail(e->err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the engine");
	for (unsigned int i = 0; i < e->n_lanes; i++)
		e->lanes[i] = (struct lane){.e = e,
			.config = config,
			.index = i,
			.stride = e->n_lanes,
			.feeds = config->feeds ? config->feeds + (size_t)i * stripes(e) : NULL,
			.n_feeds = config->feeds ? stripes(e) : 0,
			.at = stripes(e) - 1,
			.epfd = -1,
			.bell = -1};
	for (unsigned int i = 0; i < e->n_lanes; i++) {
		struct lane *l = &e->lanes[i];

		if (threads && (l->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
			return rd_fail(e->err, RD_CLASS_DEVICE, errno,
				"raise the limit of open files (ulimit -n)", "eventfd");
		if (lane_open(l, e->err) < 0)
			return -1;
	}
	return 0;
}

static void lanes_free(struct engine *e)
{
	for (unsigned int i = 0; e->lanes && i < e->n_lanes; i++)
		lane_close(&e->lanes[i]);
	free(e->lanes);
}

static bool drains(const struct engine *e)
{
	return e->why == RD_END_WATCH || e->why == RD_END_FAULT;
}

static void lane_finish(struct lane *l)
{
	if (l->chunk)
		lane_chunk_put(l);
	for (unsigned int i = 0; i < l->n_feeds; i++)
		rd_feed_watermark(l->feeds[i], UINT64_MAX);
}

static void *lane_thread(void *arg)
{
	struct lane *l = arg;
	struct engine *e = l->e;

	lane_run(l);
	/* Other lanes' frames cannot be written before this one says how far it is. */
	while (!e->stopped && !e->quit)
		lane_drain(l);
	if (!e->quit)
		lane_drain(l);
	lane_finish(l);
	atomic_fetch_sub(&e->running, 1);
	ring(e->bell);
	return NULL;
}

static void pin(const struct lane *l)
{
	cpu_set_t set;

	if (!l->config->cpus || l->config->cpus[l->index] < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)l->config->cpus[l->index], &set);
	/* Where that is refused (a container), the scheduler knows better. */
	pthread_setaffinity_np(l->thread, sizeof(set), &set);
}

static int threads_start(struct engine *e)
{
	for (unsigned int i = 0; i < e->n_lanes; i++) {
		char name[24];
		int rc = pthread_create(&e->lanes[i].thread, NULL, lane_thread, &e->lanes[i]);

		if (rc)
			return rd_fail(e->err, RD_CLASS_DEVICE, rc, NULL, "cannot start a thread");
		e->running++;
		e->n_threads++;
		snprintf(name, sizeof(name), "queue %u", i);
		pthread_setname_np(e->lanes[i].thread, name);
		pin(&e->lanes[i]);
	}
	return 0;
}

/* --- the run ---------------------------------------------------------------------------- */

static void stop_sources(const struct rd_capture_config *config, unsigned int n)
{
	while (n--)
		config->sources[n]->ops->stop(config->sources[n]);
}

static void control_look(struct engine *e, int epfd)
{
	struct epoll_event events[16];
	int n = epoll_wait(epfd, events, 16, -1);
	uint64_t count;

	for (int i = 0; i < n; i++) {
		if ((enum fd_kind)(events[i].data.u64 >> 32) == FD_WATCH)
			engine_watched(e, (uint32_t)events[i].data.u64);
		else if (read(e->bell, &count, sizeof(count)) < 0)
			continue;
	}
}

static int control_open(struct engine *e)
{
	const struct rd_capture_config *config = e->config;
	int epfd = epoll_create1(EPOLL_CLOEXEC);

	e->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (epfd < 0 || e->bell < 0) {
		rd_fail(e->err, RD_CLASS_DEVICE, errno, "raise the limit of open files (ulimit -n)",
			"eventfd");
		goto fail;
	}
	if (engine_watch(epfd, e->bell, FD_BELL, 0, EPOLL_CTL_ADD, e->err) < 0)
		goto fail;
	for (unsigned int i = 0; i < config->n_watches; i++)
		if (engine_watch(epfd, config->watches[i].fd, FD_WATCH, i, EPOLL_CTL_ADD, e->err) <
			0)
			goto fail;
	return epfd;
fail:
	if (epfd >= 0)
		close(epfd);
	return -1;
}

/* This thread watches; the lanes receive, until the sources are stopped and nothing is left. */
static int run_threads(struct engine *e)
{
	int epfd = control_open(e), rc;

	if (epfd < 0) {
		stop_sources(e->config, e->config->n_sources);
		return -1;
	}
	rc = threads_start(e);
	while (rc == 0 && !e->stop)
		control_look(e, epfd);
	e->stop = true;
	e->quit = rc < 0 || !drains(e);
	ring_all(e);
	stop_sources(e->config, e->config->n_sources);
	e->stopped = true;
	while (e->running)
		control_look(e, epfd);
	for (unsigned int i = 0; i < e->n_threads; i++)
		pthread_join(e->lanes[i].thread, NULL);
	close(epfd);
	close(e->bell);
	e->bell = -1;
	return rc;
}

static int run_one(struct engine *e)
{
	struct lane *l = &e->lanes[0];

	lane_run(l);
	stop_sources(e->config, e->config->n_sources);
	if (drains(e))
		lane_drain(l);
	lane_finish(l);
	return 0;
}

static int start_sources(struct engine *e)
{
	const struct rd_capture_config *config = e->config;
	unsigned int started = 0;

	while (started < config->n_sources &&
		config->sources[started]->ops->start(config->sources[started], e->err) == 0)
		started++;
	if (started == config->n_sources &&
		(!config->started || config->started(config->started_ctx, e->err) == 0))
		return 0;
	stop_sources(config, started);
	return -1;
}

static void number_ifaces(struct engine *e)
{
	const struct rd_capture_config *config = e->config;

	for (unsigned int i = 0, base = 0; i < config->n_sources; i++) {
		e->base[i] = config->bases ? config->bases[i] : base;
		base += config->sources[i]->n_ifaces ? config->sources[i]->n_ifaces : 1;
	}
}

static struct rd_tally stripe_tally(const struct engine *e, unsigned int stripe, unsigned int iface)
{
	struct rd_tally sum = {0};

	for (unsigned int i = 0; i < e->n_lanes; i++) {
		struct rd_tally t = lane_stripe_tally(&e->lanes[i], stripe, iface);

		sum.delivered += t.delivered;
		sum.encoded += t.encoded;
		sum.filtered += t.filtered;
		sum.dropped += t.dropped;
	}
	return sum;
}

static void sum_up(struct engine *e)
{
	struct rd_capture *c = e->c;

	for (unsigned int i = 0; i < RD_IFACES_MAX; i++)
		c->tally[i] = rd_capture_tally(c, i);
	for (unsigned int i = 0; i < e->n_lanes; i++)
		memcpy(c->lane_tally[i], e->lanes[i].tally, sizeof(c->lane_tally[i]));
	for (unsigned int k = 0; k < stripes(e); k++)
		for (unsigned int i = 0; i < RD_IFACES_MAX; i++)
			c->stripe_tally[k][i] = stripe_tally(e, k, i);
	c->bytes = rd_capture_bytes(c);
	c->end = e->why;
	c->lanes = NULL;
}

int rd_capture_run(
	struct rd_capture *c, const struct rd_capture_config *config, struct rd_error *err)
{
	struct engine e = {
		.c = c, .config = config, .err = err, .live = config->n_sources, .bell = -1};
	struct rd_clock clock;
	int rc = -1;

	pthread_mutex_init(&e.lock, NULL);
	rd_clock_set(&clock);
	c->start_ns = c->end_ns = rd_clock_now(&clock);
	number_ifaces(&e);
	if (lanes_make(&e) == 0) {
		c->lanes = e.lanes;
		c->n_lanes = e.n_lanes;
		if (start_sources(&e) == 0)
			rc = config->n_threads ? run_threads(&e) : run_one(&e);
		c->end_ns = rd_clock_now(&clock);
		sum_up(&e);
	}
	if (rc == 0 && c->end == RD_END_FAULT) {
		err->class = RD_CLASS_PARTIAL;
		rc = -1;
	}
	lanes_free(&e);
	pthread_mutex_destroy(&e.lock);
	return rc;
}

/* --- numbers ---------------------------------------------------------------------------- */

static uint64_t read_count(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

struct rd_tally rd_capture_tally(const struct rd_capture *c, unsigned int iface)
{
	struct rd_tally sum = {0};

	if (!c->lanes)
		return c->tally[iface];
	for (unsigned int i = 0; i < c->n_lanes; i++) {
		const struct rd_tally *t = &c->lanes[i].tally[iface];

		sum.delivered += read_count(&t->delivered);
		sum.encoded += read_count(&t->encoded);
		sum.filtered += read_count(&t->filtered);
		sum.dropped += read_count(&t->dropped);
	}
	return sum;
}

uint64_t rd_capture_bytes(const struct rd_capture *c)
{
	uint64_t sum = 0;

	if (!c->lanes)
		return c->bytes;
	for (unsigned int i = 0; i < c->n_lanes; i++)
		sum += read_count(&c->lanes[i].bytes);
	return sum;
}

struct rd_tally rd_capture_total(const struct rd_capture *c)
{
	struct rd_tally total = {0};

	for (unsigned int i = 0; i < RD_IFACES_MAX; i++) {
		struct rd_tally t = rd_capture_tally(c, i);

		total.delivered += t.delivered;
		total.encoded += t.encoded;
		total.filtered += t.filtered;
		total.dropped += t.dropped;
	}
	return total;
}
