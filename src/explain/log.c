/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads logs: lines are grouped by their codes; machines that report, and those that only others
 * name. */
#include "log.h"
#include "cqe.h"
#include "prefix.h"
#include <errno.h>
#include <rdmadump/hash.h>
#include <stdlib.h>
#include <string.h>

int log_open(struct log *log, struct rd_error *err)
{
	*log = (struct log){.group = calloc(GROUPS_MAX, sizeof(*log->group)),
		.party = calloc(PARTIES_MAX, sizeof(*log->party)),
		.slot = calloc(2, sizeof(*log->slot))};
	return log->group && log->party && log->slot
		       ? 0
		       : rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "tables of a log");
}

static bool is_same(const struct reading *a, const struct reading *b)
{
	bool same = a->n == b->n;

	for (unsigned int i = 0; same && i < a->n; i++)
		same = a->found[i].space == b->found[i].space &&
		       a->found[i].number == b->found[i].number &&
		       (a->found[i].number != ANY_NUMBER || a->found[i].code == b->found[i].code);
	return same;
}

/* The place of a host (0) or address (1) in the table: 1 + its party, or 0 where it is not there.
 */
static uint16_t *slot_of(struct log *log, unsigned int which, const char *text)
{
	struct rd_hash h = rd_hash_begin();
	const unsigned int words = rd_hash_add_bytes(&h, text, strlen(text));
	size_t i = (size_t)rd_hash_end(&h, words) % SLOTS;

	for (;; i = (i + 1) % SLOTS) {
		uint16_t *slot = &log->slot[which][i];
		const struct party *p = &log->party[*slot - !!*slot];

		if (!*slot || !strcmp(which ? p->address : p->host, text))
			return slot;
	}
}

/* The party of this host or address, or a new one; NULL: both are unknown, or there is no room. */
static struct party *party_of(struct log *log, const char *host, const char *address)
{
	uint16_t *by_host = *host ? slot_of(log, 0, host) : NULL,
		 *by_address = *address ? slot_of(log, 1, address) : NULL,
		 known = by_host && *by_host ? *by_host
			 : by_address	     ? *by_address
					     : 0;
	struct party *p;

	if (!by_host && !by_address)
		return NULL;
	if (!known && log->n_parties == PARTIES_MAX) {
		log->unnamed++;
		return NULL;
	}
	if (!known)
		known = (uint16_t)++log->n_parties;
	p = &log->party[known - 1];
	if (by_host && !*by_host && !*p->host) {
		memcpy(p->host, host, strlen(host) + 1);
		*by_host = known;
	}
	if (by_address && !*by_address && !*p->address) {
		memcpy(p->address, address, strlen(address) + 1);
		*by_address = known;
	}
	return p;
}

static void note_parties(struct log *log, const struct reading *r)
{
	struct party *here = party_of(log, r->host, r->local), *peer;

	/* Lines of one machine need not be in order. */
	if (here && (!here->reports++ || (strlen(r->time) == strlen(here->time) &&
						 strcmp(r->time, here->time) < 0))) {
		here->line = log->lines;
		memcpy(here->time, r->time, sizeof(here->time));
	}
	peer = party_of(log, "", r->peer);
	if (peer)
		peer->named++;
}

static int add(struct log *log, const struct reading *r, const char *line, size_t length,
	struct rd_error *err)
{
	struct group *g = log->group;

	log->explained++;
	note_parties(log, r);
	for (; g < log->group + log->n_groups; g++) {
		if (is_same(&g->first, r)) {
			g->count++;
			return 0;
		}
	}
	if (log->n_groups == GROUPS_MAX) {
		log->left_out++;
		return 0;
	}
	*g = (struct group){.first = *r,
		.text = malloc(length + 1),
		.length = length,
		.line = log->lines,
		.count = 1};
	if (!g->text)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "a line of a log");
	memcpy(g->text, line, length);
	log->n_groups++;
	return 0;
}

int log_line(struct log *log, const struct catalogue *c, const char *line, size_t length,
	unsigned int marks, struct rd_error *err)
{
	struct reading r;

	log->lines++;
	line_read(c, line, length, marks, &r);
	if (!r.n)
		return 0;
	prefix_read(line, length, &r);
	return add(log, &r, line, length, err);
}

/* A line of the input up to its end, the first LINE_MAX_BYTES of it; false at the end of the input.
 */
static bool next_line(struct log *log, FILE *in, char *line, size_t *length)
{
	int c = getc_unlocked(in);

	*length = 0;
	if (c == EOF)
		return false;
	for (; c != EOF && c != '\n'; c = getc_unlocked(in)) {
		if (*length == LINE_MAX_BYTES) {
			log->cut++;
			while (c != EOF && c != '\n')
				c = getc_unlocked(in);
			break;
		}
		line[(*length)++] = (char)c;
	}
	return true;
}

int log_read(struct log *log, const struct catalogue *c, FILE *in, const char *name,
	struct rd_error *err)
{
	char *line = malloc(LINE_MAX_BYTES);
	struct cqe_dump dump = {0};
	size_t length;
	int ret = 0;

	if (!line)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "a line of a log");
	while (!ret && next_line(log, in, line, &length)) {
		struct reading r;

		ret = log_line(log, c, line, length, 0, err);
		if (!ret && cqe_line(c, &dump, line, length, &r))
			ret = add(log, &r, line, length, err);
	}
	if (!ret && ferror(in))
		ret = rd_fail(err, RD_CLASS_DEVICE, errno, NULL, "'%s'", name);
	free(line);
	return ret;
}

void log_free(struct log *log)
{
	for (size_t i = 0; i < log->n_groups; i++)
		free(log->group[i].text);
	json_decref(log->joined);
	free(log->group);
	free(log->party);
	free(log->slot);
}
