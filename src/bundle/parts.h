/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of a bundle that this program reads itself, without another tool. */
#pragma once

#include <jansson.h>
#include <rdmadump/device.h>

/* The part as JSON; NULL with the error. */
typedef json_t *part_fn(const struct rd_devices *devices, struct rd_error *err);

part_fn part_host, part_modules, part_environment, part_names;
/* Writes its own output. */
int part_sysroot(const struct rd_devices *devices, int fd, struct rd_error *err);

/* A file of one value, without white space at the end. Its length; -1: it cannot be read. */
int read_value(char *buf, size_t size, const char *path);
