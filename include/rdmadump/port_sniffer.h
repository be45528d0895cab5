/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The port sniffer of ConnectX-4 and later adapters: a firmware command (SET_PORT_SNIFFER) that
 * copies what a port receives and sends to a queue pair, also on InfiniBand ports, where verbs have
 * no sniffer. It is not a public interface, and is reached through PCI configuration space: see
 * docs/infiniband.md. A separate privileged process does the work, so that the capture can drop all
 * privileges, and so that the sniffer is detached however the capture ends.
 */
#pragma once

#include <rdmadump/device.h>

/* Why the command cannot be used; static. */
struct rd_sniffer_refusal {
	const char *why, *todo;
};
#define RD_SNIFFER_AS_ROOT                                                                         \
	"use --sniffer icmd as root (see docs/infiniband.md), or mirror the port on the switch"
#define RD_SNIFFER_ON_PF                                                                           \
	"use --sniffer icmd on the PF, on the host that owns it, or mirror the port on the switch"
#define RD_SNIFFER_ELSEWHERE "mirror the port on the switch"
/*
 * Judged by sysfs and the rights of this process, without touching the device; false: *why has the
 * reason. What only the device knows is found by rd_port_sniffer_open().
 */
bool rd_port_sniffer_possible(const struct rd_device *device, struct rd_sniffer_refusal *why);
/* The same as an error of a capture: -1 with RD_CLASS_DEVICE. */
int rd_port_sniffer_check(const struct rd_device *device, struct rd_error *err);
/*
 * -1 with RD_CLASS_DEVICE unless it is an InfiniBand port. Which number the command takes on others
 * is not proven: receive queues, send queues and queue pairs are numbered apart.
 */
int rd_port_sniffer_check_link(
	const struct rd_device *device, const struct rd_port *port, struct rd_error *err);

struct rd_port_sniffer;

struct rd_port_sniffer_config {
	const struct rd_device *device;
	const char *sysroot; /* "": the running system */
	unsigned int port;
	/*
	 * A descriptor that the process keeps open until the sniffer is detached: the device's, so
	 * that the queue pair lives at least as long. -1: none.
	 */
	int keep;
	/*
	 * Called every 50 ms while the process works on a request; NULL: never. False: do not wait
	 * any longer. The process then finishes what it began, detaches the sniffer and ends. By
	 * the thread that made the request.
	 */
	bool (*waiting)(void *ctx);
	void *ctx;
};

/*
 * Starts the process, checks device and firmware, and detaches what is attached to the port. What a
 * killed capture left attached is detached, and logged. Forks: no memory may be registered yet, or
 * ibv_fork_init() was called. config is not kept. -1 with RD_CLASS_DEVICE, also if config->waiting
 * returned false. One thread at a time for all calls.
 */
int rd_port_sniffer_open(struct rd_port_sniffer **sniffer,
	const struct rd_port_sniffer_config *config, struct rd_error *err);
/*
 * Copies the frames of both directions to the queue pair, or none. Needs no privilege. Waits for
 * the firmware. -1 with RD_CLASS_DEVICE: it may be attached all the same, so that the queue pair
 * may only be destroyed after rd_port_sniffer_detach() has returned 0.
 */
int rd_port_sniffer_attach(struct rd_port_sniffer *sniffer, uint32_t qpn, struct rd_error *err);
/* -1 with RD_CLASS_DEVICE if the sniffer may still be attached. */
int rd_port_sniffer_detach(struct rd_port_sniffer *sniffer, struct rd_error *err);
/* Detaches if needed, waits for the process unless config->waiting said no. NULL is legal. */
void rd_port_sniffer_close(struct rd_port_sniffer *sniffer);
