/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Takes the facts that a capture file carries: see FACTS in rdmadump-formats(5). */
#include "facts.h"
#include <arpa/inet.h>
#include <stdlib.h>

#define PAIRS_FIRST 256
#define PAIRS_MAX   (1U << 20)

static size_t slot_of(uint32_t qp)
{
	return qp * 0x9e3779b1U >> 4;
}

/* --- queue pairs ------------------------------------------------------------------------------ */

/* Room for one more: local QP 0 is an empty slot, as QP 0 has no peer. */
static bool pairs_grow(struct facts *f)
{
	size_t room = f->pairs ? (f->mask + 1) * 2 : PAIRS_FIRST;
	struct qp_pair *old = f->pairs;
	size_t n = old ? f->mask + 1 : 0;

	if (f->pairs && f->n * 2 < f->mask)
		return true;
	if (room > PAIRS_MAX)
		return false;
	f->pairs = calloc(room, sizeof(*f->pairs));
	if (!f->pairs) {
		f->pairs = old;
		return false;
	}
	f->mask = room - 1;
	for (size_t i = 0; i < n; i++)
		for (size_t k = slot_of(old[i].local); old[i].local; k++)
			if (!f->pairs[k & f->mask].local) {
				f->pairs[k & f->mask] = old[i];
				break;
			}
	free(old);
	return true;
}

static void pair_add(struct facts *f, uint32_t local, uint32_t remote)
{
	size_t i = slot_of(local);

	if (!local || !remote || !pairs_grow(f))
		return;
	for (; f->pairs[i & f->mask].local; i++)
		if (f->pairs[i & f->mask].local == local && f->pairs[i & f->mask].remote == remote)
			return;
	f->pairs[i & f->mask] = (struct qp_pair){local, remote};
	f->n++;
}

uint32_t facts_peer(const struct rd_analysis *a, uint32_t qp, unsigned int nth)
{
	const struct facts *f = a->facts;

	if (!f->pairs || !qp)
		return RD_QP_UNKNOWN;
	for (size_t i = slot_of(qp); f->pairs[i & f->mask].local; i++)
		if (f->pairs[i & f->mask].local == qp && !nth--)
			return f->pairs[i & f->mask].remote;
	return RD_QP_UNKNOWN;
}

static uint32_t qp_number(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 && n <= 0xffffff ? (uint32_t)n : 0;
}

/* Both ways: either end may be the one that was captured first. */
static void take_qps(struct facts *f, json_t *facts)
{
	const json_t *qp;
	size_t i;

	json_array_foreach (json_object_get(facts, "qps"), i, qp) {
		uint32_t local = qp_number(qp, "lqpn"), remote = qp_number(qp, "rqpn");

		pair_add(f, local, remote);
		pair_add(f, remote, local);
	}
}

/* --- ports -------------------------------------------------------------------------------------
 */

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
	if (f->n_ports == FACTS_PORTS)
		return NULL;
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
			address_text(p->gids[p->n_gids++], RD_NET_GRH, raw);
	}
}

static void take_counters(struct facts *f, json_t *facts)
{
	const char *when = json_string_value(json_object_get(facts, "when"));
	struct facts_port *p = port_of(f, facts);

	if (!p || !when || !json_is_object(json_object_get(facts, "counters")))
		return;
	if (!strcmp(when, "end")) {
		json_decref(p->last);
		p->last = json_incref(facts);
	} else if (!p->first) { /* later files of a series begin with their own */
		p->first = json_incref(facts);
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
	free(f->pairs);
	free(f);
}
