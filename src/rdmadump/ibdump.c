/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ibdump mode: ibdump's options, defaults and exit statuses, mapped to a capture's. */
#include "commands.h"
#include "options.h"
#include <getopt.h>
#include <inttypes.h>
#include <rdmadump/port_sniffer.h>
#include <rdmadump/printable.h>
#include <rdmadump/units.h>
#include <stdlib.h>

#define DEFAULT_FILE  "sniffer.pcap"
#define LOG2_DEFAULT  12
#define PORT_MAX      254
#define LETTERS_MAX   32
#define FIRST_ROW     0x100 /* getopt's value of the first long option */
#define JUMBO_FRAME   16384
#define WRITER_PIECES 2 /* -p sizes one buffer: one is filled while the other is written */

#define LINKTYPE_ERF 197
#define PCAP_HEADER  24
#define PCAP_RECORD  16
#define ERF_IB	     16 /* bytes of ERF before an InfiniBand packet */
#define ERF_ETHERNET 18 /* and of an Ethernet frame: two of them are padding */

enum { ERF_BY_LINK = -1, ERF_NEVER, ERF_ALWAYS };

static struct dump {
	struct capture_options o; /* first: rows of both tables name fields */
	const char *device;
	unsigned int port; /* 0: not given */
	int erf;
	bool buffer; /* -p was given */
} dump = {.o = {.session = {.out.path = DEFAULT_FILE,
			.format = "pcap-us",
			.out.compression = "none",
			.device.log2_buffers = LOG2_DEFAULT,
			.device.latency_ms = RD_LATENCY_MS,
			.out.buffer = RD_BUFFER_BYTES}},
	.erf = ERF_BY_LINK};

/* --- messages --------------------------------------------------------------------------- */

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

static int print_error(const struct rd_error *err)
{
	say(NULL, RD_LOG_ERROR, err->text);
	return 1;
}

static int __attribute__((format(printf, 1, 2))) complain(const char *fmt, ...)
{
	char line[512];

	RD_FORMAT(line, sizeof(line), fmt);
	say(NULL, RD_LOG_ERROR, line);
	return -1;
}

/* --- its options ------------------------------------------------------------------------ */

static int set_jumbo(const struct option_use *use, struct rd_error *err)
{
	(void)use;
	(void)err;
	dump.o.session.device.max_frame = JUMBO_FRAME;
	return 0;
}

static int ignore_mst(const struct option_use *use, struct rd_error *err)
{
	(void)err;
	fprintf(stderr, "-I- -m %s is ignored: no mst device is needed\n", use->arg);
	return 0;
}

#define OPTIONS_OF struct dump

/* Options of ibdump that the capture command lacks, or that mean something else there. */
static const struct cli_option own[] = {
	{"ib-dev", 'd', "DEV", "RDMA device (default: the first that can be captured)",
		STRING(device)},
	{"ib-port", 'i', "N", "its port (default 1)", NUMBER(port, 1, PORT_MAX)},
	{"erf", 0, "0|1", "ERF header before each frame (default: InfiniBand 1, Ethernet 0)",
		NUMBER(erf, ERF_NEVER, ERF_ALWAYS)},
	{"jumbo-mtu", 'j', NULL, "receive buffers of 16 KiB", .set = set_jumbo},
	{"mst-dev", 'm', "DEV", "ignored: no mst device is needed", .set = ignore_mst},
	{"a0-mode", 0, NULL,
		"not supported: it writes registers of ConnectX to ConnectX-3 adapters, which "
		"needs NVIDIA's firmware tools",
		.set = set_refused},
	{"help", 'h', NULL, "print this help", .set = set_instead, .min = INSTEAD_HELP},
	{"version", 'v', NULL, "version, libraries and features", .set = set_instead,
		.min = INSTEAD_VERSION},
};

/* An option as ibdump writes it. */
struct letter {
	const struct cli_option *row;
	int letter;
	const char *name, *arg, *help;
	uint64_t min;
};

/* All of them: those that mean the same in a capture, then its own. */
static unsigned int make_letters(struct letter *letters)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < n_cli_options; i++) {
		const struct ibdump_spelling *as = cli_options[i].ibdump;
		const struct cli_option *row = option_main(i);

		if (!as)
			continue;
		letters[n++] = (struct letter){row, as->letter,
			as->name ? as->name : cli_options[i].name, row->arg, as->help, as->min};
	}
	for (unsigned int i = 0; i < RD_COUNT(own); i++)
		letters[n++] = (struct letter){
			&own[i], own[i].letter, own[i].name, own[i].arg, own[i].help, 0};
	return n;
}

