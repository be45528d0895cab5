/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Captures a network interface through libpcap (TPACKET_V3; packet(7), rtnetlink(7)). */
#include "netdev.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <pthread.h>
#include <rdmadump/array.h>
#include <rdmadump/privilege.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SNAPLEN_MAX 262144u /* libpcap's MAXIMUM_SNAPLEN */
#define STAGE_BYTES 262144u /* a batch ends when it holds this many bytes */
/*
 * The kernel hands over a block of its ring when it is full or has this age. At low rates, a ring
 * of N blocks holds the frames of N intervals while this program does not read: the interval must
 * not be short.
 */
#define BLOCK_MS	50
#define BLOCK_LATEST_MS (2 * BLOCK_MS + 20) /* the kernel checks at this interval */
#define CHECK_NS	100000000U	    /* between two readings of the loss counters */
#define FORMER_NS	1000000000U	    /* longer than a frame stays in the ring */
#define LINKTYPE_RAW	101 /* value in files; DLT_RAW, which tunnels have, is another number */

struct netdev {
	struct rd_source src;
	pcap_t *pcap;
	char name[IF_NAMESIZE];
	unsigned int ifindex;	    /* 0: all of them */
	const struct rd_port *port; /* NULL: none */
	bool nano;
	struct netdev_clock clock;
	char fault[PCAP_ERRBUF_SIZE]; /* why no more frames arrive; "": no fault */
	bool stopped, renamed;
	uint64_t deadline_ns; /* the last block is handed over before this time */

	/* pcap_dispatch() returns the ring's blocks to the kernel, so frames are copied. */
	uint8_t *stage;
	size_t staged;
	struct rd_frame *frames;
	unsigned int got;

	uint64_t seen; /* frames read from the ring */
	uint64_t checked_ns;
	pthread_mutex_t lock; /* guards the loss: threads of a recording ask for it, too */
	struct netdev_loss loss;
	uint64_t unreported;   /* dropped, and not yet reported with a frame */
	uint64_t report_after; /* value of `seen` at which the loss is reported */
	unsigned int batches;
	struct rd_note note;
	struct netdev_watch *watch; /* NULL: for "any", which has no state */
	uint64_t former_until; /* monotonic ns until which former addresses are kept; 0: there are
				  none */

	size_t buffer; /* bytes of the ring */
	char *filter, description[320], hardware[240];
	bool filtered;
};

/* Returns how many frames were put into the ring so far. */
static uint64_t count(struct netdev *n)
{
	uint64_t dropped, put;

	pthread_mutex_lock(&n->lock);
	dropped = netdev_loss_count(&n->loss, n->pcap, n->name, n->ifindex);
	put = n->loss.passed - n->loss.dropped;
	n->unreported += dropped;
	if (dropped)
		n->report_after = put;
	pthread_mutex_unlock(&n->lock);
	return put;
}

/* Frames are dropped while the ring is full: those in the ring were received before the loss. */
static void check_loss(struct netdev *n, bool ring_empty)
{
	uint64_t now = rd_monotonic_ns();

	if (ring_empty) {
		pthread_mutex_lock(&n->lock);
		n->report_after = 0;
		pthread_mutex_unlock(&n->lock);
	}
	if (now - n->checked_ns < CHECK_NS)
		return;
	n->checked_ns = now;
	count(n);
}

static void report_loss(struct netdev *n)
{
	pthread_mutex_lock(&n->lock);
	if (n->unreported && n->seen - n->got >= n->report_after) {
		n->note = (struct rd_note){.dropped = n->unreported};
		n->unreported = 0;
		n->src.batch_has_notes = true;
	}
	pthread_mutex_unlock(&n->lock);
}

static bool netdev_note(struct rd_source *src, unsigned int i, struct rd_note *note)
{
	struct netdev *n = (struct netdev *)src;

	if (i || !src->batch_has_notes)
		return false;
	*note = n->note;
	return true;
}

static void netdev_stats(struct rd_source *src, struct rd_source_stats *stats)
{
	struct netdev *n = (struct netdev *)src;
	const char *missing = n->watch ? netdev_watch_state(n->watch)->missing : NULL;

	count(n);
	*stats = (struct rd_source_stats){.missing = missing};
	pthread_mutex_lock(&n->lock);
	netdev_loss_stats(&n->loss, stats);
	/* the driver drops frames before the filter */
	stats->loss_shared = n->filtered && n->loss.before_least;
	pthread_mutex_unlock(&n->lock);
	stats->loss_known &= !missing || !*missing;
}

