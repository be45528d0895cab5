/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work that the scripts in a test machine would need many processes for: waiting for files, text,
 * listeners, constant counters and commands that succeed, copying the counters of all RDMA devices
 * (sysfs, infiniband class) and of UDP (/proc/net/snmp, snmp6), which include all packets passed to
 * rxe, setting the clock, and writing to a disk with a flush after each write.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CLASS	    "/sys/class/infiniband"
#define GONE	    "/share/gone" /* made by the host when a machine has died */
#define TCP_LISTEN  0x0a
#define QUIET_LOOKS 15 /* so many readings without a change, 20 ms apart */

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* Calls `reached` until it is true; 1 after `seconds`, or when another machine has died. */
static int wait_until(const char *seconds, bool (*reached)(char **), char **args)
{
	uint64_t end = now_ms() + strtoull(seconds, NULL, 10) * 1000;

	while (!reached(args)) {
		if (access(GONE, F_OK) == 0) {
			fprintf(stderr,
				"guest: another machine has ended; no use in waiting for %s\n",
				args[0]);
			return 1;
		}
		if (now_ms() >= end) {
			fprintf(stderr, "guest: waited %s s for %s\n", seconds, args[0]);
			return 1;
		}
		pause_ms(5);
	}
	return 0;
}

/* --- conditions -------------------------------------------------------------------------- */

static bool files_exist(char **paths)
{
	while (*paths && access(*paths, F_OK) == 0)
		paths++;
	return !*paths;
}

/* A file that has the text in its first 64 kB. */
static bool has_text(char **args)
{
	static char text[65536];
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return strstr(text, args[1]);
}

static bool succeeds(char **command)
{
	extern char **environ;
	int status;
	pid_t pid;

	return !posix_spawnp(&pid, command[0], NULL, NULL, command, environ) &&
	       waitpid(pid, &status, 0) == pid && status == 0;
}

static bool listens_in(const char *path, unsigned int port)
{
	FILE *f = fopen(path, "re");
	char line[512];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		unsigned int local, state;

		found = sscanf(line, " %*u: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x", &local, &state) ==
				2 &&
			local == port && state == TCP_LISTEN;
	}
	if (f)
		fclose(f);
	return found;
}

static bool listens(char **args)
{
	unsigned int port = (unsigned int)strtoul(args[0], NULL, 10);

	return listens_in("/proc/net/tcp", port) || listens_in("/proc/net/tcp6", port);
}

/* --- counters ---------------------------------------------------------------------------- */

typedef void counter_fn(void *ctx, const char *device, const char *name, const char *value);

static void visit_device(const char *device, counter_fn *fn, void *ctx)
{
	char path[600], value[64];
	struct dirent **names;
	int n;

	snprintf(path, sizeof(path), CLASS "/%s/ports/1/hw_counters", device);
	n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		FILE *f;

		snprintf(path, sizeof(path), CLASS "/%s/ports/1/hw_counters/%s", device,
			names[i]->d_name);
		f = names[i]->d_name[0] == '.' ? NULL : fopen(path, "re");
		if (f && fgets(value, sizeof(value), f)) {
			value[strcspn(value, "\n")] = '\0';
			fn(ctx, device, names[i]->d_name, value);
		}
		if (f)
			fclose(f);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

static void visit_counters(counter_fn *fn, void *ctx)
{
	struct dirent **devices;
	int n = scandir(CLASS, &devices, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		if (devices[i]->d_name[0] != '.')
			visit_device(devices[i]->d_name, fn, ctx);
		free(devices[i]);
	}
	if (n >= 0)
		free(devices);
}

static void print_counter(void *out, const char *device, const char *name, const char *value)
{
	fprintf(out, "hw %s %s %s\n", device, name, value);
}

/* The number in the first line that has one: UDP's numbers follow a line of their names. */
static unsigned long long received(const char *path, const char *format)
{
	FILE *f = fopen(path, "re");
	unsigned long long n = 0;
	char line[512];

	while (f && fgets(line, sizeof(line), f) && sscanf(line, format, &n) != 1)
		;
	if (f)
		fclose(f);
	return n;
}

static int save_counters(const char *path)
{
	FILE *f = fopen(path, "we");
	struct timespec t;

	if (!f) {
		perror(path);
		return 1;
	}
	clock_gettime(CLOCK_REALTIME, &t);
	fprintf(f, "# %lld.%09ld %s\n", (long long)t.tv_sec, t.tv_nsec,
		getenv("SIDE") ? getenv("SIDE") : "");
	visit_counters(print_counter, f);
	fprintf(f, "udp received %llu\n",
		received("/proc/net/snmp", "Udp: %llu") +
			received("/proc/net/snmp6", "Udp6InDatagrams %llu"));
	return fclose(f) ? 1 : 0;
}

static void add_counter(void *sum, const char *device, const char *name, const char *value)
{
	(void)device;
	(void)name;
	*(uint64_t *)sum += strtoull(value, NULL, 10);
}

static bool is_quiet(char **args)
{
	static uint64_t before;
	static unsigned int same;
	uint64_t sum = 0;

	(void)args;
	visit_counters(add_counter, &sum);
	same = sum == before ? same + 1 : 0;
	before = sum;
	if (same < QUIET_LOOKS)
		pause_ms(15);
	return same >= QUIET_LOOKS;
}

/* --- clock ------------------------------------------------------------------------------- */

/* A file on the host's file system has the host's time. */
static int set_clock(const char *path)
{
	struct stat st;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, "\n", 1) != 1 || fstat(fd, &st) ||
		clock_settime(CLOCK_REALTIME, &st.st_mtim)) {
		perror(path);
		return 1;
	}
	return close(fd) ? 1 : 0;
}

