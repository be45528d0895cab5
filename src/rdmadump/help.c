/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The help that fits on a screen: examples, the most used options, the commands. */
#include "commands.h"
#include "options.h"

#define NAMES_WIDTH 28

static const char *const examples[][2] = {
	{"rdmadump -w incident.pcapng", "capture first usable port until Ctrl-C"},
	{"rdmadump --opcode nak,rnr,cnp", "print NAKs, RNR NAKs and CNPs"},
	{"rdmadump -q -w - | tshark -r -", "decode during the capture"},
	{"rdmadump analyze incident.pcapng", "what went wrong, and where"},
};

const struct rd_command rd_commands[] = {
	{"capture", "capture the traffic of a port (the default)"},
	{"analyze", "find problems in captured traffic"},
	{"compare", "what changed between two captures or reports"},
	{"digest", "small copies of captures, to analyze them elsewhere"},
	{"export", "tables of what analyze finds, for DuckDB, Spark and the like"},
	{"list", "list devices and ports, and whether they can be captured"},
	{"info", "show firmware, ports, limits, open QPs of a device"},
	{"events", "print events of devices, ports and addresses"},
	{"counters", "read and compare counters"},
	{"explain", "say what an error code or a line of a log means"},
	{"record", "flight recorder: write the frames around a trigger"},
	{"selftest", "test whether and how well a device can be captured"},
	{"bundle", "collect in one file what support needs"},
	{0},
};

static void print_option(const struct cli_option *o)
{
	char names[64];

	snprintf(names, sizeof(names), "%c%c%s%s%s%s", o->letter ? '-' : ' ',
		o->letter ? o->letter : ' ', o->name ? (o->letter ? ", --" : "  --") : "",
		o->name ? o->name : "", o->arg ? (o->name ? "=" : " ") : "", o->arg ? o->arg : "");
	printf("  %-*s %s\n", NAMES_WIDTH, names, o->brief);
}

void help_short(void)
{
	puts("Usage: rdmadump [OPTION...] [FILTER]     FILTER: pcap-filter(7)\n"
	     "       rdmadump COMMAND [OPTION...]");
	puts("Examples:");
	for (size_t i = 0; i < RD_COUNT(examples); i++)
		printf("  %-39s %s\n", examples[i][0], examples[i][1]);
	puts("\nOptions:");
	for (unsigned int i = 0; i < n_cli_options; i++)
		if (cli_options[i].brief)
			print_option(&cli_options[i]);
	puts("\nCommands ('rdmadump COMMAND --help' shows their options):");
	for (const struct rd_command *c = rd_commands; c->name; c++)
		printf("  %-10s %s\n", c->name, c->help);
	puts("All options: 'rdmadump --help-all' and rdmadump(1).");
}