/* Always returns -1: a mistake is an error. */
static int usage(const struct letter *letters, unsigned int n, const char *mistake)
{
	FILE *out = mistake ? stderr : stdout;
	char name[48];

	if (mistake && *mistake)
		complain("unexpected argument '%s'", mistake);
	fprintf(out, "Usage: ibdump [OPTION...]\nCaptures the traffic of an RDMA port to a pcap "
		     "file.\n\n");
	for (const struct letter *l = letters; l < letters + n; l++) {
		snprintf(name, sizeof(name), "--%s%s%s", l->name, l->arg ? "=" : "",
			l->arg ? l->arg : "");
		if (l->letter)
			fprintf(out, "  -%c, %-22s  %s\n", l->letter, name, l->help);
		else
			fprintf(out, "      %-22s  %s\n", name, l->help);
	}
	fprintf(out, "\nAs 'rdmadump' the same program also writes pcapng, rotates files, filters "
		     "and prints frames.\n");
	return -1;
}

/* If frames go to standard output, no messages are printed. */
static int settle(void)
{
	struct capture_options *o = &dump.o;
	struct rd_error err;

	if (strcmp(o->session.out.path, "-") == 0)
		o->quiet = true;
	if (dump.buffer && o->session.out.hold)
		return complain("-M writes at the end and -p while it captures: give one of them");
	if (dump.buffer)
		o->session.out.buffer *= WRITER_PIECES;
	return options_check(o, &err) < 0 ? complain("%s", err.text) : 0;
}

static int set_letter(const struct letter *l)
{
	const struct option_use range = {.min = l->min};
	struct rd_error err;
	char as[40];

	if (l->letter)
		snprintf(as, sizeof(as), "-%c", l->letter);
	else
		snprintf(as, sizeof(as), "--%s", l->name);
	dump.buffer |= l->letter == 'p';
	return option_set(&dump, l->row, as, optarg, &range, &err) < 0 ? complain("%s", err.text)
								       : 0;
}

/* Room for each letter and its colon. */
static void make_getopt(
	const struct letter *letters, unsigned int n, struct option *longs, char *shorts)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct letter *l = &letters[i];

		longs[i] = (struct option){.name = l->name,
			.has_arg = l->arg ? required_argument : no_argument,
			.val = FIRST_ROW + (int)i};
		if (!l->letter)
			continue;
		*shorts++ = (char)l->letter;
		if (l->arg)
			*shorts++ = ':';
	}
	*shorts = '\0';
}

static const struct letter *find_letter(const struct letter *letters, unsigned int n, int c)
{
	if (c >= FIRST_ROW)
		return &letters[c - FIRST_ROW];
	return RD_FIND(l, letters, n, l->letter == c);
}

