/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engine: starts sources, moves frames through lanes into sinks, and shuts all of them down. */
#include "lane.h"
#include <errno.h>
#include <rdmadump/clock.h>
#include <rdmadump/fd.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

struct engine {
	struct rd_capture *c;
	const struct rd_capture_config *config;
	struct rd_error *err;
	struct control control;
	unsigned int base[RD_IFACES_MAX]; /* first interface of each source */
	struct lane *lanes;
	unsigned int n_lanes, n_threads;
};

/* --- lanes ------------------------------------------------------------------------------ */

static void lane_init(struct engine *e, unsigned int i)
{
	const struct rd_capture_config *config = e->config;
	struct lane *l = &e->lanes[i];

	l->control = &e->control;
	l->config = l->pipe.config = config;
	l->index = i;
	l->stride = e->n_lanes;
	l->epfd = l->wake_fd = -1;
	l->pipe.base = e->base;
	l->pipe.kept = &e->control.kept;
	l->pipe.start_ns = e->c->start_ns;
	l->pipe.feed = config->feeds ? config->feeds[i] : NULL;
}

static int lanes_make(struct engine *e)
{
	const struct rd_capture_config *config = e->config;
	bool threads = config->n_threads > 0;

	e->n_lanes = threads ? config->n_threads : 1;
	e->lanes = calloc(e->n_lanes, sizeof(*e->lanes));
	if (!e->lanes)
		return rd_fail(e->err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the engine");
	for (unsigned int i = 0; i < e->n_lanes; i++)
		lane_init(e, i);
	for (unsigned int i = 0; i < e->n_lanes; i++) {
		struct lane *l = &e->lanes[i];

		if (threads && (l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
			return rd_fail(e->err, RD_CLASS_DEVICE, errno,
				"raise the limit of open files (ulimit -n)", "eventfd");
		if (lane_open(l, e->err) < 0)
			return -1;
	}
	return 0;
}

static bool drains(const struct engine *e)
{
	return e->control.why == RD_END_WATCH || e->control.why == RD_END_FAULT;
}

static void *lane_thread(void *arg)
{
	struct lane *l = arg;
	struct control *c = l->control;

	lane_run(l);
	/* Frames of other lanes cannot be written without this lane's watermark. They stop in
	 * seconds at worst. */
	while (!c->stopped && !c->quit) {
		lane_drain(l);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	if (!c->quit)
		lane_drain(l);
	pipe_end(&l->pipe);
	atomic_fetch_sub(&c->running, 1);
	control_wake(c->wake_fd);
	return NULL;
}

static void pin(const struct lane *l)
{
	cpu_set_t set;

	if (!l->config->cpus || l->config->cpus[l->index] < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)l->config->cpus[l->index], &set);
	/* If that is refused (in a container), the scheduler decides. */
	pthread_setaffinity_np(l->thread, sizeof(set), &set);
}

static int threads_start(struct engine *e)
{
	for (unsigned int i = 0; i < e->n_lanes; i++) {
		char name[24];
		int rc = pthread_create(&e->lanes[i].thread, NULL, lane_thread, &e->lanes[i]);

		if (rc)
			return rd_fail(e->err, RD_CLASS_DEVICE, rc, NULL, "cannot start a thread");
		e->control.running++;
		e->n_threads++;
		snprintf(name, sizeof(name), "queue %u", i);
		pthread_setname_np(e->lanes[i].thread, name);
		pin(&e->lanes[i]);
	}
	return 0;
}

/* --- numbers ---------------------------------------------------------------------------- */

static uint64_t read_count(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static struct rd_tally tally(const struct rd_capture *c, unsigned int iface)
{
	struct rd_tally sum = {0};

	if (!c->lanes)
		return c->tally[iface];
	for (unsigned int i = 0; i < c->n_lanes; i++) {
		const struct rd_tally *t = &c->lanes[i].pipe.tally[iface];

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
		sum += read_count(&c->lanes[i].pipe.bytes);
	return sum;
}

struct rd_tally rd_capture_total(const struct rd_capture *c)
{
	struct rd_tally total = {0};

	for (unsigned int i = 0; i < RD_IFACES_MAX; i++) {
		struct rd_tally t = tally(c, i);

		total.encoded += t.encoded;
		total.filtered += t.filtered;
		total.dropped += t.dropped;
	}
	return total;
}

static void add_account(struct rd_frame_account *sum, const struct rd_frame_account *a)
{
	for (unsigned int i = 0; i < RD_DIRECTIONS; i++) {
		sum->direction[i] += a->direction[i];
		sum->disordered[i] += a->disordered[i];
	}
	sum->bad_time += a->bad_time;
	sum->no_time += a->no_time;
}

static void sum_up(struct engine *e)
{
	struct rd_capture *c = e->c;

	for (unsigned int i = 0; i < RD_IFACES_MAX; i++)
		c->tally[i] = tally(c, i);
	for (unsigned int i = 0; i < e->n_lanes; i++)
		add_account(&c->account, &e->lanes[i].pipe.account);
	c->bytes = rd_capture_bytes(c);
	c->end = e->control.why;
	c->lanes = NULL;
}

/* --- the run ---------------------------------------------------------------------------- */

static void stop_sources(const struct rd_capture_config *config, unsigned int n)
{
	while (n--)
		config->sources[n]->ops->stop(config->sources[n]);
}

static void watch(struct engine *e, int epfd)
{
	struct epoll_event events[16];
	int n = epoll_wait(epfd, events, 16, -1);
	uint64_t count;

	for (int i = 0; i < n; i++) {
		if ((enum fd_kind)(events[i].data.u64 >> 32) != FD_WATCH)
			eventfd_read(e->control.wake_fd, &count);
		else if (control_watched(&e->control, (uint32_t)events[i].data.u64))
			lanes_rotate(e->lanes, e->n_lanes);
	}
}

static int watch_open(struct engine *e)
{
	const struct rd_capture_config *config = e->config;
	int epfd = epoll_create1(EPOLL_CLOEXEC);

	e->control.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (epfd < 0 || e->control.wake_fd < 0) {
		rd_fail(e->err, RD_CLASS_DEVICE, errno, "raise the limit of open files (ulimit -n)",
			"eventfd");
		goto fail;
	}
	if (control_poll(epfd, e->control.wake_fd, FD_WAKE, 0, EPOLL_CTL_ADD, e->err) < 0)
		goto fail;
	for (unsigned int i = 0; i < config->n_watches; i++)
		if (control_poll(epfd, config->watches[i].fd, FD_WATCH, i, EPOLL_CTL_ADD, e->err) <
			0)
			goto fail;
	return epfd;
fail:
	rd_fd_close(&epfd);
	return -1;
}

/* The calling thread serves the watches; lanes receive until sources are stopped and drained. */
static int run_threads(struct engine *e)
{
	int epfd = watch_open(e), rc;

	if (epfd < 0) {
		stop_sources(e->config, e->config->n_sources);
		return -1;
	}
	rc = threads_start(e);
	while (rc == 0 && !e->control.stop)
		watch(e, epfd);
	e->control.stop = true;
	e->control.quit = rc < 0 || !drains(e);
	for (unsigned int i = 0; i < e->n_lanes; i++)
		control_wake(e->lanes[i].wake_fd);
	stop_sources(e->config, e->config->n_sources);
	e->control.stopped = true;
	while (e->control.running)
		watch(e, epfd);
	for (unsigned int i = 0; i < e->n_threads; i++)
		pthread_join(e->lanes[i].thread, NULL);
	close(epfd);
	close(e->control.wake_fd);
	e->control.wake_fd = -1;
	return rc;
}

static int run_one(struct engine *e)
{
	struct lane *l = &e->lanes[0];

	lane_run(l);
	stop_sources(e->config, e->config->n_sources);
	if (drains(e))
		lane_drain(l);
	pipe_end(&l->pipe);
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

int rd_capture_run(
	struct rd_capture *c, const struct rd_capture_config *config, struct rd_error *err)
{
	struct engine e = {.c = c, .config = config, .err = err};
	struct rd_clock clock;
	int rc = -1;

	e.control = (struct control){
		.c = c, .config = config, .err = err, .live = config->n_sources, .wake_fd = -1};
	e.control.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	rd_clock_set(&clock);
	c->start_ns = c->end_ns = rd_clock_now(&clock);
	number_ifaces(&e);
	if (lanes_make(&e) == 0) {
		c->lanes = e.lanes;
		c->n_lanes = e.n_lanes;
		if (start_sources(&e) == 0)
			rc = config->n_threads ? run_threads(&e) : run_one(&e);
		else
			e.control.why =
				err->class == RD_CLASS_OUTPUT ? RD_END_OUTPUT : RD_END_FAULT;
		c->end_ns = rd_clock_now(&clock);
		sum_up(&e);
	}
	if (rc == 0 && c->end == RD_END_FAULT) {
		err->class = RD_CLASS_PARTIAL;
		rc = -1;
	}
	for (unsigned int i = 0; e.lanes && i < e.n_lanes; i++)
		lane_close(&e.lanes[i]);
	free(e.lanes);
	return rc;
}
