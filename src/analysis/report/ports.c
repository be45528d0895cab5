/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ports that the facts of the files are of, and which ends of conversations they are. */
#include "../model/facts.h"
#include "report.h"
#include <stdlib.h>

/*
 * Which ends are of devices that were captured, by facts: with several files it is unknown which
 * file is of which device.
 */
static void fill_local(const struct rd_analysis *a, struct rd_report *r)
{
	for (unsigned int i = 0; a->facts && a->in.n_files == 1 && i < a->facts->n_ports; i++) {
		const struct facts_port *p = &a->facts->ports[i];

		r->port_speed =
			r->port_speed && r->port_speed < p->speed ? r->port_speed : p->speed;
		for (unsigned int g = 0; g < p->n_gids; g++)
			for (size_t k = 0; k < r->n_conversations; k++) {
				struct rd_conversation *c = &r->conversations[k];

				c->local[0] |= !strcmp(c->end[0].address, p->gids[g]);
				c->local[1] |= !strcmp(c->end[1].address, p->gids[g]);
			}
	}
}

static int fill_port(struct rd_report_port *to, const struct facts_port *p)
{
	to->device = strdup(p->device);
	to->netdev = *p->netdev ? strdup(p->netdev) : NULL;
	snprintf(to->guid, sizeof(to->guid), "%s", p->guid);
	snprintf(to->boot, sizeof(to->boot), "%s", p->boot);
	to->port = p->port;
	to->addresses = calloc(p->n_gids + 1, sizeof(*to->addresses));
	if (!to->device || (*p->netdev && !to->netdev) || !to->addresses)
		return -1;
	memcpy(to->addresses, p->gids, p->n_gids * sizeof(*to->addresses));
	to->n_addresses = p->n_gids;
	return 0;
}

int report_ports_make(const struct rd_analysis *a, struct rd_report *r)
{
	const unsigned int n = a->facts ? a->facts->n_ports : 0;

	r->ports = calloc(n + 1, sizeof(*r->ports));
	for (unsigned int i = 0; i < n && r->ports; i++)
		if (fill_port(&r->ports[r->n_ports++], &a->facts->ports[i]) < 0)
			return -1;
	fill_local(a, r);
	return r->ports ? 0 : -1;
}

void report_ports_free(struct rd_report *r)
{
	for (size_t i = 0; i < r->n_ports; i++) {
		free(r->ports[i].device);
		free(r->ports[i].netdev);
		free(r->ports[i].addresses);
	}
	free(r->ports);
}
