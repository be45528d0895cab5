/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* rdmadump capture: reads its command line. */
#include "capture.h"
#include "options.h"
#include "cli.h"
#include "parse.h"
#include <argp.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG2_MOST    20
#define MEMORY_LEAST ((uint64_t)1 << 20)
#define MEMORY_MOST  ((uint64_t)1 << 40)
#define FRAME_LEAST  256
#define FRAME_MOST   65536
#define SNAPLEN_MOST 262144
#define QUEUES_MOST  32
#define SECONDS_MOST 4000000000U

struct parsing {
	struct capture_options *o;
	const char *filter_file;
	char *words; /* the FILTER on the command line */
	unsigned int files, bare_t;
	bool by_size;
	unsigned int port;
};

static void add_wanted(
	struct argp_state *state, struct capture_options *o, const char *name, unsigned int nth)
{
	if (o->n_wanted == RD_IFACES_MAX)
		argp_error(state, "more than %d devices", RD_IFACES_MAX);
	o->wanted[o->n_wanted++] = (struct wanted_port){.name = name, .nth = nth};
}

/* A number is the port of the -d before it; without one, a place in the list. */
static void parse_interface(struct argp_state *state, struct capture_options *o, const char *arg)
{
	struct wanted_port *last = o->n_wanted ? &o->wanted[o->n_wanted - 1] : NULL;
	uint64_t n;

	if (!isdigit((unsigned char)arg[0]) || strchr(arg, ':') || strchr(arg, '.')) {
		add_wanted(state, o, arg, 0);
		return;
	}
	parse_number(state, "-i", arg, 1, 4096, &n);
	if (last && last->name && !last->port)
		last->port = (unsigned int)n;
	else
		add_wanted(state, o, NULL, (unsigned int)n);
}

/* Returns its place in the list. */
static unsigned int parse_choice(
	struct argp_state *state, const char *option, const char *arg, const char *const *choices)
{
	char all[80] = "";

	for (unsigned int i = 0; choices[i]; i++) {
		size_t used = strlen(all);

		if (strcmp(arg, choices[i]) == 0)
			return i;
		snprintf(all + used, sizeof(all) - used, "%s%s", used ? ", " : "", choices[i]);
	}
	argp_error(state, "%s: '%s' is not one of %s", option, arg, all);
	return 0;
}

static void parse_stamps(struct argp_state *state, struct capture_options *o, const char *arg)
{
	for (unsigned int i = 0; i < RD_STAMP_TYPES; i++) {
		if (strcmp(arg, rd_stamp_types[i].name) == 0) {
			o->stamps = (enum rd_stamp_type)i;
			return;
		}
	}
	argp_error(state, "-j: '%s' is none of host, adapter, adapter_unsynced, auto", arg);
}

static void parse_snaplen(struct argp_state *state, struct capture_options *o, const char *arg)
{
	uint64_t n;

	if (!isdigit((unsigned char)arg[0]))
		argp_error(state,
			"-s: '%s' is not a number of bytes; ibdump's -s is called --silent here",
			arg);
	parse_number(state, "-s", arg, 0, SNAPLEN_MOST, &n);
	o->cut.snaplen = (uint32_t)n;
}

static void parse_writer_thread(
	struct argp_state *state, struct capture_options *o, const char *arg)
{
	if (!isdigit((unsigned char)arg[0]))
		argp_error(state,
			"-p: '%s' is not a size; tcpdump's -p is called --no-promiscuous-mode here",
			arg);
	parse_bytes(state, "-p", arg, 1, MEMORY_LEAST, MEMORY_MOST, &o->buffer);
}

static void add_word(struct argp_state *state, struct parsing *p, const char *word)
{
	size_t had = p->words ? strlen(p->words) : 0;
	char *words = realloc(p->words, had + strlen(word) + 2);

	if (!words)
		argp_failure(state, RD_CLASS_USAGE, 0, "the filter is too long");
	sprintf(words + had, "%s%s", had ? " " : "", word);
	p->words = words;
}

static void send_update(struct argp_state *state, const char *arg)
{
	struct rd_error err;
	uint64_t pid;

	parse_number(state, "--update", arg, 2, 4194304, &pid);
	exit(capture_update((unsigned int)pid, &err) < 0 ? rd_cli_fail(&err) : 0);
}

