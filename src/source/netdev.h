/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What captures on a netdev need beside libpcap: its clock, its losses, its state. */
#pragma once

#include <pcap/pcap.h>
#include <rdmadump/clock.h>
#include <rdmadump/source.h>

/*
 * The kernel's timestamps of frames are times of the system clock, which may be set. Here they
 * become times of the host's clock (struct rd_clock), as all others are.
 */

/* Differences: wall clock minus monotonic clock, in ns. Used by one thread; `host` by any. */
struct netdev_clock {
	struct rd_clock host; /* when the capture began; not changed after that */
	uint64_t epoch_ns;    /* the difference now */
	uint64_t former_ns;   /* before the last step */
	uint64_t step_ns;     /* CLOCK_MONOTONIC time at which that was seen; 0: there was none */
};

void netdev_clock_start(struct netdev_clock *c);
/* Reads both clocks: after frames were read, and before their timestamps are converted. */
void netdev_clock_look(struct netdev_clock *c);
/* The same with what was read. */
void netdev_clock_epoch(struct netdev_clock *c, uint64_t epoch_ns, uint64_t monotonic_ns);
/*
 * The time of the host's clock that is meant by the timestamp of a frame that was read at this
 * CLOCK_MONOTONIC time.
 */
uint64_t netdev_clock_ns(const struct netdev_clock *c, uint64_t stamp_ns, uint64_t monotonic_ns);

/* How many frames of a netdev were dropped before they were read, by libpcap's counters. */

struct netdev_loss {
	struct pcap_stat last;
	uint64_t passed, dropped; /* ps_recv, ps_drop; 64 bits wide */
	bool has_before;	  /* libpcap reads ps_ifdrop in promiscuous mode only */
	struct rd_growth before;  /* of ps_ifdrop */
	uint64_t before_least;	  /* the same, at least */
};

/*
 * Adds what was counted since the last call; returns what ps_drop counted. name: of the netdev when
 * it was opened.
 */
uint64_t netdev_loss_count(
	struct netdev_loss *l, pcap_t *pcap, const char *name, unsigned int ifindex);
/* Sets lost, loss_known and loss. */
void netdev_loss_stats(const struct netdev_loss *l, struct rd_source_stats *stats);

/* Watches a netdev and the RDMA port on it during a capture. */

struct netdev_watch;

struct netdev_watch_state {
	bool removed;
	bool addresses_changed; /* MAC or IP addresses of a netdev changed; the caller clears it */
	/* "netdev down 12:00:01-12:00:03, frames may be missing"; "" if it never was down. */
	char missing[96];
};

/*
 * Watches the link of `ifindex`, and the RDMA port on it if there is one. Opens no device, so that
 * its driver can be unloaded. *fd becomes readable after a change. Returns 0, or -1 with
 * RD_CLASS_DEVICE.
 */
int netdev_watch_open(struct netdev_watch **w, unsigned int ifindex, const struct rd_device *device,
	const struct rd_port *port, int *fd, struct rd_error *err);
void netdev_watch_close(struct netdev_watch *w);

/* Stores changes of the netdev as notes. Does not block; one system call if there are none. */
void netdev_watch_link(struct netdev_watch *w, struct rd_source *src);
/* Stores changes of the RDMA port as notes. May read many files of sysfs. */
void netdev_watch_port(struct netdev_watch *w, struct rd_source *src);
/* The netdev was removed: its last change to down was part of the removal. */
void netdev_watch_end(struct netdev_watch *w);
/* The state after all messages processed so far. */
struct netdev_watch_state *netdev_watch_state(struct netdev_watch *w);

/* The netdev's flags (IFF_...), 0 if they cannot be read. */
unsigned int netdev_flags(const char *name);
/*
 * Adds the current MAC addresses of the netdev and of the port's other netdevs. Those in `local`
 * are kept: frames in the ring may have been sent from them.
 */
void netdev_addresses_add(unsigned int ifindex, const struct rd_port *port, struct rd_local *local);