/* --- a disk ------------------------------------------------------------------------------ */

#define SECTOR 512

/* Each write reaches the disk, and is flushed there, before the next one. */
static int write_synced(const char *path, unsigned long writes)
{
	static _Alignas(4096) char sector[SECTOR];
	int fd = open(path, O_WRONLY | O_DIRECT | O_DSYNC | O_CLOEXEC);
	bool failed = fd < 0;

	for (unsigned long i = 0; i < writes && !failed; i++)
		failed = pwrite(fd, sector, SECTOR, (off_t)(i * SECTOR)) != SECTOR;
	if (failed)
		perror(path);
	if (fd >= 0)
		close(fd);
	return failed;
}

/* --- the table --------------------------------------------------------------------------- */

/* Events that must not come have no end to wait for. */
static int do_still(char **a)
{
	uint64_t end = 0;
	off_t size = -1;
	struct stat st;

	do {
		if (stat(a[1], &st))
			return 1;
		if (st.st_size != size)
			end = now_ms() + strtoull(a[0], NULL, 10) * 1000;
		size = st.st_size;
		pause_ms(20);
	} while (now_ms() < end);
	return 0;
}

static int do_quiet(char **a)
{
	static char *what[] = {(char *)"the counters to stand still", NULL};

	return wait_until(a[0], is_quiet, what);
}

static int do_counters(char **a)
{
	return save_counters(a[0]);
}

static int do_clock(char **a)
{
	return set_clock(a[0]);
}

static int do_synced(char **a)
{
	return write_synced(a[0], strtoul(a[1], NULL, 10));
}

static const struct {
	const char *name;
	int least; /* arguments */
	int (*run)(char **);
	const char *help;
	bool (*reached)(char **); /* in place of run: is waited for */
} commands[] = {
	{"wait", 2, NULL, "SECONDS FILE...    until the files exist", files_exist},
	{"text", 3, NULL, "SECONDS FILE TEXT  until the file has the text", has_text},
	{"listen", 2, NULL, "SECONDS PORT     until somebody listens on the TCP port", listens},
	{"until", 2, NULL, "SECONDS COMMAND... until it succeeds", succeeds},
	{"still", 2, do_still, "SECONDS FILE     until nothing was appended to it for so long",
		NULL},
	{"quiet", 1, do_quiet, "SECONDS           until no RDMA counter moves", NULL},
	{"counters", 1, do_counters, "FILE           the counters of all RDMA devices", NULL},
	{"clock", 1, do_clock, "FILE              set by the host that stores FILE", NULL},
	{"synced", 2, do_synced, "DISK WRITES      of a sector each, each with a flush", NULL},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i].name) == 0 && argc - 2 >= commands[i].least)
			return commands[i].run ? commands[i].run(argv + 2)
					       : wait_until(argv[2], commands[i].reached, argv + 3);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(stderr, "guest %s %s\n", commands[i].name, commands[i].help);
	return 2;
}
