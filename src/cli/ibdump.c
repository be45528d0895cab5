/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The program under the name of ibdump: its letters, defaults and exit statuses, read into the
 * options of a capture.
 */
#include "capture.h"
#include "cli.h"
#include <getopt.h>
#include <rdmadump/bytes.h>
#include <rdmadump/units.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -C and -L are taken by its getopt and by nothing behind it: they end in the usage. */
#define LETTERS "p:w:d:i:o:b:hM:vC:EI:Lq:sm:jT"

#define DEFAULT_FILE  "sniffer.pcap"
#define LOG2_DEFAULT  12
#define LOG2_MOST     20
#define PORT_MOST     254
#define MEMORY_MOST   ((uint64_t)1 << 40)
#define JUMBO_FRAME   16384
#define WRITER_PIECES 2 /* -p sizes one buffer: one is filled while the other is written */

#define LINKTYPE_ERF 197
#define PCAP_HEADER  24
#define PCAP_RECORD  16
#define ERF_IB	     16 /* bytes of ERF in front of an InfiniBand packet */
#define ERF_ETHERNET 18 /* and of an Ethernet frame: two of them are padding */

enum { ERF_BY_LINK = -1, ERF_NEVER, ERF_ALWAYS };
enum { OPT_ERF = 0x100, OPT_A0_MODE };

static struct {
	struct capture_options o;
	const char *device;
	unsigned int port; /* 0: not given */
	int erf;
	bool in_memory, writer;
} dump = {.o = {.path = DEFAULT_FILE,
		  .format = "pcap-us",
		  .compress = "none",
		  .log2_buffers = LOG2_DEFAULT,
		  .buffer = RD_BUFFER_BYTES,
		  .ibdump = true},
	.erf = ERF_BY_LINK};

/* --- how it speaks ---------------------------------------------------------------------- */

static void say(void *ctx, enum rd_level level, const char *line)
{
	static const char *const prefix[] = {
		[RD_LOG_ERROR] = "-E- ",
		[RD_LOG_WARNING] = "-W- ",
		[RD_LOG_INFO] = "",
		[RD_LOG_DEBUG] = "",
	};

	(void)ctx;
	rd_cli_say(prefix[level], line);
}

int ibdump_fail(const struct rd_error *err)
{
	say(NULL, RD_LOG_ERROR, err->text);
	return 1;
}

static int __attribute__((format(printf, 1, 2))) complain(const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	say(NULL, RD_LOG_ERROR, line);
	return -1;
}

/* --- its options ------------------------------------------------------------------------ */

static int usage(const char *arg);

static int set_device(const char *arg)
{
	dump.device = arg;
	return 0;
}

static int set_port(const char *arg)
{
	uint64_t n;

	if (rd_parse_u64(arg, 1, PORT_MOST, &n))
		return complain("-i: '%s' is not the number of a port, 1 to %d", arg, PORT_MOST);
	dump.port = (unsigned int)n;
	return 0;
}

/* Standard output that carries frames carries nothing else, and nobody reads along. */
static int set_file(const char *arg)
{
	dump.o.path = arg;
	if (strcmp(arg, "-") == 0)
		dump.o.quiet = true;
	return 0;
}

static int set_burst(const char *arg)
{
	uint64_t n;

	if (rd_parse_u64(arg, 1, LOG2_MOST, &n))
		return complain(
			"-b: '%s' is not a log2 of the number of buffers, 1 to %d", arg, LOG2_MOST);
	dump.o.log2_buffers = (unsigned int)n;
	return 0;
}

static int parse_size(const char *option, const char *arg, uint64_t *size)
{
	if (rd_parse_u64(arg, 1, MEMORY_MOST, size) && rd_parse_size(arg, 1, MEMORY_MOST, size))
		return complain(
			"%s: '%s' is not a number of bytes, like 1000000 or 64Mi", option, arg);
	return 0;
}

static int set_memory(const char *arg)
{
	dump.in_memory = true;
	dump.o.hold = true;
	dump.o.when_full = RD_FULL_END;
	return parse_size("-M", arg, &dump.o.buffer);
}

static int set_writer(const char *arg)
{
	dump.writer = true;
	if (parse_size("-p", arg, &dump.o.buffer) < 0)
		return -1;
	dump.o.buffer *= WRITER_PIECES;
	return 0;
}

