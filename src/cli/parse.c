/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values of the options of commands other than capture. */
#include "parse.h"
#include "command.h"
#include <rdmadump/units.h>

void parse_number(struct argp_state *state, const char *name, const char *arg, uint64_t min,
	uint64_t max, uint64_t *out)
{
	if (rd_parse_u64(arg, min, max, out))
		rd_cli_usage_error(state->name, "%s: '%s' is not a whole number from %llu to %llu",
			name, arg, (unsigned long long)min, (unsigned long long)max);
}