/* --- frames ----------------------------------------------------------------------------- */

static void take_frame(u_char *user, const struct pcap_pkthdr *h, const u_char *bytes)
{
	struct netdev *n = (struct netdev *)(void *)user;
	uint64_t fraction = (uint64_t)h->ts.tv_usec;

	memcpy(n->stage + n->staged, bytes, h->caplen);
	n->frames[n->got++] = (struct rd_frame){
		.data = n->stage + n->staged,
		.caplen = h->caplen,
		.len = h->len,
		.ts_ns = (uint64_t)h->ts.tv_sec * 1000000000U + fraction * (n->nano ? 1 : 1000),
	};
	n->staged += (h->caplen + 15u) & ~(size_t)15;
	if (n->staged > STAGE_BYTES)
		pcap_breakloop(n->pcap);
}

/* After the frames were read: a clock that was set since is none that they have. */
static void convert_times(struct netdev *n)
{
	uint64_t now;

	netdev_clock_look(&n->clock);
	now = rd_monotonic_ns();
	for (unsigned int i = 0; i < n->got; i++)
		n->frames[i].ts_ns = netdev_clock_ns(&n->clock, n->frames[i].ts_ns, now);
}

static uint64_t netdev_now(const struct rd_source *src)
{
	return rd_clock_now(&((const struct netdev *)src)->clock.host);
}

/* From the cooked header; without one the engine compares addresses. */
static void take_removal(struct netdev *n)
{
	if (n->fault[0])
		return;
	snprintf(n->fault, sizeof(n->fault),
		"it was removed, or moved to another network namespace");
	rd_source_note(&n->src, RD_LOG_WARNING, "netdev removed");
	if (n->watch)
		netdev_watch_end(n->watch);
}

/*
 * libpcap may notice a removed netdev before netlink reports it. It also reports a renamed netdev
 * as removed, since it looks it up by name, possibly after the old name was restored. But its
 * socket is bound to the index and continues to receive.
 */
static void take_fault(struct netdev *n)
{
	char name[IF_NAMESIZE];

	if (n->ifindex && !if_indextoname(n->ifindex, name))
		take_removal(n);
	else if (n->ifindex && (n->renamed |= strcmp(name, n->name) != 0))
		return;
	else if (!n->fault[0])
		snprintf(n->fault, sizeof(n->fault), "%s", pcap_geterr(n->pcap));
}

/* Fills n->frames; false if there were none. */
static bool dispatch(struct netdev *n, unsigned int max)
{
	int rc;

	n->got = 0;
	n->staged = 0;
	rc = pcap_dispatch(n->pcap, (int)max, take_frame, (u_char *)n);
	if (rc == PCAP_ERROR)
		take_fault(n);
	n->seen += n->got;
	return n->got;
}

/* Waits for the block that the kernel still fills when the capture ends. False: no more frames. */
static bool dispatch_last(struct netdev *n, unsigned int max)
{
	struct pollfd p = {.fd = pcap_fileno(n->pcap), .events = POLLIN};

	if (!n->deadline_ns)
		n->deadline_ns = rd_monotonic_ns() + BLOCK_LATEST_MS * UINT64_C(1000000);
	while (!dispatch(n, max)) {
		if (n->seen >= count(n) || rd_monotonic_ns() >= n->deadline_ns)
			return false;
		poll(&p, 1, 5);
	}
	return true;
}

/* Former addresses stay valid until all frames that were sent from them have been read. */
static void update_addresses(struct netdev *n)
{
	struct rd_local *local = &n->src.local, now = {.link = local->link};
	uint64_t time = rd_monotonic_ns();
	bool changed = netdev_watch_state(n->watch)->addresses_changed;

	if (!changed && (!n->former_until || time < n->former_until))
		return;
	netdev_watch_state(n->watch)->addresses_changed = false;
	if (!n->src.iface.has_mac)
		return;
	netdev_addresses_add(n->ifindex, n->port, &now);
	n->former_until = 0;
	if (!changed) {
		*local = now;
		return;
	}
	netdev_addresses_add(n->ifindex, n->port, local);
	if (local->n_mac != now.n_mac)
		n->former_until = time + FORMER_NS;
}