static int set_direction(const char *arg)
{
	if (strcmp(arg, "rx") && strcmp(arg, "tx"))
		return complain("-I: the direction is rx or tx, not '%s'", arg);
	dump.o.filter.direction = arg;
	return 0;
}

static int set_decap(const char *arg)
{
	(void)arg;
	dump.o.decap = DECAP_INNER;
	return 0;
}

static int set_src_qp(const char *arg)
{
	dump.o.filter.src_qp = arg;
	return 0;
}

static int set_silent(const char *arg)
{
	(void)arg;
	dump.o.quiet = true;
	return 0;
}

static int set_jumbo(const char *arg)
{
	(void)arg;
	dump.o.max_frame = JUMBO_FRAME;
	return 0;
}

/* Huge pages are what the receive ring asks for first in any case. */
static int set_contiguous(const char *arg)
{
	(void)arg;
	return 0;
}

static int set_erf(const char *arg)
{
	uint64_t n;

	if (rd_parse_u64(arg, ERF_NEVER, ERF_ALWAYS, &n))
		return complain("--erf: '%s' is neither 0 nor 1", arg);
	dump.erf = (int)n;
	return 0;
}

static int set_mst(const char *arg)
{
	fprintf(stderr, "-I- -m %s is ignored: no mst device is needed\n", arg);
	return 0;
}

static int refuse_a0(const char *arg)
{
	(void)arg;
	return complain("--a0-mode: not here; it drives ConnectX to ConnectX-3 by writing to their "
			"registers, which needs NVIDIA's firmware tools");
}

static int set_version(const char *arg)
{
	(void)arg;
	rd_cli_version();
	exit(0);
}

static int set_help(const char *arg)
{
	(void)arg;
	usage(NULL);
	exit(0);
}

static const struct letter {
	int letter;
	const char *name, *arg; /* arg NULL: takes none */
	int (*set)(const char *arg);
	const char *help;
} letters[] = {
	{'d', "ib-dev", "DEV", set_device, "RDMA device (default: the first that can be captured)"},
	{'i', "ib-port", "N", set_port, "its port (default 1)"},
	{'w', "write", "FILE", set_file,
		"write to FILE (default " DEFAULT_FILE "); - is standard output, without a word"},
	{'o', "output", "FILE", set_file, "the same"},
	{'b', "max-burst", "LOG2", set_burst, "2^LOG2 receive buffers (default 12: 4096)"},
	{'M', "mem-mode", "SIZE", set_memory,
		"keep frames in SIZE bytes of memory, write them at the end; ends when it is full"},
	{'p', "writer-thread", "SIZE", set_writer,
		"SIZE of each of the writer's two buffers (default: 256Mi together)"},
	{'I', "direction", "rx|tx", set_direction, "only what comes in, or goes out"},
	{'q', "src_qp", "N[,N]", set_src_qp, "only what these queue pairs send"},
	{'E', "decap", NULL, set_decap, "take mirrored frames out of what carries them"},
	{OPT_ERF, "erf", "0|1", set_erf,
		"ERF header before each frame (default: InfiniBand 1, Ethernet 0)"},
	{'j', "jumbo-mtu", NULL, set_jumbo, "receive buffers of 16 KiB"},
	{'T', "conti", NULL, set_contiguous, "contiguous memory, which is tried in any case"},
	{'s', "silent", NULL, set_silent, "only errors"},
	{'m', "mst-dev", "DEV", set_mst, "ignored: no mst device is needed"},
	{OPT_A0_MODE, "a0-mode", NULL, refuse_a0, "refused: this program writes no registers"},
	{'h', "help", NULL, set_help, "this"},
	{'v', "version", NULL, set_version, "version, libraries and features"},
};
#define N_LETTERS (sizeof(letters) / sizeof(letters[0]))

/* Always -1: after a mistake it is an error. */
static int usage(const char *mistake)
{
	FILE *out = mistake ? stderr : stdout;
	char name[48];

	if (mistake && *mistake)
		complain("'%s' is one word too many", mistake);
	fprintf(out, "Usage: ibdump [OPTION...]\n"
		     "Captures what crosses a port of an RDMA device into a pcap file.\n\n");
	for (size_t i = 0; i < N_LETTERS; i++) {
		const struct letter *l = &letters[i];

		snprintf(name, sizeof(name), "--%s%s%s", l->name, l->arg ? "=" : "",
			l->arg ? l->arg : "");
		if (l->letter < OPT_ERF)
			fprintf(out, "  -%c, %-22s  %s\n", l->letter, name, l->help);
		else
			fprintf(out, "      %-22s  %s\n", name, l->help);
	}
	fprintf(out, "\nThe same program called rdmadump writes pcapng, rotates, filters and "
		     "prints.\n");
	return -1;
}

