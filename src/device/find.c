/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the device and port for a name that the user gives; errors list what there is. */
#include "discovery.h"
#include "netlink/netlink.h"
#include "sysfs.h"
#include <limits.h>
#include <rdmadump/units.h>
#include <strings.h>

/* A list for a message; if it does not fit, it ends in "...". */
struct words {
	char text[400];
	size_t used;
	unsigned int n;
	bool full;
};

static void words_add(struct words *words, const char *text)
{
	static const char more[] = ", ...";
	const char *separator = words->n++ ? ", " : "";

	if (words->used + strlen(text) + 2 + sizeof(more) > sizeof(words->text))
		words->full = true;
	snprintf(words->text + words->used, sizeof(words->text) - words->used, "%s%s",
		words->full ? "" : separator, words->full ? more : text);
	if (!words->full)
		words->used += strlen(words->text + words->used);
}

/* "mlx5_0 (enp1s0f0np0), mlx5_1" */
static void words_add_devices(struct words *words, const struct rd_devices *devices)
{
	for (size_t i = 0; i < devices->n; i++) {
		const struct rd_device *device = &devices->dev[i];
		const char *netdev = "";
		char item[RD_NAME_MAX + IF_NAMESIZE + 4];

		for (unsigned int p = 0; p < device->n_ports && !*netdev; p++)
			netdev = device->ports[p].netdevs[0].name;
		snprintf(item, sizeof(item), "%s%s%s%s", device->name, *netdev ? " (" : "", netdev,
			*netdev ? ")" : "");
		words_add(words, item);
	}
}

const char *rd_devices_none_todo(const struct rd_devices *devices)
{
	if (devices->sysroot && *devices->sysroot)
		return "copy sys/class/infiniband, sys/class/net and sys/devices of a machine that "
		       "has RDMA devices";
	if (devices->by_netlink && rd_nldev_is_exclusive())
		return "each RDMA device belongs to one network namespace here ('rdma system "
		       "show'): run rdmadump in that one, or move the device to this one ('rdma "
		       "dev set NAME netns PID')";
	return "load the driver (modprobe mlx5_ib for ConnectX-4 and newer), or make a "
	       "software device (rdma link add rxe0 type rxe netdev NETDEV)";
}

static int fail_without_devices(const struct rd_devices *devices, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_DEVICE, 0, rd_devices_none_todo(devices),
		"no RDMA device found in %s/sys/class/infiniband",
		devices->sysroot ? devices->sysroot : "");
}

static bool port_has_netdev(const struct rd_port *port, const char *name)
{
	/* A VLAN of the port is known only by its GIDs. */
	return RD_ANY(n, port->netdevs, port->n_netdevs, !strcmp(n->name, name)) ||
	       RD_ANY(g, port->gids, port->n_gids, !strcmp(g->ndev, name));
}

static bool is_pci(const struct rd_device *device, const char *name)
{
	const char *colon = strchr(device->pci, ':');

	return colon && (!strcasecmp(name, device->pci) || (!strncmp(device->pci, "0000:", 5) &&
								   !strcasecmp(name, colon + 1)));
}

static const struct rd_port *port_by_num(const struct rd_device *device, unsigned int num)
{
	return RD_FIND(p, device->ports, device->n_ports, p->num == num);
}

static bool is_active(const struct rd_port *port)
{
	return !strcmp(port->state, "active");
}

/* The first active port, else the first, NULL without any. */
static const struct rd_port *port_by_state(const struct rd_device *device)
{
	const struct rd_port *active = RD_FIND(p, device->ports, device->n_ports, is_active(p));

	return active || !device->n_ports ? active : device->ports;
}

struct match {
	const struct rd_device *device;
	const struct rd_port *port; /* NULL unless the name implies one */
};

static bool find_by_device(const struct rd_devices *devices, const char *name, struct match *match)
{
	match->device = RD_FIND(d, devices->dev, devices->n, !strcmp(d->name, name));
	match->port = NULL;
	return match->device;
}

/*
 * A netdev may carry several RDMA devices (rxe on top of an HCA's), and so may a PCI function
 * (subfunctions): the one that can be captured best is meant.
 */
