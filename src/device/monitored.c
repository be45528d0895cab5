/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of watched devices; each difference from it becomes an event. */
#include "monitored.h"
#include "discovery.h"
#include <errno.h>
#include <rdmadump/log.h>
#include <rdmadump/memory.h>
#include <stdlib.h>

/* --- devices ----------------------------------------------------------------------------- */

/* Where events of a device go. */
static struct event_to to(struct monitored *all, const struct monitored_device *w,
	const char *origin, unsigned int port)
{
	struct event_to its = {&all->events, {.origin = origin, .port = port}};

	memcpy(its.as.device, w->device.name, sizeof(its.as.device));
	return its;
}

static struct monitored_device *find(const struct monitored *all, const char *name)
{
	return RD_FIND(d, all->device, all->n, !strcmp(d->device.name, name));
}

/* Moves the device out of its list, which is freed without it. */
static struct monitored_device *add(struct monitored *all, struct rd_device *device)
{
	struct monitored_device *w = rd_append(&all->device, all->n, sizeof(*w));

	if (!w)
		return NULL;
	all->n++;
	w->device = *device;
	/* Without a PCI function it is software, whose driver an open device would keep in use. */
	w->to_open = all->async && *device->pci;
	device->ports = NULL;
	device->n_ports = 0;
	device->representors = NULL;
	device->n_representors = 0;
	return w;
}

static void stop_async(struct monitored_device *w)
{
	if (w->context)
		ibv_close_device(w->context);
	w->context = NULL;
	w->to_open = false;
}

/* `complain`: log the reason if it cannot be opened, and do not try again. */
static void start_async(struct monitored_device *w, bool complain)
{
	struct rd_error why;

	if (!w->to_open)
		return;
	w->to_open = rd_verbs_device_open(&w->context, w->device.name, NULL, NULL, &why) < 0 &&
		     !complain;
	if (w->context)
		rd_fd_nonblocking(w->context->async_fd);
	else if (complain)
		rd_log(RD_LOG_WARNING, "no asynchronous events of %s: %s", w->device.name,
			why.text);
}

static void clear(struct monitored_device *w)
{
	stop_async(w);
	device_free(&w->device);
}

static void drop(struct monitored *all, struct monitored_device *w)
{
	size_t at = (size_t)(w - all->device);

	clear(w);
	memmove(w, w + 1, (all->n - at - 1) * sizeof(*w));
	all->n--;
}

static void learn_indexes(struct monitored *all, const struct rd_nldev_devices *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct monitored_device *w = find(all, list->dev[i].name);

		if (w && !w->has_index) {
			w->index = list->dev[i].index;
			w->has_index = true;
		}
	}
}

int monitored_load(
	struct monitored *all, const struct rd_monitor_config *config, struct rd_error *err)
{
	struct rd_nldev_devices list;
	struct rd_devices devices;

	all->async = config->async;
	all->one = config->device != NULL;
	snprintf(all->only, sizeof(all->only), "%s", config->device ? config->device : "");
	if (rd_devices_load(&devices, "", err))
		return -1;
	for (size_t i = 0; i < devices.n; i++) {
		struct monitored_device *w;

		if (all->one && strcmp(devices.dev[i].name, all->only))
			continue;
		w = add(all, &devices.dev[i]);
		if (!w) {
			rd_devices_free(&devices);
			return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot watch devices");
		}
		start_async(w, true);
	}
	rd_devices_free(&devices);
	if (!rd_nldev_load(&list)) {
		learn_indexes(all, &list);
		rd_nldev_free(&list);
	}
	return 0;
}

void monitored_free(struct monitored *all)
{
	for (size_t i = 0; i < all->n; i++)
		clear(&all->device[i]);
	free(all->device);
	free(all->events.event);
}

/* --- devices added, removed, renamed ------------------------------------------------------ */

/*
 * True for the uevent of a change that the list showed before: both report each change once, in
 * order. Old ones that never came, as in a container, are forgotten.
 */
static bool was_expected(struct monitored *all, const struct device_change *change)
{
	const size_t room = RD_COUNT(all->expected);
	struct device_change *e = all->expected, *end = e + all->n_expected;

	if (change->from_list) {
		all->n_expected %= room;
		all->expected[all->n_expected++] = *change;
		return false;
	}
	while (e != end && (e->kind != change->kind || strcmp(e->name, change->name) != 0))
		e++;
	if (e == end)
		return false;
	memmove(e, e + 1, (size_t)(end - e - 1) * sizeof(*e));
	all->n_expected--;
	return true;
}

