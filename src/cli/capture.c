/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* rdmadump capture: its options. */
#include "capture.h"
#include "cli.h"
#include "config.h"
#include <argp.h>
#include <ctype.h>
#include <rdmadump/units.h>
#include <stdlib.h>
#include <string.h>

#define LOG2_BUFFERS 14 /* 16384: a burst of so many frames is taken without a look by us */
#define LOG2_MOST    20
#define BUFFER_BYTES ((uint64_t)256 << 20)
#define BUFFER_LEAST ((uint64_t)1 << 20)
#define BUFFER_MOST  ((uint64_t)1 << 40)
#define FRAME_LEAST  256
#define FRAME_MOST   65536

enum { OPT_FORMAT = 0x100, OPT_MAX_FRAME, OPT_BUFFER, OPT_WHEN_FULL, OPT_JSON, OPT_VERSION };

static const struct argp_option options[] = {
	{0, 0, 0, 0, "What to capture:", 1},
	{"device", 'd', "DEV", 0,
		"RDMA device: mlx5_0, mlx5_0:PORT, its netdev or its PCI address (default: the "
		"first active port that can be captured)",
		0},
	{"ib-dev", 0, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0},
	{"interface", 'i', "NAME|N", 0,
		"the same by name; with -d the number of the port; else a number of the list", 0},
	{"ib-port", 0, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0},
	{"count", 'c', "N", 0, "stop after N frames", 0},
	{0, 0, 0, 0, "Where to write it:", 2},
	{"write", 'w', "FILE", 0, "write to FILE, '-' is standard output", 0},
	{"output", 'o', 0, OPTION_ALIAS, 0, 0},
	{"format", OPT_FORMAT, "FORMAT", 0,
		"pcapng, pcap (nanoseconds), pcap-us (microseconds) or erf; ',dlt=247' behind it "
		"writes InfiniBand without ERF (default: by FILE's ending, else pcapng)",
		0},
	{"packet-buffered", 'U', 0, 0, "hand each frame to the file as soon as traffic pauses", 0},
	{0, 0, 0, 0, "Memory:", 3},
	{"max-burst", 'b', "LOG2", 0, "2^LOG2 receive buffers (default 14)", 0},
	{"max-frame", OPT_MAX_FRAME, "BYTES", 0,
		"size of one receive buffer (default: the longest frame that the port's MTU "
		"allows; grows when a longer one arrives)",
		0},
	{"buffer-size", OPT_BUFFER, "SIZE", 0,
		"memory between receiver and writer, like 512Mi (default 256Mi)", 0},
	{"when-full", OPT_WHEN_FULL, "drop|wait", 0,
		"when the writer falls behind by that much: drop the newest frames and count them "
		"(default), or stop receiving",
		0},
	{0, 0, 0, 0, "What to say:", 4},
	{"json", OPT_JSON, 0, 0, "print the final report as JSON on standard output", 0},
	{"quiet", 'q', 0, 0, "only errors and warnings", 0},
	{"silent", 0, 0, OPTION_ALIAS, 0, 0},
	{"verbose", 'v', 0, 0, "tell more of what happens", 0},
	{"version", OPT_VERSION, 0, 0, "version, libraries and features", -1},
	{0},
};

static void parse_number(struct argp_state *state, const char *name, const char *arg, uint64_t min,
	uint64_t max, uint64_t *out)
{
	if (rd_parse_u64(arg, min, max, out))
		argp_error(state, "%s: '%s' is not a whole number from %llu to %llu", name, arg,
			(unsigned long long)min, (unsigned long long)max);
}

static void parse_bytes(struct argp_state *state, const char *name, const char *arg, uint64_t min,
	uint64_t max, uint64_t *out)
{
	char least[RD_UNITS_LEN], most[RD_UNITS_LEN];

	if (rd_parse_size(arg, min, max, out))
		argp_error(state, "%s: '%s' is not a size from %s to %s, like 4096, 64k or 512Mi",
			name, arg, rd_fmt_kib(least, min), rd_fmt_kib(most, max));
}

