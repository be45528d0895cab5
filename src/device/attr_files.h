/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files of sysfs and debugfs as attributes. */
#ifndef RDMADUMP_DEVICE_ATTR_FILES_H
#define RDMADUMP_DEVICE_ATTR_FILES_H

#include <rdmadump/info.h>

/* Appends the file's content as text. Nothing if it is absent or empty. */
void rd_attr_file(struct rd_attrs *attrs, const char *key, const char *title, const char *path);

/*
 * Calls `append` for each file of a directory; the key of FILE is "PREFIX.FILE". Subdirectories are
 * skipped.
 */
void rd_attr_folder(struct rd_attrs *attrs, const char *prefix, const char *path,
	void (*append)(struct rd_attrs *, const char *key, const char *title, const char *path));

/*
 * The sysfs attributes of a device and of a port, without counters; `base`: the device's directory.
 */
void rd_device_sysfs_attrs(struct rd_attrs *attrs, const char *base);
void rd_port_sysfs_attrs(struct rd_attrs *attrs, const char *base, unsigned int port);

#endif
