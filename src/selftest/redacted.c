/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replaces addresses and names probe by probe, since each result is written at once. The device's
 * addresses are collected first, so that no replacement is one of them.
 */
#include "selftest.h"
#include <rdmadump/bytes.h>
#include <rdmadump/redact.h>
#include <stdlib.h>
#include <unistd.h>

/* --- what is known before ----------------------------------------------------------------- */

static void add_names(struct rd_redact *r, const struct rd_selftest_config *config)
{
	char host[256];

	if (gethostname(host, sizeof(host)) == 0) {
		host[sizeof(host) - 1] = '\0';
		/* It may appear with and without its domain. */
		rd_redact_name(r, RD_REDACT_HOST, host, strlen(host));
		rd_redact_name(r, RD_REDACT_HOST, host, strcspn(host, "."));
	}
	/* It appears in messages about files. */
	if (config->directory && strchr(config->directory, '/') && strlen(config->directory) > 1)
		rd_redact_name(r, RD_REDACT_PATH, config->directory, strlen(config->directory));
}

static void collect_addresses(struct rd_redact *r, const struct rd_selftest *st)
{
	uint8_t address[16];

	rd_put_be64(address, st->device->node_guid);
	rd_redact_guid(r, address);
	for (unsigned int i = 0; i < st->port->n_netdevs; i++) {
		memcpy(address, st->port->netdevs[i].mac, 6);
		rd_redact_mac(r, address);
	}
	for (unsigned int i = 0; i < st->port->n_gids; i++) {
		memcpy(address, st->port->gids[i].raw, sizeof(address));
		rd_redact_ipv6(r, address);
	}
}

int redacted_begin(struct rd_selftest *st)
{
	if (!st->config->hash_addresses)
		return 0;
	st->redact = rd_redact_new();
	if (!st->redact)
		return -1;
	add_names(st->redact, st->config);
	collect_addresses(st->redact, st);
	rd_redact_begin(st->redact);
	return rd_redact_failed(st->redact) ? -1 : 0;
}

void redacted_end(struct rd_selftest *st)
{
	rd_redact_free(st->redact);
	st->redact = NULL;
}

/* --- text --------------------------------------------------------------------------------- */

int redacted_name(const struct rd_selftest *st, char *name, size_t size)
{
	char *clean;

	if (!st->redact)
		return 0;
	clean = rd_redact_text(st->redact, name, strlen(name), NULL);
	if (!clean)
		return -1;
	snprintf(name, size, "%s", clean);
	free(clean);
	return 0;
}

/* Keys, outcomes and names of files are the program's own words, whatever a host is called. */
int redacted_probe(const struct rd_selftest *st, json_t *probe)
{
	static const char *const parts[] = {
		"value", "reason", "meaning", "values", "found", "files"};
	json_t *some = json_object(), *clean = NULL;
	char *text, *to = NULL;
	int rc = -1;

	for (size_t i = 0; st->redact && i < RD_COUNT(parts); i++)
		json_object_set(some, parts[i], json_object_get(probe, parts[i]));
	text = json_dumps(some, JSON_COMPACT);
	if (text && st->redact)
		to = rd_redact_text(st->redact, text, strlen(text), NULL);
	if (to && !rd_redact_failed(st->redact))
		clean = json_loads(to, 0, NULL);
	if (clean)
		rc = json_object_update(probe, clean);
	json_decref(clean);
	json_decref(some);
	free(text);
	free(to);
	return st->redact ? rc : 0;
}

/* --- frames ------------------------------------------------------------------------------- */

bool redacted_frames(const struct rd_selftest *st, struct rd_probe_result *r)
{
	uint8_t *at = r->bytes;

	for (unsigned int i = 0; st->redact && i < r->n_frames; at += r->frame[i++].len)
		if (!rd_redact_frame(
			    st->redact, st->port->link, at, r->frame[i].len, r->frame[i].len, 0))
			return false;
	return !st->redact || !rd_redact_failed(st->redact);
}
