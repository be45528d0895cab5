/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes that are undone in any case. The guard is a process that waits for end of file on a pipe,
 * which occurs when this program ends for any reason.
 */
#include "../device/sysfs.h"
#include "interface.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STATE_TEXT 96

static void state_text(const struct interface *i, char text[STATE_TEXT])
{
	const uint8_t *m = i->mac;

	snprintf(text, STATE_TEXT, "%d %d %02x:%02x:%02x:%02x:%02x:%02x %s", i->up, i->mtu, m[0],
		m[1], m[2], m[3], m[4], m[5], i->name);
}

static bool state_parse(struct interface *i, const char *text)
{
	char mac[18];
	int up;

	*i = (struct interface){0};
	if (sscanf(text, "%d %d %17s %15s", &up, &i->mtu, mac, i->name) != 4)
		return false;
	i->up = up;
	return rd_hex_bytes(mac, 1, i->mac, sizeof(i->mac)) == 0;
}

int rd_selftest_restore(const char *state, int in, int out, struct rd_error *err)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	static const char ready[] = "ready 0\n";
	struct interface before;
	char byte;
	int rc;

	if (!state_parse(&before, state))
		return rd_fail(
			err, RD_CLASS_USAGE, 0, NULL, "'%s' is not a state of a netdev", state);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	if (write(out, ready, sizeof(ready) - 1) < 0)
		return rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, "cannot write to the parent");
	while (read(in, &byte, 1) > 0)
		;
	rc = interface_restore(&before);
	if (rc)
		return rd_fail(err, RD_CLASS_DEVICE, rc, "see 'ip link'", "cannot restore '%s'",
			before.name);
	return 0;
}

/* The port's netdev, if it is an Ethernet netdev in this network namespace and not part of a bridge
 * or bond, which would be affected too. */
static const char *netdev_of(const struct rd_selftest *st, struct rd_probe_result *r)
{
	const struct rd_port *port = st->port;
	const char *name = port->n_netdevs ? port->netdevs[0].name : "";
	const char *on = device_runs_on(st->device);

	/* A model may emulate its netdev, and then emulates changes as well. */
	if (on && strcmp(on, "model") == 0 &&
		(!*name || interface_index(name) != port->netdevs[0].ifindex))
		result_skipped(r, "the device is a model, its netdev may be another one's");
	else if (port->n_netdevs != 1 || !*name)
		result_skipped(r, "the port has %s netdev", *name ? "more than one" : "no");
	else if (interface_index(name) != port->netdevs[0].ifindex)
		result_skipped(r, "%s is in another network namespace", name);
	else if (rd_sysfs_exists("/sys/class/net/%s/master", name))
		result_skipped(r, "%s is part of a bond or bridge", name);
	else
		return name;
	return NULL;
}

int change_begin(struct change *c, const struct rd_selftest *st, struct rd_probe_result *r)
{
	const char *name = netdev_of(st, r);
	char state[STATE_TEXT];
	int rc;

	*c = (struct change){.guard = {.to = -1, .from = -1}};
	if (!name)
		return -1;
	rc = interface_read(&c->before, name);
	if (!rc && memcmp(c->before.mac, st->port->netdevs[0].mac, sizeof(c->before.mac)) != 0)
		rc = ENODEV;
	if (rc || !c->before.up) {
		result_skipped(r, "%s %s%s", name, rc ? "cannot be read: " : "is down",
			rc ? strerror(rc) : "");
		return -1;
	}
	state_text(&c->before, state);
	if (holder_run(&c->guard, st, st->config->guard, state, r) == 0)
		return 0;
	holder_kill(&c->guard);
	return -1;
}

void change_end(struct change *c, struct rd_probe_result *r)
{
	int rc = interface_restore(&c->before);

	/* A regular end: it also restores the state if this process failed to. */
	holder_stop(&c->guard);
	result_bool(r, "restored", rc == 0);
	if (rc)
		result_failed(r, "%s could not be restored: %s; see 'ip link'", c->before.name,
			strerror(rc));
}
