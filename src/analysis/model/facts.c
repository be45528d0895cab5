/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the facts in a capture file: see FACTS in rdmadump-formats(5). */
#include "facts.h"
#include <arpa/inet.h>
#include <rdmadump/json.h>
#include <stdlib.h>

#define PEERS_MAX    (1U << 19)
#define PEERS_OF_ONE 64	  /* a new flow is compared with each */
#define COUNTERS_MAX 4096 /* of a port; devices have some hundred */

/* --- queue pairs ------------------------------------------------------------------------------ */

static void peer_add(struct facts *f, uint32_t local, uint32_t remote)
{
	uint32_t nth = 0, *peer = NULL;
	bool made;

	if (!local || !remote)
		return;
	for (const uint32_t *p; (p = bounded_find(&f->peers, local, nth)); nth++)
		if (*p == remote)
			return;
	if (nth < PEERS_OF_ONE && !bounded_is_full(&f->peers))
		peer = bounded_take(&f->peers, local, nth, &made);
	if (peer)
		*peer = remote;
	else
		f->left_out++;
}

uint32_t facts_peer(const struct rd_analysis *a, uint32_t qp, unsigned int nth)
{
	const uint32_t *peer = bounded_find(&a->facts->peers, qp, nth);

	return peer ? *peer : RD_QP_UNKNOWN;
}

/* --- ports ------------------------------------------------------------------------------------ */

static struct facts_port *port_add(
	struct rd_analysis *a, const char *device, unsigned int port, const char *guid)
{
	struct facts *f = a->facts;
	struct facts_port *p = &f->ports[f->n_ports];

	if (f->n_ports == FACTS_PORTS) {
		f->left_out++;
		return NULL;
	}
	p->port = port;
	p->file = a->in.n_files;
	snprintf(p->guid, sizeof(p->guid), "%s", guid);
	p->device = strdup(device);
	if (!p->device)
		return NULL;
	f->n_ports++;
	return p;
}

/*
 * Two hosts may have devices of the same name: the node GUID tells them apart. Facts without one
 * are of the device that was stored before them in the same file.
 */
static struct facts_port *port_of(struct rd_analysis *a, const json_t *facts)
{
	const char *device = json_string_value(json_object_get(facts, "device"));
	const char *guid = json_string_value(json_object_get(facts, "node_guid"));
	unsigned int port = (unsigned int)json_integer_value(json_object_get(facts, "port"));
	struct facts *f = a->facts;
	const struct facts_port *now = f->current_file == a->in.n_files ? f->current : NULL;
	struct facts_port *known;

	if (!device)
		return NULL;
	if (!guid)
		guid = now && !strcmp(now->device, device) ? now->guid : "";
	known = RD_FIND(p, f->ports, f->n_ports,
		p->port == port && !strcmp(p->device, device) && !strcmp(p->guid, guid) &&
			(*guid || p->file == a->in.n_files));
	return known ? known : port_add(a, device, port, guid);
}

static void add_address(struct facts *f, unsigned int net, const uint8_t *raw)
{
	struct facts_port *p = f->current;
	char text[RD_ADDRESS_LEN];

	rd_address_text(text, net, raw);
	if (facts_is_local(p, text))
		return;
	if (p->n_gids < FACTS_ADDRESSES)
		memcpy(p->gids[p->n_gids++], text, sizeof(text));
	else
		f->left_out++;
}

static void take_device(struct rd_analysis *a, json_t *facts)
{
	const char *driver = json_string_value(json_object_get(facts, "driver"));
	json_int_t speed = json_integer_value(json_object_get(facts, "speed"));
	json_int_t lid = json_integer_value(json_object_get(facts, "lid"));
	struct facts_port *p = port_of(a, facts);
	const json_t *netdev = json_array_get(json_object_get(facts, "netdevs"), 0), *gid;
	uint8_t raw[16];
	size_t i;

	if (!p)
		return;
	snprintf(p->netdev, sizeof(p->netdev), "%s", rd_json_text_of(netdev, "name"));
	snprintf(p->boot, sizeof(p->boot), "%s", rd_json_text_of(facts, "boot_id"));
	a->facts->current = p;
	a->facts->current_file = a->in.n_files;
	if (!p->n_files || p->last_file != a->in.n_files)
		p->n_files++;
	p->last_file = a->in.n_files;
	snprintf(p->driver, sizeof(p->driver), "%s", driver ? driver : "");
	p->speed = speed > 0 ? (uint64_t)speed : 0;
	if (lid > 0 && lid <= UINT16_MAX)
		add_address(a->facts, RD_NET_NONE,
			(const uint8_t[]){(uint8_t)(lid >> 8), (uint8_t)lid});
	json_array_foreach (json_object_get(facts, "gids"), i, gid) {
		const char *text = json_string_value(json_object_get(gid, "gid"));

		if (text && inet_pton(AF_INET6, text, raw) == 1)
			add_address(a->facts, RD_NET_GRH, raw);
	}
}

