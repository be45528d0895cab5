/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process as /proc describes it (Documentation/filesystems/proc.rst of Linux). A pid may be used
 * again at any time: the start time is read before and after everything else. The environment is
 * searched for a few variables; nothing else is kept, and command line arguments are not read.
 */
#include "netlink/netlink.h"
#include "sysfs.h"
#include <rdmadump/owner.h>
#include <rdmadump/units.h>
#include <stdlib.h>
#include <unistd.h>

#define FILE_ROOM    8192
#define ENVIRON_ROOM (256U << 10) /* longest part of the environment that is searched */
#define HEX	     "0123456789abcdef"
#define DIGITS	     "0123456789"
#define START_FIELD  20 /* field of stat, counted after the command */

static uint64_t ticks_of_second(void)
{
	long n = sysconf(_SC_CLK_TCK);

	return n > 0 ? (uint64_t)n : 100;
}

uint64_t rd_boot_ticks(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return rd_timespec_ns(&now) / (1000000000U / ticks_of_second());
}

static uint64_t start_ns(const struct rd_clock *clock, uint64_t ticks)
{
	uint64_t tick = 1000000000U / ticks_of_second(), now = rd_clock_now(clock);
	uint64_t age = rd_boot_ticks() - ticks;

	return ticks <= rd_boot_ticks() && age <= now / tick ? now - age * tick : 0;
}

int rd_process_start(const char *root, uint32_t pid, uint64_t *ticks)
{
	char text[RD_SYSFS_MAX], *field, *save = NULL;

	if (rd_sysfs_text(text, sizeof(text), "%s/proc/%u/stat", root, pid))
		return -1;
	/* The command may contain spaces and parentheses; only numbers and one letter follow it. */
	field = strrchr(text, ')');
	if (!field)
		return -1;
	field = strtok_r(field + 1, " ", &save);
	for (unsigned int i = 1; field && i < START_FIELD; i++)
		field = strtok_r(NULL, " ", &save);
	return field ? rd_parse_u64(field, 0, UINT64_MAX, ticks) : -1;
}

/* The process of a thread, or itself; -1: there is none, *process is then unchanged. */
static int process_of(const char *root, uint32_t pid, uint32_t *process)
{
	char text[FILE_ROOM];
	const char *line;
	unsigned int n;

	if (rd_sysfs_file(text, sizeof(text) - 1, "%s/proc/%u/status", root, pid) <= 0)
		return -1;
	/* A line feed in the command is escaped. */
	line = strstr(text, "\nTgid:");
	if (!line || sscanf(line, " Tgid: %u", &n) != 1 || !n)
		return -1;
	*process = n;
	return 0;
}

/* --- cgroup, container, pod ------------------------------------------------------------- */

/* conmon watches a container and is not within it. */
static bool is_monitor(const char *path, const char *id)
{
	static const char name[] = "conmon-";
	const size_t n = sizeof(name) - 1;

	return (size_t)(id - path) >= n && !strncmp(id - n, name, n);
}

/* The innermost id of 64 digits, as docker, containerd, CRI-O and podman use it. */
static void find_container(struct rd_process *p, const char *path)
{
	const char *s = path;

	while (*s) {
		size_t n = strspn(s, HEX);

		if (n == RD_CONTAINER_MAX - 1 && !is_monitor(path, s)) {
			memcpy(p->container, s, n);
			p->container[n] = '\0';
		}
		s += n ? n : 1;
	}
}

/* A UUID, whose dashes systemd writes as "_"; static pods have 32 digits without dashes. */
static bool take_uid(char uid[RD_POD_MAX], const char *s)
{
	size_t n = strspn(s, HEX "-_");

	if (n != RD_POD_MAX - 1 && n != 32)
		return false;
	for (size_t i = 0; i < n; i++) {
		bool dash = n != 32 && (i == 8 || i == 13 || i == 18 || i == 23);

		if (dash != (s[i] == '-' || s[i] == '_'))
			return false;
		uid[i] = dash ? '-' : s[i];
	}
	uid[n] = '\0';
	return true;
}

static void find_pod(struct rd_process *p, const char *path)
{
	const char *s = strstr(path, "kubepods");
	char uid[RD_POD_MAX];

	for (s = s ? strstr(s, "pod") : NULL; s; s = strstr(s + 3, "pod"))
		if (take_uid(uid, s + 3))
			memcpy(p->pod, uid, sizeof(uid));
}

