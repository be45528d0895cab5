/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The document of a self-test (docs/schema/selftest.json), filled in probe by probe. */
#ifndef RDMADUMP_SELFTEST_DOCUMENT_H
#define RDMADUMP_SELFTEST_DOCUMENT_H

#include "selftest.h"

/* The host's name, or its replacement. -1: out of memory. */
int document_host(const struct rd_selftest *st, char *buf, size_t size);
/* NULL: out of memory. The caller owns it. */
/* Of version 1 only the keys of times differ, which are not read. */
#define DOCUMENT_VERSION 2

json_t *document_begin(const struct rd_selftest *st);
/*
 * Adds the probe's result; its capture and raw CQEs become files of the directory. Frames of *r may
 * be replaced. Returns its object, borrowed; NULL: out of memory.
 */
const json_t *document_add(struct rd_selftest *st, const struct rd_probe *probe,
	struct rd_probe_result *r, uint64_t took_ns);
/* `ended`: "complete", "required_probe", "removed", "interrupted" or "time_limit". */
void document_end(json_t *document, const char *ended);
/* Replaces result.json. 0, or -1 with the error. */
int document_write(struct rd_selftest *st, struct rd_error *err);

#endif
