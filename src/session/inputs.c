/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inputs: finds what the configuration names, opens the device's sniffer, a netdev or a file, and
 * compiles the filters. */
#include "session.h"
#include <dirent.h>
#include <inttypes.h>
#include <rdmadump/port_sniffer.h>
#include <sys/resource.h>

#define QUEUE_BITRATE 50000000000U /* bit/s of large frames that one receiving thread handles */

/* Descriptors */
#define ALWAYS	  24 /* device, outputs, signals, timers, netlink, files read meanwhile */
#define PER_PORT  8
#define PER_QUEUE 7 /* completion channel, events, its thread, full and empty chunks */

/* follows: a further queue of the last port; its frames belong to the same interface. */
static int add_source(struct rd_session *s, struct rd_source *source,
	const struct rd_device *device, const struct rd_port *port, bool follows)
{
	unsigned int n;
	const struct rd_iface *ifaces = rd_source_ifaces(source, &n);

	if (s->in.n == RD_IFACES_MAX)
		return rd_fail(&s->error, RD_CLASS_USAGE, 0, "give fewer --queues",
			"more than %d queues in one capture", RD_IFACES_MAX);
	s->in.sources[s->in.n] = source;
	s->in.bases[s->in.n] = follows ? s->in.bases[s->in.n - 1] : s->in.n_ifaces;
	s->in.follows[s->in.n] = follows;
	s->in.device[s->in.n] = device;
	s->in.port[s->in.n++] = port;
	if (follows)
		return 0;
	if (n > RD_IFACES_MAX - s->in.n_ifaces)
		return rd_fail(&s->error, RD_CLASS_USAGE, 0,
			"name fewer devices, or split the file (editcap)",
			"more than %d interfaces in one capture", RD_IFACES_MAX);
	memcpy(&s->in.ifaces[s->in.n_ifaces], ifaces, n * sizeof(*ifaces));
	s->in.n_ifaces += n;
	return 0;
}

static int open_netdev(struct rd_session *s, const char *netdev, const struct rd_device *device,
	const struct rd_port *port)
{
	const struct rd_netdev_config config = {.netdev = netdev,
		.snaplen = s->config->cut.snaplen,
		.buffer = s->config->kernel_buffer,
		.promiscuous = !s->config->promiscuous_off,
		.device = device,
		.port = port};
	struct rd_source *source;

	if (s->config->device.stamps == RD_STAMPS_ADAPTER)
		return rd_fail(&s->error, RD_CLASS_DEVICE, 0, "omit -j, or give -j host",
			"%s has no timestamps of type 'adapter': the kernel timestamps the frames "
			"of a netdev",
			netdev);
	if (rd_netdev_open(&source, &config, &s->error) < 0)
		return -1;
	return add_source(s, source, device, port, false);
}

/*
 * Receive queues for this port; auto: by its speed, a power of two, and at most the number of CPUs
 * near it less one for the writer.
 */
static unsigned int queues_of(
	const struct rd_session *s, const struct rd_device *device, const struct rd_port *port)
{
	int cpus[RD_CPUS_MAX];
	unsigned int near, n = 1;
	uint64_t most;

	if (!s->config->queues_auto)
		return s->config->queues ? s->config->queues : 1;
	near = rd_device_cpus("", device, cpus, RD_CPUS_MAX);
	most = (port->speed + QUEUE_BITRATE - 1) / QUEUE_BITRATE;
	if (near && most > near - 1)
		most = near - 1;
	while (n * 2 <= most && n * 2 <= RD_QUEUES_MAX)
		n *= 2;
	return n;
}

int inputs_numa_node(const struct rd_session *s)
{
	int node = -1;

	for (unsigned int i = 0; i < s->in.n; i++) {
		int other = s->in.device[i] ? rd_device_numa_node("", s->in.device[i]) : -1;

		if (other < 0 || (i && other != node))
			return -1;
		node = other;
	}
	return node;
}

