/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counters as the kernel returns them: hw_counters from a cache that a slow command refreshes
 * (drivers/infiniband/core/sysfs.c, update_hw_stats), and a netdev's driver statistics
 * (include/uapi/linux/ethtool.h), which are files named like them in a directory per netdev.
 */
#include <dirent.h>
#include <linux/ethtool.h>
#include <net/if.h>
#include <sys/mman.h>

#include "softhca.h"

#define STATS_MAX 64

/* ---- hw_counters ---- */

/* Of one port: what its out_of_buffer was when the device was asked last. */
struct cache {
	char dir[256];
	uint64_t ns;
	char text[32];
	size_t len;
};

static struct cache caches[MAX_DEVICES * MAX_PORTS];
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

static struct cache *cache_of(const char *path, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(caches); i++) {
		struct cache *c = &caches[i];

		if (!c->dir[0] && n < sizeof(c->dir))
			memcpy(c->dir, path, n);
		if (!strncmp(c->dir, path, n) && !c->dir[n])
			return c;
	}
	return NULL;
}

/* A command that takes as long as a file exists, so that a test needs no time of its own. */
static void wait_while(const char *file)
{
	const struct timespec pause = {0, 2000000};
	char begun[520];
	int fd;

	if (!file[0] || access(file, F_OK))
		return;
	snprintf(begun, sizeof(begun), "%s.begun", file);
	fd = real_open(begun, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		real_close(fd);
	while (!access(file, F_OK))
		nanosleep(&pause, NULL);
}

static void cache_refresh(struct cache *c)
{
	const struct model_conf *conf = conf_get();
	const struct timespec slow = {
		(time_t)(conf->slow_ns / 1000000000u), (long)(conf->slow_ns % 1000000000u)};
	char path[300];
	int fd;

	if (c->ns && now_ns() - c->ns < conf->lifespan_ns)
		return;
	counters_refresh();
	snprintf(path, sizeof(path), "%s/out_of_buffer", c->dir);
	fd = real_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0) {
		ssize_t n = read(fd, c->text, sizeof(c->text));

		c->len = n > 0 ? (size_t)n : 0;
		real_close(fd);
	}
	/* The command takes time after it has read: frames dropped during it are not included. */
	nanosleep(&slow, NULL);
	wait_while(conf->slow_while);
	c->ns = now_ns();
}

int counters_open(const char *path)
{
	const char *name = strrchr(path, '/'), *dir = "/hw_counters";
	size_t n = name ? (size_t)(name - path) : 0;
	struct cache *c;
	int fd = -1;

	if (!conf_get()->lifespan_ns || n < strlen(dir) ||
		strncmp(name - strlen(dir), dir, strlen(dir)) || !strcmp(name, "/lifespan"))
		return -1;
	time_inside(1);
	pthread_mutex_lock(&cache_lock);
	c = cache_of(path, n);
	if (c) {
		cache_refresh(c);
		if (!strcmp(name, "/out_of_buffer")) {
			fd = memfd_create("out_of_buffer", MFD_CLOEXEC);
			if (fd >= 0 && pwrite(fd, c->text, c->len, 0) < 0)
				perror("softhca: counter");
		}
	}
	pthread_mutex_unlock(&cache_lock);
	time_inside(-1);
	return fd;
}

/* ---- the driver's statistics ---- */

struct stat_list {
	char name[STATS_MAX][ETH_GSTRING_LEN];
	uint64_t value[STATS_MAX];
	uint32_t n;
};

static void stats_dir(char *path, size_t capacity, const char *netdev)
{
	snprintf(path, capacity, "%s/../ethtool/%.15s", conf_get()->tree, netdev);
}

static uint64_t stat_read(const char *dir, const char *name)
{
	char path[1024], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = real_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	real_close(fd);
	return strtoull(text, NULL, 10);
}

static void stats_load(struct stat_list *s, const char *netdev)
{
	struct dirent **entry;
	char dir[700];
	int n;

	s->n = 0;
	stats_dir(dir, sizeof(dir), netdev);
	n = scandir(dir, &entry, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (entry[i]->d_name[0] != '.' && s->n < STATS_MAX) {
			snprintf(s->name[s->n], ETH_GSTRING_LEN, "%.31s", entry[i]->d_name);
			s->value[s->n++] = stat_read(dir, entry[i]->d_name);
		}
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
}

int ethtool_ioctl(const char *netdev, void *command)
{
	struct stat_list s;
	uint32_t cmd;

	memcpy(&cmd, command, sizeof(cmd));
	stats_load(&s, netdev);
	if (cmd == ETHTOOL_GSSET_INFO) {
		struct ethtool_sset_info *info = command;

		info->sset_mask &= 1ull << ETH_SS_STATS;
		if (info->sset_mask)
			memcpy(info->data, &s.n, sizeof(s.n));
		return 0;
	}
	if (cmd == ETHTOOL_GSTRINGS) {
		struct ethtool_gstrings *names = command;

		names->len = s.n < names->len ? s.n : names->len;
		memcpy(names->data, s.name, (size_t)names->len * ETH_GSTRING_LEN);
		return 0;
	}
	if (cmd == ETHTOOL_GSTATS) {
		struct ethtool_stats *stats = command;

		stats->n_stats = s.n < stats->n_stats ? s.n : stats->n_stats;
		memcpy(stats->data, s.value, stats->n_stats * sizeof(s.value[0]));
		return 0;
	}
	errno = EOPNOTSUPP;
	return -1;
}

void ethtool_add(const char *netdev, const char *name, uint64_t value)
{
	char dir[700];

	stats_dir(dir, sizeof(dir), netdev);
	ethtool_set(netdev, name, stat_read(dir, name) + value);
}

void ethtool_set(const char *netdev, const char *name, uint64_t value)
{
	char dir[700], path[1024], text[32];
	int fd;

	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);
	stats_dir(dir, sizeof(dir), netdev);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = real_open(path, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		perror("softhca: driver statistics");
	file_set(fd, text);
	if (fd >= 0)
		real_close(fd);
}
