/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The names of a series of files, the ring of the newest ones, and the command run on each. */
#include "series.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <rdmadump/array.h>
#include <rdmadump/log.h>
#include <rdmadump/memory.h>
#include <rdmadump/spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK_NS	10000000 /* ns between two checks for finished commands */
#define CHECKS_PER_CALL 30

int series_init(struct series *s, const struct rd_sink_config *config, struct rd_error *err)
{
	const struct rd_rotation *rotation = &config->rotation;

	*s = (struct series){.rotation = rotation, .inputs = config->inputs, .base = config->path};
	s->many = rotation->bytes || rotation->frames || rotation->timed || config->retention;
	s->path = malloc(PATH_MAX);
	s->stem = calloc(1, PATH_MAX);
	s->kept = calloc(rotation->ring ? rotation->ring : 1, sizeof(*s->kept));
	if (!s->path || !s->stem || !s->kept)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "memory for file names");
	return 0;
}

void series_fini(struct series *s)
{
	for (unsigned int i = 0; s->kept && i < s->rotation->ring; i++)
		free(s->kept[i]);
	free(s->kept);
	free(s->commands);
	free(s->stem);
	free(s->path);
}

size_t rd_stem_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t end = strlen(path);

	for (int endings = rd_compression_of(path) ? 2 : 1; endings; endings--) {
		const char *dot = memrchr(name, '.', end - (size_t)(name - path));

		if (dot && dot != name)
			end = (size_t)(dot - path);
	}
	return end;
}

unsigned int rd_series_number(const char *name, const char *base, const char *ending)
{
	const size_t digits = strlen("20261121031500"), stem = rd_stem_of(base);
	unsigned long number;
	char *end;

	if (strncmp(name, base, stem) || name[stem] != '_' ||
		strspn(name + stem + 1, "0123456789") < 5)
		return 0;
	number = strtoul(name + stem + 1, &end, 10);
	if (*end++ != '_' || strspn(end, "0123456789") != digits || strcmp(end + digits, ending))
		return 0;
	return number < UINT_MAX ? (unsigned int)number : 0;
}

void series_find(struct series *s, struct series_found *found)
{
	const char *slash = strrchr(s->base, '/'), *base = slash ? slash + 1 : s->base;
	char *dir = slash ? strndup(s->base, (size_t)(slash + 1 - s->base)) : strdup(".");
	DIR *d = dir ? opendir(dir) : NULL;
	const struct dirent *e;
	struct stat st;

	*found = (struct series_found){0};
	while (d && (e = readdir(d))) {
		unsigned int number = rd_series_number(e->d_name, base, base + rd_stem_of(base));

		if (!number || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISREG(st.st_mode))
			continue;
		found->files++;
		found->bytes += (uint64_t)st.st_size;
		s->number = RD_MAX(s->number, number);
	}
	if (d)
		closedir(d);
	free(dir);
}

/* base_00001_20261121031500.pcapng, the naming of dumpcap. */
static void name_dumpcap(struct series *s, const struct tm *tm)
{
	size_t stem = rd_stem_of(s->base);
	char when[32];

	strftime(when, sizeof(when), "%Y%m%d%H%M%S", tm);
	snprintf(s->path, PATH_MAX, "%.*s_%05u_%s%s", (int)stem, s->base, s->number, when,
		s->base + stem);
}

static unsigned int digits_of(unsigned int n)
{
	unsigned int digits = 1;

	while (n /= 10)
		digits++;
	return digits;
}

/*
 * The naming of tcpdump: strftime of the name for each time slice; name, name1, name2 within it;
 * with a ring name0 ... with as many digits as the highest number needs. If tcpdump would overwrite
 * the previous file (-G with a constant name), a number is added.
 */
static void name_tcpdump(struct series *s, const struct tm *tm)
{
	const struct rd_rotation *r = s->rotation;
	size_t used = 0;

	if (r->timed)
		used = strftime(s->path, PATH_MAX, s->base, tm);
	if (!used)
		used = (size_t)snprintf(s->path, PATH_MAX, "%s", s->base);
	if (used >= PATH_MAX)
		return;
	if (r->ring && !r->timed) {
		snprintf(s->path + used, PATH_MAX - used, "%0*u", (int)digits_of(r->ring - 1),
			(s->number - 1) % r->ring);
		return;
	}
	s->within = strcmp(s->path, s->stem) ? 0 : s->within + 1;
	strcpy(s->stem, s->path);
	if (s->within)
		snprintf(s->path + used, PATH_MAX - used, "%u", s->within);
}