/*
 * Lines are "NUMBER:CONTROLLERS:PATH". The unified hierarchy has number 0; where it is not used,
 * the first path that is not the root (cgroups(7)).
 */
static void read_cgroup(const char *root, struct rd_process *p)
{
	char text[FILE_ROOM], *save = NULL;
	const char *best = "";

	if (rd_sysfs_file(text, sizeof(text) - 1, "%s/proc/%u/cgroup", root, p->pid) <= 0)
		return;
	for (const char *line = strtok_r(text, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		const char *path = strchr(line, ':');

		path = path ? strchr(path + 1, ':') : NULL;
		if (!path || path[1] != '/')
			continue;
		path++;
		if (!*best || !strcmp(best, "/") || (!strncmp(line, "0::", 3) && path[1]))
			best = path;
	}
	find_container(p, best);
	find_pod(p, best);
	rd_text_clean(p->cgroup, sizeof(p->cgroup), best);
}

/* --- job -------------------------------------------------------------------------------------- */

/* "NAME=VALUE". As getenv(), the first one counts. */
static void take_variable(struct rd_process *p, const char *text)
{
	for (size_t i = 0; i < RD_JOB_KEYS; i++) {
		size_t n = strlen(rd_job_names[i]), digits;

		if (strncmp(text, rd_job_names[i], n) != 0 || text[n] != '=' || *p->job[i])
			continue;
		digits = strspn(text + n + 1, DIGITS);
		if (digits && digits < RD_JOB_VALUE_MAX && !text[n + 1 + digits])
			memcpy(p->job[i], text + n + 1, digits + 1);
	}
}

static void read_environ(const char *root, struct rd_process *p)
{
	char *text = malloc(ENVIRON_ROOM);
	ssize_t len =
		text ? rd_sysfs_file(text, ENVIRON_ROOM - 1, "%s/proc/%u/environ", root, p->pid)
		     : -1;

	p->has_environ = len >= 0;
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(text + at) + 1) {
		/* A value without its NUL may be truncated. */
		if (at + (ssize_t)strlen(text + at) == len)
			break;
		take_variable(p, text + at);
	}
	free(text);
}

int rd_process_read(
	const char *root, uint32_t pid, const struct rd_clock *clock, struct rd_process *p)
{
	uint64_t again;

	*p = (struct rd_process){0};
	if (process_of(root, pid, &p->pid) || rd_process_start(root, p->pid, &p->start_ticks))
		return -1;
	p->start_ns = start_ns(clock, p->start_ticks);
	rd_sysfs_text(p->comm, sizeof(p->comm), "%s/proc/%u/comm", root, p->pid);
	read_cgroup(root, p);
	read_environ(root, p);
	return rd_process_start(root, p->pid, &again) || again != p->start_ticks ? -1 : 0;
}

void rd_process_of_event(const char *root, const struct rd_qp_event *event,
	const struct rd_clock *clock, struct rd_process *p)
{
	uint64_t ticks = event->start_ns / (1000000000U / ticks_of_second());

	if (rd_process_read(root, event->pid, clock, p) == 0 && p->start_ticks == ticks)
		return;
	*p = (struct rd_process){
		.pid = event->pid, .start_ticks = ticks, .start_ns = start_ns(clock, ticks)};
	memcpy(p->comm, event->comm, sizeof(p->comm));
}

void rd_resources_name(const char *root, struct rd_resources *r)
{
	uint32_t listed = 0;

	for (size_t i = 0; i < r->n_qps; i++) {
		struct rd_qp_res *q = &r->qps[i];
		uint32_t pid = q->pid;

		/* A process may have many QPs, which are listed consecutively. */
		if (pid && pid == listed) {
			q->pid = q[-1].pid;
			memcpy(q->comm, q[-1].comm, sizeof(q->comm));
		} else if (pid) {
			process_of(root, pid, &q->pid);
			rd_sysfs_text(q->comm, sizeof(q->comm), "%s/proc/%u/comm", root, q->pid);
		}
		listed = pid;
	}
}

int rd_resources_load(struct rd_resources *r, const char *device, struct rd_error *err)
{
	if (rd_nldev_resources(r, device, true, err))
		return -1;
	rd_resources_name("", r);
	return 0;
}

int rd_resources_qps(struct rd_resources *r, const char *device)
{
	return rd_nldev_resources(r, device, false, NULL);
}
