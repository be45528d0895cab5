/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When a capture reads which process has which QP: before it starts, while it runs, at its end;
 * owner_events.c has what happens in between, where the kernel reports it, so that captures take no
 * samples while they run. Elsewhere, while a sample takes at most 25 ms, every QP that exists for a
 * second is sampled. Slower samples are taken less often.
 */
#include "session.h"

#define PERIOD_NS   500000000U
#define READ_NS	    1000000U
#define SLOW_NS	    1000000000U		   /* a list: not worth waiting for it at the end */
#define TIMES_TAKEN 20			   /* at most a twentieth of the time is spent on samples */
#define FORGET_NS   UINT64_C(600000000000) /* triggers may follow each other within a file */

/* Before and after the capture no thread takes signals, and a list may take long. */
static bool is_over(void *ctx)
{
	struct rd_session *s = ctx;
	bool during, after;

	pthread_mutex_lock(&s->loss.lock);
	after = s->loss.stop;
	during = !after && s->loss.running;
	pthread_mutex_unlock(&s->loss.lock);
	if (!during && s->config->calls.is_ending && s->config->calls.is_ending())
		s->sampling.hurried = true;
	return s->sampling.hurried ||
	       (after && s->sampling.slowest_ns > SLOW_NS && !s->config->all_qps);
}

void owners_init(struct rd_session *s)
{
	s->sampling.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	rd_resources_stop_when(is_over, s);
}

static bool are_few(const struct rd_device *device, uint64_t *n)
{
	return rd_resources_qp_count(device->name, n) < 0 || *n <= RD_QPS_LISTED_MAX;
}

bool qps_may_be_listed(const struct rd_session *s, const struct rd_device *device)
{
	uint64_t n;

	return s->config->all_qps || are_few(device, &n);
}

/* Once for each device. */
static void say_unlisted(const struct rd_session *s)
{
	const char *last = "";
	uint64_t n;

	for (unsigned int i = 0; i < s->in.n && !s->config->all_qps; i++) {
		const struct rd_device *device = s->in.device[i];

		if (!device || s->in.follows[i] || !strcmp(device->name, last) ||
			are_few(device, &n))
			continue;
		last = device->name;
		rd_log(RD_LOG_WARNING,
			"%s has %llu queue pairs: neither they nor their owners are listed, since "
			"each takes a firmware command (--all-qps lists them)",
			device->name, (unsigned long long)n);
	}
}

/* A recording runs for days: owners of QPs that no file can have any more are forgotten. */
static void forget(struct rd_session *s)
{
	const struct rd_retention *r = &s->config->recording->retention;
	uint64_t kept = r->pre_ns + r->post_ns + FORGET_NS;

	pthread_mutex_lock(&s->sampling.lock);
	for (unsigned int i = 0; i < s->in.n; i++)
		if (s->sampling.owners[i])
			rd_owners_forget(
				s->sampling.owners[i], rd_owners_now(s->sampling.owners[i]) - kept);
	pthread_mutex_unlock(&s->sampling.lock);
}

/* Once the source has started. A reading that was interrupted is not one of the same time. */
static void read_frame_clock(struct rd_session *s, unsigned int i)
{
	uint64_t before = rd_monotonic_ns(), now = rd_source_now(s->in.sources[i]);

	if (rd_monotonic_ns() - before >= READ_NS)
		return;
	pthread_mutex_lock(&s->sampling.lock);
	rd_owners_frame_clock(s->sampling.owners[i], now, before);
	pthread_mutex_unlock(&s->sampling.lock);
}

/* The list may take seconds, for which no writer waits. */
static int list(
	struct rd_session *s, struct rd_owners *o, const char *device, const struct rd_port *port)
{
	uint64_t start = rd_monotonic_ns(), ticks = rd_boot_ticks(), now = rd_owners_now(o), took;
	struct rd_resources r;
	int rc = rd_resources_qps(&r, device);

	pthread_mutex_lock(&s->sampling.lock);
	if (!rc)
		rd_owners_add(o, "", port->num, &r, ticks, now);
	pthread_mutex_unlock(&s->sampling.lock);
	rd_resources_free(&r);
	took = rd_monotonic_ns() - start;
	if (took > s->sampling.slowest_ns)
		s->sampling.slowest_ns = took;
	return rc;
}

