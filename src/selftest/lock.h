/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Only one self-test at a time on a device. */
#ifndef RDMADUMP_SELFTEST_LOCK_H
#define RDMADUMP_SELFTEST_LOCK_H

#include <rdmadump/error.h>

/*
 * Returns a descriptor, which the caller closes to release the lock, or -1 with RD_CLASS_USAGE:
 * another self-test holds it.
 */
int lock_device(const char *device, struct rd_error *err);

#endif
