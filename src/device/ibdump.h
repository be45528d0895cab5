/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which program is found under the name ibdump. */
#ifndef RDMADUMP_DEVICE_IBDUMP_H
#define RDMADUMP_DEVICE_IBDUMP_H

enum rd_ibdump { RD_IBDUMP_ABSENT, RD_IBDUMP_OURS, RD_IBDUMP_OTHER };

/*
 * Finds the first program of that name in `path` (as PATH; may be NULL) and returns which one it
 * is; `file`, if not NULL, has room for PATH_MAX bytes and gets its path.
 */
enum rd_ibdump rd_ibdump_find(const char *path, char *file);

#endif
