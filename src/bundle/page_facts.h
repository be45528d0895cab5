/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The page's facts about the machine, and the tasks that they are read from. */
#ifndef RDMADUMP_BUNDLE_PAGE_FACTS_H
#define RDMADUMP_BUNDLE_PAGE_FACTS_H

#include "task.h"
#include <jansson.h>
#include <stdio.h>

/* The task of a member; NULL: there is none. */
const struct task *page_task(const struct tasks *tasks, const char *name);
/* Its output, which the caller owns; NULL: it has none that is JSON. `t` may be NULL. */
json_t *page_json(const struct task *t);

/* One line: of which host, when, by what. */
void page_origin(FILE *out, const json_t *manifest);
/* What support asks first: distribution, kernel, driver, libraries. */
void page_facts(FILE *out, const struct tasks *tasks, const json_t *manifest);

#endif
