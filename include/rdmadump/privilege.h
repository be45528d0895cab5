/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What this process may do: capabilities, memory that it may lock; and advice where it may not. */
#ifndef RDMADUMP_PRIVILEGE_H
#define RDMADUMP_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>

/* The one place that says how to run without root; README and the man page repeat it. */
#define RD_SETCAP	  "setcap cap_net_raw,cap_ipc_lock+ep"
#define RD_RUN_PRIVILEGED "run as root or " RD_SETCAP " on rdmadump"
#define RD_NEEDS_RAW	  "needs CAP_NET_RAW: " RD_RUN_PRIVILEGED
#define RD_NEEDS_LOCK	  "raise it (ulimit -l unlimited) or " RD_SETCAP " on rdmadump"

/* Whether CAP_NET_RAW and its like (linux/capability.h) is effective; true if that is unknown. */
bool rd_has_capability(unsigned int cap);
/*
 * Bytes that this process may lock, which a device's receive ring and queues are; UINT64_MAX
 * without a limit.
 */
uint64_t rd_lockable(void);

#endif
