/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The firmware does not say whether a sniffer is attached. ibdump, which attaches the same one, has
 * configuration space open as long as it runs (mstflint's mtcr library); root can see that.
 */
#include "port_sniffer_mlx5.h"
#include "sysfs.h"
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define FUNCTIONS 8

/* The files of configuration space that are meant. */
struct configs {
	const char *pci;
	struct stat file[FUNCTIONS];
	unsigned int n;
};

/* That of the function, or of all functions of its device: the address ends with their digit. */
static struct configs configs_of(const char *pci, bool any_function)
{
	const int rest = (int)strlen(pci) - 1;
	struct configs c = {.pci = pci};

	for (unsigned int i = 0; i < FUNCTIONS && rest >= 0; i++)
		if ((any_function || pci[rest] == (char)('0' + i)) &&
			!rd_sysfs_stat(
				&c.file[c.n], "/sys/bus/pci/devices/%.*s%u/config", rest, pci, i))
			c.n++;
	return c;
}

/* "0000:3b:00.0/config", wherever sysfs is mounted: of any function of the device. */
static bool is_named_so(const char *path, const char *pci)
{
	char target[PATH_MAX];
	const ssize_t n = readlink(path, target, sizeof(target) - 1);
	const size_t len = strlen(pci);
	const char *name;

	target[n > 0 ? n : 0] = '\0';
	name = strrchr(target, '/');
	return name && !strcmp(name, "/config") && (size_t)(name - target) > len &&
	       !strncmp(name - len, pci, len - 1);
}

/*
 * The file itself is asked only if its name fits: one on a server that is gone would block for
 * ever. Names say nothing more: other machines' and containers' files have the same. In another
 * network namespace sysfs is mounted again, with the same inodes.
 */
static bool is_config(const char *process, const char *fd, const struct configs *c)
{
	struct statfs fs;
	struct stat st;
	char path[80];

	snprintf(path, sizeof(path), "/proc/%.20s/fd/%.20s", process, fd);
	if (!is_named_so(path, c->pci) || stat(path, &st) < 0 || statfs(path, &fs) < 0)
		return false;
	return RD_ANY(f, c->file, c->n,
		st.st_ino == f->st_ino && (st.st_dev == f->st_dev || fs.f_type == SYSFS_MAGIC));
}

static bool has_config(const char *process, const struct configs *c)
{
	struct rd_names fds;
	bool has;

	if (rd_sysfs_list(&fds, "/proc/%s/fd", process))
		return false;
	has = RD_ANY(fd, fds.name, fds.n, is_config(process, *fd, c));
	rd_names_free(&fds);
	return has;
}

int sniffer_other_process(const char *pci)
{
	const struct configs own = configs_of(pci, false);
	struct rd_names processes;
	char name[32], **at;
	int found;

	if (rd_sysfs_list(&processes, "/proc"))
		return 0;
	at = RD_FIND(p, processes.name, processes.n,
		!rd_sysfs_text(name, sizeof(name), "/proc/%s/comm", *p) &&
			!strcmp(name, "ibdump") && has_config(*p, &own));
	found = at ? atoi(*at) : 0;
	rd_names_free(&processes);
	return found;
}

void sniffer_forget_living(struct sniffer_record *left, const char *pci)
{
	const struct configs all = configs_of(pci, true);
	pid_t killed[1 + SNIFFER_ORPHANS] = {0};
	unsigned int n = 0;
	char process[16];

	for (unsigned int i = 0; i <= SNIFFER_ORPHANS; i++) {
		pid_t pid = i ? left->orphans[i - 1] : left->helper;

		snprintf(process, sizeof(process), "%d", (int)pid);
		if (pid > 0 && !has_config(process, &all))
			killed[n++] = pid;
	}
	left->helper = killed[0];
	memcpy(left->orphans, killed + 1, sizeof(left->orphans));
}
