/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which addresses are of one host. */
#include "points.h"
#include <stdlib.h>

#define NONE UINT32_MAX

/* 10.0.0.9 before 10.0.0.10 */
static int by_text(const void *x, const void *y)
{
	return strverscmp(*(const char *const *)x, *(const char *const *)y);
}

uint32_t points_address(const struct rd_points *p, const char *address)
{
	const char **found =
		bsearch(&address, p->addresses, p->n_addresses, sizeof(*p->addresses), by_text);

	return (uint32_t)(found ? found - p->addresses : (ptrdiff_t)p->n_addresses);
}

static int list_addresses(struct rd_points *p)
{
	size_t n = 0, to = 0;

	for (size_t i = 0; i < p->n_captures; i++)
		n += 2 * p->captures[i].report->n_conversations;
	p->addresses = calloc(n + 1, sizeof(*p->addresses));
	p->host_of = calloc(n + 1, sizeof(*p->host_of));
	p->hosts = calloc(n + 1, sizeof(*p->hosts));
	if (!p->addresses || !p->host_of || !p->hosts)
		return -1;
	n = 0;
	for (size_t i = 0; i < p->n_captures; i++) {
		const struct rd_report *r = p->captures[i].report;

		for (size_t k = 0; k < r->n_conversations; k++) {
			p->addresses[n++] = r->conversations[k].end[0].address;
			p->addresses[n++] = r->conversations[k].end[1].address;
		}
	}
	qsort(p->addresses, n, sizeof(*p->addresses), by_text);
	for (size_t i = 0; i < n; i++)
		if (!i || strcmp(p->addresses[i], p->addresses[to - 1]) != 0)
			p->addresses[to++] = p->addresses[i];
	p->n_addresses = to;
	return 0;
}

/* The first address of the same host, as far as it is known. */
static uint32_t first_of(const struct rd_points *p, uint32_t at)
{
	while (p->host_of[at] != at)
		at = p->host_of[at];
	return at;
}

/* An address of the first port that is of this machine and has packets; NONE. */
static uint32_t first_of_machine(const struct rd_points *p, const char *boot)
{
	for (size_t i = 0; i < p->n_captures && *boot; i++) {
		const struct rd_report *r = p->captures[i].report;

		for (size_t k = 0; k < r->n_ports; k++)
			for (unsigned int n = 0;
				n < r->ports[k].n_addresses && !strcmp(r->ports[k].boot, boot);
				n++) {
				const uint32_t at = points_address(p, r->ports[k].addresses[n]);

				if (at < p->n_addresses)
					return first_of(p, at);
			}
	}
	return NONE;
}

static void join_port(struct rd_points *p, const struct rd_report_port *port)
{
	uint32_t first = first_of_machine(p, port->boot);

	for (unsigned int i = 0; i < port->n_addresses; i++) {
		const uint32_t at = points_address(p, port->addresses[i]);
		const uint32_t other = at < p->n_addresses ? first_of(p, at) : first;

		if (other < first && first != NONE)
			p->host_of[first] = other;
		else if (other > first)
			p->host_of[other] = first;
		first = other < first ? other : first;
	}
}

int points_hosts(struct rd_points *p)
{
	if (list_addresses(p) < 0)
		return -1;
	for (uint32_t i = 0; i < p->n_addresses; i++)
		p->host_of[i] = i;
	for (size_t i = 0; i < p->n_captures; i++)
		for (size_t k = 0; k < p->captures[i].report->n_ports; k++)
			join_port(p, &p->captures[i].report->ports[k]);
	/* The host of the first address has its number before the others of it are met. */
	for (uint32_t i = 0; i < p->n_addresses; i++) {
		if (p->host_of[i] == i) {
			p->hosts[p->n_hosts].address = i;
			p->host_of[i] = (uint32_t)p->n_hosts++;
		} else {
			p->host_of[i] = p->host_of[p->host_of[i]];
		}
		p->hosts[p->host_of[i]].n_addresses++;
	}
	return 0;
}
