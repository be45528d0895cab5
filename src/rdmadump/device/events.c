/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `rdmadump events`: events of devices, one line each, until a signal or a limit ends it. */
#include "../commands.h"
#include "cli/command.h"
#include "info.h"
#include <errno.h>
#include <poll.h>
#include <rdmadump/clock.h>
#include <rdmadump/document.h>
#include <rdmadump/event.h>
#include <rdmadump/notation.h>
#include <rdmadump/units.h>
#include <string.h>

struct settings {
	const char *device;
	bool json, no_async;
	uint64_t count, seconds; /* 0: without end */
};

#define OPTIONS_OF struct settings

static const struct cli_option options[] = {
	{"json", 0, NULL, "Print one JSON object per line", FLAG(json)},
	{"count", 'c', "N", "Stop after N events", NUMBER(count, 1, UINT64_MAX)},
	{"autostop", 'a', "duration:SECONDS", "Stop after SECONDS", .set = set_stop_after,
		FIELD(seconds)},
	{"no-async", 0, NULL,
		"Do not open the devices, so that their drivers can be unloaded: no fatal errors, "
		"P_Key changes or requests from the subnet manager. InfiniBand ports are then read "
		"only after a kernel message: changes of state and LID may be missed",
		FLAG(no_async)},
	ONE_WORD(device, "events takes one device")};

static json_t *json_gid(const struct rd_event *e)
{
	char text[RD_ADDRESS_LEN];

	if (!e->has_gid)
		return json_null();
	return json_pack("{s:i, s:s, s:s}", "index", (int)e->gid.index, "gid",
		rd_gid_text(text, e->gid.raw), "type", rd_gid_type_name(e->gid.type));
}

static void print_json(const struct rd_event *e, uint64_t start_ns)
{
	json_t *line = rd_document(1, start_ns,
		json_pack("{s:I, s:o, s:o, s:o, s:s, s:s, s:s, s:o, s:o}", "time_ns",
			(json_int_t)e->ts_ns, "device", rd_json_text(e->device), "port",
			rd_json_u64_or_null(e->port), "netdev", rd_json_text(e->netdev), "event",
			e->kind, "text", e->text, "origin", e->origin, "previous",
			rd_json_text(e->previous), "gid", json_gid(e)));

	if (line)
		json_dumpf(line, stdout, JSON_COMPACT);
	json_decref(line);
	putchar('\n');
}

static void print_text(const struct rd_event *e)
{
	time_t seconds = (time_t)(e->ts_ns / 1000000000);
	char when[32], where[RD_NAME_MAX + 16];
	struct tm tm;

	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", localtime_r(&seconds, &tm));
	snprintf(where, sizeof(where), e->port ? "%s:%u" : "%s", *e->device ? e->device : "-",
		e->port);
	printf("%s.%03u  %-14s  %s%s%s%s\n", when, (unsigned int)(e->ts_ns % 1000000000 / 1000000),
		where, e->text, *e->netdev ? " (" : "", e->netdev, *e->netdev ? ")" : "");
}

static int follow(const struct settings *settings, struct rd_monitor *m, const sigset_t *let_in,
	struct rd_error *err)
{
	const uint64_t start_ns = rd_wall_ns();
	uint64_t end = rd_monotonic_ns() + settings->seconds * 1000000000, shown = 0;
	struct pollfd fd = {.fd = rd_monitor_fd(m), .events = POLLIN};
	struct rd_event event;

	for (;;) {
		while ((!settings->count || shown < settings->count) &&
			rd_monitor_next(m, &event)) {
			if (settings->json)
				print_json(&event, start_ns);
			else
				print_text(&event);
			shown++;
		}
		errno = 0;
		if (fflush(stdout) || ferror(stdout))
			return rd_stdout_check(errno ? errno : EIO, err);
		if (rd_cli_ended || (settings->count && shown >= settings->count))
			return 0;
		if (settings->seconds && rd_monotonic_ns() >= end)
			return 0;
		rd_cli_wait(&fd, settings->seconds ? end : UINT64_MAX, let_in);
	}
}

/* On standard error, even if it is not a terminal: hours without an event are not an error. */
static void print_watched(const struct settings *settings, const struct rd_monitor *m)
{
	char names[400];

	rd_monitor_names(m, names, sizeof(names));
	if (settings->device)
		rd_log(RD_LOG_INFO, "watching %s", names);
	else
		rd_log(RD_LOG_INFO, "watching for RDMA devices; %s%s; Ctrl-C stops",
			*names ? "now: " : "none now", names);
}

static int watch(const struct settings *settings, const char *device, struct rd_error *err)
{
	const struct rd_monitor_config config = {.device = device, .async = !settings->no_async};
	struct rd_monitor *m;
	sigset_t let_in;
	int ret;

	if (rd_monitor_open(&m, &config, err))
		return -1;
	rd_cli_hold_ending(&let_in);
	print_watched(settings, m);
	ret = follow(settings, m, &let_in, err);
	rd_monitor_close(m);
	return ret;
}

/* The device's name for the one that was given, a netdev's or a PCI address for example. */
static int find_device(
	const struct settings *settings, char name[RD_NAME_MAX], struct rd_error *err)
{
	const struct rd_device *device;
	struct rd_devices devices;
	int ret;

	if (rd_devices_glance(&devices, "", err))
		return -1;
	ret = rd_devices_one(&devices, settings->device, &device, err);
	if (!ret)
		memcpy(name, device->name, sizeof(device->name));
	rd_devices_free(&devices);
	return ret;
}

int rd_cmd_events(int argc, char **argv)
{
	static const struct argp argp = {.args_doc = "[DEVICE]",
		.doc = "Prints events of RDMA devices as they occur: devices added, removed and "
		       "renamed, ports up and down, changes of GIDs, LIDs, P_Keys, subnet manager "
		       "and netdevs, fatal errors. Default: all devices."};
	char name[RD_NAME_MAX];
	struct settings settings = {0};
	struct rd_error err;

	if (rd_cli_read(options, &argp, argc, argv, &settings))
		return RD_CLASS_USAGE;
	rd_cli_log(RD_LOG_INFO);
	if (settings.device && find_device(&settings, name, &err))
		return rd_cli_fail(&err);
	if (watch(&settings, settings.device ? name : NULL, &err))
		return rd_cli_fail(&err);
	return RD_CLASS_NONE;
}
