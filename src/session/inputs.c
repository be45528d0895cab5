/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds what the user names and opens it: the device's sniffer, a netdev, a file. */
#include "capture.h"
#include "cli.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define QUEUE_BITRATE 50000000000U /* what a thread surely takes of large frames */

bool session_is_offline(const struct session *s)
{
	return s->opt->read != NULL;
}

static int find_nth(struct session *s, unsigned int nth, const struct rd_device **device,
	const struct rd_port **port)
{
	unsigned int n = nth;

	for (size_t i = 0; i < s->devices.n; i++) {
		const struct rd_device *d = &s->devices.dev[i];

		if (n <= d->n_ports) {
			*device = d;
			*port = &d->ports[n - 1];
			return 0;
		}
		n -= d->n_ports;
	}
	return rd_fail(&s->error, RD_CLASS_USAGE, 0, "see 'rdmadump list'",
		"there is no port number %u in the list", nth);
}

static int add_source(struct session *s, struct rd_source *source, const struct rd_device *device,
	const struct rd_port *port)
{
	unsigned int n;
	const struct rd_iface *ifaces = rd_source_ifaces(source, &n);

	s->sources[s->n_sources] = source;
	s->bases[s->n_sources] = s->n_ifaces;
	s->device[s->n_sources] = device;
	s->port[s->n_sources++] = port;
	if (n > RD_IFACES_MAX - s->n_ifaces)
		return rd_fail(&s->error, RD_CLASS_USAGE, 0,
			"name fewer devices, or split the file (editcap)",
			"more than %d interfaces in one capture", RD_IFACES_MAX);
	memcpy(&s->ifaces[s->n_ifaces], ifaces, n * sizeof(*ifaces));
	s->n_ifaces += n;
	return 0;
}

/* A further queue of the port that was added last: its frames are of the same interface. */
static int add_follower(struct session *s, struct rd_source *source, const struct rd_device *device,
	const struct rd_port *port)
{
	if (s->n_sources == RD_IFACES_MAX)
		return rd_fail(&s->error, RD_CLASS_USAGE, 0, "give fewer --queues",
			"more than %d queues in one capture", RD_IFACES_MAX);
	s->sources[s->n_sources] = source;
	s->bases[s->n_sources] = s->bases[s->n_sources - 1];
	s->follows[s->n_sources] = true;
	s->device[s->n_sources] = device;
	s->port[s->n_sources++] = port;
	return 0;
}

static int open_netdev(struct session *s, const char *netdev, const struct rd_device *device,
	const struct rd_port *port)
{
	const struct rd_netdev_config config = {.netdev = netdev,
		.snaplen = s->opt->cut.snaplen,
		.buffer = s->opt->kernel_buffer,
		.promiscuous = !s->opt->promiscuous_off,
		.device = device,
		.port = port};
	struct rd_source *source;

	if (s->opt->stamps != RD_STAMPS_AUTO && s->opt->stamps != RD_STAMPS_HOST)
		return rd_fail(&s->error, RD_CLASS_DEVICE, 0, "leave -j out, or give -j host",
			"%s has no time stamps of type '%s': the kernel stamps what passes a "
			"netdev",
			netdev, rd_stamp_types[s->opt->stamps].name);
	if (rd_netdev_open(&source, &config, &s->error) < 0)
		return -1;
	return add_source(s, source, device, port);
}

/*
 * What is wanted of this port; auto: by its speed, but not more threads than there are CPUs near it
 * beside the writer's, and a power of two.
 */
static unsigned int queues_of(
	const struct session *s, const struct rd_device *device, const struct rd_port *port)
{
	int cpus[RD_CPUS_MAX];
	unsigned int near, n = 1;
	uint64_t most;

	if (!s->opt->queues_auto)
		return s->opt->queues ? s->opt->queues : 1;
	near = rd_device_cpus("", device, cpus, RD_CPUS_MAX);
	most = (port->speed + QUEUE_BITRATE - 1) / QUEUE_BITRATE;
	if (near && most > near - 1)
		most = near - 1;
	while (n * 2 <= most && n * 2 <= RD_QUEUES_MAX)
		n *= 2;
	return n;
}

