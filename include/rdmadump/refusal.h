/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What readings of a device have besides values: its name, and which commands were refused. */
#pragma once

#include <stdint.h>

#define RD_NAME_MAX 64 /* IB_DEVICE_NAME_MAX */

/* How the kernel or the firmware refused a command; error 0: it did not. */
struct rd_firmware_refusal {
	const char *command; /* static; NULL if the context shows it */
	int error;	     /* errno */
	uint8_t status;	     /* the firmware's status; 0 if the kernel did not pass it on */
	uint32_t syndrome;
};