static void parse_interface(struct argp_state *state, struct capture_options *o, const char *arg,
	const char **interface)
{
	uint64_t n;

	if (!isdigit((unsigned char)arg[0]) || strchr(arg, ':')) {
		*interface = arg;
		return;
	}
	parse_number(state, "-i", arg, 1, 4096, &n);
	o->nth = (unsigned int)n;
}

struct parsing {
	struct capture_options *o;
	const char *interface;
};

static void settle_device(struct argp_state *state, struct parsing *p)
{
	struct capture_options *o = p->o;

	if (o->device && p->interface)
		argp_error(state,
			"-d %s and -i %s both name a device; beside -d, -i takes the number of a "
			"port",
			o->device, p->interface);
	if (o->device) {
		o->port = o->nth;
		o->nth = 0;
	} else {
		o->device = p->interface;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct parsing *p = state->input;
	struct capture_options *o = p->o;
	uint64_t n = 0;

	switch (key) {
	case 'd':
		o->device = arg;
		break;
	case 'i':
		parse_interface(state, o, arg, &p->interface);
		break;
	case 'c':
		parse_number(state, "-c", arg, 1, UINT64_MAX, &o->count);
		break;
	case 'w':
	case 'o':
		o->path = arg;
		break;
	case OPT_FORMAT:
		o->format = arg;
		break;
	case 'U':
		o->unbuffered = true;
		break;
	case 'b':
		parse_number(state, "-b (log2 of the number of buffers)", arg, 1, LOG2_MOST, &n);
		o->log2_buffers = (unsigned int)n;
		break;
	case OPT_MAX_FRAME:
		parse_bytes(state, "--max-frame", arg, FRAME_LEAST, FRAME_MOST, &n);
		o->max_frame = (uint32_t)n;
		break;
	case OPT_BUFFER:
		parse_bytes(state, "--buffer-size", arg, BUFFER_LEAST, BUFFER_MOST, &o->buffer);
		break;
	case OPT_WHEN_FULL:
		if (strcmp(arg, "drop") && strcmp(arg, "wait"))
			argp_error(state, "--when-full: '%s' is neither drop nor wait", arg);
		o->when_full = arg[0] == 'w' ? RD_FULL_WAIT : RD_FULL_DROP;
		break;
	case OPT_JSON:
		o->json = true;
		break;
	case 'q':
		o->quiet = true;
		break;
	case 'v':
		o->verbose++;
		break;
	case OPT_VERSION:
		rd_cli_version();
		exit(0);
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is neither a command nor an option", arg);
		break;
	case ARGP_KEY_END:
		settle_device(state, p);
		if (!o->path)
			argp_error(state, "where to write? give -w FILE, or -w - for a pipe");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Before the options: what else the program can do. */
static char *help_filter(int key, const char *text, void *input)
{
	char *out = NULL;
	size_t len = 0;
	FILE *f;

	(void)input;
	if (key != ARGP_KEY_HELP_PRE_DOC)
		return (char *)text;
	f = open_memstream(&out, &len);
	if (!f)
		return (char *)text;
	fprintf(f, "%s\n\nCommands ('rdmadump COMMAND --help' tells more):\n", text);
	for (const struct rd_command *c = rd_commands; c->name; c++)
		fprintf(f, "  %-10s %s\n", c->name, c->help);
	fclose(f);
	return out;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Captures all traffic of an RDMA port, kernel bypass included, into a file for "
	       "Wireshark, and says what was lost."
	       "\v"
	       "Exit status: 0 done, 1 wrong usage, 2 device or permission, 3 output, 4 ended by a "
	       "fault after frames were captured.\n"
	       "Example: rdmadump -d mlx5_0 -w incident.pcapng",
	.help_filter = help_filter,
};

int rd_cmd_capture(int argc, char **argv)
{
	struct capture_options o = {.log2_buffers = LOG2_BUFFERS, .buffer = BUFFER_BYTES};
	struct parsing p = {.o = &o};
	struct session session = {.opt = &o};

	argp_parse(&argp, argc, argv, 0, NULL, &p);
	rd_cli_log(o.verbose ? RD_LOG_DEBUG : o.quiet ? RD_LOG_WARNING : RD_LOG_INFO);
	return session_run(&session);
}
