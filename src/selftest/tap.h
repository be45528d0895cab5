/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Receives the frames of the port's netdev from the kernel, as captures without a sniffer do. */
#ifndef RDMADUMP_SELFTEST_TAP_H
#define RDMADUMP_SELFTEST_TAP_H

#include "sniffer.h"

struct tap {
	int fd;		 /* -1: none */
	uint8_t *memory; /* buffer for one frame */
	uint64_t frames;
	bool lost; /* the kernel dropped some */
};

/* 0 or an errno: ENODEV without a netdev, EPERM. tap_close() in any case. */
int tap_open(struct tap *t, const struct rd_port *port);
/* Takes the frames that are there, with their VLAN tags; returns how many. */
unsigned int tap_drain(struct tap *t, sniffer_frame_fn *frame, void *ctx);
void tap_close(struct tap *t);

#endif
