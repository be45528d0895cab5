/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The facts that a capture stores beside its frames: device, counters (rdmadump-formats(5)). */
#include "session.h"
#include <arpa/inet.h>
#include <inttypes.h>
#include <jansson.h>
#include <rdmadump/clock.h>
#include <rdmadump/counters.h>
#include <rdmadump/log.h>
#include <rdmadump/resource.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Files may be rotated many times a second, and reading counters takes the device's time. */
#define SNAPSHOT_NS 10000000000U

/* QPs in one object: about 130 bytes each, so that it stays well below RD_FACTS_MAX. */
#define QPS_MOST 4096

/* Numbers of 2^63 and more are no integers of JSON libraries; as reals they keep 15 digits. */
static json_t *json_number_u64(uint64_t n)
{
	return n <= INT64_MAX ? json_integer((json_int_t)n) : json_real((double)n);
}

/* Takes the object over and appends it to the list; what has no room is left out. */
static void keep(struct rd_facts *to, json_t *fact)
{
	char *text = json_dumps(fact, JSON_COMPACT | JSON_REAL_PRECISION(17));

	if (text && rd_facts_add(to, text, strlen(text)) < 0)
		rd_log(RD_LOG_WARNING, "facts of the device are left out: no room");
	free(text);
	json_decref(fact);
}

/* What every object begins with. */
static json_t *begin(const struct rd_session *s, unsigned int source, const char *kind,
	const char *when, uint64_t time_ns)
{
	return json_pack("{s:s, s:s, s:I, s:i, s:s, s:i}", "kind", kind, "when", when, "time_ns",
		(json_int_t)time_ns, "interface", (int)s->in.bases[source], "device",
		s->in.device[source]->name, "port", (int)s->in.port[source]->num);
}

static void add_counters(
	const struct rd_session *s, unsigned int source, const char *when, struct rd_facts *to)
{
	struct rd_counters c;
	json_t *fact, *values;

	if (rd_counters_load(&c, "", s->in.device[source], s->in.port[source], NULL) < 0)
		return;
	fact = begin(s, source, "counters", when, c.time_ns);
	values = json_object();
	for (size_t i = 0; i < c.n; i++)
		json_object_set_new(values, c.counter[i].name, json_number_u64(c.counter[i].value));
	json_object_set_new(fact, "counters", values);
	rd_counters_free(&c);
	keep(to, fact);
}

static json_t *gids(const struct rd_port *p)
{
	static const char *const types[] = {
		[RD_GID_IB] = "IB", [RD_GID_ROCE_V1] = "RoCE v1", [RD_GID_ROCE_V2] = "RoCE v2"};
	json_t *list = json_array();

	for (unsigned int i = 0; i < p->n_gids; i++) {
		const struct rd_gid *g = &p->gids[i];
		char text[INET6_ADDRSTRLEN];

		inet_ntop(AF_INET6, g->raw, text, sizeof(text));
		json_array_append_new(
			list, json_pack("{s:i, s:s, s:s, s:s}", "index", (int)g->index, "gid", text,
				      "type", types[g->type], "netdev", g->ndev));
	}
	return list;
}

static json_t *netdevs(const struct rd_port *p)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < p->n_netdevs; i++) {
		const struct rd_netdev *n = &p->netdevs[i];
		char mac[18];

		snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", n->mac[0], n->mac[1],
			n->mac[2], n->mac[3], n->mac[4], n->mac[5]);
		json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "name", n->name, "mac",
						    mac, "mtu", (json_int_t)n->mtu));
	}
	return list;
}

static void add_device(
	const struct rd_session *s, unsigned int source, const char *when, struct rd_facts *to)
{
	const struct rd_device *d = s->in.device[source];
	const struct rd_port *p = s->in.port[source];
	struct timespec now;
	char guid[20];
	json_t *fact;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(guid, sizeof(guid), "%016" PRIx64, d->node_guid);
	fact = begin(s, source, "device", when, rd_timespec_ns(&now));
	json_object_update_new(fact,
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I}", "firmware", d->fw,
			"driver", d->driver, "pci", d->pci, "board_id", d->board_id, "hca_type",
			d->hca_type, "node_type", d->node_type, "node_guid", guid, "vendor_id",
			(json_int_t)d->vendor_id, "part_id", (json_int_t)d->part_id));
	json_object_update_new(
		fact, json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:o, s:o}", "link",
			      p->link == RD_LINK_INFINIBAND ? "InfiniBand" : "Ethernet", "state",
			      p->state, "phys_state", p->phys_state, "speed", (json_int_t)p->speed,
			      "lid", (json_int_t)p->lid, "sm_lid", (json_int_t)p->sm_lid, "netdevs",
			      netdevs(p), "gids", gids(p)));
	keep(to, fact);
}