static bool find_by_place(const struct rd_devices *devices, const char *name, struct match *match)
{
	enum rd_verdict best = RD_CAPTURE_NO;

	*match = (struct match){0};
	for (size_t i = 0; i < devices->n; i++) {
		const struct rd_device *device = &devices->dev[i];
		bool by_pci = is_pci(device, name);

		for (unsigned int p = 0; p < device->n_ports; p++) {
			const struct rd_port *port = &device->ports[p];
			enum rd_verdict verdict;

			if (!by_pci && !port_has_netdev(port, name))
				continue;
			verdict = rd_port_judge(device, port).verdict;
			if (match->device && verdict >= best)
				continue;
			best = verdict;
			*match = (struct match){device, by_pci ? NULL : port};
		}
		if (by_pci && !match->device)
			match->device = device;
	}
	return match->device;
}

static bool find_name(const struct rd_devices *devices, const char *name, struct match *match)
{
	return find_by_device(devices, name, match) || find_by_place(devices, name, match);
}

/* Cuts ":N" off; 0 if there is none. */
static unsigned int split_port(char *name)
{
	char *colon = strrchr(name, ':');
	uint64_t num;

	if (!colon || rd_parse_u64(colon + 1, 1, UINT_MAX, &num))
		return 0;
	*colon = '\0';
	return (unsigned int)num;
}

static int fail_unknown(const struct rd_devices *devices, const char *name, struct rd_error *err)
{
	struct words there = {0};
	char list[sizeof(there.text) + 16];
	const char *todo = devices->n ? list : rd_devices_none_todo(devices);
	const char *root = devices->sysroot ? devices->sysroot : "";

	words_add_devices(&there, devices);
	snprintf(list, sizeof(list), "there are: %s", there.text);
	if (*name && strlen(name) < IF_NAMESIZE && !strpbrk(name, "/") && name[0] != '.' &&
		rd_sysfs_exists("%s/sys/class/net/%s", root, name))
		return rd_fail(err, RD_CLASS_DEVICE, 0, todo,
			"netdev '%s' exists but has no RDMA device", name);
	if (!devices->n)
		return rd_fail(err, RD_CLASS_DEVICE, 0, todo,
			"no device or netdev '%s', and no RDMA device in %s/sys/class/infiniband",
			name, root);
	return rd_fail(err, RD_CLASS_DEVICE, 0, todo, "no device or netdev '%s'", name);
}

static int fail_port(const struct rd_device *device, unsigned int num, struct rd_error *err)
{
	struct words there = {0};

	for (unsigned int i = 0; i < device->n_ports; i++) {
		char item[16];

		snprintf(item, sizeof(item), "%u", device->ports[i].num);
		words_add(&there, item);
	}
	return rd_fail(err, RD_CLASS_DEVICE, 0, NULL, "%s has no port %u: it has %s%s",
		device->name, num,
		device->n_ports == 1 ? "port "
		: device->n_ports    ? "ports "
				     : "no port at all",
		there.text);
}

/* Also with ":N" behind it: *behind, else 0. `clean` becomes the name without it. */
static int find(const struct rd_devices *devices, const char *name, char clean[RD_NAME_MAX + 8],
	struct match *match, unsigned int *behind, struct rd_error *err)
{
	*behind = 0;
	rd_text_clean(clean, RD_NAME_MAX + 8, name);
	if (find_name(devices, clean, match))
		return 0;
	*behind = split_port(clean);
	return find_name(devices, clean, match) ? 0 : fail_unknown(devices, clean, err);
}

/* `num` 0: the one that the name implies, else by state. */
static int choose_port(const struct match *match, const char *name, unsigned int num,
	const struct rd_port **found, struct rd_error *err)
{
	if (num && match->port && match->port->num != num && port_by_num(match->device, num))
		return rd_fail(err, RD_CLASS_USAGE, 0, "leave the port out",
			"netdev '%s' is on port %u of %s, not on port %u", name, match->port->num,
			match->device->name, num);
	if (num)
		*found = port_by_num(match->device, num);
	else
		*found = match->port ? match->port : port_by_state(match->device);
	if (*found)
		return 0;
	if (num)
		return fail_port(match->device, num, err);
	return rd_fail(err, RD_CLASS_DEVICE, 0, "see the kernel's log (dmesg)", "%s has no port",
		match->device->name);
}

