/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* index.html: the page that a support engineer opens first. */
#ifndef RDMADUMP_BUNDLE_PAGE_H
#define RDMADUMP_BUNDLE_PAGE_H

#include "task.h"
#include <jansson.h>
#include <stdio.h>

/*
 * Writes the page; the manifest lists the members. The summary, for the caller, is an object with
 * "headline" and "verdicts". -1: out of memory.
 */
int page_write(FILE *out, const struct tasks *tasks, const json_t *manifest, json_t **summary);

#endif
