/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands to the firmware of a ConnectX-4 or later through its command interface (ICMD). */
#ifndef RDMADUMP_DEVICE_ICMD_MLX5_H
#define RDMADUMP_DEVICE_ICMD_MLX5_H

#include "gateway_mlx5.h"

/* Status of a command, as the firmware returns it. */
enum icmd_status {
	ICMD_OK,
	ICMD_INVALID_OPCODE,
	ICMD_INVALID_COMMAND,
	ICMD_OPERATIONAL_ERROR,
	ICMD_BAD_PARAMETER,
	ICMD_BUSY,
	ICMD_NO_MEMORY,
	ICMD_WRITE_PROTECTED,
	ICMD_NOT_RUN = -1, /* the firmware did not receive it, or did not complete it */
};

struct icmd {
	struct gateway *gateway;
	uint32_t not_ready; /* the register whose bit 31 is set until the firmware is ready */
	uint32_t unlock;    /* the register that ends the write protection before each command */
	/*
	 * The interface's semaphore contains the process id record->helper while this process holds
	 * it. It is taken over from record->orphans, which are killed processes of this program.
	 */
	struct sniffer_record *record;
	bool held;  /* it may be held: releasing it failed */
	bool hangs; /* a command of this process did not end */
};

/*
 * Runs a command whose mailbox is `words` long, and waits at most 30 s for it. *status: what the
 * firmware returned. Returns 0 if that is ICMD_OK, else -1 with RD_CLASS_DEVICE. The interface's
 * semaphore is released in any case, if the gateway works.
 */
int icmd_run(struct icmd *icmd, uint16_t opcode, const uint32_t *mailbox, unsigned int words,
	enum icmd_status *status, struct rd_error *err);
/* Releases the semaphores that a failed command could not release. -1 with RD_CLASS_DEVICE. */
int icmd_close(struct icmd *icmd, struct rd_error *err);

#endif
