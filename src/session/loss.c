/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When a capture reads its devices' counters. The kernel returns cached values (drivers/infiniband/
 * core/sysfs.c, update_hw_stats), and refreshing them takes several firmware commands. A separate
 * thread reads them during the capture; the last reading waits until the cache has expired.
 */
#include "session.h"
#include <stdlib.h>

/* Short enough to read a counter before it is reset; a tenth of the time at most is for reading. */
#define PERIOD_NS  100000000U
#define TIMES_READ 10
/* The last reading: the kernel counts the cache's age in jiffies of up to 10 ms. */
#define JIFFIES_NS 20000000U
#define WAIT_MAX   10000000000U
#define WAIT_STEP  20000000U
#define ANNOUNCED  1000000000U /* a wait of this length or longer is announced */

static bool measures(const struct rd_session *s, unsigned int i)
{
	return !s->in.follows[i] && s->in.sources[i]->ops->measure;
}

void loss_measure(struct rd_session *s)
{
	pthread_mutex_lock(&s->loss.lock);
	for (unsigned int i = 0; i < s->in.n; i++)
		if (measures(s, i))
			s->in.sources[i]->ops->measure(s->in.sources[i]);
	pthread_mutex_unlock(&s->loss.lock);
}

static void measure(struct rd_session *s)
{
	uint64_t start = rd_monotonic_ns(), took;

	loss_measure(s);
	took = rd_monotonic_ns() - start;
	s->loss.slowest_ns = RD_MAX(s->loss.slowest_ns, took);
}

/* --- during the capture ------------------------------------------------------------------- */

/* False: the thread must end. */
static bool pause_for(struct loss *l, uint64_t ns)
{
	uint64_t until = rd_monotonic_ns() + ns;
	const struct timespec t = {(time_t)(until / 1000000000U), (long)(until % 1000000000U)};
	bool stop;

	pthread_mutex_lock(&l->lock);
	while (!l->stop && pthread_cond_timedwait(&l->wake, &l->lock, &t) == 0)
		;
	stop = l->stop;
	pthread_mutex_unlock(&l->lock);
	return !stop;
}

static void *watch(void *arg)
{
	struct rd_session *s = arg;
	uint64_t start, period;

	do {
		start = rd_monotonic_ns();
		measure(s);
		recording_read(s);
		period = (rd_monotonic_ns() - start) * TIMES_READ;
		owners_tick(s);
		pause_tick(s);
	} while (pause_for(&s->loss, period > PERIOD_NS ? period : PERIOD_NS));
	return NULL;
}

