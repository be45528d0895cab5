/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The gateway of a ConnectX-4 or later adapter into its own address spaces: a vendor-specific
 * capability in PCI configuration space. The kernel's driver uses the same one
 * (drivers/net/ethernet/mellanox/mlx5/core/lib/pci_vsc.c).
 */
#ifndef RDMADUMP_DEVICE_GATEWAY_MLX5_H
#define RDMADUMP_DEVICE_GATEWAY_MLX5_H

#include "port_sniffer_record.h"
#include <rdmadump/error.h>
#include <stdbool.h>
#include <stdint.h>

enum gateway_space {
	GATEWAY_ICMD,	   /* the command interface */
	GATEWAY_REGISTERS, /* "CR space" */
	GATEWAY_SEMAPHORES,
	GATEWAY_SPACES
};

struct gateway {
	const char *pci; /* for messages */
	int fd;		 /* configuration space, open for reading and writing */
	struct sniffer_record *record;
	/* The ticket that a killed process of this program may hold; 0: none. Cleared once the
	 * semaphore is free. */
	uint32_t orphan;
	unsigned int at; /* the capability */
	uint32_t ticket; /* the ticket that holds, or may hold, the semaphore; 0: it is not held */
	bool twins;	 /* each space has a second number (ConnectX-8 and later) */
	bool second;	 /* the second numbers are in use */
};

/*
 * Finds the capability and checks that the spaces exist. The caller has set pci, fd, record and
 * orphan, and still owns them. -1 with RD_CLASS_DEVICE. No function of this header returns with the
 * semaphore held.
 */
int gateway_open(struct gateway *g, struct rd_error *err);
/*
 * Reads or writes one word of a space. Takes the gateway's semaphore, waits at most about 2 s for
 * it, and releases it. -1 with RD_CLASS_DEVICE.
 */
int gateway_read(struct gateway *g, enum gateway_space space, uint32_t address, uint32_t *value,
	struct rd_error *err);
int gateway_write(struct gateway *g, enum gateway_space space, uint32_t address, uint32_t value,
	struct rd_error *err);
/* Releases the semaphore if an earlier release failed. -1 with RD_CLASS_DEVICE. */
int gateway_close(struct gateway *g, struct rd_error *err);

#endif
