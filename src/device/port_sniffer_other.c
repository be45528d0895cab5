/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The firmware does not say whether a sniffer is attached. ibdump, which attaches the same one, has
 * configuration space open as long as it runs (mstflint's mtcr library); root can see that.
 */
#include "port_sniffer_mlx5.h"
#include "sysfs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the link of a descriptor names configuration space of the function, or of any function of
 * the device. */
static bool is_config(const char *process, const char *fd, const char *pci, bool any_function)
{
	char path[80], target[512], end[40];
	size_t n = (size_t)snprintf(end, sizeof(end), "/%s/config", pci);
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%.20s/fd/%.20s", process, fd);
	len = readlink(path, target, sizeof(target));
	if (len < (ssize_t)n)
		return false;
	/* The address ends with the function's digit. */
	if (any_function)
		target[(size_t)len - n + strlen(pci)] = end[strlen(pci)];
	return !memcmp(target + (size_t)len - n, end, n);
}

static bool has_config(const char *process, const char *pci, bool any_function)
{
	struct rd_names fds;
	bool has = false;

	if (rd_sysfs_list(&fds, "/proc/%s/fd", process))
		return false;
	for (size_t i = 0; i < fds.n && !has; i++)
		has = is_config(process, fds.name[i], pci, any_function);
	rd_names_free(&fds);
	return has;
}

int sniffer_other_process(const char *pci)
{
	struct rd_names processes;
	char name[32];
	int found = 0;

	if (rd_sysfs_list(&processes, "/proc"))
		return 0;
	for (size_t i = 0; i < processes.n && !found; i++)
		if (!rd_sysfs_text(name, sizeof(name), "/proc/%s/comm", processes.name[i]) &&
			!strcmp(name, "ibdump") && has_config(processes.name[i], pci, false))
			found = atoi(processes.name[i]);
	rd_names_free(&processes);
	return found;
}

void sniffer_forget_living(struct sniffer_record *left, const char *pci)
{
	pid_t killed[1 + SNIFFER_ORPHANS] = {0};
	unsigned int n = 0;
	char process[16];

	for (unsigned int i = 0; i <= SNIFFER_ORPHANS; i++) {
		pid_t pid = i ? left->orphans[i - 1] : left->helper;

		snprintf(process, sizeof(process), "%d", (int)pid);
		if (pid > 0 && !has_config(process, pci, true))
			killed[n++] = pid;
	}
	left->helper = killed[0];
	memcpy(left->orphans, killed + 1, sizeof(left->orphans));
}
