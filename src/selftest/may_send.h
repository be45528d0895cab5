/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether a port may send frames with the MAC address of its netdev. */
#ifndef RDMADUMP_SELFTEST_MAY_SEND_H
#define RDMADUMP_SELFTEST_MAY_SEND_H

#include <errno.h>
#include <rdmadump/device.h>

#define MAY_SEND_TEXT 240
#define MAY_SEND_NOT  ENOTUNIQ /* the error of what was not sent for this reason */

/* False: `why` says why not; else it is "". */
bool port_may_send(const struct rd_port *port, char why[MAY_SEND_TEXT]);

#endif
