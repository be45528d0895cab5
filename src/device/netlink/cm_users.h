/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which kernel module uses a QP that the connection manager made for it. Pure functions. */
#ifndef RDMADUMP_DEVICE_CM_USERS_H
#define RDMADUMP_DEVICE_CM_USERS_H

#include <rdmadump/resource.h>

/* Whether there are such QPs. */
bool cm_users_wanted(const struct rd_resources *r);
/*
 * Sets their comm and service_port from the sorted list of cm_ids. A QP that matches no cm_id, or
 * cm_ids of several modules, keeps the connection manager as its owner.
 */
void cm_users_find(struct rd_resources *r);

#endif