static void report_device(struct monitored *all, const struct device_change *change)
{
	static const struct {
		const char *kind, *text;
	} rows[] = {[DEVICE_ADDED] = {"device_added", "device added"},
		[DEVICE_REMOVED] = {"device_removed", "device removed"},
		[DEVICE_RENAMED] = {"device_renamed", "device renamed"}};
	const struct monitored_device *w = find(all, change->name);
	struct event_to its = {
		&all->events, {.origin = change->from_list ? "rdma netlink" : "uevent"}};

	memcpy(its.as.device, change->name, sizeof(its.as.device));
	events_put(&its, rows[change->kind].kind,
		w && w->device.n_ports ? w->device.ports[0].netdevs[0].name : "", change->previous,
		"%s%s%s", rows[change->kind].text, *change->previous ? " from " : "",
		change->previous);
}

/*
 * If a new device has already been removed, only its name is known. GIDs and port state count as
 * unknown, so that the readings that follow report all of them, whenever the kernel sets them.
 */
static void add_by_name(struct monitored *all, const char *name)
{
	struct rd_devices devices = {0};
	struct rd_device stub = {0}, *from = &stub;
	struct monitored_device *w;

	memcpy(stub.name, name, sizeof(stub.name));
	if (!rd_devices_glance(&devices, "", NULL))
		for (size_t i = 0; i < devices.n; i++)
			if (!strcmp(devices.dev[i].name, name))
				from = &devices.dev[i];
	w = add(all, from);
	for (unsigned int p = 0; w && p < w->device.n_ports; p++) {
		w->device.ports[p].n_gids = 0;
		free(w->device.ports[p].gids);
		w->device.ports[p].gids = NULL;
		w->device.ports[p].state[0] = '\0';
	}
	if (w)
		w->to_read = true;
	rd_devices_free(&devices);
}

static bool is_wanted(const struct monitored *all, const struct device_change *change)
{
	return !all->one || !strcmp(change->name, all->only) ||
	       (*change->previous && !strcmp(change->previous, all->only));
}

static void rename_device(struct monitored *all, const struct device_change *change)
{
	struct monitored_device *w = find(all, change->previous);

	if (w)
		memcpy(w->device.name, change->name, sizeof(w->device.name));
	if (all->one)
		memcpy(all->only, change->name, sizeof(all->only));
}

/* Its netdev may be the cause of a removal; then rtnetlink's message comes before or after it. */
static void report_gone_netdevs(struct monitored *all, struct monitored_device *w)
{
	char name[IF_NAMESIZE];

	for (unsigned int p = 0; p < w->device.n_ports; p++) {
		struct rd_port *port = &w->device.ports[p];
		const struct event_to its = to(all, w, "rtnetlink", port->num);

		for (unsigned int i = port->n_netdevs; i-- > 0;) {
			const struct rd_link_change gone = {
				.kind = RD_LINK_REMOVED, .ifindex = port->netdevs[i].ifindex};

			if (gone.ifindex && !if_indextoname(gone.ifindex, name))
				netdev_changes(port, &gone, &its);
		}
	}
}

/* The state is also compared: a change from before the devices were read is not an event. */
bool monitored_change(struct monitored *all, const struct device_change *change)
{
	struct monitored_device *w = find(all, change->name);

	if (!is_wanted(all, change) || was_expected(all, change))
		return false;
	switch (change->kind) {
	case DEVICE_ADDED:
		if (w)
			return false;
		add_by_name(all, change->name);
		report_device(all, change);
		return true;
	case DEVICE_REMOVED:
		if (!w)
			return false;
		report_gone_netdevs(all, w);
		report_device(all, change);
		drop(all, w);
		return false;
	case DEVICE_RENAMED:
		if (w)
			return false;
		rename_device(all, change);
		report_device(all, change);
		return true;
	}
	return false;
}

static bool compare_one(struct monitored *all, const struct monitored_device *w,
	const struct rd_nldev_devices *list)
{
	const struct rd_nldev_device *now = RD_FIND(d, list->dev, list->n, d->index == w->index);
	struct device_change change = {.from_list = true, .kind = DEVICE_REMOVED};

	memcpy(change.name, w->device.name, sizeof(change.name));
	if (!w->has_index || (now && !strcmp(now->name, w->device.name)))
		return false;
	if (now) {
		change.kind = DEVICE_RENAMED;
		memcpy(change.previous, w->device.name, sizeof(change.previous));
		memcpy(change.name, now->name, sizeof(change.name));
	}
	monitored_change(all, &change);
	return true;
}

bool monitored_compare(struct monitored *all, const struct rd_nldev_devices *list)
{
	bool changed = false;

	learn_indexes(all, list);
	for (size_t i = all->n; i-- > 0;)
		changed |= compare_one(all, &all->device[i], list);
	for (size_t i = 0; i < list->n; i++) {
		struct device_change change = {.from_list = true, .kind = DEVICE_ADDED};

		memcpy(change.name, list->dev[i].name, sizeof(change.name));
		if (!find(all, change.name))
			changed |= monitored_change(all, &change);
	}
	learn_indexes(all, list);
	return changed;
}

