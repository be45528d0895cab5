/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* DCB netlink (RTM_GETDCB; net/dcb/dcbnl.c of Linux): the request, and the parser of the reply. */
#ifndef RDMADUMP_DEVICE_NETLINK_DCB_H
#define RDMADUMP_DEVICE_NETLINK_DCB_H

#include "netlink.h"
#include <rdmadump/dcb.h>

/*
 * Queries the netdev dcb->netdev of this network namespace. -1 with the kernel's error: EOPNOTSUPP
 * if its driver has no DCB. Needs no privilege.
 */
int rd_dcb_request(struct rd_dcb *dcb, struct rd_error *err);

/*
 * Parses a reply to DCB_CMD_IEEE_GET of `len` bytes. Attributes that are too short are left out. -1
 * if it is another message, malformed, or out of memory. rd_dcb_free() in any case.
 */
int rd_dcb_parse(const struct nlmsghdr *msg, size_t len, struct rd_dcb *dcb);

#endif
