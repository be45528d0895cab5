/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* index.html: the page that a support engineer opens first. */
#ifndef RDMADUMP_BUNDLE_PAGE_H
#define RDMADUMP_BUNDLE_PAGE_H

#include "task.h"
#include <stdio.h>

/*
 * Writes the page; the manifest lists the members. The summary, for the caller, is an object with
 * "headline" and "verdicts". -1: out of memory.
 */
int page_write(FILE *out, const struct tasks *tasks, const json_t *manifest, json_t **summary);

/* --- page_facts.c: about the machine, and the tasks that they are read from --- */

/* The task of a member; NULL: there is none. */
const struct task *page_task(const struct tasks *tasks, const char *name);
/* Its output, which the caller owns; NULL: it has none that is JSON. `t` may be NULL. */
json_t *page_json(const struct task *t);
/* One line: of which host, when, by what. */
void page_origin(FILE *out, const json_t *manifest);
/* What support asks first: distribution, kernel, driver, libraries. */
void page_facts(FILE *out, const struct tasks *tasks, const json_t *manifest);

/* --- page_text.c: text that is not trusted --- */

/* Like fprintf(): %s is escaped, without control characters; %d is a json_int_t. No others. */
void page_put(FILE *out, const char *format, ...);
/* An element with text; writes nothing if the text is empty. */
void page_element(FILE *out, const char *open, const char *text, const char *close);

#endif