void loss_init(struct rd_session *s)
{
	pthread_condattr_t monotonic;

	pthread_mutex_init(&s->loss.lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s->loss.wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

int loss_watch(struct rd_session *s)
{
	bool any = s->config->recording || owners_wanted(s);
	int rc;

	for (unsigned int i = 0; i < s->in.n; i++)
		any |= measures(s, i);
	if (!any)
		return 0;
	owner_events_watch(s);
	pthread_mutex_lock(&s->loss.lock);
	rc = pthread_create(&s->loss.thread, NULL, watch, s);
	s->loss.running = !rc;
	pthread_mutex_unlock(&s->loss.lock);
	if (rc)
		return rd_fail(&s->error, RD_CLASS_DEVICE, rc,
			"raise the limit of processes (ulimit -u)",
			"cannot start the thread that reads counters");
	pthread_setname_np(s->loss.thread, "counters");
	return 0;
}

static void watch_end(struct loss *l)
{
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->lock);
	if (l->running)
		pthread_join(l->thread, NULL);
}

/* --- at the end ------------------------------------------------------------------------------ */

/* Time until the caches of all devices have expired; *device: the one with the longest. */
static uint64_t settling_ns(const struct rd_session *s, const char **device)
{
	uint64_t most = 0;

	for (unsigned int i = 0; i < s->in.n; i++) {
		struct rd_source_stats stats;
		uint64_t ns;

		if (!measures(s, i))
			continue;
		s->in.sources[i]->ops->stats(s->in.sources[i], &stats);
		ns = stats.loss_delay_ms * UINT64_C(1000000) + JIFFIES_NS;
		if (stats.n_loss && ns > most) {
			most = ns;
			*device = s->in.device[i] ? s->in.device[i]->name : "";
		}
	}
	return most ? most + s->loss.slowest_ns : 0;
}

/* False: the caller ended the wait. */
static bool wait_until(struct rd_session *s, uint64_t until)
{
	const struct rd_session_calls *c = &s->config->calls;
	uint64_t now = rd_monotonic_ns();

	for (; now < until; now = rd_monotonic_ns()) {
		uint64_t left = until - now;
		const struct timespec step = {
			.tv_nsec = (long)(left < WAIT_STEP ? left : WAIT_STEP)};

		if (c->waiting_for_counters && !c->waiting_for_counters(c->waiting_ctx)) {
			s->sampling.hurried = true;
			return false;
		}
		nanosleep(&step, NULL);
	}
	return true;
}

/* A refresh that another reader had started when the capture ended expires in that time, too. */
static bool settle(struct rd_session *s)
{
	const char *device = "";
	uint64_t ns = settling_ns(s, &device), wait = ns < WAIT_MAX ? ns : WAIT_MAX;

	if (wait >= ANNOUNCED)
		rd_log(RD_LOG_INFO,
			"waiting %.1f s for the loss counters of %s, which the kernel caches that "
			"long; Ctrl-C ends the wait",
			(double)wait / 1e9, device);
	return wait_until(s, rd_monotonic_ns() + wait) && wait == ns;
}

/* --- other counters of the ports ------------------------------------------------------------- */

static bool has_related(const struct rd_session *s, unsigned int i)
{
	return !is_offline(s) && s->in.device[i] && s->in.port[i] && !s->in.follows[i];
}

static uint64_t identity_of(const struct rd_session *s, unsigned int i)
{
	return rd_port_identity("", s->in.device[i]->name, s->in.port[i]->num);
}

static void read_related(struct rd_session *s, unsigned int i, struct rd_counters *to)
{
	rd_counters_load_kinds(to, "", s->in.device[i], s->in.port[i], RD_COUNTER_RELATED, NULL);
}

/* A gauge is reported if it is not 0, a counter if it changed. */
static bool is_change(const struct rd_counter *c, const struct rd_growth *growth)
{
	if (c->kind->flags & RD_COUNTER_GAUGE)
		return c->value;
	return growth->amount || growth->verdict == RD_GROWTH_RESET;
}

static unsigned int compare(struct loss *l, unsigned int i)
{
	const struct rd_counters *after = &l->after[i];
	struct rd_growth *growth = rd_counters_compare(&l->before[i], after);
	unsigned int n = 0;

	l->changes[i] = calloc(after->n ? after->n : 1, sizeof(*l->changes[i]));
	for (size_t k = 0; growth && l->changes[i] && k < after->n; k++) {
		const struct rd_counter *c = &after->counter[k];

		if (is_change(c, &growth[k]))
			l->changes[i][n++] = (struct rd_counter_change){.name = c->name,
				.meaning = c->kind->meaning,
				.unit = rd_unit_name(c->kind->unit),
				.is_level = c->kind->flags & RD_COUNTER_GAUGE,
				.value = c->value,
				.growth = growth[k]};
	}
	free(growth);
	return n;
}

static void compare_all(struct rd_session *s)
{
	for (unsigned int i = 0, listed = 0; i < s->in.n; i++) {
		if (s->in.follows[i])
			continue;
		s->listed[listed].n_related = compare(&s->loss, i);
		s->listed[listed++].related = s->loss.changes[i];
	}
}

void loss_before(struct rd_session *s)
{
	struct loss *l = &s->loss;

	for (unsigned int i = 0; i < s->in.n; i++) {
		if (!has_related(s, i))
			continue;
		l->identity[i] = identity_of(s, i);
		read_related(s, i, &l->before[i]);
	}
}

/* Counters are read by the device's name. Those of another device that has it now are left out. */
static void read_related_again(struct rd_session *s)
{
	struct loss *l = &s->loss;

	for (unsigned int i = 0; i < s->in.n; i++) {
		if (!has_related(s, i))
			continue;
		read_related(s, i, &l->after[i]);
		if (l->identity[i] && identity_of(s, i) != l->identity[i])
			rd_counters_free(&l->after[i]);
	}
}

void loss_after(struct rd_session *s)
{
	watch_end(&s->loss);
	owners_end(s);
	s->result.lost_settled = settle(s);
	measure(s);
	read_related_again(s);
	compare_all(s);
}

void loss_free(struct rd_session *s)
{
	for (unsigned int i = 0; i < RD_IFACES_MAX; i++) {
		rd_counters_free(&s->loss.before[i]);
		rd_counters_free(&s->loss.after[i]);
		free(s->loss.changes[i]);
	}
	pthread_cond_destroy(&s->loss.wake);
	pthread_mutex_destroy(&s->loss.lock);
}