static unsigned int open_now(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	/* Counts three too many: ".", ".." and the directory's own descriptor. */
	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* Number of descriptors if `queues` more queues are opened. */
static rlim_t descriptors_needed(const struct rd_session *s, unsigned int queues)
{
	const struct rd_session_config *o = s->config;
	unsigned int all = s->in.n + queues;

	return open_now() + ALWAYS + PER_PORT * (o->n_wanted > 1 ? o->n_wanted - 1 : 0) +
	       PER_QUEUE * all;
}

/*
 * Whether `queues` more queues, with their feeds and threads, can be opened; raises the soft limit
 * on open files if needed. *most: how many files may be open.
 */
static bool descriptors_fit(const struct rd_session *s, unsigned int queues, uint64_t *most)
{
	rlim_t needed = descriptors_needed(s, queues);
	struct rlimit limit;

	*most = UINT64_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return true;
	/* No higher than needed: commands inherit it, and some close every descriptor below. */
	if (limit.rlim_cur < needed && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	*most = limit.rlim_cur;
	return needed <= limit.rlim_cur;
}

/* At most as many as the limit of open files allows: a power of two, at least one. */
static unsigned int queues_that_fit(const struct rd_session *s, const struct rd_device *device,
	const struct rd_port *port, unsigned int wanted)
{
	unsigned int n = 1;
	uint64_t most, ignored;

	if (descriptors_fit(s, wanted, &most) || wanted == 1)
		return wanted;
	while (n * 2 < wanted && descriptors_fit(s, n * 2, &ignored))
		n *= 2;
	rd_log(RD_LOG_WARNING,
		"%s port %u: %u queue%s instead of %u: only %" PRIu64 " files may be open; raise "
		"the hard limit (ulimit -Hn, LimitNOFILE= of a systemd unit)",
		device->name, port->num, n, n > 1 ? "s" : "", wanted, most);
	return n;
}

static int open_verbs(
	struct rd_session *s, const struct rd_device *device, const struct rd_port *port)
{
	struct rd_verbs_config config = s->config->device;
	struct rd_source *queues[RD_QUEUES_MAX];
	unsigned int n;

	config.device = device;
	config.port = port;
	config.sniffer = s->config->port_sniffer ? RD_SNIFFER_ICMD : RD_SNIFFER_FLOW;
	config.waiting = s->config->calls.waiting_for_gateway;
	config.ctx = s->config->calls.waiting_ctx;
	config.sysroot = "";
	n = queues_that_fit(s, device, port, queues_of(s, device, port));
	if (rd_verbs_open_queues(queues, &n, &config, &s->error) < 0)
		return -1;
	for (unsigned int i = 0; i < n; i++)
		if (add_source(s, queues[i], device, port, i > 0) < 0)
			return -1;
	return 0;
}

/* Without it, an empty capture looks like a network without traffic. */
static void warn_if_down(const struct rd_device *device, const struct rd_port *port)
{
	char todo[64 + IF_NAMESIZE] = "";

	if (!*port->state || !strcmp(port->state, "active"))
		return;
	if (port->link == RD_LINK_INFINIBAND)
		snprintf(todo, sizeof(todo), "check the cable and the subnet manager (sminfo)");
	else if (port->n_netdevs)
		snprintf(todo, sizeof(todo), "check the cable; ip link set dev %s up",
			port->netdevs[0].name);
	rd_log(RD_LOG_WARNING, "%s port %u is not active (%s): no frames arrive until it is; %s",
		device->name, port->num, port->state, *todo ? todo : "check the cable");
}

/* Opens the device's sniffer if it has one, else its netdev, and warns about what is missing. */
static int open_port(
	struct rd_session *s, const struct rd_device *device, const struct rd_port *port)
{
	const char *why, *todo;
	enum rd_verdict verdict = rd_port_verdict(device, port, &why, &todo);

	if ((verdict == RD_CAPTURE_NETDEV || s->config->netdev_only) && port->n_netdevs &&
		!s->config->sniffer_only) {
		if (*todo)
			rd_log(RD_LOG_WARNING, "%s port %u is captured on its netdev %s: %s; %s",
				device->name, port->num, port->netdevs[0].name, why, todo);
		facts_before_open(s, device, port);
		return open_netdev(s, port->netdevs[0].name, device, port);
	}
	if (s->config->port_sniffer && !s->config->force &&
		rd_port_sniffer_check_link(device, port, &s->error) < 0)
		return -1;
	if (s->config->port_sniffer)
		return open_verbs(s, device, port);
	if (device->old_switchdev && !s->config->force)
		return rd_fail(&s->error, RD_CLASS_DEVICE, 0, RD_OLD_SWITCHDEV_TODO,
			"%s port %u is not captured: " RD_OLD_SWITCHDEV, device->name, port->num);
	if (device->unsure_switchdev && !s->config->force)
		rd_log(RD_LOG_WARNING, "%s port %u: " RD_UNSURE_SWITCHDEV, device->name, port->num);
	if (!strcmp(todo, RD_RUN_IN_NETNS) && !s->config->sniffer_only)
		return rd_fail(&s->error, RD_CLASS_DEVICE, 0, todo,
			"cannot capture %s port %u (netdev %s): %s", device->name, port->num,
			port->netdevs[0].name, why);
	/* The table may be wrong about a device, so try to open it. */
	if (*todo)
		rd_log(RD_LOG_DEBUG, "%s port %u: %s; %s", device->name, port->num, why, todo);
	return open_verbs(s, device, port);
}

static int open_wanted(struct rd_session *s, const struct rd_wanted_port *w)
{
	const struct rd_device *device;
	const struct rd_port *port;
	struct rd_error netdev_error;

	if (rd_wanted_port_find(&s->in.devices, w, &device, &port, &s->error) < 0) {
		/* A netdev without an RDMA device is captured as by tcpdump. */
		if (!w->name || w->port || !if_nametoindex(w->name))
			return -1;
		netdev_error = s->error;
		s->error = (struct rd_error){0};
		rd_log(RD_LOG_WARNING, "%s", netdev_error.text);
		return open_netdev(s, w->name, NULL, NULL);
	}
	warn_if_down(device, port);
	return open_port(s, device, port);
}

static int open_file(struct rd_session *s)
{
	const struct rd_file_config config = {.path = s->config->read,
		.facts = s->config->no_facts || !s->config->out.path ? NULL : facts_from_file,
		.facts_ctx = s};
	struct rd_source *source;

	if (rd_file_open(&source, &config, &s->error) < 0)
		return -1;
	return add_source(s, source, NULL, NULL, false);
}

static int open_all(struct rd_session *s)
{
	const struct rd_wanted_port any = {0};
	uint64_t ignored;

	/* Raises the limit. If that is not enough, the call that fails reports it. */
	descriptors_fit(s, 1, &ignored);
	if (s->config->read)
		return open_file(s);
	if (rd_devices_load(&s->in.devices, "", &s->error) < 0)
		return -1;
	if (!s->config->n_wanted)
		return open_wanted(s, &any);
	for (unsigned int i = 0; i < s->config->n_wanted; i++)
		if (open_wanted(s, &s->config->wanted[i]) < 0)
			return -1;
	return 0;
}

int inputs_open(struct rd_session *s)
{
	if (s->config->read)
		rd_inputs_add(&s->in.files, s->config->read);
	if (open_all(s) < 0)
		return -1;
	for (unsigned int i = 0; i < s->in.n; i++)
		if (!s->in.follows[i])
			s->listed[s->n_listed++] =
				(struct rd_session_source){.source = s->in.sources[i],
					.device = s->in.device[i],
					.port = s->in.port[i]};
	return 0;
}

void inputs_stats(struct rd_session *s)
{
	for (unsigned int i = 0, listed = 0; i < s->in.n; i++) {
		s->in.sources[i]->ops->stats(s->in.sources[i], &s->in.stats[i]);
		if (!s->in.follows[i])
			s->listed[listed++].stats = s->in.stats[i];
	}
}

void inputs_close(struct rd_session *s)
{
	for (unsigned int i = 0; i < s->in.n; i++) {
		rd_filter_free(s->in.filters[i]);
		if (!s->in.follows[i])
			s->in.sources[i]->ops->close(s->in.sources[i]);
	}
	rd_devices_free(&s->in.devices);
}

/* --- filters ---------------------------------------------------------------------------- */

int inputs_compile_filters(struct rd_session *s)
{
	rd_filter_spec_text(&s->config->filter, s->in.filter_text, sizeof(s->in.filter_text));
	for (unsigned int i = 0; i < s->in.n; i++)
		if (rd_filter_compile(&s->in.filters[i], &s->config->filter,
			    s->in.sources[i]->iface.link, &s->error) < 0)
			return -1;
	for (unsigned int i = 0; i < s->in.n_ifaces; i++) {
		if (s->in.filter_text[0])
			s->in.ifaces[i].filter = s->in.filter_text;
		if (s->config->cut.snaplen)
			s->in.ifaces[i].snaplen = s->config->cut.snaplen;
	}
	return 0;
}
