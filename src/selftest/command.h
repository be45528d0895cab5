/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of `rdmadump selftest`: tables of a plan and of results. */
#ifndef RDMADUMP_SELFTEST_COMMAND_H
#define RDMADUMP_SELFTEST_COMMAND_H

#include <rdmadump/selftest.h>
#include <stdio.h>

/* Prints what would be done; opens nothing. */
void selftest_print_plan(const struct rd_selftest_config *config);
/* The same for programs; the caller owns it. */
json_t *selftest_plan_json(const struct rd_selftest_config *config);
/* What a run does to the port; the headings, one probe's rows, and what follows the table. */
void selftest_print_effects(void);
void selftest_print_heading(FILE *out);
void selftest_print_probe(FILE *out, const json_t *probe);
void selftest_print_end(FILE *out, const json_t *document);
/* Both of them, and all probes: what the archive has. */
void selftest_print_document(FILE *out, const json_t *document);

#endif
