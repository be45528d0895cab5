/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When a capture reads the facts that it stores with its frames, and for which file. */
#include "session.h"

/* Files may be rotated many times a second, and reading counters is slow. */
#define SNAPSHOT_NS 10000000000U

/* The devices at the end: addresses may have been added since they were opened. */
static void read_at_end(
	struct rd_session *s, unsigned int i, const struct rd_devices *now, struct rd_facts *to)
{
	struct rd_trailers trailers[RD_DIRECTIONS];
	struct rd_source *source = s->in.sources[i];
	const struct rd_device *device;
	const struct rd_port *port;

	if (rd_devices_find(now, s->in.device[i]->name, s->in.port[i]->num, &device, &port, NULL) <
			0 ||
		device->node_guid != s->in.device[i]->node_guid) {
		device = s->in.device[i];
		port = s->in.port[i];
	}
	rd_facts_add_port(to, device, port, s->in.bases[i], "end", qps_may_be_listed(s, device),
		!s->config->no_owners);
	if (source->ops->trailers && source->ops->trailers(source, trailers))
		rd_facts_add_trailers(to, device, port, s->in.bases[i], trailers);
	owners_facts(s, i, device, port, to);
}

void rd_session_facts(struct rd_session *s, const char *when, struct rd_facts *to)
{
	bool at_end = !strcmp(when, "end"), first = !s->started_ns;
	struct rd_devices now = {0};

	if (at_end)
		rd_devices_load(&now, "", NULL);
	/* Some were read before their sources were opened. */
	for (size_t k = 0; first && !at_end && k < s->in.early_facts.n; k++)
		rd_facts_add(to, s->in.early_facts.fact[k].json, s->in.early_facts.fact[k].len);
	for (unsigned int i = 0; i < s->in.n; i++) {
		if (!s->in.device[i] || !s->in.port[i] || s->in.follows[i])
			continue;
		if (at_end)
			read_at_end(s, i, &now, to);
		else if (!first || !s->in.early[i])
			rd_facts_add_port(to, s->in.device[i], s->in.port[i], s->in.bases[i], when,
				qps_may_be_listed(s, s->in.device[i]), !s->config->no_owners);
	}
	rd_devices_free(&now);
}

void facts_before_open(
	struct rd_session *s, const struct rd_device *device, const struct rd_port *port)
{
	if (s->config->no_facts || (!s->config->out.path && !s->config->calls.frames))
		return;
	s->in.early[s->in.n] = true;
	rd_facts_add_port(&s->in.early_facts, device, port, s->in.n_ifaces, "start",
		qps_may_be_listed(s, device), !s->config->no_owners);
	owners_before_open(s, device, port);
}

void facts_from_file(void *ctx, const char *json, size_t len)
{
	struct rd_session *s = ctx;
	/* Once the output is open, another thread may read facts_start. */
	struct rd_facts *to = s->out.sink ? &s->out.facts_end : &s->out.facts_start;

	if (s->config->no_owners)
		rd_facts_add_no_owners(to, json, len);
	else
		rd_facts_add(to, json, len);
}

void facts_at_end(struct rd_session *s)
{
	if (!s->config->no_facts && !s->config->recording && s->config->out.path &&
		s->out.encoder.format->facts)
		rd_session_facts(s, "end", &s->out.facts_end);
}

void facts_at_start(struct rd_session *s)
{
	if (s->config->no_facts || s->config->recording || is_offline(s) || !s->config->out.path ||
		!s->out.encoder.format->facts)
		return;
	rd_session_facts(s, "start", &s->out.facts_start);
	s->out.facts_ns = rd_monotonic_ns();
}

const struct rd_facts *facts_for_file(void *ctx, unsigned int file, bool end)
{
	struct rd_session *s = ctx;
	struct output *o = &s->out;
	uint64_t now = rd_monotonic_ns();

	if (s->config->no_facts || !s->out.encoder.format->facts)
		return NULL;
	if (end)
		return &s->out.facts_end;
	if (!is_offline(s) && file > 1 && now - o->facts_ns >= SNAPSHOT_NS) {
		rd_facts_free(&o->facts_start);
		rd_session_facts(s, "start", &o->facts_start);
		o->facts_ns = now;
	}
	return &o->facts_start;
}

void facts_free(struct rd_session *s)
{
	rd_facts_free(&s->out.facts_start);
	rd_facts_free(&s->out.facts_end);
	rd_facts_free(&s->in.early_facts);
}
