/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Triggers of counters: reads the counters of their ports at intervals, and compares. */
#include "recorder.h"
#include <inttypes.h>
#include <rdmadump/clock.h>
#include <rdmadump/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD_NS  100000000U
#define TIMES_READ 20 /* reading takes at most this fraction (1/N) of the time */
#define RATE_NS	   1000000000U

/* Finds a counter by its full name, or by the part after the last slash. */
static const struct rd_counter *find(const struct rd_counters *all, const char *name)
{
	const struct rd_counter *exact = rd_counters_find(all, name);
	size_t len = strlen(name);

	for (size_t i = 0; !exact && i < all->n; i++) {
		const char *full = all->counter[i].name;
		size_t n = strlen(full);

		if (n > len && full[n - len - 1] == '/' && strcmp(full + n - len, name) == 0)
			exact = &all->counter[i];
	}
	return exact;
}

/* --- ports ------------------------------------------------------------------------------------ */

static int find_port(
	struct rd_recorder *r, const struct trigger *t, unsigned int *index, struct rd_error *err)
{
	struct counters_watch *w = &r->watch.counters;
	const struct rd_device *device;
	const struct rd_port *port;
	unsigned int n;

	if (t->device) {
		if (!w->devices.n && rd_devices_load(&w->devices, "", err) < 0)
			return -1;
		if (rd_devices_find(&w->devices, t->device, 0, &device, &port, err) < 0)
			return -1;
	} else {
		const struct rd_session_source *source = rd_session_sources(r->session, &n);

		device = source->device;
		port = source->port;
	}
	if (!device || !port)
		return rd_fail(err, RD_CLASS_USAGE, 0,
			"name the device that has the counter (,device=DEVICE); rdmadump-record(1) "
			"lists "
			"the triggers",
			"--trigger '%s' would be a counter, but the recording is not of an RDMA "
			"device",
			t->text);
	for (*index = 0; *index < w->n_ports; (*index)++)
		if (w->ports[*index].port == port)
			return 0;
	w->ports[w->n_ports].device = device;
	w->ports[w->n_ports++].port = port;
	return 0;
}

static int require_counter(struct rd_recorder *r, const struct trigger *t, struct rd_error *err)
{
	char name[128];

	if (counters_watch_find(r, t, name, sizeof(name)))
		return 0;
	return rd_fail(err, RD_CLASS_USAGE, 0, "'rdmadump counters' lists those of a port",
		"--trigger '%s': there is no counter '%s', and no trigger of this name", t->text,
		t->counter);
}

int counters_watch_init(struct rd_recorder *r, struct rd_error *err)
{
	struct counters_watch *w = &r->watch.counters;

	for (unsigned int i = 0; i < r->n_triggers; i++) {
		struct trigger *t = &r->trigger[i];
		unsigned int port = 0;

		if (t->source != TRIGGER_COUNTER)
			continue;
		if (find_port(r, t, &port, err) < 0)
			return -1;
		w->counter[w->n++] = (struct watched_counter){.trigger = t, .port = port};
		if (require_counter(r, t, err) < 0)
			return -1;
	}
	/* Growth is counted from the start of the recorder, not from the start of the thread. */
	counters_watch_read(r);
	return 0;
}

void counters_watch_fini(struct rd_recorder *r)
{
	rd_devices_free(&r->watch.counters.devices);
}

bool counters_watch_find(struct rd_recorder *r, const struct trigger *t, char *name, size_t size)
{
	const struct counters_watch *w = &r->watch.counters;
	const struct rd_counter *c = NULL;
	struct rd_counters all;

	for (unsigned int i = 0; i < w->n && !c; i++) {
		unsigned int port = w->counter[i].port;

		if (w->counter[i].trigger != t)
			continue;
		if (rd_counters_load(&all, "", w->ports[port].device, w->ports[port].port, NULL) <
			0)
			return false;
		c = find(&all, t->counter);
		if (c)
			snprintf(name, size, "%s of %s:%u", c->name, w->ports[port].device->name,
				w->ports[port].port->num);
		rd_counters_free(&all);
		break;
	}
	return c != NULL;
}

/* --- growth
 * --------------------------------------------------------------------------------------- */

/* The growth within the last second. */
static uint64_t recent(struct watched_counter *w, uint64_t now, uint64_t amount)
{
	uint64_t sum = 0;

	w->at = (w->at + 1) % COUNTER_TIMES;
	w->times[w->at] = now;
	w->amounts[w->at] = amount;
	for (unsigned int i = 0; i < COUNTER_TIMES; i++)
		if (w->times[i] && now - w->times[i] < RATE_NS)
			sum += w->amounts[i];
	return sum;
}

/* True if this growth fires the trigger; *grown: by how much. */
static bool passes(struct watched_counter *w, uint64_t now, uint64_t amount, uint64_t *grown)
{
	const struct trigger *t = w->trigger;
	bool was = w->above;

	if (t->rate) {
		*grown = recent(w, now, amount);
		w->above = *grown > t->most;
		return w->above && !was;
	}
	*grown = w->grown += amount;
	if (*grown <= t->most)
		return false;
	w->grown = 0;
	return true;
}

static void update(struct rd_recorder *r, struct watched_counter *w, const struct rd_counters *all,
	uint64_t now)
{
	const struct rd_counter *c = find(all, w->trigger->counter);
	struct rd_span span = {.speed = all->speed};
	struct rd_growth growth;
	uint64_t grown;
	char what[160];

	if (!c)
		return;
	if (w->seen) {
		span.seconds = (double)(now - w->ns) / 1e9;
		growth = rd_counter_growth(c->kind, &w->value, &c->value, &span);
		/* A gauge counts with its value. */
		if (c->kind && c->kind->flags & RD_COUNTER_GAUGE)
			growth.amount = c->value > w->value ? c->value - w->value : 0;
		if (passes(w, now, growth.amount, &grown)) {
			snprintf(what, sizeof(what), "%s of %s:%u grew by %" PRIu64 " to %" PRIu64,
				c->name, all->device, all->port, grown, c->value);
			recorder_fire(r, w->trigger, what);
		}
	}
	w->seen = true;
	w->value = c->value;
	w->ns = now;
}

uint64_t counters_watch_read(struct rd_recorder *r)
{
	struct counters_watch *w = &r->watch.counters;
	uint64_t start = rd_monotonic_ns(), took;

	if (!w->n)
		return UINT64_MAX;
	for (unsigned int p = 0; p < w->n_ports; p++) {
		struct rd_counters all;

		if (rd_counters_load(&all, "", w->ports[p].device, w->ports[p].port, NULL) < 0)
			continue;
		for (unsigned int i = 0; i < w->n; i++)
			if (w->counter[i].port == p)
				update(r, &w->counter[i], &all, rd_monotonic_ns());
		rd_counters_free(&all);
	}
	took = rd_monotonic_ns() - start;
	return took * TIMES_READ > PERIOD_NS ? took * TIMES_READ : PERIOD_NS;
}
