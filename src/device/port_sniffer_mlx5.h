/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The firmware command SET_PORT_SNIFFER, which copies a port's traffic to a queue pair; as ibdump
 * uses it. docs/infiniband.md describes what is known and unknown about it.
 */
#ifndef RDMADUMP_DEVICE_PORT_SNIFFER_MLX5_H
#define RDMADUMP_DEVICE_PORT_SNIFFER_MLX5_H

#include "icmd_mlx5.h"
#include <rdmadump/device.h>
#include <rdmadump/port_sniffer.h>

/* The PID of an ibdump that uses the function's gateway; 0: none was found. */
int sniffer_other_process(const char *pci);
/*
 * Takes those processes out of what a killed capture left that use a gateway of this adapter now:
 * they got the number of a killed one, and what they hold is theirs. Reads the descriptors of other
 * processes, which takes root's capabilities.
 */
void sniffer_forget_living(struct sniffer_record *left, const char *pci);

/* Differences between adapters. */
struct sniffer_chip {
	uint16_t id;	   /* chip id in register 0xf0014 */
	uint16_t recovery; /* PCI device id while the flash has no firmware */
	const char *name;
	uint16_t pci[3];    /* device ids of its physical functions; ended by 0 */
	uint32_t not_ready; /* register: bit 31 is set until the firmware is ready */
	uint32_t unlock;    /* register that disables the write protection of firmware commands */
};

/* The chip of this PCI device id; NULL: unknown, or none that has the command. */
const struct sniffer_chip *sniffer_chip_find(uint32_t part_id);
/* Whether it is the ID of an adapter whose flash has no firmware. */
bool sniffer_chip_in_recovery(uint32_t part_id);
/* Whether it is a known adapter with unknown registers. */
bool sniffer_chip_undocumented(uint32_t part_id);

struct mlx5_sniffer {
	const struct sniffer_chip *chip;
	struct gateway gateway;
	struct icmd icmd;
	struct sniffer_record record; /* record.rules: what is, or may be, attached */
	unsigned int absent; /* rules that the firmware did not find when it detached them */
};

/*
 * Opens the gateway and checks that the chip matches the table. fd: configuration space. s->record
 * describes what a killed capture left attached. This is detached, and so is any sniffer on `port`,
 * which this capture uses; it also shows whether the firmware accepts the command. -1 with
 * RD_CLASS_DEVICE.
 */
int mlx5_sniffer_open(struct mlx5_sniffer *s, const struct rd_device *device, int fd,
	unsigned int port, struct rd_error *err);
/*
 * Attaches both rules to the QP, or none, after detaching those that this capture
 * attached to another QP. -1 with RD_CLASS_DEVICE.
 */
int mlx5_sniffer_attach(struct mlx5_sniffer *s, uint32_t qpn, struct rd_error *err);
/* Detaches what may be attached. -1 with RD_CLASS_DEVICE if something may be left. */
int mlx5_sniffer_detach(struct mlx5_sniffer *s, struct rd_error *err);
/*
 * Releases the semaphores that could not be released before; detaches nothing. May be called
 * whatever mlx5_sniffer_open() returned. -1 with RD_CLASS_DEVICE if one may be held.
 */
int mlx5_sniffer_close(struct mlx5_sniffer *s, struct rd_error *err);

#endif