static void take_link(struct netdev *n)
{
	if (!n->watch)
		return;
	netdev_watch_link(n->watch, &n->src);
	if (netdev_watch_state(n->watch)->removed)
		take_removal(n);
	update_addresses(n);
}

static int netdev_receive(
	struct rd_source *src, struct rd_frame *frames, unsigned int max, struct rd_error *err)
{
	struct netdev *n = (struct netdev *)src;
	bool any;

	src->batch_has_notes = false;
	n->frames = frames;
	/* A new address must be known for the first frame with it, which may be in this batch. */
	take_link(n);
	any = !n->stopped && !n->fault[0] && dispatch(n, max);
	if (!any && (n->stopped || n->fault[0])) {
		any = dispatch_last(n, max);
		if (!any)
			return n->stopped ? RD_SOURCE_END
					  : rd_fail(err, RD_CLASS_PARTIAL, 0,
						    "see 'ip link' and the kernel's log (dmesg)",
						    "no more frames from netdev '%s': %s", n->name,
						    n->fault);
	}
	if (!any || ++n->batches % 64 == 0)
		check_loss(n, !any);
	if (!any)
		return 0;
	convert_times(n);
	if (rd_link_is_cooked(n->src.iface.link))
		rd_direction_cooked(n->src.iface.link, n->frames, n->got);
	report_loss(n);
	return (int)n->got;
}

static int netdev_arm(struct rd_source *src, struct rd_error *err)
{
	(void)err;
	return ((struct netdev *)src)->fault[0] != '\0';
}

/* libpcap continues when the netdev is up again, without reporting that it was down. */
static int netdev_service(struct rd_source *src, struct rd_error *err)
{
	struct netdev *n = (struct netdev *)src;

	(void)err;
	take_link(n);
	if (n->watch)
		netdev_watch_port(n->watch, src);
	return 0;
}

/* --- life ------------------------------------------------------------------------------- */

/*
 * Stops by a filter that accepts nothing. Not through libpcap, which would apply it also to frames
 * that are already in the ring.
 */