static void name_file(struct series *s)
{
	struct tm tm;

	localtime_r(&s->begun, &tm);
	if (strcmp(s->base, "-") == 0)
		snprintf(s->path, PATH_MAX, "%s", s->base);
	else if (s->rotation->naming == RD_NAMES_DUMPCAP && s->many)
		name_dumpcap(s, &tm);
	else
		name_tcpdump(s, &tm);
}

static int keep_newest(struct series *s, struct rd_error *err)
{
	unsigned int ring = s->rotation->ring;
	char **slot;

	if (!ring)
		return 0;
	slot = &s->kept[(s->number - 1) % ring];
	if (*slot && strcmp(*slot, s->path) && unlink(*slot) < 0 && errno != ENOENT)
		rd_log(RD_LOG_WARNING, "cannot remove the oldest file '%s': %s", *slot,
			strerror(errno));
	free(*slot);
	*slot = strdup(s->path);
	return *slot ? 0 : rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "memory for file names");
}

int series_next(struct series *s, uint64_t first_ns, struct rd_error *err)
{
	s->number++;
	s->begun = first_ns ? (time_t)(first_ns / 1000000000U) : time(NULL);
	name_file(s);
	return keep_newest(s, err);
}

int series_first_frame(struct series *s, uint64_t first_ns, struct rd_error *err)
{
	time_t first = (time_t)(first_ns / 1000000000U);
	char *was;

	if (s->number != 1 || first >= s->begun)
		return 0;
	was = strdup(s->path);
	s->begun = first;
	s->stem[0] = '\0';
	name_file(s);
	if (rd_inputs_have(s->inputs, s->path)) {
		free(was);
		return rd_fail(err, RD_CLASS_OUTPUT, 0,
			"it was not touched: give the output another name",
			"the output would overwrite a file that is read: '%s'", s->path);
	}
	if (!was || (strcmp(was, s->path) && rename(was, s->path) < 0)) {
		rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, "cannot rename to '%s'", s->path);
		free(was);
		return -1;
	}
	free(was);
	return keep_newest(s, err);
}

/* Whether it still runs. A command that failed is reported. */
static bool runs(const struct series *s, pid_t pid)
{
	int status = 0;
	pid_t ended = waitpid(pid, &status, WNOHANG);

	if (ended == pid && status)
		rd_log(RD_LOG_WARNING, "command '%s' failed with status %d", s->rotation->command,
			WIFEXITED(status) ? WEXITSTATUS(status) : status);
	/* -1: the parent ignores SIGCHLD, so there is no exit status: the command has ended. */
	return ended == 0;
}

/* Only its own commands: other parts of the program have child processes, too. */
static void reap(struct series *s)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < s->running; i++)
		if (runs(s, s->commands[i]))
			s->commands[left++] = s->commands[i];
	s->running = left;
}

static void run_command(struct series *s)
{
	static const struct rd_spawn inherit;
	char *argv[] = {(char *)(uintptr_t)s->rotation->command, s->path, NULL};
	pid_t *pid = rd_append(&s->commands, s->running, sizeof(*pid));
	int rc = pid ? rd_spawn(pid, argv, &inherit) : ENOMEM;

	if (rc)
		rd_log(RD_LOG_WARNING, "cannot run '%s %s': %s; -z must name a program", argv[0],
			argv[1], strerror(rc));
	else
		s->running++;
}

void series_closed(struct series *s)
{
	if (strcmp(s->base, "-") == 0)
		return;
	if (s->rotation->command)
		run_command(s);
	reap(s);
}

void series_wait(struct series *s, const struct rd_sink_ending *ending)
{
	const struct timespec pause = {.tv_nsec = CHECK_NS};

	for (unsigned int looks = 1; reap(s), s->running; looks++) {
		if (looks % CHECKS_PER_CALL == 0 && !ending->waiting(ending->ctx, true)) {
			rd_log(RD_LOG_WARNING,
				"not waiting for commands that still run: %u of '%s'", s->running,
				s->rotation->command);
			return;
		}
		nanosleep(&pause, NULL);
	}
}