/* --- settings --------------------------------------------------------------------------------- */

static int priority_of(const json_t *value)
{
	json_int_t n = json_integer_value(value);

	return json_is_integer(value) && n >= 0 && n < RD_PRIORITIES ? (int)n : -1;
}

static void take_dcb(struct rd_analysis *a, json_t *facts)
{
	const json_t *pfc = json_object_get(facts, "pfc"), *value;
	struct facts_port *p = port_of(a, facts);
	struct facts_dcb *d = p && !p->dcb.known && json_is_array(pfc) ? &p->dcb : NULL;
	size_t i;

	if (!d)
		return;
	d->known = true;
	memset(d->of, -1, sizeof(d->of));
	json_array_foreach (pfc, i, value)
		if (priority_of(value) >= 0)
			d->pfc |= (uint8_t)(1U << priority_of(value));
	json_array_foreach (json_object_get(facts, "trust"), i, value) {
		const char *name = json_string_value(value);

		d->dscp |= name && !strcmp(name, "dscp");
		d->pcp |= name && !strcmp(name, "pcp");
		d->pcp_first |= d->pcp && !d->dscp;
	}
	json_array_foreach (json_object_get(facts, "dscp_priorities"), i, value)
		if (i < sizeof(d->of))
			d->of[i] = (int8_t)priority_of(value);
}

/* --- counters --------------------------------------------------------------------------------- */

/* Copies numbers of time and counters only, so that nothing else of the file uses memory. */
static json_t *reading_of(struct facts *f, const json_t *facts)
{
	json_t *numbers = json_object(), *value;
	json_int_t time_ns = json_integer_value(json_object_get(facts, "time_ns"));
	json_int_t lifespan = json_integer_value(json_object_get(facts, "lifespan_ms"));
	const char *name;

	json_object_foreach (json_object_get(facts, "counters"), name, value) {
		if (!json_is_number(value))
			continue;
		if (json_object_size(numbers) == COUNTERS_MAX) {
			f->left_out++;
			continue;
		}
		json_object_set(numbers, name, value);
	}
	return json_pack("{s:I, s:I, s:o}", "time_ns", time_ns, "lifespan_ms", lifespan, "counters",
		numbers);
}

/* What the packets show now; `skip`: what came since the last reading is in no span. */
static void show(struct rd_analysis *a, struct facts_port *p, bool skip)
{
	uint8_t *places = quantity_places(a, p);

	for (size_t i = 0; i < QUANTITIES && quantities[i].counter; i++) {
		uint64_t now = quantity_shown(a, places, 0, &quantities[i]);

		/* What was counted may be taken back later. */
		if (skip && now > p->shown[i])
			p->outside[i] += now - p->shown[i];
		p->shown[i] = now;
	}
	free(places);
}

/* All frames until `ns` were seen. */
static void pass(struct rd_analysis *a, struct facts_port *p, uint64_t ns)
{
	if (p->starts_ns && p->starts_ns <= ns) {
		show(a, p, true);
		p->starts_ns = 0;
	}
	if (!p->starts_ns && p->ends_ns && p->ends_ns < ns) {
		show(a, p, false);
		p->ends_ns = 0;
	}
}

void facts_pass(struct rd_analysis *a, uint64_t ns)
{
	a->facts_ns = UINT64_MAX;
	for (unsigned int i = 0; a->facts && i < a->facts->n_ports; i++) {
		struct facts_port *p = &a->facts->ports[i];
		uint64_t next;

		pass(a, p, ns);
		next = p->starts_ns ? p->starts_ns : p->ends_ns;
		if (next && next < a->facts_ns)
			a->facts_ns = next;
	}
}

void facts_settle(struct rd_analysis *a)
{
	for (unsigned int i = 0; a->facts && i < a->facts->n_ports; i++)
		if (a->facts->ports[i].ends_ns)
			pass(a, &a->facts->ports[i], UINT64_MAX);
}

static uint64_t time_of(const json_t *facts, uint64_t unknown)
{
	json_int_t ns = json_integer_value(json_object_get(facts, "time_ns"));

	return ns > 0 ? (uint64_t)ns : unknown;
}

/* Later files of a series begin with counters of their own, which are within the span. */
static void take_first(struct rd_analysis *a, struct facts_port *p, const json_t *facts)
{
	struct facts_span *s = p->n_spans ? &p->spans[p->n_spans - 1] : NULL;

	if (s && !s->last)
		return;
	if (p->n_spans == FACTS_SPANS) {
		a->facts->left_out++;
		return;
	}
	pass(a, p, UINT64_MAX); /* of the span before */
	p->spans[p->n_spans++].first = reading_of(a->facts, facts);
	p->starts_ns = time_of(facts, 1);
	a->facts_ns = 0; /* the next frame decides */
}

