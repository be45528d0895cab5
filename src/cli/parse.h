/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values of the options of commands other than capture. */
#ifndef RDMADUMP_CLI_PARSE_H
#define RDMADUMP_CLI_PARSE_H

#include <argp.h>
#include <stdint.h>

/* A whole number from min to max; ends the program with a message otherwise. */
void parse_number(struct argp_state *state, const char *name, const char *arg, uint64_t min,
	uint64_t max, uint64_t *out);

#endif
