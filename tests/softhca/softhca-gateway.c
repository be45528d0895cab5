/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints the state of a device's command gateway, which the model keeps in the tree. */
#include <stdio.h>

#include "gateway.h"

int main(int argc, char **argv)
{
	struct gw_state s = {0};
	FILE *f = argc == 2 ? fopen(argv[1], "re") : NULL;
	uint32_t attached = 0;

	if (!f) {
		fprintf(stderr, "usage: softhca-gateway TREE/gateway.N\n");
		return 1;
	}
	/* An empty file: it was never used. */
	if (fread(&s, sizeof(s), 1, f) != 1)
		s = (struct gw_state){0};
	fclose(f);
	for (int p = 0; p < GW_PORTS; p++)
		attached += s.rule[p][0].attached + s.rule[p][1].attached;
	printf("attached %u semaphore %d icmd %d violations %u%s%s\n", attached, s.semaphore != 0,
		s.icmd_semaphore != 0, s.violations, s.violations ? ": " : "", s.first);
	printf("most %u commands %u accesses %u\n", s.most_attached, s.commands, s.accesses);
	for (int i = 0; i < GW_ENDS && s.end[i].accesses; i++)
		printf("end %d accesses %u words %u selections %u\n", i + 1, s.end[i].accesses,
			s.end[i].words, s.end[i].selections);
	return 0;
}
