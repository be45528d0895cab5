/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Privileges of this process: capabilities, the limit of locked memory; advice for messages. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The only text about running without root; README and the man page repeat it. */
#define RD_SETCAP	  "setcap cap_net_raw,cap_ipc_lock+ep"
#define RD_RUN_PRIVILEGED "run as root or " RD_SETCAP " on rdmadump"
#define RD_WHY_PRIVILEGE  "needs CAP_NET_RAW" /* of rd_port_verdict(): nothing else is missing */
#define RD_NEEDS_RAW	  "needs CAP_NET_RAW: " RD_RUN_PRIVILEGED
#define RD_NEEDS_BOTH                                                                              \
	"needs CAP_NET_RAW and a larger limit of locked memory (ulimit -l): " RD_RUN_PRIVILEGED
#define RD_NEEDS_LOCK "raise it (ulimit -l unlimited) or " RD_SETCAP " on rdmadump"

/*
 * Whether a capability such as CAP_NET_RAW (linux/capability.h) is effective; true if that is
 * unknown.
 */
bool rd_has_capability(unsigned int cap);
/* Drops all capabilities of the calling thread for good; open files stay open. 0 or an errno. */
int rd_drop_capabilities(void);
/*
 * Bytes that this process may lock, UINT64_MAX without a limit. A device's receive ring and queues
 * are locked memory.
 */
uint64_t rd_lockable(void);
