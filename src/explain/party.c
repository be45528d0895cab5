/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Joins the names and addresses of machines, and counts who reports and who is named. */
#include "log.h"
#include <rdmadump/hash.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS	 (2 * NAMES_MAX)
#define TIME_MIN 17 /* of a date or seconds since 1970; shorter ones begin with each machine */

bool parties_open(struct parties *p)
{
	*p = (struct parties){.party = calloc(PARTIES_MAX, sizeof(*p->party)),
		.name = calloc(NAMES_MAX, sizeof(*p->name)),
		.slot = calloc(SLOTS, sizeof(*p->slot))};
	return p->party && p->name && p->slot;
}

/* NULL: "", or no room. */
static struct name *name_of(struct parties *p, const char *text)
{
	struct rd_hash h = rd_hash_begin();
	const unsigned int words = rd_hash_add_bytes(&h, text, strlen(text));
	size_t i = (size_t)rd_hash_end(&h, words) % SLOTS;

	while (p->slot[i] && strcmp(p->name[p->slot[i] - 1].text, text) != 0)
		i = (i + 1) % SLOTS;
	if (!p->slot[i] && *text && p->n_names < NAMES_MAX) {
		p->slot[i] = (uint16_t)++p->n_names;
		memcpy(p->name[p->n_names - 1].text, text, strlen(text) + 1);
	}
	return p->slot[i] ? &p->name[p->slot[i] - 1] : NULL;
}

/* An address turns out to be a machine's: the last party takes the place of the address's. */
static void join(struct parties *p, uint16_t machine, uint16_t address)
{
	struct party *to = &p->party[machine - 1], *from = &p->party[address - 1];

	to->named += from->named;
	*from = p->party[p->n - 1];
	for (size_t i = 0; i < p->n_names; i++) {
		if (p->name[i].party == address)
			p->name[i].party = machine;
		else if (p->name[i].party == p->n)
			p->name[i].party = address;
	}
	p->n--;
}

/* The party of this host or address, or a new one; NULL: both are unknown, or there is no room. */
static struct party *party_of(struct parties *p, const char *host, const char *address)
{
	struct name *h = name_of(p, host), *a = name_of(p, address);
	uint16_t known = h && h->party ? h->party : a ? a->party : 0;
	struct party *party;

	if (!known && (h || a) && p->n < PARTIES_MAX)
		known = (uint16_t)++p->n;
	if (!known) {
		p->unnamed += h || a;
		return NULL;
	}
	if (h)
		h->party = known;
	if (a && a->party && a->party != known && !*p->party[a->party - 1].host) {
		join(p, known, a->party);
		known = h->party;
	}
	if (a && !a->party)
		a->party = known;
	party = &p->party[known - 1];
	if (h && !*party->host)
		memcpy(party->host, host, strlen(host) + 1);
	if (a && a->party == known && !*party->address)
		memcpy(party->address, address, strlen(address) + 1);
	return party;
}

void parties_note(struct parties *p, const struct reading *r, uint64_t line)
{
	struct party *here = party_of(p, r->host, r->local), *peer;
	const bool flushed = reading_status(r) == FLUSHED;

	/* Lines of one machine need not be in order. */
	if (here && (!here->reports++ || (here->flushed && !flushed) ||
			    (here->flushed == flushed && strlen(r->time) == strlen(here->time) &&
				    strcmp(r->time, here->time) < 0))) {
		here->line = line;
		here->flushed = flushed;
		memcpy(here->time, r->time, sizeof(here->time));
	}
	peer = party_of(p, "", r->peer);
	if (peer)
		peer->named++;
}

/* Times of one length that begin with digits are written alike: the smaller text is earlier. */
static bool have_times(const struct parties *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct party *x = &p->party[i];
		const size_t length = strlen(x->time);

		if (x->reports && (length < TIME_MIN || *x->time > '9' || (n && length != n)))
			return false;
		if (x->reports)
			n = length;
	}
	return true;
}

static bool is_earlier(const struct party *a, const struct party *b, bool by_time)
{
	if (a->flushed != b->flushed)
		return b->flushed;
	return by_time ? strcmp(a->time, b->time) < 0 : a->line < b->line;
}

const struct party *parties_first(const struct parties *p, bool *by_time, bool *flushed)
{
	const struct party *first = NULL;

	*by_time = have_times(p);
	*flushed = false;
	for (size_t i = 0; i < p->n; i++) {
		if (!p->party[i].reports)
			continue;
		*flushed |= p->party[i].flushed;
		if (!first || is_earlier(&p->party[i], first, *by_time))
			first = &p->party[i];
	}
	*flushed &= first && !first->flushed;
	return first;
}

void parties_free(struct parties *p)
{
	free(p->party);
	free(p->name);
	free(p->slot);
}