/* Options of the output. */
static error_t parse_output(int key, char *arg, struct argp_state *state)
{
	static const char *const compressions[] = {"gz", "zst", "none", NULL};
	/* In the order of enum rd_write_mode and enum rd_sync. */
	static const char *const write_modes[] = {"auto", "buffered", "direct", "uring", NULL};
	static const char *const syncs[] = {"none", "file", "periodic", NULL};
	struct parsing *p = state->input;
	struct capture_options *o = p->o;
	uint64_t n = 0;

	switch (key) {
	case 'w':
	case 'o':
		o->path = arg;
		break;
	case OPT_STRIPE:
		parse_stripes(state, o, arg);
		break;
	case OPT_FORMAT:
		o->format = arg;
		break;
	case OPT_COMPRESS:
		o->compress = compressions[parse_choice(state, "--compress", arg, compressions)];
		break;
	case OPT_WRITE_MODE:
		o->write_mode =
			(enum rd_write_mode)parse_choice(state, "--write-mode", arg, write_modes);
		break;
	case OPT_SYNC:
		o->sync = (enum rd_sync)parse_choice(state, "--sync", arg, syncs);
		break;
	case OPT_LEVEL:
		parse_number(state, "--compress-level", arg, 1, 19, &o->compress_level);
		break;
	case 'U':
		o->unbuffered = true;
		break;
	case OPT_NO_FACTS:
		o->no_facts = true;
		break;
	case 'Z':
		o->user = arg;
		break;
	case 'C':
		parse_bytes(state, "-C", arg, 1000000, 1, UINT64_MAX / 2, &o->rotation.bytes);
		p->by_size = true;
		break;
	case 'G':
		parse_number(state, "-G", arg, 1, SECONDS_MOST, &o->slice_s);
		o->rotation.timed = true;
		break;
	case 'W':
		parse_number(state, "-W", arg, 1, 100000, &n);
		p->files = (unsigned int)n;
		break;
	case 'z':
		o->rotation.command = arg;
		break;
	case 'b':
		if (strchr(arg, ':')) {
			parse_ring_buffer(state, o, arg);
			break;
		}
		parse_number(state, "-b (log2 of the number of buffers, or KEY:VALUE)", arg, 1,
			LOG2_MOST, &n);
		o->log2_buffers = (unsigned int)n;
		break;
	case 'a':
		parse_autostop(state, o, arg);
		break;
	case OPT_UPDATE:
		send_update(state, arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Options of filter and cut. */
static error_t parse_filter(int key, char *arg, struct argp_state *state)
{
	struct parsing *p = state->input;
	struct capture_options *o = p->o;

	switch (key) {
	case 'f':
		add_word(state, p, arg);
		break;
	case 'F':
		p->filter_file = parse_file(state, arg);
		break;
	case OPT_QP:
		o->filter.qp = arg;
		break;
	case OPT_SRC_QP:
		o->filter.src_qp = arg;
		break;
	case OPT_OPCODE:
		o->filter.opcode = arg;
		break;
	case OPT_HOST:
		o->filter.host = arg;
		break;
	case OPT_GID:
		o->filter.gid = arg;
		break;
	case OPT_ROCE:
		o->filter.roce = true;
		break;
	case 'Q':
	case 'I':
		o->filter.direction = arg;
		break;
	case OPT_EXPLAIN:
		o->filter_explain = true;
		break;
	case 's':
		parse_snaplen(state, o, arg);
		break;
	case OPT_HEADERS_ONLY:
		o->cut.headers_only = true;
		break;
	case OPT_ZERO_PAYLOAD:
		o->cut.zero_payload = true;
		break;
	case 'E':
		if (arg && strcmp(arg, "inner") && strcmp(arg, "outer"))
			argp_error(state, "--decap: '%s' is neither inner nor outer", arg);
		o->decap = arg && arg[0] == 'o' ? DECAP_OUTER : DECAP_INNER;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Options of sources and memory. */
static error_t parse_source(int key, char *arg, struct argp_state *state)
{
	/* In the order of enum rd_rx_mode. */
	static const char *const rx_modes[] = {"auto", "wqe", "striding", "verbs", NULL};
	static char *list[] = {(char *)"rdmadump list", NULL};
	struct capture_options *o = ((struct parsing *)state->input)->o;
	uint64_t n = 1;

	switch (key) {
	case 'd':
		add_wanted(state, o, arg, 0);
		break;
	case 'i':
		parse_interface(state, o, arg);
		break;
	case 'r':
		o->read = arg;
		break;
	case OPT_NETDEV:
		o->netdev_only = true;
		break;
	case OPT_SNIFFER:
		o->sniffer_only = true;
		break;
	case OPT_NO_PROMISCUOUS:
		o->promiscuous_off = true;
		break;
	case 'D':
		exit(rd_cmd_list(1, list));
	case 'c':
		parse_number(state, "-c", arg, 1, UINT64_MAX, &o->count);
		break;
	case OPT_MAX_FRAME:
		parse_bytes(state, "--max-frame", arg, 1, FRAME_LEAST, FRAME_MOST, &o->max_frame);
		break;
	case OPT_BUFFER:
		parse_bytes(state, "--buffer-size", arg, 1, MEMORY_LEAST, MEMORY_MOST, &o->buffer);
		break;
	case 'p':
		parse_writer_thread(state, o, arg);
		break;
	case 'B':
		parse_bytes(state, "-B", arg, 1024, 65536, (uint64_t)1 << 31, &o->kernel_buffer);
		break;
	case OPT_WHEN_FULL:
		if (strcmp(arg, "drop") && strcmp(arg, "wait"))
			argp_error(state, "--when-full: '%s' is neither drop nor wait", arg);
		o->when_full = arg[0] == 'w' ? RD_FULL_WAIT : RD_FULL_DROP;
		break;
	case 'j':
		parse_stamps(state, o, arg);
		break;
	case 'J':
		o->list_stamps = true;
		break;
	case OPT_RX_MODE:
		o->rx_mode = (enum rd_rx_mode)parse_choice(state, "--rx-mode", arg, rx_modes);
		break;
	case OPT_QUEUES:
		o->queues_auto = strcmp(arg, "auto") == 0;
		if (!o->queues_auto)
			parse_number(state, "--queues", arg, 1, QUEUES_MOST, &n);
		o->queues = (unsigned int)n;
		break;
	case OPT_PER_QUEUE:
		o->per_queue = true;
		break;
	case 'M':
		parse_bytes(state, "-M", arg, 1, MEMORY_LEAST, MEMORY_MOST, &o->buffer);
		o->hold = true;
		o->when_full = RD_FULL_END;
		break;
	case 'T': /* huge pages are tried in any case */
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* What to say. */
static error_t parse_speech(int key, struct argp_state *state)
{
	struct parsing *p = state->input;
	struct capture_options *o = p->o;

	switch (key) {
	case 'v':
		o->print = true;
		break;
	case OPT_ANALYZE:
		o->analyze = true;
		break;
	case 't':
		p->bare_t++;
		break;
	case 'e':
		o->line_style |= RD_LINE_LINK;
		break;
	case OPT_JSON:
		o->json = true;
		break;
	case 'q':
		o->quiet = true;
		break;
	case OPT_DEBUG:
		o->debug++;
		break;
	case OPT_VERSION:
		rd_cli_version();
		exit(0);
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void check_together(struct argp_state *state, struct parsing *p)
{
	struct capture_options *o = p->o;
	bool rotates = o->rotation.bytes || o->rotation.frames || o->slice_s;

	if (o->read && o->n_wanted)
		argp_error(state, "-r reads a file, -d and -i name a device: give one of them");
	if (o->netdev_only && o->sniffer_only)
		argp_error(state, "--netdev and --sniffer exclude each other");
	if (o->cut.headers_only && o->cut.zero_payload)
		argp_error(state, "--headers-only and --zero-payload exclude each other");
	if (o->read && (o->stamps != RD_STAMPS_AUTO || o->list_stamps))
		argp_error(state, "-r: the frames of a file have their time stamps already");
	if (p->filter_file && p->words)
		argp_error(state, "the filter is given by -F and on the command line: give one");
	if (rotates && (!o->path || strcmp(o->path, "-") == 0))
		argp_error(state, "new files need a name: give -w FILE");
	if (p->files && !rotates)
		argp_error(state, "-W %u counts files: give -C or -G too", p->files);
	if (o->queues && (o->read || o->filter.src_qp))
		argp_error(state, "--queues: not with %s",
			o->read ? "-r, a file has none"
				: "--src-qp, which learns connections from frames of all queues");
	if (o->per_queue && (!o->queues || !o->path || strcmp(o->path, "-") == 0))
		argp_error(state, "--per-queue-files needs --queues and -w FILE");
	if (o->hold && rotates)
		argp_error(state, "-M writes one file at the end: not with -C, -G or -b KEY:VALUE");
	if (o->path && strcmp(o->path, "-") == 0 && o->json && o->print)
		argp_error(state, "-w - takes standard output: not with --json and -v together");
}

/* Before any device is opened; a first word that is no filter may be a command that was misspelt.
 */
static void check_words(struct argp_state *state, const char *words)
{
	const struct rd_filter_spec spec = {.expression = words};
	char first[32] = "";
	struct rd_filter *filter;
	struct rd_error err;
	const char *like;

	if (rd_filter_compile(&filter, &spec, RD_LINK_ETHERNET, &err) == 0) {
		rd_filter_free(filter);
		return;
	}
	sscanf(words, "%31s", first);
	like = rd_command_like(first);
	if (like)
		argp_failure(
			state, RD_CLASS_USAGE, 0, "%s; or is 'rdmadump %s' meant?", err.text, like);
	if (!strchr(words, ' '))
		argp_failure(state, RD_CLASS_USAGE, 0, "%s, or 'rdmadump --help' for the commands",
			err.text);
	argp_failure(state, (int)err.class, 0, "%s", err.text);
}

static void settle(struct argp_state *state, struct parsing *p)
{
	static const unsigned int styles[] = {
		0, RD_LINE_NO_TIME, RD_LINE_EPOCH, RD_LINE_EPOCH, RD_LINE_DATE};
	struct capture_options *o = p->o;

	check_together(state, p);
	if (p->words)
		check_words(state, p->words);
	o->filter.expression = p->filter_file ? p->filter_file : p->words;
	o->line_style |= styles[p->bare_t > 4 ? 4 : p->bare_t];
	if (!o->path && !o->analyze)
		o->print = true;
	/* tcpdump's -W: a ring for -C, an end for -G alone */
	if (p->files && p->by_size)
		o->rotation.ring = p->files;
	else if (p->files)
		o->rotation.files = p->files;
	stripes_together(state, o);
	/* The file source's bytes and the receive buffers are ours to change. */
	o->cut.writable = true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct parsing *p = state->input;
	error_t rc;

	switch (key) {
	case ARGP_KEY_ARG:
		add_word(state, p, arg);
		return 0;
	case ARGP_KEY_END:
		settle(state, p);
		return 0;
	default:
		rc = parse_output(key, arg, state);
		if (rc == ARGP_ERR_UNKNOWN)
			rc = parse_filter(key, arg, state);
		if (rc == ARGP_ERR_UNKNOWN)
			rc = parse_source(key, arg, state);
		if (rc == ARGP_ERR_UNKNOWN)
			rc = parse_speech(key, state);
		return rc == ARGP_ERR_UNKNOWN ? parse_foreign(key, state) : rc;
	}
}

/* Before the options: what else the program can do. */
static char *help_filter(int key, const char *text, void *input)
{
	char *out = NULL;
	size_t len = 0;
	FILE *f;

	(void)input;
	if (key != ARGP_KEY_HELP_PRE_DOC)
		return (char *)(uintptr_t)text;
	f = open_memstream(&out, &len);
	if (!f)
		return (char *)(uintptr_t)text;
	fprintf(f, "%s\n\nCommands ('rdmadump COMMAND --help' tells more):\n", text);
	for (const struct rd_command *c = rd_commands; c->name; c++)
		fprintf(f, "  %-10s %s\n", c->name, c->help);
	fclose(f);
	return out;
}

static const struct argp argp = {
	.options = capture_argp_options,
	.parser = parse,
	.args_doc = "[FILTER]",
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
	static struct capture_options o = {
		.log2_buffers = RD_LOG2_BUFFERS, .buffer = RD_BUFFER_BYTES};
	static struct session session = {.opt = &o};
	struct parsing p = {.o = &o};
	int rc;

	argp_parse(&argp, argc, argv, 0, NULL, &p);
	rd_cli_log(o.debug ? RD_LOG_DEBUG : o.quiet ? RD_LOG_WARNING : RD_LOG_INFO);
	rc = session_run(&session);
	free(p.words);
	return rc;
}