/* Fewer where the limit of open files does not allow more: a power of two, one at least. */
static unsigned int queues_that_fit(const struct session *s, const struct rd_device *device,
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

static int open_verbs(struct session *s, const struct rd_device *device, const struct rd_port *port)
{
	const struct rd_verbs_config config = {.device = device,
		.port = port,
		.log2_buffers = s->opt->log2_buffers,
		.max_frame = (uint32_t)s->opt->max_frame,
		.rx_mode = s->opt->rx_mode,
		.stamps = s->opt->stamps,
		.sysroot = ""};
	struct rd_source *queues[RD_QUEUES_MAX];
	unsigned int n = queues_that_fit(s, device, port, queues_of(s, device, port));

	if (rd_verbs_open_queues(queues, &n, &config, &s->error) < 0)
		return -1;
	if (add_source(s, queues[0], device, port) < 0)
		return -1;
	for (unsigned int i = 1; i < n; i++)
		if (add_follower(s, queues[i], device, port) < 0)
			return -1;
	return 0;
}

/* The device's sniffer where it has one; else its netdev, with a word on what will be missing. */
static int open_port(struct session *s, const struct rd_device *device, const struct rd_port *port)
{
	const char *why, *todo;
	enum rd_verdict verdict = rd_port_verdict(device, port, &why, &todo);

	if ((verdict == RD_CAPTURE_NETDEV || s->opt->netdev_only) && port->n_netdevs &&
		!s->opt->sniffer_only) {
		if (*todo)
			rd_log(RD_LOG_WARNING, "%s port %u is captured on its netdev %s: %s; %s",
				device->name, port->num, port->netdevs[0].name, why, todo);
		return open_netdev(s, port->netdevs[0].name, device, port);
	}
	/* The table's word is not the last one: the device may refuse, or take, what it says. */
	if (*todo)
		rd_log(RD_LOG_DEBUG, "%s port %u: %s; %s", device->name, port->num, why, todo);
	return open_verbs(s, device, port);
}

static int find_wanted(struct session *s, const struct wanted_port *w,
	const struct rd_device **device, const struct rd_port **port)
{
	if (w->nth)
		return find_nth(s, w->nth, device, port);
	if (w->name)
		return rd_devices_find(&s->devices, w->name, w->port, device, port, &s->error);
	return rd_devices_default(&s->devices, device, port, &s->error);
}

static int open_wanted(struct session *s, const struct wanted_port *w)
{
	const struct rd_device *device;
	const struct rd_port *port;
	struct rd_error netdev_error;

	if (find_wanted(s, w, &device, &port) < 0) {
		/* A netdev without RDMA device is captured as tcpdump does. */
		if (!w->name || w->port || !if_nametoindex(w->name))
			return -1;
		netdev_error = s->error;
		s->error = (struct rd_error){0};
		rd_log(RD_LOG_WARNING, "%s", netdev_error.text);
		return open_netdev(s, w->name, NULL, NULL);
	}
	return open_port(s, device, port);
}

static int open_file(struct session *s)
{
	const struct rd_file_config config = {.path = s->opt->read,
		.facts = s->opt->no_facts || !s->opt->path ? NULL : facts_from_file,
		.facts_ctx = s};
	struct rd_source *source;

	if (rd_file_open(&source, &config, &s->error) < 0)
		return -1;
	return add_source(s, source, NULL, NULL);
}

int session_open_sources(struct session *s)
{
	const struct wanted_port any = {0};
	uint64_t ignored;

	/* For what needs no queue: if it does not fit, whatever fails says so. */
	descriptors_fit(s, 1, &ignored);
	if (s->opt->read)
		return open_file(s);
	if (rd_devices_load(&s->devices, "", &s->error) < 0)
		return -1;
	if (!s->opt->n_wanted)
		return open_wanted(s, &any);
	for (unsigned int i = 0; i < s->opt->n_wanted; i++)
		if (open_wanted(s, &s->opt->wanted[i]) < 0)
			return -1;
	return 0;
}

/* --- time stamps ------------------------------------------------------------------------ */

static int list_stamps(struct session *s, const struct rd_device *device)
{
	struct rd_stamp_choice choices[RD_STAMP_TYPES];

	if (rd_verbs_clocks(device, choices, &s->error) < 0)
		return -1;
	printf("Time stamp types of %s (-j TYPE):\n", device->name);
	for (unsigned int i = 0; i < RD_STAMP_TYPES; i++)
		printf("  %-18s%s%s%s\n", rd_stamp_types[i].name, choices[i].clock ? "" : "no: ",
			choices[i].clock ? rd_stamp_types[i].help : choices[i].why,
			choices[i].clock && i == RD_STAMPS_AUTO
				? choices[RD_STAMPS_ADAPTER].clock ? " (default; here: adapter)"
								   : " (default; here: host)"
				: "");
	return 0;
}

int session_list_stamps(struct session *s)
{
	const struct wanted_port any = {0};
	const struct rd_device *device;
	const struct rd_port *port;

	if (rd_devices_load(&s->devices, "", &s->error) < 0)
		return -1;
	for (unsigned int i = 0; i == 0 || i < s->opt->n_wanted; i++)
		if (find_wanted(s, s->opt->n_wanted ? &s->opt->wanted[i] : &any, &device, &port) <
				0 ||
			list_stamps(s, device) < 0)
			return -1;
	return 0;
}