/*
 * Where the kernel reports QPs, a recording only needs to know which ones of before its start still
 * exist: once in the time before a trigger that a file has.
 */
static uint64_t shortest_period(const struct rd_session *s)
{
	uint64_t pre = s->config->recording ? s->config->recording->retention.pre_ns : 0;

	return owner_events_whole(s) && pre > PERIOD_NS ? pre : PERIOD_NS;
}

static void sample(struct rd_session *s)
{
	uint64_t start = rd_monotonic_ns(), least = shortest_period(s), period;

	for (unsigned int i = 0; i < s->in.n; i++) {
		if (!s->sampling.owners[i] || !qps_may_be_listed(s, s->in.device[i]))
			continue;
		list(s, s->sampling.owners[i], s->in.device[i]->name, s->in.port[i]);
		read_frame_clock(s, i);
	}
	if (s->config->recording)
		forget(s);
	period = (rd_monotonic_ns() - start) * TIMES_TAKEN;
	s->sampling.next_ns = start + (period > least ? period : least);
}

/* If QPs cannot be counted now, they never can: the kernel or this build has no RDMA netlink. */
static void open_one(struct rd_session *s, unsigned int i, const struct rd_device *device,
	const struct rd_port *port)
{
	struct rd_owners *o;
	uint64_t n;

	if (rd_resources_qp_count(device->name, &n) < 0 || !qps_may_be_listed(s, device))
		return;
	/* Before the list: no QP that is created meanwhile is missed. */
	owner_events_open(s);
	o = rd_owners_new(&s->sampling.clock);
	if (!o || list(s, o, device->name, port) < 0) {
		rd_owners_free(o);
		return;
	}
	rd_owners_free(s->sampling.owners[i]); /* of a source that could not be opened */
	s->sampling.owners[i] = o;
	s->sampling.next_ns = rd_monotonic_ns() + PERIOD_NS;
}

void owners_before_open(
	struct rd_session *s, const struct rd_device *device, const struct rd_port *port)
{
	if (!s->config->no_owners)
		open_one(s, s->in.n, device, port);
}

void owners_begin(struct rd_session *s)
{
	if (s->config->no_facts || is_offline(s))
		return;
	/* The thread that handles the frames also handles the facts. */
	if (!s->config->calls.frames && (!s->config->out.path || !s->out.encoder.format->facts)) {
		s->sampling.next_ns = 0;
		owner_events_free(s);
		return;
	}
	say_unlisted(s);
	for (unsigned int i = 0; i < s->in.n && !s->config->no_owners; i++)
		if (s->in.device[i] && s->in.port[i] && !s->in.follows[i] && !s->in.early[i])
			open_one(s, i, s->in.device[i], s->in.port[i]);
}

bool owners_wanted(const struct rd_session *s)
{
	return s->sampling.next_ns != 0;
}

/*
 * Whether QPs are sampled while the capture runs: the kernel does not report them all. The files of
 * a recording begin at any time, and need what was alive then.
 */
static bool is_sampled(const struct rd_session *s)
{
	return s->config->recording || !owner_events_whole(s);
}

void owners_tick(struct rd_session *s)
{
	owner_events_take(s);
	if (owners_wanted(s) && rd_monotonic_ns() >= s->sampling.next_ns && is_sampled(s))
		sample(s);
}

void owners_end(struct rd_session *s)
{
	owner_events_end(s);
	if (owners_wanted(s))
		sample(s);
}

void owners_facts(struct rd_session *s, unsigned int i, const struct rd_device *device,
	const struct rd_port *port, struct rd_facts *to)
{
	if (!s->sampling.owners[i])
		return;
	read_frame_clock(s, i);
	pthread_mutex_lock(&s->sampling.lock);
	rd_facts_add_owners(to, device, port, s->in.bases[i], s->sampling.owners[i]);
	pthread_mutex_unlock(&s->sampling.lock);
}

void owners_free(struct rd_session *s)
{
	rd_resources_stop_when(NULL, NULL);
	owner_events_free(s);
	for (unsigned int i = 0; i < RD_IFACES_MAX; i++)
		rd_owners_free(s->sampling.owners[i]);
}
