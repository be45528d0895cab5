/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The document of a self-test (docs/schema/selftest.json), filled in probe by probe. */
#ifndef RDMADUMP_SELFTEST_DOCUMENT_H
#define RDMADUMP_SELFTEST_DOCUMENT_H

#include "selftest.h"

#define DOCUMENT_VERSION 2

/* NULL: out of memory. The caller owns it. `host`: the name to store. */
json_t *document_begin(const struct rd_selftest *st, const char *host);
/*
 * Adds the probe's result, and keeps its capture and raw CQEs for the archive. Frames of *r may be
 * replaced. Returns its object, borrowed; NULL: out of memory.
 */
const json_t *document_add(struct rd_selftest *st, const struct rd_probe *probe,
	struct rd_probe_result *r, uint64_t took_ns);
/* `ended`: "complete", "required_probe", "removed", "interrupted" or "time_limit". */
void document_end(json_t *document, const char *ended);

/*
 * redacted.c: replaces what identifies machines and people (--hash-addresses), by src/redact.
 * Collects the names of this host and of the output directory; equal addresses and names have equal
 * replacements until redacted_end(). -1: out of memory.
 */
int redacted_begin(struct rd_selftest *st);
void redacted_end(struct rd_selftest *st);
/* All of these do nothing if nothing is to be replaced. -1: out of memory. */
int redacted_name(const struct rd_selftest *st, char *name, size_t size);
/* Redacts the parts of a probe's object that may contain text from outside. */
int redacted_probe(const struct rd_selftest *st, json_t *probe);
/* Frames that are kept; their payload becomes zeros. False: they cannot be replaced. */
bool redacted_frames(const struct rd_selftest *st, struct rd_probe_result *r);

#endif
