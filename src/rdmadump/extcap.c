/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The program as Wireshark's extcap: lists the RDMA ports, prints their options, captures one into
 * a FIFO. The protocol: extcap(4).
 */
#include "commands.h"
#include "config.h"
#include "options.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FIELDS_MAX   32
#define DRAIN_ROUNDS 500 /* 10 ms each */
#define DRAIN_LAST   20

enum {
	OPT_INTERFACES = 0x100,
	OPT_INTERFACE,
	OPT_CONFIG,
	OPT_DLTS,
	OPT_CAPTURE,
	OPT_FILTER,
	OPT_FIFO,
	OPT_IGNORED,
	OPT_FIELD, /* and the numbers after it: an option of the dialog */
};

static const struct option protocol[] = {
	{"extcap-interfaces", no_argument, NULL, OPT_INTERFACES},
	{"extcap-interface", required_argument, NULL, OPT_INTERFACE},
	{"extcap-config", no_argument, NULL, OPT_CONFIG},
	{"extcap-dlts", no_argument, NULL, OPT_DLTS},
	{"capture", no_argument, NULL, OPT_CAPTURE},
	{"extcap-capture-filter", required_argument, NULL, OPT_FILTER},
	{"fifo", required_argument, NULL, OPT_FIFO},
	{"extcap-version", optional_argument, NULL, OPT_IGNORED},
	{"extcap-reload-option", required_argument, NULL, OPT_IGNORED},
	{"extcap-control-in", required_argument, NULL, OPT_IGNORED},
	{"extcap-control-out", required_argument, NULL, OPT_IGNORED},
};

struct request {
	int what; /* OPT_INTERFACES, OPT_CONFIG, OPT_DLTS, OPT_CAPTURE or OPT_FILTER */
	const char *interface, *filter, *fifo;
	struct capture_options o;
};

/* One port and the name that Wireshark uses for it. */
struct place {
	const struct rd_device *device;
	const struct rd_port *port;
	char name[RD_NAME_MAX + 32];
};

/* --- ports ------------------------------------------------------------------------------ */

static int fail(const char *what, const char *value)
{
	struct rd_error err;

	rd_fail(&err, RD_CLASS_USAGE, 0, "these options are for Wireshark; for others see --help",
		"extcap: %s %s", what, value ? value : "is missing");
	return rd_cli_fail(&err);
}

/* No ':' and no '/': the name goes into the path of the FIFO. */
static void name_place(struct place *p)
{
	snprintf(p->name, sizeof(p->name), "rdma-%s-%u", p->device->name, p->port->num);
	for (char *c = p->name; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-",
			    *c))
			*c = '_';
}

/* Calls `each` for every port until it returns true; returns whether it did. */
static bool any_place(const struct rd_devices *devices, struct place *p,
	bool (*each)(const struct place *p, const void *ctx), const void *ctx)
{
	for (size_t i = 0; i < devices->n; i++) {
		for (unsigned int k = 0; k < devices->dev[i].n_ports; k++) {
			*p = (struct place){
				.device = &devices->dev[i], .port = &devices->dev[i].ports[k]};
			name_place(p);
			if (each(p, ctx))
				return true;
		}
	}
	return false;
}

static bool is_named(const struct place *p, const void *name)
{
	return strcmp(p->name, name) == 0;
}

static const char *link_name(const struct place *p)
{
	if (strcmp(p->device->node_type, "RNIC") == 0)
		return "iWARP";
	return p->port->link == RD_LINK_INFINIBAND ? "InfiniBand" : "RoCE";
}

/* Braces and newlines are syntax of the protocol. */
static void print_value(const char *key, const char *text)
{
	printf("{%s=", key);
	for (; *text; text++)
		putchar(*text == '{' ? '(' : *text == '}' ? ')' : *text == '\n' ? ' ' : *text);
	putchar('}');
}

static bool print_interface(const struct place *p, const void *ctx)
{
	static const char *const verdicts[] = {
		[RD_CAPTURE_YES] = "",
		[RD_CAPTURE_NETDEV] = "netdev only, ",
		[RD_CAPTURE_NO] = "no capture, ",
	};
	const char *why, *todo;
	enum rd_verdict verdict = rd_port_verdict(p->device, p->port, &why, &todo);
	bool whole = verdict != RD_CAPTURE_NO && !*todo;
	bool down = p->port->state[0] && strcmp(p->port->state, "active");
	char display[512];

	(void)ctx;
	snprintf(display, sizeof(display), "%s port %u (%s%s%s%s%s)%s%s%s", p->device->name,
		p->port->num, p->port->n_netdevs ? p->port->netdevs[0].name : "",
		p->port->n_netdevs ? ", " : "", link_name(p), down ? ", " : "",
		down ? p->port->state : "", whole ? "" : ": ", whole ? "" : verdicts[verdict],
		whole ? "" : why);
	fputs("interface ", stdout);
	print_value("value", p->name);
	print_value("display", display);
	putchar('\n');
	return false;
}