static void netdev_stop(struct rd_source *src)
{
	struct netdev *n = (struct netdev *)src;
	struct sock_filter nothing[] = {{.code = BPF_RET | BPF_K, .k = 0}};
	const struct sock_fprog program = {.len = 1, .filter = nothing};

	setsockopt(pcap_fileno(n->pcap), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
	n->stopped = true;
}

static void netdev_close(struct rd_source *src)
{
	struct netdev *n = (struct netdev *)src;

	if (n->pcap)
		pcap_close(n->pcap);
	netdev_watch_close(n->watch);
	free(n->stage);
	free(n->filter);
	free(n);
}

static const struct rd_source_ops netdev_ops = {
	.name = "netdev",
	.start = rd_source_no_work,
	.receive = netdev_receive,
	.release = rd_source_ignore,
	.arm = netdev_arm,
	.service = netdev_service,
	.stop = netdev_stop,
	.stats = netdev_stats,
	.now = netdev_now,
	.close = netdev_close,
	.note = netdev_note,
};

/* --- opening ---------------------------------------------------------------------------- */

static const struct {
	int status;
	const char *todo;
} activate_advice[] = {
	{PCAP_ERROR_PERM_DENIED, RD_NEEDS_RAW},
	{PCAP_ERROR_PROMISC_PERM_DENIED, RD_NEEDS_RAW},
	{PCAP_ERROR_NO_SUCH_DEVICE, "see 'rdmadump list' and 'ip link'"},
};

/* Fails with libpcap's message, or the text of the status if there is none. */
static int fail_pcap(const struct netdev *n, int status, struct rd_error *err)
{
	const char *why = n->pcap ? pcap_geterr(n->pcap) : "", *todo = NULL;
	char set_up[64];

	for (size_t i = 0; i < RD_COUNT(activate_advice); i++)
		if (activate_advice[i].status == status)
			todo = activate_advice[i].todo;
	if (status == PCAP_ERROR_IFACE_NOT_UP) {
		snprintf(set_up, sizeof(set_up), "set it up ('ip link set dev %s up')", n->name);
		todo = set_up;
	}
	if (todo || !*why)
		why = pcap_statustostr(status);
	return rd_fail(
		err, RD_CLASS_DEVICE, 0, todo, "cannot capture on netdev '%s': %s", n->name, why);
}

static int pcap_prepare(
	struct netdev *n, const struct rd_netdev_config *config, struct rd_error *err)
{
	char why[PCAP_ERRBUF_SIZE] = "";

	n->pcap = pcap_create(n->name, why);
	if (!n->pcap)
		return rd_fail(err, RD_CLASS_DEVICE, 0, NULL, "cannot capture on netdev '%s': %s",
			n->name, why);
	pcap_set_snaplen(n->pcap, (int)n->src.iface.max_frame);
	n->loss.has_before = config->promiscuous && n->ifindex;
	pcap_set_promisc(n->pcap, n->loss.has_before);
	pcap_set_timeout(n->pcap, BLOCK_MS);
	pcap_set_buffer_size(n->pcap, (int)n->buffer);
	n->nano = pcap_set_tstamp_precision(n->pcap, PCAP_TSTAMP_PRECISION_NANO) == 0;
	return 0;
}

/* The kernel shortens frames to snaplen bytes only if there is a filter: an empty one is set. */
static int set_filter(struct netdev *n, struct rd_error *err)
{
	const char *text = n->filter ? n->filter : "";
	struct bpf_program program;
	int rc;

	if (!*text && n->src.iface.max_frame == SNAPLEN_MAX)
		return 0;
	if (pcap_compile(n->pcap, &program, text, 1, PCAP_NETMASK_UNKNOWN) < 0)
		return rd_fail(err, RD_CLASS_USAGE, 0, "see pcap-filter(7)", "filter '%s': %s",
			text, pcap_geterr(n->pcap));
	rc = pcap_setfilter(n->pcap, &program);
	pcap_freecode(&program);
	n->filtered = *text;
	return rc < 0 ? fail_pcap(n, rc, err) : 0;
}

static int activate(struct netdev *n, const struct rd_netdev_config *config, struct rd_error *err)
{
	char why[PCAP_ERRBUF_SIZE] = "";
	int status;

	if (pcap_prepare(n, config, err) < 0)
		return -1;
	/* Frames arrive from here on. */
	netdev_clock_start(&n->clock);
	status = pcap_activate(n->pcap);
	if (status < 0)
		return fail_pcap(n, status, err);
	if (status > 0)
		rd_log(RD_LOG_WARNING, "netdev %s: %s", n->name, pcap_statustostr(status));
	n->src.frame_fd = pcap_get_selectable_fd(n->pcap);
	/* libpcap leaves its socket open across exec(2): a child could send frames with it. */
	if (fcntl(n->src.frame_fd, F_SETFD, FD_CLOEXEC) < 0)
		return rd_fail(err, RD_CLASS_DEVICE, errno, NULL, "cannot capture on netdev '%s'",
			n->name);
	if (set_filter(n, err) < 0)
		return -1;
	if (pcap_setnonblock(n->pcap, 1, why) < 0)
		return rd_fail(err, RD_CLASS_DEVICE, 0, NULL, "cannot capture on netdev '%s': %s",
			n->name, why);
	n->checked_ns = rd_monotonic_ns();
	return 0;
}

/* Sets the addresses from which frames are sent. On the loopback all frames have the same one. */
static void set_local(struct netdev *n)
{
	struct rd_iface *iface = &n->src.iface;
	struct rd_local own = {0};

	if (iface->link != RD_LINK_ETHERNET)
		return;
	n->src.local.link = RD_LINK_ETHERNET;
	if (!n->ifindex || netdev_flags(n->name) & IFF_LOOPBACK)
		return;
	netdev_addresses_add(n->ifindex, NULL, &own);
	if (!own.n_mac)
		return;
	memcpy(iface->mac, own.mac[0], 6);
	iface->has_mac = true;
	netdev_addresses_add(n->ifindex, n->port, &n->src.local);
}

static void warn_without_carrier(const struct netdev *n)
{
	unsigned int flags = n->ifindex ? netdev_flags(n->name) : 0;

	if (flags & IFF_UP && !(flags & IFF_RUNNING))
		rd_log(RD_LOG_WARNING,
			"netdev %s has no carrier: no frames arrive until it has; check the cable "
			"and the link partner ('ip link show %s')",
			n->name, n->name);
}

static void set_link(struct netdev *n)
{
	struct rd_iface *iface = &n->src.iface;
	int dlt = pcap_datalink(n->pcap);

	if (dlt == DLT_RAW)
		dlt = LINKTYPE_RAW;
	iface->link = rd_link_of(dlt);
	if (rd_link_keeps_dlt(iface->link))
		iface->dlt = dlt;
}

static const char *kind_text(const struct rd_device *d)
{
	if (strcmp(d->driver, "rdma_rxe") == 0)
		return "soft RoCE";
	return strcmp(d->driver, "siw") == 0 ? "soft iWARP" : "RoCE";
}

static void describe(struct netdev *n, const struct rd_device *d, const struct rd_port *port)
{
	struct rd_iface *iface = &n->src.iface;
	char what[120] = "", size[RD_UNITS_LEN];

	if (d && port) {
		snprintf(what, sizeof(what), "%s port %u (%s, %s, by netdev)", d->name, port->num,
			n->name, kind_text(d));
		snprintf(n->hardware, sizeof(n->hardware), "%s, firmware %s, driver %s%s%s",
			d->name, d->fw[0] ? d->fw : "unknown", d->driver[0] ? d->driver : "unknown",
			d->pci[0] ? ", PCI " : "", d->pci);
		iface->hardware = n->hardware;
		iface->speed = port->speed;
	} else {
		snprintf(what, sizeof(what), "netdev %s", n->name);
	}
	snprintf(n->src.title, sizeof(n->src.title), "%s", what);
	snprintf(n->description, sizeof(n->description),
		"%s; timestamps: system clock when the kernel took the frame, in %s%s", what,
		n->nano ? "nanoseconds" : "microseconds",
		d && port ? "; what the device sends to itself does not pass the netdev" : "");
	snprintf(n->src.details, sizeof(n->src.details), "kernel's clock, ring of %s",
		rd_fmt_kib(size, n->buffer));
	iface->name = n->name;
	iface->description = n->description;
	iface->filter = n->filter;
}

static int prepare(struct netdev *n, const struct rd_netdev_config *config, struct rd_error *err)
{
	struct rd_iface *iface = &n->src.iface;
	size_t buffer = config->buffer ? config->buffer : RD_NETDEV_BUFFER;

	n->src.ops = &netdev_ops;
	n->src.event_fd = -1;
	n->src.idle_polls = 1;
	n->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	n->buffer = buffer < INT32_MAX ? buffer : INT32_MAX;
	n->port = config->port;
	snprintf(n->name, sizeof(n->name), "%s", config->netdev);
	n->ifindex = strcmp(n->name, "any") ? if_nametoindex(n->name) : 0;
	if (!n->ifindex && config->device)
		return rd_fail(err, RD_CLASS_DEVICE, 0, RD_RUN_IN_NETNS,
			"netdev '%s' of %s is in another network namespace", config->netdev,
			config->device->name);
	if (strlen(config->netdev) >= sizeof(n->name) || (!n->ifindex && strcmp(n->name, "any")))
		return rd_fail(err, RD_CLASS_DEVICE, 0, "see 'rdmadump list' and 'ip link'",
			"there is no netdev '%s'", config->netdev);
	iface->snaplen = config->snaplen < SNAPLEN_MAX ? config->snaplen : 0;
	iface->max_frame = iface->snaplen ? iface->snaplen : SNAPLEN_MAX;
	if (config->filter && *config->filter)
		n->filter = strdup(config->filter);
	/* room for the longest frame after STAGE_BYTES */
	n->stage = malloc(STAGE_BYTES + iface->max_frame);
	if (!n->stage || (config->filter && *config->filter && !n->filter))
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the source");
	return 0;
}

int rd_netdev_open(
	struct rd_source **s, const struct rd_netdev_config *config, struct rd_error *err)
{
	struct netdev *n = calloc(1, sizeof(*n));

	if (!n)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the source");
	if (prepare(n, config, err) < 0)
		goto fail;
	if (n->ifindex && netdev_watch_open(&n->watch, n->ifindex, config->device, config->port,
				  &n->src.event_fd, err) < 0)
		goto fail;
	if (activate(n, config, err) < 0)
		goto fail;
	set_link(n);
	set_local(n);
	warn_without_carrier(n);
	describe(n, config->device, config->port);
	*s = &n->src;
	return 0;
fail:
	netdev_close(&n->src);
	return -1;
}