static json_t *qp_object(const struct rd_qp_res *q)
{
	json_t *o = json_pack("{s:I, s:s, s:s, s:I, s:s}", "lqpn", (json_int_t)q->lqpn, "type",
		rd_qp_type_name(q->type), "state", rd_qp_state_name(q->state), "pid",
		(json_int_t)q->pid, "comm", q->comm);

	if (q->has_rqpn)
		json_object_set_new(o, "rqpn", json_integer(q->rqpn));
	if (q->has_psn) {
		json_object_set_new(o, "sq_psn", json_integer(q->sq_psn));
		if (q->has_rqpn)
			json_object_set_new(o, "rq_psn", json_integer(q->rq_psn));
	}
	return o;
}

static void keep_qps(const struct rd_session *s, unsigned int source, const char *when,
	json_t *list, struct rd_facts *to)
{
	struct timespec now;
	json_t *fact;

	clock_gettime(CLOCK_REALTIME, &now);
	fact = begin(s, source, "qps", when, rd_timespec_ns(&now));
	json_object_set_new(fact, "qps", list);
	keep(to, fact);
}

/* Of this port, and those that are not bound to one yet. Nothing where the kernel does not list
 * them. */
static void add_qps(
	const struct rd_session *s, unsigned int source, const char *when, struct rd_facts *to)
{
	struct rd_resources r;
	json_t *list = json_array();

	if (rd_resources_load(&r, s->in.device[source]->name, NULL) == 0) {
		for (size_t i = 0; i < r.n_qps; i++) {
			if (r.qps[i].port && r.qps[i].port != s->in.port[source]->num)
				continue;
			if (json_array_size(list) == QPS_MOST) {
				keep_qps(s, source, when, list, to);
				list = json_array();
			}
			json_array_append_new(list, qp_object(&r.qps[i]));
		}
		if (json_array_size(list))
			keep_qps(s, source, when, json_incref(list), to);
	}
	json_decref(list);
	rd_resources_free(&r);
}

void rd_session_facts(const struct rd_session *s, const char *when, struct rd_facts *to)
{
	for (unsigned int i = 0; i < s->in.n; i++) {
		if (!s->in.device[i] || !s->in.port[i] || s->in.follows[i])
			continue;
		if (strcmp(when, "start") == 0)
			add_device(s, i, when, to);
		add_qps(s, i, when, to);
		add_counters(s, i, when, to);
	}
}

void facts_from_file(void *ctx, const char *json, size_t len)
{
	struct rd_session *s = ctx;
	struct output *o = &s->out.list[0];

	/* Once the output is open, another thread may read what stood in front. */
	rd_facts_add(o->sink ? &s->out.facts_end : &o->facts_start, json, len);
}

void facts_at_end(struct rd_session *s)
{
	if (!s->config->no_facts && s->out.n && s->out.encoder.format->facts)
		rd_session_facts(s, "end", &s->out.facts_end);
}

const struct rd_facts *facts_for_file(void *ctx, unsigned int file, bool end)
{
	struct output *o = ctx;
	const struct rd_session *s = o->s;
	uint64_t now = rd_monotonic_ns();

	if (s->config->no_facts || !s->out.encoder.format->facts)
		return NULL;
	if (end)
		return &s->out.facts_end;
	if (!is_offline(s) && (file == 1 || now - o->facts_ns >= SNAPSHOT_NS)) {
		rd_facts_free(&o->facts_start);
		rd_session_facts(s, "start", &o->facts_start);
		o->facts_ns = now;
	}
	return &o->facts_start;
}

void facts_free(struct rd_session *s)
{
	for (unsigned int i = 0; i < RD_IFACES_MAX; i++)
		rd_facts_free(&s->out.list[i].facts_start);
	rd_facts_free(&s->out.facts_end);
}
