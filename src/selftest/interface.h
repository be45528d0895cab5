/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The settings of the port's netdev that destructive probes change, and their restoration: by this
 * process, or by a second one if this one ends first, even by SIGKILL.
 */
#ifndef RDMADUMP_SELFTEST_INTERFACE_H
#define RDMADUMP_SELFTEST_INTERFACE_H

#include "holder.h"
#include <net/if.h>

struct interface {
	char name[IFNAMSIZ];
	bool up;
	int mtu;
	uint8_t mac[6];
};

/* The kernel's index of the netdev; 0: there is no such netdev. */
unsigned int interface_index(const char *name);
/* Reads the settings. 0 or an errno, like the other functions. */
int interface_read(struct interface *i, const char *name);
int interface_set_up(const char *name, bool up);
int interface_set_mtu(const char *name, int mtu);
int interface_set_mac(const char *name, const uint8_t mac[6]);
/* Restores every setting that differs from `before`; 0 if all are restored. */
int interface_restore(const struct interface *before);

/*
 * Why the link of the port's netdev must not go down: routes and addresses that the kernel would
 * remove and nothing would restore. False: it may go down.
 */
bool interface_would_lose(const char *name, char *why, size_t size);

/* A change of the port's netdev: from change_begin() until change_end(). */
struct change {
	struct interface before;
	struct holder guard; /* restores if this process ends */
};

/* Returns 0, or -1 with the result set to skipped or failed; change nothing then. */
int change_begin(struct change *c, const struct rd_selftest *st, struct rd_probe_result *r);
/* Restores the settings; if this fails, the result is set to failed. */
void change_end(struct change *c, struct rd_probe_result *r);

#endif
