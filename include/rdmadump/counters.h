/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * All counters of a port: whatever sysfs holds below the port and its device, what the netdev's
 * driver counts of the wire, and what is known of each by name.
 */
#ifndef RDMADUMP_COUNTERS_H
#define RDMADUMP_COUNTERS_H

#include <rdmadump/device.h>
#include <rdmadump/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rd_counter {
	/*
	 * Place and name, printable ASCII: "hw_counters/out_of_buffer", "counters/port_xmit_data",
	 * "cm_rx_msgs/req" of the port; "device/hw_counters/cmds_err", "device/mr_cache/2/miss" of
	 * its device; "netdev/rx_dropped" and "ethtool/rx_prio3_pause" of its first netdev.
	 */
	char *name;
	uint64_t value; /* as the kernel gives it */
};

struct rd_counters {
	char device[RD_NAME_MAX], driver[32], netdev[IF_NAMESIZE];
	unsigned int port;
	bool infiniband;
	uint64_t speed;		    /* bit/s of the port, 0: unknown */
	uint64_t time_ns;	    /* Unix epoch, when they were read */
	unsigned int lifespan_ms;   /* the device is asked no oftener than this; 0: unknown */
	struct rd_counter *counter; /* in the order in which they were read */
	size_t n, room;
	size_t n_unreadable; /* files that hold no number or cannot be read */
};

/*
 * Reads all counters of the port now. sysroot as for rd_devices_load(); the driver's own statistics
 * (ethtool) are asked for on the running system only. What is not there or holds no number is left
 * out. Fails (RD_CLASS_DEVICE) without memory only. Owned by the caller: rd_counters_free().
 */
int rd_counters_load(struct rd_counters *counters, const char *sysroot,
	const struct rd_device *device, const struct rd_port *port, struct rd_error *err);
void rd_counters_free(struct rd_counters *counters);

/* Appends a counter; name is copied and cleaned. -1 without memory. */
int rd_counters_add(struct rd_counters *counters, uint64_t value, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The counter of this full name, NULL if there is none. */
const struct rd_counter *rd_counters_find(const struct rd_counters *counters, const char *name);

#endif
