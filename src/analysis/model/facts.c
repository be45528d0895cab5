/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the facts in a capture file: see FACTS in rdmadump-formats(5). */
#include "facts.h"
#include <arpa/inet.h>
#include <rdmadump/hash.h>
#include <stdlib.h>

#define PEERS_FIRST  256
#define PEERS_MAX    (1U << 20)
#define PEERS_OF_ONE 64	  /* a new flow is compared with each */
#define COUNTERS_MAX 4096 /* of a port; devices have some hundred */

/* --- queue pairs ------------------------------------------------------------------------------ */

/* The slot of a QP's nth peer, or the empty slot (local QP 0) for it. */
static struct qp_peer *peer_slot(const struct facts *f, uint32_t local, uint32_t nth)
{
	size_t i = (size_t)rd_hash2(local, nth) & f->mask;

	while (f->peers[i].local && (f->peers[i].local != local || f->peers[i].nth != nth))
		i = (i + 1) & f->mask;
	return &f->peers[i];
}

/* Room for one more. */
static bool peers_grow(struct facts *f)
{
	size_t n = f->peers ? f->mask + 1 : 0, room = n ? n * 2 : PEERS_FIRST;
	struct qp_peer *old = f->peers;

	if (old && f->n * 2 < f->mask)
		return true;
	if (room > PEERS_MAX)
		return false;
	f->peers = calloc(room, sizeof(*f->peers));
	if (!f->peers) {
		f->peers = old;
		return false;
	}
	f->mask = room - 1;
	for (size_t i = 0; i < n; i++)
		if (old[i].local)
			*peer_slot(f, old[i].local, old[i].nth) = old[i];
	free(old);
	return true;
}

static void peer_add(struct facts *f, uint32_t local, uint32_t remote)
{
	if (!local || !remote)
		return;
	if (!peers_grow(f)) {
		f->left_out++;
		return;
	}
	for (uint32_t nth = 0; nth < PEERS_OF_ONE; nth++) {
		struct qp_peer *p = peer_slot(f, local, nth);

		if (p->local && p->remote == remote)
			return;
		if (!p->local) {
			*p = (struct qp_peer){local, remote, nth};
			f->n++;
			return;
		}
	}
	f->left_out++;
}

uint32_t facts_peer(const struct rd_analysis *a, uint32_t qp, unsigned int nth)
{
	const struct facts *f = a->facts;
	const struct qp_peer *p = f->peers && qp ? peer_slot(f, qp, nth) : NULL;

	return p && p->local ? p->remote : RD_QP_UNKNOWN;
}

static uint32_t qp_number(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 && n <= 0xffffff ? (uint32_t)n : 0;
}

/* In both directions: either end may be captured first. */
static void take_qps(struct facts *f, json_t *facts)
{
	const json_t *qp;
	size_t i;

	json_array_foreach (json_object_get(facts, "qps"), i, qp) {
		uint32_t local = qp_number(qp, "lqpn"), remote = qp_number(qp, "rqpn");

		peer_add(f, local, remote);
		peer_add(f, remote, local);
	}
}

/* --- ports ------------------------------------------------------------------------------------ */

static struct facts_port *port_of(struct facts *f, const json_t *facts)
{
	const char *device = json_string_value(json_object_get(facts, "device"));
	unsigned int port = (unsigned int)json_integer_value(json_object_get(facts, "port"));
	struct facts_port *p;

	if (!device)
		return NULL;
	for (unsigned int i = 0; i < f->n_ports; i++)
		if (f->ports[i].port == port && !strcmp(f->ports[i].device, device))
			return &f->ports[i];
	if (f->n_ports == FACTS_PORTS) {
		f->left_out++;
		return NULL;
	}
	p = &f->ports[f->n_ports];
	p->port = port;
	p->device = strdup(device);
	if (!p->device)
		return NULL;
	f->n_ports++;
	return p;
}

static void take_device(struct facts *f, json_t *facts)
{
	const char *driver = json_string_value(json_object_get(facts, "driver"));
	json_int_t speed = json_integer_value(json_object_get(facts, "speed"));
	struct facts_port *p = port_of(f, facts);
	const json_t *gid;
	uint8_t raw[16];
	size_t i;

	if (p) {
		snprintf(p->driver, sizeof(p->driver), "%s", driver ? driver : "");
		p->speed = speed > 0 ? (uint64_t)speed : 0;
	}
	json_array_foreach (json_object_get(facts, "gids"), i, gid) {
		const char *text = json_string_value(json_object_get(gid, "gid"));

		if (p && text && p->n_gids < FACTS_GIDS && inet_pton(AF_INET6, text, raw) == 1)
			rd_address_text(p->gids[p->n_gids++], RD_NET_GRH, raw);
	}
}

/* Copies time and numbers only, so that nothing else of the file uses memory. */
static json_t *reading_of(struct facts *f, const json_t *facts)
{
	json_t *numbers = json_object(), *value;
	json_int_t time_ns = json_integer_value(json_object_get(facts, "time_ns"));
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
	return json_pack("{s:I, s:o}", "time_ns", time_ns, "counters", numbers);
}

static void take_counters(struct facts *f, json_t *facts)
{
	const char *when = json_string_value(json_object_get(facts, "when"));
	struct facts_port *p = port_of(f, facts);

	if (!p || !when || !json_is_object(json_object_get(facts, "counters")))
		return;
	if (!strcmp(when, "end")) {
		json_decref(p->last);
		p->last = reading_of(f, facts);
	} else if (!p->first) { /* later files of a series begin with their own */
		p->first = reading_of(f, facts);
	}
}

void rd_analysis_facts(struct rd_analysis *a, const char *json, size_t len)
{
	static const struct {
		const char *kind;
		void (*take)(struct facts *f, json_t *facts);
	} kinds[] = {{"qps", take_qps}, {"device", take_device}, {"counters", take_counters}};
	json_t *facts = json_loadb(json, len, 0, NULL);
	const char *kind = json_string_value(json_object_get(facts, "kind"));

	if (!a->facts)
		a->facts = calloc(1, sizeof(*a->facts));
	for (size_t i = 0; kind && a->facts && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kind, kinds[i].kind))
			kinds[i].take(a->facts, facts);
	json_decref(facts);
}

void analysis_facts_free(struct facts *f)
{
	if (!f)
		return;
	for (unsigned int i = 0; i < f->n_ports; i++) {
		free(f->ports[i].device);
		json_decref(f->ports[i].first);
		json_decref(f->ports[i].last);
	}
	free(f->peers);
	free(f);
}