/* Returns 0, -1 after a mistake, or 1 if help or version was printed. */
static int parse(int argc, char **argv)
{
	const enum instead *instead = &dump.o.instead;
	struct letter letters[LETTERS_MAX];
	unsigned int n = make_letters(letters);
	struct option longs[LETTERS_MAX + 1] = {0};
	char shorts[2 * LETTERS_MAX + 1];
	int c, rc = 0;

	make_getopt(letters, n, longs, shorts);
	while (rc == 0 && !*instead && (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct letter *l = find_letter(letters, n, c);

		rc = l ? set_letter(l) : usage(letters, n, "");
	}
	if (rc == 0 && *instead == INSTEAD_HELP)
		usage(letters, n, NULL);
	else if (rc == 0 && *instead)
		rd_cli_version();
	else if (rc == 0 && optind < argc)
		rc = usage(letters, n, argv[optind]);
	if (rc == 0 && *instead)
		return 1;
	return rc == 0 ? settle() : rc;
}

/* --- its device ------------------------------------------------------------------------- */

static bool can_sniff(const struct rd_device *device, unsigned int num)
{
	const char *why, *todo;

	return num <= device->n_ports &&
	       rd_port_verdict(device, &device->ports[num - 1], &why, &todo) == RD_CAPTURE_YES;
}

/* As ibdump does where verbs have no sniffer; it changes the adapter, so -d must name it. */
static void choose_sniffer(const struct rd_device *d, unsigned int num)
{
	struct rd_sniffer_refusal why;

	if (num <= d->n_ports && d->ports[num - 1].link == RD_LINK_INFINIBAND &&
		!can_sniff(d, num) && rd_port_sniffer_possible(d, &why))
		dump.o.session.port_sniffer = dump.o.session.sniffer_only = true;
}

/* A device without -i means port 1, up or not; a netdev or a PCI address has its own port. */
static int choose_port(void)
{
	struct rd_wanted_port *w = &dump.o.wanted[0];
	const struct rd_device *first = NULL;
	struct rd_devices devices;
	struct rd_error err;

	if (rd_devices_load(&devices, "", &err) < 0)
		return complain("%s", err.text);
	*w = (struct rd_wanted_port){.name = dump.device, .port = dump.port};
	dump.o.session.n_wanted = 1;
	for (size_t i = 0; i < devices.n; i++) {
		const struct rd_device *d = &devices.dev[i];

		if (dump.device && !strcmp(dump.device, d->name)) {
			w->port = w->port ? w->port : 1;
			choose_sniffer(d, w->port);
		}
		if (!first && can_sniff(d, dump.port ? dump.port : 1))
			first = d;
	}
	if (!first && devices.n)
		first = &devices.dev[0];
	if (!dump.device && first)
		*w = (struct rd_wanted_port){strdup(first->name), 0, dump.port ? dump.port : 1};
	rd_devices_free(&devices);
	return 0;
}

/* --- its file --------------------------------------------------------------------------- */

static int set_format(struct capture_run *r, struct rd_error *err)
{
	unsigned int n;
	enum rd_link link = rd_session_ifaces(r->session, &n)[0].link;

	if (dump.erf == ERF_BY_LINK)
		return 0;
	if (link == RD_LINK_INFINIBAND && dump.erf == ERF_NEVER)
		return rd_fail(err, RD_CLASS_USAGE, 0,
			"leave it out, or call rdmadump with --format pcap,dlt=247",
			"--erf 0: InfiniBand packets are written with an ERF header only");
	if (link == RD_LINK_ETHERNET && dump.erf == ERF_ALWAYS)
		r->config.format = "pcap-us,dlt=197";
	return 0;
}

/* Frames are not cut in this mode: the file without its headers has the bytes of the wire. */
static uint64_t bytes_captured(const struct capture_run *r)
{
	uint64_t head = PCAP_RECORD, file = r->result->written.file_bytes;
	unsigned int n;
	enum rd_link link = rd_session_ifaces(r->session, &n)[0].link;

	if (rd_session_encoder(r->session)->dlt == LINKTYPE_ERF)
		head += link == RD_LINK_INFINIBAND ? ERF_IB : ERF_ETHERNET;
	head = PCAP_HEADER + head * r->result->written.written;
	return file > head ? file - head : 0;
}

static void print_report(const struct capture_run *r)
{
	uint64_t lost = r->result->lost;

	if (r->opt->quiet)
		return;
	if (r->result->end == RD_END_MEMORY)
		fprintf(stderr, "Buffer full ...\n");
	fprintf(stderr, "Captured: %" PRIu64 " packets, %" PRIu64 " bytes\n",
		r->result->written.written, bytes_captured(r));
	if (r->result->dropped)
		fprintf(stderr, "-W- %" PRIu64 " packets were dropped\n", r->result->dropped);
	if (lost)
		fprintf(stderr, "-W- %" PRIu64 " packets were lost by the device\n", lost);
}

int ibdump_run(int argc, char **argv)
{
	static const struct capture_style style = {.set_format = set_format,
		.ready = "Ready to capture (Press ^c to stop)",
		.report = print_report,
		.fail = print_error};
	static struct capture_run run = {.opt = &dump.o, .style = &style};

	int rc = parse(argc, argv);

	if (rc > 0)
		return 0;
	if (rc < 0 || choose_port() < 0)
		return 1;
	rd_log_to(say, NULL, dump.o.quiet ? RD_LOG_WARNING : RD_LOG_INFO);
	return capture_run(&run) ? 1 : 0;
}
