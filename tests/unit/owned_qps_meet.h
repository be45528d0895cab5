/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A process of owned_qps_tool and the one of the same number on another machine. */
#pragma once

#include <infiniband/verbs.h>

/*
 * A TCP connection to the process with this number at `peer`; "listen": from it. -1: it failed, or
 * `end` became readable, or was closed, before.
 */
int meet(const char *peer, unsigned int number, int end);
/* Connects a reliable QP with the one at the other end; one message goes each way. 0 or -1. */
int talk(int socket, struct ibv_context *context, struct ibv_pd *pd, struct ibv_cq *cq,
	struct ibv_qp *qp);
