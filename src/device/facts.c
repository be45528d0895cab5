/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The facts about a device that a capture stores with its frames: identity, open QPs, counters, as
 * JSON (rdmadump-formats(5)).
 */
#include "sysfs.h"
#include <inttypes.h>
#include <rdmadump/counters.h>
#include <rdmadump/dcb.h>
#include <rdmadump/facts.h>
#include <rdmadump/json.h>
#include <rdmadump/log.h>
#include <rdmadump/notation.h>
#include <rdmadump/owner.h>
#include <stdlib.h>
#include <string.h>

/* QPs in one object: about 130 bytes each, so that it stays well below RD_FACTS_MAX. */
#define QPS_MAX 4096

/* The device whose facts are collected, their list, and their interface number in the file. */
struct subject {
	struct rd_facts *to;
	const struct rd_device *device;
	const struct rd_port *port;
	unsigned int iface;
	bool owners;
};

/* Consumes the object and appends it to the list; it is left out if it does not fit. */
static void keep(const struct subject *s, json_t *fact)
{
	char *text = json_dumps(fact, JSON_COMPACT);

	if (text && rd_facts_add(s->to, text, strlen(text)) < 0)
		rd_log(RD_LOG_WARNING,
			"facts of the device are left out: they are too large, or memory is short");
	free(text);
	json_decref(fact);
}

/* The common first members of every object. */
static json_t *begin(const struct subject *s, const char *kind, const char *when, uint64_t time_ns)
{
	char guid[20];

	snprintf(guid, sizeof(guid), "%016" PRIx64, s->device->node_guid);
	return json_pack("{s:s, s:s, s:I, s:i, s:s, s:i, s:s}", "kind", kind, "when", when,
		"time_ns", (json_int_t)time_ns, "interface", (int)s->iface, "device",
		s->device->name, "port", (int)s->port->num, "node_guid", guid);
}

static void add_counters(const struct subject *s, const char *when)
{
	struct rd_counters c;
	json_t *fact, *values;

	if (rd_counters_load(&c, "", s->device, s->port, NULL) < 0)
		return;
	fact = begin(s, "counters", when, c.time_ns);
	values = json_object();
	for (size_t i = 0; i < c.n; i++)
		json_object_set_new(values, c.counter[i].name, rd_json_u64(c.counter[i].value));
	json_object_set_new(fact, "lifespan_ms", json_integer(c.lifespan_ms));
	json_object_set_new(fact, "counters", values);
	rd_counters_free(&c);
	keep(s, fact);
}

static json_t *gids(const struct rd_port *p)
{
	char text[RD_ADDRESS_LEN];

	return RD_JSON_LIST(g, p->gids, p->n_gids,
		json_pack("{s:i, s:s, s:s, s:s}", "index", (int)g->index, "gid",
			rd_gid_text(text, g->raw), "type", rd_gid_type_name(g->type), "netdev",
			g->ndev));
}

static json_t *netdevs(const struct rd_port *p)
{
	char mac[RD_MAC_LEN];

	return RD_JSON_LIST(n, p->netdevs, p->n_netdevs,
		json_pack("{s:s, s:s, s:I}", "name", n->name, "mac", rd_mac_text(mac, n->mac),
			"mtu", (json_int_t)n->mtu));
}

static void add_device(const struct subject *s, const char *when)
{
	const struct rd_device *d = s->device;
	const struct rd_port *p = s->port;
	json_t *fact = begin(s, "device", when, rd_wall_ns());
	char boot[RD_BOOT_ID_LEN];

	json_object_update_new(
		fact, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I}", "firmware", d->fw,
			      "driver", d->driver, "pci", d->pci, "board_id", d->board_id,
			      "hca_type", d->hca_type, "node_type", d->node_type, "vendor_id",
			      (json_int_t)d->vendor_id, "part_id", (json_int_t)d->part_id));
	json_object_update_new(
		fact, json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:o, s:o}", "link",
			      p->link == RD_LINK_INFINIBAND ? "InfiniBand" : "Ethernet", "state",
			      p->state, "phys_state", p->phys_state, "speed", (json_int_t)p->speed,
			      "lid", (json_int_t)p->lid, "sm_lid", (json_int_t)p->sm_lid, "netdevs",
			      netdevs(p), "gids", gids(p)));
	if (rd_sysfs_text(boot, sizeof(boot), "/proc/sys/kernel/random/boot_id") == 0)
		json_object_set_new(fact, "boot_id", rd_json_text(boot));
	keep(s, fact);
}

