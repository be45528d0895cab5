/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What discovery.c reads of a device: its ports (port.c), and which function it is (function.c). */
#pragma once

#include <rdmadump/device.h>

/*
 * Fills port->num's other fields. `base` is the device's directory in sysfs, below `root`. The
 * device's own fields and its number of ports are set by then. `glance`: read the first GID only.
 * -1 if out of memory.
 */
int rd_port_load(struct rd_port *port, const struct rd_device *device, const char *root,
	const char *base, bool glance);

/* What a device has; its structure is the caller's. */
void device_free(struct rd_device *device);

/*
 * Fills in device->function, ->representors, ->old_switchdev and ->unsure_switchdev. `root` is the
 * prefix of the system's files ("" for the running system), `base` the device's directory in sysfs.
 */
void rd_function_load(struct rd_device *device, const char *root, const char *base);

/* Parses a netdev's phys_port_name; -1 if it does not name a function. */
int rd_representor_parse(const char *name, struct rd_representor *rep);

/* The complete verdict on a port; rd_port_verdict() is the public part of it. */

struct rd_judgement {
	enum rd_verdict verdict;
	bool whole; /* the capture contains all RDMA traffic of the port */
	const char *why, *todo;
};

#define RD_MLX4_STEERING                                                                           \
	"put 'options mlx4_core log_num_mgm_entry_size=-1' into /etc/modprobe.d/mlx4.conf and "    \
	"load the driver again"

struct rd_judgement rd_port_judge(const struct rd_device *device, const struct rd_port *port);
/* Judges by driver and link layer only. */
struct rd_judgement rd_port_judge_kind(const struct rd_device *device, const struct rd_port *port);

/* Bytes that the receive ring of this port locks by default. */
uint64_t rd_ring_default_bytes(const struct rd_port *port);
