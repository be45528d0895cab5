/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints all that is read of a netdev's own statistics, for comparison with ethtool(8). */
#include "device/info_parts.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct rd_counters c = {0};

	if (argc != 2 || strlen(argv[1]) >= sizeof(c.netdev))
		return 1;
	memcpy(c.netdev, argv[1], strlen(argv[1]) + 1);
	if (rd_ethtool_load(&c, true))
		return 1;
	for (size_t i = 0; i < c.n; i++)
		printf("%s %" PRIu64 "\n", c.counter[i].name, c.counter[i].value);
	rd_counters_free(&c);
	return 0;
}
