/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Replaces what identifies machines and people in a result (--hash-addresses), by src/redact. */
#ifndef RDMADUMP_SELFTEST_REDACTED_H
#define RDMADUMP_SELFTEST_REDACTED_H

#include "selftest.h"

/*
 * Collects the names of this host and of the output directory. Equal addresses and names have equal
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
