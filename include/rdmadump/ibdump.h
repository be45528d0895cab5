/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The vendor's ibdump as a process: started as root, its frames through a FIFO, its messages in the
 * log. A small process between it and the capture stays privileged, so that ibdump is always
 * interrupted: also after the capture has dropped its privileges, and however the capture ends.
 */
#ifndef RDMADUMP_IBDUMP_H
#define RDMADUMP_IBDUMP_H

#include <rdmadump/device.h>
#include <rdmadump/error.h>
#include <stdbool.h>

struct rd_ibdump_process;

#define RD_IBDUMP_END_MS 10000 /* how long its end is awaited after it was interrupted */

struct rd_ibdump_config {
	const struct rd_device *device;
	const struct rd_port *port;
	unsigned int log2_buffers; /* log2 of the number of its receive buffers */
};

/*
 * Finds the program in PATH and starts it. Forks. config is not kept. -1 with RD_CLASS_DEVICE: also
 * if there is no such program, if that name is a link to this program, without root, or if another
 * capture uses the port's sniffer.
 */
int rd_ibdump_open(
	struct rd_ibdump_process **p, const struct rd_ibdump_config *config, struct rd_error *err);
/* Non-blocking; poll() reports its end only after the program has opened it. */
int rd_ibdump_fifo(const struct rd_ibdump_process *p);
/* Readable when the program has ended. */
int rd_ibdump_event(const struct rd_ibdump_process *p);
/* Interrupts it, as Ctrl-C would. Does not wait. */
void rd_ibdump_stop(struct rd_ibdump_process *p);
/* Whether it has ended. Does not wait. */
bool rd_ibdump_ended(struct rd_ibdump_process *p);
/*
 * How it ended, after rd_ibdump_ended(). 0: by itself with status 0, or on request; -1 with
 * RD_CLASS_PARTIAL: also if it did not end, and was left running.
 */
int rd_ibdump_result(const struct rd_ibdump_process *p, struct rd_error *err);
/* Interrupts it if needed, and waits for its end: up to RD_IBDUMP_END_MS. NULL is legal. */
void rd_ibdump_close(struct rd_ibdump_process *p);

#endif
