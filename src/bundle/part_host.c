/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The machine: kernel, distribution, CPUs, memory, and the privileges of this process. */
#include "../device/sysfs.h"
#include "parts.h"
#include <errno.h>
#include <rdmadump/json.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

/* JSON null if it cannot be read. */
static json_t *json_file(const char *path)
{
	char text[4096];

	return read_value(text, sizeof(text), path) < 0 ? json_null() : rd_json_text(text);
}

/* KEY=value and KEY="value" (os-release(5)); "key : value" (/proc). JSON null if it is absent. */
static json_t *json_line(const char *text, const char *key, char between)
{
	size_t n = strlen(key);
	char value[256];

	for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL) {
		const char *at = line + n, *end;

		if (strncmp(line, key, n) != 0)
			continue;
		at += strspn(at, " \t");
		if (*at++ != between)
			continue;
		at += strspn(at, " \t\"");
		end = at + strcspn(at, "\"\n");
		snprintf(value, sizeof(value), "%.*s", (int)(end - at), at);
		return rd_json_text(value);
	}
	return json_null();
}

static json_t *json_limits(void)
{
	static const struct {
		const char *name;
		int resource;
	} rows[] = {{"memlock", RLIMIT_MEMLOCK}, {"nofile", RLIMIT_NOFILE}};
	json_t *o = json_object();

	for (size_t i = 0; i < RD_COUNT(rows); i++) {
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)rows[i].resource, &limit) == 0)
			json_object_set_new(o, rows[i].name,
				limit.rlim_cur == RLIM_INFINITY ? json_string("unlimited")
								: rd_json_u64(limit.rlim_cur));
	}
	return o;
}

/* Names of namespaces differ between a container and its host. */
static json_t *json_namespaces(void)
{
	static const char *const names[] = {"net", "pid", "mnt", "user"};
	json_t *o = json_object();
	char path[64], target[64];

	for (size_t i = 0; i < RD_COUNT(names); i++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		json_object_set_new(o, names[i], rd_json_text(target));
	}
	return o;
}

json_t *part_host(const struct rd_devices *devices, struct rd_error *err)
{
	char release[4096], cpu[4096], memory[4096], status[4096];
	struct utsname u;
	struct sysinfo s = {.uptime = 0};
	json_t *o;

	(void)devices;
	uname(&u);
	sysinfo(&s);
	rd_sysfs_file(release, sizeof(release) - 1, "/etc/os-release");
	rd_sysfs_file(cpu, sizeof(cpu) - 1, "/proc/cpuinfo");
	rd_sysfs_file(memory, sizeof(memory) - 1, "/proc/meminfo");
	rd_sysfs_file(status, sizeof(status) - 1, "/proc/self/status");
	o = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "host", rd_json_string(u.nodename),
		"kernel", rd_json_string(u.release), "build", rd_json_string(u.version), "machine",
		rd_json_string(u.machine), "distribution", json_line(release, "PRETTY_NAME", '='),
		"command_line", json_file("/proc/cmdline"), "uptime_s", (json_int_t)s.uptime);
	if (!o) {
		rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot describe this machine");
		return NULL;
	}
	json_object_set_new(o, "cpu", json_line(cpu, "model name", ':'));
	json_object_set_new(o, "cpus", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
	json_object_set_new(o, "memory", json_line(memory, "MemTotal", ':'));
	json_object_set_new(o, "huge_pages", json_line(memory, "HugePages_Total", ':'));
	json_object_set_new(o, "tainted", json_file("/proc/sys/kernel/tainted"));
	json_object_set_new(o, "lockdown", json_file("/sys/kernel/security/lockdown"));
	json_object_set_new(o, "product", json_file("/sys/class/dmi/id/product_name"));
	json_object_set_new(o, "bios", json_file("/sys/class/dmi/id/bios_version"));
	json_object_set_new(o, "user", json_integer((json_int_t)geteuid()));
	json_object_set_new(o, "capabilities", json_line(status, "CapEff", ':'));
	json_object_set_new(o, "limits", json_limits());
	json_object_set_new(o, "namespaces", json_namespaces());
	return o;
}
