/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Values of options; each ends the program with what was wanted when it is not that. */
#ifndef RDMADUMP_CLI_PARSE_H
#define RDMADUMP_CLI_PARSE_H

#include "capture.h"
#include <argp.h>

void parse_number(struct argp_state *state, const char *name, const char *arg, uint64_t min,
	uint64_t max, uint64_t *out);
/* With a suffix like 64k, 512Mi; a bare number counts in `unit` bytes. */
void parse_bytes(struct argp_state *state, const char *name, const char *arg, uint64_t unit,
	uint64_t min, uint64_t max, uint64_t *out);
/* dumpcap's -a and -b: "filesize:1000"; several may follow, comma separated. */
void parse_autostop(struct argp_state *state, struct capture_options *o, const char *arg);
void parse_ring_buffer(struct argp_state *state, struct capture_options *o, const char *arg);
/* stripes.c: "DIR,DIR"; what does not go with it. */
void parse_stripes(struct argp_state *state, struct capture_options *o, const char *arg);
void stripes_together(struct argp_state *state, const struct capture_options *o);
/* The whole text of a file, for -F; lives as long as the program. */
const char *parse_file(struct argp_state *state, const char *path);

/* A letter that other tools have: accepted, or an error that says what is wanted here. */
error_t parse_foreign(int key, struct argp_state *state);

#endif