static int parse(int argc, char **argv)
{
	struct option longs[N_LETTERS + 1] = {0};
	int c, rc = 0;

	for (size_t i = 0; i < N_LETTERS; i++)
		longs[i] = (struct option){.name = letters[i].name,
			.has_arg = letters[i].arg ? required_argument : no_argument,
			.val = letters[i].letter};
	while (rc == 0 && (c = getopt_long(argc, argv, LETTERS, longs, NULL)) != -1) {
		const struct letter *l = letters;

		while (l < letters + N_LETTERS && l->letter != c)
			l++;
		rc = l < letters + N_LETTERS ? l->set(optarg) : usage("");
	}
	if (rc == 0 && optind < argc)
		rc = usage(argv[optind]);
	if (rc == 0 && dump.in_memory && dump.writer)
		rc = complain("-M writes at the end and -p while it captures: give one of them");
	return rc;
}

/* --- its device ------------------------------------------------------------------------- */

static bool can_sniff(const struct rd_device *device, unsigned int num)
{
	const char *why, *todo;

	return num <= device->n_ports &&
	       rd_port_verdict(device, &device->ports[num - 1], &why, &todo) == RD_CAPTURE_YES;
}

/* A device without -i means port 1, up or not; a netdev or a PCI address has its own port. */
static int choose_port(void)
{
	struct wanted_port *w = &dump.o.wanted[0];
	const struct rd_device *first = NULL;
	struct rd_devices devices;
	struct rd_error err;

	if (rd_devices_load(&devices, "", &err) < 0)
		return complain("%s", err.text);
	*w = (struct wanted_port){.name = dump.device, .port = dump.port};
	dump.o.n_wanted = 1;
	for (size_t i = 0; i < devices.n; i++) {
		const struct rd_device *d = &devices.dev[i];

		if (dump.device && !strcmp(dump.device, d->name) && !w->port)
			w->port = 1;
		if (!first && can_sniff(d, dump.port ? dump.port : 1))
			first = d;
	}
	if (!first && devices.n)
		first = &devices.dev[0];
	if (!dump.device && first)
		*w = (struct wanted_port){strdup(first->name), 0, dump.port ? dump.port : 1};
	rd_devices_free(&devices);
	return 0;
}

/* --- its file --------------------------------------------------------------------------- */

int ibdump_set_format(struct session *s)
{
	if (dump.erf == ERF_BY_LINK)
		return 0;
	if (s->ifaces[0].link == RD_LINK_INFINIBAND && dump.erf == ERF_NEVER)
		return rd_fail(&s->error, RD_CLASS_USAGE, 0,
			"leave it away, or call rdmadump with --format pcap,dlt=247",
			"--erf 0: InfiniBand packets are written behind an ERF header only");
	if (s->ifaces[0].link == RD_LINK_ETHERNET && dump.erf == ERF_ALWAYS)
		return rd_encoder_init(&s->encoder, "pcap-us,dlt=197", NULL, s->encoder.section,
			s->encoder.ifaces, s->encoder.n_ifaces, &s->error);
	return 0;
}

/* Frames are not cut, so that what is in the file beside headers is what was on the wire. */
uint64_t ibdump_bytes(const struct session *s)
{
	uint64_t head = PCAP_RECORD, file = s->written.file_bytes;

	if (s->encoder.dlt == LINKTYPE_ERF)
		head += s->ifaces[0].link == RD_LINK_INFINIBAND ? ERF_IB : ERF_ETHERNET;
	head = PCAP_HEADER + head * s->written.written;
	return file > head ? file - head : 0;
}

int ibdump_run(int argc, char **argv)
{
	static struct session session = {.opt = &dump.o};

	if (parse(argc, argv) < 0 || choose_port() < 0)
		return 1;
	rd_log_to(say, NULL, dump.o.quiet ? RD_LOG_WARNING : RD_LOG_INFO);
	return session_run(&session) ? 1 : 0;
}