/* --- replies ---------------------------------------------------------------------------- */

static int reply_interfaces(const struct rd_devices *devices)
{
	struct place p;

	printf("extcap {version=%s}{display=RDMA ports (rdmadump)}\n", PACKAGE_VERSION);
	any_place(devices, &p, print_interface, NULL);
	return 0;
}

static enum rd_link link_of(const struct place *p)
{
	return p->port->link == RD_LINK_INFINIBAND ? RD_LINK_INFINIBAND : RD_LINK_ETHERNET;
}

static int reply_dlts(const struct place *p)
{
	puts(link_of(p) == RD_LINK_INFINIBAND
			? "dlt {number=197}{name=ERF}{display=InfiniBand in ERF}"
			: "dlt {number=1}{name=EN10MB}{display=Ethernet}");
	return 0;
}

/* The option with that number in the dialog; NULL after the last one. */
static const struct cli_option *field_row(unsigned int number)
{
	return RD_FIND(c, cli_options, n_cli_options, c->extcap && c->extcap->number == number);
}

static const char *field_name(const struct cli_option *row)
{
	return row->extcap->name ? row->extcap->name : row->name;
}

static int reply_config(void)
{
	const struct cli_option *row;

	for (unsigned int i = 0; (row = field_row(i)); i++) {
		const struct extcap_field *f = row->extcap;

		printf("arg {number=%u}{call=--%s}{display=%s}{type=%s}%s{tooltip=%s}{group=%s}\n",
			i, field_name(row), f->display, f->type, f->preset, f->tip, f->group);
		for (unsigned int k = 0; f->values && f->values[k][0]; k++)
			printf("value {arg=%u}{value=%s}{display=%s}{default=%s}\n", i,
				f->values[k][0], f->values[k][1], k ? "false" : "true");
	}
	return 0;
}

/* Prints nothing if the filter is valid. */
static int reply_filter(const struct place *p, const char *expression)
{
	const struct rd_filter_spec spec = {.expression = expression};
	struct rd_filter *filter;
	struct rd_error err;

	if (rd_filter_compile(&filter, &spec, link_of(p), &err) < 0)
		puts(err.text);
	else
		rd_filter_free(filter);
	return 0;
}

/* --- the capture ------------------------------------------------------------------------ */

/*
 * The FIFO becomes standard output, to which the session writes frames without delay. It is opened
 * before any signal is blocked: SIGTERM must end the wait for a reader that never opens it. It is
 * opened before the device: if that fails, the reader sees the end of the FIFO.
 */
static int open_fifo(const char *path)
{
	struct rd_error err;
	struct stat st;
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISFIFO(st.st_mode)) {
		rd_fail(&err, RD_CLASS_OUTPUT, 0, "-w writes a file", "'%s' is not a FIFO", path);
		return rd_cli_fail(&err);
	}
	if (fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0) {
		close(fd);
		return 0;
	}
	rd_fail(&err, RD_CLASS_OUTPUT, errno, NULL, "cannot open the FIFO '%s'", path);
	return rd_cli_fail(&err);
}

/*
 * Wireshark may send SIGTERM more than once, and sends nothing if it is killed: then the kernel
 * sends SIGHUP, which must not be ignored.
 */
static void end_once(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGHUP, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGHUP);
}

/* When this process has ended, Wireshark does not read what is left in the FIFO. */
static void wait_for_reader(void)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	int unread = 0;

	for (int i = 0; i < DRAIN_ROUNDS; i++) {
		struct pollfd p = {.fd = STDOUT_FILENO};

		if (ioctl(STDOUT_FILENO, FIONREAD, &unread) < 0)
			return;
		if (!unread || poll(&p, 1, 0) > 0)
			break;
		nanosleep(&pause, NULL);
	}
	/* Gives the reader time to see the end of the FIFO. */
	close(STDOUT_FILENO);
	for (int i = 0; i < DRAIN_LAST; i++)
		nanosleep(&pause, NULL);
}