/* Adds a fact for each netdev of the port whose driver supports DCB. */
static void add_dcb(const struct subject *s, const char *when)
{
	const uint64_t now = rd_wall_ns();

	for (unsigned int i = 0; i < s->port->n_netdevs; i++) {
		struct rd_dcb dcb;
		json_t *settings, *fact;

		rd_dcb_load(&dcb, s->device, &s->port->netdevs[i]);
		settings = rd_dcb_fact(&dcb);
		rd_dcb_free(&dcb);
		if (!settings)
			continue;
		fact = begin(s, "dcb", when, now);
		json_object_update_new(fact, settings);
		keep(s, fact);
	}
}

static json_t *qp_object(const struct rd_qp_res *q, bool owner)
{
	json_t *o = json_pack("{s:I, s:s, s:s}", "lqpn", (json_int_t)q->lqpn, "type",
		rd_qp_type_name(q->type), "state", rd_qp_state_name(q->state));

	if (owner)
		json_object_update_new(
			o, json_pack("{s:I, s:s}", "pid", (json_int_t)q->pid, "comm", q->comm));
	if (q->has_rqpn)
		json_object_set_new(o, "rqpn", json_integer(q->rqpn));
	if (q->has_psn) {
		json_object_set_new(o, "sq_psn", json_integer(q->sq_psn));
		if (q->has_rqpn)
			json_object_set_new(o, "rq_psn", json_integer(q->rq_psn));
	}
	return o;
}

static void keep_qps(const struct subject *s, const char *when, json_t *list)
{
	json_t *fact = begin(s, "qps", when, rd_wall_ns());

	json_object_set_new(fact, "qps", list);
	keep(s, fact);
}

/* Adds the QPs of this port, and those not yet bound to a port; none if the kernel lists none. */
static void add_qps(const struct subject *s, const char *when)
{
	struct rd_resources r;
	json_t *list = json_array();

	if (rd_resources_qps(&r, s->device->name) == 0) {
		rd_resources_name("", &r);
		for (size_t i = 0; i < r.n_qps; i++) {
			if (r.qps[i].port && r.qps[i].port != s->port->num)
				continue;
			if (json_array_size(list) == QPS_MAX) {
				keep_qps(s, when, list);
				list = json_array();
			}
			json_array_append_new(list, qp_object(&r.qps[i], s->owners));
		}
		if (json_array_size(list))
			keep_qps(s, when, json_incref(list));
	}
	json_decref(list);
	rd_resources_free(&r);
}

/* --- owners of queue pairs ------------------------------------------------------------------- */

/* Bytes of JSON: of an owner without its QPs, and of a QP, at most. */
#define OWNER_BYTES (RD_CGROUP_MAX * 2 + 1024)
#define QP_BYTES    112

static void set_text(json_t *o, const char *key, const char *text)
{
	if (*text)
		json_object_set_new(o, key, rd_json_string(text));
}

static json_t *owner_object(const struct rd_process *p)
{
	json_t *o = json_pack(
		       "{s:I, s:o}", "pid", (json_int_t)p->pid, "comm", rd_json_string(p->comm)),
	       *job = json_object();

	if (p->pid) {
		json_object_set_new(o, "start_ticks", rd_json_u64(p->start_ticks));
		json_object_set_new(o, "start_ns", rd_json_u64(p->start_ns));
	}
	if (p->service_port)
		json_object_set_new(o, "service_port", json_integer(p->service_port));
	set_text(o, "cgroup", p->cgroup);
	set_text(o, "container", p->container);
	set_text(o, "pod", p->pod);
	for (size_t i = 0; i < RD_JOB_KEYS; i++)
		set_text(job, rd_job_names[i], p->job[i]);
	if (json_object_size(job))
		json_object_set(o, "job", job);
	json_decref(job);
	return o;
}

/* The objects that are stored; `list` has the owners of the one that is not full. */
struct owners_facts {
	const struct subject *s;
	const struct rd_owners *owners;
	json_t *list;
	size_t bytes;
};