int rd_devices_find(const struct rd_devices *devices, const char *name, unsigned int port,
	const struct rd_device **device, const struct rd_port **found, struct rd_error *err)
{
	char clean[RD_NAME_MAX + 8];
	struct match match;
	unsigned int behind;

	if (find(devices, name, clean, &match, &behind, err))
		return -1;
	if (port && behind && port != behind)
		return rd_fail(err, RD_CLASS_USAGE, 0, "name one port",
			"'%s:%u' and port %u contradict each other", clean, behind, port);
	if (choose_port(&match, clean, port ? port : behind, found, err))
		return -1;
	*device = match.device;
	return 0;
}

int rd_devices_one(const struct rd_devices *devices, const char *name,
	const struct rd_device **device, struct rd_error *err)
{
	char clean[RD_NAME_MAX + 8];
	struct match match = {.device = devices->dev};
	struct words there = {0};
	unsigned int behind;

	if (!devices->n)
		return fail_without_devices(devices, err);
	if (!name && devices->n > 1) {
		words_add_devices(&there, devices);
		return rd_fail(err, RD_CLASS_USAGE, 0, "name one of them",
			"there are %zu RDMA devices: %s", devices->n, there.text);
	}
	if (name) {
		if (find(devices, name, clean, &match, &behind, err))
			return -1;
		if (behind && !port_by_num(match.device, behind))
			return fail_port(match.device, behind, err);
	}
	*device = match.device;
	return 0;
}

/* The rank of a port when none is named; 0: not usable. */
static int merit(const struct rd_device *device, const struct rd_port *port)
{
	struct rd_judgement j = rd_port_judge(device, port);

	if (j.verdict == RD_CAPTURE_NO || !j.whole)
		return 0;
	return (is_active(port) ? 3 : 1) + (j.verdict == RD_CAPTURE_YES);
}

static void words_add_reasons(struct words *words, const struct rd_devices *devices)
{
	for (size_t i = 0; i < devices->n; i++)
		for (unsigned int p = 0; p < devices->dev[i].n_ports; p++) {
			const struct rd_device *device = &devices->dev[i];
			struct rd_judgement j = rd_port_judge(device, &device->ports[p]);
			char item[256];

			snprintf(item, sizeof(item), "%s:%u: %s", device->name,
				device->ports[p].num, j.why);
			words_add(words, item);
		}
}

int rd_devices_default(const struct rd_devices *devices, const struct rd_device **device,
	const struct rd_port **port, struct rd_error *err)
{
	struct words reasons = {0};
	int best = 0;

	if (!devices->n)
		return fail_without_devices(devices, err);
	for (size_t i = 0; i < devices->n; i++)
		for (unsigned int p = 0; p < devices->dev[i].n_ports; p++) {
			int m = merit(&devices->dev[i], &devices->dev[i].ports[p]);

			if (m <= best)
				continue;
			best = m;
			*device = &devices->dev[i];
			*port = &devices->dev[i].ports[p];
		}
	if (best)
		return 0;
	words_add_reasons(&reasons, devices);
	return rd_fail(err, RD_CLASS_DEVICE, 0,
		"'rdmadump list' says what to do; or name a device to capture what passes its "
		"netdev",
		"no RDMA port can be captured (%s)",
		reasons.n ? reasons.text : "no device has a port");
}

static int find_nth(const struct rd_devices *devices, unsigned int nth,
	const struct rd_device **device, const struct rd_port **port, struct rd_error *err)
{
	unsigned int n = nth;

	for (size_t i = 0; i < devices->n; i++) {
		const struct rd_device *d = &devices->dev[i];

		if (n <= d->n_ports) {
			*device = d;
			*port = &d->ports[n - 1];
			return 0;
		}
		n -= d->n_ports;
	}
	return rd_fail(err, RD_CLASS_USAGE, 0, "see 'rdmadump list'",
		"there is no port number %u in the list", nth);
}

int rd_wanted_port_find(const struct rd_devices *devices, const struct rd_wanted_port *w,
	const struct rd_device **device, const struct rd_port **port, struct rd_error *err)
{
	if (w->nth)
		return find_nth(devices, w->nth, device, port, err);
	if (w->name)
		return rd_devices_find(devices, w->name, w->port, device, port, err);
	return rd_devices_default(devices, device, port, err);
}
