/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Triggers of counters: reads the counters of their ports at intervals, and compares. */
#include "recorder.h"
#include <inttypes.h>
#include <rdmadump/sum.h>
#include <stdlib.h>

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
			"lists the triggers",
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
	struct counters_watch *w = &r->watch.counters;

	for (unsigned int p = 0; p < w->n_ports; p++)
		rd_counters_free(&w->ports[p].last);
	rd_devices_free(&w->devices);
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

/* --- growth ------------------------------------------------------------------------------ */

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

/* True if this growth fires the trigger; *grown: by how much; *wrapped: if it wrapped. */
static bool passes(struct watched_counter *w, uint64_t now, const struct rd_growth *growth,
	uint64_t *grown, bool *wrapped)
{
	const struct trigger *t = w->trigger;
	bool was = w->above;

	if (growth->wrapped)
		w->wrapped_ns = now;
	if (t->rate) {
		*grown = recent(w, now, growth->amount);
		*wrapped = w->wrapped_ns && now - w->wrapped_ns < RATE_NS;
		w->above = *grown > t->most;
		return w->above && !was;
	}
	rd_sum_add(&w->grown, growth->amount);
	*grown = w->grown;
	*wrapped = w->wrapped_ns;
	if (*grown <= t->most)
		return false;
	w->grown = w->wrapped_ns = 0;
	return true;
}

/* By the rule of captures. What is unknown counts as 0; a gauge counts with its value. */
static struct rd_growth growth_of(
	const struct watched_port *p, const struct rd_counters *all, size_t i, struct rd_growth g)
{
	const struct rd_counter *c = &all->counter[i], *then;
	const struct rd_span span = {(double)(all->time_ns - p->last.time_ns) / 1e9, all->speed};

	if (g.wrapped && !rd_growth_is_wrap(&g, &span, all->lifespan_ms))
		return (struct rd_growth){.verdict = RD_GROWTH_RESET};
	if (c->kind && c->kind->flags & RD_COUNTER_GAUGE) {
		then = rd_counters_find(&p->last, c->name);
		g.amount = then && c->value > then->value ? c->value - then->value : 0;
	}
	return g;
}

static void update(struct rd_recorder *r, struct watched_counter *w, const struct rd_counters *all,
	const struct rd_growth *growth)
{
	const struct rd_counter *c = find(all, w->trigger->counter);
	struct rd_growth g;
	uint64_t grown;
	bool wrapped;
	char what[TRIGGER_TEXT];

	if (!c)
		return;
	g = growth_of(&r->watch.counters.ports[w->port], all, (size_t)(c - all->counter),
		growth[c - all->counter]);
	if (!passes(w, all->time_ns, &g, &grown, &wrapped))
		return;
	snprintf(what, sizeof(what), "%s of %s:%u grew by %" PRIu64 " to %" PRIu64 "%s", c->name,
		all->device, all->port, grown, c->value,
		wrapped ? ", if it wrapped and was not reset" : "");
	recorder_fire(r, w->trigger, NULL, what);
}

/*
 * The growth since the last reading; owned by the caller, as *all is. NULL if they cannot be read.
 * Counters are read by the device's name; growth begins again with those of another device.
 */
static struct rd_growth *read_once(struct watched_port *p, struct rd_counters *all)
{
	uint64_t identity = rd_port_identity("", p->device->name, p->port->num);
	struct rd_growth *growth = NULL;

	/* If another device took the name meanwhile, whose counters these are is not known. */
	if (rd_counters_load(all, "", p->device, p->port, NULL) == 0 &&
		rd_port_identity("", p->device->name, p->port->num) == identity) {
		all->time_ns = rd_monotonic_ns();
		if (identity != p->identity)
			rd_counters_free(&p->last);
		p->identity = identity;
		growth = rd_counters_compare(&p->last, all);
	}
	if (!growth)
		rd_counters_free(all);
	return growth;
}

static void read_port(struct rd_recorder *r, unsigned int index)
{
	struct counters_watch *w = &r->watch.counters;
	struct watched_port *p = &w->ports[index];
	struct rd_counters all;
	struct rd_growth *growth = read_once(p, &all);

	/* Some files may have been read before a reset, and the others after it. */
	if (growth && RD_ANY(g, growth, all.n, g->wrapped || g->verdict == RD_GROWTH_RESET)) {
		free(growth);
		rd_counters_free(&all);
		growth = read_once(p, &all);
	}
	if (!growth)
		return;
	for (unsigned int i = 0; i < w->n; i++)
		if (w->counter[i].port == index)
			update(r, &w->counter[i], &all, growth);
	free(growth);
	rd_counters_free(&p->last);
	p->last = all;
}

uint64_t counters_watch_read(struct rd_recorder *r)
{
	struct counters_watch *w = &r->watch.counters;
	uint64_t start = rd_monotonic_ns(), took;

	if (!w->n)
		return UINT64_MAX;
	for (unsigned int p = 0; p < w->n_ports; p++)
		read_port(r, p);
	took = rd_monotonic_ns() - start;
	return took * TIMES_READ > PERIOD_NS ? took * TIMES_READ : PERIOD_NS;
}
