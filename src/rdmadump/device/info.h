/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of what `info` prints. */
#ifndef RDMADUMP_CLI_INFO_H
#define RDMADUMP_CLI_INFO_H

#include <rdmadump/info.h>
#include <rdmadump/resource.h>
#include <rdmadump/sheet.h>

/* What is printed, and how. */
struct info_output {
	struct rd_sheet *sheet;
	const struct rd_info *info;
	const struct rd_resources *resources; /* NULL: unknown */
	const char *no_resources;	      /* why */
	bool verbose;
};

/* Attributes (info_attrs.c); without -v none that is 0 or empty. */
void rd_info_print_attrs(const struct info_output *t, const struct rd_attrs *attrs);

/* DCB of the port's netdevs (info_dcb.c): part of the port's section. */
void rd_info_print_dcb(const struct info_output *t, const struct rd_port_info *port);

/* What is open on the device (info_open.c). */
void rd_info_print_open(const struct info_output *t);

/* Like snprintf(), but "" unless `known`. */
void rd_text_if(bool known, char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