/* --- netdevs ------------------------------------------------------------------------------ */

bool monitored_link(struct monitored *all, const struct rd_link_change *change)
{
	bool any = false;

	for (size_t d = 0; d < all->n; d++) {
		struct monitored_device *w = &all->device[d];

		for (unsigned int p = 0; p < w->device.n_ports; p++) {
			struct rd_port *port = &w->device.ports[p];
			const struct event_to its = to(all, w, "rtnetlink", port->num);

			w->to_read |= netdev_changes(port, change, &its);
		}
		any |= w->to_read;
	}
	return any;
}

/* --- verbs -------------------------------------------------------------------------------- */

/* Verbs does not report which GIDs have changed; the next reading shows it. */
static bool take_event(
	struct monitored *all, struct monitored_device *w, const struct ibv_async_event *event)
{
	const struct rd_async_event *row = rd_async_event(event->event_type);
	struct event_to its = to(all, w, "verbs", 0);

	if (!row)
		return false;
	if (row->of_port)
		its.as.port = (unsigned int)event->element.port_num;
	if (event->event_type == IBV_EVENT_GID_CHANGE) {
		w->gid_event = w->to_read = true;
		w->gid_port = its.as.port;
		return true;
	}
	events_put(&its, row->kind, "", "", "%s", row->text);
	return false;
}

static bool take_events(struct monitored *all, struct monitored_device *w)
{
	struct ibv_async_event event;
	bool to_read = false, fatal = false;

	errno = EAGAIN;
	while (!ibv_get_async_event(w->context, &event)) {
		to_read |= take_event(all, w, &event);
		fatal |= event.event_type == IBV_EVENT_DEVICE_FATAL;
		ibv_ack_async_event(&event);
		errno = EAGAIN;
	}
	/* No event follows, and the kernel may wait for the device to be closed. */
	if (fatal || errno == EIO || errno == ENODEV)
		stop_async(w);
	return to_read;
}

bool monitored_take_async(struct monitored *all)
{
	const struct monitored_device *end = all->device + all->n;
	bool to_read = false;

	for (struct monitored_device *w = all->device; w != end; w++)
		if (w->context)
			to_read |= take_events(all, w);
	return to_read;
}

/* --- reading ports ------------------------------------------------------------------------ */

/* Keeps the old netdevs: rtnetlink reports each of their changes, and sysfs may be ahead of it. */
static void keep_netdevs(struct rd_port *now, const struct rd_port *before)
{
	for (unsigned int i = 0; i < now->n_netdevs; i++)
		for (unsigned int k = 0; k < before->n_netdevs; k++)
			if (now->netdevs[i].ifindex == before->netdevs[k].ifindex)
				now->netdevs[i] = before->netdevs[k];
}

static void read_port(struct monitored *all, struct monitored_device *w, struct rd_port *port)
{
	struct rd_port now = {.num = port->num};
	const struct event_to its = to(all, w, "sysfs", port->num);
	char base[128];

	snprintf(base, sizeof(base), "/sys/class/infiniband/%s", w->device.name);
	/* A device that is being removed has files that cannot be read. */
	if (rd_port_load(&now, &w->device, "", base, false) || !*now.state ||
		(now.n_netdevs && !now.netdevs[0].ifindex && port->n_netdevs &&
			port->netdevs[0].ifindex)) {
		free(now.gids);
		return;
	}
	/* An open device reports its state itself. */
	if (!w->context)
		port_state_changes(port, &now, &its);
	port_netdev_changes(port, &now, &its);
	if (port_gid_changes(port, &now, !strcmp(w->device.node_type, "RNIC"), &its))
		w->gid_reported = true;
	keep_netdevs(&now, port);
	free(port->gids);
	*port = now;
}

static void finish_reading(struct monitored *all, struct monitored_device *w)
{
	const struct event_to its = to(all, w, "verbs", w->gid_port);

	if (w->gid_event && !w->gid_reported)
		events_put(
			&its, "gid_change", "", "", "GID table changed, and is as it was before");
	w->gid_event = w->gid_reported = w->to_read = false;
}

void monitored_read_ports(struct monitored *all, bool is_last)
{
	for (size_t i = 0; i < all->n; i++) {
		struct monitored_device *w = &all->device[i];

		if (!w->to_read)
			continue;
		for (unsigned int p = 0; p < w->device.n_ports; p++)
			read_port(all, w, &w->device.ports[p]);
		start_async(w, is_last);
		if (is_last)
			finish_reading(all, w);
	}
}

void monitored_mark_all(struct monitored *all)
{
	for (size_t i = 0; i < all->n; i++)
		all->device[i].to_read = true;
}