static void keep_owners(struct owners_facts *f)
{
	const struct rd_owners_worth w = rd_owners_worth(f->owners);
	json_t *fact = begin(f->s, "owners", "end", rd_owners_now(f->owners));

	json_object_set_new(fact, "samples", json_integer(w.samples));
	json_object_set_new(fact, "interval_ns", rd_json_u64(w.interval_ns));
	json_object_set_new(fact, "since_ns", rd_json_u64(w.since_ns));
	if (w.clock_known)
		json_object_set_new(fact, "clock_error_ns", rd_json_u64(w.clock_error_ns));
	if (w.watched)
		json_object_set_new(fact, "events_lost", rd_json_u64(w.lost));
	json_object_set_new(fact, "owners", f->list);
	keep(f->s, fact);
	f->list = json_array();
	f->bytes = 0;
}

static void add_part(struct owners_facts *f, const struct rd_process *who,
	const struct rd_owned_qp *qps, size_t n)
{
	size_t bytes = OWNER_BYTES + n * QP_BYTES;
	json_t *o, *list = json_array();

	if (f->bytes && f->bytes + bytes > QPS_MAX * QP_BYTES + OWNER_BYTES)
		keep_owners(f);
	f->bytes += bytes;
	for (size_t i = 0; i < n; i++) {
		o = json_pack("{s:I, s:I, s:I}", "lqpn", (json_int_t)qps[i].lqpn, "first_ns",
			(json_int_t)qps[i].first_ns, "last_ns", (json_int_t)qps[i].last_ns);
		if (qps[i].rqpn)
			json_object_set_new(o, "rqpn", json_integer(qps[i].rqpn));
		json_array_append_new(list, o);
	}
	o = owner_object(who);
	json_object_set_new(o, "qps", list);
	json_array_append_new(f->list, o);
}

void rd_facts_add_owners(struct rd_facts *to, const struct rd_device *device,
	const struct rd_port *port, unsigned int iface, const struct rd_owners *owners)
{
	const struct subject s = {to, device, port, iface, true};
	struct owners_facts f = {.s = &s, .owners = owners};
	const struct rd_process *who = NULL;
	size_t n;

	if (!rd_owners_worth(owners).samples)
		return;
	f.list = json_array();
	while ((who = rd_owners_next(owners, who, &n))) {
		struct rd_owned_qp *qps = malloc((n ? n : 1) * sizeof(*qps));

		if (!qps)
			break;
		rd_owners_qps(who, qps);
		for (size_t at = 0; at < n; at += QPS_MAX)
			add_part(&f, who, qps + at, n - at < QPS_MAX ? n - at : QPS_MAX);
		free(qps);
	}
	/* An empty list means that QPs can be listed and there were none. */
	keep_owners(&f);
	json_decref(f.list);
}

json_t *rd_trailers_json(const struct rd_trailers of[RD_DIRECTIONS])
{
	static const char *const names[RD_DIRECTIONS] = {
		[RD_DIR_UNKNOWN] = "unknown", [RD_DIR_IN] = "received", [RD_DIR_OUT] = "sent"};
	json_t *all = json_object();

	for (unsigned int i = 0; i < RD_DIRECTIONS; i++) {
		const struct rd_trailers *t = &of[i];

		if (!t->packets && !t->other)
			continue;
		json_object_set_new(all, names[i],
			json_pack("{s:s, s:s, s:I, s:I, s:I, s:I}", "icrc",
				rd_trailer_name(rd_trailers_icrc(t)), "vcrc",
				rd_trailer_name(rd_trailers_vcrc(t)), "packets",
				(json_int_t)t->packets, "icrc_valid", (json_int_t)t->icrc_valid,
				"vcrc_valid", (json_int_t)t->vcrc_valid, "end_not_found",
				(json_int_t)t->other));
	}
	return all;
}

void rd_facts_add_trailers(struct rd_facts *to, const struct rd_device *device,
	const struct rd_port *port, unsigned int iface, const struct rd_trailers of[RD_DIRECTIONS])
{
	const struct subject s = {to, device, port, iface, true};
	json_t *fact, *all = rd_trailers_json(of);

	if (!json_object_size(all)) {
		json_decref(all);
		return;
	}
	fact = begin(&s, "checksums", "end", rd_wall_ns());
	json_object_set_new(fact, "checksums", all);
	keep(&s, fact);
}

void rd_facts_add_port(struct rd_facts *to, const struct rd_device *device,
	const struct rd_port *port, unsigned int iface, const char *when, bool qps, bool owners)
{
	const struct subject s = {to, device, port, iface, owners};

	add_device(&s, when);
	if (strcmp(when, "start") == 0)
		add_dcb(&s, when);
	if (qps)
		add_qps(&s, when);
	add_counters(&s, when);
}
