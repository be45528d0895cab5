/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options that `rdmadump list` and `rdmadump info` share. */
#ifndef RDMADUMP_CLI_DEVICE_SETTINGS_H
#define RDMADUMP_CLI_DEVICE_SETTINGS_H

#include <argp.h>
#include <stdbool.h>

struct device_settings {
	const char *sysroot; /* "": this machine */
	const char *bundle;  /* NULL: none */
	const char *device;  /* NULL: not given */
	bool json, verbose;
};

enum { OPT_JSON = 0x100, OPT_SYSROOT, OPT_BUNDLE };

/* For argp's parser: 0 if the option was one of --json, --sysroot, --bundle and -v, else
 * ARGP_ERR_UNKNOWN. */
error_t device_settings_option(struct device_settings *settings, int key, const char *arg);

#endif