static void take_last(struct rd_analysis *a, struct facts_port *p, const json_t *facts)
{
	struct facts_span *s = p->n_spans ? &p->spans[p->n_spans - 1] : NULL;

	if (!s || s->last)
		return;
	s->last = reading_of(a->facts, facts);
	s->was_reset = facts_show_reset(p, s);
	p->ends_ns = time_of(facts, UINT64_MAX - 1);
	a->facts_ns = 0;
}

static void take_counters(struct rd_analysis *a, json_t *facts)
{
	const char *when = json_string_value(json_object_get(facts, "when"));
	struct facts_port *p = port_of(a, facts);

	if (!p || !when || !json_is_object(json_object_get(facts, "counters")))
		return;
	if (!strcmp(when, "end"))
		take_last(a, p, facts);
	else
		take_first(a, p, facts);
}

/* --- owners of queue pairs ------------------------------------------------------------------- */

static uint32_t qp_number(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 && n <= 0xffffff ? (uint32_t)n : 0;
}

/* `qp`: when the owner had it, too, if that is known. */
static void own(struct rd_analysis *a, const struct facts_port *p, const json_t *qp,
	const struct rd_owner *who)
{
	uint64_t first_ns = rd_json_u64_value(json_object_get(qp, "first_ns"));
	uint64_t last_ns = rd_json_u64_value(json_object_get(qp, "last_ns"));
	uint32_t port = (uint32_t)(p - a->facts->ports), number = qp_number(qp, "lqpn");

	if (!first_ns || last_ns < first_ns)
		first_ns = last_ns = 0;
	if (number && !owner_add(&a->facts->owners, number, port, who, first_ns, last_ns))
		a->facts->left_out++;
}

/* In both directions: either end may be captured first. */
static void take_peers(struct facts *f, const json_t *qp)
{
	uint32_t local = qp_number(qp, "lqpn"), remote = qp_number(qp, "rqpn");

	peer_add(f, local, remote);
	peer_add(f, remote, local);
}

static void take_qps(struct rd_analysis *a, json_t *facts)
{
	const struct facts_port *p = port_of(a, facts);
	const json_t *qp;
	size_t i;

	json_array_foreach (json_object_get(facts, "qps"), i, qp) {
		struct rd_owner who;

		take_peers(a->facts, qp);
		if (!p || !owner_read(qp, &who))
			continue;
		own(a, p, qp, &who);
		json_decref(who.details);
	}
}

static void take_owners(struct rd_analysis *a, json_t *facts)
{
	struct facts_port *p = port_of(a, facts);
	const json_t *owner, *qp;
	size_t i, k;

	if (!p)
		return;
	p->owners_listed = true;
	owner_watched(a->facts, p, facts);
	json_array_foreach (json_object_get(facts, "owners"), i, owner) {
		struct rd_owner who;

		if (!owner_read(owner, &who))
			continue;
		json_array_foreach (json_object_get(owner, "qps"), k, qp) {
			take_peers(a->facts, qp);
			own(a, p, qp, &who);
		}
		json_decref(who.details);
	}
}

void rd_analysis_facts(struct rd_analysis *a, const char *json, size_t len)
{
	static const struct {
		const char *kind;
		void (*take)(struct rd_analysis *a, json_t *facts);
	} kinds[] = {{"qps", take_qps}, {"owners", take_owners}, {"device", take_device},
		{"counters", take_counters}, {"dcb", take_dcb}};
	json_t *facts = json_loadb(json, len, 0, NULL);
	const char *kind = json_string_value(json_object_get(facts, "kind"));

	if (!a->facts && (a->facts = calloc(1, sizeof(*a->facts)))) {
		bounded_init(&a->facts->peers, PEERS_MAX, sizeof(uint32_t));
		owner_list_init(&a->facts->owners);
	}
	for (size_t i = 0; kind && a->facts && i < RD_COUNT(kinds); i++)
		if (!strcmp(kind, kinds[i].kind))
			kinds[i].take(a, facts);
	json_decref(facts);
}

void analysis_facts_free(struct facts *f)
{
	if (!f)
		return;
	for (unsigned int i = 0; i < f->n_ports; i++) {
		free(f->ports[i].device);
		for (unsigned int k = 0; k < f->ports[i].n_spans; k++) {
			json_decref(f->ports[i].spans[k].first);
			json_decref(f->ports[i].spans[k].last);
		}
	}
	owner_list_free(&f->owners);
	bounded_free(&f->peers);
	free(f);
}