static int capture(struct request *r, const struct place *p)
{
	static struct capture_run run;
	struct capture_options *o = &r->o;
	int rc;

	if (!r->fifo)
		return fail("--fifo", NULL);
	if (o->session.cut.headers_only && o->session.cut.zero_payload)
		return fail("--headers-only and --zero-payload", "exclude each other");
	rc = open_fifo(r->fifo);
	if (rc)
		return rc;
	end_once();
	o->wanted[0] = (struct rd_wanted_port){.name = p->device->name, .port = p->port->num};
	o->session.n_wanted = 1;
	o->session.out.path = "-";
	o->session.format = "pcapng";
	o->session.out.compression = "none";
	/* Wireshark shows text on stderr as an error when the capture ends. */
	o->quiet = true;
	o->session.cut.writable = true;
	o->session.filter.expression = r->filter;
	run.opt = o;
	rc = capture_run(&run);
	if (!run.broken_pipe && run.ending.signal != SIGTERM && run.ending.signal != SIGHUP)
		wait_for_reader();
	return rc;
}

/* --- the command line ------------------------------------------------------------------- */

/* --capture with a filter captures; a filter alone is checked for validity. */
static void ask(struct request *r, int what)
{
	if (what == OPT_FILTER && r->what)
		return;
	r->what = what;
}

/* An option of the dialog. */
static int take_field(struct request *r, const struct cli_option *row, const char *value)
{
	const struct option_use range = {.max = row->extcap->max, .unit = row->extcap->unit};
	struct rd_error err;
	char as[40];

	/* Type "boolean" of the protocol has the value "false" if not set; "boolflag" has none. */
	if (!row->arg && value && strcmp(value, "false") == 0)
		return 0;
	/* A text that was deleted in the dialog */
	if (row->arg && !*value)
		return 0;
	snprintf(as, sizeof(as), "--%s", field_name(row));
	if (option_set(&r->o, row, as, value, &range, &err) == 0)
		return 0;
	fprintf(stderr, "rdmadump: extcap: %s\n", err.text);
	return -1;
}

static int take(struct request *r, int c, const char *value)
{
	const char **const texts[] = {[OPT_INTERFACE - OPT_INTERFACES] = &r->interface,
		[OPT_FILTER - OPT_INTERFACES] = &r->filter,
		[OPT_FIFO - OPT_INTERFACES] = &r->fifo};

	if (c >= OPT_FIELD)
		return take_field(r, field_row((unsigned int)(c - OPT_FIELD)), value);
	if (c < OPT_INTERFACES) /* getopt has printed a message */
		return -1;
	if (c == OPT_IGNORED)
		return 0;
	if (c != OPT_INTERFACE && c != OPT_FIFO)
		ask(r, c);
	if (value)
		*texts[c - OPT_INTERFACES] = value;
	return 0;
}

static int parse(struct request *r, int argc, char **argv)
{
	struct option longs[RD_COUNT(protocol) + FIELDS_MAX + 1] = {0};
	const struct cli_option *row;
	int c;

	memcpy(longs, protocol, sizeof(protocol));
	for (unsigned int i = 0; i < FIELDS_MAX && (row = field_row(i)); i++)
		longs[RD_COUNT(protocol) + i] = (struct option){.name = field_name(row),
			.has_arg = row->arg ? required_argument : optional_argument,
			.val = OPT_FIELD + (int)i};
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		if (take(r, c, optarg) < 0)
			return -1;
	return 0;
}

int extcap_run(int argc, char **argv)
{
	static struct request r = {.o = {.session = {SESSION_DEFAULTS}}};
	struct rd_devices devices;
	struct rd_error err;
	struct place p;
	int rc;

	if (parse(&r, argc, argv) < 0)
		return RD_CLASS_USAGE;
	if (rd_devices_load(&devices, "", &err) < 0)
		return rd_cli_fail(&err);
	if (r.what == OPT_INTERFACES)
		rc = reply_interfaces(&devices);
	else if (!r.interface)
		rc = fail("--extcap-interface", NULL);
	else if (!any_place(&devices, &p, is_named, r.interface))
		rc = fail("there is no interface", r.interface);
	else if (r.what == OPT_CONFIG)
		rc = reply_config();
	else if (r.what == OPT_DLTS)
		rc = reply_dlts(&p);
	else if (r.what == OPT_FILTER)
		rc = reply_filter(&p, r.filter);
	else if (r.what == OPT_CAPTURE)
		rc = capture(&r, &p);
	else
		rc = fail("--extcap-interfaces or --capture", NULL);
	rd_devices_free(&devices);
	return rc;
}
