/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The complete verdict on a port; rd_port_verdict() is the public part of it. */
#ifndef RDMADUMP_DEVICE_VERDICT_H
#define RDMADUMP_DEVICE_VERDICT_H

#include <rdmadump/device.h>

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

#endif
